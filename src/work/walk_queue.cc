// What walkers share: the directories waiting, the rules that hold around them, and what is put together at the end.
#include <algorithm>
#include <chrono>
#include <iterator>

#include "work/walk.h"

namespace weft::work {
namespace {

constexpr auto kIdleInterval = std::chrono::milliseconds(100);

template <typename T>
void append_all(std::vector<T>& out, std::vector<T> more) {
  if (out.empty()) {
    out = std::move(more);
  } else {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
}

}  // namespace

// ---- Exclusion

Exclusion::Pointer Exclusion::of(Pointer above, std::string path, IgnoreLevel::Pointer rules) {
  auto made = std::make_shared<Exclusion>();
  made->above_ = std::move(above);
  made->path_ = std::move(path);
  made->rules_ = std::move(rules);
  return made;
}

bool Exclusion::holds(const Pointer& exclusion) {
  // Up to what is known, then down again: trees may be deeper than a stack. Two threads may both find out the same.
  std::vector<const Exclusion*> unknown;
  bool holds = false;
  for (const Exclusion* at = exclusion.get(); at != nullptr; at = at->above_.get()) {
    const int known = at->known_.load(std::memory_order_relaxed);
    if (known >= 0) {
      holds = known != 0;
      break;
    }
    unknown.push_back(at);
  }
  for (auto at = unknown.rbegin(); at != unknown.rend(); ++at) {
    holds = holds || (*at)->rules_->ignores((*at)->path_, true);
    (*at)->known_.store(holds ? 1 : 0, std::memory_order_relaxed);
  }
  return holds;
}

// ---- WalkOutput

void WalkOutput::append(WalkOutput other) {
  append_all(observations, std::move(other.observations));
  append_all(oversized, std::move(other.oversized));
  append_all(ignored, std::move(other.ignored));
  append_all(warnings, std::move(other.warnings));
  append_all(notes.puts, std::move(other.notes.puts));
  append_all(notes.amended, std::move(other.notes.amended));
  append_all(notes.dropped, std::move(other.notes.dropped));
  append_all(notes.claims, std::move(other.notes.claims));
  files_seen += other.files_seen;
  files_read += other.files_read;
}

// ---- WalkQueue

void WalkQueue::start(Pending top) {
  const MutexLock lock(mutex_);
  waiting_[0].push_back(std::move(top));
  ++count_;
}

std::size_t WalkQueue::size() {
  const MutexLock lock(mutex_);
  return count_;
}

std::optional<Pending> WalkQueue::take(unsigned walker, const std::function<void()>& idle) {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      for (;;) {
        if (failed_ || (count_ == 0 && busy_ == 0)) return std::nullopt;
        if (count_ > 0) break;
        if (changed_.wait_for(mutex_, kIdleInterval) == std::cv_status::timeout) break;
      }
      if (count_ > 0) {
        --count_;
        ++busy_;
        auto& own = waiting_[walker];
        if (!own.empty()) {
          Pending next = std::move(own.back());
          own.pop_back();
          return next;
        }
        // The oldest of another is the nearest to the top, and so likely the largest.
        const auto other = std::find_if(waiting_.begin(), waiting_.end(), [](const auto& q) { return !q.empty(); });
        Pending next = std::move(other->front());
        other->pop_front();
        return next;
      }
    }
    idle();
  }
}

void WalkQueue::finish(unsigned walker, std::vector<Pending> found) {
  const MutexLock lock(mutex_);
  // The last added is taken first: turned round, so that a walk meets subdirectories in name order and its cursor's
  // chain stays useful.
  for (auto next = found.rbegin(); next != found.rend(); ++next) waiting_[walker].push_back(std::move(*next));
  count_ += found.size();
  --busy_;
  if (!found.empty() || (count_ == 0 && busy_ == 0)) changed_.notify_all();
}

void WalkQueue::fail(Error error, std::string path) {
  const MutexLock lock(mutex_);
  --busy_;
  // Of several the one that comes first in the tree.
  if (!failed_ || path_less(path, failed_path_)) {
    failed_ = std::move(error);
    failed_path_ = std::move(path);
  }
  changed_.notify_all();
}

Result<void> WalkQueue::result() {
  const MutexLock lock(mutex_);
  if (failed_) return *failed_;
  return {};
}

}  // namespace weft::work
