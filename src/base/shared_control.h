// SharedControl: a block of memory shared by every process that has a store open, with futexes on its words and a way
// to know which of those processes are still alive. It is a cache of the log's state, never truth: losing it loses
// nothing.
//
// Invariants:
//   SC1  A new block is zeros; `initialise` fills it under a lock that nobody else passes; only then others see it.
//   SC2  A block of another boot, of another file (a copied store) or of another layout is never used: a new file
//   replaces it. SC3  A process that takes a slot holds a lock of its own open file description (OFD) on the slot's
//   byte until it dies.
//        An owner token (slot and generation) is alive only while that lock is held and the generation is current:
//        thread ids and robust futex lists mean nothing across PID namespaces.
//   SC4  A process with a slot also holds a shared lock on the presence file, whoever makes a new block an exclusive
//   one:
//        a block that was deleted is still believed by those who have it, and nobody else may go by another one while
//        they live. A fork does not inherit a slot: the child takes one of its own.
//   SC5  Pages are touched only after ensure_allocated(): a hole in a full file system would be a SIGBUS.
// Threading: any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace weft {

/// Names one holder of a slot: slot number + 1 in the upper bits, generation in the lower; 0 is nobody. Bit 0 is always
/// clear: mutex words use it (log/shared_mutex.h).
using OwnerToken = std::uint32_t;

class SharedControl {
 public:
  using Word = std::atomic<std::uint32_t>;
  static constexpr std::size_t kMaxSlots = 4096;

  virtual ~SharedControl() = default;

  /// The memory behind the block's own header.
  std::byte* base() const { return base_; }
  std::size_t size() const { return size_; }

  /// Returns when woken, when `word` no longer holds `expected`, after `timeout_ns`, or for no reason.
  virtual void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) = 0;
  virtual void wake(Word& word, int count) = 0;
  /// Makes [offset, offset + length) of base() safe to touch (SC5). Cheap when it already is.
  virtual Result<void> ensure_allocated(std::size_t offset, std::size_t length) = 0;

  /// Maps [offset, offset + length) into this process now instead of a fault at a time. A hint; only what is allocated.
  virtual void prefault(std::size_t offset, std::size_t length) { (void)offset, (void)length; }

  /// This process's token, taking a slot at the first call. Code::busy when all slots are taken.
  virtual Result<OwnerToken> token() = 0;
  virtual bool alive(OwnerToken token) = 0;
  /// For messages; 0 when unknown.
  virtual std::uint32_t process_of(OwnerToken token) = 0;
  /// Whether the block still lies where it was opened: the store may have been moved or removed since.
  virtual bool current() const { return true; }
  /// False: it is this process's own (private_control.h), made where nothing may be written.
  virtual bool is_shared() const { return true; }

  /// A named place in the protocols built on this block. Tests use it to kill or to interleave; the real one does
  /// nothing.
  virtual void point(const char* name) { (void)name; }
  /// True once a test's point() has "killed" this user of the block: unlocking and waking become no-ops, as for a dead
  /// process.
  virtual bool killed() const { return false; }

 protected:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

struct SharedControlOptions {
  std::string path;
  std::string presence{};    ///< a file that lives as long as the store does (SC4)
  std::size_t size = 0;      ///< of base()
  std::uint32_t layout = 0;  ///< version of what lies in base()
  /// Fills a new block. Runs in one process at a time.
  std::function<Result<void>(SharedControl&)> initialise;
};

/// The real one: an mmap'ed file inside the store, and futexes.
Result<std::unique_ptr<SharedControl>> open_mapped_control(const SharedControlOptions& options);

/// Removes the file so that the next opener makes a new block. Code::busy while a process holds a slot.
Result<void> retire_mapped_control(const std::string& path, const std::string& presence = {});

/// What can be said of a control block without taking part in it: nothing is made, mapped or locked.
struct ControlLook {
  std::uint64_t file_bytes = 0;
  bool whole = false;         ///< it is one, complete
  std::uint32_t layout = 0;   ///< which (when whole)
  bool of_this_boot = false;  ///< made since the machine started
  bool of_this_file = false;  ///< not the copy of another
  struct Holder {
    OwnerToken token = 0;
    std::uint32_t process = 0;  ///< as it named itself: in a container of its own that number means another one here
    bool alive = false;
  };
  std::vector<Holder> holders;  ///< of slots; those that are not alive died without giving theirs back
  Bytes base;                   ///< the first bytes of base()
};
/// not_found: there is none.
Result<ControlLook> look_at_mapped_control(const std::string& path, std::size_t base_bytes);

/// futex(2) on any memory; shared between processes when it is.
void futex_wait(SharedControl::Word& word, std::uint32_t expected, std::int64_t timeout_ns);
void futex_wake(SharedControl::Word& word, int count);

}  // namespace weft
