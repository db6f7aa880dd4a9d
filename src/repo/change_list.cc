#include "repo/change_list.h"

#include <algorithm>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "object/byte_source.h"
#include "tree/tree.h"

namespace weft::repo {

namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMaxSymlinkBytes = 4095;  // what a host can hold (PATH_MAX with its NUL)

/// Thrown through the parser when a list is larger than its limits allow; caught in this file.
struct TooLarge {
  std::string what;
};

/// Which op is being read, for messages.
struct Where {
  std::size_t index = 0;
  std::string_view verb;
};

Error bad(const Where& where, const std::string& problem) {
  const std::string op =
      "op " + std::to_string(where.index) + (where.verb.empty() ? "" : " (" + std::string(where.verb) + ")");
  return make_error(Code::invalid, "the change list's " + op + " is off: " + problem,
                    "`weft help commit` shows the format; nothing was recorded")
      .with("op", std::to_string(where.index));
}

Result<void> only_keys(const Where& where, const Json& object, std::initializer_list<std::string_view> keys) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) return bad(where, "unknown key " + weft::quoted(key));
  }
  return {};
}

/// A string, or {"bytes": BASE64}.
std::optional<Bytes> bytes_of(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (!value.is_object() || value.size() != 1 || !value.contains("bytes") || !value["bytes"].is_string()) {
    return std::nullopt;
  }
  return from_base64(value["bytes"].get_ref<const std::string&>());
}

Result<std::string> path_at(const Where& where, const Json& object, const char* key) {
  if (!object.contains(key)) return bad(where, "it has no " + weft::quoted(key));
  auto path = bytes_of(object[key]);
  if (!path) return bad(where, weft::quoted(key) + " must be a string, or {\"bytes\": BASE64}");
  if (path->size() > kMaxChangeListPathBytes) return bad(where, weft::quoted(key) + " is too long");
  if (path->empty()) return bad(where, weft::quoted(key) + " is empty");
  if (const auto sound = tree::check_path(*path); !sound) return bad(where, sound.error().message);
  std::string_view rest = *path;
  while (true) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (object::name_is_reserved(name)) {
      return bad(where, weft::quoted(*path) + " holds the reserved name " + weft::quoted(name) +
                            ", which is never written out");
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  return *std::move(path);
}

Result<std::uint32_t> mode_of(const Where& where, const Json& value) {
  const auto refuse = [&] { return bad(where, "\"mode\" must be four octal digits in quotes, as in \"0644\""); };
  if (!value.is_string()) return refuse();
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() != 4 || text.front() != '0') return refuse();
  std::uint32_t mode = 0;
  for (const char c : text) {
    if (c < '0' || c > '7') return refuse();
    mode = mode * 8 + static_cast<std::uint32_t>(c - '0');
  }
  return mode;
}

Result<std::variant<Bytes, ChangeList::HostFile, ObjectId>> content_of(const Where& where, const Json& value) {
  using Content = std::variant<Bytes, ChangeList::HostFile, ObjectId>;
  if (auto bytes = bytes_of(value)) return Content(*std::move(bytes));
  if (value.is_object() && value.size() == 1) {
    const auto item = value.begin();
    if (item.key() == "file") {
      auto path = bytes_of(item.value());
      if (path && !path->empty() && path->find('\0') == Bytes::npos)
        return Content(ChangeList::HostFile{*std::move(path)});
    } else if (item.key() == "blob" && item.value().is_string()) {
      if (const auto id = ObjectId::parse(item.value().get_ref<const std::string&>())) return Content(*id);
      return bad(where, "\"blob\" must be 64 hex digits");
    }
  }
  return bad(where, "\"content\" must be a string, {\"bytes\": BASE64}, {\"file\": PATH} or {\"blob\": ID}");
}

Result<ChangeList::Op> parse_write(const Where& where, const Json& op) {
  WEFT_DO(only_keys(where, op, {"op", "path", "content", "mode", "kind"}));
  ChangeList::Write write;
  WEFT_TRY(write.path, path_at(where, op, "path"));
  if (!op.contains("content")) return bad(where, "it has no \"content\"");
  WEFT_TRY(write.content, content_of(where, op["content"]));
  if (op.contains("kind")) {
    if (op["kind"] == "symlink")
      write.symlink = true;
    else if (op["kind"] != "file")
      return bad(where, "\"kind\" must be \"file\" or \"symlink\"");
  }
  if (op.contains("mode")) {
    if (write.symlink) return bad(where, "a symlink has no mode of its own");
    WEFT_TRY(write.mode, mode_of(where, op["mode"]));
  }
  return ChangeList::Op(std::move(write));
}

