// gc: lets go of what nothing needs, while others read and write.
//
//   1  begin a segment: what is recorded before it (the cut) can go as whole files
//   2  merge the index up to the cut; look at one view of it
//   3  read the log before the cut: which facts stay; mark what is live, from them and from all that is behind the cut
//   4  live objects of the log and of packs that are small or mostly garbage -> new packs; facts -> a kept file
//   5  append a checkpoint frame: in the append lock, and only there, what was recorded meanwhile must need nothing
//   that
//      is not live; else from 3 on with that as further roots
//   6  merge: the checkpoint is taken in (checkpoint.h, CP2); then remove segments, packs and kept files that are out
//   of
//      use
//
// Invariants:
//   GC1  A live object is durable in a pack that the kept file names before the checkpoint frame exists.
//   GC2  A transaction begun before the checkpoint and committed after it looks again whether what it relies on is
//        there (transaction.cc); one committed before it is seen in step 5.
//   GC3  Killed anywhere, the store is as before or as after; what is left lying about means nothing, and goes with the
//        next gc: files of a gc at once, packs that no frame names once they are a day old, for they may be those of a
//        transaction that is about to name them.
//   GC4  Writers wait only while step 1 flushes a batch, while step 5 looks at the last few transactions, and while
//   files
//        are renamed out of the way.
// Threading: one gc at a time in a store, by a lock in the control block.
#include "store/gc.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "object/chunk_list.h"
#include "store/gc_facts.h"
#include "store/history_writer.h"
#include "store/live_objects.h"

namespace weft::store {
namespace {

/// Packs of the base smaller than twice all that is smaller and new go into the new one: few packs, each byte written
/// anew a handful of times while a store grows a thousandfold.
constexpr std::uint64_t kPackFactor = 2;
/// Rounds of step 5 before giving up: each but the last met somebody who used what was about to go.
constexpr int kMaxRounds = 20;
constexpr std::int64_t kLeftoverAgeNs = std::int64_t{24} * 3600 * 1'000'000'000;
constexpr std::string_view kOutOfUsePrefix = "tmp-gone-";

struct Sizes {
  std::uint64_t files = 0, bytes = 0;
};
Sizes sizes_of(FileSystem& fs, const std::string& directory) {
  Sizes sizes;
  const auto entries = fs.list(directory);
  if (!entries) return sizes;
  for (const auto& entry : *entries) {
    const auto status = fs.status(join_path(directory, entry.name));
    if (!status) continue;
    ++sizes.files;
    sizes.bytes += status->size;
  }
  return sizes;
}

std::optional<ObjectId> pack_of_file(std::string_view name) {
  constexpr std::string_view kSuffix = ".pack";
  if (!name.ends_with(kSuffix) || name.size() != 2 * ObjectId::kSize + kSuffix.size()) return std::nullopt;
  const auto raw = from_hex(name.substr(0, 2 * ObjectId::kSize));
  return raw ? std::optional(ObjectId::from_bytes(*raw)) : std::nullopt;
}

class Collector;

/// The checkpoint frame on its way into the log.
class CheckpointSource final : public log::FrameSource {
 public:
  CheckpointSource(Collector& collector, Checkpoint checkpoint) : collector_(collector), checkpoint_(checkpoint) {}
  log::FrameKind kind() const override { return log::FrameKind::checkpoint; }
  Result<Sections> build(log::AppendContext& context, std::uint64_t& judged_at) override;
  void placed(std::uint64_t position, std::uint64_t payload_position) override;
  bool uncovered() const { return uncovered_; }
  std::int64_t held_ns() const { return held_ns_; }

 private:
  Collector& collector_;
  Checkpoint checkpoint_;
  Bytes payload_;
  bool uncovered_ = false;
  std::int64_t locked_ns_ = 0, held_ns_ = 0;
};

class Collector {
 public:
  Collector(std::shared_ptr<Store::State> store, Snapshot snapshot, const GcOptions& options)
      : store_(std::move(store)), options_(options), snapshot_(std::move(snapshot)), facts_(window_start_ns()) {}

  Result<GcReport> run() {
    measure(report_.log_before, report_.packs_before, report_.index_before);
    WEFT_TRY(const bool something, find_cut());
    if (something) WEFT_DO(collect());
    if (!something) report_.nothing_to_do = true;
    measure(report_.log_after, report_.packs_after, report_.index_after);
    return report_;
  }

 private:
  friend class CheckpointSource;

