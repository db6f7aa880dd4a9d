#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "object/byte_source.h"
#include "object/chunk_list.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

/// Most moves of a ref that can lie between a reader's position and the newest durable one.
constexpr int kMaxWalk = 1 << 20;

}  // namespace

template <typename T, typename Use>
Result<std::optional<T>> Snapshot::State::use_object(ObjectKind kind, const ObjectId& id, const Use& use,
                                                     Run::Match first) const {
  std::optional<Error> problem;
  // What is found names itself, so the first look need not compare whole ids. That finds another object only where
  // somebody made two ids that begin alike.
  Run::Match match = first;
  for (int look = 0;;) {
    const std::uint64_t looked = store->index.generation();
    problem.reset();
    Places found;
    WEFT_DO(store->index.places(&pin, entry_kind(kind), id, match, durable.position, found));
    for (std::size_t i = 0; i < found.list.size(); ++i) {
      Result<std::optional<T>> used = use(*found.view, found.list[i]);
      if (used) {
        if (*used) return used;
      } else if (used.error().code != Code::damaged) {
        return used;
      } else {
        problem = std::move(used).error();  // perhaps another place has it whole
      }
    }
    if (problem && look++ < Index::kMaxLooks && store->index.changed_since(looked)) continue;  // IX5
    if (found.list.empty() || match == Run::Match::whole) break;
    match = Run::Match::whole;
  }
  if (!problem) return std::optional<T>{};
  problem->message = fmt::format("{} {}: {}", object::name(kind), id.hex(), problem->message);
  return *std::move(problem);
}

Result<std::optional<object::Record>> Snapshot::State::record_at(const View& view, std::uint64_t position,
                                                                 ObjectKind kind, const ObjectId& id,
                                                                 std::shared_ptr<Mapping>& keep) const {
  WEFT_TRY(const ByteView bytes, view.segments.view_until(position, durable.position, keep));
  auto record = object::decode_record(bytes);
  if (!record) {
    return damaged(fmt::format("no object record at log position {}", position),
                   "run `weft verify` to see what is affected");
  }
  if (record->kind != kind || record->id != id) return std::optional<object::Record>{};
  return std::optional<object::Record>{*record};
}

template <typename T, typename Use>
Result<std::optional<T>> Snapshot::State::use_content(ObjectKind kind, const ObjectId& id,
                                                      const object::ObjectReader* chunks, const Use& use) const {
  store->objects_read.fetch_add(1, std::memory_order_relaxed);
  return use_object<T>(kind, id, [&](const View& view, const Found& found) -> Result<std::optional<T>> {
    Bytes owned;
    if (found.pack != nullptr) {
      WEFT_TRY(owned, found.pack->read_at(found.offset, kind, id, chunks));
      return use(ByteView(owned), owned);
    }
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const auto record, record_at(view, found.position, kind, id, keep));
    if (!record) return std::optional<T>{};
    if (record->form == object::Stored::chunks && chunks != nullptr) {
      WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
      WEFT_TRY(owned, object::read_chunks(*chunks, id, std::move(list)));
      return use(ByteView(owned), owned);
    }
    WEFT_TRY(const ByteView bytes, store->codecs.view(*record, owned));
    return use(bytes, owned);
  });
}

Error not_found(ObjectKind kind, const ObjectId& id) {
  return make_error(Code::not_found, fmt::format("there is no {} {} in this store", object::name(kind), id.hex()));
}

Snapshot::Snapshot(std::shared_ptr<State> state) : state_(std::move(state)) {}
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(const Snapshot&) = default;
Snapshot& Snapshot::operator=(const Snapshot&) = default;

std::uint64_t Snapshot::position() const { return state_->durable.position; }

Result<std::optional<Bytes>> Snapshot::find(ObjectKind kind, const ObjectId& id) const {
  return state_->use_content<Bytes>(kind, id, this, [](ByteView bytes, Bytes& owned) -> Result<std::optional<Bytes>> {
    return std::optional<Bytes>(owned.data() == bytes.data() ? std::move(owned) : Bytes(bytes));
  });
}

Result<Bytes> Snapshot::read(ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(auto bytes, find(kind, id));
  if (!bytes) return not_found(kind, id);
  return *std::move(bytes);
}

