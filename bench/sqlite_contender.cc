// SQLite: one database file, WAL, synchronous=FULL, BEGIN IMMEDIATE, prepared statements; a connection per writer.
//
// Waiting for the write lock, `sqlite:VARIANT`:
//   (default)  a queue of our own in front: flock(2) on a file beside the database around each write transaction
//   handler    busy handler that sleeps 0.1 to 1 ms with jitter
//   timeout    sqlite3_busy_timeout(60 s): SQLite's own back-off of 1, 2, 5, .. 100 ms
//   ckpt1000   the default's, with wal_autocheckpoint left at 1,000 pages
// With 32 writers the queue is nearly twice as fast as either way of polling, and fairer: a competent user would find
// it.
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>

#include <stdexcept>

#include "contender.h"
#include "sqlite_settings.h"

namespace weft::bench {
namespace {

[[noreturn]] void fail(sqlite3* db, const char* what) {
  throw std::runtime_error(std::string("sqlite: ") + what + ": " + (db ? sqlite3_errmsg(db) : "no database"));
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK) fail(db, sql);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& blob(int index, std::string_view bytes) {
    sqlite3_bind_blob(statement_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    return *this;
  }
  Statement& text(int index, std::string_view bytes) {
    sqlite3_bind_text(statement_, index, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
    return *this;
  }
  Statement& integer(int index, std::int64_t value) {
    sqlite3_bind_int64(statement_, index, value);
    return *this;
  }
  Statement& null(int index) {
    sqlite3_bind_null(statement_, index);
    return *this;
  }
  /// The result code, left to the caller.
  int step() { return sqlite3_step(statement_); }
  bool row() {
    const int code = step();
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) fail(db_, sqlite3_sql(statement_));
    return false;
  }
  void run() {
    row();
    reset();
  }
  void reset() { sqlite3_reset(statement_); }
  std::int64_t column(int index) { return sqlite3_column_int64(statement_, index); }
  std::string_view bytes(int index) {
    const void* data = sqlite3_column_blob(statement_, index);
    return {static_cast<const char*>(data), static_cast<std::size_t>(sqlite3_column_bytes(statement_, index))};
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

enum class Waiting { handler, timeout, flock };

struct BusyState {
  std::uint32_t calls = 0;
  std::uint32_t random = 1;
};

int on_busy(void* context, int count) {
  auto& state = *static_cast<BusyState*>(context);
  ++state.calls;
  state.random = state.random * 1664525u + 1013904223u;
  ::usleep(100 + (state.random >> 8) % 900);
  return count < 600'000;
}

class SqliteSession final : public Session {
 public:
  SqliteSession(const std::string& directory, Waiting waiting, int checkpoint_pages)
      : db_(open(directory)), waiting_(waiting), fence_(connect(directory, checkpoint_pages)) {}
  ~SqliteSession() override {
    if (lock_fd_ >= 0) ::close(lock_fd_);
  }

  CommitReply commit(const CommitRequest& request) override {
    CommitReply reply;
    busy_.calls = 0;
    begin_write(reply);
    find_change_.blob(1, request.change.id.view());
    if (find_change_.row()) throw std::runtime_error("sqlite: change is not new");
    find_change_.reset();
    std::int64_t generation = 1;
    if (!request.change.parent.is_zero()) {
      find_change_.blob(1, request.change.parent.view());
      if (!find_change_.row()) throw std::runtime_error("sqlite: parent not found");
      generation = find_change_.column(0) + 1;
      find_change_.reset();
    }
    Id32 old;
    std::int64_t moves = 0;
    find_ref_.text(1, request.ref);
    if (find_ref_.row()) {
      old = Id32::of(find_ref_.bytes(0).data());
      moves = find_ref_.column(1);
    }
    find_ref_.reset();
    if (request.move == Move::compare_and_swap && old != request.expected) {
      rollback_.run();
      unlock();
      reply.busy += busy_.calls;
      return reply;
    }
    put(request.change, generation);
    put_ref_.text(1, request.ref).blob(2, request.change.id.view()).run();
    put_reflog_.text(1, request.ref).integer(2, moves + 1).blob(4, request.change.id.view());
    old.is_zero() ? put_reflog_.null(3) : put_reflog_.blob(3, old.view());
    put_reflog_.integer(5, request.change.time_ns).run();
    end_write(reply);
    reply.landed = true;
    reply.id = request.change.id;
    reply.busy += busy_.calls;
    return reply;
  }

  std::optional<Id32> read_ref(std::string_view ref) override {
    find_ref_.text(1, ref);
    std::optional<Id32> value;
    if (find_ref_.row()) value = Id32::of(find_ref_.bytes(0).data());
    find_ref_.reset();
    return value;
  }

  std::vector<Id32> load(std::span<const NewChange> changes) override {
    CommitReply reply;
    std::vector<Id32> ids;
    begin_write(reply);
    for (const NewChange& change : changes) {
      put(change, 1);
      ids.push_back(change.id);
    }
    end_write(reply);
    return ids;
  }

  void begin_reads() override { begin_read_.run(); }
  void end_reads() override { commit_.run(); }
  Found find_id(const Id32& id) override { return one(read_change_.blob(1, id.view()), 3); }
  Found find_fresh(const Id32& id) override { return find_id(id); }
  Found find_prefix(std::string_view six_bytes) override {
    std::array<char, 32> low{}, high;
    high.fill(static_cast<char>(0xff));
    std::memcpy(low.data(), six_bytes.data(), 6);
    std::memcpy(high.data(), six_bytes.data(), 6);
    return one(find_prefix_.blob(1, {low.data(), 32}).blob(2, {high.data(), 32}), 0);
  }
  Found find_delta(const Id32& delta) override { return one(find_delta_.blob(1, delta.view()), 0); }

  std::uint64_t change_count() override {
    Statement count(db_.get(), "SELECT count(*) FROM changes");
    count.row();
    return static_cast<std::uint64_t>(count.column(0));
  }

 private:
  struct Close {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  using Handle = std::unique_ptr<sqlite3, Close>;

  static Handle open(const std::string& directory) {
    sqlite3* db = nullptr;
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    const int code = sqlite3_open_v2((directory + "/store.db").c_str(), &db, flags, nullptr);
    Handle handle(db);
    if (code != SQLITE_OK) fail(db, "open");
    return handle;
  }
  /// Runs before the statements below are prepared.
  int connect(const std::string& directory, int checkpoint_pages) {
    busy_.random = static_cast<std::uint32_t>(::getpid()) * 2654435761u;
    if (waiting_ == Waiting::handler) {
      sqlite3_busy_handler(db_.get(), on_busy, &busy_);
    } else {
      sqlite3_busy_timeout(db_.get(), 60'000);
    }
    if (sqlite3_exec(db_.get(), WEFT_SQLITE_CONNECTION, nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(db_.get(), "pragma");
    sqlite3_wal_autocheckpoint(db_.get(), checkpoint_pages);
    if (waiting_ == Waiting::flock) {
      lock_fd_ = ::open((directory + "/store.queue").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (lock_fd_ < 0) throw std::runtime_error("sqlite: cannot open the queue file");
    }
    return 0;
  }

  void begin_write(CommitReply& reply) {
    if (lock_fd_ >= 0) ::flock(lock_fd_, LOCK_EX);
    while (true) {
      const int code = begin_write_.step();
      begin_write_.reset();
      if (code == SQLITE_DONE) return;
      if (code != SQLITE_BUSY) fail(db_.get(), "BEGIN IMMEDIATE");
      ++reply.busy;
    }
  }
  void end_write(CommitReply& reply) {
    while (true) {
      const int code = commit_.step();
      commit_.reset();
      if (code == SQLITE_DONE) break;
      if (code != SQLITE_BUSY) fail(db_.get(), "COMMIT");
      ++reply.busy;
    }
    unlock();
  }
  void unlock() {
    if (lock_fd_ >= 0) ::flock(lock_fd_, LOCK_UN);
  }
  void put(const NewChange& change, std::int64_t generation) {
    put_change_.blob(1, change.id.view()).blob(2, change.delta.view());
    change.parent.is_zero() ? put_change_.null(3) : put_change_.blob(3, change.parent.view());
    put_change_.integer(4, generation).blob(5, {change.body.data(), change.body.size()}).run();
  }
  static Found one(Statement& statement, int column) {
    Found found;
    if (statement.row()) found = {true, statement.bytes(column).size()};
    statement.reset();
    return found;
  }

  Handle db_;
  BusyState busy_;
  Waiting waiting_;
  int lock_fd_ = -1;
  int fence_;
  Statement begin_write_{db_.get(), "BEGIN IMMEDIATE"};
  Statement begin_read_{db_.get(), "BEGIN"};
  Statement commit_{db_.get(), "COMMIT"};
  Statement rollback_{db_.get(), "ROLLBACK"};
  Statement find_change_{db_.get(), WEFT_SQLITE_FIND_CHANGE};
  Statement find_ref_{db_.get(), WEFT_SQLITE_FIND_REF};
  Statement put_change_{db_.get(), WEFT_SQLITE_PUT_CHANGE};
  Statement put_ref_{db_.get(), WEFT_SQLITE_PUT_REF};
  Statement put_reflog_{db_.get(), WEFT_SQLITE_PUT_REFLOG};
  Statement read_change_{db_.get(), "SELECT delta, parent, generation, body FROM changes WHERE id=?1"};
  Statement find_prefix_{db_.get(), "SELECT id FROM changes WHERE id BETWEEN ?1 AND ?2 LIMIT 2"};
  Statement find_delta_{db_.get(), "SELECT id FROM changes WHERE delta=?1"};
};

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string directory, Waiting waiting, int checkpoint_pages)
      : directory_(std::move(directory)), waiting_(waiting), checkpoint_pages_(checkpoint_pages) {}
  std::unique_ptr<Session> session() override {
    return std::make_unique<SqliteSession>(directory_, waiting_, checkpoint_pages_);
  }
  void settle() override {
    sqlite3* db = nullptr;
    if (sqlite3_open((directory_ + "/store.db").c_str(), &db) != SQLITE_OK) fail(db, "open");
    if (sqlite3_exec(db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA optimize;", nullptr, nullptr, nullptr) != SQLITE_OK) {
      fail(db, "checkpoint");
    }
    sqlite3_close(db);
  }

 private:
  std::string directory_;
  Waiting waiting_;
  int checkpoint_pages_;
};

class Sqlite final : public Contender {
 public:
  explicit Sqlite(std::string_view variant) : variant_(variant) {
    if (variant == "timeout") {
      waiting_ = Waiting::timeout;
    } else if (variant == "handler") {
      waiting_ = Waiting::handler;
    } else if (variant == "ckpt1000") {
      checkpoint_pages_ = 1000;
    } else if (!variant.empty()) {
      throw std::runtime_error("sqlite: no such variant");
    }
  }
  std::string name() const override { return variant_.empty() ? "sqlite" : "sqlite:" + variant_; }
  std::string settings() const override {
    const char* waiting = waiting_ == Waiting::handler   ? "busy handler 0.1 to 1 ms with jitter"
                          : waiting_ == Waiting::timeout ? "busy_timeout 60 s"
                                                         : "flock queue before BEGIN IMMEDIATE";
    return std::string("SQLite ") + sqlite3_libversion() +
           ", WAL, synchronous=FULL, 4 KiB pages, 64 MiB cache, mmap 1 GiB, wal_autocheckpoint=" +
           std::to_string(checkpoint_pages_) + ", WITHOUT ROWID, prepared statements, BEGIN IMMEDIATE, " + waiting;
  }
  void create(const std::string& directory) const override {
    sqlite3* db = nullptr;
    if (sqlite3_open((directory + "/store.db").c_str(), &db) != SQLITE_OK) fail(db, "create");
    if (sqlite3_exec(db, WEFT_SQLITE_SCHEMA, nullptr, nullptr, nullptr) != SQLITE_OK) fail(db, "schema");
    sqlite3_close(db);
  }
  std::unique_ptr<Database> open(const std::string& directory) const override {
    return std::make_unique<SqliteDatabase>(directory, waiting_, checkpoint_pages_);
  }

 private:
  std::string variant_;
  Waiting waiting_ = Waiting::flock;
  int checkpoint_pages_ = 4000;
};

}  // namespace

std::unique_ptr<Contender> make_sqlite(std::string_view variant) { return std::make_unique<Sqlite>(variant); }

}  // namespace weft::bench
