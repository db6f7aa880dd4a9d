// What the store writes comes back as it was: runs, manifests, the sections of a transaction.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/testing/fake_env.h"
#include "base/testing/temp_dir.h"
#include "store/manifest.h"
#include "store/run.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

Key random_key(FakeRandom& random) {
  Key key = random.id<Key>();
  if (random.chance(2)) std::fill(key.bytes.begin(), key.bytes.begin() + 7, std::uint8_t{9});  // a crowded bucket
  return key;
}

std::vector<std::uint64_t> values_of(const Run& run, EntryKind kind, const Key& key) {
  std::vector<std::uint64_t> values;
  run.find(kind, key, [&](std::uint64_t value) { return values.push_back(value), true; });
  return values;
}

TEST(Run, AgreesWithAMapAlsoWhenMerged) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FakeEnv world(seed);
    FakeRandom& random = world.random;
    std::map<Key, std::set<std::uint64_t>> model[kEntryKinds];
    std::vector<Key> keys;
    const auto lists = [&] {
      EntryLists result;
      const std::uint64_t count = random.below(random.chance(2) ? 30 : 2000);
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t kind = 1 + random.below(kEntryKinds - 1);
        if (keys.empty() || random.chance(2)) keys.push_back(random_key(random));
        const IndexEntry entry{keys[random.below(keys.size())], 1 + random.below(1'000'000)};
        result[kind].push_back(entry);
        model[kind][entry.key].insert(entry.value);
      }
      sort_entries(result);
      return result;
    };
    ASSERT_TRUE(Run::write(world.fs, "a", lists()));
    ASSERT_TRUE(Run::write(world.fs, "a2", lists()));
    ASSERT_TRUE(
        Run::write(world.fs, "b", lists(), {*Run::open(world.fs, "a", true), *Run::open(world.fs, "a2", true)}));
    const auto run = Run::open(world.fs, "b", true);
    ASSERT_TRUE(run) << run.error().message;
    for (std::size_t kind = 1; kind < kEntryKinds; ++kind) {
      for (const auto& [key, values] : model[kind]) {
        const auto found = values_of(**run, static_cast<EntryKind>(kind), key);
        if (static_cast<EntryKind>(kind) == EntryKind::delta) {
          EXPECT_EQ(std::set<std::uint64_t>(found.begin(), found.end()), values);
        } else if (static_cast<EntryKind>(kind) == EntryKind::ref) {
          EXPECT_EQ(found, std::vector<std::uint64_t>{*values.rbegin()});
        } else {
          ASSERT_EQ(found.size(), 1u);
          EXPECT_TRUE(values.contains(found.front()));
        }
      }
      EXPECT_TRUE(values_of(**run, static_cast<EntryKind>(kind), random.id<Key>()).empty());
      const std::uint64_t word = random.next();
      const std::size_t bound = (*run)->lower_bound(static_cast<EntryKind>(kind), word);
      for (std::size_t i = 0; i < (*run)->count(static_cast<EntryKind>(kind)); ++i) {
        EXPECT_EQ(key_word((*run)->entry(static_cast<EntryKind>(kind), i).key, 0) < word, i < bound);
      }
    }
  }
}

TEST(Run, AnyChangedByteIsNoticed) {  // IR2
  FakeEnv world;
  EntryLists lists;
  for (int i = 0; i < 20; ++i) lists[1].push_back({world.random.id<Key>(), 5});
  sort_entries(lists);
  ASSERT_TRUE(Run::write(world.fs, "run", lists));
  const Bytes whole = world.fs.content("run");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    world.fs.damage("run", i, Bytes(1, static_cast<char>(whole[i] ^ 1)));
    const auto run = Run::open(world.fs, "run", true);
    ASSERT_FALSE(run) << "byte " << i;
    EXPECT_EQ(run.error().code, Code::damaged);
    world.fs.damage("run", i, Bytes(1, whole[i]));
  }
  ASSERT_TRUE(Run::open(world.fs, "run", true));
}

