// Verbs that write files out, run as the real program under ptrace: killed before each of their system calls that
// change something, looked at by a second process half-way, and raced by an editor at the worst moment.
//
// Invariants cited: W3, W4 (work/work.h), ST2 (work/step_writer.h), F-4 (repo/files.h), WS-1, WS-4 (repo/workspace.h),
// SW-3 (repo/switch.h), RE-1 (repo/rescue.h).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/testing/temp_dir.h"
#include "traced.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing::Command;
using testing::SystemCall;
using testing::TracedRun;
using testing::Verdict;

using Picture = std::map<std::string, std::string>;

bool is_temporary(const std::string& name) {
  return name.size() == 14 && name.starts_with(".weft-") && name.find_first_not_of("0123456789abcdef", 6) == name.npos;
}

class WriteOut : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::can_trace()) GTEST_SKIP() << "ptrace is not allowed here";
    fs::create_directories(run() / "w");
    must("init");
  }

  fs::path run() const { return fs::path(dir_.path()) / "run"; }
  fs::path at(const std::string& path) const { return run() / path; }
  void write(const std::string& path, const std::string& content) {
    fs::create_directories(at(path).parent_path());
    std::ofstream(at(path), std::ios::binary | std::ios::trunc) << content;
  }
  std::string read(const std::string& path) const {
    std::ifstream file(at(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  Command command(const std::string& words, const std::string& directory = "w") const {
    Command out;
    out.arguments = {WEFT_PROGRAM};
    for (std::size_t from = 0; from < words.size();) {
      const std::size_t space = std::min(words.find(' ', from), words.size());
      out.arguments.push_back(words.substr(from, space - from));
      from = space + 1;
    }
    out.directory = at(directory);
    out.environment = {"HOME=" + dir_.path(), "WEFT_AUTHOR=Ann <ann@example.org>", "PATH=/usr/bin:/bin"};
    return out;
  }
  TracedRun weft(const std::string& words, const std::string& directory = "w") const {
    return testing::run_plain(command(words, directory));
  }
  void must(const std::string& words, const std::string& directory = "w") const {
    const auto done = weft(words, directory);
    ASSERT_EQ(done.exit_code, 0) << words << ": " << done.output;
  }

  Picture picture(const std::string& directory = "w") const {
    Picture out;
    for (auto walk = fs::recursive_directory_iterator(at(directory)); walk != fs::recursive_directory_iterator();
         ++walk) {
      const std::string path = walk->path().lexically_relative(at(directory));
      if (path == ".weft") {
        if (walk->is_directory()) walk.disable_recursion_pending();
        continue;
      }
      const auto status = walk->symlink_status();
      if (status.type() == fs::file_type::directory) {
        out[path] = "d";
      } else if (status.type() == fs::file_type::symlink) {
        out[path] = "l:" + fs::read_symlink(walk->path()).string();
      } else {
        const bool executable = (status.permissions() & fs::perms::owner_exec) != fs::perms::none;
        out[path] = (executable ? "x:" : "f:") + read(directory + "/" + path);
      }
    }
    return out;
  }
  static Picture without_leftovers(const Picture& picture) {
    Picture out;
    for (const auto& [path, what] : picture) {
      bool leftover = false;
      for (const auto& part : fs::path(path)) leftover = leftover || is_temporary(part.string());
      if (!leftover) out.emplace(path, what);
    }
    return out;
  }

  void keep() {
    fs::copy(run(), fs::path(dir_.path()) / "kept", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  void bring_back() {
    ASSERT_TRUE(run().string().ends_with("/run"));
    fs::remove_all(run());
    fs::copy(fs::path(dir_.path()) / "kept", run(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  /// Two versions, `a` and `b`, that differ in every way; the files stand at `a`.
  void make_versions() {
    write("w/.gitignore", "*.o\n");
    write("w/same", "same");
    write("w/changes", "1 changes");
    write("w/goes", "1 goes");
    write("w/mode", "1 mode");
    write("w/d/changes", "1 d changes");
    write("w/d/deep/goes", "1 d deep goes");
    write("w/file_to_dir", "1 file_to_dir");
    write("w/dir_to_file/x", "1 dir_to_file x");
    fs::create_symlink("same", at("w/link"));
    fs::create_directory(at("w/empty"));
    must("commit -m a");
    must("ref set a @");
    first_ = picture();
    first_id_ = head();
    for (const char* path : {"w/changes", "w/d/changes"}) write(path, std::string("2") + path);
    for (const char* path : {"w/goes", "w/d/deep", "w/file_to_dir", "w/dir_to_file", "w/empty", "w/link"}) {
      fs::remove_all(at(path));
    }
    fs::permissions(at("w/mode"), fs::perms::owner_exec, fs::perm_options::add);
    write("w/file_to_dir/y", "2 file_to_dir y");
    write("w/dir_to_file", "2 dir_to_file");
    write("w/new/sub/n", "2 new sub n");
    write("w/new/m", "2 new m");
    fs::create_symlink("changes", at("w/link"));
    fs::create_directory(at("w/other_empty"));
    must("commit -m b");
    must("ref set b @");
    second_ = picture();
    second_id_ = head();
    must("switch a");
    ASSERT_EQ(picture(), first_);
  }

  std::string head() const {
    return nlohmann::json::parse(weft("status --json").output).at("data").at("head").at(0).get<std::string>();
  }

  /// W4: each path old, new, or absent where its kind changes.
  void expect_old_or_new(const Picture& disk, const Picture& one, const Picture& other) {
    std::set<std::string> paths;
    for (const Picture* each : {&disk, &one, &other}) {
      for (const auto& [path, what] : *each) paths.insert(path);
    }
    const auto in = [](const Picture& picture, const std::string& path) {
      const auto found = picture.find(path);
      return found == picture.end() ? std::string() : found->second;
    };
    for (const std::string& path : paths) {
      const std::string now = in(disk, path);
      const std::string before = in(one, path);
      const std::string after = in(other, path);
      const bool kind_changes = before.substr(0, 1) != after.substr(0, 1);
      EXPECT_TRUE(now == before || now == after || (now.empty() && kind_changes)) << path << " is " << now;
    }
  }

  /// `weft status` names exactly the files that are not as the version the files are said to stand at has them.
  void expect_true_status(const Picture& disk, const std::string& directory = "w") {
    const auto status = weft("status --json", directory);
    ASSERT_EQ(status.exit_code, 0) << status.output;
    const auto data = nlohmann::json::parse(status.output).at("data");
    const auto at = data.at("files_at");
    const Picture* standing = nullptr;
    const Picture nothing;
    if (at.empty()) standing = &nothing;
    if (!at.empty() && at.at(0) == first_id_) standing = &first_;
    if (!at.empty() && at.at(0) == second_id_) standing = &second_;
    ASSERT_NE(standing, nullptr) << status.output;
    std::set<std::string> named;
    for (const auto& entry : data.at("entries")) {
      named.insert(entry.at("path").get<std::string>());
      if (entry.contains("old_path") && entry.at("old_path").is_string()) {
        named.insert(entry.at("old_path").get<std::string>());
      }
    }
    std::set<std::string> different;
    for (const auto& [path, what] : *standing) {
      const auto now = disk.find(path);
      if (what != "d" && (now == disk.end() || now->second != what)) different.insert(path);
    }
    for (const auto& [path, what] : disk) {
      if (what != "d" && !standing->contains(path)) different.insert(path);
    }
    for (const std::string& path : different) {
      EXPECT_TRUE(named.contains(path)) << path << " differs and is not named: " << status.output;
    }
    for (const std::string& path : named) {
      const auto now = disk.find(path);
      const auto then = standing->find(path);
      const bool directory_only =
          (now == disk.end() || now->second == "d") && (then == standing->end() || then->second == "d");
      const bool differs = (now == disk.end() ? "" : now->second) != (then == standing->end() ? "" : then->second);
      EXPECT_TRUE(differs || directory_only) << path << " is named: " << status.output;
    }
  }

  /// Runs `words` again and again, killed before its n-th step; `check` looks at what is left of each.
  void kill_at_every_step(const std::string& words, const std::function<void()>& check) {
    keep();
    int killed = 0;
    for (int step = 1;; ++step) {
      SCOPED_TRACE(words + ", killed at step " + std::to_string(step));
      bring_back();
      int seen = 0;
      std::string where;
      const auto traced = testing::run_traced(command(words), [&](const SystemCall& call) {
        if (!testing::changes_something(call) || ++seen != step) return Verdict::proceed;
        where = std::to_string(call.number) + " " + call.path + " " + call.other_path;
        return Verdict::kill;
      });
      SCOPED_TRACE("which was " + where);
      if (traced.exit_code >= 0) {
        EXPECT_EQ(traced.exit_code, 0) << traced.output;
        break;
      }
      ++killed;
      check();
      if (HasFailure()) return;
    }
    EXPECT_GT(killed, 20);  // or nothing was tried
  }

  TempDir dir_;
  Picture first_, second_;
  std::string first_id_, second_id_;
};

TEST_F(WriteOut, SwitchKilledAtEveryStepIsFinishedByTheNext) {  // W4, SW-3
  make_versions();
  bool left_something = false;
  kill_at_every_step("switch b", [&] {
    const Picture left = picture();
    const Picture disk = without_leftovers(left);
    left_something = left_something || disk != left;
    expect_old_or_new(disk, first_, second_);
    expect_true_status(disk);
    must("switch b");
    EXPECT_EQ(picture(), second_);  // leftovers are swept as well
    EXPECT_NE(weft("status").output.find("no changes"), std::string::npos) << weft("status").output;
  });
  EXPECT_TRUE(left_something);
}

TEST_F(WriteOut, SwitchKilledAtEveryStepGoesBackAsWell) {  // SW-3
  make_versions();
  kill_at_every_step("switch b", [&] {
    const auto back = weft("switch a");
    EXPECT_EQ(back.exit_code, 0) << back.output;
    EXPECT_EQ(picture(), first_);
  });
}

TEST_F(WriteOut, RestoreKilledAtEveryStepIsFinishedByTheNext) {  // RT-1
  make_versions();
  const Picture clean = first_;
  write("w/changes", "an edit");
  write("w/d/changes", "another edit");
  fs::remove_all(at("w/dir_to_file"));
  write("w/dir_to_file", "in the way");
  fs::remove(at("w/goes"));
  write("w/untracked", "mine");
  const Picture edited = picture();
  Picture restored = clean;
  restored["untracked"] = "f:mine";
  kill_at_every_step("restore .", [&] {
    const Picture disk = without_leftovers(picture());
    expect_old_or_new(disk, edited, restored);
    expect_true_status(disk);
    must("restore .");
    EXPECT_EQ(picture(), restored);
  });
}

TEST_F(WriteOut, ForcedSwitchKilledAtEveryStepLosesNoEdit) {  // SW-2, RE-1
  make_versions();
  write("w/changes", "an edit");
  write("w/new/m", "untracked, in the way");
  const Picture edited = picture();
  kill_at_every_step("switch -f b", [&] {
    const Picture disk = without_leftovers(picture());
    expect_old_or_new(disk, edited, second_);
    const bool kept_on_disk = disk.at("changes") == "f:an edit";
    must("switch -f b");
    EXPECT_EQ(picture(), second_);
    if (!kept_on_disk) {
      // Overwritten only after it was recorded: undoing brings it back.
      const auto log = weft("op log");
      EXPECT_NE(log.output.find("switch to b"), std::string::npos) << log.output;
    }
  });
}

TEST_F(WriteOut, WorkspaceAddKilledAtEveryStepIsFinishedByTheSameAgain) {  // WS-1
  make_versions();
  kill_at_every_step("workspace add x --at b --follow b", [&] {
    if (fs::exists(at("x"))) {
      Picture none;
      expect_old_or_new(without_leftovers(picture("x")), none, second_);
    }
    const auto again = weft("workspace add x --at b --follow b");
    if (again.exit_code != 0) {
      // Killed behind the last file: it is complete, and taken.
      EXPECT_EQ(again.output.find("exists and is not empty"), std::string::npos) << again.output;
      EXPECT_NE(again.output.find("already"), std::string::npos) << again.output;
    }
    EXPECT_EQ(picture("x"), second_);
    const auto status = weft("status", "x");
    EXPECT_NE(status.output.find("no changes"), std::string::npos) << status.output;
  });
}

TEST_F(WriteOut, WorkspaceRmKilledAtEveryStepIsFinishedByTheSameAgain) {  // WS-4, CASES C8
  make_versions();
  must("workspace add x --at a");
  write("x/untracked", "precious");
  write("x/d/deep/more/file", "precious too");
  kill_at_every_step("workspace rm x", [&] {
    const auto again = weft("workspace rm x");
    if (again.exit_code != 0) {
      EXPECT_NE(again.output.find("there is no workspace"), std::string::npos) << again.output;
    }
    EXPECT_FALSE(fs::exists(at("x"))) << again.output;
    must("undo");
    EXPECT_EQ(read("x/untracked"), "precious");
    EXPECT_EQ(read("x/d/deep/more/file"), "precious too");
  });
}

TEST_F(WriteOut, FilesMadeAfterAKilledRmAreRecordedBeforeTheyGo) {  // WS-4
  make_versions();
  must("workspace add x --at a");
  bool unlinked = false;
  (void)testing::run_traced(command("workspace rm x"), [&](const SystemCall& call) {
    if (unlinked && testing::changes_something(call)) return Verdict::kill;
    if (unlinked) return Verdict::proceed;
    unlinked = call.is(SYS_unlinkat) && call.path.find(".writing") == std::string::npos;
    return Verdict::proceed;
  });
  ASSERT_TRUE(unlinked);
  ASSERT_TRUE(fs::exists(at("x/.weft")));
  write("x/later", "made since");
  must("workspace rm x");
  EXPECT_FALSE(fs::exists(at("x")));
  const auto operations = weft("op log");
  EXPECT_NE(operations.output.find("finished"), std::string::npos) << operations.output;
}

TEST_F(WriteOut, AnotherTerminalIsToldThatAWriteOutIsInProgress) {  // F-4
  make_versions();
  bool asked = false;
  const auto traced = testing::run_traced(command("switch b"), [&](const SystemCall& call) {
    if (asked || !call.is(SYS_renameat2) || call.path.find(".weft-") == std::string::npos) return Verdict::proceed;
    asked = true;
    for (const char* words : {"switch a", "restore changes", "commit -m no", "rm same"}) {
      const auto other = weft(words);
      EXPECT_EQ(other.exit_code, 4) << words << ": " << other.output;
      EXPECT_NE(other.output.find("by another process"), std::string::npos) << other.output;
    }
    const auto status = weft("status");
    EXPECT_EQ(status.exit_code, 0);
    EXPECT_NE(status.output.find("being written out by another process"), std::string::npos) << status.output;
    EXPECT_EQ(status.output.find("interrupted"), std::string::npos) << status.output;
    return Verdict::proceed;
  });
  EXPECT_TRUE(asked);
  EXPECT_EQ(traced.exit_code, 0) << traced.output;
  EXPECT_EQ(picture(), second_);
}

TEST_F(WriteOut, AnEditorThatSavesAtTheLastMomentIsNotOverwritten) {  // ST2
  make_versions();
  keep();
  enum class Save { in_place, by_rename };
  for (const Save save : {Save::in_place, Save::by_rename}) {
    for (const bool replaced : {true, false}) {  // by new content, or removed
      bring_back();
      const std::string path = replaced ? "changes" : "goes";
      bool saved = false;
      const auto traced = testing::run_traced(command("switch b"), [&](const SystemCall& call) {
        const bool now = call.is(SYS_renameat2) && (replaced ? call.other_path : call.path) == path;
        if (saved || !now) return Verdict::proceed;
        saved = true;
        if (save == Save::in_place) {
          write("w/" + path, "saved just now");
        } else {
          write("w/.editor", "saved just now");
          fs::rename(at("w/.editor"), at("w/" + path));
        }
        return Verdict::proceed;
      });
      ASSERT_TRUE(saved);
      EXPECT_EQ(traced.exit_code, 0);
      EXPECT_EQ(read("w/" + path), "saved just now");
      EXPECT_NE(traced.output.find(path), std::string::npos) << traced.output;
      Picture expected = second_;
      expected[path] = "f:saved just now";
      EXPECT_EQ(picture(), expected);
    }
  }
}

TEST_F(WriteOut, EditsMadeBetweenRecordingAndWritingOutAreKept) {  // RE-1, W3
  make_versions();
  write("w/changes", "first edit");
  write("w/d/changes", "other edit");
  keep();
  for (const char* words : {"restore .", "switch -f b", "rm changes"}) {
    bring_back();
    // Directory state is read for the recording, and again when the write-out is planned: behind that comes the first
    // change of the tree.
    const auto reads_state = [](const SystemCall& call) {
      return call.is(SYS_openat) && call.path.ends_with("/default.state");
    };
    const auto touches_tree = [](const SystemCall& call) {
      return call.path.starts_with(".weft-") || call.other_path.starts_with(".weft-");
    };
    int reads = 0;
    bool touched = false;
    (void)testing::run_traced(command(words), [&](const SystemCall& call) {
      touched = touched || touches_tree(call);
      reads += reads_state(call) && !touched ? 1 : 0;
      return Verdict::proceed;
    });
    ASSERT_TRUE(touched) << words;
    ASSERT_GT(reads, 1) << words;
    bring_back();
    bool saved = false;
    const auto traced = testing::run_traced(command(words), [&](const SystemCall& call) {
      if (!saved && reads_state(call) && --reads == 0) {
        saved = true;
        write("w/changes", "second edit");
      }
      return Verdict::proceed;
    });
    ASSERT_TRUE(saved) << words;
    EXPECT_EQ(traced.exit_code, 0) << words << traced.output;
    EXPECT_EQ(read("w/changes"), "second edit") << words;
    EXPECT_NE(traced.output.find("changes"), std::string::npos) << words << ": " << traced.output;
    if (std::string(words) == "restore .") {
      EXPECT_EQ(read("w/d/changes"), "1 d changes");
    }
  }
}

TEST_F(WriteOut, FewSystemCallsPerFile) {
  for (int i = 0; i < 100; ++i) write("w/fixed/f" + std::to_string(i), std::to_string(i));
  must("commit -m fixed");
  must("ref set fixed @");
  const auto calls_of = [&](const std::string& words) {
    const auto traced = testing::run_traced(command(words), [](const SystemCall&) { return Verdict::proceed; });
    EXPECT_EQ(traced.exit_code, 0) << traced.output;
    return traced.calls;
  };
  const auto per_file = [](const std::map<long, int>& few, const std::map<long, int>& many) {
    std::map<long, int> out;
    for (const auto& [number, count] : many) {
      const auto found = few.find(number);
      const int more = count - (found == few.end() ? 0 : found->second);
      if (more >= 50) out[number] = (more + 50) / 100;
    }
    return out;
  };
  // 100 files, and 200 of them: what the second hundred cost.
  for (int i = 0; i < 200; ++i) write("w/more/f" + std::to_string(i), "m" + std::to_string(i));
  must("commit -m more");
  must("ref set more @");
  for (int i = 100; i < 200; ++i) fs::remove(at("w/more/f" + std::to_string(i)));
  must("commit -m some");
  must("ref set some @");
  must("switch fixed");
  const auto some = calls_of("switch some");
  must("switch fixed");
  const auto more = calls_of("switch more");
  const std::map<long, int> fresh{{SYS_openat, 1}, {SYS_write, 1}, {SYS_newfstatat, 1}, {SYS_close, 1}};
  EXPECT_EQ(per_file(some, more), fresh);
  const auto threads = [](const std::map<long, int>& calls) {
    return calls.contains(SYS_clone) || calls.contains(SYS_clone3);
  };
  EXPECT_FALSE(threads(more));  // little to write: none is started
  for (int i = 0; i < 300; ++i) write("w/many/f" + std::to_string(i), "m" + std::to_string(i));
  must("commit -m many");
  must("ref set many @");
  must("switch fixed");
  EXPECT_TRUE(threads(calls_of("switch many")));
  must("switch more");

  for (int i = 0; i < 200; ++i) write("w/more/f" + std::to_string(i), "changed" + std::to_string(i));
  must("commit -m changed");
  must("ref set changed @");
  for (int i = 100; i < 200; ++i) write("w/more/f" + std::to_string(i), "m" + std::to_string(i));
  must("commit -m half");
  must("ref set half @");
  must("switch more");
  ::usleep(50'000);
  must("status");  // what was written within the last tick has been read once more
  const auto half = calls_of("switch half");
  must("switch more");
  ::usleep(50'000);
  must("status");
  const auto whole = calls_of("switch changed");
  // Looked at when planned, before and after it is exchanged, and once it is in its place.
  const std::map<long, int> replaced{{SYS_openat, 1},    {SYS_write, 1},    {SYS_newfstatat, 4},
                                     {SYS_renameat2, 1}, {SYS_unlinkat, 1}, {SYS_close, 1}};
  EXPECT_EQ(per_file(half, whole), replaced);
}

}  // namespace
}  // namespace weft
