#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "object/chunk_list.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

struct KeyHash {
  std::size_t operator()(const std::pair<EntryKind, Key>& entry) const {
    return IdHash{}(entry.second) * 31 + static_cast<std::size_t>(entry.first);
  }
};

/// Findings beyond this many are counted, not listed: a report a person can read, in bounded memory.
constexpr std::size_t kMaxFindings = 10'000;

class Verifier {
 public:
  Verifier(Store::State& store, const Snapshot& snapshot, bool deep,
           const std::function<void(std::uint64_t, std::uint64_t)>& progress)
      : store_(store), snapshot_(snapshot), deep_(deep), progress_(progress) {}

  Result<VerifyReport> run() {
    if (store_.damage) add({store_.damage->message, "everything recorded behind that point", store_.damage->hint});
    WEFT_DO(log());
    WEFT_DO(packs());
    WEFT_DO(index_files());
    WEFT_DO(refs());
    WEFT_DO(verify_history(store_, snapshot_, deep_, [this](Finding finding) { add(std::move(finding)); }));
    if (deep_) WEFT_DO(objects());
    return std::move(report_);
  }

 private:
  void add(Finding finding) {
    if (report_.findings.size() < kMaxFindings) report_.findings.push_back(std::move(finding));
  }
  void add(const Error& error, std::string affects) { add({error.message, std::move(affects), error.hint}); }
  void tick(std::uint64_t done, std::uint64_t total) {
    if (progress_) progress_(done, total);
  }

  /// Every frame, in order: checksums, chain, sections, records; with deep every record's id and the index's answer.
  Result<void> log() {
    const std::uint64_t end = snapshot_.position();
    WEFT_TRY(const auto base, store_.index.base());
    if (base && base->kept) {
      kept_ = base->kept;
      this->kept(deep_);
    }
    const log::LogPoint start = base ? base->start : log::LogPoint{};
    auto walked = store_.segments.scan_durable(start, end, [&](const log::Frame& frame) -> Result<void> {
      ++report_.frames;
      report_.bytes += frame.header.length;
      tick(frame.header.position, end);
      return this->frame(frame);
    });
    if (!walked) {
      if (walked.error().code != Code::damaged) return std::move(walked).error();
      if (!store_.damage) add(walked.error(), "everything recorded from there on that is not in a pack");
    }
    return {};
  }

  /// What speaks for the log before its start. Deep: every byte.
  void kept(bool deep) {
    if (deep)
      kept_->verify([this](const Error& error) { add(error, "refs, operations and links from before the gc"); });
    for (const auto& pack : kept_->packs()) pack_names_.push_back({pack.name, 0});
  }