Result<ChangeList::Op> parse_op(std::size_t index, const Json& op) {
  Where where{index, {}};
  if (!op.is_object()) return bad(where, "it is no object");
  if (!op.contains("op") || !op["op"].is_string()) return bad(where, "it has no \"op\"");
  const auto& verb = op["op"].get_ref<const std::string&>();
  if (verb == "write") {
    where.verb = "write";
    return parse_write(where, op);
  }
  if (verb == "move") {
    where.verb = "move";
    WEFT_DO(only_keys(where, op, {"op", "from", "to"}));
    ChangeList::Move move;
    WEFT_TRY(move.from, path_at(where, op, "from"));
    WEFT_TRY(move.to, path_at(where, op, "to"));
    return ChangeList::Op(std::move(move));
  }
  if (verb == "delete") {
    where.verb = "delete";
    WEFT_DO(only_keys(where, op, {"op", "path"}));
    ChangeList::Delete remove;
    WEFT_TRY(remove.path, path_at(where, op, "path"));
    return ChangeList::Op(std::move(remove));
  }
  if (verb == "mode") {
    where.verb = "mode";
    WEFT_DO(only_keys(where, op, {"op", "path", "mode"}));
    ChangeList::Mode mode;
    WEFT_TRY(mode.path, path_at(where, op, "path"));
    if (!op.contains("mode")) return bad(where, "it has no \"mode\"");
    WEFT_TRY(mode.mode, mode_of(where, op["mode"]));
    return ChangeList::Op(std::move(mode));
  }
  return bad(where, weft::quoted(verb) + " is none of write, move, delete, mode");
}

Error not_a_list(const std::string& problem) {
  return make_error(
      Code::invalid, "this is no change list: " + problem,
      "it looks like {\"weft\": 1, \"ops\": [{\"op\": \"write\", \"path\": \"a\", \"content\": \"...\"}]}");
}

Result<Json> parse_json(ByteView text) {
  std::size_t values = 0;
  // The parser itself has no limits: without these a small text of "[[[[" or "0,0,0," takes many times its size.
  const auto limit = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > static_cast<int>(kMaxChangeListDepth)) throw TooLarge{"it is nested too deep"};
    if (event != Json::parse_event_t::object_end && event != Json::parse_event_t::array_end &&
        ++values > kMaxChangeListValues) {
      throw TooLarge{"it holds more than " + std::to_string(kMaxChangeListValues) + " values"};
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), limit);
  } catch (const TooLarge& error) {
    return not_a_list(error.what);
  } catch (const Json::parse_error& error) {
    return not_a_list("it is no JSON (byte " + std::to_string(error.byte) + ")");
  } catch (const Json::exception& error) {
    return not_a_list(error.what());
  }
}

/// A host file's bytes.
class FileSource final : public object::ByteSource {
 public:
  explicit FileSource(const File& file) : file_(file) {}
  Result<std::size_t> read(std::span<char> out) override {
    WEFT_TRY(const std::size_t length, file_.read_some_at(offset_, out));
    offset_ += length;
    return length;
  }

 private:
  const File& file_;
  std::uint64_t offset_ = 0;
};

class Applier {
 public:
  Applier(const Context& context, const object::ObjectReader& reader, object::ObjectWriter& writer,
          const ObjectId& root)
      : context_(context), reader_(reader), writer_(writer), editor_(reader, root) {}

  Result<ObjectId> run(const ChangeList& list) {
    for (std::size_t i = 0; i < list.ops.size(); ++i) {
      auto applied = std::visit([&](const auto& op) { return apply(op); }, list.ops[i]);
      if (applied) continue;
      Error error = std::move(applied).error();
      if (error.code == Code::internal || error.code == Code::damaged) return error;
      error.message = "the change list's op " + std::to_string(i) + " does not apply: " + error.message;
      if (error.hint.empty()) error.hint = "nothing was recorded; correct the list";
      return std::move(error).with("op", std::to_string(i));
    }
    return editor_.finish(writer_);
  }

 private:
  Result<void> apply(const ChangeList::Write& write) {
    WEFT_TRY(const auto present, editor_.find(write.path));
    if (present && present->kind == object::EntryKind::directory) {
      return make_error(Code::invalid, weft::quoted(write.path) + " is a directory", "delete it first");
    }
    object::TreeEntry entry;
    entry.kind = write.symlink ? object::EntryKind::symlink : object::EntryKind::file;
    const bool same_kind = present && present->kind == entry.kind;
    entry.node = same_kind ? present->node : context_.env.random.id<NodeId>();
    entry.mode = write.symlink ? 0777U : write.mode.value_or(same_kind ? present->mode : 0644U);
    WEFT_TRY(const auto blob, store(write.content));
    if (write.symlink && (blob.size == 0 || blob.size > kMaxSymlinkBytes)) {
      return make_error(Code::invalid, "a link's target has 1 to 4095 bytes");
    }
    entry.id = blob.id;
    entry.size = blob.size;
    return editor_.set_with_parents(write.path, std::move(entry),
                                    [&](ByteView) { return context_.env.random.id<NodeId>(); });
  }

