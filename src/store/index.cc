#include "store/index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"

namespace weft::store {
namespace {

/// While recovering or repairing, so many entries are gathered before a run is written.
constexpr std::size_t kGatherEntries = 1u << 20;
std::uint64_t next_tables(std::uint64_t tables, int active, bool frozen) {
  return (((tables >> 8) + 1) << 8) | (frozen ? 2U : 0U) | static_cast<unsigned>(active);
}

/// The run of this name, if `view` has it open.
std::shared_ptr<const Run> run_in(const View* view, const Manifest::RunName& name) {
  if (view == nullptr) return nullptr;
  for (std::size_t i = 0; i < view->runs.size(); ++i) {
    const auto& known = view->manifest.runs[i];
    if (known.number == name.number && known.entries == name.entries) return view->runs[i];
  }
  return nullptr;
}

/// The log has lost something, and the index that would lead to the rest is unusable, too.
Error beyond_reading(std::string_view damage, const Error& index) {
  return damaged(fmt::format("{}; and {}", damage, index.message),
                 "run `weft repair --accept-loss` to go on with what is whole");
}

}  // namespace

Result<std::shared_ptr<const object::PackReader>> PackCache::open(const ObjectId& id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const auto found = packs_.find(id); found != packs_.end()) return found->second;
  const std::string path = join_path(directory_, object::pack_file_name(id));
  if (max_open_ == 0) {  // a part of what this process may have
    const auto limit = machine_limits().open_files;
    max_open_ = static_cast<std::size_t>(std::clamp<std::uint64_t>(limit.value_or(UINT64_MAX) / 4, 8, kMaxOpenPacks));
  }
  auto reader = object::PackReader::open(env_.fs, path, id, packs_.size() < max_open_);
  if (!reader) {
    Error error = std::move(reader).error();
    if (error.code == Code::not_found) error = damaged(fmt::format("the pack {} is gone", path)).with("path", path);
    if (error.code == Code::damaged && error.hint.empty()) {
      error.hint =
          "what is in no other place is lost with it; `weft verify --deep` lists what needs it, a copy of the file "
          "heals it";
    }
    return error;
  }
  auto shared = std::make_shared<const object::PackReader>(*std::move(reader));
  packs_.emplace(id, shared);
  return shared;
}

Index::Index(Env& env, std::string directory, SharedControl& control, log::Segments& segments, PackCache& packs)
    : env_(env),
      directory_(std::move(directory)),
      control_(control),
      segments_(segments),
      packs_(packs),
      state_(*reinterpret_cast<SharedStoreState*>(control.base() + kStoreStateOffset)) {}

TailTable Index::table(int which) const {
  auto* entries = reinterpret_cast<TailEntry*>(control_.base() + kTableOffset[which]);
  return TailTable(entries, state_.capacity[which].load(std::memory_order_relaxed), state_.count[which]);
}

Result<std::shared_ptr<View>> Index::load_view(const View* before) const {
  // Runs a manifest names may be unlinked by the merge after it: read the newer manifest then.
  constexpr int kMaxTries = 100;
  Error last;
  for (int i = 0; i < kMaxTries; ++i) {
    auto view = std::make_shared<View>(segments_);
    auto bytes = read_file(env_.fs, join_path(directory_, kManifestName), kMaxManifestBytes);
    if (!bytes && bytes.error().code != Code::not_found) return std::move(bytes).error();
    if (bytes) {
      WEFT_TRY(view->manifest, decode_manifest(*bytes));
    }
    if (view->manifest.point.position < state_.indexed.load(std::memory_order_acquire)) {
      last = damaged(fmt::format("the index in {} is gone, or an older one lies there", directory_));
      continue;  // if not, a merge has just put its manifest there
    }
    if (!bytes) return view;
    bool gone = false;
    if (auto base = load_base(view->manifest, i + 1 == kMaxTries); base) {
      view->base = *std::move(base);
    } else {
      gone = base.error().code == Code::not_found;
      last = std::move(base).error();
      if (!gone) return last;
    }
    for (const auto& name : view->manifest.runs) {
      if (gone) break;
      if (auto open_run = run_in(before, name)) {
        view->runs.push_back(std::move(open_run));
        continue;
      }
      auto run = Run::open(env_.fs, join_path(directory_, run_file_name(name.number)), false);
      if (!run) {
        gone = run.error().code == Code::not_found;
        last = std::move(run).error();
        if (!gone) return last;
        break;
      }
      view->runs.push_back(*run);
    }
    if (gone) continue;
    view->prepare();
    return view;
  }
  last.code = Code::damaged;
  last.hint = "run `weft repair`: the index is rebuilt from the log";
  return last;
}

