// Stores of every format version there was are read for ever: unpacked, they give the answers stored beside them and
// verify cleanly, without a byte of them being changed; and they can be written to.
//
//   test_compat --make DIRECTORY [WEFT-GIT]
// makes the frozen store of the present version: DIRECTORY/store.tar.gz and DIRECTORY/answers.txt. Only while the
// version is not settled may that be done again.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "base/hash.h"
#include "base/process.h"
#include "made_store.h"
#include "store/store.h"

namespace weft::compat {
namespace {

namespace fs = std::filesystem;
using cli::testing::Machine;

void tar(std::vector<std::string> words) {
  ProcessOptions options;
  options.argv = {"tar"};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  const auto ran = run_process(std::move(options), {}, 1u << 20);
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(ran->status.ok()) << ran->err;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path sources() { return WEFT_COMPAT; }

std::vector<fs::path> frozen() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(sources())) {
    if (entry.is_directory()) found.push_back(entry.path());
  }
  return found;
}

/// Everything in the store but the control block, which is memory.
std::map<std::string, std::string> picture(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const std::string name = fs::relative(entry.path(), directory).string();
    if (name.starts_with("control") || !entry.is_regular_file()) continue;
    files[name] = std::string(sha256(content(entry.path())).hex());
  }
  return files;
}

/// A frozen store on a machine where it was never before.
class Unpacked {
 public:
  explicit Unpacked(const fs::path& from) { tar({"-xzf", from / "store.tar.gz", "-C", machine.dir().path()}); }
  Machine machine;
  std::string store() const { return machine.directory_ + "/.weft"; }
};

TEST(Compat, FrozenStoresGiveTheirAnswers) {
  ASSERT_FALSE(frozen().empty());
  for (const auto& directory : frozen()) {
    SCOPED_TRACE(directory.string());
    Unpacked unpacked(directory);
    const auto before = picture(unpacked.store());
    const auto files_in = [&](std::string_view part) {
      return std::count_if(before.begin(), before.end(),
                           [&](const auto& file) { return file.first.starts_with(part); });
    };
    EXPECT_GT(files_in("log/"), 1) << "there are to be several segments";
    EXPECT_GT(files_in("packs/"), 0);
    std::string answers = ask(unpacked.machine);
    const std::string place = unpacked.machine.dir().path();
    for (std::size_t at; (at = answers.find(place)) != std::string::npos;) answers.replace(at, place.size(), "$DIR");
    const std::string expected = content(directory / "answers.txt");
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(answers, expected);
    EXPECT_EQ(picture(unpacked.store()), before) << "reading changed the store";
  }
}

TEST(Compat, FrozenStoresGoOn) {
  for (const auto& directory : frozen()) {
    SCOPED_TRACE(directory.string());
    Unpacked unpacked(directory);
    unpacked.machine.write("new", "a file of today\n");
    unpacked.machine.ok({"commit", "-m", "Go on", "new"});
    unpacked.machine.ok({"verify", "--deep"});
    unpacked.machine.ok({"undo"});
    unpacked.machine.ok({"repair"});
    unpacked.machine.ok({"verify", "--deep"});
  }
}

int make(const fs::path& directory, const std::string& helper) {
  Machine machine;
  make_store(machine, helper);
  if (testing::Test::HasFailure()) return 1;
  fs::create_directories(directory);
  tar({"--sort=name", "--mtime=@1000000000", "--owner=0", "--group=0", "--numeric-owner", "--exclude=control*", "-C",
       machine.dir().path(), "-czf", directory / "store.tar.gz", "w/.weft"});
  Unpacked unpacked(directory);
  std::string answers = ask(unpacked.machine);
  const std::string place = unpacked.machine.dir().path();
  for (std::size_t at; (at = answers.find(place)) != std::string::npos;) answers.replace(at, place.size(), "$DIR");
  std::ofstream(directory / "answers.txt", std::ios::binary) << answers;
  std::cout << answers.size() << " bytes of answers, " << fs::file_size(directory / "store.tar.gz")
            << " bytes of store\n";
  return testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace
}  // namespace weft::compat

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 2 && std::string_view(argv[1]) == "--make") {
    const std::string beside = std::filesystem::path(WEFT_PROGRAM).parent_path() / "weft-git";
    return weft::compat::make(argv[2], argc > 3 ? argv[3] : beside);
  }
  return RUN_ALL_TESTS();
}
