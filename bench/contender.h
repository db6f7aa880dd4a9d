// A store under test, seen through one interface: the transaction of BW and the lookups of BW3, the same for all.
//
// The transaction: check that the change is new; find its parent and the parent's generation; store the change by its
// 32-byte id (delta id, parent, generation = parent's + 1, 200 bytes of body) and by its delta id; move a ref by
// compare-and-swap, or from whatever it holds inside the transaction; write the reflog row (ref, old, new, time). It is
// durable when commit() returns.
//
// Invariants:
//   B1  Every contender stores the same fields, enforces the same checks, and acknowledges after the same durability.
//   B2  Each is set up as a competent user of it would: the settings, and what was measured to choose them, stand in
//   its file. B3  Peers get their ids for nothing; weft hashes its change (SHA-256 of the encoding), because it has to.
// Threading: a Database is shared by the threads of one process, a Session belongs to one thread. Open after fork.
// Errors are exceptions here: a run that met one is no result.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::bench {

struct Id32 {
  std::array<char, 32> bytes{};
  bool operator==(const Id32&) const = default;
  bool is_zero() const { return *this == Id32{}; }
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  static Id32 of(const void* data) {
    Id32 id;
    std::memcpy(id.bytes.data(), data, id.bytes.size());
    return id;
  }
};

inline constexpr std::size_t kBodyBytes = 200;

struct NewChange {
  Id32 id;  ///< what a peer stores it under; weft computes its own and returns it
  Id32 delta;
  Id32 parent;  ///< zero: none
  std::array<char, kBodyBytes> body{};
  std::int64_t time_ns = 0;
};

enum class Move : std::uint8_t {
  compare_and_swap,  ///< from `expected`
  from_whatever,     ///< from what it holds inside the transaction
};

struct CommitRequest {
  const NewChange& change;
  std::string_view ref;
  Move move = Move::compare_and_swap;
  Id32 expected;  ///< zero: the ref must not exist
};

struct CommitReply {
  bool landed = false;     ///< false: the compare-and-swap lost
  Id32 id;                 ///< of the change, when it landed
  std::uint32_t busy = 0;  ///< times the store said busy or conflict and it was tried again inside
};

/// The outside of a lookup; what was read is summed up so that nothing can be optimised away.
struct Found {
  bool found = false;
  std::uint64_t bytes = 0;
};

class Session {
 public:
  virtual ~Session() = default;
  virtual CommitReply commit(const CommitRequest& request) = 0;
  /// Makes the change on whatever the ref holds, parent and generation included, in one transaction: for stores that
  /// can build on a value that is ordered before theirs but not durable yet. nullopt: this one cannot; read, build,
  /// swap, repeat.
  virtual std::optional<CommitReply> land(const NewChange&, std::string_view) { return std::nullopt; }
  /// Newest durable value.
  virtual std::optional<Id32> read_ref(std::string_view ref) = 0;
  /// Many changes in one transaction, no ref; returns their ids.
  virtual std::vector<Id32> load(std::span<const NewChange> changes) = 0;

  /// Takes the view that the find_ calls below use.
  virtual void begin_reads() = 0;
  virtual void end_reads() = 0;
  virtual Found find_id(const Id32& id) = 0;  ///< and its record
  virtual Found find_prefix(std::string_view six_bytes) = 0;
  virtual Found find_delta(const Id32& delta) = 0;
  /// A view of the newest state, then find_id in it; outside begin_reads .. end_reads.
  virtual Found find_fresh(const Id32& id) = 0;

  virtual std::uint64_t change_count() = 0;
};

class Database {
 public:
  virtual ~Database() = default;
  virtual std::unique_ptr<Session> session() = 0;
  /// What a user would do once after loading: checkpoint, compaction.
  virtual void settle() {}
  /// What a user would do for the least bytes on disk (BW5).
  virtual void tidy() { settle(); }
  /// The store's own counters, if it has any.
  virtual std::vector<std::pair<std::string, double>> counters() { return {}; }
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual std::string name() const = 0;
  /// Version and settings, for the report.
  virtual std::string settings() const = 0;
  /// Only one process may open it: its writers are threads.
  virtual bool threads_only() const { return false; }
  virtual bool is_weft() const { return false; }
  /// In a directory that exists and is empty.
  virtual void create(const std::string& directory) const = 0;
  virtual std::unique_ptr<Database> open(const std::string& directory) const = 0;
};

/// Variants, for choosing settings by measurement (`bw --contenders sqlite:timeout,sqlite`).
std::unique_ptr<Contender> make_sqlite(std::string_view variant);
std::unique_ptr<Contender> make_lmdb(std::string_view variant);
std::unique_ptr<Contender> make_rocksdb(std::string_view variant);
/// redb, fjall, sled; null for other names, and in a build without cargo.
std::unique_ptr<Contender> make_embedded_rust(std::string_view name);
std::unique_ptr<Contender> make_weft();  ///< null in a build without the store

/// BW7 through the store: the contents as blobs of one directory, one change, one ref, one commit, in a
/// store that exists. Returns the nanoseconds from the first byte put to the commit's return; negative without the
/// store.
std::int64_t weft_commit_files(const std::string& directory, std::span<const std::string> contents);

/// "sqlite", "lmdb:writemap", ...; throws on an unknown name.
std::unique_ptr<Contender> make_contender(std::string_view name);

}  // namespace weft::bench
