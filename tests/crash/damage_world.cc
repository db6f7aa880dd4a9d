#include "damage_world.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"
#include "object/pack_format.h"
#include "object/tree.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

// Transactions that bring a version of one large blob; it is kept as a list of chunks.
constexpr int kFirstLarge = 12, kSecondLarge = 40, kThirdLarge = 101;
constexpr std::size_t kLargeBytes = 1'300'000;

std::uint64_t below(FakeRandom& random, std::uint64_t bound) {
  std::uint64_t value = 0;
  random.fill({reinterpret_cast<char*>(&value), sizeof(value)});
  return bound == 0 ? 0 : value % bound;
}

NodeId node_of(const std::string& path) {
  return NodeId::from_bytes(sha256("node " + path).view().substr(0, NodeId::kSize));
}

/// What a tree object's bytes become when a transaction has put them.
class Recorder final : public object::ObjectWriter {
 public:
  Recorder(Transaction& transaction, std::map<ObjectName, Bytes>& objects)
      : transaction_(transaction), objects_(objects) {}
  Result<ObjectId> put(ObjectKind kind, ByteView bytes) override {
    const ObjectId id = sha256(bytes);
    WEFT_DO(put_with_id(kind, id, bytes));
    return id;
  }
  Result<void> put_with_id(ObjectKind kind, const ObjectId& id, ByteView bytes) override {
    objects_[{kind, id}] = Bytes(bytes);
    return transaction_.put_with_id(kind, id, bytes);
  }
  Result<StoredBlob> put_blob(object::ByteSource&) override { return make_error(Code::internal, "not used"); }

 private:
  Transaction& transaction_;
  std::map<ObjectName, Bytes>& objects_;
};

}  // namespace

DamageWorld::DamageWorld(std::uint64_t seed) : random_(seed) {
  clock_.set_tick(1000);
  build(seed);
  read_back();
}

