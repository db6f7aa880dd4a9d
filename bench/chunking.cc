// What cutting large files into chunks saves and costs: one file after the other is stored, each against what those
// before it left, under several ways of cutting. Prints what each stores, how long it takes, and what it is made of.
//
//   chunking FILE...     the versions of one thing, oldest first
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/hash.h"
#include "object/byte_source.h"
#include "object/chunker.h"
#include "object/record.h"

namespace {

using namespace weft;
using namespace weft::object;

/// What an object costs besides its bytes: record header, entry in a pack's table, in an index run, in a list.
constexpr std::uint64_t kPerChunk = 54 + 41 + 49 + 35;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path) : file_(path, std::ios::binary) {}
  Result<std::size_t> read(std::span<char> out) override {
    file_.read(out.data(), static_cast<std::streamsize>(out.size()));
    return static_cast<std::size_t>(file_.gcount());
  }

 private:
  std::ifstream file_;
};

struct Way {
  std::string name;
  bool fixed = false;
  ChunkSizes sizes;
};

struct KnownChunks {
  std::unordered_set<ObjectId, IdHash> known;
  RecordCodec codec;
};

struct Cost {
  std::uint64_t raw = 0, fresh = 0, packed = 0, chunks = 0, fresh_chunks = 0;
  double cut = 0, all = 0;
};

Cost store(const std::string& path, const Way& way, KnownChunks& stored) {
  Cost cost;
  if (!way.fixed) {  // the cutting by itself
    FileSource source(path);
    Chunker chunker(source, way.sizes);
    const double before = cpu_seconds();
    while (chunker.next().value()) {
    }
    cost.cut = cpu_seconds() - before;
  }
  const double before = cpu_seconds();
  FileSource source(path);
  Sha256 whole;
  const auto put = [&](ByteView bytes) {
    whole.update(bytes);
    cost.raw += bytes.size();
    ++cost.chunks;
    if (!stored.known.insert(sha256(bytes)).second) return;
    ++cost.fresh_chunks;
    cost.fresh += bytes.size();
    cost.packed += stored.codec.pack(bytes).bytes.size() + kPerChunk;
  };
  if (way.fixed) {
    Bytes piece(way.sizes.most, '\0');
    while (const std::size_t got = read_fully(source, piece).value()) put(ByteView(piece).substr(0, got));
  } else {
    Chunker chunker(source, way.sizes);
    while (const auto piece = chunker.next().value()) {
      if (!piece->bytes.empty()) put(piece->bytes);
    }
  }
  (void)whole.finish();
  cost.all = cpu_seconds() - before;
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Way> ways;
  ways.push_back({"fixed 64 KiB", true, {0, 16, 64u << 10}});
  ways.push_back({"fixed 256 KiB", true, {0, 18, 256u << 10}});
  for (const unsigned bits : {14u, 15u, 16u, 17u, 18u}) {
    const std::size_t wanted = std::size_t{1} << bits;
    ways.push_back({"content " + std::to_string(wanted >> 10) + " KiB",
                    false,
                    {wanted / 4, bits, std::min<std::size_t>(wanted * 4, 900u << 10)}});
  }
  std::printf(
      "| way | file | MB read | chunks | new MB | stored MB | new chunks | cutting s | all s "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (const Way& way : ways) {
    KnownChunks stored;
    for (int i = 1; i < argc; ++i) {
      const Cost cost = store(argv[i], way, stored);
      const std::string path = argv[i];
      std::printf("| %s | %s | %.1f | %llu | %.3f | %.3f | %llu | %.2f | %.2f |\n", way.name.c_str(),
                  path.substr(path.rfind('/') + 1).c_str(), static_cast<double>(cost.raw) / 1e6,
                  static_cast<unsigned long long>(cost.chunks), static_cast<double>(cost.fresh) / 1e6,
                  static_cast<double>(cost.packed) / 1e6, static_cast<unsigned long long>(cost.fresh_chunks), cost.cut,
                  cost.all);
      std::fflush(stdout);
    }
  }
  return 0;
}
