// Index: what speaks for the log before its start (IX5).
#include <fmt/format.h>

#include "store/index.h"

namespace weft::store {

Result<std::shared_ptr<const Base>> Index::load_base(const Manifest& manifest, bool last_try) const {
  if (manifest.kept.id.is_zero()) return std::shared_ptr<const Base>();
  {
    const std::lock_guard<std::mutex> guard(view_mutex_);
    if (base_ && base_->name.id == manifest.kept.id) return base_;
  }
  auto base = std::make_shared<Base>();
  base->start = manifest.start;
  base->name = manifest.kept;
  const std::string path = join_path(segments_.directory(), kept_file_name(manifest.kept.id));
  auto kept = KeptFile::open(env_.fs, path, manifest.kept.id);
  if (kept) {
    base->kept = *std::move(kept);
  } else {
    const bool gone = kept.error().code == Code::not_found;
    if (kept.error().code != Code::damaged && !(gone && last_try)) return std::move(kept).error();
    base->lost = gone ? damaged(fmt::format("{} is gone", path), "a copy of the file heals it") : kept.error();
  }
  segments_.forget_before(base->start.position);
  const std::lock_guard<std::mutex> guard(view_mutex_);
  base_ = base;
  return std::shared_ptr<const Base>(std::move(base));
}

Result<std::shared_ptr<const Base>> Index::base() const {
  WEFT_TRY(const auto current, view());
  return current->base;
}

Result<log::LogPoint> Index::log_start() const {
  WEFT_TRY(const auto now, base());
  return now ? now->start : log::LogPoint{};
}

bool Index::changed_since(std::uint64_t looked) const {
  if (generation() != looked) return true;
  const auto bytes = read_file(env_.fs, join_path(directory_, kManifestName), kMaxManifestBytes);
  if (!bytes) return false;
  const auto manifest = decode_manifest(*bytes);
  if (!manifest) return false;
  const std::lock_guard<std::mutex> guard(view_mutex_);
  if (view_ && view_->manifest.kept.id == manifest->kept.id) return false;
  if (view_) view_->outdated.store(true, std::memory_order_relaxed);
  view_.reset();
  return true;
}

Result<void> Index::find_in_base(const Base& base, EntryKind kind, const Key& key, Places& found,
                                 std::optional<Error>& lost) const {
  if (base.lost) {
    lost = base.lost;
    return {};
  }
  switch (kind) {
    case EntryKind::blob:
    case EntryKind::tree:
    case EntryKind::change:
      for (const auto& pack : base.kept->packs()) {
        auto reader = packs_.open(pack.name.id);
        if (!reader) {
          if (!is_lost(reader.error())) return std::move(reader).error();
          lost = std::move(reader).error();
          continue;
        }
        WEFT_TRY(const auto place, (*reader)->find_place(static_cast<ObjectKind>(kind), key));
        if (!place || pack.is_dead(*place)) continue;
        WEFT_TRY(const auto entry, (*reader)->entry(*place));
        found.list.push_back(Found{.pack = reader->get(), .offset = entry.offset});
        found.keep_packs.push_back(*std::move(reader));
        return {};
      }
      return {};
    case EntryKind::delta:
      for (const HalfId& change : base.kept->changes_of(half_of(key))) found.list.push_back(Found{.change = change});
      return {};
    case EntryKind::git: {
      const GitId git = GitId::from_bytes(key.view().substr(0, GitId::kSize));
      for (const GitLink& link : base.kept->gits_between(git, git)) found.list.push_back(Found{.change = link.change});
      return {};
    }
    case EntryKind::operation: {
      WEFT_TRY(const auto positions, base.kept->operations_between(key_word(key, 0), key_word(key, 0)));
      for (const std::uint64_t position : positions) found.list.push_back(Found{.position = position});
      return {};
    }
    case EntryKind::ref:
    case EntryKind::pack:
      return {};
  }
  return {};
}

Result<void> Index::candidates_in_base(const Base& base, EntryKind kind, const KeyPrefix& prefix,
                                       Candidates& found) const {
  const auto add_position = [&](std::uint64_t position) {
    found.list.push_back({.found = {.position = position}, .has_key = false, .key = {}});
  };
  if (base.lost) return {};  // what cannot be listed; the store says that it is damaged
  if (kind <= EntryKind::change) {
    for (const auto& pack : base.kept->packs()) {
      WEFT_TRY(const auto reader, packs_.open(pack.name.id));
      found.keep.keep_packs.push_back(reader);
      WEFT_TRY(std::uint64_t place, reader->first_place(prefix.low()));
      for (; place < reader->summary().objects; ++place) {
        WEFT_TRY(const auto entry, reader->entry(place));
        if (key_word(entry.id, 0) > prefix.high()) break;
        if (entry_kind(entry.kind) != kind || pack.is_dead(place) || !prefix.matches(entry.id.view())) continue;
        found.list.push_back(
            {.found = {.pack = reader.get(), .offset = entry.offset}, .has_key = true, .key = entry.id});
      }
    }
    return {};
  }
  if (kind == EntryKind::ref) {
    return base.kept->for_each_ref([&](std::uint64_t position) -> Result<void> {
      add_position(position);
      return {};
    });
  }
  if (kind == EntryKind::operation) {
    WEFT_TRY(const auto positions, base.kept->operations_between(prefix.low(), prefix.high()));
    for (const std::uint64_t position : positions) add_position(position);
    return {};
  }
  if (kind != EntryKind::git) return {};
  const GitId from = GitId::from_bytes(prefix.first().view().substr(0, GitId::kSize));
  const GitId to = GitId::from_bytes(prefix.last().view().substr(0, GitId::kSize));
  for (const GitLink& link : base.kept->gits_between(from, to)) {
    found.list.push_back({.found = {.change = link.change}, .has_key = true, .key = padded_key(link.git)});
  }
  return {};
}

Result<std::uint64_t> Index::ref_in_base(const Base& base, const Key& key) const {
  if (base.lost) return *base.lost;
  WEFT_TRY(const auto positions, base.kept->refs(key));
  for (const std::uint64_t position : positions) {
    WEFT_TRY(const auto move, base.kept->move(position));
    // As much of the key as a move has; the tail tables hold no more of it either.
    if (move && std::memcmp(move->key.bytes.data(), key.bytes.data(), 16) == 0) return position;
  }
  return std::uint64_t{0};
}

}  // namespace weft::store
