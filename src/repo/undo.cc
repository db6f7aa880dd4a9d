#include "repo/undo.h"

#include <algorithm>
#include <set>

#include "repo/history.h"
#include "repo/land.h"
#include "repo/recording.h"
#include "repo/workspace.h"
#include "work/checkout_preview.h"

namespace weft::repo {

namespace {

/// How far back `undo` without an operation looks.
constexpr std::size_t kMaxOperations = 100'000;
/// How long a chain of undos of undos may get before its origin is no longer looked for.
constexpr int kMaxChain = 10'000;
constexpr std::size_t kShownDigits = 8;
constexpr std::string_view kWorkspacePrefix = "workspaces/";
constexpr std::string_view kListLabel = "commit --changes: ";
constexpr std::string_view kLandLabel = "land ";

bool same_version(const std::optional<store::RefValue>& a, const std::optional<store::RefValue>& b) {
  return a.has_value() == b.has_value() && (!a || a->version == b->version);
}

Error nothing_to(bool redo) {
  return redo ? make_error(Code::refused, "there is nothing to redo in this workspace",
                           "redo takes back the last undo, as long as nothing else was done since; `weft op log` lists "
                           "all operations")
              : make_error(Code::refused, "there is nothing to undo in this workspace",
                           "`weft op log` lists all operations; `weft undo OPERATION` undoes any of them");
}

Result<store::Operation> find_default(const store::Snapshot& snapshot, std::string_view workspace, bool redo) {
  std::vector<store::Operation> operations;
  // Almost always among the newest few: read in growing steps rather than all.
  for (std::size_t limit = 64;; limit *= 16) {
    operations.clear();
    bool more = false;
    WEFT_DO(snapshot.operations([&](const store::Operation& operation) {
      if (operations.size() == limit) {
        more = true;
        return false;
      }
      operations.push_back(operation);
      return true;
    }));
    if (const auto picked = pick_operation(operations, workspace, redo)) {
      for (auto& operation : operations) {
        if (operation.id == *picked) return std::move(operation);
      }
    }
    if (!more || limit > kMaxOperations) return nothing_to(redo);
  }
}

/// The label of the operation at the bottom of a chain of undos and redos.
Result<store::Operation> origin_of(const store::Snapshot& snapshot, store::Operation operation) {
  for (int step = 0; operation.undoes && step < kMaxChain; ++step) {
    WEFT_TRY(auto before, snapshot.operation(*operation.undoes));
    if (!before) break;
    operation = *std::move(before);
  }
  return operation;
}

class Undoer {
 public:
  Undoer(Repository& repository, const UndoRequest& request) : repository_(repository), request_(request) {}

  /// nullopt: a race was lost.
  Result<std::optional<UndoResult>> attempt() {
    WEFT_TRY(auto transaction, begin(!request_.operation));
    const store::Snapshot& snapshot = transaction.snapshot();
    if (request_.operation) {
      WEFT_TRY(result_.undone, find_operation(snapshot, *request_.operation));
    } else {
      WEFT_TRY(result_.undone, find_default(snapshot, workspace_->name, request_.redo));
    }
    if (request_.redo && !result_.undone.undoes) {
      return make_error(Code::refused, "operation " + result_.undone.id.hex().substr(0, 8) + " is no undo",
                        "`weft undo OPERATION` undoes it");
    }
    if (result_.undone.moves.empty())
      return make_error(Code::refused, "that operation moved no ref", "there is nothing to take back");
    WEFT_TRY(origin_, origin_of(snapshot, result_.undone));
    WEFT_TRY(const bool standing, all_stand(snapshot));
    if (standing) {
      WEFT_TRY(result_.sent, made_and_sent(snapshot));
    }
    if (!standing) {
      WEFT_TRY(only_own_head_, head_goes_forward(snapshot));
    }
    return (standing && !result_.sent) || only_own_head_ ? move_back(transaction) : invert(transaction);
  }

