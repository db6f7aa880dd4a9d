// Index: the lookups. How one goes, and what it costs: docs/adr, "Index shape, measured".
#include <algorithm>

#include "store/index.h"

namespace weft::store {
namespace {

/// Readers that meet changing tables repeat; each change is a merge, so few of them can come in a row.
constexpr int kMaxRepeats = 1000;

}  // namespace

KeyPrefix::KeyPrefix(std::string_view hex_digits) : digits_(hex_digits.size()) {
  WEFT_CHECK(digits_ <= kMaxDigits);
  last_.bytes.fill(std::remove_reference_t<decltype(last_.bytes[0])>(0xff));
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  for (std::size_t i = 0; i < digits_; ++i) {
    const unsigned shift = i % 2 == 0 ? 4 : 0;
    const unsigned value = digit(hex_digits[i]) << shift;
    auto& low = key_.bytes[i / 2];
    auto& high = last_.bytes[i / 2];
    low = std::remove_reference_t<decltype(low)>(static_cast<unsigned char>(low) | value);
    high = std::remove_reference_t<decltype(high)>((static_cast<unsigned char>(high) & ~(0xfU << shift)) | value);
  }
  low_ = key_word(key_, 0);
  high_ = key_word(last_, 0);
}

bool KeyPrefix::matches(ByteView id) const {
  const std::size_t whole = digits_ / 2;
  if (digits_ > 2 * id.size() || std::memcmp(id.data(), key_.bytes.data(), whole) != 0) return false;
  return digits_ % 2 == 0 ||
         ((static_cast<unsigned char>(id[whole]) ^ static_cast<unsigned char>(key_.bytes[whole])) & 0xf0U) == 0;
}

Result<std::shared_ptr<const View>> Index::view() const {
  const std::uint64_t tables = state_.tables.load(std::memory_order_acquire);
  std::shared_ptr<const View> before;
  {
    const std::lock_guard<std::mutex> guard(view_mutex_);
    if (view_ && view_->tables == tables) return view_;
    before = view_;
  }
  WEFT_TRY(auto loaded, load_view(before.get()));
  loaded->tables = tables;
  const std::lock_guard<std::mutex> guard(view_mutex_);
  view_ = loaded;
  return std::shared_ptr<const View>(std::move(loaded));
}

void Index::pin_current(const ViewPin& pin) const {
  const std::unique_lock<std::mutex> guard(view_mutex_, std::try_to_lock);
  if (guard.owns_lock() && view_ && is_current(*view_)) pin.set(view_);
}

Result<Found> Index::resolve(const View& view, std::uint64_t value) const {
  const Location location(value);
  if (!location.is_in_pack()) return Found{.position = location.position()};
  WEFT_TRY(const object::PackReader* const pack, view.pack(packs_, location.pack_ordinal()));
  return Found{.pack = pack, .offset = location.pack_offset()};
}

template <typename Look>
Result<void> Index::consistently(const ViewPin* pin, Places& found, const Look& look) const {
  for (int i = 0; i < kMaxRepeats; ++i) {
    const std::uint64_t tables = state_.tables.load(std::memory_order_acquire);
    found.view = pin != nullptr ? pin->get() : nullptr;
    if (found.view == nullptr || found.view->tables != tables || found.view->outdated.load(std::memory_order_relaxed)) {
      WEFT_TRY(found.keep_view, view());
      found.view = found.keep_view.get();
      if (pin != nullptr) pin->set(found.keep_view);
    }
    auto looked = look(*found.view, tables);
    const bool gone = !looked && looked.error().code == Code::damaged;
    if (gone ? !changed_since(tables) : generation() == tables) return looked;
  }
  return make_error(Code::busy, "the index kept changing while it was read", "try again");
}

Result<void> Index::find_in_lost_packs(const View& view, EntryKind kind, const Key& key, Places& found) const {
  for (const std::uint64_t ordinal : view.lost_packs) {
    WEFT_TRY(const auto* const reader, view.pack(packs_, ordinal));  // it may have come back from a copy
    WEFT_TRY(const auto offset, reader->find(static_cast<ObjectKind>(kind), key));
    if (offset) found.list.push_back(Found{.pack = reader, .offset = *offset});
  }
  return {};
}

Result<void> Index::places(const ViewPin* pin, EntryKind kind, const Key& key, Run::Match match, std::uint64_t bound,
                           Places& found) const {
  return consistently(pin, found, [&](const View& current, std::uint64_t tables) -> Result<void> {
    std::optional<Error> lost;
    found.list.clear();
    found.keep_packs.clear();
    const std::uint64_t prefix = key_word(key, 0);
    const int active = active_of(tables);
    // The first line each table and run will be asked for, all at once: each may be far away.
    for (const auto& run : current.runs) run->ready(kind, prefix);
    for (const int which : {active, 1 - active}) {
      if (which == active || frozen_of(tables)) table(which).ready(prefix);
    }
    std::array<Run::Bucket, kMaxRuns> buckets;
    const std::size_t runs = std::min(current.runs.size(), kMaxRuns);
    for (std::size_t i = 0; i < runs; ++i) buckets[i] = current.runs[i]->bucket(kind, prefix);

    for (const int which : {active, 1 - active}) {
      if (which != active && !frozen_of(tables)) continue;
      table(which).find(kind, key, [&](std::uint64_t position) {
        if (position >= bound) return true;
        current.segments.ready(position);
        found.list.push_back(Found{.position = position});
        return true;
      });
      if (kind > EntryKind::change) continue;
      if (state_.pack_count[which].load(std::memory_order_acquire) == 0) continue;
      WEFT_TRY(auto packs, tail_packs(which, bound));
      if (packs.lost) lost = std::move(packs.lost);
      for (auto& reader : packs.readers) {
        WEFT_TRY(const auto offset, reader->find(static_cast<ObjectKind>(kind), key));
        if (!offset) continue;
        found.list.push_back(Found{.pack = reader.get(), .offset = *offset});
        found.keep_packs.push_back(std::move(reader));
      }
    }
    // One place in a run is enough for an object, and most are in the oldest run; of a ref the newest run knows best; a
    // delta may have many changes, in any of them.
    const std::size_t in_tail = found.list.size();
    for (std::size_t i = 0; i < runs; ++i) {
      if (found.list.size() > in_tail && kind != EntryKind::delta) break;
      const std::size_t at = kind == EntryKind::ref ? runs - 1 - i : i;
      Result<void> resolved;
      current.runs[at]->find(kind, key, match, buckets[at], [&](std::uint64_t value) {
        if (!Location(value).is_in_pack()) {
          if (value >= bound) return true;
          current.segments.ready(value);
          found.list.push_back(Found{.position = value});
          return true;
        }
        auto place = resolve(current, value);
        if (!place) {
          resolved = std::move(place).error();
          return false;
        }
        found.list.push_back(*place);
        return true;
      });
      if (!resolved) return resolved;
    }
    // A delta may have changes on both sides of the log's start.
    if (current.base && (found.list.empty() || kind == EntryKind::delta)) {
      WEFT_DO(find_in_base(*current.base, kind, key, found, lost));
    }
    if (!found.list.empty() || (kind > EntryKind::change && !lost)) return {};
    if (lost) return *std::move(lost);
    return find_in_lost_packs(current, kind, key, found);
  });
}

Result<void> Index::candidates(const ViewPin* pin, EntryKind kind, const KeyPrefix& prefix, std::uint64_t bound,
                               Candidates& found) const {
  return consistently(pin, found.keep, [&](const View& current, std::uint64_t tables) -> Result<void> {
    found.list.clear();
    found.keep.keep_packs.clear();
    for (const auto& run : current.runs) run->ready(kind, prefix.low());
    const int active = active_of(tables);
    for (const int which : {active, 1 - active}) {
      if (which != active && !frozen_of(tables)) continue;
      table(which).find_range(kind, prefix.low(), prefix.high(), [&](std::uint64_t position) {
        if (position < bound) found.list.push_back({.found = {.position = position}, .has_key = false, .key = {}});
      });
      if (kind > EntryKind::change) continue;
      if (state_.pack_count[which].load(std::memory_order_acquire) == 0) continue;
      // What lies in a lost pack cannot be listed; everything else still can.
      WEFT_TRY(auto packs, tail_packs(which, bound));
      for (auto& reader : packs.readers) {
        WEFT_DO(reader->for_each([&](ObjectKind entry, const ObjectId& id, std::uint64_t offset) -> Result<void> {
          if (entry_kind(entry) == kind && prefix.matches(id.view())) {
            found.list.push_back({.found = {.pack = reader.get(), .offset = offset}, .has_key = true, .key = id});
          }
          return {};
        }));
        found.keep.keep_packs.push_back(std::move(reader));
      }
    }
    for (const auto& run : current.runs) {
      for (std::size_t i = run->lower_bound(kind, prefix.low()); i < run->count(kind); ++i) {
        if (run->prefix(kind, i) > prefix.high()) break;
        const IndexEntry entry = run->entry(kind, i);
        if (!prefix.matches(entry.key.view())) continue;
        if (!Location(entry.value).is_in_pack() && entry.value >= bound) continue;
        WEFT_TRY(const Found place, resolve(current, entry.value));
        found.list.push_back({.found = place, .has_key = true, .key = entry.key});
      }
    }
    if (!current.base) return {};
    return candidates_in_base(*current.base, kind, prefix, found);
  });
}

Result<void> Index::for_each(EntryKind kind, std::uint64_t bound,
                             const std::function<Result<void>(const std::optional<Key>&, const Found&)>& visit) const {
  Candidates all;
  WEFT_DO(candidates(nullptr, kind, KeyPrefix({}), bound, all));
  for (std::size_t i = 0; i < all.list.size(); ++i) {
    const Candidate& each = all.list[i];
    WEFT_DO(visit(each.has_key ? std::optional(each.key) : std::nullopt, each.found));
  }
  return {};
}

Result<std::uint64_t> Index::ref_position(const ViewPin* pin, const Key& key,
                                          std::atomic<std::uint64_t> TailEntry::* word) const {
  std::uint64_t position = 0;
  Places keep;
  WEFT_DO(consistently(pin, keep, [&](const View& current, std::uint64_t tables) -> Result<void> {
    position = 0;
    const int active = active_of(tables);
    for (const int which : {active, 1 - active}) {
      if (which != active && !frozen_of(tables)) continue;
      if (const TailEntry* entry = table(which).find_ref(key)) {
        position = (entry->*word).load(std::memory_order_acquire) & kPositionMask;
      }
      if (position != 0) return {};
    }
    for (auto run = current.runs.rbegin(); run != current.runs.rend() && position == 0; ++run) {
      (*run)->find(EntryKind::ref, key, [&](std::uint64_t value) {
        if (!behind_damage(value)) position = value;
        return false;
      });
    }
    if (position == 0 && current.base) {
      WEFT_TRY(position, ref_in_base(*current.base, key));
    }
    return {};
  }));
  return position;
}

Result<std::uint64_t> Index::durable_ref(const ViewPin* pin, const Key& key) const {
  return ref_position(pin, key, &TailEntry::durable);
}
Result<std::uint64_t> Index::newest_ref(const Key& key) const { return ref_position(nullptr, key, &TailEntry::newest); }

}  // namespace weft::store
