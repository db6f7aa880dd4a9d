// The options parser: written here rather than taken from a library because common options may stand anywhere, errors
// name what was meant, and nothing may be built before it is needed (docs/adr/0001).

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "cli/command.h"
#include "cli/description.h"
#include "cli/text.h"

namespace weft::cli {
namespace {

constexpr std::size_t kHelpColumn = 28;

struct Optional {
  std::optional<std::string>* value;
};
struct Text {
  std::string* value;
  bool* given;
};
struct Implied {
  std::optional<std::string>* value;
  std::string without;  ///< what it means without a value
};
using Target = std::variant<bool*, Text, Optional, Implied, std::optional<std::int64_t>*, std::vector<std::string>*>;

struct Option {
  char letter = 0;
  std::string name;  ///< without dashes; may be empty
  std::string metavar;
  std::string help;
  Target target;

  /// Needs one: in the next word where it is not behind `=`.
  bool takes_value() const { return !std::holds_alternative<bool*>(target) && !implied(); }
  const Implied* implied() const { return std::get_if<Implied>(&target); }
  void set() const {
    if (const auto* optional = implied()) {
      *optional->value = optional->without;
    } else {
      *std::get<bool*>(target) = true;
    }
  }
  std::string shown() const { return name.empty() ? std::string("-") + letter : "--" + name; }
};

struct Positional {
  std::string name;
  std::string help;
  bool required = false;
  std::string* one = nullptr;
  std::vector<std::string>* many = nullptr;
};

Option make_option(std::string_view names, std::string metavar, std::string help, Target target) {
  Option option{0, {}, std::move(metavar), std::move(help), target};
  for (std::string_view rest = names; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (one.starts_with("--")) {
      option.name = one.substr(2);
    } else {
      WEFT_CHECK(one.size() == 2 && one[0] == '-');
      option.letter = one[1];
    }
  }
  return option;
}

std::string pad(std::string text, std::size_t column) {
  if (text.size() + 2 > column) return text + "\n" + std::string(column, ' ');
  text.resize(column, ' ');
  return text;
}

std::string option_left(char letter, std::string_view name, std::string_view metavar) {
  std::string left = letter != 0 ? std::string("  -") + letter : std::string("    ");
  if (!name.empty()) left.append(letter != 0 ? ", --" : "  --").append(name);
  if (metavar.starts_with('[')) return left.append(metavar);  // optional, and then behind `=`
  if (!metavar.empty()) left.append(" ").append(metavar);
  return left;
}

std::string common_help() {
  std::string out = "common options:\n";
  for (const auto& option : common_options()) {
    out += pad(option_left(option.letter, option.name, option.metavar), kHelpColumn) + std::string(option.help) + "\n";
  }
  return out + pad("      --", kHelpColumn) + "end of options\n";
}

/// Never understood shortened: a prefix typed in haste must not give up data.
constexpr std::string_view kWrittenOut = "accept-loss";

constexpr std::string_view kCommonNames[] = {"quiet", "verbose",    "color", "no-color", "no-pager",
                                             "json",  "json-lines", "zero",  "help"};

}  // namespace

struct Options::State {
  std::string name;
  std::string summary;
  std::string footer;
  std::vector<Option> options;
  std::vector<Positional> positionals;
  std::vector<std::string>* behind = nullptr;
  bool* dashes_seen = nullptr;

  Error usage(std::string message) const {
    return make_error(Code::usage, std::move(message), "run `weft help " + name + "`");
  }

