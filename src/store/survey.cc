#include "store/survey.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "object/byte_source.h"
#include "store/run.h"

namespace weft::store {
namespace {

/// What is lost is listed up to here; a store that has lost more is described well enough by that.
constexpr std::size_t kMaxLost = 4u << 20;

std::optional<Manifest> read_manifest(Env env, const std::string& index) {
  const auto bytes = read_file(env.fs, join_path(index, kManifestName), kMaxManifestBytes);
  if (!bytes) return std::nullopt;
  auto manifest = decode_manifest(*bytes);
  return manifest ? std::optional(*std::move(manifest)) : std::nullopt;
}

/// Positions a frame's moves and its operation say others lie at, with whose they are ("" for operations).
template <typename Visit>
void for_each_link(const Late& late, const Visit& visit) {
  if (late.previous_operation != 0) visit(std::string_view(), late.previous_operation - 1);
  for (const auto& move : late.moves) visit(std::string_view(move.name), move.previous);
}

}  // namespace

Result<void> Survey::run(const SurveyOptions& options) {
  progress_ = options.progress;
  const auto manifest = read_manifest(env_, join_path(directory_, "index"));
  std::uint64_t known = options.known_durable;
  if (manifest && manifest->point.position <= options.end) known = std::max(known, manifest->point.position);
  WEFT_TRY(map_,
           log::FrameMapper(env_, segments_, join_path(directory_, "log"))
               .map(known, options.end, [&](std::uint64_t position) { tick(position, std::max(known, position)); }));
  donor_ = options.donor;
  donor_directory_ = options.donor_directory;
  WEFT_DO(find_start(manifest ? &*manifest : nullptr));
  donated_.assign(map_.stretches.size(), false);
  if (options.donor != nullptr) {
    WEFT_DO(classify(manifest ? &*manifest : nullptr));
    if (!ambiguous_) open_foreign();
    WEFT_DO(fill_gaps(*options.donor));
  }
  WEFT_DO(classify(manifest ? &*manifest : nullptr));
  for (const auto& gap : map_.gaps) {
    Damage damage;
    damage.kind = Damage::Kind::gap;
    damage.path = gap.path;
    damage.from = gap.from;
    damage.to = gap.to;
    damage.what =
        gap.missing
            ? fmt::format("{} is missing or cut off: the log lacks positions {} to {}", gap.path, gap.from, gap.to)
            : fmt::format("{} holds no whole transaction from position {} to {}", gap.path, gap.from, gap.to);
    damages_.push_back(std::move(damage));
  }
  for (std::size_t i = 0; i < map_.stretches.size(); ++i) {
    if (!foreign_[i]) continue;
    const auto& stretch = map_.stretches[i];
    Damage damage;
    damage.kind = Damage::Kind::foreign;
    damage.path = segments_.path_of(stretch.from);
    damage.from = stretch.from;
    damage.to = stretch.end.position;
    damage.what = fmt::format(
        "{} holds transactions of another history at positions {} to {}{}", damage.path, damage.from, damage.to,
        ambiguous_ ? " (or what lies before them is: nothing tells which of them is this store's)" : "");
    damages_.push_back(std::move(damage));
  }
  WEFT_DO(gather_kept());
  WEFT_DO(gather());
  WEFT_DO(look_at_packs());
  deep_ = options.deep;
  if (options.deep || !damages_.empty()) {
    WEFT_DO(look_at_contents(options.deep));
    WEFT_DO(find_parts());
  }
  attribute(manifest ? &*manifest : nullptr, options.known_losses);
  return judge_lists();
}

/// A checkpoint says where the log begins, and which file speaks for what was before.
Result<void> Survey::find_start(const Manifest* manifest) {
  struct Claim {
    log::LogPoint start;
    KeptName kept;
  };
  std::vector<Claim> claims;  // the newest last
  for (const auto& stretch : map_.stretches) {
    const bool any = std::any_of(map_.checkpoints.begin(), map_.checkpoints.end(), [&](std::uint64_t position) {
      return position >= stretch.from && position < stretch.end.position;
    });
    if (!any) continue;
    WEFT_DO(log::for_each_frame(segments_, stretch, [&](const log::Frame& frame) -> Result<void> {
      if (frame.header.kind != log::FrameKind::checkpoint) return {};
      const auto checkpoint = decode_checkpoint(frame.payload, frame.header.position);
      if (checkpoint) claims.push_back({checkpoint->start, checkpoint->kept});
      return {};
    }));
  }
  if (manifest != nullptr && !manifest->kept.id.is_zero() &&
      (claims.empty() || manifest->start.position >= claims.back().start.position)) {
    claims.push_back({manifest->start, manifest->kept});
  }
  if (!claims.empty()) {
    // A checkpoint of another store names a file that never was here.
    const auto is_here = [&](const Claim& claim) {
      return env_.fs.status(join_path(join_path(directory_, "log"), kept_file_name(claim.kept.id))).has_value();
    };
    const auto here = std::find_if(claims.rbegin(), claims.rend(), is_here);
    const Claim& claim = here == claims.rend() ? claims.back() : *here;
    start_ = claim.start;
    kept_name_ = claim.kept;
  }
  if (kept_name_.id.is_zero()) return {};
  const std::string name = kept_file_name(kept_name_.id);
  const auto open = [&](const std::string& directory) -> Result<std::shared_ptr<const KeptFile>> {
    WEFT_TRY(auto kept, KeptFile::open(env_.fs, join_path(join_path(directory, "log"), name), kept_name_.id));
    std::optional<Error> wrong;
    kept->verify([&](const Error& error) {
      if (!wrong) wrong = error;
    });
    if (wrong) return *wrong;
    return kept;
  };
  auto kept = open(directory_);
  if (!kept && donor_ != nullptr) {
    if (auto copy = open(donor_directory_)) {
      kept = std::move(copy);
      kept_from_donor_ = true;
    }
  }
  if (kept) {
    kept_ = *std::move(kept);
  } else {
    if (kept.error().code != Code::damaged && kept.error().code != Code::not_found) return std::move(kept).error();
    Damage damage;
    damage.kind = Damage::Kind::kept;
    damage.path = join_path(join_path(directory_, "log"), name);
    damage.to = kept_name_.bytes;
    damage.what = kept.error().code == Code::not_found ? fmt::format("{} is gone", damage.path) : kept.error().message;
    damages_.push_back(std::move(damage));
  }
  return log::begin_at(segments_, start_, map_);
}

Result<void> Survey::for_each_packed(const SurveyedPack& pack, const PackScan& scan,
                                     const std::function<Result<void>(const PackScan::Object&)>& visit) const {
  // Without a table it is not known which objects do not count any more: then all do.
  return scan.for_each([&](const PackScan::Object& object) -> Result<void> {
    if (pack.kept != nullptr && scan.has_table() && pack.kept->is_dead(object.place)) return {};
    return visit(object);
  });
}

Result<void> Survey::gather_kept() {
  if (!kept_) return {};
  ids_ = kept_->facts().ids;
  for (const auto& pack : kept_->packs()) {
    packs_.push_back({pack.name, 0, {}, true, false, &pack, false, {}});
    records_ += pack.objects;
    change_records_ += pack.changes;
    bytes_ += pack.name.bytes;
  }
  bytes_ += kept_->bytes();
  return kept_->for_each_ref([&](std::uint64_t position) -> Result<void> {
    WEFT_TRY(const auto move, kept_->move(position));
    if (!move) return {};
    RefState& ref = refs_[move->name];
    if (ref.position > position) return {};
    ref.position = position;
    ref.operation = move->frame;
    ref.version = move->after ? std::optional(move->after->version) : std::nullopt;
    return {};
  });
}

bool Survey::in_gap(std::uint64_t position) const {
  return std::any_of(map_.gaps.begin(), map_.gaps.end(),
                     [&](const log::Gap& gap) { return position >= gap.from && position < gap.to; });
}

/// Which stretches belong to this log (SV2).
Result<void> Survey::classify(const Manifest* manifest) {
  const std::size_t count = map_.stretches.size();
  foreign_.assign(count, false);
  if (count == 0) return {};
  // Nobody doubts what begins where the log does. Where that is gone, the index's point says what is of this log.
  const auto& leading = map_.stretches.front();
  const bool rooted = leading.from == start_.position && leading.previous == start_.chain;
  std::optional<std::size_t> authentic;
  std::optional<std::size_t> contradicted;  // reaches over the point, and is something else there
  for (std::size_t i = 0; i < count && manifest != nullptr && !authentic; ++i) {
    const auto& stretch = map_.stretches[i];
    if (manifest->point.position <= stretch.from || manifest->point.position > stretch.end.position) continue;
    contradicted = i;
    WEFT_DO(log::for_each_frame(segments_of(i), stretch, [&](const log::Frame& frame) -> Result<void> {
      if (frame.end() == manifest->point.position && frame.header.checksum == manifest->point.chain) authentic = i;
      return {};
    }));
  }
  struct Last {
    std::uint64_t position = 0;
    bool proved = false;
  };
  // A stretch is proved to be of this log by where it begins, by the index's point, by the chain, or by a link to the
  // very place where a proved one has what it speaks of. That nothing contradicts it proves nothing.
  std::vector<bool> out(count, false), proved(count, false);
  for (;;) {
    std::map<std::string, Last, std::less<>> last;  // of each ref's, and "" for the operation's
    std::optional<std::size_t> before;              // accepted last
    std::vector<std::size_t> unproved;
    bool again = false;
    ambiguous_ = false;
    const auto holder = [&](std::uint64_t position) -> std::optional<std::size_t> {
      for (std::size_t i = 0; i < count; ++i) {
        if (position >= map_.stretches[i].from && position < map_.stretches[i].end.position) return i;
      }
      return std::nullopt;
    };
    for (std::size_t i = 0; i < count && !again; ++i) {
      const auto& stretch = map_.stretches[i];
      foreign_[i] = out[i];
      if (out[i]) continue;
      const bool leads = !before;
      // What chains is of one log (a gap that was filled).
      const bool chained = i > 0 && !foreign_[i - 1] && map_.stretches[i - 1].end.chain == stretch.previous;
      proved[i] = (rooted && i == 0) || i == authentic || (chained && proved[i - 1]);
      bool agrees = true;
      bool by_proved = false;  // what contradicts it
      if (!leads && !chained && stretch.from - map_.stretches[*before].end.position < log::kLeastGap) {
        agrees = false;
        by_proved = proved[*before];
      }
      std::map<std::string, std::uint64_t, std::less<>> here;
      WEFT_DO(log::for_each_frame(segments_of(i), stretch, [&](const log::Frame& frame) -> Result<void> {
        const auto late = decode_late(frame.late, frame.header.position);
        if (!late || frame.header.kind != log::FrameKind::transaction) return {};
        for_each_link(*late, [&](std::string_view name, std::uint64_t position) {
          if (const auto found = here.find(name); found != here.end()) {
            if (found->second != position) {
              agrees = false;
              by_proved = true;
            }
            return;
          }
          if (leads || chained) return;
          const auto known = last.find(name);
          if (position == 0 && !name.empty()) {
            if (known != last.end()) {
              agrees = false;
              by_proved = by_proved || known->second.proved;
            }
            return;
          }
          if (known != last.end() && known->second.position == position) {
            proved[i] = proved[i] || known->second.proved;
            return;
          }
          if (position < start_.position || in_gap(position)) return;
          const auto there = holder(position);
          if (there && foreign_[*there]) return;
          agrees = false;
          by_proved = by_proved || !there || proved[*there];
        });
        for (const auto& move : late->moves) here.insert_or_assign(move.name, move.position);
        const auto payload = decode_payload(frame.payload);
        if (payload && payload->operation) here.insert_or_assign(std::string(), frame.header.position);
        return {};
      }));
      if (agrees && !proved[i] && !authentic && i == contradicted) {
        out[i] = foreign_[i] = true;
        continue;
      }
      if (agrees) {
        if (!proved[i]) unproved.push_back(i);
        for (auto& [name, position] : here) last.insert_or_assign(name, Last{position, proved[i]});
        before = i;
        continue;
      }
      foreign_[i] = true;
      if (i == authentic) {
        // What is merely not contradicted by others gives way first, then everything.
        for (std::size_t k = 0; k < i; ++k) {
          if (unproved.empty() || !proved[k]) out[k] = true;
        }
        again = true;
      } else if (!by_proved) {
        ambiguous_ = true;
      }
    }
    if (!again) return {};
  }
}

Result<void> Survey::for_each_frame(const std::function<Result<void>(const log::Frame&, std::size_t)>& visit) const {
  for (std::size_t i = 0; i < map_.stretches.size(); ++i) {
    if (foreign_[i]) continue;
    WEFT_DO(log::for_each_frame(segments_of(i), map_.stretches[i], [&](const log::Frame& frame) -> Result<void> {
      if (senseless_.contains(frame.header.position)) return {};
      return visit(frame, i);
    }));
  }
  return {};
}

Result<PackScan> Survey::scan_of(const SurveyedPack& pack) const {
  return PackScan::open(env_, join_path(pack.from_donor ? donor_directory_ : directory_, "packs"), pack.name.id);
}

/// Whether the other store has this pack, whole to the last byte.
Result<bool> Survey::donor_has(const SurveyedPack& pack) const {
  if (donor_ == nullptr) return false;
  WEFT_TRY(const PackScan scan, PackScan::open(env_, join_path(donor_directory_, "packs"), pack.name.id));
  bool whole = scan.problem().empty();
  if (!whole) return false;
  WEFT_DO(scan.for_each([&](const PackScan::Object& object) -> Result<void> {
    if (whole && !scan.check(object, nullptr)) whole = false;
    return {};
  }));
  return whole;
}

/// What is of another history stands where something of this one may have stood.
void Survey::open_foreign() {
  std::vector<log::Stretch> stretches;
  for (std::size_t i = 0; i < map_.stretches.size(); ++i) {
    const auto& stretch = map_.stretches[i];
    if (foreign_[i]) {
      map_.gaps.push_back({stretch.from, stretch.end.position, segments_.path_of(stretch.from), false});
    } else {
      stretches.push_back(stretch);
    }
  }
  std::sort(map_.gaps.begin(), map_.gaps.end(), [](const log::Gap& a, const log::Gap& b) { return a.from < b.from; });
  std::vector<log::Gap> gaps;
  for (auto& gap : map_.gaps) {
    if (!gaps.empty() && gap.from <= gaps.back().to) {
      gaps.back().to = std::max(gaps.back().to, gap.to);
    } else {
      gaps.push_back(std::move(gap));
    }
  }
  map_.gaps = std::move(gaps);
  map_.stretches = std::move(stretches);
  donated_.assign(map_.stretches.size(), false);
}

/// From the other log, whatever carries on the chain that breaks off here: a copy's frames are the very same.
Result<void> Survey::fill_gaps(log::Segments& donor) {
  if (donor.segment_bytes() != segments_.segment_bytes()) return {};
  std::vector<log::Stretch> stretches;
  std::vector<bool> donated;
  std::vector<log::Gap> gaps;
  std::size_t next = 0;
  for (auto& gap : map_.gaps) {
    while (next < map_.stretches.size() && map_.stretches[next].from < gap.to) {
      stretches.push_back(map_.stretches[next++]);
      donated.push_back(false);
    }
    log::LogPoint point = start_;
    if (!stretches.empty()) point = stretches.back().end;
    const std::optional<std::uint64_t> wanted =
        next < map_.stretches.size() ? std::optional(map_.stretches[next].previous) : std::nullopt;
    log::Stretch filled{point.position, point, point.chain, 0};
    // Its log may be damaged elsewhere: what is chained to ours is ours.
    const Error enough = make_error(Code::exists, "enough");
    const auto scanned = donor.scan(point, 0, [&](const log::Frame& frame) -> Result<void> {
      // What follows the last damage nobody knows: then all that is chained counts.
      if (wanted && (frame.header.position >= gap.to || filled.end.chain == *wanted)) return enough;
      if (filled.frames == 0) filled.from = frame.header.position;
      filled.end = {frame.end(), frame.header.checksum};
      ++filled.frames;
      return {};
    });
    if (!scanned && scanned.error().code != Code::exists) return scanned.error();
    if (filled.frames > 0) {
      stretches.push_back(filled);
      donated.push_back(true);
      donated_frames_ += filled.frames;
      gap.from = filled.end.position;
      map_.end = std::max(map_.end, filled.end.position);
    }
    const bool closed = wanted ? filled.end.chain == *wanted : log::align_up(gap.from, log::kBatchAlignment) >= gap.to;
    if (!closed) gaps.push_back(gap);
  }
  for (; next < map_.stretches.size(); ++next) {
    stretches.push_back(map_.stretches[next]);
    donated.push_back(false);
  }
  map_.stretches = std::move(stretches);
  map_.gaps = std::move(gaps);
  donated_ = std::move(donated);
  return {};
}

void Survey::found(const ObjectName& name, Bytes content) {
  lost_.erase(name);
  found_.emplace(name, std::move(content));
}

Result<void> Survey::for_each_object(
    bool trees, bool changes, const std::function<Result<void>(ObjectKind, const ObjectId&, ByteView)>& visit) const {
  const auto wanted = [&](ObjectKind kind) {
    return (kind == ObjectKind::tree && trees) || (kind == ObjectKind::change && changes);
  };
  object::RecordCodec codec;
  WEFT_DO(for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
    if (frame.header.kind != log::FrameKind::transaction) return {};
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (ByteView rest = payload.records; !rest.empty();) {
      WEFT_TRY(const auto record, object::decode_record(rest));
      rest.remove_prefix(record.length);
      if (!wanted(record.kind) || is_lost(record.kind, record.id)) continue;
      const auto content = codec.content(record);
      if (content) WEFT_DO(visit(record.kind, record.id, *content));
    }
    return {};
  }));
  for (const auto& pack : packs_) {
    WEFT_TRY(const PackScan scan, scan_of(pack));
    WEFT_DO(for_each_packed(pack, scan, [&](const PackScan::Object& object) -> Result<void> {
      if (!wanted(object.kind) || is_lost(object.kind, object.id)) return {};
      const auto content = scan.read(object);
      if (!content) return content.error().code == Code::damaged ? Result<void>() : content.error();
      return visit(object.kind, object.id, *content);
    }));
  }
  for (const auto& [name, content] : found_) {
    if (wanted(name.kind)) WEFT_DO(visit(name.kind, name.id, content));
  }
  return {};
}

