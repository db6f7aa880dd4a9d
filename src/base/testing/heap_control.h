// HeapControl: a SharedControl on the heap. Several "processes" of one test share a HeapBlock; each can be killed at
// any named point of the protocols or at any call of its file system, without a real process.
//
// Invariants:
//   HC1  A process killed does nothing more: not to the block, not to the file system. Its tokens are dead from then
//   on. HC2  The block is made once, by the first to open it; reboot() drops it, as power loss does. Whoever still has
//   the old
//        one open keeps that.
// A process dies by the exception Killed thrown out of a point. Catch it where the process begins; nothing else may.
// Without a scheduler there is one process at a time, and waiting moves the clock.
// Threading: one thread (flows of a SimScheduler count as one).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/shared_control.h"
#include "base/testing/fake_env.h"
#include "base/testing/sim_scheduler.h"

namespace weft {

struct Killed {};

class HeapBlock {
 public:
  explicit HeapBlock(FakeClock& clock, SimScheduler* scheduler = nullptr) : clock_(clock), scheduler_(scheduler) {}

  /// Power loss: the next to open begins with a new block.
  void reboot() { memory_.reset(); }
  bool exists() const { return memory_ != nullptr; }
  /// Somebody is making the block right now; others wait for that.
  bool initialising() const { return initialising_; }

  /// How often each point was passed, by any process.
  const std::map<std::string, std::uint64_t, std::less<>>& points() const { return points_; }
  /// For paths that show in no point of their own.
  void count(std::string_view name);

 private:
  friend class SimProcess;
  friend class HeapControl;
  struct Memory;
  bool alive(OwnerToken token) const;
  FakeClock& clock_;
  SimScheduler* scheduler_;
  std::shared_ptr<Memory> memory_;
  bool initialising_ = false;
  std::map<std::string, std::uint64_t, std::less<>> points_;
  /// Goes with the control that holds the token; a token is also dead when its process was killed.
  struct Life {
    std::shared_ptr<const bool> killed;
  };
  std::map<OwnerToken, std::weak_ptr<const Life>> lives_;
  OwnerToken next_token_ = 2;
};

/// One process of a test: opens stores on the block with its hooks, and meets the disk through its file system.
class SimProcess {
 public:
  SimProcess(HeapBlock& block, FileSystem& disk, std::uint32_t number = 1);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  /// Asked at every point; true kills there.
  std::function<bool(const char* name)> dies_at;
  /// Called at every point, before dies_at.
  std::function<void(const char* name)> at_point;

  void point(const char* name);
  /// A point at which nobody dies.
  void pass(const char* name);
  bool killed() const { return *killed_; }
  std::uint32_t number() const { return number_; }
  FileSystem& fs() { return *fs_; }

  Result<std::unique_ptr<SharedControl>> open_control(const SharedControlOptions& options);
  /// What retire_mapped_control does.
  Result<void> retire_control();

 private:
  friend class HeapControl;
  HeapBlock& block_;
  std::uint32_t number_;
  std::shared_ptr<bool> killed_ = std::make_shared<bool>(false);
  std::unique_ptr<FileSystem> fs_;
};

}  // namespace weft
