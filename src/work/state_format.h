// The bytes of a directory state and its delta: offsets shared by what reads them and what writes them.
//
// Threading: constants and pure functions.
// Format: docs/FORMATS.md, "Directory state".
#pragma once

#include <cstdint>
#include <cstring>

#include "base/bytes.h"

namespace weft::work {

inline constexpr ByteView kBaseMagic = "weft-dir";
inline constexpr ByteView kDeltaMagic = "weft-ddl";
inline constexpr std::size_t kChecksumOffset = 16;
inline constexpr std::size_t kCheckedOffset = 24;  ///< the checksum covers everything from here
inline constexpr std::size_t kHeaderBytes = 104;
inline constexpr std::size_t kDeltaHeaderBytes = 96;
inline constexpr std::size_t kEntryBytes = 104;
inline constexpr std::size_t kDeltaEntryBytes = kEntryBytes + 8;
inline constexpr std::uint32_t kRootExactFlag = 1;  ///< in either header

// Offsets in an entry.
inline constexpr std::size_t kNode = 0, kId = 16, kSize = 48, kMtime = 56, kCtime = 64, kInode = 72, kPathOffset = 80,
                             kPathLength = 88, kEnd = 92, kMode = 96, kKind = 100, kFlags = 101, kTreeMode = 102;
inline constexpr std::uint8_t kRacyFlag = 1, kInTreeFlag = 2, kExactFlag = 4;
// Behind it, in a delta.
inline constexpr std::size_t kDeltaPlace = kEntryBytes, kDeltaWhat = kEntryBytes + 4;
enum class DeltaKind : std::uint32_t { replace = 1, insert = 2, remove = 3 };

template <typename T>
T load_at(ByteView bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace weft::work
