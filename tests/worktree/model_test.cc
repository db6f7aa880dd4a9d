// Random edits of working trees, by every means a file system offers, and random verbs on them, against a plain map.
//
// After each step: status is exactly the difference between the head and what is on disk; after a verb the files are
// what the model says, other workspaces and files outside are untouched, and no content that was on disk is lost: it
// is still there, or some ref leads to it.
//
// WEFT_MODEL_STEPS=N walks N steps (in episodes of kEpisodeSteps), WEFT_MODEL_SEED=S begins with the episode of seed S.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/hash.h"
#include "world.h"

namespace weft::worktree {
namespace {

namespace stdfs = std::filesystem;
using object::Version;

constexpr unsigned kEpisodeSteps = 40;
constexpr unsigned kSteps = 1200;
constexpr unsigned kFirstSeed = 1;

/// What the harness does wrong on purpose.
enum class Sabotage : std::uint8_t { none, model, loses_content, writes_outside };

struct Outcome {
  std::string problem;
  std::uint64_t end_hash = 0;
  std::map<std::string, int> counts;  ///< verb -> how often it succeeded; "refused VERB"
};

class Episode {
 public:
  Episode(unsigned seed, Sabotage sabotage) : random_(seed), sabotage_(sabotage) {
    stdfs::create_directory(world_.dir() / "outside");
    workspaces_["w"] = {};
    pictures_[Version()] = {};
  }

  Outcome run(unsigned steps) {
    for (unsigned step = 0; step < steps && out_.problem.empty() && !over_; ++step) {
      auto at = workspaces_.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(pick(workspaces_.size())));
      current_ = at->first;
      if (pick(10) < 6) {
        for (auto edits = 1 + pick(4); edits > 0; --edits) edit();
      } else {
        verb();
      }
      if (out_.problem.empty()) check_status();
      if (!out_.problem.empty()) {
        out_.problem = "step " + std::to_string(step) + " in " + current_ + ":\n" + trace_ + out_.problem;
      }
    }
    out_.end_hash = hash_;
    return out_;
  }

 private:
  struct Done {
    std::string verb;
    Version head_before, head_after;
    Picture disk_before, disk_after;
    bool undone_exactly = true;  ///< else the undo kept edits aside, and its redo brings them back
  };
  struct Workspace {
    Version head;
    std::vector<Done> done, undone;
  };

  // ---- chance

