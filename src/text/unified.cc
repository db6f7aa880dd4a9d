#include <algorithm>

#include <fmt/format.h>

#include "text/unified.h"

namespace weft::text {
namespace {

constexpr std::size_t kMaxFunctionBytes = 80;
constexpr std::string_view kNoNewline = "\\ No newline at end of file";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

/// The line as it counts. `room` holds it where it is not a part of the line itself.
std::string_view counted_line(std::string_view line, Whitespace whitespace, std::string& room) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  if (whitespace == Whitespace::exact) return line;
  while (!line.empty() && blank(line.back())) line.remove_suffix(1);
  if (whitespace == Whitespace::ignore_at_end) return line;
  room.clear();
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!blank(line[at])) {
      room += line[at];
    } else if (whitespace == Whitespace::ignore_amount && (at == 0 || !blank(line[at - 1]))) {
      room += ' ';
    }
  }
  return room;
}

bool is_blank_line(std::string_view line, Whitespace whitespace) {
  if (whitespace == Whitespace::exact) return line.empty() || line == "\n";
  return std::all_of(line.begin(), line.end(), is_space);
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
    const auto changes = compare_lines(a_, b_, options_.compare, options_.context);
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
        const auto heading = heading_of(options_.language, a_[line]);
        if (!heading) continue;
        function_ = heading->substr(0, kMaxFunctionBytes);
        while (!function_.empty() && is_space(function_.back())) function_.remove_suffix(1);
        break;
      }
      searched_ = a_begin;
      if (!function_.empty()) {
        header += ' ';
        header += utf8_prefix(function_);
      }
    }
    out_.push_back({UnifiedLine::Kind::header, std::move(header)});
    // Context is shown as the new text has it: with blanks ignored the two may differ.
    std::size_t a = a_begin, next = b_begin;
    for (std::size_t i = first; i < end; ++i) {
      for (a = changes[i].a_begin; next < changes[i].b_begin; ++next) line(UnifiedLine::Kind::context, b_[next]);
      for (; a < changes[i].a_end; ++a) line(UnifiedLine::Kind::removed, a_[a]);
      for (; next < changes[i].b_end; ++next) line(UnifiedLine::Kind::added, b_[next]);
    }
    for (const std::size_t stop = next + tail; next < stop; ++next) line(UnifiedLine::Kind::context, b_[next]);
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

std::vector<LineChange> compare_lines(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
                                      const CompareOptions& options, int context) {
  if (options.exact()) return diff_lines(a, b);
  std::vector<LineChange> changes;
  if (options.whitespace == Whitespace::exact) {
    changes = diff_lines(a, b);
  } else {
    // Keys of both sides lie in one text each, so that a line costs no allocation of its own.
    std::string a_room, b_room, room;
    const auto keys_of = [&](const std::vector<std::string_view>& lines, std::string& all) {
      std::vector<std::size_t> ends;
      for (const auto line : lines) {
        all += counted_line(line, options.whitespace, room);
        ends.push_back(all.size());
      }
      std::vector<std::string_view> keys;
      std::size_t begin = 0;
      for (const auto end : ends) {
        keys.push_back(std::string_view(all).substr(begin, end - begin));
        begin = end;
      }
      return keys;
    };
    const auto a_keys = keys_of(a, a_room), b_keys = keys_of(b, b_room);
    changes = diff_lines(a_keys, b_keys);
  }
  if (!options.ignore_blank_lines) return changes;
  const auto blank = [&](const LineChange& change) {
    const auto all_blank = [&](const std::vector<std::string_view>& lines, std::size_t begin, std::size_t end) {
      return std::all_of(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                         lines.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](std::string_view line) { return is_blank_line(line, options.whitespace); });
    };
    return all_blank(a, change.a_begin, change.a_end) && all_blank(b, change.b_begin, change.b_end);
  };
  const auto near = static_cast<std::size_t>(std::max(context, 0));
  std::vector<LineChange> kept;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (blank(changes[i])) {
      const bool after_kept =
          !kept.empty() && i > 0 && kept.back() == changes[i - 1] && changes[i].a_begin - kept.back().a_end < near;
      const bool before_real =
          i + 1 < changes.size() && changes[i + 1].a_begin - changes[i].a_end < near && !blank(changes[i + 1]);
      if (!after_kept && !before_real) continue;
    }
    kept.push_back(changes[i]);
  }
  return kept;
}

LineCounts count_changed_lines(std::string_view before, std::string_view after, const CompareOptions& options) {
  LineCounts counts;
  for (const LineChange& change : compare_lines(split_lines(before), split_lines(after), options, 0)) {
    counts.removed += change.a_end - change.a_begin;
    counts.added += change.b_end - change.b_begin;
  }
  return counts;
}

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
