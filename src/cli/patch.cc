#include "cli/patch.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/text.h"
#include "repo/repository.h"
#include "text/diff.h"

namespace weft::cli {
namespace {

using object::EntryKind;
using tree::Difference;
using tree::PathEntry;

constexpr std::size_t kIndexDigits = 10;
constexpr std::size_t kMinGraph = 10;
constexpr std::int64_t kMaxContextLines = 1'000'000;

bool is_directory(const Difference& difference) {
  return (difference.after ? difference.after : difference.before)->entry.kind == EntryKind::directory;
}

bool at_or_below(std::string_view path, std::string_view top) {
  return top.empty() || (path.starts_with(top) && (path.size() == top.size() || path[top.size()] == '/'));
}

bool selected(const Difference& difference, const std::vector<std::string>& paths) {
  if (paths.empty()) return true;
  return std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
    if (difference.before && at_or_below(difference.before->path, path)) return true;
    if (difference.after && at_or_below(difference.after->path, path)) return true;
    return difference.moved() && is_directory(difference) && at_or_below(path, difference.after->path);
  });
}

/// Directories that are there because of the files in them say nothing of their own.
bool says_something(const Difference& difference) {
  if (!is_directory(difference)) return true;
  if (difference.before && difference.after) return difference.moved() || difference.mode_changed();
  return (difference.after ? difference.after : difference.before)->entry.id == object::empty_tree_id();
}

bool kind_changed(const Difference& difference) {
  return difference.before && difference.after && difference.before->entry.kind != difference.after->entry.kind;
}

/// As git writes them: type and permissions.
std::string git_mode(const object::TreeEntry& entry) {
  switch (entry.kind) {
    case EntryKind::symlink:
      return "120000";
    case EntryKind::submodule:
      return "160000";
    case EntryKind::directory:
      return "040000";
    case EntryKind::file:
      break;
  }
  return fmt::format("100{:03o}", entry.mode & 0777);
}

/// One side's content as a diff sees it.
struct Side {
  Bytes content;
  bool text = true;
};

Result<Side> read_side(const object::ObjectReader& reader, const std::optional<PathEntry>& at) {
  Side side;
  if (!at || at->entry.kind == EntryKind::directory) return side;
  if (at->entry.size > text::kMaxTextBytes) {
    side.text = false;
    return side;
  }
  WEFT_TRY(side.content, reader.read(object::ObjectKind::blob, at->entry.id));
  if (at->entry.kind == EntryKind::submodule) side.content = "Subproject commit " + side.content + "\n";
  side.text = text::is_text(side.content);
  return side;
}

struct Sides {
  Side before, after;
  bool binary = false;
  bool same = false;  ///< of content
};

Result<Sides> read_sides(const object::ObjectReader& reader, const Difference& difference) {
  Sides sides;
  sides.same = difference.before && difference.after && !difference.content_changed() && !kind_changed(difference);
  if (sides.same) return sides;  // nothing to read: only its name or mode differs
  WEFT_TRY(sides.before, read_side(reader, difference.before));
  WEFT_TRY(sides.after, read_side(reader, difference.after));
  sides.binary = !sides.before.text || !sides.after.text;
  return sides;
}

std::string id_text(const std::optional<PathEntry>& at) {
  return at ? at->entry.id.hex().substr(0, kIndexDigits) : std::string(kIndexDigits, '0');
}

