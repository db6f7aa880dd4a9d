// Exports of real stores into real git repositories, checked by the git command.
#include "git/export.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "git/commit_object.h"
#include "git/export_cache.h"
#include "git/export_commit.h"
#include "git/testing/store_fixture.h"
#include "repo/land.h"
#include "repo/recording.h"

namespace weft::git::testing {
namespace {

class Export : public StoreFixture {};

/// Everything odd that git can hold and weft can import.
void make_odd_history(GitRepository& r) {
  r.write("a", "one\n");
  r.write("d/b", "two\n");
  r.write("d/run", "#!/bin/sh\n");
  std::filesystem::permissions(r.path() + "/d/run", std::filesystem::perms(0755));
  std::filesystem::create_symlink("a", r.path() + "/link");
  r.commit("first");
  r.git({"branch", "topic"});
  r.git({"mv", "d", "moved"});
  r.write("a", "more\n");
  const auto second = r.commit("second");
  r.git({"switch", "-q", "topic"});
  r.write("t", "topic\n");
  r.commit("on topic");
  r.git({"switch", "-q", "main"});
  r.git({"merge", "-q", "--no-ff", "-m", "merge", "topic"});
  const auto blob = r.object("blob", "content\n");
  const auto empty = r.object("tree", "");
  const auto plain = r.object("tree", GitRepository::entry("100644", "f", blob));
  const auto group = r.object("tree", GitRepository::entry("100664", "f", blob));
  const auto hollow = r.object("tree", GitRepository::entry("40000", "nothing", empty));
  const auto deeper = r.object("tree", GitRepository::entry("40000", "e", hollow));
  const auto submodule = GitRepository::entry("160000", "sub", second);
  const auto root = [&](const std::string& d, const std::string& mode, const std::string& more) {
    return r.object("tree", GitRepository::entry(mode, "d", d) + more);
  };
  std::vector<std::string> trees{empty,
                                 root(group, "40000", ""),
                                 root(group, "40000", submodule),
                                 root(plain, "40000", submodule),
                                 root(plain, "040000", submodule),
                                 root(hollow, "40000", submodule),
                                 root(deeper, "40000", submodule),
                                 root(r.object("tree", GitRepository::entry("40000", "g", group)), "40000", ""),
                                 root(r.object("tree", GitRepository::entry("40000", "g", plain)), "40000", ""),
                                 root(r.object("tree", GitRepository::entry("40000", "g", group)), "40000", ""),
                                 r.object("tree", submodule + GitRepository::entry("40000", "d", plain)),
                                 empty};
  std::string parent = r.head();
  for (const auto& tree : trees) parent = r.commit_tree(tree, {parent});
  const std::string tree = r.git({"rev-parse", "HEAD^{tree}"});
  for (const std::string& rest : std::vector<std::string>{
           "author A <a@x> 1700000000 -0830\ncommitter C <c@x> 1700000001 +0545\n\nno final newline",
           "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\nencoding latin1\n\nSchl\xfcsse\n",
           "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\ngpgsig -----BEGIN PGP\n \n abc\n "
           "-----END PGP\n\nsigned\n",
           "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\nx-extra y\nmergetag object\n b\n\n"}) {
    parent = r.object("commit", "tree " + tree + "\nparent " + parent + "\n" + rest);
  }
  std::string octopus = "tree " + tree + "\n";
  for (int i = 0; i < 70; ++i) {
    octopus += "parent " + r.commit_tree(tree, {parent}) + "\n";
  }
  parent =
      r.object("commit", octopus + "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\n\noctopus\n");
  const auto other_root = r.commit_tree(plain, {});
  parent = r.object("commit", "tree " + tree + "\nparent " + parent + "\nparent " + other_root +
                                  "\nauthor A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\n\nroots\n");
  r.git({"update-ref", "refs/heads/main", parent});
  r.git({"update-ref", "refs/remotes/origin/topic", second});
  r.git({"tag", "light", second});
  r.git({"tag", "-a", "-m", "annotated", "annotated", second});
  r.git({"tag", "-a", "-m", "nested", "nested", "annotated"});
}

TEST_F(Export, AnImportedHistoryComesOutBitForBit) {  // HE1, GE1
  make_odd_history(git());
  auto repository = init(workspace());
  imported(repository, git().path());
  const auto report = exported(repository, target());
  EXPECT_TRUE(report.created);
  EXPECT_EQ(actions(report).count(ExportAction::created), report.refs.size());
  GitRepository out = opened(target());
  EXPECT_EQ(refs_of(out), refs_of(git()));
  EXPECT_EQ(objects_of(out), objects_of(git()));
  // What git has to say about such a history it says about both.
  EXPECT_EQ(out.run({"fsck", "--full", "--no-dangling"}).err, git().run({"fsck", "--full", "--no-dangling"}).err);
  EXPECT_EQ(out.git({"symbolic-ref", "HEAD"}), "refs/heads/main");
  EXPECT_EQ(out.git({"rev-parse", "--is-bare-repository"}), "true");

  const auto again = exported(repository, target());
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.commits, 0u);
  EXPECT_EQ(again.objects, 0u);
  EXPECT_EQ(actions(again).count(ExportAction::unchanged), again.refs.size());
}

/// Tags of every kind that name no commit.
void make_target_tags(GitRepository& r) {
  const auto tree = r.git({"rev-parse", "HEAD^{tree}"});
  const auto blob = r.git({"rev-parse", "HEAD:a"});
  const auto key = r.object("blob", "a key that no commit holds\n");
  const auto group = r.object("tree", GitRepository::entry("100664", "f", key));
  const auto empty = r.object("tree", "");
  r.git({"tag", "tree-light", tree});
  r.git({"tag", "blob-light", key});
  r.git({"tag", "tree-odd", r.object("tree", GitRepository::entry("40000", "g", group))});
  r.git({"tag", "tree-empty", empty});
  r.git({"tag", "tree-of-nothing", r.object("tree", GitRepository::entry("40000", "hollow", empty))});
  r.git({"tag", "-a", "-m", "of a tree", "tree", tree});
  r.git({"tag", "-a", "-m", "of a tag", "tree-nested", "tree"});
  r.git({"tag", "-a", "-m", "of a blob", "blob", blob});
  r.git({"tag", "large", r.object("blob", std::string(3u << 20, 'x'))});
  r.git({"tag", "signed",
         r.object("tag", "object " + key +
                             "\ntype blob\ntag signed\ntagger A <a@x> 1700000000 +0000\n\n"
                             "key\n-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n")});
}

TEST_F(Export, TagsOfTreesAndBlobsComeOutBitForBit) {  // GW5, HE4, GF2
  two_commits();
  make_target_tags(git());
  auto repository = init(workspace());
  const auto first = imported(repository, git().path());
  EXPECT_EQ(first.skipped.size(), 0u) << first.skipped.at(0).git_name << ": " << first.skipped.at(0).reason;
  const auto report = exported(repository, target());
  EXPECT_EQ(report.commits, 2u);
  GitRepository out = opened(target());
  EXPECT_EQ(refs_of(out), refs_of(git()));
  const auto everything = [](const GitRepository& r) {
    return r.run({"cat-file", "--batch-all-objects", "--batch-check", "--unordered"}).out;
  };
  const auto lines = [](const std::string& text) {
    std::istringstream in(text);
    std::set<std::string> result;
    for (std::string line; std::getline(in, line);) result.insert(line);
    return result;
  };
  // Git knows the empty tree without having it.
  auto had = lines(everything(git()));
  EXPECT_EQ(lines(everything(out)), had);
  EXPECT_EQ(out.run({"fsck", "--full"}).err, git().run({"fsck", "--full"}).err);

  // Nothing changes a second time, in either direction; and another store reads the same out of the copy.
  EXPECT_EQ(imported(repository, git().path()).commits, 0u);
  EXPECT_EQ(exported(repository, target()).objects, 0u);
  std::filesystem::create_directories(directory_.path() + "/other");
  auto other = init(directory_.path() + "/other");
  imported(other, target());
  const auto mine = repository.store().snapshot().value().refs("tags/").value();
  const auto theirs = other.store().snapshot().value().refs("tags/").value();
  ASSERT_EQ(mine.size(), 10u);
  ASSERT_EQ(theirs.size(), mine.size());
  for (std::size_t i = 0; i < mine.size(); ++i) {
    EXPECT_EQ(theirs[i].value.version, mine[i].value.version) << mine[i].name;
    EXPECT_EQ(theirs[i].value.extra, mine[i].value.extra) << mine[i].name;
  }

  // New ones, and one that moved: only they travel.
  git().git({"tag", "later", git().object("blob", "later\n")});
  git().git({"tag", "-f", "blob-light", git().git({"rev-parse", "HEAD:d/b"})});
  const auto more = imported(repository, git().path());
  EXPECT_EQ(more.commits, 2u);
  EXPECT_EQ(repository.store().snapshot().value().refs("tags/").value().size(), 11u);
  const auto third = exported(repository, target());
  EXPECT_EQ(third.commits, 0u);
  EXPECT_EQ(out.git({"rev-parse", "later"}), git().git({"rev-parse", "later"}));
}

TEST_F(Export, WorkOnATaggedTreeBecomesACommitWithoutIt) {  // HE4
  two_commits();
  git().git({"tag", "tree", git().git({"rev-parse", "HEAD^{tree}"})});
  auto repository = init(workspace());
  imported(repository, git().path());
  repo::SwitchRequest request;
  for (const auto& [to, create] : {std::pair("tags/tree", false), std::pair("from-tree", true)}) {
    request.target = to;
    request.create = create;
    const auto switched = repo::switch_workspace(repository, request);
    ASSERT_TRUE(switched.has_value()) << switched.error().message;
  }
  // A branch cannot name a tree.
  auto report = exported(repository, target());
  for (const auto& ref : report.refs) {
    if (ref.name == "from-tree") {
      EXPECT_EQ(ref.action, ExportAction::skipped);
    }
  }
  write("a", "edited\n");
  commit(repository, "On the tree");
  report = exported(repository, target());
  GitRepository out = opened(target());
  EXPECT_EQ(out.git({"rev-list", "--count", "from-tree"}), "1");
  EXPECT_EQ(out.git({"show", "from-tree:a"}), "edited");
  EXPECT_EQ(out.git({"show", "from-tree:d/b"}), "two");
  fsck_strict(out);
  EXPECT_EQ(imported(repository, target()).commits, 0u);
}

TEST_F(Export, OwnChangesBecomeTheSameCommitsEverywhere) {  // GX1, GX2
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  write("new/file", "new\n");
  std::filesystem::rename(workspace() + "/d", workspace() + "/renamed");
  write(std::string("odd \x01\xff name"), "odd\n");
  commit(repository, "Own change");
  write("a", "once more\n");
  environment_["WEFT_AUTHOR"] = "Another Name <odd@x.y>";
  environment_["WEFT_AGENT"] = "agent 7";
  auto same = repo::Repository::open(context(workspace())).value();
  commit(same, "No newline");
  const auto report = exported(same, target());
  EXPECT_EQ(report.commits, 4u);
  EXPECT_EQ(report.empty_directories, 0u);
  GitRepository out = opened(target());
  fsck_strict(out);
  EXPECT_EQ(out.git({"rev-list", "--count", "main"}), "4");
  EXPECT_EQ(out.git({"rev-parse", "main~2"}), git().head());
  EXPECT_EQ(out.git({"log", "-1", "--format=%B", "main"}), "No newline\n");
  const std::string raw = out.run({"cat-file", "commit", "main"}).out;
  EXPECT_NE(raw.find("\nweft-agent agent 7\nweft-change "), std::string::npos) << raw;
  const auto snapshot = same.store().snapshot().value();
  const auto main = snapshot.ref("main").value()->version;
  EXPECT_EQ(listing(snapshot, snapshot.change(main.changes[0]).value().tree), git_listing(out, "main"));
  EXPECT_EQ(snapshot.find_git_commit(store_id(*Sha1::parse(out.git({"rev-parse", "main"})))).value(), main.changes[0]);

  std::filesystem::create_directories(workspace() + "/hollow/inside");
  commit(same, "Only an empty directory");
  EXPECT_GE(exported(same, target()).empty_directories, 1u);
  EXPECT_EQ(out.git({"diff", "--stat", "main^", "main"}), "");

  // Without the cache, into another repository, and in steps: the same ids.
  std::filesystem::remove_all(workspace() + "/.weft/git");
  exported(same, directory_.path() + "/other");
  EXPECT_EQ(refs_of(opened(directory_.path() + "/other")), refs_of(out));
  exported(same, git().path(), [](ExportOptions& options) { options.refs = {"main"}; }, Code::refused);
  git().git({"switch", "-q", "--detach"});
  exported(same, git().path());
  EXPECT_EQ(git().git({"rev-parse", "main"}), out.git({"rev-parse", "main"}));
}

TEST_F(Export, RoundsOfBothSidesAreStable) {  // GX3, GV5
  two_commits();
  git().git({"config", "receive.denyCurrentBranch", "ignore"});
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  GitRepository out = opened(target());
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    write("own" + std::to_string(round), "own\n");
    commit(repository, "own");
    const auto first = exported(repository, target());
    EXPECT_EQ(first.commits, 1u);
    GitRepository clone(directory_.path(), "clone" + std::to_string(round));
    clone.git({"pull", "-q", target(), "main"});
    clone.write("git" + std::to_string(round), "git\n");
    clone.commit("in git");
    if (round == 1) clone.git({"commit", "--amend", "-q", "-m", "amended"});
    if (round == 2) {
      clone.git({"checkout", "-q", "-b", "side", "HEAD~2"});
      clone.write("side", "side\n");
      clone.commit("side");
      clone.git({"checkout", "-q", "main"});
      clone.git({"merge", "-q", "--no-ff", "-m", "merge side", "side"});
    }
    if (round == 3) clone.git({"tag", "-a", "-m", "tagged", "v1"});
    clone.git({"push", "-q", "--tags", target(), "main"});
    const auto back = imported(repository, target());
    EXPECT_EQ(back.commits, round == 2 ? 3u : 1u);
    auto now = repo::Repository::open(context(workspace())).value();
    auto switched = repo::switch_workspace(now, {.target = "main", .create = false, .force = false, .progress = {}});
    ASSERT_TRUE(switched.has_value()) << switched.error().message;
    const auto again = exported(repository, target());
    EXPECT_EQ(again.commits, 0u);
    EXPECT_EQ(actions(again).count(ExportAction::unchanged), again.refs.size());
    fsck_strict(out);
  }
  // From git alone a new store gives exactly the same repository.
  std::filesystem::create_directories(directory_.path() + "/fresh");
  auto fresh = init(directory_.path() + "/fresh");
  imported(fresh, target());
  exported(fresh, directory_.path() + "/fresh.git");
  EXPECT_EQ(refs_of(opened(directory_.path() + "/fresh.git")), refs_of(out));
}

