#include "base/shared_control.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <mutex>

#include "base/host_dir.h"
#include "base/posix_calls.h"

namespace weft {
namespace {

constexpr char kMagic[8] = {'W', 'E', 'F', 'T', 'C', 'T', 'L', '1'};
constexpr std::size_t kBootIdLength = 36;

/// Slot word: generation in the upper half (odd while held), process id in the lower.
using SlotWord = std::atomic<std::uint64_t>;

struct Header {
  char magic[8];
  std::uint32_t layout;
  std::atomic<std::uint32_t> ready;
  char boot_id[40];
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t size;
  std::atomic<std::uint32_t> next_slot;
};
constexpr std::size_t kSlotsOffset = 4096;
constexpr std::size_t kBaseOffset = kSlotsOffset + SharedControl::kMaxSlots * sizeof(SlotWord);
static_assert(sizeof(Header) <= kSlotsOffset);
static_assert(kBaseOffset % 4096 == 0);

// Lock bytes lie far behind the content, so that no lock ever covers data.
constexpr off_t kCreateByte = off_t{1} << 40;
constexpr off_t kSlotByte = kCreateByte + 1;
/// Of the presence file (SC4).
constexpr off_t kPresenceByte = kCreateByte;

constexpr std::uint32_t kGenerationBits = 18;
constexpr std::uint32_t kGenerationMask = (1u << kGenerationBits) - 1;

OwnerToken make_token(std::uint32_t slot, std::uint32_t generation) {
  return ((slot + 1) << (kGenerationBits + 1)) | ((generation & kGenerationMask) << 1);
}
std::uint32_t slot_of(OwnerToken token) { return (token >> (kGenerationBits + 1)) - 1; }
std::uint32_t generation_of(OwnerToken token) { return (token >> 1) & kGenerationMask; }

int lock_call(int fd, int command, short type, off_t start, off_t length) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = start;
  lock.l_len = length;
  int result = 0;
  do {
    result = fcntl(fd, command, &lock);
  } while (result != 0 && errno == EINTR && command == F_OFD_SETLKW);
  if (command == F_OFD_GETLK && result == 0) return lock.l_type == F_UNLCK ? 0 : 1;
  return result;
}

Result<void> read_boot_id(char (&out)[40]) {
  std::memset(out, 0, sizeof(out));
  const char* path = "/proc/sys/kernel/random/boot_id";
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error(errno, "open", path);
  const ssize_t length = read(fd, out, kBootIdLength);
  const int error = errno;
  close(fd);
  if (length != static_cast<ssize_t>(kBootIdLength)) return system_error(length < 0 ? error : EIO, "read", path);
  return {};
}

class MappedControl final : public SharedControl {
 public:
  MappedControl(int fd, std::byte* memory, std::size_t total, const SharedControlOptions& options)
      : fd_(fd), memory_(memory), total_(total), path_(options.path), presence_path_(options.presence) {
    base_ = memory_ + kBaseOffset;
    size_ = total_ - kBaseOffset;
  }
  ~MappedControl() override {
    if (token_ != 0 && process_ == getpid()) {
      SlotWord& word = slots()[slot_of(token_)];
      // Even generation: free for the next one without asking the kernel. The lock goes with the descriptor.
      const std::uint64_t value = word.load();
      word.store(((value >> 32) + 1) << 32);
    }
    munmap(memory_, total_);
    close(fd_);
    if (presence_ >= 0) close(presence_);
  }

  void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) override {
    futex_wait(word, expected, timeout_ns);
  }
  void wake(Word& word, int count) override { futex_wake(word, count); }

  Result<void> ensure_allocated(std::size_t offset, std::size_t length) override {
    WEFT_CHECK(offset + length <= size_);
    int error = 0;
    do {
      error = posix_fallocate(fd_, static_cast<off_t>(kBaseOffset + offset), static_cast<off_t>(length));
    } while (error == EINTR);
    if (error != 0) return system_error(error, "make room in", path_);
    return {};
  }

  void prefault(std::size_t offset, std::size_t length) override {
    WEFT_CHECK(offset % 4096 == 0 && offset + length <= size_);
    (void)madvise(base_ + offset, length, MADV_POPULATE_WRITE);
  }

