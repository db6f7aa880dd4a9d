// verify, repair, info: the store itself.

#include <fmt/format.h>

#include <algorithm>

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

Json json_object(const store::ObjectName& name) {
  return Json::object().set("kind", object::name(name.kind)).set("id", name.id.hex());
}

Json json_finding(const store::Finding& finding) {
  Json objects = Json::array();
  for (const auto& name : finding.objects) objects.push(json_object(name));
  Json changes = Json::array();
  for (const auto& id : finding.changes) changes.push(id.hex());
  Json paths = Json::array();
  for (const auto& [path, name] : finding.paths) {
    paths.push(Json::object().set("path", path).set("kind", object::name(name.kind)).set("id", name.id.hex()));
  }
  return Json::object()
      .set("kind", finding.kind)
      .set("what", finding.what)
      .set("affects", finding.affects)
      .set("advice", finding.advice)
      .set("file", finding.path.empty() ? Json(nullptr) : Json(finding.path))
      .set("offset", finding.offset)
      .set("bytes", finding.bytes)
      .set("lost", Json::object().set("objects", finding.lost_objects).set("first", objects))
      .set("needed_by", Json::object().set("changes", finding.needed_by).set("first", changes))
      .set("paths", paths)
      .set("more_paths", finding.more_paths)
      .set("refs", json_words(finding.refs));
}

/// What is not touched by the damage.
std::string whole_text(const store::VerifyReport& report) {
  std::string text = fmt::format("whole: {} of {}", counted(report.whole_changes, "change"), report.changes);
  constexpr std::size_t kShown = 10;
  if (report.whole_refs.empty()) return text + ", no ref\n";
  text += ", refs ";
  for (std::size_t i = 0; i < std::min(report.whole_refs.size(), kShown); ++i) {
    text += (i > 0 ? ", " : "") + quoted(report.whole_refs[i]);
  }
  if (report.whole_refs.size() > kShown) text += fmt::format(" and {} more", report.whole_refs.size() - kShown);
  return text + "\n";
}

/// The store that --from names: a `.weft`, or a workspace.
Result<std::string> other_store(Invocation& invocation, const std::string& typed) {
  repo::Context context = invocation.context;
  context.directory = repo::absolute_path(invocation.context.directory, typed);
  auto found = repo::Repository::find_store(context);
  if (found) return found;
  return std::move(found).error().with("path", typed);
}

}  // namespace

Result<int> cmd_verify(Invocation& invocation) {
  bool deep = false;
  Options options("verify",
                  "Checks the store: what is damaged, what needs it, what is whole, and what to do. Changes nothing.");
  options.flag("--deep", deep, "hash every object again and compare everything derived with what is recorded");
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
    for (const auto& finding : report.findings) findings.push(json_finding(finding));
    Json json = Json::object()
                    .set("clean", report.clean())
                    .set("deep", deep)
                    .set("findings", findings)
                    .set("frames", report.frames)
                    .set("objects", report.objects)
                    .set("changes", report.changes)
                    .set("refs", report.refs)
                    .set("bytes", report.bytes)
                    .set("lost_objects", report.lost_objects)
                    .set("known_losses", report.known_losses);
    if (!report.clean()) {
      json.set("whole", Json::object().set("changes", report.whole_changes).set("refs", json_words(report.whole_refs)));
    }
    emit(invocation, json);
    return report.clean() ? 0 : exit_code(Code::damaged);
  }
  for (const auto& finding : report.findings) {
    std::string text = paint(invocation, Style::red, "damaged:") + " " + printable(finding.what) + "\n";
    if (!finding.affects.empty()) text += "  affects: " + printable(finding.affects) + "\n";
    if (!finding.advice.empty()) text += "  what to do: " + printable(finding.advice) + "\n";
    print(invocation, text);
  }
  if (!report.clean()) print(invocation, whole_text(report));
  if (report.known_losses > 0) {
    print(invocation, fmt::format("{} given up by an earlier repair {} still missing\n",
                                  counted(report.known_losses, "object"), report.known_losses == 1 ? "is" : "are"));
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
  store::RepairOptions wanted;
  std::string from;
  bool has_from = false;
  Options options("repair", "Rebuilds everything derived from the log, and makes a damaged store whole again.");
  options.value("--from", from, "STORE", "take what is damaged here from this store or workspace, as far as it has it",
                &has_from);
  options.flag("--accept-loss", wanted.accept_loss,
               "give up what no store has, keep everything whole, and say what is given up");
  options.flag("--dry-run", wanted.dry_run, "change nothing, say what would be done and given up");
  options.footer("Damaged files are not destroyed: they are moved into a directory damaged-DATE in the store.");
  WEFT_DO(options.parse(invocation));
  if (has_from) {
    WEFT_TRY(wanted.from, other_store(invocation, from));
  }

  WEFT_TRY(const std::string directory, repo::Repository::find_store(invocation.context));
  Progress progress(invocation, "repair");
  wanted.progress = [&](std::uint64_t done, std::uint64_t total) { progress.update(done, total); };
  const auto hooks = repo::store_hooks(invocation.context);
  const auto repaired = store::Store::repair(invocation.context.env, directory, wanted, hooks);
  progress.clear();
  if (!repaired) return repaired.error();
  const auto& report = *repaired;
  if (wants_json(invocation)) {
    Json refs = Json::array();
    for (const auto& move : report.refs) {
      refs.push(Json::object()
                    .set("ref", move.ref)
                    .set("from", json_version(move.from))
                    .set("to", move.to ? json_version(*move.to) : Json(nullptr))
                    .set("kept_as", move.kept_as.empty() ? Json(nullptr) : Json(move.kept_as)));
    }
    Json lost = Json::array();
    for (const auto& name : report.lost) lost.push(json_object(name));
    emit(invocation, Json::object()
                         .set("dry_run", report.dry_run)
                         .set("done", json_words(report.done))
                         .set("given_up", json_words(report.given_up))
                         .set("refs", refs)
                         .set("lost", Json::object().set("objects", report.lost_objects).set("first", lost))
                         .set("fetched", report.fetched)
                         .set("kept_aside", report.kept_aside.empty() ? Json(nullptr) : Json(report.kept_aside)));
    return 0;
  }
  const std::string_view given_up = report.dry_run ? "would be given up:" : "given up:";
  for (const auto& line : report.done) {
    weft::cli::report(invocation, (report.dry_run ? "would " : "") + printable(line) + "\n");
  }
  for (const auto& line : report.given_up) {
    print(invocation, paint(invocation, Style::red, given_up) + " " + printable(line) + "\n");
  }
  if (report.dry_run && report.given_up.empty()) print(invocation, "nothing would be given up\n");
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
