// Byte sources over memory, and reading a source to its end.
//
// Threading: values of one thread.
#pragma once

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "object/object.h"

namespace weft::object {

/// Over bytes that outlive it.
class ViewSource final : public ByteSource {
 public:
  explicit ViewSource(ByteView bytes) : left_(bytes) {}
  Result<std::size_t> read(std::span<char> out) override {
    const std::size_t taken = std::min(out.size(), left_.size());
    std::copy_n(left_.data(), taken, out.data());
    left_.remove_prefix(taken);
    return taken;
  }

 private:
  ByteView left_;
};

/// Over bytes of its own.
class OwnedSource final : public ByteSource {
 public:
  explicit OwnedSource(Bytes bytes) : bytes_(std::move(bytes)), view_(bytes_) {}
  OwnedSource(const OwnedSource&) = delete;
  OwnedSource& operator=(const OwnedSource&) = delete;
  Result<std::size_t> read(std::span<char> out) override { return view_.read(out); }

 private:
  Bytes bytes_;
  ViewSource view_;
};

/// Fills `out` as far as the source goes; fewer bytes than asked for only at its end.
Result<std::size_t> read_fully(ByteSource& source, std::span<char> out);
/// All of it; Code::invalid when there is more than `max_bytes`.
Result<Bytes> read_all(ByteSource& source, std::uint64_t max_bytes);

/// As hash.update() with so many zero bytes.
void hash_zeros(Sha256& hash, std::uint64_t count);

}  // namespace weft::object