Result<void> Index::refresh() const {
  WEFT_TRY(const auto current, view());
  (void)current;
  return {};
}

Result<std::vector<ObjectId>> Index::packs_named_at(ByteView bytes, std::uint64_t position) const {
  // A position can come to hold another transaction, where a failed flush took the first one back: its id tells.
  const auto header = log::parse_header(bytes, position);
  if (!header) return damaged(fmt::format("the log holds no transaction at position {}", position));
  {
    const std::lock_guard<std::mutex> guard(named_mutex_);
    const auto known = named_.find(position);
    if (known != named_.end() && known->second.first == header->transaction) return known->second.second;
  }
  const auto frame = log::parse_frame(bytes, position);
  if (!frame) return damaged(fmt::format("the log holds no transaction at position {}", position));
  WEFT_TRY(const Payload payload, decode_payload(frame->payload));
  std::vector<ObjectId> ids;
  for (const auto& pack : payload.packs) ids.push_back(pack.id);
  const std::lock_guard<std::mutex> guard(named_mutex_);
  if (named_.size() >= 2 * kMaxTailPacks) named_.clear();  // merged long since
  named_[position] = {header->transaction, ids};
  return ids;
}

Result<Index::TailPacks> Index::tail_packs(int which, std::uint64_t bound) const {
  TailPacks packs;
  const std::uint32_t count = std::min(state_.pack_count[which].load(std::memory_order_acquire), kMaxTailPacks);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t position = state_.packs[which][i].load(std::memory_order_relaxed);
    if (position >= bound) continue;
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, segments_.view_until(position, bound, keep));
    WEFT_TRY(const auto named, packs_named_at(bytes, position));
    for (const ObjectId& id : named) {
      auto reader = packs_.open(id);
      if (reader) {
        packs.readers.push_back(*std::move(reader));
      } else if (is_lost(reader.error())) {
        packs.lost = std::move(reader).error();
      } else {
        return std::move(reader).error();
      }
    }
  }
  return packs;
}

bool Index::behind_damage(std::uint64_t position) const {
  const std::uint64_t bound = state_.runs_bound.load(std::memory_order_relaxed);
  return bound != 0 && position >= bound;
}

bool Index::has_room(std::size_t entries, std::size_t packs) const {
  const int active = active_of(state_.tables.load(std::memory_order_acquire));
  return table(active).has_room(entries) &&
         (packs == 0 || state_.pack_count[active].load(std::memory_order_relaxed) < kMaxTailPacks);
}

void Index::place(EntryKind kind, const Key& key, std::uint64_t position) {
  if (control_.killed()) return;
  const int active = active_of(state_.tables.load(std::memory_order_acquire));
  if (kind == EntryKind::pack) {
    const std::uint32_t count = state_.pack_count[active].load(std::memory_order_relaxed);
    WEFT_CHECK(count < kMaxTailPacks);
    const bool same_frame = count > 0 && state_.packs[active][count - 1].load(std::memory_order_relaxed) == position;
    if (!same_frame) {
      state_.packs[active][count].store(position, std::memory_order_relaxed);
      state_.pack_count[active].store(count + 1, std::memory_order_release);
    }
  }
  table(active).insert(kind, key, position);
}

void Index::place_ref(const Key& key, std::uint64_t position) {
  if (control_.killed()) return;
  table(active_of(state_.tables.load(std::memory_order_acquire))).move_ref(key, position);
}

