#include "object/chunker.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace weft::object {
namespace {

/// Bytes that decide about a boundary: the gear hash shifts everything older out.
constexpr std::size_t kGearBytes = 64;
/// How much stricter the mask is before the wanted size, and how much laxer behind it ("normalised chunking", level 2).
constexpr unsigned kNormalBits = 2;
/// What is looked at for one chunk, and once more, so that little has to be moved.
constexpr std::size_t kReadAhead = 1u << 20;

/// splitmix64 from the bytes "weftgear": 256 numbers nobody chose.
constexpr std::array<std::uint64_t, 256> make_gear() {
  std::array<std::uint64_t, 256> gear{};
  std::uint64_t state = 0x7765667467656172;
  for (auto& value : gear) {
    state += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    value = mixed ^ (mixed >> 31);
  }
  return gear;
}
constexpr std::array<std::uint64_t, 256> kGear = make_gear();

/// The uppermost bits: those that all of the last 64 bytes have reached.
constexpr std::uint64_t mask_of(unsigned bits) { return ~std::uint64_t{0} << (64 - bits); }

std::size_t leading_zeros(ByteView bytes) {
  if (bytes.empty() || bytes[0] != 0) return 0;
  // Whole blocks compared with themselves one byte further: as fast as memory.
  constexpr std::size_t kBlock = 4096;
  std::size_t at = 0;
  while (at + kBlock + 1 <= bytes.size() && std::memcmp(bytes.data() + at, bytes.data() + at + 1, kBlock) == 0) {
    at += kBlock;
  }
  while (at < bytes.size() && bytes[at] == 0) ++at;
  return at;
}

/// Where the first run of at least kMinZeroRun zeros begins, `behind` more of them standing behind the bytes; the size
/// of the bytes where there is none.
std::size_t first_zero_run(ByteView bytes, std::uint64_t behind) {
  // Every such run within the bytes covers just one of these places: looking there is looking everywhere.
  for (std::size_t probe = kMinZeroRun - 1; probe < bytes.size(); probe += kMinZeroRun) {
    if (bytes[probe] != 0) continue;
    std::size_t start = probe;
    while (start > 0 && bytes[start - 1] == 0) --start;
    const std::size_t after = probe + leading_zeros(bytes.substr(probe));
    const std::uint64_t length = after - start + (after == bytes.size() ? behind : 0);
    if (length >= kMinZeroRun) return start;
  }
  if (behind == 0) return bytes.size();
  std::size_t start = bytes.size();
  while (start > 0 && bytes[start - 1] == 0) --start;
  return bytes.size() - start + behind >= kMinZeroRun ? start : bytes.size();
}

}  // namespace

std::size_t chunk_length(ByteView window, const ChunkSizes& sizes) {
  if (window.size() <= sizes.least) return window.size();
  const std::size_t stop = std::min(window.size(), sizes.most);
  const std::size_t wanted = std::min(stop, std::size_t{1} << sizes.wanted_bits);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(window.data());
  std::uint64_t hash = 0;
  std::size_t at = sizes.least > kGearBytes ? sizes.least - kGearBytes : 0;
  for (; at < sizes.least; ++at) hash = (hash << 1) + kGear[bytes[at]];
  const std::uint64_t strict = mask_of(sizes.wanted_bits + kNormalBits);
  for (; at < wanted; ++at) {
    hash = (hash << 1) + kGear[bytes[at]];
    if ((hash & strict) == 0) return at + 1;
  }
  const std::uint64_t lax = mask_of(sizes.wanted_bits - kNormalBits);
  for (; at < stop; ++at) {
    hash = (hash << 1) + kGear[bytes[at]];
    if ((hash & lax) == 0) return at + 1;
  }
  return stop;
}

Chunker::Chunker(ByteSource& source, const ChunkSizes& sizes) : source_(source), sizes_(sizes) {
  WEFT_CHECK(sizes.least >= kGearBytes && sizes.most + kMinZeroRun <= kReadAhead);
}

/// Until the next chunk can be judged: its greatest length and a run of zeros behind it, or whatever ends before that.
Result<void> Chunker::fill() {
  const std::size_t need = sizes_.most + kMinZeroRun;
  while (end_ - begin_ < need && zeros_ == 0 && !at_end_) {
    if (buffer_.empty()) buffer_.resize(2 * kReadAhead);
    if (buffer_.size() - begin_ < need) {
      std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
      end_ -= begin_;
      begin_ = 0;
    }
    WEFT_TRY(const std::uint64_t known, source_.zeros());
    if (known >= kMinZeroRun) {
      WEFT_TRY(zeros_, source_.skip(known));
      at_end_ = zeros_ == 0;
      continue;
    }
    WEFT_TRY(const std::size_t got,
             source_.read(std::span(buffer_).subspan(end_, std::min(kReadAhead, buffer_.size() - end_))));
    end_ += got;
    at_end_ = got == 0;
  }
  return {};
}

/// All zeros that come next, when there are enough of them; else none.
Result<std::uint64_t> Chunker::take_zeros() {
  std::uint64_t run = 0;
  for (;;) {
    const std::size_t here = leading_zeros(window());
    const bool goes_on = here == end_ - begin_;
    if (run == 0 && here + (goes_on ? zeros_ : 0) < kMinZeroRun) return run;
    run += here;
    begin_ += here;
    if (!goes_on) return run;
    begin_ = end_ = 0;
    run += std::exchange(zeros_, 0);
    if (at_end_) return run;
    WEFT_DO(fill());
  }
}

Result<std::optional<Chunker::Piece>> Chunker::next() {
  WEFT_DO(fill());
  if (begin_ == end_ && zeros_ == 0) return std::optional<Piece>{};
  WEFT_TRY(const std::uint64_t run, take_zeros());
  if (run > 0) return std::optional(Piece{run, {}});
  const ByteView all = window();
  const ByteView judged = all.substr(0, sizes_.most + kMinZeroRun);
  const ByteView bytes = judged.substr(0, first_zero_run(judged, judged.size() == all.size() ? zeros_ : 0));
  const std::size_t length = chunk_length(bytes, sizes_);
  begin_ += length;
  return std::optional(Piece{length, bytes.substr(0, length)});
}

}  // namespace weft::object
