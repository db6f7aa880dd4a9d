// weft's side of the conversation with the helper (wire.h), over any byte stream: facts, then commits into a Converter;
// or, in an export, objects and refs to the helper, which is a GitTarget that way.
//
// Threading: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "git/convert.h"
#include "git/refs.h"
#include "git/target.h"
#include "git/wire.h"

namespace weft::git {

struct RepositoryFacts {
  std::string program;    ///< the helper's name and version
  std::string head;       ///< full name of the ref HEAD points to; empty when detached
  std::string work_tree;  ///< host path; empty when bare
  std::string directory;  ///< host path of the repository itself: git's common directory
  Sha1 head_commit;       ///< where a detached HEAD stands; else zero
  wire::Presence presence = wire::Presence::existing;
  bool sparse = false;      ///< tracked files are left out of the work tree
  std::string conversions;  ///< what makes git change files on their way; empty: nothing
  std::vector<GitRef> refs;
  std::vector<std::string> others;  ///< where else git has refs: "refs/notes"
};

class Conversation final : public GitTarget {
 public:
  static constexpr std::size_t kMaxRefs = 4u << 20;
  using Write = std::function<Result<void>(ByteView)>;
  Conversation(wire::FrameReader::Read read, Write write);

  /// Refuses by name what cannot be imported whole: shallow and partial clones, SHA-256.
  Result<RepositoryFacts> read_facts();
  /// `hidden`: commits that are here with all their ancestors; at most wire::kMaxHidden. `head`: wants a detached
  /// HEAD's commit, too.
  Result<void> request(std::vector<Sha1> hidden, bool head = false);

  struct Received {
    std::uint64_t commits = 0;  ///< converted
    std::uint64_t known = 0;    ///< offered, but here already
  };
  /// After each commit; `bytes`: what came since the last call.
  using AfterCommit = std::function<Result<void>(std::uint64_t bytes)>;
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  /// The whole history, until the helper says that was all.
  Result<Received> receive(Converter& converter, const AfterCommit& after_commit, const Progress& progress);

  // Export. What is written travels in larger pieces: flush_writes(), or any question, sends the rest.
  Result<Bytes> read(wire::GitKind kind, const Sha1& id) override;
  Result<void> write(wire::GitKind kind, const Sha1& id, std::string_view hint, ByteView bytes) override;
  Result<void> write_blob(const Sha1& id, std::string_view hint, std::uint64_t size,
                          object::ByteSource& source) override;
  /// Everything written is durable when it returns.
  Result<wire::Kept> keep();
  struct Moved {
    wire::MoveStatus status = wire::MoveStatus::done;
    Sha1 actual;
    std::string text;
  };
  /// Zero ids: the ref is not there. `own_work_tree`: wire::Move.
  Result<Moved> move(std::string_view ref, const Sha1& expected, const Sha1& target, bool own_work_tree);
  Result<Moved> attach(std::string_view branch);
  Result<void> end();

 private:
  static constexpr std::size_t kFlushBytes = 256u << 10;
  Result<wire::Message> next();
  Result<wire::Message> ask(const wire::Message& question);
  Result<void> queue(const wire::Message& message);
  Result<void> flush_writes();
  Result<Moved> ask_move(const wire::Message& question);
  Result<void> send(const wire::Message& message);
  Result<void> answer(const wire::Offer& offer, Converter& converter);
  Result<void> take_put(const wire::Put& put, Converter& converter);

  wire::FrameReader reader_;
  Write write_;
  Bytes queued_;
  Received received_;
};

}  // namespace weft::git
