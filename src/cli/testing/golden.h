// Golden tests of the command line: run commands in process, in a cleared environment with a fake clock and fake
// chance, and compare the transcript with tests/golden/NAME.txt. WEFT_UPDATE_GOLDEN=1 rewrites the files instead.
//
// A transcript is what a person would have seen:
//   $ weft log -n 1
//   ...stdout...
//   ! a line of stderr
//   [exit 3]                only when it is not 0
// NUL shows as \x01 and ESC as ^[.
// The temporary directory shows as $DIR.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "cli/command.h"
#include "text/unified.h"

namespace weft::cli::testing {

inline std::string shell_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?<>|&;(){}#") == std::string::npos;
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) c == '\n' ? out += "\\n" : out += c;
  return out + "'";
}

/// A machine with one user, a fake clock that goes on a second with each command, and one temporary directory.
class Machine {
 public:
  Machine() : env_{posix_file_system(), clock_, random_} {
    environment_["HOME"] = dir_ / "home";
    environment_["WEFT_AUTHOR"] = "Ann Author <ann@example.org>";
    std::filesystem::create_directory(dir_ / "home");
    std::filesystem::create_directory(dir_ / "w");
    directory_ = dir_ / "w";
    ::umask(022);
  }

  struct Ran {
    int code = 0;
    std::string out, err;
  };
  Ran run(const std::vector<std::string>& args) {
    clock_.advance(1'000'000'000);
    Ran ran;
    Io io;
    io.out = [&](std::string_view text) { ran.out += text; };
    io.err = [&](std::string_view text) { ran.err += text; };
    io.in_is_terminal = io.out_is_terminal = io.err_is_terminal = terminal_;
    io.terminal_columns = columns_;
    io.read_stdin = [&](std::uint64_t) -> Result<Bytes> { return input_; };
    const repo::Context context{env_, directory_, environment_, static_cast<std::uint32_t>(::geteuid())};
    ran.code = cli::run(io, context, args);
    return ran;
  }
  /// run(), expecting success.
  std::string ok(const std::vector<std::string>& args) {
    const Ran ran = run(args);
    EXPECT_EQ(ran.code, 0) << args.front() << ": " << ran.err;
    return ran.out;
  }

  void write(const std::string& path, const std::string& content) {
    const std::filesystem::path whole = directory_ + "/" + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << content;
  }
  void rename(const std::string& from, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(directory_ + "/" + to).parent_path());
    std::filesystem::rename(directory_ + "/" + from, directory_ + "/" + to);
  }
  void remove(const std::string& path) {
    ASSERT_FALSE(path.empty());
    std::filesystem::remove_all(directory_ + "/" + path);
  }

  const TempDir& dir() const { return dir_; }
  std::string directory_;
  std::map<std::string, std::string> environment_;
  Bytes input_;
  bool terminal_ = false;  ///< all three streams
  int columns_ = 80;
  FakeClock clock_;
  FakeRandom random_;

 private:
  TempDir dir_;
  Env env_;
};

class Transcript {
 public:
  explicit Transcript(Machine& machine) : machine_(machine) {}

  /// Runs and records. Returns what it printed.
  Machine::Ran weft(const std::vector<std::string>& args) {
    auto ran = machine_.run(args);
    text_ += "$ weft";
    for (const auto& arg : args) text_ += " " + shell_word(arg);
    text_ += "\n" + ran.out;
    if (!ran.out.empty() && ran.out.back() != '\n') text_ += "(no newline)\n";
    std::istringstream lines(ran.err);
    for (std::string line; std::getline(lines, line);) text_ += "! " + line + "\n";
    if (ran.code != 0) text_ += "[exit " + std::to_string(ran.code) + "]\n";
    text_ += "\n";
    return ran;
  }
  /// A remark in the transcript.
  void say(const std::string& remark) { text_ += "# " + remark + "\n"; }
  /// Replaces what cannot be the same every time.
  void mask(const std::string& pattern, const std::string& replacement) {
    masks_.emplace_back(std::regex(pattern), replacement);
  }

  void expect(const std::string& name) const {
    std::string actual = text_;
    for (std::size_t at; (at = actual.find(machine_.dir().path())) != std::string::npos;) {
      actual.replace(at, machine_.dir().path().size(), "$DIR");
    }
    for (const auto& [pattern, replacement] : masks_) actual = std::regex_replace(actual, pattern, replacement);
    for (char& c : actual) {
      if (c == '\0') c = '\x01';  // kept visible and the file a text
    }
    for (std::size_t at = 0; (at = actual.find('\x1b', at)) != std::string::npos;) actual.replace(at, 1, "^[");
    const std::filesystem::path here = __FILE__;
    const auto path =
        here.parent_path().parent_path().parent_path().parent_path() / "tests" / "golden" / (name + ".txt");
    const char* update = std::getenv("WEFT_UPDATE_GOLDEN");
    if (update != nullptr && std::string_view(update) == "1") {
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path, std::ios::binary) << actual;
      return;
    }
    std::ifstream file(path, std::ios::binary);
    ASSERT_TRUE(file.good()) << path << " is missing; WEFT_UPDATE_GOLDEN=1 writes it";
    const std::string expected{std::istreambuf_iterator<char>(file), {}};
    if (expected == actual) return;
    std::string diff;
    for (const auto& line : text::unified_diff(expected, actual, {})) {
      using Kind = text::UnifiedLine::Kind;
      if (line.kind == Kind::context) diff += ' ';
      if (line.kind == Kind::removed) diff += '-';
      if (line.kind == Kind::added) diff += '+';
      diff += line.text;
      if (!diff.ends_with('\n')) diff += '\n';
    }
    ADD_FAILURE() << path.string() << " differs (WEFT_UPDATE_GOLDEN=1 rewrites it):\n" << diff;
  }

 private:
  Machine& machine_;
  std::string text_;
  std::vector<std::pair<std::regex, std::string>> masks_;
};

}  // namespace weft::cli::testing
