// The helper's end of the conversation (wire.h): messages in and out, and what both import and export begin with.
//
// Threading: one thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/host_dir.h"
#include "git/helper/repository.h"
#include "git/wire.h"

namespace weft::git::helper {

class Channel {
 public:
  Channel(Fd in, Fd out);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Held back until there is much of it, or flush().
  Result<void> send(const wire::Message& message);
  Result<void> flush();
  /// Its views hold until the next call.
  Result<wire::Message> next() { return reader_.next(); }

  /// Runs `converse`; a failure of it is told to weft and returned.
  Result<void> run(const std::function<Result<void>()>& converse);

  Result<void> send_hello();
  /// What refs name.
  struct Tips {
    std::vector<Sha1> commits;
    std::vector<std::pair<Sha1, wire::TargetKind>> targets;  ///< trees and blobs, of tags (GW5)
  };
  /// Facts and, where weft can use them, refs; ends with a flush.
  Result<Tips> send_facts(const Repository& repository, wire::Presence presence);

 private:
  static constexpr std::size_t kFlushBytes = 256u << 10;
  /// Returns where there are refs that were not sent.
  Result<std::vector<std::string>> send_refs(const Repository& repository, Tips& tips);

  Fd in_;
  Fd out_;
  Bytes pending_;
  wire::FrameReader reader_;
};

}  // namespace weft::git::helper
