#include "base/testing/sim_file_system.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/hash.h"
#include "base/testing/fake_env.h"

namespace weft {

namespace {

constexpr std::uint64_t kRoot = 1;
constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kSector = 512;
constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 34;  // a test that means to write more has a bug

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
    } else {
      parts.emplace_back(part);
    }
  }
  return parts;
}

/// A buffer as long as was asked for, of which, as with a real mapping, only the file's pages can be touched.
class SimMapping final : public Mapping {
 public:
  explicit SimMapping(std::uint64_t length) : length_(length) {
    if (length == 0) return;
    void* const address = ::mmap(nullptr, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    WEFT_CHECK(address != MAP_FAILED);
    buffer_ = static_cast<char*>(address);
    bytes_ = {buffer_, length};
  }
  SimMapping(const SimMapping&) = delete;
  SimMapping& operator=(const SimMapping&) = delete;
  ~SimMapping() override {
    if (buffer_ != nullptr) ::munmap(buffer_, length_);
  }

  void copy_in(std::uint64_t offset, ByteView bytes) {
    if (offset >= length_) return;
    bytes = bytes.substr(0, length_ - offset);
    if (!bytes.empty()) std::memcpy(buffer_ + offset, bytes.data(), bytes.size());
  }
  void set_file_size(std::uint64_t size) {
    size = std::min(size, length_);
    const std::uint64_t end = std::min((size + kBlock - 1) / kBlock * kBlock, (length_ + kBlock - 1) / kBlock * kBlock);
    if (end > accessible_) {
      WEFT_CHECK(::mprotect(buffer_ + accessible_, end - accessible_, PROT_READ | PROT_WRITE) == 0);
    } else if (end < accessible_) {
      std::memset(buffer_ + end, 0, accessible_ - end);
      WEFT_CHECK(::mprotect(buffer_ + end, accessible_ - end, PROT_NONE) == 0);
    }
    accessible_ = end;
    if (size < end) std::memset(buffer_ + size, 0, std::min(end, length_) - size);
  }

 private:
  std::uint64_t length_;
  char* buffer_ = nullptr;
  std::uint64_t accessible_ = 0;
};

}  // namespace

/// A file as calls see it, whether or not a directory still names it.
struct SimFileSystem::LiveFile {
  std::uint64_t inode = 0;
  std::shared_ptr<const Bytes> shared;  // with an image, until written
  Bytes own;
  std::vector<bool> blocks;  // which 4 KiB blocks take space
  std::vector<std::weak_ptr<SimMapping>> mappings;
  std::int64_t changed = 0;
  std::uint64_t flush_failures = 0;
  int flush_errno = 0;  // of the last

  ByteView view() const { return shared ? ByteView(*shared) : ByteView(own); }
  Bytes& writable() {
    if (shared) {
      own = *shared;
      shared.reset();
    }
    return own;
  }
  template <typename F>
  void each_mapping(F f) {
    std::erase_if(mappings, [&](const std::weak_ptr<SimMapping>& weak) {
      const auto mapping = weak.lock();
      if (mapping) f(*mapping);
      return mapping == nullptr;
    });
  }
  void replace(Bytes content) {
    shared.reset();
    own = std::move(content);
    each_mapping([&](SimMapping& mapping) {
      mapping.set_file_size(own.size());
      mapping.copy_in(0, own);
    });
  }
};

class SimFile final : public File {
 public:
  SimFile(SimFileSystem& fs, std::shared_ptr<SimFileSystem::LiveFile> file, std::string path, bool writable)
      : fs_(fs),
        file_(std::move(file)),
        path_(std::move(path)),
        writable_(writable),
        seen_flush_failures_(file_->flush_failures) {}

