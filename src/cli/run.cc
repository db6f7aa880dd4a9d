// From words to a command: common options, the verb, and how errors leave.

#include <algorithm>
#include <exception>

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxDirectoryBytes = 4096;

/// `directory` seen from `base`, without "." and ".." as far as words go.
std::string joined_directory(const std::string& base, const std::string& directory) {
  const std::string whole = directory.starts_with('/') ? directory : base + "/" + directory;
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t slash = std::min(whole.find('/', at), whole.size());
    const std::string_view part = std::string_view(whole).substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
  std::string out;
  for (const auto part : parts) (out += '/') += part;
  return out.empty() ? "/" : out;
}

Result<void> change_directory(repo::Context& context, const std::string& directory) {
  if (directory.empty()) return {};  // as `cd ""`: stay
  if (directory.size() > kMaxDirectoryBytes || directory.find('\0') != std::string::npos) {
    return make_error(Code::invalid, "-C was given a name that can be no directory");
  }
  const std::string whole = joined_directory(context.directory, directory);
  const auto status = context.env.fs.status(whole);
  if (!status || status->kind != FileKind::directory) {
    return make_error(status || status.error().code == Code::not_found ? Code::not_found : status.error().code,
                      "there is no directory " + quoted_always(whole), "check what follows -C")
        .with("path", whole);
  }
  context.directory = whole;
  return {};
}

Error usage(std::string message, std::string hint) {
  return make_error(Code::usage, std::move(message), std::move(hint));
}

/// Where the hand of someone who knows git goes first.
std::string_view hint_for_foreign(std::string_view verb) {
  struct Foreign {
    std::string_view verb, hint;
  };
  static constexpr Foreign kForeign[] = {
      {"add", "there is no staging area: `weft commit` records the working tree, or the paths it is given"},
      {"stage", "there is no staging area: `weft commit` records the working tree, or the paths it is given"},
      {"checkout", "`weft switch VERSION` changes the version, `weft restore PATH` brings files back"},
      {"branch", "branches are refs: `weft ref list`, `weft ref set NAME VERSION`"},
      {"tag", "tags are refs: `weft ref set tags/NAME VERSION`"},
      {"reset", "`weft undo` takes back an operation, `weft restore PATH` brings files back"},
      {"revert", "`weft undo OPERATION` takes back an operation; `weft op log` lists them"},
      {"reflog", "`weft ref log NAME`, or `weft op log`"},
      {"worktree", "`weft workspace add NAME`"},
      {"merge", "`weft land` merges your changes into the ref you follow"},
      {"fsck", "`weft verify --deep`"},
      {"ls-files", "`weft ls -r`"},
      {"ls-tree", "`weft ls VERSION:PATH`"},
      {"cat-file", "`weft cat VERSION:PATH`"},
      {"show-ref", "`weft ref list`"},
      {"import", "`weft git import PATH`"},
      {"version", "`weft --version`"},
      {"stash",
       "`weft switch` carries edits along, `weft restore PATH` keeps what it overwrites; `weft undo` brings it back"},
      {"clone",
       "stores are not copied yet: `weft workspace add NAME` makes another workspace, `weft git import PATH` "
       "brings in a git repository"},
      {"push", "stores do not exchange changes yet; workspaces of one store share theirs with `weft land`"},
      {"pull", "stores do not exchange changes yet; workspaces of one store catch up with `weft switch REF`"},
      {"fetch", "stores do not exchange changes yet; `weft git import PATH` brings what is new in a git repository"},
      {"sync", "stores do not exchange changes yet; workspaces of one store share theirs with `weft land`"},
      {"rebase", "changes are not rewritten: `weft land` merges them"},
      {"cherry-pick", "changes are not copied: `weft restore --from VERSION PATH` takes files of another version"},
  };
  for (const auto& foreign : kForeign) {
    if (foreign.verb == verb) return foreign.hint;
  }
  return {};
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (at > 0) out += at + 1 == names.size() ? " or " : ", ";
    out += "`weft " + names[at] + "`";
  }
  return out;
}

Error unknown_verb(const std::string& verb) {
  std::string help = "run `weft help` to see all commands";
  if (const auto foreign = hint_for_foreign(verb); !foreign.empty()) {
    help = foreign;
  } else {
    std::vector<std::string> names;
    for (const auto& command : commands()) {
      const std::string group(command.name.substr(0, command.name.find(' ')));
      if (std::find(names.begin(), names.end(), group) == names.end()) names.push_back(group);
    }
    if (const auto close = closest(verb, names); !close.empty()) help = "did you mean " + listed(close) + "?";
  }
  return usage(quoted_always(verb) + " is no weft command", std::move(help));
}

bool is_version(std::string_view word) { return word == "--version" || word == "-V"; }

/// Takes common options off the front, up to --version or a word.
Result<void> take_leading(Invocation& invocation, std::span<const std::string> args, std::size_t& index) {
  while (index < args.size() && args[index].size() > 1 && args[index][0] == '-') {
    if (is_version(args[index])) return {};
    if (args[index] == "--") return usage("`--` comes behind the command", "run `weft help`");
    WEFT_TRY(const bool common, take_common_option(invocation, args, index));
    if (!common) return usage("unknown option " + args[index] + " in front of the command", "run `weft help`");
    ++index;
  }
  return {};
}

