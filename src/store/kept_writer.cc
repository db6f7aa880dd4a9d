// Writing kept files (kept.h, K1).
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "store/kept_format.h"

namespace weft::store {

struct KeptWriter::Hash {
  Sha256 sha;
};

KeptWriter::KeptWriter(Env env, std::string directory)
    : env_(env), directory_(std::move(directory)), hash_(std::make_unique<Hash>()) {}

KeptWriter::~KeptWriter() {
  if (!temporary_.empty()) (void)env_.fs.unlink(temporary_);
}

Result<void> KeptWriter::begin() {
  if (file_) return {};
  temporary_ = join_path(directory_, std::string(kKeptTemporaryPrefix) + to_hex(env_.random.id<HalfId>().view()));
  WEFT_TRY(file_, env_.fs.open(temporary_, OpenMode::create_new));
  Bytes header;
  ByteWriter out(header);
  out.raw(kKeptMagic);
  out.u32(kKeptVersion);
  out.u32(0);
  return write(header);
}

Result<void> KeptWriter::write(ByteView bytes) {
  WEFT_DO(file_->write_at(written_, bytes));
  hash_->sha.update(bytes);
  written_ += bytes.size();
  return {};
}

Result<void> KeptWriter::add(const KeptFrame& frame) {
  WEFT_DO(begin());
  WEFT_CHECK(frame.position >= last_position_ && frame.young.size() <= kMaxYoungObjects);
  last_position_ = frame.position;
  if (pending_.empty()) block_first_ = frame.position;
  for (const auto& move : frame.moves) {
    std::uint64_t& newest = refs_[move.name];
    newest = std::max(newest, move.position);
  }
  if (frame.listed) {
    operations_.emplace_back(key_word(padded_key(frame.transaction), 0), static_cast<std::uint32_t>(blocks_.size()));
  }
  pending_bytes_ += encode_kept_frames({frame}).size();
  pending_.push_back(frame);
  return pending_bytes_ < kKeptBlockBytes ? Result<void>() : end_block();
}

Result<void> KeptWriter::end_block() {
  if (pending_.empty()) return {};
  const Bytes raw = encode_kept_frames(pending_);
  if (raw.size() > kMaxKeptBlockBytes) {
    return make_error(Code::unsupported, fmt::format("the transaction at log position {} is too large to be kept",
                                                     pending_.back().position));
  }
  const auto packed = codec_.pack(raw);
  KeptBlock block{block_first_, written_, static_cast<std::uint32_t>(raw.size()),
                  static_cast<std::uint32_t>(packed.bytes.size()), xxh3(packed.bytes)};
  if (packed.form == object::Stored::zstd) block.stored |= kKeptCompressed;
  WEFT_DO(write(packed.bytes));
  blocks_.push_back(block);
  pending_.clear();
  pending_bytes_ = 0;
  return {};
}

Result<KeptName> KeptWriter::finish(const KeptFacts& facts) {
  WEFT_DO(begin());
  WEFT_DO(end_block());
  KeptFooter footer;
  footer.facts = facts;
  Bytes packs;
  for (const auto& pack : packs_) append_kept_pack(packs, pack, codec_);
  const std::uint64_t tables = (written_ + 7) / 8 * 8;
  WEFT_DO(write(Bytes(tables - written_, '\0')));

  Bytes small;  // what is check-summed at opening
  ByteWriter out(small);
  for (const auto& block : blocks_) append_kept_block(small, block);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> refs;
  for (const auto& [name, position] : refs_) refs.emplace_back(key_word(ref_key(name), 0), position);
  std::sort(refs.begin(), refs.end());
  for (const auto& [key, position] : refs) out.u64(key);
  for (const auto& [key, position] : refs) out.u64(position);
  out.raw(packs);
  small.resize((small.size() + 7) / 8 * 8, '\0');
  WEFT_DO(write(small));
  footer.small_checksum = xxh3(small);

  // In pieces: there may be as many of these as there are changes.
  Bytes piece;
  ByteWriter rest(piece);
  const auto flush = [&](bool always) -> Result<void> {
    constexpr std::size_t kPieceBytes = 1u << 20;
    if (piece.size() < kPieceBytes && !always) return {};
    WEFT_DO(write(piece));
    piece.clear();
    return {};
  };
  std::sort(operations_.begin(), operations_.end());
  for (const auto& [id, block] : operations_) {
    rest.u64(id);
    WEFT_DO(flush(false));
  }
  for (const auto& [id, block] : operations_) {
    rest.u32(block);
    WEFT_DO(flush(false));
  }
  if (operations_.size() % 2 != 0) rest.u32(0);
  std::sort(deltas_.begin(), deltas_.end());
  deltas_.erase(std::unique(deltas_.begin(), deltas_.end()), deltas_.end());
  for (const auto& link : deltas_) {
    rest.raw(link.delta.view());
    rest.raw(link.change.view());
    WEFT_DO(flush(false));
  }
  std::sort(gits_.begin(), gits_.end());
  gits_.erase(std::unique(gits_.begin(), gits_.end()), gits_.end());
  for (const auto& link : gits_) {
    rest.raw(link.git.view());
    rest.raw(link.change.view());
    WEFT_DO(flush(false));
  }
  if (gits_.size() % 2 != 0) rest.u32(0);
  WEFT_DO(flush(true));

  footer.tables = tables;
  footer.small_bytes = small.size();
  footer.counts = {blocks_.size(), refs.size(), operations_.size(), deltas_.size(), gits_.size(), packs_.size()};
  footer.body_hash = hash_->sha.finish();
  const Bytes encoded = encode_kept_footer(footer);
  WEFT_DO(file_->write_at(written_, encoded));
  WEFT_DO(file_->sync());
  const KeptName name{sha256(encoded), written_ + encoded.size()};
  WEFT_DO(env_.fs.rename(temporary_, join_path(directory_, kept_file_name(name.id))));
  temporary_.clear();
  WEFT_DO(env_.fs.sync_directory(directory_));
  return name;
}

}  // namespace weft::store
