// CASES C5: what lies behind the last flush may be torn, zeroed or garbled and is dropped with a word; what was durable
// and is gone is damage: readable as far as it goes, nothing written, until repair is told to accept the loss.
// Guarantees cited: S-1 (store/store.h), L3 (log/segments.h).
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "object/chunk_list.h"
#include "store/gc.h"
#include "store_world.h"

namespace weft::store {
namespace {

using Outcome = Attempt::Outcome;

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    clock_.set_tick(1000);
    ASSERT_TRUE(process_.create({.segment_bytes = 1u << 20}));
    for (int i = 0; i < 6; ++i) commit("main");
    end_ = process_.store().info()->log_end;
  }

  Attempt& commit(const std::string& ref, std::size_t small_blobs = 1) {
    Attempt plan;
    plan.edits.push_back({.ref = ref});
    plan.small_blobs = small_blobs;
    Attempt& attempt = journal_.add(plan);
    perform(process_.store(), attempt, 1);
    return attempt;
  }
  /// So many entries that the index is merged.
  void merge() {
    for (int i = 0; i < 2; ++i) ASSERT_EQ(commit("many", 2100).outcome, Outcome::acked);
    ASSERT_TRUE(fs_.status(kStoreDirectory + "/index/manifest"));
    end_ = process_.store().info()->log_end;
  }
  void cut_log(std::uint64_t size) {
    auto file = fs_.open(segment(), OpenMode::write);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->set_size(size));
    ASSERT_TRUE((*file)->sync());
  }
  void reopen(bool reboot) {
    process_.close();
    if (reboot) block_.reboot();
    const auto opened = process_.open();
    ASSERT_TRUE(opened) << opened.error().message;
  }
  static std::string segment() { return kStoreDirectory + "/log/0000000001.seg"; }
  Result<RepairReport> repair(bool accept_loss) {
    process_.close();
    return Store::repair(process_.env(), kStoreDirectory, {.accept_loss = accept_loss}, process_.hooks());
  }

  /// A transaction whose frame is on the disk, but never acknowledged: its author died before the flush came back.
  Attempt& unflushed() {
    Attempt plan;
    plan.edits.push_back({.ref = "main"});
    plan.small_blobs = 40;
    Attempt& attempt = journal_.add(plan);
    attempt.operations_when_told = SIZE_MAX;
    StoreProcess author(block_, fs_, clock_, random_, 7);
    EXPECT_TRUE(author.open());
    author.process.dies_at = [](const char* name) { return std::string_view(name) == "lead:written"; };
    EXPECT_THROW(perform(author.store(), attempt, 1), Killed);
    return attempt;
  }

  void expect_goes_on(bool dropped) {
    ASSERT_FALSE(process_.store().damage()) << process_.store().damage()->message;
    ASSERT_EQ(process_.store().notices().size(), dropped ? 1u : 0u);
    if (dropped) {
      EXPECT_NE(process_.store().notices().front().find("dropped an unfinished transaction"), std::string::npos);
    }
    EXPECT_EQ(commit("main").outcome, Outcome::acked);
    const auto problems = check_store(process_.store(), journal_, {});
    EXPECT_TRUE(problems.empty()) << join(problems);
    reopen(true);
    EXPECT_TRUE(process_.store().notices().empty()) << "told twice";
  }

  /// Readable up to the last whole transaction, closed for writing, not repaired by accident; open again when told to.
  /// `after`: the last transaction that counts then.
  void expect_damage(std::size_t survivors, std::optional<std::size_t> after = {}) {
    ASSERT_TRUE(process_.store().damage());
    EXPECT_EQ(process_.store().damage()->code, Code::damaged);
    EXPECT_EQ(exit_code(process_.store().damage()->code), 5);
    const auto refs = refs_of(process_.store());
    ASSERT_TRUE(refs) << refs.error().message;
    ASSERT_TRUE(refs->contains("main"));
    std::optional<Snapshot> snapshot = *process_.store().snapshot();
    for (std::size_t i = 0; i < survivors; ++i) {
      const auto change = snapshot->change(journal_.attempts()[i]->change);
      EXPECT_TRUE(change) << "transaction " << i << ": " << change.error().message;
    }
    EXPECT_EQ(refs->at("main"), Version(journal_.attempts()[survivors - 1]->change));
    std::size_t moves = 0;
    const auto logged = snapshot->reflog("main", [&](const RefMoveRecord&) { return ++moves, true; });
    EXPECT_TRUE(logged) << logged.error().message;
    EXPECT_EQ(moves, survivors);
    snapshot.reset();  // it keeps the store open

    Attempt& refused = commit("main");
    EXPECT_EQ(refused.code, Code::damaged) << describe(refused);
    const auto report = process_.store().verify(false, {});
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->clean());

    const auto unwilling = repair(false);
    ASSERT_FALSE(unwilling);
    EXPECT_EQ(unwilling.error().code, Code::damaged);
    EXPECT_NE(unwilling.error().message.find("0000000001.seg"), std::string::npos) << unwilling.error().message;
    EXPECT_NE(unwilling.error().hint.find("--accept-loss"), std::string::npos);

    const auto repaired = repair(true);
    ASSERT_TRUE(repaired) << repaired.error().message;
    ASSERT_FALSE(repaired->given_up.empty());
    ASSERT_TRUE(process_.open());
    EXPECT_FALSE(process_.store().damage());
    const auto held = refs_of(process_.store());
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_EQ(held->at("main"), Version(journal_.attempts()[after.value_or(survivors) - 1]->change));
    EXPECT_EQ(commit("main").outcome, Outcome::acked);
    const auto clean = process_.store().verify(true, {});
    ASSERT_TRUE(clean) << clean.error().message;
    for (const auto& finding : clean->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
    reopen(true);
    EXPECT_FALSE(process_.store().damage());
  }

  SimFileSystem fs_;
  FakeClock clock_;
  FakeRandom random_;
  HeapBlock block_{clock_};
  StoreProcess process_{block_, fs_, clock_, random_};
  Journal journal_;
  std::uint64_t end_ = 0;
};

