#include "work/directory_state.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "base/hash.h"
#include "work/state_format.h"

namespace weft::work {
namespace {

using object::EntryKind;

bool valid_kind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(EntryKind::file) && kind <= static_cast<std::uint8_t>(EntryKind::submodule);
}

/// Nothing but what lies inside the bytes is reachable from the entry.
bool well_formed(ByteView raw, std::uint64_t path_bytes) {
  const auto offset = load_at<std::uint64_t>(raw, kPathOffset);
  const auto length = load_at<std::uint32_t>(raw, kPathLength);
  return length != 0 && offset <= path_bytes && length <= path_bytes - offset &&
         valid_kind(load_at<std::uint8_t>(raw, kKind));
}

/// Eight bytes at a time: paths of one tree have much in common, and deep ones are compared often (CASES C27).
std::size_t common_prefix(std::string_view a, std::string_view b) {
  static_assert(std::endian::native == std::endian::little);
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= size; at += sizeof(std::uint64_t)) {
    const std::uint64_t differing = load_at<std::uint64_t>(a, at) ^ load_at<std::uint64_t>(b, at);
    if (differing != 0) return at + static_cast<std::size_t>(std::countr_zero(differing)) / 8;
  }
  while (at < size && a[at] == b[at]) ++at;
  return at;
}

std::string_view path_of(ByteView raw, ByteView paths) {
  return paths.substr(load_at<std::uint64_t>(raw, kPathOffset), load_at<std::uint32_t>(raw, kPathLength));
}

}  // namespace

bool path_less(std::string_view a, std::string_view b) {
  const std::size_t common = common_prefix(a, b);
  if (common == a.size() || common == b.size()) return a.size() < b.size();
  if (a[common] == '/') return true;
  if (b[common] == '/') return false;
  return static_cast<unsigned char>(a[common]) < static_cast<unsigned char>(b[common]);
}

bool is_racy(const Stamp& stamp, std::int64_t seen_ns) {
  const auto within_grain = [seen_ns](std::int64_t time_ns) {
    // A whole second is what a file system without finer times shows.
    return time_ns >= seen_ns - (time_ns % 1'000'000'000 == 0 ? kCoarseClockGrainNs : kClockGrainNs);
  };
  return within_grain(stamp.mtime_ns) || within_grain(stamp.ctime_ns);
}

object::TreeEntry tree_entry_of(const StateEntry& entry) {
  const bool directory = entry.kind == EntryKind::directory;
  return {.name = {},
          .kind = entry.kind,
          .mode = entry.tree_mode,
          .node = entry.node,
          .id = entry.id,
          .size = directory ? 0 : entry.stamp.size};
}

std::string delta_path(const std::string& state_path) { return state_path + ".delta"; }

DirectoryState DirectoryState::load(FileSystem& fs, const std::string& path, std::uint64_t device,
                                    std::uint64_t inode) {
  const auto file = fs.open(path, OpenMode::read);
  if (!file) return {};
  const auto size = (*file)->size();
  if (!size || *size < kHeaderBytes) return {};
  DirectoryState state;
  if (*size < kDeltaFromBytes) {
    // A map and its page faults cost more than copying a few pages.
    auto bytes = std::make_shared<Bytes>(*size, '\0');
    if (!(*file)->read_at(0, *bytes)) return {};
    const ByteView view = *bytes;
    state.owner_ = std::move(bytes);
    if (!state.attach(view, device, inode)) return {};
    return state;
  }
  auto mapping = (*file)->map(*size);
  if (!mapping) return {};
  const ByteView view = (*mapping)->bytes();
  state.owner_ = *std::move(mapping);
  if (!state.attach(view, device, inode)) return {};
  if (auto delta = read_file(fs, delta_path(path), kMaxDeltaBytes)) {
    state.attach_delta(std::make_shared<const Bytes>(*std::move(delta)));
  }
  return state;
}

std::optional<DirectoryState> DirectoryState::decode(std::shared_ptr<const Bytes> bytes, std::uint64_t device,
                                                     std::uint64_t inode, std::shared_ptr<const Bytes> delta) {
  DirectoryState state;
  const ByteView view = *bytes;
  state.owner_ = std::move(bytes);
  if (!state.attach(view, device, inode)) return std::nullopt;
  if (delta) state.attach_delta(std::move(delta));
  return state;
}

bool DirectoryState::attach(ByteView bytes, std::uint64_t device, std::uint64_t inode) {
  if (bytes.size() < kHeaderBytes) return false;
  ByteReader header(bytes.substr(0, kHeaderBytes));
  if (header.raw(kBaseMagic.size()) != kBaseMagic) return false;
  if (header.u32() != kDirectoryStateVersion || header.u32() != kEntryBytes) return false;
  const std::uint64_t checksum = header.u64();
  const std::uint64_t count = header.u64();
  const std::uint64_t path_bytes = header.u64();
  if (header.u64() != device || header.u64() != inode) return false;
  const ObjectId head = read_id<ObjectId>(header);
  (void)header.u64();  // when it was seen: for people
  const std::uint32_t flags = header.u32();
  if (count > kMaxStateEntries || path_bytes > bytes.size()) return false;
  if (bytes.size() != kHeaderBytes + count * kEntryBytes + path_bytes) return false;
  if (xxh3(bytes.substr(kCheckedOffset)) != checksum) return false;
  entries_ = bytes.substr(kHeaderBytes, count * kEntryBytes);
  paths_ = bytes.substr(kHeaderBytes + count * kEntryBytes);
  // The checksum tells accidents; what it cannot tell must at least not lead outside the bytes.
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView raw = entries_.substr(i * kEntryBytes, kEntryBytes);
    const auto end = load_at<std::uint32_t>(raw, kEnd);
    if (!well_formed(raw, path_bytes) || end <= i || end > count) return false;
  }
  base_count_ = count;
  base_bytes_ = bytes.size();
  base_checksum_ = checksum;
  head_ = head;
  root_exact_ = (flags & kRootExactFlag) != 0;
  return true;
}

