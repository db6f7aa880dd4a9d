#include "git/helper/object_storage.h"

#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>

#include <chrono>
#include <filesystem>

namespace weft::git::helper {
namespace {

/// Above the priorities of libgit2's own backends.
constexpr int kCollectedPriority = 999;
/// Temporary packs older than this belong to nobody who lives.
constexpr std::chrono::hours kLeftoverAge{24};
constexpr std::string_view kTemporaryPack = "pack_git2_";  // libgit2's name for a pack under way

struct FreeBuilder {
  void operator()(git_packbuilder* builder) const { git_packbuilder_free(builder); }
};
struct FreeStream {
  void operator()(git_odb_stream* stream) const { git_odb_stream_free(stream); }
};
struct FreeOdb {
  void operator()(git_odb* odb) const { git_odb_free(odb); }
};

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace

Result<ObjectStorage> ObjectStorage::open(const Repository& repository) {
  ObjectStorage storage(repository);
  storage.pack_directory_ = std::string(git_repository_commondir(repository.handle())) + "objects/pack";
  // Objects pass through once; libgit2's cache of them would only grow.
  git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0);
  if (git_mempack_new(&storage.collected_) != 0) return library_error(Code::io, "cannot collect git objects");
  if (git_odb_add_backend(repository.objects(), storage.collected_, kCollectedPriority) != 0) {
    storage.collected_->free(storage.collected_);
    return library_error(Code::io, "cannot collect git objects");
  }
  storage.remove_leftovers();
  return storage;
}

void ObjectStorage::remove_leftovers() const {
  namespace fs = std::filesystem;
  std::error_code error;
  for (fs::directory_iterator each(pack_directory_, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    if (!each->path().filename().string().starts_with(kTemporaryPack)) continue;
    std::error_code ignored;
    const auto age = fs::file_time_type::clock::now() - each->last_write_time(ignored);
    if (!ignored && age > kLeftoverAge) fs::remove(each->path(), ignored);
  }
}

bool ObjectStorage::has(const Sha1& id) const {
  const git_oid oid = to_oid(id);
  return git_odb_exists_ext(repository_->objects(), &oid, GIT_ODB_LOOKUP_NO_REFRESH) == 1;
}

Result<void> ObjectStorage::write(git_object_t type, const Sha1& id, std::string_view hint, ByteView bytes) {
  if (has(id)) return {};  // OS1
  const git_oid oid = to_oid(id);
  if (collected_->write(collected_, &oid, bytes.data(), bytes.size(), type) != 0) {
    return library_error(Code::io, "cannot collect a git object");
  }
  pending_.emplace_back(id, std::string(hint));
  pending_bytes_ += bytes.size();
  ++objects_;
  if (pending_bytes_ < kPortionBytes && pending_.size() < kPortionObjects) return {};
  return keep();
}

Result<void> ObjectStorage::write_blob(const Sha1& id, std::string_view hint, std::uint64_t size,
                                       const std::function<Result<ByteView>()>& next) {
  const std::string path(hint);  // it goes away with the first piece
  if (has(id)) {
    for (std::uint64_t come = 0; come < size;) {
      WEFT_TRY(const ByteView piece, next());
      come += piece.size();
    }
    return {};
  }
  if (size > kCollectedBytes) return stream_blob(id, size, next);
  Bytes whole;
  whole.reserve(size);
  while (whole.size() < size) {
    WEFT_TRY(const ByteView piece, next());
    whole += piece;
  }
  return write(GIT_OBJECT_BLOB, id, path, whole);
}

Result<void> ObjectStorage::stream_blob(const Sha1& id, std::uint64_t size,
                                        const std::function<Result<ByteView>()>& next) {
  const auto failed = [&id] { return library_error(Code::io, "cannot write the git blob " + id.hex()); };
  // The repository's own database would stream into the memory of collected_.
  git_odb* raw_odb = nullptr;
  if (git_odb_new(&raw_odb) != 0) return failed();
  const std::unique_ptr<git_odb, FreeOdb> odb(raw_odb);
  const std::string directory = std::string(git_repository_commondir(repository_->handle())) + "objects";
  git_odb_backend* loose = nullptr;
  if (git_odb_backend_loose(&loose, directory.c_str(), -1, 1, 0, 0) != 0) return failed();
  if (git_odb_add_backend(raw_odb, loose, 1) != 0) {
    loose->free(loose);
    return failed();
  }
  git_odb_stream* raw_stream = nullptr;
  if (git_odb_open_wstream(&raw_stream, raw_odb, size, GIT_OBJECT_BLOB) != 0) return failed();
  const std::unique_ptr<git_odb_stream, FreeStream> stream(raw_stream);
  for (std::uint64_t come = 0; come < size;) {
    WEFT_TRY(const ByteView piece, next());
    if (git_odb_stream_write(raw_stream, piece.data(), piece.size()) != 0) return failed();
    come += piece.size();
  }
  git_oid written;
  if (git_odb_stream_finalize_write(&written, raw_stream) != 0) return failed();
  if (from_oid(written) != id) {
    return damaged("the content sent for the git blob " + id.hex() + " is another's");
  }
  ++objects_;
  const std::string hex = id.hex();
  bytes_ += size_of(directory + "/" + hex.substr(0, 2) + "/" + hex.substr(2));
  return {};
}

Result<void> ObjectStorage::keep() {
  if (pending_.empty()) return {};
  const auto failed = [] { return library_error(Code::io, "cannot write a git pack"); };
  git_packbuilder* raw = nullptr;
  if (git_packbuilder_new(&raw, repository_->handle()) != 0) return failed();
  const std::unique_ptr<git_packbuilder, FreeBuilder> builder(raw);
  git_packbuilder_set_threads(raw, 0);
  // Newest first, as git likes its packs.
  for (auto each = pending_.rbegin(); each != pending_.rend(); ++each) {
    const git_oid oid = to_oid(each->first);
    if (git_packbuilder_insert(raw, &oid, each->second.empty() ? nullptr : each->second.c_str()) != 0) return failed();
  }
  if (git_packbuilder_write(raw, nullptr, 0, nullptr, nullptr) != 0) return failed();
  const std::string name = pack_directory_ + "/pack-" + git_packbuilder_name(raw);
  bytes_ += size_of(name + ".pack") + size_of(name + ".idx");
  pending_.clear();
  pending_bytes_ = 0;
  if (git_mempack_reset(collected_) != 0 || git_odb_refresh(repository_->objects()) != 0) return failed();
  return {};
}

}  // namespace weft::git::helper
