// What `cmake --install` puts where, and that it works there; and the manual pages it built.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "cli/description.h"
#include "cli/man_page.h"
#include "repo/settings.h"

namespace weft {
namespace {

class Install : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<TempDir>();
    ASSERT_EQ(std::system((std::string("'" WEFT_CMAKE "' --install '" WEFT_BUILD "' --prefix '") + (*dir_ / "p") +
                           "' > '" + (*dir_ / "log") + "' 2>&1")
                              .c_str()),
              0)
        << text(*dir_ / "log");
  }
  static void TearDownTestSuite() { dir_.reset(); }

  static std::string text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string at(const std::string& path) { return *dir_ / ("p/" + path); }
  /// Runs in a shell with nothing but the installed weft and the system's programs; what it prints.
  static std::string run(const std::string& script, int status = 0) {
    const std::string command =
        "cd '" + dir_->path() + "' && env -i HOME='" + dir_->path() + "' PATH='" + at("bin") +
        "':/usr/bin:/bin LC_ALL=C.UTF-8 MANWIDTH=100 WEFT_AUTHOR='Ann <ann@example.org>' bash -c '" + script + "' > '" +
        (*dir_ / "out") + "' 2>&1 < /dev/null";
    const int result = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(result), status) << script << "\n" << text(*dir_ / "out");
    return text(*dir_ / "out");
  }
  static bool installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
  }
  static std::vector<std::filesystem::path> pages() {
    std::vector<std::filesystem::path> out;
    if (!std::filesystem::exists(at("share/man"))) return out;
    for (const auto& each : std::filesystem::recursive_directory_iterator(at("share/man"))) {
      if (each.is_regular_file()) out.push_back(each.path());
    }
    return out;
  }
  static cli::Description describe(const cli::Command& command) {
    static Env env = system_env();
    const cli::Io io{[](std::string_view) {}, [](std::string_view) {}, {}};
    return cli::describe(command, io, {env, "/", {}, 0});
  }

  static std::unique_ptr<TempDir> dir_;
};
std::unique_ptr<TempDir> Install::dir_;

TEST_F(Install, EverythingIsInItsPlace) {
  for (const char* file : {"bin/weft", "bin/weft-git", "share/bash-completion/completions/weft",
                           "share/zsh/site-functions/_weft", "share/fish/vendor_completions.d/weft.fish"}) {
    EXPECT_TRUE(std::filesystem::exists(at(file))) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(at("bin/weft-man")));
  EXPECT_EQ(text(at("share/bash-completion/completions/weft")), run("weft completion bash"));
  EXPECT_TRUE(text(at("share/zsh/site-functions/_weft")).starts_with("#compdef weft\n"));
}

TEST_F(Install, TheInstalledProgramsWork) {
  EXPECT_EQ(run("weft --version"), "weft " + std::string(cli::kVersion) + "\n");
  run("set -e; mkdir w; cd w; weft init; echo a > a; weft commit -m Begin; weft verify --deep");
  if (!installed("git")) GTEST_SKIP() << "git is not installed";
  // weft-git is found beside weft, also when weft is called by a link.
  run("set -e; git init -q g; cd g; git config user.name Ann; git config user.email ann@example.org; echo a > a; git "
      "add a; "
      "git commit -q -m Begin");
  run("set -e; ln -s p/bin/weft linked; mkdir w2; cd w2; weft init; ../linked git import ../g; test -e a");
}

TEST_F(Install, WithoutItsHelperSaysSo) {
  const std::string out =
      run("mkdir alone w3; cp p/bin/weft alone/; cd w3; ../alone/weft init -q; ../alone/weft git import .. --json", 6);
  EXPECT_NE(out.find("\"code\": \"peer\""), std::string::npos) << out;
  EXPECT_NE(out.find("weft-git"), std::string::npos) << out;
  EXPECT_EQ(out.find("\"hint\": \"\""), std::string::npos) << out;
}

