// doctor: explains what weft finds about this store, its workspaces, the configuration and this machine
// (repo/doctor.h), and the programs the command line calls on.

#include <fmt/format.h>

#include <algorithm>

#include "base/process.h"
#include "cli/editor.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/session.h"
#include "cli/text.h"
#include "git/wire.h"
#include "repo/doctor.h"

namespace weft::cli {
namespace {

using repo::Area;
using repo::Diagnosis;
using repo::Severity;

constexpr std::size_t kMaxHelperOutput = 4096;

/// weft-git beside this program, of the protocol this weft speaks. It says both to --version.
void judge_git_helper(Diagnosis& diagnosis) {
  const auto own = own_program_path();
  if (!own) return;
  const std::string path = join_path(parent_path(*own), "weft-git");
  const std::string what_for = "`weft git import` and `weft git export` need it; everything else works without";
  ProcessOptions options;
  options.argv = {path, "--version"};
  const auto ran = run_process(std::move(options), "", kMaxHelperOutput);
  if (!ran || !ran->status.ok()) {
    const bool missing = !ran && ran.error().code == Code::not_found;
    diagnosis.add(Area::machine, Severity::warning, "git-helper",
                  missing ? "there is no weft-git at " + quoted(path)
                          : quoted(path) + " " + (ran ? ran->status.text() : "cannot be run: " + ran.error().message),
                  "install it beside weft: " + what_for);
    return;
  }
  std::string said(ran->out.substr(0, ran->out.find('\n')));
  const std::string wanted = fmt::format("protocol {}", git::wire::kVersion);
  if (!said.ends_with(wanted)) {
    diagnosis.add(Area::machine, Severity::warning, "git-helper",
                  fmt::format("{} does not speak this weft's {} (it says: {})", quoted(path), wanted, printable(said)),
                  "install the weft-git that came with this weft");
    return;
  }
  diagnosis.add(Area::machine, Severity::ok, "git-helper", "git repositories: " + printable(said));
}

/// The first word of a command that the shell will take apart, where it is a plain one.
std::string program_of(const std::string& command) {
  const auto argv = command_argv(command);
  return argv.empty() || argv.front() == "/bin/sh" ? std::string() : argv.front();
}

bool is_there(const Invocation& invocation, const std::string& program) {
  if (program.find('/') != std::string::npos) {
    const auto status = invocation.context.env.fs.status(repo::absolute_path(invocation.context.directory, program));
    return status && status->kind == FileKind::file;
  }
  return in_path(invocation, program);
}

void judge_programs(const Invocation& invocation, Diagnosis& diagnosis) {
  const std::string pager = pager_command(invocation);
  if (pager.empty()) {
    diagnosis.add(Area::machine, Severity::ok, "pager", "no pager: long output goes straight to the terminal");
  } else if (const auto program = program_of(pager); !program.empty() && !is_there(invocation, program)) {
    diagnosis.add(Area::machine, Severity::note, "pager",
                  "the pager `" + pager + "` is not here: long output goes straight to the terminal",
                  "weft config set ui.pager COMMAND, or install it");
  } else {
    diagnosis.add(Area::machine, Severity::ok, "pager", "the pager is `" + pager + "`");
  }
  const auto editor = editor_command(invocation);
  if (!editor) {
    diagnosis.add(Area::machine, Severity::note, "editor", editor.error().message + ": commits need -m or -F",
                  editor.error().hint);
  } else if (const auto program = program_of(*editor); !program.empty() && !is_there(invocation, program)) {
    diagnosis.add(Area::machine, Severity::warning, "editor",
                  "the editor `" + *editor + "` is not here: commits need -m or -F",
                  "set EDITOR, or `weft config set ui.editor COMMAND`");
  } else {
    diagnosis.add(Area::machine, Severity::ok, "editor", "the editor is `" + *editor + "`");
  }
}

Style style_of(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return Style::green;
    case Severity::note:
      return Style::cyan;
    case Severity::warning:
      return Style::yellow;
    case Severity::problem:
      return Style::red;
  }
  return Style::none;
}

std::string summary(const Invocation& invocation, const Diagnosis& diagnosis) {
  std::string out;
  for (const auto severity : {Severity::problem, Severity::warning, Severity::note}) {
    const auto count =
        static_cast<std::uint64_t>(std::count_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                                 [&](const auto& finding) { return finding.severity == severity; }));
    if (count == 0) continue;
    out += (out.empty() ? "" : ", ") + paint(invocation, style_of(severity), counted(count, repo::name(severity)));
  }
  if (diagnosis.worst() < Severity::warning) {
    out = paint(invocation, Style::green, "nothing needs doing") + (out.empty() ? "" : " (" + out + ")");
  }
  return out + "\n";
}

