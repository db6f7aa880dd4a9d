#include "git/helper/repository.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "base/host_dir.h"
#include "git/helper/work_tree.h"

namespace weft::git::helper {
namespace {

/// Blobs above this are streamed where the object is loose.
constexpr std::uint64_t kStreamBytes = 8u << 20;
constexpr std::size_t kMaxRefs = 4u << 20;

// Extensions of the repository format that change nothing about reading objects by id, or that facts() reports itself.
const char* const kExtensions[] = {"objectformat", "partialclone", "worktreeconfig", "preciousobjects",
                                   "relativeworktrees"};

struct FreeConfig {
  void operator()(git_config* config) const { git_config_free(config); }
};
struct FreeReference {
  void operator()(git_reference* reference) const { git_reference_free(reference); }
};
struct FreeIterator {
  void operator()(git_reference_iterator* iterator) const { git_reference_iterator_free(iterator); }
};
struct FreeStream {
  void operator()(git_odb_stream* stream) const { git_odb_stream_free(stream); }
};
struct FreeConfigIterator {
  void operator()(git_config_iterator* iterator) const { git_config_iterator_free(iterator); }
};

std::string config_string(git_config* config, const char* name) {
  git_buf value = GIT_BUF_INIT;
  std::string text;
  if (git_config_get_string_buf(&value, config, name) == 0) text.assign(value.ptr, value.size);
  git_buf_dispose(&value);
  return text;
}

bool has_promisor_remote(git_config* config) {
  git_config_iterator* raw = nullptr;
  if (git_config_iterator_glob_new(&raw, config, "^remote\\..*\\.promisor$") != 0) return false;
  const std::unique_ptr<git_config_iterator, FreeConfigIterator> iterator(raw);
  git_config_entry* entry = nullptr;
  while (git_config_next(&entry, iterator.get()) == 0) {
    int value = 0;
    if (git_config_parse_bool(&value, entry->value) == 0 && value != 0) return true;
  }
  return false;
}

bool has_promisor_pack(const std::string& common_directory) {
  DIR* directory = opendir((common_directory + "/objects/pack").c_str());
  if (!directory) return false;
  bool found = false;
  while (const dirent* entry = readdir(directory)) {
    if (std::string_view(entry->d_name).ends_with(".promisor")) found = true;
  }
  closedir(directory);
  return found;
}

/// "refs/notes/commits" -> "refs/notes".
void note_group(std::string_view name, std::set<std::string>& groups) {
  constexpr std::string_view kRefs = "refs/";
  if (!name.starts_with(kRefs)) return;
  const std::string_view group = name.substr(0, name.find('/', kRefs.size()));
  for (const std::string_view passing : {"refs/bisect", "refs/worktree", "refs/rewritten", "refs/prefetch"}) {
    if (group == passing) return;
  }
  if (groups.size() < wire::kMaxRefGroups && group.size() <= wire::kMaxRefNameBytes) groups.emplace(group);
}

Error missing(std::string_view what, const Sha1& id) {
  return damaged("the git repository lacks the " + std::string(what) + " " + id.hex(),
                 "git fsck tells what is damaged; nothing was taken from the repository's later history");
}

}  // namespace

git_oid to_oid(const Sha1& id) {
  git_oid oid;
  git_oid_fromraw(&oid, id.bytes.data());
  return oid;
}

Sha1 from_oid(const git_oid& oid) { return Sha1::from_bytes({reinterpret_cast<const char*>(oid.id), Sha1::kSize}); }

Library::Library() {
  git_libgit2_init();
  git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0);
  // What is written must be there after a power loss before a ref names it.
  git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
  git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, kExtensions, std::size(kExtensions));
}
Library::~Library() { git_libgit2_shutdown(); }

Error library_error(Code code, std::string what) {
  const ::git_error* last = git_error_last();
  if (last && last->message) what += std::string(": ") + last->message;
  return make_error(code, std::move(what));
}

namespace {
/// Whoever owns it: libgit2 says "not found" of others' repositories where there is no configuration file to ask.
bool is_repository(const std::string& path) {
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
  git_repository* found = nullptr;
  const int status = git_repository_open_ext(&found, path.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr);
  git_repository_free(found);
  git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 1);
  return status == 0;
}
}  // namespace