TEST_F(Export, AnAmendedCommitIsNotTakenForTheChangeItWasMadeFrom) {  // GV5
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  write("own", "own\n");
  commit(repository, "own");
  exported(repository, target());
  GitRepository clone(directory_.path(), "clone");
  clone.git({"pull", "-q", target(), "main"});
  const std::string before = clone.head();
  clone.write("own", "other content\n");
  clone.git({"add", "-A"});
  clone.git({"commit", "--amend", "-q", "--no-edit"});
  EXPECT_NE(clone.run({"cat-file", "commit", "HEAD"}).out.find("weft-change"), std::string::npos);
  // Even with every header line as it was.
  clone.git({"update-ref", "refs/heads/forged",
             clone.object("commit", "tree " + clone.git({"rev-parse", "HEAD^{tree}"}) +
                                        clone.run({"cat-file", "commit", before}).out.substr(45))});
  clone.git({"branch", "-f", "kept", before});
  const auto report = imported(repository, clone.path());
  EXPECT_EQ(report.commits, 2u);
  const auto snapshot = repository.store().snapshot().value();
  EXPECT_NE(snapshot.ref("forged").value()->version, snapshot.ref("kept").value()->version);
  EXPECT_EQ(git_id(snapshot.change(snapshot.ref("kept").value()->version.changes[0]).value()), std::nullopt);
  EXPECT_TRUE(git_id(snapshot.change(snapshot.ref("forged").value()->version.changes[0]).value()).has_value());
}

