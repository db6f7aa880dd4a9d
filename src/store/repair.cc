// Store::repair: what is derived is made anew; what is damaged is taken from another store, or given up.
//
// The order: (1) with nobody else in the store, the log and the packs are made whole files of whole things (salvage.h);
// (2) the store is opened, which rebuilds the index; (3) what another store has is put by ordinary transactions; (4)
// refs that cannot be stood on go back, by one operation; (5) what stays lost is written down (losses.h).
//
// Invariants:
//   RP1  Nothing is given up without accept_loss, and nothing is changed before it is known what would be.
//   RP2  Interrupted anywhere, a repair is begun again and comes to the same end.
//   RP3  A dry run says what the repair would.
// Threading: one thread.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/hash.h"
#include "object/byte_source.h"
#include "store/losses.h"
#include "store/needs.h"
#include "store/salvage.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

constexpr std::size_t kMaxNamed = 1000;
/// Objects put, refs moved by one transaction.
constexpr std::size_t kFetchStep = 5'000;
constexpr std::size_t kRefStep = 10'000;
constexpr std::string_view kHowToGoOn =
    "run `weft repair --accept-loss` to go on without what is lost (with --dry-run it says what that is), or `weft "
    "repair "
    "--from STORE` to take it from a store that has it";
constexpr std::string_view kSalvagePrefix = "salvage/";

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Repairer {
 public:
  Repairer(Env env, std::string directory, const RepairOptions& options, const StoreHooks& hooks)
      : env_(env), directory_(std::move(directory)), options_(options), hooks_(hooks) {}

  Result<RepairReport> run() {
    report_.dry_run = options_.dry_run;
    WEFT_DO(read_format());
    const bool interrupted = env_.fs.status(join_path(directory_, kRepairingName)).has_value();
    if (interrupted && options_.dry_run) {
      report_.done.push_back("finish the repair that was interrupted");
      return std::move(report_);
    }
    if (!interrupted) witness();
    // The control block may be the only one that knows, and does not outlive what follows.
    if (cut_ && options_.from.empty() && !options_.accept_loss && !options_.dry_run) {
      return damaged(*cut_, std::string(kHowToGoOn));
    }
    if (!options_.from.empty()) WEFT_DO(open_other());
    if (options_.dry_run) {
      WEFT_DO(analyse());
      report_.done.push_back("rebuild the index");
      return std::move(report_);
    }
    if (auto unsafe = unsafe_place(env_, directory_, hooks_)) return *std::move(unsafe);
    // Nobody may have the store open: what they hold in memory is about to be made anew.
    WEFT_DO(hooks_.retire_control
                ? hooks_.retire_control(join_path(directory_, "control"))
                : retire_mapped_control(join_path(directory_, "control"), join_path(directory_, "format")));
    bool alone = false;
    {
      std::vector<std::string> notices;
      std::optional<Error> unwritable;
      WEFT_TRY(const auto control, open_store_control(env_, directory_, format_, hooks_, notices, unwritable, [&] {
                 alone = true;
                 return make_whole();
               }));
      if (unwritable) return *unwritable;
      if (!alone) {
        return make_error(Code::busy, "other processes opened the store meanwhile",
                          "wait for them to end, then try again");
      }
    }
    WEFT_TRY(const Store store, Store::open(env_, directory_, hooks_));
    if (store.damage()) return *store.damage();
    WEFT_TRY(const auto info, store.info());
    report_.done.push_back(
        fmt::format("rebuilt the index: {}, {}", plural(info.objects, "object"), plural(info.changes, "change")));
    WEFT_DO(fetch(store));
    WEFT_DO(move_refs(store));
    if (options_.accept_loss || !losses_.empty()) WEFT_DO(write_down());
    WEFT_TRY(const auto indexed, store.extend_history());
    if (indexed > 0)
      report_.done.push_back(fmt::format("rebuilt the history index from {}", plural(indexed, "change")));
    return std::move(report_);
  }

 private:
  Result<void> read_format() {
    const std::string path = join_path(directory_, "format");
    auto bytes = read_file(env_.fs, path, 64u << 10);
    if (!bytes) return std::move(bytes).error();
    WEFT_TRY(format_, decode_format(*bytes, path));
    return {};
  }

  /// The control block and the index may be the only witnesses of a loss: they know how far the log once reached.
  void witness() {
    const auto store = Store::open(env_, directory_, hooks_);
    if (!store) return;
    if (store->damage()) {
      cut_ = store->damage()->message;
    } else if (const auto snapshot = store->snapshot()) {
      known_durable_ = snapshot->position();
    }
  }

  Result<void> open_other() {
    if (options_.from == directory_) {
      return make_error(Code::invalid, "a store cannot be repaired from itself", "name another store with --from");
    }
    WEFT_TRY(auto other,
             Store::open(env_, options_.from, options_.from_hooks != nullptr ? *options_.from_hooks : hooks_));
    WEFT_TRY(auto snapshot, other.snapshot());
    WEFT_TRY(const auto info, other.info());
    other_.emplace(std::move(other));
    other_snapshot_.emplace(std::move(snapshot));
    other_segments_.emplace(env_, join_path(options_.from, "log"), info.segment_bytes);
    return {};
  }

  /// Alone in the store.
  Result<void> make_whole() {
    WEFT_TRY(const auto finished, Salvage::finish_interrupted(env_, directory_));
    if (finished) {
      report_.done.push_back("finished the repair that was interrupted");
      report_.kept_aside = join_path(directory_, *finished);
    }
    WEFT_DO(analyse());
    if (!report_.given_up.empty() && !options_.accept_loss) return refusal();
    const std::string index = join_path(directory_, "index");
    if (auto made = env_.fs.make_directory(index); !made && made.error().code != Code::exists) return made;
    Salvage salvage(*survey_, aside_name());
    if (salvage.is_needed()) {
      WEFT_DO(salvage.write());
      WEFT_DO(salvage.exchange());
      if (salvage.moves_files()) {
        report_.kept_aside = join_path(directory_, aside_);
        report_.done.push_back(fmt::format("kept the damaged files in {}", report_.kept_aside));
      }
      if (salvage.frames_behind() > 0) {
        report_.done.push_back(
            fmt::format("saved {} behind the first damage", plural(salvage.frames_behind(), "transaction")));
      }
      if (salvage.packs_rewritten() > 0) {
        report_.done.push_back(
            fmt::format("wrote {} anew from what is whole", plural(salvage.packs_rewritten(), "pack")));
      }
      if (salvage.packs_copied() > 0) {
        report_.done.push_back(fmt::format("took {} from the other store", plural(salvage.packs_copied(), "pack")));
      }
    } else if (cut_) {
      // Only the control block knew, and it is gone: what is left is a whole log that ends earlier.
      WEFT_DO(survey_->segments().clear_behind(survey_->map().end));
    }
    if (survey_->donated_frames() > 0) {
      report_.done.push_back(
          fmt::format("took {} from the other store", plural(survey_->donated_frames(), "transaction")));
    }
    WEFT_TRY(const auto entries, env_.fs.list(index));
    for (const auto& entry : entries) WEFT_DO(env_.fs.unlink(join_path(index, entry.name)));
    return env_.fs.sync_directory(index);
  }

  Error refusal() const {
    std::string text;
    std::size_t told = 0;
    for (const auto& damage : survey_->damages()) {
      if (damage.kind == Damage::Kind::known) continue;
      if (told++ < 3) text += (text.empty() ? "" : "; ") + damage.what;
    }
    if (told > 3) text += fmt::format("; and {} more", told - 3);
    if (text.empty()) text = cut_.value_or("the store has lost something");
    return damaged(text, std::string(kHowToGoOn));
  }

  std::string aside_name() {
    const std::int64_t days = env_.clock.now_ns() / 86'400'000'000'000;
    // Civil date of a day number (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    const std::int64_t z = days + 719'468;
    const std::int64_t era = z / 146'097;
    const std::int64_t day_of_era = z - era * 146'097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t month_index = (5 * day_of_year + 2) / 153;
    const std::int64_t day = day_of_year - (153 * month_index + 2) / 5 + 1;
    const std::int64_t month = month_index < 10 ? month_index + 3 : month_index - 9;
    const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    const std::string base = fmt::format("damaged-{:04}-{:02}-{:02}", year, month, day);
    aside_ = base;
    for (int i = 2; env_.fs.status(join_path(directory_, aside_)); ++i) aside_ = fmt::format("{}-{}", base, i);
    return aside_;
  }

  /// What is there, what is not, what would be given up; changes nothing.
  Result<void> analyse() {
    segments_.emplace(env_, join_path(directory_, "log"), format_.segment_bytes);
    survey_.emplace(env_, *segments_, directory_);
    if (auto losses = read_losses(env_.fs, directory_)) losses_ = *std::move(losses);
    SurveyOptions options;
    options.deep = options_.accept_loss || !options_.from.empty();
    options.known_durable = known_durable_;
    options.known_losses = &losses_;
    options.progress = options_.progress;
    if (other_segments_) {
      options.donor = &*other_segments_;
      options.donor_directory = options_.from;
    }
    WEFT_DO(survey_->run(options));
    for (const auto& damage : survey_->damages()) {
      if (damage.kind != Damage::Kind::kept) continue;
      return damaged(
          damage.what,
          "nothing else knows what it says; bring it back from a copy of the store, or run `weft repair --from "
          "COPY`");
    }
    if (survey_->frames() == 0 && !survey_->kept()) {
      return damaged(fmt::format("{} holds no whole transaction", join_path(directory_, "log")),
                     "nothing can be made of it; restore the directory `log` from a copy");
    }
    if (survey_->is_ambiguous()) {
      return damaged(
          fmt::format("part of the log in {} is gone, what is left is of more than one history, and nothing tells "
                      "which of them is this store's",
                      join_path(directory_, "log")),
          "move the segments that do not belong here out of `log`, or bring back what is gone from a copy of the "
          "store, then try again; `weft verify` says where it lies");
    }
    if (other_snapshot_) {
      WEFT_DO(plan_fetch());
      WEFT_DO(survey_->judge_lists());
    }
    tell_losses();
    if (survey_->damages().empty()) return {};
    Needs needs(*survey_);
    WEFT_DO(needs.run());
    WEFT_DO(plan_refs(needs));
    tell_objects(needs);
    return {};
  }

  /// What is lost, and what that needs, as far as the other store has it.
  Result<void> plan_fetch() {
    std::deque<std::pair<ObjectName, std::size_t>> open(survey_->lost().begin(), survey_->lost().end());
    std::set<ObjectName> seen(fetch_.begin(), fetch_.end());
    for (const auto& [name, damage] : open) seen.insert(name);
    const std::set<ObjectName> known = seen;
    while (!open.empty()) {
      const auto [name, damage] = open.front();
      open.pop_front();
      const auto lacks = [&] { survey_->lacks(name, damage); };
      if (name.kind == ObjectKind::blob) {
        const auto source = other_snapshot_->open_blob(name.id);
        if (!source) {
          lacks();
          continue;
        }
        Sha256 hash;
        Bytes piece(256u << 10, '\0');
        bool whole = true;
        for (;;) {
          const auto got = (*source)->read(piece);
          if (!got || *got == 0) {
            whole = got.has_value();
            break;
          }
          hash.update(ByteView(piece).substr(0, *got));
        }
        if (!whole || hash.finish() != name.id) {
          lacks();
          continue;
        }
        survey_->found_blob(name.id);
        fetch_.push_back(name);
        if (!known.contains(name)) ++fetched_further_;
        continue;
      }
      auto content = other_snapshot_->read(name.kind, name.id);
      if (!content || sha256(*content) != name.id) {
        lacks();
        continue;
      }
      std::vector<ObjectName> needed;
      if (name.kind == ObjectKind::change) {
        const auto change = object::decode_change(*content);
        if (!change) {
          lacks();
          continue;
        }
        for (const auto& parent : change->parents) needed.push_back({ObjectKind::change, parent});
        if (change->tree != object::empty_tree_id()) needed.push_back({ObjectKind::tree, change->tree});
      } else {
        const auto references = object::tree_references(*content);
        if (!references) {
          lacks();
          continue;
        }
        for (const auto& tree : references->trees) {
          if (tree != object::empty_tree_id()) needed.push_back({ObjectKind::tree, tree});
        }
        for (const auto& blob : references->blobs) needed.push_back({ObjectKind::blob, blob});
      }
      survey_->found(name, *std::move(content));
      fetch_.push_back(name);
      if (!known.contains(name)) ++fetched_further_;
      for (const auto& further : needed) {
        if (survey_->objects().contains(further.kind, further.id) || !seen.insert(further).second) continue;
        open.emplace_back(further, damage);
      }
    }
    return {};
  }

  /// What goes with frames: not their objects, which another store may have had.
  void tell_losses() {
    for (const auto& gap : survey_->map().gaps) {
      report_.given_up.push_back(
          fmt::format("{} to {} in {}: operations and ref moves recorded there", gap.from, gap.to, gap.path));
    }
    if (!survey_->lost_operations().empty()) {
      std::string text = plural(survey_->lost_operations().size(), "operation") + " known to be among them: ";
      for (std::size_t i = 0; i < std::min<std::size_t>(survey_->lost_operations().size(), 10); ++i) {
        text += (i > 0 ? ", " : "") + survey_->lost_operations()[i].hex();
      }
      report_.given_up.push_back(std::move(text));
    }
    for (std::size_t i = 0; i < survey_->map().stretches.size(); ++i) {
      if (!survey_->is_foreign(i)) continue;
      const auto& stretch = survey_->map().stretches[i];
      report_.given_up.push_back(
          fmt::format("{} to {} in {}: transactions of another history (they stay in the files kept aside)",
                      stretch.from, stretch.end.position, segments_->path_of(stretch.from)));
    }
    for (const auto& damage : survey_->damages()) {
      if (damage.kind == Damage::Kind::frame) report_.given_up.push_back(damage.what);
    }
    if (const std::uint64_t nameless = survey_->nameless(); nameless > fetched_further_) {
      report_.given_up.push_back(plural(nameless - fetched_further_, "object") +
                                 " that lay in damaged packs, and that nothing needs");
    }
    if (!survey_->ids()) report_.given_up.push_back("the ids of store and replica: it gets new ones");
    // What only the control block knew; a copy may have had it.
    if (survey_->damages().empty() && cut_ && survey_->donated_frames() == 0 && !survey_->kept_from_donor())
      report_.given_up.push_back(*cut_);
  }

  /// Refs that cannot be stood on, and where they go.
  Result<void> plan_refs(const Needs& needs) {
    std::map<std::string, RefValue> back;  // the newest value that can be stood on
    std::map<std::string, RefValue> now;
    if (survey_->kept()) {
      WEFT_DO(survey_->kept()->for_each_frame([&](const KeptFrame& frame) -> Result<void> {
        for (const auto& move : frame.moves) {
          if (move.after && needs.is_sound(move.after->version)) back.insert_or_assign(move.name, *move.after);
        }
        return {};
      }));
    }
    for (const auto& [name, ref] : survey_->refs()) {
      if (ref.version && !needs.is_sound(*ref.version)) now.emplace(name, RefValue{*ref.version, {}});
    }
    if (!now.empty()) {
      WEFT_DO(survey_->for_each_frame([&](const log::Frame& frame, std::size_t stretch) -> Result<void> {
        if (frame.header.kind != log::FrameKind::transaction || survey_->is_foreign(stretch)) return {};
        WEFT_TRY(const Late late, decode_late(frame.late, frame.header.position));
        for (const auto& move : late.moves) {
          const auto found = now.find(move.name);
          if (found == now.end() || !move.after) continue;
          found->second = *move.after;
          if (needs.is_sound(move.after->version)) back.insert_or_assign(move.name, *move.after);
        }
        return {};
      }));
    }
    std::set<std::string, std::less<>> taken;
    const auto keep = [&](const std::string& name, const Version& version) -> std::string {
      // What has its changes can still be looked at, though not stood on.
      const bool there = std::all_of(version.changes.begin(), version.changes.end(), [&](const ChangeId& id) {
        return survey_->objects().contains(ObjectKind::change, id) && !survey_->is_lost(ObjectKind::change, id);
      });
      if (!there || version.empty() || name.starts_with(kSalvagePrefix)) return {};
      const std::string base = std::string(kSalvagePrefix) + name;
      std::string kept = base;
      for (int i = 2;; ++i) {
        const auto known = survey_->refs().find(kept);
        if (known != survey_->refs().end() && known->second.version == version) return kept;
        if ((known == survey_->refs().end() || !known->second.version) && taken.insert(kept).second) break;
        kept = fmt::format("{}-{}", base, i);
      }
      if (!ref_name_problem(kept).empty()) return {};
      RefEdit edit;
      edit.name = kept;
      edit.after = RefValue{version, {}};
      edits_.push_back(std::move(edit));
      return kept;
    };
    for (const auto& [name, value] : now) {
      // A ref that keeps what an earlier repair saved is not meant to be stood on.
      if (name.starts_with(kSalvagePrefix) && needs.has_changes(value.version)) continue;
      RepairReport::RefMove move;
      move.ref = name;
      move.from = value.version;
      move.kept_as = keep(name, value.version);
      RefEdit edit;
      edit.name = name;
      edit.expect = RefEdit::Expect::exactly;
      edit.expected = value.version;
      if (const auto found = back.find(name); found != back.end()) {
        move.to = found->second.version;
        edit.after = RefValue{found->second.version, value.extra};
      } else if (name.starts_with("workspaces/")) {
        move.to = Version{};  // a workspace stays one
        edit.after = RefValue{Version{}, value.extra};
      }
      edits_.push_back(std::move(edit));
      const std::string kept = move.kept_as.empty() ? "" : fmt::format("; that is kept as {}", quoted(move.kept_as));
      report_.given_up.push_back(move.to ? fmt::format("ref {} goes back to {} from {}{}", quoted(name),
                                                       move.to->text(), move.from.text(), kept)
                                         : fmt::format("ref {} at {}: it never was at a change that is whole{}",
                                                       quoted(name), move.from.text(), kept));
      report_.refs.push_back(std::move(move));
    }
    return {};
  }

  void tell_objects(const Needs& needs) {
    std::vector<std::uint64_t> lost(survey_->damages().size(), 0);
    for (const auto& [name, damage] : survey_->lost()) {
      if (survey_->damage(damage).kind == Damage::Kind::known) continue;
      ++lost[damage];
      ++report_.lost_objects;
      if (report_.lost.size() < kMaxNamed) report_.lost.push_back(name);
    }
    for (std::size_t i = 0; i < lost.size(); ++i) {
      if (lost[i] == 0) continue;
      const auto& of = needs.of()[std::min(i, needs.of().size() - 1)];
      std::string text;
      std::uint64_t named = 0;
      for (const auto& [name, damage] : survey_->lost()) {
        if (damage != i || named >= 10) continue;
        text += fmt::format("{}{} {}", named++ == 0 ? "" : ", ", object::name(name.kind), name.id.hex());
        for (const auto& [path, object] : of.paths) {
          if (object != name) continue;
          text += fmt::format(" ({})", quoted(path));
          break;
        }
      }
      if (lost[i] > named) text += fmt::format(" and {} more", lost[i] - named);
      if (of.changes > 0) {
        text += of.changes == 1
                    ? fmt::format(", needed by change {}", of.some_changes.front().hex())
                    : fmt::format(", needed by {} changes, the first {}", of.changes, of.some_changes.front().hex());
      }
      report_.given_up.push_back(plural(lost[i], "object") + ": " + text);
    }
  }

  Result<void> fetch(const Store& store) {
    for (std::size_t begin = 0; begin < fetch_.size(); begin += kFetchStep) {
      WEFT_TRY(auto transaction, store.begin());
      for (std::size_t i = begin; i < std::min(begin + kFetchStep, fetch_.size()); ++i) {
        const ObjectName& name = fetch_[i];
        if (name.kind == ObjectKind::blob) {
          WEFT_TRY(const auto source, other_snapshot_->open_blob(name.id));
          WEFT_TRY(const auto stored, transaction.put_blob(*source));
          if (stored.id != name.id)
            return damaged(fmt::format("the other store gave other bytes for blob {}", name.id.hex()));
          continue;
        }
        WEFT_TRY(const Bytes content, other_snapshot_->read(name.kind, name.id));
        if (sha256(content) != name.id) {
          return damaged(
              fmt::format("the other store gave other bytes for {} {}", object::name(name.kind), name.id.hex()));
        }
        WEFT_DO(transaction.put_with_id(name.kind, name.id, content));
        if (name.kind != ObjectKind::change) continue;
        WEFT_TRY(const auto change, object::decode_change(content));
        if (const Bytes* git = change.find_extra("git-sha1"); git != nullptr && git->size() == GitId::kSize) {
          WEFT_DO(transaction.index_git_commit(GitId::from_bytes(*git), name.id));
        }
      }
      WEFT_TRY(const auto committed, transaction.commit());
      (void)committed;
    }
    report_.fetched = fetch_.size();
    if (!fetch_.empty())
      report_.done.push_back(fmt::format("took {} from the other store", plural(fetch_.size(), "object")));
    return {};
  }

  Result<void> move_refs(const Store& store) {
    for (std::size_t begin = 0; begin < edits_.size(); begin += kRefStep) {
      WEFT_TRY(auto transaction, store.begin());
      for (std::size_t i = begin; i < std::min(begin + kRefStep, edits_.size()); ++i) transaction.edit_ref(edits_[i]);
      transaction.set_operation({.label = "repair --accept-loss", .author = "weft"});
      WEFT_TRY(const auto committed, transaction.commit());
      (void)committed;
    }
    return {};
  }

  Result<void> write_down() {
    std::set<ObjectName> losses;
    for (const auto& [name, damage] : survey_->lost()) losses.insert(name);
    if (losses == losses_) return {};
    return write_losses(env_.fs, directory_, losses);
  }

  Env env_;
  std::string directory_;
  const RepairOptions& options_;
  const StoreHooks& hooks_;
  Format format_;
  RepairReport report_;
  std::optional<std::string> cut_;  ///< what only the control block knows to be lost
  std::uint64_t known_durable_ = 0;
  std::optional<Store> other_;
  std::optional<Snapshot> other_snapshot_;
  std::optional<log::Segments> other_segments_, segments_;
  std::optional<Survey> survey_;
  std::set<ObjectName> losses_;
  std::vector<ObjectName> fetch_;
  std::uint64_t fetched_further_ = 0;  ///< of these, what only others of them name
  std::vector<RefEdit> edits_;
  std::string aside_;
};

}  // namespace

Result<RepairReport> Store::repair(Env env, const std::string& directory, const RepairOptions& options,
                                   const StoreHooks& hooks) {
  return Repairer(env, directory, options, hooks).run();
}

}  // namespace weft::store
