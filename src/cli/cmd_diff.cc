// diff: between two versions, or from a version to the working tree.

#include "base/hash.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/text.h"
#include "cli/words.h"
#include "object/memory_objects.h"
#include "repo/files.h"
#include "repo/history.h"
#include "text/diff.h"

namespace weft::cli {
namespace {

/// Objects of the working tree on top of those of the store, for as long as the diff lasts. Content too large to be
/// shown as text is hashed and let go: a diff only says that it differs.
class ScratchObjects final : public object::ObjectReader, public object::ObjectWriter {
 public:
  explicit ScratchObjects(const store::Snapshot& below) : below_(below) {}

  Result<Bytes> read(object::ObjectKind kind, const ObjectId& id) const override {
    WEFT_TRY(const bool here, memory_.contains(kind, id));
    return here ? memory_.read(kind, id) : below_.read(kind, id);
  }
  Result<bool> contains(object::ObjectKind kind, const ObjectId& id) const override {
    WEFT_TRY(const bool here, memory_.contains(kind, id));
    if (here) return true;
    return below_.contains(kind, id);
  }
  Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override {
    WEFT_TRY(const bool here, memory_.contains(object::ObjectKind::blob, id));
    return here ? memory_.open_blob(id) : below_.open_blob(id);
  }
  Result<std::uint64_t> blob_size(const ObjectId& id) const override {
    WEFT_TRY(const bool here, memory_.contains(object::ObjectKind::blob, id));
    return here ? memory_.blob_size(id) : below_.blob_size(id);
  }

  Result<ObjectId> put(object::ObjectKind kind, ByteView bytes) override {
    if (kind == object::ObjectKind::blob && bytes.size() > text::kMaxTextBytes) return sha256(bytes);
    return memory_.put(kind, bytes);
  }
  Result<void> put_with_id(object::ObjectKind kind, const ObjectId& id, ByteView bytes) override {
    if (kind == object::ObjectKind::blob && bytes.size() > text::kMaxTextBytes) return {};
    return memory_.put_with_id(kind, id, bytes);
  }
  Result<StoredBlob> put_blob(object::ByteSource& source) override {
    Sha256 hash;
    Bytes kept;
    StoredBlob stored;
    std::string piece(256 << 10, '\0');
    for (;;) {
      WEFT_TRY(const std::size_t got, source.read(piece));
      if (got == 0) break;
      const ByteView bytes(piece.data(), got);
      hash.update(bytes);
      stored.size += got;
      if (stored.size <= text::kMaxTextBytes) {
        kept += bytes;
      } else {
        kept = Bytes();
      }
    }
    stored.id = hash.finish();
    if (stored.size <= text::kMaxTextBytes) WEFT_DO(memory_.put_with_id(object::ObjectKind::blob, stored.id, kept));
    return stored;
  }

 private:
  const store::Snapshot& below_;
  object::MemoryObjects memory_;
};

struct WorkingTree {
  repo::Version at;  ///< what its files were last brought to
  ObjectId tree;
};

/// All of it, whatever paths are asked for: a file may have moved out of them, and only the whole tree tells that from
/// a deletion.
Result<WorkingTree> read_working_tree(Invocation& invocation, const repo::Repository& repository,
                                      const store::Snapshot& snapshot, const std::optional<repo::FilesRecord>& record,
                                      ScratchObjects& scratch) {
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, repo::files_state(snapshot, workspace, record));
  WEFT_TRY(const auto base, repo::tree_of(snapshot, state.at));
  WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository, workspace.name, workspace.root));
  WEFT_TRY(auto recorded, work::record(files.tree(), scratch, scratch, base, files.scan_options()));
  for (const auto& warning : recorded.status.warnings) notice(invocation, quoted(warning.path) + ": " + warning.reason);
  return WorkingTree{state.at, recorded.tree};
}

}  // namespace

Result<int> cmd_diff(Invocation& invocation) {
  TypedWords typed;
  bool stat = false, names_only = false, name_status = false, exit_code = false;
  std::optional<std::int64_t> context;
  Options options("diff",
                  "Shows what differs: from the head to the working tree, from A to the working tree, or from A to B.");
  typed.declare(options, "VERSION|PATH",
                "none, A, or A and B (also `A..B`; `A...B`: what B did since it left A); paths");
  options.flag("--stat", stat, "how many lines of each file changed");
  options.flag("--name-only", names_only, "only the names of changed files");
  options.flag("--name-status", name_status, "names, with A, M, D, R or T in front");
  options.integer("-U,--unified", context, "N", "N lines of context (3)");
  options.flag("--exit-code", exit_code, "exit with 1 if anything differs");
  options.footer("New files that are not ignored are part of the working tree: there is no staging area.");
  WEFT_DO(options.parse(invocation));
  WEFT_TRY(auto patch, patch_options(stat, names_only, name_status, context));

  WEFT_TRY(const auto repository, open_repository(invocation));
  std::optional<repo::FilesRecord> record;  // read before the snapshot is taken: see files.h
  if (repository.location()) {
    record = repo::read_files_record(repository.env().fs, repository.files_path(repository.location()->name));
  }
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto words, sort_words(invocation, repository, snapshot, typed));
  if (words.versions.size() > 2) {
    return make_error(Code::usage, "`weft diff` compares two versions, not " + std::to_string(words.versions.size()),
                      "run `weft help diff`");
  }
  patch.paths = words.paths;

  ScratchObjects scratch(snapshot);
  repo::Version from, to;
  ObjectId before, after;
  const bool to_working_tree = words.versions.size() < 2;
  if (to_working_tree) {
    WEFT_TRY(const auto tree, read_working_tree(invocation, repository, snapshot, record, scratch));
    after = tree.tree;
    from = words.versions.empty() ? tree.at : words.versions[0].resolved.version;
  } else {
    from = words.versions[0].resolved.version;
    to = words.versions[1].resolved.version;
    if (words.versions[0].since_fork) {
      WEFT_TRY(from, repo::merge_bases(snapshot, from, to));
    }
    WEFT_TRY(after, repo::tree_of(snapshot, to));
  }
  WEFT_TRY(before, repo::tree_of(snapshot, from));
  WEFT_TRY(const auto differences, selected_differences(scratch, before, after, patch));

  if (wants_json(invocation)) {
    JsonList list(invocation, "files");
    for (const auto& difference : differences) {
      WEFT_TRY(const auto json, json_difference(scratch, difference, patch));
      list.add(json);
    }
    list.finish(Json::object()
                    .set("from", json_version(from))
                    .set("to", to_working_tree ? Json(nullptr) : json_version(to))
                    .set("working_tree", to_working_tree));
  } else {
    page(invocation);
    WEFT_DO(
        write_patch(invocation, scratch, differences, patch, [&](std::string_view text) { print(invocation, text); }));
  }
  return exit_code && !differences.empty() ? 1 : 0;
}

}  // namespace weft::cli
