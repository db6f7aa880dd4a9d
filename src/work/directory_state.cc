#include "work/directory_state.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace weft::work {
namespace {

using object::EntryKind;

constexpr ByteView kMagic = "weft-dir";
constexpr std::size_t kHeaderBytes = 96;
constexpr std::size_t kEntryBytes = 104;
constexpr std::size_t kChecksumOffset = 16;
constexpr std::size_t kCheckedOffset = 24;  ///< the checksum covers everything from here
constexpr std::uint8_t kRacyFlag = 1;
/// Below this a state is read, above it is mapped: a map and its page faults cost more than copying a few pages.
constexpr std::uint64_t kMapFromBytes = 64u << 10;

// Offsets in an entry.
constexpr std::size_t kNode = 0, kId = 16, kSize = 48, kMtime = 56, kCtime = 64, kInode = 72, kPathOffset = 80,
                      kPathLength = 88, kEnd = 92, kMode = 96, kKind = 100, kFlags = 101;

template <typename T>
T load_at(ByteView bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool valid_kind(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(EntryKind::file) && kind <= static_cast<std::uint8_t>(EntryKind::submodule);
}

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
  out.u8(entry.racy ? kRacyFlag : 0);
  out.u16(0);
}

}  // namespace

bool path_less(std::string_view a, std::string_view b) {
  const std::size_t common = std::min(a.size(), b.size());
  const auto [left, right] = std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(common), b.begin());
  if (left == a.begin() + static_cast<std::ptrdiff_t>(common)) return a.size() < b.size();
  if (*left == '/') return true;
  if (*right == '/') return false;
  return static_cast<unsigned char>(*left) < static_cast<unsigned char>(*right);
}

