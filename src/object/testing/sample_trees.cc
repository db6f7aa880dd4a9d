#include "object/testing/sample_trees.h"

#include <algorithm>

#include "base/hash.h"
#include "object/tree_codec.h"

namespace weft::object::testing {

NamePool::NamePool(std::size_t inner_count, std::size_t end_count, std::size_t padding) {
  for (std::uint64_t i = 0; inner.size() < inner_count || ends.size() < end_count; ++i) {
    const std::string number = std::to_string(xxh3(std::to_string(i)) % 100'000'000);
    const std::string name = "n" + number + std::string(i % (padding + 1), '-') + std::to_string(i);
    auto& list = ends_chunk(name) ? ends : inner;
    if (list.size() < (ends_chunk(name) ? end_count : inner_count)) list.push_back(name);
  }
  std::sort(inner.begin(), inner.end());
  std::sort(ends.begin(), ends.end());
}

std::vector<std::string> NamePool::all() const {
  std::vector<std::string> names;
  std::merge(inner.begin(), inner.end(), ends.begin(), ends.end(), std::back_inserter(names));
  return names;
}

TreeEntry sample_entry(const std::string& name, std::uint64_t version) {
  TreeEntry entry;
  entry.name = name;
  entry.mode = version % 3 == 0 ? 0755 : 0644;
  entry.node = NodeId::from_bytes(sha256("node " + name).view().substr(0, NodeId::kSize));
  entry.id = sha256(name + " " + std::to_string(version));
  entry.size = xxh3(name, version) % 100'000;
  return entry;
}

}  // namespace weft::object::testing
