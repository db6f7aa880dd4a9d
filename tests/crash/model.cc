#include "model.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/hash.h"
#include "store_world.h"

namespace weft::store {
namespace {

constexpr std::size_t kProcesses = 3;
constexpr std::size_t kOldSnapshots = 2;
constexpr const char* kRefs[] = {"main", "workspaces/a", "workspaces/b", "tags/x"};

enum class Kind : std::uint8_t {
  commit,
  prepare,  ///< begins a transaction, which the process's next command ends
  reopen,
  keep_snapshot,
  many_objects,
  kill,
  fail,
  lose_block,  ///< all processes die, the control block is lost, the machine runs on
  lose_power,
  lose_power_twice,  ///< again while recovering
  repair,
  verify,
  count_
};
/// How often each is met: what shrinking goes towards comes first.
constexpr Kind kKinds[] = {Kind::commit,        Kind::commit,     Kind::commit,     Kind::commit,
                           Kind::commit,        Kind::prepare,    Kind::prepare,    Kind::reopen,
                           Kind::keep_snapshot, Kind::kill,       Kind::kill,       Kind::fail,
                           Kind::fail,          Kind::lose_block, Kind::lose_power, Kind::lose_power_twice,
                           Kind::many_objects,  Kind::repair,     Kind::verify};
Kind kind_of(const ModelCommand& command) { return kKinds[command.kind % std::size(kKinds)]; }

/// The simple thing.
struct Model {
  struct Move {
    std::string ref;
    std::optional<RefValue> before, after;
    bool operator==(const Move&) const = default;
  };
  struct Done {
    std::string label;
    std::vector<Move> moves;
    bool operator==(const Done&) const = default;
  };
  std::map<std::string, RefValue> refs;
  std::vector<Done> operations;             // oldest first
  std::map<ChangeId, std::string> changes;  // with their messages
  std::map<DeltaId, std::set<ChangeId>> deltas;
  std::map<GitId, ChangeId> commits;

  std::optional<RefValue> ref(const std::string& name) const {
    const auto found = refs.find(name);
    return found == refs.end() ? std::nullopt : std::optional(found->second);
  }
};

/// A transaction as it was meant.
struct Plan {
  std::string label;
  std::vector<Bytes> blobs;
  bool operation = true;
  bool late = false;  // moves refs.front() to a change on top of what it holds then
  std::vector<RefEdit> edits;
  object::Change change;
  DeltaId delta;
  std::optional<GitId> git;
  // Known once it was tried.
  ChangeId id;
};

bool holds(const std::optional<RefValue>& value, const RefEdit& edit) {
  switch (edit.expect) {
    case RefEdit::Expect::anything:
      return true;
    case RefEdit::Expect::absent:
      return !value;
    case RefEdit::Expect::exactly:
      return value && value->version == edit.expected;
  }
  return false;
}

std::string show(const std::optional<RefValue>& value) {
  return value ? value->version.text().substr(0, 8) + "+" + std::to_string(value->extra.size()) : "absent";
}

class Run {
 public:
  Run(ModelCounts& counts, const ModelOptions& options)
      : counts_(counts), options_(options), fs_(std::make_unique<SimFileSystem>(1)), random_(1) {
    clock_.set_tick(1000);
    new_machine();
  }

  std::string operator()(const std::vector<ModelCommand>& commands) {
    StoreProcess maker(*block_, *disk_, clock_, random_, 99);
    if (auto made = maker.create({.segment_bytes = 1u << 20}); !made) return "create: " + made.error().message;
    maker.close();
    disk_->sabotage = options_.disk;
    for (const auto& command : commands) {
      ++counts_.commands;
      step(command);
      if (wrong_.empty()) agree(describe(command));
      if (!wrong_.empty()) return describe(command) + ": " + wrong_;
    }
    lose_power(1, false);
    return wrong_.empty() ? "" : "at the end: " + wrong_;
  }

 private:
  struct Process {
    std::unique_ptr<StoreProcess> process;
    std::optional<Transaction> transaction;
    Plan plan;
    /// A failed flush is met by every handle that was open then, at its own next one.
    bool may_fail = false;
  };
  struct Old {
    std::size_t process;
    Snapshot snapshot;
    Model model;
  };

  void wrong(std::string text) {
    if (wrong_.empty()) wrong_ = std::move(text);
  }

