// The bytes of what a StateUpdate has to say: a delta, or a new base.
#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "work/dir_cursor.h"
#include "work/directory_state.h"
#include "work/state_format.h"

namespace weft::work {

using object::EntryKind;

namespace {

void append_entry(ByteWriter& out, const StateEntry& entry, std::uint64_t path_offset, std::uint32_t end) {
  out.raw(entry.node.view());
  out.raw(entry.id.view());
  out.u64(entry.stamp.size);
  out.u64(static_cast<std::uint64_t>(entry.stamp.mtime_ns));
  out.u64(static_cast<std::uint64_t>(entry.stamp.ctime_ns));
  out.u64(entry.stamp.inode);
  out.u64(path_offset);
  out.u32(static_cast<std::uint32_t>(entry.path.size()));
  out.u32(end);
  out.u32(entry.stamp.mode);
  out.u8(static_cast<std::uint8_t>(entry.kind));
  out.u8(static_cast<std::uint8_t>((entry.racy ? kRacyFlag : 0) | (entry.in_tree ? kInTreeFlag : 0) |
                                   (entry.exact ? kExactFlag : 0)));
  out.u16(entry.tree_mode);
}

/// A file of header, entries and paths. The header's fields in front of the checksum are the same in both kinds.
Bytes assemble(ByteView magic, std::uint32_t entry_bytes, const Bytes& middle, const Bytes& entries,
               const Bytes& paths) {
  Bytes out;
  out.reserve(kCheckedOffset + middle.size() + entries.size() + paths.size());
  ByteWriter writer(out);
  writer.raw(magic);
  writer.u32(kDirectoryStateVersion);
  writer.u32(entry_bytes);
  writer.u64(0);
  out += middle;
  out += entries;
  out += paths;
  const std::uint64_t checksum = xxh3(ByteView(out).substr(kCheckedOffset));
  std::memcpy(out.data() + kChecksumOffset, &checksum, sizeof(checksum));
  return out;
}

}  // namespace

/// DS6. Nothing where a new base is due. What is in the old delta and not said anew stays in it.
std::optional<Bytes> StateUpdate::encode_delta(const Target& target, std::int64_t seen_ns) {
  if (!old_->may_have_delta()) return std::nullopt;
  const std::uint64_t limit = std::max(kMinDeltaBytes, old_->base_bytes_ / kDeltaShare);
  Bytes entries;
  Bytes paths;
  std::uint64_t count = 0;
  ByteWriter writer(entries);
  const auto emit = [&](const StateEntry& entry, std::size_t place, DeltaKind what) {
    append_entry(writer, entry, paths.size(), 0);
    writer.u32(static_cast<std::uint32_t>(place));
    writer.u32(static_cast<std::uint32_t>(what));
    paths += entry.path;
    ++count;
    return kDeltaHeaderBytes + entries.size() + paths.size() <= limit;
  };
  const auto in_base = [&](std::size_t place, std::string_view path) {
    return place < old_->base_count_ && old_->base_path(place) == path;
  };

  // Places of the old state that are said anew: puts, and what was dropped.
  std::vector<std::size_t> dropped;
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    if (dropped_[i]) dropped.push_back(i);
  }
  std::size_t next_drop = 0;
  std::size_t next_old = 0;  // in the old delta
  // The old delta's record, unless something is said anew of its path.
  const auto keep_old_until = [&](std::string_view path) {
    for (; next_old < old_->delta_count_; ++next_old) {
      const ByteView raw = old_->delta_entries_.substr(next_old * kDeltaEntryBytes, kDeltaEntryBytes);
      const std::string_view known =
          old_->delta_paths_.substr(load_at<std::uint64_t>(raw, kPathOffset), load_at<std::uint32_t>(raw, kPathLength));
      if (!path.empty() && !path_less(known, path)) {
        if (known == path) ++next_old;
        return true;
      }
      const auto what = static_cast<DeltaKind>(load_at<std::uint32_t>(raw, kDeltaWhat));
      StateEntry entry;
      entry.path = known;
      if (what != DeltaKind::remove) entry = old_->entry(old_->find(known));
      if (!emit(entry, load_at<std::uint32_t>(raw, kDeltaPlace), what)) return false;
    }
    return true;
  };
  const auto drop_one = [&](std::string_view path) {
    if (!keep_old_until(path)) return false;
    const std::size_t place = old_->base_lower_bound(path);
    if (!in_base(place, path)) return true;  // it was in the old delta only
    StateEntry entry;
    entry.path = path;
    return emit(entry, place, DeltaKind::remove);
  };
  for (Put& put : puts_) {
    for (; next_drop < dropped.size() && path_less(old_->path(dropped[next_drop]), put.path); ++next_drop) {
      if (!drop_one(old_->path(dropped[next_drop]))) return std::nullopt;
    }
    if (next_drop < dropped.size() && old_->path(dropped[next_drop]) == put.path) ++next_drop;
    if (!keep_old_until(put.path)) return std::nullopt;
    const std::size_t place = old_->base_lower_bound(put.path);
    const bool known = in_base(place, put.path);
    // DS4: whoever put an entry below something that is no directory must not make the order malformed.
    if (!is_directory(parent_of(put.path))) {
      if (known && !drop_one(put.path)) return std::nullopt;
      continue;
    }
    if (!emit(put.entry, place, known ? DeltaKind::replace : DeltaKind::insert)) return std::nullopt;
  }
  for (; next_drop < dropped.size(); ++next_drop) {
    if (!drop_one(old_->path(dropped[next_drop]))) return std::nullopt;
  }
  if (!keep_old_until({})) return std::nullopt;

