// A command of the command line: one file each in cli/, registered in cli/commands.cc.
//
// `cli::run(io, context, args)` is the whole program in process: tests call it with a cleared environment, a fixed
// clock and seed, and captured output. Nothing here is built before main() runs: starting up is part of every commit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "repo/repository.h"

namespace weft::cli {

/// Where output goes and input comes from. Real: the process's own; in tests: strings.
struct Io {
  std::function<void(std::string_view)> out;
  std::function<void(std::string_view)> err;
  std::function<Result<Bytes>(std::uint64_t max_bytes)> read_stdin;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int terminal_columns = 80;
};

/// Runs one command line (without argv[0]); returns the exit code (DESIGN 11).
int run(const Io& io, const repo::Context& context, std::span<const std::string> args);

// --- for the command files ---

/// Options every command has: -C DIR, -q, -v, --color WHEN, --no-pager, --json, --json-lines, -0, --help; before or
/// after the verb.
enum class ColorWhen : std::uint8_t { automatic, always, never };
struct CommonOptions {
  bool quiet = false, verbose = false, json = false, json_lines = false, zero = false, no_pager = false;
  std::optional<ColorWhen> color;  ///< absent: the user's configuration decides
};

/// Where output goes once it may be long (output.cc).
class PagerSink;
/// What settings and terminal say about how it looks (cli/look.h).
class Look;

/// What a command says about itself (cli/description.h).
struct Description;

/// What a command gets when it runs. Printing: cli/output.h.
struct Invocation {
  Invocation(const Io& streams, repo::Context& run_context);
  Invocation(const Invocation&) = delete;
  ~Invocation();

  const Io& io;
  repo::Context& context;  ///< run()'s own copy: -C behind the verb changes its directory
  CommonOptions common;
  std::vector<std::string> args;
  std::string command;               ///< "commit", "ref set"
  std::int64_t start_ns = 0;         ///< of the monotonic clock
  std::optional<std::string> help;   ///< set by Options::parse when --help was asked for
  Description* describe = nullptr;   ///< when set, Options::parse fills it in and goes no further
  std::vector<std::string> notices;  ///< collected for the envelope
  std::unique_ptr<Look> look;
  std::unique_ptr<PagerSink> pager;
  bool pager_left = false;
};

/// The arguments of one command, declared and parsed. Common options are understood without being declared. A value may
/// start with '-' ("-m", "-x"); "-nVALUE", "--name=VALUE" and clusters of one-letter flags ("-qv") work; `--` ends
/// options. Long names may be shortened to an unambiguous prefix.
class Options {
 public:
  /// `name`: the verb as typed, e.g. "ref set".
  Options(std::string name, std::string summary);
  ~Options();
  void flag(std::string names, bool& value, std::string help);  ///< "-g,--graph"
  void value(std::string names, std::string& value, std::string metavar, std::string help, bool* given = nullptr);
  void value(std::string names, std::optional<std::string>& value, std::string metavar, std::string help);
  void integer(std::string names, std::optional<std::int64_t>& value, std::string metavar, std::string help);
  /// "--tool" or "--tool=NAME", never "--tool NAME": `implied` is what it means without a value.
  void optional_value(std::string names, std::optional<std::string>& value, std::string metavar, std::string implied,
                      std::string help);
  void values(std::string names, std::vector<std::string>& value, std::string metavar, std::string help);
  void positional(std::string name, std::string& value, std::string help, bool required);
  /// Takes the rest; declared last.
  void positionals(std::string name, std::vector<std::string>& value, std::string help, bool required);
  /// What follows `--` goes to `behind` instead of to the positionals: for commands where words in front of it mean
  /// versions and those behind it paths (diff, log, show).
  void behind_dashes(std::vector<std::string>& behind, bool& seen);
  /// Text shown behind the options in --help.
  void footer(std::string text);
  /// Parses invocation.args; `WEFT_DO(options.parse(invocation));` is the first thing a command does after declaring.
  /// Common options go to invocation.common (and -C to invocation.context). Usage errors name the option and end with
  /// the hint "weft help NAME". With --help it stores the text in the invocation and returns an error that run() does
  /// not print.
  Result<void> parse(Invocation& invocation);
  std::string help() const;

 private:
  Description described() const;
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs and prints. Human output goes through print(); when wants_json() the command calls emit() once with its `data`
/// (cli/output.h). Returns the exit code; an Error is printed by run() in the form of DESIGN 11.
using CommandFunction = Result<int> (*)(Invocation& invocation);

/// `Result<int> cmd_NAME(Invocation&)` in namespace weft::cli, in cmd_NAME.cc, for every NAME ("ref set": cmd_ref_set);
/// they are declared and listed in commands.cc.
struct Command {
  std::string_view name;     ///< "commit", "git import" (two words: a group and its verb)
  std::string_view summary;  ///< one line for `weft help`
  CommandFunction function;
};
std::span<const Command> commands();

/// One option before the verb or among a command's: whether `args[index]` is a common one, and if so its effect.
/// Advances `index` over a value it takes.
Result<bool> take_common_option(Invocation& invocation, std::span<const std::string> args, std::size_t& index);

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace weft::cli