void Index::frame_durable(const log::FrameHeader& header, ByteView late, std::uint64_t durable_end) {
  if (header.kind != log::FrameKind::transaction || control_.killed()) return;
  const std::uint64_t tables = state_.tables.load(std::memory_order_acquire);
  (void)for_each_move(late, header.position, [&](ByteView key_bytes, std::string_view, std::uint64_t position) {
    Key key;
    std::memcpy(key.bytes.data(), key_bytes.data(), key_bytes.size());
    const int active = active_of(tables);
    TailTable newest = table(active);
    if (newest.find_ref(key) != nullptr) {
      newest.ref_durable(key, position, durable_end);
    } else if (frozen_of(tables)) {
      table(1 - active).ref_durable(key, position, durable_end);
    }
  });
}

void Index::forget_from(std::uint64_t position) {
  if (control_.killed()) return;
  const std::uint64_t tables = state_.tables.load();
  // What the frozen table holds ends earlier now; new frames take those positions, and go into the active table.
  if (frozen_of(tables) && state_.cut.load() > position) state_.cut.store(position);
  for (const int which : {0, 1}) {
    // A table that is out of use may be being cleared; it leaves use inside the append lock only.
    if (which != active_of(tables) && !frozen_of(tables)) continue;
    if (state_.capacity[which].load() != 0) table(which).forget_from(position);
    std::uint32_t count = std::min(state_.pack_count[which].load(), kMaxTailPacks);
    while (count > 0 && state_.packs[which][count - 1].load() >= position) --count;
    state_.pack_count[which].store(count);
  }
}

Result<void> Index::activate(int which, std::uint64_t capacity) {
  WEFT_DO(control_.ensure_allocated(kTableOffset[which], capacity * sizeof(TailEntry)));
  if (state_.dirty[which].load() != 0) table(which).clear();
  state_.capacity[which].store(capacity);
  state_.count[which].store(0);
  state_.pack_count[which].store(0);
  state_.dirty[which].store(1);
  return {};
}

bool Index::merge_due() const {
  const std::uint64_t tables = state_.tables.load(std::memory_order_acquire);
  const int active = active_of(tables);
  const std::uint64_t capacity = state_.capacity[active].load(std::memory_order_relaxed);
  return frozen_of(tables) ||
         state_.count[active].load(std::memory_order_relaxed) >= std::min(kMergeEntries, capacity / 2) ||
         state_.pack_count[active].load(std::memory_order_relaxed) >= kMergePacks;
}

void Index::prefault() const {
  const int active = active_of(state_.tables.load(std::memory_order_relaxed));
  const std::uint64_t capacity = state_.capacity[active].load(std::memory_order_relaxed);
  if (prefaulted_[active].exchange(capacity, std::memory_order_relaxed) >= capacity) return;
  control_.prefault(kTableOffset[active], capacity * sizeof(TailEntry));
}

Result<void> Index::gather(const log::Frame& frame, Gathered& gathered) const {
  if (frame.header.kind == log::FrameKind::checkpoint) {
    WEFT_TRY(const Checkpoint checkpoint, decode_checkpoint(frame.payload, frame.header.position));
    const std::uint64_t start = checkpoint.start.position;
    for (auto& list : gathered.lists) std::erase_if(list, [&](const IndexEntry& entry) { return entry.value < start; });
    std::erase_if(gathered.packs, [&](const auto& pack) { return pack.position < start; });
    gathered.client = checkpoint.client;
    gathered.checkpoint = checkpoint;
    return {};
  }
  if (frame.header.kind != log::FrameKind::transaction) return {};
  const std::size_t packs_before = gathered.lists[static_cast<std::size_t>(EntryKind::pack)].size();
  WEFT_DO(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
    gathered.lists[static_cast<std::size_t>(kind)].push_back({key, Location::in_log(position).value()});
    if (kind <= EntryKind::change) ++gathered.client[kObjects];
    if (kind == EntryKind::change) ++gathered.client[kChanges];
    if (kind == EntryKind::operation) gathered.client[kLastOperation] = position + 1;
  }));
  if (gathered.lists[static_cast<std::size_t>(EntryKind::pack)].size() == packs_before) return {};
  WEFT_TRY(const Payload payload, decode_payload(frame.payload));
  for (const auto& pack : payload.packs) {
    gathered.packs.push_back({pack, frame.header.position});
    gathered.client[kObjects] += pack.objects;
    gathered.client[kChanges] += pack.changes;
  }
  return {};
}