  Result<void> apply(const ChangeList::Move& move) {
    WEFT_DO(make_parents(move.to));
    return editor_.move(move.from, move.to);
  }

  Result<void> apply(const ChangeList::Delete& remove) { return editor_.remove(remove.path); }

  Result<void> apply(const ChangeList::Mode& mode) {
    WEFT_TRY(auto present, editor_.find(mode.path));
    if (!present) return make_error(Code::not_found, "there is no " + weft::quoted(mode.path));
    if (present->kind != object::EntryKind::file) {
      return make_error(Code::invalid, weft::quoted(mode.path) + " is no file: its mode is fixed");
    }
    present->mode = mode.mode;
    return editor_.set(mode.path, *std::move(present));
  }

  Result<void> make_parents(std::string_view path) {
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      const std::string_view directory = path.substr(0, slash);
      WEFT_TRY(const auto present, editor_.find(directory));
      if (present) continue;  // what is no directory, move() refuses
      object::TreeEntry entry;
      entry.kind = object::EntryKind::directory;
      entry.mode = 0755;
      entry.node = context_.env.random.id<NodeId>();
      WEFT_TRY(entry.id, object::write_directory(writer_, {}));
      WEFT_DO(editor_.set(directory, std::move(entry)));
    }
    return {};
  }

  Result<object::ObjectWriter::StoredBlob> store(const std::variant<Bytes, ChangeList::HostFile, ObjectId>& content) {
    if (const auto* bytes = std::get_if<Bytes>(&content)) {
      object::ViewSource source(*bytes);
      return writer_.put_blob(source);
    }
    if (const auto* id = std::get_if<ObjectId>(&content)) {
      WEFT_TRY(const bool present, reader_.contains(object::ObjectKind::blob, *id));
      if (!present) return make_error(Code::not_found, "the store has no blob " + id->hex());
      WEFT_TRY(const std::uint64_t size, reader_.blob_size(*id));
      return object::ObjectWriter::StoredBlob{*id, size};
    }
    const std::string path = absolute_path(context_.directory, std::get<ChangeList::HostFile>(content).path);
    WEFT_TRY(const auto status, context_.env.fs.status(path));
    if (status.kind != FileKind::file) return make_error(Code::invalid, weft::quoted(path) + " is no regular file");
    WEFT_TRY(const auto file, context_.env.fs.open(path, OpenMode::read));
    FileSource source(*file);
    return writer_.put_blob(source);
  }

  const Context& context_;
  const object::ObjectReader& reader_;
  object::ObjectWriter& writer_;
  tree::TreeEditor editor_;
};

}  // namespace

Result<ChangeList> parse_change_list(ByteView json) {
  if (json.size() > kMaxChangeListBytes) {
    return not_a_list("it has more than " + std::to_string(kMaxChangeListBytes >> 20) +
                      " MiB; give large content as {\"file\": PATH}");
  }
  WEFT_TRY(const Json document, parse_json(json));
  if (!document.is_object()) return not_a_list("it is no JSON object");
  for (const auto& [key, value] : document.items()) {
    if (key != "weft" && key != "ops") return not_a_list("unknown key " + weft::quoted(key));
  }
  if (!document.contains("weft") || document["weft"] != 1) {
    return not_a_list("\"weft\" must be 1, the version of the format");
  }
  if (!document.contains("ops") || !document["ops"].is_array()) return not_a_list("it has no list \"ops\"");
  const Json& ops = document["ops"];
  if (ops.size() > kMaxChangeListOps) {
    return not_a_list("it has more than " + std::to_string(kMaxChangeListOps) + " ops");
  }
  ChangeList list;
  list.ops.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    WEFT_TRY(auto op, parse_op(i, ops[i]));
    list.ops.push_back(std::move(op));
  }
  return list;
}

Result<ObjectId> apply_change_list(const Context& context, const ChangeList& list, const object::ObjectReader& reader,
                                   object::ObjectWriter& writer, const ObjectId& root) {
  return Applier(context, reader, writer, root).run(list);
}

Result<ObjectId> apply_change_list(const Context& context, const ChangeList& list, store::Transaction& transaction,
                                   const ObjectId& root) {
  return apply_change_list(context, list, transaction.reader(), transaction, root);
}

}  // namespace weft::repo
