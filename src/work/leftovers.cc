#include "work/leftovers.h"

#include <algorithm>
#include <vector>

#include "work/dir_cursor.h"
#include "work/scan.h"

namespace weft::work {

namespace {
constexpr std::string_view kPrefix = ".weft-";
constexpr std::size_t kDigits = 8;
}  // namespace

TemporaryNames::TemporaryNames(Random& random) {
  std::uint32_t start = 0;
  random.fill({reinterpret_cast<char*>(&start), sizeof(start)});
  number_ = start;
}

std::string TemporaryNames::next() {
  constexpr std::string_view kHex = "0123456789abcdef";
  const std::uint32_t number = number_.fetch_add(1, std::memory_order_relaxed);
  std::string name(kPrefix);
  for (std::size_t digit = kDigits; digit-- > 0;) name += kHex[(number >> (4 * digit)) & 0xf];
  return name;
}

Result<void> remove_leftover(const HostDir& directory, std::string_view name, FileKind kind) {
  const auto unless_missing = [](Result<void> removed) -> Result<void> {
    if (!removed && is_missing(removed.error())) return {};
    return removed;
  };
  if (kind != FileKind::directory) return unless_missing(directory.remove_file(name));
  const auto inside = directory.open_dir(name);
  if (!inside) return unless_missing(inside.error());
  WEFT_TRY(const auto listing, inside->list());
  for (const DirectoryEntry& entry : listing) WEFT_DO(unless_missing(inside->remove_file(entry.name)));
  return unless_missing(directory.remove_dir(name));
}

std::uint64_t sweep_leftovers(const HostDir& root) {
  std::uint64_t swept = 0;
  DirCursor cursor(root);
  std::vector<std::string> open{""};
  while (!open.empty()) {
    const std::string path = std::move(open.back());
    open.pop_back();
    const auto directory = cursor.at(path);
    if (!directory) continue;
    const auto listing = (*directory)->list();
    if (!listing) continue;
    const bool nested = !path.empty() && std::any_of(listing->begin(), listing->end(), [](const DirectoryEntry& entry) {
      return entry.name == ".git" || entry.name == ".weft";
    });
    if (nested) continue;
    for (const DirectoryEntry& entry : *listing) {
      if (is_temporary_name(entry.name)) {
        if (remove_leftover(**directory, entry.name, entry.kind)) ++swept;
      } else if (entry.kind == FileKind::directory && entry.name != ".git" && entry.name != ".weft") {
        open.push_back(child_path(path, entry.name));
      }
    }
  }
  return swept;
}

}  // namespace weft::work