  Result<void> read_at(std::uint64_t offset, std::span<char> out) const override {
    WEFT_TRY(const std::size_t got, read_some_at(offset, out));
    if (got == out.size()) return {};
    return damaged(quoted(path_) + " ends at byte " + std::to_string(offset + got) + ", inside what is read there")
        .with("path", path_)
        .with("offset", std::to_string(offset + got));
  }

  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(fs_.meet(SimCall::read, "read", path_));
    const ByteView content = file_->view();
    if (offset >= content.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(out.size(), content.size() - offset);
    std::copy_n(content.data() + offset, count, out.data());
    fs_.counts_.bytes_read += count;
    return count;
  }

  Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) override {
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(alive("write"));
    auto bytes = std::make_shared<Bytes>();
    for (const ByteView part : parts) *bytes += part;
    WEFT_CHECK(offset + bytes->size() <= kMaxFileSize);
    if (bytes->empty()) return {};
    int errnum = fs_.count_and_fault(SimCall::write);
    if (errnum != 0) {
      // A part may have got through: nothing, whole sectors, or all but the last byte.
      const std::size_t most = bytes->size() - 1;
      switch (fs_.random_.below(3)) {
        case 0:
          bytes->clear();
          break;
        case 1:
          bytes->resize(fs_.random_.below(most / kSector + 1) * kSector);
          break;
        default:
          bytes->resize(most);
      }
    }
    const std::size_t fits = fs_.take_space(*file_, offset, bytes->size());
    if (fits < bytes->size()) {
      bytes->resize(fits);
      if (errnum == 0) errnum = ENOSPC;
    }
    if (!bytes->empty()) {
      fs_.write_bytes(*file_, offset, *bytes);
      fs_.counts_.bytes_written += bytes->size();
      fs_.record({.kind = SimOperationKind::write,
                  .path = path_,
                  .inode = file_->inode,
                  .offset = offset,
                  .bytes = std::move(bytes)});
    }
    if (errnum != 0) return died(errnum, "write");
    return {};
  }
  using File::write_at;

  Result<void> sync() override {
    std::function<void(const std::string&)> hook;
    {
      const MutexLock lock(fs_.mutex_);
      hook = fs_.before_sync_;
    }
    if (hook) hook(path_);
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(alive("flush"));
    const int errnum = fs_.count_and_fault(SimCall::sync);
    if (seen_flush_failures_ != file_->flush_failures) {  // D5
      seen_flush_failures_ = file_->flush_failures;
      return died(file_->flush_errno, "flush");
    }
    SimOperation operation{.kind = SimOperationKind::sync, .path = path_, .inode = file_->inode};
    operation.size = file_->view().size();
    if (errnum == 0) {
      fs_.record(std::move(operation));
      return {};
    }
    seen_flush_failures_ = ++file_->flush_failures;
    file_->flush_errno = errnum;
    // D4
    const std::uint64_t outcome = fs_.random_.below(3);
    if (outcome > 0) {
      operation.dropped = true;
      if (outcome == 1) {
        Bytes durable = fs_.durable_content(file_->inode);
        durable.resize(operation.size);
        file_->replace(std::move(durable));
      }
      fs_.record(std::move(operation));
    }
    return died(errnum, "flush");
  }

  Result<std::uint64_t> size() const override {
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(fs_.meet(SimCall::status, "read the status of", path_));
    return file_->view().size();
  }

  Result<void> set_size(std::uint64_t size) override {
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(alive("resize"));
    WEFT_CHECK(size <= kMaxFileSize);
    const int errnum = fs_.count_and_fault(SimCall::set_size);
    if (errnum != 0) return died(errnum, "resize");
    fs_.resize(*file_, size);
    fs_.record({.kind = SimOperationKind::set_size, .path = path_, .inode = file_->inode, .size = size});
    return {};
  }

  Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const override {
    const MutexLock lock(fs_.mutex_);
    WEFT_DO(fs_.meet(SimCall::map, "map", path_));
    const auto mapping = std::make_shared<SimMapping>(length);
    mapping->set_file_size(file_->view().size());
    mapping->copy_in(0, file_->view());
    file_->mappings.push_back(mapping);
    return std::shared_ptr<Mapping>(mapping);
  }

 private:
  Result<void> alive(std::string_view operation) const {
    if (!writable_) return system_error(EBADF, operation, path_);
    if (failed_errno_ == 0) return {};
    Error error = system_error(failed_errno_, operation, path_);
    error.message += " (an earlier write or flush of it failed)";
    return error;
  }
  Error died(int errnum, std::string_view operation) {
    if (failed_errno_ == 0) failed_errno_ = errnum;
    return system_error(errnum, operation, path_);
  }

  SimFileSystem& fs_;
  std::shared_ptr<SimFileSystem::LiveFile> file_;
  std::string path_;
  bool writable_;
  std::uint64_t seen_flush_failures_;
  int failed_errno_ = 0;
};

