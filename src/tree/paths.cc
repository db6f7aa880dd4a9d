// Paths checked and followed, trees walked, and differences by path.
#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "tree/node_diff.h"
#include "tree/tree.h"

namespace weft::tree {

bool path_less(std::string_view a, std::string_view b) {
  const auto [i, j] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (j == b.end()) return false;
  if (i == a.end()) return true;
  if (*i == '/' || *j == '/') return *i == '/';  // the end of a name comes before any byte of a longer one
  return static_cast<unsigned char>(*i) < static_cast<unsigned char>(*j);
}

Result<void> check_path(ByteView path) {
  if (path.empty()) return {};
  std::size_t depth = 0;
  for (ByteView rest = path;;) {
    const std::size_t slash = rest.find('/');
    const ByteView name = rest.substr(0, slash);
    if (const std::string_view problem = object::name_problem(name); !problem.empty()) {
      return make_error(Code::invalid,
                        fmt::format("{} is no path in a tree: the name {} {}", quoted(path), quoted(name), problem),
                        "a path is names with `/` between them, from the top of the tree")
          .with("path", std::string(path));
    }
    if (++depth > kMaxDepth) return too_deep(name);
    if (slash == ByteView::npos) return {};
    rest.remove_prefix(slash + 1);
  }
}

Result<std::optional<TreeEntry>> find_path(const ObjectReader& reader, const ObjectId& root, ByteView path) {
  WEFT_DO(check_path(path));
  TreeEntry entry = root_entry(root);
  while (!path.empty()) {
    if (entry.kind != EntryKind::directory || is_empty_tree(entry.id)) return std::optional<TreeEntry>();
    const std::size_t slash = path.find('/');
    WEFT_TRY(auto found, object::find_entry(reader, entry.id, path.substr(0, slash)));
    if (!found) return std::optional<TreeEntry>();
    entry = *std::move(found);
    path.remove_prefix(slash == ByteView::npos ? path.size() : slash + 1);
  }
  return std::optional(std::move(entry));
}

Result<void> walk(const ObjectReader& reader, const ObjectId& root, std::string_view prefix,
                  const std::function<Result<bool>(const PathEntry&)>& visit) {
  struct Level {
    object::Entries entries;
    std::size_t next = 0;
    std::size_t path_length = 0;  // of the directory's path, its '/' included
  };
  std::string path(prefix);
  if (!path.empty()) path += '/';
  std::vector<Level> levels(1);
  WEFT_TRY(levels[0].entries, list_directory(reader, root));
  levels[0].path_length = path.size();
  // A tree that holds one directory many times could take forever; a real one holds every node once.
  std::unordered_set<NodeId, IdHash> directories;
  PathEntry item;
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.next == level.entries.size()) {
      levels.pop_back();
      continue;
    }
    item.entry = std::move(level.entries[level.next++]);
    path.resize(level.path_length);
    path += item.entry.name;
    item.path = path;
    const bool is_directory = item.entry.kind == EntryKind::directory;
    if (is_directory && !directories.insert(item.entry.node).second) {
      return damaged(
          fmt::format("node {} is at two places of one tree, one of them {}", item.entry.node.hex(), quoted(path)));
    }
    WEFT_TRY(const bool descend, visit(item));
    if (!is_directory || !descend) continue;
    if (levels.size() >= kMaxDepth) return too_deep(item.entry.name);
    Level below;
    WEFT_TRY(below.entries, list_directory(reader, item.entry.id));
    path += '/';
    below.path_length = path.size();
    levels.push_back(std::move(below));
  }
  return {};
}

namespace {

/// Paths of directories, each built once.
class PathBook {
 public:
  explicit PathBook(const DirectoryMap& directories) : directories_(directories) {}

  std::string path(const Located& node) {
    if (node.parent.is_zero()) return node.entry.name;
    return directory(node.parent) + '/' + node.entry.name;
  }

 private:
  const std::string& directory(const NodeId& node) {
    if (const auto known = paths_.find(node); known != paths_.end()) return known->second;
    return paths_.emplace(node, path_of(directories_, directories_.at(node))).first->second;
  }
  const DirectoryMap& directories_;
  std::unordered_map<NodeId, std::string, IdHash> paths_;
};

}  // namespace

Result<std::vector<Difference>> diff_trees(const ObjectReader& reader, const ObjectId& before, const ObjectId& after) {
  WEFT_TRY(NodeDiff diff, diff_nodes(reader, before, after));
  PathBook before_paths(diff.before_dirs), after_paths(diff.after_dirs);
  std::vector<Difference> differences;
  differences.reserve(diff.changes.size());
  for (NodeChange& change : diff.changes) {
    Difference difference;
    difference.relocated = change.moved();
    if (change.before) {
      std::string path = before_paths.path(*change.before);
      difference.before = PathEntry{std::move(path), std::move(change.before->entry)};
    }
    if (change.after) {
      std::string path = after_paths.path(*change.after);
      difference.after = PathEntry{std::move(path), std::move(change.after->entry)};
    }
    differences.push_back(std::move(difference));
  }
  // At one path what is gone comes first.
  const auto key = [](const Difference& d) -> const std::string& { return (d.after ? d.after : d.before)->path; };
  std::sort(differences.begin(), differences.end(), [&](const Difference& x, const Difference& y) {
    if (key(x) != key(y)) return path_less(key(x), key(y));
    return !x.after && y.after;
  });
  return differences;
}

}  // namespace weft::tree
