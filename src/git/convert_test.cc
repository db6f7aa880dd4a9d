// Whole histories through weft-git into memory, compared with what git itself says about them.
#include "git/convert.h"

#include <gtest/gtest.h>

#include "git/testing/git_fixture.h"

namespace weft::git::testing {
namespace {

class Convert : public ::testing::Test {
 protected:
  GitRepository& repository() { return repository_; }
  /// Imports everything, twice, into two sinks: the same history and the same changes both times (GV1).
  void import() {
    const auto first = import_to_memory(repository_.path(), sink);
    ASSERT_TRUE(first.has_value()) << first.error().message;
    facts = first->facts;
    expect_same_history(repository_, sink);
    MemorySink other;
    const auto second = import_to_memory(repository_.path(), other);
    ASSERT_TRUE(second.has_value()) << second.error().message;
    ASSERT_EQ(sink.commits.size(), other.commits.size());
    for (const auto& [commit, change] : sink.commits) EXPECT_EQ(change.change, other.commits.at(commit).change);
  }
  Error import_error() {
    const auto result = import_to_memory(repository_.path(), sink);
    EXPECT_FALSE(result.has_value());
    return result ? Error{} : result.error();
  }
  std::map<std::string, NodeId> nodes_of(const std::string& commit) { return nodes(sink.objects, sink.tree(commit)); }
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += "line number " + std::to_string(i) + "\n";
    return text;
  }