SimFileSystem::SimFileSystem(std::uint64_t seed) : random_(seed) {
  base_[kRoot].directory = true;
  set_live(base_);
}

SimFileSystem::~SimFileSystem() = default;

// --- calls

Result<std::unique_ptr<File>> SimFileSystem::open(const std::string& path, OpenMode mode) {
  const MutexLock lock(mutex_);
  const bool may_create = mode == OpenMode::create || mode == OpenMode::create_new;
  const std::string_view operation = may_create ? "create" : "open";
  WEFT_DO(meet(SimCall::open, operation, path));
  WEFT_TRY(const Place place, find(path, operation));
  std::uint64_t inode = place.inode;
  if (inode == 0) {
    if (!may_create) return system_error(ENOENT, operation, path);
    inode = next_inode_++;
    auto file = std::make_shared<LiveFile>();
    file->inode = inode;
    files_[inode] = std::move(file);
    SimOperation create{.kind = SimOperationKind::create, .path = path, .inode = inode};
    create.entries.push_back({place.directory, place.name, inode});
    apply_entries(create);
    record(std::move(create));
  } else if (mode == OpenMode::create_new) {
    return system_error(EEXIST, operation, path);
  } else if (is_directory(inode)) {
    return system_error(EISDIR, operation, path);
  }
  return std::unique_ptr<File>(std::make_unique<SimFile>(*this, files_.at(inode), path, mode != OpenMode::read));
}

Result<FileStatus> SimFileSystem::status(const std::string& path) {
  const MutexLock lock(mutex_);
  constexpr std::string_view kOperation = "read the status of";
  WEFT_DO(meet(SimCall::status, kOperation, path));
  WEFT_TRY(const Place place, find_existing(path, kOperation));
  FileStatus status{.mode = 0644, .uid = ::geteuid(), .device = 1, .inode = place.inode};
  if (is_directory(place.inode)) {
    status.kind = FileKind::directory;
    status.mode = 0755;
    status.links = 2;
  } else {
    const LiveFile& file = *files_.at(place.inode);
    status.kind = FileKind::file;
    status.size = file.view().size();
    status.mtime_ns = status.ctime_ns = FakeClock::kStartNs + file.changed;  // so that by that clock nothing is old
  }
  return status;
}

Result<void> SimFileSystem::make_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  WEFT_DO(meet(SimCall::make_directory, "make directory", path));
  WEFT_TRY(const Place place, find(path, "make directory"));
  if (place.inode != 0) return system_error(EEXIST, "make directory", path);
  const std::uint64_t inode = next_inode_++;
  directories_[inode];
  SimOperation operation{.kind = SimOperationKind::make_directory, .path = path, .inode = inode};
  operation.entries.push_back({place.directory, place.name, inode});
  apply_entries(operation);
  record(std::move(operation));
  return {};
}

Result<std::vector<DirectoryEntry>> SimFileSystem::list(const std::string& path) {
  const MutexLock lock(mutex_);
  WEFT_DO(meet(SimCall::list, "list", path));
  WEFT_TRY(const Place place, find_existing(path, "list"));
  if (!is_directory(place.inode)) return system_error(ENOTDIR, "list", path);
  std::vector<DirectoryEntry> entries;
  for (const auto& [name, inode] : directories_.at(place.inode)) {
    entries.push_back({name, is_directory(inode) ? FileKind::directory : FileKind::file});
  }
  return entries;
}

