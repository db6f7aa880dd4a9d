#include "store/history_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

#include "base/hash.h"
#include "store/array_writer.h"

namespace weft::store {
namespace {

constexpr std::string_view kMagic = "WEFTHRN1";
constexpr std::size_t kSectionHeaderBytes = 5 * 8;
// magic, sections, body checksum, header checksum
constexpr std::size_t kHeaderBytes = 8 + kHistoryKinds * kSectionHeaderBytes + 16;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// The first eight key bytes as a number that sorts as the bytes do.
std::uint64_t leading(const TouchKey& key) { return std::byteswap(load<std::uint64_t>(key.view().data())); }

/// About eight entries a bucket.
int fan_bits_for(std::size_t count) { return count < 16 ? 0 : static_cast<int>(std::bit_width(count / 8)) - 1; }

std::size_t bucket_of(std::uint64_t prefix, int fan_bits) {
  return fan_bits == 0 ? 0 : static_cast<std::size_t>(prefix >> (64 - fan_bits));
}

std::uint64_t align_8(std::uint64_t value) { return (value + 7) / 8 * 8; }

/// The entries of one kind from a sorted list and runs, in order, each once.
Result<void> merge(HistoryKind kind, const std::vector<HistoryEntry>& list,
                   const std::vector<std::shared_ptr<const HistoryRun>>& runs,
                   const std::function<Result<void>(const HistoryEntry&)>& visit) {
  // The list is the last source. At most kMaxHistoryRuns + 1 of them: looking through all is as good as a heap.
  std::vector<std::size_t> next(runs.size() + 1, 0);
  std::vector<std::optional<HistoryEntry>> front(runs.size() + 1);
  const auto load_front = [&](std::size_t source) {
    if (source == runs.size()) {
      front[source] = next[source] < list.size() ? std::optional(list[next[source]]) : std::nullopt;
    } else {
      const auto& run = *runs[source];
      front[source] = next[source] < run.count(kind) ? std::optional(run.entry(kind, next[source])) : std::nullopt;
    }
  };
  for (std::size_t source = 0; source < front.size(); ++source) load_front(source);
  std::optional<HistoryEntry> last;
  for (;;) {
    std::size_t best = front.size();
    for (std::size_t source = 0; source < front.size(); ++source) {
      if (front[source] && (best == front.size() || *front[source] < *front[best])) best = source;
    }
    if (best == front.size()) return {};
    if (last != front[best]) {
      last = front[best];
      WEFT_DO(visit(*last));
    }
    ++next[best];
    load_front(best);
  }
}

}  // namespace

TouchKey half_key(const ObjectId& id) { return TouchKey::from_bytes(id.view().substr(0, TouchKey::kSize)); }

TouchKey node_key(const NodeId& node) { return TouchKey::from_bytes(node.view()); }

TouchKey place_key(const NodeId& directory, std::string_view name) {
  Bytes bytes("weft place");
  ByteWriter writer(bytes);
  writer.raw(directory.view());
  writer.raw(name);
  return half_key(sha256(bytes));
}

Result<std::uint64_t> HistoryRun::write(FileSystem& fs, const std::string& path, const HistoryLists& lists,
                                        const std::vector<std::shared_ptr<const HistoryRun>>& runs) {
  WEFT_TRY(auto file, fs.open(path, OpenMode::create_new));
  Bytes header(kMagic);
  ByteWriter sections(header);
  std::uint64_t offset = kHeaderBytes;
  std::uint64_t total = 0;
  for (std::size_t kind = 0; kind < kHistoryKinds; ++kind) {
    std::size_t most = lists[kind].size();  // what is there twice counts twice until it is written
    for (const auto& run : runs) most += run->count(static_cast<HistoryKind>(kind));
    if (most >= kMaxHistoryEntries) {
      return make_error(Code::unsupported, "the store's history has too many entries to index");
    }
    const int fan_bits = fan_bits_for(most);
    const std::size_t buckets = std::size_t{1} << fan_bits;
    const std::uint64_t fan_at = offset;
    const std::uint64_t keys_at = align_8(fan_at + (buckets + 1) * 4);
    const std::uint64_t ordinals_at = keys_at + most * TouchKey::kSize;
    offset = align_8(ordinals_at + most * sizeof(Ordinal));
    // First, so that what is left between and behind the arrays is zeros that are there.
    WEFT_DO(file->write_at(offset - 1, ByteView("\0", 1)));
    ArrayWriter keys(*file, keys_at), ordinals(*file, ordinals_at);
    std::vector<std::uint32_t> fan(buckets + 1, 0);
    std::uint64_t count = 0;
    std::size_t bucket = 0;
    WEFT_DO(merge(static_cast<HistoryKind>(kind), lists[kind], runs, [&](const HistoryEntry& entry) -> Result<void> {
      for (const std::size_t own = bucket_of(leading(entry.key), fan_bits); bucket < own;) {
        fan[++bucket] = static_cast<std::uint32_t>(count);
      }
      ++count;
      WEFT_DO(keys.add(entry.key.view().data(), TouchKey::kSize));
      return ordinals.add(reinterpret_cast<const char*>(&entry.ordinal), sizeof(entry.ordinal));
    }));
    while (bucket < buckets) fan[++bucket] = static_cast<std::uint32_t>(count);
    WEFT_DO(keys.flush());
    WEFT_DO(ordinals.flush());
    WEFT_DO(file->write_at(fan_at, ByteView(reinterpret_cast<const char*>(fan.data()), fan.size() * 4)));
    sections.u64(count);
    sections.u64(static_cast<std::uint64_t>(fan_bits));
    sections.u64(fan_at);
    sections.u64(keys_at);
    sections.u64(ordinals_at);
    total += count;
  }
  WEFT_TRY(const auto mapping, file->map(offset));
  sections.u64(xxh3(mapping->bytes().substr(kHeaderBytes, offset - kHeaderBytes)));
  sections.u64(xxh3(header));
  WEFT_CHECK(header.size() == kHeaderBytes);
  WEFT_DO(file->write_at(0, header));
  WEFT_DO(file->sync());
  return total;
}

Result<std::shared_ptr<const HistoryRun>> HistoryRun::open(FileSystem& fs, const std::string& path, bool whole) {
  const auto bad = [&](std::string_view what) {
    return damaged(fmt::format("the history run {} has a bad {}", path, what),
                   "run `weft repair`: it is rebuilt from the log");
  };
  WEFT_TRY(auto file, fs.open(path, OpenMode::read));
  WEFT_TRY(const std::uint64_t size, file->size());
  if (size < kHeaderBytes) return bad("size");
  auto run = std::make_shared<HistoryRun>();
  WEFT_TRY(run->mapping_, file->map(size));
  run->bytes_ = run->mapping_->bytes().substr(0, size);
  const ByteView header = run->bytes_.substr(0, kHeaderBytes);
  if (header.substr(0, kMagic.size()) != kMagic) return bad("magic");
  if (xxh3(header.substr(0, kHeaderBytes - 8)) != load<std::uint64_t>(header.data() + kHeaderBytes - 8)) {
    return bad("header checksum");
  }
  ByteReader reader(header.substr(kMagic.size()));
  for (auto& section : run->sections_) {
    const std::uint64_t count = reader.u64();
    const std::uint64_t fan_bits = reader.u64();
    const std::uint64_t offsets[3] = {reader.u64(), reader.u64(), reader.u64()};
    if (count >= kMaxHistoryEntries || fan_bits > 32) return bad("section");
    const std::uint64_t lengths[3] = {((std::uint64_t{1} << fan_bits) + 1) * 4, count * TouchKey::kSize,
                                      count * sizeof(Ordinal)};
    for (int i = 0; i < 3; ++i) {
      if (offsets[i] > size || lengths[i] > size - offsets[i]) return bad("section");
    }
    section.count = count;
    section.fan_bits = static_cast<int>(fan_bits);
    section.fan = run->bytes_.data() + offsets[0];
    section.keys = run->bytes_.data() + offsets[1];
    section.ordinals = run->bytes_.data() + offsets[2];
  }
  if (whole) {
    if (xxh3(run->bytes_.substr(kHeaderBytes)) != load<std::uint64_t>(header.data() + kHeaderBytes - 16)) {
      return bad("body checksum");
    }
    if (!run->in_order()) return bad("order");
  }
  return std::shared_ptr<const HistoryRun>(std::move(run));
}

bool HistoryRun::in_order() const {
  for (std::size_t kind = 0; kind < kHistoryKinds; ++kind) {
    for (std::size_t i = 1; i < sections_[kind].count; ++i) {
      if (!(entry(static_cast<HistoryKind>(kind), i - 1) < entry(static_cast<HistoryKind>(kind), i))) return false;
    }
  }
  return true;
}

std::size_t HistoryRun::total() const {
  std::size_t total = 0;
  for (const auto& section : sections_) total += section.count;
  return total;
}

HistoryEntry HistoryRun::entry(HistoryKind kind, std::size_t index) const {
  const Section& section = sections_[static_cast<std::size_t>(kind)];
  HistoryEntry entry;
  std::memcpy(entry.key.bytes.data(), section.keys + index * TouchKey::kSize, TouchKey::kSize);
  entry.ordinal = load<Ordinal>(section.ordinals + index * sizeof(Ordinal));
  return entry;
}

std::size_t HistoryRun::lower_bound(HistoryKind kind, const TouchKey& key, Ordinal ordinal) const {
  const Section& section = sections_[static_cast<std::size_t>(kind)];
  if (section.count == 0) return 0;
  const std::size_t bucket = bucket_of(leading(key), section.fan_bits);
  // Bounded again: the fan-out comes from a file.
  std::size_t low = std::min<std::size_t>(load<std::uint32_t>(section.fan + bucket * 4), section.count);
  std::size_t high = std::min<std::size_t>(load<std::uint32_t>(section.fan + (bucket + 1) * 4), section.count);
  const HistoryEntry wanted{key, ordinal};
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (entry(kind, middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace weft::store
