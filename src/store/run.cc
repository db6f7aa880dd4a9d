#include "store/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/hash.h"

namespace weft::store {
namespace {

constexpr char kMagic[] = "WEFTRUN2";
constexpr std::size_t kMagicBytes = 8;
constexpr std::size_t kSectionHeaderBytes = 8 + 8 + 3 * 8;
// magic, sections, body checksum, header checksum
constexpr std::size_t kHeaderBytes = kMagicBytes + kEntryKinds * kSectionHeaderBytes + 16;
static_assert(kHeaderBytes % 64 == 0);
constexpr std::uint64_t kMaxEntries = 1ULL << 32;

/// About eight entries a bucket.
int fan_bits_for(std::size_t count) { return count < 16 ? 0 : static_cast<int>(std::bit_width(count / 8)) - 1; }

/// So that no pair lies in two lines of the processor's cache.
void pad_to_line(Bytes& bytes) { bytes.resize((bytes.size() + 63) / 64 * 64, '\0'); }

}  // namespace

namespace {

/// As operator<, a word at a time: sorting is most of a merge.
bool earlier(const IndexEntry& a, const IndexEntry& b) {
  const std::uint64_t left = key_word(a.key, 0);
  const std::uint64_t right = key_word(b.key, 0);
  return left != right ? left < right : a < b;
}

/// Of several entries with one key in a sorted list, keeps what lookups need.
void drop_superseded(std::size_t kind, std::vector<IndexEntry>& list) {
  if (kind == static_cast<std::size_t>(EntryKind::delta)) {
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return;
  }
  const bool keep_last = kind == static_cast<std::size_t>(EntryKind::ref);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (kept != 0 && list[kept - 1].key == list[i].key) {
      if (keep_last) list[kept - 1] = list[i];
      continue;
    }
    if (kept != i) list[kept] = list[i];
    ++kept;
  }
  list.resize(kept);
}

}  // namespace

void sort_entries(EntryLists& lists) {
  for (std::size_t kind = 0; kind < lists.size(); ++kind) {
    std::sort(lists[kind].begin(), lists[kind].end(), earlier);
    drop_superseded(kind, lists[kind]);
  }
}

void merge_into(EntryLists& lists, const Run& older) {
  for (std::size_t kind = 0; kind < kEntryKinds; ++kind) {
    const std::size_t count = older.count(static_cast<EntryKind>(kind));
    if (count == 0) continue;
    std::vector<IndexEntry> merged;
    merged.reserve(lists[kind].size() + count);
    auto next = lists[kind].begin();
    for (std::size_t i = 0; i < count; ++i) {
      const IndexEntry entry = older.entry(static_cast<EntryKind>(kind), i);
      while (next != lists[kind].end() && earlier(*next, entry)) merged.push_back(*next++);
      merged.push_back(entry);
    }
    merged.insert(merged.end(), next, lists[kind].end());
    drop_superseded(kind, merged);
    lists[kind] = std::move(merged);
  }
}

std::size_t count_entries(const EntryLists& lists) {
  std::size_t count = 0;
  for (const auto& list : lists) count += list.size();
  return count;
}

