// CASES C5, FEATURES S8: random damages at every structure's edges. Whatever is done to the files: nothing crashes,
// nothing gives other bytes than were stored, verify says what is lost and nothing else, what is unaffected can be
// read, and each kind of repair leads to a store that is sound, has everything the oracle calls whole, and takes new
// commits. Guarantees cited: SV1 to SV3 (store/survey.h), V1 (store/verify.cc), RP1 to RP3 (store/repair.cc), SA1, SA2
// (store/salvage.h).
//
//   WEFT_DAMAGES=N       so many damages (default: 40)
//   WEFT_DAMAGE_SEED=S   the first of them; with WEFT_DAMAGES=1 only that one
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/hash.h"
#include "damage_world.h"

namespace weft::store {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

constexpr std::uint64_t kDefaultDamages = 40;

class Case {
 public:
  Case(DamageWorld& world, DamageWorld& other, std::uint64_t seed)
      : world_(world), random_(seed * 2'654'435'761 + 17), disk_(world.copy()) {
    std::uint64_t draw = 0;
    random_.fill({reinterpret_cast<char*>(&draw), sizeof(draw)});
    draw_ = draw;
    const std::size_t damages = draw % 10 < 7 ? 1 : 1 + draw / 10 % 3;
    for (std::size_t i = 0; i < damages; ++i) {
      // Each damage starts from the whole file: later ones to the same file take the place of earlier ones.
      what_ += (i > 0 ? "; " : "") + damage(world, other, *disk_, random_);
    }
    oracle_.emplace(world, other, *disk_);
    gone_ = oracle_->lost;
    gone_.insert(oracle_->gone.begin(), oracle_->gone.end());
  }

  void run() {
    SCOPED_TRACE(what_);
    look();
    if (testing::Test::HasFatalFailure()) return;
    plain_repair();
    if (testing::Test::HasFatalFailure()) return;
    if (draw_ / 64 % 3 == 0) repair_from_copy();
    if (testing::Test::HasFatalFailure()) return;
    if (draw_ / 256 % 3 == 0) repair_from_objects();
    if (testing::Test::HasFatalFailure()) return;
    accept_loss();
  }
  const Oracle& oracle() const { return *oracle_; }
  bool was_refused() const { return refused_; }

 private:
  /// Part of the log is gone, and something of another store lies behind: nothing may be left that tells which of them
  /// is which. Then repair refuses to guess.
  bool may_be_ambiguous() const {
    return oracle_->foreign && !oracle_->frames_hit.empty() &&
           world_.frames()[*oracle_->frames_hit.begin()].position < DamageWorld::kSegmentBytes;
  }
  bool refuses_to_guess(const Error& error) {
    const bool refused =
        error.code == Code::damaged && error.message.find("which of them is this store's") != std::string::npos;
    EXPECT_TRUE(!refused || may_be_ambiguous()) << error.message;
    refused_ = refused_ || refused;
    return refused;
  }

  /// A machine with the damaged disk in it.
  struct Machine {
    Machine(SimFileSystem& from, FakeClock& clock, Random& random)
        : disk(from.after_crash(from.operation_count(), {.kind = SimCrash::Kind::prefix})),
          block(clock),
          process(block, *disk, clock, random) {
      process.history_step = 32;
    }
    Result<RepairReport> repair(const RepairOptions& options) {
      process.close();
      return Store::repair(process.env(), kStoreDirectory, options, process.hooks());
    }
    std::unique_ptr<SimFileSystem> disk;
    HeapBlock block;
    StoreProcess process;
  };
  std::unique_ptr<Machine> machine() { return std::make_unique<Machine>(*disk_, world_.clock(), random_); }

  /// No read gives other bytes than were stored. `all`: everything that is not lost can be read, too.
  void expect_reads(const Store& store, bool all, const std::set<ObjectName>& lost) {
    const auto snapshot = store.snapshot();
    ASSERT_TRUE(snapshot);
    for (const auto& [name, bytes] : world_.objects()) {
      const auto read = snapshot->read(name.kind, name.id);
      if (read) {
        ASSERT_EQ(*read == bytes, true) << "other bytes for " << object::name(name.kind) << " " << name.id.hex();
        ASSERT_FALSE(all && lost.contains(name))
            << object::name(name.kind) << " " << name.id.hex() << " should be lost";
      } else {
        ASSERT_TRUE(read.error().code == Code::damaged || read.error().code == Code::not_found) << read.error().message;
        ASSERT_FALSE(all && !lost.contains(name))
            << object::name(name.kind) << " " << name.id.hex() << " is lost without need: " << read.error().message;
      }
    }
  }