TEST_F(Export, WhatGitHasGoneAnotherWayStays) {  // EX2
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  GitRepository clone(directory_.path(), "clone");
  clone.git({"pull", "-q", target(), "main"});
  clone.write("git", "git\n");
  const auto gits = clone.commit("in git");
  clone.git({"push", "-q", target(), "main"});
  write("own", "own\n");
  commit(repository, "own");
  const auto report = exported(repository, target(), {}, Code::conflicts);
  EXPECT_EQ(actions(report).count(ExportAction::diverged), 1u);
  GitRepository out = opened(target());
  EXPECT_EQ(out.git({"rev-parse", "main"}), gits);
  const auto forced = exported(repository, target(), [](ExportOptions& options) { options.force = true; });
  EXPECT_EQ(actions(forced).count(ExportAction::moved), 1u);
  EXPECT_NE(out.git({"rev-parse", "main"}), gits);
  fsck_strict(out);
}

TEST_F(Export, WhatWentTwoWaysIsJoinedByLanding) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  GitRepository clone(directory_.path(), "clone");
  clone.git({"pull", "-q", target(), "main"});
  clone.write("git", "git\n");
  clone.git({"mv", "d/b", "d/c"});
  const auto gits = clone.commit("in git");
  clone.git({"push", "-q", target(), "main"});
  write("a", "more, edited\n");
  std::filesystem::rename(workspace() + "/d", workspace() + "/e");
  commit(repository, "own");
  EXPECT_EQ(imported(repository, target()).commits, 1u);  // main has diverged and stays
  {
    auto transaction = repository.store().begin().value();
    const auto theirs = transaction.snapshot().find_git_commit(store_id(*Sha1::parse(gits))).value();
    transaction.edit_ref(repo::move_ref("theirs", std::nullopt, object::Version(theirs.value())));
    transaction.set_operation({.label = "ref set"});
    ASSERT_TRUE(transaction.commit().has_value());
  }
  for (const std::string ref : {"theirs", "main"}) {
    auto now = repo::Repository::open(context(workspace())).value();
    repo::LandRequest request;
    request.ref = ref;
    const auto landed = repo::land(now, request);
    ASSERT_TRUE(landed.has_value()) << landed.error().message;
  }
  const auto report = exported(repository, target());
  EXPECT_EQ(report.commits, 2u);
  GitRepository out = opened(target());
  fsck_strict(out);
  EXPECT_EQ(out.git({"rev-parse", "main^1"}), gits);
  EXPECT_EQ(out.git({"ls-tree", "-r", "--name-only", "main"}), "a\ne/c\ngit");
  EXPECT_EQ(out.git({"diff", "--stat", "--summary", "-M", "main^1", "main"}),
            " a          | 2 +-\n {d => e}/c | 0\n 2 files changed, 1 insertion(+), 1 deletion(-)\n"
            " rename {d => e}/c (100%)");
}

