#include "git/helper/ref_mover.h"

#include <vector>

#include "git/helper/work_tree.h"

namespace weft::git::helper {
namespace {

using wire::MoveStatus;

constexpr char kReflogText[] = "weft git export";

struct FreeTransaction {
  void operator()(git_transaction* transaction) const { git_transaction_free(transaction); }
};
struct FreeReference {
  void operator()(git_reference* reference) const { git_reference_free(reference); }
};
struct FreeIndex {
  void operator()(git_index* index) const { git_index_free(index); }
};
struct FreeCommit {
  void operator()(git_commit* commit) const { git_commit_free(commit); }
};
struct FreeTree {
  void operator()(git_tree* tree) const { git_tree_free(tree); }
};
struct FreeIterator {
  void operator()(git_reference_iterator* iterator) const { git_reference_iterator_free(iterator); }
};
struct FreeDiff {
  void operator()(git_diff* diff) const { git_diff_free(diff); }
};
struct FreeEntry {
  void operator()(git_tree_entry* entry) const { git_tree_entry_free(entry); }
};
using Tree = std::unique_ptr<git_tree, FreeTree>;
struct FreeNames {
  void operator()(git_strarray* names) const { git_strarray_dispose(names); }
};

std::string last_error() {
  const ::git_error* last = git_error_last();
  return last && last->message ? last->message : "unknown error";
}

MoveResult not_done(MoveStatus status, std::string text) { return {status, Sha1{}, std::move(text)}; }
MoveResult failed(int error) {
  return not_done(error == GIT_ELOCKED ? MoveStatus::busy : MoveStatus::refused, last_error());
}

Result<Tree> tree_of(git_repository* repository, const Sha1& commit_id) {
  const git_oid oid = to_oid(commit_id);
  git_commit* raw_commit = nullptr;
  if (git_commit_lookup(&raw_commit, repository, &oid) != 0) {
    return library_error(Code::io, "cannot read the git commit " + commit_id.hex());
  }
  const std::unique_ptr<git_commit, FreeCommit> commit(raw_commit);
  git_tree* raw_tree = nullptr;
  if (git_commit_tree(&raw_tree, raw_commit) != 0) {
    return library_error(Code::io, "cannot read the git tree of " + commit_id.hex());
  }
  return Tree(raw_tree);
}

/// Whether two trees have the same at a path, also nothing.
bool same_at(git_tree* a, git_tree* b, const char* path) {
  git_tree_entry* raw_one = nullptr;
  git_tree_entry* raw_other = nullptr;
  if (a != nullptr) git_tree_entry_bypath(&raw_one, a, path);
  const std::unique_ptr<git_tree_entry, FreeEntry> one(raw_one);
  git_tree_entry_bypath(&raw_other, b, path);
  const std::unique_ptr<git_tree_entry, FreeEntry> other(raw_other);
  if (!one || !other) return !one && !other;
  return git_oid_equal(git_tree_entry_id(raw_one), git_tree_entry_id(raw_other)) != 0 &&
         git_tree_entry_filemode(raw_one) == git_tree_entry_filemode(raw_other);
}

/// Whether something that is no directory stands where a path needs one.
bool blocked_in(git_tree* tree, const std::string& path) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    git_tree_entry* raw = nullptr;
    if (git_tree_entry_bypath(&raw, tree, path.substr(0, slash).c_str()) != 0) return false;
    const std::unique_ptr<git_tree_entry, FreeEntry> entry(raw);
    if (git_tree_entry_filemode(raw) != GIT_FILEMODE_TREE) return true;
  }
  return false;
}

/// What `git add` and `git rm` prepared.
struct Staged {
  std::string path;
  bool removed = false;
  git_index_entry entry{};  ///< its path is not set
};

/// What the index has and `before` has not, where `after` is as `before` was. 0, or libgit2's error.
int find_staged(git_repository* repository, git_index* index, git_tree* before, git_tree* after,
                std::vector<Staged>& staged) {
  git_diff_options options = GIT_DIFF_OPTIONS_INIT;
  options.flags = GIT_DIFF_INCLUDE_TYPECHANGE;
  git_diff* raw = nullptr;
  if (const int error = git_diff_tree_to_index(&raw, repository, before, index, &options); error != 0) return error;
  const std::unique_ptr<git_diff, FreeDiff> diff(raw);
  for (std::size_t i = 0; i < git_diff_num_deltas(raw); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(raw, i);
    Staged each;
    each.path = delta->new_file.path;
    if (!same_at(before, after, each.path.c_str()) || blocked_in(after, each.path)) continue;
    const git_index_entry* entry = git_index_get_bypath(index, each.path.c_str(), 0);
    each.removed = entry == nullptr;
    if (entry != nullptr) each.entry = *entry;
    staged.push_back(std::move(each));
  }
  return 0;
}

}  // namespace