Result<void> SimFileSystem::rename(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  const std::string operation = "rename to " + quoted(to);
  WEFT_DO(meet(SimCall::rename, operation, from));
  WEFT_TRY(const Place source, find_existing(from, operation));
  WEFT_TRY(const Place target, find(to, operation));
  if (source.name.empty() || target.name.empty()) return system_error(EBUSY, operation, from);
  if (source.inode == target.inode) return {};
  const bool moves_directory = is_directory(source.inode);
  if (moves_directory) {
    const auto from_parts = components(from);
    const auto to_parts = components(to);
    const bool into_itself =
        to_parts.size() > from_parts.size() && std::equal(from_parts.begin(), from_parts.end(), to_parts.begin());
    if (into_itself) return system_error(EINVAL, operation, from);
  }
  if (target.inode != 0) {
    const bool replaces_directory = is_directory(target.inode);
    if (moves_directory && !replaces_directory) return system_error(ENOTDIR, operation, from);
    if (!moves_directory && replaces_directory) return system_error(EISDIR, operation, from);
    if (replaces_directory && !directories_.at(target.inode).empty()) return system_error(ENOTEMPTY, operation, from);
  }
  SimOperation rename{.kind = SimOperationKind::rename, .path = from, .to = to, .inode = source.inode};
  rename.entries.push_back({source.directory, source.name, 0});
  rename.entries.push_back({target.directory, target.name, source.inode});
  apply_entries(rename);
  record(std::move(rename));
  if (target.inode != 0) release(target.inode);
  return {};
}

Result<void> SimFileSystem::unlink(const std::string& path) {
  const MutexLock lock(mutex_);
  return remove(path, false);
}

Result<void> SimFileSystem::remove_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  return remove(path, true);
}

Result<void> SimFileSystem::remove(const std::string& path, bool directory) {
  const std::string_view operation = directory ? "remove directory" : "remove";
  WEFT_DO(meet(SimCall::unlink, operation, path));
  WEFT_TRY(const Place place, find_existing(path, operation));
  if (place.name.empty()) return system_error(EBUSY, operation, path);
  if (directory && !is_directory(place.inode)) return system_error(ENOTDIR, operation, path);
  if (!directory && is_directory(place.inode)) return system_error(EISDIR, operation, path);
  if (directory && !directories_.at(place.inode).empty()) return system_error(ENOTEMPTY, operation, path);
  SimOperation removal{.kind = directory ? SimOperationKind::remove_directory : SimOperationKind::unlink,
                       .path = path,
                       .inode = place.inode};
  removal.entries.push_back({place.directory, place.name, 0});
  apply_entries(removal);
  record(std::move(removal));
  release(place.inode);
  return {};
}

Result<void> SimFileSystem::sync_directory(const std::string& path) {
  const MutexLock lock(mutex_);
  WEFT_DO(meet(SimCall::sync_directory, "flush directory", path));
  WEFT_TRY(const Place place, find_existing(path, "open directory"));
  if (!is_directory(place.inode)) return system_error(ENOTDIR, "open directory", path);
  record({.kind = SimOperationKind::sync_directory, .path = path, .inode = place.inode});
  return {};
}

Result<std::uint64_t> SimFileSystem::free_bytes(const std::string& path) {
  const MutexLock lock(mutex_);
  WEFT_DO(meet(SimCall::free_bytes, "read the free space of", path));
  WEFT_DO(find_existing(path, "read the free space of"));
  return free_bytes_ / kBlock * kBlock;
}

// --- helpers, with the mutex held

int SimFileSystem::count_and_fault(SimCall call) {
  ++counts_.calls[static_cast<std::size_t>(call)];
  int errnum = 0;
  for (SimFault& fault : faults_) {
    if ((fault.calls & sim_calls({call})) == 0 || fault.nth == 0) continue;
    if (fault.nth > 1) {
      --fault.nth;
      continue;
    }
    if (!fault.for_good) fault.nth = 0;
    errnum = fault.errnum;
  }
  if (errnum != 0) ++fault_hits_;
  return errnum;
}

Result<void> SimFileSystem::meet(SimCall call, std::string_view operation, std::string_view path) {
  const int errnum = count_and_fault(call);
  if (errnum != 0) return system_error(errnum, operation, path);
  return {};
}

