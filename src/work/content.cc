#include "work/content.h"

#include <algorithm>

#include "base/hash.h"
#include "work/dir_cursor.h"

namespace weft::work {
namespace {

using object::ObjectKind;
using Outcome = ContentRead::Outcome;

constexpr std::size_t kBufferBytes = 256u << 10;

ContentRead failure(const Error& error) {
  ContentRead read;
  read.outcome = is_missing(error) ? Outcome::missing : Outcome::failed;
  read.reason = error.message;
  return read;
}

ContentRead moving(std::string_view what) {
  ContentRead read;
  read.reason = std::string(what) + " kept changing while it was read";
  return read;
}

/// The descriptor as a source that remembers its own failure: put_blob() mixes it with the writer's.
class FdSource final : public object::ByteSource {
 public:
  FdSource(const Fd& fd, std::string_view path) : fd_(fd), path_(path) {}
  Result<std::size_t> read(std::span<char> out) override {
    auto got = read_some(fd_, out, path_);
    if (!got) failed_ = true;
    return got;
  }
  bool failed() const { return failed_; }

 private:
  const Fd& fd_;
  std::string path_;
  bool failed_ = false;
};

Result<ObjectId> hash_rest(const Fd& fd, std::string_view path, std::uint64_t& size) {
  Sha256 hash;
  Bytes buffer(kBufferBytes, '\0');
  size = 0;
  for (;;) {
    WEFT_TRY(const std::size_t got, read_some(fd, buffer, path));
    if (got == 0) return hash.finish();
    hash.update(ByteView(buffer).substr(0, got));
    size += got;
  }
}

/// Everything up to the end, or one byte more than `expected`.
Result<Bytes> read_rest(const Fd& fd, std::string_view path, std::uint64_t expected) {
  Bytes bytes(expected + 1, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    WEFT_TRY(const std::size_t got, read_some(fd, std::span(bytes).subspan(size), path));
    if (got == 0) break;
    size += got;
  }
  bytes.resize(size);
  return bytes;
}

struct Attempt {
  bool stable = false;
  ContentRead read;
};

/// One look at a small file: bytes and the stat data around them. Not stable: try again.
struct SmallRead {
  bool stable = false;
  Bytes bytes;
  FileStatus status;
};

Result<SmallRead> look_at_small(const Fd& fd, std::string_view path, const FileStatus& before) {
  SmallRead out;
  WEFT_TRY(out.bytes, read_rest(fd, path, before.size));
  WEFT_TRY(out.status, file_status(fd, path));
  out.stable = out.bytes.size() == before.size && Stamp::of(before) == Stamp::of(out.status);
  return out;
}

bool wants_second_look(Clock& clock, const FileStatus& status) { return is_racy(Stamp::of(status), clock.now_ns()); }

Result<Attempt> attempt_small(Clock& clock, const HostDir& directory, std::string_view name, const Fd& fd,
                              const FileStatus& before, object::ObjectWriter* writer,
                              const std::optional<KnownContent>& known) {
  Attempt out;
  const auto looked = look_at_small(fd, name, before);
  if (!looked) {
    out.stable = true;
    out.read = failure(looked.error());
    return out;
  }
  if (!looked->stable) return out;
  if (wants_second_look(clock, looked->status)) {
    const auto again_fd = directory.open_file(name);
    if (!again_fd) return out;
    const auto again = look_at_small(*again_fd, name, looked->status);
    if (!again || !again->stable || again->bytes != looked->bytes) return out;
  }
  out.stable = true;
  out.read.outcome = Outcome::ok;
  out.read.id = sha256(looked->bytes);
  out.read.size = looked->bytes.size();
  out.read.status = looked->status;
  if (writer != nullptr && !(known && known->id == out.read.id)) {
    WEFT_DO(writer->put_with_id(ObjectKind::blob, out.read.id, looked->bytes));
  }
  return out;
}

/// Hashes the file under `name` from its beginning; nullopt when it is not the one of `expected` or changes meanwhile.
std::optional<ObjectId> hash_stable(const HostDir& directory, std::string_view name, const FileStatus& expected) {
  const auto fd = directory.open_file(name);
  if (!fd) return std::nullopt;
  std::uint64_t size = 0;
  const auto id = hash_rest(*fd, name, size);
  const auto after = file_status(*fd, name);
  if (!id || !after || size != expected.size || Stamp::of(*after) != Stamp::of(expected)) return std::nullopt;
  return *id;
}

Result<Attempt> attempt_large(Clock& clock, const HostDir& directory, std::string_view name, const Fd& fd,
                              const FileStatus& before, object::ObjectWriter* writer,
                              const std::optional<KnownContent>& known) {
  Attempt out;
  std::optional<ObjectId> hashed;
  if (writer == nullptr || (known && known->size == before.size)) {
    hashed = hash_stable(directory, name, before);
    if (!hashed) return out;
  }
  out.read.outcome = Outcome::ok;
  out.read.size = before.size;
  out.read.status = before;
  if (writer != nullptr && !(hashed && known && known->id == *hashed)) {
    FdSource source(fd, name);
    const auto stored = writer->put_blob(source);
    if (!stored && !source.failed()) return stored.error();
    const auto after = file_status(fd, name);
    if (!stored || !after) {
      out.stable = true;
      out.read = failure(stored ? after.error() : stored.error());
      return out;
    }
    if (stored->size != before.size || Stamp::of(*after) != Stamp::of(before)) return out;
    if (hashed && *hashed != stored->id) return out;
    hashed = stored->id;
  }
  if (wants_second_look(clock, before) && hash_stable(directory, name, before) != hashed) return out;
  out.stable = true;
  out.read.id = *hashed;
  return out;
}

}  // namespace

Result<ContentRead> read_content(Clock& clock, const HostDir& directory, std::string_view name,
                                 object::ObjectWriter* writer, const std::optional<KnownContent>& known) {
  for (int attempt = 0; attempt < kMaxReadAttempts; ++attempt) {
    const auto fd = directory.open_file(name);
    if (!fd) return failure(fd.error());
    const auto before = file_status(*fd, name);
    if (!before) return failure(before.error());
    auto tried = before->size < object::kLargeBlobBytes
                     ? attempt_small(clock, directory, name, *fd, *before, writer, known)
                     : attempt_large(clock, directory, name, *fd, *before, writer, known);
    if (!tried) return std::move(tried).error();
    if (tried->stable) return std::move(tried->read);
  }
  return moving("it");
}

Result<ContentRead> read_link_content(const HostDir& directory, std::string_view name, object::ObjectWriter* writer,
                                      const std::optional<KnownContent>& known) {
  for (int attempt = 0; attempt < kMaxReadAttempts; ++attempt) {
    const auto before = directory.status(name);
    if (!before) return failure(before.error());
    const auto target = directory.read_link(name);
    if (!target) return failure(target.error());
    const auto after = directory.status(name);
    // A link cannot be written to, only replaced by another inode.
    if (!after || after->kind != FileKind::symlink || Stamp::of(*before) != Stamp::of(*after)) continue;
    ContentRead read;
    read.outcome = Outcome::ok;
    read.id = sha256(*target);
    read.size = target->size();
    read.status = *after;
    if (writer != nullptr && !(known && known->id == read.id)) {
      WEFT_DO(writer->put_with_id(ObjectKind::blob, read.id, *target));
    }
    return read;
  }
  return moving("the link");
}

std::optional<Bytes> read_small(const HostDir& directory, std::string_view name, std::uint64_t max_bytes) {
  for (int attempt = 0; attempt < kMaxReadAttempts; ++attempt) {
    const auto fd = directory.open_file(name);
    if (!fd) return std::nullopt;
    const auto before = file_status(*fd, name);
    if (!before || before->size > max_bytes) return std::nullopt;
    auto looked = look_at_small(*fd, name, *before);
    if (!looked) return std::nullopt;
    if (looked->stable) return std::move(looked->bytes);
  }
  return std::nullopt;
}

}  // namespace weft::work
