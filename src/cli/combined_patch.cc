#include "cli/combined_patch.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/patch_sides.h"
#include "cli/text.h"
#include "text/combined.h"

namespace weft::cli {
namespace {

using object::EntryKind;
using tree::Difference;
using tree::PathEntry;
using Kind = text::CombinedLine::Kind;

constexpr std::size_t kIndexDigits = 10;
constexpr std::string_view kNoMode = "000000";

/// A path that differs from every parent.
struct Combined {
  std::vector<std::optional<PathEntry>> parents;
  std::optional<PathEntry> result;

  bool mode_differs() const {
    return std::any_of(parents.begin(), parents.end(), [this](const auto& parent) {
      return parent.has_value() != result.has_value() || (parent && git_mode(parent->entry) != git_mode(result->entry));
    });
  }
  bool added() const {
    return std::none_of(parents.begin(), parents.end(), [](const auto& parent) { return parent.has_value(); });
  }
};

std::optional<PathEntry> file_at(const std::optional<PathEntry>& at) {
  return at && at->entry.kind == EntryKind::directory ? std::nullopt : at;
}

struct PathLess {
  bool operator()(const std::string& a, const std::string& b) const { return tree::path_less(a, b); }
};
using CombinedFiles = std::map<std::string, Combined, PathLess>;

Result<CombinedFiles> combined_files(const store::Snapshot& snapshot, const object::Change& change,
                                     const PatchOptions& options) {
  PatchOptions exact = options;
  exact.compare = {};
  exact.reverse = false;
  CombinedFiles files;
  for (std::size_t parent = 0; parent < change.parents.size(); ++parent) {
    WEFT_TRY(const auto before, parent_tree(snapshot, change, parent + 1));
    WEFT_TRY(const auto differences, shown_differences(snapshot, before, change.tree, exact));
    for (const auto& difference : differences) {
      const auto was = file_at(difference.before);
      const auto is = file_at(difference.after);
      if (!was && !is) continue;
      Combined& file = files[path_of(difference)];
      if (file.parents.size() != parent) continue;  // an earlier parent has the path as the merge has it
      file.parents.push_back(was);
      file.result = is;
    }
  }
  std::erase_if(files, [&](const auto& each) { return each.second.parents.size() != change.parents.size(); });
  return files;
}

std::string painted(const Invocation& invocation, std::string_view line) {
  return paint(invocation, Style::heading, line) + "\n";
}

std::string mode_of(const std::optional<PathEntry>& at) { return at ? git_mode(at->entry) : std::string(kNoMode); }

std::string header(const Invocation& invocation, const std::string& path, const Combined& file, bool with_names) {
  const auto id = [](const std::optional<PathEntry>& at) {
    return at ? at->entry.id.hex().substr(0, kIndexDigits) : std::string(kIndexDigits, '0');
  };
  std::string ids, modes;
  for (const auto& parent : file.parents) {
    ids += (ids.empty() ? "" : ",") + id(parent);
    modes += (modes.empty() ? "" : ",") + mode_of(parent);
  }
  std::string out = painted(invocation, "diff --cc " + quoted(path));
  out += painted(invocation, "index " + ids + ".." + id(file.result));
  const bool added = file.added();
  if (added) {
    out += painted(invocation, "new file mode " + mode_of(file.result));
  } else if (!file.result) {
    out += painted(invocation, "deleted file mode " + modes);
  } else if (file.mode_differs()) {
    out += painted(invocation, "mode " + modes + ".." + mode_of(file.result));
  }
  if (!with_names) return out;
  out += painted(invocation, "--- " + (added ? std::string("/dev/null") : quoted("a/" + path)));
  out += painted(invocation, "+++ " + (file.result ? quoted("b/" + path) : std::string("/dev/null")));
  return out;
}

std::string hunks(const Invocation& invocation, const std::vector<text::CombinedLine>& lines) {
  std::string out;
  for (const auto& line : lines) {
    if (line.kind == Kind::header) {
      out += paint(invocation, Style::hunk, line.marks) + (line.text.empty() ? "" : " ") + line.text + "\n";
      continue;
    }
    const Style style = line.kind == Kind::added     ? Style::added
                        : line.kind == Kind::removed ? Style::removed
                                                     : Style::none;
    out += paint(invocation, style, line.marks + line.text) + "\n";
  }
  return out;
}

Result<std::string> file_text(const Invocation& invocation, const store::Snapshot& snapshot, const std::string& path,
                              const Combined& file, const PatchOptions& options) {
  std::vector<Bytes> contents;
  bool is_text = true;
  Bytes result;
  for (const auto& parent : file.parents) {
    Difference side;
    side.before = parent;
    side.after = file.result;
    if (!parent && !file.result) continue;
    WEFT_TRY(auto sides, read_sides(snapshot, side));
    if (sides.same) {  // only the mode differs from this one
      side.before.reset();
      WEFT_TRY(sides, read_sides(snapshot, side));
      sides.before = sides.after;
      sides.binary = !sides.after.text;
    }
    is_text = is_text && !sides.binary;
    contents.push_back(std::move(sides.before.content));
    result = std::move(sides.after.content);
  }
  if (!is_text) return header(invocation, path, file, false) + "Binary files differ\n";
  text::UnifiedOptions unified;
  unified.context = options.context;
  unified.language = text::language_of(path);
  unified.compare = options.compare;
  const std::vector<std::string_view> parents(contents.begin(), contents.end());
  const auto lines = text::combined_diff(parents, result, unified);
  if (lines.empty() && !file.mode_differs()) return std::string();
  return header(invocation, path, file, true) + hunks(invocation, lines);
}

}  // namespace

Result<void> write_combined_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                  const object::Change& change, const PatchOptions& options,
                                  const std::function<void(std::string_view)>& out) {
  WEFT_TRY(const auto files, combined_files(snapshot, change, options));
  for (const auto& [path, file] : files) {
    if (output_is_unwanted(invocation)) return {};
    WEFT_TRY(const auto text, file_text(invocation, snapshot, path, file, options));
    if (!text.empty()) out(text);
  }
  return {};
}

}  // namespace weft::cli
