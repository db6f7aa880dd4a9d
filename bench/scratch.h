// Where a run keeps its stores: a directory made by mkdtemp and removed at the end, after all rounds, because creates
// are slow for a while after mass deletion on ext4 (do not delete trees between rounds).
#pragma once

#include <string>

namespace weft::bench {

class Scratch {
 public:
  /// Below `parent`; empty: $WEFT_BENCH_DIR, else /var/tmp.
  explicit Scratch(const std::string& parent);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Starts this program again with slow_flush.so, which stands beside the binary, unless it is loaded already.
void start_with_flush_shim(char** argv);
/// The directory of this program's binary.
std::string own_directory();

}  // namespace weft::bench
