#include "git/export_commit.h"

#include <algorithm>

#include "git/commit_object.h"

namespace weft::git {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::string_view kNobody = "unknown";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// One line, without what ends a name or an address in git's header lines.
Bytes header_text(std::string_view text, bool brackets) {
  Bytes out;
  for (const char c : text) {
    if (is_control(c) || (!brackets && (c == '<' || c == '>'))) continue;
    out += c;
  }
  const auto begin = out.find_first_not_of(' ');
  if (begin == Bytes::npos) return {};
  return out.substr(begin, out.find_last_not_of(' ') - begin + 1);
}

Bytes person(const object::Signature& signature) {
  object::Signature clean = signature;
  clean.name = header_text(signature.name, false);
  if (clean.name.empty()) clean.name = kNobody;
  clean.email = header_text(signature.email, false);
  std::erase(clean.email, ' ');
  // Git has seconds since 1970; what lies before them is the first.
  const std::int64_t seconds = std::clamp<std::int64_t>(signature.time.unix_ns / kNsPerSecond, 0, kMaxUnixSeconds);
  clean.time.unix_ns = signature.time.unix_ns < 0 ? 0 : seconds * kNsPerSecond;
  return signature_line(clean);
}

void append_header(Bytes& out, std::string_view key, std::string_view value) {
  const Bytes text = header_text(value, true);
  if (text.empty()) return;
  out += key;
  out += ' ';
  out += text;
  out += '\n';
}

Bytes message_text(std::string_view message) {
  Bytes out;
  for (const char c : message) {
    if (c == '\0') {
      out += kReplacement;
    } else {
      out += c;
    }
  }
  if (!out.empty() && !out.ends_with('\n')) out += '\n';
  return out;
}

}  // namespace

Bytes native_commit_bytes(const object::Change& change, const ChangeId& id, const Sha1& tree,
                          const std::vector<Sha1>& parents) {
  std::vector<Sha1> unique;
  for (const Sha1& parent : parents) {
    if (std::find(unique.begin(), unique.end(), parent) == unique.end()) unique.push_back(parent);
  }
  Bytes out = commit_head(tree, unique);
  out += "author " + person(change.author) + "\n";
  out += "committer " + person(change.committer) + "\n";
  append_header(out, "weft-agent", change.agent);
  append_header(out, "weft-job", change.job);
  append_header(out, kChangeHeader, id.hex());
  out += '\n';
  out += message_text(change.message);
  return out;
}

std::optional<ChangeId> named_change(const CommitObject& commit) {
  std::string_view rest = commit.rest;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (line.empty() || end == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(end + 1);
    if (line.starts_with(kChangeHeader) && line.size() > kChangeHeader.size() && line[kChangeHeader.size()] == ' ') {
      return ChangeId::parse(line.substr(kChangeHeader.size() + 1));
    }
  }
  return std::nullopt;
}

}  // namespace weft::git
