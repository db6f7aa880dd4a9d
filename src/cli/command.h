// A command of the command line: one file each in cli/, registered in cli/commands.cc.
//
// `cli::run(io, env, args)` is the whole program in process: tests call it with a cleared environment, a fixed clock and
// seed, and captured output.
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
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int terminal_columns = 80;
};

/// Runs one command line (without argv[0]); returns the exit code (DESIGN 11).
int run(const Io& io, const repo::Context& context, std::span<const std::string> args);

// --- for the command files ---

/// Options every command has: -C DIR, -q, -v, --color, --no-pager, --json, --json-lines, -0, --help.
struct CommonOptions {
  bool quiet = false, verbose = false, json = false, json_lines = false, zero = false, color = false, no_pager = false;
};

/// The arguments of one command, declared and parsed (over CLI11, which only options.cc includes). `--` ends options.
class Options {
 public:
  Options(std::string name, std::string summary);
  ~Options();
  void flag(std::string names, bool& value, std::string help);                       ///< "-q,--quiet"
  void value(std::string names, std::string& value, std::string metavar, std::string help, bool* given = nullptr);
  void value(std::string names, std::optional<std::string>& value, std::string metavar, std::string help);
  void integer(std::string names, std::optional<std::int64_t>& value, std::string metavar, std::string help);
  void values(std::string names, std::vector<std::string>& value, std::string metavar, std::string help);
  void positional(std::string name, std::string& value, std::string help, bool required);
  void positionals(std::string name, std::vector<std::string>& value, std::string help, bool required);
  /// Text shown behind the options in --help.
  void footer(std::string text);
  /// usage errors name the option and end with the hint "weft help NAME".
  Result<void> parse(std::span<const std::string> args);
  std::string help() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Json;  // cli/json.h: builds one value, keys in the order written, bytes that are not UTF-8 as {"bytes": base64}

/// What a command gets when it runs.
struct Invocation {
  const Io& io;
  const repo::Context& context;
  CommonOptions common;
  std::vector<std::string> args;
};

/// Runs and prints. Human output goes to io.out; with --json the command calls emit() once with its `data`. Returns the exit
/// code; an Error is printed by run() in the form of DESIGN 11 (one sentence, then what to do; or the JSON envelope).
using CommandFunction = Result<int> (*)(Invocation& invocation);

struct Command {
  std::string_view name;     ///< "commit", "git import" (two words: a group and its verb)
  std::string_view summary;  ///< one line for `weft help`
  CommandFunction function;
};
std::span<const Command> commands();

}  // namespace weft::cli
