#include "cli/patch_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/text.h"
#include "text/refine.h"

namespace weft::cli {
namespace {

using object::EntryKind;
using tree::Difference;
using tree::PathEntry;
using Kind = text::UnifiedLine::Kind;

constexpr std::size_t kIndexDigits = 10;
constexpr std::string_view kNoNewline = "\\ No newline at end of file";

std::string id_text(const std::optional<PathEntry>& at) {
  return at ? at->entry.id.hex().substr(0, kIndexDigits) : std::string(kIndexDigits, '0');
}

std::string side_name(std::string_view prefix, const std::optional<PathEntry>& at) {
  if (!at) return "/dev/null";
  std::string name = quoted(std::string(prefix) + at->path);
  // A blank would end the name for whoever reads the patch; git marks the end with a tab.
  if (!name.starts_with('"') && name.find(' ') != std::string::npos) name += '\t';
  return name;
}

/// "diff --git a/x b/x" and the lines under it, up to the hunks.
std::string header(const Difference& difference, const Sides& sides) {
  const auto& before = difference.before;
  const auto& after = difference.after;
  const std::string& old_path = before ? before->path : after->path;
  const std::string& new_path = after ? after->path : before->path;
  std::string out = fmt::format("diff --git {} {}\n", quoted("a/" + old_path), quoted("b/" + new_path));
  if (!before) out += fmt::format("new file mode {}\n", git_mode(after->entry));
  if (!after) out += fmt::format("deleted file mode {}\n", git_mode(before->entry));
  const bool mode_differs = before && after && git_mode(before->entry) != git_mode(after->entry);
  if (mode_differs) {
    out += fmt::format("old mode {}\nnew mode {}\n", git_mode(before->entry), git_mode(after->entry));
  }
  if (difference.moved()) {
    if (sides.same) {
      out += "similarity index 100%\n";
    } else if (!sides.binary) {
      out += fmt::format("similarity index {}%\n", text::similarity_percent(sides.before.content, sides.after.content));
    }
    out += fmt::format("rename from {}\nrename to {}\n", quoted(before->path), quoted(after->path));
  }
  if (!sides.same) {
    out += fmt::format("index {}..{}{}\n", id_text(before), id_text(after),
                       before && after && !mode_differs ? " " + git_mode(after->entry) : "");
  }
  return out;
}

std::string painted_lines(const Invocation& invocation, Style style, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    out += paint(invocation, style, text.substr(0, end)) + "\n";
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return out;
}

std::string directory_line(const Difference& difference) {
  if (!difference.before) return fmt::format("new empty directory {}\n", quoted(difference.after->path + "/"));
  if (!difference.after) return fmt::format("deleted empty directory {}\n", quoted(difference.before->path + "/"));
  if (difference.moved()) {
    return fmt::format("moved directory {} -> {}\n", quoted(difference.before->path + "/"),
                       quoted(difference.after->path + "/"));
  }
  return fmt::format("directory {}: mode {} -> {}\n", quoted(difference.after->path + "/"),
                     mode_text(difference.before->entry.mode), mode_text(difference.after->entry.mode));
}

std::vector<text::UnifiedLine> hunks_of(const Difference& difference, const Sides& sides, const PatchOptions& options) {
  text::UnifiedOptions unified;
  unified.context = options.context;
  unified.language = text::language_of(path_of(difference));
  unified.compare = options.compare;
  return text::unified_diff(sides.before.content, sides.after.content, unified);
}

std::string names(const Difference& difference) {
  return fmt::format("--- {}\n+++ {}\n", side_name("a/", difference.before), side_name("b/", difference.after));
}

/// Prints hunks with colour, or as a diff of words.
class Painter {
 public:
  Painter(const Invocation& invocation, const PatchOptions& options) : invocation_(invocation), options_(options) {}

  std::string run(const std::vector<text::UnifiedLine>& lines) {
    for (std::size_t at = 0; at < lines.size();) {
      const auto& line = lines[at];
      if (line.kind == Kind::header) {
        hunk_header(line.text);
        ++at;
      } else if (line.kind == Kind::removed || line.kind == Kind::added) {
        at = block(lines, at);
      } else {
        if (options_.words == PatchOptions::Words::none) out_ += line.kind == Kind::context ? " " : "";
        if (line.kind == Kind::no_newline && options_.words != PatchOptions::Words::none) {
          ++at;
          continue;
        }
        out_ += line.text;
        end_line();
        ++at;
      }
    }
    return std::move(out_);
  }

 private:
  void end_line() {
    if (!out_.ends_with('\n')) out_ += '\n';
  }

  void hunk_header(const std::string& text) {
    const std::size_t end = text.find("@@", 2);
    const std::size_t split = end == std::string::npos ? text.size() : end + 2;
    out_ += paint(invocation_, Style::hunk, text.substr(0, split)) + text.substr(split) + "\n";
  }

