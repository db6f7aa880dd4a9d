#include "work/step_writer.h"

#include <cerrno>

#include "work/content.h"

namespace weft::work {
namespace {

using object::EntryKind;
using object::TreeEntry;

constexpr std::size_t kCopyBytes = 256u << 10;
constexpr std::size_t kMaxLinkTargetBytes = 64u << 10;
constexpr int kMaxNames = 100;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::uint32_t kOwnerExecute = 0100;

std::uint32_t creation_mode(const TreeEntry& entry) { return (entry.mode & kOwnerExecute) != 0 ? 0777 : 0666; }

/// Makes something under a temporary name; `make(name)` fails with Code::exists where the name is in use.
template <typename Make>
auto under_new_name(TemporaryNames& names, std::string& name, Make make) -> decltype(make(name)) {
  for (int attempt = 1;; ++attempt) {
    name = names.next();
    auto made = make(name);
    if (made || made.error().code != Code::exists || attempt == kMaxNames) return made;
  }
}

}  // namespace

Error changed_meanwhile(const std::string& path) {
  return make_error(Code::refused, quoted(path) + " changed while files were being written out").with("path", path);
}

Result<void> StepWriter::check_unchanged(const HostDir& directory, const Step& step) const {
  const auto now = directory.status(name_of(step.path));
  if (!now) {
    if (is_missing(now.error())) return changed_meanwhile(step.path);
    return now.error();
  }
  if (now->kind != step.seen->kind) return changed_meanwhile(step.path);
  Stamp stamp = Stamp::of(*now);
  // Replacing one name of a hard-linked file changes the change time under all of them.
  if (step.seen->links > 1) stamp.ctime_ns = step.seen->ctime_ns;
  if (stamp != Stamp::of(*step.seen)) return changed_meanwhile(step.path);
  return {};
}

/// Of a file or link that was renamed since, which changes its change time.
bool StepWriter::is_what_was_seen(const HostDir& directory, std::string_view name, const Step& step) const {
  const auto now = directory.status(name);
  if (!now || now->kind != step.seen->kind) return false;
  Stamp stamp = Stamp::of(*now);
  stamp.ctime_ns = step.seen->ctime_ns;
  const bool same = stamp == Stamp::of(*step.seen);
  if (now->kind == FileKind::file) {
    if (same && !is_racy(stamp, clock_.now_ns())) return true;
    // Written to so lately that once more would not show in its times; or copied up by an overlay, which makes it
    // another inode. What it holds decides.
    if (now->mode != step.seen->mode) return false;
    const auto read = read_content(clock_, directory, name, nullptr, std::nullopt);
    return read && read->outcome == ContentRead::Outcome::ok && read->id == step.known;
  }
  if (same || now->kind != FileKind::symlink) return same;
  const auto read = read_link_content(directory, name, nullptr, std::nullopt);
  return read && read->outcome == ContentRead::Outcome::ok && read->id == step.known;
}

Result<void> StepWriter::replace(const HostDir& directory, const std::string& temporary, const Step& step,
                                 const Own& own) {
  const std::string_view name = name_of(step.path);
  WEFT_DO(check_unchanged(directory, step));
  const auto exchanged = directory.exchange(temporary, name);
  if (!exchanged) {
    if (exchanged.error().code == Code::unsupported) return directory.rename(temporary, directory, name);
    return is_missing(exchanged.error()) ? Result<void>(changed_meanwhile(step.path)) : exchanged;
  }
  if (is_what_was_seen(directory, temporary, step)) return directory.remove_file(temporary);  // ST2
  WEFT_DO(directory.exchange(temporary, name));
  const auto back = directory.status(temporary);
  std::uint64_t inode = own.link_inode;
  if (own.file != nullptr) {
    WEFT_TRY(const FileStatus status, file_status(*own.file, step.path));
    inode = status.inode;
  }
  if (back && back->inode != inode) {
    // It was replaced once more, and ours with it: the newest stays, as whoever replaced them wanted.
    WEFT_DO(directory.exchange(temporary, name));
  }
  return changed_meanwhile(step.path);
}

Result<void> StepWriter::move_in(const HostDir& directory, const std::string& temporary, const Step& step,
                                 const Own& own) {
  Result<void> moved = step.seen && !step.clear_first ? replace(directory, temporary, step, own)
                                                      : directory.rename_new(temporary, directory, name_of(step.path));
  if (!moved) (void)directory.remove_file(temporary).has_value();  // ST3; the first failure is the one to tell
  return moved;
}

Result<FileStatus> StepWriter::write(const HostDir& directory, const Step& step) {
  std::string temporary;
  if (step.after->kind == EntryKind::symlink) {
    WEFT_TRY(const Bytes target, link_target(step));
    WEFT_DO(under_new_name(names_, temporary,
                           [&](const std::string& name) { return directory.make_symlink(name, target); }));
    Own own;
    if (step.seen) {
      if (const auto status = directory.status(temporary)) own.link_inode = status->inode;
    }
    WEFT_DO(move_in(directory, temporary, step, own));
    return directory.status(name_of(step.path));
  }
  WEFT_TRY(const Fd fd, under_new_name(names_, temporary, [&](const std::string& name) {
             return directory.create_file(name, creation_mode(*step.after));
           }));
  const auto filled = fill(fd, *step.after, step.path);
  if (!filled) {
    (void)directory.remove_file(temporary).has_value();
    return filled.error();
  }
  WEFT_DO(move_in(directory, temporary, step, Own{.file = &fd}));
  // Behind the rename, which sets the change time.
  return file_status(fd, step.path);
}

Result<FileStatus> StepWriter::write_hidden(const HostDir& directory, const Step& step) {
  const std::string_view name = name_of(step.path);
  if (step.after->kind == EntryKind::symlink) {
    WEFT_TRY(const Bytes target, link_target(step));
    WEFT_DO(directory.make_symlink(name, target));
    return directory.status(name);
  }
  WEFT_TRY(const Fd fd, directory.create_file(name, creation_mode(*step.after)));
  const auto filled = fill(fd, *step.after, step.path);
  if (!filled) {
    (void)directory.remove_file(name).has_value();
    return filled.error();
  }
  return file_status(fd, step.path);
}

Result<FileStatus> StepWriter::set_mode(const HostDir& directory, const Step& step) {
  WEFT_DO(check_unchanged(directory, step));
  const std::uint32_t mode = step.seen->mode;
  // Whoever may read may execute, as a fresh file under the usual umask would have it.
  const std::uint32_t wanted =
      (step.after->mode & kOwnerExecute) != 0 ? mode | 0100 | ((mode & 0444) >> 2) : mode & ~0111u;
  WEFT_DO(directory.set_mode(name_of(step.path), wanted));
  return directory.status(name_of(step.path));
}

Result<void> StepWriter::remove(const HostDir& directory, const Step& step) {
  const std::string_view name = name_of(step.path);
  WEFT_DO(check_unchanged(directory, step));
  std::string aside;
  const auto moved = under_new_name(
      names_, aside, [&](const std::string& free_name) { return directory.rename_new(name, directory, free_name); });
  if (!moved) return is_missing(moved.error()) ? Result<void>(changed_meanwhile(step.path)) : moved;
  if (is_what_was_seen(directory, aside, step)) return directory.remove_file(aside);  // ST2
  const auto back = directory.rename_new(aside, directory, name);
  if (back) return changed_meanwhile(step.path);
  if (back.error().code != Code::exists) return back;
  // The name was taken again within this moment: both are somebody's.
  std::string kept(name.substr(0, kMaxNameBytes - 1 - aside.size()));
  kept += "~" + aside.substr(aside.size() - 8);
  WEFT_DO(directory.rename_new(aside, directory, kept));
  return make_error(Code::refused, quoted(step.path) +
                                       " changed while files were being written out; what it was before is " +
                                       quoted(child_path(parent_of(step.path), kept)))
      .with("path", step.path);
}

Result<void> StepWriter::fill(const Fd& fd, const TreeEntry& entry, const std::string& path) {
  if (entry.size < object::kLargeBlobBytes) {
    WEFT_TRY(const Bytes bytes, reader_.read(object::ObjectKind::blob, entry.id));
    return write_all(fd, bytes, path);
  }
  WEFT_TRY(const auto source, reader_.open_blob(entry.id));
  buffer_.resize(kCopyBytes);
  bool ends_in_hole = false;
  for (;;) {
    WEFT_TRY(const std::uint64_t zeros, source->zeros());
    if (zeros > 0) {  // long runs only are known (object/chunker.h): they take no room on the disk either
      WEFT_TRY(const std::uint64_t passed, source->skip(zeros));
      WEFT_DO(pass_over(fd, passed, path));
      ends_in_hole = true;
      continue;
    }
    WEFT_TRY(const std::size_t got, source->read(buffer_));
    if (got == 0) break;
    WEFT_DO(write_all(fd, ByteView(buffer_).substr(0, got), path));
    ends_in_hole = false;
  }
  return ends_in_hole ? end_at_position(fd, path) : Result<void>();
}

Result<Bytes> StepWriter::link_target(const Step& step) const {
  if (step.after->size > kMaxLinkTargetBytes) {
    return make_error(Code::invalid, "the link's target is too long").with("path", step.path);
  }
  WEFT_TRY(Bytes target, reader_.read(object::ObjectKind::blob, step.after->id));
  if (target.empty()) return make_error(Code::invalid, "the link's target is empty").with("path", step.path);
  return target;
}

}  // namespace weft::work
