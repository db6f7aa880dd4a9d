#include "store/salvage.h"

#include <fmt/format.h>

#include <algorithm>

#include "object/byte_source.h"
#include "store/store_state.h"

namespace weft::store {
namespace {

constexpr std::string_view kNewSuffix = ".new";
constexpr std::uint64_t kMaxPlanBytes = 16u << 20;
constexpr std::size_t kWriteBytes = 1u << 20;

/// Frames, one behind the other, into segments under temporary names.
class SegmentWriter {
 public:
  SegmentWriter(Env env, log::Segments& segments, std::string directory, log::LogPoint start)
      : env_(env), segments_(segments), directory_(std::move(directory)), point_(start) {}

  std::uint64_t next_position(std::uint64_t length) const {
    const std::uint64_t padded = log::padded_length(length);
    return point_.position + padded > segments_.segment_end(point_.position) ? segments_.segment_end(point_.position)
                                                                             : point_.position;
  }
  /// `position`: what next_position() said.
  Result<void> add(log::FrameHeader header, std::uint64_t position, ByteView late, ByteView payload) {
    if (!file_ || segments_.segment_start(position) != start_) WEFT_DO(open(segments_.segment_start(position)));
    header.position = header.durable = position;
    header.length = static_cast<std::uint32_t>(log::kFrameHeaderBytes + late.size() + payload.size());
    header.late_length = static_cast<std::uint32_t>(late.size());
    header.previous = point_.chain;
    header.payload_checksum = log::payload_checksum(payload);
    char bytes[log::kFrameHeaderBytes];
    log::encode_header(header, late, bytes);
    buffer_.append(bytes, sizeof(bytes));
    buffer_.append(late);
    buffer_.append(payload);
    buffer_.append(log::padded_length(header.length) - header.length, '\0');
    point_ = {position + log::padded_length(header.length), header.checksum};
    return buffer_.size() >= kWriteBytes ? flush() : Result<void>();
  }
  Result<std::vector<std::string>> finish() {
    WEFT_DO(close());
    WEFT_DO(env_.fs.sync_directory(directory_));
    return names_;
  }

 private:
  Result<void> flush() {
    WEFT_DO(file_->write_at(written_, buffer_));
    written_ += buffer_.size();
    buffer_.clear();
    return {};
  }
  Result<void> close() {
    if (!file_) return {};
    // A batch ends at a boundary, and a segment is never empty.
    buffer_.append(log::align_up(written_ + buffer_.size(), log::kBatchAlignment) - written_ - buffer_.size(), '\0');
    WEFT_DO(flush());
    WEFT_DO(file_->sync());
    file_.reset();
    return {};
  }
  Result<void> open(std::uint64_t start) {
    WEFT_DO(close());
    start_ = start;
    written_ = 0;
    names_.push_back(base_name(segments_.path_of(start)));
    const std::string path = join_path(directory_, names_.back() + std::string(kNewSuffix));
    if (auto removed = env_.fs.unlink(path); !removed && removed.error().code != Code::not_found) return removed;
    WEFT_TRY(file_, env_.fs.open(path, OpenMode::create_new));
    return {};
  }

