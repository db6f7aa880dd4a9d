// gc among real processes: writers commit, readers list, one gc after the other is killed; what was acknowledged stays.
//
//   test_collect --writer DIRECTORY NOTES NAME STOP-FILE     commits, notes "NAME-i" after each acknowledgement
//   test_collect --lister DIRECTORY STOP-FILE                lists all objects: never fewer than before (CASES C9)
//   test_collect --gc DIRECTORY NOTES STOP-FILE              one gc after the other
//
// WEFT_PROCESS_SECONDS=n lets it run for n seconds. Invariants cited: GC1 to GC4 (store/gc.cc).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "base/testing/temp_dir.h"
#include "store/gc.h"

namespace weft::store {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

bool there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void note(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(9);
  ::close(fd);
}

/// A tree with two files: one that all writers share, now and then another, so that objects are found in the store.
Result<ObjectId> put_tree(Transaction& transaction, int number) {
  object::Entries entries;
  for (const std::string& name : {std::string("shared"), std::string("own")}) {
    const Bytes content = name + std::to_string(name == "shared" ? number / 16 : number);
    object::TreeEntry entry;
    entry.name = name;
    entry.node = NodeId::from_bytes(name == "shared" ? "shared-shared-sh" : "own-own-own-own-");
    entry.size = content.size();
    WEFT_TRY(entry.id, transaction.put(ObjectKind::blob, content));
    entries.push_back(entry);
  }
  return object::write_directory(transaction, std::move(entries));
}

Result<void> commit_on(const Store& store, const std::string& name, const std::string& label, int number) {
  WEFT_TRY(auto transaction, store.begin());
  WEFT_TRY(const auto head, transaction.snapshot().ref("own/" + name));
  object::Change change;
  change.lamport = 1;
  if (head) {
    change.parents = head->version.changes;
    WEFT_TRY(const auto summary, transaction.snapshot().change_summary(change.parents.front()));
    change.lamport = summary.lamport + 1;
  }
  change.author = change.committer = {"A", "a@example.org", {kSecond, 60}};
  change.message = label;
  WEFT_TRY(change.tree, put_tree(transaction, number));
  transaction.set_operation({.label = label, .author = "A <a@example.org>"});
  WEFT_TRY(const ChangeId id, transaction.put_change(change));
  RefEdit edit;
  edit.name = "own/" + name;
  edit.after = RefValue{Version(id), {}};
  transaction.edit_ref(std::move(edit));
  WEFT_TRY(const Committed committed, transaction.commit());
  (void)committed;
  return {};
}

Result<void> write_commits(const std::vector<std::string>& words) {
  WEFT_TRY(const Store store, Store::open(system_env(), words.at(0)));
  for (int i = 0; !there(words.at(3)); ++i) {
    const std::string label = words.at(2) + "-" + std::to_string(i);
    const auto done = commit_on(store, words.at(2), label, i);
    if (done) {
      note(words.at(1), label);
    } else if (done.error().code != Code::busy) {  // GC2: overtaken by a gc
      return done;
    }
  }
  return {};
}

Result<void> list_objects(const std::vector<std::string>& words) {
  std::size_t most = 0, lists = 0;
  while (!there(words.at(1)) || lists < 3) {
    WEFT_TRY(const Store store, Store::open(system_env(), words.at(0)));
    WEFT_TRY(const Snapshot snapshot, store.snapshot());
    std::set<std::pair<ObjectKind, ObjectId>> objects;
    const auto listed = snapshot.for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
      objects.emplace(kind, id);
      return {};
    });
    if (!listed) {
      if (listed.error().code != Code::busy) return listed;
      continue;
    }
    if (objects.size() < most) {
      return make_error(Code::internal,
                        "a short list: " + std::to_string(objects.size()) + " of " + std::to_string(most));
    }
    most = objects.size();
    ++lists;
  }
  return {};
}

