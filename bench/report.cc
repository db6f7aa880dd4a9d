#include "report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace weft::bench {
namespace {

struct Spread {
  double low = 0, middle = 0, high = 0;
  bool any = false;
};

Spread spread_of(const SuiteResult& suite, const std::string& contender, const std::string& metric) {
  std::vector<double> values;
  if (const auto rounds = suite.rounds.find(contender); rounds != suite.rounds.end()) {
    for (const Metrics& round : rounds->second) {
      if (const auto found = round.find(metric); found != round.end()) values.push_back(found->second);
    }
  }
  if (values.empty()) return {};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {*low, median(values), *high, true};
}

/// With thousands separators.
std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  const std::string_view plain = text;
  const std::size_t end = std::min(plain.find('.'), plain.size());
  const std::size_t first = plain.starts_with('-') ? 1 : 0;
  std::string out;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > first && i < end && (end - i) % 3 == 0) out += ',';
    out += plain[i];
  }
  return out;
}

int key_digits(double value) { return value >= 100 ? 0 : value >= 10 ? 1 : 2; }

/// How many times better `mine` is than `other`.
std::string ratio(const SuiteResult& suite, const Spread& mine, const Spread& other) {
  const double above = suite.higher_is_better ? mine.middle : other.middle;
  const double below = suite.higher_is_better ? other.middle : mine.middle;
  if (!mine.any || !other.any || below <= 0) return "";
  std::string text = number(above / below, above / below >= 10 ? 1 : 2);
  text += 'x';
  return text;
}

nlohmann::ordered_json json_of(const Report& report) {
  nlohmann::ordered_json root;
  root["name"] = report.name;
  root["command"] = report.command;
  root["machine"] = report.facts;
  root["settings"] = report.settings;
  for (const SuiteResult& suite : report.suites) {
    nlohmann::ordered_json one;
    one["id"] = suite.id;
    one["title"] = suite.title;
    one["key"] = suite.key;
    one["higher_is_better"] = suite.higher_is_better;
    one["flush_delay_us"] = suite.flush_delay_us;
    one["fdatasync_probe_us"] = {{"overwrite_before", suite.before.overwrite_us},
                                 {"overwrite_after", suite.after.overwrite_us},
                                 {"grow_before", suite.before.grow_us},
                                 {"grow_after", suite.after.grow_us}};
    one["contenders"] = suite.contenders;
    one["rounds"] = suite.rounds;
    one["errors"] = suite.errors;
    for (const std::string& contender : suite.contenders) {
      const Spread spread = spread_of(suite, contender, suite.key);
      if (spread.any) {
        one["summary"][contender] = {{"min", spread.low}, {"median", spread.middle}, {"max", spread.high}};
      }
    }
    root["suites"].push_back(std::move(one));
  }
  return root;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace

std::string to_markdown(const SuiteResult& suite) {
  std::string out = "### " + suite.id;
  if (suite.flush_delay_us) out += ", flushes slowed by " + number(suite.flush_delay_us / 1000.0, 0) + " ms";
  out += "\n\n" + suite.title + "\n\n";

  // Compared with weft; while it is not among them, with the best.
  std::string reference;
  for (const std::string& contender : suite.contenders) {
    if (contender.rfind("weft", 0) == 0 && spread_of(suite, contender, suite.key).any) {
      reference = contender;
      break;
    }
  }
  const bool against_best = reference.empty();
  if (against_best) {
    for (const std::string& contender : suite.contenders) {
      const Spread spread = spread_of(suite, contender, suite.key);
      const Spread best = spread_of(suite, reference, suite.key);
      if (spread.any &&
          (!best.any || (suite.higher_is_better ? spread.middle > best.middle : spread.middle < best.middle))) {
        reference = contender;
      }
    }
  }
  out += "| | " + suite.key + " | min to max | " + (against_best ? reference : "weft") + " is better by |";
  for (const Column& column : suite.columns) out += " " + column.title + " |";
  out += "\n|---|---:|---:|---:|";
  for (std::size_t i = 0; i < suite.columns.size(); ++i) out += "---:|";
  out += "\n";
  const Spread mine = spread_of(suite, reference, suite.key);
  for (const std::string& contender : suite.contenders) {
    if (const auto error = suite.errors.find(contender); error != suite.errors.end()) {
      out += "| " + contender + " | failed: " + error->second + " |\n";
      continue;
    }
    const Spread spread = spread_of(suite, contender, suite.key);
    if (!spread.any) continue;
    const int digits = key_digits(spread.middle);
    out += "| " + contender + " | **" + number(spread.middle, digits) + "** | " + number(spread.low, digits) + " to " +
           number(spread.high, digits) + " | " + (contender == reference ? "" : ratio(suite, mine, spread)) + " |";
    for (const Column& column : suite.columns) {
      const Spread value = spread_of(suite, contender, column.metric);
      out += value.any ? " " + number(value.middle, column.digits) + " |" : " |";
    }
    out += "\n";
  }
  out += "\nfdatasync of 4 KiB, us, before and after: overwriting " + number(suite.before.overwrite_us, 0) + ", " +
         number(suite.after.overwrite_us, 0) + "; growing " + number(suite.before.grow_us, 0) + ", " +
         number(suite.after.grow_us, 0) + ".\n\n";
  return out;
}

void write_report(const Report& report, const std::string& directory) {
  std::filesystem::create_directories(directory);
  std::string text = "# " + report.name + "\n\nMedians of the rounds, which ran interleaved. Made by\n\n```\n" +
                     report.command + "\n```\n\n| machine | |\n|---|---|\n";
  for (const auto& [fact, value] : report.facts) text += "| " + fact + " | " + value + " |\n";
  text += "\n| contender | settings |\n|---|---|\n";
  for (const auto& [contender, settings] : report.settings) text += "| " + contender + " | " + settings + " |\n";
  text += "\n";
  for (const SuiteResult& suite : report.suites) text += to_markdown(suite);
  write_file(directory + "/" + report.name + ".md", text);
  write_file(directory + "/" + report.name + ".json", json_of(report).dump(1, ' ') + "\n");
}

}  // namespace weft::bench
