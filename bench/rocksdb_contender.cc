// RocksDB: sync writes, group commit by its write thread, pipelined WAL and memtable. One process only (its LOCK file),
// so its writers are threads, which spares it every wake-up between processes.
//
// Transactions, `rocksdb:VARIANT`:
//   (default)   TransactionDB: row locks, held over the flush
//   optimistic  OptimisticTransactionDB: checks conflicts when it commits, tries again on a conflict
//   striped     plain DB and WriteBatch under striped mutexes of our own: one per ref
//   groupsync   writes without sync under one mutex, then waits for a SyncWAL shared with the others. As durable when
//   it
//               returns, but readers and refusals may see what is not durable yet, which none of the others allow (B1):
//               to know what that is worth, not a peer.
// On refs of their own the first three are close; on one shared ref each allows one commit per flush.
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/optimistic_transaction_db.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/version.h>

#include <endian.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>

#include "contender.h"

namespace weft::bench {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

void check(const rdb::Status& status, const char* what) {
  if (!status.ok()) throw std::runtime_error(std::string("rocksdb: ") + what + ": " + status.ToString());
}
rdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

enum class Kind { pessimistic, optimistic, striped, groupsync };

struct ChangeRow {
  Id32 delta;
  Id32 parent;
  std::uint64_t generation;
  std::array<char, kBodyBytes> body;
};
struct RefRow {
  Id32 value;
  std::uint64_t moves;
};
struct ReflogRow {
  Id32 before;
  Id32 after;
  std::int64_t time_ns;
};
template <typename Row>
rdb::Slice slice_of_row(const Row& row) {
  return {reinterpret_cast<const char*>(&row), sizeof(Row)};
}
template <typename Row>
Row row_of(std::string_view bytes) {
  Row row;
  if (bytes.size() != sizeof(Row)) throw std::runtime_error("rocksdb: row of a wrong size");
  std::memcpy(&row, bytes.data(), sizeof(Row));
  return row;
}

struct Handles {
  Kind kind = Kind::pessimistic;
  rdb::DB* db = nullptr;
  rdb::OptimisticTransactionDB* optimistic = nullptr;
  rdb::TransactionDB* pessimistic = nullptr;
  rdb::ColumnFamilyHandle *changes = nullptr, *deltas = nullptr, *refs = nullptr, *reflog = nullptr;
  std::array<std::mutex, 64> stripes;
  // groupsync: how many writes were made, how many of them a SyncWAL covers.
  std::mutex order, sync;
  std::condition_variable synced_more;
  std::uint64_t written = 0, synced = 0;
  bool syncing = false;
};

rdb::ColumnFamilyOptions table_options(bool prefix_of_delta) {
  rdb::ColumnFamilyOptions options;
  rdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rdb::NewBloomFilterPolicy(10, false));
  static const std::shared_ptr<rdb::Cache> cache = rdb::NewLRUCache(std::size_t{512} << 20);  // shared by the families
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = false;
  options.table_factory.reset(rdb::NewBlockBasedTableFactory(table));
  options.write_buffer_size = std::size_t{64} << 20;
  options.max_write_buffer_number = 4;
  options.level_compaction_dynamic_level_bytes = true;
  if (prefix_of_delta) options.prefix_extractor.reset(rdb::NewFixedPrefixTransform(32));
  return options;
}

class RocksSession final : public Session {
 public:
  explicit RocksSession(Handles& handles) : h_(handles) { sync_.sync = true; }
  ~RocksSession() override { end_reads(); }

