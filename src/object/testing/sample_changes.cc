#include "object/testing/sample_changes.h"

#include <algorithm>

#include "base/hash.h"

namespace weft::object::testing {

namespace {

/// Numbers and bytes that follow from a seed.
class Sampler {
 public:
  explicit Sampler(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t below(std::uint64_t limit) {
    const std::uint64_t state[2] = {seed_, count_++};
    return xxh3(ByteView(reinterpret_cast<const char*>(state), sizeof(state))) % limit;
  }
  bool coin() { return below(2) == 1; }
  ObjectId id() { return sha256(std::to_string(seed_) + "." + std::to_string(count_++)); }
  NodeId node() { return NodeId::from_bytes(id().view().substr(0, NodeId::kSize)); }
  /// Any bytes, also none, also those that are no text.
  Bytes bytes(std::uint64_t max) {
    Bytes out;
    for (std::uint64_t left = below(max + 1); left > 0; --left) out += static_cast<char>(below(256));
    return out;
  }
  Place place() { return {coin() ? NodeId{} : node(), "name " + std::to_string(below(1000)) + "\xff\n"}; }
  Signature signature() {
    Signature signature{bytes(20), bytes(20), {}};
    signature.time.unix_ns = static_cast<std::int64_t>(below(std::uint64_t{1} << 62));
    if (coin()) signature.time.unix_ns = -signature.time.unix_ns;
    signature.time.offset_min = static_cast<std::int32_t>(below(2000)) - 1000;
    return signature;
  }
  std::vector<Hunk> hunks() {
    std::vector<Hunk> hunks(1 + below(3));
    std::uint64_t end = 0;
    for (Hunk& hunk : hunks) {
      hunk.offset = end + below(1000);
      hunk.removed = bytes(40);
      hunk.added = bytes(40) + "+";
      hunk.context_before = bytes(40);
      hunk.context_after = bytes(40);
      end = hunk.offset + hunk.removed.size();
    }
    return hunks;
  }
  op::Create create() {
    op::Create create;
    create.node = node();
    create.place = place();
    create.kind = static_cast<EntryKind>(1 + below(4));
    create.mode = create.kind == EntryKind::symlink     ? 0777
                  : create.kind == EntryKind::submodule ? 0
                                                        : static_cast<std::uint32_t>(below(010000));
    if (create.kind != EntryKind::directory) {
      create.blob = id();
      create.size = below(std::uint64_t{1} << 50);
    }
    if (coin()) create.replaces = node();
    return create;
  }
  Op op() {
    switch (below(7)) {
      case 0:
        return create();
      case 1:
        return op::Move{node(), place(), place()};
      case 2:
        return op::Delete{node(), place()};
      case 3:
        return op::SetContent{node(), id(), id(), below(1u << 30)};
      case 4:
        return op::EditText{node(), id(), id(), below(1u << 20), hunks()};
      case 5:
        return op::SetMode{node(), static_cast<std::uint32_t>(below(010000)),
                           static_cast<std::uint32_t>(below(010000))};
      default:
        return op::Settle{id()};
    }
  }

 private:
  std::uint64_t seed_;
  std::uint64_t count_ = 0;
};

}  // namespace

Change sample_change(std::uint64_t seed) {
  Sampler sampler(seed);
  Change change;
  for (auto parents = sampler.below(4); parents > 0; --parents) change.parents.push_back(sampler.id());
  change.lamport = change.parents.empty() ? 1 : 2 + sampler.below(std::uint64_t{1} << 40);
  change.author = sampler.signature();
  change.committer = sampler.coin() ? change.author : sampler.signature();
  if (sampler.coin()) change.agent = sampler.bytes(10);
  if (sampler.coin()) change.job = sampler.bytes(10);
  change.message = sampler.bytes(100);
  change.tree = sampler.id();
  change.rules = 1 + static_cast<std::uint32_t>(sampler.below(3));
  change.form = sampler.below(4) == 0 ? OpsForm::derived : OpsForm::recorded;
  if (change.form == OpsForm::recorded) {
    for (auto ops = sampler.below(6); ops > 0; --ops) change.ops.push_back(sampler.op());
  }
  for (auto extras = sampler.below(3); extras > 0; --extras) {
    change.extra.emplace_back("key" + std::to_string(extras), sampler.bytes(40));
  }
  return change;
}

Change one_file_edit() {
  Sampler sampler(1);
  Change change;
  change.parents = {sampler.id()};
  change.lamport = 123'456;
  change.author = {"Ada Lovelace", "ada@example.org", {1'700'000'000'123'456'789, 60}};
  change.committer = change.author;
  change.message = "Fix the loop bound\n";
  change.tree = sampler.id();
  change.ops.push_back(
      op::EditText{sampler.node(),
                   sampler.id(),
                   sampler.id(),
                   2'000,
                   {{700, "  for (i = 0; i < 10; i++)\n", "  for (i = 0; i <= 10; i++)\n", "int i;\n", "{\n"}}});
  return change;
}

}  // namespace weft::object::testing