Result<bool> Snapshot::contains(ObjectKind kind, const ObjectId& id) const {
  WEFT_TRY(const auto found, state_->use_object<bool>(
                                 kind, id,
                                 [&](const View& view, const Found& place) -> Result<std::optional<bool>> {
                                   if (place.pack != nullptr) return std::optional<bool>(true);
                                   std::shared_ptr<Mapping> keep;
                                   WEFT_TRY(const auto record, state_->record_at(view, place.position, kind, id, keep));
                                   return record ? std::optional<bool>(true) : std::nullopt;
                                 },
                                 Run::Match::whole));
  return found.has_value();
}

Result<std::uint64_t> Snapshot::blob_size(const ObjectId& id) const {
  constexpr ObjectKind kKind = ObjectKind::blob;
  using Size = std::optional<std::uint64_t>;
  WEFT_TRY(const Size found,
           state_->use_object<std::uint64_t>(kKind, id, [&](const View& view, const Found& place) -> Result<Size> {
             if (place.pack != nullptr) {
               WEFT_TRY(const std::uint64_t size, place.pack->size_at(place.offset, kKind, id));
               return Size(size);
             }
             std::shared_ptr<Mapping> keep;
             WEFT_TRY(const auto record, state_->record_at(view, place.position, kKind, id, keep));
             return record ? Size(record->raw_size) : Size();
           }));
  if (!found) return not_found(kKind, id);
  return *found;
}

Result<std::unique_ptr<object::ByteSource>> Snapshot::open_blob(const ObjectId& id) const {
  constexpr ObjectKind kKind = ObjectKind::blob;
  using Source = std::unique_ptr<object::ByteSource>;
  using Opened = std::optional<Source>;
  WEFT_TRY(Opened found,
           state_->use_object<Source>(kKind, id, [&](const View& view, const Found& place) -> Result<Opened> {
             if (place.pack != nullptr) {
               WEFT_TRY(Source source, place.pack->open_blob_at(place.offset, id, std::make_shared<Snapshot>(*this)));
               return Opened(std::move(source));
             }
             std::shared_ptr<Mapping> keep;
             WEFT_TRY(const auto record, state_->record_at(view, place.position, kKind, id, keep));
             if (!record) return Opened{};
             if (record->form == object::Stored::chunks) {
               WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
               return Opened(object::open_chunks(std::make_shared<Snapshot>(*this), id, std::move(list)));
             }
             WEFT_TRY(Bytes bytes, state_->store->codecs.content(*record));
             return Opened(std::make_unique<object::OwnedSource>(std::move(bytes)));
           }));
  if (!found) return not_found(kKind, id);
  return *std::move(found);
}

Result<std::optional<object::ChunkList>> Snapshot::chunk_list(const ObjectId& blob) const {
  constexpr ObjectKind kKind = ObjectKind::blob;
  using List = std::optional<object::ChunkList>;
  using Looked = std::optional<List>;
  WEFT_TRY(Looked found,
           state_->use_object<List>(kKind, blob, [&](const View& view, const Found& place) -> Result<Looked> {
             if (place.pack != nullptr) {
               WEFT_TRY(List list, place.pack->chunk_list_at(place.offset, blob));
               return Looked(std::move(list));
             }
             std::shared_ptr<Mapping> keep;
             WEFT_TRY(const auto record, state_->record_at(view, place.position, kKind, blob, keep));
             if (!record) return Looked{};
             if (record->form != object::Stored::chunks) return Looked(List{});
             WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
             return Looked(List(std::move(list)));
           }));
  if (!found) return not_found(kKind, blob);
  return *std::move(found);
}

