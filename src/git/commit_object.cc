#include "git/commit_object.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace weft::git {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// One value of extra holds no more than about this.
constexpr std::size_t kOddTreesBytes = 16u << 20;
constexpr std::string_view kTargetTree = "tree";
constexpr std::string_view kTargetBlob = "blob";
constexpr std::int32_t kMaxOffsetMin = 24 * 60 - 1;

/// Cuts the first line (without its newline) off `text`; nullopt when no newline is left.
std::optional<std::string_view> take_line(std::string_view& text) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

/// The value of a line that begins with `key` and a space.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') return std::nullopt;
  return line.substr(key.size() + 1);
}

std::int64_t parse_seconds(std::string_view digits) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), seconds);
  if (error == std::errc::result_out_of_range) return digits.starts_with('-') ? -kMaxUnixSeconds : kMaxUnixSeconds;
  if (error != std::errc{}) return 0;
  return std::clamp(seconds, -kMaxUnixSeconds, kMaxUnixSeconds);
}

/// "+hhmm", leniently.
std::int32_t parse_zone(std::string_view zone) {
  if (zone.size() < 2 || (zone[0] != '+' && zone[0] != '-')) return 0;
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(zone.data() + 1, zone.data() + zone.size(), value);
  if (error != std::errc{} || value < 0) return 0;
  const std::int32_t minutes = std::min(value / 100 * 60 + value % 100, kMaxOffsetMin);
  return zone[0] == '-' ? -minutes : minutes;
}

/// What the parsed fields give behind the parent lines.
Bytes rest_from_fields(const object::Change& change) {
  Bytes out = "author ";
  out += signature_line(change.author);
  out += "\ncommitter ";
  out += signature_line(change.committer);
  out += '\n';
  if (const auto* headers = change.find_extra(kExtraHeaders)) out += *headers;
  out += '\n';
  out += change.message;
  return out;
}

/// Author, committer, other headers and message, as far as they can be read.
void read_rest(std::string_view rest, object::Change& change, std::string_view& headers) {
  std::string_view left = rest;
  std::string_view before = left;
  bool have_author = false;
  bool have_committer = false;
  headers = {};
  while (true) {
    before = left;
    const auto line = take_line(left);
    if (!line) {  // no blank line: whatever is left is no message that git would show either
      change.message.clear();
      break;
    }
    if (line->empty()) {
      change.message = Bytes(left);
      break;
    }
    if (const auto author = value_of(*line, "author"); author && !have_author && headers.empty()) {
      change.author = parse_signature(*author);
      have_author = true;
    } else if (const auto committer = value_of(*line, "committer"); committer && !have_committer && headers.empty()) {
      change.committer = parse_signature(*committer);
      have_committer = true;
    } else {
      const std::size_t length = line->size() + 1;
      headers = headers.empty() ? before.substr(0, length) : std::string_view(headers.data(), headers.size() + length);
    }
  }
}

}  // namespace

void fill_change(object::Change& change, const Sha1& id, const CommitObject& commit, ByteView object,
                 bool parents_as_changes) {
  change.extra.clear();
  change.extra.emplace_back(kExtraSha1, id.view());
  if (!parents_as_changes) {
    Bytes list;
    for (const auto& parent : commit.parents) list += parent.view();
    change.extra.emplace_back(kExtraParents, std::move(list));
  }
  std::string_view headers;
  read_rest(commit.rest, change, headers);
  if (!commit.canonical_head) {
    change.extra.emplace_back(kExtraObject, object);
    return;
  }
  if (!headers.empty()) change.extra.emplace_back(kExtraHeaders, headers);
  if (rest_from_fields(change) == commit.rest) return;
  if (!headers.empty()) change.extra.pop_back();
  change.extra.emplace_back(kExtraCommit, commit.rest);
}

void fill_target(object::Change& change, const Sha1& id, bool blob) {
  change.extra.clear();
  change.extra.emplace_back(kExtraSha1, id.view());
  change.extra.emplace_back(kExtraTarget, blob ? kTargetBlob : kTargetTree);
  change.author = change.committer = object::Signature{};
  change.author.name = change.committer.name = "git";
  change.message = blob ? "Content of a file that a git tag names\n\n" : "Tree that a git tag names\n\n";
  change.message +=
      "No commit: git has it as the " + std::string(blob ? kTargetBlob : kTargetTree) + " " + id.hex() + ".\n";
}

