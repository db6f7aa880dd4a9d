// What a power failure leaves of a SimFileSystem: replays its record under the rules D1 to D4 of sim_file_system.h.
#include <algorithm>
#include <set>

#include "base/testing/fake_random.h"
#include "base/testing/sim_file_system.h"

namespace weft {

namespace {

constexpr std::uint64_t kRoot = 1;
constexpr std::uint64_t kSector = 512;

void write_into(Bytes& content, std::uint64_t offset, ByteView bytes) {
  if (offset + bytes.size() > content.size()) content.resize(offset + bytes.size());
  content.replace(offset, bytes.size(), bytes);
}

bool changes_entries(SimOperationKind kind) {
  switch (kind) {
    case SimOperationKind::create:
    case SimOperationKind::make_directory:
    case SimOperationKind::rename:
    case SimOperationKind::unlink:
    case SimOperationKind::remove_directory:
      return true;
    default:
      return false;
  }
}

}  // namespace

class SimReplay {
 public:
  using Image = SimFileSystem::Image;
  using Node = SimFileSystem::Node;

  SimReplay(const Image& base, const std::vector<SimOperation>& operations, SimCrash crash)
      : image_(base), operations_(operations), crash_(crash), random_(crash.seed ^ 0x5eed) {}

  void run(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) step(i);
    finish();
  }

