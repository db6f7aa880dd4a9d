#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/hash.h"
#include "base/mutex.h"
#include "object/byte_source.h"
#include "object/chunk_list.h"
#include "store/history_writer.h"
#include "store/live_objects.h"

namespace weft::store {
namespace {

/// A move record rarely needs more; one with a large `extra` is read again whole.
constexpr std::uint64_t kMoveReadBytes = 1024;
constexpr std::uint64_t kMaxMoveBytes = 2 * kMaxRefExtraBytes;
constexpr int kMaxMergeRounds = 100;
constexpr std::size_t kMaxLinearPuts = 8;
/// So that what else a transaction brings (links, refs) still fits beside them.
constexpr std::size_t kMaxFrameObjects = kMaxFrameEntries / 2;

struct ObjectKey {
  ObjectKind kind;
  ObjectId id;
  bool operator==(const ObjectKey&) const = default;
};
struct ObjectKeyHash {
  std::size_t operator()(const ObjectKey& key) const { return IdHash{}(key.id) + static_cast<std::size_t>(key.kind); }
};

std::string version_text(const std::optional<RefValue>& value) { return value ? value->version.text() : "absent"; }

Error lost_race(const RefEdit& edit, const std::optional<RefValue>& actual) {
  const std::string expected = edit.expect == RefEdit::Expect::absent ? "absent" : edit.expected.text();
  const std::string held = version_text(actual);
  return make_error(Code::lost_race,
                    fmt::format("ref {} is {}, not {}", edit.name, actual ? "at " + held : "absent",
                                edit.expect == RefEdit::Expect::absent ? "absent" : "at " + expected),
                    "somebody else moved it; look at what it holds now and try again")
      .with("ref", edit.name)
      .with("expected", expected)
      .with("actual", held);
}

}  // namespace

/// Everything a transaction gathers before it meets the log, and the frame source that takes it there.
struct Transaction::State final : log::FrameSource {
  struct Put {
    ObjectKind kind;
    ObjectId id;
    std::size_t offset;  ///< in `records`
  };
  struct LinkPut {
    Key key;
    ChangeId change;
  };

  State(std::shared_ptr<Store::State> s, Snapshot view, std::uint64_t seen)
      : store(std::move(s)), snapshot(std::move(view)), overlay(*this), checkpoint(seen) {}

  // --- objects ---
  /// Offset in `records`. Most transactions put a handful of objects: those are looked through.
  std::optional<std::size_t> offset_of(ObjectKind kind, const ObjectId& id) const {
    if (offsets.empty()) {
      for (const auto& put : puts) {
        if (put.kind == kind && put.id == id) return put.offset;
      }
      return std::nullopt;
    }
    const auto found = offsets.find({kind, id});
    return found == offsets.end() ? std::nullopt : std::optional(found->second);
  }
  bool has(ObjectKind kind, const ObjectId& id) const {
    return offset_of(kind, id).has_value() || (pack && pack->contains(kind, id));
  }
  std::uint64_t frame_limit() const { return std::min(kMaxFrameObjectBytes, store->format.segment_bytes / 4); }
  /// `encoded`: its record (RecordCodec), where somebody has made it already; then nothing else is needed of it.
  Result<void> put_record(ObjectKind kind, const ObjectId& id, ByteView bytes, ByteView encoded);
  /// Whether it need not be put: it is here, or durable in the store.
  Result<bool> is_known(ObjectKind kind, const ObjectId& id) const;
  /// The list of a large blob, where this transaction holds one. The lock is held.
  Result<std::optional<object::ChunkList>> own_chunk_list(const ObjectId& id) const;
  /// From here on objects go into a pack of their own.
  Result<void> spill();
  object::PackWriter& pack_writer() {
    if (!pack) pack.emplace(store->env, store->packs.directory());
    return *pack;
  }

  // --- frame source ---
  Result<Sections> build(log::AppendContext& context, std::uint64_t& judged_at) override;
  void placed(std::uint64_t position, std::uint64_t payload_position) override;
  Result<std::optional<Move>> newest(log::AppendContext& context, const Key& key, std::string_view name);
  void write_payload();
  Result<void> check_refs() const;
  /// GC2 (gc.cc): a gc was published since this began. Looks again whether all it relies on is there.
  Result<void> look_again();
  /// The lock may be taken several times: each time the late part is computed anew.
  void take_back_late();
  std::size_t entry_count() const {
    return puts.size() + deltas.size() + gits.size() + edits.size() + 1 + packs.size();
  }