  TemporaryDirectory directory_;
  GitRepository repository_{directory_.path()};
  MemorySink sink;
  RepositoryFacts facts;
};

TEST_F(Convert, EditsModesLinksAndDeletions) {
  auto& r = repository();
  r.write("a", "one\n");
  r.write("d/b", "two");
  r.write("d/e/c", "");
  const auto first = r.commit("first");
  r.write("a", "one\nmore\n");
  std::filesystem::permissions(r.path() + "/d/b", std::filesystem::perms::owner_exec,
                               std::filesystem::perm_options::add);
  std::filesystem::create_symlink("../a", r.path() + "/d/link");
  std::filesystem::create_symlink("/nowhere", r.path() + "/dangling");
  const auto second = r.commit("second");
  std::filesystem::remove_all(r.path() + "/d/e");
  std::filesystem::remove(r.path() + "/dangling");
  const auto third = r.commit("third");
  import();
  EXPECT_EQ(facts.head, "refs/heads/main");
  // What keeps its path keeps its node (GV2).
  const auto before = nodes_of(first), after = nodes_of(second);
  for (const auto& [path, node] : before) EXPECT_EQ(after.at(path), node) << path;
  EXPECT_EQ(before.at("a"), new_node_id(*Sha1::parse(first), "a"));
  EXPECT_EQ(before.at("d/e"), new_node_id(*Sha1::parse(first), "d/e"));
  EXPECT_FALSE(nodes_of(third).contains("d/e"));
  EXPECT_EQ(sink.change(second).message, "second\n");
  EXPECT_EQ(sink.change(second).author.name, "Ada Author");
  EXPECT_EQ(sink.change(second).author.time.offset_min, 90);
  EXPECT_EQ(sink.change(second).form, object::OpsForm::derived);
  EXPECT_EQ(sink.change(second).rules, kImportRules);
}

TEST_F(Convert, FilesBecomeDirectoriesAndBack) {  // CASES C20
  auto& r = repository();
  r.write("x", "file\n");
  r.write("y/z", "inside\n");
  r.write("y-", "between y and y/ in git's order\n");
  const auto first = r.commit("first");
  std::filesystem::remove(r.path() + "/x");
  std::filesystem::remove_all(r.path() + "/y");
  r.write("x/deep/er", "other\n");
  r.write("y", "now a file\n");
  const auto second = r.commit("second");
  std::filesystem::remove_all(r.path() + "/x");
  std::filesystem::create_symlink("y", r.path() + "/x");
  const auto third = r.commit("third");
  std::filesystem::remove(r.path() + "/x");
  r.write("x", "y");  // a file with what the link said
  r.commit("fourth");
  import();
  EXPECT_NE(nodes_of(first).at("x"), nodes_of(second).at("x"));
  EXPECT_NE(nodes_of(second).at("x"), nodes_of(third).at("x"));
}

TEST_F(Convert, RenamesKeepTheirNodes) {
  auto& r = repository();
  r.write("a", lines(0, 30));
  r.write("b", "exact\n");
  r.write("dir/one", lines(100, 130));
  r.write("dir/sub/two", lines(200, 230));
  r.write("swap1", lines(300, 330));
  r.write("swap2", lines(400, 430));
  const auto first = r.commit("first");
  r.git({"mv", "a", "moved"});
  r.write("moved", lines(0, 25));
  r.git({"mv", "b", "dir2-b"});
  r.git({"mv", "dir", "renamed"});
  r.write("renamed/one", lines(100, 128));
  r.write("swap1", lines(400, 430));
  r.write("swap2", lines(300, 330));
  const auto second = r.commit("second");
  import();
  const auto before = nodes_of(first), after = nodes_of(second);
  EXPECT_EQ(after.at("moved"), before.at("a"));
  EXPECT_EQ(after.at("dir2-b"), before.at("b"));
  EXPECT_EQ(after.at("renamed"), before.at("dir"));
  EXPECT_EQ(after.at("renamed/one"), before.at("dir/one"));
  EXPECT_EQ(after.at("renamed/sub"), before.at("dir/sub"));
  EXPECT_EQ(after.at("renamed/sub/two"), before.at("dir/sub/two"));
  // What keeps its path keeps its node, whatever its content does.
  EXPECT_EQ(after.at("swap1"), before.at("swap1"));
}

TEST_F(Convert, AFileThatMovedAndLeftALinkBehindIsStillItself) {  // GR1
  auto& r = repository();
  r.write("a", lines(0, 10));
  const auto first = r.commit("first");
  r.git({"mv", "a", "b"});
  std::filesystem::create_symlink("b", r.path() + "/a");
  const auto second = r.commit("second");
  import();
  EXPECT_EQ(nodes_of(second).at("b"), nodes_of(first).at("a"));
}

TEST_F(Convert, MergesTakeNodesFromTheParentThatHasThem) {  // GV2
  auto& r = repository();
  r.write("base", lines(0, 30));
  r.write("stays", lines(100, 130));
  const auto base = r.commit("base");
  r.git({"checkout", "-q", "-b", "side"});
  r.write("side-only/f", "side\n");
  r.git({"mv", "base", "renamed"});
  const auto side = r.commit("side");
  r.git({"checkout", "-q", "main"});
  r.write("main-only", "main\n");
  const auto main = r.commit("main");
  r.git({"merge", "-q", "--no-ff", "-m", "merge", "side"});
  const auto merge = r.head();
  import();
  const auto merged = nodes_of(merge);
  EXPECT_EQ(merged.at("renamed"), nodes_of(base).at("base"));
  EXPECT_EQ(merged.at("side-only"), nodes_of(side).at("side-only"));
  EXPECT_EQ(merged.at("side-only/f"), nodes_of(side).at("side-only/f"));
  EXPECT_EQ(merged.at("main-only"), nodes_of(main).at("main-only"));
  EXPECT_EQ(merged.at("stays"), nodes_of(base).at("stays"));
  EXPECT_EQ(sink.change(merge).parents, (std::vector<ChangeId>{sink.commits.at(*Sha1::parse(main)).change,
                                                               sink.commits.at(*Sha1::parse(side)).change}));
}

TEST_F(Convert, NoNodeTwiceWhereAMergeKeepsBothNames) {  // GV2
  auto& r = repository();
  r.write("a", lines(0, 30));
  r.write("d/x", lines(100, 130));
  const auto base = r.commit("base");
  r.git({"checkout", "-q", "-b", "side"});
  r.git({"mv", "a", "b"});
  r.git({"mv", "d", "e"});
  const auto side = r.commit("side");
  r.git({"checkout", "-q", "main"});
  r.write("c", "c\n");
  const auto main = r.commit("main");
  // A merge that keeps a and d, and takes b and e as well: the node can be in one place only, that of the first parent.
  r.git({"read-tree", "--empty"});
  r.git({"read-tree", main});
  r.git({"checkout", "-q", side, "--", "b", "e"});
  const auto tree = r.git({"write-tree"});
  const auto merge = r.commit_tree(tree, {main, side});
  import();
  const auto merged = nodes_of(merge);  // fails on its own where a node occurs twice
  EXPECT_EQ(nodes_of(side).at("b"), nodes_of(base).at("a"));
  EXPECT_EQ(merged.at("a"), nodes_of(base).at("a"));
  EXPECT_EQ(merged.at("d/x"), nodes_of(base).at("d/x"));
  EXPECT_EQ(merged.at("b"), new_node_id(*Sha1::parse(merge), "b"));
  EXPECT_EQ(merged.at("e"), new_node_id(*Sha1::parse(merge), "e"));
}

TEST_F(Convert, OctopusMergesAndRepeatedParents) {
  auto& r = repository();
  r.write("base", "base\n");
  const auto base = r.commit("base");
  std::vector<std::string> parents{base};
  for (int i = 0; i < 70; ++i) {
    r.git({"checkout", "-q", "--detach", base});
    r.write("file" + std::to_string(i), std::to_string(i));
    parents.push_back(r.commit("side " + std::to_string(i)));
  }
  r.git({"checkout", "-q", "main"});
  const auto tree = r.git({"rev-parse", parents[5] + "^{tree}"});
  const auto few = r.commit_tree(tree, {parents.begin(), parents.begin() + 9});
  std::string repeated = "tree " + tree + "\nparent " + few + "\nparent " + parents[3] + "\nparent " + few +
                         "\nauthor A <a> 1 +0000\ncommitter C <c> 1 +0000\n\nrepeated\n";
  const auto twice = r.object("commit", repeated);
  std::string many = "tree " + tree + "\nparent " + twice + "\n";
  for (const auto& parent : parents) many += "parent " + parent + "\n";
  const auto octopus = r.object("commit", many + "author A <a> 1 +0000\ncommitter C <c> 1 +0000\n\nmany\n");
  r.git({"update-ref", "refs/heads/main", octopus});
  import();
  EXPECT_EQ(sink.change(few).parents.size(), 9u);
  EXPECT_EQ(sink.change(twice).parents.size(), 2u);
  EXPECT_NE(sink.change(twice).find_extra(kExtraParents), nullptr);
  // 72 parents: the last 64 are in the past of one gathering change.
  const auto change = sink.change(octopus);
  ASSERT_EQ(change.parents.size(), 9u);
  const auto gather =
      object::decode_change(sink.objects.read(object::ObjectKind::change, change.parents.back()).value()).value();
  EXPECT_EQ(gather.parents.size(), object::kMaxVersionChanges);
  EXPECT_NE(gather.find_extra(kExtraGather), nullptr);
}

TEST_F(Convert, OddNamesRoundTrip) {  // CASES C23, C24, C18
  auto& r = repository();
  const auto blob = r.object("blob", "content\n");
  std::vector<std::string> names{"\xff\xfe", "new\nline", " lead",    "trail ",      "quo\"te",
                                 "a -> b",   "-x",        "a,b",      "p(q)",        "Case",
                                 "case",     "e\xcc\x81", "\xc3\xa9", "back\\slash", std::string(255, 'n')};
  std::sort(names.begin(), names.end());
  Bytes tree;
  for (const auto& name : names) tree += GitRepository::entry("100644", name, blob);
  const auto sub = r.object("tree", tree);
  // `.git` in history stays there: it is only never written out.
  const auto root = r.object(
      "tree", GitRepository::entry("40000", ".GIT", sub) + GitRepository::entry("40000", "\xf0\x9f\x90\xb1", sub));
  const auto commit = r.commit_tree(root, {});
  import();
  EXPECT_EQ(nodes_of(commit).size(), 2 * names.size() + 2);
  EXPECT_TRUE(nodes_of(commit).contains(".GIT/" + std::string("\xff\xfe")));
}

TEST_F(Convert, ImpossibleNamesRefuseTheCommitByPath) {  // C17, GV4
  auto& r = repository();
  r.write("sound", "sound\n");
  const auto sound = r.commit("sound");
  const auto blob = r.object("blob", "content\n");
  for (const std::string& name : {std::string(".."), std::string("."), std::string("a/b"), std::string(256, 'n')}) {
    SCOPED_TRACE(name);
    const auto sub = r.object("tree", GitRepository::entry("100644", name, blob));
    const auto commit = r.commit_tree(r.object("tree", GitRepository::entry("40000", "d", sub)), {sound});
    MemorySink fresh;
    const auto result = import_to_memory(r.path(), fresh);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::invalid);
    EXPECT_NE(result.error().message.find("d/" + name), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find(commit), std::string::npos) << result.error().message;
    EXPECT_TRUE(fresh.commits.contains(*Sha1::parse(sound)));
    EXPECT_FALSE(fresh.commits.contains(*Sha1::parse(commit)));
    r.git({"update-ref", "HEAD", sound});
  }
}

