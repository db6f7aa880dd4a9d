#include "store/gc_facts.h"

namespace weft::store {

Result<KeptFrame> GcFacts::of(const log::Frame& frame) {
  KeptFrame facts;
  facts.position = frame.header.position;
  facts.transaction = frame.header.transaction;
  WEFT_TRY(Late late, decode_late(frame.late, facts.position));
  WEFT_TRY(Payload payload, decode_payload(frame.payload));
  facts.time_ns = payload.time_ns;
  facts.listed = payload.operation.has_value();
  facts.operation = std::move(payload.operation);
  facts.previous_operation = late.previous_operation;
  facts.moves = std::move(late.moves);
  return facts;
}

void GcFacts::see(const KeptFrame& frame) {
  // What is kept of a transaction before an earlier window says nothing about this one.
  const bool whole = frame.listed || frame.moves.empty();
  if (!window_ && whole && frame.time_ns >= window_start_ns_) window_ = frame.position;
  for (const auto& move : frame.moves) {
    if (window_ && move.previous != 0 && move.previous < *window_) {
      unkept_ = unkept_ || !keeps(move.previous, move.name);
      if (before_.insert(move.previous).second) new_before_.push_back(move.previous);
    }
    newest_[move.name] = {move.position, move.after.has_value()};
    if (!window_) continue;
    if (move.after)
      values_.insert(values_.end(), move.after->version.changes.begin(), move.after->version.changes.end());
  }
}

std::optional<KeptFrame> GcFacts::retained(const KeptFrame& frame) const {
  if (frame.position >= window()) return frame;
  KeptFrame kept = frame;
  kept.listed = false;
  kept.young.clear();
  std::erase_if(kept.moves, [&](const Move& move) { return !keeps(move.position, move.name); });
  if (kept.moves.empty()) return std::nullopt;
  return kept;
}

bool GcFacts::keeps(std::uint64_t position, std::string_view name) const {
  if (position >= window() || before_.contains(position)) return true;
  const auto newest = newest_.find(name);
  return newest != newest_.end() && newest->second.position == position && newest->second.exists;
}

std::vector<std::uint64_t> GcFacts::take_before() {
  std::vector<std::uint64_t> positions;
  positions.swap(new_before_);
  return positions;
}

std::set<std::uint64_t> GcFacts::moves_before_window() const {
  std::set<std::uint64_t> positions = before_;
  for (const auto& [name, newest] : newest_) {
    if (newest.exists && newest.position < window()) positions.insert(newest.position);
  }
  return positions;
}

std::vector<ChangeId> GcFacts::take_values() {
  std::vector<ChangeId> values;
  values.swap(values_);
  return values;
}

void GcFacts::count_dropped(const KeptFrame& frame) {
  if (frame.listed && frame.position < window()) ++dropped_operations_;
}

}  // namespace weft::store
