#include "store/live_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "object/change.h"
#include "object/chunk_list.h"
#include "object/tree_codec.h"

namespace weft::store {
namespace {

constexpr std::uint64_t kProgressStep = 1024;
constexpr std::size_t kMaxSources = 255;
constexpr unsigned kSourceShift = 56;
constexpr std::uint64_t kPlaceMask = (std::uint64_t{1} << kSourceShift) - 1;
/// The group of root directories: their node is zero.
constexpr std::uint64_t kRootGroup = 1;

std::uint64_t group_of(const NodeId& node) {
  std::uint64_t word = 0;
  std::memcpy(&word, node.bytes.data(), sizeof(word));
  return word < 2 ? word + 2 : word;
}

void set_bit(std::vector<std::uint64_t>& bits, std::uint64_t place) {
  bits[place / 64] |= std::uint64_t{1} << (place % 64);
}
bool get_bit(const std::vector<std::uint64_t>& bits, std::uint64_t place) {
  return (bits[place / 64] >> (place % 64) & 1) != 0;
}

using VisitReference = std::function<Result<void>(ObjectKind, const ObjectId&, std::uint64_t)>;

Result<void> change_references(const object::Change& change, const VisitReference& visit) {
  for (const auto& parent : change.parents) WEFT_DO(visit(ObjectKind::change, parent, 0));
  if (change.tree != object::empty_tree_id()) WEFT_DO(visit(ObjectKind::tree, change.tree, kRootGroup));
  const auto blob = [&](const ObjectId& id, const NodeId& node) -> Result<void> {
    return id.is_zero() ? Result<void>() : visit(ObjectKind::blob, id, group_of(node));
  };
  for (const auto& each : change.ops) {
    if (const auto* const create = std::get_if<object::op::Create>(&each)) {
      WEFT_DO(blob(create->blob, create->node));
    } else if (const auto* const set = std::get_if<object::op::SetContent>(&each)) {
      WEFT_DO(blob(set->result, set->node));
      WEFT_DO(blob(set->base, set->node));
    } else if (const auto* const edit = std::get_if<object::op::EditText>(&each)) {
      WEFT_DO(blob(edit->result, edit->node));
      WEFT_DO(blob(edit->base, edit->node));
    }
  }
  return {};
}

/// `group`: of the directory.
Result<void> tree_references(ByteView encoded, std::uint64_t group, const VisitReference& visit) {
  WEFT_TRY(const auto form, object::tree_form(encoded));
  if (form == object::TreeForm::table) {
    WEFT_TRY(const auto table, object::decode_table(encoded));
    for (const auto& chunk : table.chunks) WEFT_DO(visit(ObjectKind::tree, chunk.id, group));
    return {};
  }
  WEFT_TRY(auto cursor, form == object::TreeForm::directory ? object::EntryCursor::directory(encoded)
                                                            : object::EntryCursor::chunk(encoded, nullptr, {}));
  while (const object::EntryView* const entry = cursor.next()) {
    const bool directory = entry->kind == object::EntryKind::directory;
    if (directory && entry->id == object::empty_tree_id()) continue;
    WEFT_DO(visit(directory ? ObjectKind::tree : ObjectKind::blob, entry->id, group_of(entry->node)));
  }
  return cursor.finish();
}

}  // namespace

Result<void> LiveObjects::references(ObjectKind kind, ByteView content, const VisitReference& visit) {
  if (kind == ObjectKind::tree) return tree_references(content, kRootGroup, visit);
  if (kind != ObjectKind::change) return {};
  WEFT_TRY(const auto change, object::decode_change(content));
  return change_references(change, visit);
}

void LiveObjects::add_pack(std::shared_ptr<const object::PackReader> pack, const KeptPack& kept, bool moves) {
  Source source;
  source.live.resize((pack->summary().objects + 63) / 64);
  source.dead = kept.dead;
  source.pack = std::move(pack);
  source.moves = moves;
  WEFT_CHECK(sources_.size() < kMaxSources);
  sources_.push_back(std::move(source));
}

void LiveObjects::add_run(std::shared_ptr<const Run> run, std::vector<bool> counts, std::vector<bool> moves) {
  Source source;
  std::size_t places = 0;
  for (const ObjectKind kind : {ObjectKind::blob, ObjectKind::tree, ObjectKind::change}) {
    source.first[static_cast<std::size_t>(kind)] = places;
    places += run->count(entry_kind(kind));
  }
  source.live.resize((places + 63) / 64);
  source.run = std::move(run);
  source.counts = std::move(counts);
  source.pack_moves = std::move(moves);
  WEFT_CHECK(sources_.size() < kMaxSources);
  sources_.push_back(std::move(source));
}

std::optional<LiveObjects::Place> LiveObjects::find_in(std::size_t number, ObjectKind kind, const ObjectId& id) const {
  const Source& source = sources_[number];
  if (source.pack) {
    const auto place = source.pack->find_place(kind, id);
    if (!place || !*place) return std::nullopt;
    if (!source.dead.empty() && get_bit(source.dead, **place)) return std::nullopt;
    return Place{number, **place, source.moves};
  }
  const EntryKind entry = entry_kind(kind);
  const std::uint64_t prefix = key_word(id, 0);
  for (std::size_t i = source.run->lower_bound(entry, prefix); i < source.run->count(entry); ++i) {
    const IndexEntry found = source.run->entry(entry, i);
    if (key_word(found.key, 0) != prefix) return std::nullopt;
    if (found.key != id) continue;
    const Location location(found.value);
    const bool packed = location.is_in_pack();
    const std::uint64_t ordinal = packed ? location.pack_ordinal() : 0;
    const bool here = packed ? ordinal < source.counts.size() && source.counts[ordinal] : location.position() < cut_;
    if (!here) return std::nullopt;
    return Place{number, source.first[static_cast<std::size_t>(kind)] + i, packed ? source.pack_moves[ordinal] : true};
  }
  return std::nullopt;
}

std::optional<LiveObjects::Place> LiveObjects::find(ObjectKind kind, const ObjectId& id) const {
  std::optional<Place> moves;
  for (std::size_t number = 0; number < sources_.size(); ++number) {
    const auto place = find_in(number, kind, id);
    if (!place) continue;
    if (!place->moves) return place;
    if (!moves) moves = place;
  }
  return moves;
}

bool LiveObjects::is_live(ObjectKind kind, const ObjectId& id) const {
  if (recent_[static_cast<std::size_t>(kind)].contains(id)) return true;
  const auto place = find(kind, id);
  return place && bit(*place);
}

bool LiveObjects::is_live_change(const HalfId& half) const {
  ObjectId low;
  std::memcpy(low.bytes.data(), half.bytes.data(), HalfId::kSize);
  const std::uint64_t prefix = key_word(low, 0);
  const auto matches = [&](const ObjectId& id) { return half_of(id) == half; };
  for (const Source& source : sources_) {
    if (source.pack) {
      const auto first = source.pack->first_place(prefix);
      if (!first) continue;
      for (std::uint64_t place = *first; place < source.pack->summary().objects; ++place) {
        const auto entry = source.pack->entry(place);
        if (!entry || key_word(entry->id, 0) != prefix) break;
        if (entry->kind == ObjectKind::change && matches(entry->id) && is_live(ObjectKind::change, entry->id))
          return true;
      }
      continue;
    }
    for (std::size_t i = source.run->lower_bound(EntryKind::change, prefix); i < source.run->count(EntryKind::change);
         ++i) {
      const IndexEntry entry = source.run->entry(EntryKind::change, i);
      if (key_word(entry.key, 0) != prefix) break;
      if (matches(entry.key) && is_live(ObjectKind::change, entry.key)) return true;
    }
  }
  return false;
}

Result<bool> LiveObjects::mark(ObjectKind kind, const ObjectId& id, std::uint64_t group) {
  const auto place = find(kind, id);
  if (!place) {  // behind the cut, or nowhere: whoever reads it will see
    const bool fresh = recent_[static_cast<std::size_t>(kind)].insert(id).second;
    if (fresh && kind == ObjectKind::blob) WEFT_DO(mark_chunks(id, group));
    return fresh;
  }
  if (bit(*place)) return false;
  set_bit(sources_[place->source].live, place->place);
  if (++marked_ % kProgressStep == 0 && progress) WEFT_DO(progress(marked_));
  if (place->moves) {
    moving_.push_back({place->place | static_cast<std::uint64_t>(place->source) << kSourceShift, group,
                       static_cast<std::uint32_t>(next_sequence_), kind});
  }
  ++next_sequence_;
  if (kind == ObjectKind::blob) WEFT_DO(mark_chunks(id, group));
  return true;
}

Result<void> LiveObjects::mark_chunks(const ObjectId& blob, std::uint64_t group) {
  const auto list = reader_.chunk_list(blob);
  if (!list) {
    if (list.error().code != Code::not_found) return list.error();
    ++missing_;  // nothing of it can be lost
    return {};
  }
  if (!*list) return {};
  return object::for_each_chunk(reader_, **list, [&](const object::ChunkEntry& entry) -> Result<void> {
    WEFT_TRY(const bool fresh, mark(ObjectKind::blob, entry.id, group));
    (void)fresh;
    return {};
  });
}

Result<std::optional<Bytes>> LiveObjects::content(ObjectKind kind, const ObjectId& id) {
  auto bytes = reader_.read(kind, id);
  if (bytes) return std::optional(*std::move(bytes));
  if (bytes.error().code == Code::not_found) {
    ++missing_;
    recent_[static_cast<std::size_t>(kind)].erase(id);
    if (tolerate_missing) return std::optional<Bytes>();
    return damaged(fmt::format("{} {} is missing, and something that is kept needs it", object::name(kind), id.hex()),
                   "run `weft verify --deep` to see what needs it; nothing was removed");
  }
  return std::move(bytes).error();
}

Result<void> LiveObjects::open(const ChangeId& id) {
  WEFT_TRY(const auto bytes, content(ObjectKind::change, id));
  if (!bytes) return {};
  WEFT_TRY(auto change, object::decode_change(*bytes));
  const std::uint64_t lamport = change.lamport;
  heads_.push({lamport, id, std::make_shared<const object::Change>(std::move(change))});
  return {};
}

Result<void> LiveObjects::add_root(ObjectKind kind, const ObjectId& id) {
  WEFT_TRY(const bool fresh, mark(kind, id, kRootGroup));
  if (!fresh) return {};
  if (kind == ObjectKind::change) return open(id);
  if (kind == ObjectKind::tree) open_trees_.emplace_back(id, kRootGroup);
  return {};
}

Result<void> LiveObjects::look_into(const object::Change& change) {
  WEFT_DO(change_references(change, [&](ObjectKind kind, const ObjectId& id, std::uint64_t group) -> Result<void> {
    WEFT_TRY(const bool fresh, mark(kind, id, group));
    if (!fresh) return {};
    if (kind == ObjectKind::change) return open(id);
    if (kind == ObjectKind::tree) {
      open_trees_.emplace_back(id, group);
      return trees();  // its own content before that of its parents: newest first
    }
    return {};
  }));
  return {};
}

Result<void> LiveObjects::trees() {
  while (!open_trees_.empty()) {
    const auto [id, group] = open_trees_.back();
    open_trees_.pop_back();
    WEFT_TRY(const auto bytes, content(ObjectKind::tree, id));
    if (!bytes) continue;
    auto done =
        tree_references(*bytes, group, [&](ObjectKind kind, const ObjectId& found, std::uint64_t own) -> Result<void> {
          WEFT_TRY(const bool fresh, mark(kind, found, own));
          if (fresh && kind == ObjectKind::tree) open_trees_.emplace_back(found, own);
          return {};
        });
    if (!done) return object::in_tree(id, std::move(done).error());
  }
  return {};
}

Result<void> LiveObjects::trace() {
  // Newest first: a change is looked into only after all its descendants that are live.
  WEFT_DO(trees());
  while (!heads_.empty()) {
    const auto change = heads_.top().change;
    heads_.pop();
    WEFT_DO(look_into(*change));
    WEFT_DO(trees());
  }
  return {};
}

Result<std::pair<ObjectKind, ObjectId>> LiveObjects::object_at(std::size_t number, std::uint64_t place) const {
  const Source& source = sources_[number];
  if (source.pack) {
    WEFT_TRY(const auto entry, source.pack->entry(place));
    return std::pair(entry.kind, entry.id);
  }
  ObjectKind kind = ObjectKind::change;
  while (kind != ObjectKind::blob && place < source.first[static_cast<std::size_t>(kind)]) {
    kind = static_cast<ObjectKind>(static_cast<int>(kind) - 1);
  }
  return std::pair(kind, source.run->entry(entry_kind(kind), place - source.first[static_cast<std::size_t>(kind)]).key);
}

Result<KeptPack> LiveObjects::pack_facts(std::size_t number, const PackName& name) const {
  const Source& source = sources_[number];
  KeptPack pack;
  pack.name = name;
  for (std::uint64_t place = 0; place < source.pack->summary().objects; ++place) {
    if (get_bit(source.live, place)) {
      ++pack.objects;
      WEFT_TRY(const auto entry, source.pack->entry(place));
      if (entry.kind == ObjectKind::change) ++pack.changes;
      continue;
    }
    if (pack.dead.empty()) pack.dead.resize(source.live.size());
    set_bit(pack.dead, place);
  }
  return pack;
}

Result<KeptPack> LiveObjects::pack_facts(const object::PackReader& reader, const PackName& name) const {
  KeptPack pack;
  pack.name = name;
  std::uint64_t place = 0;
  WEFT_DO(reader.for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
    if (is_live(kind, id)) {
      ++pack.objects;
      if (kind == ObjectKind::change) ++pack.changes;
    } else {
      if (pack.dead.empty()) pack.dead.resize((reader.summary().objects + 63) / 64);
      set_bit(pack.dead, place);
    }
    ++place;
    return {};
  }));
  return pack;
}

