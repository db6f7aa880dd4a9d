#include "text/refine.h"

#include <algorithm>

#include "text/diff.h"

namespace weft::text {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

/// Bytes above 0x7f are parts of words, so that no character is cut in two.
bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// A share of a line that both sides have, below which marking the rest helps nobody.
constexpr std::size_t kLeastCommonPercent = 30;

struct Tokens {
  std::vector<std::string_view> text;
  std::vector<std::size_t> line;    ///< of each
  std::vector<std::size_t> offset;  ///< of each, in its line
};

/// Words, runs of blanks, and every other byte by itself.
Tokens tokens_of(const std::vector<std::string_view>& lines) {
  Tokens out;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    std::string_view line = lines[at];
    for (std::size_t begin = 0; begin < line.size();) {
      std::size_t end = begin + 1;
      if (in_word(line[begin])) {
        while (end < line.size() && in_word(line[end])) ++end;
      } else if (line[begin] == ' ' || line[begin] == '\t') {
        while (end < line.size() && (line[end] == ' ' || line[end] == '\t')) ++end;
      }
      out.text.push_back(line.substr(begin, end - begin));
      out.line.push_back(at);
      out.offset.push_back(begin);
      begin = end;
    }
  }
  return out;
}

std::vector<std::vector<Span>> spans_of(const std::vector<std::string_view>& lines, const Tokens& tokens,
                                        const std::vector<char>& changed) {
  std::vector<std::vector<Span>> out(lines.size());
  std::vector<std::size_t> common(lines.size(), 0), all(lines.size(), 0);
  for (std::size_t at = 0; at < tokens.text.size(); ++at) {
    const std::string_view text = tokens.text[at];
    const std::size_t line = tokens.line[at], begin = tokens.offset[at];
    if (!is_blank(text[0])) {
      all[line] += text.size();
      if (changed[at] == 0) common[line] += text.size();
    }
    if (changed[at] == 0 || text == "\n") continue;
    auto& spans = out[line];
    if (!spans.empty() && spans.back().end == begin) {
      spans.back().end = begin + text.size();
    } else {
      spans.push_back({begin, begin + text.size()});
    }
  }
  for (std::size_t line = 0; line < lines.size(); ++line) {
    if (common[line] * 100 < all[line] * kLeastCommonPercent || common[line] == 0) out[line].clear();
  }
  return out;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t begin = 0; begin < text.size();) {
    if (is_blank(text[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    while (end < text.size() && !is_blank(text[end])) ++end;
    out.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return out;
}

/// Words [begin, end) of `text`, from the first's begin to the last's end. Without any: nothing, behind the word
/// before.
std::string_view range_of(std::string_view text, const std::vector<std::string_view>& words, std::size_t begin,
                          std::size_t end) {
  const auto offset = [&](std::size_t word) { return static_cast<std::size_t>(words[word].data() - text.data()); };
  if (begin == end) return text.substr(begin == 0 ? 0 : offset(begin - 1) + words[begin - 1].size(), 0);
  return text.substr(offset(begin), offset(end - 1) + words[end - 1].size() - offset(begin));
}

}  // namespace

Refined refine_lines(const std::vector<std::string_view>& removed, const std::vector<std::string_view>& added) {
  Refined out{std::vector<std::vector<Span>>(removed.size()), std::vector<std::vector<Span>>(added.size())};
  if (removed.empty() || added.empty()) return out;
  std::size_t bytes = 0;
  for (const auto line : removed) bytes += line.size();
  for (const auto line : added) bytes += line.size();
  if (bytes > kMaxRefinedBytes) return out;
  const Tokens a = tokens_of(removed), b = tokens_of(added);
  std::vector<char> a_changed(a.text.size(), 0), b_changed(b.text.size(), 0);
  for (const auto& change : diff_lines(a.text, b.text)) {
    std::fill(a_changed.begin() + static_cast<std::ptrdiff_t>(change.a_begin),
              a_changed.begin() + static_cast<std::ptrdiff_t>(change.a_end), char{1});
    std::fill(b_changed.begin() + static_cast<std::ptrdiff_t>(change.b_begin),
              b_changed.begin() + static_cast<std::ptrdiff_t>(change.b_end), char{1});
  }
  out.removed = spans_of(removed, a, a_changed);
  out.added = spans_of(added, b, b_changed);
  return out;
}

std::vector<WordPiece> diff_words(std::string_view removed, std::string_view added) {
  using Kind = WordPiece::Kind;
  std::vector<WordPiece> out;
  const auto add = [&](Kind kind, std::string_view text) {
    if (!text.empty()) out.push_back({kind, text});
  };
  if (removed.empty() || added.empty() || removed.size() + added.size() > kMaxRefinedBytes) {
    add(Kind::removed, removed);
    add(Kind::added, added);
    return out;
  }
  const auto a = words_of(removed), b = words_of(added);
  std::size_t shown = 0;  // of `added`
  for (const auto& change : diff_lines(a, b)) {
    const auto gone = range_of(removed, a, change.a_begin, change.a_end);
    const auto come = range_of(added, b, change.b_begin, change.b_end);
    const auto begin = static_cast<std::size_t>(come.data() - added.data());
    add(Kind::common, added.substr(shown, begin - shown));
    add(Kind::removed, gone);
    add(Kind::added, come);
    shown = begin + come.size();
  }
  add(Kind::common, added.substr(shown));
  return out;
}

}  // namespace weft::text
