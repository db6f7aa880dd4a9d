// Of a survey: large blobs, which are kept as lists of chunks (object/chunk_list.h; survey.h, SV4).
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "object/byte_source.h"
#include "store/survey.h"

namespace weft::store {

/// Chunks and pages from where the survey found them. Nothing derived is asked.
class Survey::PartReader final : public object::ObjectReader {
 public:
  explicit PartReader(const Survey& survey) : survey_(survey) {}

  Result<Bytes> read(ObjectKind kind, const ObjectId& id) const override {
    const auto found = survey_.parts_.find(id);
    if (kind != ObjectKind::blob || found == survey_.parts_.end()) {
      return damaged(fmt::format("{} {} is nowhere", object::name(kind), id.hex()));
    }
    return survey_.read_place(found->second, id);
  }
  Result<bool> contains(ObjectKind kind, const ObjectId& id) const override {
    return kind == ObjectKind::blob && survey_.parts_.contains(id);
  }
  Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override {
    WEFT_TRY(Bytes bytes, read(ObjectKind::blob, id));
    return std::unique_ptr<object::ByteSource>(std::make_unique<object::OwnedSource>(std::move(bytes)));
  }
  Result<std::uint64_t> blob_size(const ObjectId& id) const override {
    WEFT_TRY(const Bytes bytes, read(ObjectKind::blob, id));
    return std::uint64_t{bytes.size()};
  }