TEST_F(Convert, DuplicateEntriesAreRefused) {  // C16
  auto& r = repository();
  const auto blob = r.object("blob", "content\n");
  const auto sub = r.object("tree", GitRepository::entry("100644", "x", blob));
  // A link out of the tree and a directory of the same name, which a careless checkout would write through.
  const auto outside = r.object("blob", "/etc");
  r.commit_tree(
      r.object("tree", GitRepository::entry("120000", "x", outside) + GitRepository::entry("100644", "x-", blob) +
                           GitRepository::entry("40000", "x", sub)),
      {});
  const Error error = import_error();
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_NE(error.message.find("the name x twice"), std::string::npos) << error.message;
}

TEST_F(Convert, SubmodulesAreKept) {
  auto& r = repository();
  const std::string elsewhere(40, 'c');
  r.write("f", "f\n");
  r.git({"update-index", "--add", "--cacheinfo", "160000," + elsewhere + ",sub/module"});
  r.git({"add", "f"});
  const auto first = r.commit_index("first");
  r.git({"update-index", "--cacheinfo", "160000," + std::string(40, 'd') + ",sub/module"});
  const auto second = r.commit_index("second");
  import();
  const auto entry = tree::find_path(sink.objects, sink.tree(first), "sub/module").value();
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->kind, object::EntryKind::submodule);
  EXPECT_EQ(sink.objects.read(object::ObjectKind::blob, entry->id).value(), elsewhere);
  EXPECT_EQ(nodes_of(first).at("sub/module"), nodes_of(second).at("sub/module"));
}