Result<void> Index::take_in(const View& view, const Checkpoint& checkpoint, Gathered& gathered,
                            Manifest& manifest) const {
  const std::uint64_t start = checkpoint.start.position;
  manifest.start = checkpoint.start;
  manifest.kept = checkpoint.kept;
  // Packs that frames behind the start name keep their entries, under new ordinals.
  std::map<ObjectId, bool> stays;
  for (const auto& run : view.runs) {
    for (std::size_t i = 0; i < run->count(EntryKind::pack); ++i) {
      const IndexEntry entry = run->entry(EntryKind::pack, i);
      if (entry.value >= start) stays[entry.key] = true;
    }
  }
  std::vector<std::optional<std::uint64_t>> ordinals(view.manifest.packs.size());
  manifest.packs.clear();
  for (std::size_t i = 0; i < ordinals.size(); ++i) {
    if (!stays.contains(view.manifest.packs[i].id)) continue;
    ordinals[i] = manifest.packs.size();
    manifest.packs.push_back(view.manifest.packs[i]);
  }
  for (const auto& run : view.runs) {
    for (std::size_t kind = 1; kind < kEntryKinds; ++kind) {
      for (std::size_t i = 0; i < run->count(static_cast<EntryKind>(kind)); ++i) {
        const Location location(run->value(static_cast<EntryKind>(kind), i));
        if (!location.is_in_pack() && location.position() < start) continue;
        IndexEntry entry = run->entry(static_cast<EntryKind>(kind), i);
        if (location.is_in_pack()) {
          if (location.pack_ordinal() >= ordinals.size()) {
            return damaged("the index names a pack that does not exist",
                           "run `weft repair`: it is rebuilt from the log");
          }
          const auto ordinal = ordinals[location.pack_ordinal()];
          if (!ordinal) continue;
          entry.value = Location::in_pack(*ordinal, location.pack_offset()).value();
        }
        gathered.lists[kind].push_back(entry);
      }
    }
  }
  manifest.runs.clear();
  return {};
}

Result<void> Index::write_merged(const View& view, Gathered gathered, log::LogPoint point) {
  // All of index/ may be deleted, the directory, too.
  if (auto made = env_.fs.make_directory(directory_); !made && made.error().code != Code::exists) return made;
  remove_old_durable_temporaries(env_.fs, directory_, env_.clock.now_ns());
  Manifest manifest = view.manifest;
  ++manifest.number;
  manifest.point = point;
  manifest.client = gathered.client;
  std::vector<std::shared_ptr<const Run>> kept = view.runs;
  if (gathered.checkpoint) {
    WEFT_DO(take_in(view, *gathered.checkpoint, gathered, manifest));
    kept.clear();
  }
  for (const auto& [pack, position] : gathered.packs) {
    const std::uint64_t ordinal = manifest.packs.size();
    if (ordinal >= Location::kMaxPacks) {
      return make_error(Code::unsupported, "the store has too many packs to index", "run `weft gc`");
    }
    const auto reader = packs_.open(pack.id);
    if (!reader) {
      if (!is_lost(reader.error())) return reader.error();
      manifest.packs.push_back(pack);
      manifest.packs.back().objects = 0;  // IX4
      continue;
    }
    WEFT_DO((*reader)->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t offset) -> Result<void> {
      gathered.lists[static_cast<std::size_t>(kind)].push_back({id, Location::in_pack(ordinal, offset).value()});
      return {};
    }));
    manifest.packs.push_back(pack);
  }
  sort_entries(gathered.lists);

  // Size-tiered: a new run swallows its neighbours while they are less than twice its size, and always when there would
  // be too many.
  std::uint64_t size = count_entries(gathered.lists);
  std::vector<std::shared_ptr<const Run>> swallowed;
  while (!kept.empty() && (kept.size() >= kMaxRuns || kept.back()->total() < 2 * size)) {
    size += kept.back()->total();
    swallowed.push_back(std::move(kept.back()));
    kept.pop_back();
    manifest.runs.pop_back();
  }
  const std::uint64_t number = manifest.next_run++;
  const std::string path = join_path(directory_, run_file_name(number));
  if (env_.fs.status(path)) WEFT_DO(env_.fs.unlink(path));  // left by a merge that died
  WEFT_TRY(const std::uint64_t entries, Run::write(env_.fs, path, gathered.lists, swallowed));
  manifest.runs.push_back({number, entries});
  control_.point("merge:run-written");
  WEFT_DO(write_file_durably(env_.fs, join_path(directory_, kManifestName), encode_manifest(manifest)));
  if (!control_.killed()) state_.indexed.store(point.position, std::memory_order_release);
  for (const auto& old : view.manifest.runs) {
    const bool still_named = std::any_of(manifest.runs.begin(), manifest.runs.end(),
                                         [&](const Manifest::RunName& run) { return run.number == old.number; });
    // Readers that have it mapped keep it; those about to open it find it gone and take the new manifest.
    if (!still_named) (void)env_.fs.unlink(join_path(directory_, run_file_name(old.number)));
  }
  return {};
}

