// git import: a git repository's history, into this store.

#include <fmt/format.h>

#include "cli/git_path.h"
#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "git/import.h"

namespace weft::cli {
namespace {

/// Refs shown one by one; the rest is counted.
constexpr std::size_t kShownRefs = 20;

Json json_report(const git::ImportReport& report, const std::string& path) {
  Json refs = Json::array();
  for (const auto& planned : report.refs) {
    Json ref = Json::object()
                   .set("ref", planned.ref.name)
                   .set("git_ref", planned.ref.git_name)
                   .set("git_commit", planned.ref.commit.hex())
                   .set("action", git::name(planned.action))
                   .set("version", json_version(object::Version(planned.change)))
                   .set("before", planned.before ? json_version(*planned.before) : Json(nullptr));
    refs.push(ref);
  }
  Json skipped = Json::array();
  for (const auto& each : report.skipped) {
    skipped.push(Json::object().set("git_ref", each.git_name).set("reason", each.reason));
  }
  Json warnings = Json::array();
  for (const auto& warning : report.warnings) {
    warnings.push(Json::object().set("path", warning.path).set("reason", warning.reason));
  }
  return Json::object()
      .set("repository", path)
      .set("empty", report.empty)
      .set("commits", report.commits)
      .set("known", report.known)
      .set("refs", refs)
      .set("skipped", skipped)
      .set("head", report.head_branch.empty() ? Json(nullptr) : Json(report.head_branch))
      .set("workspace", git::name(report.workspace))
      .set("workspace_behind", report.workspace_behind)
      .set("warnings", warnings)
      .set("operation", report.operation ? Json(report.operation->hex()) : Json(nullptr))
      .set("helper", report.program);
}

void print_refs(Invocation& invocation, const git::ImportReport& report) {
  std::size_t shown = 0;
  std::size_t more = 0;
  for (const auto& planned : report.refs) {
    if (planned.action != git::RefAction::created && planned.action != git::RefAction::moved) continue;
    if (shown == kShownRefs) {
      ++more;
      continue;
    }
    ++shown;
    print(invocation, fmt::format("  {:<8} {} {}\n", git::name(planned.action), planned.change.hex().substr(0, 12),
                                  printable(planned.ref.name)));
  }
  if (more > 0) print(invocation, fmt::format("  and {} (weft ref list)\n", counted(more, "more ref")));
}

void print_workspace(Invocation& invocation, const git::ImportReport& report) {
  if (report.head_branch.empty() && report.workspace != git::WorkspaceOutcome::untouched) {
    print(invocation, "workspace default stands where git's HEAD is detached; the files are as they were\n");
    return;
  }
  const std::string branch = printable(report.head_branch);
  switch (report.workspace) {
    case git::WorkspaceOutcome::checked_out:
      print(invocation, fmt::format("workspace default follows {}; its files are written out\n", branch));
      break;
    case git::WorkspaceOutcome::adopted:
      print(invocation,
            fmt::format("workspace default follows {} and stands at it; the files are as they were\n", branch));
      break;
    case git::WorkspaceOutcome::follows:
      if (!report.workspace_behind) break;
      print(invocation, fmt::format("workspace default follows {}, and stands elsewhere\n", branch));
      hint(invocation, "weft switch " + branch + " brings its files there");
      break;
    case git::WorkspaceOutcome::untouched:
      break;
  }
}

/// GF1: what stayed behind, as an error that names it.
std::optional<Error> diverged(const git::ImportReport& report) {
  std::string names;
  std::size_t count = 0;
  std::string commit;  ///< git's side of the first
  Error error;
  for (const auto& planned : report.refs) {
    if (planned.action != git::RefAction::diverged) continue;
    if (commit.empty()) commit = planned.ref.commit.hex();
    if (++count <= kShownRefs) names += (names.empty() ? "" : ", ") + printable(planned.ref.name);
    error.details.emplace_back("ref", planned.ref.name);
    error.details.emplace_back("expected", planned.before->text());
    error.details.emplace_back("actual", planned.change.hex());
  }
  if (count == 0) return std::nullopt;
  error.code = Code::refused;
  error.message = fmt::format("the history is imported, but {} did not move: what stands there is not in git's: {}",
                              counted(count, "ref"), names);
  // The commands, ready to be typed, for the first of them.
  const std::string ref = printable(error.details[0].second);
  error.hint = "to join the two sides: weft ref set theirs git:" + commit.substr(0, 12) +
               "; weft land theirs; weft land " + ref + " (weft ref set " + ref + " git:" + commit.substr(0, 12) +
               " takes git's side alone)";
  return error;
}

}  // namespace

Result<int> cmd_git_import(Invocation& invocation) {
  std::string path;
  Options options("git import",
                  "Brings the whole history of a git repository into this store: branches, tags and "
                  "remote-tracking branches.");
  options.positional("PATH", path, "a git work tree's top, or a bare repository (default: the one here)", false);
  options.footer(
      "Branch X becomes the ref X, tag X tags/X, and remote R's branch X peer/R/X. Importing again brings what is new; "
      "an import that was interrupted goes on where it stopped. The workspace default follows the branch that git's "
      "HEAD names; if it was empty, its files are written out.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(auto repository, open_repository(invocation));
  git::ImportOptions import;
  WEFT_TRY(import.path, git_path(invocation, repository, path));
  Progress progress(invocation, "importing");
  import.progress = [&progress](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto report = git::import_repository(repository, import);
  progress.clear();
  if (!report) return report.error();

  for (const auto& skipped : report->skipped) {
    notice(invocation, printable(skipped.git_name) + " is left out: " + skipped.reason);
  }
  if (report->sparse) {
    notice(invocation, "git's sparse checkout leaves tracked files out here: they count as deleted");
    hint(invocation, "git sparse-checkout disable brings them");
  }
  for (const auto& warning : report->warnings) {
    notice(invocation, printable(warning.path) + ": " + warning.reason);
  }
  const auto stayed = diverged(*report);
  if (wants_json(invocation)) {
    if (stayed) return *stayed;
    emit(invocation, json_report(*report, import.path));
    return 0;
  }
  if (!invocation.common.quiet) {
    if (report->empty) {
      print(invocation, "the git repository has no commits yet: nothing to import\n");
    } else if (report->commits == 0) {
      print(invocation, "no new commits\n");
    } else {
      print(invocation, fmt::format("imported {}\n", counted(report->commits, "commit")));
    }
    print_refs(invocation, *report);
    print_workspace(invocation, *report);
  }
  if (stayed) return *stayed;
  return 0;
}

}  // namespace weft::cli
