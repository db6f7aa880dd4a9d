// verify, repair, info: the store itself.

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "repo/history.h"

namespace weft::cli {
namespace {

Json json_words(const std::vector<std::string>& words) {
  Json out = Json::array();
  for (const auto& word : words) out.push(word);
  return out;
}

}  // namespace

Result<int> cmd_verify(Invocation& invocation) {
  bool deep = false;
  Options options("verify", "Checks the store: what is damaged, what needs it, and what to do. Changes nothing.");
  options.flag("--deep", deep, "hash every object again and compare the index with a rebuilt one");
  options.footer("Exits with 5 when something is damaged.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  Progress progress(invocation, "verify");
  WEFT_TRY(const auto report, repository.store().verify(deep, [&](std::uint64_t done, std::uint64_t total) {
    progress.update(done, total);
  }));
  progress.clear();
  if (wants_json(invocation)) {
    Json findings = Json::array();
    for (const auto& finding : report.findings) {
      findings.push(
          Json::object().set("what", finding.what).set("affects", finding.affects).set("advice", finding.advice));
    }
    emit(invocation, Json::object()
                         .set("clean", report.clean())
                         .set("deep", deep)
                         .set("findings", findings)
                         .set("frames", report.frames)
                         .set("objects", report.objects)
                         .set("changes", report.changes)
                         .set("refs", report.refs)
                         .set("bytes", report.bytes));
    return report.clean() ? 0 : exit_code(Code::damaged);
  }
  for (const auto& finding : report.findings) {
    std::string text = paint(invocation, Style::red, "damaged:") + " " + printable(finding.what) + "\n";
    if (!finding.affects.empty()) text += "  affects: " + printable(finding.affects) + "\n";
    if (!finding.advice.empty()) text += "  what to do: " + printable(finding.advice) + "\n";
    print(invocation, text);
  }
  if (!report.clean() || !invocation.common.quiet) {
    print(invocation,
          fmt::format("{}: {}, {}, {}, {}, {} checked{}\n",
                      report.clean() ? paint(invocation, Style::green, "clean")
                                     : paint(invocation, Style::red, counted(report.findings.size(), "problem")),
                      counted(report.frames, "frame"), counted(report.objects, "object"),
                      counted(report.changes, "change"), counted(report.refs, "ref"), size_text(report.bytes),
                      deep ? ", every byte hashed" : ""));
  }
  return report.clean() ? 0 : exit_code(Code::damaged);
}

Result<int> cmd_repair(Invocation& invocation) {
  bool accept_loss = false;
  Options options("repair", "Rebuilds everything derived from the log: the index and the shared control block.");
  options.flag("--accept-loss", accept_loss,
               "cut a damaged log behind its last whole transaction, and say what is given up");
  WEFT_DO(options.parse(invocation));

  std::string directory;
  {
    // Closed again before it is repaired. One that is damaged opens all the same, for reading.
    WEFT_TRY(const auto repository, repo::Repository::open_only(invocation.context));
    directory = repository.store().directory();
  }
  WEFT_TRY(const auto report,
           store::Store::repair(invocation.context.env, directory, accept_loss, repo::store_hooks()));
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("done", json_words(report.done)).set("given_up", json_words(report.given_up)));
    return 0;
  }
  for (const auto& line : report.done) weft::cli::report(invocation, printable(line) + "\n");
  for (const auto& line : report.given_up) {
    print(invocation, paint(invocation, Style::red, "given up:") + " " + printable(line) + "\n");
  }
  return 0;
}

Result<int> cmd_info(Invocation& invocation) {
  Options options("info", "Says which store and workspace this is, how much is in the store, and what it has done.");
  options.footer("Counts of transactions, batches and flushes are of all processes since the machine started.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto info, repository.store().info());
  const auto& workspace = repository.workspace();
  if (wants_json(invocation)) {
    Json json = Json::object();
    json.set("directory", repository.store().directory())
        .set("store", info.store.hex())
        .set("replica", info.replica.hex())
        .set("format", info.format)
        .set("damaged", repository.store().damage().has_value())
        .set("log", Json::object()
                        .set("end", info.log_end)
                        .set("files", info.log_files)
                        .set("bytes", info.log_bytes)
                        .set("segment_bytes", info.segment_bytes))
        .set("packs", Json::object().set("files", info.packs).set("bytes", info.pack_bytes))
        .set("index", Json::object().set("bytes", info.index_bytes))
        .set("objects", info.objects)
        .set("changes", info.changes)
        .set("refs", info.refs)
        .set("since_boot", Json::object()
                               .set("transactions", info.transactions)
                               .set("batches", info.batches)
                               .set("flushes", info.flushes)
                               .set("log_writes", info.log_writes)
                               .set("bytes_written", info.bytes_written)
                               .set("zero_bytes", info.zero_bytes));
    if (workspace) {
      json.set("workspace", Json::object()
                                .set("name", workspace->name)
                                .set("root", workspace->root)
                                .set("head", json_version(workspace->head))
                                .set("follow", workspace->record.follow));
    } else {
      json.set("workspace", nullptr);
    }
    emit(invocation, json);
    return 0;
  }
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<12}{}\n", name, value);
  };
  line("store", quoted(repository.store().directory()));
  line("id", info.store.hex());
  line("replica", info.replica.hex());
  line("format", std::to_string(info.format));
  if (workspace) {
    WEFT_TRY(const auto snapshot, repository.store().snapshot());
    WEFT_TRY(const auto head, short_version(snapshot, workspace->head));
    line("workspace", quoted(workspace->name));
    line("path", quoted(workspace->root));
    line("head", head);
    line("follows", workspace->record.follow.empty() ? "nothing" : quoted(workspace->record.follow));
  } else {
    line("workspace", "none here");
  }
  line("holds", fmt::format("{}, {}, {}", counted(info.changes, "change"), counted(info.objects, "object"),
                            counted(info.refs, "ref")));
  line("log", fmt::format("{} in {}", size_text(info.log_bytes), counted(info.log_files, "file")));
  line("packs", fmt::format("{} in {}", size_text(info.pack_bytes), counted(info.packs, "file")));
  line("index", size_text(info.index_bytes));
  line("since boot",
       fmt::format("{} in {} {}, {} {}, {}, {} written", counted(info.transactions, "transaction"), info.batches,
                   info.batches == 1 ? "batch" : "batches", info.flushes, info.flushes == 1 ? "flush" : "flushes",
                   counted(info.log_writes, "log write"), size_text(info.bytes_written)));
  print(invocation, out);
  return 0;
}

}  // namespace weft::cli
