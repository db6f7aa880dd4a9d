#include "work/content.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "object/byte_source.h"
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

/// A file from its beginning as a source: holes are passed over unread. It remembers its own failure, which put_blob()
/// mixes with the writer's, and what it gave while another write would not have shown in the file's times.
class FileSource final : public object::ByteSource {
 public:
  FileSource(Clock& clock, const Fd& fd, std::string_view path, const Stamp& stamp)
      : clock_(clock), fd_(fd), path_(path), stamp_(stamp) {}

  Result<std::size_t> read(std::span<char> out) override {
    look_at_clock();
    auto got = read_some(fd_, out, path_);
    if (!got) {
      failed_ = true;
      return got;
    }
    if (racy_) {
      racy_hash_.update(ByteView(out.data(), *got));
      racy_bytes_ += *got;
    }
    data_left_ -= std::min<std::uint64_t>(data_left_, *got);
    return got;
  }
  Result<std::uint64_t> zeros() override {
    if (data_left_ > 0) return std::uint64_t{0};
    const FileExtent extent = next_extent(fd_);
    data_left_ = extent.data;
    return extent.hole;
  }
  /// Over what zeros() said.
  Result<std::uint64_t> skip(std::uint64_t count) override {
    look_at_clock();
    if (auto passed = pass_over(fd_, count, path_); !passed) {
      failed_ = true;
      return std::move(passed).error();
    }
    if (racy_) {
      object::hash_zeros(racy_hash_, count);
      racy_bytes_ += count;
    }
    return count;
  }

  bool failed() const { return failed_; }
  std::uint64_t racy_bytes() const { return racy_bytes_; }
  ObjectId racy_hash() { return racy_hash_.finish(); }

 private:
  void look_at_clock() { racy_ = racy_ && is_racy(stamp_, clock_.now_ns()); }

  Clock& clock_;
  const Fd& fd_;
  std::string path_;
  Stamp stamp_;
  bool failed_ = false;
  std::uint64_t data_left_ = 0;  // before the next hole
  bool racy_ = true;
  std::uint64_t racy_bytes_ = 0;
  Sha256 racy_hash_;
};

struct Hashed {
  ObjectId id;
  std::uint64_t size = 0;
};

/// The next `most` bytes, or all there are.
Result<Hashed> hash_source(object::ByteSource& source, std::uint64_t most) {
  Sha256 hash;
  Bytes buffer(kBufferBytes, '\0');
  Hashed out;
  while (out.size < most) {
    WEFT_TRY(const std::uint64_t zeros, source.zeros());
    if (zeros > 0) {
      WEFT_TRY(const std::uint64_t passed, source.skip(std::min(zeros, most - out.size)));
      object::hash_zeros(hash, passed);
      out.size += passed;
      continue;
    }
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), most - out.size));
    WEFT_TRY(const std::size_t got, source.read(std::span(buffer).first(wanted)));
    if (got == 0) break;
    hash.update(ByteView(buffer).substr(0, got));
    out.size += got;
  }
  out.id = hash.finish();
  return out;
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

/// Whether the file under `name` still begins with so many bytes of that hash, and is the one of `expected`.
bool begins_with(Clock& clock, const HostDir& directory, std::string_view name, const FileStatus& expected,
                 const Hashed& beginning) {
  const auto fd = directory.open_file(name);
  if (!fd) return false;
  FileSource source(clock, *fd, name, Stamp::of(expected));
  const auto hashed = hash_source(source, beginning.size);
  const auto after = file_status(*fd, name);
  return hashed && after && hashed->size == beginning.size && hashed->id == beginning.id &&
         Stamp::of(*after) == Stamp::of(expected);
}

/// Read once, but for what was read within a tick of the file's last change: that is read again, later. Content that
/// is known is put like any other, which finds each of its chunks there.
Result<Attempt> attempt_large(Clock& clock, const HostDir& directory, std::string_view name, const Fd& fd,
                              const FileStatus& before, object::ObjectWriter* writer) {
  Attempt out;
  FileSource source(clock, fd, name, Stamp::of(before));
  Result<Hashed> read = Hashed{};
  if (writer == nullptr) {
    read = hash_source(source, std::numeric_limits<std::uint64_t>::max());
  } else {
    auto stored = writer->put_blob(source);
    if (!stored && !source.failed()) return std::move(stored).error();
    read = stored ? Result<Hashed>(Hashed{stored->id, stored->size}) : Result<Hashed>(std::move(stored).error());
  }
  const auto after = file_status(fd, name);
  if (!read || !after) {
    out.stable = true;
    out.read = failure(read ? after.error() : read.error());
    return out;
  }
  if (read->size != before.size || Stamp::of(*after) != Stamp::of(before)) return out;
  const Hashed racy{source.racy_hash(), source.racy_bytes()};
  if (racy.size > 0 && !begins_with(clock, directory, name, before, racy)) return out;
  out.stable = true;
  out.read.outcome = Outcome::ok;
  out.read.id = read->id;
  out.read.size = read->size;
  out.read.status = before;
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
                     : attempt_large(clock, directory, name, *fd, *before, writer);
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