std::string RefMover::head_branch() const {
  git_reference* raw = nullptr;
  if (git_reference_lookup(&raw, repository_.handle(), "HEAD") != 0) return {};
  const std::unique_ptr<git_reference, FreeReference> head(raw);
  return git_reference_type(raw) == GIT_REFERENCE_SYMBOLIC ? git_reference_symbolic_target(raw) : std::string();
}

std::string RefMover::ref_in_the_way(const std::string& name) const {
  constexpr std::string_view kRefs = "refs/";
  for (auto slash = name.find('/', kRefs.size()); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    const std::string above = name.substr(0, slash);
    git_oid ignored;
    if (git_reference_name_to_id(&ignored, repository_.handle(), above.c_str()) == 0) return above;
  }
  git_reference_iterator* raw = nullptr;
  if (git_reference_iterator_new(&raw, repository_.handle()) != 0) return {};
  const std::unique_ptr<git_reference_iterator, FreeIterator> iterator(raw);
  const char* each = nullptr;
  while (git_reference_next_name(&each, iterator.get()) == 0) {
    if (std::string_view(each).starts_with(name + "/")) return each;
  }
  return {};
}

std::string RefMover::index_problem() const {
  if (git_repository_state(repository_.handle()) != GIT_REPOSITORY_STATE_NONE) {
    return "git is in the middle of a merge, rebase or the like";
  }
  git_index* raw = nullptr;
  if (git_repository_index(&raw, repository_.handle()) != 0) return last_error();
  const std::unique_ptr<git_index, FreeIndex> index(raw);
  if (git_index_has_conflicts(raw) == 1) return "git's index has unmerged files";
  if (leaves_files_out(repository_.handle())) return "the git work tree is a sparse checkout";
  return {};
}

bool RefMover::checked_out_elsewhere(const std::string& name) const {
  git_repository* repository = repository_.handle();
  const std::string own = git_repository_path(repository);
  if (git_repository_is_worktree(repository) == 1) {
    // The first work tree is no entry in the list of linked ones.
    git_repository* raw_first = nullptr;
    if (git_repository_open(&raw_first, git_repository_commondir(repository)) == 0) {
      const std::unique_ptr<git_repository, decltype(&git_repository_free)> first(raw_first, git_repository_free);
      git_reference* raw_head = nullptr;
      if (git_repository_is_bare(raw_first) == 0 && git_reference_lookup(&raw_head, raw_first, "HEAD") == 0) {
        const std::unique_ptr<git_reference, FreeReference> head(raw_head);
        if (git_reference_type(raw_head) == GIT_REFERENCE_SYMBOLIC && name == git_reference_symbolic_target(raw_head)) {
          return true;
        }
      }
    }
  }
  git_strarray raw{};
  if (git_worktree_list(&raw, repository) != 0) return false;
  const std::unique_ptr<git_strarray, FreeNames> names(&raw);
  for (std::size_t i = 0; i < raw.count; ++i) {
    if (own.ends_with("/worktrees/" + std::string(raw.strings[i]) + "/")) continue;
    git_reference* raw_head = nullptr;
    // Resolved to the branch; a branch without commits is nobody's to move.
    if (git_repository_head_for_worktree(&raw_head, repository, raw.strings[i]) != 0) continue;
    const std::unique_ptr<git_reference, FreeReference> head(raw_head);
    if (name == git_reference_name(raw_head)) return true;
  }
  return false;
}

Result<MoveResult> RefMover::set_index(const Sha1& from, const Sha1& to) const {
  WEFT_TRY(const Tree tree, tree_of(repository_.handle(), to));
  Tree before;
  if (!from.is_zero()) {
    WEFT_TRY(before, tree_of(repository_.handle(), from));
  }
  git_index* raw_index = nullptr;
  if (git_repository_index(&raw_index, repository_.handle()) != 0) return failed(-1);
  const std::unique_ptr<git_index, FreeIndex> index(raw_index);
  std::vector<Staged> staged;
  int error = git_index_read(raw_index, 1);
  if (error == 0) error = find_staged(repository_.handle(), raw_index, before.get(), tree.get(), staged);
  // Entries whose content stays keep what git knows of their files.
  if (error == 0) error = git_index_read_tree(raw_index, tree.get());
  for (const auto& each : staged) {
    if (error != 0) break;
    git_index_entry entry = each.entry;
    entry.path = each.path.c_str();
    error = each.removed ? git_index_remove(raw_index, each.path.c_str(), 0) : git_index_add(raw_index, &entry);
  }
  if (error == 0) error = git_index_write(raw_index);
  if (error != 0) {
    MoveResult result = failed(error);
    result.text = "git's index cannot be written: " + result.text;
    return result;
  }
  return MoveResult{};
}

