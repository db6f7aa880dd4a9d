// Which place of a command line the cursor is at; see completion.h.

#include "cli/completion.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/output.h"

namespace weft::cli {
namespace {

/// What the names in help texts stand for. Words of the same name that mean different things are told apart by command
/// and option, first.
struct Meaning {
  std::string_view command, option, metavar;  ///< empty: any
  WordKind kind;
};
constexpr Meaning kMeanings[] = {
    {"op log", "--ref", "NAME", WordKind::ref},
    {"op log", "--workspace", "NAME", WordKind::workspace},
    {"op log", "--author", "TEXT", WordKind::author},
    {"op log", "--agent", "NAME", WordKind::nothing},
    {"workspace rm", "", "NAME", WordKind::workspace},
    {"workspace add", "", "NAME", WordKind::nothing},
    {"ref set", "", "NAME", WordKind::ref},
    {"ref delete", "", "NAME", WordKind::ref},
    {"ref log", "", "NAME", WordKind::ref},
    {"ref list", "", "PREFIX", WordKind::ref},
    {"config set", "", "VALUE", WordKind::config_value},
    {"log", "--author", "TEXT", WordKind::author},
    {"git import", "", "PATH", WordKind::host_directory},
    {"git export", "", "PATH", WordKind::host_directory},
    {"commit", "", "PATHS", WordKind::changed_path},
    {"status", "", "PATHS", WordKind::changed_path},
    {"restore", "", "PATHS", WordKind::changed_path},
    {"diff", "", "PATH", WordKind::changed_path},
    {"", "", "PATH", WordKind::tracked_path},
    {"", "", "PATHS", WordKind::tracked_path},
    {"", "", "FROM... TO", WordKind::tracked_path},
    {"", "", "VERSION:PATH", WordKind::version_path},
    {"", "", "[VERSION:]PATH", WordKind::version_path},
    {"", "", "REF", WordKind::ref},
    {"", "", "OLD", WordKind::ref},
    {"", "", "VERSION", WordKind::version},
    {"", "", "FILE", WordKind::host_file},
    {"", "", "DIR", WordKind::host_directory},
    {"", "", "STORE", WordKind::host_directory},
    {"", "", "KEY", WordKind::config_key},
    {"", "", "OPERATION", WordKind::operation},
    {"", "", "AUTHOR", WordKind::author},
    {"", "", "DATE", WordKind::date},
    {"", "", "COMMAND", WordKind::command},
    {"diff", "--tool", "NAME", WordKind::diff_tool},
    {"show", "--tool", "NAME", WordKind::diff_tool},
    {"", "", "N", WordKind::nothing},
    {"", "", "FORMAT", WordKind::nothing},
    {"", "", "MODE", WordKind::nothing},
    {"", "", "BYTES", WordKind::nothing},
    {"", "", "SIZE", WordKind::nothing},
    {"", "", "DURATION", WordKind::nothing},
    {"", "", "TEXT", WordKind::nothing},
    {"", "", "VALUE", WordKind::nothing},
};

/// `[=NAME]`: a value stands behind `=` or not at all.
bool is_optional(std::string_view metavar) { return metavar.starts_with("[="); }

std::vector<std::string_view> alternatives(std::string_view metavar) {
  std::vector<std::string_view> out;
  if (is_optional(metavar)) metavar = metavar.substr(2, metavar.size() - 3);
  for (;;) {
    const std::size_t bar = metavar.find('|');
    out.push_back(metavar.substr(0, bar));
    if (bar == std::string_view::npos) return out;
    metavar.remove_prefix(bar + 1);
  }
}

bool is_literal(std::string_view word) {
  return !word.empty() && word[0] >= 'a' && word[0] <= 'z' && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void offer(std::vector<Candidate>& out, std::string_view typed, std::string_view text, std::string_view help) {
  if (text.starts_with(typed)) out.push_back({std::string(text), std::string(help)});
}

const Command* find_command(std::string_view name) {
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& command) { return command.name == name; });
  return found == all.end() ? nullptr : &*found;
}

bool is_group(std::string_view word) {
  return std::any_of(commands().begin(), commands().end(),
                     [&](const Command& command) { return command.name.starts_with(std::string(word) + " "); });
}

/// Commands, and the first words of those of two: what may follow `weft`.
void offer_verbs(std::vector<Candidate>& out, std::string_view typed) {
  std::map<std::string_view, std::string> groups;
  for (const auto& command : commands()) {
    const std::size_t blank = command.name.find(' ');
    if (blank == std::string_view::npos) continue;
    auto& verbs = groups[command.name.substr(0, blank)];
    verbs.append(verbs.empty() ? "" : ", ").append(command.name.substr(blank + 1));
  }
  for (const auto& command : commands()) {
    const std::size_t blank = command.name.find(' ');
    if (blank == std::string_view::npos) {
      offer(out, typed, command.name, command.summary);
    } else if (auto group = groups.extract(command.name.substr(0, blank))) {
      offer(out, typed, group.key(), group.mapped());
    }
  }
}

void offer_second_words(std::vector<Candidate>& out, std::string_view group, std::string_view typed) {
  for (const auto& command : commands()) {
    if (command.name.starts_with(std::string(group) + " ")) {
      offer(out, typed, command.name.substr(group.size() + 1), command.summary);
    }
  }
}

/// Options are offered by their long names; those that have none by their letter.
void offer_option(std::vector<Candidate>& out, std::string_view typed, char letter, std::string_view name,
                  std::string_view help) {
  offer(out, typed, name.empty() ? std::string("-") + letter : "--" + std::string(name), help);
}

void offer_common_options(std::vector<Candidate>& out, std::string_view typed) {
  for (const auto& option : common_options()) offer_option(out, typed, option.letter, option.name, option.help);
}

void offer_color(std::vector<Candidate>& out, std::string_view typed) {
  for (const std::string_view when : {"always", "auto", "never"}) offer(out, typed, "--color=" + std::string(when), "");
}

/// A shell hands over `~` as it was typed.
std::string expanded_home(const Invocation& invocation, std::string word) {
  if (word != "~" && !word.starts_with("~/")) return word;
  const auto home = invocation.context.environment.find("HOME");
  return home == invocation.context.environment.end() ? word : home->second + word.substr(1);
}

/// `-C DIR` or `-CDIR` at `index`, applied. False where it is none, or its directory is still being typed.
bool take_directory(Invocation& invocation, std::span<const std::string> words, std::size_t& index) {
  if (!words[index].starts_with("-C")) return false;
  const bool attached = words[index].size() > 2;
  if (!attached && index + 1 >= words.size()) return false;
  const std::vector<std::string> option = {
      "-C", expanded_home(invocation, attached ? words[index].substr(2) : words[++index])};
  std::size_t at = 0;
  (void)take_common_option(invocation, option, at);  // one that is not there: nothing will be found
  return true;
}

/// One command's words, read as its Options would.
class Reader {
 public:
  Reader(Invocation& invocation, Description description)
      : invocation_(invocation), description_(std::move(description)) {}

