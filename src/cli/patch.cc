#include "cli/patch.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "cli/diff_stat.h"
#include "cli/output.h"
#include "cli/patch_sides.h"
#include "cli/patch_text.h"
#include "cli/text.h"
#include "repo/repository.h"

namespace weft::cli {
namespace {

using object::EntryKind;
using tree::Difference;
using tree::PathEntry;

constexpr std::int64_t kMaxContextLines = 1'000'000;

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
  if (!is_directory(difference) || kind_changed(difference)) return true;
  if (difference.before && difference.after) return difference.moved() || difference.mode_changed();
  return (difference.after ? difference.after : difference.before)->entry.id == object::empty_tree_id();
}

/// Files below a moved directory that are as they were, each as moved; what changed there has a difference already.
Result<void> add_moved_files(const object::ObjectReader& reader, const Difference& directory,
                             const std::unordered_set<std::string>& told, std::vector<Difference>& out) {
  const std::string& from = directory.before->path;
  const std::string& to = directory.after->path;
  return tree::walk(reader, directory.after->entry.id, to, [&](const PathEntry& at) -> Result<bool> {
    if (told.contains(at.path)) return false;  // a directory moved by itself brings its own files
    if (at.entry.kind != EntryKind::directory) {
      out.push_back({PathEntry{from + at.path.substr(to.size()), at.entry}, at, false});
    }
    return true;
  });
}

/// What took the place of another file is a change of it for who reads a diff, whoever it is.
void pair_by_path(std::vector<Difference>& differences) {
  std::vector<Difference> out;
  for (auto& difference : differences) {
    const bool comes = !difference.before && !is_directory(difference);
    if (comes && !out.empty() && !out.back().after && !is_directory(out.back()) &&
        out.back().before->path == difference.after->path) {
      out.back().after = std::move(difference.after);
    } else {
      out.push_back(std::move(difference));
    }
  }
  differences = std::move(out);
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

Style status_style(char letter) {
  return letter == 'A' ? Style::added : letter == 'D' ? Style::removed : Style::modified;
}

void write_name(const Invocation& invocation, const Difference& difference, bool with_status,
                const std::function<void(std::string_view)>& out) {
  const std::string slash = is_directory(difference) ? "/" : "";
  std::string line;
  if (with_status) {
    const std::string_view gap = invocation.common.zero ? line_end(invocation) : std::string_view("\t");
    const char letter = status_letter(difference);
    line = paint(invocation, status_style(letter), std::string(1, letter)).append(gap);
    if (difference.moved()) line.append(shown_path(invocation, difference.before->path + slash)).append(gap);
  }
  out(line.append(shown_path(invocation, path_of(difference) + slash)).append(line_end(invocation)));
}

}  // namespace

void PatchFlags::declare(Options& options) {
  options.flag("-p,--patch", patch, "the changed lines (what `diff` and `show` do anyway)");
  options.flag("--stat", stat, "how many lines of each file changed");
  options.flag("--numstat", numstat, "the same as numbers, for scripts");
  options.flag("--shortstat", shortstat, "only the sum of --stat");
  options.flag("--name-only", names_only, "only the names of changed files");
  options.flag("--name-status", name_status, "names, with A, M, D, R or T in front");
  options.integer("-U,--unified", context, "N", "N lines of context (3)");
  options.optional_value("--word-diff", word_diff, "MODE", "plain",
                         "words instead of lines; MODE is plain ([-old-]{+new+}), color or none");
  options.flag("-w,--ignore-all-space", ignore_all_space, "blanks do not count");
  options.flag("-b,--ignore-space-change", ignore_space_change, "how many blanks does not count");
  options.flag("--ignore-space-at-eol", ignore_space_at_eol, "blanks at ends of lines do not count");
  options.flag("--ignore-blank-lines", ignore_blank_lines, "changes of blank lines alone do not count");
}

bool PatchFlags::any() const {
  return patch || stat || numstat || shortstat || names_only || name_status || context || word_diff;
}

Result<PatchOptions> PatchFlags::options(const Invocation& invocation) const {
  using Form = PatchOptions::Form;
  PatchOptions options;
  if (stat + numstat + shortstat + names_only + name_status > 1) {
    return make_error(Code::usage, "--stat, --numstat, --shortstat, --name-only and --name-status exclude each other",
                      "choose one of them");
  }
  if (stat) options.form = Form::stat;
  if (numstat) options.form = Form::numstat;
  if (shortstat) options.form = Form::shortstat;
  if (names_only) options.form = Form::names;
  if (name_status) options.form = Form::name_status;
  options.also_patch = options.form != Form::patch && (patch || context || word_diff);
  if (context) {
    if (*context < 0 || *context > kMaxContextLines) {
      return make_error(Code::usage, "option -U needs a number from 0 to " + std::to_string(kMaxContextLines),
                        "choose fewer lines");
    }
    options.context = static_cast<int>(*context);
  } else if (settings(invocation).is_set("ui.diff-context")) {
    options.context = static_cast<int>(std::min(settings(invocation).integer("ui.diff-context"), kMaxContextLines));
  }
  if (word_diff && *word_diff != "none") {
    if (*word_diff != "plain" && *word_diff != "color") {
      return make_error(Code::usage, "--word-diff is plain, color or none, not " + quoted_always(*word_diff),
                        "leave out the value for plain");
    }
    options.words = *word_diff == "plain" ? PatchOptions::Words::plain : PatchOptions::Words::color;
  }
  options.highlight = !use_color(invocation) || settings(invocation).boolean("ui.highlight");
  if (ignore_space_at_eol) options.compare.whitespace = text::Whitespace::ignore_at_end;
  if (ignore_space_change) options.compare.whitespace = text::Whitespace::ignore_amount;
  if (ignore_all_space) options.compare.whitespace = text::Whitespace::ignore_all;
  options.compare.ignore_blank_lines = ignore_blank_lines;
  return options;
}

Result<std::vector<Difference>> selected_differences(const object::ObjectReader& reader, const ObjectId& before,
                                                     const ObjectId& after, const PatchOptions& options) {
  if (before == after) return std::vector<Difference>();
  WEFT_TRY(auto differences,
           options.reverse ? tree::diff_trees(reader, after, before) : tree::diff_trees(reader, before, after));
  std::erase_if(differences, [&](const Difference& difference) {
    return !says_something(difference) || !selected(difference, options.paths);
  });
  return differences;
}

Result<std::vector<Difference>> shown_differences(const object::ObjectReader& reader, const ObjectId& before,
                                                  const ObjectId& after, const PatchOptions& options) {
  PatchOptions everywhere = options;
  everywhere.paths.clear();  // of a directory that moved only some files may be asked for
  WEFT_TRY(auto all, selected_differences(reader, before, after, everywhere));
  std::unordered_set<std::string> told;
  for (const auto& difference : all) {
    if (difference.after) told.insert(difference.after->path);
  }
  std::vector<Difference> shown;
  bool added = false;
  for (auto& difference : all) {
    if (is_directory(difference) && !kind_changed(difference) && difference.moved()) {
      WEFT_DO(add_moved_files(reader, difference, told, shown));
      added = true;
      if (difference.after->entry.id != object::empty_tree_id() && !difference.mode_changed()) continue;
    }
    shown.push_back(std::move(difference));
  }
  if (added) {
    std::stable_sort(shown.begin(), shown.end(),
                     [](const Difference& a, const Difference& b) { return tree::path_less(path_of(a), path_of(b)); });
  }
  pair_by_path(shown);
  std::vector<Difference> out;
  for (auto& difference : shown) {
    if (!selected(difference, options.paths)) continue;
    const bool only_content = difference.content_changed() && !difference.moved() && !difference.mode_changed() &&
                              !kind_changed(difference) && !is_directory(difference);
    if (only_content && !options.compare.exact()) {
      WEFT_TRY(const auto sides, read_sides(reader, difference));
      const auto counts = text::count_changed_lines(sides.before.content, sides.after.content, options.compare);
      if (!sides.binary && counts.added == 0 && counts.removed == 0) continue;
    }
    out.push_back(std::move(difference));
  }
  return out;
}

Result<void> write_patch(const Invocation& invocation, const object::ObjectReader& reader,
                         const std::vector<Difference>& differences, const PatchOptions& options,
                         const std::function<void(std::string_view)>& out) {
  using Form = PatchOptions::Form;
  if (options.form == Form::stat || options.form == Form::numstat || options.form == Form::shortstat) {
    WEFT_DO(write_stat(invocation, reader, differences, options, out));
  } else if (options.form != Form::patch) {
    for (const auto& difference : differences) {
      write_name(invocation, difference, options.form == Form::name_status, out);
    }
  }
  if (options.form != Form::patch && !options.also_patch) return {};
  if (options.form != Form::patch && !differences.empty()) out("\n");
  for (const auto& difference : differences) {
    if (output_is_unwanted(invocation)) return {};
    WEFT_TRY(const auto text, patch_text(invocation, reader, difference, options));
    out(text);
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
  using Form = PatchOptions::Form;
  Json out = Json::object();
  out.set("change", change_word(difference)).set("path", path_of(difference));
  if (difference.moved()) out.set("old_path", difference.before->path);
  if (difference.before) out.set("before", json_entry(difference.before->entry));
  if (difference.after) out.set("after", json_entry(difference.after->entry));
  if (options.form == Form::names || options.form == Form::name_status) return out;
  if (is_directory(difference) || kind_changed(difference)) return out;
  WEFT_TRY(const auto sides, read_sides(reader, difference));
  text::LineCounts counts;
  if (!sides.binary && !sides.same) {
    counts = text::count_changed_lines(sides.before.content, sides.after.content, options.compare);
  }
  out.set("binary", sides.binary).set("added", counts.added).set("removed", counts.removed);
  if ((options.form == Form::patch || options.also_patch) && !sides.binary) {
    out.set("patch", plain_hunks(difference, sides, options));
  }
  return out;
}

Result<ObjectId> parent_tree(const store::Snapshot& snapshot, const object::Change& change, std::size_t parent) {
  if (change.parents.empty() && parent == 1) return object::empty_tree_id();
  if (parent == 0 || parent > change.parents.size()) {
    return make_error(Code::not_found, fmt::format("this change has {}", counted(change.parents.size(), "parent")),
                      "--parent counts from 1");
  }
  WEFT_TRY(const auto summary, snapshot.change_summary(change.parents[parent - 1]));
  return summary.tree;
}

Result<void> write_change_patch(const Invocation& invocation, const store::Snapshot& snapshot,
                                const object::Change& change, const PatchOptions& options, std::size_t parent,
                                const std::function<void(std::string_view)>& out) {
  WEFT_TRY(const auto before, parent_tree(snapshot, change, parent));
  WEFT_TRY(const auto differences, shown_differences(snapshot, before, change.tree, options));
  return write_patch(invocation, snapshot, differences, options, out);
}

}  // namespace weft::cli