TEST_F(Damage, AWholeUnflushedTailIsKept) {
  const Attempt& attempt = unflushed();
  reopen(true);
  ASSERT_TRUE(process_.store().notices().empty());
  const auto snapshot = process_.store().snapshot();
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->change(attempt.change));
  expect_goes_on(false);
}

TEST_F(Damage, ATornTailIsDroppedWithAWord) {
  unflushed();
  fs_.damage(segment(), end_ + 512, Bytes(fs_.content(segment()).size() - end_ - 512, '\0'));
  reopen(true);
  expect_goes_on(true);
}

TEST_F(Damage, AZeroedTailIsNothingToSpeakOf) {
  unflushed();
  fs_.damage(segment(), end_, Bytes(fs_.content(segment()).size() - end_, '\0'));
  reopen(true);
  expect_goes_on(false);
}

TEST_F(Damage, AGarbledTailIsDroppedWithAWord) {
  unflushed();
  for (const std::uint64_t offset : {0, 8, 70, 100, 600}) {
    SCOPED_TRACE(offset);
    Bytes garbage(200, '\0');
    random_.fill({garbage.data(), garbage.size()});
    fs_.damage(segment(), end_ + offset, garbage);
  }
  reopen(true);
  expect_goes_on(true);
}

TEST_F(Damage, AnyByteOfTheTailWrongDropsItWhole) {
  unflushed();
  const Bytes whole = fs_.content(segment());
  for (std::uint64_t offset = end_; offset < end_ + 400; offset += 7) {
    SCOPED_TRACE("byte " + std::to_string(offset - end_));
    fs_.damage(segment(), 0, whole);
    fs_.damage(segment(), offset, Bytes(1, static_cast<char>(whole[offset] ^ 0x40)));
    const auto disk = fs_.after_crash(fs_.operation_count(), {.kind = SimCrash::Kind::prefix});
    HeapBlock block(clock_);
    StoreProcess later(block, *disk, clock_, random_);
    ASSERT_TRUE(later.open());
    ASSERT_FALSE(later.store().damage());
    EXPECT_EQ(later.store().notices().size(), 1u);
    const auto problems = check_store(later.store(), journal_, {.verify = false});
    ASSERT_TRUE(problems.empty()) << join(problems);
  }
}