/// What the frames name and say; their objects' contents are not looked at.
Result<void> Survey::gather() {
  std::unordered_set<ObjectId, IdHash> known_packs;
  for (const auto& pack : packs_) known_packs.insert(pack.name.id);
  return for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
    tick(frame.header.position, map_.end);
    ++frames_;
    bytes_ += frame.header.length;
    if (frame.header.kind == log::FrameKind::store) {
      const auto ids = decode_store_payload(frame.payload);
      if (ids) ids_ = *ids;
      return {};
    }
    if (frame.header.kind != log::FrameKind::transaction) return {};
    std::vector<std::pair<EntryKind, Key>> entries;
    const auto listed = for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t) {
      if (kind <= EntryKind::change) entries.emplace_back(kind, key);
    });
    const auto late = decode_late(frame.late, frame.header.position);
    if (!listed || !late) {
      senseless_.insert(frame.header.position);
      Damage damage;
      damage.kind = Damage::Kind::frame;
      damage.path = segments_.path_of(frame.header.position);
      damage.from = frame.header.position;
      damage.to = frame.end();
      damage.what = fmt::format("{}: the transaction {} at position {} makes no sense: {}", damage.path,
                                frame.header.transaction.hex(), damage.from,
                                listed ? late.error().message : listed.error().message);
      damages_.push_back(std::move(damage));
      return {};
    }
    for (const auto& [kind, key] : entries) {
      objects_.insert(static_cast<ObjectKind>(kind), key, false);
      ++records_;
      if (kind == EntryKind::change) ++change_records_;
    }
    for (const auto& move : late->moves) {
      RefState& ref = refs_[move.name];
      ref.position = move.position;
      ref.operation = frame.header.position;
      ref.version = move.after ? std::optional(move.after->version) : std::nullopt;
    }
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (const auto& pack : payload.packs) {
      if (!known_packs.insert(pack.id).second) continue;
      packs_.push_back({pack, frame.header.position, {}, true, false, nullptr, false, {}});
      records_ += pack.objects;
      change_records_ += pack.changes;
      bytes_ += pack.bytes;
    }
    return {};
  });
}