  /// What this transaction holds, over what the snapshot does.
  struct Overlay final : object::ObjectReader {
    explicit Overlay(State& s) : state(s) {}
    Result<Bytes> read(ObjectKind kind, const ObjectId& id) const override {
      std::optional<object::ChunkList> list;
      {
        const MutexLock lock(state.objects_mutex);
        if (kind == ObjectKind::blob) {
          WEFT_TRY(list, state.own_chunk_list(id));
        }
        if (!list) {
          if (const auto offset = state.offset_of(kind, id)) {
            WEFT_TRY(const auto record, object::decode_record(ByteView(state.records).substr(*offset)));
            return state.codec.content(record);
          }
          if (state.pack && state.pack->contains(kind, id)) return state.pack->read(kind, id);
        }
      }
      if (list) return object::read_chunks(*this, id, *std::move(list));
      return state.snapshot.read(kind, id);
    }
    Result<bool> contains(ObjectKind kind, const ObjectId& id) const override {
      {
        const MutexLock lock(state.objects_mutex);
        if (state.has(kind, id)) return true;
      }
      return state.snapshot.contains(kind, id);
    }
    Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override {
      {
        const MutexLock lock(state.objects_mutex);
        WEFT_TRY(auto list, state.own_chunk_list(id));
        // Lent, not owned: valid while the transaction lives.
        const std::shared_ptr<const object::ObjectReader> self(std::shared_ptr<void>(), this);
        if (list) return object::open_chunks(self, id, *std::move(list));
        if (const auto offset = state.offset_of(ObjectKind::blob, id)) {
          WEFT_TRY(const auto record, object::decode_record(ByteView(state.records).substr(*offset)));
          WEFT_TRY(Bytes bytes, state.codec.content(record));
          return std::unique_ptr<object::ByteSource>(std::make_unique<object::OwnedSource>(std::move(bytes)));
        }
        if (state.pack && state.pack->contains(ObjectKind::blob, id)) return state.pack->open_blob(id);
      }
      return state.snapshot.open_blob(id);
    }
    Result<std::uint64_t> blob_size(const ObjectId& id) const override {
      {
        const MutexLock lock(state.objects_mutex);
        if (const auto offset = state.offset_of(ObjectKind::blob, id)) {
          WEFT_TRY(const auto record, object::decode_record(ByteView(state.records).substr(*offset)));
          return record.raw_size;
        }
        if (state.pack && state.pack->contains(ObjectKind::blob, id)) return state.pack->size(ObjectKind::blob, id);
      }
      return state.snapshot.blob_size(id);
    }
    Result<std::optional<object::ChunkList>> chunk_list(const ObjectId& blob) const override {
      {
        const MutexLock lock(state.objects_mutex);
        if (state.has(ObjectKind::blob, blob)) return state.own_chunk_list(blob);
      }
      return state.snapshot.chunk_list(blob);
    }
    State& state;
  };

  std::shared_ptr<Store::State> store;
  Snapshot snapshot;
  mutable object::RecordCodec codec{1};
  Overlay overlay;

  /// Held for what concerns the objects gathered (T-1). What costs (hashing, compressing, looking through the store)
  /// is done outside it.
  mutable Mutex objects_mutex;
  Bytes records;
  std::vector<Put> puts;
  std::unordered_map<ObjectKey, std::size_t, ObjectKeyHash> offsets;  // empty up to kMaxLinearPuts puts
  std::optional<object::PackWriter> pack;
  bool spilled = false;
  std::uint64_t pack_changes = 0;
  std::vector<PackName> packs;
  std::vector<LinkPut> deltas, gits;
  mutable std::vector<ObjectKey> relied;  ///< not put, because the store had them
  /// The newest one whose effect this has seen: one that is durable, but not yet taken into the index, is not.
  std::uint64_t checkpoint;
  bool gc_between = false;

  std::vector<RefEdit> edits;
  std::vector<Key> edit_keys;
  OperationInfo operation;
  std::vector<std::string> late_refs;
  Late late_compute;
  Transaction* self = nullptr;