  Result<OwnerToken> token() override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (token_ != 0 && process_ == getpid()) return token_;
    if (token_ != 0) WEFT_DO(leave_parent());
    WEFT_DO(be_present());
    const std::uint32_t start = header()->next_slot.fetch_add(1, std::memory_order_relaxed);
    // First pass: slots that were given back. Second: slots whose holder died without a word.
    for (const bool also_dead : {false, true}) {
      for (std::uint32_t i = 0; i < kMaxSlots; ++i) {
        const std::uint32_t slot = (start + i) % kMaxSlots;
        SlotWord& word = slots()[slot];
        std::uint64_t value = word.load();
        const bool held = ((value >> 32) & 1) != 0;
        if (held && !also_dead) continue;
        // The lock decides; the word only says where to look first.
        if (lock_call(fd_, F_OFD_SETLK, F_WRLCK, kSlotByte + slot, 1) != 0) continue;
        // From here on nobody can retire this block. If somebody has (nothing held them off while we only had it
        // mapped), what it says of the log is no longer true: writing by it would overwrite what others have recorded
        // since.
        if (!current()) {
          lock_call(fd_, F_OFD_SETLK, F_UNLCK, kSlotByte + slot, 1);
          return no_longer_here();
        }
        value = word.load();
        std::uint64_t generation = (value >> 32) + 1;
        if ((generation & 1) == 0) ++generation;
        word.store((generation << 32) | static_cast<std::uint32_t>(getpid()));
        token_ = make_token(slot, static_cast<std::uint32_t>(generation));
        process_ = getpid();
        return token_;
      }
    }
    return make_error(Code::busy, "all " + std::to_string(kMaxSlots) + " process slots of this store are taken",
                      "wait for other weft processes to end, then try again");
  }

  bool alive(OwnerToken token) override {
    if (token == 0) return false;
    const std::uint32_t slot = slot_of(token);
    if (slot >= kMaxSlots) return false;
    if (token == token_) return true;
    const std::uint64_t value = slots()[slot].load();
    if ((static_cast<std::uint32_t>(value >> 32) & kGenerationMask) != generation_of(token)) return false;
    return lock_call(fd_, F_OFD_GETLK, F_WRLCK, kSlotByte + slot, 1) == 1;
  }

  std::uint32_t process_of(OwnerToken token) override {
    if (token == 0 || slot_of(token) >= kMaxSlots) return 0;
    return static_cast<std::uint32_t>(slots()[slot_of(token)].load());
  }

  bool current() const override {
    struct stat mine{};
    struct stat named{};
    return fstat(fd_, &mine) == 0 && stat(path_.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
  }

  Header* header() const { return reinterpret_cast<Header*>(memory_); }

 private:
  static Error no_longer_here() {
    return make_error(Code::busy,
                      "the store was repaired, moved, or opened by another version of weft since this began",
                      "run the command again");
  }
  /// A forked child shares its parent's locks: it opens files of its own and lets go of the others.
  Result<void> leave_parent() {
    const int own = open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (own < 0) return errno == ENOENT ? no_longer_here() : system_error(errno, "open", path_);
    struct stat mine{};
    struct stat named{};
    if (fstat(fd_, &mine) != 0 || fstat(own, &named) != 0 || mine.st_ino != named.st_ino ||
        mine.st_dev != named.st_dev) {
      close(own);
      return no_longer_here();
    }
    close(std::exchange(fd_, own));
    if (presence_ >= 0) close(std::exchange(presence_, -1));
    token_ = 0;
    return {};
  }
  /// SC4. Waits for whoever makes a block at this moment: then this one is no longer current.
  Result<void> be_present() {
    if (presence_ >= 0 || presence_path_.empty()) return {};
    presence_ = open(presence_path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (presence_ < 0) return errno == ENOENT ? no_longer_here() : system_error(errno, "open", presence_path_);
    if (lock_call(presence_, F_OFD_SETLKW, F_RDLCK, kPresenceByte, 1) != 0) {
      const int error = errno;
      close(std::exchange(presence_, -1));
      return system_error(error, "lock", presence_path_);
    }
    return {};
  }
  SlotWord* slots() const { return reinterpret_cast<SlotWord*>(memory_ + kSlotsOffset); }

  int fd_;
  std::byte* memory_;
  std::size_t total_;
  std::string path_;
  std::string presence_path_;
  std::mutex mutex_;
  int presence_ = -1;
  pid_t process_ = 0;  // whose token_ is
  OwnerToken token_ = 0;
};

struct OpenFile {
  int fd = -1;
  struct stat status{};
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

Result<void> open_file(const std::string& path, int flags, OpenFile& file) {
  file.fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
  if (file.fd < 0) return system_error(errno, "open", path);
  if ((flags & O_CREAT) != 0) fit_into_directory(file.fd, path);
  if (fstat(file.fd, &file.status) != 0) return system_error(errno, "stat", path);
  return {};
}

/// SC4: nobody goes by a block that was deleted, and nobody can begin to while `file` is open.
Result<void> be_alone(const std::string& presence, OpenFile& file) {
  if (presence.empty()) return {};
  WEFT_DO(open_file(presence, 0, file));
  if (lock_call(file.fd, F_OFD_SETLK, F_WRLCK, kPresenceByte, 1) == 0) return {};
  if (errno != EAGAIN && errno != EACCES) return system_error(errno, "lock", presence);
  return make_error(Code::busy,
                    "the store's control block is gone or no longer fits, and other processes still work by the one "
                    "they have",
                    "wait for them to end, then try again; `weft doctor` lists them");
}

Result<std::unique_ptr<MappedControl>> map_file(OpenFile& file, const SharedControlOptions& options) {
  const std::size_t total = kBaseOffset + options.size;
  void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
  if (memory == MAP_FAILED) return system_error(errno, "map", options.path);
  return std::make_unique<MappedControl>(std::exchange(file.fd, -1), static_cast<std::byte*>(memory), total, options);
}

bool usable(const Header& header, const OpenFile& file, const SharedControlOptions& options,
            const char (&boot_id)[40]) {
  return std::memcmp(header.magic, kMagic, sizeof(kMagic)) == 0 && header.layout == options.layout &&
         header.size == options.size && std::memcmp(header.boot_id, boot_id, sizeof(boot_id)) == 0 &&
         header.device == file.status.st_dev && header.inode == file.status.st_ino && header.ready.load() == 1;
}

}  // namespace

void futex_wait(SharedControl::Word& word, std::uint32_t expected, std::int64_t timeout_ns) {
  struct timespec timeout{};
  timeout.tv_sec = timeout_ns / 1'000'000'000;
  timeout.tv_nsec = timeout_ns % 1'000'000'000;
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake(SharedControl::Word& word, int count) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, count, nullptr, nullptr, 0);
}

