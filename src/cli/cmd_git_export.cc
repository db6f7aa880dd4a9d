// git export: this store's history, into a git repository.

#include <fmt/format.h>

#include "cli/git_path.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "git/export.h"

namespace weft::cli {
namespace {

/// Refs shown one by one; the rest is counted.
constexpr std::size_t kShownRefs = 20;

Json json_commit(const git::Sha1& id) { return id.is_zero() ? Json(nullptr) : Json(id.hex()); }

Json json_report(const git::ExportReport& report, const git::ExportOptions& options) {
  Json refs = Json::array();
  for (const auto& ref : report.refs) {
    refs.push(Json::object()
                  .set("ref", ref.name)
                  .set("git_ref", ref.git_name)
                  .set("action", git::name(ref.action))
                  .set("version", ref.version ? json_version(*ref.version) : Json(nullptr))
                  .set("before", json_commit(ref.before))
                  .set("after", json_commit(ref.after))
                  .set("reason", ref.reason.empty() ? Json(nullptr) : Json(ref.reason)));
  }
  return Json::object()
      .set("repository", options.path)
      .set("created", report.created)
      .set("colocated", report.colocated)
      .set("dry_run", options.dry_run)
      .set("commits", report.commits)
      .set("objects", report.objects)
      .set("bytes", report.bytes)
      .set("refs", refs)
      .set("head", report.head.empty() ? Json(nullptr) : Json(report.head))
      .set("head_note", report.head_note.empty() ? Json(nullptr) : Json(report.head_note))
      .set("empty_directories", report.empty_directories)
      .set("helper", report.program);
}

bool changes_git(git::ExportAction action) {
  return action == git::ExportAction::created || action == git::ExportAction::moved ||
         action == git::ExportAction::deleted;
}

void print_refs(Invocation& invocation, const git::ExportReport& report) {
  std::size_t shown = 0;
  std::size_t more = 0;
  for (const auto& ref : report.refs) {
    if (!changes_git(ref.action)) continue;
    if (shown == kShownRefs) {
      ++more;
      continue;
    }
    ++shown;
    const std::string id = ref.after.is_zero() ? std::string(12, ' ') : ref.after.hex().substr(0, 12);
    print(invocation, fmt::format("  {:<8} {} {}\n", git::name(ref.action), id, printable(ref.git_name)));
  }
  if (more > 0) print(invocation, fmt::format("  and {}\n", counted(more, "more ref")));
}

void tell_what_stayed(Invocation& invocation, const git::ExportReport& report) {
  std::size_t gone = 0;
  for (const auto& ref : report.refs) {
    const std::string name = printable(ref.git_name);
    if (ref.action == git::ExportAction::skipped) {
      notice(invocation, printable(ref.name) + " is left out: " + ref.reason);
    } else if (ref.action == git::ExportAction::behind) {
      if (ref.reason == "git's holds more") {
        notice(invocation, name + " stays: git's holds more (weft git import)");
      } else {
        notice(invocation, name + " stays: " + ref.reason);
        hint(invocation, "weft git export PATH " + printable(ref.name) +
                             " --force takes it back in git, too; "
                             "weft git import brings it back here");
      }
    } else if (ref.action == git::ExportAction::gone) {
      notice(invocation, name + " stays: " + ref.reason);
      if (ref.reason == "it was deleted in weft") ++gone;
    } else if (ref.action == git::ExportAction::diverged && ref.git_name.starts_with("refs/remotes/")) {
      notice(invocation, name + " stays: it has gone on in git");
    }
  }
  if (gone > 0) hint(invocation, "weft git export --prune deletes in git what was deleted in weft");
  if (report.empty_directories > 0) {
    notice(invocation, "git has no empty directories: they are left out");
  }
  if (!report.head_note.empty()) {
    notice(invocation, "git's HEAD does not follow the workspace: " + report.head_note);
  }
}

}  // namespace

Result<int> cmd_git_export(Invocation& invocation) {
  std::string path;
  git::ExportOptions exporting;
  Options options("git export",
                  "Writes this store's history into a git repository: branches, tags, remote-tracking branches.");
  options.flag("--force", exporting.force, "also move refs of git to where they do not lead");
  options.flag("--prune", exporting.prune, "delete in git what was exported and is deleted in weft since");
  options.flag("--dry-run", exporting.dry_run, "only say what would be done");
  options.flag("--worktree", exporting.work_tree, "a new repository gets a work tree (default: a bare one)");
  options.positional("PATH", path, "a git repository, or where one is to be made (default: the one here)", false);
  options.positionals("REF", exporting.refs, "the refs to export (default: all)", false);
  options.footer(
      "Ref X becomes branch X, tags/X tag X, peer/R/X remote R's branch X. What came from git goes out as it was, with "
      "the same ids; weft's own changes become commits, the same ones wherever they are exported from. Exporting again "
      "writes what is new. Git's refs only move forward: weft git import, then weft land, joins what has gone two "
      "ways. "
      "In a git work tree that is this workspace, git's index follows and git status says what weft status says.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, open_repository(invocation));
  WEFT_TRY(exporting.path, git_path(invocation, repository, path));
  Progress progress(invocation, "exporting");
  exporting.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto report = git::export_repository(repository, exporting);
  progress.clear();
  if (!report) return report.error();

  tell_what_stayed(invocation, *report);
  const auto& workspace = repository.workspace();
  if (report->created && !exporting.dry_run && !exporting.work_tree && workspace &&
      git::lies_in(exporting.path, workspace->root)) {
    notice(invocation, quoted(exporting.path) + " lies among the files of this workspace");
    hint(invocation, "name it in .weftignore, or weft commit records it");
  }
  const auto stayed = git::refs_problem(*report);
  if (wants_json(invocation)) {
    if (stayed) return *stayed;
    emit(invocation, json_report(*report, exporting));
    return 0;
  }
  if (!invocation.common.quiet) {
    const std::string_view would = exporting.dry_run ? "would export " : "exported ";
    if (report->created) {
      print(invocation, fmt::format("{} the git repository {}\n", exporting.dry_run ? "would make" : "made",
                                    quoted(exporting.path)));
    }
    print(invocation, report->commits == 0 ? std::string("no new commits\n")
                                           : fmt::format("{}{}\n", would, counted(report->commits, "commit")));
    print_refs(invocation, *report);
  }
  if (stayed) return *stayed;
  return 0;
}

}  // namespace weft::cli
