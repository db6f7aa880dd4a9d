// Who records: `--author`, WEFT_AUTHOR, the user's configuration, git's user configuration (DESIGN 11).
#include "repo/config.h"

namespace weft::repo {

namespace {

constexpr std::size_t kMaxIdentityBytes = 1000;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// What neither a name nor an address may hold: it would be read back as something else in `Name <email>`.
bool has_forbidden(std::string_view text) {
  return text.find_first_of(std::string_view("<>\n\0", 4)) != std::string_view::npos;
}

Error no_identity(std::string_view text) {
  return make_error(Code::invalid, quoted(text) + " is no author", "an author is written \"Name <email>\"");
}

}  // namespace

Result<Identity> parse_identity(std::string_view text) {
  const std::string_view whole = trimmed(text);
  const std::size_t open = whole.find('<');
  if (whole.size() > kMaxIdentityBytes || open == std::string_view::npos || !whole.ends_with('>')) {
    return no_identity(text);
  }
  const std::string_view name = trimmed(whole.substr(0, open));
  const std::string_view email = trimmed(whole.substr(open + 1, whole.size() - open - 2));
  if (name.empty() || has_forbidden(name) || has_forbidden(email)) return no_identity(text);
  return Identity{Bytes(name), Bytes(email)};
}

Result<Identity> find_identity(const Context& context, const std::optional<std::string>& author_option) {
  if (author_option) return parse_identity(*author_option);
  if (const auto it = context.environment.find("WEFT_AUTHOR"); it != context.environment.end() && !it->second.empty()) {
    return parse_identity(it->second);
  }
  WEFT_TRY(const UserConfig own, read_user_config(context));
  std::string name = own.user_name;
  std::string email = own.user_email;
  if (name.empty() || email.empty()) {
    WEFT_TRY(const GitConfig git, read_git_config(context));
    if (name.empty()) name = git.user_name;
    if (email.empty()) email = git.user_email;
  }
  if (name.empty() || email.empty()) {
    return make_error(Code::refused, "nobody is named as the author",
                      "weft config set user.name \"Your Name\"; weft config set user.email you@example.org");
  }
  return parse_identity(name + " <" + email + ">");
}

}  // namespace weft::repo
