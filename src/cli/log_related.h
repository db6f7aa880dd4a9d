// `log --same-as` and `log --children-of`: the changes an index names, instead of those a walk meets.
// Threading: one thread.
#pragma once

#include "cli/log_source.h"
#include "cli/session.h"

namespace weft::cli {

struct LogRelation {
  std::optional<std::string> same_as, children_of;
  bool any() const { return same_as || children_of; }
};

/// Newest first, `shown` where the filter lets them pass. `other_words`: whether versions, paths or --all were given,
/// too.
Result<std::vector<LogEntry>> related_changes(Invocation& invocation, const repo::Repository& repository,
                                              const store::Snapshot& snapshot, const LogRelation& relation,
                                              const LogFilter& filter, bool other_words);

}  // namespace weft::cli
