// Makes a store with a long history, for BS3, BS4 and whatever else must not depend on how long a history is.
//
//   make_history DIRECTORY CHANGES OPS [FILES]
//
// DIRECTORY is made and becomes workspace `default` on `main` (no files are written; `weft restore .` does). The first
// change creates FILES files (10,000), twenty names a directory; then come CHANGES changes with OPS ops each: edits,
// one in fifty a rename. Every hundredth is a merge of a branch of three changes that forked twenty changes before. One
// file is edited and renamed in turn, a hundred times over the whole history: its last path is printed, with the number
// of changes that touched it, as `follow PATH N`. The same arguments give the same changes. Changes are committed 256
// at a time, so that a flush each is not what is waited for.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hash.h"
#include "repo/history.h"
#include "repo/repository.h"
#include "tree/tree.h"

namespace weft {
namespace {

constexpr std::size_t kNamesPerDirectory = 20;
constexpr std::uint64_t kChangesPerTransaction = 256;
constexpr std::uint64_t kMergeEvery = 100, kForkBack = 20, kBranchLength = 3;
constexpr std::int64_t kFirstTimeNs = 1'600'000'000'000'000'000;

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "make_history: %s: %s\n", what, result.error().message.c_str());
    std::exit(1);
  }
  return *std::move(result);
}
void must(Result<void> result, const char* what) {
  if (!result) must(Result<int>(std::move(result).error()), what);
}

struct File {
  NodeId node;
  NodeId directory;
  std::string parent;  ///< path of its directory
  std::string name;
  ObjectId blob;
  std::uint64_t size = 0;
  std::string path() const { return parent.empty() ? name : parent + "/" + name; }
};

class Maker {
 public:
  Maker(repo::Repository& repository, std::uint64_t changes, std::uint64_t ops, std::size_t files)
      : repository_(repository), total_(changes), ops_(ops), file_count_(std::max<std::size_t>(files, 20)) {}

  void run() {
    begin();
    create_files();
    for (made_ = 1; made_ <= total_; ++made_) {
      if (made_ % kMergeEvery == 0 && recent_.size() > kForkBack) {
        merge_branch();
      } else {
        plain_change();
      }
      if (in_transaction_ >= kChangesPerTransaction) commit();
    }
    commit();
    std::printf("follow %s %llu\n", files_[0].path().c_str(), static_cast<unsigned long long>(followed_));
  }

