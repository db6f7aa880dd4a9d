#include "git/store_sink.h"

namespace weft::git {

Result<StoreSink> StoreSink::open(const store::Store& store) {
  StoreSink sink(store);
  WEFT_TRY(store::Transaction transaction, store.begin());
  sink.transaction_.emplace(std::move(transaction));
  return sink;
}

Result<std::optional<ImportedChange>> StoreSink::find_commit(const Sha1& commit) {
  if (const auto found = pending_.find(commit); found != pending_.end()) return std::optional(found->second);
  const auto& snapshot = transaction_->snapshot();
  WEFT_TRY(const auto change, snapshot.find_git_commit(store_id(commit)));
  if (!change) return std::optional<ImportedChange>();
  WEFT_TRY(const auto summary, snapshot.change_summary(*change));
  return std::optional(ImportedChange{*change, summary.tree, summary.lamport});
}

Result<void> StoreSink::index_commit(const Sha1& commit, const ImportedChange& change) {
  WEFT_DO(transaction_->index_git_commit(store_id(commit), change.change));
  pending_[commit] = change;
  return {};
}

Result<void> StoreSink::keep() {
  if (!pending_.empty()) {
    WEFT_TRY(const auto committed, transaction_->commit());
    (void)committed;
    pending_.clear();
  }
  transaction_.reset();
  WEFT_TRY(store::Transaction next, store_.begin());
  transaction_.emplace(std::move(next));
  return {};
}

}  // namespace weft::git
