#include "git/helper/export_session.h"

#include <filesystem>
#include <optional>

#include "git/helper/new_refs.h"

namespace weft::git::helper {
namespace {

git_object_t type_of(wire::GitKind kind) {
  switch (kind) {
    case wire::GitKind::commit:
      return GIT_OBJECT_COMMIT;
    case wire::GitKind::tree:
      return GIT_OBJECT_TREE;
    case wire::GitKind::blob:
      return GIT_OBJECT_BLOB;
    case wire::GitKind::tag:
      return GIT_OBJECT_TAG;
  }
  return GIT_OBJECT_INVALID;
}

Error unexpected() { return make_error(Code::peer, "weft sent something this weft-git does not expect"); }

/// Whether a repository can be made there: nothing, or an empty directory.
bool is_free(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  return std::filesystem::is_directory(path, error) && std::filesystem::is_empty(path, error) && !error;
}

}  // namespace

Result<void> ExportSession::run(const std::string& path, Create create, const std::string& head) {
  WEFT_DO(channel_.send_hello());
  auto repository = Repository::open(path);
  if (repository) {
    WEFT_TRY(const auto tips, channel_.send_facts(*repository, wire::Presence::existing));
    (void)tips;
    return serve(*repository, Made::no);
  }
  if (repository.error().code != Code::not_found) return repository.error();
  if (!is_free(path)) {
    return make_error(Code::not_found, weft::quoted(path) + " is not a git repository, and not empty either",
                      "name a git repository, or a path where a new one can be made");
  }
  if (create == Create::no) {
    wire::Facts facts;
    facts.object_format = "sha1";
    facts.presence = wire::Presence::absent;
    WEFT_DO(channel_.send(facts));
    WEFT_DO(channel_.send(wire::RefsEnd{}));
    WEFT_DO(channel_.flush());
    WEFT_TRY(const wire::Message message, channel_.next());
    if (!std::holds_alternative<wire::End>(message)) return unexpected();
    WEFT_DO(channel_.send(wire::End{}));
    return channel_.flush();
  }
  WEFT_TRY(const Repository made, Repository::make(path, create == Create::work_tree, head));
  WEFT_TRY(const auto tips, channel_.send_facts(made, wire::Presence::created));
  (void)tips;
  return serve(made, create == Create::work_tree ? Made::work_tree : Made::bare);
}

Result<void> ExportSession::serve(const Repository& repository, Made made) {
  const bool made_work_tree = made == Made::work_tree;
  std::optional<NewRefs> fresh;
  if (made != Made::no) fresh.emplace(repository);
  WEFT_TRY(ObjectStorage storage, ObjectStorage::open(repository));
  const RefMover mover(repository);
  while (true) {
    WEFT_TRY(const wire::Message message, channel_.next());
    if (const auto* object = std::get_if<wire::Write>(&message)) {
      WEFT_DO(write(storage, *object));
    } else if (const auto* wanted = std::get_if<wire::Read>(&message)) {
      WEFT_DO(read(repository, *wanted));
    } else if (std::holds_alternative<wire::Keep>(message)) {
      WEFT_DO(storage.keep());
      WEFT_DO(channel_.send(wire::Kept{storage.objects(), storage.bytes()}));
      WEFT_DO(channel_.flush());
    } else if (const auto* ref = std::get_if<wire::Move>(&message)) {
      // A work tree made a moment ago is as good as weft's own.
      const std::string name(ref->name);
      const Sha1 target = ref->target;
      const bool waits = fresh && ref->expected.is_zero() && !target.is_zero() && !mover.is_head(name);
      MoveResult result;
      if (!waits) {
        WEFT_TRY(result, mover.move(name, ref->expected, target, ref->own_work_tree || made_work_tree));
      }
      if (fresh && result.status == wire::MoveStatus::done) result = fresh->add(name, target, !waits);
      WEFT_DO(answer(result));
    } else if (const auto* branch = std::get_if<wire::Attach>(&message)) {
      WEFT_TRY(const MoveResult result, mover.attach(std::string(branch->name)));
      WEFT_DO(answer(result));
    } else if (std::holds_alternative<wire::End>(message)) {
      if (fresh) WEFT_DO(fresh->write());
      if (made_work_tree) WEFT_DO(mover.check_out());
      WEFT_DO(channel_.send(wire::End{}));
      return channel_.flush();
    } else {
      return unexpected();
    }
  }
}

Result<void> ExportSession::write(ObjectStorage& storage, const wire::Write& message) {
  if (message.whole) return storage.write(type_of(message.kind), message.id, message.hint, message.bytes);
  std::uint64_t left = message.size;
  const auto next = [this, &left]() -> Result<ByteView> {
    WEFT_TRY(const wire::Message piece, channel_.next());
    const auto* data = std::get_if<wire::Data>(&piece);
    if (!data || data->bytes.empty() || data->bytes.size() > left) return unexpected();
    left -= data->bytes.size();
    return data->bytes;
  };
  return storage.write_blob(message.id, message.hint, message.size, next);
}

Result<void> ExportSession::read(const Repository& repository, const wire::Read& message) {
  auto object = repository.read(message.id, type_of(message.kind));
  if (object) {
    WEFT_DO(channel_.send(wire::Found{true, object->bytes()}));
  } else {
    if (object.error().code != Code::damaged) return object.error();
    WEFT_DO(channel_.send(wire::Found{}));
  }
  return channel_.flush();
}

Result<void> ExportSession::answer(const MoveResult& result) {
  WEFT_DO(channel_.send(wire::Moved{result.status, result.actual, result.text}));
  return channel_.flush();
}

}  // namespace weft::git::helper
