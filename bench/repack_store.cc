// Packs all that the changes of a store hold as `gc` would, and says how small that is and what reading it costs.
//
//   repack_store STORE DIRECTORY [LEVEL]
//
// STORE is a `.weft`; nothing in it changes. DIRECTORY must be empty; the packs go there. Prints one `name value` a
// line: bytes and objects by kind, time and memory of packing, and p50 and p99 in nanoseconds of reading an object
// picked at random, of the newest versions, of older ones, and from a pack that holds each object by itself.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <random>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "base/env.h"
#include "object/pack_format.h"
#include "object/repack.h"
#include "object/tree.h"
#include "object/tree_codec.h"
#include "store/store.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace weft {
namespace {

using object::ObjectKind;
using object::RepackItem;

template <typename T>
T must(Result<T> result, const char* what) {
  if (!result) {
    std::fprintf(stderr, "repack_store: %s: %s\n", what, result.error().message.c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void must(Result<void> result, const char* what) {
  if (!result) must(Result<int>(std::move(result).error()), what);
}

/// Everything, in the order that repack() wants.
class Everything {
 public:
  explicit Everything(const store::Snapshot& snapshot) : snapshot_(snapshot) {}

  std::vector<RepackItem> list() {
    std::vector<std::pair<std::uint64_t, ObjectId>> changes;
    must(snapshot_.for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
      if (kind != ObjectKind::change) return {};
      changes.emplace_back(must(snapshot_.change_summary(id), "read a change").lamport, id);
      return {};
    }),
         "list the objects");
    std::sort(changes.begin(), changes.end());
    changes.erase(std::unique(changes.begin(), changes.end()), changes.end());
    for (auto at = changes.rbegin(); at != changes.rend(); ++at) {
      walk(must(snapshot_.change_summary(at->second), "read a change").tree);
    }
    std::vector<RepackItem> items;
    for (const auto& [lamport, id] : changes) items.push_back({ObjectKind::change, id, 0});
    for (const ObjectKind kind : {ObjectKind::tree, ObjectKind::blob}) {
      for (const std::uint64_t group : order_) {
        for (const RepackItem& item : versions_[group]) {
          if (item.kind == kind) items.push_back(item);
        }
      }
    }
    return items;
  }

 private:
  void put(std::uint64_t group, ObjectKind kind, const ObjectId& id) {
    auto& versions = versions_[group];
    if (versions.empty()) order_.push_back(group);
    versions.push_back({kind, id, group});
  }
  static std::uint64_t group_of(const NodeId& node) {
    std::uint64_t group = 0;
    std::memcpy(&group, node.bytes.data(), sizeof(group));
    return group | 1;
  }
  void walk(const ObjectId& root) {
    std::vector<std::pair<ObjectId, std::uint64_t>> left{{root, 1}};
    while (!left.empty()) {
      const auto [tree, group] = left.back();
      left.pop_back();
      if (!seen_.insert(tree).second) continue;
      put(group, ObjectKind::tree, tree);
      const Bytes bytes = must(snapshot_.read(ObjectKind::tree, tree), "read a tree");
      const object::TreeForm form = must(object::tree_form(bytes), "read a tree");
      if (form == object::TreeForm::table) {
        for (const auto& chunk : must(object::decode_table(bytes), "read a tree").chunks) {
          left.emplace_back(chunk.id, (group ^ std::hash<std::string>()(chunk.last_name)) | 1);
        }
        continue;
      }
      auto entries = form == object::TreeForm::directory
                         ? must(object::EntryCursor::directory(bytes), "read a tree")
                         : must(object::EntryCursor::chunk(bytes, nullptr, {}), "read a tree");
      const std::size_t first = left.size();
      while (const object::EntryView* entry = entries.next()) {
        if (entry->kind == object::EntryKind::directory) {
          left.emplace_back(entry->id, group_of(entry->node));
        } else if (seen_.insert(entry->id).second) {
          put(group_of(entry->node), ObjectKind::blob, entry->id);
        }
      }
      std::reverse(left.begin() + static_cast<std::ptrdiff_t>(first), left.end());  // visited in the order of names
    }
  }

  const store::Snapshot& snapshot_;
  std::unordered_set<ObjectId, IdHash> seen_;
  std::unordered_map<std::uint64_t, std::vector<RepackItem>> versions_;
  std::vector<std::uint64_t> order_;
};

struct Usage {
  double cpu_s = 0;
  std::uint64_t memory_kib = 0;
  static Usage now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), static_cast<std::uint64_t>(usage.ru_maxrss)};
  }
};