TEST_F(Convert, OddCommitsComeBackByteForByte) {  // GC1
  auto& r = repository();
  const auto tree = r.object("tree", "");
  const std::string people = "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 -0000\n";
  const std::vector<std::string> rests{
      people + "\nminus zero",
      "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +051800\n\nodd zone\n",
      "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\nencoding latin1\n\nSchl\xfcsse\n",
      "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\ngpgsig -----BEGIN PGP\n \n abc\n -----END "
      "PGP\n\nsigned\n",
      "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\nx-extra y\nmergetag object\n b\n\n",
      "author A <a@x> 1700000000 +0000\ncommitter C <c@x> 1700000000 +0000\n",
      "author A a@x\ncommitter\n\nno addresses",
      "author A <a@x> 99999999999999999999 +9999\ncommitter C <c@x> -1 +0000\n\n" + std::string("nul \0 inside", 12),
  };
  std::string parent;
  for (const auto& rest : rests) {
    parent = r.object("commit", "tree " + tree + "\n" + (parent.empty() ? "" : "parent " + parent + "\n") + rest);
  }
  r.git({"update-ref", "refs/heads/main", parent});
  import();
  EXPECT_EQ(sink.commits.size(), rests.size());
}

TEST_F(Convert, OddTreesAreKeptWhereTheyChange) {
  auto& r = repository();
  const auto blob = r.object("blob", "content\n");
  const auto empty = r.object("tree", "");
  const auto group_writable = r.object("tree", GitRepository::entry("100664", "f", blob));
  const auto plain = r.object("tree", GitRepository::entry("100644", "f", blob));
  const auto hollow = r.object("tree", GitRepository::entry("40000", "nothing", empty));
  const auto root = [&](const std::string& d, const std::string& mode, const std::string& more) {
    return r.object("tree", GitRepository::entry(mode, "d", d) + more);
  };
  const auto file = GitRepository::entry("100755", "e", blob);
  const std::vector<std::string> trees{
      root(group_writable, "40000", ""),    // d odd
      root(group_writable, "40000", file),  // d as it was
      root(plain, "40000", file),           // d no longer odd: must be told, the weft tree is the same
      root(plain, "040000", file),          // the root odd
      root(plain, "40000", file),           // and no longer
      root(hollow, "40000", file),          // d without any file: no directory in weft
      root(plain, "40000", file),
      r.object("tree", file + GitRepository::entry("40000", "d", plain)),  // out of order
      root(plain, "40000", file),
  };
  const std::vector<std::vector<std::string>> kept{{"d"}, {}, {"d"}, {""}, {""}, {"", "d"}, {""}, {""}, {""}};
  std::string parent;
  std::vector<std::string> commits;
  for (const auto& tree : trees) {
    commits.push_back(r.commit_tree(tree, parent.empty() ? std::vector<std::string>{} : std::vector{parent}));
    parent = commits.back();
  }
  import();
  for (std::size_t i = 0; i < commits.size(); ++i) {
    SCOPED_TRACE(i);
    std::vector<std::string> paths;
    const auto raw_trees = odd_trees(sink.change(commits[i])).value();
    for (const auto& [path, raw] : raw_trees) {
      paths.push_back(path);
      const auto want = r.git({"rev-parse", commits[i] + ":" + path});
      EXPECT_EQ(git_object_id("tree", raw).hex(), want);
    }
    EXPECT_EQ(paths, kept[i]);
  }
}

