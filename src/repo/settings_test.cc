// Settings: types, defaults, what is wrong with a file, and what a store may and may not decide.
#include "repo/settings.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "repo/config.h"

namespace weft::repo {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() : env_{posix_file_system(), clock_, random_}, context_{env_, dir_.path(), {{"HOME", dir_.path()}}, 0} {
    std::filesystem::create_directories(dir_ / "store");
  }
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path whole = dir_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary) << text;
  }
  std::string read(const std::string& path) {
    std::ifstream file(dir_ / path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_user(const std::string& text) { write(".config/weft/config.toml", text); }
  Settings settings(bool store = false) { return Settings::read(context_, store ? dir_ / "store" : std::string()); }

  TempDir dir_;
  FakeClock clock_;
  FakeRandom random_{1};
  Env env_;
  Context context_;
};

TEST(SettingTable, DefaultsAreOfTheirTypeAndKeysAreTheirOwn) {
  for (const auto& setting : repo::settings()) {
    const std::string key = setting.key.ends_with('*') ? std::string() : std::string(setting.key);
    if (!key.empty()) {
      EXPECT_EQ(find_setting(key), &setting) << key;
    }
    if (!setting.fallback.empty()) {
      EXPECT_TRUE(check_setting(setting, setting.key, setting.fallback).has_value()) << setting.key;
    }
    EXPECT_FALSE(setting.meaning.empty()) << setting.key;
    // DESIGN 12: what can run a command is never a store's to decide.
    EXPECT_FALSE(setting.in_store && setting.type == SettingType::command) << setting.key;
  }
  EXPECT_EQ(find_setting("ui.*"), nullptr);
  EXPECT_EQ(find_setting("ui.colors.*"), nullptr);
  EXPECT_EQ(find_setting("ui.colors."), nullptr);
  EXPECT_EQ(find_setting("ui.colors.nothing"), nullptr);
  EXPECT_NE(find_setting("ui.colors.added-part"), nullptr);
  EXPECT_NE(find_setting("diff-tools.mine"), nullptr);
  EXPECT_EQ(find_setting("diff-tools.mine.too"), nullptr);
}

TEST(SettingValues, AreChecked) {
  const auto check = [](std::string_view key, std::string_view value) {
    return check_setting(*find_setting(key), key, value).has_value();
  };
  EXPECT_TRUE(check("ui.color", "always"));
  EXPECT_FALSE(check("ui.color", "on"));
  EXPECT_TRUE(check("ui.hints", "false"));
  EXPECT_FALSE(check("ui.hints", "no"));
  EXPECT_TRUE(check("ui.diff-context", "0"));
  EXPECT_FALSE(check("ui.diff-context", "-1"));
  EXPECT_FALSE(check("ui.diff-context", "3x"));
  EXPECT_FALSE(check("ui.diff-context", ""));
  EXPECT_TRUE(check("record.max-new-file-size", "1 GiB"));
  EXPECT_FALSE(check("record.max-new-file-size", "big"));
  EXPECT_FALSE(check("ui.pager", std::string_view("a\0b", 3)));
  EXPECT_FALSE(check("user.name", "\xff"));
  const auto error = check_setting(*find_setting("ui.color"), "ui.color", "on").error();
  EXPECT_EQ(error.message, "ui.color must be auto, always or never, not \"on\"");
  EXPECT_EQ(unknown_setting("ui.colour").hint, "did you mean ui.color?");
  EXPECT_EQ(unknown_setting("nothing.like").hint, "`weft config list --all` shows all keys");
}

TEST(SettingValues, Sizes) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("512 B"), 512U);
  EXPECT_EQ(parse_size("50 MiB"), 50U << 20);
  EXPECT_EQ(parse_size("2k"), 2048U);
  EXPECT_EQ(parse_size("16777215 TiB"), 16777215ULL << 40);
  for (const std::string bad :
       {"", "MiB", "1 x", "-1", "1.5 GiB", "16777216 TiB", "99999999999999999999", " 1", "1 M iB"}) {
    EXPECT_EQ(parse_size(bad), std::nullopt) << bad;
  }
}

TEST(SettingValues, Styles) {
  EXPECT_EQ(parse_style("red"), "31");
  EXPECT_EQ(parse_style("bold bright-red"), "1;91");
  EXPECT_EQ(parse_style("red green"), "31;42");
  EXPECT_EQ(parse_style("reverse 200"), "7;38;5;200");
  EXPECT_EQ(parse_style("#ff8000"), "38;2;255;128;0");
  EXPECT_EQ(parse_style("none"), "");
  for (const std::string bad :
       {"", " ", "reddish", "red green blue", "256", "#ff80", "#ff80zz", "bold;31", "\x1b[1m"}) {
    EXPECT_EQ(parse_style(bad), std::nullopt) << bad;
  }
}

TEST_F(SettingsTest, DefaultsHoldWithoutAFile) {
  const auto all = settings();
  EXPECT_TRUE(all.problems().empty());
  EXPECT_TRUE(all.values().empty());
  EXPECT_EQ(all.text("ui.color"), "auto");
  EXPECT_TRUE(all.boolean("ui.hints"));
  EXPECT_EQ(all.integer("ui.diff-context"), 3);
  EXPECT_EQ(all.size("record.max-new-file-size"), 50U << 20);
}