void say(const std::string& name, std::uint64_t value) { fmt::print("{} {}\n", name, value); }

struct Sums {
  std::uint64_t objects = 0, content = 0, heads = 0, stored = 0, groups = 0;
};

/// What lies in one pack, by kind and whether it refers to something.
void add_up(const std::string& path, const object::PackReader& pack, std::map<std::string, Sums>& sums) {
  FileSystem& fs = posix_file_system();
  const auto file = must(fs.open(path, OpenMode::read), "open a pack");
  std::unordered_set<std::uint64_t> seen;
  const auto visited = pack.for_each([&](ObjectKind kind, const ObjectId&, std::uint64_t offset) -> Result<void> {
    if (!seen.insert(offset).second) return {};
    Bytes begin(object::kMaxGroupHeadBytes, '\0');
    WEFT_TRY(const std::size_t got, file->read_some_at(offset, begin));
    begin.resize(got);
    const auto head = object::decode_group_head(begin);
    if (!head) {
      ++sums[std::string(object::name(kind)) + " alone"].objects;
      return {};
    }
    Sums& sum = sums[std::string(object::name(kind)) + (head->base_distance == 0 ? "" : " older")];
    sum.objects += head->members.size();
    sum.content += head->raw_size;
    sum.heads += head->head_bytes;
    sum.stored += head->stored_size;
    ++sum.groups;
    return {};
  });
  must(visited, "walk a pack");
}

struct Reads {
  std::vector<double> ns;
  std::uint64_t allocated = 0;
  void print(const std::string& name) {
    if (ns.empty()) return;
    std::sort(ns.begin(), ns.end());
    say(name + " p50_ns", static_cast<std::uint64_t>(ns[ns.size() / 2]));
    say(name + " p99_ns", static_cast<std::uint64_t>(ns[ns.size() * 99 / 100]));
    say(name + " allocations_each_x10", allocated * 10 / ns.size());
  }
};

Reads time_reads(const object::PackReader& pack, const std::vector<RepackItem>& items) {
  Reads reads;
  reads.ns.reserve(items.size());
  for (const RepackItem& item : items) {
    const auto offset = must(pack.find(item.kind, item.id), "find");
    if (!offset) continue;
    const std::uint64_t before = allocations.load();
    const auto start = std::chrono::steady_clock::now();
    (void)must(pack.read_at(*offset, item.kind, item.id), "read");
    reads.ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
    reads.allocated += allocations.load() - before;
  }
  return reads;
}

void read_at_random(const store::Snapshot& snapshot, const std::vector<RepackItem>& items,
                    const object::PackReader& packed, const std::string& directory) {
  std::mt19937_64 random(20240611);
  std::vector<RepackItem> newest, older, all;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool first = i == 0 || items[i].group != items[i - 1].group || items[i].kind != items[i - 1].kind;
    if (items[i].kind != ObjectKind::change) (first ? newest : older).push_back(items[i]);
  }
  const auto pick = [&](std::vector<RepackItem>& from) {
    std::shuffle(from.begin(), from.end(), random);
    from.resize(std::min<std::size_t>(from.size(), 4000));
  };
  pick(newest);
  pick(older);
  all = newest;
  all.insert(all.end(), older.begin(), older.end());
  object::PackWriter writer(system_env(), directory, 3);
  for (const RepackItem& item : all) {
    const Bytes bytes = must(snapshot.read(item.kind, item.id), "read");
    must(writer.add(item.kind, item.id, bytes), "write");
  }
  const auto summary = must(writer.finish(), "write");
  const std::string path = directory + "/" + object::pack_file_name(summary.id);
  const auto plain = must(object::PackReader::open(posix_file_system(), path, summary.id), "open");
  std::shuffle(all.begin(), all.end(), random);
  time_reads(plain, all).print("read alone");
  time_reads(packed, newest).print("read newest");
  time_reads(packed, older).print("read older");
  std::remove(path.c_str());
}