// DS6
void DirectoryState::attach_delta(std::shared_ptr<const Bytes> owner) {
  const ByteView bytes = *owner;
  if (bytes.size() < kDeltaHeaderBytes) return;
  ByteReader header(bytes.substr(0, kDeltaHeaderBytes));
  if (header.raw(kDeltaMagic.size()) != kDeltaMagic) return;
  if (header.u32() != kDirectoryStateVersion || header.u32() != kDeltaEntryBytes) return;
  const std::uint64_t checksum = header.u64();
  const std::uint64_t count = header.u64();
  const std::uint64_t path_bytes = header.u64();
  if (header.u64() != base_checksum_) return;
  const ObjectId head = read_id<ObjectId>(header);
  (void)header.u64();  // when it was seen: for people
  const std::uint32_t flags = header.u32();
  if (count > kMaxStateEntries - base_count_ || path_bytes > bytes.size()) return;
  if (bytes.size() != kDeltaHeaderBytes + count * kDeltaEntryBytes + path_bytes) return;
  if (xxh3(bytes.substr(kCheckedOffset)) != checksum) return;
  const ByteView entries = bytes.substr(kDeltaHeaderBytes, count * kDeltaEntryBytes);
  if (!merge(entries, bytes.substr(kDeltaHeaderBytes + count * kDeltaEntryBytes), count)) {
    sources_.clear();
    ends_.clear();
    return;
  }
  delta_owner_ = std::move(owner);
  delta_entries_ = entries;
  delta_paths_ = bytes.substr(kDeltaHeaderBytes + count * kDeltaEntryBytes);
  delta_count_ = count;
  merged_ = true;
  head_ = head;
  root_exact_ = (flags & kRootExactFlag) != 0;
}

bool DirectoryState::merge(ByteView delta_entries, ByteView delta_paths, std::size_t count) {
  sources_.reserve(base_count_ + count);
  std::vector<std::uint32_t> place(base_count_);        // of a base entry
  std::vector<std::uint32_t> reached(base_count_ + 1);  // how many come of what stands before a base entry
  std::vector<bool> gone(base_count_, false);
  std::vector<std::pair<std::size_t, std::string_view>> inserted;
  std::size_t base = 0;
  std::string_view previous;
  const auto copy_until = [&](std::size_t end) {
    for (; base < end; ++base) {
      place[base] = static_cast<std::uint32_t>(sources_.size());
      sources_.push_back(static_cast<std::uint32_t>(base));
      reached[base + 1] = static_cast<std::uint32_t>(sources_.size());
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    const ByteView raw = delta_entries.substr(i * kDeltaEntryBytes, kDeltaEntryBytes);
    if (!well_formed(raw, delta_paths.size())) return false;
    const std::string_view path = path_of(raw, delta_paths);
    const auto at = load_at<std::uint32_t>(raw, kDeltaPlace);
    const auto what = load_at<std::uint32_t>(raw, kDeltaWhat);
    if (at < base || at > base_count_ || (i > 0 && !path_less(previous, path))) return false;
    previous = path;
    copy_until(at);
    if (what == static_cast<std::uint32_t>(DeltaKind::insert)) {
      // In order with what stands around it, or lookups would go astray.
      if (at > 0 && !path_less(base_path(at - 1), path)) return false;
      if (at < base_count_ && !path_less(path, base_path(at))) return false;
      inserted.emplace_back(sources_.size(), path);
      sources_.push_back(static_cast<std::uint32_t>(i) | kFromDelta);
      continue;
    }
    if (at == base_count_ || base_path(at) != path) return false;
    place[base] = static_cast<std::uint32_t>(sources_.size());
    if (what == static_cast<std::uint32_t>(DeltaKind::replace)) {
      sources_.push_back(static_cast<std::uint32_t>(i) | kFromDelta);
    } else if (what == static_cast<std::uint32_t>(DeltaKind::remove)) {
      gone[base] = true;
    } else {
      return false;
    }
    reached[++base] = static_cast<std::uint32_t>(sources_.size());
  }
  copy_until(base_count_);

  ends_.resize(sources_.size());
  for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] = static_cast<std::uint32_t>(i + 1);
  for (std::size_t i = 0; i < base_count_; ++i) {
    if (gone[i]) continue;
    ends_[place[i]] = std::max(ends_[place[i]], reached[load_at<std::uint32_t>(base_raw(i), kEnd)]);
  }
  if (inserted.empty()) return true;
  // What was inserted lengthens the directories above it.
  merged_ = true;
  delta_entries_ = delta_entries;
  delta_paths_ = delta_paths;
  for (const auto& [at, path] : inserted) {
    for (std::size_t slash = path.rfind('/'); slash != std::string_view::npos; slash = path.rfind('/', slash - 1)) {
      const std::size_t above = find(path.substr(0, slash));
      if (above != kNone) ends_[above] = std::max(ends_[above], static_cast<std::uint32_t>(at + 1));
      if (slash == 0) break;
    }
  }
  return true;
}