TEST_F(Install, EveryCommandAndOptionHasItsPage) {
  if (pages().empty()) GTEST_SKIP() << "scdoc was not there: no manual pages";
  const std::string overview = text(at("share/man/man1/weft.1"));
  const auto plain = [](std::string page) {
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>{"\\-", "-"}, {"\\fB", ""}, {"\\fR", ""}, {"\\fI", ""}, {"\\&", ""}}) {
      for (std::size_t at = 0; (at = page.find(from, at)) != std::string::npos;) page.replace(at, from.size(), to);
    }
    return page;
  };
  std::size_t options = 0;
  for (const auto& command : cli::commands()) {
    const std::string name = cli::man_page_name(command.name);
    EXPECT_NE(plain(overview).find(name + "(1)"), std::string::npos) << name << " is not in weft(1)";
    const std::string page = plain(text(at("share/man/man1/" + name + ".1")));
    ASSERT_FALSE(page.empty()) << name;
    const auto description = describe(command);
    for (const auto& option : description.options) {
      const std::string heading =
          (option.letter != 0 ? std::string("-") + option.letter : std::string()) +
          (option.letter != 0 && !option.name.empty() ? ", " : "") + (option.name.empty() ? "" : "--" + option.name) +
          (option.metavar.empty() || option.metavar.starts_with('[') ? "" : " ") + option.metavar + "\n";
      EXPECT_NE(page.find("\n" + heading), std::string::npos) << name << " has no " << heading;
      ++options;
    }
    for (const auto& argument : description.arguments) {
      EXPECT_NE(page.find("\n" + argument.name + "\n"), std::string::npos) << name << " has no " << argument.name;
    }
  }
  EXPECT_GT(options, 50u);
  for (const auto& option : cli::common_options()) {
    if (!option.name.empty()) {
      EXPECT_NE(plain(overview).find("--" + std::string(option.name)), std::string::npos) << option.name;
    }
  }
  const std::string settings = plain(text(at("share/man/man5/weft-config.5")));
  for (const auto& setting : repo::settings()) {
    EXPECT_NE(settings.find("\n" + std::string(setting.key) + "\n"), std::string::npos) << setting.key;
  }
  for (const char* page : {"man5/weft-config.5", "man5/weftignore.5", "man7/weft-tutorial.7", "man7/weft-git.7"}) {
    EXPECT_TRUE(std::filesystem::exists(at(std::string("share/man/") + page))) << page;
  }
}

TEST_F(Install, PagesAreCleanForMan) {
  if (pages().empty()) GTEST_SKIP() << "scdoc was not there: no manual pages";
  if (!installed("man") || !installed("groff")) GTEST_SKIP() << "man is not installed";
  std::string names;
  for (const auto& page : pages()) names += " \"" + page.string() + "\"";
  EXPECT_EQ(run("for page in" + names + "; do man --warnings -E UTF-8 -l \"$page\" 2>&1 >/dev/null; done"), "");
  EXPECT_NE(run("weft help --man log | col -b").find("weft-log - show history"), std::string::npos);
  EXPECT_NE(run("weft help --man ref set | col -b").find("--expect OLD"), std::string::npos);
}

// Every page that a page points to is there.
TEST_F(Install, PagesPointToPages) {
  if (pages().empty()) GTEST_SKIP() << "scdoc was not there: no manual pages";
  std::set<std::string> names;
  for (const auto& page : pages()) names.insert(page.filename().string());
  for (const auto& page : pages()) {
    std::string all = text(page.string());
    for (const char* gone : {"\\fB", "\\fR", "\\"}) {
      for (std::size_t at = 0; (at = all.find(gone, at)) != std::string::npos;) all.erase(at, std::string(gone).size());
    }
    for (std::size_t at = 0; (at = all.find("weft", at)) != std::string::npos; ++at) {
      std::size_t end = at;
      while (end < all.size() && (std::isalpha(static_cast<unsigned char>(all[end])) != 0 || all[end] == '-')) ++end;
      if (end + 2 >= all.size() || all[end] != '(' || all[end + 2] != ')') continue;
      const std::string named = all.substr(at, end - at) + "." + all[end + 1];
      EXPECT_TRUE(names.contains(named)) << page.filename() << " names " << named;
    }
  }
}

}  // namespace
}  // namespace weft