  /// All processes die and the control block is lost; with another disk, if there is one.
  void new_machine(std::unique_ptr<SimFileSystem> other = nullptr) {
    for (std::size_t i = 0; i < kProcesses; ++i) close(i);
    if (other) fs_ = std::move(other);
    block_ = std::make_unique<HeapBlock>(clock_);
    disk_ = std::make_unique<SabotagedFileSystem>(fs_.get(), options_.disk);
  }

  Process* opened(std::size_t number) {
    Process& process = processes_[number % kProcesses];
    if (process.process) return &process;
    auto made = std::make_unique<StoreProcess>(*block_, *disk_, clock_, random_,
                                               static_cast<std::uint32_t>(number % kProcesses + 1));
    if (auto done = made->open(); !done) {
      wrong("open: " + done.error().message);
      return nullptr;
    }
    if (made->store().damage()) {
      wrong("reported as damaged: " + made->store().damage()->message);
      return nullptr;
    }
    process.process = std::move(made);
    return &process;
  }

  void close(std::size_t number) {
    std::erase_if(old_, [&](const Old& old) { return old.process == number; });
    processes_[number].transaction.reset();
    processes_[number].process.reset();
    processes_[number].may_fail = false;
  }

  void step(const ModelCommand& command) {
    const std::size_t who = command.who % kProcesses;
    FakeRandom chance(command.what + 1);
    switch (kind_of(command)) {
      case Kind::commit:
        if (Process* process = prepared(who, chance)) finish(*process);
        break;
      case Kind::prepare:
        prepared(who, chance);
        break;
      case Kind::reopen:
        close(who);
        opened(who);
        break;
      case Kind::keep_snapshot:
        keep(who);
        break;
      case Kind::many_objects:
        ++counts_.merges;
        for (int i = 0; i < 2 && wrong_.empty(); ++i) {
          if (Process* process = prepared(who, chance, 2100)) finish(*process);
        }
        break;
      case Kind::kill:
        kill(who, chance);
        break;
      case Kind::fail:
        fail(who, chance);
        break;
      case Kind::lose_block:
        if (!maybe_.empty()) break;  // MO4
        new_machine();
        settle(who, "after losing the control block: ");
        break;
      case Kind::lose_power:
        lose_power(chance.next(), false);
        break;
      case Kind::lose_power_twice:
        lose_power(chance.next(), true);
        break;
      case Kind::repair: {
        if (!maybe_.empty()) break;  // MO4
        for (std::size_t i = 0; i < kProcesses; ++i) close(i);
        StoreProcess process(*block_, *disk_, clock_, random_, 98);
        if (auto done = Store::repair(process.env(), kStoreDirectory, {}, process.hooks()); !done)
          wrong("repair: " + done.error().message);
        settle(who, "after a repair: ");
        break;
      }
      case Kind::verify:
        verify(who);
        break;
      case Kind::count_:
        break;
    }
  }

  // --- transactions

