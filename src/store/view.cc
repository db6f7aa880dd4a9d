#include "store/view.h"

#include "store/index.h"

namespace weft::store {

void View::prepare() {
  if (!manifest.packs.empty()) {
    opened_ = std::make_unique<std::atomic<const object::PackReader*>[]>(manifest.packs.size());
  }
  for (std::size_t i = 0; i < manifest.packs.size(); ++i) {
    if (manifest.packs[i].objects == 0) lost_packs.push_back(i);
  }
}

Result<const object::PackReader*> View::pack(PackCache& packs, std::uint64_t ordinal) const {
  if (ordinal >= manifest.packs.size()) {
    return damaged("the index names a pack that does not exist", "run `weft repair`: it is rebuilt from the log");
  }
  auto& slot = opened_[ordinal];
  if (const auto* const known = slot.load(std::memory_order_acquire)) return known;
  WEFT_TRY(auto reader, packs.open(manifest.packs[ordinal].id));
  const std::lock_guard<std::mutex> guard(mutex_);
  if (const auto* const known = slot.load(std::memory_order_relaxed)) return known;
  held_.push_back(std::move(reader));
  slot.store(held_.back().get(), std::memory_order_release);
  return held_.back().get();
}

void ViewPin::set(const std::shared_ptr<const View>& view) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (count_ == kMaxHeld || current_.load(std::memory_order_relaxed) == view.get()) return;
  held_[count_++] = view;
  current_.store(view.get(), std::memory_order_release);
}

}  // namespace weft::store
