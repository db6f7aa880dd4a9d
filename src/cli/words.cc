#include "cli/words.h"

#include <algorithm>
#include <optional>

#include "cli/output.h"
#include "cli/text.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

Result<bool> path_exists(const repo::Repository& repository, const store::Snapshot& snapshot,
                         const std::string& typed) {
  const auto path = repository.repo_path(typed);
  if (!path) return false;
  const std::string host = typed.starts_with('/') ? typed : join_path(repository.context().directory, typed);
  if (repository.context().env.fs.status(host)) return true;
  if (!repository.workspace()) return false;
  WEFT_TRY(const auto root, repo::tree_of(snapshot, repository.workspace()->head));
  WEFT_TRY(const auto entry, tree::find_path(snapshot, root, *path));
  return entry.has_value();
}

/// Appends what `word` names; an error when it names no version.
Result<void> add_version(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                         const std::string& word, std::vector<Words::Named>& versions) {
  if (const std::size_t dots = word.find(".."); dots != std::string::npos) {
    const bool since_fork = word.substr(dots).starts_with("...");
    const std::string from = word.substr(0, dots), to = word.substr(dots + (since_fork ? 3 : 2));
    WEFT_TRY(auto first, resolve(invocation, repository, snapshot, from.empty() ? "@" : from));
    WEFT_TRY(auto second, resolve(invocation, repository, snapshot, to.empty() ? "@" : to));
    versions.push_back({from, std::move(first), true, since_fork});
    versions.push_back({to, std::move(second)});
    return {};
  }
  WEFT_TRY(auto resolved, resolve(invocation, repository, snapshot, word));
  versions.push_back({word, std::move(resolved)});
  return {};
}

/// Nothing is called so, as against a version that is not there: `main@{99}`, the parent of the first change.
bool names_nothing(const Error& error) {
  return error.code == Code::not_found && std::any_of(error.details.begin(), error.details.end(),
                                                      [](const auto& each) { return each.first == "version"; });
}

}  // namespace

Result<Words> sort_words(Invocation& invocation, const repo::Repository& repository, const store::Snapshot& snapshot,
                         const TypedWords& typed) {
  Words out;
  std::vector<std::string> paths = typed.behind_dashes;
  if (typed.dashes) {
    for (const auto& word : typed.words) WEFT_DO(add_version(invocation, repository, snapshot, word, out.versions));
  } else {
    for (const auto& word : typed.words) {
      std::string meant;         // a ref by a shorter name
      std::optional<Error> why;  // it would be a version, but for this
      if (paths.empty()) {
        const bool only_path = word == "." || word == ".." || word.starts_with("./") || word.starts_with("../");
        auto named = only_path ? Result<void>(make_error(Code::not_found, ""))
                               : add_version(invocation, repository, snapshot, word, out.versions);
        if (named) {
          WEFT_TRY(const bool also_path, path_exists(repository, snapshot, word));
          if (also_path)
            notice(invocation, quoted_always(word) + " is taken as a version; for the path, put `--` in front");
          continue;
        }
        if (named.error().code == Code::ambiguous || named.error().code == Code::damaged)
          return std::move(named).error();
        if (named.error().hint.starts_with("did you mean")) meant = named.error().hint;
        if (!only_path && !names_nothing(named.error())) why = std::move(named).error();
      }
      WEFT_TRY(const bool exists, path_exists(repository, snapshot, word));
      if (!exists) {
        if (why) return *std::move(why);
        return make_error(
                   Code::not_found, quoted_always(word) + " names neither a version nor a path here",
                   !meant.empty()
                       ? meant
                       : "`weft ref list` and `weft log` show versions; put `--` in front of a path that is gone")
            .with("word", word);
      }
      paths.push_back(word);
    }
  }
  for (const auto& path : paths) {
    WEFT_TRY(auto inside, repository.repo_path(path));
    out.paths.push_back(std::move(inside));
  }
  return out;
}

}  // namespace weft::cli