void show(Invocation& invocation, const Diagnosis& diagnosis) {
  constexpr int kColumn = 9;
  for (const auto area : {Area::store, Area::workspace, Area::configuration, Area::machine}) {
    bool titled = false;
    for (const auto& finding : diagnosis.findings) {
      if (finding.area != area || (invocation.common.quiet && finding.severity < Severity::warning)) continue;
      if (!std::exchange(titled, true)) {
        print(invocation,
              paint(invocation, Style::bold, repo::name(area)) +
                  (area == Area::store && !diagnosis.store.empty() ? " " + shown_path(invocation, diagnosis.store)
                                                                   : std::string()) +
                  "\n");
      }
      const std::string word(repo::name(finding.severity));
      std::string text = "  " + paint(invocation, style_of(finding.severity), word) +
                         std::string(kColumn - word.size(), ' ') + printable(finding.message) + "\n";
      if (!finding.advice.empty()) {
        text += std::string(2 + kColumn, ' ') + paint(invocation, Style::hint, "what to do:") + " " +
                printable(finding.advice) + "\n";
      }
      print(invocation, text);
    }
  }
  if (!invocation.common.quiet || diagnosis.worst() >= Severity::warning) {
    print(invocation, summary(invocation, diagnosis));
  }
}

}  // namespace

Result<int> cmd_doctor(Invocation& invocation) {
  bool no_probe = false;
  Options options("doctor",
                  "Explains what weft finds about this store, its workspaces, your configuration and this machine.");
  options.flag("--no-probe", no_probe, "do not measure how long a flush takes where commits have not shown it");
  options.footer(
      "Changes nothing (the probe is a small file in the store, removed at once). With -q only what needs doing.\n"
      "Exits with 0 when nothing needs doing, 1 when something does, 5 when the store is damaged.");
  WEFT_DO(options.parse(invocation));

  Diagnosis diagnosis = repo::diagnose(invocation.context, !no_probe);
  judge_git_helper(diagnosis);
  judge_programs(invocation, diagnosis);
  (void)invocation.look->take_problems();  // they are findings here

  const int code = diagnosis.damaged ? exit_code(Code::damaged) : diagnosis.worst() >= Severity::warning ? 1 : 0;
  if (wants_json(invocation)) {
    JsonList list(invocation, "findings");
    for (const auto& finding : diagnosis.findings) {
      Json details = Json::object();
      for (const auto& [key, value] : finding.details) details.set(key, value);
      list.add(Json::object()
                   .set("area", repo::name(finding.area))
                   .set("severity", repo::name(finding.severity))
                   .set("code", finding.code)
                   .set("message", finding.message)
                   .set("advice", finding.advice)
                   .set("details", details));
    }
    list.finish(Json::object()
                    .set("store", diagnosis.store.empty() ? Json(nullptr) : Json(diagnosis.store))
                    .set("healthy", code == 0)
                    .set("damaged", diagnosis.damaged));
    return code;
  }
  show(invocation, diagnosis);
  return code;
}

}  // namespace weft::cli
