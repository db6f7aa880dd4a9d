#include "cli/diff_stat.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/patch_sides.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

using tree::Difference;
using Form = PatchOptions::Form;

struct StatLine {
  std::string name;
  std::string note;  ///< instead of counts: what happened to a directory
  bool binary = false;
  std::uint64_t added = 0, removed = 0;  ///< lines; of binary content bytes after and before
};

std::size_t digits(std::uint64_t number) { return std::to_string(number).size(); }

Result<bool> begins_binary(const object::ObjectReader& reader, const object::TreeEntry& entry) {
  constexpr std::size_t kLookedAt = 8000;  // as text::is_text
  if (entry.kind != object::EntryKind::file) return false;
  WEFT_TRY(const auto source, reader.open_blob(entry.id));
  std::string piece(kLookedAt, '\0');
  std::size_t have = 0;
  while (have < piece.size()) {
    WEFT_TRY(const std::size_t got, source->read(std::span(piece).subspan(have)));
    if (got == 0) break;
    have += got;
  }
  piece.resize(have);
  return !text::is_text(piece);
}

Result<StatLine> stat_line(const object::ObjectReader& reader, const Difference& difference,
                           const PatchOptions& options) {
  StatLine line;
  const std::string slash = is_directory(difference) ? "/" : "";
  line.name = difference.moved() ? rename_text(difference.before->path + slash, difference.after->path + slash)
                                 : quoted(path_of(difference) + slash);
  if (is_directory(difference)) {
    line.note = difference.moved() ? "moved" : !difference.before ? "new" : !difference.after ? "deleted" : "mode";
    return line;
  }
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  line.binary = sides.binary;
  if (sides.same) {
    // Only its name or mode differs; git says of binary content that it is that all the same.
    WEFT_TRY(line.binary, begins_binary(reader, difference.after->entry));
  } else if (sides.binary) {
    line.added = difference.after ? difference.after->entry.size : 0;
    line.removed = difference.before ? difference.before->entry.size : 0;
  } else {
    const auto counts = text::count_changed_lines(sides.before.content, sides.after.content, options.compare);
    line.added = counts.added;
    line.removed = counts.removed;
  }
  return line;
}

std::string summary(const std::vector<StatLine>& lines) {
  std::uint64_t added = 0, removed = 0;
  for (const auto& line : lines) {
    if (line.binary) continue;
    added += line.added;
    removed += line.removed;
  }
  std::string out = " " + counted(lines.size(), "file") + " changed";
  if (added > 0 || removed == 0) out += fmt::format(", {}(+)", counted(added, "insertion"));
  if (removed > 0 || added == 0) out += fmt::format(", {}(-)", counted(removed, "deletion"));
  return out + "\n";
}

/// The widths of the three columns: git's rule, by which names get at most 5/8 of the line where there is not room for
/// everything, and a bar is never shorter than 6.
struct Widths {
  std::size_t name = 0, number = 0, graph = 0;
};
Widths widths_of(const std::vector<StatLine>& lines, std::size_t columns) {
  Widths widths;
  std::uint64_t most = 0;
  std::size_t binary = 0;
  for (const auto& line : lines) {
    widths.name = std::max(widths.name, display_width(line.name));
    if (line.binary) {
      binary = std::max(binary, 14 + digits(line.added) + digits(line.removed));  // "Bin A -> B bytes"
      widths.number = std::max<std::size_t>(widths.number, 3);
    } else {
      most = std::max(most, line.added + line.removed);
    }
  }
  widths.number = std::max(widths.number, digits(most));
  columns = std::max(columns, 16 + 6 + widths.number);
  widths.graph = most + 4 > binary ? static_cast<std::size_t>(most) : binary - 4;
  const std::size_t around = widths.number + 6;
  if (widths.name + around + widths.graph > columns) {
    const std::size_t share = columns * 3 / 8;
    if (share < around + 6) {
      widths.graph = std::min<std::size_t>(widths.graph, 6);
    } else {
      widths.graph = std::min(widths.graph, share - around);
    }
    if (widths.name > columns - around - widths.graph) {
      widths.name = columns - around - widths.graph;
    } else {
      widths.graph = columns - around - widths.name;
    }
  }
  return widths;
}

