#include "git/helper/work_tree.h"

#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string_view>

namespace weft::git::helper {
namespace {

constexpr std::size_t kMaxNamed = 4;
constexpr std::size_t kMaxAttributeBytes = 1u << 20;
constexpr std::size_t kMaxWordBytes = 256;

struct FreeIndex {
  void operator()(git_index* index) const { git_index_free(index); }
};
struct FreeConfig {
  void operator()(git_config* config) const { git_config_free(config); }
};
using Index = std::unique_ptr<git_index, FreeIndex>;
using Config = std::unique_ptr<git_config, FreeConfig>;

Index open_index(git_repository* repository) {
  git_index* raw = nullptr;
  if (git_repository_workdir(repository) == nullptr || git_repository_index(&raw, repository) != 0) return nullptr;
  return Index(raw);
}

Config open_config(git_repository* repository) {
  git_config* raw = nullptr;
  if (git_repository_config_snapshot(&raw, repository) != 0) return nullptr;
  return Config(raw);
}

bool has_value(git_config* config, const std::string& name) {
  const char* value = nullptr;
  return git_config_get_string(&value, config, name.c_str()) == 0 && *value != '\0';
}

/// `filter=NAME` counts where the filter is set up: without it git passes the bytes on.
bool converts(git_config* config, std::string_view attribute) {
  if (attribute == "ident" || attribute == "eol=crlf" || attribute.starts_with("working-tree-encoding=")) return true;
  constexpr std::string_view kFilter = "filter=";
  if (!attribute.starts_with(kFilter)) return false;
  const std::string name = "filter." + std::string(attribute.substr(kFilter.size()));
  return has_value(config, name + ".clean") || has_value(config, name + ".smudge") ||
         has_value(config, name + ".process");
}

void collect(git_config* config, const std::string& path, std::set<std::string>& found) {
  std::ifstream file(path);
  std::string line;
  for (std::size_t bytes = 0; std::getline(file, line) && bytes < kMaxAttributeBytes; bytes += line.size() + 1) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word) || word.starts_with('#')) continue;
    while (words >> word) {
      if (found.size() < kMaxNamed && word.size() <= kMaxWordBytes && converts(config, word)) found.insert(word);
    }
  }
}

}  // namespace

bool leaves_files_out(git_repository* repository) {
  const Index index = open_index(repository);
  if (!index) return false;
  const std::string top = git_repository_workdir(repository);
  const std::size_t count = git_index_entrycount(index.get());
  for (std::size_t i = 0; i < count; ++i) {
    const git_index_entry* entry = git_index_get_byindex(index.get(), i);
    struct stat status{};
    // A file that is there all the same is somebody's own version of it, which git was told to look away from.
    if ((entry->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0 &&
        ::lstat((top + entry->path).c_str(), &status) != 0) {
      return true;
    }
  }
  return false;
}

std::string conversions(git_repository* repository) {
  const Index index = open_index(repository);
  const Config config = open_config(repository);
  if (!index || !config) return {};
  std::set<std::string> found;
  int automatic = 0;
  // `input` is no boolean, and changes no file that git writes.
  if (git_config_get_bool(&automatic, config.get(), "core.autocrlf") == 0 && automatic != 0) {
    found.insert("core.autocrlf");
  }
  collect(config.get(), std::string(git_repository_commondir(repository)) + "info/attributes", found);
  const std::string top = git_repository_workdir(repository);
  const std::size_t count = git_index_entrycount(index.get());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view path = git_index_get_byindex(index.get(), i)->path;
    if (path.ends_with(".gitattributes")) collect(config.get(), top + std::string(path), found);
  }
  std::string text;
  for (const auto& each : found) text += (text.empty() ? "" : ", ") + each;
  return text;
}

}  // namespace weft::git::helper
