// show: changes, and what they did; and contents by id.

#include <functional>
#include <utility>

#include "cli/combined_patch.h"
#include "cli/format.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/text.h"
#include "cli/words.h"
#include "object/tree.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

struct ShowOptions {
  TypedWords typed;
  PatchFlags flags;
  std::optional<std::int64_t> parent;
  bool each_parent = false;
  std::optional<std::string> format;
};

/// Which parents to compare with, from 1.
Result<std::vector<std::size_t>> parents_to_compare(const object::Change& change, const ShowOptions& options) {
  if (options.parent) {
    if (*options.parent < 1) return make_error(Code::usage, "--parent counts from 1", "run `weft help show`");
    return std::vector<std::size_t>{static_cast<std::size_t>(*options.parent)};
  }
  std::vector<std::size_t> out = {1};
  for (std::size_t at = 2; options.each_parent && at <= change.parents.size(); ++at) out.push_back(at);
  return out;
}

Result<Json> json_shown(const store::Snapshot& snapshot, const ChangeId& id, const object::Change& change,
                        const RefNames& names, const PatchOptions& options, std::size_t parent) {
  Json out = json_change(id, change, names);
  WEFT_TRY(const auto before, parent_tree(snapshot, change, parent));
  WEFT_TRY(const auto differences, selected_differences(snapshot, before, change.tree, options));
  Json files = Json::array();
  for (const auto& difference : differences) {
    WEFT_TRY(const auto file, json_difference(snapshot, difference, options));
    files.push(file);
  }
  return out.set("files", files);
}

/// A blob as it is, a tree as a list of names.
Result<void> show_object(Invocation& invocation, const store::Snapshot& snapshot, const NamedObject& named) {
  if (wants_json(invocation)) {
    return make_error(Code::usage, "with --json, `show` shows changes only", "`weft cat` and `weft ls` show contents");
  }
  if (named.kind == object::ObjectKind::tree) {
    return tree::walk(snapshot, named.id, "", [&](const tree::PathEntry& at) -> Result<bool> {
      const bool directory = at.entry.kind == object::EntryKind::directory;
      print(invocation, paint(invocation, directory ? Style::path : Style::none, shown_path(invocation, at.path)) +
                            (directory ? "/" : "") + std::string(line_end(invocation)));
      return false;
    });
  }
  WEFT_TRY(const auto source, snapshot.open_blob(named.id));
  std::string piece(256 << 10, '\0');
  for (;;) {
    WEFT_TRY(const std::size_t got, source->read(piece));
    if (got == 0) return {};
    print(invocation, std::string_view(piece).substr(0, got));
  }
}

class Shower {
 public:
  Shower(Invocation& invocation, const store::Snapshot& snapshot, const ShowOptions& options, PatchOptions patch,
         RefNames names, std::optional<ChangeFormat> format)
      : invocation_(invocation),
        snapshot_(snapshot),
        options_(options),
        patch_(std::move(patch)),
        names_(std::move(names)),
        format_(std::move(format)),
        list_(invocation, "changes") {}

  Result<void> show(const ChangeId& id) {
    WEFT_TRY(const auto change, snapshot_.change(id));
    if (change.parents.size() > 1 && !options_.parent && !options_.each_parent && !wants_json(invocation_) &&
        (patch_.form == PatchOptions::Form::patch || patch_.also_patch)) {
      return show_merge(id, change);
    }
    WEFT_TRY(const auto parents, parents_to_compare(change, options_));
    for (const auto parent : parents) WEFT_DO(show(id, change, parent, parents.size() > 1));
    return {};
  }
  void separate() {
    if (std::exchange(any_, true) && !wants_json(invocation_)) print(invocation_, "\n");
  }
  bool any() const { return any_; }
  void finish() {
    if (wants_json(invocation_)) list_.finish();
  }

 private:
  Result<std::string> head_text(const ChangeId& id, const object::Change& change) {
    if (!format_ || format_->spaced()) separate();
    any_ = true;
    if (!format_) return change_text(invocation_, snapshot_, id, change, names_);
    WEFT_TRY(std::string text, format_->text(invocation_, snapshot_, id, change, names_));
    if (!format_->empty() && !text.ends_with('\n')) text += '\n';
    return text;
  }

