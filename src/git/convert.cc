#include "git/convert.h"

#include <algorithm>

#include "base/hash.h"
#include "git/export_commit.h"
#include "git/plan.h"
#include "git/tree_export.h"

namespace weft::git {
namespace {

using object::EntryKind;
using object::TreeEntry;

constexpr std::size_t kNodeBytes = NodeId::kSize;

EntryKind kind_of(std::uint32_t mode) {
  if (is_symlink(mode)) return EntryKind::symlink;
  if (is_submodule(mode)) return EntryKind::submodule;
  return EntryKind::file;
}

std::uint32_t mode_of(std::uint32_t git_mode) {
  switch (kind_of(git_mode)) {
    case EntryKind::symlink:
      return 0777;
    case EntryKind::submodule:
      return 0;
    default:
      return (git_mode & 0100) != 0 ? 0755 : 0644;
  }
}

/// Passes a blob's content through, hashing it as git does.
class HashingSource final : public object::ByteSource {
 public:
  HashingSource(object::ByteSource& source, std::uint64_t size) : source_(source), hasher_("blob", size) {}
  Result<std::size_t> read(std::span<char> out) override {
    WEFT_TRY(const std::size_t count, source_.read(out));
    hasher_.update(ByteView(out.data(), count));
    return count;
  }
  Sha1 finish() { return hasher_.finish(); }

 private:
  object::ByteSource& source_;
  Sha1Hasher hasher_;
};

Error protocol_error(std::string what) {
  return make_error(Code::peer, "weft-git sent what does not fit: " + std::move(what),
                    "install weft and weft-git of one version, beside each other");
}

Error wrong_hash(std::string_view kind, const Sha1& id) {
  return damaged("the bytes of the git " + std::string(kind) + " " + id.hex() + " do not match its id",
                 "git fsck tells what is damaged; what was imported before it is kept");
}

void set_parents(object::Change& change, const std::vector<ImportedChange>& parents) {
  std::uint64_t greatest = 0;
  change.parents.clear();
  for (const auto& parent : parents) {
    greatest = std::max(greatest, parent.lamport);
    change.parents.push_back(parent.change);
  }
  change.lamport = greatest + 1;
}

}  // namespace

/// The commit under way.
struct Converter::Current {
  wire::TargetKind kind = wire::TargetKind::commit;
  struct Put {
    std::string path;
    TreeEntry entry;  ///< without node
  };
  Sha1 id;
  Bytes object;
  CommitObject commit;  ///< views into `object`
  std::vector<ImportedChange> parents;
  std::vector<ObjectId> parent_trees;
  std::vector<std::unique_ptr<tree::TreeEditor>> editors;  ///< one for each parent, made when first asked for
  std::vector<std::string> gone_directories;
  std::vector<std::string> removed;
  std::vector<Put> puts;
  std::vector<std::pair<std::string, Bytes>> odd_trees;

