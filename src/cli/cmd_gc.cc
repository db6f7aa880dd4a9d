// gc: drops what nothing needs any more and makes the store small.

#include <fmt/format.h>

#include <csignal>

#include "cli/output.h"
#include "cli/session.h"
#include "cli/text.h"
#include "repo/collect.h"

namespace weft::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

/// While it lives Ctrl-C asks to stop instead of killing: what was begun is cleared away then.
class StopOnInterrupt {
 public:
  StopOnInterrupt() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &before_);
  }
  ~StopOnInterrupt() { sigaction(SIGINT, &before_, nullptr); }
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;

 private:
  struct sigaction before_{};
};

std::string milliseconds(std::int64_t ns) { return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6); }

}  // namespace

Result<int> cmd_gc(Invocation& invocation) {
  bool dry_run = false;
  bool repack_all = false;
  std::optional<std::string> keep;
  Options options("gc", "Drops what nothing needs any more, and packs what is left. Others can go on working.");
  options.flag("-n,--dry-run", dry_run, "say what would be dropped, and change nothing");
  options.value("--keep", keep, "DURATION",
                "how long operations can be undone, as in `14 days`; default: the setting gc.undo-window");
  options.flag("--repack", repack_all, "write all packs anew, not only small ones and those that hold much garbage");
  options.footer(
      "Needed is what a ref, a workspace, or an operation that can be undone leads to, and whatever was recorded "
      "inside "
      "that time. Nothing collects by itself: run this now and then.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const std::int64_t keep_ns, repo::undo_window_ns(repository, keep));
  store::GcOptions collecting;
  collecting.keep_ns = keep_ns;
  collecting.dry_run = dry_run;
  collecting.repack_all = repack_all;
  const StopOnInterrupt stop;
  std::string phase;
  std::optional<Progress> progress;
  collecting.progress = [&](std::string_view now, std::uint64_t done, std::uint64_t total) -> Result<void> {
    if (interrupted != 0) {
      return make_error(Code::interrupted, "stopped; nothing was dropped", "run `weft gc` again when you like");
    }
    if (phase != now) {
      phase = now;
      if (progress) progress->clear();
      progress.emplace(invocation, phase);
    }
    progress->update(done, total);
    return {};
  };
  WEFT_TRY(const auto report, repo::collect(repository, collecting));
  if (progress) progress->clear();

  const std::uint64_t before = report.log_before + report.packs_before + report.index_before;
  const std::uint64_t after = report.log_after + report.packs_after + report.index_after;
  if (wants_json(invocation)) {
    const auto bytes = [](std::uint64_t log, std::uint64_t packs, std::uint64_t index) {
      return Json::object().set("log", log).set("packs", packs).set("index", index);
    };
    emit(invocation, Json::object()
                         .set("dry_run", dry_run)
                         .set("nothing_to_do", report.nothing_to_do)
                         .set("dropped", Json::object()
                                             .set("objects", report.objects_dropped)
                                             .set("changes", report.changes_dropped)
                                             .set("operations", report.operations_dropped))
                         .set("objects_kept", report.objects_kept)
                         .set("objects_moved", report.objects_moved)
                         .set("packs_written", report.packs_written)
                         .set("packs_removed", report.packs_removed)
                         .set("segments_removed", report.segments_removed)
                         .set("bytes_before", bytes(report.log_before, report.packs_before, report.index_before))
                         .set("bytes_after", bytes(report.log_after, report.packs_after, report.index_after))
                         .set("longest_pause_ns", report.longest_pause_ns));
    return 0;
  }
  if (invocation.common.quiet) return 0;
  if (report.nothing_to_do) {
    print(invocation, "nothing to collect\n");
    return 0;
  }
  if (report.objects_dropped + report.operations_dropped > 0) {
    print(invocation, fmt::format("{} {} ({}) and {}\n", dry_run ? "would drop" : "dropped",
                                  counted(report.objects_dropped, "object"), counted(report.changes_dropped, "change"),
                                  counted(report.operations_dropped, "old operation")));
  } else {
    print(invocation, dry_run ? "would drop nothing, only pack\n" : "dropped nothing, packed what is there\n");
  }
  if (dry_run) return 0;
  print(invocation, fmt::format("{} -> {} on disk; others waited {} at most\n", size_text(before), size_text(after),
                                milliseconds(report.longest_pause_ns)));
  if (invocation.common.verbose) {
    print(invocation,
          fmt::format("log {} -> {}, packs {} -> {}, index {} -> {}\n", size_text(report.log_before),
                      size_text(report.log_after), size_text(report.packs_before), size_text(report.packs_after),
                      size_text(report.index_before), size_text(report.index_after)));
  }
  return 0;
}

}  // namespace weft::cli
