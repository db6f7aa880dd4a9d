// What `weft doctor` finds about a store, its workspaces, the user's configuration and the machine: each a sentence,
// how much it matters, and what to do.
//
// Invariants:
//   DR-1  Nothing is changed: the store is opened to look (Repository::open_to_look), no lock is taken. The one thing
//         written is the probe for the time a flush takes, a file that is removed again, and only when asked for.
//   DR-2  One thing that cannot be found out keeps nothing else from being found out.
//   DR-3  A finding's `code` is stable; docs/CLI.md lists them (a test holds the two together).
// Threading: functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "repo/repository.h"

namespace weft::repo {

enum class Severity : std::uint8_t {
  ok,
  note,     ///< to know; nothing needs doing
  warning,  ///< something to look at: it will cost time, room or confidence
  problem,  ///< something does not work, or what was recorded is in danger
};
std::string_view name(Severity severity);

enum class Area : std::uint8_t { store, workspace, configuration, machine };
std::string_view name(Area area);

struct DoctorFinding {
  Area area = Area::store;
  Severity severity = Severity::ok;
  std::string_view code;  ///< one of doctor_codes()
  std::string message;
  std::string advice{};  ///< empty: nothing to do
  std::vector<std::pair<std::string, std::string>> details{};
};

/// Every code there is, with what it is about: the table in docs/CLI.md.
struct DoctorCode {
  std::string_view code;
  std::string_view about;
};
std::vector<DoctorCode> doctor_codes();

struct Diagnosis {
  std::string store;  ///< the `.weft`; empty: there is none here
  std::vector<DoctorFinding> findings;
  bool damaged = false;

  DoctorFinding& add(Area area, Severity severity, std::string_view code, std::string message, std::string advice = {});
  Severity worst() const;
};

/// Store, workspaces and configuration. `probe`: measure a flush where none has been measured by commits.
Diagnosis diagnose(const Context& context, bool probe);
/// Limits and clock of this machine: part of diagnose(); takes what is known of them, so that tests can.
struct MachineFacts {
  std::optional<std::uint64_t> open_files{}, address_space{}, file_size{};
  std::int64_t now_ns = 0;
};
void judge_machine(const MachineFacts& facts, Diagnosis& diagnosis);

/// Below this many descriptors a large merge or a store of many packs may not find one.
inline constexpr std::uint64_t kFewOpenFiles = 256;
/// Less room than this is told.
inline constexpr std::uint64_t kLittleRoom = 512u << 20, kNoRoom = 16u << 20;
/// Operations are dated by clocks that differ a little.
inline constexpr std::int64_t kClockSlackNs = std::int64_t{5} * 60 * 1'000'000'000;

}  // namespace weft::repo