Result<std::vector<ObjectId>> Snapshot::chunks_of(const ObjectId& blob) const {
  WEFT_TRY(const auto list, chunk_list(blob));
  std::vector<ObjectId> ids;
  if (!list) return ids;
  WEFT_DO(object::for_each_chunk(*this, *list, [&](const object::ChunkEntry& entry) -> Result<void> {
    ids.push_back(entry.id);
    return {};
  }));
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<object::Change> Snapshot::change(const ChangeId& id) const {
  WEFT_TRY(auto found,
           state_->use_content<object::Change>(ObjectKind::change, id, nullptr,
                                               [](ByteView bytes, Bytes&) -> Result<std::optional<object::Change>> {
                                                 WEFT_TRY(auto change, object::decode_change(bytes));
                                                 return std::optional(std::move(change));
                                               }));
  if (!found) return not_found(ObjectKind::change, id);
  return *std::move(found);
}

Result<object::ChangeSummary> Snapshot::change_summary(const ChangeId& id) const {
  using Summary = std::optional<object::ChangeSummary>;
  WEFT_TRY(Summary found, state_->use_content<object::ChangeSummary>(
                              ObjectKind::change, id, nullptr, [](ByteView bytes, Bytes&) -> Result<Summary> {
                                WEFT_TRY(auto summary, object::decode_change_summary(bytes));
                                return Summary(std::move(summary));
                              }));
  if (!found) return not_found(ObjectKind::change, id);
  return *std::move(found);
}

namespace {

/// Sorted, each once, at most `limit`.
template <typename IdType>
std::vector<IdType> first_of(std::vector<IdType> ids, std::size_t limit) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.size() > limit) ids.resize(limit);
  return ids;
}

Result<KeyPrefix> key_prefix(std::string_view hex_digits, std::size_t most) {
  if (hex_digits.empty() || hex_digits.size() > most ||
      hex_digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return make_error(Code::invalid, fmt::format("'{}' is no prefix of an id", hex_digits));
  }
  return KeyPrefix(hex_digits);
}

}  // namespace

Result<object::Record> Snapshot::State::candidate_record(const Index::Candidates& found, const Index::Candidate& each,
                                                         std::shared_ptr<Mapping>& keep) const {
  WEFT_TRY(const ByteView bytes, found.keep.view->segments.view_until(each.found.position, durable.position, keep));
  return object::decode_record(bytes);
}

Result<std::vector<ObjectId>> Snapshot::find_by_prefix(ObjectKind kind, std::string_view hex_digits,
                                                       std::size_t limit) const {
  WEFT_TRY(const KeyPrefix prefix, key_prefix(hex_digits, 2 * ObjectId::kSize));
  Index::Candidates found;
  WEFT_DO(state_->store->index.candidates(&state_->pin, entry_kind(kind), prefix, state_->durable.position, found));
  std::vector<ObjectId> ids;
  for (std::size_t i = 0; i < found.list.size(); ++i) {
    const auto& each = found.list[i];
    if (each.has_key) {
      ids.push_back(each.key);
      continue;
    }
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const auto record, state_->candidate_record(found, each, keep));
    if (record.kind == kind && prefix.matches(record.id.view())) ids.push_back(record.id);
  }
  return first_of(std::move(ids), limit);
}

Result<std::optional<std::pair<Key, ChangeId>>> Snapshot::State::link_at(const View& view, EntryKind kind,
                                                                         std::uint64_t position) const {
  using Linked = std::optional<std::pair<Key, ChangeId>>;
  std::shared_ptr<Mapping> keep;
  WEFT_TRY(const ByteView bytes, view.segments.view_until(position, durable.position, keep));
  const auto link = decode_link(kind, bytes, position);
  if (!link) return Linked{};
  if (link->change) return Linked(std::pair(link->key, *link->change));
  std::shared_ptr<Mapping> keep_record;
  WEFT_TRY(const ByteView record_bytes, view.segments.view_until(link->record_position, durable.position, keep_record));
  WEFT_TRY(const auto record, object::decode_record(record_bytes));
  if (record.kind != ObjectKind::change) return Linked{};
  return Linked(std::pair(link->key, record.id));
}

