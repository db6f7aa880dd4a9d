#include "repo/config.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "repo/settings.h"

#define TOML_ENABLE_FORMATTERS 1
#include <toml++/toml.h>

namespace weft::repo {

namespace {

Result<toml::table> parse(ByteView text, std::string_view path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return make_error(Code::invalid,
                      "the configuration " + std::string(path) + " does not parse: line " +
                          std::to_string(error.source().begin.line) + ": " + std::string(error.description()),
                      "correct that line");
  }
}

Result<Bytes> read_text(const Context& context, const std::string& path) {
  auto content = read_file(context.env.fs, path, kMaxConfigBytes);
  if (!content && content.error().code == Code::not_found) return Bytes();
  return content;
}

Error wrong_type(const std::string& path, std::string_view key, std::string_view type) {
  return make_error(Code::invalid,
                    "the configuration " + path + " is off: " + std::string(key) + " must be " + std::string(type));
}

Result<std::string> string_at(const toml::table& table, std::string_view key, const std::string& path) {
  const auto node = table.at_path(key);
  if (!node) return std::string();
  if (const auto value = node.value_exact<std::string>()) return *value;
  return wrong_type(path, key, "a string");
}

void list_into(const toml::table& table, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>& out) {
  for (const auto& [key, node] : table) {
    const std::string name = prefix + std::string(key.str());
    if (const auto* inner = node.as_table()) {
      list_into(*inner, name + ".", out);
    } else if (const auto* text = node.as_string()) {
      out.emplace_back(name, text->get());
    } else {
      std::ostringstream value;
      node.visit([&](const auto& concrete) { value << concrete; });
      out.emplace_back(name, value.str());
    }
  }
}

std::string toml_string(std::string_view value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool is_header(std::string_view line, const std::string& header) {
  if (!line.starts_with(header)) return false;
  const std::string_view rest = trimmed(line.substr(header.size()));
  return rest.empty() || rest.starts_with('#');
}

/// Replaces `name = ...` in `[section]`, or adds it there, or adds the section: by lines, so that comments stay. With
/// nullopt takes the line out; `found` says whether it was there.
Bytes edited(ByteView text, std::string_view section, std::string_view name, const std::optional<std::string>& value,
             bool* found = nullptr) {
  const std::string header = "[" + std::string(section) + "]";
  const std::string line = value ? std::string(name) + " = " + *value + "\n" : std::string();
  Bytes out;
  bool inside = false;
  bool done = false;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    const ByteView whole = text.substr(0, newline == ByteView::npos ? text.size() : newline + 1);
    text.remove_prefix(whole.size());
    const std::string_view content = trimmed(whole);
    if (content.starts_with('[')) inside = is_header(content, header);
    const std::size_t equals = content.find('=');
    const bool matches =
        inside && !done && equals != std::string_view::npos && trimmed(content.substr(0, equals)) == name;
    out += matches ? line : std::string(whole);
    if (!out.empty() && !out.ends_with('\n')) out += '\n';
    if (matches) done = true;
  }
  if (found != nullptr) *found = done;
  if (done || !value) return out;
  // Not there yet: right behind the section's header, or in a new section at the end.
  std::size_t at = 0;
  while (at < out.size()) {
    const std::size_t newline = out.find('\n', at);
    const std::string_view content = trimmed(std::string_view(out).substr(at, newline - at));
    at = newline + 1;
    if (is_header(content, header)) return out.insert(at, line);
  }
  if (!out.empty()) out += '\n';
  return out + header + "\n" + line;
}

struct Key {
  std::string_view section;
  std::string_view name;
};

Result<Key> split_key(std::string_view key) {
  const auto is_bare = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(),
                                        [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; });
  };
  const std::size_t dot = key.rfind('.');
  bool good = dot != std::string_view::npos && is_bare(key.substr(dot + 1));
  for (std::string_view section = key.substr(0, good ? dot : 0); good;) {
    const std::size_t end = std::min(section.find('.'), section.size());
    good = is_bare(section.substr(0, end));
    if (end == section.size()) break;
    section.remove_prefix(end + 1);
  }
  if (!good) {
    return make_error(Code::invalid, quoted(key) + " is no configuration key",
                      "a key is SECTION.NAME, as in user.name");
  }
  return Key{key.substr(0, dot), key.substr(dot + 1)};
}

