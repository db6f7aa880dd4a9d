// Random edits of a working tree against a plain picture of it: status is exactly the difference, recording makes it
// clean, checkout brings every version back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include <random>

#include "work/testing/work_fixture.h"

namespace weft::work {
namespace {

using testing::must;
using testing::Picture;

/// The fixture without gtest's bookkeeping, one per random case.
class Tree : public testing::WorkTest {
 public:
  void TestBody() override {}

  void edit(std::mt19937& random) {
    switch (random() % 10) {
      case 0:
      case 1:
      case 2:
        put(random);
        break;
      case 3:
        make_directory(random);
        break;
      case 4:
      case 5:
        move(random);
        break;
      case 6:
        if (const auto path = some(random); !path.empty()) remove(path);
        break;
      case 7:
        if (const auto path = some_file(random); !path.empty()) {
          struct stat status{};
          must_be(::stat(at(path).c_str(), &status));
          must_be(::chmod(at(path).c_str(), status.st_mode ^ 0111));
        }
        break;
      case 8:
        if (const auto path = free_place(random); !path.empty()) must_be(::symlink("a/b", at(path).c_str()));
        break;
      case 9: {
        const auto from = some_file(random);
        const auto to = free_place(random);
        if (!from.empty() && !to.empty()) must_be(::link(at(from).c_str(), at(to).c_str()));
        break;
      }
    }
  }

  /// Status must name exactly what differs between the head and the disk; moves speak for both their paths.
  void check_status() {
    const Picture before = picture_of(head());
    const Picture after = picture_of_disk();
    const Status seen = scan();
    RC_ASSERT(seen.warnings.empty());
    RC_ASSERT(seen.entries.empty() == (before == after));
    std::set<std::string> named;
    for (const StatusEntry& entry : seen.entries) {
      named.insert(entry.path);
      if (!entry.old_path.empty()) named.insert(entry.old_path);
      const auto was = before.find(entry.old_path.empty() ? entry.path : entry.old_path);
      const auto is = after.find(entry.path);
      switch (entry.change) {
        case Change::added:
          RC_ASSERT(is != after.end());
          break;
        case Change::deleted:
          RC_ASSERT(before.contains(entry.path));
          break;
        default:
          RC_ASSERT(was != before.end());
          RC_ASSERT(is != after.end());
          if (entry.kind == object::EntryKind::file && entry.change != Change::type) {
            RC_ASSERT(entry.content_changed == (was->second.substr(5) != is->second.substr(5)));
            if (entry.change != Change::moved || entry.mode_changed) {
              RC_ASSERT(entry.mode_changed == (was->second.substr(0, 5) != is->second.substr(0, 5)));
            }
          }
      }
    }
    const auto spoken_for = [&](const std::string& path) {
      // By itself, by something below it (directories), or by a directory above it (moved along, or deleted with it).
      if (named.contains(path)) return true;
      const auto below = named.lower_bound(path + "/");
      if (below != named.end() && below->starts_with(path + "/")) return true;
      for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
           slash = path.rfind('/', slash - 1)) {
        if (named.contains(path.substr(0, slash))) return true;
      }
      return false;
    };
    for (const auto& [path, what] : before) {
      const auto now = after.find(path);
      if (now == after.end() || now->second != what) RC_ASSERT(spoken_for(path));
    }
    for (const auto& [path, what] : after) {
      if (!before.contains(path)) RC_ASSERT(spoken_for(path));
    }
    // Asked twice, answered twice.
    RC_ASSERT(lines(scan()) == lines(seen));
  }

  void check_record() {
    auto recorded = must(record(tree(), objects_, objects_, head_, {}));
    RC_ASSERT(must(tree::apply_ops(objects_, objects_, head_, recorded.ops)) == recorded.tree);
    must(recorded.accept());
    head_ = recorded.tree;
    RC_ASSERT(picture_of(head_) == picture_of_disk());
    RC_ASSERT(lines(scan()).empty());
    std::set<NodeId> nodes;
    must(tree::walk(objects_, head_, "", [&](const tree::PathEntry& seen) -> Result<bool> {
      RC_ASSERT(nodes.insert(seen.entry.node).second);  // each node once
      return true;
    }));
    versions_.push_back(head_);
  }