  /// `op restore`: nullopt: a race was lost.
  Result<std::optional<OpRestored>> attempt_restore(const OpRestoreRequest& request) {
    WEFT_TRY(auto transaction, begin(!request.everything));
    const store::Snapshot& snapshot = transaction.snapshot();
    OpRestored out;
    WEFT_TRY(out.target, find_operation(snapshot, request.operation));
    WEFT_TRY(out.past, past_refs(snapshot, {out.target, request.before, workspace_ ? workspace_->name : std::string(),
                                            request.everything}));
    if (out.past.refs.empty() || request.dry_run) return std::optional(std::move(out));
    if (!request.everything) WEFT_DO(refuse_others_moves(out));
    own_label_ =
        std::string("op restore ") + (request.before ? "--before " : "") + out.target.id.hex().substr(0, kShownDigits);
    origin_.label = *own_label_;
    for (const auto& ref : out.past.refs) result_.undone.moves.push_back({ref.name, ref.then, ref.now});
    WEFT_TRY(out.done, move_back(transaction));
    if (!out.done) return std::optional<OpRestored>();
    return std::optional(std::move(out));
  }

 private:
  /// Looks at the workspace, and at where its files stand, before the transaction sees its refs.
  Result<store::Transaction> begin(bool needs_workspace) {
    const auto& location = repository_.location();
    record_.reset();
    if (location) record_ = read_files_record(repository_.context().env.fs, repository_.files_path(location->name));
    WEFT_TRY(auto transaction, repository_.store().begin());
    workspace_.reset();
    if (auto workspace = repository_.workspace_in(transaction.snapshot())) {
      workspace_ = *std::move(workspace);
      WEFT_TRY(state_, files_state(transaction.snapshot(), *workspace_, record_));
    } else if (needs_workspace) {
      return std::move(workspace).error();
    }
    result_ = {};
    return transaction;
  }

  static Result<void> refuse_others_moves(const OpRestored& restored) {
    Error error;
    std::string list;
    for (const auto& ref : restored.past.refs) {
      if (ref.others.empty()) continue;
      const auto& last = ref.others.front();
      list += (list.empty() ? "" : ", ") + ref.name + " (" + last.label + ", by " +
              (last.workspace.empty() ? "no workspace" : "workspace " + last.workspace) + ")";
      error.details.emplace_back("ref", ref.name);
      error.details.emplace_back("operation", last.id.hex());
    }
    if (list.empty()) return {};
    error.code = Code::refused;
    error.message = "others moved since what would go back: " + list;
    error.hint = "`weft undo OPERATION` takes back single operations of yours; --all takes back theirs as well";
    return error;
  }

  /// UN-4: whether the operation made a change that was sent since.
  Result<bool> made_and_sent(const store::Snapshot& snapshot) const {
    for (const auto& move : result_.undone.moves) {
      if (!move.after || move.after->version.changes.size() != 1 || is_private(move.ref)) continue;
      WEFT_TRY(const auto summary, snapshot.change_summary(move.after->version.changes.front()));
      const auto& parents = summary.parents;
      const std::vector<ChangeId> before = move.before ? move.before->version.changes : std::vector<ChangeId>();
      // Anything else moved refs to what was there before.
      const bool made = std::all_of(before.begin(), before.end(), [&](const ChangeId& id) {
        return std::find(parents.begin(), parents.end(), id) != parents.end();
      });
      if (!made || before.empty() != parents.empty() || !records_changes(origin_.label)) continue;
      WEFT_TRY(const bool sent, was_sent(snapshot, result_.undone, move.after->version));
      if (sent) return true;
    }
    return false;
  }

  static bool is_private(std::string_view ref) {
    return ref.starts_with(kKeptPrefix) || ref.starts_with(kRescuePrefix);
  }
  static bool records_changes(std::string_view label) {
    return label.starts_with(kCommitLabel) || label.starts_with(kListLabel) || label.starts_with(kLandLabel);
  }

