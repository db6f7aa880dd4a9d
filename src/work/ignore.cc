#include "work/ignore.h"

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

bool matches_base_name(const IgnorePattern& pattern, ByteView name) {
  const ByteView text = pattern.text;
  if (pattern.literal_prefix == text.size()) return name == text;
  if (pattern.literal_end) return name.ends_with(text.substr(1));
  return wildmatch(text, name, false);
}

bool matches_path(const IgnorePattern& pattern, ByteView path) {
  ByteView text = pattern.text;
  const ByteView literal = text.substr(0, pattern.literal_prefix);
  if (!path.starts_with(literal)) return false;
  // The literal part is cut off first, as git does: a `**` right behind it then counts as one between slashes.
  text.remove_prefix(literal.size());
  path.remove_prefix(literal.size());
  return wildmatch(text, path, true);
}

}  // namespace

PatternList PatternList::parse(ByteView file) {
  PatternList list;
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
  return list;
}

const IgnorePattern* PatternList::last_match(ByteView path, bool is_directory) const {
  const std::size_t slash = path.rfind('/');
  const ByteView name = slash == ByteView::npos ? path : path.substr(slash + 1);
  for (auto pattern = patterns_.rbegin(); pattern != patterns_.rend(); ++pattern) {
    if (pattern->directories_only && !is_directory) continue;
    if (pattern->base_name ? matches_base_name(*pattern, name) : matches_path(*pattern, path)) return &*pattern;
  }
  return nullptr;
}

IgnoreLevel::Pointer IgnoreLevel::base(const std::optional<Bytes>& global_patterns,
                                       const std::optional<Bytes>& exclude) {
  auto level = std::make_shared<IgnoreLevel>();
  if (exclude) level->first_ = PatternList::parse(*exclude);
  if (global_patterns) level->second_ = PatternList::parse(*global_patterns);
  return level;
}

IgnoreLevel::Pointer IgnoreLevel::enter(Pointer parent, std::string_view directory,
                                        const std::optional<Bytes>& gitignore, const std::optional<Bytes>& weftignore) {
  auto level = std::make_shared<IgnoreLevel>();
  if (weftignore) level->first_ = PatternList::parse(*weftignore);
  if (gitignore) level->second_ = PatternList::parse(*gitignore);
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
