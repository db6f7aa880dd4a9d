#include "work/ignore_sources.h"

#include "work/ignore.h"

namespace weft::work {
namespace {

/// A `.git` or `commondir` file holds one path.
constexpr std::uint64_t kMaxPointerBytes = 16u << 10;

/// `file`'s content without trailing newlines, behind `prefix`, as a path relative to `base`; empty when it is none.
std::string path_in_file(FileSystem& fs, const std::string& file, std::string_view prefix, const std::string& base) {
  const auto content = read_file(fs, file, kMaxPointerBytes);
  if (!content || !content->starts_with(prefix)) return {};
  std::string_view text = ByteView(*content).substr(prefix.size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty() || text.find('\0') != std::string_view::npos) return {};
  return text.starts_with('/') ? std::string(text) : join_path(base, text);
}

}  // namespace

std::string git_common_directory(FileSystem& fs, const std::string& root) {
  std::string git = join_path(root, ".git");
  const auto status = fs.status(git);
  if (!status) return {};
  if (status->kind == FileKind::file) git = path_in_file(fs, git, "gitdir: ", root);
  if (git.empty()) return {};
  const std::string common = path_in_file(fs, join_path(git, "commondir"), "", git);
  return common.empty() ? git : common;
}

std::optional<Bytes> git_exclude_patterns(FileSystem& fs, const std::string& root) {
  const std::string directory = git_common_directory(fs, root);
  if (directory.empty()) return std::nullopt;
  auto content = read_file(fs, join_path(directory, "info/exclude"), kMaxIgnoreFileBytes);
  if (!content) return std::nullopt;
  return *std::move(content);
}

}  // namespace weft::work