TEST_F(Damage, ALogCutWhileTheControlBlockLives) {
  // Into the fourth commit: store frame and commits lie in pages of their own.
  cut_log(4 * 4096 + 100);
  reopen(false);
  expect_damage(3);
}

TEST_F(Damage, ALogCutBehindAnIndexMergeAndAReboot) {
  merge();
  cut_log(4 * 4096 + 100);
  reopen(true);
  expect_damage(3);
}

TEST_F(Damage, ALogCutWhileItIsInUseAndMerged) {
  merge();
  cut_log(4 * 4096 + 100);
  reopen(false);
  expect_damage(3);
}

/// A frame in the middle is overwritten: what follows it proves that it was durable once.
TEST_F(Damage, AHoleInTheMiddleIsDamageNotATail) {
  fs_.damage(segment(), 4 * 4096, Bytes(4096, '\0'));
  reopen(true);
  expect_damage(3, 6);  // what is behind the hole is whole
}

TEST_F(Damage, AMissingSegmentFileIsDamage) {
  merge();
  ASSERT_TRUE(fs_.unlink(segment()));
  reopen(true);
  ASSERT_TRUE(process_.store().damage());
  EXPECT_NE(process_.store().damage()->message.find("0000000001.seg"), std::string::npos);
  EXPECT_EQ(commit("main").code, Code::damaged);
  // Without the first segment there is no store frame: nothing for a repair to stand on.
  const auto repaired = repair(true);
  ASSERT_FALSE(repaired);
  EXPECT_EQ(repaired.error().code, Code::damaged);
}

/// The index is derived: whatever happens to it costs nothing but the time to make it again (S-1).
TEST_F(Damage, ADamagedIndexIsRebuilt) {
  merge();
  const auto entries = fs_.list(kStoreDirectory + "/index");
  ASSERT_TRUE(entries);
  for (const auto& entry : *entries) {
    SCOPED_TRACE(entry.name);
    const std::string path = kStoreDirectory + "/index/" + entry.name;
    if (!fs_.status(path)) continue;
    const Bytes content = fs_.content(path);
    fs_.damage(path, 0, Bytes(std::min<std::size_t>(content.size(), 64), '\x5a'));
    reopen(true);
    ASSERT_FALSE(process_.store().damage());
    EXPECT_FALSE(process_.store().notices().empty());
    auto problems = check_store(process_.store(), journal_, {});
    EXPECT_TRUE(problems.empty()) << join(problems);
    EXPECT_EQ(commit("main").outcome, Outcome::acked);
  }
  const auto repaired = repair(false);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->given_up.empty());
  ASSERT_TRUE(process_.open());
  const auto problems = check_store(process_.store(), journal_, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
}

TEST_F(Damage, RepairOfASoundStoreChangesNothing) {
  merge();
  const auto before = refs_of(process_.store());
  const auto repaired = repair(true);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->given_up.empty());
  ASSERT_TRUE(process_.open());
  EXPECT_EQ(*refs_of(process_.store()), *before);
  const auto problems = check_store(process_.store(), journal_, {});
  EXPECT_TRUE(problems.empty()) << join(problems);
}

