// Converted history -> the store, in portions (import.h, GI1). Threading: one thread.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "git/convert.h"
#include "git/refs.h"
#include "store/store.h"

namespace weft::git {

class StoreSink final : public ImportSink {
 public:
  static Result<StoreSink> open(const store::Store& store);

  const object::ObjectReader& reader() override { return transaction_->reader(); }
  object::ObjectWriter& writer() override { return *transaction_; }
  Result<std::optional<ImportedChange>> find_commit(const Sha1& commit) override;
  Result<ChangeId> put_change(const object::Change& change) override { return transaction_->put_change(change); }
  Result<void> index_commit(const Sha1& commit, const ImportedChange& change) override;

  /// Commits put since the last portion was kept.
  std::size_t pending() const { return pending_.size(); }
  /// Makes what was put durable and begins the next portion.
  Result<void> keep();

 private:
  explicit StoreSink(const store::Store& store) : store_(store) {}
  const store::Store& store_;
  std::optional<store::Transaction> transaction_;
  std::unordered_map<Sha1, ImportedChange, IdHash> pending_;
};

}  // namespace weft::git