Result<Repository> Repository::open(const std::string& path) {
  Repository result;
  git_repository* repository = nullptr;
  int status = git_repository_open_ext(&repository, path.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, nullptr);
  if (status == GIT_ENOTFOUND && is_repository(path)) status = GIT_EOWNER;
  if (status == GIT_ENOTFOUND) {
    return make_error(Code::not_found, weft::quoted(path) + " is not a git repository",
                      "name the top of a git work tree, or a bare repository");
  }
  if (status == GIT_EOWNER) {
    return make_error(Code::permission, "the git repository " + weft::quoted(path) + " belongs to somebody else",
                      "git config --global --add safe.directory PATH says that you trust it");
  }
  if (status != 0) return library_error(Code::unsupported, "cannot open the git repository " + weft::quoted(path));
  result.repository_.reset(repository);
  git_odb* odb = nullptr;
  if (git_repository_odb(&odb, repository) != 0) {
    return library_error(Code::io, "cannot open the object database of " + weft::quoted(path));
  }
  result.odb_.reset(odb);
  return result;
}

namespace {

constexpr std::string_view kNewMark = ".weft-new-";

/// Nothing: somebody holds it, or it is no directory.
Fd hold(const std::string& directory) {
  Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) fd = Fd();
  return fd;
}

/// What killed runs left where they made `target`: directories of our own user with our name for them, held by nobody,
/// of processes that are not there any more.
void remove_leftovers(const std::string& target) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path(target);
  const std::string begin = path.filename().string() + std::string(kNewMark);
  fs::directory_iterator each(path.has_parent_path() ? path.parent_path() : fs::path("."), error);
  for (; !error && each != fs::directory_iterator(); each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with(begin)) continue;
    const std::string digits = name.substr(begin.size());
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat status{};
    if (::lstat(each->path().c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    if (::kill(static_cast<pid_t>(std::stol(digits)), 0) == 0 || errno != ESRCH) continue;
    if (!hold(each->path().string())) continue;
    std::error_code ignored;  // nothing is lost but the room
    fs::remove_all(each->path(), ignored);
  }
}

}  // namespace

Result<Repository> Repository::make(const std::string& path, bool work_tree, const std::string& head) {
  std::string target = path;
  while (target.size() > 1 && target.ends_with('/')) target.pop_back();
  git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
  options.flags = GIT_REPOSITORY_INIT_MKPATH | GIT_REPOSITORY_INIT_MKDIR | GIT_REPOSITORY_INIT_NO_REINIT;
  if (!work_tree) options.flags |= GIT_REPOSITORY_INIT_BARE;
  options.initial_head = head.c_str();
  const auto init = [&options](const std::string& at) {
    git_repository* made = nullptr;
    const int status = git_repository_init_ext(&made, at.c_str(), &options);
    git_repository_free(made);
    return status;
  };
  // Beside it first: a name that a killed run may have left is no obstacle to the next one.
  remove_leftovers(target);
  const std::string beside = target + std::string(kNewMark) + std::to_string(getpid());
  const std::filesystem::path above = std::filesystem::path(beside).parent_path();
  std::error_code not_made;
  if (!above.empty()) std::filesystem::create_directories(above, not_made);  // what is wrong shows below
  // Held while it is made: by this the next run knows that it is not left over.
  Fd held;
  if (::mkdir(beside.c_str(), 0777) == 0) held = hold(beside);
  if (init(beside) != 0) return library_error(Code::io, "cannot make a git repository at " + weft::quoted(target));
  if (::rename(beside.c_str(), target.c_str()) != 0) {
    // Some directories (a mount point, the current one of some systems) cannot be replaced.
    std::error_code ignored;
    std::filesystem::remove_all(beside, ignored);
    // Or another export was faster.
    if (auto there = open(target)) return there;
    if (init(target) != 0) return library_error(Code::io, "cannot make a git repository at " + weft::quoted(target));
  }
  return open(target);
}

