#include "store/look.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/file_system.h"
#include "base/shared_control.h"
#include "store/control_layout.h"

namespace weft::store {
namespace {

constexpr std::size_t kLookBytes = kStoreStateOffset + sizeof(SharedStoreState);

template <typename Word>
Word word_at(ByteView base, std::size_t offset) {
  Word word = 0;
  if (offset + sizeof(word) <= base.size()) std::memcpy(&word, base.data() + offset, sizeof(word));
  return word;
}

struct NamedLock {
  const char* name;
  std::size_t offset;
};
constexpr NamedLock kLocks[] = {
    {"append", kLogStateOffset + offsetof(log::SharedLogState, append)},
    {"leader", kLogStateOffset + offsetof(log::SharedLogState, leader)},
    {"zero", kLogStateOffset + offsetof(log::SharedLogState, zero)},
    {"merge", kStoreStateOffset + offsetof(SharedStoreState, merge)},
    {"history", kStoreStateOffset + offsetof(SharedStoreState, history)},
    {"gc", kStoreStateOffset + offsetof(SharedStoreState, collect)},
};
/// Bit 0 of a mutex's word: somebody waits (log/shared_mutex.h).
constexpr std::uint32_t kWaiters = 1;

}  // namespace

Result<ControlReport> look_at_control(const std::string& directory) {
  ControlReport report;
  const auto look = look_at_mapped_control(join_path(directory, "control"), kLookBytes);
  if (!look) {
    if (look.error().code == Code::not_found) return report;
    return look.error();
  }
  report.state = !look->whole                     ? ControlState::other_form
                 : !look->of_this_boot            ? ControlState::other_boot
                 : !look->of_this_file            ? ControlState::copied
                 : look->layout != kControlLayout ? ControlState::other_form
                                                  : ControlState::current;
  // Of another form as well: who is alive says for whom a newer version waits.
  std::size_t taken = 0;
  for (const auto& holder : look->holders) {
    ControlReport::User user{holder.process, holder.alive, {}};
    if (report.state == ControlState::current) {
      for (const auto& lock : kLocks) {
        if ((word_at<std::uint32_t>(look->base, lock.offset) & ~kWaiters) == holder.token) {
          user.locks.emplace_back(lock.name);
        }
      }
    }
    if (holder.alive) ++taken;
    if (holder.alive || !user.locks.empty()) report.users.push_back(std::move(user));
  }
  report.slots = SharedControl::kMaxSlots;
  report.free_slots = report.slots - std::min(report.slots, taken);
  if (report.state != ControlState::current) return report;
  const auto log_word = [&](std::size_t offset) {
    return word_at<std::uint32_t>(look->base, kLogStateOffset + offset);
  };
  report.failed_errno = static_cast<int>(log_word(offsetof(log::SharedLogState, failed)));
  report.damaged = log_word(offsetof(log::SharedLogState, damaged)) != 0;
  report.flush_average_ns = static_cast<std::int64_t>(
      word_at<std::uint64_t>(look->base, kLogStateOffset + offsetof(log::SharedLogState, flush_average_ns)));
  return report;
}

}  // namespace weft::store
