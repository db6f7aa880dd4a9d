// The encoding of changes (change.h; docs/FORMATS.md, "Change").
#include "object/change.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/hash.h"
#include "object/change_head.h"

namespace weft::object {

namespace {

constexpr ByteView kMagic = "weftchg1";

enum class Tag : std::uint8_t { create = 1, move, remove, set_content, edit_text, set_mode, settle };

// The committer's signature, when it is not the author's.
constexpr std::uint8_t kCommitterIsAuthor = 0;
constexpr std::uint8_t kCommitterFollows = 1;

constexpr std::size_t kMinOpBytes = 1 + NodeId::kSize + 2 + 2;  // a mode
constexpr std::size_t kMinHunkBytes = 6;                        // one byte added
constexpr std::size_t kMinExtraBytes = 1 + 1 + 1;               // a key of one byte
constexpr std::size_t kFixedBytes = 200;                        // of a common change, without its texts
constexpr std::size_t kOpBytes = 120;                           // of a common op

std::size_t size_estimate(const Change& change) {
  std::size_t size = kFixedBytes + change.parents.size() * ChangeId::kSize + change.message.size() +
                     2 * (change.author.name.size() + change.author.email.size()) + change.agent.size() +
                     change.job.size();
  for (const auto& [key, value] : change.extra) size += key.size() + value.size() + 12;
  for (const Op& op : change.ops) {
    size += kOpBytes;
    if (const auto* edit = std::get_if<op::EditText>(&op)) {
      for (const Hunk& hunk : edit->hunks) {
        size += 12 + hunk.removed.size() + hunk.added.size() + hunk.context_before.size() + hunk.context_after.size();
      }
    }
  }
  return size;
}

void write_signature(ByteWriter& writer, const Signature& signature) {
  writer.sized(signature.name);
  writer.sized(signature.email);
  writer.u64(static_cast<std::uint64_t>(signature.time.unix_ns));
  writer.svarint(signature.time.offset_min);
}

Signature read_signature(ByteReader& reader) {
  Signature signature;
  signature.name = reader.sized(kMaxSignatureBytes);
  signature.email = reader.sized(kMaxSignatureBytes);
  signature.time.unix_ns = static_cast<std::int64_t>(reader.u64());
  const std::int64_t offset = reader.svarint();
  if (offset < std::numeric_limits<std::int32_t>::min() || offset > std::numeric_limits<std::int32_t>::max()) {
    reader.fail();
  }
  signature.time.offset_min = static_cast<std::int32_t>(offset);
  return signature;
}

void write_place(ByteWriter& writer, const Place& place) {
  writer.raw(place.directory.view());
  writer.sized(place.name);
}

Place read_place(ByteReader& reader) {
  Place place;
  place.directory = read_id<NodeId>(reader);
  place.name = reader.sized(kMaxNameBytes);
  return place;
}

/// A byte that is 0 or 1.
bool read_flag(ByteReader& reader) {
  const std::uint8_t flag = reader.u8();
  if (flag > 1) reader.fail();
  return flag == 1;
}

/// A mode in its 16 bits. Larger ones fail in check_change.
void write_mode(ByteWriter& writer, std::uint32_t mode) { writer.u16(static_cast<std::uint16_t>(mode)); }

struct OpWriter {
  ByteWriter& writer;