  // The frame, once built.
  TransactionId transaction_id;
  Bytes late;
  std::vector<std::size_t> move_offsets;  // from the frame's start; 0: skipped
  std::vector<bool> moved;                // as Committed's: the answer needs no memory any more once it is durable
  std::optional<PayloadWriter> payload;
  std::uint64_t payload_sum = 0;
  std::size_t records_offset = 0;
  std::vector<std::size_t> delta_offsets, git_offsets;
  std::uint64_t changes_before = 0, changes_after = 0;  ///< in the store
  bool needs_room = false;
  log::AppendContext* lock_context = nullptr;  ///< while a late part is computed
  struct Sizes {
    std::size_t records = 0, puts = 0, deltas = 0, gits = 0, edits = 0;
  } before_late;
};

Result<void> Transaction::State::put_record(ObjectKind kind, const ObjectId& object, ByteView bytes, ByteView encoded) {
  const std::size_t most = bytes.empty() ? encoded.size() : bytes.size();
  if (!spilled && (records.size() + most > frame_limit() || puts.size() >= kMaxFrameObjects)) {
    if (lock_context != nullptr) {
      return make_error(Code::invalid, "too much content for a change computed while others wait",
                        "record it beforehand");
    }
    WEFT_DO(spill());
  }
  if (spilled) {
    const bool known = pack && pack->contains(kind, object);
    WEFT_DO(encoded.empty() ? pack_writer().add(kind, object, bytes)
                            : pack_writer().add_encoded(kind, object, encoded));
    if (!known && kind == ObjectKind::change) ++pack_changes;
    return {};
  }
  const std::size_t offset = records.size();
  if (encoded.empty()) {
    WEFT_DO(codec.encode(kind, object, bytes, records));
  } else {
    records += encoded;
  }
  puts.push_back({kind, object, offset});
  if (!offsets.empty()) {
    offsets.emplace(ObjectKey{kind, object}, offset);
  } else if (puts.size() > kMaxLinearPuts) {
    for (const auto& put : puts) offsets.emplace(ObjectKey{put.kind, put.id}, put.offset);
  }
  return {};
}

Result<void> Transaction::State::spill() {
  spilled = true;
  for (const auto& put : puts) {
    WEFT_TRY(const auto record, object::decode_record(ByteView(records).substr(put.offset)));
    if (record.raw_size < object::kLargeBlobBytes || record.form == object::Stored::chunks) {
      WEFT_DO(pack_writer().add_encoded(put.kind, put.id, ByteView(records).substr(put.offset, record.length)));
    } else {
      WEFT_TRY(const Bytes bytes, codec.content(record));
      WEFT_DO(pack_writer().add(put.kind, put.id, bytes));
    }
    if (put.kind == ObjectKind::change) ++pack_changes;
  }
  puts.clear();
  offsets.clear();
  records = {};
  return {};
}

Result<bool> Transaction::State::is_known(ObjectKind kind, const ObjectId& id) const {
  {
    const MutexLock lock(objects_mutex);
    if (has(kind, id)) return true;
  }
  // Only what is durable counts as there: what is merely enqueued may yet be given up.
  auto stored = snapshot.contains(kind, id);
  // What may have been in a lost pack is stored anew, which heals it.
  if (!stored && stored.error().code == Code::damaged) return false;
  if (stored && *stored) {
    const MutexLock lock(objects_mutex);
    relied.push_back({kind, id});
  }
  return stored;
}

Result<std::optional<object::ChunkList>> Transaction::State::own_chunk_list(const ObjectId& id) const {
  if (const auto offset = offset_of(ObjectKind::blob, id)) {
    WEFT_TRY(const auto record, object::decode_record(ByteView(records).substr(*offset)));
    if (record.form != object::Stored::chunks) return std::optional<object::ChunkList>{};
    WEFT_TRY(object::ChunkList list, object::chunk_list_of(record));
    return std::optional(std::move(list));
  }
  if (pack && pack->contains(ObjectKind::blob, id)) return pack->chunk_list(id);
  return std::optional<object::ChunkList>{};
}

void Transaction::State::write_payload() {
  payload.emplace(store->env.clock.now_ns());
  if (!operation.label.empty()) payload->operation(operation);
  records_offset = records.empty() ? 0 : payload->records(records);
  payload->packs(packs);
  const auto entries = [&](const std::vector<LinkPut>& links, std::size_t key_bytes) {
    std::vector<PayloadWriter::LinkEntry> result;
    result.reserve(links.size());
    for (const auto& link : links) {
      PayloadWriter::LinkEntry entry;
      entry.key = link.key.view().substr(0, key_bytes);
      entry.change = link.change;
      if (const auto offset = offset_of(ObjectKind::change, link.change)) entry.record = records_offset + *offset;
      result.push_back(entry);
    }
    return result;
  };
  delta_offsets = payload->deltas(entries(deltas, DeltaId::kSize));
  git_offsets = payload->gits(entries(gits, GitId::kSize));
  payload_sum = log::payload_checksum(payload->bytes());
}

Result<void> Transaction::State::check_refs() const {
  std::vector<std::string_view> names;
  for (const auto& edit : edits) {
    if (const auto problem = ref_name_problem(edit.name); !problem.empty()) {
      return make_error(Code::invalid, fmt::format("ref name {} {}", quoted(edit.name), problem));
    }
    if (edit.after && edit.after->extra.size() > kMaxRefExtraBytes) {
      return make_error(Code::invalid, fmt::format("what ref {} carries is larger than 1 MiB", edit.name));
    }
    if (edit.after && edit.after->version.changes.size() > object::kMaxVersionChanges) {
      return make_error(Code::invalid, fmt::format("a version of more than {} changes for ref {}",
                                                   object::kMaxVersionChanges, edit.name));
    }
    if (edit.after) {
      const auto& ids = edit.after->version.changes;
      if (std::adjacent_find(ids.begin(), ids.end(), [](const ChangeId& a, const ChangeId& b) { return !(a < b); }) !=
          ids.end()) {
        return make_error(Code::internal, fmt::format("the version for ref {} is not in order", edit.name));
      }
    }
    names.push_back(edit.name);
  }
  // What a reader would not accept must not get into the log.
  for (const std::string* const text : {&operation.label, &operation.author, &operation.workspace, &operation.agent}) {
    if (text->size() > kMaxLabelBytes) {
      return make_error(Code::invalid,
                        fmt::format("an operation's label, author, workspace or agent has {} bytes; {} is the most",
                                    text->size(), kMaxLabelBytes));
    }
  }
  std::sort(names.begin(), names.end());
  if (std::adjacent_find(names.begin(), names.end()) != names.end()) {
    return make_error(Code::invalid, "a transaction moves one ref twice");
  }
  if (!names.empty() && operation.label.empty()) {
    return make_error(Code::internal, "refs can only be moved by an operation with a label");
  }
  if (names.size() > kMaxRefMoves) return make_error(Code::invalid, "a transaction moves too many refs");
  return {};
}

void Transaction::State::take_back_late() {
  for (std::size_t i = before_late.puts; i < puts.size(); ++i) offsets.erase({puts[i].kind, puts[i].id});
  records.resize(before_late.records);
  puts.resize(before_late.puts);
  deltas.resize(before_late.deltas);
  gits.resize(before_late.gits);
  edits.resize(before_late.edits);
  edit_keys.resize(before_late.edits);
}

Result<std::optional<Move>> Transaction::State::newest(log::AppendContext& context, const Key& key,
                                                       std::string_view name) {
  WEFT_TRY(const std::uint64_t position, store->index.newest_ref(key));
  if (position == 0) return std::optional<Move>{};
  const auto from_log = [&]() -> Result<std::optional<Move>> {
    WEFT_TRY(ByteView bytes, context.read_up_to(position, kMoveReadBytes));
    auto read = decode_move(bytes, position);
    if (!read && bytes.size() == kMoveReadBytes) {
      WEFT_TRY(bytes, context.read_up_to(position, kMaxMoveBytes));
      read = decode_move(bytes, position);
    }
    return read;
  };
  WEFT_TRY(const auto move, store->index.at<std::optional<Move>>(
                                position, from_log, [&](const KeptFile& kept) { return kept.move(position); }));
  if (!move || move->name != name) {
    return damaged(fmt::format("no move of ref {} at log position {}", name, position),
                   "run `weft repair`: the index is rebuilt from the log");
  }
  return move;
}

Result<log::FrameSource::Sections> Transaction::State::build(log::AppendContext& context, std::uint64_t& judged_at) {
  needs_room = false;
  gc_between = context.enqueued().client[kCheckpoint] != checkpoint;
  if (gc_between) return make_error(Code::busy, "a gc came between", "try again");
  // Its own packs are flushed, but as long as no frame names them a gc may take them for left over.
  for (const auto& named : packs) {
    const std::string path = join_path(store->packs.directory(), object::pack_file_name(named.id));
    if (!store->env.fs.status(path)) {
      return make_error(Code::busy, "a gc removed what this transaction had written", "try again");
    }
  }
  const auto judge = [&](const std::optional<Move>& move) {
    if (move) judged_at = std::max(judged_at, move->position + 1);
  };

  if (late_compute) {
    take_back_late();
    std::vector<std::optional<RefValue>> values;
    for (const auto& name : late_refs) {
      WEFT_TRY(auto move, newest(context, ref_key(name), name));
      judge(move);
      values.push_back(move ? std::move(move->after) : std::nullopt);
    }
    lock_context = &context;
    auto computed = late_compute(*self, values);
    lock_context = nullptr;
    if (!computed) return std::move(computed).error();
    WEFT_DO(check_refs());
    write_payload();
  }

  if (!store->index.has_room(entry_count(), packs.size())) {
    needs_room = true;
    return make_error(Code::busy, fmt::format("no room for {} index entries", entry_count()), "try again");
  }

  late.clear();
  move_offsets.assign(edits.size(), 0);
  moved.assign(edits.size(), false);
  std::vector<std::optional<Move>> current(edits.size());
  std::size_t moves = 0;
  std::vector<bool> skipped(edits.size(), false);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    const RefEdit& edit = edits[i];
    WEFT_TRY(current[i], newest(context, edit_keys[i], edit.name));
    const std::optional<RefValue> held = current[i] ? current[i]->after : std::nullopt;
    const bool as_expected = edit.expect == RefEdit::Expect::anything ||
                             (edit.expect == RefEdit::Expect::absent && !held) ||
                             (edit.expect == RefEdit::Expect::exactly && held && held->version == edit.expected);
    judge(current[i]);
    if (!as_expected && !edit.skip) return lost_race(edit, held);
    skipped[i] = !as_expected;
    if (as_expected) ++moves;
  }
  const std::uint64_t operation_before = context.enqueued().client[kLastOperation];
  LateWriter writer(late, operation.label.empty() ? 0 : operation_before, moves);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (skipped[i]) continue;
    std::optional<RefValue> after = edits[i].after;
    if (after && edits[i].keep_extra && current[i] && current[i]->after) after->extra = current[i]->after->extra;
    move_offsets[i] = writer.add(edit_keys[i], current[i] ? current[i]->position : 0, edits[i].name, after);
  }

  Sections sections;
  sections.late = late;
  sections.payload = payload->bytes();
  sections.payload_checksum = payload_sum;
  sections.client = context.enqueued().client;
  if (!operation.label.empty()) sections.client[kLastOperation] = context.enqueued().position + 1;
  sections.client[kObjects] += puts.size();
  for (const auto& put : puts) {
    if (put.kind == ObjectKind::change) ++sections.client[kChanges];
  }
  for (const auto& named : packs) {
    sections.client[kObjects] += named.objects;
    sections.client[kChanges] += named.changes;
  }
  changes_before = context.enqueued().client[kChanges];
  changes_after = sections.client[kChanges];
  return sections;
}