TEST_F(SettingsTest, WhatIsWrongIsToldAndTheRestHolds) {  // ST-1
  write_user(
      "[ui]\ncolor = \"red\"\nhints = false\ncolour = 1\ndiff-context = \"5\"\n[ui.colors]\nadded = "
      "\"blue\"\n[safe]\nstores = 3\n");
  const auto all = settings();
  EXPECT_EQ(all.text("ui.color"), "auto");
  EXPECT_FALSE(all.boolean("ui.hints"));
  EXPECT_EQ(all.integer("ui.diff-context"), 5);
  EXPECT_EQ(all.text("ui.colors.added"), "blue");
  const std::string file = dir_ / ".config/weft/config.toml";
  const std::vector<std::string> expected = {
      file + ": safe.stores must be a list of strings",
      file + ": ui.color must be auto, always or never, not \"red\"",
  };
  EXPECT_EQ(all.problems(), expected);
  EXPECT_EQ(all.unknown(),
            std::vector<std::string>{file + ": ui.colour is no configuration key; did you mean ui.color?"});
  write_user("[ui\n");
  const auto broken = settings();
  ASSERT_EQ(broken.problems().size(), 1U);
  EXPECT_NE(broken.problems()[0].find("line 1"), std::string::npos);
  EXPECT_EQ(broken.text("ui.color"), "auto");
}

TEST_F(SettingsTest, AStoreDecidesOnlyWhatIsHarmless) {  // ST-2
  write_user("[record]\nmax-new-file-size = \"1 MiB\"\n[ui]\npager = \"mine\"\n");
  write("store/config.toml",
        "[record]\nmax-new-file-size = 7\n[ui]\npager = \"evil\"\neditor = \"evil\"\n[diff-tools]\nx = \"evil\"\n");
  const auto all = settings(true);
  EXPECT_EQ(all.size("record.max-new-file-size"), 7U);
  EXPECT_TRUE(all.values().at("record.max-new-file-size").from_store);
  EXPECT_EQ(all.text("ui.pager"), "mine");
  EXPECT_EQ(all.text("ui.editor"), "");
  EXPECT_EQ(all.text("diff-tools.x"), "");
  EXPECT_EQ(all.problems().size(), 3U);
  EXPECT_EQ(settings(false).size("record.max-new-file-size"), 1U << 20);
  EXPECT_EQ(write_setting(context_, dir_ / "store", "ui.editor", "vi").error().code, Code::refused);
}

TEST_F(SettingsTest, Writes) {
  const auto set = [&](std::string_view key, std::string_view value) {
    return write_setting(context_, {}, key, std::string(value));
  };
  ASSERT_TRUE(set("ui.hints", "false").has_value());
  ASSERT_TRUE(set("ui.diff-context", "5").has_value());
  ASSERT_TRUE(set("ui.colors.added", "bold blue").has_value());
  ASSERT_TRUE(set("record.max-new-file-size", "1 MiB").has_value());
  EXPECT_EQ(read(".config/weft/config.toml"),
            "[ui]\ndiff-context = 5\nhints = false\n\n[ui.colors]\nadded = \"bold blue\"\n\n"
            "[record]\nmax-new-file-size = \"1 MiB\"\n");
  EXPECT_EQ(set("ui.hints", "maybe").error().code, Code::invalid);
  EXPECT_EQ(set("ui.nothing", "x").error().code, Code::invalid);
  EXPECT_TRUE(write_setting(context_, {}, "ui.hints", std::nullopt).value());
  EXPECT_FALSE(write_setting(context_, {}, "ui.hints", std::nullopt).value());
  EXPECT_EQ(settings().values().size(), 3U);
  ASSERT_TRUE(write_setting(context_, dir_ / "store", "record.max-new-file-size", "0").value());
  EXPECT_EQ(read("store/config.toml"), "[record]\nmax-new-file-size = 0\n");
}

TEST_F(SettingsTest, AFileThatDoesNotParseIsNamedAndLeftAlone) {
  const std::string broken = "[ui]\nhints = [\n";
  write(".config/weft/config.toml", broken);
  const auto set = write_setting(context_, {}, "ui.hints", "false");
  ASSERT_FALSE(set.has_value());
  EXPECT_NE(set.error().message.find(dir_ / ".config/weft/config.toml"), std::string::npos) << set.error().message;
  EXPECT_EQ(read(".config/weft/config.toml"), broken);
}

TEST(ConfigText, UnsetTakesOneLine) {  // C-2
  const std::string text = "# mine\n[ui] # here\nhints = true # yes\n# end\ncolor = \"auto\"\n";
  EXPECT_EQ(unset_config_text(text, "ui.hints").value(), "# mine\n[ui] # here\n# end\ncolor = \"auto\"\n");
  EXPECT_EQ(unset_config_text(text, "ui.pager").value(), std::nullopt);
  EXPECT_EQ(unset_config_text("ui.hints = true\n", "ui.hints").error().code, Code::refused);
  EXPECT_EQ(unset_config_text("[safe]\nstores = [\n \"a\" ]\n", "safe.stores").error().code, Code::refused);
  EXPECT_EQ(edit_config_text(text, "ui.hints", "false").value(),
            "# mine\n[ui] # here\nhints = false\n# end\ncolor = \"auto\"\n");
}

}  // namespace
}  // namespace weft::repo
