// The files of a workspace: which version they stand at, and opening them.
//
// A workspace's head can be moved by somebody elsewhere (`ref set workspaces/X`, `undo` from another workspace); its
// files do not move along. So every workspace keeps a small record, `.weft/workspaces/NAME.files`, of the version its
// files were last brought to.
//
// Invariants:
//   F-1  Files are compared with the version they stand at, never with a head they have not been brought to:
//        edits stay edits, and nothing is shown as deleted or undone that nobody touched (CASES C7).
//   F-2  While the two differ nothing is recorded: `commit` and `land` refuse until `weft switch @` has carried
//        the edits over.
//   F-3  The record is no truth. It is written after the fact and without a flush; where it lags behind
//        recordings made in this very workspace, the reflog says so and it counts as up to date; where it is
//        missing or garbled, or names a change the store does not have, the files are taken to stand at the head
//        (which shows every difference as an edit and loses none).
//   F-4  Files are written out by one process at a time: it holds the lock of the workspace's top directory
//        (begin_writing), and `.weft/workspaces/NAME.writing` exists. Whoever gets the lock and finds that file knows
//        that the last one died, and sweeps what it left behind (work/leftovers.h).
// Threading: functions of files.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "repo/repository.h"
#include "work/work.h"

namespace weft::repo {

struct FilesRecord {
  Version at;
  /// A write-out towards this version began and did not end: each path is at one or the other.
  std::optional<Version> towards;
  bool operator==(const FilesRecord&) const = default;
};
Bytes encode_files_record(const FilesRecord& record);
/// nullopt: not one, or not whole.
std::optional<FilesRecord> decode_files_record(ByteView bytes);

std::optional<FilesRecord> read_files_record(FileSystem& fs, const std::string& path);
Result<void> write_files_record(FileSystem& fs, const std::string& path, const FilesRecord& record);

struct FilesState {
  Version at;                                 ///< what the files are compared with
  std::optional<Version> towards;             ///< see FilesRecord
  bool head_was_moved = false;                ///< at != head
  std::optional<store::RefMoveRecord> mover;  ///< the newest move of the head, when it was moved
};
/// `record` must have been read before `snapshot` was taken.
Result<FilesState> files_state(const store::Snapshot& snapshot, const Repository::Workspace& workspace,
                               const std::optional<FilesRecord>& record);
/// Code::refused, with what to do, unless the files stand at the head; Code::busy while another process is bringing
/// them somewhere (F-4).
Result<void> require_files_at_head(const Repository& repository, const FilesState& state,
                                   const Repository::Workspace& workspace);

/// Whether an operation with this label, made in the workspace itself, leaves the files where they are: recordings, and
/// their undo and redo.
bool keeps_files(std::string_view label);
inline constexpr std::string_view kCommitLabel = "commit: ";
inline constexpr std::string_view kUndoLabel = "undo: ";
inline constexpr std::string_view kRedoLabel = "redo: ";

/// An open workspace directory, as work/ wants it.
class WorkspaceFiles {
 public:
  static Result<WorkspaceFiles> open(const Repository& repository, const std::string& name, const std::string& root);

  work::WorkTree tree() const { return {env_, root_, state_path_}; }
  const HostDir& root() const { return root_; }
  const work::IgnoreOptions& ignore() const { return ignore_; }
  work::ScanOptions scan_options() const;
  /// F-4, until this object is gone. Again: nothing to do. Code::busy while another process has it. Before the files
  /// record is read, where what it says decides what is written.
  Result<void> begin_writing() const;

 private:
  /// The mark of F-4.
  class Writing {
   public:
    Writing(FileSystem& fs, std::string mark) : fs_(fs), mark_(std::move(mark)) {}
    ~Writing();

   private:
    FileSystem& fs_;
    std::string mark_;
  };
  WorkspaceFiles(Env& env, HostDir root, std::string state_path, std::string mark_path, work::IgnoreOptions ignore)
      : env_(env),
        root_(std::move(root)),
        state_path_(std::move(state_path)),
        mark_path_(std::move(mark_path)),
        ignore_(std::move(ignore)) {}
  Env& env_;
  HostDir root_;
  std::string state_path_;
  std::string mark_path_;
  work::IgnoreOptions ignore_;
  mutable std::shared_ptr<Writing> writing_;  ///< behind root_, whose lock it needs to the end
};

}  // namespace weft::repo