Result<void> Transaction::State::look_again() {
  const std::uint64_t newest = store->log.enqueued().client[kCheckpoint];
  WEFT_TRY(checkpoint, store->index.checkpoint());
  if (checkpoint != newest) {
    // Whoever appended it may have died: a merge takes it in (checkpoint.h, CP2).
    WEFT_DO(store->index.merge(store->log, {.wait = true, .always = true}));
    WEFT_TRY(checkpoint, store->index.checkpoint());
  }
  WEFT_TRY(const Snapshot now, Store::State::view(store));
  std::unordered_map<ObjectKey, bool, ObjectKeyHash> own;
  for (const auto& put : puts) own.emplace(ObjectKey{put.kind, put.id}, true);
  std::vector<std::shared_ptr<const object::PackReader>> readers;
  for (const auto& named : packs) {
    WEFT_TRY(auto reader, store->packs.open(named.id));
    readers.push_back(std::move(reader));
  }
  const auto need = [&](ObjectKind kind, const ObjectId& id) -> Result<void> {
    if (own.contains({kind, id})) return {};
    for (const auto& reader : readers) {
      WEFT_TRY(const auto place, reader->find_place(kind, id));
      if (place) return {};
    }
    WEFT_TRY(const bool there, now.contains(kind, id));
    if (there) return {};
    return make_error(Code::busy,
                      fmt::format("a gc has removed {} {}, which nothing needed before", object::name(kind), id.hex()),
                      "try again");
  };
  const auto need_all = [&](ObjectKind kind, ByteView content) {
    return LiveObjects::references(kind, content,
                                   [&](ObjectKind of, const ObjectId& id, std::uint64_t) { return need(of, id); });
  };
  for (const auto& object : relied) WEFT_DO(need(object.kind, object.id));
  for (const auto& put : puts) {
    if (put.kind == ObjectKind::blob) continue;  // chunks of one are its own, or relied upon
    WEFT_TRY(const auto record, object::decode_record(ByteView(records).substr(put.offset)));
    WEFT_TRY(const Bytes content, codec.content(record));
    WEFT_DO(need_all(put.kind, content));
  }
  for (const auto& reader : readers) {
    WEFT_DO(reader->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t offset) -> Result<void> {
      if (kind == ObjectKind::blob) return {};
      WEFT_TRY(const Bytes content, reader->read_at(offset, kind, id));
      return need_all(kind, content);
    }));
  }
  for (const auto& edit : edits) {
    if (!edit.after) continue;
    for (const auto& change : edit.after->version.changes) WEFT_DO(need(ObjectKind::change, change));
  }
  for (const auto* const links : {&deltas, &gits}) {
    for (const auto& link : *links) WEFT_DO(need(ObjectKind::change, link.change));
  }
  return {};
}