Result<std::vector<ChangeId>> Snapshot::State::linked(EntryKind kind, const Key& key) const {
  for (int look = 0;; ++look) {
    const std::uint64_t looked = store->index.generation();
    std::vector<ChangeId> changes;
    const auto found_all = [&]() -> Result<void> {
      Places found;
      WEFT_DO(store->index.places(&pin, kind, key, Run::Match::prefix, durable.position, found));
      for (std::size_t i = 0; i < found.list.size(); ++i) {
        if (found.list[i].change) {
          WEFT_DO(changes_beginning(*found.list[i].change, changes));
          continue;
        }
        WEFT_TRY(const auto link, link_at(*found.view, kind, found.list[i].position));
        if (link && link->first == key) changes.push_back(link->second);
      }
      return {};
    }();
    if (found_all) return first_of(std::move(changes), SIZE_MAX);
    const bool again = found_all.error().code == Code::damaged && look < Index::kMaxLooks;
    if (!again || !store->index.changed_since(looked)) return found_all.error();
  }
}

Result<void> Snapshot::State::changes_beginning(const HalfId& half, std::vector<ChangeId>& changes) const {
  Index::Candidates found;
  WEFT_DO(store->index.candidates(&pin, EntryKind::change, KeyPrefix(half.hex()), durable.position, found));
  for (std::size_t i = 0; i < found.list.size(); ++i) {
    const auto& each = found.list[i];
    if (each.has_key) {
      changes.push_back(each.key);
      continue;
    }
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const auto record, candidate_record(found, each, keep));
    if (record.kind == ObjectKind::change && half_of(record.id) == half) changes.push_back(record.id);
  }
  return {};
}

Result<std::vector<ChangeId>> Snapshot::find_by_delta(const DeltaId& delta) const {
  return state_->linked(EntryKind::delta, padded_key(delta));
}

Result<std::optional<ChangeId>> Snapshot::find_git_commit(const GitId& id) const {
  WEFT_TRY(const auto changes, state_->linked(EntryKind::git, padded_key(id)));
  return changes.empty() ? std::optional<ChangeId>() : std::optional(changes.front());
}

Result<std::vector<GitId>> Snapshot::find_git_prefix(std::string_view hex_digits, std::size_t limit) const {
  WEFT_TRY(const KeyPrefix prefix, key_prefix(hex_digits, 2 * GitId::kSize));
  Index::Candidates found;
  WEFT_DO(state_->store->index.candidates(&state_->pin, EntryKind::git, prefix, state_->durable.position, found));
  std::vector<GitId> ids;
  for (std::size_t i = 0; i < found.list.size(); ++i) {
    const auto& each = found.list[i];
    if (each.has_key) {
      ids.push_back(GitId::from_bytes(each.key.view().substr(0, GitId::kSize)));
      continue;
    }
    WEFT_TRY(const auto link, state_->link_at(*found.keep.view, EntryKind::git, each.found.position));
    if (!link) continue;
    const GitId id = GitId::from_bytes(link->first.view().substr(0, GitId::kSize));
    if (prefix.matches(id.view())) ids.push_back(id);
  }
  return first_of(std::move(ids), limit);
}

// --- refs ---

Result<std::optional<Move>> Snapshot::State::find_move(std::uint64_t position) const {
  const auto from_log = [&]() -> Result<std::optional<Move>> {
    std::shared_ptr<Mapping> keep;
    // Of a ref that moved on meanwhile, the newest move lies behind this snapshot's own position, or even behind what
    // is published as durable: a leader, having flushed, moves the refs first.
    const std::uint64_t end = position < durable.position ? durable.position : store->log.durable().position;
    ByteView bytes;
    if (position < end) {
      WEFT_TRY(bytes, store->segments.view_until(position, end, keep));
    } else {
      WEFT_TRY(bytes, store->segments.view_rest(position, keep));
    }
    auto move = decode_move(bytes, position);
    if (!move) {
      return damaged(fmt::format("no ref move at log position {}", position),
                     "run `weft verify` to see what is affected");
    }
    return move;
  };
  return store->index.at<std::optional<Move>>(position, from_log,
                                              [&](const KeptFile& kept) { return kept.move(position); });
}

Result<Move> Snapshot::State::move_at(std::uint64_t position) const {
  WEFT_TRY(auto move, find_move(position));
  if (!move) return collected();
  return *std::move(move);
}

Error Snapshot::State::collected() const {
  return make_error(Code::busy, "a gc has removed what this view of the store would need", "try again");
}

