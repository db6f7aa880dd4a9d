// CASES C12: a large sparse file through every command that meets it, in bounded memory; the peak of each process is
// what wait4 says. WEFT_LARGE_BYTES sets its size (`./dev test --full`: 5 GiB).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/testing/temp_dir.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUsualBytes = std::uint64_t{320} << 20;  ///< more than may be in memory
constexpr long kMaxMemoryKiB = 200L << 10;
constexpr std::size_t kPiece = 3u << 20;

std::uint64_t large_bytes() {
  const char* const wanted = std::getenv("WEFT_LARGE_BYTES");
  return wanted == nullptr ? kUsualBytes : std::strtoull(wanted, nullptr, 10);
}

struct Finished {
  int exit_code = -1;
  long peak_kib = 0;
  std::uint64_t output_bytes = 0;
  ObjectId output_hash;
  std::string output;  ///< its beginning
};

class Large : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(work()); }
  fs::path work() const { return fs::path(dir_.path()) / "w"; }

  /// Output is read as it comes and hashed: none of it is kept.
  Finished run(std::vector<std::string> words, const std::string& below = "w") const {
    words.insert(words.begin(), WEFT_PROGRAM);
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<std::string> variables{"HOME=" + dir_.path(), "WEFT_AUTHOR=Ann <ann@example.org>",
                                       "PATH=/usr/bin:/bin"};
    std::vector<char*> environment;
    for (auto& variable : variables) environment.push_back(variable.data());
    environment.push_back(nullptr);
    int pipe_ends[2];
    EXPECT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
    const std::string directory = fs::path(dir_.path()) / below;
    const pid_t child = ::fork();
    if (child == 0) {
      if (::chdir(directory.c_str()) != 0 || ::dup2(pipe_ends[1], 1) < 0 || ::dup2(pipe_ends[1], 2) < 0) ::_exit(126);
      ::execve(arguments[0], arguments.data(), environment.data());
      ::_exit(127);
    }
    ::close(pipe_ends[1]);
    Finished result;
    Sha256 hash;
    std::vector<char> piece(256u << 10);
    for (;;) {
      const ssize_t got = ::read(pipe_ends[0], piece.data(), piece.size());
      if (got <= 0) break;
      const ByteView bytes(piece.data(), static_cast<std::size_t>(got));
      hash.update(bytes);
      result.output_bytes += bytes.size();
      if (result.output.size() < 4096) result.output += bytes.substr(0, 4096);
    }
    ::close(pipe_ends[0]);
    result.output_hash = hash.finish();
    int status = 0;
    rusage usage{};
    EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.peak_kib = usage.ru_maxrss;
    return result;
  }
  Finished must(const std::vector<std::string>& words, const std::string& below = "w") const {
    Finished done = run(words, below);
    std::string line;
    for (const auto& word : words) line += word + " ";
    EXPECT_EQ(done.exit_code, 0) << line << done.output;
    EXPECT_LE(done.peak_kib, kMaxMemoryKiB) << line;
    std::printf("%-60s %7ld KiB\n", line.c_str(), done.peak_kib);
    return done;
  }
  static std::uint64_t on_disk(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  std::uint64_t store_bytes() const {
    std::uint64_t total = 0;
    for (const auto& entry : fs::recursive_directory_iterator(work() / ".weft")) {
      if (entry.is_regular_file()) total += on_disk(entry.path());
    }
    return total;
  }
  static std::string noise(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::string out(kPiece, '\0');
    for (char& byte : out) byte = static_cast<char>(random());
    return out;
  }
  /// Noise at its beginning, its middle and its end; holes between.
  void write_sparse(std::uint64_t seed) const {
    std::fstream file(work() / "large", std::ios::binary | std::ios::in | std::ios::out | std::ios::trunc);
    const std::string piece = noise(seed);
    file << piece;
    file.seekp(static_cast<std::streamoff>(large_bytes() / 2 + 12'345));
    file << piece;
    file.seekp(static_cast<std::streamoff>(large_bytes() - kPiece));
    file << piece;
  }
  ObjectId expected(std::uint64_t seed) const {
    const std::string piece = noise(seed);
    Sha256 hash;
    const auto zeros = [&](std::uint64_t count) {
      static const std::string kZeros(1u << 20, '\0');
      for (; count > 0; count -= std::min<std::uint64_t>(count, kZeros.size())) {
        hash.update(ByteView(kZeros).substr(0, std::min<std::uint64_t>(count, kZeros.size())));
      }
    };
    const std::uint64_t middle = large_bytes() / 2 + 12'345;
    hash.update(piece);
    zeros(middle - kPiece);
    hash.update(piece);
    zeros(large_bytes() - kPiece - middle - kPiece);
    hash.update(piece);
    return hash.finish();
  }
  TempDir dir_;
};

TEST_F(Large, C12ASparseFileThroughEveryCommandInBoundedMemory) {
  must({"init"});
  write_sparse(1);
  std::ofstream(work() / "small") << "small\n";
  must({"status"});
  must({"commit", "--max-new-file-size", "0", "-m", "large"});
  EXPECT_LT(store_bytes(), 16u << 20);  // the noise once, no zeros
  const Finished cat = must({"cat", "large"});
  EXPECT_EQ(cat.output_bytes, large_bytes());
  EXPECT_EQ(cat.output_hash, expected(1));
  must({"verify"});
  must({"verify", "--deep"});
  must({"status"});

  // One byte in the middle: what changed is stored.
  const std::uint64_t before = store_bytes();
  {
    std::fstream file(work() / "large", std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(large_bytes() / 2 + 20'000));
    file << '!';
  }
  must({"status"});
  must({"diff"});
  must({"commit", "-m", "one byte"});
  EXPECT_LT(store_bytes() - before, 2u << 20);
  must({"show"});
  must({"log", "-n", "2"});

  must({"workspace", "add", "other"});
  EXPECT_EQ(fs::file_size(fs::path(dir_.path()) / "other" / "large"), large_bytes());
  EXPECT_LT(on_disk(fs::path(dir_.path()) / "other" / "large"), 4 * kPiece);  // sparse again
  must({"undo"});
  must({"rm", "large"});
  EXPECT_FALSE(fs::exists(work() / "large"));
  must({"undo"});
  EXPECT_EQ(fs::file_size(work() / "large"), large_bytes());
  EXPECT_LT(on_disk(work() / "large"), 4 * kPiece);
  fs::remove(work() / "large");
  must({"restore", "large"});
  EXPECT_EQ(fs::file_size(work() / "large"), large_bytes());
  must({"status"});
}

}  // namespace
}  // namespace weft