TEST(Manifest, ComesBackOrIsRefused) {
  FakeRandom random(3);
  Manifest manifest;
  manifest.number = 7;
  manifest.next_run = 12;
  manifest.point = {1'000'000, 42};
  manifest.client = {1, 2, 3, 4};
  manifest.runs = {{3, 100}, {11, 5}};
  for (int i = 0; i < 3; ++i) manifest.packs.push_back({random.id<ObjectId>(), 10, 2, 999});
  const Bytes bytes = encode_manifest(manifest);
  const auto back = decode_manifest(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_manifest(*back), bytes);
  EXPECT_EQ(back->point, manifest.point);
  EXPECT_EQ(back->runs.size(), 2u);
  EXPECT_EQ(back->packs[2].id, manifest.packs[2].id);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    Bytes changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_FALSE(decode_manifest(changed)) << "byte " << i;
    EXPECT_FALSE(decode_manifest(ByteView(bytes).substr(0, i)));
  }
}

TEST(TransactionCodec, TheLateSectionComesBack) {
  FakeRandom random(4);
  constexpr std::uint64_t kFrame = 40'960;
  Bytes late;
  LateWriter writer(late, 17, 3);
  const RefValue one{Version(random.id<ChangeId>()), Bytes(3000, 'e')};
  const RefValue two{Version::of({random.id<ChangeId>(), random.id<ChangeId>()}), {}};
  const std::size_t offsets[] = {writer.add(ref_key("main"), 100, "main", one),
                                 writer.add(ref_key("gone"), 200, "gone", std::nullopt),
                                 writer.add(ref_key("two"), 0, "two", two)};
  const auto decoded = decode_late(late, kFrame);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->previous_operation, 17u);
  ASSERT_EQ(decoded->moves.size(), 3u);
  EXPECT_EQ(decoded->moves[0].name, "main");
  EXPECT_EQ(decoded->moves[0].after, std::optional(one));
  EXPECT_EQ(decoded->moves[0].previous, 100u);
  EXPECT_FALSE(decoded->moves[1].after);
  EXPECT_EQ(decoded->moves[2].after, std::optional(two));
  // Each move can be read by its own position.
  const Bytes frame = Bytes(log::kFrameHeaderBytes, '\0') + late;
  for (int i = 0; i < 3; ++i) {
    const auto move = decode_move(ByteView(frame).substr(offsets[i]), kFrame + offsets[i]);
    ASSERT_TRUE(move);
    EXPECT_EQ(move->name, decoded->moves[static_cast<std::size_t>(i)].name);
    EXPECT_EQ(move->frame, kFrame);
    EXPECT_EQ(move->position, decoded->moves[static_cast<std::size_t>(i)].position);
  }
  for (std::size_t length = 0; length < late.size(); ++length)
    EXPECT_FALSE(decode_late(ByteView(late).substr(0, length), kFrame));
}

TEST(TransactionCodec, ThePayloadComesBackAndItsLinksLeadToTheirChanges) {
  FakeRandom random(5);
  object::RecordCodec codec{1};
  Bytes records;
  const ObjectId blob = sha256("content");
  ASSERT_TRUE(codec.encode(ObjectKind::blob, blob, "content", records));
  const ChangeId inside = sha256("a change");
  const std::size_t inside_offset = records.size();
  ASSERT_TRUE(codec.encode(ObjectKind::change, inside, "a change", records));
  PayloadWriter writer(1234);
  const TransactionId undone = random.id<TransactionId>();
  writer.operation({.label = "commit", .author = "A", .workspace = "w", .agent = "g", .undoes = undone});
  const std::size_t records_at = writer.records(records);
  const PackName pack{random.id<ObjectId>(), 5, 1, 777};
  writer.packs({pack});
  const ChangeId elsewhere = random.id<ChangeId>();
  const Key delta = random.id<Key>();
  const GitId git = random.id<GitId>();
  writer.deltas({{delta.view(), inside, records_at + inside_offset}, {delta.view(), elsewhere, std::nullopt}});
  writer.gits({{git.view(), elsewhere, std::nullopt}});

  log::Frame frame;
  Bytes late;
  LateWriter(late, 0, 0);
  frame.header.position = 8192;
  frame.header.late_length = static_cast<std::uint32_t>(late.size());
  frame.header.transaction = random.id<TransactionId>();
  frame.late = late;
  frame.payload = writer.bytes();
  const auto payload = decode_payload(frame.payload);
  ASSERT_TRUE(payload) << payload.error().message;
  EXPECT_EQ(payload->time_ns, 1234);
  ASSERT_TRUE(payload->operation);
  EXPECT_EQ(payload->operation->label, "commit");
  EXPECT_EQ(payload->operation->undoes, std::optional(undone));
  ASSERT_EQ(payload->packs.size(), 1u);
  EXPECT_EQ(payload->packs[0].bytes, 777u);
  std::map<EntryKind, std::vector<std::pair<Key, std::uint64_t>>> entries;
  ASSERT_TRUE(for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
    entries[kind].push_back({key, position});
  }));
  EXPECT_EQ(entries[EntryKind::blob].front().first, blob);
  ASSERT_EQ(entries[EntryKind::change].size(), 1u);
  ASSERT_EQ(entries[EntryKind::delta].size(), 2u);
  const std::uint64_t base = frame.payload_position();
  const auto link_at = [&](EntryKind kind, std::uint64_t position) {
    return decode_link(kind, frame.payload.substr(position - base), position);
  };
  const auto near = link_at(EntryKind::delta, entries[EntryKind::delta][0].second);
  ASSERT_TRUE(near);
  EXPECT_EQ(near->record_position, entries[EntryKind::change][0].second);
  const auto far = link_at(EntryKind::delta, entries[EntryKind::delta][1].second);
  ASSERT_TRUE(far);
  EXPECT_EQ(far->change, std::optional(elsewhere));
  EXPECT_EQ(entries[EntryKind::git].front().first, padded_key(git));
  EXPECT_EQ(entries[EntryKind::operation].front().second, 8192u);
  EXPECT_EQ(entries[EntryKind::pack].front().first, pack.id);
}