/// What a process pays that reads the newest 20 changes and nothing else.
void read_changes_anew(const std::vector<RepackItem>& items, const std::string& path, const ObjectId& id) {
  const auto end =
      std::find_if(items.begin(), items.end(), [](const RepackItem& item) { return item.kind != ObjectKind::change; });
  const auto begin = end - std::min<std::ptrdiff_t>(20, end - items.begin());
  std::vector<double> ns;
  for (int round = 0; round < 51; ++round) {
    const auto start = std::chrono::steady_clock::now();
    const auto pack = must(object::PackReader::open(posix_file_system(), path, id), "open");
    for (auto item = begin; item != end; ++item) {
      const auto offset = must(pack.find(item->kind, item->id), "find");
      if (offset) (void)must(pack.read_at(*offset, item->kind, item->id), "read");
    }
    ns.push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(ns.begin(), ns.end());
  say("read 20 changes_ns", static_cast<std::uint64_t>(ns[ns.size() / 2]));
}

int run(const std::string& store_path, const std::string& directory, int level) {
  const auto store = must(store::Store::open(system_env(), store_path), "open the store");
  const auto snapshot = must(store.snapshot(), "open the store");
  Usage before = Usage::now();
  const std::vector<RepackItem> items = Everything(snapshot).list();
  fmt::print("list cpu_s {:.2f}\n", Usage::now().cpu_s - before.cpu_s);
  say("list memory_kib", Usage::now().memory_kib);

  before = Usage::now();
  const auto start = std::chrono::steady_clock::now();
  object::RepackOptions options;
  options.level = level;
  std::size_t at = 0;
  const auto packs = must(object::repack(
                              system_env(), directory,
                              [&]() -> Result<std::optional<RepackItem>> {
                                return at == items.size() ? std::nullopt : std::optional(items[at++]);
                              },
                              snapshot, options),
                          "pack");
  fmt::print("pack wall_s {:.2f}\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  fmt::print("pack cpu_s {:.2f}\n", Usage::now().cpu_s - before.cpu_s);
  say("pack memory_kib", Usage::now().memory_kib);

  std::map<std::string, Sums> sums;
  std::uint64_t bytes = 0, objects = 0;
  for (const auto& pack : packs) {
    const std::string path = directory + "/" + object::pack_file_name(pack.summary.id);
    const auto reader = must(object::PackReader::open(posix_file_system(), path, pack.summary.id), "open a pack");
    add_up(path, reader, sums);
    bytes += pack.summary.bytes;
    objects += pack.summary.objects;
    std::size_t wrong = 0;
    reader.verify(true, [&](const Error& error) {
      if (wrong++ == 0) std::fprintf(stderr, "repack_store: %s\n", error.message.c_str());
    });
    if (wrong > 0) return 1;
    if (packs.size() > 1) continue;
    read_changes_anew(items, path, pack.summary.id);
    read_at_random(snapshot, items, reader, directory);
  }
  for (const auto& [kind, sum] : sums) {
    fmt::print("{}: objects {} groups {} content {} heads {} stored {} each {:.1f}\n", kind, sum.objects, sum.groups,
               sum.content, sum.heads, sum.stored,
               static_cast<double>(sum.heads + sum.stored) / static_cast<double>(sum.objects));
  }
  say("table bytes", objects * 40);
  say("objects", objects);
  say("packs", packs.size());
  say("pack bytes", bytes);
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: repack_store STORE DIRECTORY [LEVEL]\n");
    return 2;
  }
  return weft::run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : weft::object::RepackOptions().level);
}