TEST_F(Convert, LargeAndEmptyBlobs) {
  auto& r = repository();
  std::string large;
  for (std::int64_t i = 0; i < 700'000; ++i) large += std::to_string(i * 7919);
  r.write("large", large);
  r.write("middle", large.substr(0, wire::kMaxInlineBytes));
  r.write("middle+1", large.substr(0, wire::kMaxInlineBytes + 1));
  r.write("empty", "");
  r.commit("first");
  r.git({"repack", "-q", "-a", "-d"});
  r.write("loose", large + "more");  // above what the helper streams from a loose object
  while (large.size() < (9u << 20)) large += large;
  r.write("very-large", large);
  r.commit("second");
  import();
}

TEST_F(Convert, WideAndDeepTrees) {  // CASES C27, C32
  auto& r = repository();
  const auto blob = r.object("blob", "content\n");
  std::string tree = r.object("tree", GitRepository::entry("100644", "f", blob));
  for (int i = 0; i < 60; ++i) tree = r.object("tree", GitRepository::entry("40000", "d", tree));
  Bytes wide;
  for (int i = 0; i < 20'000; ++i) wide += GitRepository::entry("100644", "file" + std::to_string(100'000 + i), blob);
  const auto first = r.commit_tree(r.object("tree", GitRepository::entry("40000", "deep", tree) +
                                                        GitRepository::entry("40000", "wide", r.object("tree", wide))),
                                   {});
  wide += GitRepository::entry("100644", "one-more", blob);
  r.commit_tree(r.object("tree", GitRepository::entry("40000", "deep", tree) +
                                     GitRepository::entry("40000", "wide", r.object("tree", wide))),
                {first});
  import();
}

TEST_F(Convert, ADirectoryNestedTooDeeplyIsRefused) {  // C27
  auto& r = repository();
  std::string tree = r.object("tree", GitRepository::entry("100644", "f", r.object("blob", "x")));
  // Objects written by ourselves: thousands of git processes would take minutes.
  std::string stream =
      "blob\nmark :1\ndata 1\nx\ncommit refs/heads/main\ncommitter C <c> 1 +0000\ndata 0\nM 100644 :1 ";
  for (int i = 0; i < 2100; ++i) stream += "d/";
  stream += "f\n";
  const auto output = r.run({"fast-import", "--quiet"}, stream);
  if (!output.status.ok()) GTEST_SKIP() << "this git does not write such trees: " << output.err;
  const Error error = import_error();
  EXPECT_EQ(error.code, Code::invalid);
  EXPECT_NE(error.message.find("deep"), std::string::npos) << error.message;
}