  Result<bool> all_stand(const store::Snapshot& snapshot) {
    for (const auto& move : result_.undone.moves) {
      WEFT_TRY(const auto now, snapshot.ref(move.ref));
      if (!same_version(now, move.after)) return false;
    }
    return true;
  }

  std::string_view verb() const { return own_label_ ? "op restore" : request_.redo ? "redo" : "undo"; }

  std::string label() const {
    if (own_label_) return *own_label_;
    return std::string(request_.redo ? kRedoLabel : kUndoLabel) + subject_of(origin_.label);
  }

  void set_operation(store::Transaction& transaction) {
    auto info = operation_info(repository_.context(), label(), workspace_ ? workspace_->name : std::string(),
                               author_text(repository_.context()));
    if (!own_label_) info.undoes = result_.undone.id;
    transaction.set_operation(std::move(info));
  }

  /// Whether the head of this workspace stands where the operation left it and taking that back leads it on to changes
  /// above it (the redo of a commit or a landing). Recording the same again as a change of its own would make a second
  /// edit of what others' changes among them did.
  Result<bool> head_goes_forward(const store::Snapshot& snapshot) const {
    if (!workspace_) return false;
    const store::Operation::Move* head = nullptr;
    for (const auto& move : result_.undone.moves) {
      if (is_private(move.ref)) return false;
      if (is_own_head(move.ref)) head = &move;
    }
    if (head == nullptr || !head->before || !head->after || head->after->version != workspace_->head ||
        head->before->version == head->after->version) {
      return false;
    }
    return is_ancestor(snapshot, head->after->version, head->before->version);
  }

  bool is_own_head(const std::string& ref) const { return workspace_ && ref == workspace_ref(workspace_->name); }

  // --- UN-1, all refs stand: they go back ---

  struct FilesPlan {
    bool bring = false;
    Version to;     ///< where the files stand afterwards
    ObjectId tree;  ///< what they are brought to

    /// What an operation had recorded of the files before it wrote others: `tree` has it.
    std::optional<ChangeId> rescue;
    std::vector<std::string> paths;  ///< of the rescue; empty: all
    bool paths_alone = false;        ///< nothing else is brought anywhere
    std::optional<ObjectId> made;    ///< what the operation made of these paths
    std::vector<std::string> directories_made;
  };

  /// What undoing means for the files of this workspace (UN-2).
  Result<FilesPlan> plan_files(store::Transaction& transaction) {
    const store::Snapshot& snapshot = transaction.snapshot();
    FilesPlan plan;
    if (!workspace_) return plan;
    plan.to = workspace_->head;
    bool head_moves = false;
    for (const auto& move : result_.undone.moves) {
      if (!is_own_head(move.ref) || !move.before) continue;
      plan.to = move.before->version;
      head_moves = plan.to != workspace_->head;
    }
    if (head_moves && !keeps_files(origin_.label)) {
      plan.bring = true;
      WEFT_TRY(plan.tree, tree_of(snapshot, plan.to));
    }
    const std::string own_rescue = std::string(kRescuePrefix) + workspace_->name + "/";
    for (const auto& move : result_.undone.moves) {
      if (!move.ref.starts_with(own_rescue) || move.before || !move.after || move.after->version.changes.size() != 1) {
        continue;
      }
      WEFT_TRY(const auto change, snapshot.change(move.after->version.changes.front()));
      auto paths = rescued_paths(change);
      if (!paths) continue;
      plan.rescue = move.after->version.changes.front();
      plan.paths = *std::move(paths);
      plan.made = made_tree(change);
      plan.directories_made = directories_made(change);
      plan.paths_alone = plan.made || (!head_moves && !plan.paths.empty());
      if (plan.made) {
        // Nothing but this header leads to it: where the change was copied alone, nothing is taken for the operation's.
        WEFT_TRY(const bool there, snapshot.contains(object::ObjectKind::tree, *plan.made));
        if (!there) plan.made.reset();
      }
      if (plan.bring && !plan.paths.empty() && change.parents != plan.to.changes) {
        WEFT_TRY(plan.tree, put_on_top(transaction, plan.tree, change.tree, plan.paths));
      } else {
        plan.tree = change.tree;
      }
      plan.bring = true;
      return plan;
    }
    return plan;
  }