TEST_F(Export, ADryRunWritesNothing) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  const auto dry = [](ExportOptions& options) { options.dry_run = true; };
  const auto report = exported(repository, target(), dry);
  EXPECT_TRUE(report.created);
  EXPECT_EQ(report.commits, 2u);
  EXPECT_FALSE(std::filesystem::exists(target()));
  exported(repository, target());
  write("own", "own\n");
  commit(repository, "own");
  const auto next = exported(repository, target(), dry);
  EXPECT_EQ(next.commits, 1u);
  EXPECT_EQ(actions(next).count(ExportAction::moved), 1u);
  EXPECT_EQ(opened(target()).git({"rev-parse", "main"}), git().head());
}

TEST_F(Export, RefsDeletedInWeftGoOnlyWithPrune) {  // EX3
  two_commits();
  git().git({"branch", "topic"});
  git().git({"branch", "moved-on"});
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  GitRepository out = opened(target());
  out.git({"branch", "only-in-git", "main"});
  out.git({"branch", "-f", "moved-on", "main^"});
  for (const std::string name : {"topic", "moved-on"}) {
    auto transaction = repository.store().begin().value();
    transaction.edit_ref({.name = name,
                          .expect = store::RefEdit::Expect::anything,
                          .expected = {},
                          .skip = false,
                          .after = std::nullopt,
                          .keep_extra = false});
    transaction.set_operation({.label = "ref delete"});
    ASSERT_TRUE(transaction.commit().has_value());
  }
  auto report = exported(repository, target());
  EXPECT_EQ(actions(report).count(ExportAction::gone), 2u);
  report = exported(repository, target(), [](ExportOptions& options) { options.prune = true; });
  EXPECT_EQ(actions(report).count(ExportAction::deleted), 1u);
  EXPECT_EQ(actions(report).count(ExportAction::gone), 1u);
  EXPECT_EQ(out.git({"for-each-ref", "--format=%(refname:short)"}), "main\nmoved-on\nonly-in-git");
}