  Place place(std::span<const std::string> words) {
    const std::string& current = words.back();
    const auto before = words.first(words.size() - 1);
    for (std::size_t index = 0; index < before.size(); ++index) read(before, index);
    if (wants_directory_) {
      out_.kinds = {WordKind::host_directory};
      out_.typed = current;
    } else if (pending_ != nullptr) {
      value_of(*pending_, current, {});
    } else if (!dashes_ && current.starts_with("--") && current.find('=') != std::string::npos) {
      const std::size_t equals = current.find('=');
      if (const auto* option = find_long(current.substr(2, equals - 2))) {
        if (!option->metavar.empty()) value_of(*option, current.substr(equals + 1), current.substr(0, equals + 1));
      } else {
        offer_color(out_.words, current);
      }
    } else if (!dashes_ && current.size() > 2 && current[0] == '-' && current[1] != '-' && attached(current)) {
      // -nVALUE: attached() has said what stands there
    } else if (!dashes_ && current.starts_with('-')) {
      for (const auto& option : description_.options) {
        if (option.repeats || !given_.contains(&option)) {
          offer_option(out_.words, current, option.letter, option.name, option.help);
        }
      }
      offer_common_options(out_.words, current);
    } else {
      argument(current);
    }
    return std::move(out_);
  }