Result<void> Index::merge(log::Log& log, const Merging& merging) {
  const std::size_t room_for = merging.room_for;
  WEFT_TRY(const OwnerToken me, control_.token());
  log::SharedMutex mutex(control_, env_.clock, state_.merge);
  log::SharedMutex::Acquired acquired;
  if (merging.wait) {
    mutex.lock(me, {});
  } else if (!mutex.try_lock(me, acquired)) {
    return {};
  }
  const log::SharedUnlock held(mutex);
  return [&]() -> Result<void> {
    if (room_for == 0 && !merging.always && !merge_due()) return {};
    if (room_for != 0 && has_room(room_for, 1)) return {};
    std::uint64_t tables = state_.tables.load();
    if (frozen_of(tables)) {  // a merge died: go on with what it froze
      control_.point("merge:resumed");
    } else {
      const int next = 1 - active_of(tables);
      std::uint64_t capacity = std::min(kMaxTableCapacity, state_.capacity[1 - next].load() * 4);
      while (capacity < kMaxTableCapacity && capacity / 4 * 3 < room_for) capacity *= 2;
      WEFT_DO(activate(next, capacity));
      WEFT_DO(log.with_append_lock([&](log::AppendContext& context) -> Result<void> {
        state_.cut.store(context.enqueued().position);
        if (!control_.killed()) state_.tables.store(next_tables(state_.tables.load(), next, true));
        return {};
      }));
    }
    control_.point("merge:frozen");
    std::uint64_t cut = state_.cut.load();
    for (;;) {
      const auto flushed = log.flush_to(cut);
      const std::uint64_t before = cut;
      cut = state_.cut.load();  // a failure on the way may have brought it forward; it never moves back
      if (flushed) break;
      if (cut == before) return flushed;
    }
    WEFT_TRY(const auto current, load_view());
    Gathered gathered;
    gathered.client = current->manifest.client;
    log::LogPoint point = current->manifest.point;
    // Of a merge that died after its manifest was renamed, nothing is left to gather.
    if (point.position < cut) {
      WEFT_TRY(point,
               segments_.scan_durable(point, cut, [&](const log::Frame& frame) { return gather(frame, gathered); }));
      if (count_entries(gathered.lists) > 0 || gathered.checkpoint)
        WEFT_DO(write_merged(*current, std::move(gathered), point));
      control_.point("merge:manifest-written");
    }
    if (control_.killed()) return {};
    int frozen = 0;
    WEFT_DO(log.with_append_lock([&](log::AppendContext&) -> Result<void> {
      tables = state_.tables.load();
      frozen = 1 - active_of(tables);
      if (!control_.killed()) state_.tables.store(next_tables(tables, active_of(tables), false));
      return {};
    }));
    control_.point("merge:published");
    table(frozen).clear();
    state_.pack_count[frozen].store(0);
    state_.dirty[frozen].store(0);
    return {};
  }();
}