Result<Repository::Facts> Repository::facts() const {
  Facts facts;
  git_config* raw_config = nullptr;
  if (git_repository_config_snapshot(&raw_config, repository_.get()) != 0) {
    return library_error(Code::io, "cannot read the git repository's configuration");
  }
  const std::unique_ptr<git_config, FreeConfig> config(raw_config);
  facts.object_format = config_string(raw_config, "extensions.objectformat");
  if (facts.object_format.empty()) facts.object_format = "sha1";
  facts.shallow = git_repository_is_shallow(repository_.get()) == 1;
  facts.partial = !config_string(raw_config, "extensions.partialclone").empty() || has_promisor_remote(raw_config) ||
                  has_promisor_pack(git_repository_commondir(repository_.get()));
  if (const char* work_tree = git_repository_workdir(repository_.get())) facts.work_tree = work_tree;
  facts.sparse = leaves_files_out(repository_.get());
  facts.conversions = conversions(repository_.get());
  facts.directory = git_repository_commondir(repository_.get());
  git_reference* raw_head = nullptr;
  if (git_reference_lookup(&raw_head, repository_.get(), "HEAD") == 0) {
    const std::unique_ptr<git_reference, FreeReference> head(raw_head);
    if (git_reference_type(raw_head) == GIT_REFERENCE_SYMBOLIC) {
      facts.head = git_reference_symbolic_target(raw_head);
    } else {
      facts.head_commit = from_oid(*git_reference_target(raw_head));
    }
  }
  return facts;
}

Result<void> Repository::peel(Reference& reference) const {
  reference.peeled = reference.target;
  for (std::size_t depth = 0; depth <= wire::kMaxTagDepth; ++depth) {
    const git_oid oid = to_oid(reference.peeled);
    std::size_t size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    if (git_odb_read_header(&size, &type, odb_.get(), &oid) != 0) {
      reference.kind = wire::TargetKind::missing;
      return {};
    }
    if (type == GIT_OBJECT_COMMIT || type == GIT_OBJECT_TREE || type == GIT_OBJECT_BLOB) {
      reference.kind = type == GIT_OBJECT_COMMIT ? wire::TargetKind::commit
                       : type == GIT_OBJECT_TREE ? wire::TargetKind::tree
                                                 : wire::TargetKind::blob;
      return {};
    }
    if (depth == wire::kMaxTagDepth) break;
    WEFT_TRY(const RawObject tag, read(reference.peeled, GIT_OBJECT_TAG));
    WEFT_TRY(const TagTarget target, parse_tag(tag.bytes()));
    reference.tags.emplace_back(tag.bytes());
    reference.peeled = target.object;
  }
  return make_error(Code::invalid, "the git tag " + weft::quoted(reference.name) +
                                       " is a tag of a tag of a tag, more than " + std::to_string(wire::kMaxTagDepth) +
                                       " deep");
}

Result<std::vector<std::string>> Repository::for_each_ref(
    const std::function<Result<void>(const Reference&)>& visit) const {
  git_reference_iterator* raw = nullptr;
  if (git_reference_iterator_new(&raw, repository_.get()) != 0) {
    return library_error(Code::io, "cannot list the git repository's refs");
  }
  const std::unique_ptr<git_reference_iterator, FreeIterator> iterator(raw);
  std::vector<std::pair<std::string, Sha1>> found;
  std::vector<std::string> names;
  std::set<std::string> others;
  while (true) {
    git_reference* next = nullptr;
    const int status = git_reference_next(&next, iterator.get());
    if (status == GIT_ITEROVER) break;
    if (status != 0) return library_error(Code::damaged, "cannot read the git repository's refs");
    const std::unique_ptr<git_reference, FreeReference> reference(next);
    const std::string_view name = git_reference_name(next);
    if (!name.starts_with("refs/heads/") && !name.starts_with("refs/tags/") && !name.starts_with("refs/remotes/")) {
      note_group(name, others);
      continue;
    }
    names.emplace_back(name);
    if (git_reference_type(next) != GIT_REFERENCE_DIRECT) continue;
    if (name.size() > wire::kMaxRefNameBytes || found.size() >= kMaxRefs) {
      return make_error(Code::invalid, "the git repository has a ref name that is too long, or too many refs");
    }
    found.emplace_back(name, from_oid(*git_reference_target(next)));
  }
  std::sort(found.begin(), found.end());
  for (auto& [name, target] : found) {
    Reference reference;
    reference.name = std::move(name);
    reference.target = target;
    WEFT_DO(peel(reference));
    WEFT_DO(visit(reference));
  }
  std::sort(names.begin(), names.end());
  for (auto& name : broken_refs(names)) {
    Reference reference;
    reference.name = std::move(name);
    reference.kind = wire::TargetKind::broken;
    WEFT_DO(visit(reference));
  }
  return std::vector<std::string>(others.begin(), others.end());
}

