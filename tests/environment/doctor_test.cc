// What `weft doctor` finds, each thing made for it: that it is found, how much it matters, and what to do.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "repo/doctor_store.h"
#include "support.h"

namespace weft::environment {
namespace {

namespace stdfs = std::filesystem;
using repo::Diagnosis;
using repo::Severity;

const repo::DoctorFinding* find(const Diagnosis& diagnosis, std::string_view code, std::string_view part = {}) {
  for (const auto& finding : diagnosis.findings) {
    if (finding.code == code && has(finding.message, part)) return &finding;
  }
  return nullptr;
}
std::string all_of(const Diagnosis& diagnosis) {
  std::string out;
  for (const auto& finding : diagnosis.findings) {
    out += std::string(repo::name(finding.severity)) + " " + std::string(finding.code) + ": " + finding.message + "\n";
  }
  return out;
}

/// A function, so that what is given lives as long as what is found in it.
void expect_found(const Diagnosis& diagnosis, std::string_view code, std::string_view part, Severity severity,
                  int line) {
  const auto* const found = find(diagnosis, code, part);
  ASSERT_NE(found, nullptr) << "line " << line << ": " << code << " is not found in\n" << all_of(diagnosis);
  EXPECT_EQ(found->severity, severity) << "line " << line << ": " << found->message;
  EXPECT_TRUE(severity <= Severity::note || !found->advice.empty()) << "line " << line << ": " << found->message;
}
#define EXPECT_FOUND(diagnosis, code, part, severity) expect_found((diagnosis), (code), (part), (severity), __LINE__)

class Doctor : public ::testing::Test {
 protected:
  Doctor() {
    stdfs::create_directory(top());
    put_file(top() + "/f", "one\n");
    EXPECT_EQ(unlike(weft(top(), {"init"}), 0), "");
    EXPECT_EQ(unlike(weft(top(), {"commit", "-m", "One"}), 0), "");
  }
  std::string top() const { return dir_ / "w"; }
  std::string store() const { return top() + "/.weft"; }
  Diagnosis examine(bool probe = false) {
    const repo::Context context{
        env_, top(), {{"WEFT_AUTHOR", "A <a@b>"}, {"HOME", dir_ / "home"}}, static_cast<std::uint32_t>(::geteuid())};
    return repo::diagnose(context, probe);
  }
  Env env_ = system_env();
  TempDir dir_;
};

TEST_F(Doctor, AHealthyStoreAndNothingIsTouched) {
  std::set<std::string> before;
  for (const auto& entry : stdfs::recursive_directory_iterator(store())) before.insert(entry.path());
  const std::string log = get_file(store() + "/log/0000000001.seg");
  const std::string control = get_file(store() + "/control");
  const auto diagnosis = examine(true);
  for (const auto& finding : diagnosis.findings) {
    // Room and file systems are this machine's.
    if (finding.code == "free-space" || finding.code == "file-system" || finding.code == "limits") continue;
    EXPECT_LE(finding.severity, Severity::note) << finding.message;
  }
  EXPECT_EQ(diagnosis.store, store());
  EXPECT_FALSE(diagnosis.damaged);
  for (const char* const code : {"owner", "permissions", "free-space", "control", "damage", "format", "size",
                                 "history-index", "workspace-here", "configuration", "identity", "flush-time"}) {
    EXPECT_NE(find(diagnosis, code), nullptr) << code << " is not found in\n" << all_of(diagnosis);
  }
  std::set<std::string> after;
  for (const auto& entry : stdfs::recursive_directory_iterator(store())) after.insert(entry.path());
  EXPECT_EQ(before, after);
  EXPECT_EQ(get_file(store() + "/log/0000000001.seg"), log);
  EXPECT_EQ(get_file(store() + "/control"), control);
}

TEST_F(Doctor, NoStoreHere) {
  const repo::Context context{env_, "/", {}, 0};
  const auto diagnosis = repo::diagnose(context, false);
  EXPECT_FOUND(diagnosis, "no-store", "", Severity::note);
  EXPECT_EQ(diagnosis.store, "");
}

TEST_F(Doctor, AFirstUseMeasuresAFlush) {
  stdfs::remove(store() + "/control");
  EXPECT_FOUND(examine(true), "control", "nobody has used it", Severity::ok);
  EXPECT_NE(find(examine(true), "flush-time", "a flush takes"), nullptr);
  EXPECT_EQ(find(examine(false), "flush-time"), nullptr);
  EXPECT_FALSE(stdfs::exists(store() + "/control")) << "it only looks";
}

TEST_F(Doctor, WhatKilledCommandsLeft) {
  put_file(store() + "/packs/tmp-pack-0011223344556677", std::string(5000, 'x'));
  put_file(store() + "/index/manifest.tmp-00112233", "x");
  const auto young = examine();
  EXPECT_FOUND(young, "leftovers", "2 files unfinished", Severity::note);
  EXPECT_NE(find(young, "leftovers", "commands at work write such files"), nullptr);
  const utimbuf old{1'000'000'000, 1'000'000'000};
  for (const char* const name : {"/packs/tmp-pack-0011223344556677", "/index/manifest.tmp-00112233"}) {
    ASSERT_EQ(::utime((store() + name).c_str(), &old), 0);
  }
  EXPECT_EQ(find(examine(), "leftovers", "commands at work"), nullptr);
}

TEST_F(Doctor, WorkspacesThatAreGoneOrBehind) {
  ASSERT_EQ(unlike(weft(top(), {"workspace", "add", "gone", "--path", dir_ / "gone"}), 0), "");
  ASSERT_EQ(unlike(weft(top(), {"workspace", "add", "behind", "--path", dir_ / "behind"}), 0), "");
  stdfs::remove_all(dir_ / "gone");
  put_file(top() + "/f", "two\n");
  ASSERT_EQ(unlike(weft(top(), {"commit", "-m", "Two"}), 0), "");
  ASSERT_EQ(unlike(weft(top(), {"ref", "set", "workspaces/behind", "main"}), 0), "");
  const auto diagnosis = examine();
  EXPECT_FOUND(diagnosis, "workspace-gone", "gone", Severity::warning);
  EXPECT_FOUND(diagnosis, "workspace-behind", "behind", Severity::note);
  EXPECT_FOUND(diagnosis, "workspace-here", "default", Severity::ok);
}

TEST_F(Doctor, ConfigurationThatIsNotUnderstood) {
  stdfs::create_directories(dir_ / "home/.config/weft");
  put_file(dir_ / "home/.config/weft/config.toml", "[user]\nnmae = \"x\"\n[ui]\ncolor = \"blue\"\n");
  const auto diagnosis = examine();
  EXPECT_FOUND(diagnosis, "configuration", "user.nmae", Severity::warning);
  EXPECT_FOUND(diagnosis, "configuration", "ui.color", Severity::warning);
}

TEST_F(Doctor, NobodyIsNamed) {
  const repo::Context context{env_, top(), {{"HOME", dir_ / "home"}}, static_cast<std::uint32_t>(::geteuid())};
  EXPECT_FOUND(repo::diagnose(context, false), "identity", "commits are refused", Severity::warning);
}

TEST_F(Doctor, Damage) {
  stdfs::remove(store() + "/control");
  stdfs::resize_file(store() + "/log/0000000001.seg", 100);
  const auto diagnosis = examine();
  EXPECT_TRUE(diagnosis.damaged) << all_of(diagnosis);
  EXPECT_FOUND(diagnosis, "damage", "", Severity::problem);
  EXPECT_EQ(weft(top(), {"doctor"}).status.code, 5);
}

TEST_F(Doctor, AFormatOfTheFuture) {
  put_file(store() + "/format", "weft store 99\n");
  const auto diagnosis = examine();
  EXPECT_FOUND(diagnosis, "store-open", "weft store 99", Severity::problem);
  EXPECT_NE(find(diagnosis, "identity"), nullptr) << "the rest is looked at all the same";
}

TEST_F(Doctor, RightsThatAreTooWideOrHalf) {
  ASSERT_EQ(::chmod(store().c_str(), 0777), 0);
  EXPECT_FOUND(examine(), "owner", "every user of this machine", Severity::warning);
  ASSERT_EQ(::chmod(store().c_str(), 0775), 0);
  EXPECT_FOUND(examine(), "owner", "but not to what is made in it", Severity::warning);
  ASSERT_EQ(::chmod(store().c_str(), 02775), 0);
  EXPECT_FOUND(examine(), "owner", "shared with group", Severity::ok);
}

TEST_F(Doctor, FilesOfSomebodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "SKIPPED LOUDLY: giving files away needs root";
  ASSERT_EQ(::chown((store() + "/control").c_str(), 12'345, 12'345), 0);
  EXPECT_FOUND(examine(), "permissions", "control", Severity::warning);
  EXPECT_NE(find(examine(), "permissions", "1 file is not of the store's owner"), nullptr) << all_of(examine());
}

/// Somebody who is stopped while everybody waits for them.
TEST_F(Doctor, AStoppedLeader) {
  Children children;
  const std::string directory = store();
  const pid_t stopped = children.start([&] {
    const auto hooks = acting_at("lead:closed", 1, [] { ::kill(::getpid(), SIGSTOP); });
    const auto opened = store::Store::open(system_env(), directory, hooks);
    return opened && commit_once(*opened, "stopped-0") ? 0 : 1;
  });
  ASSERT_TRUE(children.is_stopped(stopped));
  const auto diagnosis = examine();
  EXPECT_FOUND(diagnosis, "processes", std::to_string(stopped), Severity::problem);
  const auto* const finding = find(diagnosis, "processes", "stopped");
  ASSERT_NE(finding, nullptr);
  EXPECT_TRUE(has(finding->message, "`leader`")) << finding->message;
  EXPECT_TRUE(has(finding->advice, "kill -CONT " + std::to_string(stopped))) << finding->advice;
  ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  EXPECT_EQ(children.end_of(stopped), 0);
  EXPECT_EQ(find(examine(), "processes", "stopped"), nullptr);
}

TEST_F(Doctor, OneThatDiedWithALock) {
  Children children;
  const std::string directory = store();
  const pid_t dead = children.start([&] {
    const auto hooks = acting_at("append:locked", 1, [] { ::kill(::getpid(), SIGKILL); });
    const auto opened = store::Store::open(system_env(), directory, hooks);
    return opened && commit_once(*opened, "dead-0") ? 0 : 1;
  });
  EXPECT_TRUE(children.end_of(dead) != 0);
  EXPECT_FOUND(examine(), "processes", "died and left a lock", Severity::note);
  ASSERT_EQ(unlike(weft(top(), {"ref", "set", "x", "main"}), 0), "");
  EXPECT_EQ(find(examine(), "processes", "died and left"), nullptr);
}

TEST_F(Doctor, ControlBlocksAsTheyMayBe) {
  using store::ControlReport;
  using store::ControlState;
  const auto judged = [](const ControlReport& report) {
    Diagnosis diagnosis;
    repo::judge_control(report, diagnosis);
    return diagnosis;
  };
  EXPECT_FOUND(judged({.state = ControlState::other_boot}), "control", "before the machine was started", Severity::ok);
  EXPECT_FOUND(judged({.state = ControlState::copied}), "control", "copy", Severity::note);
  EXPECT_FOUND(judged({.state = ControlState::other_form}), "control", "another version", Severity::note);
  EXPECT_FOUND(judged({.state = ControlState::other_form, .users = {{.process = 1, .alive = true, .locks = {}}}}),
               "control", "another version", Severity::warning);
  EXPECT_FOUND(judged({.state = ControlState::current, .slots = 4096, .free_slots = 3}), "processes", "4093 of 4096",
               Severity::warning);
  EXPECT_FOUND(judged({.state = ControlState::current, .failed_errno = ENOSPC}), "failed-write", "No space left",
               Severity::warning);
}

TEST_F(Doctor, ACopyIsKnownForOne) {
  const std::string command = "cp -a '" + top() + "' '" + (dir_ / "copy") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const repo::Context context{
      env_, dir_ / "copy", {{"WEFT_AUTHOR", "A <a@b>"}}, static_cast<std::uint32_t>(::geteuid())};
  EXPECT_FOUND(repo::diagnose(context, false), "control", "is a copy", Severity::note);
}

TEST(DoctorOfTheMachine, ClocksAndLimits) {
  const auto judged = [](const repo::MachineFacts& facts) {
    Diagnosis diagnosis;
    repo::judge_machine(facts, diagnosis);
    return diagnosis;
  };
  constexpr std::int64_t kNow = std::int64_t{1'780'000'000} * 1'000'000'000;
  EXPECT_FOUND(judged({.now_ns = 5}), "clock", "before 2025", Severity::warning);
  EXPECT_EQ(find(judged({.now_ns = kNow}), "clock"), nullptr);
  EXPECT_FOUND(judged({.now_ns = kNow}), "limits", "any number", Severity::ok);
  EXPECT_FOUND(judged({.open_files = 64, .now_ns = kNow}), "limits", "64 files", Severity::note);
  EXPECT_FOUND(judged({.address_space = 100u << 20, .now_ns = kNow}), "limits", "100 MiB", Severity::warning);
  EXPECT_FOUND(judged({.file_size = 1u << 20, .now_ns = kNow}), "limits", "1024 KiB", Severity::warning);
}

/// DR-3.
TEST(DoctorDocuments, EveryCodeIsInTheDocuments) {
  const stdfs::path root = stdfs::path(__FILE__).parent_path().parent_path().parent_path();
  const std::string text = get_file((root / "docs/CLI.md").string());
  std::set<std::string_view> codes;
  for (const auto& code : repo::doctor_codes()) {
    EXPECT_TRUE(codes.insert(code.code).second) << code.code << " twice";
    EXPECT_TRUE(has(text, "| `" + std::string(code.code) + "` | " + std::string(code.about) + " |")) << code.code;
  }
}

}  // namespace
}  // namespace weft::environment