Result<std::optional<Move>> Snapshot::State::newest_move(std::string_view name) const {
  const Key key = ref_key(name);
  WEFT_TRY(std::uint64_t position, store->index.durable_ref(&pin, key));
  for (int step = 0; position != 0 && step < kMaxWalk; ++step) {
    WEFT_TRY(Move move, move_at(position));
    if (move.name != name) {
      return damaged(fmt::format("the ref move at log position {} is of another ref than {}", position, name),
                     "run `weft repair`: the index is rebuilt from the log");
    }
    if (position < durable.position) return std::optional<Move>(std::move(move));
    position = move.previous;
  }
  // Nothing is kept of a ref that was deleted before the window: who looks from before that cannot know.
  WEFT_TRY(const auto base, store->index.base());
  if (base && base->kept && durable.position < base->kept->facts().window) return collected();
  return std::optional<Move>{};
}

Result<Snapshot::State::Before> Snapshot::State::value_before(const Move& move) const {
  if (move.previous == 0) return Before{};
  WEFT_TRY(auto before, find_move(move.previous));
  if (!before) return Before{.known = false, .value = {}};  // K3
  return Before{.known = true, .value = std::move(before->after)};
}

Result<std::string> Snapshot::move_name_at(std::uint64_t log_position) const {
  WEFT_TRY(Move move, state_->move_at(log_position));
  return std::move(move.name);
}

Result<std::optional<RefValue>> Snapshot::ref(std::string_view name) const {
  WEFT_TRY(auto move, state_->newest_move(name));
  if (!move) return std::optional<RefValue>{};
  return std::move(move->after);
}

Result<std::vector<Ref>> Snapshot::refs(std::string_view prefix) const {
  std::set<std::string> names;
  WEFT_DO(state_->store->index.for_each(EntryKind::ref, UINT64_MAX,
                                        [&](const std::optional<Key>&, const Found& found) -> Result<void> {
                                          if (state_->store->index.behind_damage(found.position)) return {};
                                          WEFT_TRY(Move move, state_->move_at(found.position));
                                          if (move.name.starts_with(prefix)) names.insert(std::move(move.name));
                                          return {};
                                        }));
  std::vector<Ref> refs;
  for (const auto& name : names) {
    WEFT_TRY(auto value, ref(name));
    if (value) refs.push_back(Ref{name, *std::move(value)});
  }
  return refs;
}

Result<std::shared_ptr<const KeptFrame>> Snapshot::State::frame_at(std::uint64_t position) const {
  using Frame = std::shared_ptr<const KeptFrame>;
  const auto from_log = [&]() -> Result<Frame> {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, store->segments.view_until(position, durable.position, keep));
    const auto header = log::parse_header(bytes, position);
    if (!header || header->length > bytes.size()) {
      return damaged(fmt::format("no transaction at log position {}", position),
                     "run `weft verify` to see what is affected");
    }
    WEFT_TRY(Late late, decode_late(bytes.substr(log::kFrameHeaderBytes, header->late_length), position));
    const std::size_t sections = log::kFrameHeaderBytes + header->late_length;
    WEFT_TRY(Payload payload, decode_payload(bytes.substr(sections, header->length - sections)));
    auto frame = std::make_shared<KeptFrame>();
    frame->position = position;
    frame->transaction = header->transaction;
    frame->time_ns = payload.time_ns;
    frame->listed = payload.operation.has_value();
    frame->operation = std::move(payload.operation);
    frame->previous_operation = late.previous_operation;
    frame->moves = std::move(late.moves);
    return Frame(std::move(frame));
  };
  return store->index.at<Frame>(position, from_log, [&](const KeptFile& kept) { return kept.frame(position); });
}

Result<Operation> Snapshot::State::operation_of(const KeptFrame& frame) const {
  Operation operation;
  operation.id = frame.transaction;
  operation.time_ns = frame.time_ns;
  if (frame.operation) {
    operation.label = frame.operation->label;
    operation.author = frame.operation->author;
    operation.workspace = frame.operation->workspace;
    operation.agent = frame.operation->agent;
    operation.undoes = frame.operation->undoes;
  }
  for (const auto& move : frame.moves) {
    WEFT_TRY(auto before, value_before(move));
    operation.moves.push_back({move.name, std::move(before.value), move.after});
  }
  return operation;
}

