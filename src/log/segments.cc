#include "log/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weft::log {
namespace {

constexpr std::size_t kZeroStep = 256u << 10;
/// At most this many segment files are kept mapped; more are mapped again when asked for.
constexpr std::size_t kMaxMappings = 256;

bool all_zero(ByteView bytes) {
  // memcmp against itself shifted by one: as fast as memory.
  return bytes.empty() || (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Result<void> put_zeros(File& file, std::uint64_t from, std::uint64_t to) {
  static const char zeros[kZeroStep] = {};
  while (from < to) {
    const std::uint64_t length = std::min<std::uint64_t>(to - from, kZeroStep);
    WEFT_DO(file.write_at(from, ByteView(zeros, length)));
    from += length;
  }
  return {};
}

}  // namespace

Segments::Segments(Env& env, std::string directory, std::uint64_t segment_bytes)
    : env_(env), directory_(std::move(directory)), segment_bytes_(segment_bytes) {}

std::string Segments::path_of(std::uint64_t position) const {
  return join_path(directory_, fmt::format("{:010}.seg", position / segment_bytes_ + 1));
}

Result<Segments::Mapped> Segments::mapped(std::uint64_t position, std::uint64_t need) {
  const std::uint64_t start = segment_start(position);
  const std::lock_guard<std::mutex> guard(mutex_);
  auto found = mappings_.find(start);
  if (found == mappings_.end()) {
    if (mappings_.size() >= kMaxMappings) mappings_.erase(mappings_.begin());
    WEFT_TRY(auto file, env_.fs.open(path_of(position), OpenMode::read));
    WEFT_TRY(auto mapping, file->map(segment_bytes_));
    WEFT_TRY(const std::uint64_t size, file->size());
    found = mappings_.emplace(start, Mapped{std::move(mapping), std::min(size, segment_bytes_)}).first;
  }
  if (found->second.file_size < need && !found->second.sealed) {  // it may have grown since
    WEFT_TRY(const auto status, env_.fs.status(path_of(position)));
    found->second.file_size = std::min(status.size, segment_bytes_);
  }
  return found->second;
}

Result<ByteView> Segments::view_of(const Result<Mapped>& found, std::uint64_t position, std::uint64_t end) {
  const std::uint64_t offset = position % segment_bytes_;
  // Also when the log stands exactly at this segment's end: then the next frame goes into the one behind it.
  const bool sealed = end >= segment_end(position);
  const std::uint64_t want = std::min(end, segment_end(position)) - segment_start(position);
  // A segment left early ends before its full size.
  const std::uint64_t stop = !found ? 0 : sealed ? found->file_size : std::min(want, found->file_size);
  if (position >= end || offset >= stop || (!sealed && stop < want)) {
    return damaged(fmt::format("{} ends before offset {}", path_of(position), sealed ? offset : want),
                   "run `weft verify` to see what is affected");
  }
  if (sealed && !found->sealed) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (const auto entry = mappings_.find(segment_start(position)); entry != mappings_.end())
      entry->second.sealed = true;
  }
  return found->mapping->bytes().substr(offset, stop - offset);
}

Result<ByteView> Segments::view_until(std::uint64_t position, std::uint64_t end, std::shared_ptr<Mapping>& keep) {
  const auto found = mapped(position, std::min(end, segment_end(position)) - segment_start(position));
  if (!found && found.error().code != Code::not_found) return found.error();
  WEFT_TRY(const ByteView view, view_of(found, position, end));
  keep = found->mapping;
  return view;
}

SegmentViews::~SegmentViews() {
  for (const auto& entry : entries_) delete entry.load(std::memory_order_relaxed);
}

Result<ByteView> SegmentViews::slow(std::uint64_t position, std::uint64_t end, std::shared_ptr<Mapping>& keep) const {
  const std::uint64_t number = position / segment_bytes_;
  const std::uint64_t start = number * segment_bytes_;
  const auto found = segments_.mapped(position, std::min(end, start + segment_bytes_) - start);
  if (!found && found.error().code != Code::not_found) return found.error();
  WEFT_TRY(const ByteView view, segments_.view_of(found, position, end));
  keep = found->mapping;
  if (generation_ != segments_.mapping_generation()) return view;
  auto& slot = entries_[number % kMaxEntries];
  const Entry* entry = slot.load(std::memory_order_acquire);
  if (entry == nullptr) {
    auto fresh = std::make_unique<Entry>();
    fresh->number = number;
    fresh->mapping = found->mapping;
    if (slot.compare_exchange_strong(entry, fresh.get(), std::memory_order_acq_rel)) entry = fresh.release();
  }
  // Of another mapping of the file nothing is taken over: sizes belong to what they were seen with.
  if (entry->number != number || entry->mapping != found->mapping) return view;
  std::uint64_t size = entry->file_size.load(std::memory_order_relaxed);
  while (size < found->file_size &&
         !entry->file_size.compare_exchange_weak(size, found->file_size, std::memory_order_relaxed)) {
  }
  if (end >= start + segment_bytes_) entry->sealed.store(true, std::memory_order_release);
  return view;
}

Result<ByteView> Segments::view_rest(std::uint64_t position, std::shared_ptr<Mapping>& keep) {
  const std::uint64_t offset = position % segment_bytes_;
  auto file = env_.fs.open(path_of(position), OpenMode::read);
  if (!file) {
    if (file.error().code == Code::not_found) return ByteView{};
    return std::move(file).error();
  }
  WEFT_TRY(keep, (*file)->map(segment_bytes_));
  WEFT_TRY(std::uint64_t size, (*file)->size());
  size = std::min(size, segment_bytes_);
  if (offset >= size) return ByteView{};
  return keep->bytes().substr(offset, size - offset);
}

bool Segments::has_writer(std::uint64_t position) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return writers_.contains(segment_start(position));
}