Result<void> collect(const std::vector<std::string>& words) {
  WEFT_TRY(const Store store, Store::open(system_env(), words.at(0)));
  while (!there(words.at(2))) {
    WEFT_TRY(const Snapshot now, store.snapshot());
    const auto report = gc(now, {});
    if (!report && report.error().code != Code::busy) return report.error();
    if (report) note(words.at(1), "pause " + std::to_string(report->longest_pause_ns));
  }
  return {};
}

int run_child(const std::string& mode, const std::vector<std::string>& words) {
  const auto done = mode == "--writer"   ? write_commits(words)
                    : mode == "--lister" ? list_objects(words)
                                         : collect(words);
  if (done) return 0;
  std::cerr << mode << ": " << done.error().message << "\n";
  return 1;
}

pid_t start(std::vector<std::string> words) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> arguments;
    words.insert(words.begin(), "test_collect");
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv("/proc/self/exe", arguments.data());
    ::_exit(8);
  }
  return child;
}

void pause_ms(long ms) {
  const struct timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

TEST(Collect, AmongWritersListersAndKills) {
  const TempDir temp;
  const std::string directory = temp / ".weft", notes = temp / "notes", stop = temp / "stop";
  ASSERT_TRUE(Store::create(system_env(), directory, {.segment_bytes = 1u << 20}));
  std::map<pid_t, std::string> children;
  int next_writer = 0;
  const auto start_writer = [&] {
    children[start({"--writer", directory, notes, "w" + std::to_string(next_writer++), stop})] = "writer";
  };
  for (int i = 0; i < 4; ++i) start_writer();
  children[start({"--lister", directory, stop})] = "lister";
  const char* const seconds = std::getenv("WEFT_PROCESS_SECONDS");
  const std::int64_t end =
      system_clock().monotonic_ns() + (seconds != nullptr ? std::max(1, std::atoi(seconds)) : 4) * kSecond;
  unsigned chance = 12345;
  std::size_t kills = 0;
  while (system_clock().monotonic_ns() < end) {
    const pid_t collector = start({"--gc", directory, notes, stop});
    children[collector] = "gc";
    chance = chance * 1103515245 + 12345;
    pause_ms(20 + static_cast<long>(chance >> 16) % 300);
    ::kill(collector, SIGKILL);
    ++kills;
    if (kills % 4 == 0) {  // and a writer, wherever it is
      for (const auto& [child, what] : children) {
        if (what != "writer") continue;
        ::kill(child, SIGKILL);
        children[child] = "killed";
        break;
      }
      start_writer();
    }
  }
  std::ofstream(stop.c_str()) << "stop";
  for (const auto& [child, what] : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (what != "lister" && what != "writer" && WIFSIGNALED(status)) continue;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << what << ": " << status;
  }
  EXPECT_GT(kills, 3u);

  const auto store = Store::open(system_env(), directory);
  ASSERT_TRUE(store) << store.error().message;
  ASSERT_FALSE(store->damage()) << store->damage()->message;
  const auto last = gc(store->snapshot().value(), {});
  ASSERT_TRUE(last) << last.error().message;
  const auto snapshot = store->snapshot().value();
  std::set<std::string> held;
  ASSERT_TRUE(snapshot.operations([&](const Operation& operation) {
    held.insert(operation.label);
    const auto& after = operation.moves.at(0).after;
    EXPECT_TRUE(after && snapshot.change(after->version.changes.front())) << operation.label;
    return true;
  }));
  std::ifstream lines(notes);
  std::size_t acknowledged = 0, collected = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("pause ")) {
      ++collected;
      continue;
    }
    ++acknowledged;
    EXPECT_TRUE(held.contains(line)) << line << " was acknowledged and is gone";
  }
  EXPECT_GT(acknowledged, 10u);
  const auto report = store->verify(true, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->clean()) << report->findings.front().what << " / " << report->findings.front().affects;
  std::cout << acknowledged << " commits, " << collected << " gcs to their end, " << kills << " killed\n";
}

}  // namespace
}  // namespace weft::store

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]).starts_with("--") && !std::string(argv[1]).starts_with("--gtest")) {
    return weft::store::run_child(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