std::size_t Survey::pack_damage(SurveyedPack& pack, std::string what) {
  if (!pack.damage) {
    Damage damage;
    damage.kind = Damage::Kind::pack;
    damage.path = join_path(join_path(directory_, "packs"), object::pack_file_name(pack.name.id));
    damage.to = pack.name.bytes;
    damage.pack = pack.name.id;
    damage.what = std::move(what);
    pack.damage = damages_.size();
    damages_.push_back(std::move(damage));
  }
  return *pack.damage;
}

Result<void> Survey::look_at_packs() {
  for (auto& pack : packs_) {
    WEFT_TRY(PackScan scan, scan_of(pack));
    if (!scan.problem().empty()) {
      WEFT_TRY(pack.from_donor, donor_has(pack));
      if (pack.from_donor) {
        WEFT_TRY(scan, scan_of(pack));
      }
    }
    pack.problem = scan.problem();
    pack.has_table = scan.has_table();
    std::uint64_t objects = 0;
    WEFT_DO(scan.for_each([&](const PackScan::Object& object) -> Result<void> {
      ++objects;
      if (!scan.has_table()) found_without_table_.insert({object.kind, object.id});
      if (pack.kept != nullptr && scan.has_table() && pack.kept->is_dead(object.place)) return {};
      // Found without a table it has been hashed already (PS1).
      if (scan.has_table()) {
        objects_.insert(object.kind, object.id, false);
        return {};
      }
      WEFT_TRY(const auto list, scan.chunk_list(object));
      if (!list) objects_.insert(object.kind, object.id, true);
      return {};
    }));
    if (!pack.problem.empty()) {
      pack_damage(pack, pack.problem);
    } else if (objects != pack.name.objects) {
      pack_damage(pack, fmt::format("{} holds {} objects, not {}", scan.path(), objects, pack.name.objects));
    }
  }
  return {};
}