  void head(Tag tag, const NodeId& node) {
    writer.u8(static_cast<std::uint8_t>(tag));
    writer.raw(node.view());
  }
  void operator()(const op::Create& create) {
    head(Tag::create, create.node);
    write_place(writer, create.place);
    writer.u8(static_cast<std::uint8_t>(create.kind));
    write_mode(writer, create.mode);
    if (create.kind != EntryKind::directory) {
      writer.raw(create.blob.view());
      writer.varint(create.size);
    }
    writer.u8(create.replaces ? 1 : 0);
    if (create.replaces) writer.raw(create.replaces->view());
  }
  void operator()(const op::Move& move) {
    head(Tag::move, move.node);
    write_place(writer, move.from);
    write_place(writer, move.to);
  }
  void operator()(const op::Delete& remove) {
    head(Tag::remove, remove.node);
    write_place(writer, remove.from);
  }
  void operator()(const op::SetContent& set) {
    head(Tag::set_content, set.node);
    writer.raw(set.base.view());
    writer.raw(set.result.view());
    writer.varint(set.size);
  }
  void operator()(const op::EditText& edit) {
    head(Tag::edit_text, edit.node);
    writer.raw(edit.base.view());
    writer.raw(edit.result.view());
    writer.varint(edit.size);
    writer.varint(edit.hunks.size());
    std::uint64_t end = 0;
    for (const Hunk& hunk : edit.hunks) {
      WEFT_CHECK(hunk.offset >= end);
      writer.varint(hunk.offset - end);
      writer.sized(hunk.removed);
      writer.sized(hunk.added);
      writer.sized(hunk.context_before);
      writer.sized(hunk.context_after);
      end = hunk.offset + hunk.removed.size();
    }
  }
  void operator()(const op::SetMode& set) {
    head(Tag::set_mode, set.node);
    write_mode(writer, set.from);
    write_mode(writer, set.to);
  }
  void operator()(const op::Settle& settle) {
    writer.u8(static_cast<std::uint8_t>(Tag::settle));
    writer.raw(settle.conflict.view());
  }
};

op::Create read_create(ByteReader& reader) {
  op::Create create;
  create.node = read_id<NodeId>(reader);
  create.place = read_place(reader);
  create.kind = static_cast<EntryKind>(reader.u8());
  create.mode = reader.u16();
  if (create.kind != EntryKind::directory) {
    create.blob = read_id<ObjectId>(reader);
    create.size = reader.varint();
  }
  if (read_flag(reader)) create.replaces = read_id<NodeId>(reader);
  return create;
}

/// A length that what is left can hold.
ByteView read_text(ByteReader& reader) { return reader.sized(reader.remaining()); }

std::vector<Hunk> read_hunks(ByteReader& reader) {
  std::vector<Hunk> hunks;
  const std::uint64_t count = reader.varint_max(reader.remaining() / kMinHunkBytes);
  hunks.reserve(std::min<std::uint64_t>(count, 64));
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    Hunk& hunk = hunks.emplace_back();
    hunk.offset = end + reader.varint_max(kMaxTextOffset);
    if (hunk.offset > kMaxTextOffset) reader.fail();
    hunk.removed = read_text(reader);
    hunk.added = read_text(reader);
    hunk.context_before = read_text(reader);
    hunk.context_after = read_text(reader);
    end = hunk.offset + hunk.removed.size();
  }
  return hunks;
}

op::EditText read_edit(ByteReader& reader) {
  op::EditText edit;
  edit.node = read_id<NodeId>(reader);
  edit.base = read_id<ObjectId>(reader);
  edit.result = read_id<ObjectId>(reader);
  edit.size = reader.varint();
  edit.hunks = read_hunks(reader);
  return edit;
}

/// Fails the reader on an unknown tag.
Op read_op(ByteReader& reader) {
  switch (static_cast<Tag>(reader.u8())) {
    case Tag::create:
      return read_create(reader);
    case Tag::move: {
      const auto node = read_id<NodeId>(reader);
      Place from = read_place(reader);
      return op::Move{node, std::move(from), read_place(reader)};
    }
    case Tag::remove: {
      const auto node = read_id<NodeId>(reader);
      return op::Delete{node, read_place(reader)};
    }
    case Tag::set_content: {
      op::SetContent set;
      set.node = read_id<NodeId>(reader);
      set.base = read_id<ObjectId>(reader);
      set.result = read_id<ObjectId>(reader);
      set.size = reader.varint();
      return set;
    }
    case Tag::edit_text:
      return read_edit(reader);
    case Tag::set_mode: {
      op::SetMode set;
      set.node = read_id<NodeId>(reader);
      set.from = reader.u16();
      set.to = reader.u16();
      return set;
    }
    case Tag::settle:
      return op::Settle{read_id<ObjectId>(reader)};
  }
  reader.fail();
  return op::Settle{};
}

Error change_damaged(std::string_view problem) {
  return damaged(fmt::format("a change is damaged: {}", problem),
                 "changes that do not descend from it are unaffected; `weft verify --deep` lists the others");
}

Result<ChangeSummary> read_summary(ByteReader& reader) {
  ChangeSummary summary;
  if (reader.raw(kMagic.size()) != kMagic) return change_damaged("it does not begin like a change");
  const std::uint64_t parents = reader.varint_max(kMaxVersionChanges);
  summary.parents.reserve(parents);
  for (std::uint64_t i = 0; i < parents && reader.ok(); ++i) summary.parents.push_back(read_id<ChangeId>(reader));
  summary.lamport = reader.varint();
  summary.tree = read_id<ObjectId>(reader);
  if (!reader.ok()) return change_damaged("its parents, Lamport time and tree are cut off or exceed a limit");
  return summary;
}

Result<std::vector<Op>> read_ops(ByteReader& reader) {
  std::vector<Op> ops;
  const std::uint64_t count = reader.varint_max(std::min<std::uint64_t>(kMaxOps, reader.remaining() / kMinOpBytes));
  if (!reader.ok()) return change_damaged("its number of ops is wrong");
  ops.reserve(std::min<std::uint64_t>(count, 1024));
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t start = reader.position();
    ops.push_back(read_op(reader));
    if (!reader.ok())
      return change_damaged(fmt::format("op {} at byte {} is cut off, unknown or exceeds a limit", i, start));
  }
  return ops;
}

}  // namespace

