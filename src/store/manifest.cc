#include "store/manifest.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace weft::store {
namespace {
constexpr std::string_view kMagic = "WEFTIDX2";
constexpr std::uint64_t kMaxManifestPacks = 1u << 19;
}  // namespace

std::string run_file_name(std::uint64_t number) { return fmt::format("{:010}.run", number); }

Bytes encode_manifest(const Manifest& manifest) {
  Bytes bytes(kMagic);
  ByteWriter writer(bytes);
  writer.u64(manifest.number);
  writer.u64(manifest.next_run);
  writer.u64(manifest.point.position);
  writer.u64(manifest.point.chain);
  for (const std::uint64_t word : manifest.client) writer.u64(word);
  writer.varint(manifest.runs.size());
  for (const auto& run : manifest.runs) {
    writer.varint(run.number);
    writer.varint(run.entries);
  }
  writer.varint(manifest.packs.size());
  for (const auto& pack : manifest.packs) {
    writer.raw(pack.id.view());
    writer.varint(pack.objects);
    writer.varint(pack.changes);
    writer.varint(pack.bytes);
  }
  writer.u64(manifest.start.position);
  writer.u64(manifest.start.chain);
  writer.raw(manifest.kept.id.view());
  writer.u64(manifest.kept.bytes);
  writer.u64(xxh3(bytes));
  return bytes;
}

Result<Manifest> decode_manifest(ByteView bytes) {
  const Error bad = damaged("the index manifest is malformed", "run `weft repair`: it is rebuilt from the log");
  if (bytes.size() < kMagic.size() + 8 || bytes.substr(0, kMagic.size()) != kMagic) return bad;
  const ByteView body = bytes.substr(0, bytes.size() - 8);
  ByteReader tail(bytes.substr(body.size()));
  if (tail.u64() != xxh3(body)) return bad;
  ByteReader reader(body.substr(kMagic.size()));
  Manifest manifest;
  manifest.number = reader.u64();
  manifest.next_run = reader.u64();
  manifest.point.position = reader.u64();
  manifest.point.chain = reader.u64();
  for (auto& word : manifest.client) word = reader.u64();
  const std::uint64_t runs = reader.varint_max(kMaxRuns);
  for (std::uint64_t i = 0; i < runs && reader.ok(); ++i) {
    const std::uint64_t number = reader.varint();
    manifest.runs.push_back({number, reader.varint()});
  }
  const std::uint64_t packs = reader.varint_max(kMaxManifestPacks);
  for (std::uint64_t i = 0; i < packs && reader.ok(); ++i) {
    PackName pack;
    pack.id = read_id<ObjectId>(reader);
    pack.objects = reader.varint();
    pack.changes = reader.varint();
    pack.bytes = reader.varint();
    manifest.packs.push_back(pack);
  }
  manifest.start.position = reader.u64();
  manifest.start.chain = reader.u64();
  manifest.kept.id = read_id<ObjectId>(reader);
  manifest.kept.bytes = reader.u64();
  if (!reader.ok() || !reader.at_end()) return bad;
  if ((manifest.start.position == 0) != manifest.kept.id.is_zero()) return bad;
  if (manifest.start.position > manifest.point.position) return bad;
  return manifest;
}

}  // namespace weft::store