  CommitReply commit(const CommitRequest& request) override {
    if (h_.kind == Kind::striped) {
      const std::scoped_lock lock(h_.stripes[std::hash<std::string_view>{}(request.ref) % h_.stripes.size()]);
      return commit_locked(request, sync_);
    }
    if (h_.kind == Kind::groupsync) return commit_groupsync(request);
    CommitReply reply;
    while (true) {
      txn_.reset(h_.kind == Kind::optimistic ? h_.optimistic->BeginTransaction(sync_, {}, txn_.release())
                                             : h_.pessimistic->BeginTransaction(sync_, {}, txn_.release()));
      value_.Reset();
      rdb::Status status = txn_->GetForUpdate({}, h_.changes, slice(request.change.id.view()), &value_);
      if (status.ok()) throw std::runtime_error("rocksdb: change is not new");
      if (!status.IsNotFound()) check(status, "find change");
      const std::uint64_t generation = generation_of(request.change.parent);
      RefRow ref{};
      value_.Reset();
      status = txn_->GetForUpdate({}, h_.refs, slice(request.ref), &value_);
      if (status.IsBusy() || status.IsTimedOut()) {
        ++reply.busy;
        check(txn_->Rollback(), "rollback");
        continue;
      }
      if (status.ok()) {
        ref = row_of<RefRow>({value_.data(), value_.size()});
      } else if (!status.IsNotFound()) {
        check(status, "find ref");
      }
      if (request.move == Move::compare_and_swap && ref.value != request.expected) {
        check(txn_->Rollback(), "rollback");
        return reply;
      }
      write(request, generation, ref, [&](rdb::ColumnFamilyHandle* family, rdb::Slice key, rdb::Slice row) {
        check(txn_->Put(family, key, row), "put");
      });
      status = txn_->Commit();
      if (status.IsBusy() || status.IsTryAgain()) {
        ++reply.busy;
        check(txn_->Rollback(), "rollback");
        // What made it conflict may be the very move the compare-and-swap expects to lose to: the next turn sees it.
        continue;
      }
      check(status, "commit");
      reply.landed = true;
      reply.id = request.change.id;
      return reply;
    }
  }

  std::optional<Id32> read_ref(std::string_view ref) override {
    value_.Reset();
    const rdb::Status status = h_.db->Get({}, h_.refs, slice(ref), &value_);
    if (status.IsNotFound()) return std::nullopt;
    check(status, "read ref");
    return row_of<RefRow>({value_.data(), value_.size()}).value;
  }

  std::vector<Id32> load(std::span<const NewChange> changes) override {
    rdb::WriteBatch batch;
    std::vector<Id32> ids;
    for (const NewChange& change : changes) {
      const ChangeRow row{change.delta, change.parent, 1, change.body};
      check(batch.Put(h_.changes, slice(change.id.view()), slice_of_row(row)), "put");
      check(batch.Put(h_.deltas, delta_key(change.delta, change.id), {}), "put");
      ids.push_back(change.id);
    }
    check(h_.db->Write(sync_, &batch), "write");
    return ids;
  }

  void begin_reads() override { read_.snapshot = h_.db->GetSnapshot(); }
  void end_reads() override {
    if (read_.snapshot) h_.db->ReleaseSnapshot(read_.snapshot);
    read_.snapshot = nullptr;
  }
  Found find_id(const Id32& id) override {
    value_.Reset();
    const rdb::Status status = h_.db->Get(read_, h_.changes, slice(id.view()), &value_);
    if (status.IsNotFound()) return {};
    check(status, "get");
    return {true, value_.size()};
  }
  Found find_prefix(std::string_view six_bytes) override { return seek(h_.changes, six_bytes, false); }
  Found find_delta(const Id32& delta) override { return seek(h_.deltas, delta.view(), true); }
  Found find_fresh(const Id32& id) override {
    begin_reads();
    const Found found = find_id(id);
    end_reads();
    return found;
  }
  std::uint64_t change_count() override {
    std::uint64_t count = 0;
    const std::unique_ptr<rdb::Iterator> all(h_.db->NewIterator({}, h_.changes));
    for (all->SeekToFirst(); all->Valid(); all->Next()) ++count;
    check(all->status(), "count");
    return count;
  }