Result<LiveObjects::Dropped> LiveObjects::count() const {
  Dropped dropped;
  for (std::size_t number = 0; number < sources_.size(); ++number) {
    const Source& source = sources_[number];
    const std::uint64_t places =
        source.pack ? source.pack->summary().objects : source.first[3] + source.run->count(EntryKind::change);
    for (std::uint64_t place = 0; place < places; ++place) {
      if (source.pack && !source.dead.empty() && get_bit(source.dead, place)) continue;
      WEFT_TRY(const auto object, object_at(number, place));
      const bool change = object.first == ObjectKind::change;
      if (get_bit(source.live, place)) {
        ++dropped.live_objects;
        if (change) ++dropped.live_changes;
        continue;
      }
      if (is_live(object.first, object.second)) continue;                           // elsewhere
      if (!source.pack && !find_in(number, object.first, object.second)) continue;  // behind the cut
      ++dropped.objects;
      if (change) ++dropped.changes;
    }
  }
  return dropped;
}

object::RepackSource LiveObjects::take_moving() {
  std::vector<Moving> items;
  items.swap(moving_);
  // Changes oldest first. Then groups in the order of their newest version, which is that of a walk through the newest
  // tree: what lies together in a directory lies together here.
  std::sort(items.begin(), items.end(), [](const Moving& a, const Moving& b) {
    const bool a_change = a.kind == ObjectKind::change;
    const bool b_change = b.kind == ObjectKind::change;
    if (a_change != b_change) return a_change;
    if (a_change) return a.sequence > b.sequence;
    return std::tie(a.group, a.sequence) < std::tie(b.group, b.sequence);
  });
  std::vector<std::pair<std::uint32_t, std::uint32_t>> groups;  // first sequence, index
  std::size_t changes = 0;
  while (changes < items.size() && items[changes].kind == ObjectKind::change) ++changes;
  for (std::size_t i = changes; i < items.size(); ++i) {
    if (i == changes || items[i].group != items[i - 1].group) {
      groups.emplace_back(items[i].sequence, static_cast<std::uint32_t>(i));
    }
  }
  std::sort(groups.begin(), groups.end());
  struct Cursor {
    std::size_t next_change = 0, group = 0, in_group = 0;
  };
  return [this, items = std::move(items), groups = std::move(groups), changes,
          cursor = Cursor()]() mutable -> Result<std::optional<object::RepackItem>> {
    std::optional<std::size_t> index;
    if (cursor.next_change < changes) {
      index = cursor.next_change++;
    } else {
      while (cursor.group < groups.size() && !index) {
        const std::size_t at = groups[cursor.group].second + cursor.in_group;
        if (at < items.size() && items[at].group == items[groups[cursor.group].second].group) {
          index = at;
          ++cursor.in_group;
        } else {
          ++cursor.group;
          cursor.in_group = 0;
        }
      }
    }
    if (!index) return std::optional<object::RepackItem>();
    const Moving& item = items[*index];
    WEFT_TRY(const auto object, object_at(item.place >> kSourceShift, item.place & kPlaceMask));
    return std::optional(object::RepackItem{object.first, object.second, item.group});
  };
}

}  // namespace weft::store
