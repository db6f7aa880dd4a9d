#include "repo/doctor_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/machine.h"
#include "object/pack.h"
#include "repo/files.h"
#include "repo/workspace.h"

namespace weft::repo {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// So much log, and no pack that holds most of it: `gc` makes it smaller.
constexpr std::uint64_t kLargeLog = 256u << 20;
/// Entries of the log that the index does not hold: what a next open reads.
constexpr std::uint64_t kFarBehind = 100'000;
/// No disk that waits for its medium answers sooner; no disk worth using later.
constexpr std::int64_t kQuickFlushNs = 15'000, kSlowFlushNs = 20'000'000;
constexpr int kProbes = 5;
/// Leftovers and files in the way are counted; so many are named.
constexpr std::size_t kNamed = 3;
constexpr std::size_t kNewestOperations = 200;

std::string size_words(std::uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} bytes", bytes);
  if (bytes < (10u << 20)) return fmt::format("{} KiB", bytes >> 10);
  if (bytes < (std::uint64_t{10} << 30)) return fmt::format("{} MiB", bytes >> 20);
  return fmt::format("{} GiB", bytes >> 30);
}

std::string time_words(std::int64_t ns) {
  if (ns < 10'000'000) return fmt::format("{} us", ns / 1000);
  return fmt::format("{} ms", ns / 1'000'000);
}

std::string number_words(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// "a, b, c and 4 more".
std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) out += (i == 0 ? "" : ", ") + quoted(names[i]);
  if (names.size() > kNamed) out += fmt::format(" and {} more", names.size() - kNamed);
  return out;
}

struct StoreFile {
  std::string path;  ///< below the store
  FileStatus status;
};

/// The files of the store itself: what is in it and in its directories, links not followed into other places.
std::vector<StoreFile> files_of(FileSystem& fs, const std::string& directory) {
  std::vector<StoreFile> out;
  for (const char* const part : {"", "log", "packs", "index", "workspaces"}) {
    const auto entries = fs.list(join_path(directory, part));
    if (!entries) continue;
    for (const auto& entry : *entries) {
      const std::string path = *part == '\0' ? entry.name : join_path(part, entry.name);
      const auto status = fs.status(join_path(directory, path));
      if (status) out.push_back({path, *status});
    }
  }
  return out;
}

void judge_owner(const Context& context, const std::string& directory, const FileStatus& status, Diagnosis& diagnosis) {
  constexpr std::uint32_t kSticky = 01000, kSetgid = 02000, kGroupWrites = 0020, kOthersWrite = 0002;
  const bool own = status.uid == context.uid;
  const bool shared = (status.mode & (kSetgid | kGroupWrites)) == (kSetgid | kGroupWrites);
  if ((status.mode & kOthersWrite) != 0 && (status.mode & kSticky) == 0) {
    diagnosis
        .add(Area::store, Severity::warning, "owner", "every user of this machine may change the store",
             "chmod o-w " + quoted(directory))
        .details.emplace_back("mode", fmt::format("{:04o}", status.mode));
  } else if ((status.mode & kGroupWrites) != 0 && !shared) {
    diagnosis.add(Area::store, Severity::warning, "owner",
                  fmt::format("group {} may write to the store's directory, but not to what is made in it", status.gid),
                  "to share it: chgrp -R GROUP, chmod -R g+rwX, and g+s for its directories; else chmod g-w " +
                      quoted(directory));
  } else {
    diagnosis.add(Area::store, Severity::ok, "owner",
                  (own ? std::string("it is yours") : fmt::format("it belongs to user {}", status.uid)) +
                      (shared ? fmt::format(", shared with group {}", status.gid) : std::string()));
  }
  if (context.uid == 0 && !own) {
    diagnosis.add(
        Area::store, Severity::note, "root",
        fmt::format("you are root in the store of user {}; what is made here is given to that user", status.uid));
  }
}