 private:
  NodeId node_of(std::string_view what) const {
    return NodeId::from_bytes(sha256(fmt::format("make_history {}", what)).view().substr(0, NodeId::kSize));
  }
  std::uint64_t pick(std::uint64_t below) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state_ >> 33) % below;
  }

  void begin() {
    transaction_.emplace(must(repository_.store().begin(), "begin"));
    in_transaction_ = 0;
  }
  void commit() {
    if (in_transaction_ == 0) return;
    for (const char* const ref : {"main", "workspaces/default"}) {
      store::RefEdit edit;
      edit.name = ref;
      edit.after = store::RefValue{object::Version(head_), {}};
      edit.keep_extra = true;
      transaction_->edit_ref(std::move(edit));
    }
    transaction_->set_operation({.label = "make history", .author = "Maker <maker@example.org>"});
    must(transaction_->commit(), "commit");
    begin();
  }

  ObjectId blob(const std::string& content) {
    return must(transaction_->put(object::ObjectKind::blob, content), "put");
  }

  ChangeId record(std::vector<ChangeId> parents, std::uint64_t lamport, const ObjectId& tree,
                  std::vector<object::Op> ops, object::OpsForm form, std::string message) {
    object::Change change;
    change.parents = std::move(parents);
    change.lamport = lamport;
    change.tree = tree;
    change.form = form;
    change.ops = std::move(ops);
    change.message = std::move(message);
    time_ns_ += 60'000'000'000;
    change.author = {fmt::format("Author {}", made_ % 20), fmt::format("a{}@example.org", made_ % 20), {time_ns_, 60}};
    change.committer = change.author;
    ++in_transaction_;
    return must(transaction_->put_change(change), "put change");
  }
  void advance(const ChangeId& id, const ObjectId& tree, std::uint64_t lamport) {
    head_ = id;
    tree_ = tree;
    lamport_ = lamport;
    recent_.push_back({id, tree, lamport});
    if (recent_.size() > 2 * kForkBack) recent_.erase(recent_.begin());
  }

  void create_files() {
    std::vector<object::Op> ops;
    tree::TreeEditor editor(transaction_->reader(), object::empty_tree_id());
    const auto directory = [&](const std::string& path, const NodeId& parent, const std::string& name) {
      object::TreeEntry entry;
      entry.name = name;
      entry.kind = object::EntryKind::directory;
      entry.mode = 0755;
      entry.node = node_of("dir " + path);
      ops.push_back(object::op::Create{entry.node, {parent, name}, entry.kind, entry.mode, {}, 0, {}});
      must(editor.set(path, entry), "directory");
      return entry.node;
    };
    const std::size_t leaves = (file_count_ + kNamesPerDirectory - 1) / kNamesPerDirectory;
    const std::size_t tops = (leaves + kNamesPerDirectory - 1) / kNamesPerDirectory;
    for (std::size_t top = 0; top < tops; ++top) {
      const std::string top_name = fmt::format("part{:03}", top);
      const NodeId top_node = directory(top_name, NodeId{}, top_name);
      for (std::size_t leaf = 0; leaf < kNamesPerDirectory; ++leaf) {
        const std::string leaf_name = fmt::format("d{:02}", leaf);
        const std::string leaf_path = top_name + "/" + leaf_name;
        if (files_.size() >= file_count_) break;
        const NodeId leaf_node = directory(leaf_path, top_node, leaf_name);
        for (std::size_t i = 0; i < kNamesPerDirectory && files_.size() < file_count_; ++i) {
          File file;
          file.node = node_of(fmt::format("file {}", files_.size()));
          file.directory = leaf_node;
          file.parent = leaf_path;
          file.name = fmt::format("f{:02}.txt", i);
          const std::string content = fmt::format("file {}\n", files_.size());
          file.blob = blob(content);
          file.size = content.size();
          object::TreeEntry entry;
          entry.kind = object::EntryKind::file;
          entry.mode = 0644;
          entry.node = file.node;
          entry.id = file.blob;
          entry.size = file.size;
          must(editor.set(file.path(), entry), "file");
          ops.push_back(
              object::op::Create{file.node, {leaf_node, file.name}, entry.kind, entry.mode, file.blob, file.size, {}});
          files_.push_back(std::move(file));
        }
      }
    }
    const ObjectId tree = must(editor.finish(*transaction_), "tree");
    advance(record({}, 1, tree, std::move(ops), object::OpsForm::recorded, "Begin"), tree, 1);
    ++followed_;
  }

  void edit(tree::TreeEditor& editor, std::size_t number, std::vector<object::Op>& ops) {
    File& file = files_[number];
    const std::string content = fmt::format("file {}\nedit {} {}\n", number, made_, ++edits_);
    const ObjectId result = blob(content);
    ops.push_back(object::op::SetContent{file.node, file.blob, result, content.size()});
    object::TreeEntry entry;
    entry.kind = object::EntryKind::file;
    entry.mode = 0644;
    entry.node = file.node;
    entry.id = file.blob = result;
    entry.size = file.size = content.size();
    must(editor.set(file.path(), entry), "edit");
  }
  void rename(tree::TreeEditor& editor, std::size_t number, std::vector<object::Op>& ops) {
    File& file = files_[number];
    const std::string before = file.path();
    const object::Place from{file.directory, file.name};
    file.name = fmt::format("r{}-{}.txt", number, ++edits_);
    ops.push_back(object::op::Move{file.node, from, {file.directory, file.name}});
    must(editor.move(before, file.path()), "rename");
  }

  /// Branches edit every tenth file, the main line the others: merges are clean without looking.
  std::size_t file_for(bool branch) {
    const std::size_t tenth = 1 + pick(file_count_ / 10 - 1);
    return branch ? tenth * 10 - 1 : tenth * 10 - 1 - (1 + pick(8));
  }

  void plain_change() {
    std::vector<object::Op> ops;
    std::vector<std::size_t> done;
    tree::TreeEditor editor(transaction_->reader(), tree_);
    const std::uint64_t period = std::max<std::uint64_t>(total_ / 100, 2);
    const bool follow = made_ % period == (period / 2 + 1) % period;  // never where a merge is
    if (follow) {
      followed_ % 2 == 0 ? rename(editor, 0, ops) : edit(editor, 0, ops);
      ++followed_;
    }
    while (ops.size() < ops_) {
      const std::size_t number = file_for(false);
      if (std::find(done.begin(), done.end(), number) != done.end()) continue;
      done.push_back(number);
      pick(50) == 0 ? rename(editor, number, ops) : edit(editor, number, ops);
    }
    const ObjectId tree = must(editor.finish(*transaction_), "tree");
    advance(
        record({head_}, lamport_ + 1, tree, std::move(ops), object::OpsForm::recorded, fmt::format("Change {}", made_)),
        tree, lamport_ + 1);
  }

  void merge_branch() {
    Line branch = recent_[recent_.size() - 1 - kForkBack];
    tree::TreeEditor merged(transaction_->reader(), tree_);
    std::vector<std::size_t> done;
    while (done.size() < kBranchLength) {
      const std::size_t number = file_for(true);
      if (std::find(done.begin(), done.end(), number) != done.end()) continue;
      if (must(tree::find_path(transaction_->reader(), branch.tree, files_[number].path()), "find")->id !=
          files_[number].blob) {
        continue;  // an earlier branch, merged since this one forked, has edited it
      }
      done.push_back(number);
      std::vector<object::Op> ops;
      tree::TreeEditor editor(transaction_->reader(), branch.tree);
      edit(editor, number, ops);
      branch.tree = must(editor.finish(*transaction_), "tree");
      branch.id = record({branch.id}, branch.lamport + 1, branch.tree, std::move(ops), object::OpsForm::recorded,
                         fmt::format("Branch {} step {}", made_, done.size()));
      ++branch.lamport;
      object::TreeEntry entry = *must(merged.find(files_[number].path()), "find");
      entry.id = files_[number].blob;
      entry.size = files_[number].size;
      must(merged.set(files_[number].path(), entry), "merge");
    }
    const ObjectId tree = must(merged.finish(*transaction_), "tree");
    const std::uint64_t lamport = std::max(lamport_, branch.lamport) + 1;
    advance(record({head_, branch.id}, lamport, tree, {}, object::OpsForm::derived, fmt::format("Merge {}", made_)),
            tree, lamport);
  }

  struct Line {
    ChangeId id;
    ObjectId tree;
    std::uint64_t lamport = 0;
  };

  repo::Repository& repository_;
  const std::uint64_t total_, ops_;
  const std::size_t file_count_;
  std::optional<store::Transaction> transaction_;
  std::uint64_t in_transaction_ = 0;
  std::uint64_t state_ = 20240611, edits_ = 0, made_ = 0, followed_ = 0;
  std::int64_t time_ns_ = kFirstTimeNs;
  std::vector<File> files_;
  std::vector<Line> recent_;
  ChangeId head_;
  ObjectId tree_ = object::empty_tree_id();
  std::uint64_t lamport_ = 0;
};

int run(int argc, char** argv) {
  if (argc < 4 || argc > 5) {
    std::fprintf(stderr, "usage: make_history DIRECTORY CHANGES OPS [FILES]\n");
    return 2;
  }
  const std::string directory = std::filesystem::absolute(argv[1]).string();
  Env env = system_env();
  const repo::Context context{env, directory, {}, 0};
  std::filesystem::create_directories(directory);
  auto repository = must(repo::Repository::init(context, directory, "main"), "init");
  Maker(repository, std::strtoull(argv[2], nullptr, 10), std::max(1ULL, std::strtoull(argv[3], nullptr, 10)),
        argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 10'000)
      .run();
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) { return weft::run(argc, argv); }
