#include "repo/init.h"

namespace weft::repo {
namespace {

constexpr std::string_view kStoreName = ".weft";
/// A path cannot have more components than this.
constexpr int kMaxLevels = 4096;

}  // namespace

Result<void> check_place_for_store(const Context& context, const std::string& root) {
  FileSystem& fs = context.env.fs;
  const std::string own = join_path(root, kStoreName);
  if (const auto status = fs.status(own); status && status->kind != FileKind::directory) {
    return make_error(Code::refused,
                      quoted(root) + " is a workspace of another store already, or " + quoted(own) + " is in the way",
                      "`weft info` shows the store")
        .with("path", own);
  }
  std::string directory = root;
  for (int level = 0; level < kMaxLevels; ++level) {
    if (base_name(directory) == kStoreName && fs.status(join_path(directory, "format"))) {
      return make_error(Code::refused, quoted(root) + " is inside the store " + quoted(directory),
                        "weft init makes a store beside the files it is for")
          .with("path", directory);
    }
    if (directory != root) {
      const auto status = fs.status(join_path(directory, kStoreName));
      if (status && (status->kind == FileKind::directory || status->kind == FileKind::file)) {
        return make_error(Code::refused, quoted(root) + " is inside the workspace " + quoted(directory),
                          "`weft workspace add NAME` makes another workspace of its store; a store of its own belongs "
                          "outside that workspace")
            .with("path", directory);
      }
    }
    if (directory == "/") break;
    directory = parent_path(directory);
  }
  return {};
}

}  // namespace weft::repo
