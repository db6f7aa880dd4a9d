// show: changes, and what they did.

#include "cli/output.h"
#include "cli/patch.h"
#include "cli/text.h"
#include "cli/words.h"
#include "object/tree.h"

namespace weft::cli {
namespace {

Result<Json> json_shown(const store::Snapshot& snapshot, const ChangeId& id, const object::Change& change,
                        const RefNames& names, const PatchOptions& options) {
  Json out = json_change(id, change, names);
  ObjectId before = object::empty_tree_id();
  if (!change.parents.empty()) {
    WEFT_TRY(const auto parent, snapshot.change_summary(change.parents.front()));
    before = parent.tree;
  }
  WEFT_TRY(const auto differences, selected_differences(snapshot, before, change.tree, options));
  Json files = Json::array();
  for (const auto& difference : differences) {
    WEFT_TRY(const auto file, json_difference(snapshot, difference, options));
    files.push(file);
  }
  return out.set("files", files);
}

}  // namespace

Result<int> cmd_show(Invocation& invocation) {
  TypedWords typed;
  bool stat = false, names_only = false, name_status = false;
  std::optional<std::int64_t> context;
  Options options("show", "Shows changes and what they did to their first parent's files.");
  typed.declare(options, "VERSION|PATH", "what to show (`@` without any); only these paths of it");
  options.flag("--stat", stat, "how many lines of each file changed");
  options.flag("--name-only", names_only, "only the names of changed files");
  options.flag("--name-status", name_status, "names, with A, M, D, R or T in front");
  options.integer("-U,--unified", context, "N", "N lines of context (3)");
  WEFT_DO(options.parse(invocation));
  PatchOptions patch;
  WEFT_TRY(patch, patch_options(stat, names_only, name_status, context));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(auto words, sort_words(invocation, repository, snapshot, typed));
  patch.paths = words.paths;
  if (words.versions.empty()) {
    WEFT_TRY(auto head, resolve(invocation, repository, snapshot, "@"));
    words.versions.push_back({"@", std::move(head)});
  }
  WEFT_TRY(const auto names, ref_names(repository, snapshot));
  page(invocation);
  JsonList list(invocation, "changes");
  bool any = false;
  for (const auto& named : words.versions) {
    if (named.range_start) {
      return make_error(Code::usage, "`weft show` shows versions, not ranges", "`weft log -p A..B` shows all between");
    }
    for (const auto& id : named.resolved.version.changes) {
      WEFT_TRY(const auto change, snapshot.change(id));
      if (wants_json(invocation)) {
        WEFT_TRY(const auto json, json_shown(snapshot, id, change, names, patch));
        list.add(json);
      } else {
        std::string text = (any ? "\n" : "") + change_text(invocation, snapshot, id, change, names);
        WEFT_TRY(const auto shown, change_patch(invocation, snapshot, change, patch));
        if (!shown.empty()) text += "\n" + shown;
        print(invocation, text);
      }
      any = true;
    }
  }
  if (wants_json(invocation)) list.finish();
  if (!any) notice(invocation, "there is no change yet");
  return 0;
}

}  // namespace weft::cli