  void expect_sound(Machine& machine, const std::set<ObjectName>& lost) {
    ASSERT_TRUE(machine.process.open());
    Store& store = machine.process.store();
    ASSERT_FALSE(store.damage()) << store.damage()->message;
    const auto report = store.verify(true, {});
    ASSERT_TRUE(report) << report.error().message;
    for (const auto& finding : report->findings) {
      ADD_FAILURE() << "after the repair: " << finding.what << " / " << finding.affects;
    }
    expect_reads(store, true, lost);
    if (testing::Test::HasFailure()) return;
    auto transaction = store.begin();
    ASSERT_TRUE(transaction);
    object::Change change;
    change.author = change.committer = {"B", "b@example.org", {2'000'000'000, 0}};
    change.message = "after";
    change.tree = object::empty_tree_id();
    ASSERT_TRUE(object::write_directory(*transaction, {}));
    const auto id = transaction->put_change(change);
    ASSERT_TRUE(id);
    RefEdit edit;
    edit.name = "after";
    edit.after = RefValue{Version(*id), {}};
    transaction->edit_ref(edit);
    transaction->set_operation({.label = "after", .author = "B"});
    ASSERT_TRUE(transaction->commit());
    machine.process.close();
    machine.block.reboot();
    ASSERT_TRUE(machine.process.open());
    ASSERT_TRUE(machine.process.store().snapshot()->change(*id));
    const auto again = machine.process.store().verify(true, {});
    ASSERT_TRUE(again && again->clean());
  }

  void expect_refs(const Store& store, const std::map<std::string, Version>& refs) {
    const auto held = refs_of(store);
    ASSERT_TRUE(held);
    for (const auto& [name, version] : refs) {
      ASSERT_TRUE(held->contains(name)) << "ref " << name << " is gone";
      EXPECT_EQ(held->at(name).text(), version.text()) << "ref " << name;
    }
  }

  /// Reading and verifying the damaged store.
  void look() {
    const auto at = machine();
    const auto opened = at->process.open();
    if (!opened) {
      ASSERT_EQ(opened.error().code, Code::damaged) << opened.error().message;
      ASSERT_TRUE(oracle_->log_hit) << "does not open: " << opened.error().message;
      return;
    }
    Store& store = at->process.store();
    if (store.damage()) {
      ASSERT_TRUE(oracle_->log_hit) << store.damage()->message;
    }
    // Behind a hole that is met only when it is read, refs and objects are still found; never others.
    expect_reads(store, !oracle_->log_hit && !index_hit_packs(), gone_);
    if (testing::Test::HasFatalFailure()) return;
    const auto snapshot = store.snapshot();
    const auto refs = snapshot->refs();
    // A known limit: who reads a log whose beginning is gone takes what is left for this store's, with a warning.
    if (refs && !(may_be_ambiguous() && store.damage())) {
      for (const auto& ref : *refs) {
        bool known = false;
        for (const auto& frame : world_.frames()) {
          for (const auto& [name, version] : frame.moves)
            known = known || (name == ref.name && *version == ref.value.version);
        }
        ASSERT_TRUE(known) << "ref " << ref.name << " holds what it never held";
      }
    } else if (!refs) {
      ASSERT_EQ(refs.error().code, Code::damaged);
    }
    for (const bool deep : {true, false}) {
      const auto report = store.verify(deep, {});
      ASSERT_TRUE(report) << report.error().message;
      if (!testing::Test::HasFailure()) judge(*report, deep);
    }
  }
  /// A pack's table tells readers where things are; while it is garbled they may not find what is whole.
  bool index_hit_packs() const { return oracle_->pack_hit; }

  void judge(const VerifyReport& report, bool deep) {
    for (const auto& finding : report.findings) {
      if (may_be_ambiguous() && finding.what.find("which of them is this store's") != std::string::npos) return;
    }
    std::set<ObjectName> named;
    std::size_t of_truth = 0;
    for (const auto& finding : report.findings) {
      if (finding.kind == "log" || finding.kind == "pack" || finding.kind == "object") {
        ++of_truth;
        for (const auto& name : finding.objects) EXPECT_TRUE(named.insert(name).second) << "named twice";
        for (const auto& [path, name] : finding.paths) {
          if (name.kind != ObjectKind::blob) continue;
          EXPECT_TRUE(world_.paths().contains(name.id) && world_.paths().at(name.id).contains(path))
              << "says " << path << " of blob " << name.id.hex();
        }
      }
    }
    if (!oracle_->log_hit && !oracle_->pack_hit) {
      EXPECT_EQ(of_truth, 0u) << report.findings.front().what;
      return;
    }
    if (deep || oracle_->log_hit) {
      EXPECT_FALSE(report.clean());
    }
    if (!deep && report.clean()) return;  // a flipped byte within a pack shows when it is hashed
    for (const auto& name : named) {
      EXPECT_TRUE(oracle_->lost.contains(name))
          << "says that " << object::name(name.kind) << " " << name.id.hex() << " is lost";
    }
    for (const auto& name : oracle_->needed) {
      if (deep) {
        EXPECT_TRUE(named.contains(name))
            << "does not say that " << object::name(name.kind) << " " << name.id.hex() << " is lost";
      }
    }
    if (testing::Test::HasFailure()) {
      for (const auto& finding : report.findings) {
        ADD_FAILURE() << finding.kind << ": " << finding.what << " / " << finding.affects << " / "
                      << finding.lost_objects;
      }
    }
    // One damage, one finding; what lay in one of several is gathered in one more.
    EXPECT_LE(of_truth, oracle_->regions * 2 + 2);
  }

  void plain_repair() {
    const auto at = machine();
    const auto repaired = at->repair({});
    if (oracle_->nothing_lost()) {
      ASSERT_TRUE(repaired) << repaired.error().message;
      ASSERT_TRUE(repaired->given_up.empty());
      if (oracle_->pack_hit) return;  // a flipped byte of a pack that nobody hashed: the others look for it
      expect_sound(*at, gone_);
      if (!testing::Test::HasFailure()) expect_refs(at->process.store(), oracle_->refs);
      return;
    }
    if (repaired) {
      // What is lost in a pack shows only to whoever hashes; then nothing was changed that matters.
      ASSERT_TRUE(oracle_->frames_hit.empty()) << "gave up without being told to";
      ASSERT_TRUE(repaired->given_up.empty());
      return;
    }
    ASSERT_EQ(repaired.error().code, Code::damaged) << repaired.error().message;
    // Nothing was changed: what was there is there. (Opening clears what is torn, and segments with nothing in them.)
    if (!oracle_->torn.empty()) return;
    for (const auto& [path, bytes] : world_.files()) {
      if (path.find("/index/") != std::string::npos || bytes.find_first_not_of('\0') == Bytes::npos) continue;
      ASSERT_EQ(at->disk->status(path).has_value(), disk_->status(path).has_value()) << path;
      if (at->disk->status(path)) {
        ASSERT_EQ(at->disk->content(path) == disk_->content(path), true) << path << " was changed";
      }
    }
  }

  /// A copy of the store has every byte.
  void repair_from_copy() {
    const auto at = machine();
    const std::string copy = "/copy/.weft";
    ASSERT_TRUE(at->disk->make_directory("/copy"));
    ASSERT_TRUE(at->disk->make_directory(copy));
    for (const char* const directory : {"/log", "/packs", "/index", "/workspaces"})
      ASSERT_TRUE(at->disk->make_directory(copy + directory));
    const auto put = [&](const std::string& path, const Bytes& bytes) {
      const auto file = at->disk->open(path, OpenMode::create_new);
      ASSERT_TRUE(file);
      ASSERT_TRUE((*file)->write_at(0, bytes));
      ASSERT_TRUE((*file)->sync());
    };
    put(copy + "/format", at->disk->content(kStoreDirectory + "/format"));
    for (const auto& [path, bytes] : world_.files()) put(copy + path.substr(kStoreDirectory.size()), bytes);
    HeapBlock other_block(world_.clock());
    StoreProcess other(other_block, *at->disk, world_.clock(), random_, 2);
    const StoreHooks hooks = other.hooks();
    const auto repaired = at->repair({.from = copy, .from_hooks = &hooks});
    if (!repaired && refuses_to_guess(repaired.error())) return;
    ASSERT_TRUE(repaired) << repaired.error().message;
    for (const auto& line : repaired->given_up) ADD_FAILURE() << "gave up " << line;
    // Of what was torn the copy may have given more than it must.
    std::set<ObjectName> lacking;
    ASSERT_TRUE(at->process.open());
    for (const auto& name : oracle_->gone) {
      const auto there = at->process.store().snapshot()->contains(name.kind, name.id);
      ASSERT_TRUE(there) << there.error().message;
      if (!*there) lacking.insert(name);
    }
    expect_sound(*at, lacking);
    if (testing::Test::HasFailure() || !oracle_->torn.empty()) return;
    std::map<std::string, Version> last;
    for (const auto& frame : world_.frames()) {
      for (const auto& [name, version] : frame.moves) last[name] = *version;
    }
    expect_refs(at->process.store(), last);
    std::size_t operations = 0;
    ASSERT_TRUE(at->process.store().snapshot()->operations([&](const Operation&) { return ++operations, true; }));
    EXPECT_EQ(operations, DamageWorld::kTransactions + 1);  // and the one of expect_sound
  }

  /// Another store that has the objects, in another order and without the refs.
  void repair_from_objects() {
    const auto at = machine();
    HeapBlock other_block(world_.clock());
    StoreProcess other(other_block, *at->disk, world_.clock(), random_, 2);
    ASSERT_TRUE(at->disk->make_directory("/objects"));
    const StoreHooks hooks = other.hooks();
    {
      const auto store = Store::create(other.env(), "/objects/.weft", {.segment_bytes = 1u << 20}, hooks);
      ASSERT_TRUE(store) << store.error().message;
      auto transaction = store->begin();
      for (const auto& [name, bytes] : world_.objects())
        ASSERT_TRUE(transaction->put_with_id(name.kind, name.id, bytes));
      ASSERT_TRUE(transaction->commit());
    }
    const auto repaired = at->repair({.accept_loss = true, .from = "/objects/.weft", .from_hooks = &hooks});
    if (!repaired && refuses_to_guess(repaired.error())) return;
    ASSERT_TRUE(repaired) << repaired.error().message;
    EXPECT_EQ(repaired->lost_objects, 0u);
    if (oracle_->frames_hit.empty()) {
      EXPECT_TRUE(repaired->given_up.empty()) << repaired->given_up.front();
    }
    // What nothing names any more is not looked for.
    std::set<ObjectName> may_lack;
    for (const auto& name : gone_) {
      if (!oracle_->needed.contains(name)) may_lack.insert(name);
    }
    ASSERT_TRUE(at->process.open());
    const auto snapshot = at->process.store().snapshot();
    for (const auto& name : may_lack) {
      const auto there = snapshot->contains(name.kind, name.id);
      ASSERT_TRUE(there) << there.error().message;
    }
    std::set<ObjectName> lacking;
    for (const auto& name : may_lack) {
      if (!*snapshot->contains(name.kind, name.id)) lacking.insert(name);
    }
    expect_sound(*at, lacking);
  }

  void accept_loss() {
    const auto at = machine();
    const auto preview = at->repair({.accept_loss = true, .dry_run = true});
    if (!preview && refuses_to_guess(preview.error())) return;
    ASSERT_TRUE(preview) << preview.error().message;
    for (const auto& [path, bytes] : world_.files()) {
      if (path.find("/index/") != std::string::npos || bytes.find_first_not_of('\0') == Bytes::npos) continue;
      if (disk_->status(path) && oracle_->torn.empty()) {
        ASSERT_EQ(at->disk->content(path) == disk_->content(path), true) << path << " was changed";
      }
    }
    std::vector<std::string> given_up;
    if (draw_ / 1024 % 4 == 0) {
      // The power goes somewhere in the middle; whoever comes next begins again (RP2).
      const std::size_t before = at->disk->operation_count();
      const auto first = at->repair({.accept_loss = true});
      ASSERT_TRUE(first) << first.error().message;
      at->process.close();
      const std::size_t after = at->disk->operation_count();
      const std::size_t cut = before + draw_ / 4096 % (after - before + 1);
      auto crashed = at->disk->after_crash(cut, {.kind = SimCrash::Kind::torn, .seed = draw_ >> 32});
      Machine later(*crashed, world_.clock(), random_);
      const auto second = later.repair({.accept_loss = true});
      ASSERT_TRUE(second) << "cut at " << cut - before << ": " << second.error().message;
      finish(later, nullptr);
      return;
    }
    const auto repaired = at->repair({.accept_loss = true});
    ASSERT_TRUE(repaired) << repaired.error().message;
    EXPECT_EQ(preview->given_up, repaired->given_up);
    EXPECT_EQ(repaired->given_up.empty(), oracle_->nothing_lost());
    finish(*at, &*repaired);
  }

  void finish(Machine& at, const RepairReport* report) {
    expect_sound(at, gone_);
    if (testing::Test::HasFailure()) return;
    expect_refs(at.process.store(), oracle_->refs);
    const auto held = refs_of(at.process.store());
    for (const auto& [name, version] : oracle_->moved) {
      if (oracle_->lost.contains({ObjectKind::change, version.changes.front()})) continue;
      EXPECT_TRUE(held->contains("salvage/" + name)) << name << " at " << version.text() << " is not kept";
      if (held->contains("salvage/" + name)) {
        EXPECT_EQ(held->at("salvage/" + name).text(), version.text());
      }
    }
    if (report == nullptr) return;
    for (const auto& name : report->lost) EXPECT_TRUE(oracle_->lost.contains(name));
    for (const auto& move : report->refs) EXPECT_TRUE(oracle_->moved.contains(move.ref)) << move.ref;
  }

  DamageWorld& world_;
  FakeRandom random_;
  std::unique_ptr<SimFileSystem> disk_;
  std::uint64_t draw_ = 0;
  std::string what_;
  bool refused_ = false;
  std::optional<Oracle> oracle_;
  std::set<ObjectName> gone_;  ///< lost, or as good as never there
};

TEST(DamageCampaign, WhateverIsDoneToTheFiles) {
  const std::uint64_t first = from_environment("WEFT_DAMAGE_SEED", 1);
  const std::uint64_t count = from_environment("WEFT_DAMAGES", kDefaultDamages);
  DamageWorld world(1);
  DamageWorld other(2);
  if (HasFatalFailure()) return;
  std::size_t log_hit = 0, pack_hit = 0, derived = 0, lossless = 0, refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("WEFT_DAMAGES=1 WEFT_DAMAGE_SEED=" + std::to_string(seed));
    Case one(world, other, seed);
    one.run();
    log_hit += one.oracle().log_hit ? 1 : 0;
    pack_hit += one.oracle().pack_hit ? 1 : 0;
    derived += !one.oracle().log_hit && !one.oracle().pack_hit ? 1 : 0;
    refused += one.was_refused() ? 1 : 0;
    lossless += one.oracle().nothing_lost() ? 1 : 0;
    if (HasFailure()) break;
    if (count > 1000 && (seed - first) % 500 == 499) {
      std::printf("%llu damages\n", static_cast<unsigned long long>(seed - first + 1));
      std::fflush(stdout);
    }
  }
  std::printf(
      "seeds %llu to %llu: %zu of the log, %zu of packs, %zu of nothing that is truth, %zu lost nothing, %zu with "
      "nothing to tell whose log it is\n",
      static_cast<unsigned long long>(first), static_cast<unsigned long long>(first + count - 1), log_hit, pack_hit,
      derived, lossless, refused);
  if (count >= kDefaultDamages && !HasFailure()) {
    EXPECT_GT(log_hit, count / 10);
    EXPECT_GT(pack_hit, count / 10);
    EXPECT_GT(lossless, count / 20);
  }
}

}  // namespace
}  // namespace weft::store
