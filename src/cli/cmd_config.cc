// config: the user's settings, and the few that a store has.
#include <algorithm>

#include "cli/editor.h"
#include "cli/output.h"
#include "cli/text.h"
#include "repo/config.h"

namespace weft::cli {
namespace {

using repo::Settings;

/// Where settings are read from and written to.
struct Place {
  bool store = false;
  std::string directory;  ///< of the store; empty where the caller stands in none
  std::string path;       ///< of the file meant
};

/// `--store` needs a store; without it one is looked for, as its settings hold here, too.
Result<Place> find_place(Invocation& invocation, bool store) {
  Place place;
  place.store = store;
  auto repository = repo::Repository::open_only(invocation.context);
  if (!repository && store) return std::move(repository).error();
  if (repository) place.directory = repository->store().directory();
  place.path = repo::settings_path(invocation.context, store ? place.directory : std::string());
  if (place.path.empty()) {
    return make_error(Code::refused, "there is no place for the configuration: neither HOME nor XDG_CONFIG_HOME is set",
                      "set HOME");
  }
  return place;
}

void tell_problems(Invocation& invocation, const Settings& all) {
  for (const auto& problem : all.problems()) notice(invocation, problem);
  for (const auto& problem : all.unknown()) notice(invocation, problem);
  (void)invocation.look->take_problems();  // the same ones; to show the first has read them
}

std::string_view source_of(const Settings& all, std::string_view key) {
  const auto found = all.values().find(key);
  if (found == all.values().end()) return "default";
  return found->second.from_store ? "store" : "user";
}

}  // namespace

Result<int> cmd_config_get(Invocation& invocation) {
  std::string key;
  Options options("config get", "Prints the value that holds: the store's, yours, or the default.");
  options.positional("KEY", key, "as `weft config list --all` lists them", true);
  options.footer("Exits with 3 when nothing is set and there is no default.");
  WEFT_DO(options.parse(invocation));
  if (repo::find_setting(key) == nullptr) return repo::unknown_setting(key);

  auto repository = repo::Repository::open_only(invocation.context);
  const auto all = Settings::read(invocation.context, repository ? repository->store().directory() : std::string());
  for (const auto& problem : all.problems()) notice(invocation, problem);
  (void)invocation.look->take_problems();
  const std::string value = all.text(key);
  if (!all.is_set(key) && value.empty()) {
    return make_error(Code::not_found, key + " is not set", "`weft config set " + key + " VALUE` sets it");
  }
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("key", key).set("value", value).set("source", source_of(all, key)));
    return 0;
  }
  print(invocation, value + std::string(line_end(invocation)));
  return 0;
}

Result<int> cmd_config_set(Invocation& invocation) {
  std::string key, value;
  bool store = false;
  Options options("config set", "Sets a value in your configuration, or in a store's.");
  options.flag("--store", store, "in this store's, for everybody who works in it");
  options.positional("KEY", key, "as `weft config list --all` lists them", true);
  options.positional("VALUE", value, "the value; for lists (safe.stores) added to them", true);
  WEFT_DO(options.parse(invocation));
  if (repo::find_setting(key) == nullptr) return repo::unknown_setting(key);

  WEFT_TRY(const auto place, find_place(invocation, store));
  WEFT_TRY(const bool written,
           repo::write_setting(invocation.context, store ? place.directory : std::string(), key, value));
  WEFT_CHECK(written);
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("file", place.path).set("key", key).set("value", value));
  }
  return 0;
}

Result<int> cmd_config_unset(Invocation& invocation) {
  std::string key;
  bool store = false;
  Options options("config unset", "Takes a value out of your configuration, or out of a store's.");
  options.flag("--store", store, "out of this store's");
  options.positional("KEY", key, "the key", true);
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto place, find_place(invocation, store));
  WEFT_TRY(const bool removed,
           repo::write_setting(invocation.context, store ? place.directory : std::string(), key, std::nullopt));
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("file", place.path).set("key", key).set("removed", removed));
  } else if (!removed) {
    notice(invocation, key + " is not set in " + quoted(place.path));
  }
  return 0;
}

Result<int> cmd_config_list(Invocation& invocation) {
  bool every = false, store = false;
  Options options("config list", "Lists what is set: by you, and by the store you are in.");
  options.flag("-a,--all", every, "every key there is, with its default and what it is for");
  options.flag("--store", store, "only what this store sets");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto place, find_place(invocation, store));
  const auto all = Settings::read(invocation.context, place.directory);
  tell_problems(invocation, all);
  struct Row {
    std::string key, value;
    std::string_view source, meaning;
  };
  std::vector<Row> rows;
  for (const auto& [key, value] : all.values()) {
    if (store && !value.from_store) continue;
    rows.push_back({key, value.text, source_of(all, key), repo::find_setting(key)->meaning});
  }
  if (every) {
    for (const auto& setting : repo::settings()) {
      if (all.is_set(setting.key) || (store && !setting.in_store)) continue;
      rows.push_back({std::string(setting.key), std::string(setting.fallback), "default", setting.meaning});
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
  }
  if (wants_json(invocation)) {
    JsonList list(invocation, "values");
    for (const auto& row : rows) {
      Json json = Json::object().set("key", row.key).set("value", row.value).set("source", row.source);
      if (every) json.set("meaning", row.meaning);
      list.add(json);
    }
    list.finish(Json::object().set("file", place.path));
    return 0;
  }
  page(invocation);
  for (const auto& row : rows) {
    const bool is_default = row.source == "default";
    std::string line = paint(invocation, is_default ? Style::faint : Style::id, printable(row.key));
    line += is_default && row.value.empty() ? std::string(" (not set)") : " = " + printable(row.value);
    if (every) line += paint(invocation, Style::faint, "  # " + std::string(row.meaning));
    if (row.source == "store" && !store) line += paint(invocation, Style::faint, "  (of the store)");
    print(invocation, line + std::string(line_end(invocation)));
  }
  return 0;
}

Result<int> cmd_config_edit(Invocation& invocation) {
  bool store = false;
  Options options("config edit", "Opens the configuration file in your editor.");
  options.flag("--store", store, "this store's");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto place, find_place(invocation, store));
  FileSystem& fs = invocation.context.env.fs;
  if (!fs.status(place.path)) {
    WEFT_DO(repo::make_directories(fs, parent_path(place.path)));
    WEFT_TRY(const auto file, fs.open(place.path, OpenMode::create));
    WEFT_DO(file->write_at(0, "# `weft config list --all` lists all keys and what they are for.\n"));
  }
  WEFT_DO(run_editor(invocation, place.path));
  const auto all = Settings::read(invocation.context, place.directory);
  tell_problems(invocation, all);
  if (wants_json(invocation)) emit(invocation, Json::object().set("file", place.path));
  return 0;
}

Result<int> cmd_config_path(Invocation& invocation) {
  bool store = false;
  Options options("config path", "Prints where the configuration file is, or would be.");
  options.flag("--store", store, "this store's");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto place, find_place(invocation, store));
  if (wants_json(invocation)) {
    emit(invocation, Json::object().set("file", place.path));
  } else {
    print(invocation, shown_path(invocation, place.path) + std::string(line_end(invocation)));
  }
  return 0;
}

}  // namespace weft::cli
