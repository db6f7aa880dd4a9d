// What the crash, fault and simulation tests share: a world in which a store lives, transactions that a test remembers,
// and the check of a store against what is remembered.
//
// The model is simple on purpose: a list of attempts with what their author was told, and a map of refs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/testing/fake_env.h"
#include "base/testing/heap_control.h"
#include "store/store.h"

namespace weft::store {

/// One process with a store open in it, on some disk and block.
class StoreProcess {
 public:
  StoreProcess(HeapBlock& block, FileSystem& disk, FakeClock& clock, Random& random, std::uint32_t number = 1);
  Env env() { return {process.fs(), clock_, random_}; }
  StoreHooks hooks();
  Result<void> create(const StoreOptions& options);
  Result<void> open();
  Store& store() { return *store_; }
  bool has_store() const { return store_.has_value(); }
  void close() { store_.reset(); }

  SimProcess process;
  /// Changes between extensions of the history index; 0: it has none. For open() and create().
  std::uint64_t history_step = 0;

 private:
  FakeClock& clock_;
  Random& random_;
  std::optional<Store> store_;
};

inline const std::string kStoreDirectory = "/s/.weft";

/// A transaction as its author meant it, and what the author was told.
struct Attempt {
  enum class Outcome : std::uint8_t {
    unknown,  ///< its process died first
    acked,
    refused,  ///< lost a race
    failed,   ///< the store failed
  };
  struct Edit {
    std::string ref{};
    RefEdit::Expect expect = RefEdit::Expect::anything;
    Version expected{};
    bool skip = false;
    std::size_t extra_bytes = 0;
    bool remove = false;
  };
  // What to do.
  std::size_t small_blobs = 1;
  std::size_t large_blob_bytes = 0;
  std::vector<Edit> edits;
  bool late = false;  ///< the refs' moves are computed in the lock, on whatever the first of them holds
  bool operation = true;

  // What was done.
  std::size_t number = 0;
  ChangeId change;
  std::vector<ObjectId> blobs;
  Outcome outcome = Outcome::unknown;
  Code code = Code::internal;
  std::string message;
  std::vector<bool> moved;
  std::optional<ChangeId> late_parent;  ///< of the last computation
  std::string winner;                   ///< of a refusal
  /// After a loss of power: whether it is there, for good.
  std::optional<bool> settled;
  std::size_t operations_when_told = 0;  ///< recorded by the file system when the author learned the outcome
};

/// The attempts of one test, in the order they began.
class Journal {
 public:
  Attempt& add(Attempt plan);
  const std::vector<std::unique_ptr<Attempt>>& attempts() const { return attempts_; }

 private:
  std::vector<std::unique_ptr<Attempt>> attempts_;
};

/// Carries the attempt out and writes down what comes of it. Killed passes through.
void perform(Store& store, Attempt& attempt, std::uint64_t content_seed);
/// For messages.
std::string describe(const Attempt& attempt);

struct CheckRules {
  /// Attempts told after so many recorded operations count as unknown; those begun later are not looked at.
  std::size_t cut = SIZE_MAX;
  /// The power went: what failed (not: what was refused) may have become durable all the same.
  bool power_lost = false;
  bool verify = true;
};

/// Everything wrong with the store, as sentences; empty is right.
std::vector<std::string> check_store(Store& store, const Journal& journal, const CheckRules& rules);

/// Refs of a snapshot, or the error.
Result<std::map<std::string, Version>> refs_of(const Store& store);

std::string join(const std::vector<std::string>& lines);

}  // namespace weft::store
