// diff: between two versions, or from a version to the working tree.

#include "cli/diff_tool.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/scratch_objects.h"
#include "cli/text.h"
#include "cli/words.h"
#include "repo/files.h"
#include "repo/history.h"

namespace weft::cli {
namespace {

struct WorkingTree {
  repo::Version at;  ///< what its files were last brought to
  ObjectId tree;
};

/// All of it, whatever paths are asked for: a file may have moved out of them, and only the whole tree tells that from
/// a deletion.
Result<WorkingTree> read_working_tree(Invocation& invocation, const repo::Repository& repository,
                                      const store::Snapshot& snapshot, const std::optional<repo::FilesRecord>& record,
                                      ScratchObjects& scratch) {
  WEFT_TRY(const auto workspace, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, repo::files_state(snapshot, workspace, record));
  WEFT_TRY(const auto base, repo::tree_of(snapshot, state.at));
  WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository, workspace.name, workspace.root));
  WEFT_TRY(auto recorded, work::record(files.tree(), scratch, scratch, base, files.scan_options()));
  for (const auto& warning : recorded.status.warnings) notice(invocation, quoted(warning.path) + ": " + warning.reason);
  return WorkingTree{state.at, recorded.tree};
}

}  // namespace

Result<int> cmd_diff(Invocation& invocation) {
  TypedWords typed;
  PatchFlags flags;
  bool exit_code = false, reverse = false;
  std::optional<std::string> tool;
  Options options("diff",
                  "Shows what differs: from the head to the working tree, from A to the working tree, or from A to B.");
  typed.declare(options, "VERSION|PATH",
                "none, A, or A and B (also `A..B`; `A...B`: what B did since it left A); paths");
  flags.declare(options);
  options.flag("-R", reverse, "the other way round");
  options.flag("--exit-code", exit_code, "exit with 1 if anything differs");
  options.optional_value("--tool", tool, "NAME", "", "show it in a tool of yours (default: `ui.diff-tool`)");
  options.footer("New files that are not ignored are part of the working tree: there is no staging area.");
  WEFT_DO(options.parse(invocation));
  WEFT_TRY(auto patch, flags.options(invocation));
  patch.reverse = reverse;

  WEFT_TRY(const auto repository, open_repository(invocation));
  std::optional<repo::FilesRecord> record;  // read before the snapshot is taken: see files.h
  if (repository.location()) {
    record = repo::read_files_record(repository.env().fs, repository.files_path(repository.location()->name));
  }
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto words, sort_words(invocation, repository, snapshot, typed));
  if (words.versions.size() > 2) {
    return make_error(Code::usage, "`weft diff` compares two versions, not " + std::to_string(words.versions.size()),
                      "run `weft help diff`");
  }
  patch.paths = words.paths;

  ScratchObjects scratch(snapshot);
  repo::Version from, to;
  ObjectId before, after;
  const bool to_working_tree = words.versions.size() < 2;
  if (to_working_tree) {
    WEFT_TRY(const auto tree, read_working_tree(invocation, repository, snapshot, record, scratch));
    after = tree.tree;
    from = words.versions.empty() ? tree.at : words.versions[0].resolved.version;
  } else {
    from = words.versions[0].resolved.version;
    to = words.versions[1].resolved.version;
    if (words.versions[0].since_fork) {
      WEFT_TRY(from, repo::merge_bases(snapshot, from, to));
    }
    WEFT_TRY(after, repo::tree_of(snapshot, to));
  }
  WEFT_TRY(before, repo::tree_of(snapshot, from));

  if (wants_json(invocation)) {
    if (tool) return make_error(Code::usage, "--tool and --json exclude each other", "leave out one of them");
    WEFT_TRY(const auto differences, selected_differences(scratch, before, after, patch));
    JsonList list(invocation, "files");
    for (const auto& difference : differences) {
      WEFT_TRY(const auto json, json_difference(scratch, difference, patch));
      list.add(json);
    }
    list.finish(Json::object()
                    .set("from", json_version(from))
                    .set("to", to_working_tree ? Json(nullptr) : json_version(to))
                    .set("working_tree", to_working_tree));
    return exit_code && !differences.empty() ? 1 : 0;
  }
  WEFT_TRY(const auto differences, shown_differences(scratch, before, after, patch));
  if (tool) {
    DiffToolRequest request;
    request.name = *tool;
    if (to_working_tree && !reverse) request.working_tree = repository.workspace()->root;
    request.scratch = repository.store().directory() + "/workspaces";
    WEFT_DO(run_diff_tool(invocation, scratch, differences, request));
  } else {
    page(invocation);
    WEFT_DO(
        write_patch(invocation, scratch, differences, patch, [&](std::string_view text) { print(invocation, text); }));
  }
  return exit_code && !differences.empty() ? 1 : 0;
}

}  // namespace weft::cli
