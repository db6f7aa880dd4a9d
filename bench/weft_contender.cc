// weft, through store/store.h: a process's own Store each, as `weft commit` would.
//
// The change's encoding holds what the peers' rows hold (parent, generation = Lamport time, body) and is made at least
// as long, by filling the message from the body; its id is the SHA-256 of it (B3). The reflog row is the operation
// every transaction with a ref move carries.
#include <algorithm>
#include <stdexcept>

#include "base/env.h"
#include "contender.h"
#include "measure.h"
#include "object/tree.h"
#include "store/gc.h"
#include "store/store.h"

namespace weft::bench {
namespace {

using object::Change;
using object::ObjectKind;
using object::Version;

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) throw std::runtime_error(std::string("weft: ") + what + ": " + result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

ObjectId id_of(const Id32& id) { return ObjectId::from_bytes(id.view()); }
Id32 id_of(const ObjectId& id) { return Id32::of(id.bytes.data()); }

/// Parent, generation and body as the peers store them.
constexpr std::size_t kPeerRowBytes = 32 + 8 + kBodyBytes;

Change make_change(const NewChange& source, std::uint64_t lamport) {
  Change change;
  if (!source.parent.is_zero()) change.parents.push_back(id_of(source.parent));
  change.lamport = lamport;
  change.author = {"Bench", "bench@example.org", {source.time_ns, 0}};
  change.committer = change.author;
  // 32 bytes of the body stand for the tree, the rest is the message; the message grows by what the encoding lacks.
  std::memcpy(change.tree.bytes.data(), source.body.data(), 32);
  static const std::size_t message_bytes = [] {
    Change empty;
    empty.parents.push_back({});
    empty.author = {"Bench", "bench@example.org", {1'700'000'000'000'000'000, 0}};
    empty.committer = empty.author;
    const std::size_t fixed = object::encode_change(empty).size();
    return fixed < kPeerRowBytes ? std::min(kPeerRowBytes - fixed, kBodyBytes - 32) : std::size_t{1};
  }();
  change.message.assign(source.body.data() + 32, message_bytes);
  return change;
}

class WeftSession final : public Session {
 public:
  explicit WeftSession(store::Store& store) : store_(store) {}

  CommitReply commit(const CommitRequest& request) override {
    CommitReply reply;
    auto transaction = must(store_.begin(), "begin");
    std::uint64_t lamport = 1;
    if (!request.change.parent.is_zero()) {
      lamport = must(transaction.snapshot().change_summary(id_of(request.change.parent)), "find parent").lamport + 1;
    }
    const Change change = make_change(request.change, lamport);
    const ChangeId id =
        must(transaction.put_change(change, DeltaId::from_bytes(request.change.delta.view())), "put change");
    store::RefEdit edit;
    edit.name = std::string(request.ref);
    edit.after = store::RefValue{Version(id), {}};
    transaction.set_operation(
        {.label = "commit", .author = "Bench <bench@example.org>", .workspace = {}, .agent = {}, .undoes = {}});
    if (request.move == Move::compare_and_swap) {
      edit.expect = request.expected.is_zero() ? store::RefEdit::Expect::absent : store::RefEdit::Expect::exactly;
      if (!request.expected.is_zero()) edit.expected = Version(id_of(request.expected));
      transaction.edit_ref(std::move(edit));
    } else {
      transaction.set_late({edit.name}, [&edit](store::Transaction& late, const auto& newest) -> Result<void> {
        store::RefEdit move = edit;
        move.expect = newest[0] ? store::RefEdit::Expect::exactly : store::RefEdit::Expect::absent;
        if (newest[0]) move.expected = newest[0]->version;
        late.edit_ref(std::move(move));
        return {};
      });
    }
    const auto committed = transaction.commit();
    if (!committed) {
      if (committed.error().code == Code::lost_race) return reply;
      throw std::runtime_error("weft: commit: " + committed.error().message);
    }
    reply.landed = true;
    reply.id = id_of(id);
    return reply;
  }

  std::optional<CommitReply> land(const NewChange& wanted, std::string_view ref) override {
    auto transaction = must(store_.begin(), "begin");
    transaction.set_operation(
        {.label = "land", .author = "Bench <bench@example.org>", .workspace = {}, .agent = {}, .undoes = {}});
    CommitReply reply;
    transaction.set_late({std::string(ref)}, [&](store::Transaction& late, const auto& newest) -> Result<void> {
      NewChange change = wanted;
      std::uint64_t lamport = 1;
      store::RefEdit move;
      move.name = std::string(ref);
      move.expect = store::RefEdit::Expect::absent;
      if (newest[0]) {
        change.parent = id_of(newest[0]->version.changes.at(0));
        WEFT_TRY(const auto parent, late.late_change_summary(id_of(change.parent)));
        lamport = parent.lamport + 1;
        move.expect = store::RefEdit::Expect::exactly;
        move.expected = newest[0]->version;
      }
      WEFT_TRY(const ChangeId id,
               late.put_change(make_change(change, lamport), DeltaId::from_bytes(change.delta.view())));
      move.after = store::RefValue{Version(id), {}};
      late.edit_ref(std::move(move));
      reply.id = id_of(id);
      return {};
    });
    (void)must(transaction.commit(), "land");
    reply.landed = true;
    return reply;
  }

  std::optional<Id32> read_ref(std::string_view ref) override {
    const auto value = must(must(store_.snapshot(), "snapshot").ref(ref), "read ref");
    if (!value) return std::nullopt;
    return id_of(value->version.changes.at(0));
  }

  std::vector<Id32> load(std::span<const NewChange> changes) override {
    constexpr std::size_t kMost = 10'000;  // a transaction's index entries are limited
    std::vector<Id32> ids;
    for (std::size_t done = 0; done < changes.size(); done += kMost) {
      auto transaction = must(store_.begin(), "begin");
      for (const NewChange& change : changes.subspan(done, std::min(kMost, changes.size() - done))) {
        const auto id = must(transaction.put_change(make_change(change, 1), DeltaId::from_bytes(change.delta.view())),
                             "put change");
        ids.push_back(id_of(id));
      }
      (void)must(transaction.commit(), "commit");
    }
    return ids;
  }

  void begin_reads() override { snapshot_.emplace(must(store_.snapshot(), "snapshot")); }
  void end_reads() override { snapshot_.reset(); }
  Found find_id(const Id32& id) override { return read(*snapshot_, id); }
  Found find_prefix(std::string_view six_bytes) override {
    const auto ids = must(snapshot_->find_by_prefix(ObjectKind::change, to_hex(six_bytes), 2), "find by prefix");
    return {!ids.empty(), ids.size()};
  }
  Found find_delta(const Id32& delta) override {
    const auto ids = must(snapshot_->find_by_delta(DeltaId::from_bytes(delta.view())), "find by delta");
    return {!ids.empty(), ids.size()};
  }
  Found find_fresh(const Id32& id) override { return read(must(store_.snapshot(), "snapshot"), id); }
  std::uint64_t change_count() override { return must(store_.info(), "info").changes; }

 private:
  static Found read(const store::Snapshot& snapshot, const Id32& id) {
    const auto bytes = must(snapshot.find(ObjectKind::change, id_of(id)), "find");
    if (!bytes) return {};
    return {true, bytes->size()};
  }
  store::Store& store_;
  std::optional<store::Snapshot> snapshot_;
};

class WeftDatabase final : public Database {
 public:
  explicit WeftDatabase(const std::string& directory)
      : store_(must(store::Store::open(system_env(), directory + "/.weft"), "open")) {}
  std::unique_ptr<Session> session() override { return std::make_unique<WeftSession>(store_); }
  /// `weft gc` with its default undo window: everything here is young, so reflog and operations stay.
  void tidy() override {
    store::GcOptions options;
    options.tolerate_missing = true;  // the changes' trees stand for bytes of the peers' rows and are not there
    (void)must(store::gc(must(store_.snapshot(), "snapshot"), options), "gc");
  }
  std::vector<std::pair<std::string, double>> counters() override {
    const auto info = must(store_.info(), "info");
    const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
    return {{"transactions", number(info.transactions)},
            {"batches", number(info.batches)},
            {"flushes", number(info.flushes)},
            {"log_writes", number(info.log_writes)},
            {"bytes_written", number(info.bytes_written)},
            {"zero_bytes", number(info.zero_bytes)}};
  }

 private:
  store::Store store_;
};

class Weft final : public Contender {
 public:
  std::string name() const override { return "weft"; }
  std::string settings() const override { return "weft, default store settings, a Store per process"; }
  bool is_weft() const override { return true; }
  void create(const std::string& directory) const override {
    (void)must(store::Store::create(system_env(), directory + "/.weft"), "create");
  }
  std::unique_ptr<Database> open(const std::string& directory) const override {
    return std::make_unique<WeftDatabase>(directory);
  }
};

}  // namespace

std::unique_ptr<Contender> make_weft() { return std::make_unique<Weft>(); }

std::int64_t weft_commit_files(const std::string& directory, std::span<const std::string> contents) {
  auto store = must(store::Store::open(system_env(), directory + "/.weft"), "open");
  const std::int64_t start = now_ns();
  auto transaction = must(store.begin(), "begin");
  object::Entries entries;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    object::TreeEntry entry;
    entry.name = "file" + std::to_string(i);
    entry.node = system_random().id<NodeId>();
    entry.id = must(transaction.put(ObjectKind::blob, contents[i]), "put blob");
    entry.size = contents[i].size();
    entries.push_back(std::move(entry));
  }
  Change change;
  change.tree = must(object::write_directory(transaction, std::move(entries)), "write directory");
  change.author = {"Bench", "bench@example.org", {start, 0}};
  change.committer = change.author;
  store::RefEdit edit;
  edit.name = "main";
  edit.expect = store::RefEdit::Expect::absent;
  edit.after = store::RefValue{Version(must(transaction.put_change(change), "put change")), {}};
  transaction.edit_ref(std::move(edit));
  transaction.set_operation(
      {.label = "commit", .author = "Bench <bench@example.org>", .workspace = {}, .agent = {}, .undoes = {}});
  (void)must(transaction.commit(), "commit");
  return now_ns() - start;
}

}  // namespace weft::bench
