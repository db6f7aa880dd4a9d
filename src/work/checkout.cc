// Bringing a working tree to a version: planned (checkout_plan.h), refused as a whole or applied (checkout_apply.h).
#include "tree/tree.h"
#include "work/checkout_apply.h"
#include "work/checkout_preview.h"

namespace weft::work {
namespace {

constexpr std::size_t kMaxConflictsNamed = 5;

Error refusal(const std::vector<Warning>& conflicts) {
  std::string message = conflicts.size() == 1
                            ? "one path is in the way of writing out files: "
                            : std::to_string(conflicts.size()) + " paths are in the way of writing out files: ";
  for (std::size_t i = 0; i < conflicts.size() && i < kMaxConflictsNamed; ++i) {
    if (i > 0) message += ", ";
    message += quoted(conflicts[i].path) + " " + conflicts[i].reason;
  }
  if (conflicts.size() > kMaxConflictsNamed) message += ", ...";
  Error error = make_error(Code::refused, std::move(message),
                           "nothing was changed; commit these files, move them away or delete them, then try again");
  for (const Warning& conflict : conflicts) error.details.emplace_back("path", conflict.path);
  return error;
}

/// What stopped it, and how far it got.
Error stopped_at(Error error, const CheckoutReport& report) {
  if (error.code == Code::no_space) {
    error.message +=
        "; writing out stopped after " + std::to_string(report.written) + (report.written == 1 ? " file" : " files");
    error.hint = "make room, then run the command again: what was written is kept, the rest will be";
  }
  return error;
}

/// Whether it says all about what is below its path.
bool covers_all_below(const Step& step) { return step.before && step.after && step.before->kind != step.after->kind; }

}  // namespace

Result<CheckoutPreview> preview_checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                         const ObjectId& to, const CheckoutOptions& options) {
  for (const std::string& path : options.paths) WEFT_DO(tree::check_path(path));
  WEFT_TRY(const FileStatus top, tree.root.self_status());
  const auto state =
      std::make_shared<const DirectoryState>(DirectoryState::load(tree.env.fs, tree.state_path, top.device, top.inode));
  // Never written: the checkout itself will find the same out again, and then it is true of what is there.
  StateUpdate update(state, tree.env.clock.monotonic_ns(), tree.env.clock.now_ns());
  CheckoutOptions strict = options;
  strict.keep_edits = false;
  WEFT_TRY(const CheckoutPlan plan, plan_checkout(tree, reader, from, to, strict, update));
  if (!plan.conflicts.empty()) return refusal(plan.conflicts);

  CheckoutPreview out;
  const Step* last = nullptr;
  for (const Step& step : plan.steps) {
    if (step.action == Step::Action::none) continue;
    if (last != nullptr && is_at_or_below(step.path, last->path)) {
      if (covers_all_below(*last)) continue;
      out.paths.pop_back();
    }
    out.paths.push_back(step.path);
    last = &step;
  }
  return out;
}

Result<CheckoutReport> checkout(const WorkTree& tree, const object::ObjectReader& reader, const ObjectId& from,
                                const ObjectId& to, const CheckoutOptions& options) {
  for (const std::string& path : options.paths) WEFT_DO(tree::check_path(path));
  WEFT_TRY(const FileStatus top, tree.root.self_status());
  const std::int64_t begun_monotonic_ns = tree.env.clock.monotonic_ns();
  const std::int64_t begun_ns = tree.env.clock.now_ns();
  const auto state =
      std::make_shared<const DirectoryState>(DirectoryState::load(tree.env.fs, tree.state_path, top.device, top.inode));
  StateUpdate update(state, begun_monotonic_ns, begun_ns);
  WEFT_TRY(CheckoutPlan plan, plan_checkout(tree, reader, from, to, options, update));
  if (!plan.conflicts.empty()) return refusal(plan.conflicts);  // W3

  Applied applied = apply_plan(tree, reader, options, std::move(plan), update);
  // Also after a failure: what was written is known, and finishing will not have to read it.
  const StateUpdate::Target target{tree.state_path, top.device, top.inode,
                                   !applied.stopped && options.paths.empty() ? to : from};
  (void)update.write(tree.env, target).has_value();
  if (applied.stopped) return stopped_at(*std::move(applied.stopped), applied.report);
  return std::move(applied.report);
}

}  // namespace weft::work
