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

template <typename T>
using PlaceUse = std::function<Result<std::optional<T>>(const Found&)>;

/// The first place of the object for which `use` gives something. What is found is only believed when it names the
/// object.
template <typename T>
Result<T> use_object(Store::State& store, std::uint64_t bound, ObjectKind kind, const ObjectId& id,
                     const PlaceUse<T>& use) {
  std::optional<T> result;
  std::optional<Error> problem;
  for (int look = 0; look < Index::kMaxLooks; ++look) {
    const std::uint64_t looked = store.index.generation();
    problem.reset();
    WEFT_DO(store.index.find(entry_kind(kind), id, bound, [&](const Found& found) -> Result<bool> {
      auto used = use(found);
      if (!used) {
        if (used.error().code != Code::damaged) return std::move(used).error();
        problem = std::move(used).error();
        return true;  // perhaps another place has it whole
      }
      result = *std::move(used);
      return !result.has_value();
    }));
    if (result) return *std::move(result);
    if (!problem || !store.index.changed_since(looked)) break;  // IX5
  }
  if (problem) {
    problem->message = fmt::format("{} {}: {}", object::name(kind), id.hex(), problem->message);
    return *problem;
  }
  return not_found(kind, id);
}

/// The record at a position of the log; nullopt when another thing lies there.
Result<std::optional<object::Record>> record_at(Store::State& store, std::uint64_t bound, std::uint64_t position,
                                                ObjectKind kind, const ObjectId& id, std::shared_ptr<Mapping>& keep) {
  WEFT_TRY(const ByteView bytes, store.segments.view_until(position, bound, keep));
  auto record = object::decode_record(bytes);
  if (!record) {
    return damaged(fmt::format("no object record at log position {}", position),
                   "run `weft verify` to see what is affected");
  }
  if (record->kind != kind || record->id != id) return std::optional<object::Record>{};
  return std::optional<object::Record>{*record};
}

}  // namespace

Error not_found(ObjectKind kind, const ObjectId& id) {
  return make_error(Code::not_found, fmt::format("there is no {} {} in this store", object::name(kind), id.hex()));
}

Result<Bytes> read_object(Store::State& store, std::uint64_t bound, ObjectKind kind, const ObjectId& id,
                          const object::ObjectReader* chunks) {
  store.objects_read.fetch_add(1, std::memory_order_relaxed);
  return use_object<Bytes>(store, bound, kind, id, [&](const Found& found) -> Result<std::optional<Bytes>> {
    if (found.pack) {
      WEFT_TRY(Bytes bytes, found.pack->read_at(found.offset, kind, id, chunks));
      return std::optional<Bytes>(std::move(bytes));
    }
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const auto record, record_at(store, bound, found.position, kind, id, keep));
    if (!record) return std::optional<Bytes>{};
    if (record->form == object::Stored::chunks && chunks != nullptr) {
      WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
      WEFT_TRY(Bytes bytes, object::read_chunks(*chunks, id, std::move(list)));
      return std::optional<Bytes>(std::move(bytes));
    }
    WEFT_TRY(Bytes bytes, store.codecs.content(*record));
    return std::optional<Bytes>(std::move(bytes));
  });
}

Snapshot::Snapshot(std::shared_ptr<State> state) : state_(std::move(state)) {}
Snapshot::~Snapshot() = default;
Snapshot::Snapshot(const Snapshot&) = default;
Snapshot& Snapshot::operator=(const Snapshot&) = default;

std::uint64_t Snapshot::position() const { return state_->durable.position; }

Result<Bytes> Snapshot::read(ObjectKind kind, const ObjectId& id) const {
  return read_object(*state_->store, state_->durable.position, kind, id, this);
}

Result<bool> Snapshot::contains(ObjectKind kind, const ObjectId& id) const {
  auto found = use_object<bool>(
      *state_->store, state_->durable.position, kind, id, [&](const Found& place) -> Result<std::optional<bool>> {
        if (place.pack) return std::optional<bool>(true);
        std::shared_ptr<Mapping> keep;
        WEFT_TRY(const auto record,
                 record_at(*state_->store, state_->durable.position, place.position, kind, id, keep));
        return record ? std::optional<bool>(true) : std::nullopt;
      });
  if (found) return true;
  if (found.error().code == Code::not_found) return false;
  return std::move(found).error();
}

