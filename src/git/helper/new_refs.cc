#include "git/helper/new_refs.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

namespace weft::git::helper {
namespace {

constexpr std::string_view kHeader = "# pack-refs with: peeled fully-peeled sorted \n";

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Error cannot(std::string_view what, const std::string& path) { return system_error(errno, std::string(what), path); }

}  // namespace

MoveResult NewRefs::add(const std::string& name, const Sha1& target, bool written) {
  const auto refused = [](std::string text) { return MoveResult{wire::MoveStatus::refused, Sha1{}, std::move(text)}; };
  int valid = 0;
  if (git_reference_name_is_valid(&valid, name.c_str()) != 0 || valid == 0) {
    return refused("git cannot have a ref of that name");
  }
  const auto beside = [&](const std::string& other) {
    return refused("git cannot have it beside " + other + ": one of the two needs another name");
  };
  for (auto slash = name.find('/', name.find('/') + 1); slash != std::string::npos; slash = name.find('/', slash + 1)) {
    if (refs_.contains(name.substr(0, slash))) return beside(name.substr(0, slash));
  }
  const auto below = refs_.lower_bound(name + "/");
  if (below != refs_.end() && below->first.starts_with(name + "/")) return beside(below->first);
  refs_[name] = {target, written};
  MoveResult result;
  result.actual = target;
  return result;
}

/// "^ID\n" of a tag object: what it leads to in the end.
Result<std::string> NewRefs::peeled_line(const Sha1& target) const {
  Sha1 id = target;
  for (std::size_t depth = 0; depth <= wire::kMaxTagDepth; ++depth) {
    const git_oid oid = to_oid(id);
    std::size_t size = 0;
    git_object_t type = GIT_OBJECT_INVALID;
    if (git_odb_read_header(&size, &type, repository_.objects(), &oid) != 0) {
      return library_error(Code::io, "cannot read the git object " + id.hex());
    }
    if (type != GIT_OBJECT_TAG) return depth == 0 ? std::string() : "^" + id.hex() + "\n";
    WEFT_TRY(const RawObject tag, repository_.read(id, GIT_OBJECT_TAG));
    WEFT_TRY(const TagTarget next, parse_tag(tag.bytes()));
    id = next.object;
  }
  return make_error(Code::invalid, "the git tag " + target.hex() + " leads through too many tags");
}

Result<void> NewRefs::write() const {
  std::string text(kHeader);
  bool any = false;
  for (const auto& [name, ref] : refs_) {
    if (ref.written) continue;
    any = true;
    text += ref.target.hex() + " " + name + "\n";
    WEFT_TRY(const std::string peeled, peeled_line(ref.target));
    text += peeled;
  }
  if (!any) return {};
  const std::string directory = git_repository_commondir(repository_.handle());
  const std::string path = directory + "packed-refs";
  const std::string lock = path + ".lock";
  // Git's own lock of that file.
  const Fd fd(::open(lock.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd) return cannot("make", lock);
  const auto give_up = [&lock](Error error) -> Error {
    ::unlink(lock.c_str());
    return error;
  };
  if (::access(path.c_str(), F_OK) == 0) {  // NR1
    return give_up(make_error(Code::invalid,
                              "somebody else writes refs into the new git repository " + quoted(directory),
                              "export again: what is there is kept"));
  }
  if (!write_whole(fd.get(), text) || ::fsync(fd.get()) != 0) return give_up(cannot("write", lock));
  if (::rename(lock.c_str(), path.c_str()) != 0) return give_up(cannot("rename", lock));
  const Fd parent(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent || ::fsync(parent.get()) != 0) return cannot("flush", directory);
  return {};
}

}  // namespace weft::git::helper