void Transaction::State::placed(std::uint64_t position, std::uint64_t payload_position) {
  Index& index = store->index;
  for (const auto& put : puts) {
    index.place(entry_kind(put.kind), put.id, payload_position + records_offset + put.offset);
  }
  for (std::size_t i = 0; i < deltas.size(); ++i) {
    index.place(EntryKind::delta, deltas[i].key, payload_position + delta_offsets[i]);
  }
  for (std::size_t i = 0; i < gits.size(); ++i)
    index.place(EntryKind::git, gits[i].key, payload_position + git_offsets[i]);
  for (const auto& named : packs) index.place(EntryKind::pack, named.id, position);
  if (!operation.label.empty()) index.place(EntryKind::operation, padded_key(transaction_id), position);
  for (std::size_t i = 0; i < edits.size(); ++i) {
    if (move_offsets[i] != 0) index.place_ref(edit_keys[i], position + move_offsets[i]);
  }
}

// --- Transaction ---

Result<Transaction> Store::begin() const {
  if (state_->damage) return *state_->damage;
  if (state_->unwritable) return *state_->unwritable;
  // Before the snapshot, which may hold on to a view of the index: that one has seen it, too.
  const std::uint64_t seen = state_->index.checkpoint().value_or(UINT64_MAX);
  WEFT_TRY(Snapshot view, snapshot());
  return Transaction(std::make_unique<Transaction::State>(state_, std::move(view), seen));
}