  Result<void> tell(std::string_view phase, std::uint64_t done, std::uint64_t total) const {
    return options_.progress ? options_.progress(phase, done, total) : Result<void>();
  }
  void measure(std::uint64_t& log, std::uint64_t& packs, std::uint64_t& index) const {
    log = sizes_of(store_->env.fs, store_->segments.directory()).bytes;
    packs = sizes_of(store_->env.fs, store_->packs.directory()).bytes;
    index = sizes_of(store_->env.fs, store_->index.directory()).bytes;
  }
  void paused(std::int64_t ns) { report_.longest_pause_ns = std::max(report_.longest_pause_ns, ns); }

  /// Step 1 and 2. False: the log is empty.
  Result<bool> find_cut() {
    // A gc may have died behind its checkpoint: what that says must count before anything is looked at. No other can
    // come while this one holds the lock.
    WEFT_TRY(const std::uint64_t taken_in, store_->index.checkpoint());
    if (taken_in != store_->log.enqueued().client[kCheckpoint]) {
      WEFT_DO(store_->index.merge(store_->log, {.wait = true, .always = true}));
      WEFT_TRY(snapshot_, Store::State::view(store_));
    }
    WEFT_TRY(base_, store_->index.base());
    if (base_ && base_->lost) return *base_->lost;
    const log::LogPoint start = base_ ? base_->start : log::LogPoint{};
    // A segment that holds nothing but checkpoints need not go.
    bool recorded = false;
    const auto looked =
        store_->segments.scan_durable(start, snapshot_.position(), [&](const log::Frame& frame) -> Result<void> {
          recorded = frame.header.kind == log::FrameKind::transaction;
          return recorded ? Result<void>(make_error(Code::exists, "enough")) : Result<void>();
        });
    if (!looked && !recorded) return looked.error();
    cut_ = start;
    client_at_cut_ = {};
    if (recorded && options_.dry_run) {
      WEFT_DO(store_->index.merge(store_->log, {.wait = true, .always = true}));
    } else if (recorded) {
      WEFT_TRY(const auto begun, store_->log.begin_segment());
      store_->control->point("gc:segment-begun");
      paused(begun.held_ns);
      cut_ = {begun.state.position, begun.state.chain};
      client_at_cut_ = begun.state.client;
      WEFT_DO(store_->index.merge(store_->log, {.wait = true, .always = true}));
      store_->control->point("gc:merged");
    }
    if (!recorded && !base_) return false;
    WEFT_TRY(snapshot_, Store::State::view(store_));  // others recorded before the cut since
    WEFT_TRY(view_, store_->index.contents());
    if (recorded && options_.dry_run) cut_ = view_.manifest.point;  // as if a segment began there
    // The cut lies at a segment's beginning, the index's point behind the last transaction before it.
    const log::LogPoint& merged = view_.manifest.point;
    if (merged.position < cut_.position && merged.chain != cut_.chain) {
      return make_error(Code::busy, "the index could not be brought up to date", "try again");
    }
    return true;
  }

  Result<void> collect() {
    WEFT_DO(plan_packs());
    for (;;) {
      WEFT_DO(mark());
      WEFT_TRY(const bool again, find_garbage_packs());
      if (!again) break;
    }
    WEFT_TRY(const auto dropped, live_->count());
    report_.objects_dropped = dropped.objects;
    report_.changes_dropped = dropped.changes;
    report_.objects_kept = dropped.live_objects;
    report_.operations_dropped = facts_.dropped_operations();
    report_.objects_moved = live_->moving();
    if (same_start() && dropped.objects == 0 && facts_.dropped_operations() == 0 && live_->moving() == 0) {
      report_.nothing_to_do = true;
      return options_.dry_run ? Result<void>() : remove_out_of_use();
    }
    if (options_.dry_run) return {};
    auto published = publish();
    if (!published) {
      forget_written();
      return published;
    }
    return remove_out_of_use();
  }

  // --- what is there ---

  /// No segment can go.
  bool same_start() const { return base_ && base_->start.position == cut_.position; }

