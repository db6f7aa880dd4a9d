#include "git/helper/tree_diff.h"

#include <algorithm>

namespace weft::git::helper {
namespace {

std::size_t weight(const Tree& tree) { return tree.object.size() + tree.items.size() * sizeof(TreeItem) + 256; }

Error too_deep() {
  return make_error(Code::invalid,
                    "the git history has directories nested more than " + std::to_string(kMaxDepth) + " deep");
}

bool same(const TreeItem& a, const TreeItem& b) { return a.id == b.id && a.mode == b.mode; }

/// Path of an item, for as long as it lives.
class Appended {
 public:
  Appended(std::string& path, std::string_view name) : path_(path), length_(path.size()) {
    if (!path.empty()) path += '\0';
    path += name;
  }
  ~Appended() { path_.resize(length_); }
  Appended(const Appended&) = delete;
  Appended& operator=(const Appended&) = delete;

 private:
  std::string& path_;
  std::size_t length_;
};

}  // namespace

const TreeItem* Tree::find(std::string_view name) const {
  const auto found = std::lower_bound(items.begin(), items.end(), name,
                                      [](const TreeItem& item, std::string_view wanted) { return item.name < wanted; });
  return found != items.end() && found->name == name ? &*found : nullptr;
}

TreeDiff::TreeDiff(ReadTree read) : read_(std::move(read)) {}

Result<TreeDiff::TreePtr> TreeDiff::load(const Sha1& id) {
  if (const auto found = cache_.find(id); found != cache_.end()) {
    uses_.splice(uses_.begin(), uses_, found->second.use);
    return found->second.tree;
  }
  auto tree = std::make_shared<Tree>();
  WEFT_TRY(tree->object, read_(id));
  auto parsed = parse_tree(tree->object);
  if (!parsed) return damaged(parsed.error().message + ": " + id.hex(), "git fsck tells what is damaged");
  tree->items = std::move(parsed->items);
  tree->canonical = parsed->canonical;
  std::sort(tree->items.begin(), tree->items.end(),
            [](const TreeItem& a, const TreeItem& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(tree->items.begin(), tree->items.end(),
                                        [](const TreeItem& a, const TreeItem& b) { return a.name == b.name; });
  if (twice != tree->items.end()) {
    return make_error(Code::invalid, "the git tree " + id.hex() + " has the name " + quoted(twice->name) + " twice",
                      "git fsck names such trees (duplicateEntries); weft cannot hold them");
  }
  cached_bytes_ += weight(*tree);
  uses_.push_front(id);
  cache_.emplace(id, Cached{tree, uses_.begin()});
  while (cached_bytes_ > kCacheBytes && uses_.size() > 1) {
    const auto oldest = cache_.find(uses_.back());
    cached_bytes_ -= weight(*oldest->second.tree);
    cache_.erase(oldest);
    uses_.pop_back();
  }
  return tree;
}

Result<bool> TreeDiff::hollow(const Sha1& id, std::size_t depth) {
  if (const bool* known = hollow_.find(id)) return *known;
  if (depth > kMaxDepth) return too_deep();
  WEFT_TRY(const TreePtr tree, load(id));
  bool result = true;
  for (const auto& item : tree->items) {
    if (!is_directory(item.mode)) {
      result = false;
      break;
    }
  }
  for (std::size_t i = 0; result && i < tree->items.size(); ++i) {
    WEFT_TRY(result, hollow(tree->items[i].id, depth + 1));
  }
  hollow_.insert(id, result);
  return result;
}

Result<bool> TreeDiff::odd(Tree& tree, std::size_t depth) {
  if (tree.odd) return *tree.odd;
  bool result = !tree.canonical;
  for (std::size_t i = 0; !result && i < tree.items.size(); ++i) {
    if (!is_directory(tree.items[i].mode)) continue;
    WEFT_TRY(result, hollow(tree.items[i].id, depth + 1));
  }
  tree.odd = result;
  return result;
}

Result<void> TreeDiff::diff(const std::vector<Sha1>& parents, const Sha1& tree, DiffSink& sink) {
  if (!parents.empty() && parents[0] == tree) return {};
  TreePtr before;
  std::vector<TreePtr> others;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    WEFT_TRY(TreePtr parent, load(parents[i]));
    if (i == 0) {
      before = std::move(parent);
    } else {
      others.push_back(std::move(parent));
    }
  }
  WEFT_TRY(const TreePtr after, load(tree));
  std::string path;
  return directories(path, before, after, others, 0, sink);
}

Result<void> TreeDiff::directories(std::string& path, const TreePtr& before, const TreePtr& after,
                                   const std::vector<TreePtr>& others, std::size_t depth, DiffSink& sink) {
  if (depth > kMaxDepth) return too_deep();
  static const std::vector<TreeItem> kNothing;
  const auto& old_items = before ? before->items : kNothing;
  const auto& new_items = after ? after->items : kNothing;
  auto a = old_items.begin();
  auto b = new_items.begin();
  while (a != old_items.end() || b != new_items.end()) {
    const bool take_a = b == new_items.end() || (a != old_items.end() && a->name <= b->name);
    const bool take_b = a == old_items.end() || (b != new_items.end() && b->name <= a->name);
    const TreeItem* old_item = take_a ? &*a : nullptr;
    const TreeItem* new_item = take_b ? &*b : nullptr;
    if (take_a) ++a;
    if (take_b) ++b;
    if (old_item && new_item && same(*old_item, *new_item)) continue;
    const Appended appended(path, old_item ? old_item->name : new_item->name);
    WEFT_DO(items(path, old_item, new_item, others, depth, sink));
  }
  if (!after) return {};
  bool keep = false;
  WEFT_TRY(keep, odd(*after, depth));
  if (!keep && before) {
    WEFT_TRY(keep, odd(*before, depth));
  }
  if (!keep) return {};
  WEFT_DO(sink.odd_tree(path, after->object));
  std::set<Sha1> told;
  return hollow_below(path, *after, depth, told, sink);
}

Result<void> TreeDiff::hollow_below(std::string& path, const Tree& tree, std::size_t depth, std::set<Sha1>& told,
                                    DiffSink& sink) {
  for (const auto& item : tree.items) {
    if (!is_directory(item.mode)) continue;
    WEFT_TRY(const bool empty, hollow(item.id, depth + 1));
    if (!empty || !told.insert(item.id).second) continue;
    WEFT_TRY(const TreePtr below, load(item.id));
    if (below->items.empty()) continue;
    const Appended appended(path, item.name);
    WEFT_DO(sink.odd_tree(path, below->object));
    WEFT_DO(hollow_below(path, *below, depth + 1, told, sink));
  }
  return {};
}

Result<void> TreeDiff::items(std::string& path, const TreeItem* before, const TreeItem* after,
                             const std::vector<TreePtr>& others, std::size_t depth, DiffSink& sink) {
  const std::string_view name = before ? before->name : after->name;
  // Hollow directories are no directories, but where one is odd its bytes are in the tree that holds it.
  const auto present_directory = [this, depth](const TreeItem* item) -> Result<bool> {
    if (!item || !is_directory(item->mode)) return false;
    WEFT_TRY(const bool empty, hollow(item->id, depth + 1));
    return !empty;
  };
  WEFT_TRY(const bool old_directory, present_directory(before));
  WEFT_TRY(const bool new_directory, present_directory(after));
  const bool old_leaf = before && !is_directory(before->mode);
  const bool new_leaf = after && !is_directory(after->mode);

  if (old_leaf && !new_leaf) WEFT_DO(sink.removed(path));
  if (old_directory && !new_directory) WEFT_DO(sink.gone_directory(path));
  if (old_directory || new_directory) {
    TreePtr old_tree;
    TreePtr new_tree;
    std::vector<TreePtr> other_trees(others.size());
    if (old_directory) {
      WEFT_TRY(old_tree, load(before->id));
    }
    if (new_directory) {
      WEFT_TRY(new_tree, load(after->id));
      for (std::size_t i = 0; i < others.size(); ++i) {
        const TreeItem* other = others[i] ? others[i]->find(name) : nullptr;
        if (!other || !is_directory(other->mode)) continue;
        WEFT_TRY(other_trees[i], load(other->id));
      }
    }
    WEFT_DO(directories(path, old_tree, new_tree, other_trees, depth + 1, sink));
  }
  if (!new_leaf) return {};
  std::optional<std::size_t> parent;
  if (before && before->id == after->id && is_submodule(before->mode) == is_submodule(after->mode)) parent = 0;
  for (std::size_t i = 0; !parent && i < others.size(); ++i) {
    const TreeItem* other = others[i] ? others[i]->find(name) : nullptr;
    if (other && other->id == after->id && !is_directory(other->mode) && !is_submodule(other->mode)) parent = i + 1;
  }
  return sink.put(path, *after, parent);
}

}  // namespace weft::git::helper
