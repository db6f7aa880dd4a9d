// The hash of what a change does, whoever does it and wherever (change.h, delta_id; docs/FORMATS.md, "Delta id").
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "object/change.h"

namespace weft::object {

namespace {

constexpr ByteView kMagic = "weftdlt1";

enum class Tag : std::uint8_t { create = 1, move, remove, set_content, edit_text, set_mode, settle };

using ShownPath = std::function<std::string(const NodeId&)>;

/// Names nodes without their ids: those this change creates by number, all others by path. (A new node's path will not
/// do: among colliding names it shows a part of the random id.)
class Names {
 public:
  Names(const Change& change, const ShownPath& shown_path) : shown_path_(shown_path) {
    // Ties (a name created twice) are settled by what is created, then by the order of the ops, never by the id.
    using Key = std::tuple<std::string, EntryKind, std::uint32_t, ObjectId, std::size_t>;
    std::vector<std::pair<Key, NodeId>> created;
    for (std::size_t i = 0; i < change.ops.size(); ++i) {
      const auto* create = std::get_if<op::Create>(&change.ops[i]);
      if (create == nullptr) continue;
      std::string path = shown(create->place.directory);
      if (!path.empty()) path += '/';
      path += create->place.name;
      created.emplace_back(Key(std::move(path), create->kind, create->mode, create->blob, i), create->node);
    }
    std::sort(created.begin(), created.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [key, node] : created) numbers_.try_emplace(node, numbers_.size(), std::get<0>(key));
  }

  /// What the op is sorted by: the shown path, of a new node the one its creator meant.
  std::string path(const NodeId& node) const {
    const auto created = numbers_.find(node);
    return created == numbers_.end() ? shown(node) : created->second.second;
  }

  void write(ByteWriter& writer, const NodeId& node) const {
    const auto number = numbers_.find(node);
    writer.u8(number == numbers_.end() ? 0 : 1);
    if (number == numbers_.end()) {
      writer.sized(shown(node));
    } else {
      writer.varint(number->second.first);
    }
  }

 private:
  std::string shown(const NodeId& node) const { return node.is_zero() ? std::string() : shown_path_(node); }

  const ShownPath& shown_path_;
  std::unordered_map<NodeId, std::pair<std::size_t, std::string>, IdHash> numbers_;
};

/// One op without what another recording of it would not have.
struct OpNormaliser {
  const Names& names;
  ByteWriter writer;

  NodeId head(Tag tag, const NodeId& node) {
    writer.u8(static_cast<std::uint8_t>(tag));
    names.write(writer, node);
    return node;
  }
  void place(const Place& place) {
    names.write(writer, place.directory);
    writer.sized(place.name);
  }
  NodeId operator()(const op::Create& create) {
    head(Tag::create, create.node);
    place(create.place);
    writer.u8(static_cast<std::uint8_t>(create.kind));
    writer.varint(create.mode);
    writer.raw(create.blob.view());
    writer.u8(create.replaces ? 1 : 0);
    return create.node;
  }
  NodeId operator()(const op::Move& move) {
    head(Tag::move, move.node);
    place(move.from);
    place(move.to);
    return move.node;
  }
  NodeId operator()(const op::Delete& remove) { return head(Tag::remove, remove.node); }
  NodeId operator()(const op::SetContent& set) {
    head(Tag::set_content, set.node);
    writer.raw(set.result.view());
    return set.node;
  }
  NodeId operator()(const op::EditText& edit) {
    head(Tag::edit_text, edit.node);
    writer.varint(edit.hunks.size());
    for (const Hunk& hunk : edit.hunks) {
      writer.sized(hunk.removed);
      writer.sized(hunk.added);
      writer.sized(hunk.context_before);
      writer.sized(hunk.context_after);
    }
    return edit.node;
  }
  NodeId operator()(const op::SetMode& set) {
    head(Tag::set_mode, set.node);
    writer.varint(set.to);
    return set.node;
  }
  NodeId operator()(const op::Settle& settle) {
    writer.u8(static_cast<std::uint8_t>(Tag::settle));
    writer.raw(settle.conflict.view());
    return {};
  }
};

}  // namespace

DeltaId delta_id(const Change& change, const std::function<std::string(const NodeId&)>& shown_path) {
  if (change.ops.empty()) return {};
  const Names names(change, shown_path);
  std::vector<std::pair<std::string, Bytes>> sorted;  // path, normalised op
  sorted.reserve(change.ops.size());
  for (const Op& op : change.ops) {
    Bytes bytes;
    const NodeId node = std::visit(OpNormaliser{names, ByteWriter(bytes)}, op);
    sorted.emplace_back(names.path(node), std::move(bytes));
  }
  std::sort(sorted.begin(), sorted.end());
  Sha256 hash;
  hash.update(kMagic);
  for (const auto& [path, bytes] : sorted) {
    Bytes length;
    ByteWriter(length).varint(bytes.size());
    hash.update(length);
    hash.update(bytes);
  }
  return DeltaId::from_bytes(hash.finish().view());
}

}  // namespace weft::object