  void check_checkout(std::mt19937& random) {
    const ObjectId to = versions_[random() % versions_.size()];
    must(checkout(tree(), objects_, head_, to, {}));
    head_ = to;
    RC_ASSERT(picture_of_disk() == picture_of(head_));
    RC_ASSERT(lines(scan()).empty());
  }

  const ObjectId& head() const { return head_; }

 private:
  static void must_be(int result) { WEFT_CHECK(result == 0); }

  std::string name(std::mt19937& random) const {
    static const char* const kNames[] = {"a", "b", "c", "d", "e f", "new\nline", "\xff", "-x"};
    return kNames[random() % std::size(kNames)];
  }
  std::vector<std::string> directories() const {
    std::vector<std::string> out{""};
    for (const auto& [path, what] : picture_of_disk()) {
      if (what == "d") out.push_back(path + "/");
    }
    return out;
  }
  std::string place(std::mt19937& random) const {
    const auto all = directories();
    return all[random() % all.size()] + name(random);
  }
  std::string free_place(std::mt19937& random) const {
    const std::string path = place(random);
    return exists(path) ? "" : path;
  }
  std::string some(std::mt19937& random) const {
    const Picture picture = picture_of_disk();
    if (picture.empty()) return "";
    return std::next(picture.begin(), static_cast<std::ptrdiff_t>(random() % picture.size()))->first;
  }
  std::string some_file(std::mt19937& random) const {
    const std::string path = some(random);
    return !path.empty() && picture_of_disk().at(path)[0] == 'f' ? path : "";
  }
  void put(std::mt19937& random) {
    const std::string path = place(random);
    if (exists(path) && picture_of_disk().at(path)[0] != 'f') remove(path);
    std::string content;
    for (auto lines = random() % 6; lines > 0; --lines) content += "line " + std::to_string(random() % 4) + "\n";
    write(path, content);
  }
  void make_directory(std::mt19937& random) {
    const std::string path = place(random);
    if (exists(path) && picture_of_disk().at(path) != "d") remove(path);
    make_dir(path);
  }
  void move(std::mt19937& random) {
    const std::string from = some(random);
    const std::string to = place(random);
    if (from.empty() || from == to || to.starts_with(from + "/") || from.starts_with(to + "/")) return;
    if (exists(to) && random() % 2 == 0) {  // change places
      must_be(::rename(at(from).c_str(), (temp_ / "swap").c_str()));
      must_be(::rename(at(to).c_str(), at(from).c_str()));
      must_be(::rename((temp_ / "swap").c_str(), at(to).c_str()));
      return;
    }
    remove(to);
    must_be(::rename(at(from).c_str(), at(to).c_str()));
  }

  std::vector<ObjectId> versions_{head_};
};

TEST(WorkModel, RandomEditsAreSeenRecordedAndRestored) {
  // RC_PARAMS="seed=..." replays; without it the seed is fixed so that a run can be repeated.
  if (std::getenv("RC_PARAMS") == nullptr) ::setenv("RC_PARAMS", "seed=20241130 max_success=25", 1);
  EXPECT_TRUE(rc::check("status, record and checkout agree with the picture", [] {
    const auto seed = *rc::gen::arbitrary<std::uint32_t>();
    RC_LOG() << "seed " << seed << "\n";
    std::mt19937 random(seed);
    Tree tree;
    for (int round = 0; round < 6; ++round) {
      for (auto edits = 1 + random() % 6; edits > 0; --edits) {
        tree.edit(random);
        if (random() % 4 == 0) tree.check_status();
      }
      tree.check_status();
      tree.check_record();
      if (random() % 2 == 0) tree.check_checkout(random);
    }
  }));
}

}  // namespace
}  // namespace weft::work
