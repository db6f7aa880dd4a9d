// Byte strings, and bounded little-endian reading and writing of them.
//
// Bytes and ByteView are std::string and std::string_view: file contents, names and encodings are all just bytes.
// Varints are unsigned LEB128, at most 10 bytes, shortest form only (so that decode, encode, decode is equal).
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft {

using Bytes = std::string;
using ByteView = std::string_view;

/// Appends to a string it does not own.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& out) : out_(out) {}

  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u16(std::uint16_t value) { fixed(value); }
  void u32(std::uint32_t value) { fixed(value); }
  void u64(std::uint64_t value) { fixed(value); }
  void varint(std::uint64_t value);
  /// Zig-zag varint.
  void svarint(std::int64_t value) {
    varint((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  void raw(ByteView bytes) { out_.append(bytes); }
  /// Varint length, then the bytes.
  void sized(ByteView bytes) {
    varint(bytes.size());
    raw(bytes);
  }
  std::size_t size() const { return out_.size(); }

 private:
  template <typename T>
  void fixed(T value) {
    char buffer[sizeof(T)];
    std::memcpy(buffer, &value, sizeof(T));  // little-endian hosts only, checked in bytes.cc
    out_.append(buffer, sizeof(T));
  }
  Bytes& out_;
};

/// Reads from a view with every length checked. After the first failure every read fails and returns zeros: decode
/// everything, then ask ok() once.
class ByteReader {
 public:
  explicit ByteReader(ByteView data) : data_(data) {}

  std::uint8_t u8() { return fixed<std::uint8_t>(); }
  std::uint16_t u16() { return fixed<std::uint16_t>(); }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t varint();
  std::int64_t svarint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }
  /// A varint that must not exceed `max`; above it the reader fails.
  std::uint64_t varint_max(std::uint64_t max) {
    const std::uint64_t value = varint();
    if (value > max) fail();
    return ok_ ? value : 0;
  }
  ByteView raw(std::size_t length);
  /// Varint length at most `max`, then the bytes.
  ByteView sized(std::size_t max);
  ByteView rest() { return raw(remaining()); }

  bool ok() const { return ok_; }
  void fail() { ok_ = false; }
  bool at_end() const { return position_ == data_.size(); }
  std::size_t remaining() const { return data_.size() - position_; }
  std::size_t position() const { return position_; }

 private:
  template <typename T>
  T fixed() {
    T value{};
    const ByteView bytes = raw(sizeof(T));
    if (ok_) std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  ByteView data_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

/// Lower-case hex.
std::string to_hex(ByteView bytes);
/// Empty when `text` is not an even number of hex digits (both cases accepted).
std::optional<Bytes> from_hex(std::string_view text);
std::string to_base64(ByteView bytes);
std::optional<Bytes> from_base64(std::string_view text);
bool is_utf8(ByteView bytes);
/// A name fit for one line of a terminal: control characters (C1 and bidirectional overrides too), quotes, backslashes
/// and what is not UTF-8 escaped in C style, the whole in double quotes, as git does; other names unchanged.
std::string quoted(ByteView name);

}  // namespace weft
