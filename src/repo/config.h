// The user's configuration: `$XDG_CONFIG_HOME/weft/config.toml` (else `~/.config/weft/config.toml`), and what weft
// takes from git's user configuration where its own says nothing.
//
// Invariants:
//   C-1  A file is read only when a command asks for something in it: most commits read no configuration at all.
//   C-2  set_user_config() changes one line and leaves every other byte as it is; what it cannot edit so, it refuses.
//   C-3  Nothing in a store or in a tree is configuration that could make weft run a command (DESIGN 12).
// Threading: functions of files.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "repo/repository.h"
#include "work/work.h"

namespace weft::repo {

inline constexpr std::uint64_t kMaxConfigBytes = 1u << 20;

/// Where the user's configuration is; empty without HOME and XDG_CONFIG_HOME.
std::string user_config_path(const Context& context);

struct UserConfig {
  std::string user_name;
  std::string user_email;
  std::vector<std::string>
      safe_stores;  ///< `safe.stores`: directories of stores of others that may be used; "*" for all
  std::vector<std::string> safe_network;  ///< `safe.network`: of stores that no other machine uses; "*" for all
};
/// Defaults where there is no file. invalid, with file and line, when it does not parse or a key has the wrong type.
Result<UserConfig> read_user_config(const Context& context);

/// All keys and values, dotted and in TOML's notation, by key.
Result<std::vector<std::pair<std::string, std::string>>> list_user_config(const Context& context);
/// `key` is one that weft reads, else invalid, with these in the hint; the value is stored as a string (for
/// `safe.stores`: added to the list).
Result<void> set_user_config(const Context& context, std::string_view key, std::string_view value);
/// The text of a configuration file with one string set: the pure half of set_user_config().
Result<Bytes> edit_config_text(ByteView text, std::string_view key, std::string_view value);
Result<std::vector<std::pair<std::string, std::string>>> parse_config_text(ByteView text, std::string_view path);

/// What weft reads of git's user configuration.
struct GitConfig {
  std::string user_name;
  std::string user_email;
  std::optional<std::string> excludes_file;
  bool ignore_case = false;
};
/// `$XDG_CONFIG_HOME/git/config`, then `~/.gitconfig`, the latter winning, as git does; includes are not followed.
Result<GitConfig> read_git_config(const Context& context);
/// One file's text on top of `config`: the pure half. Malformed lines are skipped, as they are git's business.
void parse_git_config(ByteView text, GitConfig& config);

/// What git's configuration says about ignoring in the working tree with its top at `root`: the user's, and on top of
/// it that of the git repository there, if there is one. The global ignore file is `core.excludesFile`, relative to the
/// top, or `$XDG_CONFIG_HOME/git/ignore`.
Result<work::IgnoreOptions> read_ignore_options(const Context& context, const std::string& root);

}  // namespace weft::repo