Result<RecoveredIndex> Index::recover(std::uint64_t witnessed) {
  RecoveredIndex recovered;
  WEFT_DO(control_.ensure_allocated(kStoreStateOffset, sizeof(SharedStoreState)));
  WEFT_DO(activate(0, kFirstTableCapacity));
  state_.tables.store(next_tables(state_.tables.load(), 0, false));

  state_.indexed.store(0);
  // Manifest and runs are used as far as they are sound; the log can always replace them.
  std::shared_ptr<const View> base = std::make_shared<View>(segments_);
  std::uint64_t known_durable = 0;
  std::optional<Error> unusable;
  if (auto loaded = load_view(); loaded) {
    base = *loaded;
    known_durable = base->manifest.point.position;
    state_.indexed.store(known_durable);
  } else if (loaded.error().code == Code::damaged || loaded.error().code == Code::not_found) {
    recovered.notices.push_back(fmt::format("{}; rebuilding the index from the log", loaded.error().message));
    unusable = std::move(loaded).error();
    // Its runs may be gone, but what the manifest says of the log counts as long as it can be read.
    if (const auto bytes = read_file(env_.fs, join_path(directory_, kManifestName), kMaxManifestBytes)) {
      if (const auto manifest = decode_manifest(*bytes)) known_durable = manifest->point.position;
    }
  } else {
    return std::move(loaded).error();
  }
  // Without an index the log is read from the lowest segment there is: what a gc left behind in between is dropped when
  // its checkpoint frame is met (CP2).
  log::LogPoint first = base->manifest.start;
  if (base->manifest.point.position == 0) {
    WEFT_TRY(const auto lowest, segments_.lowest());
    if (lowest) first = *lowest;
  }
  if (auto files = segments_.check_files(first.position, known_durable); !files) {
    if (files.error().code != Code::damaged) return std::move(files).error();
    recovered.damage = files.error().message;
    if (unusable) return beyond_reading(*recovered.damage, *unusable);
    return recover_damaged(std::move(recovered), std::max(known_durable, witnessed));
  }

  Gathered gathered;
  gathered.client = base->manifest.client;
  log::LogPoint merged = base->manifest.point.position == 0 ? first : base->manifest.point;
  // A block of this process's own is made where nothing may be written: then what the log holds is only looked at.
  const bool only_look = !control_.is_shared();
  const bool can_write = witnessed == 0 && !only_look;
  WEFT_TRY(const auto scanned,
           segments_.scan(merged, std::max(known_durable, witnessed), [&](const log::Frame& frame) -> Result<void> {
             if (can_write && count_entries(gathered.lists) >= kGatherEntries) {
               // `merged` is where this frame's chain begins: everything gathered lies before it.
               Gathered next;
               next.client = gathered.client;
               // A manifest is a claim that what it covers was durable: what was merely found in the files must be so
               // first.
               WEFT_DO(segments_.flush_from(base->manifest.point.position));
               WEFT_DO(write_merged(*base, std::move(gathered), merged));
               WEFT_TRY(base, load_view());
               unusable.reset();
               gathered = std::move(next);
             }
             WEFT_DO(gather(frame, gathered));
             merged = log::LogPoint{frame.end(), frame.header.checksum};
             return {};
           }));
  recovered.damage = scanned.damage;
  const std::uint64_t begins =
      gathered.checkpoint ? gathered.checkpoint->start.position : base->manifest.start.position;
  if (!recovered.damage && first.position > begins) {
    recovered.damage = fmt::format("{} is missing, and nothing says that it is not needed any more",
                                   segments_.path_of(first.position - 1));
    if (unusable) return beyond_reading(*recovered.damage, *unusable);
    return recover_damaged(std::move(recovered), std::max(known_durable, witnessed));
  }
  if (unusable) {
    if (only_look && !recovered.damage) {
      return std::move(*unusable).hinted("a command that may write to the store makes the index anew from the log");
    }
    if (recovered.damage || !can_write) {
      return beyond_reading(recovered.damage.value_or("the log was cut while the store was in use"), *unusable);
    }
    // Out of the way, or readers would go on meeting it.
    auto removed = env_.fs.unlink(join_path(directory_, kManifestName));
    if (!removed && removed.error().code != Code::not_found) return std::move(removed).error();
    WEFT_DO(env_.fs.sync_directory(directory_));
  }
  if (scanned.torn_bytes > 0 && !recovered.damage) {
    recovered.notices.push_back(
        fmt::format("dropped an unfinished transaction ({} bytes) at the end of the log", scanned.torn_bytes));
  }
  recovered.end = scanned.end;
  recovered.client = gathered.client;

  const std::size_t entries = count_entries(gathered.lists);
  std::uint64_t capacity = kFirstTableCapacity;
  while (capacity / 2 <= entries && capacity < kMaxTableCapacity) capacity *= 2;
  if (base->base && base->base->lost && !recovered.damage && !gathered.checkpoint) {
    recovered.damage = base->base->lost->message;
  }
  const bool due = entries > kMergeEntries || gathered.packs.size() >= kMergePacks || gathered.checkpoint;
  const bool fits =
      entries <= kMaxTableCapacity / 4 * 3 && gathered.packs.size() <= kMaxTailPacks && !gathered.checkpoint;
  if (!recovered.damage && due && only_look && !fits) {
    return make_error(Code::permission, "the index is too far behind the log to be used as it is",
                      "a command that may write to the store brings it up to date");
  }
  if (!recovered.damage && due && !only_look) {
    WEFT_DO(segments_.flush_from(base->manifest.point.position));
    WEFT_DO(write_merged(*base, std::move(gathered), scanned.end));
    if (const auto now = this->base(); now && *now && (*now)->lost) recovered.damage = (*now)->lost->message;
    return recovered;
  }
  if (recovered.damage && entries > kMaxTableCapacity / 4 * 3) {
    return damaged(
        fmt::format("{}; there is too much behind the index to read without repairing it", *recovered.damage),
        "run `weft repair --accept-loss`");
  }
  WEFT_DO(activate(0, capacity));
  for (std::size_t kind = 1; kind < kEntryKinds; ++kind) {
    for (const auto& entry : gathered.lists[kind]) {
      if (static_cast<EntryKind>(kind) == EntryKind::ref) {
        place_ref(entry.key, entry.value);
        table(0).ref_durable(entry.key, entry.value, UINT64_MAX);
      } else {
        place(static_cast<EntryKind>(kind), entry.key, entry.value);
      }
    }
  }
  return recovered;
}

