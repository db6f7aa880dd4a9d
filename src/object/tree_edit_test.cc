// Editing and comparing directories against a std::map, and what they may cost (tree.h T2, T3; CASES C32).
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "object/memory_objects.h"
#include "object/testing/sample_trees.h"
#include "object/tree.h"
#include "object/tree_codec.h"

namespace weft::object {
namespace {

using testing::NamePool;
using testing::sample_entry;

using Model = std::map<std::string, TreeEntry>;

/// In [low, high), evenly from the first try on (inRange alone starts with the smallest).
template <typename T>
T pick(T low, T high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(low, high));
}

Entries entries_of(const Model& model) {
  Entries entries;
  for (const auto& [name, entry] : model) entries.push_back(entry);
  return entries;
}

/// 600 names of which every ninth ends a chunk, long enough that some 400 of them pass 64 KiB.
const std::vector<std::string>& pool() {
  static const std::vector<std::string> names = NamePool(540, 60, 200).all();
  return names;
}

/// About `tenths` tenths of the pool.
Model random_model(int tenths) {
  Model model;
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  std::uint64_t state = seed;
  for (const std::string& name : pool()) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    if (static_cast<int>((state >> 33) % 10) < tenths) model.emplace(name, sample_entry(name, 1));
  }
  return model;
}

/// A run of neighbours, or names anywhere; each written anew or removed.
std::vector<EntryEdit> random_edits() {
  const std::size_t size = pool().size();
  std::map<std::string, std::optional<TreeEntry>> edits;
  if (*rc::gen::arbitrary<bool>()) {
    const auto first = pick<std::size_t>(0, size);
    const auto count = pick<std::size_t>(1, 300);
    const bool remove = *rc::gen::arbitrary<bool>();
    for (std::size_t i = first; i < std::min(size, first + count); ++i) {
      edits[pool()[i]] = remove ? std::nullopt : std::optional(sample_entry(pool()[i], 2));
    }
  }
  const auto places = *rc::gen::container<std::vector<std::size_t>>(
      rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::size_t>(0, size)));
  for (const std::size_t place : places) {
    const bool remove = *rc::gen::arbitrary<bool>();
    edits[pool()[place]] = remove ? std::nullopt : std::optional(sample_entry(pool()[place], 3));
  }
  std::vector<EntryEdit> out;
  for (auto& [name, entry] : edits) out.push_back({name, entry});
  return out;
}

RC_GTEST_PROP(TreeEdit, T2_EqualsReadingEditingAndWritingAll, ()) {
  MemoryObjects objects;
  Model model = random_model(pick(4, 11));
  ObjectId tree = write_directory(objects, entries_of(model)).value();
  for (int round = pick(1, 4); round > 0; --round) {
    const auto edits = random_edits();
    for (const EntryEdit& edit : edits) {
      model.erase(edit.name);
      if (edit.entry) model.emplace(edit.name, *edit.entry);
    }
    const ObjectId edited = edit_directory(objects, objects, tree, edits).value();
    MemoryObjects fresh;
    RC_ASSERT(edited == write_directory(fresh, entries_of(model)).value());
    RC_ASSERT(read_directory(objects, edited).value() == entries_of(model));
    const bool table = tree_form(objects.read(ObjectKind::tree, edited).value()).value() == TreeForm::table;
    RC_CLASSIFY(table, "ends as a table");
    const bool before = tree_form(objects.read(ObjectKind::tree, tree).value()).value() == TreeForm::table;
    RC_CLASSIFY(!before && table, "grew into a table");
    RC_CLASSIFY(before && !table, "shrank into one object");
    tree = edited;
  }
}

RC_GTEST_PROP(TreeDiff, NamesExactlyWhatDiffers, ()) {
  MemoryObjects objects;
  const Model before = random_model(pick(4, 11));
  Model after = *rc::gen::arbitrary<bool>() ? before : random_model(pick(4, 11));
  for (const EntryEdit& edit : random_edits()) {
    after.erase(edit.name);
    if (edit.entry) after.emplace(edit.name, *edit.entry);
  }
  std::map<std::string, std::pair<std::optional<TreeEntry>, std::optional<TreeEntry>>> expected;
  for (const auto& [name, entry] : before) {
    const auto other = after.find(name);
    if (other == after.end())
      expected[name] = {entry, std::nullopt};
    else if (!(other->second == entry))
      expected[name] = {entry, other->second};
  }
  for (const auto& [name, entry] : after) {
    if (!before.contains(name)) expected[name] = {std::nullopt, entry};
  }
  decltype(expected) found;
  std::string last;
  const ObjectId old_tree = write_directory(objects, entries_of(before)).value();
  const ObjectId new_tree = write_directory(objects, entries_of(after)).value();
  const auto done =
      diff_directories(objects, old_tree, new_tree, [&](const TreeEntry* a, const TreeEntry* b) -> Result<void> {
        WEFT_CHECK(a != nullptr || b != nullptr);
        const std::string name = (a != nullptr ? a : b)->name;
        RC_ASSERT(last < name);
        last = name;
        found[name] = {a != nullptr ? std::optional(*a) : std::nullopt,
                       b != nullptr ? std::optional(*b) : std::nullopt};
        return {};
      });
  RC_ASSERT(done.has_value());
  RC_ASSERT(found == expected);
}

