// Writing a damaged log anew from the frames that are left, and putting it in the old one's place.
//
// From the segment on in which the first damage lies, every whole frame is written again behind the one before it:
// payload, time and transaction id as they were, the links between ref moves and operations as they are now. Segments
// before that stay as they are. Damaged packs are replaced by packs of what is whole in them.
//
// Invariants:
//   SA1  Nothing of the old files is destroyed: they are moved into a directory of their own.
//   SA2  The new files are complete and flushed before the first old one is moved. From then on a file named
//        `repairing` says how far the exchange is, and no store opens beside it; going on is always possible.
//   SA3  Foreign stretches stay aside: nothing of them is taken over.
// Threading: one thread, with nobody else having the store open.
// Format: docs/FORMATS.md, "Repairing".
#pragma once

#include <map>
#include <optional>
#include <string>

#include "store/survey.h"

namespace weft::store {

class Salvage {
 public:
  Salvage(Survey& survey, std::string aside) : survey_(survey), aside_(std::move(aside)) {}

  /// Whether anything of log or packs has to be written anew.
  bool is_needed() const;
  /// SA2: writes packs and segments under temporary names.
  Result<void> write();
  /// Puts them into place.
  Result<void> exchange();

  std::uint64_t frames_behind() const { return moved_frames_; }  ///< whole frames behind the first damage
  std::uint64_t packs_rewritten() const { return packs_rewritten_; }
  std::uint64_t packs_copied() const { return packs_copied_; }
  bool has_new_ids() const { return new_ids_; }
  bool moves_files() const { return !plan_.segments.empty() || !plan_.packs.empty() || plan_.first != 0; }

  /// Goes on with an exchange that was interrupted; the directory it keeps the old files in, or nullopt where there was
  /// none.
  static Result<std::optional<std::string>> finish_interrupted(Env env, const std::string& directory);

  /// What `repairing` says.
  struct Plan {
    std::string aside;                  ///< name below the store
    std::uint64_t phase = 1;            ///< 1: old files are being moved away; 2: new ones into place
    std::uint64_t first = 0;            ///< number of the first segment that is replaced; 0: none
    std::vector<std::string> segments;  ///< file names that take the place of old ones
    std::vector<std::string> packs;     ///< file names that go
  };
  static Bytes encode_plan(const Plan& plan);
  static Result<Plan> decode_plan(ByteView bytes);

 private:
  std::optional<std::uint64_t> first_damage() const;
  Result<void> write_packs();
  Result<void> write_log(std::uint64_t from);
  Result<Bytes> rebuild(const Payload& payload, const log::Frame& frame) const;
  Result<void> write_kept();
  Result<void> copy_file(const std::string& from, const std::string& to) const;
  static Result<void> carry_out(Env env, const std::string& directory, Plan plan);

  Survey& survey_;
  std::string aside_;
  Plan plan_;
  std::map<ObjectId, std::optional<PackName>> replaced_;
  std::optional<KeptName> new_kept_;
  std::uint64_t moved_frames_ = 0, packs_rewritten_ = 0, packs_copied_ = 0;
  bool new_ids_ = false;
};

}  // namespace weft::store
