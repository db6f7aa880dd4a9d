#include "repo/collect.h"

#include <charconv>

#include "repo/files.h"
#include "repo/settings.h"

namespace weft::repo {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kMaxSeconds = std::int64_t{200} * 365 * 24 * 3600;

struct Unit {
  std::string_view name;
  std::int64_t seconds;
};
constexpr Unit kUnits[] = {{"s", 1},        {"second", 1},    {"seconds", 1}, {"m", 60},         {"minute", 60},
                           {"minutes", 60}, {"h", 3600},      {"hour", 3600}, {"hours", 3600},   {"d", 86'400},
                           {"day", 86'400}, {"days", 86'400}, {"w", 604'800}, {"week", 604'800}, {"weeks", 604'800}};

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0) return std::nullopt;
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty()) return number == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
  for (const auto& known : kUnits) {
    if (unit != known.name) continue;
    if (number > kMaxSeconds / known.seconds) return std::nullopt;
    return number * known.seconds * kSecondNs;
  }
  return std::nullopt;
}

Result<std::int64_t> undo_window_ns(const Repository& repository, const std::optional<std::string>& keep) {
  const std::string text =
      keep ? *keep : Settings::read(repository.context(), repository.store().directory()).text("gc.undo-window");
  if (const auto duration = parse_duration(text)) return *duration;
  return make_error(keep ? Code::usage : Code::invalid, quoted(text) + " is no duration",
                    "a number and a unit, as in `30 days`, `12 hours` or `0`");
}

Result<store::GcReport> collect(const Repository& repository, store::GcOptions options) {
  FileSystem& fs = repository.context().env.fs;
  const std::string directory = join_path(repository.store().directory(), "workspaces");
  // Beside the heads, which are refs: after an undo the files may stand at a version that no ref holds.
  const auto entries = fs.list(directory);
  if (!entries && entries.error().code != Code::not_found) return entries.error();
  if (entries) {
    for (const auto& entry : *entries) {
      if (!entry.name.ends_with(".files")) continue;
      const auto record = read_files_record(fs, join_path(directory, entry.name));
      if (!record) continue;
      const auto add = [&](const Version& version) {
        options.roots.insert(options.roots.end(), version.changes.begin(), version.changes.end());
      };
      add(record->at);
      if (record->towards) add(*record->towards);
    }
  }
  WEFT_TRY(const auto now, repository.store().snapshot());
  return store::gc(now, options);
}

}  // namespace weft::repo
