// Imports into a real store: portions, refs, the workspace.
#include "git/import.h"

#include <gtest/gtest.h>

#include <fstream>

#include "git/testing/store_fixture.h"
#include "repo/files.h"

namespace weft::git::testing {
namespace {

class Import : public StoreFixture {
 protected:
  Result<ImportReport> import(repo::Repository& repository, const std::string& path) {
    ImportOptions options;
    options.path = path;
    options.helper = helper_path();
    return import_repository(repository, options);
  }
  static std::map<std::string, RefAction> actions(const ImportReport& report) {
    std::map<std::string, RefAction> result;
    for (const auto& ref : report.refs) result[ref.ref.name] = ref.action;
    return result;
  }
};

TEST_F(Import, HistoryRefsAndTheWorkspace) {
  two_commits();
  git().git({"tag", "-a", "-m", "annotated", "v1"});
  git().git({"tag", "of-tree", "HEAD^{tree}"});
  // No git makes such a branch.
  git().write(".git/refs/heads/of-tree", git().git({"rev-parse", "HEAD^{tree}"}) + "\n");
  git().git({"update-ref", "refs/remotes/origin/topic", "HEAD^"});
  git().git({"symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/topic"});
  auto repository = init(workspace());
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.commits, 3u);  // one of them is the tagged tree
  EXPECT_FALSE(report.empty);
  EXPECT_EQ(report.head_branch, "main");
  EXPECT_EQ(actions(report), (std::map<std::string, RefAction>{{"main", RefAction::created},
                                                               {"peer/origin/topic", RefAction::created},
                                                               {"tags/of-tree", RefAction::created},
                                                               {"tags/v1", RefAction::created}}));
  ASSERT_EQ(report.skipped.size(), 1u);
  EXPECT_EQ(report.skipped[0].git_name, "refs/heads/of-tree");

  const auto snapshot = repository.store().snapshot().value();
  const auto main = snapshot.ref("main").value();
  ASSERT_TRUE(main.has_value());
  const auto head = *Sha1::parse(git().head());
  EXPECT_EQ(main->version, object::Version(snapshot.find_git_commit(store_id(head)).value().value()));
  const auto change = snapshot.change(main->version.changes[0]).value();
  EXPECT_EQ(git_id(change), head);
  EXPECT_EQ(listing(snapshot, change.tree), git_listing(git(), "HEAD"));
  const auto tag = snapshot.ref("tags/v1").value();
  EXPECT_EQ(tag->version, main->version);
  EXPECT_EQ(git_object_id("tag", decode_tags(tag->extra).value().at(0)).hex(), git().git({"rev-parse", "v1"}));

  EXPECT_EQ(report.workspace, WorkspaceOutcome::checked_out);
  EXPECT_EQ(read(workspace() + "/a"), "more\n");
  EXPECT_EQ(read(workspace() + "/d/b"), "two\n");
  const auto now = repo::Repository::open(context(workspace())).value();
  EXPECT_EQ(now.workspace()->head, main->version);
  EXPECT_EQ(now.workspace()->record.follow, "main");
  ASSERT_TRUE(report.operation.has_value());
  const auto operation = snapshot.operation(*report.operation).value();
  ASSERT_TRUE(operation.has_value());
  EXPECT_EQ(operation->label, "git import");
  const auto verified = repository.store().verify(true, {});
  ASSERT_TRUE(verified.has_value()) << verified.error().message;
  for (const auto& finding : verified->findings) ADD_FAILURE() << finding.what;
}

TEST_F(Import, TwoStoresGetTheSameChangesAndASecondImportNothing) {  // GV1
  two_commits();
  auto one = init(workspace());
  std::filesystem::create_directories(directory_.path() + "/other");
  auto other = init(directory_.path() + "/other");
  const auto first = imported(one, git().path());
  const auto second = imported(other, git().path());
  ASSERT_EQ(first.refs.size(), second.refs.size());
  EXPECT_EQ(first.refs.at(0).change, second.refs.at(0).change);
  const auto again = imported(one, git().path());
  EXPECT_EQ(again.commits, 0u);
  EXPECT_EQ(actions(again), (std::map<std::string, RefAction>{{"main", RefAction::unchanged}}));
  EXPECT_FALSE(again.operation.has_value());
  EXPECT_EQ(again.workspace, WorkspaceOutcome::follows);
  EXPECT_FALSE(again.workspace_behind);
}

TEST_F(Import, WhatIsNewComesAndRefsMoveForward) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  git().write("c", "three\n");
  git().commit("third");
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.commits, 1u);
  EXPECT_EQ(report.known, 0u);
  EXPECT_EQ(actions(report), (std::map<std::string, RefAction>{{"main", RefAction::moved}}));
  // Its files are somebody's by now: they stay, and `weft switch` brings the new ones.
  EXPECT_EQ(report.workspace, WorkspaceOutcome::follows);
  EXPECT_TRUE(report.workspace_behind);
  EXPECT_FALSE(std::filesystem::exists(workspace() + "/c"));
}

