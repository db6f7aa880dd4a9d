#include "suites.h"

#include <cstdio>
#include <filesystem>
#include <stdexcept>

namespace weft::bench {

std::string fresh_directory(const Options& options, const std::string& name) {
  static int serial = 0;
  const std::string path = options.directory + "/" + name + "-" + std::to_string(serial++);
  if (!std::filesystem::create_directory(path)) throw std::runtime_error("exists: " + path);
  return path;
}

void run_interleaved(const Options& options, SuiteResult& suite,
                     const std::function<Metrics(const Contender&, int round)>& one) {
  for (const auto& contender : options.contenders) suite.contenders.push_back(contender->name());
  for (int round = 0; round < options.rounds; ++round) {
    for (const auto& contender : options.contenders) {
      if (suite.errors.contains(contender->name())) continue;
      try {
        Metrics metrics = one(*contender, round);
        std::fprintf(stderr, "%s round %d %-18s %s %.2f\n", suite.id.c_str(), round + 1, contender->name().c_str(),
                     suite.key.c_str(), metrics[suite.key]);
        suite.rounds[contender->name()].push_back(std::move(metrics));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s round %d %s FAILED: %s\n", suite.id.c_str(), round + 1, contender->name().c_str(),
                     error.what());
        suite.errors[contender->name()] = error.what();
      }
    }
  }
}

}  // namespace weft::bench
