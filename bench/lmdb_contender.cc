// LMDB: one environment, four named databases, durable commits (its default: fdatasync of the data, then the meta page
// written through an O_DSYNC descriptor). Writers of all processes queue on its robust mutex.
//
// `lmdb:writemap` writes through the map and flushes with msync. Compare: `bw --suite bw1,bw2a --contenders
// lmdb,lmdb:writemap`.
#include <lmdb.h>

#include <endian.h>

#include <stdexcept>

#include "contender.h"

namespace weft::bench {
namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string("lmdb: ") + what + ": " + mdb_strerror(code));
}

MDB_val value_of(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }

/// What is stored under a change's id.
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
MDB_val value_of_row(const Row& row) {
  return {sizeof(Row), const_cast<Row*>(&row)};
}
template <typename Row>
Row row_of(const MDB_val& value) {
  Row row;
  if (value.mv_size != sizeof(Row)) throw std::runtime_error("lmdb: row of a wrong size");
  std::memcpy(&row, value.mv_data, sizeof(Row));
  return row;
}

struct Tables {
  MDB_dbi changes, deltas, refs, reflog;
};

class Environment {
 public:
  Environment(const std::string& directory, unsigned flags, bool create) {
    check(mdb_env_create(&env_), "env_create");
    check(mdb_env_set_mapsize(env_, std::size_t{16} << 30), "mapsize");
    check(mdb_env_set_maxdbs(env_, 8), "maxdbs");
    check(mdb_env_set_maxreaders(env_, 256), "maxreaders");
    check(mdb_env_open(env_, (directory + "/store.mdb").c_str(), MDB_NOSUBDIR | MDB_NOTLS | flags, 0600), "env_open");
    MDB_txn* txn = nullptr;
    check(mdb_txn_begin(env_, nullptr, create ? 0 : MDB_RDONLY, &txn), "begin");
    const unsigned how = create ? MDB_CREATE : 0;
    check(mdb_dbi_open(txn, "changes", how, &tables_.changes), "dbi_open");
    check(mdb_dbi_open(txn, "deltas", how | MDB_DUPSORT | MDB_DUPFIXED, &tables_.deltas), "dbi_open");
    check(mdb_dbi_open(txn, "refs", how, &tables_.refs), "dbi_open");
    check(mdb_dbi_open(txn, "reflog", how, &tables_.reflog), "dbi_open");
    check(mdb_txn_commit(txn), "commit");
  }
  ~Environment() { mdb_env_close(env_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  MDB_env* get() const { return env_; }
  const Tables& tables() const { return tables_; }

 private:
  MDB_env* env_ = nullptr;
  Tables tables_{};
};

class WriteTransaction {
 public:
  explicit WriteTransaction(MDB_env* env) { check(mdb_txn_begin(env, nullptr, 0, &txn_), "begin"); }
  ~WriteTransaction() {
    if (txn_) mdb_txn_abort(txn_);
  }
  WriteTransaction(const WriteTransaction&) = delete;
  WriteTransaction& operator=(const WriteTransaction&) = delete;
  MDB_txn* get() const { return txn_; }
  void commit() { check(mdb_txn_commit(std::exchange(txn_, nullptr)), "commit"); }

 private:
  MDB_txn* txn_ = nullptr;
};

class LmdbSession final : public Session {
 public:
  explicit LmdbSession(Environment& environment) : env_(environment.get()), t_(environment.tables()) {
    check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &read_), "begin read");
    check(mdb_cursor_open(read_, t_.changes, &cursor_), "cursor");
    mdb_txn_reset(read_);
  }
  ~LmdbSession() override {
    mdb_cursor_close(cursor_);
    mdb_txn_abort(read_);
  }

  CommitReply commit(const CommitRequest& request) override {
    CommitReply reply;
    WriteTransaction txn(env_);
    MDB_val key = value_of(request.change.id.view()), value;
    std::uint64_t generation = 1;
    if (!request.change.parent.is_zero()) {
      MDB_val parent = value_of(request.change.parent.view());
      check(mdb_get(txn.get(), t_.changes, &parent, &value), "find parent");
      generation = row_of<ChangeRow>(value).generation + 1;
    }
    RefRow ref{};
    MDB_val ref_key = value_of(request.ref);
    const int found = mdb_get(txn.get(), t_.refs, &ref_key, &value);
    if (found == 0) {
      ref = row_of<RefRow>(value);
    } else if (found != MDB_NOTFOUND) {
      check(found, "find ref");
    }
    if (request.move == Move::compare_and_swap && ref.value != request.expected) return reply;
    put(txn.get(), request.change, generation);
    const ReflogRow log{ref.value, request.change.id, request.change.time_ns};
    ref = {request.change.id, ref.moves + 1};
    MDB_val row = value_of_row(ref);
    check(mdb_put(txn.get(), t_.refs, &ref_key, &row, 0), "put ref");
    std::string log_key(request.ref);
    log_key.push_back('\0');
    const std::uint64_t big_endian = htobe64(ref.moves);
    log_key.append(reinterpret_cast<const char*>(&big_endian), sizeof(big_endian));
    key = value_of(log_key);
    row = value_of_row(log);
    check(mdb_put(txn.get(), t_.reflog, &key, &row, MDB_NOOVERWRITE), "put reflog");
    txn.commit();
    reply.landed = true;
    reply.id = request.change.id;
    return reply;
  }

