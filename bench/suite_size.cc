// BW5: bytes on disk, as written by 32 writers and after what a user does to tidy up.
#include <stdexcept>

#include "suites.h"

namespace weft::bench {

SuiteResult run_size_suite(const Options& options) {
  SuiteResult suite;
  suite.id = "bw5";
  const std::uint64_t each =
      std::max<std::uint64_t>(1, options.size_count / static_cast<std::uint64_t>(options.writers));
  suite.title = "Bytes on disk a change: " + std::to_string(each * static_cast<std::uint64_t>(options.writers)) +
                " commits by " + std::to_string(options.writers) +
                " writers, a ref each; then what a user does once: gc, checkpoint or compaction. Beside it " +
                "2,000 commits of one writer, before that.";
  suite.key = "bytes_per_change";
  suite.higher_is_better = false;
  suite.columns = {{"bytes_before", "before tidying"},
                   {"bytes_lone", "one writer, before tidying"},
                   {"settle_seconds", "tidying, s", 1}};
  run_interleaved(options, suite, [&](const Contender& contender, int round) {
    const auto grown = [&](int writers, std::uint64_t count) {
      WriteRun run;
      run.contender = &contender;
      run.writers = writers;
      run.count = count;
      run.directory = fresh_directory(options, "bw5");
      run.seed = options.seed * 100 + static_cast<std::uint64_t>(round);
      in_child([&] { contender.create(run.directory); });
      run_writers(run);
      return run.directory;
    };
    const auto bytes = [](const std::string& directory, std::uint64_t changes) {
      return static_cast<double>(tree_size(directory).allocated) / static_cast<double>(changes);
    };
    constexpr std::uint64_t kLone = 2000;
    Metrics m;
    m["bytes_lone"] = bytes(grown(1, kLone), kLone);
    const std::string directory = grown(options.writers, each);
    const std::uint64_t changes = each * static_cast<std::uint64_t>(options.writers);
    m["bytes_before"] = bytes(directory, changes);
    const std::int64_t start = now_ns();
    in_child([&] { contender.open(directory)->tidy(); });
    m["settle_seconds"] = static_cast<double>(now_ns() - start) / 1e9;
    m["bytes_per_change"] = bytes(directory, changes);
    return m;
  });
  return suite;
}

}  // namespace weft::bench