std::vector<std::string> Repository::broken_refs(const std::vector<std::string>& sound) const {
  namespace fs = std::filesystem;
  std::vector<std::string> broken;
  const fs::path top = git_repository_commondir(repository_.get());
  for (const char* group : {"refs/heads", "refs/tags", "refs/remotes"}) {
    std::error_code error;
    fs::recursive_directory_iterator each(top / group, fs::directory_options::skip_permission_denied, error);
    for (; !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
      std::error_code ignored;
      if (each->is_directory(ignored)) continue;
      std::string name = each->path().lexically_relative(top).string();
      // Locks of a git that is at work, and what it makes before renaming it.
      if (name.ends_with(".lock") || name.size() > wire::kMaxRefNameBytes || broken.size() >= kMaxRefs) continue;
      if (!std::binary_search(sound.begin(), sound.end(), name)) broken.push_back(std::move(name));
    }
  }
  std::sort(broken.begin(), broken.end());
  return broken;
}

Result<RawObject> Repository::read(const Sha1& id, git_object_t type) const {
  const std::string_view kind = git_object_type2string(type);
  const git_oid oid = to_oid(id);
  git_odb_object* raw = nullptr;
  const int status = git_odb_read(&raw, odb_.get(), &oid);
  if (status == GIT_ENOTFOUND) return missing(kind, id);
  if (status != 0) return library_error(Code::damaged, "cannot read the git " + std::string(kind) + " " + id.hex());
  RawObject object(raw);
  if (object.type() != type) return missing(kind, id);
  if (object.bytes().size() > wire::kMaxObjectBytes) {
    return make_error(Code::invalid, "the git " + std::string(kind) + " " + id.hex() + " is larger than " +
                                         std::to_string(wire::kMaxObjectBytes >> 20) + " MiB");
  }
  if (git_object_id(kind, object.bytes()) != id) {
    return damaged("the bytes of the git " + std::string(kind) + " " + id.hex() + " do not match its id",
                   "git fsck tells what is damaged");
  }
  return object;
}

Result<void> Repository::read_blob(const Sha1& id, std::size_t piece,
                                   const std::function<Result<void>(std::uint64_t size)>& begin,
                                   const std::function<Result<void>(ByteView)>& data) const {
  const git_oid oid = to_oid(id);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  git_odb_stream* raw_stream = nullptr;
  if (git_odb_read_header(&size, &type, odb_.get(), &oid) == 0 && size > kStreamBytes && type == GIT_OBJECT_BLOB &&
      git_odb_open_rstream(&raw_stream, &size, &type, odb_.get(), &oid) == 0) {
    const std::unique_ptr<git_odb_stream, FreeStream> stream(raw_stream);
    WEFT_DO(begin(size));
    Bytes buffer(piece, '\0');
    std::uint64_t done = 0;
    while (done < size) {
      const int count = git_odb_stream_read(raw_stream, buffer.data(), buffer.size());
      if (count <= 0) return library_error(Code::damaged, "cannot read the git blob " + id.hex());
      const auto bytes = std::min<std::uint64_t>(static_cast<std::uint64_t>(count), size - done);
      WEFT_DO(data(ByteView(buffer).substr(0, bytes)));
      done += bytes;
    }
    return {};
  }
  git_odb_object* raw = nullptr;
  const int status = git_odb_read(&raw, odb_.get(), &oid);
  if (status == GIT_ENOTFOUND) return missing("blob", id);
  if (status != 0) return library_error(Code::damaged, "cannot read the git blob " + id.hex());
  const RawObject object(raw);
  if (object.type() != GIT_OBJECT_BLOB) return missing("blob", id);
  const ByteView bytes = object.bytes();
  WEFT_DO(begin(bytes.size()));
  for (std::size_t at = 0; at < bytes.size(); at += piece) WEFT_DO(data(bytes.substr(at, piece)));
  return {};
}

}  // namespace weft::git::helper