ByteView DirectoryState::base_raw(std::size_t index) const { return entries_.substr(index * kEntryBytes, kEntryBytes); }

std::string_view DirectoryState::base_path(std::size_t index) const { return path_of(base_raw(index), paths_); }

ByteView DirectoryState::raw(std::size_t index, ByteView& paths) const {
  const std::uint32_t source = merged_ ? sources_[index] : static_cast<std::uint32_t>(index);
  if ((source & kFromDelta) == 0) {
    paths = paths_;
    return base_raw(source);
  }
  paths = delta_paths_;
  return delta_entries_.substr((source & ~kFromDelta) * kDeltaEntryBytes, kDeltaEntryBytes);
}

StateEntry DirectoryState::entry(std::size_t index) const {
  WEFT_CHECK(index < size());
  ByteView paths;
  const ByteView bytes = raw(index, paths);
  const auto flags = load_at<std::uint8_t>(bytes, kFlags);
  StateEntry entry;
  entry.path = path_of(bytes, paths);
  entry.kind = static_cast<EntryKind>(load_at<std::uint8_t>(bytes, kKind));
  entry.node = NodeId::from_bytes(bytes.substr(kNode, NodeId::kSize));
  entry.id = ObjectId::from_bytes(bytes.substr(kId, ObjectId::kSize));
  entry.stamp = {.size = load_at<std::uint64_t>(bytes, kSize),
                 .mtime_ns = load_at<std::int64_t>(bytes, kMtime),
                 .ctime_ns = load_at<std::int64_t>(bytes, kCtime),
                 .inode = load_at<std::uint64_t>(bytes, kInode),
                 .mode = load_at<std::uint32_t>(bytes, kMode)};
  entry.racy = (flags & kRacyFlag) != 0;
  entry.in_tree = (flags & kInTreeFlag) != 0;
  entry.exact = (flags & kExactFlag) != 0;
  entry.tree_mode = load_at<std::uint16_t>(bytes, kTreeMode);
  return entry;
}

std::string_view DirectoryState::path(std::size_t index) const {
  ByteView paths;
  const ByteView bytes = raw(index, paths);
  return path_of(bytes, paths);
}

std::size_t DirectoryState::end(std::size_t index) const {
  WEFT_CHECK(index < size());
  return merged_ ? ends_[index] : load_at<std::uint32_t>(base_raw(index), kEnd);
}

namespace {

template <typename PathAt>
std::size_t first_not_before(std::size_t count, std::string_view wanted, const PathAt& path_at) {
  std::size_t low = 0;
  std::size_t high = count;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (path_less(path_at(middle), wanted)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

std::size_t DirectoryState::base_lower_bound(std::string_view wanted) const {
  return first_not_before(base_count_, wanted, [this](std::size_t i) { return base_path(i); });
}

std::size_t DirectoryState::lower_bound(std::string_view wanted) const {
  return first_not_before(size(), wanted, [this](std::size_t i) { return path(i); });
}

std::size_t DirectoryState::find(std::string_view wanted) const {
  const std::size_t at = lower_bound(wanted);
  return at < size() && path(at) == wanted ? at : kNone;
}

}  // namespace weft::work