Result<std::uint64_t> Snapshot::blob_size(const ObjectId& id) const {
  return use_object<std::uint64_t>(
      *state_->store, state_->durable.position, ObjectKind::blob, id,
      [&](const Found& found) -> Result<std::optional<std::uint64_t>> {
        if (found.pack) {
          WEFT_TRY(const std::uint64_t size, found.pack->size_at(found.offset, ObjectKind::blob, id));
          return std::optional<std::uint64_t>(size);
        }
        std::shared_ptr<Mapping> keep;
        WEFT_TRY(const auto record,
                 record_at(*state_->store, state_->durable.position, found.position, ObjectKind::blob, id, keep));
        return record ? std::optional<std::uint64_t>(record->raw_size) : std::nullopt;
      });
}

Result<std::unique_ptr<object::ByteSource>> Snapshot::open_blob(const ObjectId& id) const {
  using Source = std::unique_ptr<object::ByteSource>;
  return use_object<Source>(
      *state_->store, state_->durable.position, ObjectKind::blob, id,
      [&](const Found& found) -> Result<std::optional<Source>> {
        if (found.pack) {
          WEFT_TRY(Source source, found.pack->open_blob_at(found.offset, id, std::make_shared<Snapshot>(*this)));
          return std::optional<Source>(std::move(source));
        }
        std::shared_ptr<Mapping> keep;
        WEFT_TRY(const auto record,
                 record_at(*state_->store, state_->durable.position, found.position, ObjectKind::blob, id, keep));
        if (!record) return std::optional<Source>{};
        if (record->form == object::Stored::chunks) {
          WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
          return std::optional<Source>(object::open_chunks(std::make_shared<Snapshot>(*this), id, std::move(list)));
        }
        WEFT_TRY(Bytes bytes, state_->store->codecs.content(*record));
        return std::optional<Source>(std::make_unique<object::OwnedSource>(std::move(bytes)));
      });
}

Result<std::optional<object::ChunkList>> Snapshot::chunk_list(const ObjectId& blob) const {
  using List = std::optional<object::ChunkList>;
  return use_object<List>(*state_->store, state_->durable.position, ObjectKind::blob, blob,
                          [&](const Found& found) -> Result<std::optional<List>> {
                            if (found.pack) {
                              WEFT_TRY(List list, found.pack->chunk_list_at(found.offset, blob));
                              return std::optional<List>(std::move(list));
                            }
                            std::shared_ptr<Mapping> keep;
                            WEFT_TRY(const auto record, record_at(*state_->store, state_->durable.position,
                                                                  found.position, ObjectKind::blob, blob, keep));
                            if (!record) return std::optional<List>{};
                            if (record->form != object::Stored::chunks) return std::optional<List>(List{});
                            WEFT_TRY(object::ChunkList list, object::chunk_list_of(*record));
                            return std::optional<List>(List(std::move(list)));
                          });
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
  WEFT_TRY(const Bytes bytes, read(ObjectKind::change, id));
  return object::decode_change(bytes);
}

Result<object::ChangeSummary> Snapshot::change_summary(const ChangeId& id) const {
  WEFT_TRY(const Bytes bytes, read(ObjectKind::change, id));
  return object::decode_change_summary(bytes);
}

Result<std::vector<ObjectId>> Snapshot::find_by_prefix(ObjectKind kind, std::string_view hex_digits,
                                                       std::size_t limit) const {
  if (hex_digits.empty() || hex_digits.size() > 2 * ObjectId::kSize ||
      hex_digits.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    return make_error(Code::invalid, fmt::format("'{}' is no prefix of an id", hex_digits));
  }
  std::set<ObjectId> ids;
  const auto* const state = state_.get();
  WEFT_DO(state->store->index.find_prefix(entry_kind(kind), hex_digits, state->durable.position,
                                          [&](const std::optional<Key>& key, const Found& found) -> Result<bool> {
                                            if (key) {
                                              ids.insert(*key);
                                            } else if (!found.pack) {
                                              std::shared_ptr<Mapping> keep;
                                              WEFT_TRY(const ByteView bytes,
                                                       state->store->segments.view_until(
                                                           found.position, state->durable.position, keep));
                                              WEFT_TRY(const auto record, object::decode_record(bytes));
                                              if (record.kind == kind && record.id.hex().starts_with(hex_digits))
                                                ids.insert(record.id);
                                            }
                                            return true;
                                          }));
  std::vector<ObjectId> result(ids.begin(), ids.end());
  if (result.size() > limit) result.resize(limit);
  return result;
}

