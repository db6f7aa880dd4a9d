// cat: a file's content as a version has it, streamed.

#include "cli/output.h"
#include "cli/patch.h"
#include "cli/session.h"
#include "cli/text.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

/// What --json may hold in one envelope.
constexpr std::uint64_t kMaxJsonBytes = 64u << 20;

Result<void> stream(Invocation& invocation, const store::Snapshot& snapshot, const ObjectId& id) {
  WEFT_TRY(const auto source, snapshot.open_blob(id));
  std::string piece(256 << 10, '\0');
  for (;;) {
    WEFT_TRY(const std::size_t got, source->read(piece));
    if (got == 0) return {};
    print(invocation, std::string_view(piece).substr(0, got));
  }
}

/// A blob by its id: of no path and no version.
Result<void> cat_blob(Invocation& invocation, const store::Snapshot& snapshot, const ObjectId& id, JsonList& list) {
  if (!wants_json(invocation)) return stream(invocation, snapshot, id);
  WEFT_TRY(const auto size, snapshot.blob_size(id));
  if (size > kMaxJsonBytes) {
    return make_error(Code::invalid, "blob " + id.hex() + " has " + size_text(size) + ", too much for an envelope",
                      "leave out --json");
  }
  WEFT_TRY(const auto content, snapshot.read(object::ObjectKind::blob, id));
  list.add(Json::object().set("id", id.hex()).set("size", size).set("content", content));
  return {};
}

}  // namespace

Result<int> cmd_cat(Invocation& invocation) {
  std::vector<std::string> typed;
  Options options("cat", "Prints files as a version has them: a file's bytes, a symlink's target.");
  options.positionals("VERSION:PATH", typed,
                      "e.g. `main:src/a.c`; the path from the top; PATH alone: of `@`; or `blob:ID`, `node:ID`", true);
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  JsonList list(invocation, "files");
  for (const auto& word : typed) {
    WEFT_TRY(const auto named, find_object(invocation, repository, snapshot, word));
    if (named && !named->entry) {
      if (named->kind != object::ObjectKind::blob) {
        return make_error(Code::invalid, quoted_always(word) + " is a directory", "`weft ls` lists it");
      }
      WEFT_DO(cat_blob(invocation, snapshot, named->id, list));
      continue;
    }
    WEFT_TRY(const auto at, resolve_version_path(invocation, repository, snapshot, named ? "@:" + named->path : word));
    WEFT_TRY(const auto entry, tree::find_path(snapshot, at.tree, at.path));
    if (!entry) {
      return no_such_path(snapshot, at);
    }
    if (entry->kind == object::EntryKind::directory) {
      return make_error(Code::invalid, quoted_always(at.path.empty() ? "." : at.path) + " is a directory",
                        "`weft ls` lists it")
          .with("path", at.path);
    }
    if (wants_json(invocation)) {
      if (entry->size > kMaxJsonBytes) {
        return make_error(Code::invalid,
                          quoted(at.path) + " has " + size_text(entry->size) + ", too much for an envelope",
                          "leave out --json")
            .with("path", at.path);
      }
      WEFT_TRY(const auto content, snapshot.read(object::ObjectKind::blob, entry->id));
      list.add(Json::object()
                   .set("path", at.path)
                   .set("version", json_version(at.version.version))
                   .merge(json_entry(*entry))
                   .set("content", content));
      continue;
    }
    WEFT_DO(stream(invocation, snapshot, entry->id));
  }
  if (wants_json(invocation)) list.finish();
  return 0;
}

}  // namespace weft::cli
