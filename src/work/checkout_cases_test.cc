// Checkout where the file system, the umask or the size of the tree is unusual, and what is left of killed ones.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "work/checkout_apply.h"
#include "work/leftovers.h"
#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using object::EntryKind;
using testing::Lines;
using testing::must;
using testing::Picture;

/// A mount only this process sees.
class Mount {
 public:
  Mount(const char* type, const std::string& source, std::string target, unsigned long flags, const char* options)
      : target_(std::move(target)) {
    if (::unshare(CLONE_NEWNS) != 0) return;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
    mounted_ = ::mount(source.c_str(), target_.c_str(), type, flags, options) == 0;
  }
  ~Mount() {
    if (mounted_) ::umount2(target_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool again(unsigned long flags, const char* options) const {
    return ::mount("none", target_.c_str(), nullptr, MS_REMOUNT | flags, options) == 0;
  }

 private:
  std::string target_;
  bool mounted_ = false;
};

class CheckoutCases : public testing::WorkTest {
 protected:
  /// Files with this content at these paths, as a tree; nothing is written to disk.
  ObjectId tree_of_files(const std::vector<std::string>& paths, const std::string& content) {
    ObjectId out = must(object::write_directory(objects_, {}));
    tree::TreeEditor editor(objects_, out);
    const ObjectId blob = must(objects_.put(object::ObjectKind::blob, content));
    for (const std::string& path : paths) {
      object::TreeEntry entry;
      entry.kind = EntryKind::file;
      entry.mode = 0644;
      entry.node = env_.random.id<NodeId>();
      entry.id = blob;
      entry.size = content.size();
      must(editor.set_with_parents(path, entry, [&](ByteView) { return env_.random.id<NodeId>(); }));
    }
    return must(editor.finish(objects_));
  }
  static Lines reasons(const CheckoutReport& report) {
    Lines out;
    for (const Warning& warning : report.warnings) out.push_back(warning.path + ": " + warning.reason);
    return out;
  }
  bool has_leftovers() const {
    for (const auto& [path, what] : picture_of_disk()) {
      if (is_temporary_name(path.substr(path.rfind('/') + 1))) return true;
    }
    return false;
  }
};

TEST_F(CheckoutCases, ManyThreadsDoAndSayWhatOneDoes) {  // CA3
  const ObjectId empty = head_;
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 20; ++j)
      paths.push_back("d" + std::to_string(i) + "/s" + std::to_string(j % 3) + "/f" + std::to_string(j));
    paths.push_back("d" + std::to_string(i) + "/" + std::string(60, 'x'));
  }
  for (int i = 0; i < 2200; ++i) paths.push_back("large/f" + std::to_string(i));
  paths.push_back(std::string(60, 'y') + "/below/it");
  const ObjectId one = tree_of_files(paths, "1");
  const ObjectId two = tree_of_files(paths, "2");
  root_->set_names({.max_bytes = 50});
  Lines first;
  for (const unsigned threads : {1u, 2u, 5u}) {
    CheckoutOptions options;
    options.max_threads = threads;
    std::uint64_t calls = 0;
    options.progress = [&calls](std::uint64_t done, std::uint64_t total) {
      ++calls;
      EXPECT_LE(done, total);
    };
    const auto filled = switch_to(one, options);
    EXPECT_EQ(filled.written, paths.size() - 41);
    EXPECT_GT(calls, 0u);
    ASSERT_EQ(filled.warnings.size(), 41u);
    if (first.empty()) first = reasons(filled);
    EXPECT_EQ(reasons(filled), first);
    EXPECT_EQ(status_lines().size(), 41u);  // they are missing, and said to be
    EXPECT_FALSE(has_leftovers());
    const auto changed = switch_to(two, options);
    EXPECT_EQ(changed.written, paths.size() - 41);
    EXPECT_EQ(read("d7/s1/f1"), "2");
    EXPECT_EQ(read("large/f2199"), "2");
    switch_to(empty, options);
    EXPECT_EQ(picture_of_disk(), Picture{});
  }
}

