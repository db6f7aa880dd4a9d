// What a change touched, for the history index. A recorded change's ops say it; of a merge, or a change without ops,
// the difference from its first parent's tree does.
#include <utility>

#include "tree/node_diff.h"
#include "tree/tree.h"

namespace weft::tree {
namespace {

struct FromOp {
  Touched& touched;

  void operator()(const object::op::Create& create) const {
    touched.nodes.push_back(create.node);
    if (create.replaces) touched.nodes.push_back(*create.replaces);
    touched.places.push_back(create.place);
  }
  void operator()(const object::op::Move& move) const {
    touched.nodes.push_back(move.node);
    touched.places.push_back(move.from);
    touched.places.push_back(move.to);
  }
  void operator()(const object::op::Delete& removed) const {
    touched.nodes.push_back(removed.node);
    touched.places.push_back(removed.from);
  }
  void operator()(const object::op::SetContent& content) const { touched.nodes.push_back(content.node); }
  void operator()(const object::op::EditText& edit) const { touched.nodes.push_back(edit.node); }
  void operator()(const object::op::SetMode& mode) const { touched.nodes.push_back(mode.node); }
  void operator()(const object::op::Settle&) const {}
};

}  // namespace

Result<Touched> touched(const ObjectReader& reader, const object::Change& change) {
  Touched out;
  if (change.form == object::OpsForm::recorded && change.parents.size() <= 1) {
    for (const auto& any : change.ops) std::visit(FromOp{out}, any);
    return out;
  }
  ObjectId before = object::empty_tree_id();
  if (!change.parents.empty()) {
    WEFT_TRY(const Bytes bytes, reader.read(object::ObjectKind::change, change.parents[0]));
    WEFT_TRY(const auto summary, object::decode_change_summary(bytes));
    before = summary.tree;
  }
  WEFT_TRY(const auto diff, diff_nodes(reader, before, change.tree));
  for (const auto& node : diff.changes) {
    if (!node.differs()) continue;
    out.nodes.push_back(node.node());
    if (node.kept() && !node.moved() && !node.kind_changed()) continue;
    if (node.before) out.places.push_back({node.before->parent, node.before->entry.name});
    if (node.after) out.places.push_back({node.after->parent, node.after->entry.name});
  }
  return out;
}

}  // namespace weft::tree