/// The end of a name that is too wide, from a slash on where there is one.
std::string fitted_name(const std::string& name, std::size_t width) {
  std::size_t have = display_width(name);
  if (have <= width) return name + std::string(width - have, ' ');
  const std::size_t room = width > 3 ? width - 3 : 0;
  std::string_view rest = name;
  while (have > room && !rest.empty()) {
    std::size_t step = 1;
    while (step < rest.size() && (static_cast<unsigned char>(rest[step]) & 0xc0) == 0x80) ++step;
    rest.remove_prefix(step);
    --have;
  }
  if (const std::size_t slash = rest.find('/'); slash != rest.npos) rest.remove_prefix(slash);
  std::string out = "..." + std::string(rest);
  out.append(room - std::min(room, display_width(rest)), ' ');
  return out;
}

void write_bars(const Invocation& invocation, const std::vector<StatLine>& lines,
                const std::function<void(std::string_view)>& out) {
  // git's 80 where there is no terminal.
  const auto columns = static_cast<std::size_t>(invocation.io.out_is_terminal ? invocation.io.terminal_columns : 80);
  const Widths widths = widths_of(lines, columns);
  std::uint64_t most = 0;
  for (const auto& line : lines) {
    if (!line.binary) most = std::max(most, line.added + line.removed);
  }
  const auto scaled = [&](std::uint64_t count) -> std::uint64_t {
    return count == 0 ? 0 : 1 + count * (widths.graph - 1) / most;
  };
  for (const auto& line : lines) {
    const std::string name = fitted_name(line.name, widths.name);
    if (!line.note.empty()) {
      out(fmt::format(" {} | {:>{}}\n", name, line.note, widths.number));
      continue;
    }
    if (line.binary) {
      std::string sizes;
      if (line.added > 0 || line.removed > 0) {
        sizes = fmt::format(" {} -> {} bytes", paint(invocation, Style::removed, std::to_string(line.removed)),
                            paint(invocation, Style::added, std::to_string(line.added)));
      }
      out(fmt::format(" {} | {:>{}}{}\n", name, "Bin", widths.number, sizes));
      continue;
    }
    std::uint64_t added = line.added, removed = line.removed;
    if (widths.graph <= most) {
      std::uint64_t total = scaled(added + removed);
      if (total < 2 && added > 0 && removed > 0) total = 2;
      if (added < removed) {
        added = scaled(added);
        removed = total - added;
      } else {
        removed = scaled(removed);
        added = total - removed;
      }
    }
    const std::uint64_t count = line.added + line.removed;
    out(fmt::format(" {} | {:>{}}{}{}{}\n", name, count, widths.number, count > 0 ? " " : "",
                    paint(invocation, Style::added, std::string(static_cast<std::size_t>(added), '+')),
                    paint(invocation, Style::removed, std::string(static_cast<std::size_t>(removed), '-'))));
  }
}

void write_numbers(const Invocation& invocation, const Difference& difference, const StatLine& line,
                   const std::function<void(std::string_view)>& out) {
  std::string text = line.binary || !line.note.empty() ? "-\t-\t" : fmt::format("{}\t{}\t", line.added, line.removed);
  if (!invocation.common.zero) {
    out(text + line.name + "\n");
    return;
  }
  // git's -z: of a rename the old and the new name behind an empty one.
  const std::string_view end = line_end(invocation);
  if (difference.moved()) text.append(end).append(difference.before->path).append(end);
  out(text.append(path_of(difference)).append(end));
}

}  // namespace

Result<void> write_stat(const Invocation& invocation, const object::ObjectReader& reader,
                        const std::vector<Difference>& differences, const PatchOptions& options,
                        const std::function<void(std::string_view)>& out) {
  if (differences.empty()) return {};
  std::vector<StatLine> lines;
  for (const auto& difference : differences) {
    WEFT_TRY(auto line, stat_line(reader, difference, options));
    if (options.form == Form::numstat) {
      write_numbers(invocation, difference, line, out);
    } else {
      lines.push_back(std::move(line));
    }
  }
  if (options.form == Form::stat) write_bars(invocation, lines, out);
  if (options.form != Form::numstat) out(summary(lines));
  return {};
}

}  // namespace weft::cli