  std::size_t pick(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  bool one_in(std::size_t n) { return pick(n) == 0; }

  std::string some_name() {
    static const std::string kNames[] = {"a",     "b",         "c",        "d",    "A",      "e f",
                                         " f",    "new\nline", "\xff\xfe", "-x",   "a -> b", "caf\xc3\xa9",
                                         "x.ign", "y.ign",     "q\"\\",    ".dot", "t\t",    std::string(255, 'n')};
    return kNames[pick(std::size(kNames))];
  }
  std::string some_content() {
    std::string out;
    for (auto lines = pick(6); lines > 0; --lines) out += "line " + std::to_string(pick(4)) + "\n";
    if (one_in(8)) out += std::string("\0\xff", 2);
    if (one_in(3)) out += "unique " + std::to_string(++unique_) + "\n";
    return out;
  }
  static std::string some_of(const Picture& picture, std::size_t index) {
    return picture.empty() ? "" : std::next(picture.begin(), static_cast<std::ptrdiff_t>(index))->first;
  }
  std::string some_path(const Picture& picture) {
    return picture.empty() ? "" : some_of(picture, pick(picture.size()));
  }
  std::string some_place(const Picture& disk) {
    std::vector<std::string> directories{""};
    for (const auto& [path, thing] : disk) {
      if (thing.kind == Thing::directory && path.size() < 900) directories.push_back(path + "/");
    }
    return directories[pick(directories.size())] + some_name();
  }
  std::string host(const std::string& path) const { return world_.at(current_, path); }

  // ---- edits, by the means of the system

  void note(const std::string& what) { trace_ += "  " + what + "\n"; }

  void put(const std::string& path, const std::string& content, std::ios::openmode mode) {
    std::ofstream(host(path), std::ios::binary | mode) << content;
  }

  void remove_host(const std::string& path) {
    WEFT_CHECK(!path.empty());
    std::error_code ignored;
    stdfs::remove_all(host(path), ignored);
  }

  void edit() {
    const Picture disk = world_.disk(current_);
    const std::string from = some_path(disk);
    const std::string place = some_place(disk);
    const bool is_file = !from.empty() && disk.at(from).kind == Thing::file;
    const bool place_is_free = !disk.contains(place);
    const auto kind = pick(20);
    const auto told = [&](const std::string& what) { note(current_ + ": " + what); };
    switch (kind) {
      case 0:
      case 1:
      case 2:
      case 3:
        if (!place_is_free && disk.at(place).kind != Thing::file) remove_host(place);
        told("write " + weft::quoted(place));
        put(place, some_content(), std::ios::trunc);
        break;
      case 4:
        if (!is_file) break;
        told("append " + weft::quoted(from));
        put(from, "more\n", std::ios::app);
        break;
      case 5:
        if (!is_file || disk.at(from).content.empty()) break;
        told("edit in place " + weft::quoted(from));
        edit_in_place(from);
        break;
      case 6:
      case 7:
      case 8:
        move(disk, from, place);
        break;
      case 9:
        if (!is_file) break;
        told("chmod " + weft::quoted(from));
        ::chmod(host(from).c_str(), disk.at(from).executable ? 0644 : 0755);
        break;
      case 10: {
        static const mode_t kModes[] = {0600, 0444, 0777, 0640, 0700, 04755};
        if (is_file) ::chmod(host(from).c_str(), kModes[pick(std::size(kModes))]);
        break;
      }
      case 11:
        if (from.empty()) break;
        told("replace by directory " + weft::quoted(from));
        remove_host(from);
        stdfs::create_directory(host(from));
        if (one_in(2)) put(from + "/in", some_content(), std::ios::trunc);
        break;
      case 12: {
        static const char* const kTargets[] = {"a", "b/c", "no/such/thing", "/etc/passwd", "..", "u"};
        if (!place_is_free && one_in(2)) remove_host(place);
        told("link " + weft::quoted(place));
        // One link in six leads to itself.
        const std::string target = kTargets[pick(std::size(kTargets))];
        const std::string own = place.substr(place.rfind('/') + 1);
        (void)::symlink(target == "u" ? own.c_str() : target.c_str(), host(place).c_str());
        break;
      }
      case 13:
        if (one_in(3) || from.empty()) break;
        told("pipe " + weft::quoted(from));
        remove_host(from);
        (void)::mkfifo(host(from).c_str(), 0644);
        break;
      case 14:
        if (!is_file || !place_is_free) break;
        told("hard link " + weft::quoted(from) + " " + weft::quoted(place));
        (void)::link(host(from).c_str(), host(place).c_str());
        break;
      case 15:
        if (!is_file) break;
        told("hard link to outside " + weft::quoted(from));
        (void)::link(host(from).c_str(), (world_.dir() / ("outside/" + std::to_string(++outside_))).c_str());
        break;
      case 16:
        if (from.empty()) break;
        told("remove " + weft::quoted(from));
        remove_host(from);
        break;
      case 17:
        if (!place_is_free) break;
        told("mkdir " + weft::quoted(place));
        stdfs::create_directories(host(place + (one_in(2) ? "/deep/er" : "")));
        break;
      case 18:
        if (!one_in(3) || !place_is_free) break;
        told("nested repository " + weft::quoted(place));
        stdfs::create_directories(host(place + "/.git"));
        put(place + "/.git/HEAD", "ref: refs/heads/main\n", std::ios::trunc);
        put(place + "/theirs", some_content(), std::ios::trunc);
        break;
      case 19:  // as editors save: a new file takes the old one's name
        if (!is_file) break;
        told("save " + weft::quoted(from));
        put(from + "~", some_content(), std::ios::trunc);
        ::rename(host(from + "~").c_str(), host(from).c_str());
        break;
      default:
        break;
    }
  }

  /// Same size, same time of modification.
  void edit_in_place(const std::string& path) {
    struct stat before{};
    WEFT_CHECK(::stat(host(path).c_str(), &before) == 0);
    const int fd = ::open(host(path).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    const char byte = static_cast<char>('A' + pick(26));
    (void)!::pwrite(fd, &byte, 1, 0);
    const timespec times[2] = {before.st_atim, before.st_mtim};
    ::futimens(fd, times);
    ::close(fd);
  }

  void move(const Picture& disk, const std::string& from, const std::string& to) {
    if (from.empty() || at_or_below(to, from) || at_or_below(from, to)) return;
    note(current_ + ": rename " + weft::quoted(from) + " " + weft::quoted(to));
    if (disk.contains(to) && one_in(2)) {  // change places
      const std::string aside = world_.dir() / "aside";
      ::rename(host(from).c_str(), aside.c_str());
      ::rename(host(to).c_str(), host(from).c_str());
      ::rename(aside.c_str(), host(to).c_str());
      return;
    }
    remove_host(to);
    ::rename(host(from).c_str(), host(to).c_str());
  }

  // ---- verbs

  Workspace& here() { return workspaces_.at(current_); }
  const Picture& head_picture() { return picture_of(here().head); }
  const Picture& picture_of(const Version& version) {
    const auto found = pictures_.find(version);
    return found != pictures_.end() ? found->second : pictures_[version] = world_.picture(version);
  }
  void problem(const std::string& text) { out_.problem += text + "\n"; }

  std::map<std::string, std::string> outside() {
    std::map<std::string, std::string> out;
    for (const auto& entry : stdfs::directory_iterator(world_.dir() / "outside")) {
      std::ifstream file(entry.path(), std::ios::binary);
      out[entry.path()].assign(std::istreambuf_iterator<char>(file), {});
    }
    return out;
  }

  /// Runs a verb between the checks that hold for every verb. `ignored_too`: ignored files are kept as well.
  template <typename Verb>
  auto checked(const std::string& name, bool ignored_too, Verb&& run) {
    const auto outside_before = outside();
    std::map<std::string, Picture> before;
    for (const auto& [workspace, state] : workspaces_) before[workspace] = world_.disk(workspace);
    auto result = run();
    note(current_ + ": " + name + (result ? "" : " refused: " + result.error().message));
    ++out_.counts[(result ? "" : "refused ") + name.substr(0, name.find(' '))];
    if (!result && result.error().code == Code::internal) problem("internal error");
    if (sabotage_ == Sabotage::loses_content && ++unique_ % 2 == 0) lose_something(before.at(current_));
    if (sabotage_ == Sabotage::writes_outside) {
      for (const auto& [path, content] : outside_before) std::ofstream(path) << "written through";
    }
    if (outside() != outside_before) problem(name + " changed a file outside");
    world_.learn_contents(known_);
    std::set<std::string> there;
    for (const auto& [workspace, state] : workspaces_) {
      const Picture now = world_.disk(workspace);
      for (const auto& [path, thing] : now) there.insert(thing.content);
    }
    for (const auto& [workspace, picture] : before) {
      for (const auto& [path, thing] : picture) {
        if (thing.kind == Thing::directory || thing.kind == Thing::other) continue;
        if (!ignored_too && path.find(".ign") != std::string::npos) continue;
        if (!there.contains(thing.content) && !known_.contains(thing.content)) {
          problem(name + " lost what " + workspace + " had at " + weft::quoted(path) + ": " +
                  weft::quoted(thing.content));
        }
      }
      if (workspace != current_ && workspaces_.contains(workspace) && name != "undo" && name != "redo" &&
          !name.starts_with("workspace") && !same_picture(picture, world_.disk(workspace))) {
        problem(name + " changed the files of " + workspace);
      }
    }
    return result;
  }

  void lose_something(const Picture& disk) {
    for (const auto& [path, thing] : disk) {
      if (thing.kind == Thing::file && !known_.contains(thing.content)) return remove_host(path);
    }
  }

  void verb() {
    switch (pick(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return commit();
      case 4:
        return commit_paths();
      case 5:
      case 6:
        return switch_version();
      case 7:
      case 8:
        return restore();
      case 9:
        return remove_paths();
      case 10:
        return move_path();
      case 11:
      case 12:
        return undo(false);
      case 13:
        return undo(true);
      default:
        return one_in(2) ? workspaces() : commit();
    }
  }

  void did(const std::string& verb, const Version& head_before, Picture disk_before) {
    here().done.push_back({verb, head_before, here().head, std::move(disk_before), world_.disk(current_)});
    here().undone.clear();
  }

  void take_commit(const Result<repo::CommitResult>& result, const Picture& expected, const Picture& disk) {
    if (!result) return problem("commit failed: " + result.error().message);
    const Version before = here().head;
    const bool differs = !same_picture(expected, head_picture());
    if (result->change.has_value() != differs) return problem(differs ? "nothing committed" : "an empty commit");
    if (result->change) {
      here().head = Version(*result->change);
      pictures_[here().head] = sabotage_ == Sabotage::model ? Picture{} : expected;
      versions_.push_back(here().head);
      const std::string difference = picture_difference(pictures_[here().head], world_.picture(here().head));
      if (!difference.empty()) return problem("expected | recorded:\n" + difference);
      did("commit", before, disk);
    }
    const std::string touched = picture_difference(disk, world_.disk(current_));
    if (!touched.empty()) problem("commit changed files:\n" + touched);
  }

  void commit() {
    const Picture disk = world_.disk(current_);
    const Picture expected = to_be_recorded(head_picture(), disk);
    take_commit(checked("commit", true, [&] { return world_.commit(current_); }), expected, disk);
  }

  void commit_paths() {
    const Picture disk = world_.disk(current_);
    const Picture& head = head_picture();
    const Picture full = to_be_recorded(head, disk);
    const std::string path = one_in(3) ? some_path(head) : some_path(full);
    if (path.empty()) return;
    for (std::string up = parent_path_of(path); !up.empty(); up = parent_path_of(up)) {
      const auto on_disk = disk.find(up);
      const auto in_head = head.find(up);
      if (in_head != head.end() && in_head->second.kind != Thing::directory) return;
      if (on_disk != disk.end() && (on_disk->second.kind != Thing::directory || on_disk->second.repository)) return;
    }
    Picture expected;
    for (const auto& [each, thing] : head) {
      if (!at_or_below(each, path)) expected[each] = thing;
    }
    if (full.contains(path)) {
      for (std::string up = parent_path_of(path); !up.empty(); up = parent_path_of(up)) expected.try_emplace(up);
    }
    for (const auto& [each, thing] : part_of(full, path)) expected[each] = thing;
    take_commit(checked("commit " + weft::quoted(path), true, [&] { return world_.commit(current_, {path}); }),
                expected, disk);
  }

  /// Something in `disk` that no version holds at its place lies at, below or above `path`.
  bool has_edit_near(const Picture& base, const Picture& disk, const std::string& path) const {
    const auto near = [&](const std::string& each) { return at_or_below(each, path) || at_or_below(path, each); };
    for (const auto& [each, thing] : disk) {
      const auto was = base.find(each);
      if ((was == base.end() || !was->second.same(thing) || thing.repository) && near(each)) return true;
    }
    for (const auto& [each, thing] : base) {
      if (!disk.contains(each) && near(each)) return true;
    }
    return false;
  }

  void switch_version() {
    if (versions_.empty()) return;
    const Version target = versions_[pick(versions_.size())];
    const Picture base = head_picture();
    const Picture wanted = picture_of(target);
    const Picture disk = world_.disk(current_);
    const Version before = here().head;
    const auto result = checked("switch", true, [&] { return world_.switch_to(current_, target.text()); });
    const Picture now = world_.disk(current_);
    if (!result) {
      const std::string touched = picture_difference(disk, now);
      if (!touched.empty()) problem("a refused switch changed files:\n" + touched);
      bool reason = false;
      for (const Picture* side : {&base, &wanted}) {
        for (const auto& [path, thing] : *side) {
          const auto a = base.find(path);
          const auto b = wanted.find(path);
          const bool differs = a == base.end() || b == wanted.end() || !a->second.same(b->second);
          reason = reason || (differs && has_edit_near(base, disk, path));
        }
      }
      if (!reason) problem("switch refused without a reason: " + result.error().message);
      return;
    }
    here().head = target;
    expect_switched(base, wanted, disk, now, result->report);
    if (result->operation) did("switch", before, disk);
  }

  /// What could not be brought is told by name.
  static bool is_named(const work::CheckoutReport& report, const std::string& path) {
    return std::any_of(report.warnings.begin(), report.warnings.end(), [&](const work::Warning& warning) {
      return at_or_below(path, warning.path) || at_or_below(warning.path, path);
    });
  }

  void expect_switched(const Picture& base, const Picture& wanted, const Picture& disk, const Picture& now,
                       const work::CheckoutReport& report) {
    std::set<std::string> paths;
    for (const Picture* each : {&base, &wanted, &disk, &now}) {
      for (const auto& [path, thing] : *each) paths.insert(path);
    }
    const auto look = [](const Picture& picture, const std::string& path) -> const Thing* {
      const auto found = picture.find(path);
      return found == picture.end() ? nullptr : &found->second;
    };
    const auto same = [](const Thing* a, const Thing* b) {
      return a == nullptr || b == nullptr ? a == b : a->same(*b);
    };
    for (const std::string& path : paths) {
      const Thing* const was = look(base, path);
      const Thing* const to = look(wanted, path);
      const Thing* const had = look(disk, path);
      const Thing* const has = look(now, path);
      if (same(had, was)) {
        if (same(has, to)) continue;
        // A directory stays where it still holds something of the user's.
        if (to == nullptr && has != nullptr && has->kind == Thing::directory) continue;
        // Below what the user replaced or removed, nothing comes.
        if (same(was, to) && !same(had, was)) continue;
        bool below_edit = false;
        for (std::string up = parent_path_of(path); !up.empty(); up = parent_path_of(up)) {
          below_edit = below_edit || !same(look(disk, up), look(base, up));
        }
        if (!below_edit && !is_named(report, path)) problem("switch left " + weft::quoted(path) + " as it was");
      } else if (!same(has, had) && !same(has, to)) {
        problem("switch changed the edited " + weft::quoted(path));
      }
    }
  }

  bool has_unrecordable(const Picture& disk) const {
    for (const auto& [path, thing] : disk) {
      if (thing.kind == Thing::other || thing.repository || path.find(".ign") != std::string::npos) return true;
    }
    return false;
  }

  void expect_refusal_has_reason(const std::string& verb, const std::string& path, const Picture& disk,
                                 const Error& error) {
    const std::string touched = picture_difference(disk, world_.disk(current_));
    if (!touched.empty()) problem("a refused " + verb + " changed files:\n" + touched);
    // Nothing is brought to where a directory of it was replaced.
    for (std::string up = parent_path_of(path); !up.empty(); up = parent_path_of(up)) {
      if (disk.contains(up) && disk.at(up).kind != Thing::directory) return;
    }
    if (!has_unrecordable(disk)) problem(verb + " refused without a reason: " + error.message);
  }

  /// Paths a verb on `path` may take for something of the head that was moved: just the content of something that is
  /// missing there. Recorded first, and then treated as such.
  std::set<std::string> moved_paths(const std::string& path, const Picture& disk) {
    std::set<std::string> out;
    const Picture& head = head_picture();
    for (const auto& [gone, was] : head) {
      if (!at_or_below(gone, path) || same_at(head, disk, gone)) continue;
      for (const auto& [each, thing] : disk) {
        if (!at_or_below(each, path) || thing.kind != was.kind) continue;
        if (thing.kind == Thing::directory || thing.content == was.content) out.insert(each);
      }
    }
    return out;
  }

  void restore() {
    const Picture& head = head_picture();
    const std::string path = one_in(3) ? "" : some_path(head);
    const Picture disk = world_.disk(current_);
    const std::set<std::string> moved = moved_paths(path, disk);  // goes back to where the head has it
    const auto result =
        checked("restore " + weft::quoted(path), true, [&] { return world_.restore(current_, {path}); });
    if (!result) return expect_refusal_has_reason("restore", path, disk, result.error());
    const Picture now = world_.disk(current_);
    for (const auto& [each, thing] : part_of(head, path)) {
      const auto has = now.find(each);
      if ((has == now.end() || !has->second.same(thing)) && !is_named(result->report, each))
        problem("restore did not bring " + weft::quoted(each));
    }
    for (const auto& [each, thing] : disk) {
      const auto has = now.find(each);
      const bool kept = has != now.end() && has->second.same(thing);
      // Only a restored thing takes the place of another.
      bool replaced = false;
      for (std::string up = each; !up.empty() && at_or_below(up, path); up = parent_path_of(up)) {
        replaced = replaced || moved.contains(up) ||
                   (head.contains(up) && !(disk.contains(up) && disk.at(up).same(head.at(up))));
      }
      if (!kept && !replaced) problem("restore took away " + weft::quoted(each));
    }
    if (result->operation) did("restore", here().head, disk);
    if (!result->operation && !same_picture(disk, now)) problem("a restore without an operation changed files");
  }

  void remove_paths() {
    const Picture& head = head_picture();
    const std::string path = some_path(head);
    if (path.empty()) return;
    const Picture disk = world_.disk(current_);
    const std::set<std::string> moved = moved_paths(path, disk);
    const auto result = checked("rm " + weft::quoted(path), true, [&] { return world_.remove(current_, {path}); });
    if (!result) return expect_refusal_has_reason("rm", path, disk, result.error());
    const Picture now = world_.disk(current_);
    for (const auto& [each, thing] : disk) {
      const bool tracked = head.contains(each) && at_or_below(each, path);
      bool was_moved = false;
      for (std::string up = each; !up.empty(); up = parent_path_of(up)) was_moved = was_moved || moved.contains(up);
      if (!tracked && !was_moved && !now.contains(each)) {
        problem("rm took away " + weft::quoted(each));
      }
      if (tracked && thing.kind == Thing::file && head.at(each).kind == Thing::file && now.contains(each)) {
        problem("rm left " + weft::quoted(each));
      }
    }
    if (result->operation) did("rm", here().head, disk);
    if (!result->operation && !same_picture(disk, now)) problem("an rm without an operation changed files");
  }

  void move_path() {
    const Picture disk = world_.disk(current_);
    const std::string from = some_path(disk);
    const std::string to = some_place(disk);
    if (from.empty() || disk.contains(to) || at_or_below(to, from)) return;
    const auto result = checked("mv " + weft::quoted(from) + " " + weft::quoted(to), true,
                                [&] { return world_.move(current_, from, to); });
    if (!result) return expect_refusal_has_reason("mv", from, disk, result.error());
    Picture expected;
    for (const auto& [path, thing] : disk)
      expected[at_or_below(path, from) ? to + path.substr(from.size()) : path] = thing;
    const std::string difference = picture_difference(expected, world_.disk(current_));
    if (!difference.empty()) problem("mv: expected | is:\n" + difference);
    did("mv", here().head, disk);
  }

  void undo(bool redo) {
    const Picture disk = world_.disk(current_);
    auto& from = redo ? here().undone : here().done;
    auto& to = redo ? here().done : here().undone;
    const auto result = checked(redo ? "redo" : "undo", true, [&] { return world_.undo(current_, redo); });
    if (!result) {
      const std::string touched = picture_difference(disk, world_.disk(current_));
      if (!touched.empty()) problem("a refused undo changed files:\n" + touched);
      if (world_.head(current_) != here().head) problem("a refused undo moved the head");
      return;
    }
    note("  that was: " + result->undone.label);
    if (!brought_to_heads()) return;
    if (from.empty() || !result->report.warnings.empty() || result->how != repo::UndoResult::How::moved_refs)
      return resync();
    Done entry = std::move(from.back());
    from.pop_back();
    const Version head = redo ? entry.head_after : entry.head_before;
    if (world_.head(current_) != head) return problem("undo of " + entry.verb + " left the head elsewhere");
    here().head = head;
    const Picture& was = redo ? entry.disk_before : entry.disk_after;
    const Picture& wanted = redo ? entry.disk_after : entry.disk_before;
    Picture now = world_.disk(current_);
    Picture wanted_here = wanted;
    if (!redo) forgive(entry, wanted_here, now);
    std::string difference;
    if (entry.verb == "commit") {
      difference = picture_difference(disk, now);
    } else if (!redo) {
      entry.undone_exactly = same_picture(was, disk);
    }
    if (entry.verb != "commit" && entry.undone_exactly && same_picture(was, disk)) {
      difference = picture_difference(wanted_here, now);
    }
    if (!difference.empty()) {
      difference += "before | after the " + entry.verb + ":\n" +
                    picture_difference(picture_of(entry.head_before), picture_of(entry.head_after));
      problem(std::string(redo ? "redo" : "undo") + " of " + entry.verb + ": expected | is:\n" + difference);
    }
    to.push_back(std::move(entry));
  }

  /// What an undo may leave or take, though it was otherwise before; all of it is in some version.
  void forgive(const Done& entry, Picture& wanted, Picture& now) {
    const auto leave_out = [&](const std::string& path) {
      wanted.erase(path);
      now.erase(path);
    };
    if (entry.verb == "mv") {
      // Ignored files are not recorded: what was moved from or to such a place stays, and is told of.
      std::set<std::string> moved;
      bool ignored = false;
      for (const Picture* each : {&entry.disk_before, &entry.disk_after}) {
        for (const auto& [path, thing] : *each) {
          if (same_at(entry.disk_before, entry.disk_after, path)) continue;
          moved.insert(path);
          ignored = ignored || path.find(".ign") != std::string::npos;
        }
      }
      if (ignored) std::for_each(moved.begin(), moved.end(), leave_out);
    }
    if (entry.verb != "switch") return;
    // What was already as the other version has it (there or gone) had become that version's.
    const Picture& head = picture_of(entry.head_before);
    const Picture& other = picture_of(entry.head_after);
    std::set<std::string> paths;
    for (const Picture* each : {&head, &other}) {
      for (const auto& [path, thing] : *each) paths.insert(path);
    }
    for (const std::string& path : paths) {
      const bool was_edited = !same_at(entry.disk_before, head, path);
      if (!was_edited || !same_at(entry.disk_before, other, path)) continue;
      for (std::string up = path; !up.empty(); up = parent_path_of(up)) leave_out(up);
    }
  }

  static bool same_at(const Picture& a, const Picture& b, const std::string& path) {
    const auto in_a = a.find(path);
    const auto in_b = b.find(path);
    if (in_a == a.end() || in_b == b.end()) return (in_a == a.end()) == (in_b == b.end());
    return in_a->second.same(in_b->second);
  }

  /// Of the workspace undone in always; of others, whose heads an undo may move, not.
  bool brought_to_heads() {
    const auto repository = must(world_.open("w"));
    for (const auto& each : must(repo::list_workspaces(repository, must(repository.store().snapshot())))) {
      if (!each.files_at) continue;
      over_ = true;
      if ((each.name == "default" ? "w" : each.name) == current_) problem("an undo left the files elsewhere");
    }
    return !over_;
  }

  /// After what the model does not follow (an inverse change, workspaces that come back): begin again from what is.
  void resync() {
    const auto repository = must(world_.open("w"));
    const auto listed = must(repo::list_workspaces(repository, must(repository.store().snapshot())));
    workspaces_.clear();
    for (const auto& each : listed) {
      if (!each.present) continue;
      const std::string name = each.name == "default" ? "w" : each.name;
      if (each.files_at) over_ = true;  // its files have to be brought to the head first
      workspaces_[name].head = each.head;
    }
    if (!workspaces_.contains(current_)) current_ = "w";
  }

  void workspaces() {
    const std::string name = one_in(2) ? "x" : "y";
    if (!workspaces_.contains(name)) {
      const auto added = checked("workspace add", true, [&]() -> Result<repo::WorkspaceAdded> {
        WEFT_TRY(auto repository, world_.open("w"));
        repo::WorkspaceAddRequest request;
        request.name = name;
        return repo::add_workspace(repository, request);
      });
      if (!added && stdfs::exists(world_.root(name))) return;  // what an undo left there is not ours to overwrite
      if (!added) return problem("workspace add: " + added.error().message);
      workspaces_[name].head = added->head;
      const std::string difference = picture_difference(picture_of(added->head), world_.disk(name));
      if (!difference.empty()) problem("workspace add: expected | is:\n" + difference);
    } else {
      const Picture disk = world_.disk(name);
      const std::string asking = current_ == name ? "w" : current_;
      current_ = asking;
      Workspace gone = std::move(workspaces_.at(name));
      const auto removed = checked("workspace rm", false, [&]() -> Result<repo::WorkspaceRemoved> {
        WEFT_TRY(auto repository, world_.open(asking));
        return repo::remove_workspace(repository, name, false);
      });
      if (removed) {
        workspaces_.erase(name);
        if (stdfs::exists(world_.root(name))) problem("workspace rm left the directory");
      } else {
        workspaces_.at(name) = std::move(gone);
        if (!same_picture(disk, world_.disk(name))) problem("a refused workspace rm changed files");
        if (!has_unrecordable(disk)) problem("workspace rm refused without a reason: " + removed.error().message);
        return;
      }
    }
    // Whose operation this was, and what undoing it does, the model does not follow.
    for (auto& [each, state] : workspaces_) {
      state.done.clear();
      state.undone.clear();
    }
  }

  // ---- after every step

  void check_status() {
    if (over_) return;
    // Now and then times stop being racy: then what was looked at is not looked at again (DS7, WK4).
    const int looks = one_in(4) ? 3 : 1;
    if (looks > 1) ::usleep(30'000);
    for (const auto& [workspace, state] : workspaces_) {
      const Picture disk = world_.disk(workspace);
      const Picture head = picture_of(state.head);
      if (world_.head(workspace) != state.head) return problem("the head of " + workspace + " is elsewhere");
      for (int look = 0; look < looks; ++look) {
        const auto status = world_.status(workspace);
        if (!status) return problem("status: " + status.error().message);
        const std::string wrong = status_problem(*status, head, to_be_recorded(head, disk));
        if (!wrong.empty()) return problem("status of " + workspace + " (head | files):\n" + wrong);
      }
      for (const auto& [path, thing] : disk) {
        hash_ = xxh3(std::to_string(hash_) + workspace + path + std::to_string(thing.kind) + thing.content);
      }
    }
  }

  World world_;
  std::mt19937_64 random_;
  Sabotage sabotage_;
  Outcome out_;
  std::string current_ = "w";
  std::map<std::string, Workspace> workspaces_;
  std::map<Version, Picture> pictures_;
  std::vector<Version> versions_;
  std::set<std::string> known_;
  std::string trace_;
  std::uint64_t hash_ = 0;
  unsigned unique_ = 0;
  unsigned outside_ = 0;
  bool over_ = false;
};

unsigned number_from(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

TEST(WorktreeModel, StatusIsTheDifferenceAndNothingIsLost) {
  const unsigned steps = number_from("WEFT_MODEL_STEPS", kSteps);
  const unsigned first = number_from("WEFT_MODEL_SEED", kFirstSeed);
  std::map<std::string, int> counts;
  std::uint64_t end_hash = 0;
  unsigned failed = 0;
  for (unsigned episode = 0; episode * kEpisodeSteps < steps && failed < 3; ++episode) {
    Outcome outcome = Episode(first + episode, Sabotage::none).run(kEpisodeSteps);
    EXPECT_TRUE(outcome.problem.empty()) << "WEFT_MODEL_SEED=" << first + episode << " WEFT_MODEL_STEPS=1\n"
                                         << outcome.problem;
    failed += outcome.problem.empty() ? 0 : 1;
    end_hash = xxh3(std::to_string(end_hash) + std::to_string(outcome.end_hash));
    for (const auto& [verb, count] : outcome.counts) counts[verb] += count;
  }
  for (const auto& [verb, count] : counts) RecordProperty(verb, count);
  RecordProperty("end_hash", std::to_string(end_hash));
  if (std::getenv("WEFT_MODEL_STEPS") != nullptr) {
    for (const auto& [verb, count] : counts) std::printf("%s %d\n", verb.c_str(), count);
  }
  if (std::getenv("WEFT_MODEL_STEPS") != nullptr || failed > 0) return;
  // Every verb must keep succeeding, or the model says nothing about it.
  for (const char* verb : {"commit", "switch", "restore", "rm", "mv", "undo", "redo", "workspace"}) {
    EXPECT_GT(counts[verb], 0) << verb;
  }
}

TEST(WorktreeModel, TheSameSeedGivesTheSameEnd) {
  // Short, as which inode a file system gives again is not ours to repeat, and decides what looks moved.
  constexpr unsigned kFew = 15;
  const Outcome first = Episode(7, Sabotage::none).run(kFew);
  const Outcome second = Episode(7, Sabotage::none).run(kFew);
  EXPECT_EQ(first.end_hash, second.end_hash);
  EXPECT_EQ(first.counts, second.counts);
  EXPECT_NE(first.end_hash, Episode(8, Sabotage::none).run(kFew).end_hash);
}

TEST(WorktreeModel, TheHarnessCanFail) {
  for (const Sabotage sabotage : {Sabotage::model, Sabotage::loses_content, Sabotage::writes_outside}) {
    bool noticed = false;
    for (unsigned seed = 1; seed < 10 && !noticed; ++seed) {
      noticed = !Episode(seed, sabotage).run(kEpisodeSteps).problem.empty();
    }
    EXPECT_TRUE(noticed) << static_cast<int>(sabotage);
  }
}

}  // namespace
}  // namespace weft::worktree