TEST_F(Export, LargeFilesAreStreamedAndOnlyOnce) {
  auto repository = init(workspace());
  std::string large;
  for (std::int64_t i = 0; large.size() < (20u << 20); ++i) large += std::to_string(i * 7919);
  write("large", large);
  write("middle", large.substr(0, 3u << 20));
  write("empty", "");
  commit(repository, "large");
  const auto report = exported(repository, target());
  EXPECT_EQ(report.objects, 5u);
  GitRepository out = opened(target());
  fsck_strict(out);
  EXPECT_EQ(out.run({"cat-file", "blob", "main:large"}).out, large);
  std::filesystem::rename(workspace() + "/large", workspace() + "/renamed");
  commit(repository, "renamed");
  EXPECT_EQ(exported(repository, target()).objects, 2u);  // a tree and a commit
  fsck_strict(out);
}

TEST_F(Export, ANewWorkTreeHasItsFiles) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target(), [](ExportOptions& options) { options.work_tree = true; });
  EXPECT_EQ(read(target() + "/a"), "more\n");
  EXPECT_EQ(opened(target()).git({"status", "--porcelain"}), "");
  write("own", "own\n");
  commit(repository, "own");
  const auto report = exported(repository, target(), {}, Code::refused);
  EXPECT_EQ(actions(report).count(ExportAction::checked_out), 1u);
}

TEST_F(Export, BranchesOfOtherWorkTreesStayAndThatOfOnesOwnMoves) {  // RM2
  two_commits();
  const std::string linked = directory_.path() + "/linked";
  git().git({"worktree", "add", "-q", linked, "-b", "topic"});
  const std::map<std::string, std::string> branches{{linked, "topic"}, {git().path(), "main"}};
  for (const auto& [own, branch] : branches) {
    SCOPED_TRACE(own);
    {
      auto made = init(own);
      imported(made, own);
    }
    auto repository = repo::Repository::open(context(own)).value();
    std::ofstream(own + "/new") << "new\n";
    std::ofstream(git().path() + "/.git/info/exclude") << "/.weft\n";
    commit(repository, "own");
    EXPECT_EQ(actions(exported(repository, own)).count(ExportAction::moved), 1u);
    EXPECT_EQ(git().git({"log", "-1", "--format=%s", branch}), "own");
    EXPECT_EQ(git().git({"-C", own, "status", "--porcelain"}), "");
    // The branch of the other one does not move from here.
    auto transaction = repository.store().begin().value();
    const auto head = transaction.snapshot().ref(branch).value()->version;
    const std::string other = branch == "main" ? "topic" : "main";
    const auto before = transaction.snapshot().ref(other).value()->version;
    transaction.edit_ref(repo::move_ref(other, before, head));
    transaction.set_operation({.label = "ref set"});
    ASSERT_TRUE(transaction.commit().has_value());
    const auto report = exported(repository, own, [](ExportOptions& options) { options.force = true; }, Code::refused);
    EXPECT_EQ(actions(report).count(ExportAction::checked_out), 1u);
  }
}

