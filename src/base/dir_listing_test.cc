#include "base/dir_listing.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/host_dir.h"
#include "base/testing/temp_dir.h"
#include "base/workers.h"

namespace weft {
namespace {

TEST(DirListing, NamesKindsAndInodes) {
  TempDir temp;
  std::filesystem::create_directory(temp / "d");
  std::ofstream(temp / "f") << "x";
  ASSERT_EQ(::symlink("nowhere", (temp / "l").c_str()), 0);
  ASSERT_EQ(::mkfifo((temp / "p").c_str(), 0600), 0);
  const auto directory = HostDir::open(temp.path());
  ASSERT_TRUE(directory.has_value());
  DirListing listing;
  ASSERT_TRUE(listing.read(*directory, DirListing::Descriptor::own).has_value());
  std::vector<std::uint32_t> order;
  listing.sorted(order);
  std::vector<std::string> names;
  std::vector<FileKind> kinds;
  for (const std::uint32_t i : order) {
    names.emplace_back(listing.name(i));
    kinds.push_back(listing[i].kind);
    FileStatus status;
    ASSERT_TRUE(status_of_listed(*directory, listing.name(i).data(), status));
    EXPECT_EQ(status.kind, listing[i].kind);
    EXPECT_EQ(status.inode, listing[i].inode);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"d", "f", "l", "p"}));
  EXPECT_EQ(kinds, (std::vector<FileKind>{FileKind::directory, FileKind::file, FileKind::symlink, FileKind::other}));
  FileStatus status;
  EXPECT_FALSE(status_of_listed(*directory, "gone", status));
  // Again, from the start, whatever others have read.
  ASSERT_TRUE(listing.read(*directory, DirListing::Descriptor::shared).has_value());
  EXPECT_EQ(listing.size(), 4u);
}

TEST(DirListing, ManyNames) {
  TempDir temp;
  constexpr int kMany = 3000;  // more than one buffer
  for (int i = 0; i < kMany; ++i) std::ofstream(temp / ("name of some length " + std::to_string(i)));
  const auto directory = HostDir::open(temp.path());
  DirListing listing;
  ASSERT_TRUE(listing.read(*directory, DirListing::Descriptor::own).has_value());
  std::set<std::string> names;
  for (std::size_t i = 0; i < listing.size(); ++i) names.emplace(listing.name(i));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kMany));
}

TEST(Workers, AllAreCalledAndEndBeforeTheReturn) {
  EXPECT_GE(worker_count(), kMinWorkers);
  EXPECT_LE(worker_count(), kMaxWorkers);
  std::vector<int> called(5, 0);
  run_workers(5, [&](unsigned worker) { called[worker] = 1; });
  EXPECT_EQ(called, (std::vector<int>{1, 1, 1, 1, 1}));
  int alone = 0;
  run_workers(1, [&](unsigned worker) { alone += worker == 0 ? 1 : 100; });
  EXPECT_EQ(alone, 1);
}

}  // namespace
}  // namespace weft