TEST_F(CheckoutCases, C13WhatMayNotBeReadIsRefusedOrNamedAndTheRestIsWritten) {
  for (const char* path : {"secret", "fine", "locked/in", "sealed/in"}) write(path, "1");
  const ObjectId one = commit().tree;
  for (const char* path : {"secret", "fine", "locked/in", "sealed/in"}) write(path, "2");
  const ObjectId two = commit().tree;
  switch_to(one);
  ASSERT_EQ(::chmod(at("locked").c_str(), 0), 0);
  ASSERT_EQ(::chmod(at("sealed").c_str(), 0555), 0);
  const auto check = [&]() -> int {
    if (::chmod(at("secret").c_str(), 0) != 0) return 2;
    const auto refused = try_checkout(two);
    if (refused || refused.error().message.find("secret cannot be read") == std::string::npos) return 3;
    if (::chmod(at("secret").c_str(), 0644) != 0) return 4;
    const auto report = try_checkout(two);
    if (!report || warned(report->warnings) != Lines{"locked/in", "sealed/in"}) return 5;
    head_ = two;
    const Status after = scan();
    if (lines(after) != Lines{"M sealed/in"} || warned(after.warnings) != Lines{"locked"}) return 6;
    return read("fine") == "2" && read("sealed/in") == "1" ? 0 : 7;
  };
  int result = 77;
  if (::geteuid() != 0) {
    result = check();
  } else {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(obey_modes() ? check() : 77);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  for (const char* path : {"locked", "sealed"}) ASSERT_EQ(::chmod(at(path).c_str(), 0755), 0);
  if (result == 77) GTEST_SKIP() << "SKIPPED LOUDLY: root cannot give up its rights here";
  EXPECT_EQ(result, 0);
}

TEST_F(CheckoutCases, C15LinksToThemselvesToNowhereAndAway) {
  const ObjectId empty = head_;
  ObjectId links = empty;
  for (const auto& [path, target] :
       {std::pair{"u", "u"}, {"dangling", "nowhere"}, {"away", "/etc"}, {"d/up", "../.."}}) {
    links = tree_with(links, path, target, EntryKind::symlink, 0777);
  }
  const ObjectId files = tree_of_files({"u", "dangling", "away", "d/up"}, "file");
  switch_to(links);
  EXPECT_EQ(picture_of_disk(), picture_of(links));
  switch_to(files);
  EXPECT_EQ(picture_of_disk(), picture_of(files));
  switch_to(links);
  switch_to(empty);
  EXPECT_EQ(picture_of_disk(), Picture{});
  EXPECT_TRUE(std::filesystem::exists("/etc/passwd"));
}

TEST_F(CheckoutCases, C20FileAndDirectoryChangePlacesAlsoWithOneOfThemMoved) {
  const ObjectId empty = head_;
  const ObjectId one = tree_with(tree_with(empty, "a", "file a"), "b/in", "in b");
  const ObjectId two = tree_with(tree_with(empty, "b", "file a"), "a/in", "in b");
  for (const ObjectId& to : {one, two, one, two, empty}) {
    switch_to(to);
    EXPECT_EQ(picture_of_disk(), picture_of(to));
    EXPECT_EQ(status_lines(), Lines{});
  }
}

TEST_F(CheckoutCases, C22ARepositoryInsideATrackedDirectoryIsLeftAlone) {
  const ObjectId empty = head_;
  write("d/tracked", "1");
  const ObjectId one = commit().tree;
  write("d/.git/HEAD", "ref");
  write("d/theirs", "theirs");
  switch_to(empty);
  EXPECT_EQ(picture_of_disk(),
            (Picture{{"d", "d"}, {"d/.git", "d"}, {"d/.git/HEAD", "f644:ref"}, {"d/theirs", "f644:theirs"}}));
  switch_to(one);
  EXPECT_EQ(read("d/tracked"), "1");
  EXPECT_EQ(read("d/.git/HEAD"), "ref");
}

TEST_F(CheckoutCases, C23NamesThatDifferInCaseWhereTheFileSystemDoesNotTellThemApart) {
  const ObjectId empty = head_;
  root_->set_names({.fold_case = true});
  const ObjectId both = tree_of_files({"Foo", "foo", "rest", "Dir/a", "dir/b"}, "1");
  const auto report = switch_to(both);
  EXPECT_EQ(warned(report.warnings), (Lines{"dir", "foo"}));
  EXPECT_NE(report.warnings.back().reason.find("takes its name for the same"), std::string::npos);
  EXPECT_EQ(picture_of_disk(), (Picture{{"Foo", "f644:1"}, {"rest", "f644:1"}, {"Dir", "d"}, {"Dir/a", "f644:1"}}));
  EXPECT_EQ(status_lines(), (Lines{"D dir/b", "D foo"}));  // the truth
  // One more spelling beside one that stays.
  const ObjectId upper = tree_of_files({"Foo", "rest", "Dir/a"}, "1");
  must(checkout(tree(), objects_, both, upper, {}));
  EXPECT_EQ(read("Foo"), "1");  // taking the other spelling away does not take it
  EXPECT_EQ(read("Dir/a"), "1");
  const ObjectId again = tree_of_files({"Foo", "FOO", "rest", "Dir/a", "DIR/c", "new"}, "1");
  const auto beside = must(checkout(tree(), objects_, upper, again, {}));
  EXPECT_EQ(warned(beside.warnings), (Lines{"DIR", "FOO"}));
  EXPECT_EQ(read("new"), "1");
  // A rename that changes the case alone.
  const ObjectId lower = tree_of_files({"foo", "rest"}, "1");
  must(checkout(tree(), objects_, again, empty, {}));
  must(checkout(tree(), objects_, empty, tree_of_files({"Foo", "rest"}, "1"), {}));
  const auto renamed = must(checkout(tree(), objects_, tree_of_files({"Foo", "rest"}, "1"), lower, {}));
  EXPECT_TRUE(renamed.warnings.empty());
  EXPECT_EQ(picture_of_disk(), (Picture{{"foo", "f644:1"}, {"rest", "f644:1"}}));
}

TEST_F(CheckoutCases, C26NamesOf143And255Bytes) {
  const ObjectId empty = head_;
  const std::string longest(255, 'n');
  const ObjectId long_names = tree_of_files({longest, "d/" + longest, std::string(254, 'm') + "/" + longest}, "1");
  const auto report = switch_to(long_names);  // the temporaries of the longest names fit
  EXPECT_EQ(warned(report.warnings), Lines{});
  EXPECT_EQ(picture_of_disk(), picture_of(long_names));
  switch_to(tree_of_files({longest, "d/" + longest}, "2"));
  EXPECT_EQ(read("d/" + longest), "2");
  switch_to(empty);
  EXPECT_EQ(picture_of_disk(), Picture{});

  root_->set_names({.max_bytes = 143});
  const std::string just(143, 'j');
  const std::string over(144, 'o');
  ObjectId mixed = tree_of_files({just, over, just + "d/x", over + "d/y", "d/" + just, "d/" + over, "rest"}, "1");
  mixed = tree_with(mixed, over + "l", "target", EntryKind::symlink, 0777);
  const auto limited = switch_to(mixed);
  EXPECT_EQ(warned(limited.warnings), (Lines{"d/" + over, just + "d", over, over + "d", over + "l"}));
  for (const Warning& warning : limited.warnings) EXPECT_EQ(warning.reason, "not written out: File name too long");
  EXPECT_EQ(read("rest"), "1");
  EXPECT_EQ(read("d/" + just), "1");
  EXPECT_FALSE(has_leftovers());
  EXPECT_EQ(status_lines().size(), 5u);
  // Away again: what was never there is nobody's trouble.
  EXPECT_TRUE(switch_to(empty).warnings.empty());
  EXPECT_EQ(picture_of_disk(), Picture{});
}

TEST_F(CheckoutCases, C28ExecuteBitAloneKeepsTheFileAndTheRestOfItsMode) {
  write("f", "1");
  ASSERT_EQ(::chmod(at("f").c_str(), 0640), 0);
  const ObjectId plain = commit().tree;
  ASSERT_EQ(::chmod(at("f").c_str(), 0750), 0);
  const ObjectId executable = commit().tree;
  struct stat before{};
  ASSERT_EQ(::stat(at("f").c_str(), &before), 0);
  switch_to(plain);
  struct stat after{};
  ASSERT_EQ(::stat(at("f").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777u, 0640u);
  EXPECT_EQ(after.st_ino, before.st_ino);
  switch_to(executable);
  ASSERT_EQ(::stat(at("f").c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777u, 0750u);
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(CheckoutCases, ModesHonourTheUmaskAndTimesAreThoseOfWriting) {
  const ObjectId files = tree_with(tree_with(head_, "plain", "1"), "d/run", "#!", EntryKind::file, 0755);
  struct stat status{};
  for (const auto& [mask, plain, run] : {std::tuple{022u, 0644u, 0755u}, {077u, 0600u, 0700u}, {002u, 0664u, 0775u}}) {
    const ObjectId empty = must(object::write_directory(objects_, {}));
    const mode_t before = ::umask(mask);
    const std::int64_t begun = env_.clock.now_ns();
    must(checkout(tree(), objects_, empty, files, {}));
    ::umask(before);
    ASSERT_EQ(::stat(at("plain").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, plain);
    EXPECT_GE(status.st_mtim.tv_sec, begun / 1'000'000'000 - 1);
    ASSERT_EQ(::stat(at("d/run").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777u, run);
    must(checkout(tree(), objects_, files, empty, {}));
  }
}

TEST_F(CheckoutCases, C31EmptyDirectoriesComeAndGoAndThoseWithIgnoredFilesStay) {
  const ObjectId empty = head_;
  write(".gitignore", "*.o\n");
  make_dir("empty/inside");
  write("d/sub/tracked", "1");
  const ObjectId one = commit().tree;
  write("d/sub/ignored.o", "object");
  const ObjectId away = tree_with(empty, ".gitignore", "*.o\n");
  const auto report = switch_to(away);
  EXPECT_TRUE(report.warnings.empty());
  EXPECT_EQ(picture_of_disk(),
            (Picture{{".gitignore", "f644:*.o\n"}, {"d", "d"}, {"d/sub", "d"}, {"d/sub/ignored.o", "f644:object"}}));
  switch_to(one);
  Picture expected = picture_of(one);
  expected["d/sub/ignored.o"] = "f644:object";
  EXPECT_EQ(picture_of_disk(), expected);
  EXPECT_EQ(status_lines(), Lines{});
  // The parent of a removed file is tracked itself, empty as it is from now on.
  tree::TreeEditor editor(objects_, one);
  must(editor.remove("d/sub/tracked"));
  remove("d/sub/ignored.o");
  switch_to(must(editor.finish(objects_)));
  EXPECT_TRUE(exists("d/sub"));
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(CheckoutCases, AFullDiskStopsWithWhatWasWrittenAndRunningAgainFinishes) {  // CASES C6
  const Mount mount("tmpfs", "none", root_path(), 0, "size=1m");
  if (!mount.mounted()) GTEST_SKIP() << "SKIPPED LOUDLY: cannot mount here";
  root_.emplace(must(HostDir::open(root_path())));
  const ObjectId empty = head_;
  std::vector<std::string> paths;
  for (int i = 0; i < 40; ++i) paths.push_back((i % 2 == 0 ? "d/f" : "f") + std::to_string(10 + i));
  const ObjectId full = tree_of_files(paths, std::string(100'000, 'x'));
  const auto stopped = try_checkout(full);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::no_space);
  EXPECT_NE(stopped.error().message.find("stopped after"), std::string::npos) << stopped.error().message;
  EXPECT_FALSE(has_leftovers());
  const Picture so_far = picture_of_disk();
  const Picture wanted = picture_of(full);
  EXPECT_GT(so_far.size(), 3u);
  for (const auto& [path, what] : so_far) EXPECT_TRUE(wanted.at(path) == what) << path;
  ASSERT_TRUE(mount.again(0, "size=64m"));
  must(checkout(tree(), objects_, empty, full, {}));
  EXPECT_TRUE(picture_of_disk() == wanted);
  head_ = full;
  EXPECT_EQ(status_lines(), Lines{});
}

TEST_F(CheckoutCases, AReadOnlyDirectoryIsNamedAndTheRestIsWritten) {
  for (const char* path : {"ro/a", "ro/gone", "ro/sub/b", "rw"}) write(path, "1");
  const ObjectId one = commit().tree;
  for (const char* path : {"ro/a", "ro/sub/b", "rw", "ro/fresh/c"}) write(path, "2");
  remove("ro/gone");
  const ObjectId two = commit().tree;
  switch_to(one);
  const Mount mount(nullptr, at("ro"), at("ro"), MS_BIND, nullptr);
  if (!mount.mounted() || !mount.again(MS_BIND | MS_RDONLY, nullptr))
    GTEST_SKIP() << "SKIPPED LOUDLY: cannot mount here";
  root_.emplace(must(HostDir::open(root_path())));  // through the mount
  const auto report = switch_to(two);
  EXPECT_EQ(warned(report.warnings), (Lines{"ro/a", "ro/fresh", "ro/gone", "ro/sub/b"}));
  EXPECT_EQ(report.warnings.front().reason, "not written out: Read-only file system");
  EXPECT_EQ(report.written, 1u);
  EXPECT_EQ(read("rw"), "2");
  EXPECT_EQ(status_lines(), (Lines{"M ro/a", "D ro/fresh/c", "A ro/gone", "M ro/sub/b"}));
}

TEST_F(CheckoutCases, AnOverlayWithLayersOnTwoFileSystems) {
  const std::string lower = temp_ / "lower";
  for (const char* each : {"lower", "upper", "scratch"}) std::filesystem::create_directory(temp_ / each);
  const Mount memory("tmpfs", "none", lower, 0, "size=4m");
  const std::string layers = "lowerdir=" + lower + ",upperdir=" + (temp_ / "upper") + ",workdir=" + (temp_ / "scratch");
  std::filesystem::create_directory(lower + "/d");
  for (const char* path : {"/replaced", "/gone", "/d/replaced", "/d/gone"}) std::ofstream(lower + path) << "1";
  std::filesystem::create_symlink("1", lower + "/link");
  const Mount mount("overlay", "none", root_path(), 0, layers.c_str());
  if (!memory.mounted() || !mount.mounted()) GTEST_SKIP() << "SKIPPED LOUDLY: cannot mount here";
  root_.emplace(must(HostDir::open(root_path())));
  ObjectId one = tree_of_files({"replaced", "gone", "d/replaced", "d/gone"}, "1");
  one = tree_with(one, "link", "1", EntryKind::symlink, 0777);
  ObjectId two = tree_of_files({"replaced", "d/replaced", "new/sub/file"}, "2");
  two = tree_with(two, "link", "2", EntryKind::symlink, 0777);
  head_ = one;
  EXPECT_TRUE(switch_to(two).warnings.empty());
  EXPECT_EQ(picture_of_disk(), picture_of(two));
  EXPECT_FALSE(has_leftovers());
  EXPECT_TRUE(switch_to(one).warnings.empty());
  EXPECT_EQ(picture_of_disk(), picture_of(one));
  EXPECT_TRUE(switch_to(must(object::write_directory(objects_, {}))).warnings.empty());
  EXPECT_EQ(picture_of_disk(), Picture{});
}

TEST_F(CheckoutCases, LeftoversAreSweptOutsideNestedRepositoriesAndNothingElseIs) {  // LO1, LO2
  write("f", "1");
  write(".weft-0123abcd", "half");
  write("d/.weft-00000000/whole", "hidden");
  link("d/.weft-ffffffff", "target");
  write("d/.weft-0123abcd.txt", "a user's");
  write(".weft-0123ABCD", "a user's");
  write("nested/.git/HEAD", "ref");
  write("nested/.weft-0123abcd", "another's");
  EXPECT_EQ(sweep_leftovers(*root_), 3u);
  EXPECT_EQ(picture_of_disk(), (Picture{{"f", "f644:1"},
                                        {"d", "d"},
                                        {"d/.weft-0123abcd.txt", "f644:a user's"},
                                        {".weft-0123ABCD", "f644:a user's"},
                                        {"nested", "d"},
                                        {"nested/.git", "d"},
                                        {"nested/.git/HEAD", "f644:ref"},
                                        {"nested/.weft-0123abcd", "f644:another's"}}));
}

}  // namespace
}  // namespace weft::work