TEST_F(Convert, TagsOfAllKinds) {
  auto& r = repository();
  r.write("a", "a\n");
  const auto commit = r.commit("first");
  r.git({"tag", "light"});
  r.git({"tag", "-a", "-m", "annotated", "annotated"});
  r.git({"tag", "-a", "-m", "nested", "nested", "annotated"});
  r.git({"tag", "of-tree", commit + "^{tree}"});
  r.git({"tag", "of-blob", commit + ":a"});
  const auto result = import_to_memory(r.path(), sink);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  std::map<std::string, const GitRef*> refs;
  for (const auto& ref : result->facts.refs) refs[ref.name] = &ref;
  EXPECT_EQ(refs.at("refs/heads/main")->peeled.hex(), commit);
  EXPECT_TRUE(refs.at("refs/tags/light")->tags.empty());
  ASSERT_EQ(refs.at("refs/tags/annotated")->tags.size(), 1u);
  EXPECT_EQ(git_object_id("tag", refs.at("refs/tags/annotated")->tags[0]).hex(), r.git({"rev-parse", "annotated"}));
  ASSERT_EQ(refs.at("refs/tags/nested")->tags.size(), 2u);
  EXPECT_EQ(refs.at("refs/tags/nested")->peeled.hex(), commit);
  EXPECT_EQ(git_object_id("tag", refs.at("refs/tags/nested")->tags[1]).hex(), r.git({"rev-parse", "annotated"}));
  EXPECT_EQ(refs.at("refs/tags/of-tree")->kind, wire::TargetKind::tree);
  EXPECT_EQ(refs.at("refs/tags/of-blob")->kind, wire::TargetKind::blob);
  // What is no commit comes all the same, as a change of its own (GW5).
  EXPECT_EQ(result->received.commits, 3u);
  const auto tree = r.git({"rev-parse", "of-tree"});
  const auto blob = r.git({"rev-parse", "of-blob"});
  EXPECT_EQ(imported_kind(sink.change(tree)), Imported::tree);
  EXPECT_EQ(listing(sink.objects, sink.tree(tree)), git_listing(r, commit));
  EXPECT_EQ(imported_kind(sink.change(blob)), Imported::blob);
  EXPECT_EQ(listing(sink.objects, sink.tree(blob)),
            (std::map<std::string, std::string>{{"content", "100644 " + blob}}));
  EXPECT_EQ(imported_kind(sink.change(commit)), Imported::commit);
}

TEST_F(Convert, ASecondImportBringsOnlyWhatIsNew) {
  auto& r = repository();
  r.write("a", "a\n");
  const auto first = r.commit("first");
  ASSERT_TRUE(import_to_memory(r.path(), sink).has_value());
  r.write("a", "b\n");
  const auto second = r.commit("second");
  r.git({"checkout", "-q", "-b", "side", first});
  r.write("s", "s\n");
  r.commit("side");
  // Without being told what is here, the helper offers everything and is told then.
  const auto hidden = import_to_memory(r.path(), sink, {*Sha1::parse(first)});
  ASSERT_TRUE(hidden.has_value());
  EXPECT_EQ(hidden->received.commits, 2u);
  EXPECT_EQ(hidden->received.known, 0u);
  expect_same_history(r, sink);
  MemorySink offered;
  ASSERT_TRUE(import_to_memory(r.path(), offered).has_value());
  const auto again = import_to_memory(r.path(), offered);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->received.commits, 0u);
  EXPECT_EQ(again->received.known, 3u);
  for (const auto& [commit, change] : sink.commits) EXPECT_EQ(offered.commits.at(commit).change, change.change);
}

TEST_F(Convert, MoreCommitsThanOneOffer) {
  auto& r = repository();
  std::string stream;
  const int count = static_cast<int>(wire::kMaxOffer) * 3 + 7;
  for (int i = 0; i < count; ++i) {
    const std::string text = std::to_string(i);
    stream += "commit refs/heads/main\ncommitter C <c> " + std::to_string(1'700'000'000 + i) + " +0000\ndata " +
              std::to_string(text.size()) + "\n" + text + "\nM 100644 inline f" + std::to_string(i % 10) + "\ndata " +
              std::to_string(text.size()) + "\n" + text + "\n";
  }
  ASSERT_TRUE(r.run({"fast-import", "--quiet"}, stream).status.ok());
  const auto imported = import_to_memory(r.path(), sink);
  ASSERT_TRUE(imported.has_value()) << imported.error().message;
  EXPECT_EQ(imported->received.commits, static_cast<std::uint64_t>(count));
  EXPECT_EQ(listing(sink.objects, sink.tree(r.git({"rev-parse", "main"}))), git_listing(r, "main"));
}

// --- what is refused, and by what name ---

TEST_F(Convert, NotARepository) {
  const auto result = import_to_memory(directory_.path(), sink);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::not_found);
  EXPECT_NE(result.error().message.find("is not a git repository"), std::string::npos);
  EXPECT_FALSE(result.error().hint.empty());
}

