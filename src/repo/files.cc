#include "repo/files.h"

#include <array>

#include "repo/config.h"
#include "work/leftovers.h"

namespace weft::repo {

namespace {

constexpr std::string_view kHead = "weft files 1\n";
constexpr std::string_view kEnd = "end\n";
/// Two versions of 64 changes each, and the words around them.
constexpr std::size_t kMaxRecordBytes = 2 * 65 * object::kMaxVersionChanges + 100;
/// How many recordings files_state() looks back over before it calls the files stale (F-3).
constexpr int kMaxLag = 10'000;

std::optional<Version> parse_version_text(ByteView text) {
  if (text == "none") return Version();
  Version version;
  while (version.changes.size() < object::kMaxVersionChanges) {
    const std::size_t plus = text.find('+');
    const auto id = ChangeId::parse(text.substr(0, plus));
    if (!id) return std::nullopt;
    version.changes.push_back(*id);
    if (plus == ByteView::npos) {
      return Version::of(version.changes) == version ? std::optional(version) : std::nullopt;
    }
    text.remove_prefix(plus + 1);
  }
  return std::nullopt;
}

std::optional<Version> take_version(ByteView& rest, std::string_view key) {
  if (!rest.starts_with(key)) return std::nullopt;
  const std::size_t newline = rest.find('\n');
  if (newline == ByteView::npos) return std::nullopt;
  auto version = parse_version_text(rest.substr(key.size(), newline - key.size()));
  rest.remove_prefix(newline + 1);
  return version;
}

}  // namespace

Bytes encode_files_record(const FilesRecord& record) {
  Bytes out(kHead);
  out += "at: " + record.at.text() + "\n";
  if (record.towards) out += "towards: " + record.towards->text() + "\n";
  out += kEnd;
  return out;
}

std::optional<FilesRecord> decode_files_record(ByteView bytes) {
  if (!bytes.starts_with(kHead)) return std::nullopt;
  ByteView rest = bytes.substr(kHead.size());
  FilesRecord record;
  const auto at = take_version(rest, "at: ");
  if (!at) return std::nullopt;
  record.at = *at;
  if (rest.starts_with("towards: ")) {
    record.towards = take_version(rest, "towards: ");
    if (!record.towards) return std::nullopt;
  }
  // Written in place, a shorter record may have the tail of a longer one behind it.
  if (!rest.starts_with(kEnd)) return std::nullopt;
  return record;
}

std::optional<FilesRecord> read_files_record(FileSystem& fs, const std::string& path) {
  const auto file = fs.open(path, OpenMode::read);
  if (!file) return std::nullopt;
  std::array<char, kMaxRecordBytes> buffer;
  const auto length = (*file)->read_some_at(0, buffer);
  if (!length) return std::nullopt;
  return decode_files_record(ByteView(buffer.data(), *length));
}

Result<void> write_files_record(FileSystem& fs, const std::string& path, const FilesRecord& record) {
  WEFT_TRY(const auto file, fs.open(path, OpenMode::create));
  return file->write_at(0, encode_files_record(record));
}

bool keeps_files(std::string_view label) {
  while (label.starts_with(kUndoLabel) || label.starts_with(kRedoLabel)) label.remove_prefix(kUndoLabel.size());
  return label.starts_with(kCommitLabel);
}

namespace {

Result<bool> has_all(const store::Snapshot& snapshot, const Version& version) {
  for (const ChangeId& id : version.changes) {
    WEFT_TRY(const bool there, snapshot.contains(object::ObjectKind::change, id));
    if (!there) return false;
  }
  return true;
}

}  // namespace

namespace {

/// Of a workspace whose record, read before, says that a write-out began and did not end.
bool is_being_written(const Repository& repository, const Repository::Workspace& workspace) {
  const auto root = HostDir::open(workspace.root);
  if (root && root->is_locked_by_another()) return true;
  // It may have ended since the record was read.
  const auto now = read_files_record(repository.context().env.fs, repository.files_path(workspace.name));
  return now && !now->towards;
}

}  // namespace

Result<FilesState> files_state(const store::Snapshot& snapshot, const Repository::Workspace& workspace,
                               const std::optional<FilesRecord>& record) {
  FilesState state;
  state.at = workspace.head;
  if (!record) return state;
  if (record->towards) {
    WEFT_TRY(const bool known, has_all(snapshot, *record->towards));
    if (known) state.towards = record->towards;
  }
  if (record->at == workspace.head) return state;
  // Behind by recordings of this workspace alone? Two of its processes may have written the record in the other order,
  // or one died before it wrote.
  bool lags = false;
  int seen = 0;
  std::optional<store::RefMoveRecord> newest;
  WEFT_DO(snapshot.reflog(workspace_ref(workspace.name), [&](const store::RefMoveRecord& move) {
    if (!newest) newest = move;
    if (move.after && move.after->version == record->at) {
      lags = true;
      return false;
    }
    return move.workspace == workspace.name && keeps_files(move.label) && ++seen < kMaxLag;
  }));
  if (lags) return state;
  // A flipped bit, or a change that `repair --accept-loss` gave up: as good as no record (F-3).
  WEFT_TRY(const bool known, has_all(snapshot, record->at));
  if (!known) return state;
  state.at = record->at;
  state.head_was_moved = true;
  state.mover = std::move(newest);
  return state;
}

Result<void> require_files_at_head(const Repository& repository, const FilesState& state,
                                   const Repository::Workspace& workspace) {
  if (state.towards && is_being_written(repository, workspace)) {
    return make_error(Code::busy, "the files of this workspace are being written out by another process",
                      "try again when it is done")
        .with("workspace", workspace.name);
  }
  if (state.towards && !state.head_was_moved) {
    return make_error(Code::refused, "an earlier write-out of these files was interrupted", "weft switch @ finishes it")
        .with("workspace", workspace.name)
        .with("files_at", state.at.text());
  }
  if (!state.head_was_moved) return {};
  std::string by;
  if (state.mover)
    by = " by \"" + state.mover->label + "\"" + (state.mover->author.empty() ? "" : " of " + state.mover->author);
  return make_error(Code::refused,
                    "the head of this workspace was moved" + by + "; its files still stand where they were",
                    "weft switch @ brings them there and carries your edits over")
      .with("workspace", workspace.name)
      .with("files_at", state.at.text())
      .with("head", workspace.head.text());
}

Result<WorkspaceFiles> WorkspaceFiles::open(const Repository& repository, const std::string& name,
                                            const std::string& root) {
  WEFT_TRY(HostDir directory, HostDir::open(root));
  WEFT_TRY(work::IgnoreOptions ignore, read_ignore_options(repository.context(), root));
  return WorkspaceFiles(repository.context().env, std::move(directory), repository.state_path(name),
                        repository.writing_path(name), std::move(ignore));
}

Result<void> WorkspaceFiles::begin_writing() const {
  if (writing_) return {};
  const auto locked = root_.try_lock();
  if (!locked) {
    // A file system without locks: nobody can be told apart from the dead, so nothing is swept either.
    if (locked.error().code == Code::unsupported) return {};
    return locked.error();
  }
  if (!*locked) {
    return make_error(Code::busy, "the files of this workspace are being written out by another process",
                      "try again when it is done")
        .with("path", root_.path());
  }
  const auto mark = env_.fs.open(mark_path_, OpenMode::create_new);
  if (!mark && mark.error().code == Code::exists) work::sweep_leftovers(root_);
  writing_ = std::make_shared<Writing>(env_.fs, mark_path_);
  return {};
}

WorkspaceFiles::Writing::~Writing() { (void)fs_.unlink(mark_).has_value(); }

work::ScanOptions WorkspaceFiles::scan_options() const {
  work::ScanOptions options;
  options.ignore = ignore_;
  return options;
}

}  // namespace weft::repo
