// Which names no file may have, and which names are never written out to a working tree (tree.h; CASES C17, C18).
#include <array>

#include "object/tree.h"

namespace weft::object {

namespace {

/// The code points HFS+ leaves out when it compares names, as UTF-8: U+200C..200F, U+202A..202E, U+206A..206F, U+FEFF.
std::size_t ignorable_length(ByteView text) {
  if (text.size() < 3) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (byte(0) == 0xef) return byte(1) == 0xbb && byte(2) == 0xbf ? 3 : 0;
  if (byte(0) != 0xe2) return 0;
  const auto within = [&](std::uint8_t low, std::uint8_t high) { return byte(2) >= low && byte(2) <= high; };
  if (byte(1) == 0x80) return within(0x8c, 0x8f) || within(0xaa, 0xae) ? 3 : 0;
  return byte(1) == 0x81 && within(0xaa, 0xaf) ? 3 : 0;
}

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// `word~1` to `word~9`: how NTFS and FAT name a long `.word` shortly. (`word~1f3a09c2`, a conflict's name, is
/// another.)
bool is_short_name_of(std::string_view word, std::string_view name) {
  return name.size() == word.size() + 2 && name.starts_with(word) && name[word.size()] == '~' && name.back() >= '1' &&
         name.back() <= '9';
}

}  // namespace

std::string_view name_problem(ByteView name) {
  if (name.empty()) return "is empty";
  if (name == ".") return "is '.'";
  if (name == "..") return "is '..'";
  if (name.size() > kMaxNameBytes) return "is longer than 255 bytes";
  if (name.find('/') != ByteView::npos) return "contains '/'";
  if (name.find('\0') != ByteView::npos) return "contains a NUL byte";
  return {};
}

bool name_is_reserved(ByteView name) {
  // What the most forgiving file system would see: ignorable code points gone, ASCII letters lower, everything from an
  // NTFS stream suffix or a Windows separator on cut, trailing dots and spaces stripped. Nothing longer than the buffer
  // before the cut can be reserved, apart from trailing dots and spaces, which are not stored.
  std::array<char, 8> folded{};
  std::size_t length = 0;
  std::size_t trailing = 0;  // dots and spaces seen since the last other byte
  while (!name.empty()) {
    if (const std::size_t skipped = ignorable_length(name); skipped != 0) {
      name.remove_prefix(skipped);
      continue;
    }
    const char c = lower(name.front());
    name.remove_prefix(1);
    if (c == ':' || c == '\\') break;
    const bool strippable = (c == '.' || c == ' ') && length > 0;
    if (strippable) {
      ++trailing;
      continue;
    }
    if (trailing > 0 || length == folded.size()) return false;  // the names in question hold no inner dot or space
    folded[length++] = c;
  }
  const std::string_view seen(folded.data(), length);
  return seen == ".git" || seen == ".weft" || is_short_name_of("git", seen) || is_short_name_of("weft", seen);
}

std::string_view name(EntryKind kind) {
  switch (kind) {
    case EntryKind::file:
      return "file";
    case EntryKind::directory:
      return "directory";
    case EntryKind::symlink:
      return "symlink";
    case EntryKind::submodule:
      return "submodule";
  }
  return "unknown kind";
}

}  // namespace weft::object
