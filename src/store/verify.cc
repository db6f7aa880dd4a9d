// Store::verify: the survey of what is truth (survey.h), who needs what is lost of it (needs.h), and a comparison of
// everything derived with what the log says.
//
// Invariants:
//   V1  One damage is one finding, however much it takes with it.
//   V2  Nothing is changed, and nothing of the findings depends on derived files being right.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "store/losses.h"
#include "store/needs.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

/// Of lost objects so many are named.
constexpr std::size_t kMaxNamed = 1000;

class Verifier {
 public:
  Verifier(Store::State& store, const Snapshot& snapshot, bool deep,
           const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : store_(store),
        snapshot_(snapshot),
        deep_(deep),
        progress_(progress),
        survey_(store.env, store.segments, store.directory) {}

  Result<VerifyReport> run() {
    std::set<ObjectName> known;
    if (auto losses = read_losses(store_.env.fs, store_.directory); losses) {
      known = *std::move(losses);
    } else if (losses.error().code == Code::damaged) {
      add("log", losses.error().message, "what verify says of missing objects", losses.error().hint);
    } else {
      return std::move(losses).error();
    }
    SurveyOptions options;
    options.deep = deep_;
    options.known_losses = &known;
    options.progress = progress_;
    if (!store_.damage) options.end = options.known_durable = snapshot_.position();
    WEFT_DO(survey_.run(options));
    report_.frames = survey_.frames();
    report_.objects = survey_.records();
    report_.changes = survey_.change_records();
    report_.bytes = survey_.bytes();
    for (const auto& [name, ref] : survey_.refs()) report_.refs += ref.version ? 1 : 0;
    if (!survey_.damages().empty()) WEFT_DO(damages());
    if (store_.damage && survey_.clean()) {
      // The files are no witness of what was cut off their end; the control block is.
      add("log", store_.damage->message, "everything recorded behind that point", store_.damage->hint);
    }
    WEFT_DO(refs());
    WEFT_DO(index_files());
    if (deep_) WEFT_DO(index());
    WEFT_DO(verify_history(store_, snapshot_, deep_, [this](Finding finding) {
      finding.kind = "history";
      report_.findings.push_back(std::move(finding));
    }));
    if (deep_) WEFT_DO(changes());
    return std::move(report_);
  }

 private:
  void add(std::string kind, std::string what, std::string affects, std::string advice) {
    Finding finding;
    finding.kind = std::move(kind);
    finding.what = std::move(what);
    finding.affects = std::move(affects);
    finding.advice = std::move(advice);
    report_.findings.push_back(std::move(finding));
  }

  Result<void> damages() {
    Needs needs(survey_);
    WEFT_DO(needs.run());
    report_.whole_changes = needs.whole_changes();
    report_.whole_refs = needs.whole_refs();
    for (std::size_t i = 0; i < survey_.damages().size(); ++i) {
      const Damage& damage = survey_.damages()[i];
      if (damage.kind == Damage::Kind::known) {
        report_.known_losses = damage.lost;
        continue;
      }
      report_.lost_objects += damage.lost;
      report_.findings.push_back(finding_of(i, damage, needs.of()[std::min(i, needs.of().size() - 1)]));
    }
    return {};
  }

  Finding finding_of(std::size_t place, const Damage& damage, const Needs::Of& needs) const {
    Finding finding;
    finding.path = damage.path;
    finding.offset = damage.kind == Damage::Kind::pack ? 0 : damage.from;
    finding.bytes = damage.to - damage.from;
    finding.lost_objects = damage.lost;
    for (const auto& [name, of] : survey_.lost()) {
      if (of == place && finding.objects.size() < kMaxNamed) finding.objects.push_back(name);
    }
    finding.needed_by = needs.changes;
    finding.changes = needs.some_changes;
    finding.paths = needs.paths;
    finding.more_paths = needs.more_paths;
    finding.refs = needs.refs;
    switch (damage.kind) {
      case Damage::Kind::pack:
        finding.kind = "pack";
        break;
      case Damage::Kind::record:
      case Damage::Kind::missing:
        finding.kind = "object";
        break;
      case Damage::Kind::kept:
        finding.kind = "kept";
        break;
      default:
        finding.kind = "log";
    }
    finding.what = damage.what;
    finding.affects = affected(finding, damage);
    finding.advice = damage.lost == 0 && damage.kind == Damage::Kind::pack
                         ? "run `weft repair`: everything in it is whole"
                         : "`weft repair --from STORE` takes what is lost from another store that has it; `weft repair "
                           "--accept-loss --dry-run` says what would be given up without one";
    return finding;
  }

  static std::string affected(const Finding& finding, const Damage& damage) {
    std::string text;
    if (finding.lost_objects > 0) {
      const auto& first = finding.objects.front();
      text = fmt::format("{} {}", object::name(first.kind), first.id.hex());
      if (finding.lost_objects > 1) text += fmt::format(" and {} more", finding.lost_objects - 1);
    } else if (damage.kind == Damage::Kind::kept) {
      text = "refs, operations and packs from before the last gc";
    } else if (damage.kind == Damage::Kind::gap || damage.kind == Damage::Kind::frame) {
      text = "what was recorded there: no more is known of it";
    } else if (damage.kind == Damage::Kind::foreign) {
      text = "what belongs in its place";
    } else {
      text = damage.copies > 0 ? "nothing: other copies of it are whole" : "nothing that is known of";
    }
    if (!finding.paths.empty()) {
      text += fmt::format(": {}", quoted(finding.paths.front().first));
      if (finding.paths.size() > 1 || finding.more_paths) {
        text += fmt::format(" and {}{} more path{}", finding.paths.size() - 1, finding.more_paths ? " or" : "",
                            finding.paths.size() == 2 && !finding.more_paths ? "" : "s");
      }
    }
    if (finding.needed_by > 0) {
      text += finding.needed_by == 1 ? " in change " : " in changes ";
      const std::size_t shown = std::min<std::size_t>(finding.changes.size(), finding.needed_by <= 3 ? 3 : 2);
      for (std::size_t i = 0; i < shown; ++i) text += (i > 0 ? ", " : "") + finding.changes[i].hex();
      if (finding.needed_by > shown) text += fmt::format(" and {} more", finding.needed_by - shown);
    }
    if (!finding.refs.empty()) {
      constexpr std::size_t kShownRefs = 5;
      text += finding.refs.size() == 1 ? "; ref " : "; refs ";
      for (std::size_t i = 0; i < std::min(finding.refs.size(), kShownRefs); ++i) {
        text += (i > 0 ? ", " : "") + quoted(finding.refs[i]);
      }
      if (finding.refs.size() > kShownRefs) text += fmt::format(" and {} more", finding.refs.size() - kShownRefs);
    }
    return text;
  }

  /// The refs as readers see them are those the log says.
  Result<void> refs() {
    const auto refs = snapshot_.refs();
    if (!refs) {
      if (survey_.clean())
        add("ref", refs.error().message, "refs", "run `weft repair`: the index is rebuilt from the log");
      return {};
    }
    if (!survey_.clean() || store_.damage) return {};  // they stand at the last whole transaction in front of it
    std::uint64_t wrong = 0;
    std::string first;
    std::map<std::string, Version> seen;
    for (const auto& ref : *refs) seen.emplace(ref.name, ref.value.version);
    const auto differs = [&](const std::string& name) {
      if (wrong++ == 0) first = name;
    };
    for (const auto& [name, ref] : survey_.refs()) {
      const auto found = seen.find(name);
      if (ref.version ? found == seen.end() || found->second != *ref.version : found != seen.end()) differs(name);
      if (found != seen.end()) seen.erase(found);
    }
    for (const auto& [name, version] : seen) differs(name);
    if (wrong > 0) {
      add("ref", fmt::format("the index has wrong places of {} refs, the first is {}", wrong, quoted(first)),
          "what these refs seem to hold", "run `weft repair`: the index is rebuilt from the log");
    }
    return {};
  }

  Result<void> index_files() {
    const auto files = store_.index.files();
    if (!files) {
      if (files.error().code != Code::damaged && files.error().code != Code::not_found) return files.error();
      add("index", files.error().message, "lookups; nothing recorded", "run `weft repair`: it is rebuilt from the log");
      return {};
    }
    for (const auto& run : files->manifest.runs) {
      const std::string path = join_path(store_.index.directory(), run_file_name(run.number));
      const auto opened = Run::open(store_.env.fs, path, true);
      if (opened || opened.error().code != Code::damaged) continue;
      index_sound_ = false;
      add("index", opened.error().message, "lookups; nothing recorded",
          "run `weft repair`: it is rebuilt from the log");
      report_.findings.back().path = path;
    }
    return {};
  }

  /// The index leads to everything the log and the packs hold, and to nothing else.
  Result<void> index() {
    if (!index_sound_ || !survey_.clean() || store_.damage) return {};
    WEFT_DO(survey_.for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
      if (frame.header.kind != log::FrameKind::transaction) return {};
      std::vector<std::tuple<EntryKind, Key, std::uint64_t>> entries;
      WEFT_DO(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
        entries.emplace_back(kind, key, position);
      }));
      for (const auto& [kind, key, position] : entries) WEFT_DO(indexed(kind, key, position));
      return links(frame);
    }));
    for (const auto& pack : survey_.packs()) {
      WEFT_TRY(const PackScan scan, PackScan::open(store_.env, store_.packs.directory(), pack.name.id));
      WEFT_DO(survey_.for_each_packed(pack, scan, [&](const PackScan::Object& object) -> Result<void> {
        WEFT_TRY(const bool there, leads_to(entry_kind(object.kind), object.id, {}));
        if (!there) unindexed(fmt::format("{} {}", object::name(object.kind), object.id.hex()));
        return {};
      }));
    }
    std::uint64_t ghosts = 0;
    WEFT_TRY(const auto files, store_.index.files());
    for (const auto& name : files.manifest.runs) {
      const auto run = Run::open(store_.env.fs, join_path(store_.index.directory(), run_file_name(name.number)), false);
      for (const ObjectKind kind : {ObjectKind::blob, ObjectKind::tree, ObjectKind::change}) {
        for (std::size_t i = 0; run && i < (*run)->count(entry_kind(kind)); ++i) {
          if (!survey_.objects().contains(kind, (*run)->entry(entry_kind(kind), i).key)) ++ghosts;
        }
      }
    }
    // A merge meanwhile may have taken in what came behind this look at the store.
    if (ghosts > 0 && files.manifest.point.position <= snapshot_.position()) {
      add("index", fmt::format("the index names {} objects that are not in the store", ghosts),
          "lookups; nothing recorded", "run `weft repair`: it is rebuilt from the log");
    }
    if (unindexed_ > 0) {
      add("index",
          fmt::format("the index does not lead to {} things that are in the store, the first is {}", unindexed_,
                      first_unindexed_),
          "lookups of them", "run `weft repair`: the index is rebuilt from the log");
    }
    if (broken_links_ > 0) {
      add("ref",
          fmt::format("{} ref moves do not lead to the one before them, the first of ref {}", broken_links_,
                      quoted(first_broken_)),
          "the reflog before that", "nothing can be done about these; what the refs hold is right");
    }
    return {};
  }

  Result<bool> leads_to(EntryKind kind, const Key& key, std::optional<std::uint64_t> position) {
    bool there = false;
    WEFT_DO(store_.index.find(kind, key, snapshot_.position(), [&](const Found& found) -> Result<bool> {
      // The same object may also lie elsewhere; for operations the place itself must be named.
      there = !position || found.position == *position;
      return !there;
    }));
    return there;
  }

  Result<void> indexed(EntryKind kind, const Key& key, std::uint64_t position) {
    if (kind == EntryKind::ref) return {};  // judged by refs(): only the newest move is indexed
    bool there = false;
    if (kind == EntryKind::delta) {  // many changes may have one delta: each is looked up once
      auto [places, fresh] = delta_places_.try_emplace(key);
      if (fresh) {
        WEFT_DO(store_.index.find(kind, key, snapshot_.position(), [&](const Found& found) -> Result<bool> {
          places->second.insert(found.position);
          return true;
        }));
      }
      there = places->second.contains(position);
    } else {
      WEFT_TRY(there, leads_to(kind, key, kind == EntryKind::operation ? std::optional(position) : std::nullopt));
    }
    if (!there) unindexed(fmt::format("at log position {}", position));
    return {};
  }
  void unindexed(std::string what) {
    if (unindexed_++ == 0) first_unindexed_ = std::move(what);
  }

  /// Reflogs follow these: each must lead to an earlier move of the same ref.
  Result<void> links(const log::Frame& frame) {
    WEFT_TRY(const Late late, decode_late(frame.late, frame.header.position));
    for (const auto& move : late.moves) {
      if (move.previous == 0) continue;
      const auto before = snapshot_.move_name_at(move.previous);
      if (before && *before == move.name && move.previous < move.position) continue;
      if (!before && before.error().code == Code::busy) continue;  // from before the log's start, and not kept
      if (broken_links_++ == 0) first_broken_ = move.name;
    }
    return {};
  }

  /// What changes claim: their delta ids and result trees.
  Result<void> changes() {
    if (!store_.check_change || !survey_.clean() || store_.damage) return {};
    std::uint64_t wrong = 0;
    Finding first;
    const auto check = [&](const ChangeId& id, const DeltaId& delta) -> Result<void> {
      const auto change = snapshot_.change(id);
      if (!change) return {};  // known to be lost
      const auto problem = store_.check_change(snapshot_, *change, delta);
      // What it would take to tell may be known to be lost.
      if (problem ? !*problem : problem.error().code != Code::not_found || report_.known_losses > 0) return {};
      if (wrong++ == 0) {
        first.what = fmt::format("change {}: {}", id.hex(), problem ? **problem : problem.error().message);
        first.changes.push_back(id);
      }
      return {};
    };
    const std::uint64_t total = survey_.change_records();
    std::uint64_t done = 0;
    WEFT_DO(survey_.for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
      if (frame.header.kind != log::FrameKind::transaction) return {};
      WEFT_TRY(const Payload payload, decode_payload(frame.payload));
      std::map<std::uint64_t, ChangeId> records;  // by position
      std::unordered_map<ChangeId, DeltaId, IdHash> deltas;
      const std::uint64_t base = frame.payload_position() + payload.records_offset;
      for (ByteView rest = payload.records; !rest.empty();) {
        WEFT_TRY(const auto record, object::decode_record(rest));
        if (record.kind == ObjectKind::change) {
          records.emplace(base + (payload.records.size() - rest.size()), record.id);
          deltas.try_emplace(record.id);
        }
        rest.remove_prefix(record.length);
      }
      for (ByteView rest = payload.deltas; !rest.empty();) {
        const std::uint64_t position =
            frame.payload_position() + payload.deltas_offset + (payload.deltas.size() - rest.size());
        const auto link = decode_link(EntryKind::delta, rest, position);
        if (!link) break;  // for_each_entry has seen to it that there is none such
        const auto record = records.find(link->record_position);
        if (link->change || record != records.end()) {
          deltas.insert_or_assign(link->change ? *link->change : record->second, DeltaId::from_bytes(link->key.view()));
        }
        rest.remove_prefix(link->length);
      }
      for (const auto& [id, delta] : deltas) {
        if (progress_) progress_(++done, std::max(done, total));
        WEFT_DO(check(id, delta));
      }
      return {};
    }));
    if (wrong == 0) return {};
    first.kind = "change";
    first.needed_by = wrong;
    first.affects = wrong == 1 ? "what it seems to do" : fmt::format("what it and {} more seem to do", wrong - 1);
    first.advice = "look at it with `weft show`; what it was made from is unaffected";
    report_.findings.push_back(std::move(first));
    return {};
  }

  Store::State& store_;
  const Snapshot& snapshot_;
  bool deep_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  Survey survey_;
  VerifyReport report_;
  bool index_sound_ = true;
  std::uint64_t unindexed_ = 0, broken_links_ = 0;
  std::string first_unindexed_, first_broken_;
  std::unordered_map<Key, std::unordered_set<std::uint64_t>, IdHash> delta_places_;
};

}  // namespace

Result<VerifyReport> Store::verify(bool deep, const std::function<void(std::uint64_t, std::uint64_t)>& progress) const {
  WEFT_TRY(const Snapshot now, snapshot());
  return Verifier(*state_, now, deep, progress).run();
}

}  // namespace weft::store