  Env env_;
  log::Segments& segments_;
  std::string directory_;
  log::LogPoint point_;
  std::unique_ptr<File> file_;
  std::uint64_t start_ = 0, written_ = 0;
  Bytes buffer_;
  std::vector<std::string> names_;
};

Result<void> rename_if_there(FileSystem& fs, const std::string& from, const std::string& to) {
  auto renamed = fs.rename(from, to);
  if (!renamed && renamed.error().code != Code::not_found) return renamed;
  return {};
}

}  // namespace

std::optional<std::uint64_t> Salvage::first_damage() const {
  std::optional<std::uint64_t> first;
  const auto at = [&](std::uint64_t position) { first = std::min(first.value_or(position), position); };
  for (const auto& gap : survey_.map().gaps) at(gap.from);
  for (std::size_t i = 0; i < survey_.map().stretches.size(); ++i) {
    if (survey_.is_foreign(i) || survey_.is_donated(i)) at(survey_.map().stretches[i].from);
  }
  for (const auto& damage : survey_.damages()) {
    if (damage.kind == Damage::Kind::frame || damage.kind == Damage::Kind::record) at(damage.from);
  }
  for (const std::uint64_t position : survey_.bad_list_positions()) at(position);
  for (const auto& pack : survey_.packs()) {
    if (!pack.damage && !pack.holds_bad_list) continue;
    if (pack.kept == nullptr) at(pack.position);
    // The kept file is written anew, and the checkpoints that name it.
    if (pack.kept != nullptr)
      at(survey_.map().checkpoints.empty() ? survey_.start().position : survey_.map().checkpoints.front());
  }
  if (!survey_.ids()) at(0);
  return first;
}

bool Salvage::is_needed() const {
  return first_damage() || survey_.kept_from_donor() ||
         std::any_of(survey_.packs().begin(), survey_.packs().end(),
                     [](const SurveyedPack& pack) { return pack.from_donor; });
}

Result<void> Salvage::write() {
  WEFT_DO(write_packs());
  WEFT_DO(write_kept());
  if (const auto first = first_damage()) WEFT_DO(write_log(*first));
  return {};
}

/// Flushed when it returns.
Result<void> Salvage::copy_file(const std::string& from, const std::string& to) const {
  FileSystem& fs = survey_.env().fs;
  WEFT_TRY(const auto source, fs.open(from, OpenMode::read));
  if (auto removed = fs.unlink(to); !removed && removed.error().code != Code::not_found) return removed;
  WEFT_TRY(const auto target, fs.open(to, OpenMode::create_new));
  Bytes piece(kWriteBytes, '\0');
  for (std::uint64_t at = 0;;) {
    WEFT_TRY(const std::size_t got, source->read_some_at(at, piece));
    if (got == 0) break;
    WEFT_DO(target->write_at(at, ByteView(piece).substr(0, got)));
    at += got;
  }
  return target->sync();
}

Result<void> Salvage::write_packs() {
  Env env = survey_.env();
  const std::string directory = join_path(survey_.directory(), "packs");
  if (auto made = env.fs.make_directory(directory); !made && made.error().code != Code::exists) return made;
  for (const auto& pack : survey_.packs()) {
    if (pack.from_donor) {
      // Under a temporary name: the damaged file is still in its place.
      const std::string path = join_path(directory, object::pack_file_name(pack.name.id) + std::string(kNewSuffix));
      WEFT_DO(copy_file(survey_.donor_pack_path(pack), path));
      plan_.packs.push_back(object::pack_file_name(pack.name.id));
      ++packs_copied_;
      continue;
    }
    if (!pack.damage && !pack.holds_bad_list) continue;
    WEFT_TRY(const PackScan scan, PackScan::open(env, directory, pack.name.id));
    object::PackWriter writer(env, directory, 3);
    std::uint64_t changes = 0;
    WEFT_DO(survey_.for_each_packed(pack, scan, [&](const PackScan::Object& object) -> Result<void> {
      if (!scan.check(object, nullptr)) return {};
      const bool known = writer.contains(object.kind, object.id);
      WEFT_TRY(const auto list, scan.chunk_list(object));
      if (list) {
        if (known || survey_.is_bad_list(object.id)) return {};
        Bytes record;
        WEFT_DO(object::encode_chunks_record(object.id, list->size, object::encode_chunk_list(list->entries), record));
        return writer.add_encoded(object.kind, object.id, record);
      }
      if (object.kind == ObjectKind::blob) {
        WEFT_TRY(const auto source, scan.open_blob(object));
        WEFT_TRY(const auto stored, writer.add_blob(*source));
        (void)stored;
      } else {
        WEFT_TRY(const Bytes content, scan.read(object));
        WEFT_DO(writer.add(object.kind, object.id, content));
      }
      if (!known && object.kind == ObjectKind::change) ++changes;
      return {};
    }));
    std::optional<PackName> instead;
    if (writer.objects() > 0) {
      WEFT_TRY(const auto summary, writer.finish());
      instead = PackName{summary.id, summary.objects, changes, summary.bytes};
      ++packs_rewritten_;
    }
    // Made again from all of its objects a pack may be the very same: then it takes the old one's place by itself.
    if (!instead || instead->id != pack.name.id) plan_.packs.push_back(object::pack_file_name(pack.name.id));
    replaced_.emplace(pack.name.id, instead);
  }
  return env.fs.sync_directory(directory);
}

/// The kept file, as far as what it says has changed: packs of its that were replaced, or all of it from a donor.
Result<void> Salvage::write_kept() {
  if (!survey_.kept()) return {};
  const bool replaces = std::any_of(survey_.packs().begin(), survey_.packs().end(), [&](const SurveyedPack& pack) {
    return pack.kept != nullptr && replaced_.contains(pack.name.id);
  });
  if (!replaces && !survey_.kept_from_donor()) return {};
  if (!replaces) {
    const std::string path = join_path(join_path(survey_.directory(), "log"), kept_file_name(survey_.kept_name().id));
    WEFT_DO(copy_file(survey_.donor_kept_path(), path + std::string(kNewSuffix)));
    WEFT_DO(survey_.env().fs.rename(path + std::string(kNewSuffix), path));
    return survey_.env().fs.sync_directory(join_path(survey_.directory(), "log"));
  }
  const KeptFile& kept = *survey_.kept();
  KeptWriter writer(survey_.env(), join_path(survey_.directory(), "log"));
  WEFT_DO(kept.for_each_frame([&](const KeptFrame& frame) { return writer.add(frame); }));
  kept.for_each_delta([&](const DeltaLink& link) { writer.add(link); });
  kept.for_each_git([&](const GitLink& link) { writer.add(link); });
  for (const auto& pack : kept.packs()) {
    const auto found = replaced_.find(pack.name.id);
    if (found == replaced_.end()) {
      writer.add(pack);
    } else if (found->second) {
      writer.add(KeptPack{*found->second, found->second->objects, found->second->changes});
    }
  }
  WEFT_TRY(new_kept_, writer.finish(kept.facts()));
  return {};
}

Result<void> Salvage::write_log(std::uint64_t from) {
  log::Segments& segments = survey_.segments();
  const std::uint64_t start = segments.segment_start(from);
  const std::string directory = join_path(survey_.directory(), "log");
  plan_.first = start / segments.segment_bytes() + 1;

  std::map<std::string, std::uint64_t> moves;  // of each ref, where its newest move is now
  std::uint64_t operation = 0;                 // of the newest operation, plus one
  log::LogPoint point{start, start == survey_.start().position ? survey_.start().chain : 0};
  if (survey_.kept()) {
    operation = survey_.kept()->facts().newest_operation;
    WEFT_DO(survey_.kept()->for_each_ref([&](std::uint64_t position) -> Result<void> {
      WEFT_TRY(const auto move, survey_.kept()->move(position));
      if (move) moves[move->name] = std::max(moves[move->name], position);
      return {};
    }));
  }
  std::optional<SegmentWriter> writer;
  const auto writer_at = [&]() -> SegmentWriter& {
    if (!writer) writer.emplace(survey_.env(), segments, directory, log::LogPoint{start, point.chain});
    return *writer;
  };
  if (!survey_.ids()) {
    const Bytes payload =
        encode_store_payload({survey_.env().random.id<StoreId>(), survey_.env().random.id<ReplicaId>()});
    log::FrameHeader header;
    header.kind = log::FrameKind::store;
    header.transaction = survey_.env().random.id<TransactionId>();
    WEFT_DO(writer_at().add(header, 0, {}, payload));
    new_ids_ = true;
  }
  WEFT_DO(survey_.for_each_frame([&](const log::Frame& frame, std::size_t) -> Result<void> {
    const bool transaction = frame.header.kind == log::FrameKind::transaction;
    WEFT_TRY(const Late late, transaction ? decode_late(frame.late, frame.header.position) : Result<Late>(Late{}));
    if (frame.header.position < start) {
      point.chain = frame.header.checksum;
      for (const auto& move : late.moves) moves[move.name] = move.position;
      if (!transaction) return {};
      WEFT_TRY(const Payload payload, decode_payload(frame.payload));
      if (payload.operation) operation = frame.header.position + 1;
      return {};
    }
    if (frame.header.position > from) ++moved_frames_;
    if (frame.header.kind == log::FrameKind::checkpoint) {
      WEFT_TRY(Checkpoint checkpoint, decode_checkpoint(frame.payload, frame.header.position));
      const std::uint64_t position = writer_at().next_position(frame.header.length);
      checkpoint.client[kLastOperation] = operation;
      checkpoint.client[kCheckpoint] = position + 1;
      if (new_kept_ && checkpoint.kept.id == survey_.kept_name().id) checkpoint.kept = *new_kept_;
      return writer_at().add(frame.header, position, {}, encode_checkpoint(checkpoint));
    }
    if (!transaction) {
      if (new_ids_) return {};
      return writer_at().add(frame.header, writer_at().next_position(frame.header.length), {}, frame.payload);
    }
    WEFT_TRY(const Payload payload, decode_payload(frame.payload));

    // The payload as it is, unless something of it has to go.
    Bytes rebuilt;
    ByteView content = frame.payload;
    bool same = true;
    for (const auto& pack : payload.packs) same = same && !replaced_.contains(pack.id);
    for (ByteView rest = payload.records; same && !rest.empty();) {
      WEFT_TRY(const auto record, object::decode_record(rest));
      same = !survey_.is_bad(record);
      rest.remove_prefix(record.length);
    }
    if (!same) {
      WEFT_TRY(rebuilt, rebuild(payload, frame));
      content = rebuilt;
    }
    const bool has_operation = payload.operation.has_value();

    Bytes late_bytes;
    std::vector<std::pair<std::string, std::size_t>> offsets;
    LateWriter late_writer(late_bytes, has_operation ? operation : 0, late.moves.size());
    for (const auto& move : late.moves) {
      const auto before = moves.find(move.name);
      offsets.emplace_back(move.name, late_writer.add(ref_key(move.name), before == moves.end() ? 0 : before->second,
                                                      move.name, move.after));
    }
    const std::uint64_t position =
        writer_at().next_position(log::kFrameHeaderBytes + late_bytes.size() + content.size());
    WEFT_DO(writer_at().add(frame.header, position, late_bytes, content));
    for (const auto& [name, offset] : offsets) moves[name] = position + offset;
    if (has_operation) operation = position + 1;
    return {};
  }));
  if (writer) {
    WEFT_TRY(plan_.segments, writer->finish());
  }
  return {};
}

/// The payload of a frame without what is damaged, its packs replaced.
Result<Bytes> Salvage::rebuild(const Payload& payload, const log::Frame& frame) const {
  Bytes records;
  std::map<std::uint64_t, std::pair<ChangeId, std::size_t>> changes;  // old position: id, offset in `records`
  const std::uint64_t base = frame.payload_position() + payload.records_offset;
  for (ByteView rest = payload.records; !rest.empty();) {
    WEFT_TRY(const auto record, object::decode_record(rest));
    const std::uint64_t position = base + (payload.records.size() - rest.size());
    if (!survey_.is_bad(record)) {
      if (record.kind == ObjectKind::change) changes.emplace(position, std::pair(record.id, records.size()));
      records.append(rest.substr(0, record.length));
    }
    rest.remove_prefix(record.length);
  }
  PayloadWriter writer(payload.time_ns);
  if (payload.operation) writer.operation(*payload.operation);
  const std::size_t offset = records.empty() ? 0 : writer.records(records);
  std::vector<PackName> packs;
  for (const auto& pack : payload.packs) {
    const auto found = replaced_.find(pack.id);
    if (found == replaced_.end()) {
      packs.push_back(pack);
    } else if (found->second) {
      packs.push_back(*found->second);
    }
  }
  writer.packs(packs);
  for (const EntryKind kind : {EntryKind::delta, EntryKind::git}) {
    const ByteView links = kind == EntryKind::delta ? payload.deltas : payload.gits;
    const std::size_t links_offset = kind == EntryKind::delta ? payload.deltas_offset : payload.gits_offset;
    const std::size_t key_bytes = kind == EntryKind::delta ? DeltaId::kSize : GitId::kSize;
    std::vector<PayloadWriter::LinkEntry> entries;
    for (std::size_t done = 0; done < links.size();) {
      const auto link = decode_link(kind, links.substr(done), frame.payload_position() + links_offset + done);
      if (!link) return damaged("a transaction's entries are malformed");
      PayloadWriter::LinkEntry entry;
      entry.key = links.substr(done, key_bytes);
      done += link->length;
      if (link->change) {
        entry.change = *link->change;
      } else {
        const auto change = changes.find(link->record_position);
        if (change == changes.end()) continue;  // it is lost
        entry.change = change->second.first;
        entry.record = offset + change->second.second;
      }
      entries.push_back(entry);
    }
    if (kind == EntryKind::delta) {
      writer.deltas(entries);
    } else {
      writer.gits(entries);
    }
  }
  return writer.bytes();
}

Bytes Salvage::encode_plan(const Plan& plan) {
  Bytes bytes = fmt::format("weft repair 1\naside {}\nphase {}\nfirst {}\n", plan.aside, plan.phase, plan.first);
  for (const auto& name : plan.segments) bytes += fmt::format("segment {}\n", name);
  for (const auto& name : plan.packs) bytes += fmt::format("pack {}\n", name);
  return bytes + "end\n";
}

Result<Salvage::Plan> Salvage::decode_plan(ByteView bytes) {
  Plan plan;
  std::size_t line_number = 0;
  bool ended = false;
  const auto plain = [](std::string_view name) {
    return !name.empty() && name.find('/') == std::string_view::npos && name[0] != '.';
  };
  bool good = true;
  while (good && !ended && !bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == ByteView::npos) break;
    const ByteView line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    const auto value = [&](std::string_view key) -> std::optional<std::string> {
      if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') return std::nullopt;
      return std::string(line.substr(key.size() + 1));
    };
    const auto number = [&](std::string_view key, std::uint64_t& out) {
      const auto text = value(key);
      if (!text || text->size() > 10 || text->find_first_not_of("0123456789") != std::string::npos) return false;
      out = std::stoull(*text);
      return true;
    };
    switch (line_number++) {
      case 0:
        good = line == "weft repair 1";
        break;
      case 1:
        plan.aside = value("aside").value_or("");
        good = plain(plan.aside);
        break;
      case 2:
        good = number("phase", plan.phase) && (plan.phase == 1 || plan.phase == 2);
        break;
      case 3:
        good = number("first", plan.first);
        break;
      default:
        if (const auto segment = value("segment")) {
          plan.segments.push_back(*segment);
          good = plain(*segment);
        } else if (const auto pack = value("pack")) {
          plan.packs.push_back(*pack);
          good = plain(*pack);
        } else {
          good = ended = line == "end";
        }
    }
  }
  if (!good || !ended || !bytes.empty()) {
    return damaged("what an interrupted repair left to say how far it came is malformed",
                   "move the file `repairing` out of the store, and run `weft repair` again");
  }
  return plan;
}