Result<RecoveredIndex> Index::recover_damaged(RecoveredIndex recovered, std::uint64_t known_durable) {
  // The runs know more than the log still has: objects they place before its end are good, and what refs held there is
  // read from the log itself.
  EntryLists refs;
  log::LogPoint first;
  if (const auto now = base(); now && *now) {
    first = (*now)->start;
  } else {
    WEFT_TRY(const auto lowest, segments_.lowest());
    if (lowest) first = *lowest;
  }
  WEFT_TRY(const auto scanned, segments_.scan(first, known_durable, [&](const log::Frame& frame) -> Result<void> {
    return for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
      if (kind == EntryKind::ref) refs[static_cast<std::size_t>(kind)].push_back({key, position});
      if (kind == EntryKind::operation) recovered.client[kLastOperation] = position + 1;
    });
  }));
  sort_entries(refs);
  recovered.end = scanned.end;
  state_.runs_bound.store(log::align_up(scanned.end.position, log::kBatchAlignment));
  std::uint64_t capacity = kFirstTableCapacity;
  const std::size_t entries = count_entries(refs);
  while (capacity / 2 <= entries && capacity < kMaxTableCapacity) capacity *= 2;
  if (capacity / 2 <= entries) {
    return damaged(fmt::format("{}; there are too many refs to read without repairing it", *recovered.damage),
                   "run `weft repair --accept-loss`");
  }
  WEFT_DO(activate(0, capacity));
  for (const auto& entry : refs[static_cast<std::size_t>(EntryKind::ref)]) {
    place_ref(entry.key, entry.value);
    table(0).ref_durable(entry.key, entry.value, UINT64_MAX);
  }
  return recovered;
}

Result<std::uint64_t> Index::checkpoint() const {
  WEFT_TRY(const auto current, view());
  return current->manifest.client[kCheckpoint];
}

Result<Index::Contents> Index::contents() const {
  WEFT_TRY(const auto current, view());
  return Contents{current->manifest, current->runs};
}

Result<Index::Files> Index::files() const {
  Files files;
  WEFT_TRY(const auto current, view());
  files.manifest = current->manifest;
  for (const auto& run : current->runs) files.bytes += run->bytes();
  return files;
}

}  // namespace weft::store
