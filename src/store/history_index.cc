#include "store/history_index.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace weft::store {
namespace {

constexpr std::string_view kMagic = "WEFTHIX1";
constexpr std::uint64_t kMaxManifestBytes = 64u << 10;
/// A reader that finds a run gone takes the newer manifest; each is an extension, so few can come in a row.
constexpr int kMaxOpenTries = 100;

Error unusable(std::string_view what) {
  return damaged(fmt::format("the history index has a bad {}", what), "run `weft repair`: it is rebuilt from the log");
}

}  // namespace

std::string history_file_name(std::uint64_t number, std::string_view kind) {
  return fmt::format("{:010}.{}", number, kind);
}

void append_record(Bytes& out, const GraphRecord& record) {
  const std::size_t begin = out.size();
  ByteWriter writer(out);
  writer.raw(record.id.view());
  writer.raw(record.tree.view());
  writer.u64(record.lamport);
  writer.u64(static_cast<std::uint64_t>(record.shown_ns));
  writer.u32(record.depth);
  writer.u32(record.jump);
  writer.u32(record.first);
  writer.u32(record.second);
  writer.u64(xxh3(ByteView(out).substr(begin)));
}

Result<GraphRecord> decode_record(ByteView bytes, Ordinal ordinal) {
  WEFT_CHECK(bytes.size() == GraphRecord::kBytes);
  ByteReader reader(bytes);
  GraphRecord record;
  record.id = read_id<ChangeId>(reader);
  record.tree = read_id<ObjectId>(reader);
  record.lamport = reader.u64();
  record.shown_ns = static_cast<std::int64_t>(reader.u64());
  record.depth = reader.u32();
  record.jump = reader.u32();
  record.first = reader.u32();
  record.second = reader.u32();
  const bool whole = reader.u64() == xxh3(bytes.substr(0, bytes.size() - 8));
  const bool has_first = record.first < ordinal;
  const bool first_fits = has_first || record.first == GraphRecord::kNone;
  const bool second_fits = record.second == GraphRecord::kNone ||
                           (has_first && (record.second < ordinal || record.second == GraphRecord::kMore));
  const bool jump_fits =
      has_first ? record.depth > 0 && record.jump < ordinal : record.depth == 0 && record.jump == ordinal;
  if (!whole || !first_fits || !second_fits || !jump_fits) return unusable(fmt::format("record {}", ordinal));
  return record;
}

Bytes encode_history_manifest(const HistoryManifest& manifest) {
  Bytes bytes(kMagic);
  ByteWriter writer(bytes);
  writer.u64(manifest.point.position);
  writer.u64(manifest.point.chain);
  writer.u64(manifest.changes);
  writer.u64(manifest.records);
  writer.u64(manifest.next_file);
  writer.u64(manifest.graph);
  writer.varint(manifest.runs.size());
  for (const auto& run : manifest.runs) {
    writer.varint(run.number);
    writer.varint(run.entries);
  }
  writer.u64(xxh3(bytes));
  return bytes;
}

Result<HistoryManifest> decode_history_manifest(ByteView bytes) {
  if (bytes.size() < kMagic.size() + 8 || bytes.substr(0, kMagic.size()) != kMagic) return unusable("manifest");
  const ByteView body = bytes.substr(0, bytes.size() - 8);
  ByteReader tail(bytes.substr(body.size()));
  if (tail.u64() != xxh3(body)) return unusable("manifest");
  ByteReader reader(body.substr(kMagic.size()));
  HistoryManifest manifest;
  manifest.point.position = reader.u64();
  manifest.point.chain = reader.u64();
  manifest.changes = reader.u64();
  manifest.records = reader.u64();
  manifest.next_file = reader.u64();
  manifest.graph = reader.u64();
  const std::uint64_t runs = reader.varint_max(kMaxHistoryRuns);
  for (std::uint64_t i = 0; i < runs && reader.ok(); ++i) {
    const std::uint64_t number = reader.varint();
    manifest.runs.push_back({number, reader.varint()});
  }
  if (!reader.ok() || !reader.at_end() || manifest.records > kMaxOrdinal) return unusable("manifest");
  return manifest;
}

Result<HistoryIndex> HistoryIndex::open(FileSystem& fs, const std::string& directory,
                                        const std::function<std::uint64_t()>& durable) {
  HistoryIndex index(fs, directory);
  auto bytes = read_file(fs, join_path(directory, kHistoryManifestName), kMaxManifestBytes);
  if (!bytes) {
    if (bytes.error().code == Code::not_found) return index;
    return std::move(bytes).error();
  }
  auto manifest = decode_history_manifest(*bytes);
  if (!manifest || manifest->point.position > durable()) return index;  // HI3
  // What it names must be there; runs that an extension has swallowed since are not.
  for (int tries = 0; tries < kMaxOpenTries; ++tries) {
    index.manifest_ = *manifest;
    index.runs_.assign(manifest->runs.size(), nullptr);
    bool whole = true;
    if (manifest->records > 0) {
      const auto graph = index.graph();
      if (!graph && graph.error().code != Code::damaged && graph.error().code != Code::not_found) return graph.error();
      whole = graph.has_value();
    }
    for (std::size_t at = 0; whole && at < index.runs_.size(); ++at) {
      const auto run = index.run(at);
      if (!run && run.error().code != Code::damaged && run.error().code != Code::not_found) return run.error();
      whole = run.has_value();
    }
    if (whole) return index;
    auto again = read_file(fs, join_path(directory, kHistoryManifestName), kMaxManifestBytes);
    auto newer = again ? decode_history_manifest(*again) : Result<HistoryManifest>(again.error());
    if (!newer || newer->point == manifest->point || newer->point.position > durable()) break;
    manifest = std::move(newer);
  }
  return HistoryIndex(fs, directory);  // HI3
}

