#include "store_world.h"

#include <algorithm>
#include <set>

#include "base/hash.h"

namespace weft::store {
namespace {

Bytes random_bytes(FakeRandom& random, std::size_t length) {
  Bytes bytes(length, '\0');
  random.fill({bytes.data(), bytes.size()});
  return bytes;
}

object::Change change_of(const Attempt& attempt, const std::vector<ChangeId>& parents) {
  object::Change change;
  change.parents = parents;
  change.lamport = parents.empty() ? 1 : 2 + attempt.number;
  change.author = change.committer = {"A", "a@example.org", {1'000'000'000, 60}};
  change.message = "t" + std::to_string(attempt.number);
  change.tree = object::empty_tree_id();
  return change;
}

RefEdit edit_of(const Attempt::Edit& plan, const ChangeId& change) {
  RefEdit edit;
  edit.name = plan.ref;
  edit.expect = plan.expect;
  edit.expected = plan.expected;
  edit.skip = plan.skip;
  if (!plan.remove) {
    // Not compressible, so that the frame is as long as planned.
    FakeRandom random(plan.extra_bytes);
    edit.after = RefValue{Version(change), random_bytes(random, plan.extra_bytes)};
  }
  return edit;
}

Result<void> carry_out(Store& store, Attempt& attempt, std::uint64_t content_seed) {
  FakeRandom random(content_seed * 1'000'003 + attempt.number);
  attempt.blobs.clear();
  WEFT_TRY(auto transaction, store.begin());
  for (std::size_t i = 0; i < attempt.small_blobs; ++i) {
    WEFT_TRY(const ObjectId id, transaction.put(ObjectKind::blob, random_bytes(random, 8)));
    attempt.blobs.push_back(id);
  }
  if (attempt.large_blob_bytes > 0) {
    WEFT_TRY(const ObjectId id, transaction.put(ObjectKind::blob, random_bytes(random, attempt.large_blob_bytes)));
    attempt.blobs.push_back(id);
  }
  if (attempt.operation)
    transaction.set_operation({.label = "t" + std::to_string(attempt.number), .author = "A <a@example.org>"});
  if (attempt.late) {
    std::vector<std::string> refs;
    for (const auto& edit : attempt.edits) refs.push_back(edit.ref);
    transaction.set_late(
        refs, [&attempt](Transaction& late, const std::vector<std::optional<RefValue>>& newest) -> Result<void> {
          std::vector<ChangeId> parents;
          attempt.late_parent.reset();
          if (newest.front()) {
            parents = newest.front()->version.changes;
            attempt.late_parent = parents.front();
          }
          WEFT_TRY(attempt.change, late.put_change(change_of(attempt, parents)));
          for (std::size_t i = 0; i < attempt.edits.size(); ++i) {
            RefEdit edit = edit_of(attempt.edits[i], attempt.change);
            edit.expect = newest[i] ? RefEdit::Expect::exactly : RefEdit::Expect::absent;
            if (newest[i]) edit.expected = newest[i]->version;
            late.edit_ref(std::move(edit));
          }
          return {};
        });
  } else {
    WEFT_TRY(attempt.change,
             transaction.put_change(change_of(attempt, {}),
                                    DeltaId::from_bytes(sha256(std::to_string(attempt.number)).view())));
    for (const auto& edit : attempt.edits) transaction.edit_ref(edit_of(edit, attempt.change));
  }
  WEFT_TRY(const Committed committed, transaction.commit());
  attempt.moved = committed.moved;
  return {};
}

bool holds(const std::optional<RefValue>& value, const Attempt::Edit& edit) {
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

/// The check, step by step.
class Checker {
 public:
  Checker(Store& store, const Journal& journal, const CheckRules& rules)
      : store_(store), journal_(journal), rules_(rules) {}

  std::vector<std::string> run() {
    const auto done = steps();
    if (!done) problem("reading the store failed: " + done.error().message);
    return std::move(problems_);
  }

 private:
  void problem(std::string text) {
    if (problems_.size() < 20) problems_.push_back(std::move(text));
  }

  Result<void> steps() {
    WEFT_TRY(Snapshot snapshot, store_.snapshot());
    WEFT_DO(replay(snapshot));
    for (const auto& attempt : journal_.attempts()) WEFT_DO(presence(snapshot, *attempt));
    WEFT_DO(refs(snapshot));
    if (rules_.verify) {
      WEFT_TRY(const VerifyReport report, store_.verify(true, {}));
      for (const auto& finding : report.findings) problem("verify: " + finding.what + " / " + finding.affects);
    }
    return {};
  }

  /// The operations, oldest first, moving refs of a map: each move must start from what the map holds.
  Result<void> replay(const Snapshot& snapshot) {
    std::vector<Operation> operations;
    WEFT_DO(snapshot.operations([&](const Operation& operation) {
      operations.push_back(operation);
      return true;
    }));
    std::reverse(operations.begin(), operations.end());
    for (const auto& operation : operations) {
      const std::size_t number = operation.label.starts_with("t") ? std::stoull(operation.label.substr(1)) : SIZE_MAX;
      if (number >= journal_.attempts().size()) {
        problem("operation " + operation.label + " was never attempted");
        continue;
      }
      const Attempt& attempt = *journal_.attempts()[number];
      if (!listed_.insert(number).second) problem(describe(attempt) + " is listed twice");
      WEFT_TRY(const auto found, snapshot.operation(operation.id));
      if (!found || found->label != operation.label) problem(describe(attempt) + " is not found by its operation's id");
      moves_of(operation, attempt);
    }
    return {};
  }

  void moves_of(const Operation& operation, const Attempt& attempt) {
    std::map<std::string, const Operation::Move*> moved;
    for (const auto& move : operation.moves) moved[move.ref] = &move;
    for (std::size_t i = 0; i < attempt.edits.size(); ++i) {
      const auto& edit = attempt.edits[i];
      const auto entry = moved.find(edit.ref);
      const std::optional<RefValue> held = refs_.contains(edit.ref) ? std::optional(refs_[edit.ref]) : std::nullopt;
      const bool should = attempt.late || holds(held, edit);
      if (entry == moved.end()) {
        if (!edit.skip) problem(describe(attempt) + " moved only some refs, not " + edit.ref);
        if (edit.skip && should) problem(describe(attempt) + " skipped " + edit.ref + ", which held what it expected");
        continue;
      }
      if (!should) problem(describe(attempt) + " moved " + edit.ref + ", which did not hold what it expected");
      if (attempt.outcome == Attempt::Outcome::acked && told(attempt) && !attempt.moved[i]) {
        problem(describe(attempt) + " was told that " + edit.ref + " did not move");
      }
      const auto& move = *entry->second;
      if (move.before != held) {
        problem(describe(attempt) + " moved " + edit.ref + " from " +
                (move.before ? move.before->version.text() : "absent") + ", but the operations before it left it at " +
                (held ? held->version.text() : "absent"));
      }
      if (attempt.late && i == 0) {
        const std::optional<ChangeId> parent = held ? std::optional(held->version.changes.front()) : std::nullopt;
        if (attempt.outcome == Attempt::Outcome::acked && told(attempt) && parent != attempt.late_parent) {
          problem(describe(attempt) + " was computed on another value than the one it replaced");
        }
      }
      if (edit.remove) {
        refs_.erase(edit.ref);
        if (move.after) problem(describe(attempt) + " did not delete " + edit.ref);
      } else if (!move.after || (!attempt.late && move.after->version != Version(attempt.change)) ||
                 move.after->extra.size() != edit.extra_bytes) {
        problem(describe(attempt) + " left something else in " + edit.ref);
      } else {
        refs_[edit.ref] = *move.after;
      }
      ++moves_[edit.ref];
      moved.erase(entry);
    }
    if (!moved.empty()) problem(describe(attempt) + " moved " + moved.begin()->first + ", which it should not");
  }

  bool told(const Attempt& attempt) const { return attempt.operations_when_told <= rules_.cut; }

  Result<void> presence(const Snapshot& snapshot, const Attempt& attempt) {
    Attempt::Outcome outcome = attempt.outcome;
    if (!told(attempt)) outcome = outcome == Attempt::Outcome::refused ? outcome : Attempt::Outcome::unknown;
    if (attempt.change.is_zero()) {
      if (outcome == Attempt::Outcome::acked) problem(describe(attempt) + " was acknowledged without a change");
      return {};
    }
    WEFT_TRY(const bool there, snapshot.contains(ObjectKind::change, attempt.change));
    const bool listed = listed_.contains(attempt.number);
    if (attempt.operation && there != listed && !attempt.late) {
      problem(describe(attempt) + (there ? " is there, but not listed" : " is listed, but not there"));
    }
    const bool present = attempt.late ? listed : there;
    if (attempt.settled && *attempt.settled != present) {
      problem(describe(attempt) + (present ? " came back, having been gone" : " was there") +
              " after an earlier loss of power" + (present ? "" : ", and is gone"));
    }
    if (outcome == Attempt::Outcome::acked && !present) problem(describe(attempt) + " was acknowledged and is gone");
    if (outcome == Attempt::Outcome::acked && attempt.late && !there) problem(describe(attempt) + " lost its change");
    if (outcome == Attempt::Outcome::refused && present) problem(describe(attempt) + " was refused and is there");
    if (outcome == Attempt::Outcome::failed && present && !rules_.power_lost)
      problem(describe(attempt) + " failed and is there");
    if (present && !(attempt.late && !there)) {
      const auto change = snapshot.change(attempt.change);
      if (!change || change->message != "t" + std::to_string(attempt.number)) {
        problem(describe(attempt) + ": its change cannot be read" + (change ? "" : ": " + change.error().message));
      }
    }
    for (const auto& blob : attempt.blobs) {
      if (!present) {
        WEFT_TRY(const bool stored, snapshot.contains(ObjectKind::blob, blob));
        if (stored) {
          problem(describe(attempt) + " is there in part");
          break;
        }
        continue;
      }
      const auto content = snapshot.read(ObjectKind::blob, blob);
      if (!content || sha256(*content) != blob) {
        problem(describe(attempt) + ": blob " + blob.hex() + " cannot be read" +
                (content ? "" : ": " + content.error().message));
        break;
      }
    }
    return {};
  }

  Result<void> refs(const Snapshot& snapshot) {
    WEFT_TRY(const auto refs, snapshot.refs());
    std::map<std::string, RefValue> now;
    for (const auto& ref : refs) now[ref.name] = ref.value;
    for (const auto& [name, value] : refs_) {
      if (!now.contains(name)) {
        problem("ref " + name + " is gone");
      } else if (!(now[name] == value)) {
        problem("ref " + name + " is at " + now[name].version.text() + ", its last operation left it at " +
                value.version.text());
      }
    }
    for (const auto& [name, value] : now) {
      if (!refs_.contains(name)) problem("ref " + name + " is at " + value.version.text() + " by no operation");
    }
    for (const auto& [name, moves] : moves_) {
      std::size_t count = 0;
      std::optional<std::optional<RefValue>> later;
      WEFT_DO(snapshot.reflog(name, [&](const RefMoveRecord& record) {
        ++count;
        if (later && record.after != *later) problem("the reflog of " + name + " has a gap");
        later = record.before;
        return true;
      }));
      if (count != moves) {
        problem("the reflog of " + name + " has " + std::to_string(count) + " entries, not " + std::to_string(moves));
      }
    }
    return {};
  }

  Store& store_;
  const Journal& journal_;
  CheckRules rules_;
  std::vector<std::string> problems_;
  std::set<std::size_t> listed_;
  std::map<std::string, RefValue> refs_;
  std::map<std::string, std::size_t> moves_;
};

}  // namespace

StoreProcess::StoreProcess(HeapBlock& block, FileSystem& disk, FakeClock& clock, Random& random, std::uint32_t number)
    : process(block, disk, number), clock_(clock), random_(random) {}

StoreHooks StoreProcess::hooks() {
  StoreHooks hooks;
  hooks.open_control = [this](const SharedControlOptions& options) { return process.open_control(options); };
  hooks.retire_control = [this](const std::string&) { return process.retire_control(); };
  if (history_step != 0) {
    hooks.history_step = history_step;
    hooks.touches = [](const object::ObjectReader&, const object::Change& change) -> Result<std::vector<TouchKey>> {
      return std::vector<TouchKey>{place_key({}, change.message), place_key({}, "everything")};
    };
  }
  return hooks;
}

Result<void> StoreProcess::create(const StoreOptions& options) {
  if (auto made = env().fs.make_directory("/s"); !made && made.error().code != Code::exists) return made;
  WEFT_DO(env().fs.sync_directory("/"));
  WEFT_TRY(auto store, Store::create(env(), kStoreDirectory, options, hooks()));
  store_.emplace(std::move(store));
  return {};
}

Result<void> StoreProcess::open() {
  store_.reset();
  WEFT_TRY(auto store, Store::open(env(), kStoreDirectory, hooks()));
  store_.emplace(std::move(store));
  return {};
}

Attempt& Journal::add(Attempt plan) {
  attempts_.push_back(std::make_unique<Attempt>(std::move(plan)));
  attempts_.back()->number = attempts_.size() - 1;
  return *attempts_.back();
}

void perform(Store& store, Attempt& attempt, std::uint64_t content_seed) {
  const auto done = carry_out(store, attempt, content_seed);
  if (done) {
    attempt.outcome = Attempt::Outcome::acked;
    return;
  }
  attempt.code = done.error().code;
  attempt.message = done.error().message;
  attempt.outcome = attempt.code == Code::lost_race ? Attempt::Outcome::refused : Attempt::Outcome::failed;
  for (const auto& [key, value] : done.error().details) {
    if (key == "actual") attempt.winner = value;
  }
}

std::string describe(const Attempt& attempt) {
  static constexpr const char* kOutcomes[] = {"unknown", "acknowledged", "refused", "failed"};
  std::string text =
      "transaction " + std::to_string(attempt.number) + " (" + kOutcomes[static_cast<int>(attempt.outcome)];
  if (!attempt.message.empty()) text += ": " + attempt.message;
  return text + ")";
}

std::vector<std::string> check_store(Store& store, const Journal& journal, const CheckRules& rules) {
  return Checker(store, journal, rules).run();
}

Result<std::map<std::string, Version>> refs_of(const Store& store) {
  WEFT_TRY(const Snapshot snapshot, store.snapshot());
  WEFT_TRY(const auto refs, snapshot.refs());
  std::map<std::string, Version> result;
  for (const auto& ref : refs) result[ref.name] = ref.value.version;
  return result;
}

std::string join(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += "  " + line + "\n";
  return text;
}

}  // namespace weft::store