  Result<void> frame(const log::Frame& frame) {
    if (frame.header.kind == log::FrameKind::checkpoint) {
      const auto checkpoint = decode_checkpoint(frame.payload, frame.header.position);
      if (!checkpoint) add(checkpoint.error(), "opening the store without its index");
    }
    if (frame.header.kind != log::FrameKind::transaction) return {};
    std::vector<std::tuple<EntryKind, Key, std::uint64_t>> entries;
    auto listed = for_each_entry(frame, [&](EntryKind kind, const Key& key, std::uint64_t position) {
      entries.emplace_back(kind, key, position);
    });
    if (!listed) {
      add(listed.error(), fmt::format("the transaction {}", frame.header.transaction.hex()));
      return {};
    }
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));
    for (const auto& pack : payload.packs) pack_names_.push_back({pack, frame.header.position});
    if (deep_) WEFT_DO(links(frame));
    for (const auto& [kind, key, position] : entries) {
      if (kind <= EntryKind::change) WEFT_DO(record(frame, static_cast<ObjectKind>(kind), key, position));
      if (deep_) WEFT_DO(indexed(kind, key, position));
    }
    return {};
  }

  /// Reflogs and `op log` follow these: each must lead to an earlier move of the same ref, an earlier operation.
  Result<void> links(const log::Frame& frame) {
    WEFT_TRY(const Late late, decode_late(frame.late, frame.header.position));
    for (const auto& move : late.moves) {
      if (move.previous == 0) continue;
      const auto before = snapshot_.move_name_at(move.previous);
      if (before && *before == move.name) continue;
      if (!before && before.error().code == Code::busy) continue;  // K3: from before the log's start, not kept
      add({fmt::format("the move of ref {} at log position {} does not lead to the one before it", move.name,
                       move.position),
           fmt::format("the reflog of {} before that", move.name), "take the history from another store that has it"});
    }
    return {};
  }

  Result<void> record(const log::Frame& frame, ObjectKind kind, const ObjectId& id, std::uint64_t position) {
    ++report_.objects;
    if (kind == ObjectKind::change) ++report_.changes;
    const std::size_t offset = position - frame.payload_position();
    const auto record = object::decode_record(frame.payload.substr(offset));
    if (record && record->form == object::Stored::chunks) {
      const auto list = object::chunk_list_of(*record);
      if (!list) {
        damaged_objects_.insert({static_cast<EntryKind>(kind), id});
        add(list.error(), "what needs it");
      }
      return {};
    }
    const auto content = record ? object::record_content(*record) : Result<Bytes>(record.error());
    if (!content) {
      damaged_objects_.insert({static_cast<EntryKind>(kind), id});
      add({fmt::format("{} {}: {}", object::name(kind), id.hex(), content.error().message), "what needs it",
           content.error().hint});
      return {};
    }
    if (deep_ && sha256(*content) != id) {
      damaged_objects_.insert({static_cast<EntryKind>(kind), id});
      add({fmt::format("{} {} at log position {} has other content than its id says", object::name(kind), id.hex(),
                       position),
           "what needs it", "take the object from another store that has it"});
    }
    return {};
  }

  /// The index must lead to every record of the log.
  Result<void> indexed(EntryKind kind, const Key& key, std::uint64_t position) {
    if (kind == EntryKind::delta) {  // many changes may have one delta: look each up once
      auto [places, fresh] = delta_places_.try_emplace(key);
      if (fresh) {
        WEFT_DO(store_.index.find(kind, key, snapshot_.position(), [&](const Found& found) -> Result<bool> {
          places->second.insert(found.position);
          return true;
        }));
      }
      if (!places->second.contains(position)) add_unindexed(position);
      return {};
    }
    bool there = false;
    auto looked = kind == EntryKind::ref
                      ? Result<void>()
                      : store_.index.find(kind, key, snapshot_.position(), [&](const Found& found) -> Result<bool> {
                          // The same object may also lie elsewhere; for links and operations the place itself must be
                          // named.
                          there = kind != EntryKind::operation || found.position == position;
                          return !there;
                        });
    if (kind == EntryKind::ref) there = true;  // judged by refs(): only the newest move is indexed
    if (!looked || !there) add_unindexed(position);
    return {};
  }
  void add_unindexed(std::uint64_t position) {
    add({fmt::format("the index does not lead to log position {}", position), "lookups of what lies there",
         "run `weft repair`: the index is rebuilt from the log"});
  }

  Result<void> packs() {
    for (const auto& [pack, position] : pack_names_) {
      auto reader = store_.packs.open(pack.id);
      if (!reader) {
        add(reader.error(), fmt::format("{} objects of the transaction at log position {}", pack.objects, position));
        continue;
      }
      if ((*reader)->summary().objects != pack.objects) {
        add({fmt::format("pack {} holds {} objects, not {}", pack.id.hex(), (*reader)->summary().objects, pack.objects),
             "what is missing from it", "take the pack from another store that has it"});
      }
      report_.objects += pack.objects;
      report_.changes += pack.changes;
      report_.bytes += pack.bytes;
      (*reader)->verify(deep_, [&](const Error& error) { add(error, "what needs it"); });
    }
    return {};
  }

  Result<void> index_files() {
    WEFT_TRY(const auto files, store_.index.files());
    for (const auto& run : files.manifest.runs) {
      const auto opened =
          Run::open(store_.env.fs, join_path(store_.index.directory(), run_file_name(run.number)), true);
      if (!opened && opened.error().code == Code::damaged) add(opened.error(), "lookups; nothing recorded");
    }
    return {};
  }

  /// Every ref's newest move is the one the log says, and what it holds exists.
  Result<void> refs() {
    auto refs = snapshot_.refs();
    if (!refs) {
      add(refs.error(), "refs");
      return {};
    }
    report_.refs = refs->size();
    for (const auto& ref : *refs) {
      for (const auto& change : ref.value.version.changes) {
        const auto there = snapshot_.contains(ObjectKind::change, change);
        if (!there) {
          add(there.error(), fmt::format("ref {}", ref.name));
        } else if (!*there) {
          add({fmt::format("change {} is missing", change.hex()), fmt::format("ref {}", ref.name),
               "take it from another store that has it"});
        }
      }
    }
    return {};
  }

  /// Every object decodes, and everything it names is there.
  Result<void> objects() {
    std::unordered_set<ObjectId, IdHash> known[4];
    WEFT_DO(snapshot_.for_each_object([&](ObjectKind kind, const ObjectId& id) -> Result<void> {
      known[static_cast<std::size_t>(kind)].insert(id);
      return {};
    }));
    const auto need = [&](ObjectKind kind, const ObjectId& id, const std::string& by) {
      if (known[static_cast<std::size_t>(kind)].contains(id) ||
          !missing_.insert({static_cast<EntryKind>(kind), id}).second)
        return;
      add({fmt::format("{} {} is missing", object::name(kind), id.hex()), by,
           "take it from another store that has it"});
    };
    const auto& changes = known[static_cast<std::size_t>(ObjectKind::change)];
    const auto& trees = known[static_cast<std::size_t>(ObjectKind::tree)];
    const std::uint64_t total = changes.size() + trees.size();
    std::uint64_t done = 0;
    for (const auto& id : changes) {
      tick(done++, total);
      const auto change = snapshot_.change(id);
      if (!change) {
        if (!damaged_objects_.contains({EntryKind::change, id}))
          add(change.error(), fmt::format("change {}", id.hex()));
        continue;
      }
      const std::string by = fmt::format("change {}", id.hex());
      for (const auto& parent : change->parents) need(ObjectKind::change, parent, by);
      if (change->tree != object::empty_tree_id()) need(ObjectKind::tree, change->tree, by);
    }
    for (const auto& id : trees) {
      tick(done++, total);
      const auto bytes = snapshot_.read(ObjectKind::tree, id);
      const auto references = bytes ? object::tree_references(*bytes) : Result<object::TreeReferences>(bytes.error());
      if (!references) {
        if (!damaged_objects_.contains({EntryKind::tree, id}))
          add(references.error(), fmt::format("tree {}", id.hex()));
        continue;
      }
      const std::string by = fmt::format("tree {}", id.hex());
      for (const auto& tree : references->trees) {
        if (tree != object::empty_tree_id()) need(ObjectKind::tree, tree, by);
      }
      for (const auto& blob : references->blobs) need(ObjectKind::blob, blob, by);
    }
    for (const auto& id : known[static_cast<std::size_t>(ObjectKind::blob)]) {
      const auto list = snapshot_.chunk_list(id);
      if (!list || !*list) continue;  // what cannot be read is reported where it lies
      const auto checked = object::check_chunks(snapshot_, id, **list, true);
      if (!checked) add(checked.error(), "what needs it");
    }
    return {};
  }

  Store::State& store_;
  const Snapshot& snapshot_;
  bool deep_;
  const std::function<void(std::uint64_t, std::uint64_t)>& progress_;
  VerifyReport report_;
  std::shared_ptr<const KeptFile> kept_;
  std::vector<std::pair<PackName, std::uint64_t>> pack_names_;
  std::unordered_map<Key, std::unordered_set<std::uint64_t>, IdHash> delta_places_;
  std::unordered_set<std::pair<EntryKind, Key>, KeyHash> damaged_objects_, missing_;
};

}  // namespace