TEST_F(Import, ADivergedRefStaysAndIsNamed) {  // GF1
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  const auto before = repository.store().snapshot().value().ref("main").value();
  git().git({"update-ref", "refs/remotes/origin/x", "HEAD"});
  imported(repository, git().path());
  git().git({"reset", "-q", "--hard", "HEAD^"});
  git().write("a", "rewritten\n");
  git().commit("rewritten");
  git().git({"branch", "new"});
  git().git({"update-ref", "refs/remotes/origin/x", "HEAD"});
  const auto report = imported(repository, git().path());
  EXPECT_EQ(actions(report),
            (std::map<std::string, RefAction>{
                {"main", RefAction::diverged}, {"new", RefAction::created}, {"peer/origin/x", RefAction::moved}}));
  EXPECT_EQ(repository.store().snapshot().value().ref("main").value(), before);
  EXPECT_EQ(report.workspace, WorkspaceOutcome::untouched);
}

TEST_F(Import, ARefThatGitIsMerelyBehindWithStays) {  // GF1
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  const auto before = repository.store().snapshot().value().ref("main").value();
  git().git({"reset", "-q", "--hard", "HEAD^"});
  const auto report = imported(repository, git().path());
  EXPECT_EQ(actions(report), (std::map<std::string, RefAction>{{"main", RefAction::behind}}));
  EXPECT_EQ(repository.store().snapshot().value().ref("main").value(), before);
  EXPECT_EQ(report.workspace, WorkspaceOutcome::follows);
  EXPECT_FALSE(report.workspace_behind);
  EXPECT_FALSE(report.operation.has_value());
}

TEST_F(Import, TheWorkTreeOfTheRepositoryItselfIsAdopted) {
  two_commits();
  git().write("a", "edited since\n");
  auto repository = init(git().path());
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.workspace, WorkspaceOutcome::adopted);
  EXPECT_EQ(read(git().path() + "/a"), "edited since\n");
  const auto now = repo::Repository::open(context(git().path())).value();
  EXPECT_EQ(now.workspace()->head, object::Version(report.refs.at(0).change));
}

TEST_F(Import, FilesInTheWorkspaceAreNeverTouched) {
  two_commits();
  auto repository = init(workspace());
  std::ofstream(workspace() + "/a") << "mine\n";
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.workspace, WorkspaceOutcome::follows);
  EXPECT_EQ(read(workspace() + "/a"), "mine\n");
  EXPECT_FALSE(std::filesystem::exists(workspace() + "/d"));
}

TEST_F(Import, TheWorkspaceFollowsTheBranchOfHead) {
  two_commits();
  git().git({"checkout", "-q", "-b", "trunk/next"});
  auto repository = init(workspace());
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.head_branch, "trunk/next");
  EXPECT_EQ(repo::Repository::open(context(workspace())).value().workspace()->record.follow, "trunk/next");
}

TEST_F(Import, AnEmptyRepositoryImportsNothingAndSaysSo) {
  auto repository = init(workspace());
  const auto report = imported(repository, git().path());
  EXPECT_TRUE(report.empty);
  EXPECT_EQ(report.commits, 0u);
  EXPECT_TRUE(repository.store().snapshot().value().refs("main").value().empty());
}