  /// `base` with what `top` has at the paths.
  Result<ObjectId> put_on_top(store::Transaction& transaction, const ObjectId& base, const ObjectId& top,
                              const std::vector<std::string>& paths) {
    tree::TreeEditor editor(transaction.reader(), base);
    for (const std::string& path : paths) {
      WEFT_TRY(auto entry, tree::find_path(transaction.reader(), top, path));
      if (entry) {
        WEFT_DO(editor.set_with_parents(path, *std::move(entry),
                                        [this](ByteView) { return repository_.context().env.random.id<NodeId>(); }));
        continue;
      }
      WEFT_TRY(const auto present, editor.find(path));
      if (present) WEFT_DO(editor.remove(path));
    }
    return editor.finish(transaction);
  }

  /// Records what bringing the files there would overwrite; afterwards `from_tree_` is what they are known to hold.
  /// Whatever is in the way refuses here, before anything is durable.
  Result<void> prepare_files(store::Transaction& transaction, FilesPlan& plan) {
    if (!plan.bring) return {};
    const store::Snapshot& snapshot = transaction.snapshot();
    WEFT_TRY(auto files, WorkspaceFiles::open(repository_, workspace_->name, workspace_->root));
    WEFT_DO(files.begin_writing());
    if (read_files_record(repository_.context().env.fs, repository_.files_path(workspace_->name)) != record_) {
      return make_error(Code::busy, "the files of this workspace were written out by another process meanwhile",
                        "try again");
    }
    files_.emplace(std::move(files));
    WEFT_TRY(state_, finish_interrupted(repository_, snapshot, *workspace_, *files_, std::move(state_)));
    WEFT_TRY(from_tree_, tree_of(snapshot, state_.at));
    if (plan.paths_alone) {
      WEFT_TRY(const bool nothing,
               rescue_files(transaction, plan.paths, plan.tree, {.unreached = plan.made, .paths_alone = true}));
      if (nothing) plan.bring = false;
      return {};
    }
    if (plan.rescue && plan.paths.empty()) {
      WEFT_DO(rescue_files(transaction, {}, plan.tree, {}));
    } else {
      WEFT_DO(rescue_edits(transaction, plan));
    }
    work::CheckoutOptions options;
    options.ignore = files_->ignore();
    WEFT_DO(work::preview_checkout(files_->tree(), transaction.reader(), from_tree_, plan.tree, options));
    return {};
  }

  /// Of files that are brought to another version, those with edits.
  Result<void> rescue_edits(store::Transaction& transaction, const FilesPlan& plan) {
    work::ScanOptions options = files_->scan_options();
    options.list_ignored = true;
    WEFT_TRY(const auto status, work::status(files_->tree(), transaction.reader(), from_tree_, options));
    WEFT_TRY(InTheWay blocking, in_the_way(transaction.reader(), from_tree_, plan.tree, status));
    // Where a rescue is brought back, untracked files were its operation's matter as well.
    std::erase_if(blocking.untracked, [&](const std::string& path) {
      const bool rescued = std::any_of(plan.paths.begin(), plan.paths.end(), [&](const std::string& each) {
        return is_below(path, each) || is_below(each, path) || path == each;
      });
      if (rescued) blocking.edited.push_back(path);
      return rescued;
    });
    if (!blocking.untracked.empty()) return refuse_in_the_way({{}, blocking.untracked}, verb());
    if (blocking.edited.empty()) return {};
    std::vector<std::string> paths = blocking.edited;
    for (const work::StatusEntry& entry : status.entries) {
      if (entry.change != work::Change::moved) continue;
      if (std::find(paths.begin(), paths.end(), entry.path) != paths.end()) paths.push_back(entry.old_path);
    }
    WEFT_DO(rescue_files(transaction, paths, plan.tree, {}));
    return {};
  }

