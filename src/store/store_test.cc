#include "store/store.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/hash.h"
#include "base/testing/temp_dir.h"
#include "object/byte_source.h"
#include "object/chunk_list.h"

namespace weft::store {
namespace {

object::Change change_of(const std::vector<ChangeId>& parents, std::uint64_t lamport, std::string message) {
  object::Change change;
  change.parents = parents;
  change.lamport = lamport;
  change.author = change.committer = {"A", "a@example.org", {1'000'000'000, 60}};
  change.message = std::move(message);
  change.tree = object::empty_tree_id();
  return change;
}

DeltaId delta_of(std::string_view message) { return DeltaId::from_bytes(sha256(message).view()); }

/// Bytes that nothing compresses.
Bytes noise(std::uint64_t seed, std::size_t size) {
  std::mt19937_64 random(seed);
  Bytes out(size, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = Store::create(env_, directory());
    ASSERT_TRUE(made) << made.error().message;
    store_.emplace(*std::move(made));
  }
  std::string directory() const { return temp_.path() + "/.weft"; }
  Result<Committed> commit(const std::string& ref, const std::optional<Version>& expected, std::string message,
                           ChangeId* id = nullptr) {
    WEFT_TRY(auto transaction, store_->begin());
    WEFT_TRY(const ChangeId change, transaction.put_change(change_of({}, 1, message), delta_of(message)));
    if (id != nullptr) *id = change;
    RefEdit edit;
    edit.name = ref;
    edit.expect = expected ? RefEdit::Expect::exactly : RefEdit::Expect::absent;
    if (expected) edit.expected = *expected;
    edit.after = RefValue{Version(change), {}};
    transaction.edit_ref(std::move(edit));
    transaction.set_operation({.label = "commit", .author = "A <a@example.org>"});
    return transaction.commit();
  }

  TempDir temp_;
  Env env_ = system_env();
  std::optional<Store> store_;
};

TEST_F(StoreTest, WhatWasCommittedIsThereForEveryReader) {
  ChangeId id;
  const auto committed = commit("main", std::nullopt, "one", &id);
  ASSERT_TRUE(committed) << committed.error().message;
  for (int round = 0; round < 2; ++round) {
    const auto snapshot = store_->snapshot();
    ASSERT_TRUE(snapshot);
    const auto ref = snapshot->ref("main");
    ASSERT_TRUE(ref) << ref.error().message;
    ASSERT_TRUE(ref->has_value());
    EXPECT_EQ((*ref)->version, Version(id));
    const auto change = snapshot->change(id);
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(change->message, "one");
    const auto found = snapshot->find_by_prefix(ObjectKind::change, id.hex().substr(0, 6), 10);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, std::vector<ObjectId>{id});
    const auto same = snapshot->find_by_delta(delta_of("one"));
    ASSERT_TRUE(same);
    EXPECT_EQ(*same, std::vector<ChangeId>{id});
    auto again = Store::open(env_, directory());
    ASSERT_TRUE(again) << again.error().message;
    store_.emplace(*std::move(again));
  }
}

/// What is put before the lock may be so much that it went into a pack; what is put within goes into the frame.
TEST_F(StoreTest, AChangeComputedLateIsThereWhenTheRestWentIntoAPack) {
  auto transaction = store_->begin();
  ASSERT_TRUE(transaction);
  for (char c = 'a'; c < 'h'; ++c) {
    Bytes blob;  // not compressible
    for (int i = 0; blob.size() < 900'000; ++i) blob += sha256(fmt::format("{}{}", c, i)).view();
    ASSERT_TRUE(transaction->put(ObjectKind::blob, blob));
  }
  ChangeId id;
  transaction->set_operation({.label = "commit", .author = "A <a@example.org>"});
  transaction->set_late({"main"}, [&](Transaction& late, const auto&) -> Result<void> {
    WEFT_TRY(id, late.put_change(change_of({}, 1, "late"), delta_of("late")));
    RefEdit edit;
    edit.name = "main";
    edit.after = RefValue{Version(id), {}};
    late.edit_ref(std::move(edit));
    return {};
  });
  const auto committed = transaction->commit();
  ASSERT_TRUE(committed) << committed.error().message;
  EXPECT_EQ(store_->info()->packs, 1u);
  const auto change = store_->snapshot()->change(id);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->message, "late");
  const auto report = store_->verify(true, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->clean());
}

TEST_F(StoreTest, ALostRaceNamesTheWinnerAndStoresNothing) {
  ChangeId first;
  ASSERT_TRUE(commit("main", std::nullopt, "one", &first));
  const auto lost = commit("main", std::nullopt, "two");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::lost_race);
  bool named = false;
  for (const auto& [key, value] : lost.error().details) named = named || (key == "actual" && value == first.hex());
  EXPECT_TRUE(named);
  const auto info = store_->info();
  ASSERT_TRUE(info);
  EXPECT_EQ(info->changes, 1u);
}

TEST_F(StoreTest, TheIndexSurvivesManyMergesAndReopening) {
  std::vector<ChangeId> ids;
  ChangeId last;
  std::optional<Version> expected;
  for (int i = 0; i < 2500; ++i) {
    const auto committed = commit("main", expected, "change " + std::to_string(i), &last);
    ASSERT_TRUE(committed) << i << ": " << committed.error().message;
    expected = Version(last);
    ids.push_back(last);
  }
  for (int round = 0; round < 2; ++round) {
    auto snapshot = store_->snapshot();
    ASSERT_TRUE(snapshot);
    for (std::size_t i = 0; i < ids.size(); i += 7) {
      const auto change = snapshot->change(ids[i]);
      ASSERT_TRUE(change) << i << ": " << change.error().message;
    }
    std::size_t moves = 0;
    ASSERT_TRUE(snapshot->reflog("main", [&](const RefMoveRecord&) { return ++moves, true; }));
    EXPECT_EQ(moves, ids.size());
    const auto report = store_->verify(true, {});
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& finding : report->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
    snapshot = make_error(Code::internal, "closed");
    store_.reset();
    ASSERT_EQ(0, unlink((directory() + "/control").c_str()));
    auto again = Store::open(env_, directory());
    ASSERT_TRUE(again) << again.error().message;
    store_.emplace(*std::move(again));
  }
}

TEST_F(StoreTest, AnIndexDeletedUnderALivingControlBlockIsMissedAndRebuilt) {
  std::optional<Version> expected;
  ChangeId last;
  for (int i = 0; i < 2500; ++i) {
    ASSERT_TRUE(commit("main", expected, "change " + std::to_string(i), &last));
    expected = Version(last);
  }
  ASSERT_FALSE(std::filesystem::is_empty(directory() + "/index"));
  const auto old = temp_.path() + "/old-index";
  std::filesystem::rename(directory() + "/index", old);
  {
    const auto other = Store::open(env_, directory());
    ASSERT_TRUE(other) << other.error().message;
    const auto snapshot = other->snapshot();
    const auto found = snapshot ? snapshot->ref("main") : Result<std::optional<RefValue>>(snapshot.error());
    ASSERT_FALSE(found);  // not: there is no such ref
    EXPECT_EQ(found.error().code, Code::damaged);
    EXPECT_NE(found.error().hint.find("weft repair"), std::string::npos) << found.error().hint;
  }
  store_.reset();
  const auto repaired = Store::repair(env_, directory(), {});
  ASSERT_TRUE(repaired) << repaired.error().message;
  auto again = Store::open(env_, directory());
  ASSERT_TRUE(again) << again.error().message;
  store_.emplace(*std::move(again));
  const auto report = store_->verify(true, {});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->clean());
  const auto snapshot = store_->snapshot();
  ASSERT_TRUE(snapshot);
  const auto ref = snapshot->ref("main");
  ASSERT_TRUE(ref && *ref);
  EXPECT_EQ((*ref)->version, *expected);
}

TEST_F(StoreTest, LargeContentGoesThroughAPackAndComesBack) {
  Bytes large(3u << 20, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * i >> 7);
  auto transaction = store_->begin();
  ASSERT_TRUE(transaction);
  const auto id = transaction->put(ObjectKind::blob, large);
  ASSERT_TRUE(id);
  std::vector<ObjectId> small;
  for (int i = 0; i < 3000; ++i) {
    const auto blob =
        transaction->put(ObjectKind::blob, std::to_string(i) + std::string(4000, static_cast<char>('a' + i % 26)) +
                                               sha256(std::to_string(i)).hex());
    ASSERT_TRUE(blob);
    small.push_back(*blob);
  }
  ASSERT_TRUE(transaction->commit());
  const auto snapshot = store_->snapshot();
  ASSERT_TRUE(snapshot);
  const auto back = snapshot->read(ObjectKind::blob, *id);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, large);
  for (const auto& blob : small) EXPECT_TRUE(snapshot->read(ObjectKind::blob, blob));
  const auto report = store_->verify(true, {});
  ASSERT_TRUE(report);
  for (const auto& finding : report->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
}

TEST_F(StoreTest, AnEditOfLargeContentStoresWhatChanged) {
  Bytes content = noise(7, 12u << 20);
  content.replace(5u << 20, 2u << 20, Bytes(2u << 20, '\0'));
  const auto put = [&](ByteView bytes) {
    auto transaction = store_->begin().value();
    object::ViewSource source(bytes);
    const auto stored = transaction.put_blob(source).value();
    EXPECT_EQ(stored.id, sha256(bytes));
    EXPECT_EQ(stored.size, bytes.size());
    // Before it is durable, too.
    EXPECT_EQ(transaction.reader().read(ObjectKind::blob, stored.id).value(), bytes);
    const auto opened = transaction.reader().open_blob(stored.id).value();
    EXPECT_EQ(object::read_all(*opened, bytes.size()).value(), bytes);
    EXPECT_TRUE(transaction.commit());
    return stored.id;
  };
  const ObjectId first = put(content);
  EXPECT_EQ(store_->info()->packs, 1u);
  const auto step = [&](const Bytes& edited) {
    const auto before = store_->info().value();
    const ObjectId id = put(edited);
    const auto after = store_->info().value();
    EXPECT_EQ(after.packs, before.packs);  // in the frame: one write, one flush
    EXPECT_EQ(after.flushes, before.flushes + 1);
    EXPECT_EQ(store_->snapshot()->read(ObjectKind::blob, id).value(), edited);
    return after.bytes_written - before.bytes_written;
  };
  Bytes edited = content;
  edited[3u << 20] ^= 1;
  EXPECT_LT(step(edited), 400u << 10);
  edited.insert(9u << 20, "an insertion");
  EXPECT_LT(step(edited), 400u << 10);
  edited += noise(8, 1000);
  EXPECT_LT(step(edited), 400u << 10);
  EXPECT_LT(step(content), 8192u);  // all of it is there

  const auto snapshot = store_->snapshot().value();
  EXPECT_EQ(snapshot.read(ObjectKind::blob, first).value(), content);
  EXPECT_EQ(snapshot.blob_size(first).value(), content.size());
  const auto list = snapshot.chunk_list(first).value();
  ASSERT_TRUE(list.has_value());
  const auto chunks = snapshot.chunks_of(first).value();
  EXPECT_GT(chunks.size(), 50u);
  std::uint64_t sum = 2u << 20;  // the zeros
  ASSERT_TRUE(object::for_each_chunk(snapshot, *list, [&](const object::ChunkEntry& entry) -> Result<void> {
    EXPECT_TRUE(std::binary_search(chunks.begin(), chunks.end(), entry.id));
    EXPECT_TRUE(snapshot.chunks_of(entry.id)->empty());
    if (entry.kind == object::ChunkEntry::Kind::chunk) sum += snapshot.blob_size(entry.id).value();
    return {};
  }));
  EXPECT_EQ(sum, content.size());
  // From its middle, without what is before.
  const std::uint64_t read_before = store_->objects_read();
  const auto source = snapshot.open_blob(first).value();
  ASSERT_EQ(source->skip(11u << 20).value(), 11u << 20);
  Bytes piece(1000, '\0');
  ASSERT_EQ(object::read_fully(*source, piece).value(), piece.size());
  EXPECT_EQ(piece, content.substr(11u << 20, piece.size()));
  EXPECT_LE(store_->objects_read() - read_before, 2u);

  const auto report = store_->verify(true, {});
  ASSERT_TRUE(report);
  for (const auto& finding : report->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
}

TEST_F(StoreTest, ZerosWrittenAheadStayNearWhatIsRecorded) {
  const auto put = [&](std::uint64_t seed, std::size_t size) {
    auto transaction = store_->begin().value();
    ASSERT_TRUE(transaction.put(ObjectKind::blob, noise(seed, size)));
    ASSERT_TRUE(transaction.commit());
  };
  for (std::uint64_t i = 0; i < 120; ++i) {
    put(i, 100'000);
    const auto info = store_->info().value();
    EXPECT_LE(info.zero_bytes, info.bytes_written + info.bytes_written / 10 + (512u << 10)) << i;
  }
  // Frames that make the file grow bring their own, a step of the smallest each, and no flush for them.
  const auto before = store_->info().value();
  for (std::uint64_t i = 0; i < 8; ++i) put(1000 + i, 1'000'000);
  const auto after = store_->info().value();
  EXPECT_EQ(after.flushes - before.flushes, 8u);
  EXPECT_LE(after.zero_bytes - before.zero_bytes, (after.bytes_written - before.bytes_written) / 2 + (1u << 20));
}

TEST_F(StoreTest, ManyTinyPiecesOfOneFileDoNotOverflowAFrame) {
  Bytes content;
  for (int i = 0; i < 16'500; ++i) {  // an entry each: more than a frame may have
    content += std::to_string(i);
    content.append(16u << 10, '\0');
  }
  auto transaction = store_->begin().value();
  object::ViewSource source(content);
  const auto stored = transaction.put_blob(source).value();
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(store_->info()->packs, 1u);
  EXPECT_TRUE(store_->snapshot()->read(ObjectKind::blob, stored.id).value() == content);
}

TEST_F(StoreTest, ALargeSourceThatFailsLeavesNoBlobAndTheTransactionGoesOn) {
  class Failing final : public object::ByteSource {
   public:
    explicit Failing(ByteView bytes) : bytes_(bytes) {}
    Result<std::size_t> read(std::span<char> out) override {
      WEFT_TRY(const std::size_t got, bytes_.read(out));
      if (got == 0) return make_error(Code::io, "the file went away");
      return got;
    }

   private:
    object::ViewSource bytes_;
  };
  const Bytes content = noise(3, 9u << 20);
  auto transaction = store_->begin().value();
  Failing failing(content);
  EXPECT_EQ(transaction.put_blob(failing).error().code, Code::io);
  EXPECT_FALSE(transaction.reader().contains(ObjectKind::blob, sha256(content)).value());
  object::ViewSource whole(content);
  const auto stored = transaction.put_blob(whole).value();
  ASSERT_TRUE(transaction.commit());
  EXPECT_TRUE(store_->snapshot()->read(ObjectKind::blob, stored.id).value() == content);
}

TEST_F(StoreTest, ALostPackTakesOnlyItsOwnContentWithIt) {  // IX4
  ChangeId before;
  ASSERT_TRUE(commit("main", std::nullopt, "before", &before));
  const Bytes large = noise(1, 6u << 20);
  const auto put = [&] {
    auto transaction = store_->begin().value();
    const ObjectId id = transaction.put(ObjectKind::blob, large).value();
    EXPECT_TRUE(transaction.commit());
    return id;
  };
  const ObjectId lost = put();
  const auto packs = env_.fs.list(directory() + "/packs");
  ASSERT_TRUE(packs);
  ASSERT_EQ(packs->size(), 1u);
  const std::string pack = directory() + "/packs/" + packs->front().name;
  for (const bool gone : {false, true}) {
    store_.reset();
    ASSERT_EQ(0, gone ? unlink(pack.c_str()) : truncate(pack.c_str(), 1u << 20));
    const auto repaired = Store::repair(env_, directory(), {});
    ASSERT_FALSE(repaired) << "nothing is given up without being told to";
    ASSERT_EQ(repaired.error().code, Code::damaged) << repaired.error().message;
    auto again = Store::open(env_, directory());
    ASSERT_TRUE(again) << again.error().message;
    store_.emplace(*std::move(again));
    // Enough for a merge: the second round has the pack in a run, not in the tail.
    auto many = store_->begin().value();
    for (int i = 0; i < 5000; ++i) ASSERT_TRUE(many.put(ObjectKind::blob, fmt::format("{} {}", gone, i)));
    ASSERT_TRUE(many.commit());
    ASSERT_TRUE(commit("other", std::nullopt, "other", nullptr).has_value() || gone);
    const auto snapshot = store_->snapshot();
    ASSERT_TRUE(snapshot);
    const auto change = snapshot->change(before);
    ASSERT_TRUE(change) << change.error().message;
    EXPECT_EQ(snapshot->find_by_prefix(ObjectKind::change, before.hex().substr(0, 16), 2).value(),
              std::vector<ObjectId>{before});
    const auto missing = snapshot->read(ObjectKind::blob, lost);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::damaged) << missing.error().message;
    const auto report = store_->verify(false, {});
    ASSERT_TRUE(report);
    ASSERT_FALSE(report->findings.empty());
    EXPECT_NE(report->findings.front().what.find(pack), std::string::npos) << report->findings.front().what;
  }
  // The same content, put again, heals it.
  put();
  const auto snapshot = store_->snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->read(ObjectKind::blob, lost).value(), large);
}

}  // namespace
}  // namespace weft::store