  std::size_t entries() const { return gone_directories.size() + removed.size() + puts.size(); }
  tree::TreeEditor& editor(const object::ObjectReader& reader, std::size_t parent) {
    if (!editors[parent]) editors[parent] = std::make_unique<tree::TreeEditor>(reader, parent_trees[parent]);
    return *editors[parent];
  }
};

NodeId new_node_id(const Sha1& commit, ByteView path) {
  Sha256 hasher;
  hasher.update("weft import node");
  hasher.update(commit.view());
  hasher.update(path);
  return NodeId::from_bytes(hasher.finish().view().substr(0, kNodeBytes));
}

Converter::Converter(ImportSink& sink) : sink_(sink) {}
Converter::~Converter() = default;

Result<void> Converter::begin(const wire::Commit& message) {
  if (current_) return protocol_error("a commit inside a commit");
  auto current = std::make_unique<Current>();
  current->id = message.id;
  current->kind = message.kind;
  if (message.kind == wire::TargetKind::commit) {
    current->object = Bytes(message.object);
    if (git_object_id("commit", current->object) != message.id) return wrong_hash("commit", message.id);
    WEFT_TRY(current->commit, parse_commit(current->object));
  }
  for (const auto& parent : current->commit.parents) {
    WEFT_TRY(const auto known, find(parent));
    if (!known) return protocol_error("commit " + message.id.hex() + " before its parent " + parent.hex());
    current->parents.push_back(*known);
    current->parent_trees.push_back(known->tree);
  }
  if (current->parents.empty()) {
    // The empty directory must be there to be edited.
    WEFT_TRY(const ObjectId empty, object::write_directory(sink_.writer(), {}));
    current->parent_trees.push_back(empty);
  }
  current->editors.resize(current->parent_trees.size());
  current_ = std::move(current);
  return {};
}

Result<std::string> Converter::check_path(ByteView path) const {
  if (!current_) return protocol_error("a path outside a commit");
  if (current_->entries() >= kMaxEntries) {
    return make_error(Code::invalid, "the git commit " + current_->id.hex() + " touches more than " +
                                         std::to_string(kMaxEntries) + " paths");
  }
  std::string result;
  std::size_t depth = 0;
  while (true) {
    const auto end = std::min(path.find('\0'), path.size());
    const ByteView name = path.substr(0, end);
    if (const auto problem = object::name_problem(name); !problem.empty()) {
      std::string shown(result);
      if (!shown.empty()) shown += '/';
      shown += name;
      return make_error(Code::invalid,
                        "the git commit " + current_->id.hex() + " has the path " + quoted(shown) +
                            ", in which a name " + std::string(problem),
                        "no file can have such a name; what was imported before that commit is kept")
          .with("path", shown)
          .with("commit", current_->id.hex());
    }
    if (++depth > tree::kMaxDepth) {
      return make_error(Code::invalid, "the git commit " + current_->id.hex() + " has directories nested too deeply");
    }
    if (!result.empty()) result += '/';
    result += name;
    if (end == path.size()) return result;
    path.remove_prefix(end + 1);
  }
}

Result<void> Converter::gone_directory(const wire::GoneDirectory& message) {
  WEFT_TRY(std::string path, check_path(message.path));
  current_->gone_directories.push_back(std::move(path));
  return {};
}

Result<void> Converter::removed(const wire::Remove& message) {
  WEFT_TRY(std::string path, check_path(message.path));
  current_->removed.push_back(std::move(path));
  return {};
}

Result<void> Converter::put(const wire::Put& message, object::ByteSource* data) {
  WEFT_TRY(std::string path, check_path(message.path));
  Current::Put put;
  put.entry.kind = kind_of(message.mode);
  put.entry.mode = mode_of(message.mode);
  WEFT_TRY(const Blob blob, store_content(message, path, data));
  put.entry.id = blob.id;
  put.entry.size = blob.size;
  put.path = std::move(path);
  current_->puts.push_back(std::move(put));
  return {};
}

Result<Converter::Blob> Converter::store_content(const wire::Put& message, const std::string& path,
                                                 object::ByteSource* data) {
  const Sha1 id = message.id;
  if (is_submodule(message.mode) != (message.content == wire::Content::none)) {
    return protocol_error("a submodule with content, or a file without");
  }
  Blob blob;
  switch (message.content) {
    case wire::Content::none: {
      const std::string hex = id.hex();
      WEFT_TRY(blob.id, sink_.writer().put(object::ObjectKind::blob, hex));
      blob.size = hex.size();
      return blob;
    }
    case wire::Content::table: {
      const Blob* known = blobs_.find(id);
      if (!known) return protocol_error("a blob without content");
      return *known;
    }
    case wire::Content::parent: {
      if (message.parent >= current_->parents.size()) return protocol_error("a parent that is not there");
      WEFT_TRY(const auto entry, current_->editor(sink_.reader(), message.parent).find(path));
      if (!entry || (entry->kind != EntryKind::file && entry->kind != EntryKind::symlink)) {
        return protocol_error("content of a parent that does not have it");
      }
      blob = {entry->id, entry->size};
      break;
    }
    case wire::Content::inline_bytes: {
      if (git_object_id("blob", message.bytes) != id) return wrong_hash("blob", id);
      WEFT_TRY(blob.id, sink_.writer().put(object::ObjectKind::blob, message.bytes));
      blob.size = message.bytes.size();
      break;
    }
    case wire::Content::data: {
      if (!data) return protocol_error("content that does not follow");
      const std::uint64_t size = message.size;
      HashingSource source(*data, size);
      WEFT_TRY(const auto stored, sink_.writer().put_blob(source));
      if (stored.size != size || source.finish() != id) return wrong_hash("blob", id);
      blob = {stored.id, stored.size};
      break;
    }
  }
  blobs_.insert(id, blob);
  return blob;
}

Result<void> Converter::odd_tree(const wire::OddTree& message) {
  std::string path;
  if (!message.path.empty()) {
    WEFT_TRY(path, check_path(message.path));
  }
  if (!current_) return protocol_error("a tree outside a commit");
  current_->odd_trees.emplace_back(std::move(path), Bytes(message.object));
  return {};
}

Result<ImportedChange> Converter::end() {
  if (!current_) return protocol_error("the end of a commit that did not begin");
  ImportedChange imported;
  WEFT_TRY(imported.tree, build_tree());
  WEFT_TRY(const auto own, own_change(imported.tree));
  if (own) {
    imported = *own;
  } else {
    WEFT_TRY(imported.change, put_change(imported.tree, imported.lamport));
  }
  WEFT_DO(sink_.index_commit(current_->id, imported));
  remember(current_->id, imported);
  current_.reset();
  return imported;
}

Result<ObjectId> Converter::build_tree() {
  Current& current = *current_;
  const auto& reader = sink_.reader();
  tree::TreeEditor& editor = current.editor(reader, 0);
  std::sort(current.gone_directories.begin(), current.gone_directories.end());
  std::sort(current.puts.begin(), current.puts.end(),
            [](const Current::Put& a, const Current::Put& b) { return a.path < b.path; });

  TreeChange change;
  change.gone_directories = current.gone_directories;
  std::vector<std::size_t> arrival_puts;  // index of the put of each arrival
  for (auto& path : current.removed) {
    WEFT_TRY(const auto entry, editor.find(path));
    if (!entry || entry->kind == EntryKind::directory) return protocol_error("the end of a file that is not there");
    change.departures.push_back({path, *entry});
  }
  for (std::size_t i = 0; i < current.puts.size(); ++i) {
    auto& put = current.puts[i];
    WEFT_TRY(const auto before, editor.find(put.path));
    if (before && before->kind == put.entry.kind) {
      put.entry.node = before->node;
      continue;
    }
    if (before && before->kind != EntryKind::directory) change.departures.push_back({put.path, *before});
    change.arrivals.push_back({put.path, put.entry});
    arrival_puts.push_back(i);
  }
  std::sort(change.departures.begin(), change.departures.end(),
            [](const auto& a, const auto& b) { return a.path < b.path; });

  Identities identities;
  if (!change.arrivals.empty()) {
    WEFT_TRY(identities, assign_identities(reader, current.id, current.parent_trees, editor, change));
    for (std::size_t i = 0; i < arrival_puts.size(); ++i)
      current.puts[arrival_puts[i]].entry.node = identities.arrivals[i];
  }

  const auto goes_along = [&gone = current.gone_directories](const std::string& path) {
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (std::binary_search(gone.begin(), gone.end(), std::string_view(path).substr(0, slash))) return true;
    }
    return false;
  };
  for (const auto* list : {&current.gone_directories, &current.removed}) {
    for (const auto& path : *list) {
      if (!goes_along(path)) WEFT_DO(editor.remove(path));
    }
  }
  const auto directory_node = [&](ByteView path) {
    const auto found = identities.directories.find(std::string(path));
    return found != identities.directories.end() ? found->second : new_node_id(current.id, path);
  };
  for (const auto& put : current.puts) WEFT_DO(editor.set_with_parents(put.path, put.entry, directory_node));
  return editor.finish(sink_.writer());
}