/// A crash in the middle of accepting a loss leaves a store that is damaged still, or repaired; never one that opens
/// with old frames behind its end.
/// A large blob is lost with any part of it, also with one that only a page of its list names; given up, it can be put
/// anew (store/survey.h, SV4).
TEST_F(Damage, ALargeBlobIsLostWithAnyOfItsParts) {
  Bytes content(1u << 20, '\0');
  random_.fill({content.data(), content.size()});
  for (int i = 0; i < 600; ++i) {  // so many parts that the list has pages
    content.append(17u << 10, '\0');
    content += "part " + std::to_string(i);
  }
  const ObjectId blob = sha256(content);
  const auto put = [&] {
    auto transaction = process_.store().begin();
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(transaction->put(ObjectKind::blob, content));
    ASSERT_TRUE(transaction->commit());
  };
  put();
  const auto parts = process_.store().snapshot()->chunks_of(blob);
  ASSERT_TRUE(parts);
  ObjectId page, chunk;
  for (const auto& part : *parts) {
    const auto bytes = process_.store().snapshot()->read(ObjectKind::blob, part);
    ASSERT_TRUE(bytes);
    if (bytes->starts_with(object::kPageMagic)) page = part;
    if (bytes->starts_with("part ")) chunk = part;
  }
  ASSERT_FALSE(page.is_zero());
  ASSERT_FALSE(chunk.is_zero());
  for (const ObjectId& part : {page, chunk}) {
    // The newest pack has it.
    const auto entries = fs_.list(kStoreDirectory + "/packs");
    ASSERT_TRUE(entries);
    std::string path;
    std::uint64_t offset = 0;
    for (const auto& entry : *entries) {
      const Bytes bytes = fs_.content(kStoreDirectory + "/packs/" + entry.name);
      const std::size_t found = bytes.find(part.view());
      if (found == Bytes::npos) continue;
      path = kStoreDirectory + "/packs/" + entry.name;
      offset = found + ObjectId::kSize + 11;
    }
    ASSERT_FALSE(path.empty());
    process_.close();
    auto file = fs_.open(path, OpenMode::write);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->write_at(offset, "!?"));
    ASSERT_TRUE((*file)->sync());
    reopen(true);
    const auto report = process_.store().verify(true, {});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->findings.size(), 1u) << report->findings.back().what;
    const std::set<ObjectName> lost(report->findings[0].objects.begin(), report->findings[0].objects.end());
    EXPECT_EQ(lost, (std::set<ObjectName>{{ObjectKind::blob, part}, {ObjectKind::blob, blob}}));
    const auto repaired = repair(true);
    ASSERT_TRUE(repaired) << repaired.error().message;
    EXPECT_EQ(repaired->lost_objects, 2u);
    reopen(true);
    const auto there = process_.store().snapshot()->contains(ObjectKind::blob, blob);
    ASSERT_TRUE(there) << there.error().message;
    EXPECT_FALSE(*there) << "a list with a hole would keep the blob from being put anew";
    put();
    const auto read = process_.store().snapshot()->read(ObjectKind::blob, blob);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read == content, true);
    const auto clean = process_.store().verify(true, {});
    ASSERT_TRUE(clean);
    for (const auto& finding : clean->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
  }
}

