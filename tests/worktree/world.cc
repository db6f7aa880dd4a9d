#include "world.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tree/tree.h"

namespace weft::worktree {
namespace {

namespace stdfs = std::filesystem;

std::string child_of(const std::string& directory, const std::string& name) {
  return directory.empty() ? name : directory + "/" + name;
}

std::string name_of_path(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Names directly in `directory`.
std::set<std::string> names_in(const Picture& picture, const std::string& directory) {
  std::set<std::string> out;
  const std::string prefix = directory.empty() ? "" : directory + "/";
  for (auto at = picture.lower_bound(prefix); at != picture.end() && at->first.starts_with(prefix); ++at) {
    const std::string rest = at->first.substr(prefix.size());
    if (rest.find('/') == std::string::npos && !rest.empty()) out.insert(rest);
  }
  return out;
}

std::string shown(const std::string& path, const Picture& picture) {
  const auto found = picture.find(path);
  if (found == picture.end()) return "nothing";
  static const char* const kKinds[] = {"directory", "file", "link", "other"};
  return std::string(kKinds[found->second.kind]) + (found->second.executable ? " executable" : "") + " " +
         weft::quoted(found->second.content.substr(0, 40));
}

void read_directory(const std::string& host, const std::string& path, bool top, Picture& out) {
  DIR* const stream = ::opendir(host.c_str());
  if (stream == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  for (const std::string& name : names) {
    if (name == ".git" || name == ".weft") {
      if (!top) out[path].repository = true;
      continue;
    }
    const std::string inner = host + "/" + name;
    struct stat status{};
    if (::lstat(inner.c_str(), &status) != 0) continue;
    Thing thing;
    if (S_ISDIR(status.st_mode)) {
      thing.kind = Thing::directory;
    } else if (S_ISLNK(status.st_mode)) {
      thing.kind = Thing::link;
      thing.content = stdfs::read_symlink(inner).string();
    } else if (S_ISREG(status.st_mode)) {
      thing.kind = Thing::file;
      thing.executable = (status.st_mode & S_IXUSR) != 0;
      std::ifstream file(inner, std::ios::binary);
      thing.content.assign(std::istreambuf_iterator<char>(file), {});
    } else {
      thing.kind = Thing::other;
    }
    const std::string below = child_of(path, name);
    out[below] = std::move(thing);
    if (S_ISDIR(status.st_mode)) read_directory(inner, below, false, out);
  }
}

class Expectation {
 public:
  Expectation(const Picture& head, const Picture& disk) : head_(head), disk_(disk) {}

  Picture run() {
    walk("", false);
    return std::move(out_);
  }

 private:
  const Thing* find(const Picture& picture, const std::string& path) const {
    const auto found = picture.find(path);
    return found == picture.end() ? nullptr : &found->second;
  }

  void keep_head(const std::string& path) {
    for (const auto& [below, thing] : part_of(head_, path)) out_[below] = thing;
  }

  void walk(const std::string& directory, bool nested) {
    std::set<std::string> names = names_in(head_, directory);
    names.merge(names_in(disk_, directory));
    for (const std::string& name : names) {
      const std::string path = child_of(directory, name);
      const Thing* const before = find(head_, path);
      const Thing* const now = find(disk_, path);
      if (now == nullptr) continue;
      if (before == nullptr && nested) continue;
      const bool tracked_directory = before != nullptr && before->kind == Thing::directory;
      const bool ignored = name.ends_with(".ign");
      if (before == nullptr && ignored) continue;
      if (now->kind == Thing::other) {
        if (before != nullptr) keep_head(path);
      } else if (now->kind == Thing::directory) {
        if (!tracked_directory && (now->repository || ignored || nested)) continue;
        out_[path] = Thing{};
        walk(path, nested || now->repository);
      } else {
        out_[path] = *now;
      }
    }
  }

  const Picture& head_;
  const Picture& disk_;
  Picture out_;
};

}  // namespace

bool at_or_below(const std::string& path, const std::string& top) {
  return top.empty() || path == top || path.starts_with(top + "/");
}

std::string parent_path_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool same_picture(const Picture& a, const Picture& b) { return picture_difference(a, b).empty(); }

std::string picture_difference(const Picture& a, const Picture& b) {
  constexpr int kMaxShown = 6;
  std::string out;
  int count = 0;
  const auto differ = [&](const std::string& path) {
    if (++count <= kMaxShown) out += "  " + weft::quoted(path) + ": " + shown(path, a) + " | " + shown(path, b) + "\n";
  };
  for (const auto& [path, thing] : a) {
    const auto other = b.find(path);
    if (other == b.end() || !other->second.same(thing)) differ(path);
  }
  for (const auto& [path, thing] : b) {
    if (!a.contains(path)) differ(path);
  }
  return out;
}

Picture part_of(const Picture& picture, const std::string& path) {
  Picture out;
  for (const auto& [each, thing] : picture) {
    if (at_or_below(each, path)) out[each] = thing;
  }
  return out;
}

Picture to_be_recorded(const Picture& head, const Picture& disk) { return Expectation(head, disk).run(); }

std::string status_problem(const work::Status& status, const Picture& before, const Picture& after) {
  using work::Change;
  std::map<std::string, const work::StatusEntry*> by_path;
  std::map<std::string, const work::StatusEntry*> by_old_path;
  std::set<std::string> deleted;
  std::set<std::string> named;
  std::string problems;
  const auto problem = [&](const std::string& path, const std::string& text) {
    problems +=
        "  " + weft::quoted(path) + " " + text + " (" + shown(path, before) + " | " + shown(path, after) + ")\n";
  };
  for (const work::StatusEntry& entry : status.entries) {
    named.insert(entry.path);
    if (entry.change == Change::deleted) {
      if (!deleted.insert(entry.path).second) problem(entry.path, "is deleted twice");
      const auto was = before.find(entry.path);
      const auto is = after.find(entry.path);
      if (was == before.end()) problem(entry.path, "is deleted and never was");
      if (was != before.end() && is != after.end() && is->second.same(was->second) && !by_path.contains(entry.path) &&
          was->second.kind != Thing::directory) {
        const bool replaced = std::any_of(status.entries.begin(), status.entries.end(), [&](const auto& other) {
          return other.change == Change::moved && other.path == entry.path;
        });
        if (!replaced) problem(entry.path, "is deleted and still there");
      }
      continue;
    }
    if (!by_path.emplace(entry.path, &entry).second) problem(entry.path, "has two entries");
    if (!after.contains(entry.path)) problem(entry.path, "has an entry and is not there");
    if (entry.change == Change::moved) {
      named.insert(entry.old_path);
      if (!by_old_path.emplace(entry.old_path, &entry).second) problem(entry.old_path, "moved to two places");
      if (!before.contains(entry.old_path)) problem(entry.old_path, "was moved and never was");
    }
  }
  if (!problems.empty()) return problems;

  // What the entries make of `before`, file by file.
  const std::function<std::string(const std::string&)> place = [&](const std::string& path) -> std::string {
    if (const auto moved = by_old_path.find(path); moved != by_old_path.end()) return moved->second->path;
    const std::string parent = parent_path_of(path);
    return parent.empty() ? path : child_of(place(parent), name_of_path(path));
  };
  Picture told;
  for (const auto& [path, thing] : before) {
    if (thing.kind == Thing::directory || deleted.contains(path)) continue;
    const auto here = by_path.find(path);
    const bool moves = by_old_path.contains(path);
    if (!moves && here != by_path.end() && here->second->change == Change::type) continue;
    const std::string now = place(path);
    Thing expected = thing;
    if (const auto entry = by_path.find(now); entry != by_path.end()) {
      const auto is = after.find(now);
      const bool content = entry->second->content_changed || entry->second->change == Change::modified;
      if (content && is != after.end()) {
        if (expected.content == is->second.content) problem(now, "is told as edited and is not");
        expected.content = is->second.content;
      }
      if ((entry->second->mode_changed || entry->second->change == Change::mode) && is != after.end()) {
        if (expected.executable == is->second.executable) problem(now, "is told to have another mode and has not");
        expected.executable = is->second.executable;
      }
    }
    told[now] = std::move(expected);
  }
  for (const auto& [path, entry] : by_path) {
    if (entry->change != Change::added && entry->change != Change::type) continue;
    const auto is = after.find(path);
    if (is->second.kind != Thing::directory) told[path] = is->second;
    const auto was = before.find(path);
    if (was != before.end() && was->second.same(is->second) && !by_old_path.contains(path)) {
      problem(path, "is told as new and is as it was");
    }
  }
  Picture files;
  for (const auto& [path, thing] : after) {
    if (thing.kind != Thing::directory) files[path] = thing;
  }
  problems += picture_difference(told, files);

  // Directories: spoken for by themselves, by something below, or by a directory above.
  const auto spoken_for = [&](const std::string& path) {
    for (std::string up = path; !up.empty(); up = parent_path_of(up)) {
      if (named.contains(up)) return true;
    }
    const auto below = named.lower_bound(path + "/");
    return below != named.end() && below->starts_with(path + "/");
  };
  for (const auto& [path, thing] : before) {
    const auto is = after.find(path);
    if ((is == after.end() || is->second.kind != thing.kind) && !spoken_for(path)) problem(path, "went in silence");
  }
  for (const auto& [path, thing] : after) {
    if (!before.contains(path) && !spoken_for(path)) problem(path, "came in silence");
  }
  return problems;
}

// ---- World

World::World() : env_(system_env()) {
  stdfs::create_directory(root("w"));
  must(repo::Repository::init(context("w"), ".", "main"));
  stdfs::create_directories(dir_ / "home/.config/git");
  std::ofstream(dir_ / "home/.config/git/ignore") << "*.ign\n";
}

repo::Context World::context(const std::string& workspace) {
  return {env_,
          root(workspace),
          {{"WEFT_AUTHOR", "Ann <ann@example.org>"}, {"HOME", dir_ / "home"}},
          static_cast<std::uint32_t>(::geteuid())};
}

Result<repo::CommitResult> World::commit(const std::string& workspace, std::vector<std::string> paths,
                                         const std::string& message) {
  WEFT_TRY(auto repository, open(workspace));
  repo::CommitRequest request;
  request.message = message + "\n";
  request.paths = std::move(paths);
  return repo::commit(repository, request);
}

Result<repo::SwitchResult> World::switch_to(const std::string& workspace, const std::string& target) {
  WEFT_TRY(auto repository, open(workspace));
  repo::SwitchRequest request;
  request.target = target;
  return repo::switch_workspace(repository, request);
}

Result<repo::FilesEdited> World::restore(const std::string& workspace, std::vector<std::string> paths,
                                         std::optional<std::string> from) {
  WEFT_TRY(auto repository, open(workspace));
  return repo::restore_paths(repository, from, paths);
}

Result<repo::FilesEdited> World::remove(const std::string& workspace, std::vector<std::string> paths) {
  WEFT_TRY(auto repository, open(workspace));
  repo::RemoveRequest request;
  request.paths = std::move(paths);
  request.recursive = true;
  return repo::remove_paths(repository, request);
}

Result<repo::FilesEdited> World::move(const std::string& workspace, const std::string& from, const std::string& to) {
  WEFT_TRY(auto repository, open(workspace));
  repo::MoveRequest request;
  request.from = {from};
  request.to = to;
  return repo::move_paths(repository, request);
}

Result<repo::UndoResult> World::undo(const std::string& workspace, bool redo) {
  WEFT_TRY(auto repository, open(workspace));
  repo::UndoRequest request;
  request.redo = redo;
  return repo::undo(repository, request);
}

Result<work::Status> World::status(const std::string& workspace, bool list_ignored) {
  WEFT_TRY(auto repository, open(workspace));
  const auto& location = *repository.location();
  const auto record = repo::read_files_record(env_.fs, repository.files_path(location.name));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto standing, repository.workspace_in(snapshot));
  WEFT_TRY(const auto state, repo::files_state(snapshot, standing, record));
  WEFT_TRY(const auto files, repo::WorkspaceFiles::open(repository, location.name, location.root));
  WEFT_TRY(const ObjectId tree, repo::tree_of(snapshot, state.at));
  auto options = files.scan_options();
  options.list_ignored = list_ignored;
  return work::status(files.tree(), snapshot, tree, options);
}

object::Version World::head(const std::string& workspace) {
  const auto repository = must(open("w"));
  const auto value =
      must(must(repository.store().snapshot()).ref("workspaces/" + (workspace == "w" ? "default" : workspace)));
  return value ? value->version : object::Version();
}

Picture World::picture(const object::Version& version) {
  const auto repository = must(open("w"));
  const auto snapshot = must(repository.store().snapshot());
  Picture out;
  const auto walked = tree::walk(
      snapshot, must(repo::tree_of(snapshot, version)), "", [&](const tree::PathEntry& seen) -> Result<bool> {
        Thing& thing = out[seen.path];
        if (seen.entry.kind == object::EntryKind::directory) return true;
        thing.kind = seen.entry.kind == object::EntryKind::symlink ? Thing::link : Thing::file;
        thing.executable = thing.kind == Thing::file && (seen.entry.mode & 0100) != 0;
        WEFT_TRY(thing.content, snapshot.read(object::ObjectKind::blob, seen.entry.id));
        return true;
      });
  WEFT_CHECK(walked.has_value());
  return out;
}

Picture World::disk(const std::string& workspace) const {
  Picture out;
  read_directory(root(workspace), "", true, out);
  return out;
}

void World::learn_contents(std::set<std::string>& known) {
  const auto repository = must(open("w"));
  std::vector<object::Version> fresh;
  for (const auto& ref : must(must(repository.store().snapshot()).refs())) {
    if (learned_.insert(ref.value.version).second) fresh.push_back(ref.value.version);
  }
  for (const auto& version : fresh) {
    for (const auto& [path, thing] : picture(version)) {
      if (thing.kind != Thing::directory) known.insert(thing.content);
    }
  }
}

}  // namespace weft::worktree
