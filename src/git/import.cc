#include "git/import.h"

#include <algorithm>

#include "base/host_dir.h"
#include "git/conversation.h"
#include "git/convert.h"
#include "git/export.h"
#include "git/helper_process.h"
#include "git/store_sink.h"
#include "git/wire.h"
#include "repo/files.h"
#include "repo/history.h"
#include "repo/recording.h"
#include "repo/switch.h"

namespace weft::git {
namespace {

constexpr std::string_view kDefaultWorkspace = "default";
constexpr int kMaxAttempts = 100;  ///< lost races for refs

class Import {
 public:
  Import(repo::Repository& repository, const ImportOptions& options, Process process)
      : repository_(repository),
        options_(options),
        process_(std::move(process)),
        conversation_([this](std::span<char> buffer) { return process_.read(buffer); },
                      [this](ByteView bytes) { return process_.write(bytes); }) {}

  Result<ImportReport> run() {
    auto result = converse();
    if (!result) return explain(process_, std::move(result).error());
    WEFT_DO(expect_success(process_));
    WEFT_DO(finish());
    return std::move(report_);
  }

 private:
  Result<void> converse() {
    WEFT_TRY(facts_, conversation_.read_facts());
    RefMapping mapping = map_refs(facts_.refs);
    mapped_ = std::move(mapping.refs);
    report_.skipped = std::move(mapping.skipped);
    report_.program = facts_.program;
    report_.head_branch = branch_ref(facts_.head);
    report_.empty = mapped_.empty() && std::none_of(facts_.refs.begin(), facts_.refs.end(), [](const GitRef& ref) {
                      return ref.kind == wire::TargetKind::commit;
                    });
    WEFT_TRY(auto tips, known_tips());
    WEFT_TRY(colocated_, is_colocated());
    report_.sparse = colocated_ && facts_.sparse;
    // Beside this store they stay where they are.
    if (!colocated_) skip_others();
    WEFT_DO(conversation_.request(std::move(tips), colocated_));
    WEFT_TRY(StoreSink sink, StoreSink::open(repository_.store()));
    Converter converter(sink);
    std::uint64_t bytes = 0;
    const auto after_commit = [&](std::uint64_t more) -> Result<void> {
      bytes += more;
      if (sink.pending() < options_.commits_per_portion && bytes < kBytesPerTransaction) return {};
      bytes = 0;
      return sink.keep();
    };
    const auto received = conversation_.receive(converter, after_commit, options_.progress);
    if (!received) {
      // GI1: whole commits that came before are kept, whatever happened to this one; the first error is the one told.
      if (sink.pending() > 0) (void)sink.keep().has_value();
      return received.error();
    }
    report_.commits = received->commits;
    report_.known = received->known;
    return sink.keep();
  }

  void skip_others() {
    for (const auto& group : facts_.others) {
      report_.skipped.push_back({group, "only branches, tags and remote-tracking branches are imported"});
    }
  }

  /// Whether the files of the workspace are git's work tree.
  Result<bool> is_colocated() const {
    if (facts_.work_tree.empty()) return false;
    WEFT_TRY(const store::Snapshot snapshot, repository_.store().snapshot());
    WEFT_TRY(const auto value, snapshot.ref(repo::workspace_ref(kDefaultWorkspace)));
    if (!value) return false;
    WEFT_TRY(const repo::WorkspaceRecord record, repo::decode_workspace(value->extra));
    return !record.path.empty() && is_same_directory(record.path, facts_.work_tree);
  }

  /// Commits that are here already, as far as refs tell: those at git's refs, and those where the same refs stand here.
  /// All their ancestors are here, too. Whatever else is here turns up in the helper's offers.
  Result<std::vector<Sha1>> known_tips() const {
    WEFT_TRY(const store::Snapshot snapshot, repository_.store().snapshot());
    std::vector<Sha1> tips;
    for (const auto& ref : mapped_) {
      if (tips.size() >= wire::kMaxHidden) break;
      WEFT_TRY(const auto known, snapshot.find_git_commit(store_id(ref.commit)));
      if (known) {
        tips.push_back(ref.commit);
        continue;
      }
      WEFT_TRY(const auto here, snapshot.ref(ref.name));
      if (!here || here->version.changes.size() != 1) continue;
      WEFT_TRY(const object::Change change, snapshot.change(here->version.changes[0]));
      if (const auto id = git_id(change)) tips.push_back(*id);
    }
    return tips;
  }