Result<std::uint64_t> Run::write(FileSystem& fs, const std::string& path, const EntryLists& lists) {
  Bytes body;
  std::size_t total = 0;
  for (const auto& list : lists) total += list.size();
  body.reserve(total * 41 + 4096);
  Bytes header(kMagic, kMagicBytes);
  ByteWriter sections(header);
  for (const auto& list : lists) {
    const int fan_bits = fan_bits_for(list.size());
    sections.u64(list.size());
    sections.u64(static_cast<std::uint64_t>(fan_bits));
    ByteWriter out(body);
    pad_to_line(body);
    sections.u64(kHeaderBytes + body.size());
    std::size_t next = 0;
    const std::size_t buckets = std::size_t{1} << fan_bits;
    for (std::size_t bucket = 0; bucket <= buckets; ++bucket) {
      while (next < list.size() && Run::bucket_of(key_word(list[next].key, 0), fan_bits) < bucket) ++next;
      out.u32(static_cast<std::uint32_t>(bucket == buckets ? list.size() : next));
    }
    pad_to_line(body);
    sections.u64(kHeaderBytes + body.size());
    for (const auto& entry : list) {
      out.u64(key_word(entry.key, 0));
      out.u64(entry.value);
    }
    pad_to_line(body);
    sections.u64(kHeaderBytes + body.size());
    for (const auto& entry : list) out.raw(entry.key.view().substr(8));
  }
  sections.u64(xxh3(body));
  sections.u64(xxh3(header));
  WEFT_CHECK(header.size() == kHeaderBytes);
  WEFT_TRY(auto file, fs.open(path, OpenMode::create_new));
  const ByteView parts[] = {header, body};
  WEFT_DO(file->write_at(0, parts));
  WEFT_DO(file->sync());
  return std::uint64_t{header.size() + body.size()};
}

Result<std::shared_ptr<const Run>> Run::open(FileSystem& fs, const std::string& path, bool whole) {
  const auto bad = [&](std::string_view what) {
    return damaged(fmt::format("the index run {} has a bad {}", path, what),
                   "run `weft repair`: it is rebuilt from the log");
  };
  WEFT_TRY(auto file, fs.open(path, OpenMode::read));
  WEFT_TRY(const std::uint64_t size, file->size());
  if (size < kHeaderBytes) return bad("size");
  auto run = std::make_shared<Run>();
  WEFT_TRY(run->mapping_, file->map(size));
  run->bytes_ = run->mapping_->bytes().substr(0, size);
  const ByteView header = run->bytes_.substr(0, kHeaderBytes);
  if (header.substr(0, kMagicBytes) != ByteView(kMagic, kMagicBytes)) return bad("magic");
  if (xxh3(header.substr(0, kHeaderBytes - 8)) != load<std::uint64_t>(header.data() + kHeaderBytes - 8)) {
    return bad("header checksum");
  }
  ByteReader reader(header.substr(kMagicBytes));
  for (auto& section : run->sections_) {
    const std::uint64_t count = reader.u64();
    const std::uint64_t fan_bits = reader.u64();
    const std::uint64_t offsets[3] = {reader.u64(), reader.u64(), reader.u64()};
    if (count > kMaxEntries || fan_bits > 32) return bad("section");
    const std::uint64_t lengths[3] = {((std::uint64_t{1} << fan_bits) + 1) * 4, count * kPairBytes, count * kRestBytes};
    for (int i = 0; i < 3; ++i) {
      if (offsets[i] > size || lengths[i] > size - offsets[i]) return bad("section");
    }
    section.count = count;
    section.fan_bits = static_cast<int>(fan_bits);
    section.fan = run->bytes_.data() + offsets[0];
    section.pairs = run->bytes_.data() + offsets[1];
    section.rests = run->bytes_.data() + offsets[2];
  }
  if (whole && xxh3(run->bytes_.substr(kHeaderBytes)) != load<std::uint64_t>(header.data() + kHeaderBytes - 16)) {
    return bad("body checksum");
  }
  return std::shared_ptr<const Run>(std::move(run));
}

std::size_t Run::total() const {
  std::size_t total = 0;
  for (const auto& section : sections_) total += section.count;
  return total;
}

IndexEntry Run::entry(EntryKind kind, std::size_t index) const {
  const Section& section = sections_[static_cast<std::size_t>(kind)];
  IndexEntry entry;
  const std::uint64_t first = std::byteswap(load<std::uint64_t>(section.pairs + index * kPairBytes));
  std::memcpy(entry.key.bytes.data(), &first, 8);
  std::memcpy(entry.key.bytes.data() + 8, section.rests + index * kRestBytes, kRestBytes);
  entry.value = load<std::uint64_t>(section.pairs + index * kPairBytes + 8);
  return entry;
}

}  // namespace weft::store
