#include "base/testing/temp_dir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace weft {
namespace {

TEST(TempDir, RemovesItselfAndNothingElse) {  // T1
  TempDir outside;
  std::ofstream(outside / "kept") << "x";
  std::string path;
  {
    TempDir inside;
    path = inside.path();
    ASSERT_TRUE(std::filesystem::is_directory(path));
    std::filesystem::create_directories(inside / "a/b");
    std::ofstream(inside / "a/b/file") << "x";
    std::filesystem::create_symlink(outside.path(), inside / "a/link");
    std::filesystem::permissions(inside / "a/b", std::filesystem::perms::none);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(outside / "kept")) << "removal followed a link";
}

TEST(TempDir, LeavesADirectoryThatTookItsPlace) {  // T1
  std::string path;
  {
    TempDir inside;
    path = inside.path();
    // Another directory under the same name; the first must live on, or its inode could be used again.
    std::filesystem::rename(path, path + "-moved");
    std::filesystem::create_directory(path);
    std::ofstream(path + "/kept") << "x";
  }
  EXPECT_TRUE(std::filesystem::exists(path + "/kept"));
  std::filesystem::remove(path + "/kept");
  std::filesystem::remove(path);
  std::filesystem::remove(path + "-moved");
}

}  // namespace
}  // namespace weft