TEST_F(Export, WhatIsStagedInGitStaysStaged) {  // RM2
  two_commits();
  git().write("c", "c\n");
  git().write("gone", "gone\n");
  git().commit("third");
  std::ofstream(git().path() + "/.git/info/exclude") << "/.weft\n";
  {
    auto made = init(git().path());
    imported(made, git().path());
  }
  auto repository = repo::Repository::open(context(git().path())).value();
  git().write("a", "staged\n");
  git().write("new", "staged\n");
  git().write("c", "staged\n");
  git().write("block/x", "staged\n");
  git().git({"add", "a", "c", "new", "block/x"});
  git().git({"rm", "-q", "gone"});
  git().write("a", "and edited\n");
  git().write("c", "recorded\n");
  std::filesystem::remove_all(git().path() + "/block");
  git().write("block", "now a file\n");
  repo::CommitRequest request;
  request.message = "only some";
  request.paths = {"c", "block"};
  ASSERT_TRUE(repo::commit(repository, request).has_value());
  EXPECT_EQ(actions(exported(repository, git().path())).count(ExportAction::moved), 1u);
  EXPECT_EQ(git().git({"status", "--porcelain"}), "MM a\nD  gone\nA  new");
  EXPECT_EQ(git().git({"show", ":a"}), "staged");
  // Where git has a conflict to settle, its branch waits.
  git().git({"reset", "-q", "--hard"});
  git().write("a", "stashed\n");
  git().git({"stash", "-q"});
  git().write("a", "other\n");
  commit(repository, "other");
  exported(repository, git().path());
  EXPECT_FALSE(git().run({"stash", "pop"}).status.ok());
  git().write("d/b", "more\n");
  request.paths = {"d/b"};
  ASSERT_TRUE(repo::commit(repository, request).has_value());
  const std::string before = git().git({"ls-files", "-u"});
  EXPECT_EQ(actions(exported(repository, git().path(), {}, Code::refused)).count(ExportAction::refused), 1u);
  EXPECT_EQ(git().git({"ls-files", "-u"}), before);
  EXPECT_NE(before, "");
}

TEST_F(Export, ALockThatAKilledExportLeftIsRemovedAndNoOther) {  // RM3
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  const std::string lock = target() + "/refs/heads/main.lock";
  const auto note = [&](std::uint64_t inode) {
    std::ofstream(target() + "/weft-export-lock") << inode << " refs/heads/main\n";
  };
  for (int round = 0; round < 2; ++round) {
    write("own" + std::to_string(round), "own\n");
    commit(repository, "own");
    std::ofstream(lock) << "";
    struct stat status{};
    ASSERT_EQ(stat(lock.c_str(), &status), 0);
    note(status.st_ino + 1);
    EXPECT_EQ(actions(exported(repository, target(), {}, Code::refused)).count(ExportAction::refused), 1u);
    EXPECT_TRUE(std::filesystem::exists(lock));
    note(status.st_ino);
    EXPECT_EQ(actions(exported(repository, target())).count(ExportAction::moved), 1u);
    EXPECT_FALSE(std::filesystem::exists(lock));
    EXPECT_FALSE(std::filesystem::exists(target() + "/weft-export-lock"));
  }
}