Result<ChangeId> Converter::put_change(const ObjectId& tree, std::uint64_t& lamport) {
  Current& current = *current_;
  object::Change change;
  change.form = object::OpsForm::derived;
  change.rules = kImportRules;
  change.tree = tree;
  std::vector<ImportedChange> parents;
  for (const auto& parent : current.parents) {
    const auto same = [&parent](const ImportedChange& other) { return other.change == parent.change; };
    if (std::none_of(parents.begin(), parents.end(), same)) parents.push_back(parent);
  }
  if (current.kind != wire::TargetKind::commit) {
    fill_target(change, current.id, current.kind == wire::TargetKind::blob);
    set_parents(change, parents);
    lamport = change.lamport;
    append_odd_trees(change, current.odd_trees);
    return sink_.put_change(change);
  }
  const bool as_changes = parents.size() == current.parents.size() && parents.size() <= object::kMaxVersionChanges;
  fill_change(change, current.id, current.commit, current.object, as_changes);
  // A merge of more parents than a version may hold: the last ones are gathered under a change of their own, until the
  // rest fits, so that all of them stay in its past.
  while (parents.size() > object::kMaxVersionChanges) {
    object::Change gather;
    gather.form = object::OpsForm::derived;
    gather.rules = kImportRules;
    gather.author = change.author;
    gather.committer = change.committer;
    gather.extra.emplace_back(kExtraGather, current.id.view());
    const auto first = parents.end() - static_cast<std::ptrdiff_t>(object::kMaxVersionChanges);
    gather.tree = first->tree;
    set_parents(gather, {first, parents.end()});
    parents.erase(first, parents.end());
    WEFT_TRY(const ChangeId id, sink_.put_change(gather));
    parents.push_back({id, gather.tree, gather.lamport});
  }
  set_parents(change, parents);
  lamport = change.lamport;
  append_odd_trees(change, current.odd_trees);
  WEFT_TRY(const Bytes again, commit_bytes(change, current.commit.tree, current.commit.parents));
  if (again != current.object) {  // GC1
    return make_error(Code::internal, "the change of git commit " + current.id.hex() + " would not give it back");
  }
  return sink_.put_change(change);
}

