#include <algorithm>

#include "tree/tree.h"
#include "work/comparison.h"
#include "work/recorded_claims.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;

/// Whether an observation becomes an entry of the new tree.
bool recorded(const Observation& observation, const std::vector<Observation>& all) {
  if (!observation.present) return false;
  return !observation.unreadable || (observation.from && all[*observation.from].head.has_value());
}

TreeEntry entry_of(const Observation& now, const std::vector<Observation>& all, Random& random) {
  const std::optional<TreeEntry>& before = now.from ? all[*now.from].head : now.head;
  const bool known = before && before->kind == now.kind;
  TreeEntry entry;
  entry.kind = now.kind;
  entry.node = known ? before->node : random.id<NodeId>();
  entry.mode = now.kind == EntryKind::file ? recorded_mode(now.stamp.mode, known ? before : std::nullopt) : now.mode;
  if (now.kind == EntryKind::directory) {
    entry.id = object::empty_tree_id();
  } else if (now.unreadable) {
    entry.id = before->id;
    entry.size = before->size;
    entry.mode = before->mode;
  } else {
    WEFT_CHECK(now.id.has_value());
    entry.id = *now.id;
    entry.size = now.size;
  }
  return entry;
}

}  // namespace

Result<Recorded> record(const WorkTree& tree, const object::ObjectReader& reader, object::ObjectWriter& writer,
                        const ObjectId& head, const ScanOptions& options) {
  WEFT_TRY(Comparison comparison, compare_with_head(tree, reader, &writer, head, options));
  const std::vector<Observation>& all = comparison.scan.observations;

  tree::TreeEditor editor(reader, head);
  // Everything that goes, then everything that comes, parents first: entries are set with nodes and ids of their own,
  // so the order in which names were exchanged does not matter.
  std::optional<std::string_view> removed;
  for (const Observation& observation : all) {
    if (observation.present) continue;
    if (removed && is_at_or_below(observation.path, *removed)) continue;
    removed = observation.path;
    WEFT_DO(editor.remove(observation.path));
  }
  std::vector<std::pair<std::string, NodeId>> nodes;
  for (const Observation& observation : all) {
    if (!recorded(observation, all)) {
      // A path that changed its kind and is not recorded leaves nothing of the old kind behind.
      continue;
    }
    TreeEntry entry = entry_of(observation, all, tree.env.random);
    nodes.emplace_back(observation.path, entry.node);
    WEFT_DO(editor.set(observation.path, std::move(entry)));
  }

  Recorded out;
  WEFT_TRY(out.tree, editor.finish(writer));
  WEFT_TRY(out.ops, tree::derive_ops(reader, head, out.tree));
  out.status = make_status(comparison.scan);
  for (const auto& [path, node] : nodes) comparison.update->set_node(path, node);
  if (out.tree != head) {
    WEFT_TRY(auto claims, claims_of_record(reader, head, out.tree, all));
    for (auto& claim : claims) comparison.update->claim(std::move(claim));
  }
  comparison.target.head = out.tree;
  out.accept = [update = comparison.update, target = comparison.target, env = tree.env]() mutable {
    return update->write(env, target);
  };
  return out;
}

}  // namespace weft::work
