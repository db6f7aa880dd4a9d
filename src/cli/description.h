// What a command says about itself: its options and arguments, as Options::parse understands them. Completion and the
// manual pages are made from this, so that neither can say anything else than the code.
// Threading: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace weft::cli {

struct OptionDescription {
  char letter = 0;      ///< 0: none
  std::string name;     ///< without dashes; may be empty
  std::string metavar;  ///< empty: takes no value
  std::string help;
  bool repeats = false;  ///< may be given several times
};
struct ArgumentDescription {
  std::string name;
  std::string help;
  bool required = false;
  bool many = false;
};
struct Description {
  std::string name;     ///< "ref set"
  std::string summary;  ///< a sentence
  std::string footer;   ///< may be empty
  std::vector<OptionDescription> options;
  std::vector<ArgumentDescription> arguments;
  bool paths_behind_dashes = false;  ///< words in front of `--` are versions, those behind it paths
};

/// Asks the command: runs it up to the parsing of its options.
Description describe(const Command& command, const Io& io, const repo::Context& context);

/// An option every command has. A metavar in brackets is optional.
struct CommonOption {
  char letter;
  std::string_view name, metavar, help;
};
std::span<const CommonOption> common_options();

}  // namespace weft::cli