TEST_F(Import, AnInterruptedImportKeepsWhatCameAndGoesOn) {  // GI1
  two_commits();
  git().write("late", "late\n");
  const auto last = git().commit("third");
  const auto blob = git().git({"rev-parse", last + ":late"});
  const auto loose = git().path() + "/.git/objects/" + blob.substr(0, 2) + "/" + blob.substr(2);
  std::filesystem::rename(loose, directory_.path() + "/kept");
  auto repository = init(workspace());
  const auto failed = import(repository, git().path());
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::invalid);  // the git repository's damage, not the store's
  EXPECT_TRUE(repository.store().snapshot().value().refs("main").value().empty());
  std::filesystem::rename(directory_.path() + "/kept", loose);
  const auto report = imported(repository, git().path());
  EXPECT_EQ(report.commits, 1u);
  EXPECT_EQ(report.known, 2u);
  std::filesystem::create_directories(directory_.path() + "/other");
  auto other = init(directory_.path() + "/other");
  EXPECT_EQ(imported(other, git().path()).refs.at(0).change, report.refs.at(0).change);
}

TEST_F(Import, AMissingHelperIsNamed) {
  auto repository = init(workspace());
  ImportOptions options;
  options.path = git().path();
  options.helper = directory_.path() + "/weft-git";
  const auto report = import_repository(repository, options);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, Code::peer);
  EXPECT_NE(report.error().message.find(options.helper), std::string::npos);
}

TEST_F(Import, AHelperThatSaysNothingOrNonsenseIsAnError) {
  two_commits();
  auto repository = init(workspace());
  const std::string script = directory_.path() + "/helper";
  for (const std::string body : {"exit 7", "echo nonsense", "head -c 100000 /dev/zero", "kill -9 $$"}) {
    SCOPED_TRACE(body);
    std::ofstream(script) << "#!/bin/sh\n" << body << "\n";
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    ImportOptions options;
    options.path = git().path();
    options.helper = script;
    const auto report = import_repository(repository, options);
    ASSERT_FALSE(report.has_value());
    EXPECT_EQ(report.error().code, Code::peer) << report.error().message;
  }
}

TEST(RefNames, GitRefsBecomeWeftRefs) {  // GF2
  std::vector<GitRef> refs;
  for (const char* name :
       {"refs/heads/main", "refs/heads/a/b", "refs/heads/workspaces/x", "refs/heads/tags/x", "refs/heads/peer/x",
        "refs/heads/kept/x", "refs/tags/v1", "refs/remotes/origin/main", "refs/notes/commits", "refs/stash"}) {
    refs.push_back({name, wire::TargetKind::commit, Sha1{}, {}, Sha1{}});
  }
  refs.push_back({"refs/heads/" + std::string(300, 'n'), wire::TargetKind::commit, Sha1{}, {}, Sha1{}});
  refs.push_back({"refs/tags/blob", wire::TargetKind::blob, Sha1{}, {}, Sha1{}});
  refs.push_back({"refs/heads/blob", wire::TargetKind::blob, Sha1{}, {}, Sha1{}});
  const auto mapping = map_refs(refs);
  std::vector<std::string> names;
  for (const auto& ref : mapping.refs) names.push_back(ref.name);
  EXPECT_EQ(names, (std::vector<std::string>{"main", "a/b", "tags/v1", "peer/origin/main", "tags/blob"}));
  EXPECT_EQ(mapping.skipped.size(), 6u);
  EXPECT_EQ(branch_ref("refs/heads/a/b"), "a/b");
  EXPECT_EQ(branch_ref("refs/heads/workspaces/x"), "");
  EXPECT_EQ(branch_ref(""), "");
}

TEST(RefNames, TagsComeBack) {
  const std::vector<Bytes> tags{"outer", ""};
  const Bytes extra = encode_tags(tags);
  EXPECT_EQ(decode_tags(extra).value(), tags);
  for (std::size_t length = 0; length < extra.size(); ++length) {
    EXPECT_EQ(decode_tags(ByteView(extra).substr(0, length)).error().code, Code::damaged) << length;
  }
  EXPECT_FALSE(decode_tags(extra + "x").has_value());
}

}  // namespace
}  // namespace weft::git::testing