void DamageWorld::build(std::uint64_t seed) {
  StoreProcess process(block_, fs_, clock_, random_);
  process.history_step = 32;
  ASSERT_TRUE(process.create({.segment_bytes = kSegmentBytes}));
  FakeRandom content(seed * 7919 + 1);
  const auto text = [&](std::size_t size, bool compressible) {
    Bytes bytes(size, '\0');
    content.fill({bytes.data(), bytes.size()});
    if (compressible) {
      for (auto& byte : bytes) byte = static_cast<char>('a' + (static_cast<unsigned char>(byte) & 3));
    }
    return bytes;
  };
  Bytes large_content(kLargeBytes, '\0');
  FakeRandom(seed * 31 + 7).fill({large_content.data(), large_content.size()});
  for (auto& byte : large_content) byte = static_cast<char>('a' + (static_cast<unsigned char>(byte) & 3));
  struct Branch {
    std::map<std::string, std::pair<ObjectId, std::uint64_t>> files;
    std::optional<ChangeId> tip;
    std::uint64_t lamport = 0;
  };
  std::map<std::string, Branch> branches;
  static const char* const kRefs[] = {"main", "topic", "workspaces/default", "other"};
  for (int i = 0; i < static_cast<int>(kTransactions); ++i) {
    const std::string ref = kRefs[below(content, 10) < 6 ? 0 : below(content, 4)];
    if (ref != "main" && !branches.contains(ref) && branches.contains("main")) branches[ref] = branches["main"];
    Branch& branch = branches[ref];
    auto transaction = process.store().begin();
    ASSERT_TRUE(transaction);
    Recorder recorder(*transaction, objects_);
    std::optional<ObjectId> large;
    if (i == kFirstLarge || i == kSecondLarge || i == kThirdLarge) {
      // Later ones have most chunks in common with the first: their lists lie in the log, what they name in a pack.
      for (std::size_t k = 0; i != kFirstLarge && k < 2'000; ++k) large_content[700'000 + k] = static_cast<char>(i + k);
      const auto id = recorder.put(ObjectKind::blob, large_content);
      ASSERT_TRUE(id);
      large = *id;
      branch.files["big"] = {*id, large_content.size()};
    }
    const std::size_t files = 1 + below(content, 4);
    for (std::size_t f = 0; f < files; ++f) {
      std::size_t size = 8 + below(content, 200);
      const std::uint64_t draw = below(content, 100);
      if (draw < 14) size = 2'000 + below(content, 30'000);
      if (draw < 8) size = 100'000 + below(content, 100'000);
      const bool packed = draw == 8 || i % 9 == 5;
      if (packed) size = 270'000 + below(content, 10'000);
      const Bytes bytes = text(size, packed || draw >= 8);
      const auto id = recorder.put(ObjectKind::blob, bytes);
      ASSERT_TRUE(id);
      std::string path = "f" + std::to_string(below(content, 8));
      if (below(content, 3) > 0) path = "d" + std::to_string(below(content, 4)) + "/" + path;
      if (below(content, 9) == 0) path = "d0/deep/" + path.substr(path.rfind('/') + 1);
      branch.files[path] = {*id, size};
    }
    object::Entries root;
    std::map<std::string, object::Entries> directories;
    object::Entries deep;
    for (const auto& [path, file] : branch.files) {
      paths_[file.first].insert(path);
      object::TreeEntry entry{
          path.substr(path.rfind('/') + 1), object::EntryKind::file, 0644, node_of(path), file.first, file.second};
      if (path.starts_with("d0/deep/")) {
        deep.push_back(entry);
      } else if (path.find('/') != std::string::npos) {
        directories[path.substr(0, path.find('/'))].push_back(entry);
      } else {
        root.push_back(entry);
      }
    }
    if (!deep.empty()) {
      const auto tree = object::write_directory(recorder, deep);
      ASSERT_TRUE(tree);
      directories["d0"].push_back({"deep", object::EntryKind::directory, 0755, node_of("d0/deep"), *tree, 0});
    }
    for (const auto& [name, entries] : directories) {
      const auto tree = object::write_directory(recorder, entries);
      ASSERT_TRUE(tree);
      root.push_back({name, object::EntryKind::directory, 0755, node_of(name), *tree, 0});
    }
    const auto tree = object::write_directory(recorder, root);
    ASSERT_TRUE(tree) << tree.error().message;
    object::Change change;
    if (branch.tip) change.parents = {*branch.tip};
    // Now and then a merge.
    if (i % 17 == 16 && ref != "main" && branches["main"].tip && branches["main"].tip != branch.tip) {
      change.parents.push_back(*branches["main"].tip);
      branch.lamport = std::max(branch.lamport, branches["main"].lamport);
    }
    change.lamport = ++branch.lamport;
    change.author = change.committer = {"A", "a@example.org", {1'000'000'000 + i, 60}};
    change.message = "c" + std::to_string(i);
    change.tree = *tree;
    change.form = object::OpsForm::derived;
    const Bytes encoded = object::encode_change(change);
    const ChangeId id = object::change_id(encoded);
    objects_[{ObjectKind::change, id}] = encoded;
    changes_[id] = {change.parents, change.lamport, change.tree};
    const auto put = transaction->put_change(change, DeltaId::from_bytes(sha256(change.message).view()));
    ASSERT_TRUE(put) << put.error().message;
    branch.tip = id;
    RefEdit edit;
    edit.name = ref;
    edit.after = RefValue{Version(id), Bytes()};
    transaction->edit_ref(edit);
    transaction->set_operation({.label = "t" + std::to_string(i), .author = "A <a@example.org>"});
    const auto committed = transaction->commit();
    ASSERT_TRUE(committed) << committed.error().message;
    if (large) remember_list(*process.store().snapshot(), *large);
  }
  log_end_ = process.store().info()->log_end;
}

void DamageWorld::remember_list(const Snapshot& snapshot, const ObjectId& blob) {
  const auto parts = snapshot.chunks_of(blob);
  ASSERT_TRUE(parts && parts->size() > 1);
  for (const auto& part : *parts) {
    const auto bytes = snapshot.read(ObjectKind::blob, part);
    ASSERT_TRUE(bytes);
    objects_[{ObjectKind::blob, part}] = *bytes;
    lists_[blob].insert(part);
  }
}

