// Change lists: what `commit --changes` records without a working tree (FEATURES S12).
// Format: docs/JSON.md, "Change list".
//
// Invariants:
//   CL-1  Ops are applied in order on one tree in memory; the first that does not apply refuses the whole list,
//         by number.
//   CL-2  Names that no tree may hold are refused here (CASES C17), and so are names weft would never write out
//         (C18).
//   CL-3  Parsing is bounded by the limits below; nothing in a list but `file` is looked up outside the store.
// Threading: functions of bytes and objects.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "repo/repository.h"

namespace weft::repo {

inline constexpr std::uint64_t kMaxChangeListBytes = 64u << 20;
inline constexpr std::size_t kMaxChangeListOps = 100'000;
inline constexpr std::size_t kMaxChangeListValues = 2'000'000;
inline constexpr std::size_t kMaxChangeListDepth = 8;
inline constexpr std::size_t kMaxChangeListPathBytes = 64u << 10;

struct ChangeList {
  struct HostFile {
    std::string path;
    bool operator==(const HostFile&) const = default;
  };
  struct Write {
    std::string path;
    std::variant<Bytes, HostFile, ObjectId> content;  ///< the bytes, a file to read, or a blob the store has
    std::optional<std::uint32_t> mode;                ///< absent: as it is, 0644 for a new file
    bool symlink = false;                             ///< the content is a link's target
    bool operator==(const Write&) const = default;
  };
  struct Move {
    std::string from;
    std::string to;
    bool operator==(const Move&) const = default;
  };
  struct Delete {
    std::string path;
    bool operator==(const Delete&) const = default;
  };
  struct Mode {
    std::string path;
    std::uint32_t mode = 0;
    bool operator==(const Mode&) const = default;
  };
  using Op = std::variant<Write, Move, Delete, Mode>;
  std::vector<Op> ops;
};

/// invalid, naming the op and the key, for anything the format does not say.
Result<ChangeList> parse_change_list(ByteView json);

/// The tree that `list` makes of `root`; blobs and trees go into `transaction`. Relative host files are looked up from
/// the context's directory.
Result<ObjectId> apply_change_list(const Context& context, const ChangeList& list, store::Transaction& transaction,
                                   const ObjectId& root);
/// The same over any objects.
Result<ObjectId> apply_change_list(const Context& context, const ChangeList& list, const object::ObjectReader& reader,
                                   object::ObjectWriter& writer, const ObjectId& root);

}  // namespace weft::repo