  /// A patch, with a blank line in front of it if there is anything.
  std::function<void(std::string_view)> patch_printer() const {
    return [this, first = true](std::string_view shown) mutable {
      if (std::exchange(first, false) && !(format_ && format_->empty())) print(invocation_, "\n");
      print(invocation_, shown);
    };
  }

  /// What the merge made that no parent had; a stat is against the first.
  Result<void> show_merge(const ChangeId& id, const object::Change& change) {
    WEFT_TRY(const std::string text, head_text(id, change));
    print(invocation_, text);
    if (patch_.form != PatchOptions::Form::patch) {
      PatchOptions stat = patch_;
      stat.also_patch = false;
      WEFT_DO(write_change_patch(invocation_, snapshot_, change, stat, 1, patch_printer()));
    }
    return write_combined_patch(invocation_, snapshot_, change, patch_, patch_printer());
  }

  Result<void> show(const ChangeId& id, const object::Change& change, std::size_t parent, bool several) {
    if (wants_json(invocation_)) {
      any_ = true;
      WEFT_TRY(const auto json, json_shown(snapshot_, id, change, names_, patch_, parent));
      list_.add(json);
      return {};
    }
    WEFT_TRY(std::string text, head_text(id, change));
    if (several) {
      WEFT_TRY(const auto from, repo::short_id(snapshot_, object::ObjectKind::change, change.parents[parent - 1]));
      text += paint(invocation_, Style::heading, "from parent " + std::to_string(parent) + ", " + from) + "\n";
    }
    print(invocation_, text);
    return write_change_patch(invocation_, snapshot_, change, patch_, parent, patch_printer());
  }

  Invocation& invocation_;
  const store::Snapshot& snapshot_;
  const ShowOptions& options_;
  PatchOptions patch_;
  RefNames names_;
  std::optional<ChangeFormat> format_;
  JsonList list_;
  bool any_ = false;
};

}  // namespace

Result<int> cmd_show(Invocation& invocation) {
  ShowOptions show;
  Options options("show", "Shows changes and what they did; of a merge, what none of its parents had.");
  show.typed.declare(options, "VERSION|PATH",
                     "what to show (`@` without any), also `blob:ID`, `tree:ID`, `node:ID`; only these paths of it");
  show.flags.declare(options);
  options.integer("--parent", show.parent, "N", "compare a merge with its N-th parent");
  options.flag("-m", show.each_parent, "compare a merge with each of its parents");
  options.value("-T,--format", show.format, "FORMAT", "how changes are shown (`weft help log`)");
  WEFT_DO(options.parse(invocation));
  WEFT_TRY(auto patch, show.flags.options(invocation));
  std::optional<ChangeFormat> format;
  if (show.format) {
    WEFT_TRY(format, ChangeFormat::parse(*show.format));
  }

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  std::vector<NamedObject> objects;
  std::vector<std::string> others;
  for (auto& word : show.typed.words) {
    WEFT_TRY(auto named, find_object(invocation, repository, snapshot, word));
    if (named) {
      objects.push_back(*std::move(named));
    } else {
      others.push_back(std::move(word));
    }
  }
  show.typed.words = std::move(others);
  WEFT_TRY(auto words, sort_words(invocation, repository, snapshot, show.typed));
  patch.paths = words.paths;
  if (words.versions.empty() && objects.empty()) {
    WEFT_TRY(auto head, resolve(invocation, repository, snapshot, "@"));
    words.versions.push_back({"@", std::move(head)});
  }
  WEFT_TRY(auto names, ref_names(repository, snapshot));
  page(invocation);
  Shower shower(invocation, snapshot, show, std::move(patch), std::move(names), std::move(format));
  for (const auto& object : objects) {
    shower.separate();
    WEFT_DO(show_object(invocation, snapshot, object));
  }
  for (const auto& named : words.versions) {
    if (named.range_start) {
      return make_error(Code::usage, "`weft show` shows versions, not ranges", "`weft log -p A..B` shows all between");
    }
    for (const auto& id : named.resolved.version.changes) WEFT_DO(shower.show(id));
  }
  shower.finish();
  if (!shower.any()) notice(invocation, "there is no change yet");
  return 0;
}

}  // namespace weft::cli
