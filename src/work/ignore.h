// Ignore rules: which untracked paths are left alone. Pure: pattern bytes in, verdicts out.
//
// The syntax and its meaning are git's (gitignore(5), dir.c); `.weftignore` has the same. For one path the sources are
// asked in this order, and the first in which some pattern matches decides, by its last matching pattern:
//   1. the ignore files of the path's own directory, then of each directory above, up to the top; of one directory
//      first `.weftignore`, then `.gitignore` (as if the former stood behind the latter in one file);
//   2. `.git/info/exclude`;
//   3. the global patterns (core.excludesFile).
// Invariants:
//   I1  Everything below an ignored directory is ignored: nothing there can be re-included.
//   I2  No rule ever concerns a tracked path: callers ask about untracked ones only.
// Threading: immutable values; a level may be asked and built upon by many threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace weft::work {

/// A longer ignore file is not read (the caller warns).
inline constexpr std::uint64_t kMaxIgnoreFileBytes = 16u << 20;
/// A longer pattern matches nothing: whatever path a system accepts can be written shorter, with every byte escaped.
inline constexpr std::size_t kMaxPatternBytes = 8192;

struct IgnorePattern {
  std::string text;  ///< without `!` and the final '/'
  std::size_t literal_prefix = 0;
  std::size_t line = 0;  ///< from 1
  bool negative = false;
  bool directories_only = false;
  bool base_name = false;    ///< no '/' inside: matched against the last component
  bool literal_end = false;  ///< `*` and then only literal bytes
};

/// The patterns of one file.
class PatternList {
 public:
  PatternList() = default;
  /// `fold_case`: git's core.ignoreCase.
  static PatternList parse(ByteView file, bool fold_case = false);

  /// The last pattern that matches `path`, which is relative to the directory the file lies in; null when none does.
  const IgnorePattern* last_match(ByteView path, bool is_directory) const;
  bool empty() const { return patterns_.empty(); }

 private:
  bool matches(const IgnorePattern& pattern, ByteView path, ByteView name) const;

  std::vector<IgnorePattern> patterns_;
  /// Plain names are most of what such files hold, and are looked up rather than tried one by one: indexes of their
  /// patterns, by text, then index.
  std::vector<std::uint32_t> names_;
  std::vector<std::uint32_t> others_;  ///< indexes of all the rest
  bool fold_case_ = false;
};

/// The rules in force in one directory: its own files, and everything they are asked before.
class IgnoreLevel {
 public:
  using Pointer = std::shared_ptr<const IgnoreLevel>;

  /// What is asked last; below it the level of the top directory. `exclude` is `.git/info/exclude`. `fold_case` holds
  /// for every level on top as well.
  static Pointer base(const std::optional<Bytes>& global_patterns, const std::optional<Bytes>& exclude,
                      bool fold_case = false);
  /// The level of `directory` ("" for the top), above which `parent` is in force. Without files that is `parent`
  /// itself.
  static Pointer enter(Pointer parent, std::string_view directory, const std::optional<Bytes>& gitignore,
                       const std::optional<Bytes>& weftignore);

  /// The pattern that decides about `path` (a path from the top, in this level's directory or below), or null.
  /// Directories above it are not looked at (I1 is the walk's: it does not enter ignored directories).
  const IgnorePattern* decide(ByteView path, bool is_directory) const;
  bool ignores(ByteView path, bool is_directory) const {
    const IgnorePattern* pattern = decide(path, is_directory);
    return pattern != nullptr && !pattern->negative;
  }

 private:
  Pointer parent_;
  std::string prefix_;  ///< of the directory, with '/' behind; "" at the top
  PatternList first_;   ///< `.weftignore`, or `.git/info/exclude`
  PatternList second_;  ///< `.gitignore`, or the global patterns
  bool fold_case_ = false;
};

}  // namespace weft::work