void judge_permissions(const Context& context, const std::string& directory, const FileStatus& store,
                       const std::vector<StoreFile>& files, bool mount_read_only, Diagnosis& diagnosis) {
  std::vector<std::string> unreadable, unwritable, foreign;
  const auto take = [&](const std::string& path, const FileStatus& status) {
    const std::string whole = join_path(directory, path);
    if (!may_read(whole)) {
      unreadable.push_back(path);
    } else if (!mount_read_only && !may_write(whole)) {
      unwritable.push_back(path);
    }
    // The owner cannot write what somebody else made, unless group and mode let them.
    if (status.uid != store.uid && (status.mode & 0022) == 0) foreign.push_back(path);
  };
  take("", store);
  for (const auto& file : files) take(file.path, file.status);
  if (!unreadable.empty()) {
    diagnosis.add(Area::store, Severity::problem, "permissions",
                  "you may not read " + listed(unreadable) + ": what is in there cannot be shown",
                  "as the store's owner: chmod -R u+rwX " + quoted(directory));
  }
  if (mount_read_only) return;  // told by the file system's finding
  if (!unwritable.empty()) {
    const bool all = unwritable.size() == files.size() + 1;
    diagnosis.add(Area::store, all && store.uid != context.uid ? Severity::note : Severity::warning, "permissions",
                  all ? "you may read this store, not write to it"
                      : "you may not write to " + listed(unwritable) + ": commits are refused",
                  "as the store's owner: chmod -R u+rwX " + quoted(directory));
  }
  if (!foreign.empty()) {
    diagnosis.add(Area::store, Severity::warning, "permissions",
                  fmt::format("{} not of the store's owner (user {}), who cannot write to {}: {}",
                              number_words(foreign.size(), "file is", "files are"), store.uid,
                              foreign.size() == 1 ? "it" : "them", listed(foreign)),
                  fmt::format("chown -R {} {}", store.uid, quoted(directory)));
  }
  if (unreadable.empty() && unwritable.empty() && foreign.empty()) {
    diagnosis.add(Area::store, Severity::ok, "permissions",
                  fmt::format("all {} may be read and written", number_words(files.size(), "file", "files")));
  }
}

void judge_file_system(const Context& context, const std::string& directory, const FileSystemType& type,
                       Diagnosis& diagnosis) {
  Severity severity = Severity::ok;
  std::string message = "it lies on " + type.name;
  std::string advice;
  switch (sharing_of(type)) {
    case Sharing::network: {
      const bool trusted = store_hooks(context).trusts_network(directory);
      severity = trusted ? Severity::note : Severity::problem;
      message += trusted ? ", a network file system that you said no other machine uses (`safe.network`)"
                         : ", a network file system: it is only read, for other machines could write to it unseen";
      if (!trusted) {
        advice =
            "move it to a disk of this machine; or, if no other machine ever uses it: weft config set "
            "safe.network " +
            quoted(directory);
      }
      break;
    }
    case Sharing::unknown:
      if (type.magic == 0) return;
      severity = Severity::note;
      message += ", a file system weft does not know; it is taken for a local one";
      advice = "if other machines can write to it, do not record from two of them";
      break;
    case Sharing::local:
      if (is_volatile(type)) {
        severity = Severity::note;
        message += ", in memory: it is gone when the machine ends";
      }
      break;
  }
  if (type.read_only) {
    severity = std::max(severity, Severity::warning);
    message += "; mounted read-only: it can be read as it is, and nothing recorded";
    if (advice.empty()) advice = "to record, mount it writable";
  }
  diagnosis.add(Area::store, severity, "file-system", message, advice).details.emplace_back("type", type.name);
}

void judge_room(FileSystem& fs, const std::string& directory, Diagnosis& diagnosis) {
  if (const auto room = fs.free_bytes(directory)) {
    const bool none = *room < kNoRoom, little = *room < kLittleRoom;
    diagnosis
        .add(Area::store,
             none     ? Severity::problem
             : little ? Severity::warning
                      : Severity::ok,
             "free-space",
             size_words(*room) + " free" + (little ? ": commits that do not fit are refused, and nothing is lost" : ""),
             little ? "free some space there" : "")
        .details.emplace_back("bytes", std::to_string(*room));
  }
  constexpr std::uint64_t kFewInodes = 1000;
  if (const auto inodes = free_inodes(directory); inodes && *inodes < kFewInodes) {
    diagnosis.add(Area::store, Severity::warning, "free-inodes",
                  fmt::format("room for {} more: \"no space left\" may come with bytes to spare",
                              number_words(*inodes, "file", "files")),
                  "remove some files on that file system");
  }
}

