#include "object/repack.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "object/byte_source.h"
#include "object/chunk_list.h"
#include "object/group_builder.h"

namespace weft::object {
namespace {

constexpr std::uint64_t kProgressStep = 256;
constexpr int kTreeLevel = 3;

/// One pack being written.
class Packing {
 public:
  Packing(Env env, const std::string& directory, int level)
      : writer_(env, directory, level),
        builders_{GroupBuilder(writer_, ObjectKind::blob, level),
                  GroupBuilder(writer_, ObjectKind::tree, std::min(level, kTreeLevel)),
                  GroupBuilder(writer_, ObjectKind::change, std::min(level, kTreeLevel))} {}
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;

  Result<void> add(const ObjectReader& reader, const RepackItem& item) {
    GroupBuilder& builder = builders_[static_cast<std::size_t>(item.kind) - 1];
    if (writer_.contains(item.kind, item.id) || builder.holds(item.id)) return {};
    std::uint64_t size = 0;
    if (item.kind == ObjectKind::blob) {
      WEFT_TRY(size, reader.blob_size(item.id));
    }
    std::optional<ChunkList> list;
    if (size >= kLargeBlobBytes) {
      WEFT_TRY(list, reader.chunk_list(item.id));
    }
    if (list) {  // its chunks are items of their own
      Bytes record;
      WEFT_DO(encode_chunks_record(item.id, list->size, encode_chunk_list(list->entries), record));
      WEFT_DO(writer_.add_encoded(item.kind, item.id, record));
      size = record.size();
    } else if (size >= kLargeBlobBytes) {
      WEFT_TRY(const auto source, reader.open_blob(item.id));
      WEFT_TRY(const auto stored, writer_.add_blob(*source));
      if (stored.id != item.id) {
        return damaged(fmt::format("{} {} is not what its id says", name(item.kind), item.id.hex()),
                       "take the object from another store that has it, or from a copy");
      }
    } else {
      WEFT_TRY(Bytes bytes, reader.read(item.kind, item.id));
      size = bytes.size();
      if (size < kMaxGroupBytes) {
        WEFT_DO(builder.add(item.id, std::move(bytes), item.group));
      } else {
        WEFT_DO(writer_.add(item.kind, item.id, bytes));
      }
    }
    ++objects_;
    content_bytes_ += size;
    if (item.kind == ObjectKind::change) ++changes_;
    return {};
  }
  std::uint64_t objects() const { return objects_; }
  std::uint64_t bytes() const {
    std::uint64_t bytes = writer_.bytes();
    for (const GroupBuilder& builder : builders_) bytes += builder.held_bytes();
    return bytes;
  }
  Result<RepackedPack> finish() {
    for (GroupBuilder& builder : builders_) WEFT_DO(builder.finish());
    WEFT_TRY(const PackSummary summary, writer_.finish());
    return RepackedPack{summary, changes_, content_bytes_};
  }

 private:
  PackWriter writer_;
  std::array<GroupBuilder, 3> builders_;
  std::uint64_t objects_ = 0, changes_ = 0, content_bytes_ = 0;
};

}  // namespace

Result<std::vector<RepackedPack>> repack(Env env, const std::string& directory, const RepackSource& next,
                                         const ObjectReader& reader, const RepackOptions& options) {
  std::vector<RepackedPack> packs;
  std::optional<Packing> packing;
  std::uint64_t done = 0;
  const auto finish = [&]() -> Result<void> {
    WEFT_TRY(const RepackedPack pack, packing->finish());
    packs.push_back(pack);
    packing.reset();
    return {};
  };
  const auto all = [&]() -> Result<void> {
    for (;;) {
      WEFT_TRY(const auto item, next());
      if (!item) break;
      if (!packing) packing.emplace(env, directory, options.level);
      WEFT_DO(packing->add(reader, *item));
      if (++done % kProgressStep == 0 && options.progress) WEFT_DO(options.progress(done));
      if (packing->bytes() >= options.pack_bytes || packing->objects() >= options.pack_objects) WEFT_DO(finish());
    }
    if (packing) WEFT_DO(finish());
    return options.progress ? options.progress(done) : Result<void>();
  }();
  if (!all) {
    // Nobody knows of those that are finished.
    for (const auto& pack : packs) (void)env.fs.unlink(join_path(directory, pack_file_name(pack.summary.id)));
    return all.error();
  }
  return packs;
}

}  // namespace weft::object
