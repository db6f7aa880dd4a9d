// op restore, operation filters, what an operation did, and undo of what was sent. UN-1 to UN-5.
#include <map>
#include <random>
#include <set>

#include "repo/operations.h"
#include "repo/testing/verbs_fixture.h"

namespace weft::repo {
namespace {

using testing::VerbsTest;
using Refs = std::map<std::string, Version>;

class OpRestoreTest : public VerbsTest {
 protected:
  std::vector<store::Operation> operations() {
    std::vector<store::Operation> all;
    EXPECT_TRUE(open().store().snapshot()->operations([&](const store::Operation& operation) {
      all.push_back(operation);
      return true;
    }));
    return all;
  }
  TransactionId last() { return operations().front().id; }
  /// Without those that are kept for undo.
  Refs refs() {
    Refs out;
    const auto all = open().store().snapshot()->refs();
    EXPECT_TRUE(all.has_value());
    for (const auto& ref : *all) {
      if (!ref.name.starts_with(kRescuePrefix) && !ref.name.starts_with(kKeptPrefix)) {
        out[ref.name] = ref.value.version;
      }
    }
    return out;
  }
  Result<OpRestored> restore(const TransactionId& operation, const std::string& directory = "w",
                             bool everything = false, bool before = false, bool dry_run = false) {
    clock_.advance(1'000'000'000);
    auto repository = open(directory);
    return restore_operation(repository, {operation.hex(), before, everything, dry_run, {}});
  }
  void move_ref_by(const std::string& workspace, const std::string& name, const std::optional<Version>& version) {
    auto repository = open();
    auto transaction = repository.store().begin().value();
    store::RefEdit edit;
    edit.name = name;
    if (version) edit.after = store::RefValue{*version, {}};
    transaction.edit_ref(edit);
    transaction.set_operation({"ref set " + name, "Bob <bob@example.org>", workspace, "robot", std::nullopt});
    ASSERT_TRUE(transaction.commit().has_value());
  }
};

TEST_F(OpRestoreTest, BringsRefsAndFilesBackAndIsUndone) {  // UN-5
  write("w/f", "1");
  committed("One");
  const auto one = last();
  const Refs then = refs();
  write("w/f", "2");
  write("w/g", "new");
  committed("Two");
  set_ref("tags/x", *ref("main"));
  write("w/f", "3");
  committed("Three");
  const Refs now = refs();

  const auto dry = restore(one, "w", false, false, true);
  ASSERT_TRUE(dry.has_value()) << dry.error().message;
  EXPECT_FALSE(dry->done.has_value());
  EXPECT_EQ(dry->past.refs.size(), 3u);  // main, tags/x, the head
  EXPECT_EQ(refs(), now);

  const auto restored = restore(one);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  ASSERT_TRUE(restored->done.has_value());
  EXPECT_EQ(refs(), then);
  EXPECT_EQ(read("w/f"), "1");
  EXPECT_FALSE(exists("w/g"));
  EXPECT_TRUE(status().entries.empty());
  EXPECT_FALSE(operations().front().undoes.has_value());

  undone();
  EXPECT_EQ(refs(), now);
  EXPECT_EQ(read("w/f"), "3");
  EXPECT_TRUE(exists("w/g"));
  undone("w", true);
  EXPECT_EQ(refs(), then);
  EXPECT_EQ(read("w/f"), "1");

  // Once more is nothing to do: no operation is made.
  const auto count = operations().size();
  const auto again = restore(last());
  ASSERT_TRUE(again.has_value());
  EXPECT_FALSE(again->done.has_value());
  EXPECT_EQ(operations().size(), count);
}

TEST_F(OpRestoreTest, BeforeIsWithoutTheOperationItself) {
  write("w/f", "1");
  committed("One");
  const Refs then = refs();
  write("w/f", "2");
  committed("Two");
  ASSERT_TRUE(restore(last(), "w", false, true).has_value());
  EXPECT_EQ(refs(), then);
}

TEST_F(OpRestoreTest, WhatOthersMovedSinceIsNamedAndStays) {  // UN-5
  write("w/f", "1");
  committed("One");
  const auto one = last();
  const Version first = *ref("main");
  set_ref("shared", first);
  set_ref("mine", first);
  write("w/f", "2");
  committed("Two");
  const Version second = *ref("main");
  move_ref_by("other", "shared", second);
  move_ref_by("other", "theirs", second);
  const Refs now = refs();
  const auto refused = restore(one);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_NE(refused.error().message.find("shared (ref set shared, by workspace other)"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find("theirs"), std::string::npos);
  EXPECT_EQ(refs(), now);

  const auto everything = restore(one, "w", true);
  ASSERT_TRUE(everything.has_value()) << everything.error().message;
  EXPECT_EQ(refs(), (Refs{{"main", first}, {"workspaces/default", first}}));
  undone();
  EXPECT_EQ(refs(), now);
}

TEST_F(OpRestoreTest, EditsInTheWayAreRecordedAndUntrackedFilesRefuse) {  // UN-2
  write("w/f", "1");
  committed("One");
  const auto one = last();
  write("w/f", "2");
  committed("Two");
  write("w/f", "edited");
  const auto restored = restore(one);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(read("w/f"), "1");
  ASSERT_TRUE(restored->done->rescue.has_value());
  undone();
  EXPECT_EQ(read("w/f"), "edited");

  write("w/f", "2");
  std::filesystem::remove(dir_ / "w/f");
  committed("Without");
  write("w/f", "untracked");
  const Refs now = refs();
  const auto refused = restore(one);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::refused);
  EXPECT_EQ(refs(), now);
  EXPECT_EQ(read("w/f"), "untracked");
}

TEST_F(OpRestoreTest, WorkspacesMadeOrRemovedSinceStayAsTheyAre) {  // UN-5
  write("w/f", "1");
  committed("One");
  const auto one = last();
  write("w/f", "2");
  committed("Two");
  add("late");
  const auto restored = restore(one, "w", true);
  ASSERT_TRUE(restored.has_value()) << restored.error().message;
  EXPECT_EQ(restored->past.left_alone, std::vector<std::string>{"workspaces/late"});
  EXPECT_TRUE(ref("workspaces/late").has_value());
  EXPECT_EQ(read("late/f"), "2");
  EXPECT_TRUE(status("late").entries.empty());
}

TEST_F(OpRestoreTest, OperationsAreSelectedAndTold) {
  write("w/f", "1");
  committed("One");
  const auto first = operations().front();
  move_ref_by("other", "theirs", *ref("main"));
  const auto second = operations().front();
  const auto selected = [&](const OperationFilter& filter) {
    std::vector<TransactionId> ids;
    for (const auto& each : operations()) {
      if (selects(filter, each)) ids.push_back(each.id);
    }
    return ids;
  };
  using Ids = std::vector<TransactionId>;
  OperationFilter filter;
  filter.author = "bob@";
  EXPECT_EQ(selected(filter), Ids{second.id});
  filter = {};
  filter.agent = "robot";
  EXPECT_EQ(selected(filter), Ids{second.id});
  filter = {};
  filter.workspace = "other";
  EXPECT_EQ(selected(filter), Ids{second.id});
  filter = {};
  filter.ref = "main";
  EXPECT_EQ(selected(filter), Ids{first.id});
  filter = {};
  filter.since_ns = second.time_ns + 1;
  EXPECT_EQ(selected(filter), Ids{});
  filter.since_ns = second.time_ns;
  EXPECT_EQ(selected(filter).front(), second.id);

  write("w/f", "2");
  committed("Two");
  const auto snapshot = open().store().snapshot().value();
  const auto third = operations().front();
  const auto moved = moved_changes(snapshot, third.moves.front(), 10).value();
  EXPECT_EQ(moved.gained, ref("main")->changes);
  EXPECT_TRUE(moved.lost.empty());
  EXPECT_EQ(undone_by(snapshot, third.id).value(), std::nullopt);
  const auto undo = undone();
  EXPECT_EQ(undone_by(open().store().snapshot().value(), third.id).value(), undo.operation);
  const auto back = moved_changes(open().store().snapshot().value(), operations().front().moves.front(), 10).value();
  EXPECT_TRUE(back.gained.empty());
  EXPECT_EQ(back.lost, moved.gained);
}

TEST_F(OpRestoreTest, WhatWasSentIsTakenBackByAnInverseChange) {  // UN-4
  write("w/f", "1");
  committed("One");
  write("w/f", "2");
  committed("Two");
  const Version two = *ref("main");
  move_ref_by("", "peer/origin/main", two);
  const auto undo = undone();
  EXPECT_EQ(undo.how, UndoResult::How::inverse_change);
  EXPECT_TRUE(undo.sent);
  EXPECT_TRUE(is_ancestor(open().store().snapshot().value(), two, *ref("main")).value());
  EXPECT_EQ(tree_of(open().store().snapshot().value(), *ref("main")).value(),
            tree_of(open().store().snapshot().value(),
                    object::Version(open().store().snapshot()->change(two.changes.front())->parents.front()))
                .value());
  // The inverse itself was not sent: it goes by moving refs.
  const auto redo = undone("w", true);
  EXPECT_EQ(redo.how, UndoResult::How::moved_refs);
  EXPECT_EQ(*ref("main"), two);
  // What only moved refs to what others have is taken back as ever.
  set_ref("elsewhere", two);
  EXPECT_EQ(undone().how, UndoResult::How::moved_refs);
  EXPECT_FALSE(ref("elsewhere").has_value());
}

TEST_F(OpRestoreTest, AnOperationThatIsNotThereIsNamedWithTheReason) {
  write("w/f", "1");
  committed("One");
  auto repository = open();
  const auto none = restore_operation(repository, {"ffffffff", false, false, false, {}});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::not_found);
  EXPECT_NE(none.error().hint.find("weft gc"), std::string::npos);
  EXPECT_EQ(restore_operation(repository, {"main", false, false, false, {}}).error().code, Code::invalid);
}

// Random operations of three workspaces against a map of refs that is noted after each of them.
TEST_F(OpRestoreTest, ModelOfUndoRedoAndRestore) {  // UN-1, UN-3, UN-5
  const char* given = std::getenv("WEFT_MODEL_SEED");
  const char* steps = std::getenv("WEFT_MODEL_STEPS");
  std::mt19937 random(given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 20240611U);
  const unsigned count = steps != nullptr ? static_cast<unsigned>(std::strtoul(steps, nullptr, 10)) : 120U;
  const auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  write("w/base", "base");
  committed("Base");
  add("a");
  add("b");
  const std::vector<std::string> names{"w", "a", "b"};
  struct Noted {
    TransactionId id;
    Refs refs;
    std::string workspace;
    std::vector<std::string> moved;
  };
  std::vector<Noted> noted{{last(), refs(), "", {}}};
  std::map<std::string, unsigned> seen;
  const auto note = [&] {
    const auto all = operations();
    std::vector<store::Operation> fresh;
    for (const auto& each : all) {
      if (each.id == noted.back().id) break;
      fresh.push_back(each);
    }
    ASSERT_LE(fresh.size(), 1u);
    if (fresh.empty()) {
      EXPECT_EQ(refs(), noted.back().refs);
      return;
    }
    std::vector<std::string> moved;
    for (const auto& move : fresh.front().moves) moved.push_back(move.ref);
    noted.push_back({fresh.front().id, refs(), fresh.front().workspace, moved});
  };
  for (unsigned step = 0; step < count; ++step) {
    const std::string& where = names[pick(3)];
    const std::string workspace = where == "w" ? "default" : where;
    SCOPED_TRACE("step " + std::to_string(step) + " in " + where);
    clock_.advance(1'000'000'000);
    auto repository = open(where);
    const Refs before = refs();
    switch (pick(8)) {
      case 0:
      case 1: {
        write(where + "/" + std::to_string(pick(4)), std::to_string(step));
        seen[commit(repository, {"Step\n", {}, std::nullopt, std::nullopt, false}) ? "commit" : "refused"]++;
        break;
      }
      case 2:
        seen[land(repository, {}) ? "land" : "refused"]++;
        break;
      case 3: {
        auto transaction = repository.store().begin().value();
        store::RefEdit edit;
        edit.name = "ref" + std::to_string(pick(3));
        if (pick(3) != 0 || !before.contains(edit.name)) {
          edit.after =
              store::RefValue{std::next(before.begin(), pick(static_cast<unsigned>(before.size())))->second, {}};
        }
        transaction.edit_ref(edit);
        transaction.set_operation({"ref set", "Ann <ann@example.org>", workspace, "", std::nullopt});
        ASSERT_TRUE(transaction.commit().has_value());
        seen["ref"]++;
        break;
      }
      case 4: {
        // The workspaces themselves stay.
        const auto next = pick_operation(operations(), workspace, false);
        if (!next ||
            std::none_of(noted.begin() + 1, noted.end(), [&](const Noted& each) { return each.id == *next; })) {
          break;
        }
        const auto done = undo(repository, {std::nullopt, false, std::nullopt, {}});
        seen[done ? done->how == UndoResult::How::moved_refs ? "undo" : "inverse" : "refused"]++;
        if (!done) break;
        Refs expected = before;
        if (done->how == UndoResult::How::moved_refs) {
          for (const auto& move : done->undone.moves) {
            if (move.ref.starts_with(kRescuePrefix)) continue;
            expected.erase(move.ref);
            if (move.before) expected[move.ref] = move.before->version;
          }
          EXPECT_EQ(refs(), expected);
          if (pick(2) == 0) break;
          note();
          const auto redone = undo(repository, {std::nullopt, true, std::nullopt, {}});
          if (!redone) {
            EXPECT_NE(redone.error().message.find("would overwrite"), std::string::npos) << redone.error().message;
            EXPECT_EQ(refs(), expected);
            break;
          }
          EXPECT_EQ(refs(), before);
          seen["redo"]++;
        } else {
          expected["workspaces/" + workspace] = Version(*done->change);
          if (done->advanced) expected[done->follow] = Version(*done->change);
          EXPECT_EQ(refs(), expected);  // nobody else's was touched
        }
        break;
      }
      default: {
        const std::size_t at = pick(static_cast<unsigned>(noted.size()));
        const bool everything = pick(2) == 0;
        std::set<std::string> own, others;
        for (std::size_t i = at + 1; i < noted.size(); ++i) {
          for (const auto& ref : noted[i].moved) (noted[i].workspace == workspace ? own : others).insert(ref);
        }
        Refs expected = everything ? noted[at].refs : before;
        bool blocked = false;
        for (const auto& ref : everything ? std::set<std::string>() : own) {
          const auto then = noted[at].refs.find(ref);
          const auto now = before.find(ref);
          const bool same = (then == noted[at].refs.end()) == (now == before.end()) &&
                            (now == before.end() || then->second == now->second);
          if (same || ref.starts_with(kRescuePrefix)) continue;
          blocked = blocked || others.contains(ref);
          expected.erase(ref);
          if (then != noted[at].refs.end()) expected[ref] = then->second;
        }
        const auto restored = restore_operation(repository, {noted[at].id.hex(), false, everything, false, {}});
        if (!restored) {
          seen[blocked ? "restore blocked" : "restore refused"]++;
          EXPECT_EQ(restored.error().code, Code::refused) << restored.error().message;
          EXPECT_EQ(refs(), before);
          break;
        }
        EXPECT_FALSE(blocked);
        EXPECT_EQ(refs(), expected);
        seen[restored->done ? "restore" : "nothing to restore"]++;
        if (!restored->done || pick(2) == 0) break;
        note();
        const auto back = undo(repository, {std::nullopt, false, std::nullopt, {}});
        if (!back) {
          // A commit that was refused may have left untracked files that the head has by now.
          EXPECT_NE(back.error().message.find("would overwrite"), std::string::npos) << back.error().message;
          EXPECT_EQ(refs(), expected);
          seen["undo refused"]++;
          break;
        }
        EXPECT_EQ(refs(), before);
        seen["restore undone"]++;
      }
    }
    note();
    if (HasFatalFailure()) return;
  }
  for (const char* kind : {"commit", "land", "undo", "redo", "restore", "restore undone", "restore blocked"}) {
    EXPECT_TRUE(given != nullptr || seen[kind] > 0) << kind;
  }
  const auto verified = open().store().verify(true, {});
  ASSERT_TRUE(verified.has_value());
  EXPECT_TRUE(verified->clean());
}

}  // namespace
}  // namespace weft::repo
