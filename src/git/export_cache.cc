#include "git/export_cache.h"

#include <algorithm>

#include "base/hash.h"

namespace weft::git {
namespace {

constexpr std::string_view kSortedName = "exported";
constexpr std::string_view kTailName = "exported.new";
/// Another version of the export rules gets another number here: its commits are others.
constexpr std::string_view kHeader{"weftgitx\1\0\0\0\0\0\0\0", 16};
constexpr std::size_t kKeyBytes = ChangeId::kSize + Sha1::kSize;
constexpr std::size_t kEntryBytes = kKeyBytes + 4;
/// A tail above this was not written by us.
constexpr std::uint64_t kMaxTailBytes = 1u << 30;

std::uint32_t checksum(ByteView entry) { return static_cast<std::uint32_t>(xxh3(entry.substr(0, kKeyBytes))); }

void append_entry(Bytes& out, const ExportCache::Entry& entry) {
  const std::size_t start = out.size();
  ByteWriter writer(out);
  writer.raw(entry.first.view());
  writer.raw(entry.second.view());
  writer.u32(checksum(ByteView(out).substr(start)));
}

std::optional<ExportCache::Entry> parse_entry(ByteView bytes) {
  ByteReader reader(bytes);
  const auto change = read_id<ChangeId>(reader);
  const auto commit = read_id<Sha1>(reader);
  const auto check = reader.u32();
  if (!reader.ok() || check != checksum(bytes)) return std::nullopt;
  return ExportCache::Entry{change, commit};
}

}  // namespace

ExportCache ExportCache::open(FileSystem& fs, const std::string& directory) {
  ExportCache cache(fs, directory);
  if (const auto file = fs.open(join_path(directory, kSortedName), OpenMode::read)) {
    const auto size = (*file)->size();
    if (size && *size >= kHeader.size()) {
      const auto mapped = (*file)->map(*size);
      if (mapped && (*mapped)->bytes().starts_with(kHeader)) {
        cache.sorted_ = *mapped;
        cache.sorted_entries_ = (*size - kHeader.size()) / kEntryBytes;
      }
    }
  }
  const auto tail = read_file(fs, join_path(directory, kTailName), kMaxTailBytes);
  if (tail && tail->starts_with(kHeader)) {
    cache.tail_bytes_ = kHeader.size();
    while (cache.tail_bytes_ + kEntryBytes <= tail->size()) {
      const auto entry = parse_entry(ByteView(*tail).substr(cache.tail_bytes_, kEntryBytes));
      if (!entry) break;
      cache.tail_.insert(*entry);
      cache.tail_bytes_ += kEntryBytes;
    }
  }
  return cache;
}

std::optional<ExportCache::Entry> ExportCache::sorted_entry(std::uint64_t index) const {
  return parse_entry(sorted_->bytes().substr(kHeader.size() + index * kEntryBytes, kEntryBytes));
}

std::optional<Sha1> ExportCache::find(const ChangeId& change) const {
  if (const auto found = tail_.find(change); found != tail_.end()) return found->second;
  std::uint64_t begin = 0;
  std::uint64_t end = sorted_entries_;
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    const auto entry = sorted_entry(middle);
    if (!entry) return std::nullopt;
    if (entry->first == change) return entry->second;
    if (entry->first < change) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return std::nullopt;
}

Result<void> ExportCache::add(const std::vector<Entry>& entries) {
  if (entries.empty()) return {};
  const auto made = fs_.make_directory(directory_);
  if (!made && made.error().code != Code::exists) return made.error();
  Bytes more;
  for (const Entry& entry : entries) {
    if (tail_.insert(entry).second) append_entry(more, entry);
  }
  if (tail_.size() > std::max<std::uint64_t>(kTailEntries, sorted_entries_ / 8)) return merge();
  WEFT_TRY(const auto file, fs_.open(join_path(directory_, kTailName), OpenMode::create));
  if (tail_bytes_ == 0) {
    WEFT_DO(file->set_size(0));
    WEFT_DO(file->write_at(0, kHeader));
    tail_bytes_ = kHeader.size();
  }
  WEFT_DO(file->write_at(tail_bytes_, more));
  tail_bytes_ += more.size();
  return {};
}

Result<void> ExportCache::merge() {
  std::vector<Entry> tail(tail_.begin(), tail_.end());
  std::sort(tail.begin(), tail.end());
  Bytes out(kHeader);
  out.reserve(kHeader.size() + (sorted_entries_ + tail.size()) * kEntryBytes);
  auto next = tail.begin();
  for (std::uint64_t i = 0; i < sorted_entries_; ++i) {
    const auto entry = sorted_entry(i);
    if (!entry) continue;
    for (; next != tail.end() && next->first < entry->first; ++next) append_entry(out, *next);
    if (next != tail.end() && next->first == entry->first) continue;
    append_entry(out, *entry);
  }
  for (; next != tail.end(); ++next) append_entry(out, *next);
  WEFT_DO(write_file_durably(fs_, join_path(directory_, kSortedName), out));
  const auto unlinked = fs_.unlink(join_path(directory_, kTailName));
  if (!unlinked && unlinked.error().code != Code::not_found) return unlinked.error();
  ExportCache merged = open(fs_, directory_);
  sorted_ = std::move(merged.sorted_);
  sorted_entries_ = merged.sorted_entries_;
  tail_.clear();
  tail_bytes_ = 0;
  return {};
}

}  // namespace weft::git
