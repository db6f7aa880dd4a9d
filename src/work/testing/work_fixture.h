// A working tree in a temporary directory over objects in memory, for the tests of this folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/testing/temp_dir.h"
#include "object/memory_objects.h"
#include "tree/tree.h"
#include "work/work.h"

namespace weft::work::testing {

template <typename T>
T must(Result<T> result) {
  if (!result) check_failed(result.error().message.c_str(), __FILE__, __LINE__);
  return *std::move(result);
}
inline void must(const Result<void>& result) {
  if (!result) check_failed(result.error().message.c_str(), __FILE__, __LINE__);
}

/// What a path holds: "d", "f644:content", "f755:content", "l:target". Two trees are equal if their pictures are.
using Picture = std::map<std::string, std::string>;

class WorkTest : public ::testing::Test {
 public:
  WorkTest() {
    std::filesystem::create_directory(root_path());
    root_.emplace(must(HostDir::open(root_path())));
    head_ = must(object::write_directory(objects_, {}));
  }

  std::string root_path() const { return temp_ / "tree"; }
  std::string at(const std::string& path) const { return root_path() + "/" + path; }
  /// From here on root, too, is refused what the modes of files refuse. In a child. It stays the user root, who owns
  /// the files and can reach them: the directory for temporary files may be one where nobody else may look.
  static bool obey_modes() {
    if (::geteuid() != 0) return true;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
    return ::syscall(SYS_capset, &header, none) == 0;
  }
  WorkTree tree() { return {env_, *root_, temp_ / "state/tree"}; }

  void write(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(std::filesystem::path(at(path)).parent_path());
    std::ofstream(at(path), std::ios::binary | std::ios::trunc) << content;
  }
  std::string read(const std::string& path) const {
    std::ifstream file(at(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void make_dir(const std::string& path) { std::filesystem::create_directories(at(path)); }
  void link(const std::string& path, const std::string& target) {
    ASSERT_EQ(::symlink(target.c_str(), at(path).c_str()), 0);
  }
  void remove(const std::string& path) { std::filesystem::remove_all(at(path)); }
  void rename(const std::string& from, const std::string& to) {
    ASSERT_EQ(::rename(at(from).c_str(), at(to).c_str()), 0);
  }
  bool exists(const std::string& path) const {
    return std::filesystem::exists(std::filesystem::symlink_status(at(path)));
  }

  Status scan(ScanOptions options = {}) { return must(status(tree(), objects_, head_, options)); }
  /// "A path", "M path", "D path", "R old -> new", "X path" (mode), "T path"; '+' behind the letter: content changed
  /// too.
  static std::vector<std::string> lines(const Status& status) {
    std::vector<std::string> out;
    for (const StatusEntry& entry : status.entries) {
      std::string line(1, "AMDRXT"[static_cast<int>(entry.change)]);
      if (entry.content_changed && entry.change != Change::modified) line += '+';
      line += ' ';
      if (!entry.old_path.empty()) line += entry.old_path + " -> ";
      line += entry.path;
      if (entry.kind == object::EntryKind::directory) line += '/';
      out.push_back(line);
    }
    return out;
  }
  std::vector<std::string> status_lines(ScanOptions options = {}) { return lines(scan(std::move(options))); }
  static std::vector<std::string> warned(const std::vector<Warning>& warnings) {
    std::vector<std::string> out;
    for (const Warning& warning : warnings) out.push_back(warning.path);
    return out;
  }

  /// Records, checks that the ops fold to the tree, accepts, and makes it the head.
  Recorded commit(ScanOptions options = {}) {
    auto recorded = must(record(tree(), objects_, objects_, head_, options));
    EXPECT_EQ(must(tree::apply_ops(objects_, objects_, head_, recorded.ops)), recorded.tree);
    must(recorded.accept());
    head_ = recorded.tree;
    return recorded;
  }
  Result<CheckoutReport> try_checkout(const ObjectId& to, CheckoutOptions options = {}) {
    return checkout(tree(), objects_, head_, to, options);
  }
  CheckoutReport switch_to(const ObjectId& to, CheckoutOptions options = {}) {
    auto report = must(try_checkout(to, std::move(options)));
    head_ = to;
    return report;
  }

  Picture picture_of(const ObjectId& root) {
    Picture out;
    must(tree::walk(objects_, root, "", [&](const tree::PathEntry& seen) -> Result<bool> {
      std::string& text = out[seen.path];
      switch (seen.entry.kind) {
        case object::EntryKind::directory:
        case object::EntryKind::submodule:
          text = "d";
          break;
        case object::EntryKind::symlink:
          text = "l:" + must(objects_.read(object::ObjectKind::blob, seen.entry.id));
          break;
        case object::EntryKind::file:
          text = std::string((seen.entry.mode & 0100) != 0 ? "f755:" : "f644:") +
                 must(objects_.read(object::ObjectKind::blob, seen.entry.id));
          break;
      }
      return true;
    }));
    return out;
  }
  Picture picture_of_disk() const {
    namespace stdfs = std::filesystem;
    Picture out;
    for (const auto& entry : stdfs::recursive_directory_iterator(root_path())) {
      const std::string path = entry.path().string().substr(root_path().size() + 1);
      const auto kind = entry.symlink_status().type();
      if (kind == stdfs::file_type::directory) {
        out[path] = "d";
      } else if (kind == stdfs::file_type::symlink) {
        out[path] = "l:" + stdfs::read_symlink(entry.path()).string();
      } else if (kind == stdfs::file_type::regular) {
        const bool executable = (entry.symlink_status().permissions() & stdfs::perms::owner_exec) != stdfs::perms::none;
        out[path] = std::string(executable ? "f755:" : "f644:") + read(path);
      } else {
        out[path] = "?";
      }
    }
    return out;
  }
  object::TreeEntry head_entry(const std::string& path) {
    const auto found = must(tree::find_path(objects_, head_, path));
    WEFT_CHECK(found.has_value());
    return *found;
  }
  /// A tree made by hand: path -> entry; missing directories are made.
  ObjectId tree_with(const ObjectId& base, const std::string& path, const std::string& content,
                     object::EntryKind kind = object::EntryKind::file, std::uint32_t mode = 0644) {
    tree::TreeEditor editor(objects_, base);
    object::TreeEntry entry;
    entry.kind = kind;
    entry.mode = mode;
    entry.node = env_.random.id<NodeId>();
    entry.id = must(objects_.put(object::ObjectKind::blob, content));
    entry.size = content.size();
    must(editor.set_with_parents(path, entry, [&](ByteView) { return env_.random.id<NodeId>(); }));
    return must(editor.finish(objects_));
  }

 protected:
  TempDir temp_;
  Env env_ = system_env();
  object::MemoryObjects objects_;
  std::optional<HostDir> root_;
  ObjectId head_;
};

using Lines = std::vector<std::string>;

}  // namespace weft::work::testing
