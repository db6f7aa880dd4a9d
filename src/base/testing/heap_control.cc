#include "base/testing/heap_control.h"

#include <sys/mman.h>

#include <atomic>
#include <exception>

namespace weft {
namespace {

/// A process's way to the disk: each call that changes something is a point at which it may die, and after its death it
/// reaches nothing.
class ProcessFile final : public File {
 public:
  ProcessFile(std::unique_ptr<File> inner, SimProcess& process) : inner_(std::move(inner)), process_(process) {}

  Result<void> read_at(std::uint64_t offset, std::span<char> out) const override {
    WEFT_DO(alive());
    return inner_->read_at(offset, out);
  }
  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    WEFT_DO(alive());
    return inner_->read_some_at(offset, out);
  }
  Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) override {
    WEFT_DO(alive());
    try {
      process_.point("fs:write");
    } catch (const Killed&) {
      // A write cut short by a signal: its first half is there.
      Bytes half;
      for (const ByteView part : parts) half += part;
      half.resize(half.size() / 2);
      (void)inner_->write_at(offset, ByteView(half));
      throw;
    }
    WEFT_DO(inner_->write_at(offset, parts));
    process_.point("fs:written");
    return {};
  }
  using File::write_at;
  Result<void> sync() override {
    WEFT_DO(alive());
    process_.point("fs:sync");
    WEFT_DO(inner_->sync());
    process_.point("fs:synced");
    return {};
  }
  Result<std::uint64_t> size() const override {
    WEFT_DO(alive());
    return inner_->size();
  }
  Result<void> set_size(std::uint64_t size) override {
    WEFT_DO(alive());
    process_.point("fs:set-size");
    return inner_->set_size(size);
  }
  Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const override {
    WEFT_DO(alive());
    return inner_->map(length);
  }

 private:
  Result<void> alive() const {
    if (process_.killed()) return make_error(Code::interrupted, "this process was killed");
    return {};
  }
  std::unique_ptr<File> inner_;
  SimProcess& process_;
};

class ProcessFileSystem final : public FileSystem {
 public:
  ProcessFileSystem(FileSystem& inner, SimProcess& process) : inner_(inner), process_(process) {}

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    WEFT_DO(meet(mode == OpenMode::read || mode == OpenMode::write ? nullptr : "fs:create"));
    WEFT_TRY(auto file, inner_.open(path, mode));
    return std::unique_ptr<File>(std::make_unique<ProcessFile>(std::move(file), process_));
  }
  Result<FileStatus> status(const std::string& path) override {
    WEFT_DO(meet(nullptr));
    return inner_.status(path);
  }
  Result<void> make_directory(const std::string& path) override {
    WEFT_DO(meet("fs:make-directory"));
    return inner_.make_directory(path);
  }
  Result<std::vector<DirectoryEntry>> list(const std::string& path) override {
    WEFT_DO(meet(nullptr));
    return inner_.list(path);
  }
  Result<void> rename(const std::string& from, const std::string& to) override {
    WEFT_DO(meet("fs:rename"));
    WEFT_DO(inner_.rename(from, to));
    process_.point("fs:renamed");
    return {};
  }
  Result<void> unlink(const std::string& path) override {
    WEFT_DO(meet(nullptr));
    // Destructors remove their temporary files: nobody can die here by an exception.
    process_.pass("fs:unlink");
    return inner_.unlink(path);
  }
  Result<void> remove_directory(const std::string& path) override {
    WEFT_DO(meet("fs:remove-directory"));
    return inner_.remove_directory(path);
  }
  Result<void> sync_directory(const std::string& path) override {
    WEFT_DO(meet("fs:sync-directory"));
    return inner_.sync_directory(path);
  }
  Result<std::uint64_t> free_bytes(const std::string& path) override {
    WEFT_DO(meet(nullptr));
    return inner_.free_bytes(path);
  }

 private:
  Result<void> meet(const char* point) {
    if (process_.killed()) return make_error(Code::interrupted, "this process was killed");
    if (point != nullptr) process_.point(point);
    return {};
  }
  FileSystem& inner_;
  SimProcess& process_;
};

}  // namespace

/// Zeros until written, as the pages of a new file are.
struct HeapBlock::Memory {
  Memory(std::size_t bytes, std::uint32_t version) : size(bytes), layout(version) {
    void* const address =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    WEFT_CHECK(address != MAP_FAILED);
    base = static_cast<std::byte*>(address);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(base, size); }
  std::byte* base = nullptr;
  std::size_t size;
  std::uint32_t layout;
};

