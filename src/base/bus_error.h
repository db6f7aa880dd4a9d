// SIGBUS: a mapped file was cut by somebody, or its disk cannot be read. No call returns an error then; without this
// the process would only say "Bus error".
//
// The process ends as a killed one does: what it had not reported as done is wholly in or wholly out, and nobody waits
// for its locks. The message names the file, found by the address that was touched in /proc/self/maps.
// Threading: once, at the start of a program.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

enum class BusErrorForm : std::uint8_t { text, json };

/// From here on such a fault prints a sentence and a hint, and ends the process with `status`. A fault outside of any
/// file stays a crash.
void explain_bus_errors(BusErrorForm form, int status);

/// The path of the mapping that holds `address` in the text of /proc/PID/maps, without " (deleted)"; empty where there
/// is none. Allocates nothing.
std::string_view mapped_path(std::string_view maps, std::uint64_t address);

}  // namespace weft