  /// Which packs stay as they are.
  Result<void> plan_packs() {
    // Packs named before the cut, by their ordinal in this view.
    std::map<ObjectId, std::uint64_t> named_at;
    for (const auto& run : view_.runs) {
      for (std::size_t i = 0; i < run->count(EntryKind::pack); ++i) {
        const IndexEntry entry = run->entry(EntryKind::pack, i);
        auto& position = named_at[entry.key];
        position = std::max(position, entry.value);
      }
    }
    for (std::size_t i = 0; i < view_.manifest.packs.size(); ++i) {
      const PackName& name = view_.manifest.packs[i];
      const auto at = named_at.find(name.id);
      named_.push_back({name, at != named_at.end() && at->second < cut_.position, true});
    }
    if (base_) {
      for (const auto& pack : base_->kept->packs()) base_packs_.push_back({&pack, true});
    }
    // What transactions wrote goes into the new pack once, where versions of one thing are packed against each other.
    // Of what a gc wrote, smallest first, what is not much larger than all before it.
    struct Candidate {
      std::uint64_t bytes;
      bool* moves;
    };
    std::uint64_t below = same_start() ? 0 : report_.log_before;
    std::vector<Candidate> candidates;
    for (auto& pack : named_) {
      if (!pack.before_cut) continue;
      pack.moves = true;
      below += pack.name.bytes;
    }
    for (auto& pack : base_packs_) candidates.push_back({pack.kept->name.bytes, &pack.moves});
    std::sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    for (const auto& candidate : candidates) {
      *candidate.moves = options_.repack_all || candidate.bytes < kPackFactor * below;
      if (*candidate.moves) below += candidate.bytes;
    }
    return {};
  }

  Result<void> mark() {
    live_.emplace(snapshot_, cut_.position);
    live_->tolerate_missing = options_.tolerate_missing;
    live_->progress = [this](std::uint64_t marked) { return tell("looking for what is live", marked, 0); };
    facts_ = GcFacts(window_start_ns());
    written_.clear();
    young_.clear();
    for (const bool moves : {false, true}) {
      for (const auto& pack : base_packs_) {
        if (pack.moves != moves) continue;
        WEFT_TRY(auto reader, store_->packs.open(pack.kept->name.id));
        live_->add_pack(std::move(reader), *pack.kept, moves);
      }
    }
    std::vector<bool> counts, moves;
    for (const auto& pack : named_) {
      counts.push_back(pack.before_cut);
      moves.push_back(pack.moves);
      if (!pack.before_cut) continue;
      // What is lost with it would be taken for garbage.
      WEFT_TRY(const auto reader, store_->packs.open(pack.name.id));
      if (reader->summary().objects != pack.name.objects) {
        return make_error(Code::busy, fmt::format("the pack {} has come back since it was indexed", pack.name.id.hex()),
                          "run `weft repair`, then try again");
      }
    }
    for (const auto& run : view_.runs) live_->add_run(run, counts, moves);

    WEFT_DO(for_each_fact([&](const KeptFrame& frame, const log::Frame*) -> Result<void> {
      facts_.see(frame);
      for (const auto& change : facts_.take_values()) WEFT_DO(live_->add_root(ObjectKind::change, change));
      return {};
    }));
    facts_.begin_window(cut_.position);
    covered_ = cut_.position;
    WEFT_DO(cover(snapshot_.position()));
    for (const std::uint64_t position : facts_.moves_before_window()) {
      WEFT_DO(add_value_at(position));
    }
    for (const auto& change : options_.roots) {
      // What a workspace's files stand at may be gone already; then nothing is to be kept of it.
      WEFT_TRY(const bool there, snapshot_.contains(ObjectKind::change, change));
      if (there) WEFT_DO(live_->add_root(ObjectKind::change, change));
    }
    WEFT_DO(live_->trace());
    return find_young();
  }

  std::int64_t window_start_ns() const { return started_ns_ - std::max<std::int64_t>(options_.keep_ns, 0); }

  Result<void> add_value_at(std::uint64_t position) {
    WEFT_TRY(const auto move, snapshot_state().find_move(position));
    if (!move || !move->after) return {};
    for (const auto& change : move->after->version.changes) WEFT_DO(live_->add_root(ObjectKind::change, change));
    return {};
  }

  /// Facts of everything before the cut, oldest first; `frame`: where it is still in the log.
  Result<void> for_each_fact(const std::function<Result<void>(const KeptFrame&, const log::Frame* frame)>& visit) {
    if (base_) {
      WEFT_DO(base_->kept->for_each_frame([&](const KeptFrame& frame) { return visit(frame, nullptr); }));
    }
    const log::LogPoint start = base_ ? base_->start : log::LogPoint{};
    if (start.position == cut_.position) return {};
    WEFT_TRY(const auto end,
             store_->segments.scan_durable(start, cut_.position, [&](const log::Frame& frame) -> Result<void> {
               WEFT_DO(tell("reading the log", frame.header.position - start.position, cut_.position - start.position));
               if (frame.header.kind != log::FrameKind::transaction) return {};
               WEFT_TRY(const KeptFrame facts, GcFacts::of(frame));
               return visit(facts, &frame);
             }));
    (void)end;
    return {};
  }

