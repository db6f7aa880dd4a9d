#include "repo/doctor.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/machine.h"
#include "repo/doctor_store.h"
#include "repo/settings.h"

namespace weft::repo {
namespace {

/// This program was written after that: a clock before it was never set.
constexpr std::int64_t kClockFloorNs = std::int64_t{1'735'689'600} * 1'000'000'000;  // 2025-01-01

constexpr DoctorCode kCodes[] = {
    {"no-store", "whether there is a store here"},
    {"store-open", "whether the store can be opened"},
    {"damage", "whether bytes that were durable are missing"},
    {"format", "format, features and ids"},
    {"owner", "whose the store is, and who else may write to it"},
    {"permissions", "files in the store that this user, or its owner, cannot read or write"},
    {"file-system", "what the store lies on"},
    {"flush-time", "how long the disk takes to make a commit durable"},
    {"free-space", "room on the store's file system"},
    {"free-inodes", "how many more files that file system takes"},
    {"control", "the memory that processes share"},
    {"processes", "who works in the store, holds its locks, or is stopped meanwhile"},
    {"failed-write", "a write that failed and was not recovered from yet"},
    {"leftovers", "what killed commands left"},
    {"history-index", "how far the history index is behind"},
    {"size", "log and packs, and whether `gc` would make them smaller"},
    {"workspace-gone", "workspaces whose directory is gone"},
    {"workspace-behind", "workspaces whose files do not stand at their head"},
    {"workspace-here", "the workspace this is"},
    {"configuration", "settings that are not understood"},
    {"identity", "who is named as the author"},
    {"future", "operations of the future"},
    {"clock", "a clock that was never set"},
    {"limits", "limits on files and memory of this process"},
    {"root", "working as root in somebody else's store"},
    {"git-helper", "the program that reads and writes git repositories"},
    {"pager", "what shows long output"},
    {"editor", "what messages are written in"},
};

void judge_configuration(const Context& context, const std::string& store, Diagnosis& diagnosis) {
  const Settings settings = Settings::read(context, store);
  std::size_t wrong = 0;
  for (const auto& problem : settings.problems()) {
    ++wrong;
    diagnosis.add(Area::configuration, Severity::warning, "configuration", problem,
                  "`weft config edit` opens your file; what is wrong has no effect");
  }
  for (const auto& unknown : settings.unknown()) {
    ++wrong;
    diagnosis.add(Area::configuration, Severity::warning, "configuration", unknown,
                  "`weft config list --all` shows those there are");
  }
  if (wrong == 0) {
    const std::string path = settings_path(context, {});
    diagnosis.add(Area::configuration, Severity::ok, "configuration",
                  path.empty()
                      ? "there is no place for a configuration: neither HOME nor XDG_CONFIG_HOME is set"
                      : std::to_string(settings.values().size()) + " settings, all understood (" + quoted(path) + ")");
  }
  const auto identity = find_identity(context, std::nullopt);
  if (identity) {
    diagnosis.add(Area::configuration, Severity::ok, "identity", "you record as " + identity->text());
  } else {
    diagnosis.add(Area::configuration, Severity::warning, "identity",
                  identity.error().message + ": commits are refused", identity.error().hint);
  }
}

}  // namespace

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::ok:
      return "ok";
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::problem:
      return "problem";
  }
  return "problem";
}

std::string_view name(Area area) {
  switch (area) {
    case Area::store:
      return "store";
    case Area::workspace:
      return "workspace";
    case Area::configuration:
      return "configuration";
    case Area::machine:
      return "machine";
  }
  return "machine";
}

std::vector<DoctorCode> doctor_codes() { return {std::begin(kCodes), std::end(kCodes)}; }

DoctorFinding& Diagnosis::add(Area area, Severity severity, std::string_view code, std::string message,
                              std::string advice) {
  WEFT_CHECK(std::any_of(std::begin(kCodes), std::end(kCodes), [&](const auto& known) { return known.code == code; }));
  findings.push_back({area, severity, code, std::move(message), std::move(advice), {}});
  return findings.back();
}

Severity Diagnosis::worst() const {
  Severity worst = Severity::ok;
  for (const auto& finding : findings) worst = std::max(worst, finding.severity);
  return worst;
}

void judge_machine(const MachineFacts& facts, Diagnosis& diagnosis) {
  if (facts.now_ns < kClockFloorNs) {
    diagnosis.add(Area::machine, Severity::warning, "clock",
                  "the clock is before 2025: it was never set, or its battery is empty",
                  "set it; weft orders history without clocks, but dates will be wrong");
  }
  bool limited = false;
  if (facts.open_files && *facts.open_files < kFewOpenFiles) {
    limited = true;
    diagnosis.add(Area::machine, Severity::note, "limits",
                  "this process may open " + std::to_string(*facts.open_files) +
                      " files: weft keeps fewer open then, which costs time in large stores",
                  "`ulimit -n 1024` is plenty");
  }
  constexpr std::uint64_t kSmallAddressSpace = std::uint64_t{1} << 30;
  if (facts.address_space && *facts.address_space < kSmallAddressSpace) {
    limited = true;
    diagnosis.add(Area::machine, Severity::warning, "limits",
                  "this process may map " + std::to_string(*facts.address_space >> 20) +
                      " MiB of memory: large logs and packs do not fit",
                  "raise the limit (`ulimit -v`): mapped files take no memory by themselves");
  }
  constexpr std::uint64_t kSmallFile = 80u << 20;  // a segment, and room
  if (facts.file_size && *facts.file_size < kSmallFile) {
    limited = true;
    diagnosis.add(Area::machine, Severity::warning, "limits",
                  "this process may write files of " + std::to_string(*facts.file_size >> 10) +
                      " KiB: commits will fail when the log's file reaches that",
                  "raise the limit (`ulimit -f unlimited`)");
  }
  if (!limited) {
    diagnosis.add(
        Area::machine, Severity::ok, "limits",
        (facts.open_files ? std::to_string(*facts.open_files) + " open files" : "any number of open files") +
            std::string(facts.address_space ? ", address space limited" : ", memory and file sizes not limited"));
  }
}

Diagnosis diagnose(const Context& context, bool probe) {
  Diagnosis diagnosis;
  judge_store(context, probe, diagnosis);
  judge_configuration(context, diagnosis.store, diagnosis);
  const MachineLimits limits = machine_limits();
  judge_machine({limits.open_files, limits.address_space, limits.file_size, context.env.clock.now_ns()}, diagnosis);
  return diagnosis;
}

}  // namespace weft::repo