Transaction::Transaction(std::unique_ptr<State> state) : state_(std::move(state)) {}
Transaction::~Transaction() = default;
Transaction::Transaction(Transaction&&) noexcept = default;

const object::ObjectReader& Transaction::reader() const { return state_->overlay; }
const Snapshot& Transaction::snapshot() const { return state_->snapshot; }

Result<ObjectId> Transaction::put(ObjectKind kind, ByteView bytes) {
  const ObjectId id = sha256(bytes);
  WEFT_DO(put_with_id(kind, id, bytes));
  return id;
}

Result<void> Transaction::put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) {
  WEFT_TRY(const bool known, state_->is_known(kind, id));
  if (known) return {};
  if (kind == ObjectKind::blob && bytes.size() >= object::kLargeBlobBytes) {
    object::ViewSource source(bytes);
    WEFT_TRY(const StoredBlob stored, put_large(source));
    WEFT_CHECK(stored.id == id);
    return {};
  }
  // T-1: whoever else puts meanwhile need not wait for the compression. What does not fit a record, and what is too
  // small to compress, is left to the one with the lock.
  Bytes encoded;
  if (bytes.size() >= object::kMinCompressedBytes && bytes.size() < object::kLargeBlobBytes) {
    WEFT_DO(state_->store->codecs.encode(kind, id, bytes, encoded));
  }
  const MutexLock lock(state_->objects_mutex);
  if (state_->has(kind, id)) return {};  // by another thread, since
  return state_->put_record(kind, id, bytes, encoded);
}

