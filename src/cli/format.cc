#include "cli/format.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/date_format.h"
#include "cli/output.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

struct Named {
  std::string_view name, format;
  bool spaced;
};
constexpr Named kNamed[] = {
    {"oneline", "%C(id)%h%Creset%d %s", false},
    {"reference", "%h (%s, %as)", false},
    {"short", "%C(id)change %H%Creset%d%nAuthor: %an <%ae>%n%n    %s%n", true},
    {"medium", "%C(id)change %H%Creset%d%nAuthor: %an <%ae>%nDate:   %ad%n%n%w%n", true},
    {"full", "%C(id)change %H%Creset%d%nAuthor: %an <%ae>%nCommit: %cn <%ce>%n%n%w%n", true},
};

/// Longest first where one begins with another.
constexpr std::string_view kPlaceholders[] = {"an", "ae", "ad", "ar", "at", "aI", "as", "cn", "ce", "cd", "cr",
                                              "ct", "cI", "cs", "H",  "h",  "P",  "p",  "T",  "t",  "s",  "b",
                                              "B",  "D",  "d",  "G",  "A",  "J",  "l",  "w",  "n",  "%"};

std::string iso_8601(const object::Timestamp& time, Clock& clock) {
  std::string text = DateFormat::parse("%FT%T%z").value().text(time, clock);
  return text.insert(text.size() - 2, ":");
}

std::string_view body_of(std::string_view message) {
  const std::size_t end = message.find('\n');
  if (end == message.npos) return {};
  message.remove_prefix(end);
  while (message.starts_with('\n')) message.remove_prefix(1);
  return message;
}

std::string without_last_newlines(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return std::string(text);
}

std::string indented(std::string_view text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (!out.empty()) out += '\n';
    if (end > 0) (out += "    ") += rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string dated(const Invocation& invocation, const object::Signature& signature, char form) {
  Clock& clock = invocation.context.env.clock;
  switch (form) {
    case 'd':
      return shown_date(invocation, signature.time);
    case 'r':
      return DateFormat::parse("relative").value().text(signature.time, clock);
    case 't':
      return DateFormat::parse("unix").value().text(signature.time, clock);
    case 's':
      return DateFormat::parse("short").value().text(signature.time, clock);
    default:
      return iso_8601(signature.time, clock);
  }
}

Result<std::string> ids_text(const store::Snapshot& snapshot, const std::vector<ChangeId>& ids, bool shortened) {
  std::string out;
  for (const auto& id : ids) {
    if (!out.empty()) out += ' ';
    if (!shortened) {
      out += id.hex();
      continue;
    }
    WEFT_TRY(const auto brief, repo::short_id(snapshot, object::ObjectKind::change, id));
    out += brief;
  }
  return out;
}

std::string plain_names(const RefNames& names, const ChangeId& id) {
  std::string out;
  if (const auto found = names.find(id); found != names.end()) {
    for (const auto& name : found->second) out += (out.empty() ? "" : ", ") + printable(name);
  }
  return out;
}

Error unknown(std::string_view format, std::string_view placeholder) {
  return make_error(Code::usage, quoted_always(placeholder) + " in the format " + quoted_always(format) + " is unknown",
                    "`weft help log` lists the placeholders");
}

}  // namespace

