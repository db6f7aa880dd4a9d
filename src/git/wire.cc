#include "git/wire.h"

#include <algorithm>

namespace weft::git::wire {
namespace {

enum class Type : std::uint8_t {
  hello = 1,
  facts,
  ref,
  refs_end,
  total,
  offer,
  commit,
  gone_directory,
  remove,
  put,
  data,
  odd_tree,
  commit_end,
  end,
  failure,
  request,
  known,
  write,
  read,
  found,
  keep,
  kept,
  move,
  attach,
  moved,
};
constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kReadBytes = 256u << 10;

void write_ids(ByteWriter& writer, const std::vector<Sha1>& ids) {
  writer.varint(ids.size());
  for (const auto& id : ids) writer.raw(id.view());
}

std::vector<Sha1> read_ids(ByteReader& reader, std::size_t max) {
  const auto count = static_cast<std::size_t>(reader.varint_max(max));
  std::vector<Sha1> ids;
  if (!reader.ok() || reader.remaining() < count * Sha1::kSize) {
    reader.fail();
    return ids;
  }
  ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ids.push_back(read_id<Sha1>(reader));
  return ids;
}

bool read_bool(ByteReader& reader) {
  const auto value = reader.u8();
  if (value > 1) reader.fail();
  return value == 1;
}

template <typename Enum>
Enum read_enum(ByteReader& reader, Enum last) {
  const auto value = reader.u8();
  if (value >= 1 && value <= static_cast<std::uint8_t>(last)) return static_cast<Enum>(value);
  reader.fail();
  return last;  // of the enumeration, whatever looks at it before the failure is seen
}

struct Encoder {
  ByteWriter& w;
  void type(Type type) { w.u8(static_cast<std::uint8_t>(type)); }