  // --- refs and the workspace ---

  Result<void> finish() {
    if (report_.empty && (!colocated_ || facts_.head_commit.is_zero())) return {};
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      auto moved = move_refs();
      if (!moved && moved.error().code == Code::lost_race) continue;
      if (moved && colocated_) {
        return write_last_head(repository_.env().fs, repository_.store().directory(), facts_.head);
      }
      return moved;
    }
    return make_error(Code::lost_race, "other processes kept moving the refs that git's refs become",
                      "try again: the history is imported already");
  }

  Result<void> move_refs() {
    WEFT_TRY(store::Transaction transaction, repository_.store().begin());
    const auto& snapshot = transaction.snapshot();
    report_.refs.clear();
    bool moves = false;
    for (const auto& ref : mapped_) {
      WEFT_TRY(const auto change, snapshot.find_git_commit(store_id(ref.commit)));
      if (!change) return make_error(Code::internal, "the commit of " + quoted(ref.git_name) + " was not imported");
      WEFT_TRY(PlannedRef planned, plan_ref(snapshot, ref, *change));
      if (planned.action == RefAction::created || planned.action == RefAction::moved) {
        store::RefEdit edit = repo::move_ref(ref.name, planned.before, store::Version(*change));
        edit.after->extra = ref.extra;
        transaction.edit_ref(std::move(edit));
        moves = true;
      }
      report_.refs.push_back(std::move(planned));
    }
    WEFT_TRY(const WorkspacePlan plan, plan_workspace(snapshot));
    if (plan.edit) {
      transaction.edit_ref(*plan.edit);
      moves = true;
    }
    report_.workspace = plan.outcome;
    report_.workspace_behind = plan.behind;
    if (!moves) return {};
    const bool brings_files = plan.outcome == WorkspaceOutcome::checked_out;
    const auto& context = repository_.context();
    // Should this be cut off behind the move of the head, the files are known to be still where they were (files.h,
    // F-1).
    const std::string files_path = repository_.files_path(kDefaultWorkspace);
    if (brings_files) WEFT_DO(repo::write_files_record(context.env.fs, files_path, {plan.before, std::nullopt}));
    const auto identity = repo::find_identity(context, std::nullopt);
    transaction.set_operation(repo::operation_info(context, "git import",
                                                   plan.edit ? std::string(kDefaultWorkspace) : "",
                                                   identity ? identity->text() : std::string()));
    WEFT_TRY(const auto committed, transaction.commit());
    report_.operation = committed.id;
    if (plan.outcome == WorkspaceOutcome::adopted) {
      return repo::write_files_record(context.env.fs, files_path, {plan.after, std::nullopt});
    }
    return brings_files ? write_files(plan) : Result<void>{};
  }

  struct WorkspacePlan {
    WorkspaceOutcome outcome = WorkspaceOutcome::untouched;
    std::optional<store::RefEdit> edit;
    std::string root;
    store::Version before, after;
    bool behind = false;
  };

