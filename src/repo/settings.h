// Every setting weft knows, in one table: key, type, default, meaning; and their values from the user's file and, for
// the few a store may decide, from the store's `config.toml`.
//
// Invariants:
//   ST-1  Reading never fails: a file that does not parse and a value of the wrong type are `problems()` with file and
//         reason, a key nobody knows is in `unknown()`, and the default holds. So no setting can keep weft from
//         working.
//   ST-2  A store's file sets only what `Setting::in_store` allows; none of those can make weft run a command
//         (DESIGN 12). Anything else in it is a problem and has no effect.
//   ST-3  Values are held as the text `config set` takes, checked against their type.
// docs/CLI.md has the table; a test holds the two together.
// Threading: values and functions of files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "repo/repository.h"

namespace weft::repo {

enum class SettingType : std::uint8_t {
  text,
  boolean,  ///< true or false
  integer,  ///< a whole number, at least 0
  size,     ///< bytes, or with KiB, MiB, GiB behind it; 0: no limit
  choice,   ///< one of `values`
  command,  ///< run by the shell
  list,     ///< of strings
  style,    ///< colours and attributes: "bold red", "#ff8800", "none"
};

struct Setting {
  std::string_view key;  ///< "ui.color"; "diff-tools.*" for any name
  SettingType type = SettingType::text;
  std::string_view fallback;  ///< the default, as text; empty: none
  std::string_view values;    ///< of a choice, or of the names `*` stands for: "auto|always|never"
  bool in_store = false;      ///< a store's config.toml may set it, and wins over the user's file
  std::string_view meaning;
};

std::span<const Setting> settings();
/// nullptr: no such key. A key under `*` matches.
const Setting* find_setting(std::string_view key);
/// invalid: "KEY is no configuration key", with the nearest ones.
Error unknown_setting(std::string_view key);
/// What may be given: "auto, always or never", "true or false".
std::string allowed_values(const Setting& setting);
/// The value in its one form ("yes" is no "true": only what TOML knows). invalid, naming key and allowed values.
Result<std::string> check_setting(const Setting& setting, std::string_view key, std::string_view value);
/// As it stands in a file: `true`, `3`, `"text"`.
std::string toml_literal(const Setting& setting, std::string_view value);

class Settings {
 public:
  struct Value {
    std::string text;               ///< of a list: its parts joined with ", "
    std::vector<std::string> list;  ///< of a list
    bool from_store = false;
  };

  /// `store_directory`: where the store's config.toml is; empty: the user's file alone.
  static Settings read(const Context& context, const std::string& store_directory = {});

  bool is_set(std::string_view key) const { return values_.contains(std::string(key)); }
  /// What is set, else the default.
  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const { return text(key) == "true"; }
  std::int64_t integer(std::string_view key) const;
  /// 0: no limit.
  std::uint64_t size(std::string_view key) const;
  const std::map<std::string, Value, std::less<>>& values() const { return values_; }
  const std::vector<std::string>& problems() const { return problems_; }
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  void take(const std::string& path, ByteView text, bool store);
  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> problems_, unknown_;
};

/// "50 MiB" -> bytes; nullopt where it is no size.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// A colour and attributes as the numbers of an SGR escape ("1;31"); nullopt where it is none. Words, separated by
/// blanks: at most two colours (the text's, then the background's) out of black, red, green, yellow, blue, magenta,
/// cyan, white, bright-..., 0 to 255, #rrggbb; bold, dim, italic, underline, reverse, strike; `none` alone.
std::optional<std::string> parse_style(std::string_view text);

/// Keys, dotted, and values of a file as they stand there: strings without their quotes, lists of strings apart. The
/// first half of Settings::read(). invalid, with the line, when it does not parse.
struct RawValue {
  std::string text;
  std::optional<std::vector<std::string>> list;
};
Result<std::vector<std::pair<std::string, RawValue>>> parse_setting_values(ByteView text, std::string_view path);

/// Which file: the user's, or `store_directory`/config.toml.
std::string settings_path(const Context& context, const std::string& store_directory);
/// Sets one value, or with nullopt takes it out; every other byte of the file stays (config.h, C-2). False: there was
/// nothing to take out. For lists (`safe.stores`) the value is added.
Result<bool> write_setting(const Context& context, const std::string& store_directory, std::string_view key,
                           const std::optional<std::string>& value);
/// The text without that key's line: the pure half. nullopt: it does not stand there.
Result<std::optional<Bytes>> unset_config_text(ByteView text, std::string_view key);

}  // namespace weft::repo
