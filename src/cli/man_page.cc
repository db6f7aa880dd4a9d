#include "cli/man_page.h"

#include <algorithm>

#include <fmt/format.h>

#include "repo/settings.h"

namespace weft::cli {
namespace {

constexpr std::string_view kCommandsMark = "@COMMANDS@\n";
constexpr std::string_view kOptionsMark = "@OPTIONS@\n";
constexpr std::string_view kSettingsMark = "@SETTINGS@\n";

std::string bold(std::string_view text) { return "*" + scdoc_text(text) + "*"; }

std::string option_heading(char letter, std::string_view name, std::string_view metavar) {
  std::string out;
  if (letter != 0) out += bold(std::string("-") + letter);
  if (!name.empty()) out += (letter != 0 ? ", " : "") + bold("--" + std::string(name));
  if (metavar.starts_with('[')) return out + scdoc_text(metavar);
  if (!metavar.empty()) out += " " + scdoc_text(metavar);
  return out;
}

std::string entry(std::string_view heading, std::string_view help) {
  return fmt::format("{}\n\t{}\n\n", heading, scdoc_text(help));
}

/// Paragraphs of a help text; lines that are set in, or hold code, stay as they are.
std::string notes(std::string_view footer) {
  std::string out, paragraph, block;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += scdoc_text(std::exchange(paragraph, {})) + "\n\n";
  };
  const auto end_block = [&] {
    if (!block.empty()) out += "```\n" + std::exchange(block, {}) + "```\n\n";
  };
  while (!footer.empty()) {
    const std::size_t newline = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, newline);
    footer.remove_prefix(std::min(newline + 1, footer.size()));
    if (line.starts_with("  ")) {
      end_paragraph();
      block.append(line).append("\n");
    } else {
      end_block();
      if (line.empty()) {
        end_paragraph();
      } else {
        paragraph.append(paragraph.empty() ? "" : " ").append(line);
      }
    }
  }
  end_paragraph();
  end_block();
  return out;
}

std::string header(std::string_view page) {
  return fmt::format("{}(1) \"weft {}\" \"weft manual\"\n\n", page, kVersion);
}

std::string replaced(std::string_view text, std::string_view mark, std::string_view by) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, at)).append(by).append(text.substr(at + mark.size()));
}

}  // namespace

std::string scdoc_text(std::string_view text) {
  std::string out;
  bool code = false;
  for (const char c : text) {
    if (c == '`') {
      out += '*';
      code = !code;
    } else {
      if (std::string_view("\\*_#[]|~<>;").find(c) != std::string_view::npos ||
          (out.empty() && (c == '-' || c == '.'))) {
        out += '\\';
      }
      out += c;
    }
  }
  if (code) out += '*';
  return out;
}

std::string man_page_name(std::string_view command) {
  std::string out = "weft-" + std::string(command);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

std::string man_page(const Command& command, const Description& description, std::string_view sections) {
  const std::string name = man_page_name(command.name);
  std::string out = header(name);
  out += fmt::format("# NAME\n\n{} - {}\n\n", name, scdoc_text(command.summary));
  out += "# SYNOPSIS\n\n" + bold("weft " + description.name);
  if (!description.options.empty()) out += " \\[OPTIONS\\]";
  for (const auto& argument : description.arguments) {
    const bool says_so = argument.name.find("...") != std::string::npos;
    const std::string shown = scdoc_text(argument.name) + (argument.many && !says_so ? "..." : "");
    out += argument.required ? " " + shown : " \\[" + shown + "\\]";
  }
  out += "\n\n";

  const std::size_t next = std::min(sections.find("\n# ", 1), sections.size());
  out.append(sections.substr(0, next)).append("\n");
  if (!description.arguments.empty()) {
    out += "# ARGUMENTS\n\n";
    for (const auto& argument : description.arguments) out += entry(bold(argument.name), argument.help);
  }
  out += "# OPTIONS\n\n";
  for (const auto& option : description.options) {
    out += entry(option_heading(option.letter, option.name, option.metavar), option.help);
  }
  out += "The options that all commands have are in *weft*(1).\n\n";
  if (!description.footer.empty()) out += "# NOTES\n\n" + notes(description.footer);
  const std::string_view rest = sections.substr(std::min(next + 1, sections.size()));
  out += rest;
  if (rest.find("# SEE ALSO") == std::string_view::npos) {
    if (!rest.empty()) out += "\n";
    out += "# SEE ALSO\n\n*weft*(1)";
    // The others of its group.
    const std::string_view group = command.name.substr(0, command.name.find(' '));
    for (const auto& other : commands()) {
      if (group != command.name && other.name != command.name && other.name.starts_with(std::string(group) + " ")) {
        out += ", *" + man_page_name(other.name) + "*(1)";
      }
    }
    out += "\n";
  }
  return out;
}

std::string with_lists(std::string_view text) {
  std::string list;
  for (const auto& command : commands()) {
    list += entry(fmt::format("*{}*(1)", man_page_name(command.name)), command.summary);
  }
  std::string options;
  for (const auto& option : common_options()) {
    options += entry(option_heading(option.letter, option.name, option.metavar), option.help);
  }
  options += entry(bold("--"), "end of options");
  std::string settings;
  for (const auto& setting : repo::settings()) {
    std::string help(setting.meaning);
    if (!setting.values.empty() && setting.key.ends_with('*')) {
      help.append("; * is one of ").append(setting.values);
    } else if (setting.type == repo::SettingType::choice || setting.type == repo::SettingType::boolean) {
      help.append("; ").append(repo::allowed_values(setting));
    }
    if (!setting.fallback.empty()) help.append(" (default: ").append(setting.fallback).append(")");
    if (setting.in_store) help.append("; a store may set it, too");
    settings += entry(bold(setting.key), help);
  }
  return replaced(replaced(replaced(text, kCommandsMark, list), kOptionsMark, options), kSettingsMark, settings);
}

}  // namespace weft::cli