  Bytes middle;
  ByteWriter out(middle);
  out.u64(count);
  out.u64(paths.size());
  out.u64(old_->base_checksum_);
  out.raw(target.head.view());
  out.u64(static_cast<std::uint64_t>(seen_ns));
  out.u32(root_exact_ ? kRootExactFlag : 0);
  out.u32(0);
  WEFT_CHECK(kCheckedOffset + middle.size() == kDeltaHeaderBytes);
  return assemble(kDeltaMagic, kDeltaEntryBytes, middle, entries, paths);
}

Bytes StateUpdate::encode_base(const Target& target, std::int64_t seen_ns) {
  Bytes entries;
  Bytes paths;
  std::vector<std::pair<std::size_t, std::string_view>> open;  // directories around the next entry: index, path
  std::size_t count = 0;
  entries.reserve((old_->size() + puts_.size()) * kEntryBytes);
  ByteWriter entry_writer(entries);
  const auto close_until = [&](std::string_view path) {
    while (!open.empty()) {
      const std::string_view top = open.back().second;
      if (path.size() > top.size() && path[top.size()] == '/' && path.starts_with(top)) break;
      const auto end = static_cast<std::uint32_t>(count);
      std::memcpy(entries.data() + open.back().first * kEntryBytes + kEnd, &end, sizeof(end));
      open.pop_back();
    }
  };
  const auto emit = [&](const StateEntry& entry) {
    close_until(entry.path);
    // DS4: whoever put an entry below something that is no directory any more must not make the file malformed.
    const std::size_t slash = entry.path.rfind('/');
    const std::string_view parent = slash == std::string_view::npos ? "" : entry.path.substr(0, slash);
    if (parent != (open.empty() ? std::string_view() : open.back().second)) return;
    append_entry(entry_writer, entry, paths.size(), static_cast<std::uint32_t>(count + 1));
    paths += entry.path;
    if (entry.kind == EntryKind::directory) open.emplace_back(count, entry.path);
    ++count;
  };
  std::size_t next_old = 0;
  for (const Put& put : puts_) {
    for (; next_old < old_->size() && path_less(old_->path(next_old), put.path); ++next_old) {
      if (!dropped_[next_old]) emit(old_->entry(next_old));
    }
    if (next_old < old_->size() && old_->path(next_old) == put.path) ++next_old;
    emit(put.entry);
  }
  for (; next_old < old_->size(); ++next_old) {
    if (!dropped_[next_old]) emit(old_->entry(next_old));
  }
  close_until("");

  Bytes middle;
  ByteWriter out(middle);
  out.u64(count);
  out.u64(paths.size());
  out.u64(target.device);
  out.u64(target.inode);
  out.raw(target.head.view());
  out.u64(static_cast<std::uint64_t>(seen_ns));
  out.u32(root_exact_ ? kRootExactFlag : 0);
  out.u32(0);
  WEFT_CHECK(kCheckedOffset + middle.size() == kHeaderBytes);
  return assemble(kBaseMagic, kEntryBytes, middle, entries, paths);
}

bool StateUpdate::is_directory(std::string_view path) {
  if (path.empty()) return true;
  const auto entry = current(std::string(path), old_->find(path));
  return entry && entry->kind == EntryKind::directory;
}

}  // namespace weft::work