Result<const HistoryRun*> HistoryIndex::run(std::size_t index) const {
  if (!runs_[index]) {
    const std::string name = history_file_name(manifest_.runs[index].number, "touches");
    WEFT_TRY(runs_[index], HistoryRun::open(*fs_, join_path(directory_, name), false));
  }
  return runs_[index].get();
}

Result<ByteView> HistoryIndex::graph() const {
  const std::uint64_t length = manifest_.records * GraphRecord::kBytes;
  if (!graph_) {
    WEFT_TRY(const auto file,
             fs_->open(join_path(directory_, history_file_name(manifest_.graph, "graph")), OpenMode::read));
    WEFT_TRY(const std::uint64_t size, file->size());
    if (size < length) return unusable("graph file: it is shorter than its manifest says");
    WEFT_TRY(graph_, file->map(length));
  }
  return graph_->bytes().substr(0, length);
}

std::uint64_t HistoryIndex::bytes() const {
  std::uint64_t bytes = manifest_.records * GraphRecord::kBytes;
  for (const auto& run : runs_) bytes += run ? run->bytes() : 0;
  return bytes;
}

Result<GraphRecord> HistoryIndex::record(Ordinal ordinal) const {
  if (ordinal >= manifest_.records) return unusable("ordinal");
  WEFT_TRY(const ByteView bytes, graph());
  return decode_record(bytes.substr(std::size_t{ordinal} * GraphRecord::kBytes, GraphRecord::kBytes), ordinal);
}

Result<std::optional<Ordinal>> HistoryIndex::last(HistoryKind kind, const TouchKey& key, Ordinal most) const {
  for (std::size_t at = runs_.size(); at-- > 0;) {  // HR2: the newest run has the greatest
    WEFT_TRY(const HistoryRun* const run, this->run(at));
    const std::size_t behind = run->lower_bound(kind, key, most + 1);
    if (behind == 0) continue;
    const HistoryEntry entry = run->entry(kind, behind - 1);
    if (entry.key == key) return std::optional(entry.ordinal);
  }
  return std::optional<Ordinal>();
}

Result<std::vector<Ordinal>> HistoryIndex::all(HistoryKind kind, const TouchKey& key) const {
  std::vector<Ordinal> ordinals;
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    WEFT_TRY(const HistoryRun* const run, this->run(at));
    for (std::size_t i = run->lower_bound(kind, key, 0); i < run->count(kind); ++i) {
      const HistoryEntry entry = run->entry(kind, i);
      if (entry.key != key) break;
      ordinals.push_back(entry.ordinal);
    }
  }
  return ordinals;
}

Result<std::uint64_t> HistoryIndex::count(HistoryKind kind) const {
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < runs_.size(); ++at) {
    WEFT_TRY(const HistoryRun* const run, this->run(at));
    count += run->count(kind);
  }
  return count;
}

Result<std::optional<Ordinal>> HistoryIndex::find(const ChangeId& id) const {
  const TouchKey key = half_key(id);
  Ordinal most = kMaxOrdinal;
  for (;;) {  // two ids may share a half
    WEFT_TRY(const auto ordinal, last(HistoryKind::id, key, most));
    if (!ordinal) return ordinal;
    WEFT_TRY(const auto found, record(*ordinal));
    if (found.id == id) return ordinal;
    if (*ordinal == 0) return std::optional<Ordinal>();
    most = *ordinal - 1;
  }
}

// Each record's jump leads to an ancestor so chosen that any depth is reached in about 3 log2(depth) steps (Myers, "An
// applicative random-access stack", 1983).
Result<Ordinal> HistoryIndex::level_ancestor(Ordinal from, std::uint32_t depth) const {
  Ordinal at = from;
  WEFT_TRY(GraphRecord current, record(at));
  while (current.depth > depth) {
    WEFT_TRY(GraphRecord far, record(current.jump));
    if (far.depth >= depth && far.depth < current.depth) {
      at = current.jump;
      current = far;
    } else {
      at = current.first;
      WEFT_TRY(current, record(at));
    }
  }
  return at;
}

Result<std::optional<Ordinal>> HistoryIndex::nearest_touch(Ordinal from, std::span<const TouchKey> keys) const {
  WEFT_TRY(const GraphRecord start, record(from));
  std::vector<std::optional<Ordinal>> candidates(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    WEFT_TRY(candidates[i], last(HistoryKind::touch, keys[i], from));
  }
  for (;;) {
    // Ancestors have smaller ordinals: the greatest that is one is the nearest.
    const auto greatest = std::max_element(candidates.begin(), candidates.end());
    if (greatest == candidates.end() || !*greatest) return std::optional<Ordinal>();
    const Ordinal candidate = **greatest;
    WEFT_TRY(const GraphRecord touching, record(candidate));
    if (touching.depth <= start.depth) {
      WEFT_TRY(const Ordinal there, level_ancestor(from, touching.depth));
      if (there == candidate) return std::optional(candidate);
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (candidates[i] != candidate) continue;
      candidates[i].reset();
      if (candidate == 0) continue;
      WEFT_TRY(candidates[i], last(HistoryKind::touch, keys[i], candidate - 1));
    }
  }
}

}  // namespace weft::store