bool is_racy(const Stamp& stamp, std::int64_t seen_ns) {
  const auto within_grain = [seen_ns](std::int64_t time_ns) {
    // A whole second is what a file system without finer times shows.
    return time_ns >= seen_ns - (time_ns % 1'000'000'000 == 0 ? kCoarseClockGrainNs : kClockGrainNs);
  };
  return within_grain(stamp.mtime_ns) || within_grain(stamp.ctime_ns);
}

// ---- DirectoryState

DirectoryState DirectoryState::load(FileSystem& fs, const std::string& path, std::uint64_t device,
                                    std::uint64_t inode) {
  const auto file = fs.open(path, OpenMode::read);
  if (!file) return {};
  const auto size = (*file)->size();
  if (!size || *size < kHeaderBytes) return {};
  DirectoryState state;
  if (*size < kMapFromBytes) {
    auto bytes = std::make_shared<Bytes>(*size, '\0');
    if (!(*file)->read_at(0, *bytes)) return {};
    const ByteView view = *bytes;
    state.owner_ = std::move(bytes);
    if (!state.attach(view, device, inode)) return {};
  } else {
    auto mapping = (*file)->map(*size);
    if (!mapping) return {};
    const ByteView view = (*mapping)->bytes();
    state.owner_ = *std::move(mapping);
    if (!state.attach(view, device, inode)) return {};
  }
  return state;
}

std::optional<DirectoryState> DirectoryState::decode(std::shared_ptr<const Bytes> bytes, std::uint64_t device,
                                                     std::uint64_t inode) {
  DirectoryState state;
  const ByteView view = *bytes;
  state.owner_ = std::move(bytes);
  if (!state.attach(view, device, inode)) return std::nullopt;
  return state;
}

bool DirectoryState::attach(ByteView bytes, std::uint64_t device, std::uint64_t inode) {
  if (bytes.size() < kHeaderBytes) return false;
  ByteReader header(bytes.substr(0, kHeaderBytes));
  if (header.raw(kMagic.size()) != kMagic) return false;
  if (header.u32() != kDirectoryStateVersion || header.u32() != kEntryBytes) return false;
  const std::uint64_t checksum = header.u64();
  const std::uint64_t count = header.u64();
  const std::uint64_t path_bytes = header.u64();
  if (header.u64() != device || header.u64() != inode) return false;
  head_ = read_id<ObjectId>(header);
  if (count > kMaxStateEntries || path_bytes > bytes.size()) return false;
  if (bytes.size() != kHeaderBytes + count * kEntryBytes + path_bytes) return false;
  if (xxh3(bytes.substr(kCheckedOffset)) != checksum) return false;
  entries_ = bytes.substr(kHeaderBytes, count * kEntryBytes);
  paths_ = bytes.substr(kHeaderBytes + count * kEntryBytes);
  count_ = count;
  // The checksum tells accidents; what it cannot tell must at least not lead outside the bytes.
  for (std::size_t i = 0; i < count_; ++i) {
    const ByteView raw = entries_.substr(i * kEntryBytes, kEntryBytes);
    const auto offset = load_at<std::uint64_t>(raw, kPathOffset);
    const auto length = load_at<std::uint32_t>(raw, kPathLength);
    const auto end = load_at<std::uint32_t>(raw, kEnd);
    if (length == 0 || offset > path_bytes || length > path_bytes - offset) return false;
    if (end <= i || end > count_ || !valid_kind(load_at<std::uint8_t>(raw, kKind))) return false;
  }
  return true;
}

StateEntry DirectoryState::entry(std::size_t index) const {
  WEFT_CHECK(index < count_);
  const ByteView raw = entries_.substr(index * kEntryBytes, kEntryBytes);
  StateEntry entry;
  entry.path = path(index);
  entry.kind = static_cast<EntryKind>(load_at<std::uint8_t>(raw, kKind));
  entry.node = NodeId::from_bytes(raw.substr(kNode, NodeId::kSize));
  entry.id = ObjectId::from_bytes(raw.substr(kId, ObjectId::kSize));
  entry.stamp = {.size = load_at<std::uint64_t>(raw, kSize),
                 .mtime_ns = load_at<std::int64_t>(raw, kMtime),
                 .ctime_ns = load_at<std::int64_t>(raw, kCtime),
                 .inode = load_at<std::uint64_t>(raw, kInode),
                 .mode = load_at<std::uint32_t>(raw, kMode)};
  entry.racy = (load_at<std::uint8_t>(raw, kFlags) & kRacyFlag) != 0;
  return entry;
}

std::string_view DirectoryState::path(std::size_t index) const {
  const ByteView raw = entries_.substr(index * kEntryBytes, kEntryBytes);
  return paths_.substr(load_at<std::uint64_t>(raw, kPathOffset), load_at<std::uint32_t>(raw, kPathLength));
}

std::size_t DirectoryState::end(std::size_t index) const {
  WEFT_CHECK(index < count_);
  return load_at<std::uint32_t>(entries_, index * kEntryBytes + kEnd);
}

std::size_t DirectoryState::lower_bound(std::string_view wanted) const {
  std::size_t low = 0;
  std::size_t high = count_;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (path_less(path(middle), wanted)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t DirectoryState::find(std::string_view wanted) const {
  const std::size_t at = lower_bound(wanted);
  return at < count_ && path(at) == wanted ? at : kNone;
}

// ---- StateUpdate

StateUpdate::StateUpdate(std::shared_ptr<const DirectoryState> old, std::int64_t begun_monotonic_ns,
                         std::int64_t begun_ns)
    : old_(std::move(old)),
      begun_monotonic_ns_(begun_monotonic_ns),
      begun_ns_(begun_ns),
      dropped_(old_->size(), false) {}

void StateUpdate::put(StateEntry entry, bool seen_late) {
  std::string path(entry.path);
  const auto [at, fresh] = put_index_.try_emplace(path, puts_.size());
  Put put{std::move(path), entry, seen_late ? Seen::written : Seen::begun};
  if (fresh) {
    puts_.push_back(std::move(put));
  } else {
    puts_[at->second] = std::move(put);
  }
}

void StateUpdate::drop(std::size_t index) {
  std::fill(dropped_.begin() + static_cast<std::ptrdiff_t>(index),
            dropped_.begin() + static_cast<std::ptrdiff_t>(old_->end(index)), true);
}

void StateUpdate::confirm(std::size_t index) {
  const StateEntry entry = old_->entry(index);
  put(entry);
}

void StateUpdate::set_node(const std::string& path, const NodeId& node) {
  const auto known = put_index_.find(path);
  if (known != put_index_.end()) {
    puts_[known->second].entry.node = node;
    return;
  }
  const std::size_t index = old_->find(path);
  if (index == DirectoryState::kNone || dropped_[index]) return;
  StateEntry entry = old_->entry(index);
  if (entry.node == node) return;
  entry.node = node;
  put_index_.emplace(path, puts_.size());
  puts_.push_back({path, entry, Seen::before});
}

bool StateUpdate::says_something_new(const Target& target) const {
  if (old_->head() != target.head) return true;
  std::vector<bool> still_there(old_->size(), false);
  for (const Put& put : puts_) {
    const std::size_t index = old_->find(put.path);
    if (index == DirectoryState::kNone) return true;
    const StateEntry known = old_->entry(index);
    const StateEntry& now = put.entry;
    if (known.kind != now.kind || known.node != now.node || known.id != now.id || known.stamp != now.stamp) return true;
    if (known.racy && put.seen != Seen::before && !is_racy(now.stamp, begun_ns_)) return true;
    still_there[index] = true;
  }
  for (std::size_t i = 0; i < dropped_.size(); ++i) {
    if (dropped_[i] && !still_there[i]) return true;
  }
  return false;
}

Result<void> StateUpdate::write(Env& env, const Target& target) {
  if (!says_something_new(target)) return {};
  const std::string temporary = target.path + ".new-" + env.random.id<Id<struct TemporaryTag, 4>>().hex();
  auto file = env.fs.open(temporary, OpenMode::create_new);
  if (!file && file.error().code == Code::not_found) {
    WEFT_DO(env.fs.make_directory(parent_path(target.path)));
    file = env.fs.open(temporary, OpenMode::create_new);
  }
  if (!file) return std::move(file).error();

  // What "seen" means on the clock that stamps files, which need not be ours (a test's, another machine's): the new
  // file's own time, less what has passed since looking began. The earlier of both clocks errs towards reading again.
  std::int64_t seen_ns = begun_ns_;
  std::int64_t written_ns = env.clock.now_ns();
  if (const auto status = env.fs.status(temporary)) {
    seen_ns = std::min(seen_ns, status->mtime_ns - (env.clock.monotonic_ns() - begun_monotonic_ns_));
    written_ns = std::min(written_ns, status->mtime_ns);
  } else {
    seen_ns = written_ns = 0;
  }

  // Indices in put_index_ mean nothing from here on: an update is written once.
  std::sort(puts_.begin(), puts_.end(), [](const Put& a, const Put& b) { return path_less(a.path, b.path); });

  Bytes entries;
  Bytes paths;
  std::vector<std::pair<std::size_t, std::string_view>> open;  // directories around the next entry: index, path
  std::size_t count = 0;
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
  for (Put& put : puts_) {
    for (; next_old < old_->size() && path_less(old_->path(next_old), put.path); ++next_old) {
      if (!dropped_[next_old]) emit(old_->entry(next_old));
    }
    if (next_old < old_->size() && old_->path(next_old) == put.path) ++next_old;
    put.entry.path = put.path;
    if (put.seen != Seen::before) {
      put.entry.racy = put.entry.kind != EntryKind::directory &&
                       is_racy(put.entry.stamp, put.seen == Seen::written ? written_ns : seen_ns);
    }
    emit(put.entry);
  }
  for (; next_old < old_->size(); ++next_old) {
    if (!dropped_[next_old]) emit(old_->entry(next_old));
  }
  close_until("");

  Bytes header;
  ByteWriter out(header);
  out.raw(kMagic);
  out.u32(kDirectoryStateVersion);
  out.u32(kEntryBytes);
  out.u64(0);
  out.u64(count);
  out.u64(paths.size());
  out.u64(target.device);
  out.u64(target.inode);
  out.raw(target.head.view());
  out.u64(static_cast<std::uint64_t>(seen_ns));
  WEFT_CHECK(header.size() == kHeaderBytes);
  header.reserve(header.size() + entries.size() + paths.size());
  header += entries;
  header += paths;
  const std::uint64_t checksum = xxh3(ByteView(header).substr(kCheckedOffset));
  std::memcpy(header.data() + kChecksumOffset, &checksum, sizeof(checksum));

  auto done = (*file)->write_at(0, ByteView(header));
  if (done) done = env.fs.rename(temporary, target.path);
  if (!done) {
    if (const auto removed = env.fs.unlink(temporary); !removed) return done;
  }
  return done;
}

}  // namespace weft::work
