#include "git/colocate.h"

#include <csignal>

#include "git/helper_process.h"

namespace weft::git {
namespace {

constexpr std::string_view kPattern = "/.weft";
constexpr std::uint64_t kMaxExcludeBytes = 16u << 20;

bool has_line(std::string_view text, std::string_view wanted) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (text.substr(0, end) == wanted) return true;
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

Result<RepositoryFacts> look_at(const std::string& path, const std::string& helper) {
  WEFT_TRY(Process process, start_helper(helper, {"import", path}));
  Conversation conversation([&process](std::span<char> buffer) { return process.read(buffer); },
                            [&process](ByteView bytes) { return process.write(bytes); });
  auto facts = conversation.read_facts();
  if (!facts) return explain(process, facts.error());
  // Nothing was asked of it, and nothing is.
  process.send_signal(SIGKILL);
  WEFT_TRY(const ExitStatus status, process.wait());
  (void)status;
  if (facts->sparse) {
    return make_error(Code::unsupported,
                      "its work tree is a sparse checkout: the files left out of it would count as deleted",
                      "git sparse-checkout disable brings them");
  }
  return facts;
}

Result<void> exclude_store(FileSystem& fs, const std::string& git_directory) {
  const std::string info = join_path(git_directory, "info");
  const std::string file = join_path(info, "exclude");
  Bytes content;
  auto now = read_file(fs, file, kMaxExcludeBytes);
  if (now) {
    content = *std::move(now);
  } else if (now.error().code != Code::not_found) {
    return now.error();
  } else {
    const auto made = fs.make_directory(info);
    if (!made && made.error().code != Code::exists) return made.error();
  }
  if (has_line(content, kPattern)) return {};
  if (!content.empty() && !content.ends_with('\n')) content += '\n';
  content += kPattern;
  content += '\n';
  return write_file_durably(fs, file, content);
}

}  // namespace weft::git
