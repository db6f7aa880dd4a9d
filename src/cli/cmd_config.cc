// config: the user's configuration.
#include "cli/output.h"
#include "repo/config.h"

namespace weft::cli {

Result<int> cmd_config_set(Invocation& invocation) {
  std::string key;
  std::string value;
  Options options("config set", "Sets a value in your configuration (not in a store).");
  options.positional("KEY", key, "user.name, user.email, safe.stores", true);
  options.positional("VALUE", value, "the value; for safe.stores added to the list", true);
  WEFT_DO(options.parse(invocation));

  WEFT_DO(repo::set_user_config(invocation.context, key, value));
  if (wants_json(invocation)) {
    emit(invocation,
         Json::object().set("file", repo::user_config_path(invocation.context)).set("key", key).set("value", value));
  }
  return 0;
}

Result<int> cmd_config_list(Invocation& invocation) {
  Options options("config list", "Lists your configuration.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto values, repo::list_user_config(invocation.context));
  if (wants_json(invocation)) {
    JsonList list(invocation, "values");
    for (const auto& [key, value] : values) list.add(Json::object().set("key", key).set("value", value));
    list.finish(Json::object().set("file", repo::user_config_path(invocation.context)));
    return 0;
  }
  for (const auto& [key, value] : values) print(invocation, key + " = " + value + std::string(line_end(invocation)));
  return 0;
}

}  // namespace weft::cli
