// What no change may hold (change.h, check_change).
#include <algorithm>

#include <fmt/format.h>

#include "object/change.h"

namespace weft::object {

namespace {

/// Empty when the op is fine. A std::string because the words name the part at fault.
class OpCheck {
 public:
  std::string operator()(const op::Create& create) const {
    if (create.node.is_zero()) return "creates the root";
    if (auto problem = of_place(create.place); !problem.empty()) return problem;
    TreeEntry entry{create.place.name, create.kind, create.mode, create.node, create.blob, create.size};
    if (const auto problem = entry_problem(entry); !problem.empty()) {
      return fmt::format("creates what no directory can hold: it {}", problem);
    }
    if ((create.kind == EntryKind::directory) != create.blob.is_zero()) {
      return create.kind == EntryKind::directory ? "creates a directory with content"
                                                 : "creates a file without content";
    }
    if (create.replaces && (create.replaces->is_zero() || *create.replaces == create.node)) {
      return "replaces the root or itself";
    }
    return {};
  }
  std::string operator()(const op::Move& move) const {
    if (move.node.is_zero()) return "moves the root";
    if (auto problem = of_place(move.from); !problem.empty()) return problem;
    return of_place(move.to);
  }
  std::string operator()(const op::Delete& remove) const {
    if (remove.node.is_zero()) return "deletes the root";
    return of_place(remove.from);
  }
  std::string operator()(const op::SetContent& set) const {
    return set.node.is_zero() || set.base.is_zero() || set.result.is_zero() ? "has a node or content id of zero" : "";
  }
  std::string operator()(const op::EditText& edit) const {
    if (edit.node.is_zero() || edit.base.is_zero() || edit.result.is_zero()) return "has a node or content id of zero";
    if (edit.hunks.empty()) return "edits a text without a hunk";
    std::uint64_t end = 0;
    for (const Hunk& hunk : edit.hunks) {
      if (hunk.removed.empty() && hunk.added.empty()) return "has a hunk that changes nothing";
      if (hunk.offset < end) return "has hunks out of order";
      if (hunk.offset > kMaxTextOffset || hunk.removed.size() > kMaxTextOffset - hunk.offset) {
        return "has a hunk beyond the greatest text";
      }
      end = hunk.offset + hunk.removed.size();
    }
    return {};
  }
  std::string operator()(const op::SetMode& set) const {
    if (set.node.is_zero()) return "sets the mode of the root";
    return set.from > kModeMask || set.to > kModeMask ? "has a mode beyond 07777" : "";
  }
  std::string operator()(const op::Settle& settle) const {
    return settle.conflict.is_zero() ? "settles a conflict without an id" : "";
  }

 private:
  static std::string of_place(const Place& place) {
    const auto problem = name_problem(place.name);
    return problem.empty() ? std::string() : fmt::format("has a name ({}) that {}", quoted(place.name), problem);
  }
};

std::string signature_problem(std::string_view who, const Signature& signature) {
  if (signature.name.size() <= kMaxSignatureBytes && signature.email.size() <= kMaxSignatureBytes) return {};
  return fmt::format("its {}'s name or email is longer than {} bytes", who, kMaxSignatureBytes);
}

std::string ancestry_problem(const Change& change) {
  if (change.parents.size() > kMaxVersionChanges) {
    return fmt::format("it has {} parents, more than {}", change.parents.size(), kMaxVersionChanges);
  }
  auto sorted = change.parents;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return "it has a parent twice";
  if (change.parents.empty() ? change.lamport != 1 : change.lamport < 2) {
    return fmt::format("its Lamport time {} does not fit {} parents", change.lamport, change.parents.size());
  }
  return {};
}

std::string text_problem(const Change& change) {
  if (auto problem = signature_problem("author", change.author); !problem.empty()) return problem;
  if (auto problem = signature_problem("committer", change.committer); !problem.empty()) return problem;
  if (change.agent.size() > kMaxLabelBytes || change.job.size() > kMaxLabelBytes) {
    return fmt::format("its agent or job is longer than {} bytes", kMaxLabelBytes);
  }
  if (change.message.size() > kMaxMessageBytes) {
    return fmt::format("its message has {} bytes, more than {}", change.message.size(), kMaxMessageBytes);
  }
  if (change.extra.size() > kMaxExtraHeaders) return fmt::format("it has more than {} extra headers", kMaxExtraHeaders);
  for (const auto& [key, value] : change.extra) {
    if (key.empty() || key.size() > kMaxExtraKeyBytes || value.size() > kMaxExtraValueBytes) {
      return fmt::format("its extra header {} is empty or too long",
                         quoted(ByteView(key).substr(0, kMaxExtraKeyBytes)));
    }
  }
  return {};
}

std::string ops_problem(const Change& change) {
  if (change.tree.is_zero()) return "its result tree is missing";
  if (change.rules == 0) return "its rules version is 0";
  if (change.form != OpsForm::recorded && change.form != OpsForm::derived) return "the form of its ops is unknown";
  if (change.form == OpsForm::derived && !change.ops.empty()) return "it carries ops but says that they are derived";
  if (change.ops.size() > kMaxOps) return fmt::format("it has {} ops, more than {}", change.ops.size(), kMaxOps);
  for (std::size_t i = 0; i < change.ops.size(); ++i) {
    if (const std::string problem = std::visit(OpCheck{}, change.ops[i]); !problem.empty()) {
      return fmt::format("op {} {}", i, problem);
    }
  }
  return {};
}

}  // namespace

Result<void> check_change(const Change& change) {
  for (const auto check : {ancestry_problem, text_problem, ops_problem}) {
    if (std::string problem = check(change); !problem.empty()) {
      return make_error(Code::invalid, fmt::format("not a possible change: {}", problem));
    }
  }
  return {};
}

}  // namespace weft::object