std::string side_name(std::string_view prefix, const std::optional<PathEntry>& at) {
  return at ? quoted(std::string(prefix) + at->path) : "/dev/null";
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

/// The hunks; `paint_line(kind, line without newline)`.
template <typename Paint>
std::string hunks(const Sides& sides, int context, const Paint& paint_line) {
  using Kind = text::UnifiedLine::Kind;
  text::UnifiedOptions options;
  options.context = context;
  std::string out;
  for (const auto& line : text::unified_diff(sides.before.content, sides.after.content, options)) {
    std::string_view body = line.text;
    if (body.ends_with('\n')) body.remove_suffix(1);
    std::string whole;
    switch (line.kind) {
      case Kind::header:
        whole = body;
        break;
      case Kind::context:
        whole = " " + std::string(body);
        break;
      case Kind::removed:
        whole = "-" + std::string(body);
        break;
      case Kind::added:
        whole = "+" + std::string(body);
        break;
      case Kind::no_newline:
        whole = body.starts_with('\\') ? std::string(body) : "\\ No newline at end of file";
        break;
    }
    out += paint_line(line.kind, whole) + "\n";
  }
  return out;
}

std::string plain_body(const Difference& difference, const Sides& sides, int context) {
  if (sides.same) return {};
  const std::string old_name = side_name("a/", difference.before), new_name = side_name("b/", difference.after);
  if (sides.binary) return fmt::format("Binary files {} and {} differ\n", old_name, new_name);
  const std::string shown = hunks(sides, context, [](auto, const std::string& line) { return line; });
  return shown.empty() ? shown : fmt::format("--- {}\n+++ {}\n{}", old_name, new_name, shown);
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

Result<std::string> patch_of(const Invocation& invocation, const object::ObjectReader& reader,
                             const Difference& difference, const PatchOptions& options) {
  if (is_directory(difference) && !kind_changed(difference)) {
    return painted_lines(invocation, Style::bold, directory_line(difference));
  }
  if (kind_changed(difference)) {  // as git: what was goes, what is comes
    WEFT_TRY(auto gone, patch_of(invocation, reader, {difference.before, {}}, options));
    WEFT_TRY(const auto come, patch_of(invocation, reader, {{}, difference.after}, options));
    return gone + come;
  }
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  std::string out = painted_lines(invocation, Style::bold, header(difference, sides));
  if (!invocation.common.color || sides.same || sides.binary)
    return out + plain_body(difference, sides, options.context);
  using Kind = text::UnifiedLine::Kind;
  const std::string shown = hunks(sides, options.context, [&](Kind kind, const std::string& line) {
    if (kind == Kind::removed) return paint(invocation, Style::red, line);
    if (kind == Kind::added) return paint(invocation, Style::green, line);
    if (kind != Kind::header) return line;
    const std::size_t end = line.find("@@", 2);
    const std::size_t split = end == std::string::npos ? line.size() : end + 2;
    return paint(invocation, Style::cyan, line.substr(0, split)) + line.substr(split);
  });
  if (shown.empty()) return out;
  return out +
         painted_lines(
             invocation, Style::bold,
             fmt::format("--- {}\n+++ {}\n", side_name("a/", difference.before), side_name("b/", difference.after))) +
         shown;
}

/// "dir/{old => new}/name", as git shows renames in a stat.
std::string rename_text(const std::string& from, const std::string& to) {
  std::size_t head = 0;
  for (std::size_t at = 0; at < std::min(from.size(), to.size()) && from[at] == to[at]; ++at) {
    if (from[at] == '/') head = at + 1;
  }
  std::size_t tail = 0;
  for (std::size_t at = 1;
       at <= std::min(from.size(), to.size()) - head && from[from.size() - at] == to[to.size() - at]; ++at) {
    if (from[from.size() - at] == '/') tail = at;
  }
  if (head == 0 && tail == 0) return from + " => " + to;
  return fmt::format("{}{{{} => {}}}{}", from.substr(0, head), from.substr(head, from.size() - head - tail),
                     to.substr(head, to.size() - head - tail), to.substr(to.size() - tail));
}

struct StatLine {
  std::string name;
  std::string note;  ///< instead of counts: binary, moved directory
  text::LineCounts counts;
};

Result<StatLine> stat_line(const Invocation& invocation, const object::ObjectReader& reader,
                           const Difference& difference) {
  StatLine line;
  const std::string slash = is_directory(difference) ? "/" : "";
  if (difference.moved()) {
    line.name = shown_path(invocation, rename_text(difference.before->path + slash, difference.after->path + slash));
  } else {
    line.name = shown_path(invocation, (difference.after ? difference.after : difference.before)->path + slash);
  }
  if (is_directory(difference)) {
    line.note = difference.moved() ? "moved" : !difference.before ? "new" : !difference.after ? "deleted" : "mode";
    return line;
  }
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  if (sides.binary) {
    line.note = fmt::format("Bin {} -> {} bytes", difference.before ? difference.before->entry.size : 0,
                            difference.after ? difference.after->entry.size : 0);
  } else if (!sides.same) {
    line.counts = text::count_changed_lines(sides.before.content, sides.after.content);
  }
  return line;
}

Result<void> write_stat(const Invocation& invocation, const object::ObjectReader& reader,
                        const std::vector<Difference>& differences, const std::function<void(std::string_view)>& out) {
  if (differences.empty()) return {};
  std::vector<StatLine> lines;
  std::size_t name_width = 0;
  std::uint64_t most = 0, added = 0, removed = 0;
  for (const auto& difference : differences) {
    WEFT_TRY(auto line, stat_line(invocation, reader, difference));
    name_width = std::max(name_width, display_width(line.name));
    most = std::max(most, line.counts.added + line.counts.removed);
    added += line.counts.added;
    removed += line.counts.removed;
    lines.push_back(std::move(line));
  }
  const auto columns = static_cast<std::size_t>(std::max(invocation.io.terminal_columns, 40));
  const std::size_t number_width = std::to_string(most).size();
  const std::size_t around = number_width + 5;
  name_width = std::min(name_width, columns - around - kMinGraph);
  const std::size_t room = columns - around - name_width;
  const auto scaled = [&](std::uint64_t count) -> std::size_t {
    if (most <= room || count == 0) return static_cast<std::size_t>(count);
    return 1 + static_cast<std::size_t>(count * (room - 2) / most);
  };
  for (auto& line : lines) {
    const std::size_t width = display_width(line.name);
    std::string name = line.name;
    if (width > name_width) name = "..." + name.substr(name.size() - std::min(name.size(), name_width - 3));
    name.append(name_width - std::min(name_width, display_width(name)), ' ');
    if (!line.note.empty()) {
      out(fmt::format(" {} | {}\n", name, line.note));
      continue;
    }
    const std::uint64_t count = line.counts.added + line.counts.removed;
    std::string bar = paint(invocation, Style::green, std::string(scaled(line.counts.added), '+')) +
                      paint(invocation, Style::red, std::string(scaled(line.counts.removed), '-'));
    out(fmt::format(" {} | {:>{}}{}{}\n", name, count, number_width, bar.empty() ? "" : " ", bar));
  }
  std::string summary = " " + counted(lines.size(), "file") + " changed";
  if (added > 0 || removed == 0) summary += fmt::format(", {}(+)", counted(added, "insertion"));
  if (removed > 0 || added == 0) summary += fmt::format(", {}(-)", counted(removed, "deletion"));
  out(summary + "\n");
  return {};
}

std::string_view change_word(const Difference& difference) {
  if (!difference.before) return "added";
  if (!difference.after) return "deleted";
  if (kind_changed(difference)) return "type";
  if (difference.moved()) return "moved";
  return difference.content_changed() && !is_directory(difference) ? "modified" : "mode";
}

char status_letter(const Difference& difference) {
  if (!difference.before) return 'A';
  if (!difference.after) return 'D';
  if (kind_changed(difference)) return 'T';
  return difference.moved() ? 'R' : 'M';
}

}  // namespace

Result<PatchOptions> patch_options(bool stat, bool names_only, bool name_status, std::optional<std::int64_t> context) {
  PatchOptions options;
  if (stat + names_only + name_status > 1) {
    return make_error(Code::usage, "--stat, --name-only and --name-status exclude each other", "choose one of them");
  }
  if (stat) options.form = PatchOptions::Form::stat;
  if (names_only) options.form = PatchOptions::Form::names;
  if (name_status) options.form = PatchOptions::Form::name_status;
  if (context) {
    if (*context < 0 || *context > kMaxContextLines) {
      return make_error(Code::usage, "option -U needs a number from 0 to " + std::to_string(kMaxContextLines),
                        "choose fewer lines");
    }
    options.context = static_cast<int>(*context);
  }
  return options;
}

Result<std::vector<Difference>> selected_differences(const object::ObjectReader& reader, const ObjectId& before,
                                                     const ObjectId& after, const PatchOptions& options) {
  if (before == after) return std::vector<Difference>();
  WEFT_TRY(auto differences, tree::diff_trees(reader, before, after));
  std::erase_if(differences, [&](const Difference& difference) {
    return !says_something(difference) || !selected(difference, options.paths);
  });
  return differences;
}

Result<void> write_patch(const Invocation& invocation, const object::ObjectReader& reader,
                         const std::vector<Difference>& differences, const PatchOptions& options,
                         const std::function<void(std::string_view)>& out) {
  if (options.form == PatchOptions::Form::stat) return write_stat(invocation, reader, differences, out);
  for (const auto& difference : differences) {
    if (output_is_unwanted(invocation)) return {};
    if (options.form == PatchOptions::Form::patch) {
      WEFT_TRY(const auto text, patch_of(invocation, reader, difference, options));
      out(text);
      continue;
    }
    const std::string slash = is_directory(difference) ? "/" : "";
    const auto& shown = difference.after ? difference.after : difference.before;
    std::string line;
    if (options.form == PatchOptions::Form::name_status) {
      const std::string_view gap = invocation.common.zero ? line_end(invocation) : std::string_view("\t");
      line = std::string(1, status_letter(difference)).append(gap);
      if (difference.moved()) line.append(shown_path(invocation, difference.before->path + slash)).append(gap);
    }
    out(line.append(shown_path(invocation, shown->path + slash)).append(line_end(invocation)));
  }
  return {};
}

Json json_entry(const object::TreeEntry& entry) {
  return Json::object()
      .set("kind", object::name(entry.kind))
      .set("mode", mode_text(entry.mode))
      .set("node", entry.node.hex())
      .set("id", entry.id.hex())
      .set("size", entry.size);
}

Result<Json> json_difference(const object::ObjectReader& reader, const Difference& difference,
                             const PatchOptions& options) {
  Json out = Json::object();
  out.set("change", change_word(difference))
      .set("path", (difference.after ? difference.after : difference.before)->path);
  if (difference.moved()) out.set("old_path", difference.before->path);
  if (difference.before) out.set("before", json_entry(difference.before->entry));
  if (difference.after) out.set("after", json_entry(difference.after->entry));
  if (options.form == PatchOptions::Form::names || options.form == PatchOptions::Form::name_status) return out;
  if (is_directory(difference) || kind_changed(difference)) return out;
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  text::LineCounts counts;
  if (!sides.binary && !sides.same) counts = text::count_changed_lines(sides.before.content, sides.after.content);
  out.set("binary", sides.binary).set("added", counts.added).set("removed", counts.removed);
  if (options.form == PatchOptions::Form::patch && !sides.binary) {
    out.set("patch", plain_body(difference, sides, options.context));
  }
  return out;
}

Result<std::string> change_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                 const object::Change& change, const PatchOptions& options) {
  ObjectId before = object::empty_tree_id();
  if (!change.parents.empty()) {
    WEFT_TRY(const auto parent, snapshot.change_summary(change.parents.front()));
    before = parent.tree;
  }
  WEFT_TRY(const auto differences, selected_differences(snapshot, before, change.tree, options));
  std::string out;
  WEFT_DO(write_patch(invocation, snapshot, differences, options, [&](std::string_view text) { out += text; }));
  return out;
}

}  // namespace weft::cli