  /// True: with `paths_alone`, there is nothing to do.
  Result<bool> rescue_files(store::Transaction& transaction, const std::vector<std::string>& paths,
                            const ObjectId& target, const OverwriteOptions& options) {
    WEFT_TRY(auto overwrite,
             prepare_overwrite(repository_, transaction, *workspace_, state_, *files_, paths, target, verb(), options));
    from_tree_ = overwrite.from;
    if (!overwrite.nothing) result_.rescue = std::move(overwrite.rescue);
    return overwrite.nothing;
  }

  /// Named: files that should be gone by now, but were not known (ignored, or edited since and untracked), and so stay.
  Result<void> note_what_stays(const FilesPlan& plan, const object::ObjectReader& reader) {
    if (!plan.paths_alone || !files_) return {};
    for (const std::string& path : plan.paths) {
      WEFT_TRY(const auto wanted, tree::find_path(reader, plan.tree, path));
      if (wanted) continue;
      const std::string parent = path.find('/') == std::string::npos ? std::string() : parent_path(path);
      const auto directory = open_below(files_->root(), parent);
      if (!directory || !directory->status(base_name(path))) continue;
      result_.notes.push_back(quoted(path) + " stays where it is: what it holds is not recorded as the operation's");
    }
    return {};
  }

  Result<void> bring_files(const FilesPlan& plan) {
    FileSystem& fs = repository_.context().env.fs;
    if (!workspace_) return {};
    if (!plan.bring && plan.paths_alone) {
      WEFT_TRY(const auto now, repository_.store().snapshot());
      return note_what_stays(plan, now);
    }
    if (!plan.bring) {
      // Kept as they are: from here on they are edits on top of where the head went back to.
      const bool moved = plan.to != workspace_->head;
      if (moved && !state_.head_was_moved) {
        return write_files_record(fs, repository_.files_path(workspace_->name), {plan.to, std::nullopt});
      }
      return {};
    }
    result_.files_kept = false;
    WEFT_TRY(const auto now, repository_.store().snapshot());
    if (plan.paths_alone) {
      work::CheckoutOptions options;
      options.ignore = files_->ignore();
      options.paths = plan.paths;
      options.keep_edits = true;
      options.progress = request_.progress;
      WEFT_TRY(result_.report, work::checkout(files_->tree(), now, from_tree_, plan.tree, options));
      remove_empty_directories(files_->root(), plan.directories_made);
      return note_what_stays(plan, now);
    }
    WriteOut what;
    what.from = state_.at;
    what.to = plan.to;
    what.from_tree = from_tree_;
    what.to_tree = plan.tree;
    // What was in the way refused before; of edits made since nothing was recorded (RE-1): kept by name.
    what.keep_edits = true;
    what.progress = request_.progress;
    WEFT_TRY(result_.report, write_out(repository_, workspace_->name, *files_, now, what));
    return {};
  }

  /// The refs went back, and the files did not follow (all the way): again would undo another operation.
  Error not_brought(Error error, const FilesPlan& plan) const {
    error.message += "; the " + std::string(verb()) + " itself is recorded, as operation " +
                     result_.operation.hex().substr(0, kShownDigits);
    const std::string finish =
        plan.paths_alone ? "weft restore --from " + plan.rescue->hex() + " PATHS" : std::string("weft switch @");
    error.hint = (error.code == Code::no_space ? "make room, then `" : "`") + finish + "` brings the rest of the files";
    for (const std::string& path : plan.paths) {
      if (plan.paths_alone) error.details.emplace_back("path", path);
    }
    return error;
  }

