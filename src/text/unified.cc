// Unified diffs as git prints them (xdiff's emitter; POSIX "diff -u" with a function name behind the second @@).
#include <algorithm>

#include <fmt/format.h>

#include "text/diff.h"

namespace weft::text {
namespace {

constexpr std::size_t kMaxFunctionBytes = 80;
constexpr std::string_view kNoNewline = "\\ No newline at end of file";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

bool names_function(std::string_view line) {
  const char c = line.front();
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

/// The longest prefix that is UTF-8: git cuts hunk headers there, as the 80 bytes may end inside a character.
std::string_view utf8_prefix(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  std::size_t i = 0;
  while (i < text.size()) {
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || i + length > text.size()) break;
    bool good = true;
    for (std::size_t k = 1; k < length; ++k) good = good && (byte(i + k) & 0xC0) == 0x80;
    if (length == 3) {
      good = good && !(lead == 0xE0 && byte(i + 1) < 0xA0) && !(lead == 0xED && byte(i + 1) > 0x9F) &&
             !(lead == 0xEF && byte(i + 1) == 0xBF && byte(i + 2) >= 0xBE);
    }
    if (length == 4) good = good && !(lead == 0xF0 && byte(i + 1) < 0x90) && !(lead == 0xF4 && byte(i + 1) > 0x8F);
    if (!good) break;
    i += length;
  }
  return text.substr(0, i);
}

std::string range_text(std::size_t begin, std::size_t count) {
  const std::size_t shown = count == 0 ? begin : begin + 1;
  return count == 1 ? fmt::format("{}", shown) : fmt::format("{},{}", shown, count);
}

class Emitter {
 public:
  Emitter(std::string_view before, std::string_view after, const UnifiedOptions& options)
      : a_(split_lines(before)),
        b_(split_lines(after)),
        options_(options),
        context_(static_cast<std::size_t>(std::max(options.context, 0))) {}

  std::vector<UnifiedLine> run() {
    const auto changes = diff_lines(a_, b_);
    for (std::size_t i = 0; i < changes.size();) {
      std::size_t end = i + 1;
      while (end < changes.size() && changes[end].a_begin - changes[end - 1].a_end <= 2 * context_) ++end;
      hunk(changes, i, end);
      i = end;
    }
    return std::move(out_);
  }

 private:
  void hunk(const std::vector<LineChange>& changes, std::size_t first, std::size_t end) {
    const LineChange& top = changes[first];
    const LineChange& bottom = changes[end - 1];
    const std::size_t lead = std::min({context_, top.a_begin, top.b_begin});
    const std::size_t tail = std::min({context_, a_.size() - bottom.a_end, b_.size() - bottom.b_end});
    const std::size_t a_begin = top.a_begin - lead, b_begin = top.b_begin - lead;
    std::string header = fmt::format("@@ -{} +{} @@", range_text(a_begin, bottom.a_end + tail - a_begin),
                                     range_text(b_begin, bottom.b_end + tail - b_begin));
    if (options_.function_names) {
      for (std::size_t line = a_begin; line-- > searched_;) {
        if (names_function(a_[line])) {
          function_ = a_[line].substr(0, kMaxFunctionBytes);
          while (is_space(function_.back())) function_.remove_suffix(1);
          break;
        }
      }
      searched_ = a_begin;
      if (!function_.empty()) {
        header += ' ';
        header += utf8_prefix(function_);
      }
    }
    out_.push_back({UnifiedLine::Kind::header, std::move(header)});
    std::size_t a = a_begin;
    for (std::size_t i = first; i < end; ++i) {
      for (; a < changes[i].a_begin; ++a) line(UnifiedLine::Kind::context, a_[a]);
      for (; a < changes[i].a_end; ++a) line(UnifiedLine::Kind::removed, a_[a]);
      for (std::size_t b = changes[i].b_begin; b < changes[i].b_end; ++b) line(UnifiedLine::Kind::added, b_[b]);
    }
    for (const std::size_t stop = a + tail; a < stop; ++a) line(UnifiedLine::Kind::context, a_[a]);
  }

  void line(UnifiedLine::Kind kind, std::string_view text) {
    out_.push_back({kind, std::string(text)});
    if (!text.ends_with('\n')) out_.push_back({UnifiedLine::Kind::no_newline, std::string(kNoNewline)});
  }

  std::vector<std::string_view> a_, b_;
  UnifiedOptions options_;
  std::size_t context_;
  std::vector<UnifiedLine> out_;
  std::string_view function_;
  std::size_t searched_ = 0;  // lines above this were searched for earlier hunks
};

}  // namespace

std::vector<UnifiedLine> unified_diff(std::string_view before, std::string_view after, const UnifiedOptions& options) {
  return Emitter(before, after, options).run();
}

std::string unified_text(const std::vector<UnifiedLine>& lines) {
  std::string out;
  for (const UnifiedLine& line : lines) {
    switch (line.kind) {
      case UnifiedLine::Kind::context:
        out += ' ';
        break;
      case UnifiedLine::Kind::removed:
        out += '-';
        break;
      case UnifiedLine::Kind::added:
        out += '+';
        break;
      case UnifiedLine::Kind::header:
      case UnifiedLine::Kind::no_newline:
        break;
    }
    out += line.text;
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

}  // namespace weft::text