  /// Everything recorded behind the cut stays, so what it refers to is live.
  Result<void> cover(std::uint64_t end) {
    if (covered_ >= end) return {};
    WEFT_TRY(const auto reached,
             store_->segments.scan_durable(
                 covered_point(), end, [&](const log::Frame& frame) -> Result<void> { return cover_frame(frame); }));
    covered_ = end;
    covered_chain_ = reached.chain;
    return live_->trace();
  }
  log::LogPoint covered_point() const {
    return covered_ == cut_.position ? cut_ : log::LogPoint{covered_, covered_chain_};
  }

  Result<void> cover_frame(const log::Frame& frame) {
    if (frame.header.kind != log::FrameKind::transaction) return {};
    WEFT_TRY(const KeptFrame facts, GcFacts::of(frame));
    facts_.see(facts);
    for (const auto& change : facts_.take_values()) WEFT_DO(live_->add_root(ObjectKind::change, change));
    for (const std::uint64_t position : facts_.take_before()) WEFT_DO(add_value_at(position));
    return for_each_object(frame, [&](ObjectKind kind, const ObjectId& id) { return live_->add_root(kind, id); });
  }

  Result<void> for_each_object(const log::Frame& frame,
                               const std::function<Result<void>(ObjectKind, const ObjectId&)>& visit) {
    std::vector<std::pair<ObjectKind, ObjectId>> objects;
    WEFT_DO(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t) {
      if (kind <= EntryKind::change) objects.emplace_back(static_cast<ObjectKind>(kind), key);
    }));
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (const auto& pack : payload.packs) {
      WEFT_TRY(const auto reader, store_->packs.open(pack.id));
      WEFT_DO(reader->for_each([&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
        objects.emplace_back(kind, id);
        return {};
      }));
    }
    // Changes first: of what they lead to nothing need be said.
    std::stable_sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [kind, id] : objects) WEFT_DO(visit(kind, id));
    return {};
  }

  /// What was recorded inside the window stays, referred to or not.
  Result<void> find_young() {
    return for_each_fact([&](const KeptFrame& facts, const log::Frame* frame) -> Result<void> {
      facts_.count_dropped(facts);
      if (facts.position < facts_.window()) return {};
      const auto keep = [&](ObjectKind kind, const ObjectId& id) -> Result<void> {
        if (live_->is_live(kind, id)) return {};
        young_[facts.position].emplace_back(kind, id);
        WEFT_DO(live_->add_root(kind, id));
        return live_->trace();
      };
      for (const auto& [kind, id] : facts.young) WEFT_DO(keep(kind, id));
      return frame == nullptr ? Result<void>() : for_each_object(*frame, keep);
    });
  }

  /// True when a pack that was to stay turned out to be mostly garbage: then it moves, and all is marked anew.
  Result<bool> find_garbage_packs() {
    bool found = false;
    WEFT_DO(for_each_staying([&](const KeptPack& facts, bool& moves) {
      if (facts.objects * 2 < facts.name.objects) found = moves = true;
    }));
    return found;
  }

  /// With what of it is live now.
  Result<void> for_each_staying(const std::function<void(const KeptPack& facts, bool& moves)>& visit) {
    std::size_t number = 0;  // among the sources: those that stay come first
    for (auto& pack : base_packs_) {
      if (pack.moves) continue;
      WEFT_TRY(const KeptPack facts, live_->pack_facts(number++, pack.kept->name));
      visit(facts, pack.moves);
    }
    for (auto& pack : named_) {
      if (pack.moves || !pack.before_cut) continue;
      WEFT_TRY(const auto reader, store_->packs.open(pack.name.id));
      WEFT_TRY(const KeptPack facts, live_->pack_facts(*reader, pack.name));
      visit(facts, pack.moves);
    }
    return {};
  }

  // --- publishing ---

  Result<void> publish() {
    std::uint64_t marked = 0;
    for (int round = 0; round < kMaxRounds; ++round) {
      WEFT_DO(tell("following what is recorded meanwhile", 0, 0));
      WEFT_TRY(snapshot_, Store::State::view(store_));
      WEFT_DO(cover(snapshot_.position()));
      if (round == 0 || live_->marked() != marked || facts_.has_unkept()) {
        marked = live_->marked();
        WEFT_DO(write_packs());
        WEFT_DO(write_kept());
        // Writing may have taken long: what was recorded in that time is not to be looked at inside the lock.
        WEFT_TRY(snapshot_, Store::State::view(store_));
        WEFT_DO(cover(snapshot_.position()));
        if (live_->marked() != marked || facts_.has_unkept()) continue;
      }
      store_->control->point("gc:written");
      Checkpoint checkpoint;
      checkpoint.time_ns = store_->env.clock.now_ns();
      checkpoint.kept = kept_;
      checkpoint.start = cut_;
      CheckpointSource source(*this, checkpoint);
      auto appended = store_->log.append(source, store_->env.random.id<TransactionId>());
      paused(source.held_ns());
      if (!appended) {
        if (source.uncovered()) continue;
        return std::move(appended).error();
      }
      published_ = true;
      store_->control->point("gc:checkpoint");
      return store_->index.merge(store_->log, {.wait = true, .always = true});
    }
    return make_error(Code::busy, "others kept using what was about to be removed", "try again");
  }

  Result<void> write_packs() {
    if (live_->moving() == 0) return {};
    report_.objects_moved = std::max<std::uint64_t>(report_.objects_moved, live_->moving());
    const std::uint64_t total = live_->moving();
    object::RepackOptions options;
    options.progress = [&](std::uint64_t done) { return tell("writing packs", done, total); };
    WEFT_TRY(const auto packs,
             object::repack(store_->env, store_->packs.directory(), live_->take_moving(), snapshot_, options));
    for (const auto& pack : packs) {
      KeptPack facts;
      facts.name = {pack.summary.id, pack.summary.objects, pack.changes, pack.summary.bytes};
      facts.objects = pack.summary.objects;
      facts.changes = pack.changes;
      written_.push_back(facts);
      ++report_.packs_written;
    }
    return {};
  }

  Result<void> write_kept() {
    if (!kept_.id.is_zero()) (void)store_->env.fs.unlink(kept_path(kept_.id));  // of an earlier round
    kept_ = {};
    KeptWriter writer(store_->env, store_->segments.directory());
    live_objects_ = live_changes_ = 0;
    const auto add = [&](const KeptPack& pack) {
      live_objects_ += pack.objects;
      live_changes_ += pack.changes;
      if (pack.objects > 0) writer.add(pack);
    };
    WEFT_DO(for_each_staying([&](const KeptPack& facts, bool&) { add(facts); }));
    for (const auto& pack : written_) add(pack);
    facts_.forget_unkept();
    std::vector<DeltaLink> deltas;
    std::vector<GitLink> gits;
    std::uint64_t newest_operation = 0;
    WEFT_DO(for_each_fact([&](const KeptFrame& facts, const log::Frame* frame) -> Result<void> {
      auto kept = facts_.retained(facts);
      std::vector<std::pair<ObjectKind, ObjectId>> young;
      if (const auto found = young_.find(facts.position);
          found != young_.end() && !seen_young_.contains(facts.position)) {
        seen_young_.insert(facts.position);
        young = found->second;
      }
      if (!kept && !young.empty()) {
        kept = facts;
        kept->moves.clear();
        kept->listed = false;
      }
      if (kept) {
        if (kept->listed) newest_operation = kept->position + 1;
        WEFT_DO(add_kept(writer, *std::move(kept), std::move(young)));
      }
      return frame == nullptr ? Result<void>() : links_of(*frame, deltas, gits);
    }));
    seen_young_.clear();
    if (base_) {
      base_->kept->for_each_delta([&](const DeltaLink& link) { deltas.push_back(link); });
      base_->kept->for_each_git([&](const GitLink& link) { gits.push_back(link); });
    }
    for (const auto& link : deltas) {
      if (live_->is_live_change(link.change)) writer.add(link);
    }
    for (const auto& link : gits) {
      if (live_->is_live_change(link.change)) writer.add(link);
    }
    KeptFacts said;
    WEFT_TRY(said.ids, store_->ids());
    said.start = cut_.position;
    said.window = facts_.window();
    said.newest_operation = newest_operation;
    WEFT_TRY(kept_, writer.finish(said));
    return {};
  }

  static Result<void> add_kept(KeptWriter& writer, KeptFrame frame,
                               std::vector<std::pair<ObjectKind, ObjectId>> young) {
    // Facts that were kept before hold nothing but their young objects where these were too many for one entry.
    const bool empty = frame.moves.empty() && !frame.operation;
    frame.young.clear();
    std::size_t done = std::min<std::size_t>(young.size(), kMaxYoungObjects);
    frame.young.assign(young.begin(), young.begin() + static_cast<std::ptrdiff_t>(done));
    if (!empty || !frame.young.empty()) WEFT_DO(writer.add(frame));
    while (done < young.size()) {
      KeptFrame more;
      more.position = frame.position;
      more.transaction = frame.transaction;
      more.time_ns = frame.time_ns;
      const std::size_t end = std::min<std::size_t>(young.size(), done + kMaxYoungObjects);
      more.young.assign(young.begin() + static_cast<std::ptrdiff_t>(done),
                        young.begin() + static_cast<std::ptrdiff_t>(end));
      WEFT_DO(writer.add(more));
      done = end;
    }
    return {};
  }

  static Result<void> links_of(const log::Frame& frame, std::vector<DeltaLink>& deltas, std::vector<GitLink>& gits) {
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (const EntryKind kind : {EntryKind::delta, EntryKind::git}) {
      const ByteView links = kind == EntryKind::delta ? payload.deltas : payload.gits;
      const std::size_t offset = kind == EntryKind::delta ? payload.deltas_offset : payload.gits_offset;
      for (std::size_t done = 0; done < links.size();) {
        const std::uint64_t position = frame.payload_position() + offset + done;
        const auto link = decode_link(kind, links.substr(done), position);
        if (!link) return damaged(fmt::format("a link of the transaction at {} is malformed", frame.header.position));
        done += link->length;
        ChangeId change;
        if (link->change) {
          change = *link->change;
        } else {
          if (link->record_position < frame.payload_position()) return damaged("a link leads out of its transaction");
          WEFT_TRY(const auto record,
                   object::decode_record(frame.payload.substr(link->record_position - frame.payload_position())));
          change = record.id;
        }
        if (kind == EntryKind::delta) {
          deltas.push_back({half_of(link->key), half_of(change)});
        } else {
          gits.push_back({GitId::from_bytes(link->key.view().substr(0, GitId::kSize)), half_of(change)});
        }
      }
    }
    return {};
  }

  /// Inside the append lock: the frames from `from` on, durable or not. False when `visit` says so, or meets one that
  /// is too large to be looked at in there.
  static Result<bool> for_each_enqueued(log::AppendContext& context, std::uint64_t from,
                                        const std::function<Result<bool>(const log::Frame&)>& visit) {
    const std::uint64_t end = context.enqueued().position;
    for (std::uint64_t at = from; at + log::kFrameHeaderBytes <= end;) {
      WEFT_TRY(ByteView bytes, context.read_up_to(at, log::kFrameHeaderBytes));
      const auto header = log::parse_header(bytes, at);
      if (!header) {  // between batches, and at a segment's end
        at = log::align_up(at + 1, log::kBatchAlignment);
        continue;
      }
      if (header->length > log::kMaxRingFrame) return false;
      WEFT_TRY(bytes, context.read_up_to(at, header->length));
      const auto frame = log::parse_frame(bytes, at);
      if (!frame) return false;
      at = frame->end();
      WEFT_TRY(const bool more, visit(*frame));
      if (!more) return false;
    }
    return true;
  }

  /// Inside the append lock: whether all that was recorded since cover() needs nothing that is not live.
  Result<bool> covered_to_the_end(log::AppendContext& context) {
    std::set<std::pair<ObjectKind, ObjectId>> own;
    std::vector<std::pair<ObjectKind, ObjectId>> needed;
    WEFT_TRY(const bool all_seen, for_each_enqueued(context, covered_, [&](const log::Frame& frame) -> Result<bool> {
               if (frame.header.kind != log::FrameKind::transaction) return true;
               WEFT_TRY(const Late late, decode_late(frame.late, frame.header.position));
               for (const auto& move : late.moves) {
                 if (!move.after) continue;
                 for (const auto& change : move.after->version.changes) needed.emplace_back(ObjectKind::change, change);
               }
               WEFT_TRY(const Payload payload, decode_payload(frame.payload));
               if (!payload.packs.empty()) return false;
               for (ByteView rest = payload.records; !rest.empty();) {
                 WEFT_TRY(const auto record, object::decode_record(rest));
                 rest.remove_prefix(record.length);
                 own.emplace(record.kind, record.id);
                 if (record.form == object::Stored::chunks) {
                   WEFT_TRY(const auto list, object::chunk_list_of(record));
                   for (const auto& entry : list.entries) {
                     // A page names more: to be looked at outside.
                     if (entry.kind == object::ChunkEntry::Kind::page) return false;
                     if (entry.kind == object::ChunkEntry::Kind::chunk) needed.emplace_back(ObjectKind::blob, entry.id);
                   }
                 }
                 if (record.kind == ObjectKind::blob) continue;
                 WEFT_TRY(const Bytes content, store_->codecs.content(record));
                 WEFT_DO(LiveObjects::references(
                     record.kind, content, [&](ObjectKind kind, const ObjectId& id, std::uint64_t) -> Result<void> {
                       needed.emplace_back(kind, id);
                       return {};
                     }));
               }
               // Every move inside the window says what the ref held before: that must be among what is kept.
               for (const auto& move : late.moves) {
                 if (move.previous != 0 && move.previous < cut_.position && !facts_.keeps(move.previous, move.name))
                   return false;
               }
               return true;
             }));
    if (!all_seen) return false;
    return std::all_of(needed.begin(), needed.end(), [&](const auto& object) {
      return own.contains(object) || live_->is_live(object.first, object.second) ||
             (options_.tolerate_missing && object.first != ObjectKind::change);
    });
  }

  // --- afterwards ---

  std::string kept_path(const ObjectId& id) const {
    return join_path(store_->segments.directory(), kept_file_name(id));
  }
  std::string pack_path(const ObjectId& id) const {
    return join_path(store_->packs.directory(), object::pack_file_name(id));
  }

  /// What this gc has written and nothing names.
  void forget_written() {
    if (published_) return;
    for (const auto& pack : written_) (void)store_->env.fs.unlink(pack_path(pack.name.id));
    if (!kept_.id.is_zero()) (void)store_->env.fs.unlink(kept_path(kept_.id));
  }

  Result<void> remove_out_of_use() {
    FileSystem& fs = store_->env.fs;
    WEFT_TRY(const auto base, store_->index.base());
    if (!base || base->lost) return {};
    if (published_ && base->start.position != cut_.position) {
      return make_error(Code::internal, "the checkpoint was not taken in");
    }
    store_->control->point("gc:published");
    const std::string& log_directory = store_->segments.directory();
    const std::uint64_t before = sizes_of(fs, log_directory).files;
    WEFT_TRY(const std::uint64_t freed, store_->segments.remove_before(base->start.position));
    (void)freed;
    report_.segments_removed = before - std::min(before, sizes_of(fs, log_directory).files);
    store_->control->point("gc:segments-removed");
    WEFT_TRY(const auto logs, fs.list(log_directory));
    for (const auto& entry : logs) {
      const bool kept = entry.name.ends_with(".kept") && entry.name != kept_file_name(base->name.id);
      if (kept || entry.name.starts_with("tmp-kept-")) (void)fs.unlink(join_path(log_directory, entry.name));
    }
    WEFT_DO(remove_packs(*base));
    if (store_->touches) WEFT_DO(extend_history(store_, {.all = true, .wait = true}));
    return {};
  }

  Result<void> remove_packs(const Base& base) {
    FileSystem& fs = store_->env.fs;
    const std::string& directory = store_->packs.directory();
    std::set<ObjectId> retired;
    for (const auto& pack : base_packs_) retired.insert(pack.kept->name.id);
    for (const auto& pack : named_) {
      if (pack.before_cut) retired.insert(pack.name.id);
    }
    std::set<ObjectId> named;
    for (const auto& pack : base.kept->packs()) named.insert(pack.name.id);
    WEFT_TRY(const auto entries, fs.list(directory));
    std::vector<std::string> going, gone;
    for (const auto& entry : entries) {
      if (entry.name.starts_with(kOutOfUsePrefix)) gone.push_back(entry.name);
      const auto id = pack_of_file(entry.name);
      if (!id || named.contains(*id)) continue;
      if (!retired.contains(*id)) {
        const auto status = fs.status(join_path(directory, entry.name));
        if (!status || status->mtime_ns >= store_->env.clock.now_ns() - kLeftoverAgeNs) continue;
      }
      going.push_back(entry.name);
    }
    // Somebody may have written a pack with the very same content since, or be about to name it: frames that name one
    // are looked for up to the end, and whoever is about to looks inside the lock whether its pack is still there.
    log::LogPoint scanned = base.start;
    const auto take_names = [&](const log::Frame& frame) -> Result<void> {
      if (frame.header.kind != log::FrameKind::transaction) return {};
      WEFT_TRY(const Payload payload, decode_payload(frame.payload));
      for (const auto& pack : payload.packs) named.insert(pack.id);
      return {};
    };
    for (int round = 0; round < kMaxRounds && !going.empty(); ++round) {
      const std::uint64_t end = store_->log.durable().position;
      if (scanned.position < end) {
        WEFT_TRY(scanned, store_->segments.scan_durable(scanned, end, take_names));
        scanned.position = end;
      }
      WEFT_DO(store_->log.with_append_lock([&](log::AppendContext& context) -> Result<void> {
        const std::int64_t locked_ns = store_->env.clock.monotonic_ns();
        WEFT_TRY(const bool all_seen,
                 for_each_enqueued(context, scanned.position, [&](const log::Frame& frame) -> Result<bool> {
                   WEFT_DO(take_names(frame));
                   return true;
                 }));
        // A few at a time: a rename is quick, but there may be many.
        constexpr std::size_t kAtOnce = 64;
        for (std::size_t i = 0; all_seen && i < kAtOnce && !going.empty(); ++i) {
          const std::string name = std::move(going.back());
          going.pop_back();
          if (named.contains(*pack_of_file(name))) continue;
          const std::string aside = std::string(kOutOfUsePrefix) + name;
          if (fs.rename(join_path(directory, name), join_path(directory, aside))) gone.push_back(aside);
        }
        if (all_seen) round = 0;
        paused(store_->env.clock.monotonic_ns() - locked_ns);
        return {};
      }));
    }
    for (const auto& name : gone) {
      if (fs.unlink(join_path(directory, name))) ++report_.packs_removed;
    }
    store_->control->point("gc:packs-removed");
    return {};
  }

  Snapshot::State& snapshot_state() const { return Store::State::of(snapshot_); }

  struct NamedPack {
    PackName name;
    bool before_cut = false;
    bool moves = true;
  };
  struct BasePack {
    const KeptPack* kept = nullptr;
    bool moves = true;
  };

  std::shared_ptr<Store::State> store_;
  const GcOptions& options_;
  Snapshot snapshot_;
  std::int64_t started_ns_ = store_->env.clock.now_ns();
  GcFacts facts_;
  GcReport report_;
  std::shared_ptr<const Base> base_;  ///< before this gc
  log::LogPoint cut_;
  log::ClientWords client_at_cut_{};
  Index::Contents view_;
  std::vector<NamedPack> named_;  ///< in the order of the view's manifest
  std::vector<BasePack> base_packs_;
  std::vector<KeptPack> written_;
  std::optional<LiveObjects> live_;
  std::map<std::uint64_t, std::vector<std::pair<ObjectKind, ObjectId>>> young_;  ///< by frame
  std::set<std::uint64_t> seen_young_;
  std::uint64_t covered_ = 0, covered_chain_ = 0;  ///< cover() has been through the log up to here
  KeptName kept_;
  std::uint64_t live_objects_ = 0, live_changes_ = 0;
  bool published_ = false;
};

