#include "text/combined.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/result.h"

namespace weft::text {
namespace {

using Mask = std::uint64_t;

constexpr std::size_t kMaxHeadingBytes = 40;

/// A line that parents had and the result has not; it stands in front of a line of the result.
struct Lost {
  std::string_view line;  ///< without newline
  Mask parents = 0;
};

/// A line of the result with what was lost in front of it; the last one, behind the end, has no line.
struct Place {
  Mask lacking = 0;  ///< parents that do not have this line
  std::vector<Lost> lost;
  bool shown = false;
  bool hides_lost = false;  ///< leading context: what was lost in front of it belongs to what is left out
};

Mask bit(std::size_t parent) { return Mask{1} << parent; }

std::string_view without_newline(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

/// Lines of one more parent join those lost already; equal ones, in one order, are one.
void join(std::vector<Lost>& base, const std::vector<std::string_view>& lines, std::size_t parent) {
  if (lines.empty()) return;
  std::vector<Lost> out;
  if (base.empty() || base.size() > kMaxJoinWork / lines.size()) {
    for (const auto line : lines) base.push_back({line, bit(parent)});
    return;
  }
  enum class From : std::uint8_t { old_line, new_line, both };
  const std::size_t width = lines.size() + 1;
  std::vector<std::uint32_t> length((base.size() + 1) * width);
  std::vector<From> from((base.size() + 1) * width, From::old_line);
  for (std::size_t j = 1; j < width; ++j) from[j] = From::new_line;
  for (std::size_t i = 1; i <= base.size(); ++i) {
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t at = i * width + j;
      if (base[i - 1].line == lines[j - 1]) {
        length[at] = length[at - width - 1] + 1;
        from[at] = From::both;
      } else if (length[at - 1] >= length[at - width]) {
        length[at] = length[at - 1];
        from[at] = From::new_line;
      } else {
        length[at] = length[at - width];
      }
    }
  }
  for (std::size_t i = base.size(), j = lines.size(); i > 0 || j > 0;) {
    switch (from[i * width + j]) {
      case From::both:
        out.push_back({base[i - 1].line, base[i - 1].parents | bit(parent)});
        --i;
        --j;
        break;
      case From::new_line:
        out.push_back({lines[j - 1], bit(parent)});
        --j;
        break;
      case From::old_line:
        out.push_back(base[i - 1]);
        --i;
        break;
    }
  }
  std::reverse(out.begin(), out.end());
  base = std::move(out);
}

class Combiner {
 public:
  Combiner(std::span<const std::string_view> parents, std::string_view result, const UnifiedOptions& options)
      : options_(options),
        context_(static_cast<std::size_t>(std::max(options.context, 0))),
        parents_(parents.size()),
        all_(parents.size() == kMaxCombinedParents ? ~Mask{0} : bit(parents.size()) - 1),
        lines_(split_lines(result)),
        places_(lines_.size() + 1),
        parent_lines_(parents.size()) {
    for (std::size_t i = 0; i < parents.size(); ++i) add_parent(i, parents[i]);
  }

  std::vector<CombinedLine> run() {
    for (auto& place : places_) place.shown = interesting(place);
    leave_out_what_took_a_side();
    if (give_context()) print();
    return std::move(out_);
  }

 private:
  void add_parent(std::size_t parent, std::string_view text) {
    const auto old_lines = split_lines(text);
    for (const auto& change : compare_lines(old_lines, lines_, options_.compare, 0)) {
      std::vector<std::string_view> lost;
      for (std::size_t i = change.a_begin; i < change.a_end; ++i) lost.push_back(without_newline(old_lines[i]));
      join(places_[change.b_begin].lost, lost, parent);
      for (std::size_t i = change.b_begin; i < change.b_end; ++i) places_[i].lacking |= bit(parent);
    }
    // The parent's line number where each place begins.
    auto& numbers = parent_lines_[parent];
    numbers.reserve(places_.size() + 1);
    std::size_t next = 1;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      numbers.push_back(next);
      for (const Lost& lost : places_[i].lost) next += (lost.parents & bit(parent)) != 0 ? 1 : 0;
      if (i < lines_.size() && (places_[i].lacking & bit(parent)) == 0) ++next;
    }
    numbers.push_back(next);
  }

  static bool interesting(const Place& place) { return place.lacking != 0 || !place.lost.empty(); }

  std::size_t next_shown(std::size_t at, bool shown) const {
    while (at < places_.size() && places_[at].shown != shown) ++at;
    return at;
  }

  /// Where trailing context begins: a last place that only lost lines shows its own line as one of context anyway.
  std::size_t tail(std::size_t begin, std::size_t end) const {
    return begin + 1 <= end && places_[end - 1].lacking == 0 ? end - 1 : end;
  }