Result<MoveResult> RefMover::move(const std::string& name, const Sha1& expected, const Sha1& target,
                                  bool own_work_tree) const {
  git_repository* repository = repository_.handle();
  int valid = 0;
  if (git_reference_name_is_valid(&valid, name.c_str()) != 0 || valid == 0) {
    return not_done(MoveStatus::refused, "git cannot have a ref of that name");
  }
  struct GiveBack {
    const LockNote& note;
    ~GiveBack() { note.given_back(); }
  };
  const GiveBack give_back{note_};  // behind the transaction's end, which gives the lock back
  git_transaction* raw = nullptr;
  if (git_transaction_new(&raw, repository) != 0) return library_error(Code::io, "cannot lock git's refs");
  const std::unique_ptr<git_transaction, FreeTransaction> transaction(raw);
  if (const int error = git_transaction_lock_ref(raw, name.c_str()); error != 0) {
    MoveResult result = failed(error);
    if (const std::string other = ref_in_the_way(name); !other.empty()) {
      result =
          not_done(MoveStatus::refused, "git cannot have it beside " + other + ": one of the two needs another name");
    }
    return result;
  }
  note_.taken(name);

  // RM1: under the lock.
  MoveResult result;
  git_reference* raw_ref = nullptr;
  const int found = git_reference_lookup(&raw_ref, repository, name.c_str());
  const std::unique_ptr<git_reference, FreeReference> reference(raw_ref);
  if (found != 0 && found != GIT_ENOTFOUND) return failed(found);
  if (found == 0 && git_reference_type(raw_ref) != GIT_REFERENCE_DIRECT) {
    return not_done(MoveStatus::refused, "it is a symbolic ref");
  }
  if (found == 0) result.actual = from_oid(*git_reference_target(raw_ref));
  if (result.actual != expected) {
    result.status = MoveStatus::changed;
    return result;
  }
  const bool at_head = git_repository_is_bare(repository) == 0 && head_branch() == name;
  if (checked_out_elsewhere(name) || (at_head && !own_work_tree)) {
    return not_done(MoveStatus::checked_out, "a work tree has it checked out");
  }
  if (at_head && !target.is_zero()) {  // RM2
    if (auto problem = index_problem(); !problem.empty()) return not_done(MoveStatus::busy, std::move(problem));
    WEFT_TRY(MoveResult indexed, set_index(expected, target));
    if (indexed.status != MoveStatus::done) return indexed;
  }
  if (at_head && target.is_zero()) return not_done(MoveStatus::checked_out, "git's HEAD is on it");

  const git_oid oid = to_oid(target);
  int error = target.is_zero() ? git_transaction_remove(raw, name.c_str())
                               : git_transaction_set_target(raw, name.c_str(), &oid, nullptr, kReflogText);
  if (error == 0) error = git_transaction_commit(raw);
  if (error != 0) {
    MoveResult not_moved = failed(error);
    if (at_head && !expected.is_zero()) {
      WEFT_TRY(const MoveResult back, set_index(target, expected));
      (void)back;  // the move's failure is the one to tell
    }
    return not_moved;
  }
  result.actual = target;
  return result;
}

Result<MoveResult> RefMover::attach(const std::string& branch) const {
  git_repository* repository = repository_.handle();
  if (git_repository_is_bare(repository) != 0)
    return not_done(MoveStatus::refused, "the git repository has no work tree");
  const std::string now = head_branch();
  if (now.empty()) return not_done(MoveStatus::refused, "git's HEAD is detached");
  if (now == branch) return MoveResult{};
  git_oid oid;
  if (git_reference_name_to_id(&oid, repository, branch.c_str()) != 0) return failed(-1);
  if (checked_out_elsewhere(branch)) return not_done(MoveStatus::checked_out, "a work tree has it checked out");
  if (auto problem = index_problem(); !problem.empty()) return not_done(MoveStatus::busy, std::move(problem));
  git_oid here{};
  git_reference_name_to_id(&here, repository, now.c_str());  // zero where the branch has no commit yet
  WEFT_TRY(MoveResult indexed, set_index(from_oid(here), from_oid(oid)));
  if (indexed.status != MoveStatus::done) return indexed;
  if (const int error = git_repository_set_head(repository, branch.c_str()); error != 0) return failed(error);
  MoveResult result;
  result.actual = from_oid(oid);
  return result;
}

Result<void> RefMover::check_out() const {
  if (git_repository_head_unborn(repository_.handle()) != 0) return {};
  git_checkout_options options = GIT_CHECKOUT_OPTIONS_INIT;
  options.checkout_strategy = GIT_CHECKOUT_SAFE | GIT_CHECKOUT_RECREATE_MISSING;
  if (git_checkout_head(repository_.handle(), &options) != 0) {
    return library_error(Code::io, "everything is exported, but the files of the new work tree could not be written");
  }
  return {};
}

}  // namespace weft::git::helper