std::uint64_t Survey::nameless() const {
  std::uint64_t lacking = 0, named = 0;
  for (const auto& pack : packs_) lacking += pack.has_table ? 0 : pack.name.objects;
  // Whichever pack they lie in now: files may have changed places.
  lacking -= std::min<std::uint64_t>(lacking, found_without_table_.size());
  // Also those that another store turned out to have.
  for (const auto& damage : damages_) {
    if (damage.kind == Damage::Kind::pack || damage.kind == Damage::Kind::missing) named += damage.lost;
  }
  return lacking > named ? lacking - named : 0;
}

bool Survey::is_bad(const object::Record& record) const {
  if (record.form == object::Stored::chunks) return is_bad_list(record.id) || !object::chunk_list_of(record);
  if (!bad_.contains({record.kind, record.id})) return false;
  const auto content = object::record_content(record);
  if (!content || sha256(*content) != record.id) return true;
  return (record.kind == ObjectKind::tree && !object::tree_references(*content)) ||
         (record.kind == ObjectKind::change && !object::decode_change(*content));
}

void Survey::bad(ObjectKind kind, const ObjectId& id, std::size_t damage) {
  if (bad_.size() < kMaxLost) bad_.try_emplace({kind, id}, damage);
}

void Survey::refer(ObjectKind kind, const ObjectId& id) {
  if (objects_.contains(kind, id) || missing_.size() >= kMaxLost) return;
  if (kind == ObjectKind::tree && id == object::empty_tree_id()) return;
  missing_.try_emplace({kind, id}, true);
}