  Plan make_plan(FakeRandom& chance, std::size_t many) {
    Plan plan;
    const std::size_t number = next_++;
    plan.label = "t" + std::to_string(number);
    const std::size_t blobs = many != 0 ? many : chance.below(3);
    for (std::size_t i = 0; i < blobs; ++i) plan.blobs.push_back(fmt::format("blob {} of {}", i, plan.label));
    if (many == 0 && chance.chance(6)) plan.blobs.push_back(long_bytes(number, chance.chance(2) ? 300'000 : 40'000));
    plan.change.lamport = 1;
    plan.change.author = plan.change.committer = {"A", "a@example.org", {1'000'000'000, 60}};
    plan.change.message = plan.label;
    plan.change.tree = object::empty_tree_id();
    plan.delta = DeltaId::from_bytes(sha256("delta " + std::to_string(chance.below(6))).view());
    if (chance.chance(3)) plan.git = GitId::from_bytes(sha256(plan.label).view().substr(0, GitId::kSize));
    if (chance.chance(8)) {
      plan.operation = false;
      return plan;
    }
    plan.late = chance.chance(5);
    const std::size_t refs = plan.late ? 1 : 1 + chance.below(3);
    const std::size_t first = chance.below(std::size(kRefs));
    for (std::size_t i = 0; i < refs; ++i) {
      RefEdit edit;
      edit.name = kRefs[(first + i) % std::size(kRefs)];
      const auto held = model_.ref(edit.name);
      switch (chance.below(4)) {
        case 0:
          edit.expect = RefEdit::Expect::anything;
          break;
        case 1:
          edit.expect = RefEdit::Expect::absent;
          break;
        default:
          edit.expect = held ? RefEdit::Expect::exactly : RefEdit::Expect::absent;
          if (held) edit.expected = held->version;
      }
      edit.skip = chance.chance(3);
      edit.keep_extra = chance.chance(4);
      if (!(held && edit.expect == RefEdit::Expect::exactly && chance.chance(4))) {
        edit.after = RefValue{{}, Bytes(chance.below(chance.chance(12) ? 40'000 : 20), 'e')};
      }
      plan.edits.push_back(std::move(edit));
    }
    return plan;
  }

  static Bytes long_bytes(std::size_t seed, std::size_t length) {
    FakeRandom random(seed);
    Bytes bytes(length, '\0');
    random.fill({bytes.data(), bytes.size()});
    return bytes;
  }

  /// The process with a transaction begun, a new one or the one it has.
  Process* prepared(std::size_t who, FakeRandom& chance, std::size_t many = 0) {
    Process* const process = opened(who);
    if (process == nullptr || process->transaction) return process;
    process->plan = make_plan(chance, many);
    if (auto done = begin(*process); !done) {
      wrong("begin: " + done.error().message);
      return nullptr;
    }
    return process;
  }

  Result<void> begin(Process& process) {
    Plan& plan = process.plan;
    auto begun = process.process->store().begin();
    if (!begun) return std::move(begun).error();
    process.transaction.emplace(std::move(*begun));
    Transaction& transaction = *process.transaction;
    for (const Bytes& blob : plan.blobs) {
      if (options_.store == ModelSabotage::wrong_bytes && blob.size() < 100) {
        WEFT_DO(transaction.put(ObjectKind::blob, blob + "?"));
      } else {
        WEFT_DO(transaction.put(ObjectKind::blob, blob));
      }
    }
    if (plan.operation) transaction.set_operation({.label = plan.label, .author = "A <a@example.org>"});
    if (plan.late) {
      transaction.set_late(
          {plan.edits.front().name},
          [&plan](Transaction& late, const std::vector<std::optional<RefValue>>& newest) -> Result<void> {
            object::Change change = plan.change;
            if (newest.front()) {
              change.parents = newest.front()->version.changes;
              change.lamport = 2;
            }
            WEFT_TRY(plan.id, late.put_change(change, plan.delta));
            RefEdit edit;
            edit.name = plan.edits.front().name;
            edit.after = RefValue{Version(plan.id), {}};
            late.edit_ref(std::move(edit));
            return {};
          });
      return {};
    }
    WEFT_TRY(plan.id, transaction.put_change(plan.change, plan.delta));
    if (plan.git) WEFT_DO(transaction.index_git_commit(*plan.git, plan.id));
    for (auto& edit : plan.edits) {
      if (edit.after) edit.after->version = Version(plan.id);
      RefEdit given = edit;
      if (options_.store == ModelSabotage::no_judging) given.expect = RefEdit::Expect::anything;
      if (options_.store == ModelSabotage::half_of_it && &edit != &plan.edits.front()) continue;
      transaction.edit_ref(given);
    }
    return {};
  }

  /// The model with the transaction in it; none when the model refuses. `moved`: of each edit.
  std::optional<Model> with(const Plan& plan, std::vector<bool>* moved = nullptr) const {
    Model next = model_;
    Model::Done done{plan.label, {}};
    const auto move = [&](const std::string& name, std::optional<RefValue> after) {
      done.moves.push_back({name, next.ref(name), after});
      if (after) {
        next.refs[name] = *after;
      } else {
        next.refs.erase(name);
      }
    };
    std::vector<bool> each;
    if (plan.late) {
      move(plan.edits.front().name, RefValue{Version(plan.id), {}});
      each.push_back(true);
    } else {
      for (const auto& edit : plan.edits) {
        const auto held = model_.ref(edit.name);
        each.push_back(holds(held, edit));
        if (!each.back() && !edit.skip) return std::nullopt;
        if (!each.back()) continue;
        auto after = edit.after;
        if (after && edit.keep_extra && held) after->extra = held->extra;
        move(edit.name, std::move(after));
      }
    }
    if (moved != nullptr) *moved = each;
    next.changes[plan.id] = plan.label;
    if (!plan.delta.is_zero()) next.deltas[plan.delta].insert(plan.id);
    if (plan.git && !plan.late) next.commits[*plan.git] = plan.id;
    if (plan.operation) next.operations.push_back(std::move(done));
    return next;
  }

  void finish(Process& process) {
    const auto committed = process.transaction->commit();
    process.transaction.reset();
    const bool may_fail = faulty_ || std::exchange(process.may_fail, false);
    std::vector<bool> moved;
    tried_[process.plan.id] = process.plan.blobs;
    const auto next = with(process.plan, &moved);
    if (committed) {
      ++counts_.acknowledged;
      if (!next) return wrong(process.plan.label + " was acknowledged and should have been refused");
      if (committed->moved != moved) wrong(process.plan.label + " was told that other refs moved than did");
      accept(*next);
    } else if (committed.error().code == Code::lost_race) {
      ++counts_.refused;
      if (next) wrong(process.plan.label + " was refused and should not have been: " + committed.error().message);
      // A refusal is a verdict on durable state, and so was reached behind any recovery.
    } else {
      ++counts_.failed;
      if (!may_fail) return wrong(process.plan.label + " failed on a sound disk: " + committed.error().message);
      if (next) maybe_.push_back(*next);
    }
  }

  void accept(const Model& next) {
    model_ = next;
    maybe_.clear();
  }

  /// The disk refuses one of the next calls, then is sound again.
  void fail(std::size_t who, FakeRandom& chance) {
    Process* const process = prepared(who, chance);
    if (process == nullptr) return;
    fs_->add_fault({.calls = kWritingSimCalls, .nth = 1 + chance.below(3), .errnum = chance.chance(3) ? 28 : 5});
    faulty_ = true;
    finish(*process);
    fs_->clear_faults();
    faulty_ = false;
    for (auto& each : processes_) each.may_fail = each.process != nullptr;
  }

  /// The process dies at some point of its commit; then another one's shows what came of it.
  void kill(std::size_t who, FakeRandom& chance) {
    Process* const process = prepared(who, chance);
    if (process == nullptr) return;
    std::uint64_t passes = chance.below(25);
    process->process->process.dies_at = [&passes](const char*) { return passes-- == 0; };
    bool killed = false;
    std::optional<Model> next;
    try {
      finish(*process);
    } catch (const Killed&) {
      killed = true;
      ++counts_.killed;
      tried_[process->plan.id] = process->plan.blobs;
      next = with(process->plan);
    }
    if (!killed) {
      process->process->process.dies_at = nullptr;
      return;
    }
    close(who);
    if (next) unknown_ = std::move(next);
    if (processes_[(who + 1) % kProcesses].may_fail) close((who + 1) % kProcesses);
    Process* const other = opened(who + 1);
    if (other == nullptr) return;
    other->transaction.reset();
    other->plan = Plan{};
    other->plan.label = "t" + std::to_string(next_++);
    other->plan.change.lamport = 1;
    other->plan.change.author = other->plan.change.committer = {"A", "a@example.org", {1'000'000'000, 60}};
    other->plan.change.message = other->plan.label;
    other->plan.change.tree = object::empty_tree_id();
    RefEdit edit;
    edit.name = "resolve";
    edit.after = RefValue{};
    other->plan.edits.push_back(edit);
    if (auto done = begin(*other); !done) return wrong("begin: " + done.error().message);
    const auto committed = other->transaction->commit();
    other->transaction.reset();
    if (!committed) return wrong("a commit behind a death: " + committed.error().message);
    ++counts_.acknowledged;
    // Either the dead one's is before it, or it is nowhere.
    const Model without = *with(other->plan);
    if (unknown_) {
      std::swap(model_, *unknown_);
      const Model behind = *with(other->plan);
      if (difference(other->process->store(), behind).empty()) {
        accept(behind);
        unknown_.reset();
        return;
      }
      unknown_.reset();
    }
    accept(without);
  }

  // --- losses

  void lose_power(std::uint64_t seed, bool twice) {
    ++counts_.power_lost;
    const SimCrash crash{.kind = seed % 5 == 0 ? SimCrash::Kind::synced_only : SimCrash::Kind::torn,
                         .seed = seed % 997};
    new_machine(fs_->after_crash(fs_->operation_count(), crash));
    if (twice) {
      ++counts_.power_lost_recovering;
      StoreProcess process(*block_, *disk_, clock_, random_, 97);
      std::uint64_t operations = seed / 1000 % 6;
      process.process.dies_at = [&](const char*) { return fs_->operation_count() >= operations; };
      try {
        (void)process.open();
      } catch (const Killed&) {
      }
      process.close();
      const std::size_t cut = std::min<std::size_t>(fs_->operation_count(), operations);
      new_machine(fs_->after_crash(cut, {.kind = SimCrash::Kind::torn, .seed = seed % 499}));
    }
    settle(seed, "after a loss of power (" + describe(crash) + "): ");
  }

  /// Who opens a store whose control block is gone takes what it finds in the files, a failed transaction, too (MO3).
  void settle(std::size_t who, const std::string& when) {
    Process* const process = opened(who);
    if (process == nullptr) return;
    const std::string unlike = difference(process->process->store(), model_);
    if (unlike.empty()) {
      maybe_.clear();
      return;
    }
    for (const Model& other : maybe_) {
      if (!difference(process->process->store(), other).empty()) continue;
      accept(Model(other));
      return;
    }
    wrong(when + unlike);
  }

  void keep(std::size_t who) {
    Process* const process = opened(who);
    if (process == nullptr) return;
    const auto snapshot = process->process->store().snapshot();
    if (!snapshot) return wrong("snapshot: " + snapshot.error().message);
    if (old_.size() >= kOldSnapshots) old_.pop_front();
    old_.push_back({who % kProcesses, *snapshot, model_});
    ++counts_.old_snapshots;
  }

  void verify(std::size_t who) {
    Process* const process = opened(who);
    if (process == nullptr) return;
    const auto report = process->process->store().verify(true, {});
    if (!report) return wrong("verify: " + report.error().message);
    if (!report->clean()) wrong("verify: " + report->findings.front().what);
  }

  // --- comparing

  /// Every open process and every old snapshot sees what the model says.
  void agree(const std::string&) {
    for (auto& process : processes_) {
      if (!process.process) continue;
      if (auto unlike = difference(process.process->store(), model_); !unlike.empty()) return wrong(std::move(unlike));
    }
    for (const Old& old : old_) {
      if (auto unlike = difference(old.snapshot, old.model, true); !unlike.empty())
        return wrong("a snapshot taken before: " + unlike);
    }
  }

  std::string difference(const Store& store, const Model& model) {
    const auto snapshot = store.snapshot();
    return snapshot ? difference(*snapshot, model) : "snapshot: " + snapshot.error().message;
  }
  std::string difference(const Snapshot& snapshot, const Model& model, bool old = false) {
    std::string unlike;
    const auto compared = compare(snapshot, model, old, unlike);
    return compared ? unlike : "reading failed: " + compared.error().message;
  }

  Result<void> compare(const Snapshot& snapshot, const Model& model, bool old, std::string& unlike) {
    for (const std::string prefix : {"", "workspaces/", "none/"}) {
      WEFT_TRY(const auto refs, snapshot.refs(prefix));
      std::map<std::string, RefValue> seen;
      for (const auto& ref : refs) seen[ref.name] = ref.value;
      std::map<std::string, RefValue> expected;
      for (const auto& [name, value] : model.refs) {
        if (name.starts_with(prefix)) expected[name] = value;
      }
      if (seen != expected) return unlike = fmt::format("refs below {:?} differ", prefix), Result<void>();
    }
    std::map<std::string, std::vector<Model::Done>> logs;
    for (const auto& done : model.operations) {
      for (const auto& move : done.moves) logs[move.ref].push_back({done.label, {move}});
    }
    for (const char* const name : {kRefs[0], kRefs[1], kRefs[2], kRefs[3], "resolve"}) {
      WEFT_TRY(const auto value, snapshot.ref(name));
      if (value != model.ref(name)) {
        unlike = fmt::format("{} holds {}, not {}", name, show(value), show(model.ref(name)));
        return {};
      }
      auto& log = logs[name];
      std::size_t at = log.size();
      bool same = true;
      WEFT_DO(snapshot.reflog(name, [&](const RefMoveRecord& record) {
        same = same && at > 0 && log[at - 1] == Model::Done{record.label, {{record.ref, record.before, record.after}}};
        if (at > 0) --at;
        return same;
      }));
      if (!same || at != 0) return unlike = fmt::format("the reflog of {} differs", name), Result<void>();
    }
    std::size_t at = model.operations.size();
    std::string other;
    WEFT_DO(snapshot.operations([&](const Operation& operation) {
      Model::Done done{operation.label, {}};
      for (const auto& move : operation.moves) done.moves.push_back({move.ref, move.before, move.after});
      if (at == 0 || !(model.operations[at - 1] == done)) {
        other = fmt::format("operation {} is {} where {} was expected", at, operation.label,
                            at == 0 ? "none" : model.operations[at - 1].label);
        return false;
      }
      --at;
      return true;
    }));
    if (other.empty() && at != 0) other = "operation " + model.operations[at - 1].label + " is not listed";
    if (!other.empty()) return unlike = other, Result<void>();
    return compare_objects(snapshot, model, old, unlike);
  }

  Result<void> compare_objects(const Snapshot& snapshot, const Model& model, bool old, std::string& unlike) {
    for (const auto& [id, blobs] : tried_) {
      const auto expected = model.changes.find(id);
      WEFT_TRY(const bool there, snapshot.contains(ObjectKind::change, id));
      if (old && there && expected == model.changes.end()) continue;  // MO5
      if (there != (expected != model.changes.end())) {
        return unlike = fmt::format("change {} ({}) {}", id.hex(), there ? "unexpected" : expected->second,
                                    there ? "is there" : "is not there"),
               Result<void>();
      }
      WEFT_TRY(const auto found, snapshot.find_by_prefix(ObjectKind::change, id.hex().substr(0, 6), 100));
      if (there != (std::count(found.begin(), found.end(), id) != 0)) {
        return unlike = fmt::format("change {} by its prefix: {}", id.hex(), there ? "not found" : "found"),
               Result<void>();
      }
      // Of many, some. A blob is where its change is.
      const std::size_t step = std::max<std::size_t>(1, blobs.size() / 8);
      for (std::size_t i = 0; i < blobs.size(); i += step) {
        const ObjectId blob = sha256(blobs[i]);
        if (!there) {
          WEFT_TRY(const bool stored, snapshot.contains(ObjectKind::blob, blob));
          if (stored && !old)
            return unlike = fmt::format("blob {} is there without its change", blob.hex()), Result<void>();
          continue;
        }
        const auto read = snapshot.read(ObjectKind::blob, blob);
        if (!read || *read != blobs[i]) {
          return unlike = fmt::format("blob {} {}", blob.hex(), read ? "has other bytes" : read.error().message),
                 Result<void>();
        }
      }
      if (!there) continue;
      WEFT_TRY(const auto change, snapshot.change(id));
      if (change.message != expected->second) return unlike = "a change has another message", Result<void>();
    }
    for (const auto& [delta, ids] : model.deltas) {
      WEFT_TRY(const auto found, snapshot.find_by_delta(delta));
      if (std::set<ChangeId>(found.begin(), found.end()) != ids) {
        return unlike = fmt::format("delta {}: {} changes, not {}", delta.hex().substr(0, 8), found.size(), ids.size()),
               Result<void>();
      }
    }
    for (const auto& [git, id] : model.commits) {
      WEFT_TRY(const auto found, snapshot.find_git_commit(git));
      if (found != id) return unlike = "git commit " + git.hex() + " is not found", Result<void>();
    }
    return {};
  }

  ModelCounts& counts_;
  ModelOptions options_;
  std::unique_ptr<SimFileSystem> fs_;
  FakeClock clock_;
  FakeRandom random_;
  std::unique_ptr<SabotagedFileSystem> disk_;
  std::unique_ptr<HeapBlock> block_;
  Process processes_[kProcesses];
  std::deque<Old> old_;

  Model model_;
  std::vector<Model> maybe_;                      // MO3: what a loss of power may make of it
  std::optional<Model> unknown_;                  // MO2: with the transaction of a dead process
  std::map<ChangeId, std::vector<Bytes>> tried_;  // with their blobs, each in one change only
  std::size_t next_ = 0;
  bool faulty_ = false;
  std::string wrong_;
};

}  // namespace

ModelCounts& ModelCounts::operator+=(const ModelCounts& other) {
  commands += other.commands;
  acknowledged += other.acknowledged;
  refused += other.refused;
  failed += other.failed;
  killed += other.killed;
  power_lost += other.power_lost;
  power_lost_recovering += other.power_lost_recovering;
  merges += other.merges;
  old_snapshots += other.old_snapshots;
  return *this;
}

std::string run_model(const std::vector<ModelCommand>& commands, ModelCounts& counts, const ModelOptions& options) {
  return Run(counts, options)(commands);
}

std::string describe(const ModelCommand& command) {
  static constexpr const char* kNames[] = {"commit", "prepare", "reopen",     "keep snapshot", "many objects",
                                           "kill",   "fail",    "lose block", "lose power",    "lose power twice",
                                           "repair", "verify"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Kind::count_));
  return fmt::format("{} by {} (seed {})", kNames[static_cast<std::size_t>(kind_of(command))], command.who % kProcesses,
                     command.what);
}

}  // namespace weft::store