  Option* find(char letter) {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option& option) { return option.letter == letter; });
    return found == options.end() ? nullptr : &*found;
  }

  Result<void> assign(const Option& option, std::string value) const {
    if (const auto* text = std::get_if<Text>(&option.target)) {
      *text->value = std::move(value);
      if (text->given != nullptr) *text->given = true;
    } else if (const auto* optional = std::get_if<Optional>(&option.target)) {
      *optional->value = std::move(value);
    } else if (const auto* implied = option.implied()) {
      *implied->value = std::move(value);
    } else if (const auto* list = std::get_if<std::vector<std::string>*>(&option.target)) {
      (*list)->push_back(std::move(value));
    } else if (const auto* integer = std::get_if<std::optional<std::int64_t>*>(&option.target)) {
      std::int64_t number = 0;
      const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (problem != std::errc() || end != value.data() + value.size() || value.empty()) {
        return usage("option " + option.shown() + " needs a whole number, not " + quoted_always(value));
      }
      **integer = number;
    }
    return {};
  }

  /// "--name" or "--name=VALUE" among the command's own options; false when there is none of that name. Shortened names
  /// are understood when only one name of all, common ones included, begins so.
  Result<bool> take_long(std::span<const std::string> args, std::size_t& index) {
    const std::string_view word = std::string_view(args[index]).substr(2);
    const std::size_t equals = word.find('=');
    const std::string_view wanted = word.substr(0, equals);
    Option* option = nullptr;
    std::vector<std::string> candidates;
    for (auto& one : options) {
      if (one.name == wanted) {
        option = &one;
        break;
      }
      if (!one.name.empty() && one.name.starts_with(wanted)) candidates.push_back(one.name);
    }
    if (option == nullptr) {
      if (std::find(std::begin(kCommonNames), std::end(kCommonNames), wanted) != std::end(kCommonNames)) return false;
      const std::size_t own = candidates.size();
      for (const auto common : kCommonNames) {
        if (common.starts_with(wanted)) candidates.emplace_back(common);
      }
      if (candidates.empty()) return false;
      if (candidates.size() > 1) {
        std::string message = "option --" + std::string(wanted) + " may mean";
        for (const auto& candidate : candidates)
          message += (&candidate == candidates.data() ? " --" : ", --") + candidate;
        return usage(std::move(message));
      }
      if (own == 0) return false;
      option = &*std::find_if(options.begin(), options.end(),
                              [&](const Option& one) { return one.name == candidates.front(); });
      if (option->name == kWrittenOut) {
        return usage("option --" + std::string(wanted) + " gives up data and must be written out: --" + option->name);
      }
    }
    if (!option->takes_value()) {
      if (equals == std::string_view::npos) {
        option->set();
        return true;
      }
      if (option->implied() == nullptr) return usage("option " + option->shown() + " takes no value");
    }
    if (equals != std::string_view::npos) {
      WEFT_DO(assign(*option, std::string(word.substr(equals + 1))));
      return true;
    }
    if (index + 1 >= args.size()) return usage("option " + option->shown() + " needs a value");
    WEFT_DO(assign(*option, args[++index]));
    return true;
  }

  /// "-x", "-xVALUE", "-x VALUE", "-xyz".
  Result<void> take_short(Invocation& invocation, std::span<const std::string> args, std::size_t& index) {
    const std::string& word = args[index];
    if (auto* count = find('n'); count != nullptr && word[1] >= '0' && word[1] <= '9' && word != "-0") {
      return assign(*count, word.substr(1));  // `log -5`, as in git
    }
    for (std::size_t at = 1; at < word.size(); ++at) {
      Option* option = find(word[at]);
      if (option == nullptr) {
        // A common one: on its own, so that -C finds its value.
        const std::vector<std::string> common = {std::string("-") + word.substr(at, word[at] == 'C' ? word.npos : 1),
                                                 index + 1 < args.size() ? args[index + 1] : std::string()};
        const std::size_t known = index + 1 < args.size() ? 2 : 1;
        std::size_t taken = 0;
        WEFT_TRY(const bool is_common, take_common_option(invocation, std::span(common).first(known), taken));
        if (!is_common) return usage("unknown option -" + word.substr(at, 1) + " for `weft " + name + "`");
        index += taken;
        if (word[at] == 'C') return {};
        continue;
      }
      if (!option->takes_value()) {
        option->set();
        continue;
      }
      if (at + 1 < word.size()) return assign(*option, word.substr(at + 1));
      if (index + 1 >= args.size()) return usage("option -" + word.substr(at, 1) + " needs a value");
      return assign(*option, args[++index]);
    }
    return {};
  }

  Error unknown_long(const std::string& word) const {
    const std::string wanted = word.substr(2, word.find('=') - 2);
    std::vector<std::string> names(std::begin(kCommonNames), std::end(kCommonNames));
    for (const auto& option : options) names.push_back(option.name);
    Error error = usage("unknown option --" + wanted + " for `weft " + name + "`");
    const auto close = closest(wanted, names);
    if (!close.empty()) error.hint = "did you mean --" + close.front() + "? " + error.hint;
    return error;
  }

  Result<void> place(std::vector<std::string> words) const {
    std::size_t next = 0;
    for (const auto& positional : positionals) {
      if (positional.many != nullptr) {
        if (positional.required && next == words.size()) return missing(positional);
        positional.many->assign(words.begin() + static_cast<std::ptrdiff_t>(next), words.end());
        next = words.size();
      } else if (next < words.size()) {
        *positional.one = std::move(words[next++]);
      } else if (positional.required) {
        return missing(positional);
      }
    }
    if (next < words.size()) {
      return usage("`weft " + name + "` does not know what to do with " + quoted_always(words[next]));
    }
    return {};
  }

  Error missing(const Positional& positional) const { return usage("`weft " + name + "` needs " + positional.name); }
};

