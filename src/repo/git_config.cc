// git's user configuration, as far as weft reads it: user.name, user.email, core.excludesFile,
// core.ignoreCase. Syntax: git-config(1).
#include <cctype>
#include <charconv>

#include "repo/config.h"
#include "work/ignore_sources.h"

namespace weft::repo {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// One value, from behind '=' up to the end of its (continued) line. Advances `at` to that end.
std::string read_value(ByteView text, std::size_t& at) {
  std::string value;
  std::size_t kept = 0;  // blanks behind this are dropped at the end, unless quoted
  bool quoted = false;
  while (at < text.size() && is_blank(text[at])) ++at;
  for (; at < text.size() && text[at] != '\n'; ++at) {
    const char c = text[at];
    if (!quoted && (c == '#' || c == ';')) {
      while (at < text.size() && text[at] != '\n') ++at;
      break;
    }
    if (c == '"') {
      quoted = !quoted;
      kept = value.size();
      continue;
    }
    if (c == '\\' && at + 1 < text.size()) {
      ++at;
      const char next = text[at];
      if (next == '\n') continue;  // the value goes on in the next line
      value += next == 'n' ? '\n' : next == 't' ? '\t' : next == 'b' ? '\b' : next;
      kept = value.size();
      continue;
    }
    value += c;
    if (quoted || !is_blank(c)) kept = value.size();
  }
  value.resize(kept);
  return value;
}

/// nullopt: no boolean; git would refuse to work at all.
std::optional<bool> parse_boolean(std::string_view text) {
  const std::string value = lower(text);
  if (value == "true" || value == "yes" || value == "on") return true;
  if (value.empty() || value == "false" || value == "no" || value == "off") return false;
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (problem != std::errc() || end != value.data() + value.size()) return std::nullopt;
  return number != 0;
}

std::string home(const Context& context) {
  const auto it = context.environment.find("HOME");
  return it == context.environment.end() ? std::string() : it->second;
}

std::string xdg_config(const Context& context) {
  const auto it = context.environment.find("XDG_CONFIG_HOME");
  if (it != context.environment.end() && !it->second.empty()) return it->second;
  const std::string home_directory = home(context);
  return home_directory.empty() ? std::string() : join_path(home_directory, ".config");
}

/// The file's text; nothing when it is absent or not ours to read: git's configuration is only a fallback.
Result<std::optional<Bytes>> read_optional(const Context& context, const std::string& path) {
  auto content = read_file(context.env.fs, path, kMaxConfigBytes);
  if (content) return std::optional<Bytes>(*std::move(content));
  const Code code = content.error().code;
  if (code == Code::not_found || code == Code::permission || code == Code::io) return std::optional<Bytes>();
  return std::move(content).error();
}

}  // namespace

void parse_git_config(ByteView text, GitConfig& config) {
  std::string section;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (is_blank(c) || c == '\n') {
      ++at;
    } else if (c == '#' || c == ';') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (c == '[') {
      const std::size_t end = text.find_first_of("]\n", at);
      const bool closed = end != ByteView::npos && text[end] == ']';
      section = closed ? lower(text.substr(at + 1, end - at - 1)) : std::string();
      at = end == ByteView::npos ? text.size() : end + 1;
    } else {
      std::size_t end = at;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '-')) ++end;
      const std::string key = lower(text.substr(at, end - at));
      at = end;
      while (at < text.size() && is_blank(text[at])) ++at;
      if (key.empty() || at >= text.size() || text[at] != '=') {
        if (section == "core" && key == "ignorecase") config.ignore_case = true;  // a key alone is a true one
        while (at < text.size() && text[at] != '\n') ++at;
        continue;
      }
      ++at;
      std::string value = read_value(text, at);
      if (section == "user" && key == "name")
        config.user_name = std::move(value);
      else if (section == "user" && key == "email")
        config.user_email = std::move(value);
      else if (section == "core" && key == "excludesfile")
        config.excludes_file = std::move(value);
      else if (section == "core" && key == "ignorecase")
        config.ignore_case = parse_boolean(value).value_or(config.ignore_case);
    }
  }
}

Result<GitConfig> read_git_config(const Context& context) {
  GitConfig config;
  if (const std::string xdg = xdg_config(context); !xdg.empty()) {
    WEFT_TRY(const auto text, read_optional(context, join_path(xdg, "git/config")));
    if (text) parse_git_config(*text, config);
  }
  if (const std::string home_directory = home(context); !home_directory.empty()) {
    WEFT_TRY(const auto text, read_optional(context, join_path(home_directory, ".gitconfig")));
    if (text) parse_git_config(*text, config);
  }
  return config;
}

Result<work::IgnoreOptions> read_ignore_options(const Context& context, const std::string& root) {
  WEFT_TRY(GitConfig config, read_git_config(context));
  if (const std::string git = work::git_common_directory(context.env.fs, root); !git.empty()) {
    WEFT_TRY(const auto text, read_optional(context, join_path(git, "config")));
    if (text) parse_git_config(*text, config);
  }
  work::IgnoreOptions out;
  out.fold_case = config.ignore_case;
  std::string path;
  if (!config.excludes_file) {
    const std::string xdg = xdg_config(context);
    if (!xdg.empty()) path = join_path(xdg, "git/ignore");
  } else if (config.excludes_file->starts_with("~/")) {
    const std::string home_directory = home(context);
    if (!home_directory.empty()) path = join_path(home_directory, config.excludes_file->substr(2));
  } else if (!config.excludes_file->empty()) {
    path = absolute_path(root, *config.excludes_file);
  }
  if (path.empty()) return out;
  WEFT_TRY(out.global_patterns, read_optional(context, path));
  return out;
}

}  // namespace weft::repo