  void operator()(const Hello& m) {
    type(Type::hello);
    w.u32(m.version);
    w.sized(m.program);
  }
  void operator()(const Facts& m) {
    type(Type::facts);
    w.sized(m.object_format);
    w.sized(m.head);
    w.sized(m.work_tree);
    w.sized(m.directory);
    w.raw(m.head_commit.view());
    w.u8(static_cast<std::uint8_t>(m.presence));
    w.u8(m.shallow ? 1 : 0);
    w.u8(m.partial ? 1 : 0);
    w.u8(m.sparse ? 1 : 0);
    w.sized(m.conversions);
  }
  void operator()(const Ref& m) {
    type(Type::ref);
    w.sized(m.name);
    w.raw(m.target.view());
    w.u8(static_cast<std::uint8_t>(m.kind));
    w.raw(m.peeled.view());
    w.varint(m.tags.size());
    for (const auto tag : m.tags) w.sized(tag);
  }
  void operator()(const RefsEnd& m) {
    type(Type::refs_end);
    w.varint(m.others.size());
    for (const auto group : m.others) w.sized(group);
  }
  void operator()(const Total& m) {
    type(Type::total);
    w.varint(m.commits);
  }
  void operator()(const Offer& m) {
    type(Type::offer);
    write_ids(w, m.commits);
  }
  void operator()(const Commit& m) {
    type(Type::commit);
    w.raw(m.id.view());
    w.u8(static_cast<std::uint8_t>(m.kind));
    w.sized(m.object);
  }
  void operator()(const GoneDirectory& m) {
    type(Type::gone_directory);
    w.sized(m.path);
  }
  void operator()(const Remove& m) {
    type(Type::remove);
    w.sized(m.path);
  }
  void operator()(const Put& m) {
    type(Type::put);
    w.sized(m.path);
    w.varint(m.mode);
    w.raw(m.id.view());
    w.u8(static_cast<std::uint8_t>(m.content));
    switch (m.content) {
      case Content::inline_bytes:
        w.sized(m.bytes);
        break;
      case Content::data:
        w.varint(m.size);
        break;
      case Content::parent:
        w.varint(m.parent);
        break;
      case Content::table:
      case Content::none:
        break;
    }
  }
  void operator()(const Data& m) {
    type(Type::data);
    w.sized(m.bytes);
  }
  void operator()(const OddTree& m) {
    type(Type::odd_tree);
    w.sized(m.path);
    w.sized(m.object);
  }
  void operator()(const CommitEnd&) { type(Type::commit_end); }
  void operator()(const End& m) {
    type(Type::end);
    w.varint(m.commits);
  }
  void operator()(const Failure& m) {
    type(Type::failure);
    w.u8(static_cast<std::uint8_t>(m.kind));
    w.sized(m.message.substr(0, kMaxTextBytes));
    w.sized(m.hint.substr(0, kMaxTextBytes));
  }
  void operator()(const Request& m) {
    type(Type::request);
    w.u32(m.version);
    w.u8(m.head ? 1 : 0);
    write_ids(w, m.hidden);
  }
  void operator()(const Known& m) {
    type(Type::known);
    w.sized(m.bits);
  }
  void operator()(const Write& m) {
    type(Type::write);
    w.u8(static_cast<std::uint8_t>(m.kind));
    w.raw(m.id.view());
    w.sized(m.hint);
    w.u8(m.whole ? 1 : 0);
    if (m.whole) {
      w.sized(m.bytes);
    } else {
      w.varint(m.size);
    }
  }
  void operator()(const Read& m) {
    type(Type::read);
    w.u8(static_cast<std::uint8_t>(m.kind));
    w.raw(m.id.view());
  }
  void operator()(const Found& m) {
    type(Type::found);
    w.u8(m.found ? 1 : 0);
    w.sized(m.bytes);
  }
  void operator()(const Keep&) { type(Type::keep); }
  void operator()(const Kept& m) {
    type(Type::kept);
    w.varint(m.objects);
    w.varint(m.bytes);
  }
  void operator()(const Move& m) {
    type(Type::move);
    w.sized(m.name);
    w.raw(m.expected.view());
    w.raw(m.target.view());
    w.u8(m.own_work_tree ? 1 : 0);
  }
  void operator()(const Attach& m) {
    type(Type::attach);
    w.sized(m.name);
  }
  void operator()(const Moved& m) {
    type(Type::moved);
    w.u8(static_cast<std::uint8_t>(m.status));
    w.raw(m.actual.view());
    w.sized(m.text.substr(0, kMaxTextBytes));
  }
};

Ref read_ref(ByteReader& r) {
  Ref m;
  m.name = r.sized(kMaxRefNameBytes);
  m.target = read_id<Sha1>(r);
  m.kind = read_enum(r, TargetKind::broken);
  m.peeled = read_id<Sha1>(r);
  const auto count = r.varint_max(kMaxTagDepth);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) m.tags.push_back(r.sized(kMaxObjectBytes));
  return m;
}

Put read_put(ByteReader& r) {
  Put m;
  m.path = r.sized(kMaxPathBytes);
  m.mode = static_cast<std::uint32_t>(r.varint_max(0177777));
  m.id = read_id<Sha1>(r);
  m.content = read_enum(r, Content::none);
  switch (m.content) {
    case Content::inline_bytes:
      m.bytes = r.sized(kMaxInlineBytes);
      m.size = m.bytes.size();
      break;
    case Content::data:
      m.size = r.varint();
      break;
    case Content::parent:
      m.parent = static_cast<std::uint32_t>(r.varint_max(0xffff));
      break;
    case Content::table:
    case Content::none:
      break;
  }
  return m;
}

Facts read_facts(ByteReader& r) {
  Facts m;
  m.object_format = r.sized(kMaxTextBytes);
  m.head = r.sized(kMaxRefNameBytes);
  m.work_tree = r.sized(kMaxTextBytes);
  m.directory = r.sized(kMaxTextBytes);
  m.head_commit = read_id<Sha1>(r);
  m.presence = read_enum(r, Presence::absent);
  m.shallow = read_bool(r);
  m.partial = read_bool(r);
  m.sparse = read_bool(r);
  m.conversions = r.sized(kMaxTextBytes);
  return m;
}

RefsEnd read_refs_end(ByteReader& r) {
  RefsEnd m;
  const auto count = r.varint_max(kMaxRefGroups);
  for (std::uint64_t i = 0; i < count && r.ok(); ++i) m.others.push_back(r.sized(kMaxRefNameBytes));
  return m;
}

Write read_write(ByteReader& r) {
  Write m;
  m.kind = read_enum(r, GitKind::tag);
  m.id = read_id<Sha1>(r);
  m.hint = r.sized(kMaxPathBytes);
  m.whole = read_bool(r);
  if (m.whole) {
    m.bytes = r.sized(m.kind == GitKind::blob ? kMaxInlineBytes : kMaxObjectBytes);
    m.size = m.bytes.size();
  } else {
    m.size = r.varint();
    if (m.kind != GitKind::blob) r.fail();
  }
  return m;
}

Move read_move(ByteReader& r) {
  Move m;
  m.name = r.sized(kMaxRefNameBytes);
  m.expected = read_id<Sha1>(r);
  m.target = read_id<Sha1>(r);
  m.own_work_tree = read_bool(r);
  return m;
}

Message read_message(ByteReader& r) {
  switch (static_cast<Type>(r.u8())) {
    case Type::hello: {
      Hello m;
      m.version = r.u32();
      m.program = r.sized(kMaxTextBytes);
      return m;
    }
    case Type::facts:
      return read_facts(r);
    case Type::ref:
      return read_ref(r);
    case Type::refs_end:
      return read_refs_end(r);
    case Type::total:
      return Total{r.varint()};
    case Type::offer:
      return Offer{read_ids(r, kMaxOffer)};
    case Type::commit: {
      Commit m;
      m.id = read_id<Sha1>(r);
      m.kind = read_enum(r, TargetKind::blob);
      m.object = r.sized(m.kind == TargetKind::commit ? kMaxObjectBytes : 0);
      return m;
    }
    case Type::gone_directory:
      return GoneDirectory{r.sized(kMaxPathBytes)};
    case Type::remove:
      return Remove{r.sized(kMaxPathBytes)};
    case Type::put:
      return read_put(r);
    case Type::data:
      return Data{r.sized(kMaxDataBytes)};
    case Type::odd_tree: {
      OddTree m;
      m.path = r.sized(kMaxPathBytes);
      m.object = r.sized(kMaxObjectBytes);
      return m;
    }
    case Type::commit_end:
      return CommitEnd{};
    case Type::end:
      return End{r.varint()};
    case Type::failure: {
      Failure m;
      m.kind = read_enum(r, FailureKind::io);
      m.message = r.sized(kMaxTextBytes);
      m.hint = r.sized(kMaxTextBytes);
      return m;
    }
    case Type::request: {
      Request m;
      m.version = r.u32();
      m.head = read_bool(r);
      m.hidden = read_ids(r, kMaxHidden);
      return m;
    }
    case Type::known:
      return Known{r.sized((kMaxOffer + 7) / 8)};
    case Type::write:
      return read_write(r);
    case Type::read: {
      Read m;
      m.kind = read_enum(r, GitKind::tag);
      if (m.kind == GitKind::blob) r.fail();
      m.id = read_id<Sha1>(r);
      return m;
    }
    case Type::found: {
      Found m;
      m.found = read_bool(r);
      m.bytes = r.sized(kMaxObjectBytes);
      if (!m.found && !m.bytes.empty()) r.fail();
      return m;
    }
    case Type::keep:
      return Keep{};
    case Type::kept: {
      Kept m;
      m.objects = r.varint();
      m.bytes = r.varint();
      return m;
    }
    case Type::move:
      return read_move(r);
    case Type::attach:
      return Attach{r.sized(kMaxRefNameBytes)};
    case Type::moved: {
      Moved m;
      m.status = read_enum(r, MoveStatus::refused);
      m.actual = read_id<Sha1>(r);
      m.text = r.sized(kMaxTextBytes);
      return m;
    }
  }
  r.fail();
  return RefsEnd{};
}

Error broken(std::string_view what) {
  return make_error(Code::peer, "weft-git and weft do not understand each other: " + std::string(what),
                    "install weft and weft-git of one version, beside each other");
}

}  // namespace