/// The middle of a few flushes of one block; nothing where the store cannot be written to.
std::optional<std::int64_t> probe_flush(Env& env, const std::string& directory) {
  std::array<char, 4> salt{};
  env.random.fill(salt);
  // Named as what killed commands leave, so that one of ours goes the same way.
  const std::string path = join_path(directory, "doctor.tmp-" + to_hex(ByteView(salt.data(), salt.size())));
  std::vector<std::int64_t> times;
  if (auto file = env.fs.open(path, OpenMode::create_new)) {
    const Bytes block(4096, 'x');
    for (int i = 0; i <= kProbes; ++i) {
      if (!(*file)->write_at(0, block)) break;
      const std::int64_t before = env.clock.monotonic_ns();
      if (!(*file)->sync()) break;
      if (i > 0) times.push_back(env.clock.monotonic_ns() - before);  // the first also makes room
    }
    file->reset();
    (void)env.fs.unlink(path).has_value();
  }
  if (times.empty()) return std::nullopt;
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void judge_flushes(const Context& context, const std::string& directory, const FileSystemType& type, bool writable,
                   bool probe, const std::optional<store::ControlReport>& control, Diagnosis& diagnosis) {
  std::optional<std::int64_t> took;
  bool measured_now = false;
  if (control && control->state == store::ControlState::current && control->flush_average_ns > 0) {
    took = control->flush_average_ns;
  } else if (probe && writable) {
    took = probe_flush(context.env, directory);
    measured_now = true;
  }
  if (!took || *took <= 0) return;
  const std::string what = measured_now ? "a flush takes " : "commits' flushes take ";
  Severity severity = Severity::ok;
  std::string message = what + time_words(*took), advice;
  if (*took < kQuickFlushNs && !is_volatile(type)) {
    severity = Severity::note;
    message +=
        ": too soon for a disk; something below (a virtual machine, a cache) may answer before bytes are durable";
    advice = "what is durable after power loss is then that layer's promise, not weft's";
  } else if (*took > kSlowFlushNs) {
    severity = Severity::note;
    message += ": each commit by itself waits that long; many at once share a flush";
  }
  diagnosis.add(Area::store, severity, "flush-time", message, advice).details.emplace_back("ns", std::to_string(*took));
}

void judge_leftovers(const Context& context, const std::vector<StoreFile>& files, Diagnosis& diagnosis) {
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  std::int64_t newest = 0;
  for (const auto& file : files) {
    const std::string name = base_name(file.path);
    const bool pack = file.path.starts_with("packs/") && name.starts_with(object::kPackTemporaryPrefix);
    if (!pack && !is_durable_temporary(name) && file.path != "control.new") continue;
    names.push_back(file.path);
    bytes += file.status.size;
    newest = std::max(newest, file.status.mtime_ns);
  }
  if (names.empty()) return;
  const bool at_work = context.env.clock.now_ns() - newest < 3600 * kNsPerSecond;
  diagnosis.add(Area::store, Severity::note, "leftovers",
                fmt::format("{} of {} unfinished: {}{}", size_words(bytes), number_words(names.size(), "file", "files"),
                            listed(names), at_work ? "; commands at work write such files, too" : ""),
                "commands that write there remove what nobody has touched for a day");
}

void judge_contents(const Context& context, const store::Store& store, Diagnosis& diagnosis) {
  const auto info = store.info();
  if (!info) {
    diagnosis.add(Area::store, Severity::problem, "store-open", info.error().message, info.error().hint);
    return;
  }
  diagnosis
      .add(Area::store, Severity::ok, "format",
           fmt::format("format {}, segments of {}", info->format, size_words(info->segment_bytes)))
      .details = {{"store", info->store.hex()}, {"replica", info->replica.hex()}};
  const bool large = info->log_bytes >= kLargeLog && info->pack_bytes < info->log_bytes;
  diagnosis.add(
      Area::store, large ? Severity::note : Severity::ok, "size",
      fmt::format("{} in {}, {}: log {}, packs {}, index {}", number_words(info->changes, "change", "changes"),
                  number_words(info->objects, "object", "objects"), number_words(info->refs, "ref", "refs"),
                  size_words(info->log_bytes), size_words(info->pack_bytes), size_words(info->index_bytes)),
      large ? "`weft gc` moves what is old into packs, which take less room" : "");
  if (const auto behind = store.changes_behind_history()) {
    const bool far = *behind >= kFarBehind;
    diagnosis.add(Area::store, far ? Severity::note : Severity::ok, "history-index",
                  *behind == 0 ? "the history index is up to date"
                               : fmt::format("{} not in the history index yet",
                                             number_words(*behind, "change is", "changes are")),
                  far ? "the next commit goes on with it; `weft repair` does it at once" : "");
  }
  const auto snapshot = store.snapshot();
  if (!snapshot) return;
  std::size_t seen = 0;
  std::int64_t newest = 0;
  std::string label;
  const auto looked = snapshot->operations([&](const store::Operation& operation) {
    if (operation.time_ns > newest) {
      newest = operation.time_ns;
      label = operation.label;
    }
    return ++seen < kNewestOperations;
  });
  const std::int64_t ahead = newest - context.env.clock.now_ns();
  if (looked && ahead > kClockSlackNs) {
    diagnosis.add(
        Area::machine, Severity::warning, "future",
        fmt::format("an operation (\"{}\") is dated {} hours after now: this clock is slow, or the one it was "
                    "made by was fast",
                    label, (ahead + 3600 * kNsPerSecond - 1) / (3600 * kNsPerSecond)),
        "set the clock; history is ordered without clocks and is not affected");
  }
}

void judge_workspaces(const Repository& repository, Diagnosis& diagnosis) {
  const auto snapshot = repository.store().snapshot();
  if (!snapshot) return;
  const auto all = list_workspaces(repository, *snapshot);
  if (!all) {
    diagnosis.add(Area::workspace, Severity::problem, "workspace-here", all.error().message, all.error().hint);
    return;
  }
  FileSystem& fs = repository.context().env.fs;
  const auto& location = repository.location();
  bool known = false;
  for (const auto& each : *all) {
    if (location && each.name == location->name) {
      known = true;
      diagnosis.add(Area::workspace, Severity::ok, "workspace-here",
                    fmt::format("this is {} at {}{}", quoted(each.name), quoted(location->root),
                                each.record.follow.empty() ? std::string() : ", following " + each.record.follow));
    }
    if (!each.record.path.empty() && !each.present) {
      diagnosis
          .add(Area::workspace, Severity::warning, "workspace-gone",
               fmt::format("workspace {}: its directory {} is gone", quoted(each.name), quoted(each.record.path)),
               "weft workspace rm " + each.name + " forgets it, and keeps what was not landed")
          .details.emplace_back("workspace", each.name);
      continue;
    }
    const auto record = read_files_record(fs, repository.files_path(each.name));
    const bool at_work = fs.status(repository.writing_path(each.name)).has_value();
    if (record && record->towards) {
      diagnosis
          .add(Area::workspace, Severity::warning, "workspace-behind",
               fmt::format("workspace {}: bringing its files to another version began and did not end{}",
                           quoted(each.name), at_work ? " (yet, perhaps)" : ""),
               "weft switch @ there goes on with it")
          .details.emplace_back("workspace", each.name);
    } else if (each.files_at) {
      diagnosis
          .add(Area::workspace, Severity::note, "workspace-behind",
               fmt::format("workspace {}: its head was moved from elsewhere, its files were not", quoted(each.name)),
               "weft switch @ there brings them along")
          .details.emplace_back("workspace", each.name);
    }
  }
  if (location && !known) {
    diagnosis.add(Area::workspace, Severity::problem, "workspace-here",
                  fmt::format("this directory says it is workspace {}, but the store has none of that name",
                              quoted(location->name)),
                  "`weft op log` shows who removed it, `weft undo OPERATION` brings it back; its files are untouched");
  }
}

}  // namespace