/// After a gc truth lies in packs that a kept file names, and in a log that begins later.
class DamageAfterGc : public Damage {
 protected:
  void SetUp() override {
    Damage::SetUp();
    merge();
    commit("other", 3);
    const auto now = process_.store().snapshot();
    ASSERT_TRUE(now);
    const auto done = gc(*now, {.keep_ns = kKeepNs});
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_GT(done->packs_written, 0u);
    ASSERT_GT(done->segments_removed, 0u);
  }
  /// Of a file that ends so: there must be one.
  std::string find(const char* directory, std::string_view suffix) {
    const auto entries = fs_.list(kStoreDirectory + directory);
    for (const auto& entry : *entries) {
      if (entry.name.ends_with(suffix)) return kStoreDirectory + directory + "/" + entry.name;
    }
    ADD_FAILURE() << "no file *" << suffix;
    return {};
  }
  void spoil(const std::string& path, std::uint64_t offset) {
    auto file = fs_.open(path, OpenMode::write);
    ASSERT_TRUE(file);
    char byte = fs_.content(path)[offset];
    byte = static_cast<char>(byte ^ 0x10);
    ASSERT_TRUE((*file)->write_at(offset, {&byte, 1}));
    ASSERT_TRUE((*file)->sync());
  }
  void copy_store() {
    const auto put = [&](const std::string& from, const std::string& to) {
      auto file = fs_.open(to, OpenMode::create_new);
      ASSERT_TRUE(file);
      ASSERT_TRUE((*file)->write_at(0, fs_.content(from)));
      ASSERT_TRUE((*file)->sync());
    };
    ASSERT_TRUE(fs_.make_directory("/copy"));
    ASSERT_TRUE(fs_.make_directory(kCopy));
    for (const std::string directory : {"/log", "/packs", "/index", "/workspaces"}) {
      ASSERT_TRUE(fs_.make_directory(kCopy + directory));
      const auto entries = fs_.list(kStoreDirectory + directory);
      if (!entries) continue;
      for (const auto& entry : *entries) {
        put(kStoreDirectory + directory + "/" + entry.name, kCopy + directory + "/" + entry.name);
      }
    }
    put(kStoreDirectory + "/format", kCopy + "/format");
  }
  Result<RepairReport> repair_from_copy() {
    process_.close();
    HeapBlock other_block(clock_);
    StoreProcess other(other_block, fs_, clock_, random_, 2);
    const StoreHooks hooks = other.hooks();
    return Store::repair(process_.env(), kStoreDirectory, {.from = kCopy, .from_hooks = &hooks}, process_.hooks());
  }
  std::vector<Finding> findings() {
    const auto report = process_.store().verify(true, {});
    EXPECT_TRUE(report) << report.error().message;
    return report ? report->findings : std::vector<Finding>{};
  }
  void expect_whole(const std::map<std::string, Version>& refs) {
    reopen(true);
    ASSERT_FALSE(process_.store().damage()) << process_.store().damage()->message;
    for (const auto& finding : findings()) ADD_FAILURE() << finding.what << " / " << finding.affects;
    const auto held = refs_of(process_.store());
    ASSERT_TRUE(held) << held.error().message;
    EXPECT_EQ(*held, refs);
    EXPECT_EQ(commit("main").outcome, Outcome::acked);
    EXPECT_TRUE(findings().empty());
  }

  static constexpr std::int64_t kKeepNs = std::int64_t{3'600} * 1'000'000'000;
  const std::string kCopy = "/copy/.weft";
};

TEST_F(DamageAfterGc, NothingIsWrongWithIt) {
  for (const auto& finding : findings()) ADD_FAILURE() << finding.what << " / " << finding.affects;
  const auto refs = refs_of(process_.store());
  const auto repaired = repair(true);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->given_up.empty()) << repaired->given_up.front();
  expect_whole(*refs);
}

TEST_F(DamageAfterGc, AKeptFileComesFromACopyOrNotAtAll) {
  const auto refs = refs_of(process_.store());
  copy_store();
  for (const bool removed : {false, true}) {
    const std::string path = find("/log", ".kept");
    process_.close();
    if (removed) {
      ASSERT_TRUE(fs_.unlink(path));
    } else {
      spoil(path, fs_.content(path).size() / 2);
    }
    block_.reboot();
    if (process_.open()) {
      bool told = false;
      for (const auto& finding : findings()) told = told || finding.kind == "kept";
      EXPECT_TRUE(told);
    }
    for (const bool accept_loss : {false, true}) {
      const auto refused = repair(accept_loss);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::damaged);
      EXPECT_NE(refused.error().hint.find("--from"), std::string::npos) << refused.error().hint;
    }
    const auto repaired = repair_from_copy();
    ASSERT_TRUE(repaired) << removed << " " << repaired.error().message << " / " << repaired.error().hint;
    EXPECT_TRUE(repaired->given_up.empty()) << repaired->given_up.front();
    reopen(true);
    EXPECT_EQ(*refs_of(process_.store()), *refs);
    EXPECT_TRUE(findings().empty());
  }
}

