#include "cli/patch_sides.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::cli {

using object::EntryKind;
using tree::Difference;

bool is_directory(const Difference& difference) {
  return (difference.after ? difference.after : difference.before)->entry.kind == EntryKind::directory;
}

bool kind_changed(const Difference& difference) {
  return difference.before && difference.after && difference.before->entry.kind != difference.after->entry.kind;
}

const std::string& path_of(const Difference& difference) {
  return (difference.after ? difference.after : difference.before)->path;
}

std::string git_mode(const object::TreeEntry& entry) {
  switch (entry.kind) {
    case EntryKind::symlink:
      return "120000";
    case EntryKind::submodule:
      return "160000";
    case EntryKind::directory:
      return "040000";
    case EntryKind::file:
      break;
  }
  return fmt::format("100{:03o}", entry.mode & 0777);
}

namespace {

Result<Side> read_side(const object::ObjectReader& reader, const std::optional<tree::PathEntry>& at) {
  Side side;
  if (!at || at->entry.kind == EntryKind::directory) return side;
  if (at->entry.size > text::kMaxTextBytes) {
    side.text = false;
    return side;
  }
  WEFT_TRY(side.content, reader.read(object::ObjectKind::blob, at->entry.id));
  if (at->entry.kind == EntryKind::submodule) side.content = "Subproject commit " + side.content + "\n";
  side.text = text::is_text(side.content);
  return side;
}

}  // namespace

Result<Sides> read_sides(const object::ObjectReader& reader, const Difference& difference) {
  Sides sides;
  sides.same = difference.before && difference.after && !difference.content_changed() && !kind_changed(difference);
  if (sides.same) return sides;  // nothing to read: only its name or mode differs
  WEFT_TRY(sides.before, read_side(reader, difference.before));
  WEFT_TRY(sides.after, read_side(reader, difference.after));
  sides.binary = !sides.before.text || !sides.after.text;
  return sides;
}

std::string rename_text(const std::string& from, const std::string& to) {
  if (quoted(from) != from || quoted(to) != to) return quoted(from) + " => " + quoted(to);
  const std::size_t shorter = std::min(from.size(), to.size());
  std::size_t head = 0;
  for (std::size_t at = 0; at < shorter && from[at] == to[at]; ++at) {
    if (from[at] == '/') head = at + 1;
  }
  // What ends both may begin at the slash the head ended with: a/b/c -> a/c is a/{b => }/c.
  const std::size_t room = shorter - (head > 0 ? head - 1 : 0);
  std::size_t tail = 0;
  for (std::size_t at = 1; at <= room && from[from.size() - at] == to[to.size() - at]; ++at) {
    if (from[from.size() - at] == '/') tail = at;
  }
  if (head == 0 && tail == 0) return from + " => " + to;
  const auto middle = [&](const std::string& path) {
    return path.size() > head + tail ? path.substr(head, path.size() - head - tail) : std::string();
  };
  return fmt::format("{}{{{} => {}}}{}", from.substr(0, head), middle(from), middle(to), to.substr(to.size() - tail));
}

}  // namespace weft::cli