Result<void> retire_mapped_control(const std::string& path, const std::string& presence) {
  OpenFile file;
  if (auto opened = open_file(path, 0, file); !opened) {
    if (opened.error().code == Code::not_found) return {};
    return opened;
  }
  if (lock_call(file.fd, F_OFD_SETLKW, F_WRLCK, kCreateByte, 1) != 0) return system_error(errno, "lock", path);
  if (lock_call(file.fd, F_OFD_SETLK, F_WRLCK, kSlotByte, static_cast<off_t>(SharedControl::kMaxSlots)) != 0) {
    return make_error(Code::busy, "other processes have the store open (" + path + ")",
                      "wait for them to end, then try again");
  }
  OpenFile alone;
  WEFT_DO(be_alone(presence, alone));
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return system_error(errno, "remove", path);
  return {};
}

Result<std::unique_ptr<SharedControl>> open_mapped_control(const SharedControlOptions& options) {
  char boot_id[40];
  WEFT_DO(read_boot_id(boot_id));
  const std::size_t total = kBaseOffset + options.size;

  // Each round either attaches, creates, or finds that somebody else replaced the file meanwhile.
  constexpr int kMaxRounds = 100;
  for (int round = 0; round < kMaxRounds; ++round) {
    OpenFile file;
    WEFT_DO(open_file(options.path, O_CREAT, file));
    const auto whole = [&] { return static_cast<std::uint64_t>(file.status.st_size) == total; };
    if (whole()) {
      const struct stat status = file.status;
      WEFT_TRY(auto control, map_file(file, options));
      OpenFile known;
      known.status = status;
      if (usable(*control->header(), known, options, boot_id))
        return std::unique_ptr<SharedControl>(std::move(control));
      WEFT_DO(open_file(options.path, O_CREAT, file));
    }
    // Not usable as it stands: whoever holds this lock may replace the file; the others wait here.
    if (lock_call(file.fd, F_OFD_SETLKW, F_WRLCK, kCreateByte, 1) != 0)
      return system_error(errno, "lock", options.path);
    struct stat now{};
    if (stat(options.path.c_str(), &now) != 0 || now.st_ino != file.status.st_ino || now.st_dev != file.status.st_dev)
      continue;
    if (fstat(file.fd, &file.status) != 0) return system_error(errno, "stat", options.path);
    if (whole()) {  // somebody may have finished it while we waited
      OpenFile again;
      WEFT_DO(open_file(options.path, 0, again));
      const struct stat status = again.status;
      WEFT_TRY(auto control, map_file(again, options));
      OpenFile known;
      known.status = status;
      if (usable(*control->header(), known, options, boot_id))
        return std::unique_ptr<SharedControl>(std::move(control));
    }
    if (lock_call(file.fd, F_OFD_SETLK, F_WRLCK, kSlotByte, static_cast<off_t>(SharedControl::kMaxSlots)) != 0) {
      return make_error(Code::busy,
                        "the store's control block " + options.path + " is in use by another version of weft",
                        "wait for those processes to end, then try again");
    }
    OpenFile alone;
    WEFT_DO(be_alone(options.presence, alone));
    // A new file, not the old one emptied: somebody may still have the old one mapped, and cutting it would kill them.
    const std::string fresh_path = options.path + ".new";
    unlink(fresh_path.c_str());
    OpenFile fresh;
    WEFT_DO(open_file(fresh_path, O_CREAT | O_EXCL, fresh));
    int error = ftruncate(fresh.fd, static_cast<off_t>(total)) != 0 ? errno : 0;
    if (error == 0) error = posix_fallocate(fresh.fd, 0, static_cast<off_t>(kBaseOffset));
    if (error != 0) {
      unlink(fresh_path.c_str());
      return system_error(error, "make room in", fresh_path);
    }
    const struct stat status = fresh.status;
    WEFT_TRY(auto control, map_file(fresh, options));
    if (auto filled = options.initialise(*control); !filled) {
      unlink(fresh_path.c_str());
      return std::move(filled).error();
    }
    Header* header = control->header();
    std::memcpy(header->magic, kMagic, sizeof(kMagic));
    header->layout = options.layout;
    std::memcpy(header->boot_id, boot_id, sizeof(boot_id));
    header->device = status.st_dev;
    header->inode = status.st_ino;
    header->size = options.size;
    header->ready.store(1);
    if (rename(fresh_path.c_str(), options.path.c_str()) != 0) return system_error(errno, "rename to", options.path);
    return std::unique_ptr<SharedControl>(std::move(control));
  }
  return make_error(Code::busy, "the store's control block " + options.path + " keeps being replaced", "try again");
}

