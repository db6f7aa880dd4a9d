// bw: runs the suites of BW and writes results/NAME.json and NAME.md. See README.md.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "scratch.h"
#include "suites.h"

namespace weft::bench {

namespace {

constexpr char kUsage[] =
    "usage: bw [--suite bw1,bw2a,bw2b-ledger,bw2b,bw3,bw5,bw6,bw7] [--name NAME] [--contenders "
    "weft,sqlite,lmdb,rocksdb,redb,fjall,sled]\n"
    "          [--rounds N] [--seconds S] [--writers N] [--count N] [--records N,N] [--size-count N] [--kills N] "
    "[--hogs N] [--seed N]\n"
    "          [--slow-us 0,1000,4000] [--dir DIR] [--results DIR]\n"
    "bw3 includes bw4. --slow-us repeats the writing suites (bw1, bw2*, bw7) with each flush slowed by so much.\n"
    "--name: write DIR/NAME.json and DIR/NAME.md, by default in bench/results; without it nothing is written.\n"
    "--dir: where a fresh directory for the stores is made (default $WEFT_BENCH_DIR, else /var/tmp).\n";

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

int run(int argc, char** argv) {
  Options options;
  std::vector<std::string> suites = {"bw1", "bw2a", "bw2b-ledger", "bw2b", "bw3", "bw5", "bw6", "bw7"};
  std::vector<std::string> contenders = {"weft", "sqlite", "lmdb", "rocksdb", "redb", "fjall", "sled"};
  std::vector<std::uint32_t> delays = {0};
  std::string directory, results = WEFT_BENCH_RESULTS, name;
  Report report;
  for (int i = 0; i < argc; ++i) report.command += (i ? " " : "") + std::string(i ? argv[i] : "bw");
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || i + 1 == argc) {
      std::fputs(kUsage, option == "--help" ? stdout : stderr);
      return option == "--help" ? 0 : 2;
    }
    const std::string value = argv[++i];
    if (option == "--suite") {
      suites = split(value);
    } else if (option == "--name") {
      name = value;
    } else if (option == "--contenders") {
      contenders = split(value);
    } else if (option == "--rounds") {
      options.rounds = std::stoi(value);
    } else if (option == "--seconds") {
      options.seconds = std::stod(value);
    } else if (option == "--writers") {
      options.writers = std::stoi(value);
    } else if (option == "--count") {
      options.count = std::stoull(value);
    } else if (option == "--records") {
      options.records.clear();
      for (const std::string& part : split(value)) options.records.push_back(std::stoull(part));
    } else if (option == "--size-count") {
      options.size_count = std::stoull(value);
    } else if (option == "--kills") {
      options.kills = std::stoi(value);
    } else if (option == "--hogs") {
      options.hogs = std::stoi(value);
    } else if (option == "--seed") {
      options.seed = std::stoull(value);
    } else if (option == "--slow-us") {
      delays.clear();
      for (const std::string& part : split(value)) delays.push_back(static_cast<std::uint32_t>(std::stoul(part)));
    } else if (option == "--dir") {
      directory = value;
    } else if (option == "--results") {
      results = value;
    } else {
      std::fprintf(stderr, "bw: unknown option %s\n%s", option.c_str(), kUsage);
      return 2;
    }
  }
  if (options.rounds < 1 || options.writers < 1 || options.writers > 1000 || options.kills < 1) {
    std::fprintf(stderr, "bw: --rounds, --writers and --kills are at least 1\n");
    return 2;
  }

  start_with_flush_shim(argv);
  for (const std::string& contender : contenders) {
    auto made = make_contender(contender);
    if (!made) {
      std::fprintf(stderr, "bw: %s is not in this build; measuring the others\n", contender.c_str());
      continue;
    }
    report.settings[made->name()] = made->settings();
    options.contenders.push_back(std::move(made));
  }
  const Scratch scratch(directory);
  options.directory = scratch.path();
  report.name = name;
  report.facts = machine_facts(options.directory);
  bool failed = false;
  const auto keep = [&](SuiteResult suite, const DiskProbe& before, std::uint32_t delay) {
    suite.flush_delay_us = delay;
    suite.before = before;
    suite.after = probe_disk(options.directory);
    std::fputs(to_markdown(suite).c_str(), stdout);
    std::fflush(stdout);
    failed |= std::any_of(suite.errors.begin(), suite.errors.end(),
                          [](const auto& error) { return error.second != "not in this build"; });
    report.suites.push_back(std::move(suite));
    if (!name.empty()) write_report(report, results);  // after each suite: an interrupted run keeps what it has
  };
  for (const std::uint32_t delay : delays) {
    set_flush_delay_us(delay);
    for (const std::string& suite : suites) {
      const bool reading = suite == "bw3" || suite == "bw5" || suite == "bw6";
      if (reading && delay != delays.front()) continue;
      const DiskProbe before = probe_disk(options.directory);
      if (suite == "bw3") {
        for (SuiteResult& result : run_lookup_suites(options)) keep(std::move(result), before, delay);
      } else if (suite == "bw5") {
        keep(run_size_suite(options), before, delay);
      } else if (suite == "bw6") {
        keep(run_reader_suite(options), before, delay);
      } else if (suite == "bw7") {
        keep(run_files_suite(options), before, delay);
      } else {
        keep(run_writers_suite(options, suite), before, delay);
      }
    }
  }
  set_flush_delay_us(0);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    return weft::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bw: %s\n", error.what());
    return 1;
  }
}