/// Its chunks are objects like others: they are put one by one, and those that are known cost nothing. When the source
/// fails, those put before stay and nothing names them.
Result<object::ObjectWriter::StoredBlob> Transaction::put_large(object::ByteSource& source) {
  WEFT_TRY(const object::ChunkedBlob blob, object::put_chunks(source, *this));
  WEFT_DO(put_chunk_list(blob.id, blob.list));
  return StoredBlob{blob.id, blob.list.size};
}

Result<void> Transaction::put_chunk_list(const ObjectId& id, const object::ChunkList& list) {
  WEFT_TRY(const bool known, state_->is_known(ObjectKind::blob, id));
  if (known) return {};
  Bytes record;
  WEFT_DO(object::encode_chunks_record(id, list.size, object::encode_chunk_list(list.entries), record));
  const MutexLock lock(state_->objects_mutex);
  if (state_->has(ObjectKind::blob, id)) return {};  // by another thread, since
  return state_->put_record(ObjectKind::blob, id, {}, record);
}

namespace {

/// A piece already read, then the rest of a source.
class Concatenated final : public object::ByteSource {
 public:
  Concatenated(ByteView first, object::ByteSource& rest) : first_(first), rest_(rest) {}
  Result<std::size_t> read(std::span<char> out) override {
    if (!first_.empty()) {
      const std::size_t taken = std::min(out.size(), first_.size());
      std::copy_n(first_.data(), taken, out.data());
      first_.remove_prefix(taken);
      return taken;
    }
    return rest_.read(out);
  }
  Result<std::uint64_t> zeros() override { return first_.empty() ? rest_.zeros() : std::uint64_t{0}; }
  Result<std::uint64_t> skip(std::uint64_t count) override {
    return first_.empty() ? rest_.skip(count) : ByteSource::skip(count);
  }

 private:
  ByteView first_;
  object::ByteSource& rest_;
};

}  // namespace

Result<object::ObjectWriter::StoredBlob> Transaction::put_blob(object::ByteSource& source) {
  // Read in growing steps: most blobs are small, and a buffer for a large one costs more than the rest of a small
  // commit.
  constexpr std::size_t kFirstReadBytes = 8u << 10;
  Bytes head;
  for (std::size_t capacity = kFirstReadBytes; head.size() < object::kLargeBlobBytes; capacity *= 4) {
    const std::size_t had = head.size();
    head.resize(std::min<std::size_t>(capacity, object::kLargeBlobBytes));
    WEFT_TRY(const std::size_t length, object::read_fully(source, std::span(head).subspan(had)));
    if (had + length < head.size()) {
      head.resize(had + length);
      WEFT_TRY(const ObjectId id, put(ObjectKind::blob, head));
      return StoredBlob{id, head.size()};
    }
  }
  Concatenated whole(head, source);
  return put_large(whole);
}

Result<ChangeId> Transaction::put_change(const object::Change& change, const DeltaId& delta) {
  WEFT_DO(object::check_change(change));
  const Bytes encoded = object::encode_change(change);
  const ChangeId id = object::change_id(encoded);
  WEFT_DO(put_with_id(ObjectKind::change, id, encoded));
  if (!delta.is_zero()) state_->deltas.push_back({padded_key(delta), id});
  return id;
}

Result<void> Transaction::index_git_commit(const GitId& git, const ChangeId& change) {
  state_->gits.push_back({padded_key(git), change});
  return {};
}

