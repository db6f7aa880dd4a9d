#include "store/losses.h"

#include <fmt/format.h>

namespace weft::store {
namespace {

constexpr std::string_view kFirstLine = "weft lost 1\n";
constexpr std::uint64_t kMaxBytes = std::uint64_t{512} << 20;

}  // namespace

Bytes encode_losses(const std::set<ObjectName>& losses) {
  Bytes bytes(kFirstLine);
  for (const auto& loss : losses) bytes += fmt::format("{} {}\n", object::name(loss.kind), loss.id.hex());
  return bytes;
}

Result<std::set<ObjectName>> decode_losses(ByteView bytes) {
  const auto malformed = [] {
    return damaged("the list of objects that were given up is malformed",
                   "remove the file `lost` from the store; `weft verify --deep` lists again what is missing");
  };
  if (!bytes.starts_with(kFirstLine)) return malformed();
  bytes.remove_prefix(kFirstLine.size());
  std::set<ObjectName> losses;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == ByteView::npos) return malformed();
    const ByteView line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    ObjectName loss;
    bool found = false;
    for (const ObjectKind kind : {ObjectKind::blob, ObjectKind::tree, ObjectKind::change}) {
      const std::string prefix = fmt::format("{} ", object::name(kind));
      if (!line.starts_with(prefix)) continue;
      const auto id = ObjectId::parse(line.substr(prefix.size()));
      if (!id || id->hex() != line.substr(prefix.size())) return malformed();
      loss = {kind, *id};
      found = true;
    }
    if (!found || (!losses.empty() && !(*losses.rbegin() < loss))) return malformed();
    losses.insert(losses.end(), loss);
  }
  return losses;
}

Result<std::set<ObjectName>> read_losses(FileSystem& fs, const std::string& directory) {
  const auto bytes = read_file(fs, join_path(directory, kLossesName), kMaxBytes);
  if (!bytes) {
    if (bytes.error().code == Code::not_found) return std::set<ObjectName>{};
    return bytes.error();
  }
  return decode_losses(*bytes);
}

Result<void> write_losses(FileSystem& fs, const std::string& directory, const std::set<ObjectName>& losses) {
  const std::string path = join_path(directory, kLossesName);
  if (!losses.empty()) return write_file_durably(fs, path, encode_losses(losses));
  auto removed = fs.unlink(path);
  if (!removed && removed.error().code != Code::not_found) return removed;
  return fs.sync_directory(directory);
}

}  // namespace weft::store
