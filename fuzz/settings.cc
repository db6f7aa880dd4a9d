// A configuration file: reading it must end, and what `config set` and `config unset` make of it must say exactly that
// and leave everything else as it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "repo/config.h"
#include "repo/settings.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)repo::parse_style(input);
  if (const auto bytes = repo::parse_size(input)) WEFT_CHECK(!input.empty());

  const auto before = repo::parse_setting_values(input, "input");
  const auto value_of = [](ByteView text, std::string_view key) -> std::optional<std::string> {
    const auto values = repo::parse_setting_values(text, "edited");
    WEFT_CHECK(values.has_value());
    for (const auto& [name, value] : *values) {
      if (name == key) return value.text;
    }
    return std::nullopt;
  };
  for (const std::string_view key : {"ui.pager", "ui.colors.added"}) {
    const auto set = repo::edit_config_text(input, key, "a \"b\" \\ #");
    WEFT_CHECK(!set || before.has_value());
    if (!set) continue;
    WEFT_CHECK(value_of(*set, key) == "a \"b\" \\ #");
    const auto unset = repo::unset_config_text(*set, key);
    WEFT_CHECK(unset && *unset && !value_of(**unset, key));
  }
  return 0;
}