Result<void> Salvage::carry_out(Env env, const std::string& directory, Plan plan) {
  const std::string marker = join_path(directory, kRepairingName);
  const std::string log = join_path(directory, "log");
  const std::string packs = join_path(directory, "packs");
  const std::string aside = join_path(directory, plan.aside);
  if (plan.phase == 1) {
    WEFT_TRY(const auto entries, env.fs.list(log));
    for (const auto& entry : entries) {
      if (!entry.name.ends_with(".seg") || plan.first == 0 || entry.name < fmt::format("{:010}.seg", plan.first))
        continue;
      WEFT_DO(env.fs.rename(join_path(log, entry.name), join_path(aside, entry.name)));
    }
    for (const auto& name : plan.packs) {
      WEFT_DO(rename_if_there(env.fs, join_path(packs, name), join_path(aside, name)));
    }
    for (const auto& path : {log, packs, aside}) WEFT_DO(env.fs.sync_directory(path));
    plan.phase = 2;
    WEFT_DO(write_file_durably(env.fs, marker, encode_plan(plan)));
  }
  for (const auto& name : plan.segments) {
    const std::string path = join_path(log, name);
    WEFT_DO(rename_if_there(env.fs, path + std::string(kNewSuffix), path));
  }
  for (const auto& name : plan.packs) {
    const std::string path = join_path(packs, name);
    WEFT_DO(rename_if_there(env.fs, path + std::string(kNewSuffix), path));
  }
  WEFT_DO(env.fs.sync_directory(log));
  WEFT_DO(env.fs.sync_directory(packs));
  // What the index says of positions is no longer true.
  const std::string index = join_path(directory, "index");
  WEFT_TRY(const auto derived, env.fs.list(index));
  for (const auto& entry : derived) WEFT_DO(env.fs.unlink(join_path(index, entry.name)));
  WEFT_DO(env.fs.sync_directory(index));
  WEFT_DO(env.fs.unlink(marker));
  return env.fs.sync_directory(directory);
}

Result<void> Salvage::exchange() {
  if (!moves_files()) return {};
  Env env = survey_.env();
  plan_.aside = aside_;
  const std::string path = join_path(survey_.directory(), aside_);
  if (auto made = env.fs.make_directory(path); !made && made.error().code != Code::exists) return made;
  WEFT_DO(env.fs.sync_directory(survey_.directory()));
  WEFT_DO(write_file_durably(env.fs, join_path(survey_.directory(), kRepairingName), encode_plan(plan_)));
  WEFT_DO(carry_out(env, survey_.directory(), plan_));
  survey_.segments().forget_mappings();
  return {};
}

Result<std::optional<std::string>> Salvage::finish_interrupted(Env env, const std::string& directory) {
  const auto bytes = read_file(env.fs, join_path(directory, kRepairingName), kMaxPlanBytes);
  if (!bytes) {
    if (bytes.error().code != Code::not_found) return bytes.error();
    return std::optional<std::string>{};
  }
  WEFT_TRY(const Plan plan, decode_plan(*bytes));
  WEFT_DO(carry_out(env, directory, plan));
  return std::optional(plan.aside);
}

}  // namespace weft::store