/// Where everything lies, from the store itself while it is whole.
void DamageWorld::read_back() {
  fs_.settle();
  Env env{fs_, clock_, random_};
  const std::string log = kStoreDirectory + "/log";
  log::Segments segments(env, log, kSegmentBytes);
  const auto map = log::FrameMapper(env, segments, log).map(0, UINT64_MAX, {});
  ASSERT_TRUE(map);
  ASSERT_EQ(map->stretches.size(), 1u);
  ASSERT_TRUE(map->gaps.empty());
  ASSERT_TRUE(log::for_each_frame(segments, map->stretches[0], [&](const log::Frame& frame) -> Result<void> {
    ModelFrame model;
    model.position = frame.header.position;
    model.claim = frame.header.durable;
    model.extent = {segments.path_of(model.position), model.position % kSegmentBytes,
                    model.position % kSegmentBytes + frame.header.length};
    model.first = frame.header.kind == log::FrameKind::store;
    const std::uint64_t at = model.extent.from;
    boundaries_.push_back({model.extent.path, at, at + 72});
    boundaries_.push_back({model.extent.path, at + 72, at + 72 + frame.header.late_length});
    boundaries_.push_back({model.extent.path, at + 72 + frame.header.late_length, model.extent.to});
    if (!model.first) {
      WEFT_TRY(const Late late, decode_late(frame.late, frame.header.position));
      for (const auto& move : late.moves) {
        model.moves.emplace_back(move.name, move.after ? std::optional(move.after->version) : std::nullopt);
      }
      WEFT_TRY(const Payload payload, decode_payload(frame.payload));
      for (const auto& pack : payload.packs) model.packs.push_back(pack.id);
      for (ByteView rest = payload.records; !rest.empty();) {
        WEFT_TRY(const auto record, object::decode_record(rest));
        model.objects.push_back({record.kind, record.id});
        const auto offset = static_cast<std::uint64_t>(rest.data() - frame.payload.data());
        const std::uint64_t from = at + 72 + frame.header.late_length + offset;
        model.records.push_back({model.extent.path, from, from + record.length});
        boundaries_.push_back(model.records.back());
        rest.remove_prefix(record.length);
      }
    }
    frames_.push_back(std::move(model));
    return {};
  }));
  for (const auto& frame : frames_) {
    for (const auto& id : frame.packs) {
      const auto scan = PackScan::open(env, kStoreDirectory + "/packs", id);
      ASSERT_TRUE(scan && scan->problem().empty());
      ModelPack pack;
      pack.id = id;
      pack.path = scan->path();
      pack.bytes = scan->bytes();
      std::vector<PackScan::Object> found;
      ASSERT_TRUE(scan->for_each([&](const PackScan::Object& object) -> Result<void> {
        found.push_back(object);
        return {};
      }));
      const Bytes whole = fs_.content(pack.path);
      const auto footer =
          object::decode_footer(ByteView(whole).substr(whole.size() - object::kPackFooterBytes), whole.size());
      ASSERT_TRUE(footer);
      pack.objects_end = footer->table_offset;
      for (std::size_t i = 0; i < found.size(); ++i) {
        std::uint64_t end = i + 1 < found.size() ? found[i + 1].offset : footer->table_offset;
        if (i + 1 == found.size()) {  // the padding belongs to nobody
          const auto head = object::decode_record_head(ByteView(whole).substr(found[i].offset));
          if (head) end = found[i].offset + head->record.length;
        }
        pack.objects.emplace_back(ObjectName{found[i].kind, found[i].id}, Extent{pack.path, found[i].offset, end});
        boundaries_.push_back(pack.objects.back().second);
      }
      boundaries_.push_back({pack.path, 0, object::kPackHeaderBytes});
      boundaries_.push_back({pack.path, footer->table_offset, pack.bytes - object::kPackFooterBytes});
      boundaries_.push_back({pack.path, pack.bytes - object::kPackFooterBytes, pack.bytes});
      packs_.push_back(std::move(pack));
    }
  }
  for (const char* const directory : {"/log", "/packs", "/index"}) {
    const auto entries = fs_.list(kStoreDirectory + directory);
    ASSERT_TRUE(entries);
    for (const auto& entry : *entries) {
      const std::string path = kStoreDirectory + directory + "/" + entry.name;
      files_[path] = fs_.content(path);
      if (std::string_view(directory) == "/index") boundaries_.push_back({path, 0, files_[path].size()});
    }
  }
  ASSERT_TRUE(files_.contains(kStoreDirectory + "/index/manifest"));
  ASSERT_GT(frames_.back().position, 2 * kSegmentBytes) << "the log should reach into a third segment";
  indexed_ = decode_manifest(files_.at(kStoreDirectory + "/index/manifest"))->point.position;
}

