// redb, fjall and sled, from the Rust crate in embedded_rust/ (its files say how each is set up). Only `redb:processes`
// allows a second process; the others' writers are threads, which spares them every wake-up between processes.
#include <stdexcept>

#include "contender.h"
#include "embedded_rust/embedded_rust.h"

namespace weft::bench {
namespace {

static_assert(kBodyBytes == ER_BODY_BYTES);

[[noreturn]] void fail(const std::string& kind, const char* what) {
  throw std::runtime_error(kind + ": " + what + ": " + er_error());
}

const std::uint8_t* bytes_of(const void* data) { return static_cast<const std::uint8_t*>(data); }

er_change change_of(const NewChange& change) {
  er_change out;
  std::memcpy(out.id, change.id.bytes.data(), sizeof(out.id));
  std::memcpy(out.delta, change.delta.bytes.data(), sizeof(out.delta));
  std::memcpy(out.parent, change.parent.bytes.data(), sizeof(out.parent));
  std::memcpy(out.body, change.body.data(), sizeof(out.body));
  out.time_ns = change.time_ns;
  return out;
}

class RustSession final : public Session {
 public:
  RustSession(std::string kind, er_database* database) : kind_(std::move(kind)), session_(er_session_new(database)) {
    if (!session_) fail(kind_, "session");
  }
  ~RustSession() override { er_session_end(session_); }

  CommitReply commit(const CommitRequest& request) override {
    const er_change change = change_of(request.change);
    const std::uint8_t* expected =
        request.move == Move::compare_and_swap ? bytes_of(request.expected.bytes.data()) : nullptr;
    CommitReply reply;
    const int landed =
        er_commit(session_, &change, bytes_of(request.ref.data()), request.ref.size(), expected, &reply.busy);
    if (landed < 0) fail(kind_, "commit");
    reply.landed = landed == 1;
    reply.id = request.change.id;
    return reply;
  }

  std::optional<Id32> read_ref(std::string_view ref) override {
    std::uint8_t id[32];
    const int found = er_read_ref(session_, bytes_of(ref.data()), ref.size(), id);
    if (found < 0) fail(kind_, "read ref");
    return found == 1 ? std::optional(Id32::of(id)) : std::nullopt;
  }

  std::vector<Id32> load(std::span<const NewChange> changes) override {
    std::vector<er_change> rows;
    std::vector<Id32> ids;
    for (const NewChange& change : changes) {
      rows.push_back(change_of(change));
      ids.push_back(change.id);
    }
    if (er_load(session_, rows.data(), rows.size()) < 0) fail(kind_, "load");
    return ids;
  }

  void begin_reads() override {
    if (er_begin_reads(session_) < 0) fail(kind_, "begin reads");
  }
  void end_reads() override { er_end_reads(session_); }
  Found find_id(const Id32& id) override { return find(ER_BY_ID, id.view()); }
  Found find_prefix(std::string_view six_bytes) override { return find(ER_BY_PREFIX, six_bytes); }
  Found find_delta(const Id32& delta) override { return find(ER_BY_DELTA, delta.view()); }
  Found find_fresh(const Id32& id) override { return find(ER_FRESH, id.view()); }

  std::uint64_t change_count() override {
    const std::int64_t count = er_count(session_);
    if (count < 0) fail(kind_, "count");
    return static_cast<std::uint64_t>(count);
  }

 private:
  Found find(std::uint32_t what, std::string_view key) {
    const std::int64_t bytes = er_find(session_, what, bytes_of(key.data()), key.size());
    if (bytes == -1) return {};
    if (bytes < 0) fail(kind_, "find");
    return {true, static_cast<std::uint64_t>(bytes)};
  }

  std::string kind_;
  er_session* session_;
};

class RustDatabase final : public Database {
 public:
  RustDatabase(std::string kind, const std::string& directory, bool create)
      : kind_(std::move(kind)), database_(er_open(kind_.c_str(), directory.c_str(), create)) {
    if (!database_) fail(kind_, "open");
  }
  ~RustDatabase() override { er_close(database_); }
  RustDatabase(const RustDatabase&) = delete;
  RustDatabase& operator=(const RustDatabase&) = delete;

  std::unique_ptr<Session> session() override { return std::make_unique<RustSession>(kind_, database_); }
  void settle() override {
    if (er_settle(database_) < 0) fail(kind_, "settle");
  }

 private:
  std::string kind_;
  er_database* database_;
};

class Rust final : public Contender {
 public:
  explicit Rust(std::string kind) : kind_(std::move(kind)) {}
  std::string name() const override { return kind_; }
  std::string settings() const override {
    if (kind_ == "fjall") {
      return WEFT_BENCH_FJALL
          ", optimistic transactions, fdatasync in each commit, 1 GiB cache, major compaction after loading";
    }
    if (kind_ == "sled")
      return WEFT_BENCH_SLED
          ", transaction over 4 trees, flushed in it by sync_file_range (NOT durable over a loss of power), 1 GiB "
          "cache";
    if (kind_ == "redb:processes") return WEFT_BENCH_REDB ", durability immediate, multi-writer mode, 1 GiB cache";
    return WEFT_BENCH_REDB ", durability immediate, 1 GiB cache" +
           std::string(kind_ == "redb:quick-repair" ? ", quick repair" : "");
  }
  bool threads_only() const override { return kind_ != "redb:processes"; }
  void create(const std::string& directory) const override { RustDatabase(kind_, directory, true); }
  std::unique_ptr<Database> open(const std::string& directory) const override {
    return std::make_unique<RustDatabase>(kind_, directory, false);
  }

 private:
  std::string kind_;
};

}  // namespace

std::unique_ptr<Contender> make_embedded_rust(std::string_view name) {
  for (const std::string_view kind : {"redb", "redb:processes", "redb:quick-repair", "fjall", "sled"})
    if (name == kind) return std::make_unique<Rust>(std::string(name));
  return nullptr;
}

}  // namespace weft::bench
