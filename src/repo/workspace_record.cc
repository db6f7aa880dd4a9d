// Encodings of what registers a workspace: the ref's `extra`, and the `.weft` file in its directory.
//
// Both are read back from places others can write (a synced ref, a file in a directory), so every length has a limit
// and whatever could not have been written is refused. Format: docs/FORMATS.md, "Workspace".
#include "repo/repository.h"

namespace weft::repo {

namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::size_t kMaxHostPathBytes = 4096;
constexpr std::size_t kMaxRefNameBytes = 200;
constexpr std::size_t kMaxWorkspaceNameBytes = 100;  // fits a file name beside a suffix, and a ref beside a prefix
constexpr std::string_view kWorkspaceFileHead = "weft workspace 1\n";

bool host_path_is_sound(ByteView path) {
  return path.size() <= kMaxHostPathBytes && path.starts_with('/') && path.find('\0') == ByteView::npos;
}

/// Takes "KEY: VALUE\n" off the front.
std::optional<ByteView> take_line(ByteView& rest, std::string_view key) {
  if (!rest.starts_with(key)) return std::nullopt;
  const std::size_t end = rest.find('\n');
  if (end == ByteView::npos) return std::nullopt;
  const ByteView value = rest.substr(key.size(), end - key.size());
  rest.remove_prefix(end + 1);
  return value;
}

}  // namespace

Bytes encode_workspace(const WorkspaceRecord& record) {
  Bytes out;
  ByteWriter writer(out);
  writer.u8(kRecordVersion);
  writer.sized(record.path);
  writer.sized(record.follow);
  return out;
}

Result<WorkspaceRecord> decode_workspace(ByteView bytes) {
  ByteReader reader(bytes);
  const std::uint8_t version = reader.u8();
  if (reader.ok() && version != kRecordVersion) {
    return make_error(Code::unsupported, "a workspace's registration has version " + std::to_string(version),
                      "use the weft that wrote it, or a newer one");
  }
  WorkspaceRecord record;
  record.path = reader.sized(kMaxHostPathBytes);
  record.follow = reader.sized(kMaxRefNameBytes);
  const bool path_is_sound = record.path.empty() || host_path_is_sound(record.path);
  const bool follow_is_sound = record.follow.empty() || store::ref_name_problem(record.follow).empty();
  if (!reader.ok() || !reader.at_end() || !path_is_sound || !follow_is_sound) {
    return damaged("a workspace's registration is garbled",
                   "`weft workspace rm NAME` forgets the workspace; its changes stay in the store");
  }
  return record;
}

std::string workspace_ref(std::string_view name) { return "workspaces/" + std::string(name); }

std::string_view workspace_name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxWorkspaceNameBytes) return "is longer than 100 bytes";
  if (name.find('/') != std::string_view::npos) return "contains '/'";
  if (name.front() == '.' || name.front() == '-') return "begins with '.' or '-'";
  if (object::name_is_reserved(name)) return "is a reserved name";
  return store::ref_name_problem(workspace_ref(name));
}

Bytes encode_workspace_file(const WorkspaceFile& file) {
  Bytes out(kWorkspaceFileHead);
  out += "store: " + file.store + "\n";
  out += "name: " + file.name + "\n";
  return out;
}

Result<WorkspaceFile> decode_workspace_file(ByteView bytes) {
  const auto garbled = [](std::string what) {
    return make_error(Code::invalid, "this `.weft` file is no workspace of weft: " + what,
                      "remove it if it is not weft's; otherwise write it anew with `weft workspace add`");
  };
  if (bytes.size() > kMaxWorkspaceFileBytes) return garbled("it is too long");
  if (!bytes.starts_with(kWorkspaceFileHead)) return garbled("it does not begin with \"weft workspace 1\"");
  ByteView rest = bytes.substr(kWorkspaceFileHead.size());
  const auto store_path = take_line(rest, "store: ");
  const auto name = take_line(rest, "name: ");
  if (!store_path || !name || !rest.empty()) return garbled("it must hold the lines store and name");
  if (!host_path_is_sound(*store_path)) return garbled("its store is no absolute path");
  if (const auto problem = workspace_name_problem(*name); !problem.empty()) {
    return garbled("its name " + std::string(problem));
  }
  return WorkspaceFile{std::string(*store_path), std::string(*name)};
}

}  // namespace weft::repo