Result<File*> Segments::writer(std::uint64_t position) {
  const std::uint64_t start = segment_start(position);
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const auto found = writers_.find(start); found != writers_.end()) return found->second.get();
  WEFT_TRY(auto file, env_.fs.open(path_of(position), OpenMode::write));
  while (writers_.size() > 1) writers_.erase(writers_.begin());
  return writers_.emplace(start, std::move(file)).first->second.get();
}

Result<void> Segments::write_zeros(std::uint64_t from, std::uint64_t to, bool flushed) {
  WEFT_TRY(auto file, env_.fs.open(path_of(from), OpenMode::write));
  WEFT_DO(put_zeros(*file, from - segment_start(from), to - segment_start(from)));
  return flushed ? file->sync() : Result<void>();
}

Result<void> Segments::create(std::uint64_t start, std::uint64_t zeros) {
  WEFT_CHECK(start % segment_bytes_ == 0);
  const std::string path = path_of(start);
  WEFT_TRY(auto file, env_.fs.open(path, OpenMode::create));
  WEFT_TRY(const std::uint64_t size, file->size());
  // Over what a dead process may have left as well: nothing of this segment is accepted yet.
  WEFT_DO(put_zeros(*file, 0, std::max(std::min(zeros, segment_bytes_), size)));
  WEFT_DO(file->sync());
  return env_.fs.sync_directory(directory_);
}

Result<std::uint64_t> Segments::file_size(std::uint64_t position) {
  auto status = env_.fs.status(path_of(position));
  if (!status) {
    if (status.error().code == Code::not_found) return std::uint64_t{0};
    return std::move(status).error();
  }
  return std::min(status->size, segment_bytes_);
}

Result<LogPoint> Segments::walk(LogPoint from, std::uint64_t stop, std::uint64_t& frames,
                                const std::function<Result<void>(const Frame&)>& visit) {
  LogPoint end = from;
  std::uint64_t position = from.position;
  const auto chained_frame_at = [&](std::uint64_t at) -> Result<bool> {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, view_rest(at, keep));
    const auto frame = parse_frame(bytes, at);
    return frame && frame->header.previous == end.chain;
  };
  while (position < stop) {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(ByteView rest, view_rest(position, keep));
    const std::uint64_t segment_stop = segment_end(position);
    while (position < segment_stop && position < stop) {
      auto frame = parse_frame(rest, position);
      if (!frame || frame->header.previous != end.chain) {
        // Behind a batch lie zeros up to the next boundary: the log may go on there.
        const std::uint64_t padding = align_up(position, kBatchAlignment) - position;
        if (padding == 0 || padding >= rest.size() || position + padding >= stop) break;
        frame = parse_frame(rest.substr(padding), position + padding);
        if (!frame || frame->header.previous != end.chain) break;
        rest.remove_prefix(padding);
        position += padding;
      }
      if (frame->end() > segment_stop) break;
      if (visit) WEFT_DO(visit(*frame));
      ++frames;
      rest = rest.substr(std::min<std::uint64_t>(rest.size(), frame->end() - position));
      position = frame->end();
      end = LogPoint{position, frame->header.checksum};
    }
    if (position == segment_stop || position >= stop) continue;
    // Behind the last batch of a segment lie zeros up to its end: the log may go on in the next one.
    if (position % segment_bytes_ == 0) break;  // nothing in this segment at all
    WEFT_TRY(const bool goes_on, chained_frame_at(segment_stop));
    if (!goes_on) break;
    position = segment_stop;
  }
  return end;
}