 private:
  const OptionDescription* find_long(std::string_view name) const {
    const OptionDescription* found = nullptr;
    for (const auto& option : description_.options) {
      if (option.name == name && !name.empty()) return &option;
      if (option.name.starts_with(name) && !name.empty()) {
        if (found != nullptr) return nullptr;
        found = &option;
      }
    }
    return found;
  }
  const OptionDescription* find_letter(char letter) const {
    const auto found = std::find_if(description_.options.begin(), description_.options.end(),
                                    [&](const auto& option) { return option.letter == letter; });
    return found == description_.options.end() ? nullptr : &*found;
  }

  void give(const OptionDescription& option, const std::optional<std::string>& value) {
    given_.insert(&option);
    if (option.metavar.empty()) return;
    if (!value) {
      if (!is_optional(option.metavar)) pending_ = &option;
    } else if (option.name == "from") {
      out_.from = *value;
    }
  }

  void read(std::span<const std::string> words, std::size_t& index) {
    const std::string& word = words[index];
    if (pending_ != nullptr) {
      give(*std::exchange(pending_, nullptr), word);
    } else if (dashes_ || word.size() < 2 || word[0] != '-') {
      out_.before.push_back(word);
    } else if (word == "--") {
      dashes_ = true;
    } else if (word[1] == '-') {
      const std::size_t equals = word.find('=');
      const auto* option = find_long(std::string_view(word).substr(2, equals - 2));
      if (option == nullptr) return;
      give(*option, equals == std::string::npos ? std::optional<std::string>() : word.substr(equals + 1));
    } else {
      for (std::size_t at = 1; at < word.size(); ++at) {
        if (const auto* option = find_letter(word[at])) {
          const bool attached = at + 1 < word.size() && !is_optional(option->metavar);
          give(*option, attached ? std::optional(word.substr(at + 1)) : std::nullopt);
          if (!option->metavar.empty() && !is_optional(option->metavar)) return;
        } else if (word[at] == 'C') {
          std::vector<std::string> rest = {"-" + word.substr(at)};
          if (index + 1 < words.size()) rest.push_back(words[index + 1]);
          std::size_t taken = 0;
          wants_directory_ = !take_directory(invocation_, rest, taken);
          index += taken;
          return;
        }
      }
    }
  }

  void value_of(const OptionDescription& option, std::string typed, std::string stem) {
    out_.typed = std::move(typed);
    out_.stem = std::move(stem);
    const std::string name = option.name.empty() ? std::string("-") + option.letter : "--" + option.name;
    out_.kinds = kinds_of(description_.name, name, option.metavar);
    if (option.metavar == "OLD") offer(out_.words, out_.typed, "none", "there is no such ref yet");
    literals(option.metavar);
  }

  void literals(std::string_view metavar) {
    for (const auto& literal : literals_of(metavar)) offer(out_.words, out_.typed, literal, "");
    for (auto& word : out_.words) word.text.insert(0, out_.stem);
  }

  bool attached(const std::string& current) {
    for (std::size_t at = 1; at + 1 < current.size(); ++at) {
      const auto* option = find_letter(current[at]);
      if (option == nullptr) return false;
      if (option->metavar.empty() || is_optional(option->metavar)) continue;
      value_of(*option, current.substr(at + 1), current.substr(0, at + 1));
      return true;
    }
    return false;
  }

  void argument(const std::string& current) {
    out_.typed = current;
    const auto& arguments = description_.arguments;
    if (arguments.empty()) return;
    const std::size_t index = std::min(out_.before.size(), arguments.size() - 1);
    const auto& wanted = arguments[index];
    if (out_.before.size() > index && !wanted.many) return;  // there are enough
    // A name that is made now is nobody's yet.
    const bool makes_name =
        description_.name == "switch" &&
        std::any_of(given_.begin(), given_.end(), [](auto* option) { return option->name == "create"; });
    if (makes_name) return;
    out_.kinds = kinds_of(description_.name, {}, wanted.name);
    if (dashes_ && description_.paths_behind_dashes) std::erase(out_.kinds, WordKind::version);
    literals(wanted.name);
  }