const Bytes* Change::find_extra(std::string_view key) const {
  for (const auto& [name, value] : extra) {
    if (name == key) return &value;
  }
  return nullptr;
}

Bytes encode_change(const Change& change) {
  WEFT_CHECK(change.parents.size() <= kMaxVersionChanges);
  WEFT_CHECK(change.message.size() <= kMaxMessageBytes);
  WEFT_CHECK(change.form == OpsForm::recorded || change.ops.empty());
  Bytes out;
  out.reserve(size_estimate(change));
  ByteWriter writer(out);
  writer.raw(kMagic);
  writer.varint(change.parents.size());
  for (const ChangeId& parent : change.parents) writer.raw(parent.view());
  writer.varint(change.lamport);
  writer.raw(change.tree.view());
  writer.varint(change.rules);
  writer.u8(static_cast<std::uint8_t>(change.form));
  write_signature(writer, change.author);
  if (change.committer == change.author) {
    writer.u8(kCommitterIsAuthor);
  } else {
    writer.u8(kCommitterFollows);
    write_signature(writer, change.committer);
  }
  writer.sized(change.agent);
  writer.sized(change.job);
  writer.sized(change.message);
  writer.varint(change.extra.size());
  for (const auto& [key, value] : change.extra) {
    writer.sized(key);
    writer.sized(value);
  }
  writer.varint(change.ops.size());
  for (const Op& op : change.ops) std::visit(OpWriter{writer}, op);
  return out;
}

namespace {

Result<Change> read_head(ByteReader& reader) {
  WEFT_TRY(ChangeSummary summary, read_summary(reader));
  Change change;
  change.parents = std::move(summary.parents);
  change.lamport = summary.lamport;
  change.tree = summary.tree;
  change.rules = static_cast<std::uint32_t>(reader.varint_max(std::numeric_limits<std::uint32_t>::max()));
  change.form = static_cast<OpsForm>(reader.u8());
  change.author = read_signature(reader);
  const bool committer_follows = read_flag(reader);
  change.committer = committer_follows ? read_signature(reader) : change.author;
  change.agent = reader.sized(kMaxLabelBytes);
  change.job = reader.sized(kMaxLabelBytes);
  change.message = reader.sized(kMaxMessageBytes);
  if (!reader.ok()) return change_damaged("its author, committer or message is cut off or exceeds a limit");
  if (committer_follows && change.committer == change.author) {  // X1
    return change_damaged("it spells out a committer equal to its author");
  }

  const std::uint64_t extras =
      reader.varint_max(std::min<std::uint64_t>(kMaxExtraHeaders, reader.remaining() / kMinExtraBytes));
  for (std::uint64_t i = 0; i < extras && reader.ok(); ++i) {
    std::string key(reader.sized(kMaxExtraKeyBytes));
    change.extra.emplace_back(std::move(key), reader.sized(kMaxExtraValueBytes));
  }
  if (!reader.ok()) return change_damaged("its extra headers are cut off or exceed a limit");
  return change;
}

}  // namespace

Result<Change> decode_change_head(ByteView encoded) {
  ByteReader reader(encoded);
  return read_head(reader);
}

Result<Change> read_change_head(const ObjectReader& reader, const ChangeId& id) {
  WEFT_TRY(const Bytes bytes, reader.read(ObjectKind::change, id));
  return decode_change_head(bytes);
}

Result<Change> decode_change(ByteView encoded) {
  ByteReader reader(encoded);
  WEFT_TRY(Change change, read_head(reader));
  WEFT_TRY(change.ops, read_ops(reader));
  if (!reader.at_end()) return change_damaged(fmt::format("bytes follow its last op, from byte {}", reader.position()));
  if (const auto possible = check_change(change); !possible) return change_damaged(possible.error().message);
  return change;
}

ChangeId change_id(ByteView encoded) { return sha256(encoded); }

Result<ChangeSummary> decode_change_summary(ByteView encoded) {
  ByteReader reader(encoded);
  return read_summary(reader);
}

}  // namespace weft::object