Result<std::optional<ImportedChange>> Converter::own_change(const ObjectId& tree) {
  const Current& current = *current_;
  if (current.kind != wire::TargetKind::commit) return std::optional<ImportedChange>();
  const auto named = named_change(current.commit);
  if (!named) return std::optional<ImportedChange>();
  const auto& reader = sink_.reader();
  WEFT_TRY(const bool here, reader.contains(object::ObjectKind::change, *named));
  if (!here) return std::optional<ImportedChange>();
  WEFT_TRY(const Bytes encoded, reader.read(object::ObjectKind::change, *named));
  WEFT_TRY(const object::Change change, object::decode_change(encoded));
  // Git copies headers it does not know when a commit is amended: nothing but the whole commit proves anything.
  const bool same_parents =
      std::equal(change.parents.begin(), change.parents.end(), current.parents.begin(), current.parents.end(),
                 [](const ChangeId& id, const ImportedChange& parent) { return id == parent.change; });
  if (git_id(change) || !same_parents ||
      native_commit_bytes(change, *named, current.commit.tree, current.commit.parents) != current.object) {
    return std::optional<ImportedChange>();
  }
  WEFT_TRY(const bool same_tree, same_in_git(reader, tree, change.tree));
  if (!same_tree) return std::optional<ImportedChange>();
  return std::optional(ImportedChange{*named, change.tree, change.lamport});
}

Result<std::optional<ImportedChange>> Converter::find(const Sha1& commit) {
  for (const auto* generation : {&known_, &older_known_}) {
    if (const auto found = generation->find(commit); found != generation->end()) return std::optional(found->second);
  }
  WEFT_TRY(auto found, sink_.find_commit(commit));
  if (found) remember(commit, *found);
  return found;
}

void Converter::remember(const Sha1& commit, const ImportedChange& change) {
  if (known_.size() >= kRememberedCommits) {
    older_known_ = std::move(known_);
    known_.clear();
  }
  known_[commit] = change;
}

}  // namespace weft::git
