// Reading a pack in whatever state it is: by its table where that is whole, else by looking for objects from its first
// byte to its last.
//
// Invariants:
//   PS1  Nothing that is found without a table is given out unless its content has the hash its record claims. Of a
//        list of chunks (object/chunk_list.h) it is its checksum only: the content is for who has the chunks to hash.
//   PS2  A pack in good order is read in the order of the file.
// Memory: about 50 bytes an object of the one pack. Threading: one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/env.h"
#include "object/chunk_list.h"
#include "object/pack.h"

namespace weft::store {

class PackScan {
 public:
  struct Object {
    object::ObjectKind kind = object::ObjectKind::blob;
    ObjectId id;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t place = 0;  ///< in the table, where there is one
  };
  struct State;

  /// Only a file that the system refuses to read for other reasons than its bytes is an error.
  static Result<PackScan> open(const Env& env, const std::string& directory, const ObjectId& id);

  const std::string& path() const { return path_; }
  /// Why the file as a whole is not what was written; empty: it is, as far as header, table and footer say.
  const std::string& problem() const { return problem_; }
  bool is_gone() const { return gone_; }
  /// Whether there is a table: then it names every object, also those that are damaged.
  bool has_table() const { return reader_ != nullptr; }
  std::uint64_t bytes() const { return bytes_; }

  /// Every object, in the order of the file. Its content is not looked at where there is a table.
  Result<void> for_each(const std::function<Result<void>(const Object&)>& visit) const;
  /// Not of a list of chunks: damaged.
  Result<Bytes> read(const Object& object) const;
  /// The list of chunks that the object is kept as, if it is.
  Result<std::optional<object::ChunkList>> chunk_list(const Object& object) const;
  Result<std::unique_ptr<object::ByteSource>> open_blob(const Object& object) const;
  /// Reads and hashes it: an error that says what is wrong. `content`: of trees and changes. Of a list of chunks only
  /// the list is looked at.
  Result<void> check(const Object& object, Bytes* content) const;

 private:
  std::string path_, problem_;
  bool gone_ = false;
  std::uint64_t bytes_ = 0;
  std::shared_ptr<const object::PackReader> reader_;
  std::shared_ptr<const State> raw_;
};

}  // namespace weft::store