void SimFileSystem::record(SimOperation operation) {
  ++ticks_;
  if (const auto file = files_.find(operation.inode); file != files_.end()) file->second->changed = ticks_;
  operations_.push_back(std::move(operation));
}

bool SimFileSystem::is_directory(std::uint64_t inode) const { return directories_.contains(inode); }

Result<SimFileSystem::Place> SimFileSystem::find(const std::string& path, std::string_view operation) const {
  if (path.empty()) return system_error(ENOENT, operation, path);
  const auto parts = components(path);
  Place place{.directory = kRoot, .name = {}, .inode = kRoot};
  for (const std::string& part : parts) {
    if (place.inode == 0) return system_error(ENOENT, operation, path);
    if (!is_directory(place.inode)) return system_error(ENOTDIR, operation, path);
    const auto& entries = directories_.at(place.inode);
    const auto entry = entries.find(part);
    place = {.directory = place.inode, .name = part, .inode = entry == entries.end() ? 0 : entry->second};
  }
  return place;
}

Result<SimFileSystem::Place> SimFileSystem::find_existing(const std::string& path, std::string_view operation) const {
  WEFT_TRY(Place place, find(path, operation));
  if (place.inode == 0) return system_error(ENOENT, operation, path);
  return place;
}

void SimFileSystem::apply_entries(const SimOperation& operation) {
  for (const auto& entry : operation.entries) {
    auto& entries = directories_.at(entry.directory);
    if (entry.inode == 0) {
      entries.erase(entry.name);
    } else {
      entries[entry.name] = entry.inode;
    }
  }
}

void SimFileSystem::write_bytes(LiveFile& file, std::uint64_t offset, ByteView bytes) {
  Bytes& content = file.writable();
  const bool grows = offset + bytes.size() > content.size();
  if (grows) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
  file.each_mapping([&](SimMapping& mapping) {
    if (grows) mapping.set_file_size(content.size());
    mapping.copy_in(offset, bytes);
  });
}

void SimFileSystem::resize(LiveFile& file, std::uint64_t size) {
  Bytes& content = file.writable();
  content.resize(size);
  const std::size_t blocks = (size + kBlock - 1) / kBlock;
  for (std::size_t i = blocks; i < file.blocks.size(); ++i) free_bytes_ += file.blocks[i] ? kBlock : 0;
  if (file.blocks.size() > blocks) file.blocks.resize(blocks);
  file.each_mapping([&](SimMapping& mapping) { mapping.set_file_size(size); });
}

/// How many of the bytes find room.
std::size_t SimFileSystem::take_space(LiveFile& file, std::uint64_t offset, std::size_t length) {
  const std::uint64_t end = offset + length;
  if (file.blocks.size() * kBlock < end) file.blocks.resize((end + kBlock - 1) / kBlock);
  for (std::uint64_t block = offset / kBlock; block * kBlock < end; ++block) {
    if (file.blocks[block]) continue;
    if (free_bytes_ < kBlock) return block * kBlock > offset ? static_cast<std::size_t>(block * kBlock - offset) : 0;
    free_bytes_ -= kBlock;
    file.blocks[block] = true;
  }
  return length;
}

void SimFileSystem::release(std::uint64_t inode) {
  directories_.erase(inode);
  const auto file = files_.find(inode);
  if (file == files_.end()) return;
  for (const bool taken : file->second->blocks) free_bytes_ += taken ? kBlock : 0;
  file->second->blocks.clear();
  files_.erase(file);
}

void SimFileSystem::set_live(const Image& image) {
  for (const auto& [inode, node] : image) {
    next_inode_ = std::max(next_inode_, inode + 1);
    if (node.directory) {
      directories_[inode] = node.entries;
      continue;
    }
    auto file = std::make_shared<LiveFile>();
    file->inode = inode;
    file->shared = node.content;
    file->blocks.assign((node.content->size() + kBlock - 1) / kBlock, true);
    files_[inode] = std::move(file);
  }
}

