// For tests: git repositories made by the git command below a fresh temporary directory, and importing them into
// memory.
//
// The git command runs in a cleared environment with a clock that moves one minute a commit, so that ids are the same
// in every run. Header only. Threading: one thread.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/process.h"
#include "git/conversation.h"
#include "object/memory_objects.h"

namespace weft::git::testing {

/// A directory of its own, removed at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-git-test-XXXXXX").string();
    const char* made = mkdtemp(pattern.data());
    WEFT_CHECK(made != nullptr);
    path_ = made;
  }
  ~TemporaryDirectory() {
    if (path_.find("weft-git-test-") == std::string::npos) return;
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A git repository with a work tree in DIRECTORY/NAME.
class GitRepository {
 public:
  explicit GitRepository(const std::string& directory, std::string name = "repository",
                         std::vector<std::string> init = {"init", "-q", "-b", "main"})
      : home_(directory), path_(directory + "/" + std::move(name)) {
    std::filesystem::create_directories(path_);
    git(init);
  }
  const std::string& path() const { return path_; }

  /// Runs git; returns what it printed without the last newline. Fails the test where git fails.
  std::string git(const std::vector<std::string>& args, ByteView input = {}) {
    auto output = run(args, input);
    EXPECT_TRUE(output.status.ok()) << "git " << args.at(0) << ": " << output.err;
    if (output.out.ends_with('\n')) output.out.pop_back();
    return std::move(output.out);
  }
  ProcessOutput run(const std::vector<std::string>& args, ByteView input = {}) const {
    ProcessOptions options;
    options.argv = {"git", "-c", "core.autocrlf=false", "-c", "protocol.file.allow=always"};
    options.argv.insert(options.argv.end(), args.begin(), args.end());
    const std::string date = std::to_string(1'700'000'000 + 60 * clock_) + " +0130";
    options.environment = std::vector<std::string>{
        "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home_,           "GIT_CONFIG_NOSYSTEM=1",
        "GIT_AUTHOR_NAME=Ada Author",        "GIT_AUTHOR_EMAIL=a@x.y",  "GIT_COMMITTER_NAME=Cora Committer",
        "GIT_COMMITTER_EMAIL=c@x.y",         "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date};
    options.directory = path_;
    auto result = run_process(std::move(options), input, 256u << 20);
    WEFT_CHECK(result.has_value());
    return *std::move(result);
  }

  void write(const std::string& name, ByteView content) const {
    const std::filesystem::path file = std::filesystem::path(path_) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << content;
  }
  /// Everything, as a commit on the current branch; its id.
  std::string commit(const std::string& message, const std::vector<std::string>& more = {}) {
    git({"add", "-A"});
    return commit_index(message, more);
  }
  std::string commit_index(const std::string& message, const std::vector<std::string>& more = {}) {
    ++clock_;
    std::vector<std::string> args{"commit", "-q", "--allow-empty", "-m", message};
    args.insert(args.end(), more.begin(), more.end());
    git(args);
    return head();
  }
  std::string head() { return git({"rev-parse", "HEAD"}); }
  /// A raw object, however odd; its id.
  std::string object(const std::string& type, ByteView content) {
    return git({"hash-object", "-t", type, "-w", "--stdin", "--literally"}, content);
  }
  /// One tree entry in git's encoding.
  static Bytes entry(std::string_view mode, ByteView name, std::string_view hex_id) {
    return Bytes(mode) + ' ' + Bytes(name) + '\0' + from_hex(hex_id).value();
  }
  /// A commit object on these parents with this tree; the current branch moves to it.
  std::string commit_tree(const std::string& tree, const std::vector<std::string>& parents) {
    ++clock_;
    std::vector<std::string> args{"commit-tree", tree, "-m", "made"};
    for (const auto& parent : parents) args.insert(args.end(), {"-p", parent});
    const std::string id = git(args);
    git({"update-ref", "HEAD", id});
    return id;
  }

 private:
  std::string home_;
  std::string path_;
  int clock_ = 0;
};

inline std::string helper_path() { return join_path(parent_path(own_program_path().value()), "weft-git"); }

/// Imported history in memory.
class MemorySink final : public ImportSink {
 public:
  const object::ObjectReader& reader() override { return objects; }
  object::ObjectWriter& writer() override { return objects; }
  Result<std::optional<ImportedChange>> find_commit(const Sha1& commit) override {
    const auto found = commits.find(commit);
    return found == commits.end() ? std::nullopt : std::optional(found->second);
  }
  Result<ChangeId> put_change(const object::Change& change) override {
    return objects.put(object::ObjectKind::change, object::encode_change(change));
  }
  Result<void> index_commit(const Sha1& commit, const ImportedChange& change) override {
    EXPECT_TRUE(commits.emplace(commit, change).second) << commit.hex() << " came twice";
    return {};
  }
  object::Change change(const std::string& commit) const {
    const auto& imported = commits.at(*Sha1::parse(commit));
    return object::decode_change(objects.read(object::ObjectKind::change, imported.change).value()).value();
  }
  ObjectId tree(const std::string& commit) const { return commits.at(*Sha1::parse(commit)).tree; }

  object::MemoryObjects objects;
  std::map<Sha1, ImportedChange> commits;
};

/// Everything the helper finds in `path` that `sink` lacks.
struct MemoryImport {
  RepositoryFacts facts;
  Conversation::Received received;
};
inline Result<MemoryImport> import_to_memory(const std::string& path, MemorySink& sink, std::vector<Sha1> hidden = {}) {
  ProcessOptions options;
  options.argv = {helper_path(), "import", path};
  options.in = ProcessOptions::Stream::pipe;
  options.out = ProcessOptions::Stream::pipe;
  WEFT_TRY(Process process, Process::start(options));
  Conversation conversation([&](std::span<char> buffer) { return process.read(buffer); },
                            [&](ByteView bytes) { return process.write(bytes); });
  MemoryImport result;
  WEFT_TRY(result.facts, conversation.read_facts());
  WEFT_DO(conversation.request(std::move(hidden)));
  Converter converter(sink);
  WEFT_TRY(result.received, conversation.receive(converter, [](std::uint64_t) { return Result<void>(); }, {}));
  WEFT_TRY(const ExitStatus status, process.wait());
  EXPECT_TRUE(status.ok()) << status.text();
  return result;
}

/// path -> "mode blob-sha" for every file, link and submodule of a weft tree.
inline std::map<std::string, std::string> listing(const object::ObjectReader& reader, const ObjectId& root) {
  std::map<std::string, std::string> files;
  const auto walked = tree::walk(reader, root, "", [&](const tree::PathEntry& each) -> Result<bool> {
    const auto& entry = each.entry;
    if (entry.kind == object::EntryKind::directory) {
      const auto inside = object::read_directory(reader, entry.id);
      EXPECT_TRUE(inside.has_value() && !inside->empty()) << each.path << ": git has no empty directories";
      return true;
    }
    const Bytes content = reader.read(object::ObjectKind::blob, entry.id).value();
    EXPECT_EQ(content.size(), entry.size) << each.path;
    std::string text;
    switch (entry.kind) {
      case object::EntryKind::symlink:
        text = "120000 " + git_object_id("blob", content).hex();
        break;
      case object::EntryKind::submodule:
        text = "160000 " + content;
        break;
      default:
        text = (entry.mode == 0755 ? "100755 " : "100644 ") + git_object_id("blob", content).hex();
    }
    files.emplace(each.path, text);
    return true;
  });
  EXPECT_TRUE(walked.has_value()) << (walked ? "" : walked.error().message);
  return files;
}

/// The same of a git tree, by git ls-tree.
inline std::map<std::string, std::string> git_listing(GitRepository& repository, const std::string& commit) {
  std::map<std::string, std::string> files;
  const std::string out = repository.git({"ls-tree", "-r", "-z", "--full-tree", commit});
  std::string_view rest = out;
  while (!rest.empty()) {
    const auto end = rest.find('\0');
    const auto line = rest.substr(0, end);  // MODE TYPE SHA\tPATH
    const auto tab = line.find('\t');
    std::string mode(line.substr(0, 6));
    if (mode.starts_with("100")) mode = (mode[3] - '0') % 2 == 1 ? "100755" : "100644";
    files.emplace(line.substr(tab + 1), mode + " " + std::string(line.substr(tab - 40, 40)));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return files;
}

/// Node ids by path, directories too; fails the test where one occurs twice.
inline std::map<std::string, NodeId> nodes(const object::ObjectReader& reader, const ObjectId& root) {
  std::map<std::string, NodeId> result;
  std::set<NodeId> seen;
  const auto walked = tree::walk(reader, root, "", [&](const tree::PathEntry& each) -> Result<bool> {
    EXPECT_TRUE(seen.insert(each.entry.node).second) << each.path << " has a node that another path has";
    result.emplace(each.path, each.entry.node);
    return true;
  });
  EXPECT_TRUE(walked.has_value());
  return result;
}

/// Every commit of every ref: the same files as git has, unique nodes, and the exact commit object again.
inline void expect_same_history(GitRepository& repository, const MemorySink& sink) {
  std::string all = repository.git({"rev-list", "--all"});
  std::size_t count = 0;
  for (std::size_t at = 0; at + 40 <= all.size(); at += 41, ++count) {
    const std::string commit = all.substr(at, 40);
    SCOPED_TRACE(commit);
    ASSERT_TRUE(sink.commits.contains(*Sha1::parse(commit)));
    EXPECT_EQ(listing(sink.objects, sink.tree(commit)), git_listing(repository, commit));
    nodes(sink.objects, sink.tree(commit));
    const object::Change change = sink.change(commit);
    const Bytes raw = repository.run({"cat-file", "commit", commit}).out;
    const auto parsed = parse_commit(raw);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(commit_bytes(change, parsed->tree, parsed->parents).value(), raw);
    EXPECT_EQ(git_id(change)->hex(), commit);
    std::uint64_t greatest = 0;
    for (const auto& parent : change.parents) {
      const auto bytes = sink.objects.read(object::ObjectKind::change, parent).value();
      greatest = std::max(greatest, object::decode_change_summary(bytes).value().lamport);
    }
    EXPECT_EQ(change.lamport, greatest + 1);
  }
  EXPECT_EQ(count, sink.commits.size());
}

}  // namespace weft::git::testing