  /// Directories of workspaces that come back or go again with their refs.
  struct Directories {
    struct Back {
      std::string name;
      WorkspaceRecord record;
      Version head;
      std::optional<ObjectId> tree;
    };
    std::vector<Back> back;
    std::vector<Back> gone;
  };

  Result<Directories> plan_directories(const store::Snapshot& snapshot) {
    Directories out;
    for (const auto& move : result_.undone.moves) {
      if (!move.ref.starts_with(kWorkspacePrefix) || move.before.has_value() == move.after.has_value()) continue;
      const auto& value = move.before ? move.before : move.after;
      auto record = decode_workspace(value->extra);
      if (!record || record->path.empty()) continue;
      Directories::Back item{move.ref.substr(kWorkspacePrefix.size()), *std::move(record), value->version,
                             std::nullopt};
      if (!move.before) {
        if (is_own_head(move.ref)) return moved_on("it made the workspace you stand in");
        out.gone.push_back(std::move(item));
        continue;
      }
      WEFT_DO(check_place_is_free(repository_.context().env.fs, item.record.path));
      const std::string rescue = std::string(kRescuePrefix) + item.name + "/";
      for (const auto& other : result_.undone.moves) {
        if (!other.ref.starts_with(rescue) || !other.after || other.after->version.changes.size() != 1) continue;
        WEFT_TRY(const auto change, snapshot.change(other.after->version.changes.front()));
        if (rescued_paths(change)) item.tree = change.tree;
      }
      out.back.push_back(std::move(item));
    }
    return out;
  }

  Result<void> bring_directories(const Directories& directories) {
    for (const auto& item : directories.back) {
      WEFT_TRY(auto report,
               write_workspace(repository_, item.name, item.record, item.head, item.tree, request_.progress));
      result_.notes.push_back("workspace " + quoted(item.name) + " is back at " + quoted(item.record.path));
      result_.report.written += report.written;
    }
    for (const auto& item : directories.gone) {
      WEFT_TRY(const auto kept, remove_clean_files(repository_, item.name, item.record, item.head));
      result_.notes.push_back(kept ? "the files of workspace " + quoted(item.name) + " stay at " +
                                         quoted(item.record.path) + ": " + *kept
                                   : "the files of workspace " + quoted(item.name) + " were removed");
    }
    return {};
  }

  Result<std::optional<UndoResult>> move_back(store::Transaction& transaction) {
    const store::Snapshot& snapshot = transaction.snapshot();
    WEFT_TRY(FilesPlan plan, plan_files(transaction));
    Directories directories;
    if (!only_own_head_) {
      WEFT_TRY(directories, plan_directories(snapshot));
    }
    WEFT_DO(prepare_files(transaction, plan));
    for (const auto& move : result_.undone.moves) {
      if (only_own_head_ && !is_own_head(move.ref)) continue;
      store::RefEdit edit;
      edit.name = move.ref;
      edit.expect = move.after ? store::RefEdit::Expect::exactly : store::RefEdit::Expect::absent;
      if (move.after) edit.expected = move.after->version;
      edit.after = move.before;
      result_.moves.push_back({move.ref, move.after, move.before});
      transaction.edit_ref(std::move(edit));
    }
    set_operation(transaction);
    const auto committed = transaction.commit();
    if (!committed) return lost(committed.error());
    result_.operation = committed->id;
    if (const auto brought = bring_files(plan); !brought) return not_brought(brought.error(), plan);
    WEFT_DO(bring_directories(directories));
    note_other_workspaces();
    if (only_own_head_) note_refs_left_behind();
    return std::optional(std::move(result_));
  }

  void note_other_workspaces() {
    for (const auto& move : result_.moves) {
      if (!move.ref.starts_with(kWorkspacePrefix) || !move.before || !move.after || is_own_head(move.ref)) continue;
      result_.notes.push_back("the head of workspace " + quoted(move.ref.substr(kWorkspacePrefix.size())) +
                              " moved; its files follow with `weft switch @` there");
    }
  }