Result<log::FrameSource::Sections> CheckpointSource::build(log::AppendContext& context, std::uint64_t&) {
  locked_ns_ = collector_.store_->env.clock.monotonic_ns();
  WEFT_TRY(const bool covered, collector_.covered_to_the_end(context));
  if (!covered) {
    uncovered_ = true;
    held_ns_ = collector_.store_->env.clock.monotonic_ns() - locked_ns_;
    return make_error(Code::busy, "somebody has used what was about to be removed", "try again");
  }
  const auto& enqueued = context.enqueued();
  Sections sections;
  sections.client = enqueued.client;
  sections.client[kObjects] += collector_.live_objects_ - collector_.client_at_cut_[kObjects];
  sections.client[kChanges] += collector_.live_changes_ - collector_.client_at_cut_[kChanges];
  sections.client[kCheckpoint] = enqueued.position + 1;
  checkpoint_.client = sections.client;
  payload_ = encode_checkpoint(checkpoint_);
  sections.payload = payload_;
  sections.payload_checksum = log::payload_checksum(payload_);
  return sections;
}

void CheckpointSource::placed(std::uint64_t, std::uint64_t) {
  held_ns_ = collector_.store_->env.clock.monotonic_ns() - locked_ns_;
}

}  // namespace

Result<GcReport> gc(const Snapshot& now, const GcOptions& options) {
  const auto store = Store::State::of(now).store;
  if (store->damage) return *store->damage;
  if (store->unwritable) return *store->unwritable;
  WEFT_TRY(const OwnerToken me, store->control->token());
  log::SharedMutex mutex(*store->control, store->env.clock, store->shared().collect);
  log::SharedMutex::Acquired acquired;
  if (!mutex.try_lock(me, acquired)) {
    return make_error(Code::busy, "another gc is at work in this store", "wait for it, then try again");
  }
  const log::SharedUnlock held(mutex);
  return [&]() -> Result<GcReport> {
    // The history index goes on from a place of the log that is about to go.
    if (store->touches && !options.dry_run) WEFT_DO(extend_history(store, {.all = true, .wait = true}));
    WEFT_TRY(Snapshot fresh, Store::State::view(store));
    return Collector(store, std::move(fresh), options).run();
  }();
}

}  // namespace weft::store
