// Results as JSON (every round, for later plots) and as a Markdown table (medians, min to max, ratios side by side).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "measure.h"

namespace weft::bench {

struct Column {
  std::string metric;
  std::string title;
  int digits = 0;
};

struct SuiteResult {
  std::string id;     ///< "bw2a"
  std::string title;  ///< one sentence
  std::string key;    ///< the metric compared
  bool higher_is_better = true;
  std::vector<Column> columns;          ///< shown beside the key
  std::vector<std::string> contenders;  ///< in the order they ran
  std::map<std::string, std::vector<Metrics>> rounds;
  std::map<std::string, std::string> errors;
  std::uint32_t flush_delay_us = 0;
  DiskProbe before, after;
};

struct Report {
  std::string name;
  std::string command;
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> settings;  ///< contender -> Contender::settings()
  std::vector<SuiteResult> suites;
};

std::string to_markdown(const SuiteResult& suite);
/// `directory`/NAME.json and NAME.md.
void write_report(const Report& report, const std::string& directory);

}  // namespace weft::bench