Result<int> dispatch(Invocation& invocation, std::span<const std::string> args) {
  std::size_t index = 0;
  WEFT_DO(take_leading(invocation, args, index));
  if (index < args.size() && is_version(args[index])) {
    WEFT_DO(take_leading(invocation, args, ++index));
    if (index < args.size()) return usage("--version goes alone", "run `weft --version`");
    return print_version(invocation);
  }
  if (index == args.size()) {
    if (invocation.help) return print_overview(invocation);
    return usage("no command given", "run `weft help` to see all commands");
  }
  const std::string verb = args[index++];
  if (verb == kCompleteVerb) return complete(invocation, args.subspan(index));
  const Command* found = nullptr;
  std::vector<std::string> group;
  for (const auto& command : commands()) {
    if (command.name == verb) found = &command;
    if (command.name.starts_with(verb + " ")) group.emplace_back(command.name.substr(verb.size() + 1));
  }
  if (found == nullptr && group.empty()) return unknown_verb(verb);
  if (found == nullptr) {
    WEFT_DO(take_leading(invocation, args, index));
    invocation.command = verb;
    std::vector<std::string> whole;
    for (const auto& name : group) whole.push_back(verb + " " + name);
    if (index == args.size()) {
      if (invocation.help) return print_group(invocation, verb);
      return usage("`weft " + verb + "` needs to be told what to do", "one of " + listed(whole));
    }
    const std::string second = args[index++];
    for (const auto& command : commands()) {
      if (command.name == verb + " " + second) found = &command;
    }
    if (found == nullptr) {
      return usage(quoted_always(verb + " " + second) + " is no weft command",
                   whole.size() == 1 ? "there is " + listed(whole) : "one of " + listed(whole));
    }
  }
  invocation.command = found->name;
  invocation.args.assign(args.begin() + static_cast<std::ptrdiff_t>(index), args.end());
  return found->function(invocation);
}

/// Whether the words ask for JSON, for errors that come before they are parsed.
void note_json(Invocation& invocation, std::span<const std::string> args) {
  for (const auto& word : args) {
    if (word == "--") return;
    if (word == "--json") invocation.common.json = true;
    if (word == "--json-lines") invocation.common.json_lines = true;
  }
}

}  // namespace

Result<bool> take_common_option(Invocation& invocation, std::span<const std::string> args, std::size_t& index) {
  const std::string_view word = args[index];
  CommonOptions& common = invocation.common;
  struct Flag {
    std::string_view letter, name;
    bool* value;
  };
  const Flag flags[] = {
      {"-q", "--quiet", &common.quiet}, {"-v", "--verbose", &common.verbose},     {"", "--no-pager", &common.no_pager},
      {"", "--json", &common.json},     {"", "--json-lines", &common.json_lines}, {"-0", "--zero", &common.zero},
  };
  for (const auto& flag : flags) {
    if (word == flag.name || (word == flag.letter && !flag.letter.empty())) {
      *flag.value = true;
      return true;
    }
  }
  if (word == "-h" || word == "--help") {
    invocation.help = std::string();
    return true;
  }
  if (word == "--color" || word == "--color=always") {
    common.color = ColorWhen::always;
    return true;
  }
  if (word == "--no-color" || word == "--color=never") {
    common.color = ColorWhen::never;
    return true;
  }
  if (word == "--color=auto") {
    common.color = ColorWhen::automatic;
    return true;
  }
  if (word.starts_with("--color=")) {
    return usage("--color is always, auto or never, not " + quoted_always(word.substr(8)), "run `weft help`");
  }
  if (word.starts_with("-C")) {
    if (word.size() > 2) {
      WEFT_DO(change_directory(invocation.context, std::string(word.substr(2))));
      return true;
    }
    if (index + 1 >= args.size()) return usage("option -C needs a directory", "run `weft help`");
    WEFT_DO(change_directory(invocation.context, args[++index]));
    return true;
  }
  // Shortened to something only one of them begins with; the command's own options were tried before.
  if (word.starts_with("--") && word.size() > 2) {
    const Flag* match = nullptr;
    std::size_t matches = 0;
    for (const auto& flag : flags) {
      if (flag.name.starts_with(word)) {
        match = &flag;
        ++matches;
      }
    }
    if (std::string_view("--help").starts_with(word) && matches == 0) {
      invocation.help = std::string();
      return true;
    }
    if (matches == 1) {
      *match->value = true;
      return true;
    }
  }
  return false;
}

int run(const Io& io, const repo::Context& context, std::span<const std::string> args) {
  repo::Context own = context;
  Invocation invocation(io, own);
  invocation.start_ns = own.env.clock.monotonic_ns();
  int code = 0;
  const auto fail = [&](const Error& error) {
    if (error.code == Code::usage) note_json(invocation, args);
    // The pager shows what came before; the error belongs behind it.
    invocation.pager.reset();
    print_error(invocation, error);
    code = exit_code(error.code);
  };
  try {
    auto result = dispatch(invocation, args);
    if (result) {
      code = *result;
      invocation.pager.reset();
      if (!wants_json(invocation)) {
        for (const auto& problem : invocation.look->take_problems()) notice(invocation, problem);
      }
    } else if (invocation.help && !invocation.help->empty()) {
      code = print_help_text(invocation, *invocation.help);
    } else {
      fail(result.error());
    }
  } catch (const std::bad_alloc&) {
    fail(make_error(Code::no_space, "out of memory",
                    "free some, or raise the limit (`ulimit -v`); `weft op log` shows what was recorded"));
  } catch (const std::exception& exception) {
    fail(make_error(Code::internal, std::string("a bug in weft: ") + exception.what(),
                    "nothing that was not reported as done has happened; please report it"));
  }
  invocation.pager.reset();
  return code;
}

}  // namespace weft::cli