  // --- UN-1, something moved on: the inverse as a change on the head ---

  /// The move that says what the operation did to content, and whose result the head contains: that of a public ref,
  /// else that of this workspace's head.
  Result<const store::Operation::Move*> main_move(const store::Snapshot& snapshot) const {
    const store::Operation::Move* found = nullptr;
    for (const auto& move : result_.undone.moves) {
      const bool is_head = is_own_head(move.ref);
      const bool counts = is_head ? move.before.has_value() : check_movable_ref(move.ref).has_value();
      if (!counts || !move.after || move.after->version.empty() || (found != nullptr && is_head)) continue;
      WEFT_TRY(const bool contained, is_ancestor(snapshot, move.after->version, workspace_->head));
      if (contained) found = &move;
    }
    return found;
  }

  Error moved_on(std::string why) const {
    Error error = make_error(Code::refused,
                             "operation " + result_.undone.id.hex().substr(0, 8) + " (" + origin_.label +
                                 ") cannot be undone here: " + std::move(why),
                             "`weft op log` lists all operations; `weft undo OPERATION` undoes any of them");
    for (const auto& move : result_.undone.moves) error.details.emplace_back("ref", move.ref);
    return error;
  }

  Result<std::optional<UndoResult>> invert(store::Transaction& transaction) {
    const store::Snapshot& snapshot = transaction.snapshot();
    if (!workspace_) return moved_on("its refs moved on, and there is no workspace to record its inverse in");
    WEFT_DO(require_files_at_head(repository_, state_, *workspace_));
    WEFT_TRY(const store::Operation::Move* const move, main_move(snapshot));
    if (move == nullptr) {
      return moved_on("its refs moved on, and the head of this workspace does not contain what it did");
    }
    const Version after = move->after->version;
    const Version before = move->before ? move->before->version : Version();
    WEFT_TRY(const ObjectId base, tree_of(snapshot, after));
    WEFT_TRY(const ObjectId theirs, tree_of(snapshot, before));
    WEFT_TRY(const ObjectId ours, tree_of(snapshot, workspace_->head));
    WEFT_TRY(const auto merge, tree::merge_by_node(transaction.reader(), transaction, base, ours, theirs));
    if (!merge.tree) return blocked_error(merge, "undoing \"" + origin_.label + "\"");
    if (*merge.tree == ours) return moved_on("the head of this workspace holds nothing of it any more");
    return record_inverse(transaction, ours, *merge.tree);
  }

  Result<std::optional<UndoResult>> record_inverse(store::Transaction& transaction, const ObjectId& ours,
                                                   const ObjectId& tree) {
    const store::Snapshot& snapshot = transaction.snapshot();
    const Context& context = repository_.context();
    WEFT_TRY(const Identity author, find_identity(context, request_.author));
    const std::string title = (request_.redo ? "Redo \"" : "Undo \"") + subject_of(origin_.label) + "\"\n";
    WEFT_TRY(auto change, draft_change(context, snapshot, workspace_->head.changes, author, title));
    change.tree = tree;
    WEFT_TRY(change.ops, tree::derive_ops(transaction.reader(), ours, tree));
    WEFT_TRY(const ChangeId id, put_recorded(transaction, ours, change));
    FilesPlan plan;
    plan.to = Version(id);
    plan.tree = tree;
    plan.bring = !keeps_files(origin_.label);
    WEFT_DO(prepare_files(transaction, plan));

    store::RefEdit head = move_ref(workspace_ref(workspace_->name), workspace_->head, plan.to);
    head.keep_extra = true;
    const std::string head_ref = head.name;
    // A rescue's ref may stand in front: positions count from what the transaction holds already.
    const std::size_t first = result_.rescue ? 1 : 0;
    transaction.edit_ref(std::move(head));
    result_.moves.push_back({head_ref, store::RefValue{workspace_->head, {}}, store::RefValue{plan.to, {}}});
    result_.follow = workspace_->record.follow;
    if (!result_.follow.empty()) {
      store::RefEdit follow = move_ref(result_.follow, workspace_->head, plan.to);
      follow.skip = true;
      transaction.edit_ref(std::move(follow));
    }
    set_operation(transaction);
    const auto committed = transaction.commit();
    if (!committed) return lost(committed.error());
    result_.operation = committed->id;
    result_.how = UndoResult::How::inverse_change;
    result_.change = id;
    result_.advanced = !result_.follow.empty() && committed->moved[first + 1];
    if (result_.advanced) {
      result_.moves.push_back({result_.follow, store::RefValue{workspace_->head, {}}, store::RefValue{plan.to, {}}});
    }
    note_refs_left_behind();
    if (const auto brought = bring_files(plan); !brought) return not_brought(brought.error(), plan);
    return std::optional(std::move(result_));
  }