 private:
  std::uint64_t generation_of(const Id32& parent) {
    if (parent.is_zero()) return 1;
    value_.Reset();
    check(h_.db->Get({}, h_.changes, slice(parent.view()), &value_), "find parent");
    return row_of<ChangeRow>({value_.data(), value_.size()}).generation + 1;
  }
  rdb::Slice delta_key(const Id32& delta, const Id32& id) {
    key_.assign(delta.view());
    key_.append(id.view());
    return key_;
  }
  template <typename Put>
  void write(const CommitRequest& request, std::uint64_t generation, const RefRow& before, const Put& put) {
    const NewChange& change = request.change;
    const ChangeRow row{change.delta, change.parent, generation, change.body};
    put(h_.changes, slice(change.id.view()), slice_of_row(row));
    put(h_.deltas, delta_key(change.delta, change.id), rdb::Slice());
    const RefRow ref{change.id, before.moves + 1};
    put(h_.refs, slice(request.ref), slice_of_row(ref));
    const ReflogRow log{before.value, change.id, change.time_ns};
    const std::uint64_t big_endian = htobe64(ref.moves);
    key_.assign(request.ref);
    key_.push_back('\0');
    key_.append(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
    put(h_.reflog, key_, slice_of_row(log));
  }
  CommitReply commit_groupsync(const CommitRequest& request) {
    std::uint64_t mine = 0;
    CommitReply reply;
    {
      const std::scoped_lock lock(h_.order);
      reply = commit_locked(request, {});
      if (!reply.landed) return reply;
      const std::scoped_lock count(h_.sync);
      mine = ++h_.written;
    }
    std::unique_lock lock(h_.sync);
    while (h_.synced < mine) {
      if (h_.syncing) {
        h_.synced_more.wait(lock);
        continue;
      }
      h_.syncing = true;
      const std::uint64_t covered = h_.written;
      lock.unlock();
      check(h_.db->SyncWAL(), "sync");
      lock.lock();
      h_.synced = covered;
      h_.syncing = false;
      h_.synced_more.notify_all();
    }
    return reply;
  }
  /// The caller holds a lock that orders the moves of this ref.
  CommitReply commit_locked(const CommitRequest& request, const rdb::WriteOptions& how) {
    CommitReply reply;
    value_.Reset();
    rdb::Status status = h_.db->Get({}, h_.changes, slice(request.change.id.view()), &value_);
    if (!status.IsNotFound()) throw std::runtime_error("rocksdb: change is not new");
    const std::uint64_t generation = generation_of(request.change.parent);
    RefRow ref{};
    value_.Reset();
    status = h_.db->Get({}, h_.refs, slice(request.ref), &value_);
    if (status.ok()) ref = row_of<RefRow>({value_.data(), value_.size()});
    if (request.move == Move::compare_and_swap && ref.value != request.expected) return reply;
    batch_.Clear();
    write(request, generation, ref, [&](rdb::ColumnFamilyHandle* family, rdb::Slice key, rdb::Slice row) {
      check(batch_.Put(family, key, row), "put");
    });
    check(h_.db->Write(how, &batch_), "write");
    reply.landed = true;
    reply.id = request.change.id;
    return reply;
  }
  Found seek(rdb::ColumnFamilyHandle* family, std::string_view prefix, bool by_bloom) {
    rdb::ReadOptions options = read_;
    if (by_bloom) {
      options.prefix_same_as_start = true;
    } else {
      options.total_order_seek = true;
    }
    const std::unique_ptr<rdb::Iterator> iterator(h_.db->NewIterator(options, family));
    iterator->Seek(slice(prefix));
    if (!iterator->Valid()) {
      check(iterator->status(), "seek");
      return {};
    }
    return {iterator->key().starts_with(slice(prefix)), iterator->key().size()};
  }

  Handles& h_;
  rdb::WriteOptions sync_;
  rdb::ReadOptions read_;
  std::unique_ptr<rdb::Transaction> txn_;
  rdb::WriteBatch batch_;
  rdb::PinnableSlice value_;
  std::string key_;
};

class RocksDatabase final : public Database {
 public:
  RocksDatabase(const std::string& directory, Kind kind, bool create) {
    handles_.kind = kind;
    rdb::DBOptions options;
    options.create_if_missing = create;
    options.create_missing_column_families = create;
    options.enable_pipelined_write = true;
    options.max_background_jobs = 2;
    options.wal_recovery_mode = rdb::WALRecoveryMode::kPointInTimeRecovery;
    options.max_total_wal_size = std::uint64_t{512} << 20;
    options.info_log_level = rdb::InfoLogLevel::WARN_LEVEL;
    const std::vector<rdb::ColumnFamilyDescriptor> families = {{rdb::kDefaultColumnFamilyName, table_options(false)},
                                                               {"deltas", table_options(true)},
                                                               {"refs", table_options(false)},
                                                               {"reflog", table_options(false)}};
    std::vector<rdb::ColumnFamilyHandle*> opened;
    const std::string path = directory + "/rocksdb";
    if (kind == Kind::optimistic) {
      check(rdb::OptimisticTransactionDB::Open(options, path, families, &opened, &handles_.optimistic), "open");
      handles_.db = handles_.optimistic;
    } else if (kind == Kind::pessimistic) {
      rdb::TransactionDBOptions locks;
      locks.transaction_lock_timeout = locks.default_lock_timeout = 60'000;
      check(rdb::TransactionDB::Open(options, locks, path, families, &opened, &handles_.pessimistic), "open");
      handles_.db = handles_.pessimistic;
    } else {
      check(rdb::DB::Open(options, path, families, &opened, &handles_.db), "open");
    }
    handles_.changes = opened[0];
    handles_.deltas = opened[1];
    handles_.refs = opened[2];
    handles_.reflog = opened[3];
  }
  ~RocksDatabase() override {
    for (auto* family : {handles_.changes, handles_.deltas, handles_.refs, handles_.reflog}) {
      if (family) handles_.db->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    }
    delete handles_.db;
  }
  std::unique_ptr<Session> session() override { return std::make_unique<RocksSession>(handles_); }
  void settle() override {
    for (auto* family : {handles_.changes, handles_.deltas, handles_.refs, handles_.reflog}) {
      check(handles_.db->Flush({}, family), "flush");
      check(handles_.db->CompactRange({}, family, nullptr, nullptr), "compact");
    }
  }