Result<LogPoint> Segments::scan_durable(LogPoint from, std::uint64_t stop,
                                        const std::function<Result<void>(const Frame&)>& visit) {
  std::uint64_t frames = 0;
  WEFT_TRY(const LogPoint end, walk(from, stop, frames, visit));
  // What lies between the last frame and the stop can only be padding: the stop is a place where a frame begins.
  const bool complete = end.position >= stop || align_up(end.position, kBatchAlignment) >= stop ||
                        (stop % segment_bytes_ == 0 && segment_end(end.position) == stop);
  if (!complete) {
    return damaged(fmt::format("{} holds no whole transaction at position {}", path_of(end.position), end.position),
                   "run `weft verify` to see what is affected");
  }
  return end;
}

namespace {

/// The number in a segment's file name; nullopt for other files.
std::optional<std::uint64_t> segment_number(std::string_view name) {
  constexpr std::string_view kSuffix = ".seg";
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size() || number == 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::optional<LogPoint>> Segments::lowest() {
  WEFT_TRY(const auto entries, env_.fs.list(directory_));
  std::optional<std::uint64_t> lowest;
  for (const auto& entry : entries) {
    const auto number = segment_number(entry.name);
    if (number && *number < UINT64_MAX / segment_bytes_) lowest = std::min(lowest.value_or(*number), *number);
  }
  if (!lowest) return std::optional<LogPoint>();
  LogPoint point{(*lowest - 1) * segment_bytes_, 0};
  std::shared_ptr<Mapping> keep;
  WEFT_TRY(const ByteView bytes, view_rest(point.position, keep));
  if (const auto frame = parse_frame(bytes, point.position)) point.chain = frame->header.previous;
  return std::optional(point);
}

Result<std::uint64_t> Segments::remove_before(std::uint64_t start) {
  WEFT_CHECK(start % segment_bytes_ == 0);
  WEFT_TRY(const auto entries, env_.fs.list(directory_));
  std::vector<std::uint64_t> starts;
  for (const auto& entry : entries) {
    const auto number = segment_number(entry.name);
    if (number && *number <= start / segment_bytes_) starts.push_back((*number - 1) * segment_bytes_);
  }
  std::sort(starts.begin(), starts.end());
  std::uint64_t bytes = 0;
  for (const std::uint64_t each : starts) {
    WEFT_TRY(const std::uint64_t size, file_size(each));
    if (auto removed = env_.fs.unlink(path_of(each)); !removed && removed.error().code != Code::not_found) {
      return std::move(removed).error();
    }
    WEFT_DO(env_.fs.sync_directory(directory_));
    bytes += size;
    const std::lock_guard<std::mutex> guard(mutex_);
    mappings_.erase(each);
    writers_.erase(each);
  }
  return bytes;
}

Result<void> Segments::check_files(std::uint64_t first, std::uint64_t position) {
  for (std::uint64_t start = first; start < position; start += segment_bytes_) {
    WEFT_TRY(const std::uint64_t size, file_size(start));
    const std::uint64_t need = std::min(segment_bytes_, position - start);
    // A segment left early may end before its full size; then only its last frames prove what was there.
    const bool last = start + segment_bytes_ >= position;
    if (size == 0 || (last && size < need)) {
      return damaged(fmt::format("{} {}", path_of(start),
                                 size == 0 ? "is missing" : fmt::format("ends at {} of {} bytes", size, need)),
                     "run `weft verify`, then `weft repair --accept-loss`");
    }
  }
  return {};
}

Result<ScanResult> Segments::scan(LogPoint from, std::uint64_t known_durable,
                                  const std::function<Result<void>(const Frame&)>& visit) {
  ScanResult result;
  // Evidence that bytes were durable: the greatest such claim seen in any whole frame, and who made it.
  std::uint64_t durable_claim = known_durable;
  std::string claimed_by = "the index";
  WEFT_TRY(result.end, walk(from, UINT64_MAX, result.frames, visit));

  // Behind the end: whole frames of a broken chain may say that something before them was durable.
  std::uint64_t at = result.end.position;
  for (;;) {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView rest, view_rest(at, keep));
    const std::uint64_t segment = segment_start(at);
    WEFT_TRY(const std::uint64_t size, file_size(at));
    if (size > 0) result.files_end = segment + size;
    if (!all_zero(rest)) {
      std::uint64_t last = rest.size();
      while (last > 0 && rest[last - 1] == 0) --last;
      std::uint64_t first = 0;
      while (first < last && rest[first] == 0) ++first;
      result.torn_bytes += last - first;
      for (std::uint64_t probe = align_up(at + first / 8 * 8, 8); probe < at + last; probe += 8) {
        // Frames are 8-aligned; the magic is cheap to look for.
        const ByteView bytes = rest.substr(probe - at);
        const auto header = parse_header(bytes, probe);
        if (!header || header->durable <= durable_claim) continue;
        if (parse_frame(bytes, probe)) {
          durable_claim = header->durable;
          claimed_by = fmt::format("a whole frame at position {}", probe);
        }
      }
    }
    const std::uint64_t next = segment + segment_bytes_;
    WEFT_TRY(const std::uint64_t next_size, file_size(next));
    if (next_size == 0) break;
    at = next;
  }
  if (durable_claim > result.end.position) {
    // Batches end in padding: the claim is a boundary, the end the last frame's. Only a gap of more than padding is
    // loss.
    const std::uint64_t gap_start = align_up(result.end.position, kBatchAlignment);
    const bool only_padding = durable_claim <= gap_start;
    bool segment_tail = false;
    if (!only_padding && durable_claim == segment_end(result.end.position == 0 ? 0 : result.end.position - 1)) {
      segment_tail = true;  // a segment left early
    }
    if (!only_padding && !segment_tail) {
      result.damage =
          fmt::format("the log ends at position {} in {}, but {} shows that everything before position {} was durable",
                      result.end.position, path_of(result.end.position), claimed_by, durable_claim);
    }
  }
  return result;
}

Result<void> Segments::clear_behind(std::uint64_t from, std::uint64_t at_least) {
  const std::uint64_t segment = segment_start(from);
  const bool keeps_first = segment < from || segment == 0;
  if (keeps_first) {
    WEFT_TRY(const std::uint64_t size, file_size(from));
    if (size > 0) {
      WEFT_TRY(auto file, env_.fs.open(path_of(from), OpenMode::write));
      std::shared_ptr<Mapping> keep;
      WEFT_TRY(const ByteView rest, view_rest(from, keep));
      const std::uint64_t stop = all_zero(rest) ? std::min(size, from - segment + at_least) : size;
      WEFT_DO(put_zeros(*file, from - segment, stop));
      WEFT_DO(file->sync());
    }
  }
  // By name, not from one to the next: a crash in the middle of this may leave a gap.
  const std::string last_kept = base_name(path_of(keeps_first || from == 0 ? from : from - 1));
  bool removed = false;
  WEFT_TRY(const auto entries, env_.fs.list(directory_));
  for (const auto& entry : entries) {
    if (!entry.name.ends_with(".seg") || entry.name <= last_kept) continue;
    WEFT_DO(env_.fs.unlink(join_path(directory_, entry.name)));
    removed = true;
  }
  if (removed) {
    WEFT_DO(env_.fs.sync_directory(directory_));
    forget_mappings();
  }
  return {};
}

Result<void> Segments::flush_from(std::uint64_t position) {
  for (std::uint64_t at = position;; at = segment_start(at) + segment_bytes_) {
    auto file = env_.fs.open(path_of(at), OpenMode::write);
    if (!file) {
      if (file.error().code == Code::not_found) return {};
      return std::move(file).error();
    }
    WEFT_DO((*file)->sync());
  }
}

void Segments::forget_before(std::uint64_t start) {
  const std::lock_guard<std::mutex> guard(mutex_);
  mappings_.erase(mappings_.begin(), mappings_.lower_bound(start));
}

void Segments::forget_writers() {
  const std::lock_guard<std::mutex> guard(mutex_);
  writers_.clear();
}

void Segments::forget_mappings() {
  const std::lock_guard<std::mutex> guard(mutex_);
  mappings_.clear();
  generation_.fetch_add(1, std::memory_order_release);
  writers_.clear();
}

}  // namespace weft::log