  std::optional<Id32> read_ref(std::string_view ref) override {
    const ReadScope scope(read_);
    MDB_val key = value_of(ref), value;
    const int code = mdb_get(read_, t_.refs, &key, &value);
    if (code == MDB_NOTFOUND) return std::nullopt;
    check(code, "read ref");
    return row_of<RefRow>(value).value;
  }

  std::vector<Id32> load(std::span<const NewChange> changes) override {
    WriteTransaction txn(env_);
    std::vector<Id32> ids;
    for (const NewChange& change : changes) {
      put(txn.get(), change, 1);
      ids.push_back(change.id);
    }
    txn.commit();
    return ids;
  }

  void begin_reads() override { check(mdb_txn_renew(read_), "renew"); }
  void end_reads() override { mdb_txn_reset(read_); }
  Found find_id(const Id32& id) override { return get(t_.changes, id.view()); }
  Found find_delta(const Id32& delta) override { return get(t_.deltas, delta.view()); }
  Found find_prefix(std::string_view six_bytes) override {
    check(mdb_cursor_renew(read_, cursor_), "cursor renew");
    MDB_val key = value_of(six_bytes), value;
    const int code = mdb_cursor_get(cursor_, &key, &value, MDB_SET_RANGE);
    if (code == MDB_NOTFOUND) return {};
    check(code, "cursor get");
    return {key.mv_size >= 6 && std::memcmp(key.mv_data, six_bytes.data(), 6) == 0, key.mv_size};
  }
  Found find_fresh(const Id32& id) override {
    const ReadScope scope(read_);
    return find_id(id);
  }
  std::uint64_t change_count() override {
    const ReadScope scope(read_);
    MDB_stat stat{};
    check(mdb_stat(read_, t_.changes, &stat), "stat");
    return stat.ms_entries;
  }

 private:
  struct ReadScope {
    explicit ReadScope(MDB_txn* txn) : txn_(txn) { check(mdb_txn_renew(txn), "renew"); }
    ~ReadScope() { mdb_txn_reset(txn_); }
    MDB_txn* txn_;
  };
  void put(MDB_txn* txn, const NewChange& change, std::uint64_t generation) {
    const ChangeRow row{change.delta, change.parent, generation, change.body};
    MDB_val key = value_of(change.id.view()), value = value_of_row(row);
    check(mdb_put(txn, t_.changes, &key, &value, MDB_NOOVERWRITE), "put change");  // also: the change is new
    MDB_val delta = value_of(change.delta.view()), id = value_of(change.id.view());
    check(mdb_put(txn, t_.deltas, &delta, &id, 0), "put delta");
  }
  Found get(MDB_dbi table, std::string_view bytes) {
    MDB_val key = value_of(bytes), value;
    const int code = mdb_get(read_, table, &key, &value);
    if (code == MDB_NOTFOUND) return {};
    check(code, "get");
    return {true, value.mv_size + static_cast<const unsigned char*>(value.mv_data)[0]};
  }

  MDB_env* env_;
  Tables t_;
  MDB_txn* read_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
};

class LmdbDatabase final : public Database {
 public:
  LmdbDatabase(const std::string& directory, unsigned flags) : environment_(directory, flags, false) {}
  std::unique_ptr<Session> session() override { return std::make_unique<LmdbSession>(environment_); }

 private:
  Environment environment_;
};

class Lmdb final : public Contender {
 public:
  explicit Lmdb(std::string_view variant) : variant_(variant) {
    if (variant == "writemap") {
      flags_ = MDB_WRITEMAP;
    } else if (!variant.empty()) {
      throw std::runtime_error("lmdb: no such variant");
    }
  }
  std::string name() const override { return variant_.empty() ? "lmdb" : "lmdb:" + variant_; }
  std::string settings() const override {
    return std::string(MDB_VERSION_STRING) + ", durable commits, map 16 GiB, MDB_NOSUBDIR, 4 named databases" +
           (flags_ ? ", MDB_WRITEMAP" : "");
  }
  void create(const std::string& directory) const override { Environment(directory, flags_, true); }
  std::unique_ptr<Database> open(const std::string& directory) const override {
    return std::make_unique<LmdbDatabase>(directory, flags_);
  }

 private:
  std::string variant_;
  unsigned flags_ = 0;
};

}  // namespace

std::unique_ptr<Contender> make_lmdb(std::string_view variant) { return std::make_unique<Lmdb>(variant); }

}  // namespace weft::bench
