#include "git/export.h"

#include <algorithm>
#include <map>

#include "base/host_dir.h"
#include "git/commit_object.h"
#include "git/conversation.h"
#include "git/helper_process.h"
#include "git/history_export.h"
#include "repo/history.h"
#include "repo/recording.h"

namespace weft::git {
namespace {

constexpr std::string_view kDefaultWorkspace = "default";
constexpr std::string_view kDirectory = "git";
constexpr std::string_view kLastHeadName = "head";
constexpr std::uint64_t kMaxLastHeadBytes = 8192;
constexpr std::size_t kIndexedPerTransaction = 8192;

class Export {
 public:
  Export(repo::Repository& repository, const ExportOptions& options, store::Snapshot snapshot)
      : repository_(repository), options_(options), snapshot_(std::move(snapshot)) {}

  Result<ExportReport> run() {
    if (lies_in(options_.path, repository_.store().directory())) {
      return make_error(Code::invalid, quoted(options_.path) + " lies in the store itself",
                        "name a path outside " + quoted(repository_.store().directory()));
    }
    WEFT_DO(choose_refs());
    WEFT_DO(read_workspace());
    WEFT_TRY(Process process, start_helper(options_.helper, {"export", options_.path,
                                                             options_.dry_run     ? "no"
                                                             : options_.work_tree ? "worktree"
                                                                                  : "bare",
                                                             head_wanted_.empty() ? "refs/heads/main" : head_wanted_}));
    Conversation conversation([&process](std::span<char> buffer) { return process.read(buffer); },
                              [&process](ByteView bytes) { return process.write(bytes); });
    const auto result = converse(conversation);
    if (!result) return explain(process, result.error());
    WEFT_DO(expect_success(process));
    return std::move(report_);
  }

 private:
  Result<void> choose_refs() {
    WEFT_TRY(auto refs, snapshot_.refs());
    for (const std::string& wanted : options_.refs) {
      const bool there =
          std::any_of(refs.begin(), refs.end(), [&](const store::Ref& ref) { return ref.name == wanted; });
      if (git_ref_name(wanted).empty()) {
        return make_error(Code::invalid, quoted(wanted) + " is kept by weft itself and is not exported")
            .with("ref", wanted);
      }
      if (!there && !options_.prune) {
        return make_error(Code::not_found, "there is no ref " + quoted(wanted), "weft ref list shows the refs")
            .with("ref", wanted);
      }
    }
    for (auto& ref : refs) {
      if (!selected(ref.name) || git_ref_name(ref.name).empty()) continue;
      ExportedRef exported;
      exported.name = ref.name;
      exported.git_name = git_ref_name(ref.name);
      exported.version = ref.value.version;
      if (ref.value.version.changes.size() != 1) {
        exported.action = ExportAction::skipped;
        exported.reason = ref.value.version.empty() ? "it stands at no change"
                                                    : "it stands at several changes that are not merged yet";
      }
      report_.refs.push_back(std::move(exported));
      extras_.push_back(std::move(ref.value.extra));
    }
    return {};
  }

  bool selected(std::string_view name) const {
    return options_.refs.empty() || std::find(options_.refs.begin(), options_.refs.end(), name) != options_.refs.end();
  }

  Result<void> read_workspace() {
    WEFT_TRY(const auto value, snapshot_.ref(repo::workspace_ref(kDefaultWorkspace)));
    if (!value) return {};
    WEFT_TRY(const repo::WorkspaceRecord record, repo::decode_workspace(value->extra));
    if (!branch_ref("refs/heads/" + record.follow).empty()) head_wanted_ = "refs/heads/" + record.follow;
    root_ = record.path;
    return {};
  }

  Result<void> converse(Conversation& target) {
    WEFT_TRY(facts_, target.read_facts());
    report_.program = facts_.program;
    report_.created = facts_.presence != wire::Presence::existing;
    report_.colocated = !root_.empty() && !facts_.work_tree.empty() && is_same_directory(root_, facts_.work_tree);
    report_.head = facts_.head;
    for (const auto& ref : facts_.refs) git_refs_[ref.name] = &ref;

    const ExportCache cache = ExportCache::open(repository_.env().fs, directory());
    HistoryExport history(snapshot_, target, cache);
    std::vector<object::Version> wanted;
    for (const auto& ref : report_.refs) {
      if (ref.action != ExportAction::skipped) wanted.push_back(*ref.version);
    }
    WEFT_TRY(auto known, known_versions());
    WEFT_DO(history.plan(std::move(wanted), std::move(known)));
    report_.commits = history.planned();
    if (!options_.dry_run) {
      WEFT_DO(history.run(options_.progress));
      report_.empty_directories = history.empty_directories();
    }
    for (std::size_t i = 0; i < report_.refs.size(); ++i) {
      if (report_.refs[i].action != ExportAction::skipped)
        WEFT_DO(plan_ref(target, history, report_.refs[i], extras_[i]));
    }
    WEFT_DO(find_gone(history));
    if (!options_.dry_run) {
      WEFT_TRY(const wire::Kept kept, target.keep());  // EX1
      report_.objects = kept.objects;
      report_.bytes = kept.bytes;
      WEFT_DO(remember(history, cache));
      for (auto& ref : report_.refs) WEFT_DO(move_ref(target, ref));
      WEFT_DO(attach_head(target));
    }
    return target.end();
  }

