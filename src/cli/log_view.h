// How `log` shows a change: whole, one line, by a template, beside a graph, or as JSON.
// Threading: one thread.
#pragma once

#include <optional>

#include "cli/format.h"
#include "cli/graph.h"
#include "cli/log_source.h"
#include "cli/output.h"
#include "cli/patch.h"
#include "cli/session.h"

namespace weft::cli {

struct LogView {
  bool graph = false, oneline = false;
  bool each_parent = false;  ///< -m: merges are compared with each of their parents
  std::optional<ChangeFormat> format;
  std::optional<PatchOptions> patch;  ///< absent: what changes did is not shown
};

class LogPrinter {
 public:
  /// `snapshot` must outlive it.
  LogPrinter(Invocation& invocation, const store::Snapshot& snapshot, RefNames names, LogView view);
  Result<void> print_entry(const LogEntry& entry);
  void finish();

 private:
  bool one_line() const;
  Result<std::string> heading(const LogEntry& entry, const object::Change& change);
  Result<void> add_patches(const LogEntry& entry, const object::Change& change, std::string& text);

  Invocation& invocation_;
  const store::Snapshot& snapshot_;
  RefNames names_;
  LogView view_;
  JsonList list_;
  Graph graph_;
  bool any_ = false;
};

}  // namespace weft::cli