TEST(StoreFormat, RefusesWhatItDoesNotKnow) {
  const Bytes good = encode_format({});
  EXPECT_TRUE(decode_format(good, "format"));
  for (const Bytes& newer : {Bytes("weft store 2\n"), good + "sharded yes\n"}) {
    const auto decoded = decode_format(newer, "format");
    ASSERT_FALSE(decoded) << newer;
    EXPECT_EQ(decoded.error().code, Code::unsupported);
  }
  for (const Bytes& garbled : {Bytes(), Bytes("weft\n"), good + "sharded\n", good.substr(0, good.size() - 1)}) {
    const auto decoded = decode_format(garbled, "format");
    ASSERT_FALSE(decoded) << garbled;
    EXPECT_EQ(decoded.error().code, Code::damaged);
  }
}

/// What no reader would accept is refused before it gets into the log, where it would make the store unreadable.
TEST(Transactions, WhatCouldNotBeReadBackIsRefused) {
  TempDir temp;
  auto store = Store::create(system_env(), temp / ".weft");
  ASSERT_TRUE(store) << store.error().message;
  const auto attempt = [&](OperationInfo info, std::vector<ChangeId> version) {
    auto transaction = store->begin();
    RefEdit edit;
    edit.name = "main";
    edit.after = RefValue{};
    edit.after->version.changes = std::move(version);
    transaction->edit_ref(std::move(edit));
    transaction->set_operation(std::move(info));
    return transaction->commit();
  };
  FakeRandom random(6);
  ChangeId low = random.id<ChangeId>();
  ChangeId high = random.id<ChangeId>();
  if (high < low) std::swap(low, high);
  EXPECT_EQ(attempt({.label = Bytes(kMaxLabelBytes + 1, 'l')}, {low}).error().code, Code::invalid);
  EXPECT_EQ(attempt({.label = "l", .author = Bytes(kMaxLabelBytes + 1, 'a')}, {low}).error().code, Code::invalid);
  EXPECT_EQ(attempt({.label = "l"}, {high, low}).error().code, Code::internal);
  EXPECT_EQ(attempt({.label = "l"}, {low, low}).error().code, Code::internal);
  ASSERT_TRUE(attempt({.label = Bytes(kMaxLabelBytes, 'l')}, {low, high}));
  store = make_error(Code::internal, "closed");
  ASSERT_EQ(0, ::unlink((temp / ".weft/control").c_str()));
  store = Store::open(system_env(), temp / ".weft");
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE(store->damage());
  EXPECT_TRUE((*store->snapshot()->ref("main")).has_value());
}

}  // namespace
}  // namespace weft::store
