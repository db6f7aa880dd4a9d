#include "repo/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "repo/collect.h"
#include "repo/config.h"
#include "text/closest.h"

namespace weft::repo {
namespace {

using enum SettingType;

constexpr std::size_t kMaxProblems = 100;

constexpr std::string_view kStyleNames =
    "id|ref|head|heading|hunk|added|removed|added-part|removed-part|modified|path|error|hint|notice|faint";

constexpr Setting kSettings[] = {
    {"user.name", text, "", "", false, "your name, for author and committer"},
    {"user.email", text, "", "", false, "your e-mail address"},
    {"safe.stores", list, "", "", false,
     "stores of other users, or directories that hold them, that may be used; `*` for all"},
    {"safe.network", list, "", "", false,
     "stores on network file systems, or directories that hold them, that no other machine uses; `*` for all"},
    {"record.max-new-file-size", size, "50 MiB", "", true, "new files above this are left out of commits; 0: no limit"},
    {"gc.undo-window", text, "30 days", "", true,
     "how long operations can be undone, and what nothing refers to is kept, once `gc` runs"},
    {"ui.color", choice, "auto", "auto|always|never", false, "when to colour; wins over NO_COLOR"},
    {"ui.colors.*", style, "", kStyleNames, false, "how one kind of text looks: `bold red`, `#ff8800`, `none`"},
    {"ui.paginate", choice, "auto", "auto|never", false, "whether long output on a terminal goes through the pager"},
    {"ui.pager", command, "less", "", false, "the pager (PAGER is asked only without it)"},
    {"ui.editor", command, "", "", false, "the editor (VISUAL and EDITOR are asked only without it)"},
    {"ui.diff-tool", command, "", "", false,
     "what `diff --tool` runs: a known name, one of `diff-tools`, or a command with $left and $right"},
    {"ui.merge-tool", command, "", "", false, "what a conflict is to be resolved with"},
    {"ui.conflict-style", choice, "merge", "merge|diff3|zdiff3", true, "how conflicts are marked in files"},
    {"ui.diff-context", integer, "3", "", false, "lines of context around what changed"},
    {"ui.highlight", boolean, "true", "", false, "mark the words that differ within changed lines (in colour only)"},
    {"ui.log-graph", boolean, "false", "", false, "`log` draws the graph unless --no-graph"},
    {"ui.graph-style", choice, "ascii", "ascii|unicode", false, "what the graph is drawn with"},
    {"ui.date-format", text, "iso", "", false,
     "iso, local, relative, short, unix, or a pattern as in `%Y-%m-%d %H:%M`"},
    {"ui.hints", boolean, "true", "", false, "whether hints are shown"},
    {"ui.progress", boolean, "true", "", false, "whether progress is shown on a terminal"},
    {"diff-tools.*", command, "", "", false, "a diff tool of your own: a command with $left and $right"},
};

struct Unit {
  std::string_view name;
  int shift;
};
constexpr Unit kUnits[] = {{"", 0},     {"b", 0},  {"k", 10},  {"kb", 10},  {"kib", 10}, {"m", 20},  {"mb", 20},
                           {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}, {"t", 40},   {"tb", 40}, {"tib", 40}};

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename Number>
bool parse_whole(std::string_view text, Number& number) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// "red" -> "31" (text) or "41" (background); nullopt: no colour.
std::optional<std::string> color_code(std::string_view word, bool background) {
  static constexpr std::string_view kNames[] = {"black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"};
  const std::string prefix = background ? "48" : "38";
  std::string_view plain = word;
  int base = background ? 40 : 30;
  if (plain.starts_with("bright")) {
    plain.remove_prefix(6);
    if (plain.starts_with('-')) plain.remove_prefix(1);
    base += 60;
  }
  for (std::size_t at = 0; at < std::size(kNames); ++at) {
    if (plain == kNames[at]) return std::to_string(base + static_cast<int>(at));
  }
  if (word == "default") return std::to_string(background ? 49 : 39);
  if (unsigned number = 0; parse_whole(word, number) && number <= 255) return prefix + ";5;" + std::to_string(number);
  if (word.size() == 7 && word[0] == '#') {
    std::string out = prefix + ";2";
    for (std::size_t at = 1; at < 7; at += 2) {
      unsigned part = 0;
      const char* const begin = word.data() + at;
      const auto [end, problem] = std::from_chars(begin, begin + 2, part, 16);
      if (problem != std::errc() || end != begin + 2) return std::nullopt;
      out += ";" + std::to_string(part);
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace

std::span<const Setting> settings() { return kSettings; }

const Setting* find_setting(std::string_view key) {
  for (const auto& setting : kSettings) {
    if (setting.key == key && !key.ends_with('*')) return &setting;
    if (!setting.key.ends_with(".*") || !key.starts_with(setting.key.substr(0, setting.key.size() - 1))) continue;
    const std::string_view name = key.substr(setting.key.size() - 1);
    if (name.empty() || name.find('.') != name.npos) continue;
    if (setting.values.empty()) return &setting;
    const auto names = split(setting.values, '|');
    if (std::find(names.begin(), names.end(), name) != names.end()) return &setting;
  }
  return nullptr;
}

Error unknown_setting(std::string_view key) {
  std::vector<std::string> names;
  for (const auto& setting : kSettings) {
    if (!setting.key.ends_with('*')) {
      names.emplace_back(setting.key);
    } else if (!setting.values.empty()) {
      for (const auto name : split(setting.values, '|')) {
        names.push_back(std::string(setting.key.substr(0, setting.key.size() - 1)) + std::string(name));
      }
    }
  }
  std::string hint;
  for (const auto& name : text::closest(key, names)) hint += (hint.empty() ? "did you mean " : " or ") + name;
  return make_error(Code::invalid, quoted(key) + " is no configuration key",
                    hint.empty() ? "`weft config list --all` shows all keys" : hint + "?");
}

std::string allowed_values(const Setting& setting) {
  switch (setting.type) {
    case text:
    case command:
    case list:
      return "text";
    case boolean:
      return "true or false";
    case integer:
      return "a whole number";
    case size:
      return "a size, as in `50 MiB`, or 0 for no limit";
    case choice: {
      std::string out;
      const auto values = split(setting.values, '|');
      for (std::size_t at = 0; at < values.size(); ++at) {
        if (at > 0) out += at + 1 == values.size() ? " or " : ", ";
        out += values[at];
      }
      return out;
    }
    case style:
      return "colours and attributes, as in `bold red`, `#ff8800` or `none`";
  }
  return {};
}

Result<std::string> check_setting(const Setting& setting, std::string_view key, std::string_view value) {
  if (setting.key == "gc.undo-window" && !parse_duration(value)) {
    return make_error(Code::invalid, "gc.undo-window must be a duration, as in `30 days`, `12 hours` or `0`, not \"" +
                                         std::string(value) + '"')
        .with("key", std::string(key));
  }
  bool good = true;
  switch (setting.type) {
    case text:
    case command:
    case list:
      good = is_utf8(value) && value.find('\0') == value.npos;
      break;
    case boolean:
      good = value == "true" || value == "false";
      break;
    case integer: {
      std::int64_t number = 0;
      good = parse_whole(value, number) && number >= 0;
      break;
    }
    case size:
      good = parse_size(value).has_value();
      break;
    case choice: {
      const auto values = split(setting.values, '|');
      good = std::find(values.begin(), values.end(), value) != values.end();
      break;
    }
    case style:
      good = parse_style(value).has_value();
      break;
  }
  if (good) return std::string(value);
  return make_error(Code::invalid,
                    std::string(key) + " must be " + allowed_values(setting) + ", not \"" + std::string(value) + '"',
                    "`weft config list --all` shows what each key is for")
      .with("key", std::string(key));
}

Settings Settings::read(const Context& context, const std::string& store_directory) {
  Settings out;
  const auto from = [&](const std::string& path, bool store) {
    if (path.empty()) return;
    const auto content = read_file(context.env.fs, path, kMaxConfigBytes);
    if (content) {
      out.take(path, *content, store);
    } else if (content.error().code != Code::not_found) {
      out.problems_.push_back(content.error().message);
    }
  };
  from(user_config_path(context), false);
  if (!store_directory.empty()) from(settings_path(context, store_directory), true);
  return out;
}

void Settings::take(const std::string& path, ByteView content, bool store) {
  if (content.empty()) return;
  const auto add_problem = [&](std::string problem) {
    if (problems_.size() < kMaxProblems) problems_.push_back(std::move(problem));
  };
  const auto add_unknown = [&](std::string problem) {
    if (unknown_.size() < kMaxProblems) unknown_.push_back(std::move(problem));
  };
  auto parsed = parse_setting_values(content, path);
  if (!parsed) {
    add_problem(parsed.error().message);
    return;
  }
  for (auto& [key, value] : *parsed) {
    const Setting* setting = find_setting(key);
    if (setting == nullptr) {
      const Error unknown = unknown_setting(key);
      add_unknown(path + ": " + unknown.message +
                  (unknown.hint.starts_with("did you mean") ? "; " + unknown.hint : std::string()));
      continue;
    }
    if (store && !setting->in_store) {
      add_problem(path + ": " + key + " has no effect there: a store cannot set it");
      continue;
    }
    Value kept{{}, {}, store};
    if (setting->type == list) {
      if (!value.list) {
        add_problem(path + ": " + key + " must be a list of strings");
        continue;
      }
      kept.list = std::move(*value.list);
      for (const auto& each : kept.list) kept.text += (kept.text.empty() ? "" : ", ") + each;
    } else {
      const auto checked =
          value.list ? Result<std::string>(make_error(Code::invalid, key + " must be " + allowed_values(*setting)))
                     : check_setting(*setting, key, value.text);
      if (!checked) {
        add_problem(path + ": " + checked.error().message);
        continue;
      }
      kept.text = *checked;
    }
    values_.insert_or_assign(std::move(key), std::move(kept));
  }
}

std::string Settings::text(std::string_view key) const {
  if (const auto found = values_.find(key); found != values_.end()) return found->second.text;
  const Setting* setting = find_setting(key);
  return setting == nullptr ? std::string() : std::string(setting->fallback);
}

std::int64_t Settings::integer(std::string_view key) const {
  std::int64_t number = 0;
  return parse_whole(text(key), number) ? number : 0;
}

std::uint64_t Settings::size(std::string_view key) const { return parse_size(text(key)).value_or(0); }

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc()) return std::nullopt;
  std::string unit;
  for (const char c : text.substr(static_cast<std::size_t>(end - text.data()))) {
    if (c == ' ' && unit.empty()) continue;
    unit += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  for (const auto& known : kUnits) {
    if (unit != known.name) continue;
    if (number > (std::numeric_limits<std::uint64_t>::max() >> known.shift)) return std::nullopt;
    return number << known.shift;
  }
  return std::nullopt;
}

std::optional<std::string> parse_style(std::string_view text) {
  struct Attribute {
    std::string_view name, code;
  };
  static constexpr Attribute kAttributes[] = {{"bold", "1"},      {"dim", "2"},     {"italic", "3"},
                                              {"underline", "4"}, {"reverse", "7"}, {"strike", "9"}};
  if (text == "none" || text == "normal") return std::string();
  std::string out;
  int colors = 0;
  const auto add = [&](std::string_view code) {
    if (!out.empty()) out += ';';
    out += code;
  };
  for (const auto word : split(text, ' ')) {
    if (word.empty()) continue;
    const auto attribute = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                        [&](const Attribute& each) { return each.name == word; });
    if (attribute != std::end(kAttributes)) {
      add(attribute->code);
      continue;
    }
    const auto color = color_code(word, colors == 1);
    if (!color || ++colors > 2) return std::nullopt;
    add(*color);
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string settings_path(const Context& context, const std::string& store_directory) {
  return store_directory.empty() ? user_config_path(context) : join_path(store_directory, "config.toml");
}

}  // namespace weft::repo