TEST(TreeEdit, ThresholdIsCrossedBothWays) {
  MemoryObjects objects;
  Model model;
  for (const std::string& name : pool()) model.emplace(name, sample_entry(name, 1));
  const ObjectId large = write_directory(objects, entries_of(model)).value();
  ASSERT_EQ(tree_form(objects.read(ObjectKind::tree, large).value()).value(), TreeForm::table);
  // Down in one edit of the first half, so that untouched chunks must be read to become one object.
  std::vector<EntryEdit> edits;
  for (std::size_t i = 0; i < pool().size() / 2; ++i) edits.push_back({pool()[i], std::nullopt});
  const ObjectId small = edit_directory(objects, objects, large, edits).value();
  EXPECT_EQ(tree_form(objects.read(ObjectKind::tree, small).value()).value(), TreeForm::directory);
  for (EntryEdit& edit : edits) edit.entry = model.at(edit.name);
  EXPECT_EQ(edit_directory(objects, objects, small, edits).value(), large);
}

TEST(TreeEdit, RefusesEditsOutOfOrderOrMisnamed) {
  MemoryObjects objects;
  const ObjectId tree = write_directory(objects, {sample_entry("a", 1)}).value();
  EXPECT_EQ(edit_directory(objects, objects, tree, {{"b", std::nullopt}, {"a", std::nullopt}}).error().code,
            Code::invalid);
  EXPECT_EQ(edit_directory(objects, objects, tree, {{"a", sample_entry("b", 1)}}).error().code, Code::invalid);
  EXPECT_EQ(edit_directory(objects, objects, tree, {{"..", sample_entry("..", 1)}}).error().code, Code::invalid);
  EXPECT_EQ(edit_directory(objects, objects, tree, {{"absent", std::nullopt}}).value(), tree);
}

TEST(TreeDiff, AnErrorFromTheVisitorEndsTheWalk) {
  MemoryObjects objects;
  const ObjectId tree = write_directory(objects, {sample_entry("a", 1), sample_entry("b", 1)}).value();
  int calls = 0;
  const auto result = diff_directories(objects, empty_tree_id(), tree, [&](const TreeEntry*, const TreeEntry*) {
    ++calls;
    return Result<void>(make_error(Code::interrupted, "enough"));
  });
  EXPECT_EQ(result.error().code, Code::not_found);  // the empty tree is not in this store
  EXPECT_EQ(calls, 0);
  const ObjectId empty = write_directory(objects, {}).value();
  EXPECT_EQ(diff_directories(objects, empty, tree,
                             [&](const TreeEntry*, const TreeEntry*) {
                               ++calls;
                               return Result<void>(make_error(Code::interrupted, "enough"));
                             })
                .error()
                .code,
            Code::interrupted);
  EXPECT_EQ(calls, 1);
}

// 200,000 files in one directory: one changed file costs a table and a chunk, whatever is done to it.
TEST(TreeEdit, C32_OneFileOfALargeDirectoryCostsOneChunk) {
  MemoryObjects objects;
  Entries entries;
  for (int i = 0; i < 200'000; ++i) entries.push_back(sample_entry("file-" + std::to_string(i) + ".txt", 1));
  const ObjectId tree = write_directory(objects, entries).value();
  const auto all = objects.counts();
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });

  const auto at_most = [&](std::uint64_t reads, std::uint64_t stored, std::uint64_t chunk_bytes) {
    const auto counts = objects.counts();
    EXPECT_LE(counts.reads, reads);
    EXPECT_LE(counts.stored, stored);
    EXPECT_LT(counts.read_bytes, 100'000 + chunk_bytes);
    EXPECT_LT(counts.stored_bytes, 100'000 + chunk_bytes);
    EXPECT_LT(counts.stored_bytes, all.stored_bytes / 50);
    objects.reset_counts();
  };
  // Where chunks are longest and shortest, at boundaries, and at both ends.
  std::vector<std::size_t> places{0, entries.size() - 1, 77'777, 123'456};
  for (std::size_t i = 0; i < entries.size() && places.size() < 8; ++i) {
    if (ends_chunk(entries[i].name)) places.push_back(i);
  }
  // No chunk of these names is longer than 2,000 entries (asserted), at most 80 bytes each.
  const auto table = decode_table(objects.read(ObjectKind::tree, tree).value()).value();
  for (const ChunkRef& chunk : table.chunks) ASSERT_LE(chunk.entry_bytes, 160'000u);
  constexpr std::uint64_t kTwoChunks = 320'000;
  for (const std::size_t place : places) {
    const std::string& name = entries[place].name;
    objects.reset_counts();
    EXPECT_EQ(find_entry(objects, tree, name).value(), entries[place]);
    at_most(2, 0, kTwoChunks);
    const ObjectId edited = edit_directory(objects, objects, tree, {{name, sample_entry(name, 2)}}).value();
    at_most(2, 2, kTwoChunks);
    int differences = 0;
    EXPECT_TRUE(diff_directories(objects, tree, edited, [&](const TreeEntry*, const TreeEntry*) {
                  ++differences;
                  return Result<void>();
                }).has_value());
    EXPECT_EQ(differences, 1);
    at_most(4, 0, 2 * kTwoChunks);
    ASSERT_TRUE(edit_directory(objects, objects, tree, {{name, std::nullopt}}).has_value());
    at_most(3, 2, kTwoChunks);
  }
}

}  // namespace
}  // namespace weft::object
