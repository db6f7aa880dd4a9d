// weft's side of the conversation with the helper (wire.h), over any byte stream: facts, then commits into a Converter.
//
// Threading: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "git/convert.h"
#include "git/refs.h"
#include "git/wire.h"

namespace weft::git {

struct RepositoryFacts {
  std::string program;    ///< the helper's name and version
  std::string head;       ///< full name of the ref HEAD points to; empty when detached
  std::string work_tree;  ///< host path; empty when bare
  std::vector<GitRef> refs;
};

class Conversation {
 public:
  static constexpr std::size_t kMaxRefs = 4u << 20;
  using Write = std::function<Result<void>(ByteView)>;
  Conversation(wire::FrameReader::Read read, Write write);

  /// Refuses by name what cannot be imported whole: shallow and partial clones, SHA-256.
  Result<RepositoryFacts> read_facts();
  /// `hidden`: commits that are here with all their ancestors; at most wire::kMaxHidden.
  Result<void> request(std::vector<Sha1> hidden);

  struct Received {
    std::uint64_t commits = 0;  ///< converted
    std::uint64_t known = 0;    ///< offered, but here already
  };
  /// After each commit; `bytes`: what came since the last call.
  using AfterCommit = std::function<Result<void>(std::uint64_t bytes)>;
  using Progress = std::function<void(std::uint64_t done, std::uint64_t total)>;
  /// The whole history, until the helper says that was all.
  Result<Received> receive(Converter& converter, const AfterCommit& after_commit, const Progress& progress);

 private:
  Result<wire::Message> next();
  Result<void> send(const wire::Message& message);
  Result<void> answer(const wire::Offer& offer, Converter& converter);
  Result<void> take_put(const wire::Put& put, Converter& converter);

  wire::FrameReader reader_;
  Write write_;
  Received received_;
};

}  // namespace weft::git
