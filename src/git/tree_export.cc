#include "git/tree_export.h"

#include <algorithm>
#include <map>

#include "tree/tree.h"

namespace weft::git {
namespace {

using object::EntryKind;
using object::TreeEntry;

const TreeEntry* find_by_name(const object::Entries& entries, std::string_view name) {
  const auto found =
      std::lower_bound(entries.begin(), entries.end(), name,
                       [](const TreeEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

/// Only the commit's id stands in a submodule's content; anything else is no submodule that git could have.
std::optional<Sha1> submodule_commit(ByteView content) { return Sha1::parse(content); }

}  // namespace

std::uint32_t git_mode(const TreeEntry& entry) {
  switch (entry.kind) {
    case EntryKind::directory:
      return kModeDirectory;
    case EntryKind::symlink:
      return kModeSymlink;
    case EntryKind::submodule:
      return kModeSubmodule;
    case EntryKind::file:
      break;
  }
  return (entry.mode & 0100) != 0 ? kModeExecutable : kModeFile;
}

Result<bool> same_in_git(const object::ObjectReader& reader, const ObjectId& a, const ObjectId& b) {
  const ObjectId nothing = object::empty_tree_id();
  struct Pair {
    ObjectId a, b;
  };
  std::vector<Pair> open{{a, b}};
  bool same = true;
  const auto visit = [&](const TreeEntry* before, const TreeEntry* after) -> Result<void> {
    const auto is_leaf = [](const TreeEntry* entry) { return entry && entry->kind != EntryKind::directory; };
    if (is_leaf(before) || is_leaf(after)) {
      same =
          same && is_leaf(before) && is_leaf(after) && git_mode(*before) == git_mode(*after) && before->id == after->id;
      return {};
    }
    const ObjectId left = before ? before->id : nothing;
    const ObjectId right = after ? after->id : nothing;
    if (left != right) open.push_back({left, right});
    return {};
  };
  while (same && !open.empty()) {
    const Pair pair = open.back();
    open.pop_back();
    WEFT_DO(object::diff_directories(reader, pair.a, pair.b, visit));
  }
  return same;
}

struct TreeExporter::Parsed {
  Bytes object;
  std::vector<TreeItem> items;  ///< by name

  const TreeItem* find(std::string_view name) const {
    const auto found = std::lower_bound(items.begin(), items.end(), name,
                                        [](const TreeItem& item, std::string_view w) { return item.name < w; });
    return found != items.end() && found->name == name ? &*found : nullptr;
  }
};

/// A directory of the first parent.
struct TreeExporter::Base {
  ObjectId weft;
  Sha1 git;
  bool same_path = false;
};

struct TreeExporter::Run {
  ObjectId tree;
  std::optional<TreePair> parent;
  std::map<std::string_view, ByteView> odd;
  bool imported = false;
  bool moves_known = false;
  std::map<NodeId, std::string> moves;  ///< node -> its path in the first parent's tree
  std::string path;
  std::size_t depth = 0;

  bool odd_below() const {
    if (odd.empty()) return false;
    if (path.empty()) return true;
    const std::string prefix = path + "/";
    const auto next = odd.lower_bound(prefix);
    return next != odd.end() && next->first.starts_with(prefix);
  }
};

TreeExporter::TreeExporter(const object::ObjectReader& reader, GitTarget& target)
    : reader_(reader), target_(target), blobs_(kBlobSlots) {}
TreeExporter::~TreeExporter() = default;

Result<Sha1> TreeExporter::run(const ObjectId& tree, const std::optional<TreePair>& parent, const OddTrees* odd) {
  Run run;
  run.tree = tree;
  run.parent = parent;
  run.imported = odd != nullptr;
  if (odd) {
    for (const auto& [path, object] : *odd) run.odd.emplace(path, object);
    // Also those that are no directories of weft's tree: what has no file below it is in git all the same.
    for (const auto& [path, object] : *odd) {
      WEFT_TRY(const Sha1 id, put_tree(path, object));
      WEFT_TRY(const ParsedPtr parsed, load(id));
      const Sha1 empty = git_object_id("tree", {});
      if (std::any_of(parsed->items.begin(), parsed->items.end(), [&](const TreeItem& i) { return i.id == empty; })) {
        WEFT_DO(target_.write(wire::GitKind::tree, empty, "", {}));
      }
    }
  }
  std::optional<Base> base;
  if (parent) base = Base{parent->weft, parent->git, true};
  WEFT_TRY(const auto id, directory(run, tree, base));
  if (id) return *id;
  return put_tree("", {});
}

Result<TreeExporter::ParsedPtr> TreeExporter::load(const Sha1& id) {
  if (const auto found = cache_.find(id); found != cache_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    return found->second.tree;
  }
  WEFT_TRY(Bytes object, target_.read(wire::GitKind::tree, id));
  return remember(id, std::move(object));
}

TreeExporter::ParsedPtr TreeExporter::remember(const Sha1& id, Bytes object) {
  auto parsed = std::make_shared<Parsed>();
  parsed->object = std::move(object);
  if (auto tree = parse_tree(parsed->object)) parsed->items = std::move(tree->items);
  std::sort(parsed->items.begin(), parsed->items.end(),
            [](const TreeItem& a, const TreeItem& b) { return a.name < b.name; });
  const auto weight = [](const Parsed& p) { return p.object.size() + p.items.size() * sizeof(TreeItem) + 256; };
  cached_bytes_ += weight(*parsed);
  uses_.push_front(id);
  cache_.emplace(id, Cached{parsed, uses_.begin()});
  while (cached_bytes_ > kCacheBytes && uses_.size() > 1) {
    const auto oldest = cache_.find(uses_.back());
    cached_bytes_ -= weight(*oldest->second.tree);
    cache_.erase(oldest);
    uses_.pop_back();
  }
  return parsed;
}

Result<Sha1> TreeExporter::put_tree(const std::string& path, Bytes object) {
  const Sha1 id = git_object_id("tree", object);
  if (cache_.contains(id)) return id;  // read from the target, or written to it
  if (object.size() > wire::kMaxObjectBytes) {
    return make_error(Code::invalid, "the directory " + quoted(path) + " is too large for a git tree that weft writes");
  }
  WEFT_DO(target_.write(wire::GitKind::tree, id, path, object));
  remember(id, std::move(object));
  return id;
}

Result<std::optional<Sha1>> TreeExporter::directory(Run& run, const ObjectId& tree, const std::optional<Base>& base) {
  const auto odd = run.odd.find(run.path);
  const bool has_odd = odd != run.odd.end();
  if (base && base->weft == tree && (!run.imported || base->same_path) && !has_odd && !run.odd_below()) {
    return std::optional(base->git);  // GE1, GE2
  }
  if (++run.depth > tree::kMaxDepth) return make_error(Code::invalid, "directories are nested too deeply for git");
  // On the heap: directories nest 4,096 deep.
  struct Level {
    object::Entries entries, before;
    ParsedPtr git;
    std::vector<TreeItem> items;
    std::vector<std::string> names;
  };
  const auto level = std::make_unique<Level>();
  WEFT_TRY(level->entries, object::read_directory(reader_, tree));
  if (base) {
    WEFT_TRY(level->before, object::read_directory(reader_, base->weft));
    WEFT_TRY(level->git, load(base->git));
  }
  level->items.reserve(level->entries.size());
  const std::size_t length = run.path.size();
  for (const TreeEntry& entry : level->entries) {
    if (!run.path.empty()) run.path += '/';
    run.path += entry.name;
    const TreeEntry* same_name = find_by_name(level->before, entry.name);
    TreeItem item{entry.name, git_mode(entry), Sha1{}};
    if (entry.kind == EntryKind::directory) {
      WEFT_TRY(const auto below, base_of(run, entry, same_name, level->git.get(), base && base->same_path));
      WEFT_TRY(const auto id, directory(run, entry.id, below));
      run.path.resize(length);
      if (!id) {
        if (!run.imported) ++empty_directories_;  // GE3
        continue;
      }
      item.id = *id;
    } else {
      if (entry.kind == EntryKind::submodule) {
        WEFT_TRY(const Bytes content, reader_.read(object::ObjectKind::blob, entry.id));
        if (const auto commit = submodule_commit(content)) {
          item.id = *commit;
        } else {
          item.mode = kModeFile;
        }
      }
      if (item.mode != kModeSubmodule) {
        WEFT_TRY(item.id, content_id(run, entry, same_name, level->git.get()));
      }
      run.path.resize(length);
    }
    level->items.push_back(item);
  }
  --run.depth;
  if (has_odd) return std::optional(git_object_id("tree", odd->second));  // written by run()
  if (level->items.empty()) return std::optional<Sha1>();
  WEFT_TRY(const Sha1 id, put_tree(run.path, write_tree(std::move(level->items))));
  return std::optional(id);
}

Result<std::optional<TreeExporter::Base>> TreeExporter::base_of(Run& run, const TreeEntry& entry,
                                                                const TreeEntry* same_name, const Parsed* git,
                                                                bool same_path) {
  const bool here = same_name && same_name->kind == EntryKind::directory &&
                    (same_name->node == entry.node || (run.imported && same_path));
  if (here) {
    const TreeItem* item = git ? git->find(entry.name) : nullptr;
    if (!item || !is_directory(item->mode)) return std::optional<Base>();  // it has no files
    return std::optional(Base{same_name->id, item->id, same_path});
  }
  return moved_base(run, entry.node);
}

Result<void> TreeExporter::find_moves(Run& run) {
  if (run.moves_known) return {};
  run.moves_known = true;
  if (!run.parent) return {};
  WEFT_TRY(const auto differences, tree::diff_trees(reader_, run.parent->weft, run.tree));
  for (const auto& each : differences) {
    if (each.moved()) run.moves.emplace(each.after->entry.node, each.before->path);
  }
  return {};
}

Result<std::optional<TreeExporter::Base>> TreeExporter::moved_base(Run& run, const NodeId& node) {
  WEFT_DO(find_moves(run));
  const auto moved = run.moves.find(node);
  if (moved == run.moves.end()) return std::optional<Base>();
  WEFT_TRY(const auto entry, tree::find_path(reader_, run.parent->weft, moved->second));
  if (!entry) return std::optional<Base>();
  Base base{entry->id, run.parent->git, false};
  std::string_view rest = moved->second;
  while (!rest.empty()) {
    const auto slash = std::min(rest.find('/'), rest.size());
    WEFT_TRY(const ParsedPtr tree, load(base.git));
    const TreeItem* item = tree->find(rest.substr(0, slash));
    if (!item) return std::optional<Base>();
    base.git = item->id;
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    const bool wants_directory = !rest.empty() || entry->kind == EntryKind::directory;
    if (is_submodule(item->mode) || is_directory(item->mode) != wants_directory) return std::optional<Base>();
  }
  return std::optional(base);
}

Result<Sha1> TreeExporter::content_id(Run& run, const TreeEntry& entry, const TreeEntry* same_name, const Parsed* git) {
  const bool here = same_name && same_name->id == entry.id && same_name->kind != EntryKind::directory &&
                    same_name->kind != EntryKind::submodule;
  if (here && git) {
    const TreeItem* item = git->find(entry.name);
    if (item && !is_directory(item->mode) && !is_submodule(item->mode)) return item->id;
  }
  const Slot& slot = blobs_[IdHash{}(entry.id) % kBlobSlots];
  if (slot.used && slot.blob == entry.id) return slot.id;
  WEFT_TRY(const auto moved, moved_base(run, entry.node));
  if (moved && moved->weft == entry.id) return moved->git;
  WEFT_TRY(const Sha1 id, export_blob(run.path, entry));
  blobs_[IdHash{}(entry.id) % kBlobSlots] = {entry.id, id, true};
  return id;
}

Result<Sha1> TreeExporter::export_blob(const std::string& path, const TreeEntry& entry) {
  if (entry.size < object::kLargeBlobBytes) {
    WEFT_TRY(const Bytes content, reader_.read(object::ObjectKind::blob, entry.id));
    const Sha1 id = git_object_id("blob", content);
    WEFT_DO(target_.write(wire::GitKind::blob, id, path, content));
    return id;
  }
  // Its id must be known before it can be written: it is read twice.
  WEFT_TRY(const std::uint64_t size, reader_.blob_size(entry.id));
  Sha1Hasher hasher("blob", size);
  Bytes buffer(wire::kMaxDataBytes, '\0');
  WEFT_TRY(const auto first, reader_.open_blob(entry.id));
  while (true) {
    WEFT_TRY(const std::size_t count, first->read(std::span(buffer.data(), buffer.size())));
    if (count == 0) break;
    hasher.update(ByteView(buffer).substr(0, count));
  }
  const Sha1 id = hasher.finish();
  WEFT_TRY(const auto second, reader_.open_blob(entry.id));
  WEFT_DO(target_.write_blob(id, path, size, *second));
  return id;
}

}  // namespace weft::git