  std::string directory() const { return join_path(repository_.store().directory(), kDirectory); }

  /// What the target's refs name, as far as it is known here: all of that is there.
  Result<std::vector<object::Version>> known_versions() const {
    std::vector<object::Version> known;
    for (const auto& ref : facts_.refs) {
      if (ref.kind == wire::TargetKind::missing || ref.kind == wire::TargetKind::broken) continue;
      WEFT_TRY(const auto change, snapshot_.find_git_commit(store_id(ref.peeled)));
      if (change) known.emplace_back(*change);
    }
    return known;
  }

  Result<std::optional<ChangeId>> change_of(const HistoryExport& history, const Sha1& commit) const {
    if (const auto change = history.change_of(commit)) return change;
    return snapshot_.find_git_commit(store_id(commit));
  }

  /// The tag objects of a ref, if they still lead to `commit`: outermost first.
  static std::vector<Bytes> tags_to(const Sha1& commit, ByteView extra) {
    if (extra.empty()) return {};
    auto tags = decode_tags(extra);
    if (!tags) return {};
    for (std::size_t i = 0; i < tags->size(); ++i) {
      const auto points_to = parse_tag((*tags)[i]);
      const bool last = i + 1 == tags->size();
      if (!points_to || points_to->object != (last ? commit : git_object_id("tag", (*tags)[i + 1]))) return {};
    }
    return *std::move(tags);
  }

  Result<void> plan_ref(Conversation& target, const HistoryExport& history, ExportedRef& ref, const Bytes& extra) {
    const object::Version& version = *ref.version;
    WEFT_TRY(const auto commit, history.commit_of(version.changes[0]));
    WEFT_TRY(const bool is_target, history.is_target(version.changes[0]));
    if (is_target && !ref.git_name.starts_with(wire::kTagRefs)) {
      ref.action = ExportAction::skipped;
      ref.reason = "it stands at what is no commit in git: only a tag can name that";
      return {};
    }
    if (commit) {
      ref.after = *commit;
      if (ref.git_name.starts_with(wire::kTagRefs)) {
        const auto tags = tags_to(*commit, extra);
        for (auto tag = tags.rbegin(); tag != tags.rend(); ++tag) {
          ref.after = git_object_id("tag", *tag);
          if (!options_.dry_run) WEFT_DO(target.write(wire::GitKind::tag, ref.after, "", *tag));
        }
      }
    }
    const auto there = git_refs_.find(ref.git_name);
    if (there == git_refs_.end()) {
      ref.action = ExportAction::created;
      return {};
    }
    const GitRef& git = *there->second;
    ref.before = git.target;
    if (git.kind == wire::TargetKind::broken) {
      ref.action = ExportAction::refused;
      ref.reason = "git's ref is broken";
      return {};
    }
    if (ref.after == git.target) {
      ref.action = ExportAction::unchanged;
      return {};
    }
    ref.action = options_.force ? ExportAction::moved : ExportAction::diverged;
    ref.reason = "git's holds what weft's does not";
    if (git.kind == wire::TargetKind::missing) return {};
    WEFT_TRY(const auto change, change_of(history, git.peeled));
    if (!change) return {};
    const object::Version before(*change);
    if (before == version) {
      ref.reason = "git's is another tag object";
      return {};
    }
    WEFT_TRY(const bool forward, repo::is_ancestor(snapshot_, before, version));
    if (forward) {
      ref.action = ExportAction::moved;
      return {};
    }
    WEFT_TRY(const bool back, repo::is_ancestor(snapshot_, version, before));
    if (back && !options_.force) {
      ref.action = ExportAction::behind;
      WEFT_TRY(const bool taken_back, stood_at(ref.name, before));
      ref.reason = taken_back ? "git's holds what was taken back here" : "git's holds more";
    }
    return {};
  }