namespace {

/// The change a delta or git entry leads to, and the entry's own key.
Result<std::optional<std::pair<Key, ChangeId>>> link_at(Store::State& store, std::uint64_t bound, EntryKind kind,
                                                        std::uint64_t position) {
  std::shared_ptr<Mapping> keep;
  auto& segments = store.segments;
  WEFT_TRY(const ByteView bytes, segments.view_until(position, bound, keep));
  const auto link = decode_link(kind, bytes, position);
  if (!link) return std::optional<std::pair<Key, ChangeId>>{};
  if (link->change) return std::optional(std::pair(link->key, *link->change));
  std::shared_ptr<Mapping> keep_record;
  WEFT_TRY(const ByteView record_bytes, segments.view_until(link->record_position, bound, keep_record));
  WEFT_TRY(const auto record, object::decode_record(record_bytes));
  if (record.kind != ObjectKind::change) return std::optional<std::pair<Key, ChangeId>>{};
  return std::optional(std::pair(link->key, record.id));
}

}  // namespace

Result<std::vector<ChangeId>> Snapshot::State::linked(EntryKind kind, const Key& key) const {
  for (int look = 0;; ++look) {
    const std::uint64_t looked = store->index.generation();
    std::set<ChangeId> changes;
    auto found_all = store->index.find(kind, key, durable.position, [&](const Found& found) -> Result<bool> {
      if (found.change) {
        // K4: half an id.
        WEFT_DO(store->index.find_prefix(EntryKind::change, found.change->hex(), durable.position,
                                         [&](const std::optional<Key>& change, const Found& place) -> Result<bool> {
                                           if (change) {
                                             changes.insert(*change);
                                             return true;
                                           }
                                           std::shared_ptr<Mapping> keep;
                                           WEFT_TRY(const ByteView bytes,
                                                    store->segments.view_until(place.position, durable.position, keep));
                                           WEFT_TRY(const auto record, object::decode_record(bytes));
                                           if (record.kind == ObjectKind::change && half_of(record.id) == *found.change)
                                             changes.insert(record.id);
                                           return true;
                                         }));
        return true;
      }
      WEFT_TRY(const auto link, link_at(*store, durable.position, kind, found.position));
      if (link && link->first == key) changes.insert(link->second);
      return true;
    });
    if (found_all) return std::vector<ChangeId>(changes.begin(), changes.end());
    const bool again = found_all.error().code == Code::damaged && look < Index::kMaxLooks;
    if (!again || !store->index.changed_since(looked)) return std::move(found_all).error();
  }
}

Result<std::vector<ChangeId>> Snapshot::find_by_delta(const DeltaId& delta) const {
  return state_->linked(EntryKind::delta, padded_key(delta));
}

Result<std::optional<ChangeId>> Snapshot::find_git_commit(const GitId& id) const {
  WEFT_TRY(const auto changes, state_->linked(EntryKind::git, padded_key(id)));
  return changes.empty() ? std::optional<ChangeId>() : std::optional(changes.front());
}

Result<std::vector<GitId>> Snapshot::find_git_prefix(std::string_view hex_digits, std::size_t limit) const {
  std::set<GitId> ids;
  WEFT_DO(state_->store->index.find_prefix(
      EntryKind::git, hex_digits, state_->durable.position,
      [&](const std::optional<Key>& key, const Found& found) -> Result<bool> {
        if (key) {
          ids.insert(GitId::from_bytes(key->view().substr(0, GitId::kSize)));
          return true;
        }
        WEFT_TRY(const auto link, link_at(*state_->store, state_->durable.position, EntryKind::git, found.position));
        if (!link) return true;
        const GitId id = GitId::from_bytes(link->first.view().substr(0, GitId::kSize));
        if (id.hex().starts_with(hex_digits)) ids.insert(id);
        return true;
      }));
  std::vector<GitId> result(ids.begin(), ids.end());
  if (result.size() > limit) result.resize(limit);
  return result;
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
  WEFT_TRY(std::uint64_t position, store->index.durable_ref(key));
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
  WEFT_DO(state_->store->index.find(EntryKind::operation, padded_key(id), state_->durable.position,
                                    [&](const Found& found) -> Result<bool> {
                                      WEFT_TRY(const auto frame, state_->frame_at(found.position));
                                      if (!frame || frame->transaction != id) return true;
                                      WEFT_TRY(result, state_->operation_of(*frame));
                                      return false;
                                    }));
  return result;
}

Result<std::vector<TransactionId>> Snapshot::find_operation_prefix(std::string_view hex_digits,
                                                                   std::size_t limit) const {
  std::set<TransactionId> ids;
  WEFT_DO(state_->store->index.find_prefix(EntryKind::operation, hex_digits, state_->durable.position,
                                           [&](const std::optional<Key>&, const Found& found) -> Result<bool> {
                                             WEFT_TRY(const auto frame, state_->frame_at(found.position));
                                             if (frame && frame->transaction.hex().starts_with(hex_digits))
                                               ids.insert(frame->transaction);
                                             return true;
                                           }));
  std::vector<TransactionId> result(ids.begin(), ids.end());
  if (result.size() > limit) result.resize(limit);
  return result;
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