Result<ControlLook> look_at_mapped_control(const std::string& path, std::size_t base_bytes) {
  char boot_id[40];
  WEFT_DO(read_boot_id(boot_id));
  const Fd fd(retry_eintr([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
  if (!fd) return system_error(errno, "open", path);
  struct stat status{};
  if (fstat(fd.get(), &status) != 0) return system_error(errno, "stat", path);
  ControlLook look;
  look.file_bytes = static_cast<std::uint64_t>(status.st_size);
  const auto read_all = [&](off_t offset, Bytes& out) -> Result<bool> {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = retry_eintr(
          [&] { return pread(fd.get(), out.data() + done, out.size() - done, offset + static_cast<off_t>(done)); });
      if (got < 0) return system_error(errno, "read", path);
      if (got == 0) return false;
      done += static_cast<std::size_t>(got);
    }
    return true;
  };
  Bytes head(kBaseOffset, '\0');
  WEFT_TRY(const bool has_head, read_all(0, head));
  if (!has_head) return look;
  const auto number = [&](std::size_t offset, auto& out) { std::memcpy(&out, head.data() + offset, sizeof(out)); };
  std::uint32_t ready = 0;
  std::uint64_t device = 0, inode = 0, size = 0;
  number(offsetof(Header, layout), look.layout);
  number(offsetof(Header, ready), ready);
  number(offsetof(Header, device), device);
  number(offsetof(Header, inode), inode);
  number(offsetof(Header, size), size);
  look.whole =
      std::memcmp(head.data(), kMagic, sizeof(kMagic)) == 0 && ready == 1 && look.file_bytes == kBaseOffset + size;
  look.of_this_boot = std::memcmp(head.data() + offsetof(Header, boot_id), boot_id, sizeof(boot_id)) == 0;
  look.of_this_file = device == status.st_dev && inode == status.st_ino;
  if (!look.whole) return look;
  for (std::uint32_t slot = 0; slot < SharedControl::kMaxSlots; ++slot) {
    std::uint64_t value = 0;
    number(kSlotsOffset + slot * sizeof(SlotWord), value);
    if (((value >> 32) & 1) == 0) continue;
    const bool alive = lock_call(fd.get(), F_OFD_GETLK, F_WRLCK, kSlotByte + slot, 1) == 1;
    look.holders.push_back(
        {make_token(slot, static_cast<std::uint32_t>(value >> 32)), static_cast<std::uint32_t>(value), alive});
  }
  look.base.resize(std::min<std::uint64_t>(base_bytes, size), '\0');
  WEFT_TRY(const bool has_base, read_all(static_cast<off_t>(kBaseOffset), look.base));
  if (!has_base) look.base.clear();
  return look;
}

}  // namespace weft