  /// The inverse stands on the head of this workspace; what the operation moved besides it still has what it did.
  void note_refs_left_behind() {
    for (const auto& move : result_.undone.moves) {
      if (is_own_head(move.ref) || !move.after || !check_movable_ref(move.ref)) continue;
      if (result_.advanced && move.ref == result_.follow) continue;
      result_.notes.push_back(quoted(move.ref) + " was not moved: " + (only_own_head_ ? "this" : "the inverse") +
                              " reaches it with the next `weft land " + move.ref + "`");
    }
  }

  static Result<std::optional<UndoResult>> lost(const Error& error) {
    if (error.code == Code::lost_race) return std::optional<UndoResult>();
    return error;
  }

  Repository& repository_;
  const UndoRequest& request_;
  std::optional<Repository::Workspace> workspace_;
  std::optional<FilesRecord> record_;  ///< state_ is what it says
  FilesState state_;
  store::Operation origin_;
  std::optional<std::string> own_label_;  ///< of an operation that undoes no other
  std::optional<WorkspaceFiles> files_;
  ObjectId from_tree_;
  bool only_own_head_ = false;  ///< the other refs moved on
  UndoResult result_;
};

}  // namespace

std::optional<TransactionId> pick_operation(const std::vector<store::Operation>& newest_first,
                                            std::string_view workspace, bool redo) {
  // Newest first: an operation stands unless one that stands undoes it. One that undoes an undo is a redo.
  std::set<TransactionId> undone;
  const auto is_undo = [&](const TransactionId& id) {
    for (const auto& operation : newest_first) {
      if (operation.id == id) return operation.undoes.has_value();
    }
    return false;
  };
  for (const auto& operation : newest_first) {
    if (undone.contains(operation.id)) continue;
    if (!operation.undoes) {
      if (operation.workspace != workspace) continue;
      return redo ? std::nullopt : std::optional(operation.id);
    }
    const bool is_redo = is_undo(*operation.undoes);
    if (redo && !is_redo && operation.workspace == workspace) return operation.id;
    undone.insert(*operation.undoes);
  }
  return std::nullopt;
}

Result<UndoResult> undo(Repository& repository, const UndoRequest& request) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    WEFT_TRY(auto undone, Undoer(repository, request).attempt());
    if (undone) return *std::move(undone);
  }
  return make_error(Code::lost_race, "the refs of that operation were moved by others all the time", "try again");
}

Result<OpRestored> restore_operation(Repository& repository, const OpRestoreRequest& request) {
  UndoRequest undo_request;
  undo_request.progress = request.progress;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    WEFT_TRY(auto restored, Undoer(repository, undo_request).attempt_restore(request));
    if (restored) return *std::move(restored);
  }
  return make_error(Code::lost_race, "the refs that would go back were moved by others all the time", "try again");
}

}  // namespace weft::repo