/// `content` is what the object's id says: what does it need?
void Survey::look_into(ObjectKind kind, const ObjectId& id, ByteView content, std::size_t* damage,
                       const std::function<std::size_t()>& make_damage) {
  std::string problem;
  if (kind == ObjectKind::change) {
    const auto change = object::decode_change(content);
    if (change) {
      for (const auto& parent : change->parents) refer(ObjectKind::change, parent);
      refer(ObjectKind::tree, change->tree);
    } else {
      problem = change.error().message;
    }
  } else if (kind == ObjectKind::tree) {
    const auto references = object::tree_references(content);
    if (references) {
      for (const auto& tree : references->trees) refer(ObjectKind::tree, tree);
      for (const auto& blob : references->blobs) refer(ObjectKind::blob, blob);
    } else {
      problem = references.error().message;
    }
  }
  if (problem.empty()) {
    objects_.insert(kind, id, true);
    return;
  }
  *damage = make_damage();
  bad(kind, id, *damage);
}

Result<void> Survey::look_at_contents(bool deep) {
  object::RecordCodec codec;
  WEFT_DO(for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
    if (frame.header.kind != log::FrameKind::transaction) return {};
    tick(frame.header.position, map_.end);
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (ByteView rest = payload.records; !rest.empty();) {
      WEFT_TRY(const auto record, object::decode_record(rest));
      rest.remove_prefix(record.length);
      std::size_t damage = 0;
      const auto record_damage = [&](std::string_view problem) {
        Damage found;
        found.kind = Damage::Kind::record;
        found.path = segments_.path_of(frame.header.position);
        found.from = frame.header.position;
        found.to = frame.end();
        found.what = fmt::format("{} {} in the transaction at log position {} {}", object::name(record.kind),
                                 record.id.hex(), frame.header.position, problem);
        damages_.push_back(std::move(found));
        return damages_.size() - 1;
      };
      if (record.form == object::Stored::chunks) {
        auto list = object::chunk_list_of(record);
        if (list) {
          add_list(record.id, *std::move(list), std::nullopt, frame.header.position, true);
        } else {
          bad(record.kind, record.id, record_damage("cannot be read: " + list.error().message));
        }
        continue;
      }
      if (!deep && record.kind == ObjectKind::blob) {  // the frame's checksum covers it
        objects_.insert(record.kind, record.id, true);
        continue;
      }
      const auto content = codec.content(record);
      if (!content) {
        bad(record.kind, record.id, record_damage("cannot be read: " + content.error().message));
      } else if (deep && sha256(*content) != record.id) {
        bad(record.kind, record.id, record_damage("has other content than its id says"));
      } else {
        look_into(record.kind, record.id, *content, &damage, [&] { return record_damage("is malformed"); });
      }
    }
    return {};
  }));
  std::uint64_t total = 0;
  std::uint64_t done = 0;
  for (const auto& pack : packs_) total += pack.name.bytes;
  for (std::size_t ordinal = 0; ordinal < packs_.size(); ++ordinal) {
    SurveyedPack& pack = packs_[ordinal];
    WEFT_TRY(PackScan scan, scan_of(pack));
    std::uint64_t broken = 0;
    std::string first_problem;
    if (donor_ != nullptr && deep && !pack.from_donor && pack.problem.empty()) {
      bool whole = true;
      WEFT_DO(scan.for_each([&](const PackScan::Object& object) -> Result<void> {
        if (whole && !scan.check(object, nullptr)) whole = false;
        return {};
      }));
      if (!whole) {
        WEFT_TRY(pack.from_donor, donor_has(pack));
        if (pack.from_donor) {
          WEFT_TRY(scan, scan_of(pack));
        }
      }
    }
    WEFT_DO(for_each_packed(pack, scan, [&](const PackScan::Object& object) -> Result<void> {
      tick(done + object.offset, total);
      auto list = scan.chunk_list(object);
      if (list && *list) {
        add_list(object.id, **std::move(list), ordinal, pack.position, scan.has_table());
        return {};
      }
      if (!deep && object.kind == ObjectKind::blob && scan.has_table() && !pack.damage) {
        objects_.insert(object.kind, object.id, true);
        return {};
      }
      Bytes content;
      const auto checked = scan.check(object, &content);
      if (!checked) {
        if (checked.error().code != Code::damaged) return checked.error();
        if (broken++ == 0) first_problem = checked.error().message;
        bad(object.kind, object.id, pack_damage(pack, {}));
        return {};
      }
      std::size_t damage = 0;
      look_into(object.kind, object.id, content, &damage, [&] {
        if (broken++ == 0)
          first_problem = fmt::format("{} {} is malformed", object::name(object.kind), object.id.hex());
        return pack_damage(pack, {});
      });
      return {};
    }));
    if (broken > 0 && pack.problem.empty()) {
      damages_[*pack.damage].what =
          broken == 1 ? fmt::format("one object of {} is damaged: {}", scan.path(), first_problem)
                      : fmt::format("{} objects of {} are damaged; the first: {}", broken, scan.path(), first_problem);
    }
    done += pack.name.bytes;
  }
  return {};
}