void append_frame(Bytes& out, const Message& message) {
  const std::size_t start = out.size();
  out.append(kLengthBytes, '\0');
  ByteWriter writer(out);
  Encoder encoder{writer};
  std::visit(encoder, message);
  const std::size_t length = out.size() - start - kLengthBytes;
  WEFT_CHECK(length <= kMaxFrameBytes);
  const auto length32 = static_cast<std::uint32_t>(length);
  std::memcpy(out.data() + start, &length32, kLengthBytes);
}

Result<Message> decode(ByteView frame) {
  if (frame.size() > kMaxFrameBytes) return broken("a message is too long");
  ByteReader reader(frame);
  Message message = read_message(reader);
  if (!reader.ok()) return broken("a message is malformed");
  if (!reader.at_end()) return broken("a message has bytes behind its end");
  return message;
}

Result<void> FrameReader::fill(std::size_t bytes) {
  if (end_ - begin_ >= bytes) return {};
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < std::max(bytes, kReadBytes)) buffer_.resize(std::max(bytes, kReadBytes));
  while (end_ < bytes) {
    WEFT_TRY(const std::size_t count, read_(std::span(buffer_.data() + end_, buffer_.size() - end_)));
    if (count == 0) return broken("the stream ended inside a conversation");
    end_ += count;
  }
  return {};
}

Result<Message> FrameReader::next() {
  WEFT_DO(fill(kLengthBytes));
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.data() + begin_, kLengthBytes);
  if (length == 0 || length > kMaxFrameBytes) return broken("a message has an impossible length");
  WEFT_DO(fill(kLengthBytes + length));
  const ByteView frame(buffer_.data() + begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return decode(frame);
}

}  // namespace weft::git::wire
