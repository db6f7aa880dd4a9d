// Identifiers: fixed-size byte strings that print as hex. Types keep the different kinds apart.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/bytes.h"

namespace weft {

template <typename Tag, std::size_t N>
struct Id {
  static constexpr std::size_t kSize = N;
  std::array<std::uint8_t, N> bytes{};

  auto operator<=>(const Id&) const = default;
  bool is_zero() const {
    return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t b) { return b == 0; });
  }
  ByteView view() const { return {reinterpret_cast<const char*>(bytes.data()), N}; }
  std::string hex() const { return to_hex(view()); }

  /// WEFT_CHECKs the length: for bytes whose length is already known.
  static Id from_bytes(ByteView raw) {
    WEFT_CHECK(raw.size() == N);
    Id id;
    std::memcpy(id.bytes.data(), raw.data(), N);
    return id;
  }
  static std::optional<Id> parse(std::string_view hex_digits) {
    if (hex_digits.size() != 2 * N) return std::nullopt;
    const auto raw = from_hex(hex_digits);
    if (!raw) return std::nullopt;
    return from_bytes(*raw);
  }
};

/// SHA-256 of an object: a blob's raw content; a tree's or a change's encoding.
using ObjectId = Id<struct ObjectTag, 32>;
using ChangeId = ObjectId;
/// Hash of what a change does (DESIGN 5, "Delta id").
using DeltaId = Id<struct DeltaTag, 32>;
/// Identity of a file, directory or symlink; the root's is zero.
using NodeId = Id<struct NodeTag, 16>;
/// One frame's transaction; also the id of the operation it carries.
using TransactionId = Id<struct TransactionTag, 16>;
using StoreId = Id<struct StoreTag, 16>;
using ReplicaId = Id<struct ReplicaTag, 16>;

/// For unordered containers: ids are hashes or random, so their first bytes will do.
struct IdHash {
  template <typename Tag, std::size_t N>
  std::size_t operator()(const Id<Tag, N>& id) const {
    std::size_t value = 0;
    std::memcpy(&value, id.bytes.data(), sizeof(value));
    return value;
  }
};

template <typename IdType>
IdType read_id(ByteReader& reader) {
  const ByteView raw = reader.raw(IdType::kSize);
  return reader.ok() ? IdType::from_bytes(raw) : IdType{};
}

}  // namespace weft