Result<ChangeFormat> ChangeFormat::parse(std::string_view text) {
  ChangeFormat out;
  for (const std::string_view prefix : {"format:", "tformat:"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  std::string_view format = text;
  if (!text.empty() && text.find('%') == text.npos) {  // empty: nothing of the change itself, as with git
    const auto named =
        std::find_if(std::begin(kNamed), std::end(kNamed), [&](const Named& each) { return each.name == text; });
    if (named == std::end(kNamed)) {
      return make_error(Code::usage, quoted_always(text) + " is no format",
                        "oneline, short, medium, full, reference, or text with placeholders as in `%h %s`");
    }
    format = named->format;
    out.spaced_ = named->spaced;
  }
  std::string plain;
  const auto add = [&](std::string name, std::string argument) {
    if (!plain.empty()) out.pieces_.push_back({{}, std::exchange(plain, {})});
    out.pieces_.push_back({std::move(name), std::move(argument)});
  };
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      plain += format[at++];
      continue;
    }
    const std::string_view rest = format.substr(at + 1);
    if (rest.starts_with('x') && rest.size() >= 3) {
      const auto byte = from_hex(rest.substr(1, 2));
      if (!byte) return unknown(text, format.substr(at, 4));
      plain += *byte;
      at += 4;
      continue;
    }
    if (rest.starts_with("Creset")) {
      add("C", "none");
      at += 7;
      continue;
    }
    if (rest.starts_with("C(")) {
      const std::size_t end = rest.find(')');
      if (end == rest.npos) return unknown(text, format.substr(at));
      std::string name(rest.substr(2, end - 2));
      if (!style_named(name) && name != "reset" && !repo::parse_style(name)) {
        return unknown(text, format.substr(at, end + 2));
      }
      add("C", name == "reset" ? "none" : std::move(name));
      at += end + 2;
      continue;
    }
    const auto known = std::find_if(std::begin(kPlaceholders), std::end(kPlaceholders),
                                    [&](std::string_view each) { return rest.starts_with(each); });
    if (known == std::end(kPlaceholders)) return unknown(text, format.substr(at, 3));
    at += 1 + known->size();
    if (*known == "n") {
      plain += '\n';
    } else if (*known == "%") {
      plain += '%';
    } else {
      add(std::string(*known), {});
    }
  }
  if (!plain.empty()) out.pieces_.push_back({{}, std::move(plain)});
  return out;
}

Result<std::string> ChangeFormat::text(const Invocation& invocation, const store::Snapshot& snapshot,
                                       const ChangeId& id, const object::Change& change, const RefNames& names) const {
  std::string out;
  for (const auto& piece : pieces_) {
    const std::string& name = piece.name;
    if (name.empty()) {
      out += piece.text;
    } else if (name == "C") {
      if (!use_color(invocation)) continue;
      const auto style = style_named(piece.text);
      const std::string code = style ? std::string(invocation.look->code(invocation, *style))
                                     : repo::parse_style(piece.text).value_or(std::string());
      out += "\x1b[" + code + "m";
    } else if (name == "H") {
      out += id.hex();
    } else if (name == "h") {
      WEFT_TRY(const auto brief, repo::short_id(snapshot, object::ObjectKind::change, id));
      out += brief;
    } else if (name == "P" || name == "p") {
      WEFT_TRY(const auto ids, ids_text(snapshot, change.parents, name == "p"));
      out += ids;
    } else if (name == "T") {
      out += change.tree.hex();
    } else if (name == "t") {
      WEFT_TRY(const auto brief, repo::short_id(snapshot, object::ObjectKind::tree, change.tree));
      out += brief;
    } else if (name == "s") {
      out += printable(subject(change.message));
    } else if (name == "b") {
      out += without_last_newlines(printable(body_of(change.message)));
    } else if (name == "B") {
      out += without_last_newlines(printable(change.message));
    } else if (name == "w") {
      out += indented(without_last_newlines(printable(change.message)));
    } else if (name == "D") {
      out += plain_names(names, id);
    } else if (name == "d") {
      out += names_text(invocation, names, id);
    } else if (name == "G") {
      out += git_commit_of(change);
    } else if (name == "A") {
      out += printable(change.agent);
    } else if (name == "J") {
      out += printable(change.job);
    } else if (name == "l") {
      out += std::to_string(change.lamport);
    } else {
      const object::Signature& who = name[0] == 'a' ? change.author : change.committer;
      out += name[1] == 'n'   ? printable(who.name)
             : name[1] == 'e' ? printable(who.email)
                              : dated(invocation, who, name[1]);
    }
  }
  return out;
}

}  // namespace weft::cli
