#include "repo/config.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"

namespace weft::repo {
namespace {

class UserConfigTest : public ::testing::Test {
 protected:
  UserConfigTest()
      : env_{posix_file_system(), clock_, random_}, context_{env_, dir_.path(), {{"HOME", dir_.path()}}, 0} {}
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = dir_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }

  TempDir dir_;
  FakeClock clock_;
  FakeRandom random_{1};
  Env env_;
  Context context_;
};

TEST(Identity, Parses) {
  const auto identity = parse_identity("  Ann  Author <ann@example.org> ");
  ASSERT_TRUE(identity.has_value());
  EXPECT_EQ(identity->name, "Ann  Author");
  EXPECT_EQ(identity->email, "ann@example.org");
  EXPECT_EQ(identity->text(), "Ann  Author <ann@example.org>");
  EXPECT_TRUE(parse_identity("Bot <>").has_value());
  for (const std::string bad :
       {"", "Ann", "<a@b>", "Ann <a@b", "Ann a@b>", "Ann <a<b>", "A\nnn <a@b>", "Ann <a@b> x"}) {
    EXPECT_FALSE(parse_identity(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_identity(std::string("A\0nn <a@b>", 10)).has_value());
  EXPECT_FALSE(parse_identity(std::string(2000, 'a') + " <a@b>").has_value());
}

TEST_F(UserConfigTest, AuthorComesFromTheFirstThatNamesOne) {
  const auto nobody = find_identity(context_, std::nullopt);
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().code, Code::refused);
  EXPECT_NE(nobody.error().hint.find("weft config set user.name"), std::string::npos);

  write(".config/git/config", "[user]\n\tname = Xdg Git\n\temail = xdg@git\n");
  EXPECT_EQ(find_identity(context_, std::nullopt)->text(), "Xdg Git <xdg@git>");
  write(".gitconfig", "[user]\n\tname = Home Git\n");
  EXPECT_EQ(find_identity(context_, std::nullopt)->text(), "Home Git <xdg@git>");
  write(".config/weft/config.toml", "[user]\nname = \"Own\"\nemail = \"own@weft\"\n");
  EXPECT_EQ(find_identity(context_, std::nullopt)->text(), "Own <own@weft>");
  context_.environment["WEFT_AUTHOR"] = "Env <env@weft>";
  EXPECT_EQ(find_identity(context_, std::nullopt)->text(), "Env <env@weft>");
  EXPECT_EQ(find_identity(context_, "Opt <opt@weft>")->text(), "Opt <opt@weft>");
  EXPECT_FALSE(find_identity(context_, "Opt").has_value());
}

TEST(GitConfig, ReadsGitsSyntax) {
  GitConfig config;
  parse_git_config(
      "# comment\n[core] excludesFile = \"~/my ignore\" ; where\n[USER]\n  Name = Ann \\\n  Author # who\n"
      "\temail=\"a\\\"b\"@x.org   \n[user \"sub\"]\n name = Wrong\nnovalue\n[broken\n name = Broken\n",
      config);
  EXPECT_EQ(config.excludes_file, "~/my ignore");
  EXPECT_EQ(config.user_name, "Ann   Author");
  EXPECT_EQ(config.user_email, "a\"b@x.org");
  for (const std::string odd : {"[", "[user", "[user]\nname", "[user]\nname=\\", "[user]\nname=\"", "=", "\xff\xfe"}) {
    GitConfig other;
    parse_git_config(odd, other);  // must end
    EXPECT_TRUE(other.user_email.empty());
  }
}

TEST_F(UserConfigTest, GlobalIgnoreFile) {
  const std::string top = dir_ / "work";
  const auto patterns = [&] { return read_ignore_options(context_, top)->global_patterns; };
  EXPECT_FALSE(patterns());
  write(".config/git/ignore", "*.o\n");
  EXPECT_EQ(patterns(), "*.o\n");
  write("mine", "*.a\n");
  write(".gitconfig", "[core]\nexcludesfile = ~/mine\n");
  EXPECT_EQ(patterns(), "*.a\n");
  // The repository's own settings win, and a relative name is one from its top.
  write("work/rules", "*.b\n");
  write("work/.git/config", "[core]\n\texcludesFile = rules\n");
  EXPECT_EQ(patterns(), "*.b\n");
  write("work/.git/config", "[core]\n\texcludesFile =\n");
  EXPECT_FALSE(patterns());
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);  // never blocks
  write("work/.git/config", "[core]\n\texcludesFile = ../pipe\n");
  EXPECT_EQ(patterns().value_or(""), "");
}

TEST_F(UserConfigTest, IgnoringCase) {
  const std::string top = dir_ / "work";
  const auto folds = [&] { return read_ignore_options(context_, top)->fold_case; };
  EXPECT_FALSE(folds());
  write(".gitconfig", "[core]\nignoreCase\n");
  EXPECT_TRUE(folds());
  write("work/.git/config", "[core]\n\tignorecase = false\n");
  EXPECT_FALSE(folds());
  for (const std::string yes : {"true", "YES", "on", "1", "-7"}) {
    write("work/.git/config", "[core]\n\tignorecase = " + yes + "\n");
    EXPECT_TRUE(folds()) << yes;
  }
  // The settings of a linked worktree are those of the repository it belongs to.
  write("main/.git/config", "[core]\n\tignorecase = no\n");
  write("main/.git/worktrees/w/commondir", "../..\n");
  write("linked/.git", "gitdir: " + (dir_ / "main/.git/worktrees/w") + "\n");
  EXPECT_FALSE(read_ignore_options(context_, dir_ / "linked")->fold_case);
}

TEST(ConfigText, EditsOneLineAndKeepsTheRest) {  // C-2
  EXPECT_EQ(edit_config_text("", "user.name", "Ann").value(), "[user]\nname = \"Ann\"\n");
  const std::string text = "# mine\n[other]\nname = \"x\"\n\n[user]\n# who\nname = \"Old\" # was\nemail = \"e\"\n";
  EXPECT_EQ(edit_config_text(text, "user.name", "A \"b\" \\c").value(),
            "# mine\n[other]\nname = \"x\"\n\n[user]\n# who\nname = \"A \\\"b\\\" \\\\c\"\nemail = \"e\"\n");
  EXPECT_EQ(edit_config_text("[user]\nemail = \"e\"", "user.name", "N").value(),
            "[user]\nname = \"N\"\nemail = \"e\"\n");
  EXPECT_EQ(edit_config_text("[safe]\nstores = [\"/a\"]\n", "safe.stores", "/b").value(),
            "[safe]\nstores = [\"/a\", \"/b\"]\n");
  EXPECT_EQ(edit_config_text("user.name = \"x\"\n", "user.name", "y").error().code, Code::refused);
  EXPECT_EQ(edit_config_text("user = { name = \"x\" }\n", "user.name", "y").error().code, Code::refused);
  EXPECT_EQ(edit_config_text("[user]\nname = \"\"\"\nname = 3\n\"\"\"\n", "user.name", "y").error().code,
            Code::refused);
  EXPECT_EQ(edit_config_text("[user\n", "user.name", "y").error().code, Code::invalid);
  for (const std::string key : {"", "name", ".name", "user.", "us er.name"}) {
    EXPECT_EQ(edit_config_text("", key, "y").error().code, Code::invalid) << key;
  }
}

TEST_F(UserConfigTest, SetsAndReads) {
  ASSERT_TRUE(set_user_config(context_, "user.name", "Ann").has_value());
  ASSERT_TRUE(set_user_config(context_, "user.email", "a@b").has_value());
  ASSERT_TRUE(set_user_config(context_, "safe.stores", "/s/.weft").has_value());
  const auto config = read_user_config(context_);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->user_name, "Ann");
  EXPECT_EQ(config->safe_stores, std::vector<std::string>{"/s/.weft"});
  const auto listed = list_user_config(context_).value();
  EXPECT_EQ(listed.size(), 3U);
  for (const std::string key : {"user.nme", "user", "core.editor", "safe", "", "User.name"}) {
    const auto refused = set_user_config(context_, key, "x");
    ASSERT_FALSE(refused.has_value()) << key;
    EXPECT_EQ(refused.error().code, Code::invalid) << key;
    EXPECT_EQ(refused.error().message, weft::quoted(key) + " is no configuration key");
  }
  EXPECT_EQ(list_user_config(context_).value(), listed);
  write(".config/weft/config.toml", "[user]\nname = 3\n");
  EXPECT_EQ(read_user_config(context_).error().code, Code::invalid);
}

}  // namespace
}  // namespace weft::repo
