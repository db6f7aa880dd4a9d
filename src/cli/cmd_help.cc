#include <algorithm>

#include <fmt/format.h>

#include "base/process.h"
#include "cli/help.h"
#include "cli/man_page.h"
#include "cli/output.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::size_t kNameColumn = 20;

struct Section {
  std::string_view title;
  std::string_view names[12];
};
constexpr Section kSections[] = {
    {"begin",
     {"init", "git import", "git export", "config list", "config get", "config set", "config unset", "config edit",
      "config path", "completion", "help"}},
    {"work in a workspace", {"status", "diff", "commit", "restore", "mv", "rm"}},
    {"look at history", {"log", "show", "ls", "cat"}},
    {"bring work together", {"land", "switch", "workspace add", "workspace list", "workspace rm"}},
    {"name versions", {"ref list", "ref set", "ref delete", "ref log"}},
    {"go back", {"undo", "redo", "op log", "op show", "op restore"}},
    {"care for the store", {"info", "doctor", "verify", "repair", "gc"}},
};

const Command* find(std::string_view name) {
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& command) { return command.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string line(const Command& command) {
  return fmt::format("  {:<{}}{}\n", command.name, kNameColumn, command.summary);
}

/// In man(1), which brings its own pager.
Result<int> open_manual(Invocation& invocation, const std::string& page, const std::string& instead) {
  ProcessOptions process;
  process.argv = {"/bin/sh", "-c", "exec man \"$@\"", "man", page};
  std::vector<std::string> variables;
  for (const auto& [name, value] : invocation.context.environment) variables.push_back(name + "=" + value);
  process.environment = std::move(variables);
  process.in = ProcessOptions::Stream::inherit;
  process.err = ProcessOptions::Stream::null;
  WEFT_TRY(auto man, Process::start(process));
  WEFT_TRY(const auto status, man.wait());
  if (status.ok()) return 0;
  return make_error(Code::not_found, "man shows no page " + page,
                    "run `" + instead + "`; `cmake --install` puts the manual pages where man finds them");
}

Json json_command(const Command& command) {
  return Json::object().set("name", command.name).set("summary", command.summary);
}

}  // namespace

int print_version(Invocation& invocation) {
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("version", kVersion));
  } else {
    print(invocation, fmt::format("weft {}\n", kVersion));
  }
  return 0;
}

int print_overview(Invocation& invocation) {
  if (wants_json(invocation)) {
    JsonList list(invocation, "commands");
    for (const auto& command : commands()) list.add(json_command(command));
    list.finish();
    return 0;
  }
  std::string out = "usage: weft [-C DIR] COMMAND [OPTIONS] [ARGUMENTS]\n";
  for (const auto& section : kSections) {
    out += fmt::format("\n{}\n", paint(invocation, Style::bold, section.title));
    for (const auto name : section.names) {
      if (const Command* command = name.empty() ? nullptr : find(name)) out += line(*command);
    }
  }
  out +=
      "\n`weft help COMMAND` tells more. A version is named by a ref, an id or the start of one, `@` (where this\n"
      "workspace stands), `REF@{N}` (where a ref stood N moves ago), `A+B` (several changes), and `-` behind any of\n"
      "them (the first parent).\n";
  print(invocation, out);
  return 0;
}

int print_group(Invocation& invocation, std::string_view group) {
  if (wants_json(invocation)) {
    JsonList list(invocation, "commands");
    for (const auto& command : commands()) {
      if (command.name.starts_with(std::string(group) + " ")) list.add(json_command(command));
    }
    list.finish();
    return 0;
  }
  std::string out = fmt::format("usage: weft {} COMMAND [OPTIONS] [ARGUMENTS]\n\n", group);
  for (const auto& command : commands()) {
    if (command.name.starts_with(std::string(group) + " ")) out += line(command);
  }
  print(invocation, out);
  return 0;
}

int print_help_text(Invocation& invocation, std::string_view text) {
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("command", invocation.command).set("text", text));
  } else {
    print(invocation, text);
  }
  return 0;
}

Result<int> cmd_help(Invocation& invocation) {
  Options options("help", "Shows how to use weft, or one of its commands.");
  bool manual = false;
  std::vector<std::string> words;
  options.flag("--man", manual, "open the manual page instead");
  options.positionals("COMMAND", words, "a command, e.g. `log` or `ref set`", false);
  WEFT_DO(options.parse(invocation));
  if (manual && wants_json(invocation)) {
    return make_error(Code::usage, "a manual page is no JSON", "leave out --man, or --json");
  }
  if (words.empty()) return manual ? open_manual(invocation, "weft", "weft help") : print_overview(invocation);
  std::string name;
  for (const auto& word : words) name += (name.empty() ? "" : " ") + word;
  if (const Command* command = find(name)) {
    if (manual) return open_manual(invocation, man_page_name(name), "weft help " + name);
    invocation.command = command->name;
    invocation.args = {"--help"};
    return command->function(invocation);
  }
  std::vector<std::string> names;
  bool is_group = false;
  for (const auto& command : commands()) {
    names.emplace_back(command.name);
    is_group = is_group || command.name.starts_with(name + " ");
  }
  if (is_group && manual) return open_manual(invocation, "weft", "weft help " + name);
  if (is_group) return print_group(invocation, name);
  const auto close = closest(name, names);
  return make_error(Code::usage, quoted_always(name) + " is no weft command",
                    close.empty() ? "run `weft help` to see all commands"
                                  : fmt::format("did you mean `weft help {}`?", close.front()));
}

}  // namespace weft::cli