 private:
  Handles handles_;
};

class Rocks final : public Contender {
 public:
  explicit Rocks(std::string_view variant) : variant_(variant) {
    if (variant == "optimistic") {
      kind_ = Kind::optimistic;
    } else if (variant == "striped") {
      kind_ = Kind::striped;
    } else if (variant == "groupsync") {
      kind_ = Kind::groupsync;
    } else if (!variant.empty()) {
      throw std::runtime_error("rocksdb: no such variant");
    }
  }
  std::string name() const override { return variant_.empty() ? "rocksdb" : "rocksdb:" + variant_; }
  std::string settings() const override {
    static constexpr const char* kHow[] = {"TransactionDB", "OptimisticTransactionDB",
                                           "WriteBatch under striped mutexes",
                                           "unsynced WriteBatch under a mutex, shared SyncWAL"};
    const char* how = kHow[static_cast<int>(kind_)];
    return "RocksDB " + rdb::GetRocksVersionAsString() + " (threads of one process), " + how +
           ", sync, pipelined writes, 64 MiB memtables, 512 MiB block cache, Bloom filters, 2 background jobs";
  }
  bool threads_only() const override { return true; }
  void create(const std::string& directory) const override { RocksDatabase(directory, kind_, true); }
  std::unique_ptr<Database> open(const std::string& directory) const override {
    return std::make_unique<RocksDatabase>(directory, kind_, false);
  }

 private:
  std::string variant_;
  Kind kind_ = Kind::pessimistic;
};

}  // namespace

std::unique_ptr<Contender> make_rocksdb(std::string_view variant) { return std::make_unique<Rocks>(variant); }

}  // namespace weft::bench