  Invocation& invocation_;
  Description description_;
  Place out_;
  std::set<const OptionDescription*> given_;
  const OptionDescription* pending_ = nullptr;
  bool dashes_ = false, wants_directory_ = false;
};

/// `help` takes the words of a command.
Place help_place(std::span<const std::string> words) {
  Place out;
  out.typed = words.back();
  if (out.typed.starts_with('-')) {
    offer_common_options(out.words, out.typed);
  } else if (words.size() == 1) {
    offer_verbs(out.words, out.typed);
  } else if (words.size() == 2) {
    offer_second_words(out.words, words[0], out.typed);
  }
  return out;
}

}  // namespace

std::vector<std::string> literals_of(std::string_view metavar) {
  std::vector<std::string> out;
  for (const auto word : alternatives(metavar)) {
    if (is_literal(word)) out.emplace_back(word);
  }
  return out;
}

std::vector<WordKind> kinds_of(std::string_view command, std::string_view option, std::string_view metavar) {
  std::vector<WordKind> out;
  for (const auto word : alternatives(metavar)) {
    const auto found = std::find_if(std::begin(kMeanings), std::end(kMeanings), [&](const Meaning& meaning) {
      return meaning.metavar == word && (meaning.command.empty() || meaning.command == command) &&
             (meaning.command.empty() || meaning.option == option);
    });
    out.push_back(is_literal(word)               ? WordKind::literal
                  : found != std::end(kMeanings) ? found->kind
                                                 : WordKind::unknown);
  }
  return out;
}

Place find_place(Invocation& invocation, std::span<const std::string> words) {
  Place out;
  if (words.empty()) return out;
  const std::size_t last = words.size() - 1;
  std::size_t index = 0;
  for (; index < last && words[index].starts_with('-'); ++index) {
    if (words[index].starts_with("-C") && !take_directory(invocation, words.first(last), index)) {
      out.kinds = {WordKind::host_directory};
      out.typed = words[last];
      return out;
    }
  }
  out.typed = words[last];
  if (index == last) {
    if (out.typed.starts_with("--color=")) {
      offer_color(out.words, out.typed);
    } else if (out.typed.starts_with('-')) {
      offer_common_options(out.words, out.typed);
      offer(out.words, out.typed, "--version", "print weft's version");
    } else {
      offer_verbs(out.words, out.typed);
    }
    return out;
  }
  std::string name = words[index++];
  if (find_command(name) == nullptr && is_group(name)) {
    for (; index < last && words[index].starts_with('-'); ++index) {
      if (words[index].starts_with("-C") && !take_directory(invocation, words.first(last), index)) return out;
    }
    if (index == last) {
      offer_second_words(out.words, name, out.typed);
      return out;
    }
    name += " " + words[index++];
  }
  const Command* command = find_command(name);
  if (command == nullptr) return out;
  if (name == "help") return help_place(words.subspan(index));
  return Reader(invocation, describe(*command, invocation.io, invocation.context)).place(words.subspan(index));
}

int complete(Invocation& invocation, std::span<const std::string> words) {
  const Place place = find_place(invocation, words);
  std::vector<Candidate> all = place.words;
  bool files = false, directories = false;
  for (const WordKind kind : place.kinds) {
    files = files || kind == WordKind::host_file;
    directories = directories || kind == WordKind::host_directory;
    for (auto& each : find_values(invocation, place, kind)) all.push_back({place.stem + each.text, each.help});
  }
  std::string out;
  std::set<std::string_view> seen;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  for (auto& each : all) {
    if (each.text.empty() || std::any_of(each.text.begin(), each.text.end(), is_control)) continue;  // no line for it
    if (!seen.insert(each.text).second) continue;
    std::replace_if(each.help.begin(), each.help.end(), is_control, ' ');
    out += each.text + (each.help.empty() ? "" : "\t" + each.help) + "\n";
  }
  if (files) out += "\tfiles\n";
  if (directories) out += "\tdirectories\n";
  print(invocation, out);
  return 0;
}

}  // namespace weft::cli
