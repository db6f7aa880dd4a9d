#include "object/repack.h"

#include "object/byte_source.h"

namespace weft::object {
namespace {

constexpr std::uint64_t kProgressStep = 256;

/// One pack being written.
class Packing {
 public:
  Packing(Env env, const std::string& directory, int level) : writer_(env, directory, level) {}

  Result<void> add(const ObjectReader& reader, const RepackItem& item) {
    if (writer_.contains(item.kind, item.id)) return {};
    std::uint64_t size = 0;
    if (item.kind == ObjectKind::blob) {
      WEFT_TRY(size, reader.blob_size(item.id));
    }
    if (size >= kLargeBlobBytes) {
      WEFT_TRY(const auto source, reader.open_blob(item.id));
      WEFT_TRY(const auto stored, writer_.add_blob(*source));
      if (stored.id != item.id) {
        return damaged(fmt_message(item), "take the object from another store that has it, or from a copy");
      }
    } else {
      WEFT_TRY(const Bytes bytes, reader.read(item.kind, item.id));
      WEFT_DO(writer_.add(item.kind, item.id, bytes));
      size = bytes.size();
    }
    content_bytes_ += size;
    if (item.kind == ObjectKind::change) ++changes_;
    return {};
  }
  std::uint64_t objects() const { return writer_.objects(); }
  std::uint64_t bytes() const { return writer_.bytes(); }
  Result<RepackedPack> finish() {
    WEFT_TRY(const PackSummary summary, writer_.finish());
    return RepackedPack{summary, changes_, content_bytes_};
  }

 private:
  static std::string fmt_message(const RepackItem& item) {
    return std::string(name(item.kind)) + " " + item.id.hex() + " is not what its id says";
  }
  PackWriter writer_;
  std::uint64_t changes_ = 0, content_bytes_ = 0;
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
  for (;;) {
    WEFT_TRY(const auto item, next());
    if (!item) break;
    if (!packing) packing.emplace(env, directory, options.level);
    WEFT_DO(packing->add(reader, *item));
    if (++done % kProgressStep == 0 && options.progress) WEFT_DO(options.progress(done));
    if (packing->bytes() >= options.pack_bytes || packing->objects() >= options.pack_objects) WEFT_DO(finish());
  }
  if (packing) WEFT_DO(finish());
  if (options.progress) WEFT_DO(options.progress(done));
  return packs;
}

}  // namespace weft::object