  /// Lines that replace each other. Returns the line behind them.
  std::size_t block(const std::vector<text::UnifiedLine>& lines, std::size_t begin) {
    std::size_t end = begin;
    std::vector<std::string_view> removed, added;
    for (; end < lines.size(); ++end) {
      const Kind kind = lines[end].kind;
      if (kind == Kind::context || kind == Kind::header) break;
      if (kind == Kind::no_newline) continue;
      if (kind == Kind::removed && !added.empty()) break;
      (kind == Kind::removed ? removed : added).push_back(lines[end].text);
    }
    if (options_.words != PatchOptions::Words::none) {
      words(removed, added);
      return end;
    }
    text::Refined refined{std::vector<std::vector<text::Span>>(removed.size()),
                          std::vector<std::vector<text::Span>>(added.size())};
    if (options_.highlight && use_color(invocation_)) refined = text::refine_lines(removed, added);
    // Where line ends differ, the carriage returns are what there is to see.
    const auto ends_with_return = [](std::string_view line) { return line.ends_with("\r\n"); };
    const bool returns = use_color(invocation_) && std::any_of(removed.begin(), removed.end(), ends_with_return) !=
                                                       std::any_of(added.begin(), added.end(), ends_with_return);
    std::size_t next_removed = 0, next_added = 0;
    for (std::size_t at = begin; at < end; ++at) {
      const Kind kind = lines[at].kind;
      if (kind == Kind::no_newline) {
        out_ += lines[at].text.empty() ? kNoNewline : std::string_view(lines[at].text);
        end_line();
      } else if (kind == Kind::removed) {
        changed_line('-', lines[at].text, refined.removed[next_removed++], Style::removed, Style::removed_part,
                     returns);
      } else {
        changed_line('+', lines[at].text, refined.added[next_added++], Style::added, Style::added_part, returns);
      }
    }
    return end;
  }

  void changed_line(char sign, std::string_view line, const std::vector<text::Span>& parts, Style style, Style part,
                    bool returns) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    std::string_view ending;
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
      ending = returns ? "^M" : "\r";
    }
    std::string plain(1, sign);
    std::size_t at = 0;
    for (const auto& span : parts) {
      if (span.begin >= line.size()) break;
      const std::size_t end = std::min(span.end, line.size());
      plain += line.substr(at, span.begin - at);
      out_ += paint(invocation_, style, std::exchange(plain, {}));
      out_ += paint(invocation_, part, line.substr(span.begin, end - span.begin));
      at = end;
    }
    plain += line.substr(at);
    // Blanks at the end of a line that comes cannot be seen otherwise.
    std::string_view blanks;
    if (sign == '+' && use_color(invocation_)) {
      const std::size_t last = plain.find_last_not_of(" \t");
      if (last + 1 < plain.size()) blanks = std::string_view(line).substr(line.size() - (plain.size() - last - 1));
      plain.resize(plain.size() - blanks.size());
    }
    out_ += paint(invocation_, style, plain) + paint(invocation_, part, blanks);
    out_ += returns ? paint(invocation_, part, ending) : std::string(ending);
    out_ += '\n';
  }

  /// As `git diff --word-diff` prints it.
  void words(const std::vector<std::string_view>& removed, const std::vector<std::string_view>& added) {
    const auto joined = [](const std::vector<std::string_view>& lines) {
      std::string text;
      for (const auto line : lines) (text += line) += line.ends_with('\n') ? "" : "\n";
      return text;
    };
    const bool marks = options_.words == PatchOptions::Words::plain;
    const std::string before = joined(removed), after = joined(added);
    for (const auto& piece : text::diff_words(before, after)) {
      if (piece.kind == text::WordPiece::Kind::common) {
        out_ += piece.text;
        continue;
      }
      const bool gone = piece.kind == text::WordPiece::Kind::removed;
      // Marks never reach over a line's end.
      for (std::string_view rest = piece.text; !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        if (end > 0) {
          std::string text(rest.substr(0, end));
          if (marks) text = (gone ? "[-" : "{+") + text + (gone ? "-]" : "+}");
          out_ += paint(invocation_, gone ? Style::removed : Style::added, text);
        }
        if (end < rest.size()) out_ += '\n';
        rest.remove_prefix(std::min(end + 1, rest.size()));
      }
    }
    end_line();
  }

  const Invocation& invocation_;
  const PatchOptions& options_;
  std::string out_;
};

}  // namespace

std::string plain_hunks(const Difference& difference, const Sides& sides, const PatchOptions& options) {
  if (sides.same) return {};
  if (sides.binary) {
    std::string line = fmt::format("Binary files {} and {} differ\n", side_name("a/", difference.before),
                                   side_name("b/", difference.after));
    std::erase(line, '\t');
    return line;
  }
  const std::string shown = text::unified_text(hunks_of(difference, sides, options));
  return shown.empty() ? shown : names(difference) + shown;
}

Result<std::string> patch_text(const Invocation& invocation, const object::ObjectReader& reader,
                               const Difference& difference, const PatchOptions& options) {
  if (is_directory(difference) && !kind_changed(difference)) {
    return painted_lines(invocation, Style::heading, directory_line(difference));
  }
  if (kind_changed(difference)) {  // as git: what was goes, what is comes
    std::string out;
    if (difference.before->entry.kind != EntryKind::directory) {
      WEFT_TRY(out, patch_text(invocation, reader, {difference.before, {}}, options));
    }
    if (difference.after->entry.kind != EntryKind::directory) {
      WEFT_TRY(const auto come, patch_text(invocation, reader, {{}, difference.after}, options));
      out += come;
    }
    return out;
  }
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  std::string out = painted_lines(invocation, Style::heading, header(difference, sides));
  const bool plain = !use_color(invocation) && options.words == PatchOptions::Words::none;
  if (plain || sides.same || sides.binary) return out + plain_hunks(difference, sides, options);
  const auto lines = hunks_of(difference, sides, options);
  if (lines.empty()) return out;
  return out + painted_lines(invocation, Style::heading, names(difference)) + Painter(invocation, options).run(lines);
}

}  // namespace weft::cli
