#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "base/private_control.h"
#include "store/history_index.h"
#include "store/history_writer.h"

namespace weft::store {
namespace {

constexpr std::uint64_t kMaxFormatBytes = 64u << 10;

std::string format_path(const std::string& directory) { return join_path(directory, "format"); }

Error lost_bytes(std::string_view message) {
  return damaged(std::string(message),
                 "what is whole can be read; run `weft verify`, then `weft repair --accept-loss` to write again");
}

enum class Access : std::uint8_t { write, read };

/// Fills a new control block from the files.
Result<void> initialise(Env& env, const std::string& directory, const Format& format, SharedControl& control,
                        Access access, std::vector<std::string>& notices) {
  if (env.fs.status(join_path(directory, kRepairingName))) {
    return damaged(fmt::format("a repair of {} was interrupted", directory), "run `weft repair` to finish it");
  }
  log::Segments segments(env, join_path(directory, "log"), format.segment_bytes);
  PackCache packs(env, join_path(directory, "packs"));
  WEFT_DO(control.ensure_allocated(kStoreStateOffset, sizeof(SharedStoreState)));
  auto& shared = *new (control.base() + kStoreStateOffset) SharedStoreState{};
  Index index(env, join_path(directory, "index"), control, segments, packs);
  WEFT_TRY(const RecoveredIndex recovered, index.recover(0));
  notices.insert(notices.end(), recovered.notices.begin(), recovered.notices.end());
  if (recovered.damage) {
    const std::size_t length = std::min(recovered.damage->size(), sizeof(shared.damage) - 1);
    std::copy_n(recovered.damage->data(), length, shared.damage);
  } else {
    if (recovered.end.position == 0) {
      return damaged(fmt::format("{} has no first transaction", segments.path_of(0)), "restore the file from a copy");
    }
    // Before anything is written or shown: a stale whole frame behind a torn one must not come back to life, and what
    // was accepted must be durable even if its own flush never came back.
    if (access == Access::write) WEFT_DO(segments.clear_behind(recovered.end.position));
  }
  return log::Log::initialise(control, kLogLayout, segments, recovered.end, recovered.client,
                              recovered.damage.has_value());
}

/// The store may not be written to by this process, there is no room, or others go by a block that does not fit any
/// more: reading needs none of that.
bool forbids_writing(const Error& error) {
  return error.code == Code::permission || error.code == Code::no_space || error.code == Code::busy;
}

}  // namespace

/// `unwritable`: why the block is to be one of this process's own, set here where that turns out. Such a one shows the
/// log as its files are now; what others append later it does not see, and it flushes nothing of what it accepts.
Result<std::unique_ptr<SharedControl>> open_store_control(Env& env, const std::string& directory, const Format& format,
                                                          const StoreHooks& hooks, std::vector<std::string>& notices,
                                                          std::optional<Error>& unwritable,
                                                          const std::function<Result<void>()>& before) {
  SharedControlOptions options;
  options.path = join_path(directory, "control");
  options.presence = format_path(directory);
  options.size = kControlBytes;
  options.layout = kControlLayout;
  Access access = Access::write;
  options.initialise = [&](SharedControl& control) -> Result<void> {
    if (before && access == Access::write) WEFT_DO(before());
    return initialise(env, directory, format, control, access, notices);
  };
  if (!unwritable) {
    if (hooks.open_control) return hooks.open_control(options);
    auto control = open_mapped_control(options);
    if (control || !forbids_writing(control.error())) return control;
    unwritable = std::move(control).error();
    if (unwritable->code == Code::no_space) {
      unwritable->hint = "free some room; until then the store can be read as it is";
    } else if (unwritable->code == Code::permission) {
      unwritable->hint = "the store can be read as it is; to record, make it writable: `weft doctor` says what it is";
    }
    notices.clear();
  }
  access = Access::read;
  return make_private_control(options);
}

std::optional<Error> unsafe_place(Env env, const std::string& directory, const StoreHooks& hooks) {
  const auto type = env.fs.type_of(directory);
  if (!type || sharing_of(*type) != Sharing::network) return std::nullopt;
  if (hooks.trusts_network && hooks.trusts_network(directory)) return std::nullopt;
  return make_error(Code::refused,
                    fmt::format("{} lies on a network file system ({}): other machines could write to it, and neither "
                                "locks nor shared memory would tell",
                                directory, type->name),
                    fmt::format("it can be read as it is; keep stores on a disk of this machine, or, if no other "
                                "machine ever uses this one: weft config set safe.network {}",
                                quoted(directory)))
      .with("path", directory)
      .with("file_system", type->name);
}

/// The snapshot given out last. Kept by the facade: what a snapshot holds holds no snapshot.
struct Store::Recent {
  std::mutex mutex;
  std::shared_ptr<Snapshot::State> snapshot;
};

Store::Store(std::shared_ptr<State> state) : state_(std::move(state)), recent_(std::make_unique<Recent>()) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

const std::string& Store::directory() const { return state_->directory; }
Env Store::env() const { return state_->env; }
const std::optional<Error>& Store::damage() const { return state_->damage; }
const std::vector<std::string>& Store::notices() const { return state_->notices; }

Result<Store> Store::create(Env env, const std::string& directory, const StoreOptions& options,
                            const StoreHooks& hooks) {
  Format format;
  format.segment_bytes = options.segment_bytes;
  WEFT_DO(decode_format(encode_format(format), "the new store's settings"));
  if (env.fs.status(format_path(directory))) {
    return make_error(Code::exists, fmt::format("{} is a weft store already", directory));
  }
  if (auto unsafe = unsafe_place(env, parent_path(directory), hooks)) {
    return std::move(*unsafe).hinted(
        "make it on a disk of this machine; `weft workspace add` can put a workspace's files elsewhere. If no other "
        "machine ever uses this directory: weft config set safe.network " +
        quoted(parent_path(directory)));
  }
  // A directory without `format` is what a killed creation leaves: gone on with.
  for (const std::string& path : {directory, join_path(directory, "log"), join_path(directory, "packs"),
                                  join_path(directory, "index"), join_path(directory, "workspaces")}) {
    if (auto made = env.fs.make_directory(path); !made && made.error().code != Code::exists)
      return std::move(made).error();
  }
  log::Segments segments(env, join_path(directory, "log"), format.segment_bytes);
  const StoreIds ids{env.random.id<StoreId>(), env.random.id<ReplicaId>()};
  WEFT_DO(log::Log::create(env, segments, encode_store_payload(ids)));
  WEFT_DO(env.fs.sync_directory(directory));
  // Last: from here on it is a store.
  WEFT_DO(write_file_durably(env.fs, format_path(directory), encode_format(format)));
  WEFT_DO(env.fs.sync_directory(parent_path(directory)));
  return open(env, directory, hooks);
}

Result<Store> Store::open(Env env, const std::string& directory, const StoreHooks& hooks) {
  auto bytes = read_file(env.fs, format_path(directory), kMaxFormatBytes);
  if (!bytes) {
    if (bytes.error().code == Code::not_found) {
      return make_error(Code::not_found, fmt::format("{} is no weft store", directory), "run `weft init` to make one");
    }
    return std::move(bytes).error();
  }
  WEFT_TRY(const Format format, decode_format(*bytes, format_path(directory)));
  std::vector<std::string> notices;
  std::optional<Error> unwritable = hooks.only_look ? hooks.only_look : unsafe_place(env, directory, hooks);
  WEFT_TRY(auto control, open_store_control(env, directory, format, hooks, notices, unwritable));
  auto state = std::make_shared<State>(env, directory, format, std::move(control), hooks);
  state->notices = std::move(notices);
  state->unwritable = std::move(unwritable);

  // What was durable must still be there: files may have been cut while the control block lived on.
  const std::uint64_t durable = state->log.durable().position;
  if (!state->log.damaged() && durable > 0) {
    WEFT_TRY(const std::uint64_t size, state->segments.file_size(durable - 1));
    const std::uint64_t segment = state->segments.segment_start(durable - 1);
    // The padding behind the last frame may be missing at a segment's end that was left early.
    const bool left_early = durable % format.segment_bytes == 0;
    if (left_early ? size == 0 : segment + size < durable) {
      WEFT_DO(state->log.declare_damaged([&]() -> Result<std::pair<log::LogPoint, log::ClientWords>> {
        WEFT_TRY(const RecoveredIndex recovered, state->index.recover(durable));
        const std::string message = recovered.damage.value_or("the log was cut while the store was in use");
        SharedStoreState& shared = state->shared();
        const std::size_t length = std::min(message.size(), sizeof(shared.damage) - 1);
        std::copy_n(message.data(), length, shared.damage);
        return std::pair{recovered.end, recovered.client};
      }));
    }
  }
  if (state->log.damaged()) {
    const SharedStoreState& shared = state->shared();
    state->damage = lost_bytes(std::string_view(shared.damage, strnlen(shared.damage, sizeof(shared.damage))));
  }
  return Store(std::move(state));
}

Result<Snapshot> Store::State::view(const std::shared_ptr<State>& store) {
  auto snapshot = std::make_shared<Snapshot::State>();
  snapshot->store = store;
  snapshot->durable = store->log.durable();
  return Snapshot(std::move(snapshot));
}
Snapshot::State& Store::State::of(const Snapshot& snapshot) { return *snapshot.state_; }

Result<Snapshot> Store::snapshot() const {
  const log::DurableState durable = state_->log.durable();
  const std::unique_lock<std::mutex> guard(recent_->mutex, std::try_to_lock);
  if (guard.owns_lock() && recent_->snapshot) {
    // Position and chain together name one state of the log, also where it lost something and went on. A snapshot whose
    // view is no longer current serves as well, only slower.
    const auto& known = *recent_->snapshot;
    const View* const view = known.pin.get();
    if (known.durable.position == durable.position && known.durable.chain == durable.chain &&
        (view == nullptr || state_->index.is_current(*view))) {
      return Snapshot(recent_->snapshot);
    }
  }
  auto snapshot = std::make_shared<Snapshot::State>();
  snapshot->store = state_;
  snapshot->durable = durable;
  state_->index.pin_current(snapshot->pin);
  if (guard.owns_lock()) recent_->snapshot = snapshot;
  return Snapshot(std::move(snapshot));
}

std::uint64_t Store::objects_read() const { return state_->objects_read.load(std::memory_order_relaxed); }

Result<std::uint64_t> Store::changes_behind_history() const {
  WEFT_TRY(const auto index, HistoryIndex::open(state_->env.fs, state_->index.directory(),
                                                [&] { return state_->log.durable().position; }));
  const std::uint64_t changes = state_->log.durable().client[kChanges];
  return changes - std::min(changes, index.manifest().changes);
}

Result<std::uint64_t> Store::extend_history(const std::function<void(std::uint64_t)>& progress) const {
  return store::extend_history(state_, {.wait = true, .progress = progress});
}

Result<StoreIds> Store::State::ids() {
  return index.at<StoreIds>(
      0,
      [&]() -> Result<StoreIds> {
        std::shared_ptr<Mapping> keep;
        WEFT_TRY(const ByteView first, segments.view_rest(0, keep));
        const auto frame = log::parse_frame(first, 0);
        if (!frame) return damaged(fmt::format("{} has no first transaction", segments.path_of(0)));
        return decode_store_payload(frame->payload);
      },
      [](const KeptFile& kept) -> Result<StoreIds> { return kept.facts().ids; });
}

Result<StoreInfo> Store::info() const {
  StoreInfo info;
  WEFT_TRY(const StoreIds ids, state_->ids());
  const log::DurableState durable = state_->log.durable();
  info.store = ids.store;
  info.replica = ids.replica;
  info.format = state_->format.version;
  info.segment_bytes = state_->format.segment_bytes;
  info.log_end = durable.position;
  info.objects = durable.client[kObjects];
  info.changes = durable.client[kChanges];
  FileSystem& fs = state_->env.fs;
  const auto sizes = [&](const std::string& directory, std::uint64_t& files, std::uint64_t& bytes) -> Result<void> {
    WEFT_TRY(const auto entries, fs.list(directory));
    for (const auto& entry : entries) {
      const auto status = fs.status(join_path(directory, entry.name));
      if (!status) continue;  // gone since
      ++files;
      bytes += status->size;
    }
    return {};
  };
  std::uint64_t index_files = 0;
  WEFT_DO(sizes(join_path(state_->directory, "log"), info.log_files, info.log_bytes));
  WEFT_DO(sizes(join_path(state_->directory, "packs"), info.packs, info.pack_bytes));
  WEFT_DO(sizes(join_path(state_->directory, "index"), index_files, info.index_bytes));
  WEFT_TRY(const Snapshot now, snapshot());
  WEFT_TRY(const auto refs, now.refs());
  info.refs = refs.size();
  const log::LogCounters counters = state_->log.counters();
  info.transactions = counters.transactions;
  info.batches = counters.batches;
  info.flushes = counters.flushes;
  info.log_writes = counters.writes;
  info.bytes_written = counters.bytes_written;
  info.zero_bytes = counters.zero_bytes;
  return info;
}

}  // namespace weft::store
