// How `log` shows a change: whole, one line, beside a graph, or as JSON.
// Threading: one thread.
#pragma once

#include "cli/graph.h"
#include "cli/log_source.h"
#include "cli/output.h"
#include "cli/session.h"

namespace weft::cli {

struct LogView {
  bool graph = false, oneline = false, patch = false, stat = false;
};

class LogPrinter {
 public:
  /// `snapshot` must outlive it.
  LogPrinter(Invocation& invocation, const store::Snapshot& snapshot, RefNames names, const LogView& view);
  Result<void> print_entry(const LogEntry& entry);
  void finish();

 private:
  Invocation& invocation_;
  const store::Snapshot& snapshot_;
  RefNames names_;
  LogView view_;
  JsonList list_;
  Graph graph_;
  bool any_ = false;
};

}  // namespace weft::cli