std::optional<std::size_t> Survey::damage_at(std::uint64_t position) const {
  for (std::size_t i = 0; i < damages_.size(); ++i) {
    const Damage& damage = damages_[i];
    const bool of_log =
        damage.kind == Damage::Kind::gap || damage.kind == Damage::Kind::foreign || damage.kind == Damage::Kind::frame;
    if (of_log && position >= damage.from && position < damage.to) return i;
  }
  return std::nullopt;
}

/// Which damage each lost object belongs to (SV3).
void Survey::attribute(const Manifest* manifest, const std::set<ObjectName>* known) {
  std::optional<std::size_t> given_up;
  for (const auto& [name, damage] : bad_) {
    if (objects_.is_whole(name.kind, name.id)) {
      ++damages_[damage].copies;
    } else {
      lost_.emplace(name, damage);
      ++damages_[damage].lost;
    }
  }
  std::map<ObjectName, std::optional<std::size_t>> lacking;
  for (const auto& [name, unused] : missing_) lacking.emplace(name, std::nullopt);
  // Index runs may still know what lay where, also what nothing refers to.
  for (std::size_t i = 0; manifest != nullptr && !damages_.empty() && i < manifest->runs.size(); ++i) {
    const auto run =
        Run::open(env_.fs, join_path(join_path(directory_, "index"), run_file_name(manifest->runs[i].number)), true);
    if (!run) continue;
    for (const EntryKind kind : {EntryKind::blob, EntryKind::tree, EntryKind::change, EntryKind::operation}) {
      for (std::size_t entry = 0; entry < (*run)->count(kind); ++entry) {
        const IndexEntry found = (*run)->entry(kind, entry);
        const Location place(found.value);
        std::optional<std::size_t> damage;
        if (!place.is_in_pack()) {
          damage = damage_at(place.position());
        } else if (place.pack_ordinal() < manifest->packs.size()) {
          const ObjectId& id = manifest->packs[place.pack_ordinal()].id;
          for (const auto& pack : packs_) {
            if (pack.name.id == id) damage = pack.damage;
          }
        }
        if (!damage) continue;
        if (kind == EntryKind::operation) {
          if (damages_[*damage].kind == Damage::Kind::gap)
            lost_operations_.push_back(TransactionId::from_bytes(found.key.view().substr(0, TransactionId::kSize)));
          continue;
        }
        const auto object = static_cast<ObjectKind>(kind);
        if (!objects_.contains(object, found.key) && lacking.size() < kMaxLost) lacking[{object, found.key}] = damage;
      }
    }
  }
  // What only a ref names.
  for (const auto& [name, ref] : refs_) {
    for (const auto& change : ref.version ? ref.version->changes : std::vector<ChangeId>{}) {
      if (!objects_.contains(ObjectKind::change, change))
        lacking.try_emplace({ObjectKind::change, change}, std::nullopt);
    }
  }
  // Of the rest it is known where they were if there is one place only.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < damages_.size(); ++i) {
    const bool swallows =
        damages_[i].kind != Damage::Kind::record &&
        !(damages_[i].kind == Damage::Kind::pack && std::any_of(packs_.begin(), packs_.end(), [&](const auto& pack) {
            return pack.damage == i && pack.has_table;
          }));
    if (swallows) places.push_back(i);
  }
  std::optional<std::size_t> unknown;
  for (const auto& [name, place] : lacking) {
    std::optional<std::size_t> damage = place;
    if (known != nullptr && known->contains(name)) {
      if (!given_up) {
        given_up = damages_.size();
        damages_.push_back({});
        damages_.back().kind = Damage::Kind::known;
      }
      damage = given_up;
    }
    if (!damage && places.size() == 1) damage = places.front();
    if (!damage) {
      if (!unknown) {
        unknown = damages_.size();
        damages_.push_back({});
        damages_.back().what = places.empty() ? "objects are missing that others need"
                                              : "objects are missing that lay in one of the damaged places";
      }
      damage = unknown;
    }
    lost_.emplace(name, *damage);
    ++damages_[*damage].lost;
  }
}

}  // namespace weft::store
