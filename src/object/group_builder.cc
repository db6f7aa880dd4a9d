#include "object/group_builder.h"

#include <algorithm>
#include <utility>

namespace weft::object {

bool GroupBuilder::Gathered::fits(const ObjectId& id, std::size_t size, std::uint64_t limit) const {
  if (ids.empty()) return true;  // whatever its size
  return content.size() + size <= limit && ids.size() < kMaxGroupMembers &&
         std::find(tags.begin(), tags.end(), group_tag(id)) == tags.end();
}

void GroupBuilder::Gathered::add(const ObjectId& id, ByteView bytes) {
  ids.push_back(id);
  sizes.push_back(bytes.size());
  tags.push_back(group_tag(id));
  content += bytes;
}

Result<void> GroupBuilder::add(const ObjectId& id, Bytes content, std::uint64_t group) {
  WEFT_CHECK(content.size() < kMaxGroupBytes && !holds(id));
  if (group == 0 || group != group_) return begin_versions(id, std::move(content), group);
  if (!older_.fits(id, content.size(), kOlderGroupBytes)) WEFT_DO(close_older());
  older_.add(id, content);
  held_.insert(id);
  return {};
}

Result<void> GroupBuilder::begin_versions(const ObjectId& id, Bytes content, std::uint64_t group) {
  WEFT_DO(close_older());
  if (!newest_.fits(id, content.size(), kNewestGroupBytes)) WEFT_DO(write());
  newest_.add(id, content);
  held_.insert(id);
  group_ = group;
  first_ = {newest_place_, static_cast<std::uint32_t>(newest_.ids.size() - 1), std::move(content)};
  last_ = {};
  return {};
}

/// RP4: against the group before while what that needs leaves room, else against the newest version again.
Result<void> GroupBuilder::close_older() {
  if (older_.ids.empty()) return {};
  const std::uint64_t raw = older_.content.size();
  const std::uint64_t limit = std::max(kReadBytes, kReadFactor * raw);
  const bool go_on =
      last_.place && last_.place->chain_bytes + raw <= limit && last_.place->chain_groups + 1 < kMaxChainGroups;
  const Base& base = go_on ? last_ : first_;
  WEFT_TRY(Bytes stored, encoder_.compress(older_.content, base.content, level_));
  auto place = std::make_shared<Place>();
  place->chain_groups = base.place->chain_groups + 1;
  // Of the newest versions' group the most it can become.
  place->chain_bytes =
      raw + (go_on ? last_.place->chain_bytes : std::max<std::uint64_t>(kNewestGroupBytes, first_.content.size()));
  Base next{place, static_cast<std::uint32_t>(older_.ids.size() - 1), older_.content.substr(raw - older_.sizes.back())};
  pending_bytes_ += stored.size();
  pending_.push_back(
      {std::move(older_.ids), std::move(older_.sizes), std::move(stored), std::move(place), base.place, base.member});
  last_ = std::move(next);
  older_ = {};
  return pending_bytes_ > kMaxPendingBytes ? write() : Result<void>();
}

/// The newest versions, then what refers to them: a base lies before what needs it (group.h, GR1).
Result<void> GroupBuilder::write() {
  if (!newest_.ids.empty()) {
    WEFT_TRY(const Bytes stored, encoder_.compress(newest_.content, {}, level_));
    WEFT_TRY(newest_place_->offset, writer_.add_group({kind_, newest_.ids, newest_.sizes, stored}));
    newest_ = {};
    newest_place_ = std::make_shared<Place>();
  }
  for (const Pending& group : pending_) {
    WEFT_TRY(group.place->offset,
             writer_.add_group({kind_, group.ids, group.sizes, group.stored, group.base->offset, group.base_member}));
  }
  pending_.clear();
  pending_bytes_ = 0;
  held_.clear();  // older_ is empty wherever this is called
  return {};
}

Result<void> GroupBuilder::finish() {
  WEFT_DO(close_older());
  WEFT_DO(write());
  group_ = 0;
  first_ = {};
  last_ = {};
  return {};
}

}  // namespace weft::object
