#include "work/ignore.h"

#include <algorithm>
#include <compare>

#include "work/wildmatch.h"

namespace weft::work {
namespace {

/// Without unescaped trailing spaces.
ByteView without_trailing_spaces(ByteView line) {
  std::size_t end = 0;  // behind the last byte that is no trailing space
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == ' ') continue;
    if (line[i] == '\\') {
      if (++i == line.size()) return line;  // a lone final backslash: git leaves such a line alone
    }
    end = i + 1;
  }
  return line.substr(0, end);
}

IgnorePattern parse_pattern(ByteView line, std::size_t number) {
  IgnorePattern pattern;
  pattern.line = number;
  if (line.starts_with('!')) {
    pattern.negative = true;
    line.remove_prefix(1);
  }
  pattern.literal_end = line.starts_with('*') && literal_prefix_length(line.substr(1)) == line.size() - 1;
  if (line.ends_with('/')) {
    pattern.directories_only = true;
    line.remove_suffix(1);
  }
  pattern.base_name = line.find('/') == ByteView::npos;
  if (!pattern.base_name && line.front() == '/') line.remove_prefix(1);  // it only anchors
  pattern.text = line;
  pattern.literal_prefix = literal_prefix_length(line);
  return pattern;
}

unsigned char lower(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 'A' && byte <= 'Z' ? static_cast<unsigned char>(byte + ('a' - 'A')) : byte;
}

/// As strncasecmp() of the C locale: ASCII letters only.
bool equal_bytes(ByteView a, ByteView b, bool fold_case) {
  if (!fold_case) return a == b;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

std::strong_ordering compare_bytes(ByteView a, ByteView b, bool fold_case) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  if (!fold_case) return a <=> b;
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(), b.end(),
                                                [](char x, char y) { return lower(x) <=> lower(y); });
}

bool is_plain_name(const IgnorePattern& pattern) {
  return pattern.base_name && pattern.literal_prefix == pattern.text.size();
}

}  // namespace

PatternList PatternList::parse(ByteView file, bool fold_case) {
  PatternList list;
  list.fold_case_ = fold_case;
  if (file.starts_with("\xef\xbb\xbf")) file.remove_prefix(3);
  std::size_t number = 0;
  while (!file.empty()) {
    ++number;
    const std::size_t newline = file.find('\n');
    ByteView line = file.substr(0, newline);
    file.remove_prefix(newline == ByteView::npos ? file.size() : newline + 1);
    if (line.empty() || line.front() == '#') continue;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = line.substr(0, line.find('\0'));  // git reads lines as C strings
    line = without_trailing_spaces(line);
    if (line.empty() || line.size() > kMaxPatternBytes) continue;
    IgnorePattern pattern = parse_pattern(line, number);
    if (pattern.text.empty()) continue;  // "!", "/": match nothing
    list.patterns_.push_back(std::move(pattern));
  }
  for (std::uint32_t i = 0; i < list.patterns_.size(); ++i) {
    (is_plain_name(list.patterns_[i]) ? list.names_ : list.others_).push_back(i);
  }
  std::sort(list.names_.begin(), list.names_.end(), [&](std::uint32_t a, std::uint32_t b) {
    const auto order = compare_bytes(list.patterns_[a].text, list.patterns_[b].text, fold_case);
    return order != 0 ? order < 0 : a < b;
  });
  return list;
}

bool PatternList::matches(const IgnorePattern& pattern, ByteView path, ByteView name) const {
  ByteView text = pattern.text;
  if (pattern.base_name) {
    if (!pattern.literal_end) return wildmatch(text, name, false, fold_case_);
    text.remove_prefix(1);
    return name.size() >= text.size() && equal_bytes(name.substr(name.size() - text.size()), text, fold_case_);
  }
  const ByteView literal = text.substr(0, pattern.literal_prefix);
  if (!equal_bytes(path.substr(0, literal.size()), literal, fold_case_)) return false;
  // The literal part is cut off first, as git does: a `**` right behind it then counts as one between slashes.
  text.remove_prefix(literal.size());
  path.remove_prefix(literal.size());
  return wildmatch(text, path, true, fold_case_);
}

const IgnorePattern* PatternList::last_match(ByteView path, bool is_directory) const {
  const std::size_t slash = path.rfind('/');
  const ByteView name = slash == ByteView::npos ? path : path.substr(slash + 1);
  const IgnorePattern* found = nullptr;
  auto at = std::upper_bound(names_.begin(), names_.end(), name, [&](ByteView wanted, std::uint32_t i) {
    return compare_bytes(wanted, patterns_[i].text, fold_case_) < 0;
  });
  while (found == nullptr && at != names_.begin()) {
    const IgnorePattern& pattern = patterns_[*--at];
    if (!equal_bytes(pattern.text, name, fold_case_)) break;
    if (is_directory || !pattern.directories_only) found = &pattern;
  }
  for (auto other = others_.rbegin(); other != others_.rend(); ++other) {
    const IgnorePattern& pattern = patterns_[*other];
    if (found != nullptr && pattern.line < found->line) break;
    if (pattern.directories_only && !is_directory) continue;
    if (matches(pattern, path, name)) return &pattern;
  }
  return found;
}

IgnoreLevel::Pointer IgnoreLevel::base(const std::optional<Bytes>& global_patterns, const std::optional<Bytes>& exclude,
                                       bool fold_case) {
  auto level = std::make_shared<IgnoreLevel>();
  level->fold_case_ = fold_case;
  if (exclude) level->first_ = PatternList::parse(*exclude, fold_case);
  if (global_patterns) level->second_ = PatternList::parse(*global_patterns, fold_case);
  return level;
}

IgnoreLevel::Pointer IgnoreLevel::enter(Pointer parent, std::string_view directory,
                                        const std::optional<Bytes>& gitignore, const std::optional<Bytes>& weftignore) {
  auto level = std::make_shared<IgnoreLevel>();
  const bool fold_case = parent && parent->fold_case_;
  level->fold_case_ = fold_case;
  if (weftignore) level->first_ = PatternList::parse(*weftignore, fold_case);
  if (gitignore) level->second_ = PatternList::parse(*gitignore, fold_case);
  if (level->first_.empty() && level->second_.empty()) return parent;
  level->parent_ = std::move(parent);
  level->prefix_ = directory;
  if (!directory.empty()) level->prefix_ += '/';
  return level;
}

const IgnorePattern* IgnoreLevel::decide(ByteView path, bool is_directory) const {
  for (const IgnoreLevel* level = this; level != nullptr; level = level->parent_.get()) {
    WEFT_CHECK(path.starts_with(level->prefix_));
    const ByteView inside = path.substr(level->prefix_.size());
    if (const IgnorePattern* pattern = level->first_.last_match(inside, is_directory)) return pattern;
    if (const IgnorePattern* pattern = level->second_.last_match(inside, is_directory)) return pattern;
  }
  return nullptr;
}

}  // namespace weft::work