Result<VerifyReport> Store::verify(bool deep, const std::function<void(std::uint64_t, std::uint64_t)>& progress) const {
  WEFT_TRY(const Snapshot now, snapshot());
  return Verifier(*state_, now, deep, progress).run();
}

Result<RepairReport> Store::repair(Env env, const std::string& directory, bool accept_loss, const StoreHooks& hooks) {
  RepairReport report;
  const std::string format_path = join_path(directory, "format");
  WEFT_TRY(const Bytes format_bytes, read_file(env.fs, format_path, 64u << 10));
  WEFT_TRY(const Format format, decode_format(format_bytes, format_path));
  // The control block may be the only witness of a loss: it knows how far the log once reached.
  std::optional<std::string> lost;
  if (const auto store = open(env, directory, hooks); store && store->damage()) lost = store->damage()->message;
  if (lost && !accept_loss) {
    return damaged(*lost, "run `weft repair --accept-loss` to go on from there without what is lost");
  }
  // Nobody may have the store open: what they hold in memory is about to be made anew.
  WEFT_DO(hooks.retire_control ? hooks.retire_control(join_path(directory, "control"))
                               : retire_mapped_control(join_path(directory, "control")));
  report.done.push_back("removed the control block");

  log::Segments segments(env, join_path(directory, "log"), format.segment_bytes);
  const std::string index_directory = join_path(directory, "index");
  if (auto made = env.fs.make_directory(index_directory); !made && made.error().code != Code::exists)
    return std::move(made).error();

  // The old index is the witness of how far the log once reached: it goes only when the log is judged.
  std::uint64_t witnessed = 0;
  WEFT_TRY(const auto lowest, segments.lowest());
  log::LogPoint start = lowest.value_or(log::LogPoint{});
  if (const auto bytes = read_file(env.fs, join_path(index_directory, "manifest"), 64u << 20)) {
    if (const auto manifest = decode_manifest(*bytes)) {
      witnessed = manifest->point.position;
      if (manifest->start.position >= start.position) start = manifest->start;
    }
  }
  WEFT_TRY(const auto scanned, segments.scan(start, witnessed, {}));
  if (scanned.end.position == 0) {
    return damaged(fmt::format("{} has no first transaction", segments.path_of(0)), "restore the file from a copy");
  }
  if (scanned.damage) lost = scanned.damage;
  if (lost) {
    if (!accept_loss) {
      return damaged(*lost, "run `weft repair --accept-loss` to go on from there without what is lost");
    }
    report.given_up.push_back(fmt::format("{}: everything behind position {} ({} bytes that are left of it)", *lost,
                                          scanned.end.position, scanned.torn_bytes));
    WEFT_DO(segments.clear_behind(scanned.end.position));
    report.done.push_back(fmt::format("ended the log at position {}", scanned.end.position));
  }
  WEFT_TRY(const auto entries, env.fs.list(index_directory));
  for (const auto& entry : entries) WEFT_DO(env.fs.unlink(join_path(index_directory, entry.name)));
  WEFT_DO(env.fs.sync_directory(index_directory));
  WEFT_TRY(const Store store, open(env, directory, hooks));
  if (store.damage()) return *store.damage();
  report.done.push_back(fmt::format("rebuilt the index from {} transactions", scanned.frames));
  WEFT_TRY(const auto indexed, store.extend_history());
  if (indexed > 0) report.done.push_back(fmt::format("rebuilt the history index from {} changes", indexed));
  return report;
}

}  // namespace weft::store
