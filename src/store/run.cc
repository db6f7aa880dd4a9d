#include "store/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>

#include "base/hash.h"
#include "store/array_writer.h"

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

std::size_t count_entries(const EntryLists& lists) {
  std::size_t count = 0;
  for (const auto& list : lists) count += list.size();
  return count;
}

namespace {

/// The entries of one kind from a sorted list and runs, in order, without what is superseded.
Result<void> merge(EntryKind kind, const std::vector<IndexEntry>& list,
                   const std::vector<std::shared_ptr<const Run>>& runs,
                   const std::function<Result<void>(const IndexEntry&)>& visit) {
  // The list is the last source. At most kMaxRuns + 1 of them: looking through all is as good as a heap.
  std::vector<std::size_t> next(runs.size() + 1, 0);
  std::vector<std::optional<IndexEntry>> front(runs.size() + 1);
  const auto load_front = [&](std::size_t source) {
    if (source == runs.size()) {
      front[source] = next[source] < list.size() ? std::optional(list[next[source]]) : std::nullopt;
    } else {
      const Run& run = *runs[source];
      front[source] = next[source] < run.count(kind) ? std::optional(run.entry(kind, next[source])) : std::nullopt;
    }
  };
  for (std::size_t source = 0; source < front.size(); ++source) load_front(source);
  std::optional<IndexEntry> last;
  for (;;) {
    std::size_t best = front.size();
    for (std::size_t source = 0; source < front.size(); ++source) {
      if (front[source] && (best == front.size() || earlier(*front[source], *front[best]))) best = source;
    }
    if (best == front.size()) break;
    const IndexEntry entry = *front[best];
    ++next[best];
    load_front(best);
    const bool same_key = last && last->key == entry.key;
    if (kind == EntryKind::ref) {  // the last of a key: known when the next one comes
      if (last && !same_key) WEFT_DO(visit(*last));
      last = entry;
      continue;
    }
    if (same_key && (kind != EntryKind::delta || last->value == entry.value)) continue;
    last = entry;
    WEFT_DO(visit(entry));
  }
  if (kind == EntryKind::ref && last) WEFT_DO(visit(*last));
  return {};
}

/// So that no pair lies in two lines of the processor's cache.
std::uint64_t align_to_line(std::uint64_t offset) { return (offset + 63) / 64 * 64; }

}  // namespace

Result<std::uint64_t> Run::write(FileSystem& fs, const std::string& path, const EntryLists& lists,
                                 const std::vector<std::shared_ptr<const Run>>& older) {
  WEFT_TRY(auto file, fs.open(path, OpenMode::create_new));
  Bytes header(kMagic, kMagicBytes);
  ByteWriter sections(header);
  std::uint64_t offset = kHeaderBytes;
  std::uint64_t total = 0;
  for (std::size_t number = 0; number < lists.size(); ++number) {
    const auto kind = static_cast<EntryKind>(number);
    std::size_t most = lists[number].size();  // what is superseded counts until it is written
    for (const auto& run : older) most += run->count(kind);
    if (most > kMaxEntries) return make_error(Code::unsupported, "the store has too many entries to index");
    const int fan_bits = fan_bits_for(most);
    const std::size_t buckets = std::size_t{1} << fan_bits;
    const std::uint64_t fan_at = offset;
    const std::uint64_t pairs_at = align_to_line(fan_at + (buckets + 1) * 4);
    const std::uint64_t rests_at = align_to_line(pairs_at + most * kPairBytes);
    offset = align_to_line(rests_at + most * kRestBytes);
    // First, so that what is left between and behind the arrays is zeros that are there.
    WEFT_DO(file->write_at(offset - 1, ByteView("\0", 1)));
    ArrayWriter pairs(*file, pairs_at), rests(*file, rests_at);
    std::vector<std::uint32_t> fan(buckets + 1, 0);
    std::uint64_t count = 0;
    std::size_t bucket = 0;
    WEFT_DO(merge(kind, lists[number], older, [&](const IndexEntry& entry) -> Result<void> {
      const std::uint64_t pair[2] = {key_word(entry.key, 0), entry.value};
      static_assert(sizeof(pair) == kPairBytes);
      for (const std::size_t own = bucket_of(pair[0], fan_bits); bucket < own;) {
        fan[++bucket] = static_cast<std::uint32_t>(count);
      }
      ++count;
      WEFT_DO(pairs.add(reinterpret_cast<const char*>(pair), kPairBytes));
      return rests.add(entry.key.view().data() + 8, kRestBytes);
    }));
    while (bucket < buckets) fan[++bucket] = static_cast<std::uint32_t>(count);
    WEFT_DO(pairs.flush());
    WEFT_DO(rests.flush());
    WEFT_DO(file->write_at(fan_at, ByteView(reinterpret_cast<const char*>(fan.data()), fan.size() * 4)));
    sections.u64(count);
    sections.u64(static_cast<std::uint64_t>(fan_bits));
    sections.u64(fan_at);
    sections.u64(pairs_at);
    sections.u64(rests_at);
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