TEST_F(DamageAfterGc, APackThatIsGoneComesFromACopy) {
  const auto refs = refs_of(process_.store());
  copy_store();
  const std::string path = find("/packs", ".pack");
  process_.close();
  ASSERT_TRUE(fs_.unlink(path));
  reopen(true);
  EXPECT_EQ(findings().size(), 1u);
  const auto refused = repair(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::damaged);
  const auto repaired = repair_from_copy();
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->given_up.empty()) << repaired->given_up.front();
  expect_whole(*refs);
}

TEST_F(DamageAfterGc, ADamagedPackIsGivenUpAsFarAsItIsLost) {
  const std::string path = find("/packs", ".pack");
  process_.close();
  spoil(path, 200);
  reopen(true);
  const auto found = findings();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "pack");
  EXPECT_GE(found[0].lost_objects, 1u);
  const auto repaired = repair(true);
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_EQ(repaired->lost_objects, found[0].lost_objects);
  reopen(true);
  for (const auto& finding : findings()) ADD_FAILURE() << finding.what << " / " << finding.affects;
  EXPECT_EQ(commit("main").outcome, Outcome::acked);
}

TEST_F(DamageAfterGc, AMissingSegmentBehindItComesFromACopy) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(commit("late", 1500).outcome, Outcome::acked);
  const auto refs = refs_of(process_.store());
  copy_store();
  const std::string path = find("/log", ".seg");
  process_.close();
  ASSERT_TRUE(fs_.unlink(path));
  block_.reboot();
  if (process_.open()) {
    EXPECT_FALSE(findings().empty());
  }
  const auto refused = repair(false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::damaged);
  const auto repaired = repair_from_copy();
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_TRUE(repaired->given_up.empty()) << repaired->given_up.front();
  expect_whole(*refs);
}

TEST_F(Damage, PowerLossWhileRepairing) {
  merge();
  for (int i = 0; i < 4; ++i) {
    Attempt plan;
    plan.edits.push_back({.ref = "big", .extra_bytes = 90'000});
    plan.large_blob_bytes = 200'000;
    Attempt& attempt = journal_.add(plan);
    perform(process_.store(), attempt, 1);
    ASSERT_EQ(attempt.outcome, Outcome::acked) << describe(attempt);
  }
  ASSERT_TRUE(fs_.status(kStoreDirectory + "/log/0000000002.seg"));
  process_.close();
  fs_.damage(segment(), 4 * 4096, Bytes(4096, '\0'));
  block_.reboot();
  ASSERT_TRUE(repair(true));
  fs_.for_each_crash(0, 2, [&](SimFileSystem& disk, std::size_t, const std::string& text) {
    SCOPED_TRACE(text);
    HeapBlock block(clock_);
    StoreProcess later(block, disk, clock_, random_);
    // Opening looks at the tail alone: a hole below what is merged shows where it is read, and in verify.
    const auto sound = [&]() -> Result<bool> {
      WEFT_DO(later.open());
      if (later.store().damage()) return false;
      WEFT_TRY(const VerifyReport report, later.store().verify(false, {}));
      return report.clean();
    };
    Result<bool> opened = sound();
    if (!opened || !*opened) {
      later.close();
      block.reboot();
      const auto repaired = Store::repair(later.env(), kStoreDirectory, {.accept_loss = true}, later.hooks());
      ASSERT_TRUE(repaired) << repaired.error().message;
      opened = sound();
    }
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE(*opened);
    ASSERT_FALSE(later.store().damage()) << later.store().damage()->message;
    Journal further;
    Attempt plan;
    plan.edits.push_back({.ref = "further"});
    Attempt& attempt = further.add(plan);
    perform(later.store(), attempt, 2);
    EXPECT_EQ(attempt.outcome, Outcome::acked) << describe(attempt);
    const auto report = later.store().verify(true, {});
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& finding : report->findings) ADD_FAILURE() << finding.what << " / " << finding.affects;
  });
}

}  // namespace
}  // namespace weft::store
