// What can stand where the cursor is: the answer to the Tab key.
//
// The scripts that `weft completion SHELL` prints are thin: they ask `weft __complete WORD...` at each press of the
// key, with the words in front of the cursor, the last one (perhaps empty) being completed. So what is offered is what
// this program understands, the names in the store included, and a script never has to be printed again.
//
// The answer is lines `CANDIDATE TAB DESCRIPTION`. A line that begins with a tab is a word to the script:
//   `TAB files`, `TAB directories`   the shell's own file names may stand here
// A candidate that ends with `/`, `:` or `=` goes on: no blank belongs behind it.
//
// Invariants:
//   CP-1  Nothing is ever said on stderr, and the status is 0: a key press is no command. What cannot be read is not
//         offered.
//   CP-2  The store is only read, by one snapshot; what is read is bounded, however long the history is.
//   CP-3  Candidates are found by the same tables that parse: commands() and describe().
// Threading: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/description.h"

namespace weft::cli {

/// The hidden command the scripts call.
inline constexpr std::string_view kCompleteVerb = "__complete";

/// What a word stands for. Named by the metavars of options and the names of arguments.
enum class WordKind : std::uint8_t {
  unknown,  ///< a metavar the table does not have: a test refuses it
  nothing,  ///< free text, numbers
  ref,
  version,
  version_path,  ///< VERSION:PATH
  tracked_path,
  changed_path,
  host_file,
  host_directory,
  workspace,
  config_key,
  config_value,
  diff_tool,
  operation,
  author,
  date,
  command,
  literal,  ///< one of the words in the metavar itself: `bash|zsh|fish`
};

struct Candidate {
  std::string text;
  std::string help;
};

/// The kinds a metavar or an argument's name stands for, e.g. `VERSION|PATH`; `option` is its name as typed (`--ref`,
/// `-n`), empty for arguments.
std::vector<WordKind> kinds_of(std::string_view command, std::string_view option, std::string_view metavar);
/// The literal words in a metavar: `auto|copy|DIR` has auto and copy.
std::vector<std::string> literals_of(std::string_view metavar);

/// What is to be completed, told from the words in front of it.
struct Place {
  std::vector<Candidate> words;  ///< commands, options, literals that may stand here, already filtered
  std::vector<WordKind> kinds;
  std::string stem;                 ///< in front of the value in the same word: `--from=`
  std::string typed;                ///< the value as far as it is typed
  std::string from;                 ///< the value of --from, for paths of another version
  std::vector<std::string> before;  ///< arguments in front of it
};
/// Applies -C among the words to the invocation's context; a place without anything where the words make no sense.
Place find_place(Invocation& invocation, std::span<const std::string> words);

/// The names that may stand there, out of the store, the working tree and the configuration.
std::vector<Candidate> find_values(Invocation& invocation, const Place& place, WordKind kind);

/// `weft __complete WORD...`.
int complete(Invocation& invocation, std::span<const std::string> words);

/// The script for a shell: bash, zsh or fish; empty for another.
std::string_view completion_script(std::string_view shell);

}  // namespace weft::cli