  Result<WorkspacePlan> plan_workspace(const store::Snapshot& snapshot) const {
    WorkspacePlan plan;
    const std::string ref_name = repo::workspace_ref(kDefaultWorkspace);
    WEFT_TRY(const auto value, snapshot.ref(ref_name));
    if (!value) return plan;
    WEFT_TRY(repo::WorkspaceRecord record, repo::decode_workspace(value->extra));
    plan.root = record.path;
    plan.before = plan.after = value->version;
    const PlannedRef* head = nullptr;
    for (const auto& ref : report_.refs) {
      if (ref.ref.name == report_.head_branch) head = &ref;
    }
    std::optional<ChangeId> target;
    if (head && head->action != RefAction::diverged) target = head->change;
    const bool detached = colocated_ && !facts_.head_commit.is_zero();
    if (detached) {
      WEFT_TRY(target, snapshot.find_git_commit(store_id(facts_.head_commit)));
    }
    if (!target) return plan;
    const bool follows = !detached && record.follow == report_.head_branch;
    if (follows && head->action == RefAction::behind) {
      plan.outcome = WorkspaceOutcome::follows;
      return plan;
    }
    if (!follows && !value->version.empty()) {
      // Somebody who works here and follows something else has chosen to, unless it was git that switched here.
      WEFT_TRY(const bool switched, git_switched(snapshot, value->version));
      if (!switched) return plan;
    }
    if (!detached) record.follow = report_.head_branch;
    plan.outcome = WorkspaceOutcome::follows;
    const store::Version after(*target);
    const bool may_move = !follows || value->version.empty() || (head->before && value->version == *head->before);
    if (!plan.root.empty() && may_move && value->version != after) {
      if (colocated_) {
        plan.outcome = WorkspaceOutcome::adopted;
      } else if (value->version.empty()) {
        WEFT_TRY(const bool has_files, holds_files(plan.root));
        if (!has_files) plan.outcome = WorkspaceOutcome::checked_out;
      }
      if (plan.outcome != WorkspaceOutcome::follows) plan.after = after;
    }
    plan.behind = plan.after != after;
    if (plan.after == plan.before && (follows || detached)) return plan;
    plan.edit = repo::move_ref(ref_name, plan.before, plan.after);
    plan.edit->after->extra = repo::encode_workspace(record);
    return plan;
  }

  /// Whether git's HEAD was moved by git, in weft's own working tree, and leaving the workspace's head loses nothing.
  Result<bool> git_switched(const store::Snapshot& snapshot, const store::Version& head) const {
    if (!colocated_) return false;
    const std::string last = read_last_head(repository_.env().fs, repository_.store().directory());
    if (!facts_.head.empty() && last == facts_.head) return false;
    for (const auto& ref : report_.refs) {
      WEFT_TRY(const bool landed, repo::is_ancestor(snapshot, head, store::Version(ref.change)));
      if (landed) return true;
    }
    return false;
  }

  /// A directory that cannot be read counts as one with files: nothing will be written there.
  static Result<bool> holds_files(const std::string& root) {
    const auto directory = HostDir::open(root);
    if (!directory) return true;
    WEFT_TRY(const auto entries, directory->list());
    return std::any_of(entries.begin(), entries.end(),
                       [](const DirectoryEntry& entry) { return !object::name_is_reserved(entry.name); });
  }

  Result<void> write_files(const WorkspacePlan& plan) {
    WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository_, std::string(kDefaultWorkspace), plan.root));
    WEFT_TRY(const store::Snapshot snapshot, repository_.store().snapshot());
    repo::WriteOut what;
    what.from = plan.before;
    what.to = plan.after;
    WEFT_TRY(what.from_tree, repo::tree_of(snapshot, plan.before));
    WEFT_TRY(what.to_tree, repo::tree_of(snapshot, plan.after));
    auto report = repo::write_out(repository_, std::string(kDefaultWorkspace), files, snapshot, what);
    if (!report) {
      Error error = std::move(report).error();
      error.message = "the history is imported, but its files could not be written: " + error.message;
      if (error.hint.empty()) error.hint = "weft switch @ writes them";
      return error;
    }
    report_.warnings = std::move(report->warnings);
    return {};
  }

  repo::Repository& repository_;
  const ImportOptions& options_;
  Process process_;
  Conversation conversation_;
  RepositoryFacts facts_;
  bool colocated_ = false;
  std::vector<MappedRef> mapped_;
  ImportReport report_;
};

}  // namespace

std::string_view name(WorkspaceOutcome outcome) {
  switch (outcome) {
    case WorkspaceOutcome::untouched:
      return "untouched";
    case WorkspaceOutcome::follows:
      return "follows";
    case WorkspaceOutcome::checked_out:
      return "checked_out";
    case WorkspaceOutcome::adopted:
      return "adopted";
  }
  return {};
}

Result<ImportReport> import_repository(repo::Repository& repository, const ImportOptions& options) {
  WEFT_TRY(Process process, start_helper(options.helper, {"import", options.path}));
  Import import(repository, options, std::move(process));
  return import.run();
}

}  // namespace weft::git