bool Oracle::changed(const Extent& extent) const {
  const auto found = changes_.find(extent.path);
  if (found == changes_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](const auto& range) { return range.first < extent.to && range.second > extent.from; });
}

Oracle::Oracle(const DamageWorld& world, const DamageWorld& other, SimFileSystem& disk) {
  for (const auto& [path, before] : world.files()) {
    const Bytes after = disk.status(path) ? disk.content(path) : Bytes();
    auto& ranges = changes_[path];
    for (std::size_t i = 0; i < before.size();) {
      if (i < after.size() && after[i] == before[i]) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < before.size() && (end >= after.size() || after[end] != before[end])) ++end;
      ranges.emplace_back(i, end);
      i = end;
    }
    // A pack is its length, too.
    if (path.ends_with(".pack") && after.size() > before.size()) ranges.emplace_back(before.size() - 1, before.size());
  }
  const std::string manifest = kStoreDirectory + "/index/manifest";
  std::uint64_t durable = changed({manifest, 0, world.files().at(manifest).size()}) ? 0 : world.indexed();
  for (std::size_t i = 0; i < world.frames().size(); ++i) {
    if (changed(world.frames()[i].extent)) {
      frames_hit.insert(i);
    } else {
      durable = std::max(durable, world.frames()[i].claim);
    }
  }
  // Frames of another store are evidence, too: something whole was written there.
  for (const auto& frame : other.frames()) {
    const Extent& extent = frame.extent;
    if (!disk.status(extent.path)) continue;
    const Bytes& theirs = other.files().at(extent.path);
    const Bytes ours = disk.content(extent.path);
    if (ours.size() < extent.to ||
        ours.compare(extent.from, extent.to - extent.from, theirs, extent.from, extent.to - extent.from) != 0)
      continue;
    foreign = log_hit = true;
    durable = std::max(durable, frame.claim);
  }
  if (foreign) ++regions;
  for (std::size_t i = world.frames().size();
       i-- > 0 && frames_hit.contains(i) && world.frames()[i].position >= durable;) {
    frames_hit.erase(i);
    torn.insert(i);
  }
  std::map<ObjectName, int> whole;
  std::set<ObjectName> proven;  // a frame or a table says that they are what they claim to be
  for (std::size_t i = 0; i < world.frames().size(); ++i) {
    if (torn.contains(i)) continue;
    if (frames_hit.contains(i)) {
      log_hit = true;
      if (i == 0 || !frames_hit.contains(i - 1)) ++regions;
      continue;
    }
    for (const auto& name : world.frames()[i].objects) {
      ++whole[name];
      proven.insert(name);
    }
  }
  std::vector<Bytes> without_table;  // packs to be looked through from end to end: anything whole in them is found
  std::vector<std::pair<ObjectName, const Extent*>> hit_objects;
  for (const auto& frame : world.frames()) {  // a damage may have put records of the log into such a pack
    for (std::size_t k = 0; k < frame.objects.size(); ++k) {
      if (!proven.contains(frame.objects[k])) hit_objects.emplace_back(frame.objects[k], &frame.records[k]);
    }
  }
  for (std::size_t i = 0, p = 0; i < world.frames().size(); ++i) {
    for (std::size_t k = 0; k < world.frames()[i].packs.size(); ++k, ++p) {
      const ModelPack& pack = world.packs()[p];
      const bool named = !frames_hit.contains(i) && !torn.contains(i);
      const bool container =
          changed({pack.path, 0, object::kPackHeaderBytes}) || changed({pack.path, pack.objects_end, pack.bytes});
      bool hit = container;
      for (const auto& [name, extent] : pack.objects) {
        if (named && !changed(extent)) {
          ++whole[name];
          if (!container) proven.insert(name);
        } else {
          hit = true;
          hit_objects.emplace_back(name, &extent);
        }
      }
      if (!named || !hit) continue;
      pack_hit = true;
      ++regions;
      if (container && disk.status(pack.path)) without_table.push_back(disk.content(pack.path));
    }
  }
  for (const auto& [name, extent] : hit_objects) {
    const Bytes record = world.files().at(extent->path).substr(extent->from, extent->to - extent->from);
    for (const auto& file : without_table) {
      if (whole[name] == 0 && file.find(record, object::kPackHeaderBytes) != Bytes::npos) ++whole[name];
    }
  }
  std::set<ObjectId> listed;  // of which a list is whole, if nothing else
  for (const auto& [blob, parts] : world.lists()) {
    int& copies = whole[{ObjectKind::blob, blob}];
    if (copies > 0 && proven.contains({ObjectKind::blob, blob})) listed.insert(blob);
    for (const auto& part : parts) {
      if (whole[{ObjectKind::blob, part}] == 0) copies = 0;
    }
  }
  for (const auto& [name, bytes] : world.objects()) {
    if (whole[name] == 0 && name.id != object::empty_tree_id()) lost.insert(name);
  }
  const auto forget = [&](const ObjectName& name) {
    if (lost.erase(name) > 0) gone.insert(name);
  };
  for (std::size_t i = 0, p = 0; i < world.frames().size(); ++i) {
    if (torn.contains(i)) {
      for (const auto& name : world.frames()[i].objects) forget(name);
    }
    for (std::size_t k = 0; k < world.frames()[i].packs.size(); ++k, ++p) {
      if (!torn.contains(i)) continue;
      for (const auto& [name, extent] : world.packs()[p].objects) forget(name);
    }
  }
  for (const auto& blob : listed) {
    for (const auto& part : world.lists().at(blob)) {
      if (lost.contains({ObjectKind::blob, part})) needed.insert({ObjectKind::blob, part});
    }
  }
  // What can be stood on: the change and its past are there, and all directories of its tree.
  std::map<ObjectId, bool> trees;
  const std::function<bool(const ObjectId&)> tree_whole = [&](const ObjectId& id) {
    if (id == object::empty_tree_id()) return true;
    if (const auto seen = trees.find(id); seen != trees.end()) return seen->second;
    bool good = !lost.contains({ObjectKind::tree, id}) && !gone.contains({ObjectKind::tree, id});
    if (good) {
      const auto references = object::tree_references(world.objects().at({ObjectKind::tree, id}));
      for (const auto& blob : references->blobs) {
        if (lost.contains({ObjectKind::blob, blob})) needed.insert({ObjectKind::blob, blob});
      }
      for (const auto& below : references->trees) {
        if (lost.contains({ObjectKind::tree, below})) needed.insert({ObjectKind::tree, below});
        good = tree_whole(below) && good;
      }
    }
    return trees[id] = good;
  };
  for (const auto& [name, bytes] : world.objects()) {
    if (name.kind == ObjectKind::tree && !lost.contains(name) && !gone.contains(name)) (void)tree_whole(name.id);
  }
  std::map<ChangeId, bool> rooted;
  const std::function<bool(const ChangeId&)> is_rooted = [&](const ChangeId& id) {
    if (const auto seen = rooted.find(id); seen != rooted.end()) return seen->second;
    const bool there = !lost.contains({ObjectKind::change, id}) && !gone.contains({ObjectKind::change, id});
    bool good = there;
    for (const auto& parent : world.changes().at(id).parents) {
      if (there && lost.contains({ObjectKind::change, parent})) needed.insert({ObjectKind::change, parent});
      good = is_rooted(parent) && good;
    }
    return rooted[id] = good;
  };
  for (const auto& [id, summary] : world.changes()) {
    (void)is_rooted(id);
    if (!lost.contains({ObjectKind::change, id}) && !gone.contains({ObjectKind::change, id}) &&
        lost.contains({ObjectKind::tree, summary.tree}))
      needed.insert({ObjectKind::tree, summary.tree});
  }
  std::map<std::string, Version> newest;
  for (std::size_t i = 0; i < world.frames().size(); ++i) {
    if (frames_hit.contains(i) || torn.contains(i)) continue;
    for (const auto& [name, version] : world.frames()[i].moves) {
      const ChangeId& id = version->changes.front();
      newest[name] = *version;
      if (is_rooted(id) && tree_whole(world.changes().at(id).tree)) refs[name] = *version;
    }
  }
  for (const auto& [name, version] : newest) {
    if (!refs.contains(name) || refs[name] != version) moved[name] = version;
    if (lost.contains({ObjectKind::change, version.changes.front()}))
      needed.insert({ObjectKind::change, version.changes.front()});
  }
}