  /// Whether the ref's last move took it back from `version`: an undo, or `ref set`.
  Result<bool> stood_at(const std::string& name, const object::Version& version) const {
    bool stood = false;
    WEFT_DO(snapshot_.reflog(name, [&](const store::RefMoveRecord& move) {
      stood = move.before && move.before->version == version;
      return false;
    }));
    return stood;
  }

  /// EX3.
  Result<void> find_gone(const HistoryExport& history) {
    for (const auto& git : facts_.refs) {
      const std::string name = weft_ref_name(git.name);
      if (name.empty() || !selected(name) || git.kind == wire::TargetKind::missing ||
          git.kind == wire::TargetKind::broken) {
        continue;
      }
      WEFT_TRY(const auto value, snapshot_.ref(name));
      if (value) continue;
      std::optional<store::RefMoveRecord> last;
      WEFT_DO(snapshot_.reflog(name, [&last](const store::RefMoveRecord& move) {
        last = move;
        return false;
      }));
      if (!last || last->after || !last->before || last->before->version.changes.size() != 1) continue;
      const ChangeId change = last->before->version.changes[0];
      WEFT_TRY(const auto commit, history.commit_of(change));
      ExportedRef gone;
      gone.name = name;
      gone.git_name = git.name;
      gone.before = git.target;
      gone.action = ExportAction::gone;
      const bool as_exported = commit && *commit == git.peeled;
      if (!as_exported) {
        gone.reason = "it was deleted in weft, but git's is not what weft's last was";
      } else if (options_.prune) {
        gone.action = ExportAction::deleted;
      } else {
        gone.reason = "it was deleted in weft";
      }
      report_.refs.push_back(std::move(gone));
    }
    return {};
  }

  /// Which commits the changes became: for exporting again, and for importing what comes to stand on them.
  Result<void> remember(const HistoryExport& history, ExportCache cache) {
    const auto& made = history.made();
    for (std::size_t at = 0; at < made.size(); at += kIndexedPerTransaction) {
      WEFT_TRY(store::Transaction transaction, repository_.store().begin());
      bool any = false;
      for (std::size_t i = at; i < std::min(made.size(), at + kIndexedPerTransaction); ++i) {
        WEFT_TRY(const auto known, transaction.snapshot().find_git_commit(store_id(made[i].second)));
        if (known) continue;
        WEFT_DO(transaction.index_git_commit(store_id(made[i].second), made[i].first));
        any = true;
      }
      if (!any) continue;
      WEFT_TRY(const auto committed, transaction.commit());
      (void)committed;
    }
    return cache.add(made);
  }

  Result<void> move_ref(Conversation& target, ExportedRef& ref) const {
    const bool moves = ref.action == ExportAction::created || ref.action == ExportAction::moved;
    if (!moves && ref.action != ExportAction::deleted) return {};
    WEFT_TRY(const Conversation::Moved moved, target.move(ref.git_name, ref.before, ref.after, report_.colocated));
    switch (moved.status) {
      case wire::MoveStatus::done:
        ref.reason.clear();
        break;
      case wire::MoveStatus::changed:
        if (moved.actual == ref.after) {  // another export of the same
          if (ref.action != ExportAction::deleted) ref.action = ExportAction::unchanged;
          ref.reason.clear();
          break;
        }
        ref.action = ExportAction::lost;
        ref.reason = "somebody moved it in git meanwhile";
        break;
      case wire::MoveStatus::checked_out:
        ref.action = ExportAction::checked_out;
        ref.reason = moved.text;
        break;
      case wire::MoveStatus::busy:
      case wire::MoveStatus::refused:
        ref.action = ExportAction::refused;
        ref.reason = moved.text;
        break;
    }
    return {};
  }

  /// Colocated: HEAD is on the branch that the workspace follows, unless it was git that switched.
  Result<void> attach_head(Conversation& target) {
    if (!report_.colocated) return {};
    FileSystem& fs = repository_.env().fs;
    const std::string& store = repository_.store().directory();
    const auto switched = [this](std::string why) {
      report_.head_note = std::move(why);
      return Result<void>();
    };
    if (facts_.head == head_wanted_) return write_last_head(fs, store, facts_.head);
    if (facts_.head.empty()) return switched("it is detached");
    const std::string last = read_last_head(fs, store);
    if (last != facts_.head) return switched("it was switched in git");
    const bool exported = std::any_of(report_.refs.begin(), report_.refs.end(), [this](const ExportedRef& ref) {
      return ref.git_name == head_wanted_ && !ref.after.is_zero() &&
             (ref.action == ExportAction::created || ref.action == ExportAction::moved ||
              ref.action == ExportAction::unchanged);
    });
    if (head_wanted_.empty() || !exported) return switched("the followed ref was not exported");
    WEFT_TRY(const auto attached, target.attach(head_wanted_));
    if (attached.status != wire::MoveStatus::done) return switched(attached.text);
    report_.head = head_wanted_;
    return write_last_head(fs, store, head_wanted_);
  }

