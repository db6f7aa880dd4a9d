// The suites of BW (bw.cc runs them by name).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contender.h"
#include "report.h"
#include "runner.h"

namespace weft::bench {

struct Options {
  std::vector<std::unique_ptr<Contender>> contenders;
  std::string directory;  ///< a fresh one; nothing in it is deleted before the end
  int rounds = 3;
  int writers = 32;
  double seconds = 3;
  std::uint64_t count = 10'000;                            ///< BW1
  std::vector<std::uint64_t> records{100'000, 1'000'000};  ///< BW3, BW4
  std::uint64_t size_count = 100'000;                      ///< BW5
  int kills = 20;                                          ///< BW4
  int hogs = 0;                                            ///< busy processes beside the writers
  std::uint64_t seed = 1;
};

/// Round by round, contender by contender (A B A B): `one` returns the metrics, its exception drops that contender.
void run_interleaved(const Options& options, SuiteResult& suite,
                     const std::function<Metrics(const Contender&, int round)>& one);
/// A new directory below options.directory.
std::string fresh_directory(const Options& options, const std::string& name);

SuiteResult run_writers_suite(const Options& options, const std::string& id);  ///< bw1, bw2a, bw2b-ledger, bw2b
/// BW3, BW4 and the loaded size of BW5: loads once per size, then looks up, opens, kills.
std::vector<SuiteResult> run_lookup_suites(const Options& options);
SuiteResult run_size_suite(const Options& options);    ///< bw5
SuiteResult run_reader_suite(const Options& options);  ///< bw6
SuiteResult run_files_suite(const Options& options);   ///< bw7

}  // namespace weft::bench