namespace {

void set_content(SimFileSystem& disk, const std::string& path, const Bytes& bytes) {
  if (!disk.status(path)) {
    auto made = disk.open(path, OpenMode::create_new);
    ASSERT_TRUE(made);
    ASSERT_TRUE((*made)->sync());
  }
  auto file = disk.open(path, OpenMode::write);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->set_size(bytes.size()));
  ASSERT_TRUE((*file)->write_at(0, bytes));
  ASSERT_TRUE((*file)->sync());
  disk.settle();
}

}  // namespace

std::string damage(DamageWorld& world, DamageWorld& other, SimFileSystem& disk, FakeRandom& random) {
  const auto pick_extent = [&]() -> Extent {
    Extent extent = world.boundaries()[below(random, world.boundaries().size())];
    // Inside, or just across one of its ends.
    const std::uint64_t size = world.files().at(extent.path).size();
    switch (below(random, 4)) {
      case 0:
        extent.to = std::min(size, extent.from + 8);
        extent.from -= std::min<std::uint64_t>(extent.from, 4);
        break;
      case 1:
        extent.from = extent.to - std::min<std::uint64_t>(extent.to, 4);
        extent.to = std::min(size, extent.to + 4);
        break;
      default:
        break;
    }
    return extent;
  };
  const auto pick_file = [&](std::string_view suffix) {
    std::vector<std::string> names;
    for (const auto& [path, bytes] : world.files()) {
      if (path.ends_with(suffix)) names.push_back(path);
    }
    return names[below(random, names.size())];
  };
  const auto say = [](std::string_view what, const Extent& at) {
    return std::string(what) + " " + at.path + " " + std::to_string(at.from) + ".." + std::to_string(at.to);
  };
  const Extent at = pick_extent();
  Bytes file = world.files().at(at.path);
  const std::uint64_t length = std::max<std::uint64_t>(at.to - at.from, 1);
  switch (below(random, 16)) {
    case 0:
    case 1:
    case 2: {
      const std::uint64_t place = std::min<std::uint64_t>(at.from + below(random, length), file.size() - 1);
      file[place] = static_cast<char>(file[place] ^ (1 << below(random, 8)));
      set_content(disk, at.path, file);
      return say("flipped a bit at " + std::to_string(place) + " in", at);
    }
    case 3: {
      const std::uint64_t size =
          below(random, 2) == 0 ? at.from : std::min<std::uint64_t>(at.from + below(random, length), file.size());
      file.resize(size);
      set_content(disk, at.path, file);
      return say("cut at " + std::to_string(size) + " in", at);
    }
    case 4:
    case 5:
      std::fill(file.begin() + static_cast<std::ptrdiff_t>(at.from), file.begin() + static_cast<std::ptrdiff_t>(at.to),
                '\0');
      set_content(disk, at.path, file);
      return say("zeroed", at);
    case 6: {
      const std::uint64_t page = at.from / 4096 * 4096;
      const std::uint64_t end = std::min<std::uint64_t>(page + 4096 * (1 + below(random, 8)), file.size());
      for (std::uint64_t i = page; i < end; ++i) file[i] = '\0';
      set_content(disk, at.path, file);
      return say("zeroed pages " + std::to_string(page) + ".." + std::to_string(end) + " in", at);
    }
    case 7: {
      const std::size_t amount = 1 + below(random, 3000);
      Bytes garbage(std::min<std::size_t>(amount, file.size() - std::min<std::uint64_t>(at.from, file.size() - 1)),
                    '\0');
      random.fill({garbage.data(), garbage.size()});
      file.replace(std::min<std::uint64_t>(at.from, file.size() - 1), garbage.size(), garbage);
      file.resize(world.files().at(at.path).size());
      set_content(disk, at.path, file);
      return say("garbled " + std::to_string(garbage.size()) + " bytes in", at);
    }
    case 8:
    case 9: {  // blocks change places, also a frame or record over another
      const Extent to = pick_extent();
      Bytes target = at.path == to.path ? file : world.files().at(to.path);
      const std::uint64_t block = std::min({below(random, 2) == 0 ? length : std::uint64_t{4096}, file.size() - at.from,
                                            static_cast<std::uint64_t>(target.size()) - to.from});
      const Bytes a = file.substr(at.from, block);
      const Bytes b = target.substr(to.from, block);
      const bool both = below(random, 2) == 0;
      target.replace(to.from, block, a);
      if (at.path == to.path) {
        if (both) target.replace(at.from, block, b);
      } else if (both) {
        file.replace(at.from, block, b);
        set_content(disk, at.path, file);
      }
      set_content(disk, to.path, target);
      return say(both ? "swapped" : "copied", at) + say(" with", to);
    }
    case 10: {  // files change names
      const std::string suffix = below(random, 2) == 0 ? ".seg" : ".pack";
      const std::string a = pick_file(suffix);
      const std::string b = pick_file(suffix);
      set_content(disk, a, world.files().at(b));
      set_content(disk, b, world.files().at(a));
      return "exchanged " + a + " and " + b;
    }
    case 11: {
      const std::string path = pick_file(below(random, 3) == 0 ? ".seg" : ".pack");
      if (!disk.status(path)) return "nothing";  // an earlier damage took it away
      EXPECT_TRUE(disk.unlink(path));
      disk.settle();
      return "removed " + path;
    }
    case 12: {
      const std::string path = pick_file(".pack");
      if (!disk.status(path)) return "nothing";  // an earlier damage took it away
      EXPECT_TRUE(disk.rename(path, path + ".bak"));
      disk.settle();
      return "renamed " + path;
    }
    case 13: {  // an older version of a segment: what came later is not in it yet
      const std::string path = pick_file(".seg");
      Bytes old = world.files().at(path);
      std::vector<const ModelFrame*> inside;
      for (const auto& frame : world.frames()) {
        if (frame.extent.path == path) inside.push_back(&frame);
      }
      if (inside.empty()) return "nothing";
      const std::uint64_t from = inside[below(random, inside.size())]->extent.from;
      std::fill(old.begin() + static_cast<std::ptrdiff_t>(from), old.end(), '\0');
      set_content(disk, path, old);
      return "put an old version of " + path + " back, up to " + std::to_string(from);
    }
    case 14: {  // another store's file in its place; never the first segment, which says which store this is
      const std::string path = kStoreDirectory + "/log/0000000002.seg";
      const auto found = other.files().find(path);
      if (found == other.files().end()) return "nothing";
      set_content(disk, path, found->second);
      return "put another store's file in place of " + path;
    }
    default: {
      const std::string path = pick_file("");
      if (!disk.status(path)) return "nothing";  // an earlier damage took it away
      EXPECT_TRUE(disk.unlink(path));
      disk.settle();
      return "removed " + path;
    }
  }
}

}  // namespace weft::store
