#include "object/byte_source.h"

#include <fmt/format.h>

namespace weft::object {

Result<std::size_t> read_fully(ByteSource& source, std::span<char> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    WEFT_TRY(const std::size_t got, source.read(out.subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

Result<Bytes> read_all(ByteSource& source, std::uint64_t max_bytes) {
  constexpr std::size_t kStep = 64u << 10;
  Bytes all;
  for (;;) {
    const std::size_t before = all.size();
    all.resize(before + kStep);
    WEFT_TRY(const std::size_t got, read_fully(source, std::span(all).subspan(before)));
    all.resize(before + got);
    if (all.size() > max_bytes) {
      return make_error(Code::invalid, fmt::format("content is larger than the {} bytes allowed here", max_bytes));
    }
    if (got < kStep) return all;
  }
}

void hash_zeros(Sha256& hash, std::uint64_t count) {
  static constexpr char kZeros[16u << 10] = {};
  while (count > 0) {
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(count, sizeof(kZeros)));
    hash.update(ByteView(kZeros, step));
    count -= step;
  }
}

}  // namespace weft::object