  /// Durable content of one file, touching nothing else.
  Bytes durable(std::uint64_t inode) {
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      if (operations_[i].inode == inode && !changes_entries(operations_[i].kind)) step(i);
    }
    return content(inode);
  }

  /// The files and directories that can still be reached.
  Image reachable() {
    Image result;
    std::vector<std::uint64_t> todo = {kRoot};
    while (!todo.empty()) {
      const std::uint64_t inode = todo.back();
      todo.pop_back();
      if (result.contains(inode)) continue;
      Node node = image_[inode];
      if (const auto changed = contents_.find(inode); changed != contents_.end()) {
        node.content = std::make_shared<Bytes>(changed->second);
      } else if (!node.directory && !node.content) {
        node.content = std::make_shared<Bytes>();
      }
      for (const auto& entry : node.entries) todo.push_back(entry.second);
      result[inode] = std::move(node);
    }
    return result;
  }

 private:
  /// How a torn disk treats what was pending. The extremes come first, because chance alone rarely meets them.
  enum Mode : std::uint64_t {
    entries_lost,         // all contents there, no directory entry
    contents_lost,        // the classic: names there, files empty
    contents_zeroed,      // sizes grew, bytes did not arrive
    only_last_write,      // overtook all others
    all_but_first_write,  // a hole where the oldest of each file should be
    by_chance,
    kModes = 8,  // by_chance also for the rest
  };

  void step(std::size_t i) {
    const SimOperation& operation = operations_[i];
    switch (operation.kind) {
      case SimOperationKind::write:
      case SimOperationKind::set_size:
        pending_[operation.inode].push_back(i);
        break;
      case SimOperationKind::sync:
        sync(operation);
        break;
      case SimOperationKind::sync_directory:
        sync_directory(operation.inode);
        break;
      case SimOperationKind::create:
        image_[operation.inode].directory = false;
        pending_entries_.push_back(i);
        break;
      case SimOperationKind::make_directory:
        image_[operation.inode].directory = true;
        pending_entries_.push_back(i);
        break;
      case SimOperationKind::rename:
      case SimOperationKind::unlink:
      case SimOperationKind::remove_directory:
        pending_entries_.push_back(i);
        break;
    }
  }

  Bytes& content(std::uint64_t inode) {
    const auto [place, fresh] = contents_.try_emplace(inode);
    if (fresh) {
      const auto node = image_.find(inode);
      if (node != image_.end() && node->second.content) place->second = *node->second.content;
    }
    return place->second;
  }

  void apply(const SimOperation& operation) {
    Bytes& bytes = content(operation.inode);
    if (operation.kind == SimOperationKind::write) {
      write_into(bytes, operation.offset, *operation.bytes);
    } else {
      bytes.resize(operation.size);
    }
  }

  // D1, D4
  void sync(const SimOperation& operation) {
    const std::vector<std::size_t> pending = std::exchange(pending_[operation.inode], {});
    if (!operation.dropped) {
      for (const std::size_t i : pending) apply(operations_[i]);
      content(operation.inode).resize(operation.size);
    } else if (crash_.kind == SimCrash::Kind::torn) {
      // Some of it may have reached the disk before the error.
      for (const std::size_t i : pending) {
        if (!random_.chance(2)) continue;
        if (operations_[i].kind == SimOperationKind::write) {
          apply_torn(operations_[i]);
        } else {
          apply(operations_[i]);  // a size is there or not
        }
      }
    }
  }

  // D2. Of operations on the same directories the earlier ones become durable too: a later entry never exists without
  // the effect of an earlier one of the same name.
  void sync_directory(std::uint64_t directory) {
    std::set<std::uint64_t> directories = {directory};
    std::vector<std::size_t> durable;
    std::vector<std::size_t> left;
    for (auto i = pending_entries_.rbegin(); i != pending_entries_.rend(); ++i) {
      const auto& entries = operations_[*i].entries;
      const bool concerned = std::any_of(entries.begin(), entries.end(),
                                         [&](const auto& entry) { return directories.contains(entry.directory); });
      (concerned ? durable : left).push_back(*i);
      if (!concerned) continue;
      for (const auto& entry : entries) directories.insert(entry.directory);
    }
    std::for_each(durable.rbegin(), durable.rend(), [&](std::size_t i) { apply_entries(operations_[i]); });
    std::reverse(left.begin(), left.end());
    pending_entries_ = std::move(left);
  }

  void apply_entries(const SimOperation& operation) {
    for (const auto& entry : operation.entries) {
      auto& entries = image_[entry.directory].entries;
      if (entry.inode == 0) {
        entries.erase(entry.name);
      } else {
        entries[entry.name] = entry.inode;
      }
    }
  }

  void finish() {
    switch (crash_.kind) {
      case SimCrash::Kind::synced_only:
        return;
      case SimCrash::Kind::prefix:
        for (const auto& [inode, pending] : pending_) {
          for (const std::size_t i : pending) apply(operations_[i]);
        }
        for (const std::size_t i : pending_entries_) apply_entries(operations_[i]);
        return;
      case SimCrash::Kind::torn:
        tear();
        return;
    }
  }

  // D3
  void tear() {
    const auto mode = static_cast<Mode>(std::min<std::uint64_t>(crash_.seed % kModes, by_chance));
    std::size_t last = 0;
    for (const auto& [inode, pending] : pending_) {
      if (!pending.empty()) last = std::max(last, pending.back());
    }
    const std::uint64_t loss = 2 + random_.below(3);  // how often a write is lost: 1 in 2, 3 or 4
    for (const auto& [inode, pending] : pending_) {
      for (const std::size_t i : pending) {
        const SimOperation& operation = operations_[i];
        bool kept = true;
        bool torn = false;
        switch (mode) {
          case entries_lost:
            break;
          case contents_lost:
            kept = false;
            break;
          case contents_zeroed:
            if (operation.kind == SimOperationKind::write) grow(operation);
            kept = operation.kind == SimOperationKind::set_size;
            break;
          case only_last_write:
            kept = i == last;
            break;
          case all_but_first_write:
            kept = i != pending.front();
            break;
          default:
            kept = i == last || !random_.chance(loss);
            torn = i == last || random_.chance(4);
            if (!kept && operation.kind == SimOperationKind::write && random_.chance(2)) grow(operation);
        }
        if (kept && torn && operation.kind == SimOperationKind::write) {
          apply_torn(operation);
        } else if (kept) {
          apply(operation);
        }
      }
    }
    for (const std::size_t i : pending_entries_) {
      const bool kept = mode == by_chance ? random_.chance(2) : mode != entries_lost;
      if (kept) apply_entries(operations_[i]);
    }
  }

  /// The size of a write that did not arrive may still have: as zeros.
  void grow(const SimOperation& operation) {
    Bytes& bytes = content(operation.inode);
    bytes.resize(std::max<std::size_t>(bytes.size(), operation.offset + operation.bytes->size()));
  }

  void apply_torn(const SimOperation& operation) {
    const ByteView written = *operation.bytes;
    const std::uint64_t end = operation.offset + written.size();
    const std::uint64_t sectors = (end + kSector - 1) / kSector - operation.offset / kSector;
    const bool in_order = random_.chance(2);
    const std::uint64_t arrived = random_.below(sectors + 1);
    enum { old, zeros, garbage } const rest = random_.chance(3) ? garbage : random_.chance(2) ? zeros : old;
    Bytes& bytes = content(operation.inode);
    std::uint64_t number = 0;
    for (std::uint64_t at = operation.offset; at < end; ++number) {
      const std::uint64_t next = std::min(end, (at / kSector + 1) * kSector);
      const bool whole = in_order ? number < arrived : random_.chance(2);
      if (whole) {
        write_into(bytes, at, written.substr(at - operation.offset, next - at));
      } else if (rest != old) {
        Bytes lost(next - at, '\0');
        if (rest == garbage) random_.fill(lost);
        write_into(bytes, at, lost);
      }
      at = next;
    }
  }

  Image image_;
  const std::vector<SimOperation>& operations_;
  SimCrash crash_;
  FakeRandom random_;
  std::map<std::uint64_t, Bytes> contents_;                    // of files that differ from image_
  std::map<std::uint64_t, std::vector<std::size_t>> pending_;  // writes and sizes not durable, by file
  std::vector<std::size_t> pending_entries_;
};