void judge_control(const store::ControlReport& report, Diagnosis& diagnosis) {
  using store::ControlState;
  switch (report.state) {
    case ControlState::absent:
      diagnosis.add(Area::store, Severity::ok, "control", "nobody has used it since it was made or moved here");
      break;
    case ControlState::current:
      diagnosis.add(Area::store, Severity::ok, "control",
                    report.users.empty() ? std::string("shared memory is in order, nobody records at this moment")
                                         : "shared memory is in order");
      break;
    case ControlState::other_boot:
      diagnosis.add(Area::store, Severity::ok, "control",
                    "shared memory is of before the machine was started; the next command makes it anew");
      break;
    case ControlState::copied:
      diagnosis.add(Area::store, Severity::note, "control",
                    "this store is a copy of another one: it has the same ids, and the next command makes its shared "
                    "memory anew",
                    "copies that both go on are two replicas with one id: do not bring their changes together");
      break;
    case ControlState::other_form:
      diagnosis.add(Area::store, report.users.empty() ? Severity::note : Severity::warning, "control",
                    "shared memory is of another version of weft, or not whole; the next command makes it anew",
                    report.users.empty() ? "" : "processes of that version have to end first");
      break;
  }
  for (const auto& user : report.users) {
    const auto process = look_at_process(user.process);
    std::string who = process ? fmt::format("process {} ({})", user.process, process->name)
                              : fmt::format("process {} (not of this container)", user.process);
    std::string holds;
    for (const auto& lock : user.locks) holds += (holds.empty() ? " holds the lock `" : "`, `") + lock;
    if (!holds.empty()) holds += "`";
    if (!user.alive) {
      diagnosis.add(Area::store, Severity::note, "processes",
                    fmt::format("process {} died{}", user.process, holds.empty() ? "" : " and left a lock") +
                        ": the next command takes it over");
      continue;
    }
    const bool stopped = process && process->stopped();
    const bool blocks = stopped && !user.locks.empty();
    auto& finding = diagnosis.add(Area::store,
                                  blocks    ? Severity::problem
                                  : stopped ? Severity::warning
                                            : Severity::ok,
                                  "processes",
                                  who + (holds.empty() ? " has it open" : holds) + (stopped ? ", and is stopped" : "") +
                                      (blocks ? ": all that record wait for it" : ""),
                                  stopped ? fmt::format("kill -CONT {} lets it go on", user.process) : std::string());
    finding.details.emplace_back("process", std::to_string(user.process));
  }
  constexpr std::size_t kFewSlots = 64;
  if (report.slots > 0 && report.free_slots < kFewSlots) {
    diagnosis.add(Area::store, Severity::warning, "processes",
                  fmt::format("{} of {} places for processes are taken: who finds none has to wait",
                              report.slots - report.free_slots, report.slots),
                  "end some of them");
  }
  if (report.failed_errno != 0) {
    const char* const why = ::strerrordesc_np(report.failed_errno);
    diagnosis.add(Area::store, Severity::warning, "failed-write",
                  fmt::format("the last write of a commit failed ({}); nobody has recorded since",
                              why != nullptr ? why : "unknown"),
                  "the next commit recovers by itself; if it fails as well, look at the disk");
  }
}