// --- the record, faults, costs

std::size_t SimFileSystem::operation_count() const {
  const MutexLock lock(mutex_);
  return operations_.size();
}

SimOperation SimFileSystem::operation(std::size_t i) const {
  const MutexLock lock(mutex_);
  return operations_.at(i);
}

void SimFileSystem::settle() {
  const MutexLock lock(mutex_);
  base_.clear();
  for (const auto& [inode, entries] : directories_) {
    Node& node = base_[inode];
    node.directory = true;
    node.entries = entries;
  }
  for (const auto& [inode, file] : files_) {
    if (!file->shared) {
      file->shared = std::make_shared<Bytes>(std::move(file->own));
      file->own.clear();
    }
    base_[inode].content = file->shared;
  }
  operations_.clear();
}

std::uint64_t SimFileSystem::history_hash() const {
  const MutexLock lock(mutex_);
  Bytes text;
  ByteWriter writer(text);
  for (const SimOperation& operation : operations_) {
    writer.u8(static_cast<std::uint8_t>(operation.kind));
    writer.sized(operation.path);
    writer.sized(operation.to);
    writer.varint(operation.offset);
    writer.varint(operation.size);
    writer.u64(operation.bytes ? xxh3(*operation.bytes) : 0);
    writer.u8(operation.dropped ? 1 : 0);
  }
  return xxh3(text);
}

void SimFileSystem::add_fault(const SimFault& fault) {
  WEFT_CHECK(fault.nth > 0 && fault.errnum > 0);
  const MutexLock lock(mutex_);
  faults_.push_back(fault);
}

void SimFileSystem::clear_faults() {
  const MutexLock lock(mutex_);
  faults_.clear();
}

std::uint64_t SimFileSystem::fault_hits() const {
  const MutexLock lock(mutex_);
  return fault_hits_;
}

void SimFileSystem::set_free_bytes(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  free_bytes_ = bytes;
}

SimCounts SimFileSystem::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void SimFileSystem::reset_counts() {
  const MutexLock lock(mutex_);
  counts_ = {};
}

void SimFileSystem::set_before_sync(std::function<void(const std::string& path)> hook) {
  const MutexLock lock(mutex_);
  before_sync_ = std::move(hook);
}

Bytes SimFileSystem::content(const std::string& path) {
  const MutexLock lock(mutex_);
  const auto place = find_existing(path, "open");
  WEFT_CHECK(place.has_value() && !is_directory(place->inode));
  return Bytes(files_.at(place->inode)->view());
}

void SimFileSystem::damage(const std::string& path, std::uint64_t offset, ByteView bytes) {
  {
    const MutexLock lock(mutex_);
    const auto place = find_existing(path, "open");
    WEFT_CHECK(place.has_value() && !is_directory(place->inode));
    write_bytes(*files_.at(place->inode), offset, bytes);
  }
  settle();
}

std::string describe(const SimOperation& operation) {
  std::string text;
  switch (operation.kind) {
    case SimOperationKind::write:
      text = "write";
      break;
    case SimOperationKind::set_size:
      text = "set size of";
      break;
    case SimOperationKind::sync:
      text = operation.dropped ? "failed sync of" : "sync";
      break;
    case SimOperationKind::create:
      text = "create";
      break;
    case SimOperationKind::make_directory:
      text = "make directory";
      break;
    case SimOperationKind::rename:
      text = "rename";
      break;
    case SimOperationKind::unlink:
      text = "unlink";
      break;
    case SimOperationKind::remove_directory:
      text = "remove directory";
      break;
    case SimOperationKind::sync_directory:
      text = "sync directory";
      break;
  }
  text += ' ' + quoted(operation.path);
  if (operation.kind == SimOperationKind::rename) text += " to " + quoted(operation.to);
  if (operation.kind == SimOperationKind::set_size) text += " to " + std::to_string(operation.size);
  if (operation.bytes) {
    text += " at " + std::to_string(operation.offset) + ", " + std::to_string(operation.bytes->size()) + " bytes";
  }
  return text;
}

}  // namespace weft