Options::Options(std::string name, std::string summary) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  state_->summary = std::move(summary);
}
Options::~Options() = default;

void Options::flag(std::string names, bool& value, std::string help) {
  state_->options.push_back(make_option(names, {}, std::move(help), &value));
}
void Options::value(std::string names, std::string& value, std::string metavar, std::string help, bool* given) {
  state_->options.push_back(make_option(names, std::move(metavar), std::move(help), Text{&value, given}));
}
void Options::value(std::string names, std::optional<std::string>& value, std::string metavar, std::string help) {
  state_->options.push_back(make_option(names, std::move(metavar), std::move(help), Optional{&value}));
}
void Options::optional_value(std::string names, std::optional<std::string>& value, std::string metavar,
                             std::string implied, std::string help) {
  state_->options.push_back(
      make_option(names, "[=" + metavar + "]", std::move(help), Implied{&value, std::move(implied)}));
}
void Options::integer(std::string names, std::optional<std::int64_t>& value, std::string metavar, std::string help) {
  state_->options.push_back(make_option(names, std::move(metavar), std::move(help), &value));
}
void Options::values(std::string names, std::vector<std::string>& value, std::string metavar, std::string help) {
  state_->options.push_back(make_option(names, std::move(metavar), std::move(help), &value));
}
void Options::positional(std::string name, std::string& value, std::string help, bool required) {
  state_->positionals.push_back({std::move(name), std::move(help), required, &value, nullptr});
}
void Options::positionals(std::string name, std::vector<std::string>& value, std::string help, bool required) {
  state_->positionals.push_back({std::move(name), std::move(help), required, nullptr, &value});
}
void Options::behind_dashes(std::vector<std::string>& behind, bool& seen) {
  state_->behind = &behind;
  state_->dashes_seen = &seen;
}
void Options::footer(std::string text) { state_->footer = std::move(text); }

Description Options::described() const {
  Description out{state_->name, state_->summary, state_->footer, {}, {}, state_->behind != nullptr};
  for (const auto& option : state_->options) {
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(option.target);
    out.options.push_back({option.letter, option.name, option.metavar, option.help, repeats});
  }
  for (const auto& argument : state_->positionals) {
    out.arguments.push_back({argument.name, argument.help, argument.required, argument.many != nullptr});
  }
  return out;
}

std::span<const CommonOption> common_options() {
  static constexpr CommonOption kOptions[] = {
      {'C', "", "DIR", "run as if started in DIR"},
      {'q', "quiet", "", "print no notices and hints"},
      {'v', "verbose", "", "print more"},
      {0, "color", "[=WHEN]", "always, auto or never"},
      {0, "no-pager", "", "write to the terminal directly"},
      {0, "json", "", "print one JSON envelope (docs/JSON.md)"},
      {0, "json-lines", "", "print one JSON envelope an item"},
      {'0', "zero", "", "end lines of lists with NUL, do not quote names"},
      {'h', "help", "", "print this help"},
  };
  return kOptions;
}

Description describe(const Command& command, const Io& io, const repo::Context& context) {
  repo::Context own = context;
  Invocation invocation(io, own);
  Description out;
  invocation.command = command.name;
  invocation.describe = &out;
  (void)command.function(invocation);  // ends in Options::parse
  WEFT_CHECK(out.name == command.name);
  return out;
}