Imported imported_kind(const object::Change& change) {
  const auto* target = change.find_extra(kExtraTarget);
  if (!target) return Imported::commit;
  return *target == kTargetBlob ? Imported::blob : Imported::tree;
}

Result<Bytes> commit_bytes(const object::Change& change, const Sha1& tree, const std::vector<Sha1>& parents) {
  if (!change.find_extra(kExtraSha1)) {
    return make_error(Code::invalid, "the change was not imported from git");
  }
  if (const auto* whole = change.find_extra(kExtraObject)) return *whole;
  Bytes out;
  if (const auto* list = change.find_extra(kExtraParents)) {
    if (list->size() % Sha1::kSize != 0) return damaged("an imported change's list of git parents is malformed");
    std::vector<Sha1> kept;
    for (std::size_t at = 0; at < list->size(); at += Sha1::kSize) {
      kept.push_back(Sha1::from_bytes(ByteView(*list).substr(at, Sha1::kSize)));
    }
    out = commit_head(tree, kept);
  } else {
    out = commit_head(tree, parents);
  }
  if (const auto* rest = change.find_extra(kExtraCommit)) {
    out += *rest;
  } else {
    out += rest_from_fields(change);
  }
  return out;
}

void append_odd_trees(object::Change& change, const OddTrees& trees) {
  Bytes value;
  for (const auto& [path, tree] : trees) {
    if (!value.empty() && value.size() + path.size() + tree.size() > kOddTreesBytes) {
      change.extra.emplace_back(kExtraTrees, std::move(value));
      value.clear();
    }
    ByteWriter writer(value);
    writer.sized(path);
    writer.sized(tree);
  }
  if (!value.empty()) change.extra.emplace_back(kExtraTrees, std::move(value));
}

Result<OddTrees> odd_trees(const object::Change& change) {
  OddTrees trees;
  for (const auto& [key, value] : change.extra) {
    if (key != kExtraTrees) continue;
    ByteReader reader(value);
    while (reader.ok() && !reader.at_end()) {
      const auto path = reader.sized(wire::kMaxPathBytes);
      const auto tree = reader.sized(wire::kMaxObjectBytes);
      if (reader.ok()) trees.emplace_back(path, tree);
    }
    if (!reader.ok()) return damaged("an imported change's git trees are malformed");
  }
  return trees;
}

std::optional<Sha1> git_id(const object::Change& change) {
  const auto* raw = change.find_extra(kExtraSha1);
  if (!raw || raw->size() != Sha1::kSize) return std::nullopt;
  return Sha1::from_bytes(*raw);
}

object::Signature parse_signature(std::string_view line) {
  object::Signature signature;
  const auto close = line.rfind('>');
  const auto open = line.find('<');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    signature.name = Bytes(line.substr(0, object::kMaxSignatureBytes));
    return signature;
  }
  auto name = line.substr(0, open);
  if (name.ends_with(' ')) name.remove_suffix(1);
  signature.name = Bytes(name.substr(0, object::kMaxSignatureBytes));
  signature.email = Bytes(line.substr(open + 1, close - open - 1).substr(0, object::kMaxSignatureBytes));
  auto time = line.substr(close + 1);
  while (time.starts_with(' ')) time.remove_prefix(1);
  const auto space = time.find(' ');
  signature.time.unix_ns = parse_seconds(time.substr(0, space)) * kNsPerSecond;
  if (space != std::string_view::npos) signature.time.offset_min = parse_zone(time.substr(space + 1));
  return signature;
}

Bytes signature_line(const object::Signature& signature) {
  Bytes out = signature.name;
  out += " <";
  out += signature.email;
  out += "> ";
  out += std::to_string(signature.time.unix_ns / kNsPerSecond);
  const std::int32_t minutes = std::abs(signature.time.offset_min);
  const auto two_digits = [&out](std::int32_t value) {
    out += static_cast<char>('0' + value / 10 % 10);
    out += static_cast<char>('0' + value % 10);
  };
  out += signature.time.offset_min < 0 ? " -" : " +";
  two_digits(minutes / 60);
  two_digits(minutes % 60);
  return out;
}

}  // namespace weft::git