void Transaction::edit_ref(RefEdit edit) {
  state_->edit_keys.push_back(ref_key(edit.name));
  state_->edits.push_back(std::move(edit));
}

void Transaction::set_operation(OperationInfo info) { state_->operation = std::move(info); }

void Transaction::set_late(std::vector<std::string> refs, Late compute) {
  state_->late_refs = std::move(refs);
  state_->late_compute = std::move(compute);
}

Result<object::ChangeSummary> Transaction::late_change_summary(const ChangeId& id) const {
  WEFT_CHECK(state_->lock_context != nullptr);
  log::AppendContext& context = *state_->lock_context;
  std::optional<object::ChangeSummary> summary;
  const std::uint64_t end = context.enqueued().position;
  WEFT_DO(state_->store->index.find(EntryKind::change, id, end, [&](const Found& found) -> Result<bool> {
    if (found.pack) {
      WEFT_TRY(const Bytes bytes, found.pack->read_at(found.offset, ObjectKind::change, id));
      WEFT_TRY(summary, object::decode_change_summary(bytes));
      return false;
    }
    WEFT_TRY(const ByteView bytes, context.read_up_to(found.position, log::kMaxRingFrame));
    const auto record = object::decode_record(bytes);
    if (!record || record->kind != ObjectKind::change || record->id != id) return true;
    WEFT_TRY(const Bytes content, state_->codec.content(*record));
    WEFT_TRY(summary, object::decode_change_summary(content));
    return false;
  }));
  if (!summary) return not_found(ObjectKind::change, id);
  return *std::move(summary);
}

Result<Committed> Transaction::commit() {
  State& state = *state_;
  state.self = this;
  Store::State& store = *state.store;
  WEFT_DO(state.check_refs());
  if (state.pack && state.pack->objects() > 0) {
    WEFT_TRY(const auto summary, state.pack->finish());
    state.packs.push_back({summary.id, summary.objects, state.pack_changes, summary.bytes});
  }
  state.pack.reset();
  state.spilled = false;  // what is computed late goes into the frame: a pack begun now would be named by nothing
  if (state.entry_count() > kMaxFrameEntries) {
    return make_error(
        Code::invalid,
        fmt::format("a transaction with {} index entries; {} is the most", state.entry_count(), kMaxFrameEntries),
        "do it in smaller steps");
  }
  state.transaction_id = store.env.random.id<TransactionId>();
  state.before_late = {state.records.size(), state.puts.size(), state.deltas.size(), state.gits.size(),
                       state.edits.size()};
  if (!state.late_compute) state.write_payload();

  if (!state.packs.empty() && !store.control->current()) {
    return make_error(Code::busy, "the store was moved, removed or repaired while this command had it open",
                      "nothing was recorded; run the command again where the store is now");
  }
  for (int round = 0; round < kMaxMergeRounds; ++round) {
    WEFT_DO(store.index.refresh());
    auto appended = store.log.append(state, state.transaction_id);
    if (!appended) {
      if (state.gc_between) {
        WEFT_DO(state.look_again());
        continue;
      }
      if (!state.needs_room) return std::move(appended).error();
      WEFT_DO(store.index.merge(store.log, true, state.entry_count()));
      continue;
    }
    Committed committed;
    committed.id = state.transaction_id;
    committed.position = appended->position;
    for (std::size_t i = 0; i < state.moved.size(); ++i) state.moved[i] = state.move_offsets[i] != 0;
    committed.moved = std::move(state.moved);
    const std::uint32_t commits = store.commits.fetch_add(1, std::memory_order_relaxed) + 1;
    if (commits == kPrefaultCommits) store.log.prefault();
    if (commits >= kPrefaultCommits) store.index.prefault();
    // The answer is known; what follows is housekeeping that the next process does if this one cannot.
    try {
      if (store.index.merge_due()) (void)store.index.merge(store.log, false);
      if (state.changes_before / store.history_step != state.changes_after / store.history_step) {
        (void)extend_history(state.store, {.all = false});
      }
    } catch (const std::bad_alloc&) {
    }
    return committed;
  }
  return make_error(Code::busy, "the index stayed full", "try again");
}

}  // namespace weft::store