TEST_F(Convert, AnEmptyRepositoryHasNothing) {
  const auto result = import_to_memory(repository().path(), sink);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->facts.head, "refs/heads/main");
  EXPECT_TRUE(result->facts.refs.empty());
  EXPECT_EQ(result->received.commits, 0u);
}

TEST_F(Convert, ShallowPartialAndSha256AreRefusedByName) {  // GI3
  auto& r = repository();
  r.write("a", "a\n");
  r.commit("first");
  r.write("a", "b\n");
  r.commit("second");
  r.git({"config", "uploadpack.allowFilter", "true"});
  r.git({"clone", "-q", "--depth", "1", "file://" + r.path(), directory_.path() + "/shallow"});
  r.git({"clone", "-q", "--filter=blob:none", "file://" + r.path(), directory_.path() + "/partial"});
  GitRepository sha256(directory_.path(), "sha256", {"init", "-q", "-b", "main", "--object-format=sha256"});
  sha256.write("a", "a\n");
  sha256.commit("first");
  for (const std::string name : {"shallow", "partial", "sha256"}) {
    SCOPED_TRACE(name);
    const auto result = import_to_memory(directory_.path() + "/" + name, sink);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Code::unsupported);
    EXPECT_NE(result.error().message.find(name), std::string::npos) << result.error().message;
    EXPECT_FALSE(result.error().hint.empty());
  }
  EXPECT_TRUE(sink.commits.empty());
}

TEST_F(Convert, ABareRepositoryAndALinkedWorkTree) {
  auto& r = repository();
  r.write("a", "a\n");
  r.commit("first");
  r.git({"clone", "-q", "--bare", r.path(), directory_.path() + "/bare.git"});
  r.git({"worktree", "add", "-q", "-b", "other", directory_.path() + "/linked"});
  for (const std::string name : {"bare.git", "linked"}) {
    SCOPED_TRACE(name);
    MemorySink fresh;
    const auto result = import_to_memory(directory_.path() + "/" + name, fresh);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    EXPECT_EQ(fresh.commits.size(), 1u);
    EXPECT_EQ(result->facts.work_tree.empty(), name == "bare.git");
  }
}

TEST_F(Convert, DamagedAndMissingObjectsAreNamed) {
  auto& r = repository();
  r.write("a", "a\n");
  const auto sound = r.commit("first");
  r.write("a", "b\n");
  const auto broken = r.commit("second");
  const auto loose = [&](const std::string& id) {
    return r.path() + "/.git/objects/" + id.substr(0, 2) + "/" + id.substr(2);
  };
  const auto blob = r.git({"rev-parse", broken + ":a"});
  // Another blob's bytes under this one's name.
  const auto other = r.object("blob", "something else\n");
  std::filesystem::remove(loose(blob));
  std::filesystem::copy_file(loose(other), loose(blob));
  Error error = import_error();
  EXPECT_EQ(error.code, Code::damaged);
  EXPECT_NE(error.message.find(blob), std::string::npos) << error.message;
  EXPECT_EQ(sink.commits.size(), 1u);
  EXPECT_TRUE(sink.commits.contains(*Sha1::parse(sound)));
  std::filesystem::remove(loose(blob));
  error = import_error();
  EXPECT_NE(error.message.find("lacks the blob " + blob), std::string::npos) << error.message;
  const auto tree = r.git({"rev-parse", broken + "^{tree}"});
  std::filesystem::remove(loose(tree));
  error = import_error();
  EXPECT_NE(error.message.find(tree), std::string::npos) << error.message;
}

}  // namespace
}  // namespace weft::git::testing