TEST_F(Export, ManyRefsOfANewRepositoryAreWrittenAtOnce) {  // NR1, NR2
  two_commits();
  git().git({"tag", "-a", "-m", "annotated", "annotated"});
  git().git({"tag", "-a", "-m", "nested", "nested", "annotated"});
  auto repository = init(workspace());
  imported(repository, git().path());
  auto transaction = repository.store().begin().value();
  const auto version = transaction.snapshot().ref("main").value()->version;
  for (int i = 0; i < 300; ++i) {
    transaction.edit_ref(repo::move_ref("many/" + std::to_string(i), std::nullopt, version));
  }
  transaction.edit_ref(repo::move_ref("many/7/below", std::nullopt, version));
  transaction.set_operation({"refs", "Ada <a@x.y>", "", "", std::nullopt});
  ASSERT_TRUE(transaction.commit().has_value());
  const auto report =
      exported(repository, target(), [](ExportOptions& options) { options.work_tree = true; }, Code::refused);
  EXPECT_EQ(actions(report).count(ExportAction::refused), 1u);
  GitRepository out = opened(target());
  const std::string packed = read(target() + "/.git/packed-refs");
  EXPECT_EQ(std::count(packed.begin(), packed.end(), '\n'), 1 + 300 + 2 + 2);  // header, refs, tags, what those lead to
  EXPECT_EQ(out.git({"rev-parse", "many/299"}), out.git({"rev-parse", "main"}));
  EXPECT_EQ(out.git({"rev-parse", "nested^{commit}"}), out.git({"rev-parse", "main"}));
  EXPECT_EQ(out.git({"status", "--porcelain"}), "");
  fsck_strict(out);
  const std::string before = refs_of(out);
  out.git({"pack-refs", "--all"});
  EXPECT_EQ(refs_of(out), before);
  EXPECT_EQ(read(target() + "/.git/packed-refs").find("peeled fully-peeled sorted"),
            packed.find("peeled fully-peeled sorted"));
}

TEST_F(Export, WhatAKilledExportWasMakingIsRemovedAndNothingElse) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  // Of a process that is gone; of one that lives; and names that only resemble it.
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  int status = 0;
  ASSERT_EQ(::waitpid(gone, &status, 0), gone);
  const std::string mark = target() + ".weft-new-";
  const std::string left = mark + std::to_string(gone);
  const std::string living = mark + std::to_string(::getpid());
  for (const auto& path : {left, living, mark + "12x", mark}) std::filesystem::create_directories(path + "/objects");
  exported(repository, target());
  EXPECT_FALSE(std::filesystem::exists(left));
  for (const auto& path : {living, mark + "12x", mark}) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST_F(Export, WhatIsNoGitRepositoryIsLeftAlone) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  std::filesystem::create_directories(target());
  std::ofstream(target() + "/file") << "mine\n";
  ExportOptions options;
  options.path = target();
  options.helper = helper_path();
  const auto report = export_repository(repository, options);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().code, Code::not_found);
  options.helper = directory_.path() + "/weft-git";
  const auto no_helper = export_repository(repository, options);
  ASSERT_FALSE(no_helper.has_value());
  EXPECT_EQ(no_helper.error().code, Code::peer);
}