Result<void> Options::parse(Invocation& invocation) {
  if (invocation.describe != nullptr) {
    *invocation.describe = described();
    return make_error(Code::usage, "a description was asked for");
  }
  std::vector<std::string> words;
  const std::span<const std::string> args = invocation.args;
  bool dashes = false;
  for (std::size_t index = 0; index < args.size(); ++index) {
    const std::string& word = args[index];
    if (dashes || word.size() < 2 || word[0] != '-') {
      (dashes && state_->behind != nullptr ? *state_->behind : words).push_back(word);
    } else if (word == "--") {
      dashes = true;
      if (state_->dashes_seen != nullptr) *state_->dashes_seen = true;
    } else if (word[1] == '-') {
      WEFT_TRY(const bool own, state_->take_long(args, index));
      if (own) continue;
      WEFT_TRY(const bool common, take_common_option(invocation, args, index));
      if (!common) return state_->unknown_long(word);
    } else {
      WEFT_DO(state_->take_short(invocation, args, index));
    }
  }
  if (invocation.help) {
    invocation.help = help();
    return make_error(Code::usage, "help was asked for");
  }
  return state_->place(std::move(words));
}

namespace {

/// Columns of a help text.
constexpr std::size_t kHelpWidth = 80;

/// Where `text` is to be cut so that it fits: at the last blank that leaves no word too long, or not at all.
std::size_t cut_at(std::string_view text, std::size_t width) {
  if (text.size() <= width) return text.size();
  const std::size_t blank = text.rfind(' ', width);
  return blank != std::string_view::npos && blank > 0 ? blank : std::min(text.find(' '), text.size());
}

/// The text behind `left`, in lines that begin at column `indent`.
std::string wrapped(std::string left, std::string_view text, std::size_t indent) {
  std::string out;
  while (true) {
    const std::size_t newline = left.rfind('\n');  // what is too long for its column has a line of its own
    const std::size_t column = left.size() - (newline == std::string::npos ? 0 : newline + 1);
    const std::size_t cut = cut_at(text, kHelpWidth > column ? kHelpWidth - column : 1);
    out += left;
    out += text.substr(0, cut);
    out += '\n';
    if (cut >= text.size()) return out;
    text.remove_prefix(cut + 1);
    left = std::string(indent, ' ');
  }
}

/// Paragraphs are wrapped, lines that begin with blanks are as they are; ends with one newline.
std::string footer_text(std::string_view footer) {
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped("", std::exchange(paragraph, {}), 0);
  };
  while (footer.ends_with('\n')) footer.remove_suffix(1);
  while (!footer.empty()) {
    const std::size_t end = std::min(footer.find('\n'), footer.size());
    const std::string_view line = footer.substr(0, end);
    if (line.empty() || line.starts_with(' ')) {
      end_paragraph();
      out.append(line).append("\n");
    } else {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
    }
    footer.remove_prefix(std::min(end + 1, footer.size()));
  }
  end_paragraph();
  return out;
}

}  // namespace

std::string Options::help() const {
  std::string out = "usage: weft " + state_->name;
  if (!state_->options.empty()) out += " [OPTIONS]";
  for (const auto& positional : state_->positionals) {
    const std::string shown = positional.name + (positional.many != nullptr ? "..." : "");
    out += positional.required ? " " + shown : " [" + shown + "]";
  }
  out += "\n\n" + wrapped("", state_->summary, 0);
  if (!state_->positionals.empty()) {
    out += "\narguments:\n";
    for (const auto& positional : state_->positionals) {
      out += wrapped(pad("  " + positional.name, kHelpColumn), positional.help, kHelpColumn);
    }
  }
  if (!state_->options.empty()) {
    out += "\noptions:\n";
    for (const auto& option : state_->options) {
      out +=
          wrapped(pad(option_left(option.letter, option.name, option.metavar), kHelpColumn), option.help, kHelpColumn);
    }
  }
  out += "\n";
  out += common_help();
  if (!state_->footer.empty()) out += "\n" + footer_text(state_->footer);
  return out;
}

}  // namespace weft::cli
