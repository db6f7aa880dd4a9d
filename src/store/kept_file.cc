// Reading kept files (kept.h, K2 to K4).
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "store/kept_format.h"

namespace weft::store {
namespace {

/// Decoded blocks kept at hand: walks along chains come back to the same ones.
constexpr std::size_t kMaxCachedBlocks = 32;

std::uint64_t load_word(const char* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// First index below `count` for which `before` no longer holds.
template <typename Before>
std::uint64_t first_not(std::uint64_t count, const Before& before) {
  std::uint64_t low = 0;
  for (std::uint64_t high = count; low < high;) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

std::string kept_file_name(const ObjectId& id) { return id.hex() + ".kept"; }

struct KeptFile::Parts {
  std::string path;
  std::shared_ptr<Mapping> mapping;
  ByteView content;
  KeptFooter footer;
  std::vector<KeptBlock> blocks;
  std::vector<KeptPack> packs;
  std::optional<KeptLayout> layout;
  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<const Frames>> cache;

  const char* at(std::uint64_t offset) const { return content.data() + offset; }
  std::uint64_t ref_key(std::uint64_t i) const { return load_word(at(layout->ref_keys + i * 8)); }
  std::uint64_t ref_position(std::uint64_t i) const { return load_word(at(layout->ref_positions + i * 8)); }
  std::uint64_t operation_id(std::uint64_t i) const { return load_word(at(layout->operation_ids + i * 8)); }
  std::uint32_t operation_block(std::uint64_t i) const {
    std::uint32_t block = 0;
    std::memcpy(&block, at(layout->operation_blocks + i * 4), sizeof(block));
    return block;
  }
  DeltaLink delta(std::uint64_t i) const {
    ByteReader in(content.substr(layout->deltas + i * kDeltaLinkBytes, kDeltaLinkBytes));
    DeltaLink link;
    link.delta = read_id<HalfId>(in);
    link.change = read_id<HalfId>(in);
    return link;
  }
  GitLink git(std::uint64_t i) const {
    ByteReader in(content.substr(layout->gits + i * kGitLinkBytes, kGitLinkBytes));
    GitLink link;
    link.git = read_id<GitId>(in);
    link.change = read_id<HalfId>(in);
    return link;
  }

  Result<void> load(const File& file, const ObjectId& id) {
    WEFT_TRY(const std::uint64_t size, file.size());
    if (size < kKeptHeaderBytes + kKeptFooterBytes) return damaged("it is too short");
    WEFT_TRY(mapping, file.map(size));
    content = mapping->bytes().substr(0, size);
    const ByteView encoded = content.substr(size - kKeptFooterBytes);
    if (sha256(encoded) != id) return damaged("it is cut off or not the file its name says");
    WEFT_TRY(footer, decode_kept_footer(encoded, size));
    ByteReader header(content);
    if (header.raw(kKeptMagic.size()) != kKeptMagic || header.u32() != kKeptVersion || header.u32() != 0) {
      return damaged("it does not begin as it should");
    }
    const ByteView small = content.substr(footer.tables, footer.small_bytes);
    if (xxh3(small) != footer.small_checksum) return damaged("its tables do not match their checksum");
    layout.emplace(footer);
    ByteReader in(small);
    for (std::uint64_t i = 0; i < footer.counts.blocks; ++i) {
      const KeptBlock block = read_kept_block(in);
      const std::uint64_t stored = block.stored & ~kKeptCompressed;
      if (block.offset > footer.tables || stored > footer.tables - block.offset || block.raw > kMaxKeptBlockBytes) {
        return damaged("its blocks are out of bounds");
      }
      blocks.push_back(block);
    }
    in.raw(footer.counts.refs * 16);
    for (std::uint64_t i = 0; i < footer.counts.packs && in.ok(); ++i) packs.push_back(read_kept_pack(in));
    if (!in.ok()) return damaged("its list of packs is malformed");
    return {};
  }
};

KeptFile::KeptFile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
KeptFile::~KeptFile() = default;

Error KeptFile::located(Error error) const {
  error.message = fmt::format("{}: {}", parts_->path, error.message);
  if (error.code == Code::damaged && error.hint.empty()) {
    error.hint = "a copy of the file heals it; `weft verify` says what is affected";
  }
  return error;
}

Result<std::shared_ptr<const KeptFile>> KeptFile::open(FileSystem& fs, const std::string& path, const ObjectId& id) {
  auto file = fs.open(path, OpenMode::read);
  if (!file) return std::move(file).error();
  std::shared_ptr<KeptFile> kept(new KeptFile(std::make_unique<Parts>()));
  kept->parts_->path = path;
  if (auto loaded = kept->parts_->load(**file, id); !loaded) return kept->located(std::move(loaded).error());
  return std::shared_ptr<const KeptFile>(std::move(kept));
}

const KeptFacts& KeptFile::facts() const { return parts_->footer.facts; }
const std::vector<KeptPack>& KeptFile::packs() const { return parts_->packs; }
std::uint64_t KeptFile::bytes() const { return parts_->content.size(); }
std::uint64_t KeptFile::operations() const { return parts_->footer.counts.operations; }

Result<KeptFile::Frames> KeptFile::read_block(std::uint64_t number) const {
  const KeptBlock& block = parts_->blocks[number];
  const std::uint32_t stored = block.stored & ~kKeptCompressed;
  const ByteView bytes = parts_->content.substr(block.offset, stored);
  if (xxh3(bytes) != block.checksum) {
    return located(damaged(fmt::format("the block at {} does not match its checksum", block.offset)));
  }
  const bool compressed = (block.stored & kKeptCompressed) != 0;
  Bytes raw;
  object::RecordCodec codec;
  if (auto done = codec.unpack(compressed ? object::Stored::zstd : object::Stored::plain, bytes, block.raw, raw);
      !done) {
    return located(std::move(done).error());
  }
  auto decoded = decode_kept_frames(raw);
  if (!decoded) return located(std::move(decoded).error());
  if (decoded->empty() || decoded->front().position != block.first) {
    return located(damaged(fmt::format("the block at {} holds other frames than its table says", block.offset)));
  }
  Frames frames;
  frames.reserve(decoded->size());
  for (auto& frame : *decoded) frames.push_back(std::make_shared<const KeptFrame>(std::move(frame)));
  return frames;
}

Result<std::shared_ptr<const KeptFile::Frames>> KeptFile::block(std::uint64_t number) const {
  {
    const std::lock_guard<std::mutex> guard(parts_->mutex);
    if (const auto found = parts_->cache.find(number); found != parts_->cache.end()) return found->second;
  }
  WEFT_TRY(Frames frames, read_block(number));
  auto shared = std::make_shared<const Frames>(std::move(frames));
  const std::lock_guard<std::mutex> guard(parts_->mutex);
  if (parts_->cache.size() >= kMaxCachedBlocks) parts_->cache.clear();
  parts_->cache[number] = shared;
  return std::shared_ptr<const Frames>(std::move(shared));
}

Result<void> KeptFile::at_position(std::uint64_t position,
                                   const std::function<void(const std::shared_ptr<const KeptFrame>&)>& visit) const {
  const auto& blocks = parts_->blocks;
  const std::uint64_t next = first_not(blocks.size(), [&](std::uint64_t i) { return blocks[i].first < position; });
  // In the block before the first that does not begin below, and in those that begin with it.
  for (std::uint64_t at = next == 0 ? 0 : next - 1; at < blocks.size() && blocks[at].first <= position; ++at) {
    WEFT_TRY(const auto frames, block(at));
    auto found = std::lower_bound(frames->begin(), frames->end(), position,
                                  [](const auto& frame, std::uint64_t wanted) { return frame->position < wanted; });
    for (; found != frames->end() && (*found)->position == position; ++found) visit(*found);
  }
  return {};
}

Result<std::shared_ptr<const KeptFrame>> KeptFile::frame(std::uint64_t position) const {
  std::shared_ptr<const KeptFrame> first;
  WEFT_DO(at_position(position, [&](const std::shared_ptr<const KeptFrame>& frame) {
    if (!first) first = frame;
  }));
  return first;
}

Result<std::optional<Move>> KeptFile::move(std::uint64_t position) const {
  const auto& blocks = parts_->blocks;
  // Its frame begins before it; frames do not overlap.
  const std::uint64_t next = first_not(blocks.size(), [&](std::uint64_t i) { return blocks[i].first < position; });
  if (next == 0) return std::optional<Move>();
  WEFT_TRY(const auto frames, block(next - 1));
  const auto behind = std::lower_bound(frames->begin(), frames->end(), position,
                                       [](const auto& frame, std::uint64_t at) { return frame->position < at; });
  if (behind == frames->begin()) return std::optional<Move>();
  std::optional<Move> result;
  WEFT_DO(at_position((*std::prev(behind))->position, [&](const std::shared_ptr<const KeptFrame>& frame) {
    for (const auto& move : frame->moves) {
      if (move.position == position) result = move;
    }
  }));
  return result;
}

Result<std::vector<std::uint64_t>> KeptFile::refs(const Key& key) const {
  std::vector<std::uint64_t> positions;
  const std::uint64_t count = parts_->footer.counts.refs;
  const std::uint64_t word = key_word(key, 0);
  for (std::uint64_t i = first_not(count, [&](std::uint64_t at) { return parts_->ref_key(at) < word; });
       i < count && parts_->ref_key(i) == word; ++i) {
    positions.push_back(parts_->ref_position(i));
  }
  return positions;
}

Result<void> KeptFile::for_each_ref(const std::function<Result<void>(std::uint64_t)>& visit) const {
  for (std::uint64_t i = 0; i < parts_->footer.counts.refs; ++i) WEFT_DO(visit(parts_->ref_position(i)));
  return {};
}

Result<std::vector<std::uint64_t>> KeptFile::operations_between(std::uint64_t low, std::uint64_t high) const {
  std::vector<std::uint64_t> positions;
  const std::uint64_t count = parts_->footer.counts.operations;
  for (std::uint64_t i = first_not(count, [&](std::uint64_t at) { return parts_->operation_id(at) < low; });
       i < count && parts_->operation_id(i) <= high; ++i) {
    const std::uint64_t number = parts_->operation_block(i);
    if (number >= parts_->blocks.size()) return located(damaged("its table of operations is out of bounds"));
    WEFT_TRY(const auto frames, block(number));
    for (const auto& frame : *frames) {
      if (frame->listed && key_word(padded_key(frame->transaction), 0) == parts_->operation_id(i)) {
        positions.push_back(frame->position);
      }
    }
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

std::vector<HalfId> KeptFile::changes_of(const HalfId& delta) const {
  std::vector<HalfId> changes;
  const std::uint64_t count = parts_->footer.counts.deltas;
  for (std::uint64_t i = first_not(count, [&](std::uint64_t at) { return parts_->delta(at).delta < delta; }); i < count;
       ++i) {
    const DeltaLink link = parts_->delta(i);
    if (link.delta != delta) break;
    changes.push_back(link.change);
  }
  return changes;
}

std::vector<GitLink> KeptFile::gits_between(const GitId& low, const GitId& high) const {
  std::vector<GitLink> links;
  const std::uint64_t count = parts_->footer.counts.gits;
  for (std::uint64_t i = first_not(count, [&](std::uint64_t at) { return parts_->git(at).git < low; }); i < count;
       ++i) {
    const GitLink link = parts_->git(i);
    if (high < link.git) break;
    links.push_back(link);
  }
  return links;
}

Result<void> KeptFile::for_each_frame(const std::function<Result<void>(const KeptFrame&)>& visit) const {
  for (std::uint64_t number = 0; number < parts_->blocks.size(); ++number) {
    WEFT_TRY(const Frames frames, read_block(number));
    for (const auto& frame : frames) WEFT_DO(visit(*frame));
  }
  return {};
}

void KeptFile::for_each_delta(const std::function<void(const DeltaLink&)>& visit) const {
  for (std::uint64_t i = 0; i < parts_->footer.counts.deltas; ++i) visit(parts_->delta(i));
}

void KeptFile::for_each_git(const std::function<void(const GitLink&)>& visit) const {
  for (std::uint64_t i = 0; i < parts_->footer.counts.gits; ++i) visit(parts_->git(i));
}

void KeptFile::verify(const std::function<void(const Error&)>& report) const {
  const std::uint64_t body = parts_->content.size() - kKeptFooterBytes;
  if (sha256(parts_->content.substr(0, body)) != parts_->footer.body_hash) {
    report(located(damaged("its content does not match its hash")));
  }
  std::uint64_t last = 0;
  for (std::uint64_t number = 0; number < parts_->blocks.size(); ++number) {
    const auto frames = read_block(number);
    if (!frames) {
      report(frames.error());
      continue;
    }
    if (frames->front()->position < last) report(located(damaged("its frames are out of order")));
    last = frames->back()->position;
  }
  verify_tables(report);
}

/// What only a writer's mistake could do.
void KeptFile::verify_tables(const std::function<void(const Error&)>& report) const {
  const auto& counts = parts_->footer.counts;
  const auto check = [&](std::string_view what, std::uint64_t count,
                         const std::function<bool(std::uint64_t)>& ordered) {
    for (std::uint64_t i = 1; i < count; ++i) {
      if (!ordered(i)) return report(located(damaged(fmt::format("its table of {} is out of order", what))));
    }
  };
  check("refs", counts.refs, [&](std::uint64_t i) { return parts_->ref_key(i - 1) <= parts_->ref_key(i); });
  check("operations", counts.operations,
        [&](std::uint64_t i) { return parts_->operation_id(i - 1) <= parts_->operation_id(i); });
  check("delta ids", counts.deltas, [&](std::uint64_t i) { return parts_->delta(i - 1) < parts_->delta(i); });
  check("git commits", counts.gits, [&](std::uint64_t i) { return parts_->git(i - 1) < parts_->git(i); });
}

}  // namespace weft::store