  repo::Repository& repository_;
  const ExportOptions& options_;
  store::Snapshot snapshot_;
  std::vector<Bytes> extras_;  ///< of the refs chosen
  std::string head_wanted_;    ///< the git branch of what the workspace follows; may be empty
  std::string root_;           ///< of the workspace's files
  RepositoryFacts facts_;
  std::map<std::string_view, const GitRef*> git_refs_;
  ExportReport report_;
};

}  // namespace

std::string_view name(ExportAction action) {
  switch (action) {
    case ExportAction::created:
      return "created";
    case ExportAction::moved:
      return "moved";
    case ExportAction::unchanged:
      return "unchanged";
    case ExportAction::behind:
      return "behind";
    case ExportAction::diverged:
      return "diverged";
    case ExportAction::lost:
      return "lost";
    case ExportAction::checked_out:
      return "checked_out";
    case ExportAction::refused:
      return "refused";
    case ExportAction::skipped:
      return "skipped";
    case ExportAction::gone:
      return "gone";
    case ExportAction::deleted:
      return "deleted";
  }
  return {};
}

std::optional<Error> refs_problem(const ExportReport& report) {
  constexpr std::size_t kNamed = 20;
  Error error;
  error.code = Code::internal;
  std::string names;
  std::size_t count = 0;
  for (const auto& ref : report.refs) {
    Code code = Code::internal;
    std::string hint;
    if (ref.action == ExportAction::diverged && !ref.git_name.starts_with("refs/remotes/")) {
      code = Code::conflicts;
      hint = "weft git import brings git's side and says how to join the two; --force puts weft's in its place";
    } else if (ref.action == ExportAction::lost) {
      code = Code::lost_race;
      hint = "weft git import brings git's side; then export again";
    } else if (ref.action == ExportAction::checked_out) {
      code = Code::refused;
      hint = "switch that work tree to another branch (git switch --detach), or export to a bare repository";
    } else if (ref.action == ExportAction::refused) {
      code = Code::refused;
      hint =
          "the other refs are exported; weft git export tries again (where it is a lock file that no living git holds, "
          "remove that first)";
    } else {
      continue;
    }
    if (error.code == Code::internal) {
      error.code = code;
      error.hint = hint;
    }
    if (++count > kNamed) continue;
    names += (names.empty() ? "" : "; ") + ref.git_name + ": " + ref.reason;
    error.details.emplace_back("ref", ref.name);
    error.details.emplace_back("git_ref", ref.git_name);
    error.details.emplace_back("reason", ref.reason);
  }
  if (count == 0) return std::nullopt;
  error.message = std::to_string(count) + (count == 1 ? " ref of git stays" : " refs of git stay") + " where " +
                  (count == 1 ? "it is" : "they are") + ": " + names;
  if (count > kNamed) error.message += "; and others";
  return error;
}

std::string read_last_head(FileSystem& fs, const std::string& store_directory) {
  const auto content =
      read_file(fs, join_path(join_path(store_directory, kDirectory), kLastHeadName), kMaxLastHeadBytes);
  if (!content || !content->ends_with('\n')) return {};
  return content->substr(0, content->size() - 1);
}

Result<void> write_last_head(FileSystem& fs, const std::string& store_directory, const std::string& branch) {
  if (read_last_head(fs, store_directory) == branch) return {};
  const std::string directory = join_path(store_directory, kDirectory);
  const auto made = fs.make_directory(directory);
  if (!made && made.error().code != Code::exists) return made.error();
  return write_file_durably(fs, join_path(directory, kLastHeadName), branch + "\n");
}

bool is_same_directory(const std::string& a, const std::string& b) {
  const auto first = HostDir::open(a);
  const auto second = HostDir::open(b);
  if (!first || !second) return false;
  const auto one = first->self_status();
  const auto other = second->self_status();
  return one && other && one->device == other->device && one->inode == other->inode;
}

bool lies_in(std::string path, const std::string& directory) {
  while (true) {
    if (is_same_directory(path, directory)) return true;
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const auto slash = path.rfind('/');
    if (slash == std::string::npos || path.size() <= 1) return false;
    path.resize(std::max<std::size_t>(slash, 1));
  }
}

Result<ExportReport> export_repository(repo::Repository& repository, const ExportOptions& options) {
  WEFT_TRY(store::Snapshot snapshot, repository.store().snapshot());
  Export exporting(repository, options, std::move(snapshot));
  return exporting.run();
}

}  // namespace weft::git
