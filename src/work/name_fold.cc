#include "work/name_fold.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "tree/tree.h"
#include "work/dir_cursor.h"
#include "work/scan.h"

namespace weft::work {
namespace {

struct Decomposition {
  char32_t from, first, second;  ///< second: 0 for none
};
struct Fold {
  char32_t from, to;
};
struct Combining {
  char32_t first, last;
  unsigned char value;
};

#include "work/name_fold_tables.inc"

template <typename Row, std::size_t kSize>
const Row* find_row(const Row (&table)[kSize], char32_t point) {
  const auto at = std::lower_bound(std::begin(table), std::end(table), point,
                                   [](const Row& row, char32_t wanted) { return row.from < wanted; });
  return at != std::end(table) && at->from == point ? at : nullptr;
}

unsigned char combining_class(char32_t point) {
  const auto at = std::lower_bound(std::begin(kCombining), std::end(kCombining), point,
                                   [](const Combining& row, char32_t wanted) { return row.last < wanted; });
  return at != std::end(kCombining) && at->first <= point ? at->value : 0;
}

/// Hangul syllables decompose by arithmetic (Unicode, 3.12).
constexpr char32_t kHangulFirst = 0xAC00, kHangulLast = 0xD7A3;
constexpr char32_t kLeadFirst = 0x1100, kVowelFirst = 0x1161, kTailFirst = 0x11A7;
constexpr char32_t kVowels = 21, kTails = 28;

void decompose(char32_t point, std::u32string& out) {
  if (point >= kHangulFirst && point <= kHangulLast) {
    const char32_t index = point - kHangulFirst;
    out += kLeadFirst + index / (kVowels * kTails);
    out += kVowelFirst + index % (kVowels * kTails) / kTails;
    if (index % kTails != 0) out += kTailFirst + index % kTails;
    return;
  }
  // Decompositions nest, each strictly smaller: the first part may have one, the second never.
  if (const Decomposition* row = find_row(kDecompositions, point)) {
    decompose(row->first, out);
    if (row->second != 0) out += row->second;
    return;
  }
  out += point;
}

/// The code points of UTF-8 text; empty where it is none.
std::u32string decode(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t length = byte < 0x80 ? 1 : byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC2 ? 2 : 0;
    if (length == 0 || at + length > text.size()) return {};
    char32_t point = length == 1 ? byte : byte & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
      const auto next = static_cast<unsigned char>(text[at + i]);
      if ((next & 0xC0) != 0x80) return {};
      point = point << 6 | (next & 0x3Fu);
    }
    out += point;
    at += length;
  }
  return out;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

}  // namespace

std::string folded_name(std::string_view name) {
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const std::u32string points = ascii ? std::u32string() : decode(name);
  if (points.empty()) return lowered(name);
  std::u32string folded;
  for (const char32_t point : points) {
    std::u32string parts;
    decompose(point, parts);
    for (char32_t part : parts) {
      if (part >= 'A' && part <= 'Z') part += 'a' - 'A';
      if (const Fold* row = find_row(kFolds, part)) part = row->to;
      decompose(part, folded);
    }
  }
  // Canonical ordering: runs of marks by their class.
  for (auto at = folded.begin(); at != folded.end();) {
    if (combining_class(*at) == 0) {
      ++at;
      continue;
    }
    const auto end = std::find_if(at, folded.end(), [](char32_t point) { return combining_class(point) == 0; });
    std::stable_sort(at, end, [](char32_t a, char32_t b) { return combining_class(a) < combining_class(b); });
    at = end;
  }
  // As bytes, marked so that it is like no name that is folded otherwise.
  std::string out(1, '\0');
  for (const char32_t point : folded) {
    for (int shift = 16; shift >= 0; shift -= 8) out += static_cast<char>(point >> shift & 0xFF);
  }
  return out;
}

Result<std::vector<Warning>> find_lookalikes(const object::ObjectReader& reader, const ObjectId& tree,
                                             const Status& status) {
  std::map<std::string, std::set<std::string>, std::less<>> fresh;  // directory -> new names in it
  for (const StatusEntry& entry : status.entries) {
    if (entry.change != Change::added && entry.change != Change::moved) continue;
    // The directories above may be new as well, and have no entry of their own.
    for (std::string_view path = entry.path; !path.empty(); path = parent_of(path)) {
      if (!fresh[std::string(parent_of(path))].emplace(name_of(path)).second) break;
    }
  }
  std::vector<Warning> out;
  for (const auto& [directory, names] : fresh) {
    WEFT_TRY(const auto found, tree::find_path(reader, tree, directory));
    if (!found || found->kind != object::EntryKind::directory) continue;
    WEFT_TRY(const auto entries, tree_entries(reader, found->id));
    std::unordered_map<std::string, std::string_view> seen;
    for (const object::TreeEntry& entry : entries) {
      const auto [other, is_first] = seen.emplace(folded_name(entry.name), entry.name);
      if (is_first) continue;
      const bool is_new = names.contains(entry.name);
      if (!is_new && !names.contains(std::string(other->second))) continue;
      const std::string_view shown = is_new ? std::string_view(entry.name) : other->second;
      const std::string_view beside = is_new ? other->second : std::string_view(entry.name);
      out.push_back({child_path(directory, shown), "differs from " + quoted(child_path(directory, beside)) +
                                                       " only in case or in how letters are encoded: systems that do "
                                                       "not tell these apart cannot hold both"});
    }
  }
  return out;
}

}  // namespace weft::work