std::string describe(const SimCrash& crash) {
  switch (crash.kind) {
    case SimCrash::Kind::synced_only:
      return "synced only";
    case SimCrash::Kind::prefix:
      return "prefix";
    case SimCrash::Kind::torn:
      return "torn, seed " + std::to_string(crash.seed);
  }
  return "";
}

Bytes SimFileSystem::durable_content(std::uint64_t inode) const {
  return SimReplay(base_, operations_, {.kind = SimCrash::Kind::synced_only}).durable(inode);
}

std::unique_ptr<SimFileSystem> SimFileSystem::after_crash(std::size_t operations, const SimCrash& crash) const {
  const MutexLock lock(mutex_);
  WEFT_CHECK(operations <= operations_.size());
  SimReplay replay(base_, operations_, crash);
  replay.run(operations);
  auto disk = std::make_unique<SimFileSystem>(crash.seed + operations);
  SimFileSystem& fresh = *disk;
  const MutexLock fresh_lock(fresh.mutex_);
  fresh.base_ = replay.reachable();
  fresh.directories_.clear();
  fresh.next_inode_ = next_inode_;
  fresh.set_live(fresh.base_);
  return disk;
}

void SimFileSystem::for_each_crash(
    std::size_t first, unsigned torn,
    const std::function<void(SimFileSystem& disk, std::size_t cut, const std::string& text)>& check) const {
  const std::size_t count = operation_count();
  for (std::size_t cut = first; cut <= count; ++cut) {
    std::vector<SimCrash> crashes = {{SimCrash::Kind::synced_only}, {SimCrash::Kind::prefix}};
    // Neighbouring cuts take different seeds, so that few per cut still meet every mode.
    for (unsigned i = 0; i < torn; ++i) crashes.push_back({SimCrash::Kind::torn, cut * torn + i});
    for (const SimCrash& crash : crashes) {
      std::string text = "cut after operation " + std::to_string(cut) + " of " + std::to_string(count);
      if (cut > 0) text += " (" + describe(operation(cut - 1)) + ")";
      const auto disk = after_crash(cut, crash);
      check(*disk, cut, text + ", " + describe(crash));
    }
  }
}

}  // namespace weft