/// The table a dotted section names, made where it is missing; nullptr where something else stands there.
toml::table* section_in(toml::table& table, std::string_view section) {
  toml::table* at = &table;
  while (!section.empty()) {
    const std::size_t dot = std::min(section.find('.'), section.size());
    at = at->insert(section.substr(0, dot), toml::table()).first->second.as_table();
    if (at == nullptr) return nullptr;
    section.remove_prefix(std::min(dot + 1, section.size()));
  }
  return at;
}

Error not_editable(std::string_view key) {
  return make_error(Code::refused, std::string(key) + " stands in the file in a way that cannot be edited line by line",
                    "edit the file by hand");
}

}  // namespace

std::string user_config_path(const Context& context) {
  const auto& environment = context.environment;
  if (const auto xdg = environment.find("XDG_CONFIG_HOME"); xdg != environment.end() && !xdg->second.empty()) {
    return join_path(xdg->second, "weft/config.toml");
  }
  if (const auto home = environment.find("HOME"); home != environment.end() && !home->second.empty()) {
    return join_path(home->second, ".config/weft/config.toml");
  }
  return {};
}

Result<UserConfig> read_user_config(const Context& context) {
  UserConfig config;
  const std::string path = user_config_path(context);
  if (path.empty()) return config;
  WEFT_TRY(const Bytes text, read_text(context, path));
  if (text.empty()) return config;
  WEFT_TRY(const toml::table table, parse(text, path));
  WEFT_TRY(config.user_name, string_at(table, "user.name", path));
  WEFT_TRY(config.user_email, string_at(table, "user.email", path));
  const auto take_list = [&](std::string_view key, std::vector<std::string>& out) -> Result<void> {
    const auto node = table.at_path(key);
    if (!node) return {};
    const auto* list = node.as_array();
    if (list == nullptr) return wrong_type(path, key, "a list of strings");
    for (const auto& element : *list) {
      const auto value = element.value_exact<std::string>();
      if (!value) return wrong_type(path, key, "a list of strings");
      out.push_back(*value);
    }
    return {};
  };
  WEFT_DO(take_list("safe.stores", config.safe_stores));
  WEFT_DO(take_list("safe.network", config.safe_network));
  return config;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_config_text(ByteView text, std::string_view path) {
  WEFT_TRY(const toml::table table, parse(text, path));
  std::vector<std::pair<std::string, std::string>> out;
  list_into(table, "", out);
  return out;
}

Result<std::vector<std::pair<std::string, std::string>>> list_user_config(const Context& context) {
  const std::string path = user_config_path(context);
  if (path.empty()) return std::vector<std::pair<std::string, std::string>>();
  WEFT_TRY(const Bytes text, read_text(context, path));
  return parse_config_text(text, path);
}

Result<Bytes> edit_config_text(ByteView text, std::string_view key, std::string_view value) {
  WEFT_TRY(const Key parts, split_key(key));
  if (!is_utf8(value)) return make_error(Code::invalid, "the value of " + std::string(key) + " is not UTF-8");
  WEFT_TRY(toml::table before, parse(text, "configuration"));
  const Setting* setting = find_setting(key);
  std::string literal = setting != nullptr ? toml_literal(*setting, value) : toml_string(value);
  if (setting != nullptr && setting->type == SettingType::list) {
    literal.clear();
    if (const auto* list = before.at_path(key).as_array()) {
      for (const auto& element : *list) {
        const auto present = element.value_exact<std::string>();
        if (present && *present != value) literal += toml_string(*present) + ", ";
      }
    }
    literal = "[" + literal + toml_string(value) + "]";
  }
  Bytes out = edited(text, parts.section, parts.name, literal);
  // The line editor knows nothing of TOML's other notations (dotted keys, inline tables, values over several lines):
  // the result counts only if it says what was asked and leaves everything else as it was.
  auto after = parse(out, "configuration");
  if (!after) return not_editable(key);
  const auto wanted = parse("v = " + literal, "value");
  if (!wanted) return not_editable(key);
  toml::table expected = before;
  auto* section = section_in(expected, parts.section);
  if (section == nullptr) return not_editable(key);
  wanted->at_path("v").visit([&](const auto& concrete) { section->insert_or_assign(parts.name, concrete); });
  if (expected != *after) return not_editable(key);
  return out;
}

Result<std::optional<Bytes>> unset_config_text(ByteView text, std::string_view key) {
  WEFT_TRY(const Key parts, split_key(key));
  WEFT_TRY(const toml::table before, parse(text, "configuration"));
  if (!before.at_path(key)) return std::optional<Bytes>();
  bool found = false;
  Bytes out = edited(text, parts.section, parts.name, std::nullopt, &found);
  auto after = parse(out, "configuration");
  if (!found || !after) return not_editable(key);
  toml::table expected = before;
  auto* section = section_in(expected, parts.section);
  if (section == nullptr) return not_editable(key);
  section->erase(parts.name);
  if (expected != *after) return not_editable(key);
  return std::optional(std::move(out));
}

std::string toml_literal(const Setting& setting, std::string_view value) {
  const bool digits =
      !value.empty() && std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (setting.type == SettingType::boolean) return std::string(value);
  // A leading zero is no TOML number.
  const bool number = setting.type == SettingType::integer || setting.type == SettingType::size;
  if (number && digits && (value.size() == 1 || value[0] != '0')) return std::string(value);
  return toml_string(value);
}

Result<std::vector<std::pair<std::string, RawValue>>> parse_setting_values(ByteView text, std::string_view path) {
  WEFT_TRY(const toml::table table, parse(text, path));
  std::vector<std::pair<std::string, std::string>> plain;
  list_into(table, "", plain);
  std::vector<std::pair<std::string, RawValue>> out;
  for (auto& [key, value] : plain) {
    RawValue raw{std::move(value), std::nullopt};
    if (const auto* array = table.at_path(key).as_array()) {
      std::vector<std::string> list;
      bool strings = true;
      for (const auto& element : *array) {
        const auto each = element.value_exact<std::string>();
        strings = strings && each.has_value();
        if (each) list.push_back(*each);
      }
      if (strings) raw.list = std::move(list);
    }
    out.emplace_back(std::move(key), std::move(raw));
  }
  return out;
}

Result<bool> write_setting(const Context& context, const std::string& store_directory, std::string_view key,
                           const std::optional<std::string>& value) {
  const Setting* setting = find_setting(key);
  if (setting == nullptr) return unknown_setting(key);
  if (!store_directory.empty() && !setting->in_store) {
    return make_error(Code::refused, std::string(key) + " cannot be set for a store, only for you",
                      "leave out --store");
  }
  std::string checked;
  if (value) {
    WEFT_TRY(checked, check_setting(*setting, key, *value));
  }
  const std::string path = settings_path(context, store_directory);
  if (path.empty()) {
    return make_error(Code::refused, "there is no place for the configuration: neither HOME nor XDG_CONFIG_HOME is set",
                      "set HOME");
  }
  WEFT_TRY(const Bytes text, read_text(context, path));
  WEFT_DO(parse(text, path));  // an error that names the file
  Bytes after;
  if (value) {
    WEFT_TRY(after, edit_config_text(text, key, checked));
  } else {
    WEFT_TRY(auto without, unset_config_text(text, key));
    if (!without) return false;
    after = *std::move(without);
  }
  FileSystem& fs = context.env.fs;
  if (store_directory.empty()) WEFT_DO(make_directories(fs, parent_path(path)));
  WEFT_DO(write_file_durably(fs, path, after));
  return true;
}

Result<void> set_user_config(const Context& context, std::string_view key, std::string_view value) {
  WEFT_DO(write_setting(context, {}, key, std::string(value)));
  return {};
}

}  // namespace weft::repo