 private:
  const Survey& survey_;
};

void Survey::add_list(const ObjectId& id, object::ChunkList list, std::optional<std::size_t> pack,
                      std::uint64_t position, bool proven) {
  for (const auto& entry : list.entries) {
    if (proven && entry.kind != object::ChunkEntry::Kind::zeros) refer(ObjectKind::blob, entry.id);
  }
  if (proven) objects_.insert(ObjectKind::blob, id, true);  // until judge_lists() knows better
  lists_.push_back({id, std::move(list), pack, position, proven, false, false});
}

Result<void> Survey::for_each_blob(const std::function<Result<void>(const ObjectId&, const Place&)>& visit) const {
  WEFT_DO(for_each_frame([&](const log::Frame& frame, std::size_t stretch) -> Result<void> {
    if (frame.header.kind != log::FrameKind::transaction) return {};
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    const std::uint64_t base = frame.payload_position() + payload.records_offset;
    for (ByteView rest = payload.records; !rest.empty();) {
      WEFT_TRY(const auto record, object::decode_record(rest));
      if (record.kind == ObjectKind::blob && record.form != object::Stored::chunks) {
        Place place;
        place.stretch = stretch;
        place.position = base + (payload.records.size() - rest.size());
        WEFT_DO(visit(record.id, place));
      }
      rest.remove_prefix(record.length);
    }
    return {};
  }));
  for (std::size_t i = 0; i < packs_.size(); ++i) {
    WEFT_TRY(const PackScan scan, scan_of(packs_[i]));
    WEFT_DO(for_each_packed(packs_[i], scan, [&](const PackScan::Object& object) -> Result<void> {
      if (object.kind != ObjectKind::blob) return {};
      Place place;
      place.pack = i;
      place.object = object;
      return visit(object.id, place);
    }));
  }
  return {};
}

Result<Bytes> Survey::read_place(const Place& place, const ObjectId& id) const {
  if (!place.pack) {
    std::shared_ptr<Mapping> keep;
    WEFT_TRY(const ByteView bytes, segments_of(place.stretch).view_rest(place.position, keep));
    WEFT_TRY(const auto record, object::decode_record(bytes));
    if (record.id != id) return damaged("the log changed while it was read", "try again");
    return object::record_content(record);
  }
  auto scan = part_packs_.find(*place.pack);
  if (scan == part_packs_.end()) {
    // Each keeps its file open, and a store may have more packs than a process may have files.
    constexpr std::size_t kMaxOpenParts = 16;
    if (part_packs_.size() >= kMaxOpenParts) part_packs_.erase(part_packs_.begin());
    WEFT_TRY(auto opened, scan_of(packs_[*place.pack]));
    scan = part_packs_.emplace(*place.pack, std::move(opened)).first;
  }
  return scan->second.read(place.object);
}

/// Where everything lies that lists name, and what pages among it name.
Result<void> Survey::find_parts() {
  std::unordered_map<ObjectId, std::uint64_t, IdHash> wanted, pages;  // with the size
  for (const auto& list : lists_) {
    for (const auto& entry : list.list.entries) {
      if (entry.kind == object::ChunkEntry::Kind::zeros) continue;
      wanted.emplace(entry.id, entry.size);
      if (entry.kind == object::ChunkEntry::Kind::page) pages.emplace(entry.id, entry.size);
    }
  }
  // Pages name chunks alone: after the second look nothing is left to be looked for.
  for (int round = 0; round < 2 && !wanted.empty(); ++round) {
    std::unordered_map<ObjectId, std::uint64_t, IdHash> further;
    WEFT_DO(for_each_blob([&](const ObjectId& id, const Place& place) -> Result<void> {
      if (!wanted.contains(id) || parts_.contains(id)) return {};
      const auto page = pages.find(id);
      if (page == pages.end() && !bad_.contains({ObjectKind::blob, id})) {
        parts_.emplace(id, place);
        return {};
      }
      const auto content = read_place(place, id);
      if (!content && content.error().code != Code::damaged) return content.error();
      if (!content || sha256(*content) != id) return {};
      parts_.emplace(id, place);
      if (page == pages.end()) return {};
      const auto list = object::decode_page(*content, page->second);
      if (!list) return {};  // then no list that names it has its content
      auto& named = pages_[id];
      for (const auto& entry : list->entries) {
        if (entry.kind == object::ChunkEntry::Kind::zeros) continue;
        named.push_back(entry.id);
        further.emplace(entry.id, entry.size);
      }
      return {};
    }));
    wanted = std::move(further);
    pages.clear();
  }
  for (auto& list : lists_) {
    if (list.proven) {
      (void)part_of(list, [&](const ObjectId& id) {
        refer(ObjectKind::blob, id);
        return false;
      });
      continue;
    }
    // Only its content says whether it is the blob it claims to be.
    const bool there = !part_of(list, [&](const ObjectId& id) { return !parts_.contains(id); });
    if (there) {
      WEFT_TRY(list.hashed, has_its_content(list));
    }
    if (list.hashed) {
      objects_.insert(ObjectKind::blob, list.id, true);
      missing_.erase({ObjectKind::blob, list.id});
    }
  }
  return {};
}

std::optional<ObjectId> Survey::part_of(const List& list, const std::function<bool(const ObjectId&)>& wanted) const {
  for (const auto& entry : list.list.entries) {
    if (entry.kind == object::ChunkEntry::Kind::zeros) continue;
    if (wanted(entry.id)) return entry.id;
    const auto page = pages_.find(entry.id);
    if (entry.kind != object::ChunkEntry::Kind::page || page == pages_.end()) continue;
    for (const auto& id : page->second) {
      if (wanted(id)) return id;
    }
  }
  return std::nullopt;
}

Result<bool> Survey::has_its_content(const List& list) const {
  const auto source = object::open_chunks(std::make_shared<PartReader>(*this), list.id, list.list);
  Bytes piece(object::kLargeBlobBytes, '\0');
  for (;;) {
    const auto got = source->read(piece);
    if (!got && got.error().code != Code::damaged && got.error().code != Code::not_found) return got.error();
    if (!got) return false;
    if (*got == 0) return true;  // compared with the id by the source
  }
}

Result<void> Survey::judge_lists() {
  bad_lists_.clear();
  bad_list_positions_.clear();
  for (auto& pack : packs_) pack.holds_bad_list = false;
  std::set<ObjectId> good;
  std::map<ObjectId, std::size_t> lost;  // with the damage
  for (auto& list : lists_) {
    if (!list.proven && !list.hashed) {
      list.bad = true;
    } else {
      const auto lacking = part_of(list, [&](const ObjectId& id) { return is_lost(ObjectKind::blob, id); });
      list.bad = lacking.has_value();
      if (lacking) lost.emplace(list.id, lost_.at({ObjectKind::blob, *lacking}));
      if (!list.bad && deep_ && !list.hashed &&
          !part_of(list, [&](const ObjectId& id) { return !parts_.contains(id); })) {
        WEFT_TRY(list.hashed, has_its_content(list));
        if (!list.hashed) {
          list.bad = true;
          std::string what = fmt::format("blob {} is a list of whole chunks that are not its content", list.id.hex());
          if (list.pack) {
            lost.emplace(list.id, pack_damage(packs_[*list.pack], std::move(what)));
          } else {
            Damage damage;
            damage.kind = Damage::Kind::record;
            damage.path = segments_.path_of(list.position);
            damage.from = list.position;
            damage.to = list.position + 1;
            damage.what = std::move(what);
            lost.emplace(list.id, damages_.size());
            damages_.push_back(std::move(damage));
          }
        }
      }
    }
    if (!list.bad) {
      good.insert(list.id);
      continue;
    }
    bad_lists_.insert(list.id);
    if (list.pack) {
      packs_[*list.pack].holds_bad_list = true;
    } else {
      bad_list_positions_.push_back(list.position);
    }
  }
  for (const auto& id : good) {
    bad_lists_.erase(id);
    // Given back by what was found elsewhere.
    if (const auto found = lost_.find({ObjectKind::blob, id}); found != lost_.end()) {
      --damages_[found->second].lost;
      lost_.erase(found);
    }
  }
  for (const auto& [id, damage] : lost) {
    if (!good.contains(id) && !found_blobs_.contains(id)) lacks({ObjectKind::blob, id}, damage);
  }
  return {};
}

}  // namespace weft::store