  void leave_out_what_took_a_side() {
    for (std::size_t begin = next_shown(0, true); begin < places_.size();) {
      std::size_t end = begin + 1;
      for (; end < places_.size(); ++end) {
        if (places_[end].shown) continue;
        // Changes so near that they would be one hunk are judged as one.
        std::size_t ahead = std::min(tail(begin, end) + context_, places_.size());
        bool goes_on = false;
        while (ahead > 0 && end <= --ahead) {
          if (places_[ahead].shown) {
            goes_on = true;
            break;
          }
        }
        if (!goes_on) break;
        end = ahead;
      }
      if (takes_a_side(begin, end)) {
        for (std::size_t i = begin; i < end; ++i) places_[i].shown = false;
      }
      begin = next_shown(end, true);
    }
  }

  /// Whether all of it differs from the same parents, and not from all.
  bool takes_a_side(std::size_t begin, std::size_t end) const {
    Mask same = 0;
    const auto fits = [&same](Mask mask) {
      if (mask == 0) return true;
      if (same == 0) same = mask;
      return same == mask;
    };
    for (std::size_t i = begin; i < end; ++i) {
      if (!fits(places_[i].lacking)) return false;
      for (const Lost& lost : places_[i].lost) {
        if (!fits(lost.parents)) return false;
      }
    }
    return same != all_;
  }

  /// False: there is nothing to show.
  bool give_context() {
    const std::size_t count = places_.size();
    std::size_t at = next_shown(0, true);
    if (at >= count) return false;
    while (at < count) {
      for (std::size_t before = at > context_ ? at - context_ : 0; before < at; ++before) {
        if (!places_[before].shown) places_[before].hides_lost = true;
        places_[before].shown = true;
      }
      while (true) {
        std::size_t end = next_shown(at, false);
        if (end >= count) return true;
        const std::size_t next = next_shown(end, true);
        end = tail(at, end);
        const bool near = next < end + context_;
        const std::size_t until = near ? next : std::min(end + context_, count);
        for (; end < until; ++end) places_[end].shown = true;
        at = next;
        if (!near) break;
      }
    }
    return true;
  }

  void print() {
    std::string_view heading;
    for (std::size_t at = 0; at < places_.size();) {
      if (!places_[at].shown) {
        if (at < lines_.size()) note_heading(lines_[at], heading);
        ++at;
        continue;
      }
      const std::size_t end = next_shown(at, false);
      print_header(at, end, heading);
      for (; at < end; ++at) {
        print_place(at);
        if (at < lines_.size()) note_heading(lines_[at], heading);
      }
    }
  }

  void note_heading(std::string_view line, std::string_view& heading) const {
    if (!options_.function_names) return;
    if (const auto found = heading_of(options_.language, line)) {
      heading = *found;
      heading = heading.substr(0, heading.find_last_not_of(" \t\r\n\f\v") + 1);
    }
  }

  void print_header(std::size_t begin, std::size_t end, std::string_view heading) {
    std::size_t lines = std::min(end, lines_.size()) - begin;
    std::size_t unshown = 0;  // lines that only hold what was lost in front of them
    for (std::size_t i = begin; context_ == 0 && i < std::min(end, lines_.size()); ++i)
      unshown += places_[i].lacking == 0 ? 1 : 0;
    lines -= std::min(lines, unshown);
    const std::string at(parents_ + 1, '@');
    std::string text = at;
    for (const auto& numbers : parent_lines_) {
      text += fmt::format(" -{},{}", numbers[begin],
                          numbers[end] - numbers[begin] - std::min(unshown, numbers[end] - numbers[begin]));
    }
    text += fmt::format(" +{},{} {}", begin + 1, lines, at);
    out_.push_back({CombinedLine::Kind::header, std::move(text), std::string(heading.substr(0, kMaxHeadingBytes))});
  }

  void print_place(std::size_t at) {
    const Place& place = places_[at];
    const auto marks = [this](Mask mask, char mark) {
      std::string text(parents_, ' ');
      for (std::size_t i = 0; i < parents_; ++i) {
        if ((mask & bit(i)) != 0) text[i] = mark;
      }
      return text;
    };
    for (const Lost& lost : place.lost) {
      if (place.hides_lost) break;
      out_.push_back({CombinedLine::Kind::removed, marks(lost.parents, '-'), std::string(lost.line)});
    }
    if (at >= lines_.size() || (place.lacking == 0 && context_ == 0)) return;
    out_.push_back({place.lacking == 0 ? CombinedLine::Kind::context : CombinedLine::Kind::added,
                    marks(place.lacking, '+'), std::string(without_newline(lines_[at]))});
  }

  const UnifiedOptions& options_;
  const std::size_t context_;
  const std::size_t parents_;
  const Mask all_;
  std::vector<std::string_view> lines_;
  std::vector<Place> places_;                           ///< one more than lines
  std::vector<std::vector<std::size_t>> parent_lines_;  ///< of each parent, by place, and one behind the last
  std::vector<CombinedLine> out_;
};

}  // namespace

std::vector<CombinedLine> combined_diff(std::span<const std::string_view> parents, std::string_view result,
                                        const UnifiedOptions& options) {
  WEFT_CHECK(!parents.empty() && parents.size() <= kMaxCombinedParents);
  return Combiner(parents, result, options).run();
}

}  // namespace weft::text