class HeapControl final : public SharedControl {
 public:
  HeapControl(HeapBlock& block, SimProcess& process, std::shared_ptr<HeapBlock::Memory> memory)
      : block_(block), process_(process), memory_(std::move(memory)) {
    base_ = memory_->base;
    size_ = memory_->size;
  }

  void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) override {
    if (process_.killed()) return;
    if (block_.scheduler_ != nullptr && block_.scheduler_->inside()) {
      block_.scheduler_->wait(word, expected, timeout_ns);
    } else if (word.load() == expected) {
      block_.clock_.advance(timeout_ns);  // nobody else is there to wake us
    }
  }
  void wake(Word& word, int count) override {
    if (!process_.killed() && block_.scheduler_ != nullptr) block_.scheduler_->wake(word, count);
  }
  Result<void> ensure_allocated(std::size_t offset, std::size_t length) override {
    WEFT_CHECK(offset + length <= size_);
    return {};
  }
  Result<OwnerToken> token() override {
    if (!life_) {
      life_ = std::make_shared<const HeapBlock::Life>(process_.killed_);
      token_ = block_.next_token_;
      block_.next_token_ += 2;
      block_.lives_[token_] = life_;
    }
    return token_;
  }
  bool alive(OwnerToken token) override { return block_.alive(token); }
  std::uint32_t process_of(OwnerToken) override { return 0; }
  void point(const char* name) override { process_.point(name); }
  bool killed() const override { return process_.killed(); }

 private:
  HeapBlock& block_;
  SimProcess& process_;
  std::shared_ptr<HeapBlock::Memory> memory_;
  std::shared_ptr<const HeapBlock::Life> life_;
  OwnerToken token_ = 0;
};

bool HeapBlock::alive(OwnerToken token) const {
  const auto found = lives_.find(token);
  if (found == lives_.end()) return false;
  const auto life = found->second.lock();
  return life && !*life->killed;
}

void HeapBlock::count(std::string_view name) { ++points_[std::string(name)]; }

SimProcess::SimProcess(HeapBlock& block, FileSystem& disk, std::uint32_t number)
    : block_(block), number_(number), fs_(std::make_unique<ProcessFileSystem>(disk, *this)) {}
SimProcess::~SimProcess() = default;

void SimProcess::point(const char* name) {
  // While an exception is on its way, destructors may pass here: neither die twice nor switch.
  if (*killed_ || std::uncaught_exceptions() > 0) return;
  block_.count(name);
  if (at_point) at_point(name);
  if (dies_at && dies_at(name)) {
    *killed_ = true;
    throw Killed{};
  }
  if (block_.scheduler_ != nullptr) block_.scheduler_->maybe_switch(name);
}

void SimProcess::pass(const char* name) {
  if (*killed_ || std::uncaught_exceptions() > 0) return;
  block_.count(name);
  if (block_.scheduler_ != nullptr) block_.scheduler_->maybe_switch(name);
}

Result<std::unique_ptr<SharedControl>> SimProcess::open_control(const SharedControlOptions& options) {
  auto& memory = block_.memory_;
  constexpr std::int64_t kLookAgainNs = 100'000;
  std::atomic<std::uint32_t> nobody_wakes_us = 0;
  while (block_.initialising_) {
    WEFT_CHECK(block_.scheduler_ != nullptr && block_.scheduler_->inside());
    block_.scheduler_->wait(nobody_wakes_us, 0, kLookAgainNs);
  }
  if (memory && (memory->size != options.size || memory->layout != options.layout)) memory.reset();
  if (memory) return std::unique_ptr<SharedControl>(std::make_unique<HeapControl>(block_, *this, memory));
  auto fresh = std::make_shared<HeapBlock::Memory>(options.size, options.layout);
  auto control = std::make_unique<HeapControl>(block_, *this, fresh);
  struct Alone {
    explicit Alone(bool& flag) : flag_(flag) { flag_ = true; }
    ~Alone() { flag_ = false; }
    bool& flag_;
  } const alone(block_.initialising_);
  WEFT_DO(options.initialise(*control));
  WEFT_CHECK(!memory);
  memory = fresh;
  return std::unique_ptr<SharedControl>(std::move(control));
}

Result<void> SimProcess::retire_control() {
  for (const auto& [token, life] : block_.lives_) {
    if (block_.alive(token)) return make_error(Code::busy, "other processes have the store open");
  }
  block_.reboot();
  return {};
}

}  // namespace weft