TEST_F(Export, OnePathGetsOneRepositoryHoweverManyMakeIt) {
  two_commits();
  {
    auto made = init(workspace());
    imported(made, git().path());
  }
  constexpr int kAtOnce = 6;
  std::vector<std::string> problems(kAtOnce);
  std::vector<std::thread> threads;
  for (int i = 0; i < kAtOnce; ++i) {
    threads.emplace_back([this, &problem = problems[static_cast<std::size_t>(i)]] {
      auto repository = repo::Repository::open(context(workspace())).value();
      ExportOptions options;
      options.path = target();
      options.helper = helper_path();
      const auto report = export_repository(repository, options);
      // Who comes second to a ref may find its lock; nobody fails to find the repository, or what was to be there.
      if (!report) {
        problem = report.error().message;
      } else if (actions(*report).contains(ExportAction::lost)) {
        problem = "lost a race to the same";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(problems, std::vector<std::string>(kAtOnce));
  auto repository = repo::Repository::open(context(workspace())).value();
  EXPECT_EQ(exported(repository, target()).commits, 0u);
  EXPECT_EQ(opened(target()).git({"rev-parse", "main"}), git().head());
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
    EXPECT_EQ(entry.path().string().find(".weft-new-"), std::string::npos) << entry.path();
  }
}

TEST_F(Export, NothingIsExportedIntoTheStore) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  std::filesystem::create_directories(workspace() + "/d");
  for (const std::string inside : {"/.weft", "/.weft/x", "/.weft/git/", "/.weft/a/b/c", "/d/../.weft/x"}) {
    ExportOptions options;
    options.path = workspace() + inside;
    options.helper = helper_path();
    const auto report = export_repository(repository, options);
    ASSERT_FALSE(report.has_value()) << inside;
    EXPECT_EQ(report.error().code, Code::invalid) << inside;
  }
  EXPECT_FALSE(std::filesystem::exists(workspace() + "/.weft/x"));
  exported(repository, workspace() + "/.weft-not/x");
}

TEST_F(Export, TheRefInTheWayIsNamed) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  exported(repository, target());
  GitRepository out = opened(target());
  out.git({"branch", "side/under", "main"});
  auto transaction = repository.store().begin().value();
  const auto head = transaction.snapshot().ref("main").value()->version;
  for (const std::string name : {"side", "main/sub/deep"}) {
    transaction.edit_ref(repo::move_ref(name, std::nullopt, head));
  }
  transaction.set_operation({.label = "ref set"});
  ASSERT_TRUE(transaction.commit().has_value());
  const auto report = exported(repository, target(), {}, Code::refused);
  std::map<std::string, std::string> reasons;
  for (const auto& ref : report.refs) {
    if (ref.action == ExportAction::refused) reasons[ref.name] = ref.reason;
  }
  EXPECT_EQ(reasons,
            (std::map<std::string, std::string>{
                {"main/sub/deep", "git cannot have it beside refs/heads/main: one of the two needs another name"},
                {"side", "git cannot have it beside refs/heads/side/under: one of the two needs another name"}}));
}

TEST_F(Export, WhatWasTakenBackHereIsTold) {
  two_commits();
  auto repository = init(workspace());
  imported(repository, git().path());
  write("own", "own\n");
  commit(repository, "own");
  exported(repository, target());
  auto transaction = repository.store().begin().value();
  const auto head = transaction.snapshot().ref("main").value()->version;
  const auto first = transaction.snapshot().change(head.changes[0]).value().parents;
  transaction.edit_ref(repo::move_ref("main", head, object::Version(first.at(0))));
  transaction.set_operation({.label = "undo"});
  ASSERT_TRUE(transaction.commit().has_value());
  const auto report = exported(repository, target());
  ASSERT_EQ(report.refs.size(), 1u);
  EXPECT_EQ(report.refs[0].action, ExportAction::behind);
  EXPECT_EQ(report.refs[0].reason, "git's holds what was taken back here");
  exported(repository, target(), [](ExportOptions& options) { options.force = true; });
  EXPECT_EQ(opened(target()).git({"rev-parse", "main"}), git().head());
}

TEST(ExportCacheTest, KeepsWhatItIsGivenAndDistrustsTheRest) {  // XC1
  TemporaryDirectory directory;
  FileSystem& fs = posix_file_system();
  const std::string path = directory.path() + "/git";
  const auto entry = [](std::uint32_t n) {
    Bytes raw(ChangeId::kSize, static_cast<char>(n * 37));
    std::memcpy(raw.data() + 4, &n, sizeof(n));
    return ExportCache::Entry{ChangeId::from_bytes(raw), Sha1::from_bytes(raw.substr(0, Sha1::kSize))};
  };
  std::uint32_t next = 0;
  for (const std::uint32_t count : {1u, 100u, 9000u, 50u, 12000u}) {
    ExportCache cache = ExportCache::open(fs, path);
    std::vector<ExportCache::Entry> entries;
    for (std::uint32_t i = 0; i < count; ++i) entries.push_back(entry(next++));
    ASSERT_TRUE(cache.add(entries).has_value());
    for (const auto& same : {std::move(cache), ExportCache::open(fs, path)}) {
      for (std::uint32_t i = 0; i < next; i += 13) ASSERT_EQ(same.find(entry(i).first), entry(i).second) << i;
      EXPECT_EQ(same.find(entry(next).first), std::nullopt);
    }
  }
  for (const std::string name : {"/exported", "/exported.new"}) {
    std::fstream file(path + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(40);
    file.put('\xAA');
  }
  const ExportCache damaged_cache = ExportCache::open(fs, path);
  for (std::uint32_t i = 0; i < next; ++i) {
    const auto found = damaged_cache.find(entry(i).first);
    if (found) {
      ASSERT_EQ(*found, entry(i).second);
    }
  }
}

TEST(ExportCommit, WhateverStandsInAChangeTheCommitIsOneThatGitTakes) {  // GX2
  object::Change change;
  change.author = {"  <Ann>\n\x01 ", "a @<x>\n", {-5, 90}};
  change.committer = {"", "", {std::int64_t{9'223'372'036'854'775'807}, -725}};
  change.agent = "a\nb";
  change.message = std::string("nul \0 inside", 12);
  const Sha1 one = Sha1::from_bytes(std::string(20, '1'));
  const Bytes bytes = native_commit_bytes(change, ChangeId{}, one, {one, one});
  EXPECT_EQ(bytes,
            "tree " + one.hex() + "\nparent " + one.hex() +
                "\nauthor Ann <a@x> 0 +0130\ncommitter unknown <> 9200000000 -1205\nweft-agent ab\nweft-change " +
                std::string(64, '0') + "\n\nnul \xEF\xBF\xBD inside\n");
  EXPECT_EQ(named_change(parse_commit(bytes).value()), ChangeId{});
  change.message.clear();
  EXPECT_TRUE(native_commit_bytes(change, ChangeId{}, one, {}).ends_with("\n\n"));
}

}  // namespace
}  // namespace weft::git::testing