void judge_store(const Context& context, bool probe, Diagnosis& diagnosis) {
  FileSystem& fs = context.env.fs;
  const auto place = Repository::find_store(context);
  if (!place) {
    const Error& error = place.error();
    if (error.code == Code::not_found && error.message.starts_with("no weft store")) {
      diagnosis.add(Area::store, Severity::note, "no-store", error.message, error.hint);
      return;
    }
    diagnosis.add(Area::store, Severity::problem, "store-open", error.message, error.hint);
    return;
  }
  const std::string& directory = diagnosis.store = *place;
  const auto status = fs.status(directory);
  if (!status) {
    diagnosis.add(Area::store, Severity::problem, "store-open", status.error().message, status.error().hint);
    return;
  }
  const FileSystemType type = fs.type_of(directory).value_or({});
  const auto files = files_of(fs, directory);
  judge_owner(context, directory, *status, diagnosis);
  judge_permissions(context, directory, *status, files, type.read_only, diagnosis);
  judge_file_system(context, directory, type, diagnosis);
  judge_room(fs, directory, diagnosis);

  std::optional<store::ControlReport> control;
  if (auto looked = store::look_at_control(directory)) {
    control = *std::move(looked);
    judge_control(*control, diagnosis);
    diagnosis.damaged = control->damaged;
  } else if (looked.error().code != Code::permission) {  // told with the permissions
    diagnosis.add(Area::store, Severity::warning, "control", looked.error().message, looked.error().hint);
  }
  judge_flushes(context, directory, type, !type.read_only && may_write(directory), probe, control, diagnosis);
  judge_leftovers(context, files, diagnosis);

  const auto repository = Repository::open_to_look(context);
  if (!repository) {
    const Error& error = repository.error();
    diagnosis.damaged = diagnosis.damaged || error.code == Code::damaged;
    diagnosis.add(Area::store, Severity::problem, error.code == Code::damaged ? "damage" : "store-open", error.message,
                  error.hint);
    return;
  }
  if (const auto& damage = repository->store().damage()) {
    diagnosis.damaged = true;
    diagnosis.add(Area::store, Severity::problem, "damage", damage->message, damage->hint);
  } else {
    diagnosis.add(Area::store, Severity::ok, "damage", "no damage is known; `weft verify --deep` looks at every byte");
  }
  for (const auto& notice : repository->store().notices()) {
    diagnosis.add(Area::store, Severity::note, "store-open", notice);
  }
  judge_contents(context, repository->store(), diagnosis);
  judge_workspaces(*repository, diagnosis);
}

}  // namespace weft::repo