Result<void> Snapshot::reflog(std::string_view name, const std::function<bool(const RefMoveRecord&)>& visit) const {
  WEFT_TRY(auto move, state_->newest_move(name));
  while (move) {
    RefMoveRecord record;
    record.ref = move->name;
    record.after = move->after;
    WEFT_TRY(auto before, state_->value_before(*move));
    if (!before.known) return {};  // K3: kept for its own value alone
    record.before = std::move(before.value);
    WEFT_TRY(const auto frame, state_->frame_at(move->frame));
    if (!frame) return {};
    record.operation = frame->transaction;
    record.time_ns = frame->time_ns;
    if (frame->operation) {
      record.label = frame->operation->label;
      record.author = frame->operation->author;
      record.workspace = frame->operation->workspace;
    }
    if (!visit(record) || move->previous == 0) return {};
    WEFT_TRY(move, state_->find_move(move->previous));
  }
  return {};
}

Result<void> Snapshot::operations(const std::function<bool(const Operation&)>& visit) const {
  std::uint64_t next = state_->durable.client[kLastOperation];
  while (next != 0) {
    WEFT_TRY(const auto frame, state_->frame_at(next - 1));
    if (!frame || !frame->listed) return {};  // K3
    WEFT_TRY(const Operation operation, state_->operation_of(*frame));
    if (!visit(operation)) return {};
    if (frame->previous_operation >= next) {
      return damaged(fmt::format("the operation at log position {} does not point back", next - 1));
    }
    next = frame->previous_operation;
  }
  return {};
}

Result<std::optional<Operation>> Snapshot::operation(const TransactionId& id) const {
  std::optional<Operation> result;
  Places found;
  WEFT_DO(state_->store->index.places(&state_->pin, EntryKind::operation, padded_key(id), Run::Match::whole,
                                      state_->durable.position, found));
  for (std::size_t i = 0; i < found.list.size() && !result; ++i) {
    WEFT_TRY(const auto frame, state_->frame_at(found.list[i].position));
    if (!frame || frame->transaction != id) continue;
    WEFT_TRY(result, state_->operation_of(*frame));
  }
  return result;
}

Result<std::vector<TransactionId>> Snapshot::find_operation_prefix(std::string_view hex_digits,
                                                                   std::size_t limit) const {
  WEFT_TRY(const KeyPrefix prefix, key_prefix(hex_digits, 2 * TransactionId::kSize));
  Index::Candidates found;
  WEFT_DO(state_->store->index.candidates(&state_->pin, EntryKind::operation, prefix, state_->durable.position, found));
  std::vector<TransactionId> ids;
  for (std::size_t i = 0; i < found.list.size(); ++i) {
    WEFT_TRY(const auto frame, state_->frame_at(found.list[i].found.position));
    if (frame && prefix.matches(frame->transaction.view())) ids.push_back(frame->transaction);
  }
  return first_of(std::move(ids), limit);
}

Result<void> Snapshot::for_each_object(const std::function<Result<void>(ObjectKind, const ObjectId&)>& visit) const {
  const auto collected_since = [&]() -> Result<bool> {
    WEFT_TRY(const auto base, state_->store->index.base());
    return base && state_->store->log.durable().client[kCheckpoint] > state_->durable.position;
  };
  for (const ObjectKind kind : {ObjectKind::blob, ObjectKind::tree, ObjectKind::change}) {
    auto listed = state_->store->index.for_each(
        entry_kind(kind), state_->durable.position,
        [&](const std::optional<Key>& key, const Found& found) -> Result<void> {
          if (key) return visit(kind, *key);
          std::shared_ptr<Mapping> keep;
          WEFT_TRY(const ByteView bytes,
                   state_->store->segments.view_until(found.position, state_->durable.position, keep));
          WEFT_TRY(const auto record, object::decode_record(bytes));
          return visit(kind, record.id);
        });
    // Never a short list (CASES C9): what a gc has dropped since this view was taken is not in the index any more.
    WEFT_TRY(const bool short_list, collected_since());
    if (short_list) return state_->collected();
    WEFT_DO(listed);
  }
  return {};
}

}  // namespace weft::store
