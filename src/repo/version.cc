// From what a user types to a version, and from a version to its tree.
#include <algorithm>
#include <charconv>

#include "object/memory_objects.h"
#include "repo/history.h"
#include "repo/recording.h"
#include "repo/repository.h"
#include "tree/tree.h"

namespace weft::repo {

namespace {

constexpr std::size_t kMinPrefixDigits = 4;
constexpr std::size_t kShortDigits = 8;
constexpr std::size_t kMaxCandidates = 10;
constexpr std::size_t kMaxTextBytes = 65 * object::kMaxVersionChanges;
constexpr std::string_view kVersionForms =
    "a version is a ref, a change id or its first digits (4 and more), @, @-, REF@{N} or git:SHA";

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

Error unknown(std::string_view text) {
  return make_error(Code::not_found, "there is no version " + quoted(text), std::string(kVersionForms))
      .with("version", std::string(text));
}

/// Names the candidates, each change with its subject.
template <typename IdType>
Error ambiguous(const store::Snapshot& snapshot, std::string_view text, std::string_view form,
                const std::vector<IdType>& candidates) {
  std::string list;
  for (const auto& candidate : candidates) {
    list += "\n  " + candidate.hex().substr(0, std::max(text.size() + 4, std::size_t{16}));
    if constexpr (std::is_same_v<IdType, ChangeId>) {
      if (const auto change = snapshot.change(candidate)) list += "  " + quoted(subject_of(change->message));
    }
  }
  if (candidates.size() >= kMaxCandidates) list += "\n  ...";
  Error error = make_error(Code::ambiguous, quoted(text) + " is the beginning of several " + std::string(form),
                           "give more digits; it is one of" + list);
  for (const auto& candidate : candidates) error.details.emplace_back("candidate", candidate.hex());
  return error;
}

class Resolver {
 public:
  Resolver(const Repository& repository, const store::Snapshot& snapshot)
      : repository_(repository), snapshot_(snapshot) {}

  Result<Resolved> whole(std::string_view text) {
    if (text.empty()) return make_error(Code::invalid, "an empty version names nothing", std::string(kVersionForms));
    if (text.size() > kMaxTextBytes)
      return make_error(Code::invalid, "this version's text is too long", std::string(kVersionForms));
    WEFT_TRY(auto one, part(text));
    if (one) return *std::move(one);
    if (text.find('+') == std::string_view::npos) return missing(text);
    std::vector<ChangeId> changes;
    Resolved resolved;
    std::string_view rest = text;
    while (true) {
      const std::size_t plus = rest.find('+');
      const std::string_view piece = rest.substr(0, plus);
      WEFT_TRY(auto found, part(piece));
      if (!found) return missing(piece);
      changes.insert(changes.end(), found->version.changes.begin(), found->version.changes.end());
      if (!found->notice.empty()) resolved.notice += (resolved.notice.empty() ? "" : "; ") + found->notice;
      if (plus == std::string_view::npos) break;
      rest.remove_prefix(plus + 1);
    }
    WEFT_TRY(resolved.version, maximal(snapshot_, std::move(changes)));
    if (resolved.version.changes.size() > object::kMaxVersionChanges) {
      return make_error(Code::invalid, "a version has at most 64 changes", "name fewer, or a merge of them");
    }
    return resolved;
  }

 private:
  /// git lets a tag go by its bare name, and calls the head so.
  Error missing(std::string_view text) const {
    if (text == "HEAD" || text.starts_with("HEAD~") || text.starts_with("HEAD^")) {
      return unknown(text).hinted("did you mean @ (where this workspace stands) or @- (its first parent)?");
    }
    for (const std::string_view folder : {"tags/", "workspaces/"}) {
      const std::string name = std::string(folder) + std::string(text);
      if (!store::ref_name_problem(name).empty()) continue;
      const auto value = snapshot_.ref(name);
      if (value && *value) return unknown(text).hinted("did you mean " + name + "?");
    }
    return unknown(text);
  }

  /// Without '+'. nullopt: nothing is called so.
  Result<std::optional<Resolved>> part(std::string_view text) {
    // A ref's own name may end in '-': the longest reading wins.
    std::size_t steps = 0;
    while (true) {
      WEFT_TRY(auto found, base(text));
      if (found) {
        for (std::size_t step = 0; step < steps; ++step) {
          WEFT_TRY(found->version, first_parent(found->version, text));
        }
        if (steps > 0) found->ref.clear();
        return found;
      }
      if (!text.ends_with('-')) return std::optional<Resolved>();
      text.remove_suffix(1);
      ++steps;
    }
  }

  Result<Version> first_parent(const Version& version, std::string_view text) {
    if (version.changes.size() != 1) {
      return make_error(Code::invalid, version.empty() ? "nothing comes before the first change"
                                                       : quoted(text) + " is several changes: it has no first parent");
    }
    WEFT_TRY(const auto summary, snapshot_.change_summary(version.changes.front()));
    if (summary.parents.empty()) {
      return make_error(Code::not_found, "change " + version.text().substr(0, kShortDigits) + " has no parent",
                        "`none` is the version before the first change");
    }
    return Version(summary.parents.front());
  }

  Result<std::optional<Resolved>> base(std::string_view text) {
    if (text.empty()) return std::optional<Resolved>();
    if (text == "none") return std::optional<Resolved>(Resolved{});
    if (text == "@") {
      WEFT_TRY(auto workspace, repository_.workspace_in(snapshot_));
      return std::optional<Resolved>(Resolved{std::move(workspace.head), {}, {}});
    }
    if (text.starts_with("git:")) return git(text.substr(4));
    for (const std::string_view kind : {"tree:", "blob:", "node:"}) {
      if (text.starts_with(kind)) {
        return make_error(Code::invalid, quoted(text) + " names no version but a " + std::string(kind.substr(0, 4)));
      }
    }
    if (text.ends_with('}')) return earlier(text);
    if (store::ref_name_problem(text).empty()) {
      WEFT_TRY(auto value, snapshot_.ref(text));
      if (value) return named(text, *std::move(value));
    }
    return prefix(text);
  }

  Result<std::optional<Resolved>> named(std::string_view name, store::RefValue value) {
    Resolved resolved{std::move(value.version), std::string(name), {}};
    if (name.size() >= kMinPrefixDigits && name.size() < 2 * ChangeId::kSize && is_hex(name)) {
      WEFT_TRY(const auto also, snapshot_.find_by_prefix(object::ObjectKind::change, lower(name), 1));
      if (!also.empty()) {
        resolved.notice =
            quoted(name) + " is taken as the ref; it is also the beginning of change " + also.front().hex();
      }
    }
    return std::optional<Resolved>(std::move(resolved));
  }

  Result<std::optional<Resolved>> prefix(std::string_view text) {
    if (text.size() < kMinPrefixDigits || text.size() > 2 * ChangeId::kSize || !is_hex(text)) {
      return std::optional<Resolved>();
    }
    if (const auto id = ChangeId::parse(text)) {
      WEFT_TRY(const bool present, snapshot_.contains(object::ObjectKind::change, *id));
      if (!present) return std::optional<Resolved>();
      return std::optional<Resolved>(Resolved{Version(*id), {}, {}});
    }
    WEFT_TRY(const auto found, snapshot_.find_by_prefix(object::ObjectKind::change, lower(text), kMaxCandidates));
    if (found.empty()) return std::optional<Resolved>();
    if (found.size() > 1) return ambiguous(snapshot_, text, "change ids", found);
    return std::optional<Resolved>(Resolved{Version(found.front()), {}, {}});
  }

  Result<std::optional<Resolved>> git(std::string_view digits) {
    if (digits.size() < kMinPrefixDigits || digits.size() > 2 * store::GitId::kSize || !is_hex(digits)) {
      return make_error(Code::invalid, "git: wants 4 to 40 hex digits, not " + quoted(digits),
                        std::string(kVersionForms));
    }
    WEFT_TRY(const auto found, snapshot_.find_git_prefix(lower(digits), kMaxCandidates));
    if (found.empty()) return std::optional<Resolved>();
    if (found.size() > 1) return ambiguous(snapshot_, digits, "git commits", found);
    WEFT_TRY(const auto change, snapshot_.find_git_commit(found.front()));
    if (!change) return std::optional<Resolved>();
    return std::optional<Resolved>(Resolved{Version(*change), {}, {}});
  }

  /// REF@{N}, and @{N} for the head: what it held N moves ago.
  Result<std::optional<Resolved>> earlier(std::string_view text) {
    const std::size_t at = text.rfind("@{");
    if (at == std::string_view::npos) return std::optional<Resolved>();
    const std::string_view digits = text.substr(at + 2, text.size() - at - 3);
    std::uint64_t moves = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), moves);
    if (error != std::errc() || end != digits.data() + digits.size()) {
      return make_error(Code::invalid, quoted(text) + ": between the braces stands a number of moves",
                        "as in main@{1}");
    }
    std::string ref(text.substr(0, at));
    if (ref.empty() || ref == "@") {
      if (!repository_.location()) return repository_.require_workspace().error();
      ref = workspace_ref(repository_.location()->name);
    }
    std::uint64_t seen = 0;
    std::optional<store::RefValue> value;
    bool reached = false;
    std::optional<store::RefMoveRecord> last;
    WEFT_DO(snapshot_.reflog(ref, [&](const store::RefMoveRecord& move) {
      if (seen == moves) {
        value = move.after;
        reached = true;
        return false;
      }
      ++seen;
      last = move;
      return true;
    }));
    if (!reached && last && seen == moves) {
      value = last->before;
      reached = true;
    }
    if (!reached || !value) {
      return make_error(Code::not_found,
                        seen == 0 && !reached ? "there is no ref " + quoted(ref)
                                              : quoted(ref) + " held nothing " + std::to_string(moves) + " moves ago",
                        "weft ref log " + ref)
          .with("ref", ref);
    }
    return std::optional<Resolved>(Resolved{std::move(value->version), {}, {}});
  }

  const Repository& repository_;
  const store::Snapshot& snapshot_;
};

/// The snapshot and what was built on top of it.
class Overlaid final : public object::ObjectReader {
 public:
  Overlaid(const object::ObjectReader& below, const object::MemoryObjects& above) : below_(below), above_(above) {}
  Result<Bytes> read(object::ObjectKind kind, const ObjectId& id) const override {
    WEFT_TRY(const bool here, above_.contains(kind, id));
    return here ? above_.read(kind, id) : below_.read(kind, id);
  }
  Result<bool> contains(object::ObjectKind kind, const ObjectId& id) const override {
    WEFT_TRY(const bool here, above_.contains(kind, id));
    return here ? true : below_.contains(kind, id);
  }
  Result<std::unique_ptr<object::ByteSource>> open_blob(const ObjectId& id) const override {
    WEFT_TRY(const bool here, above_.contains(object::ObjectKind::blob, id));
    return here ? above_.open_blob(id) : below_.open_blob(id);
  }
  Result<std::uint64_t> blob_size(const ObjectId& id) const override {
    WEFT_TRY(const bool here, above_.contains(object::ObjectKind::blob, id));
    return here ? above_.blob_size(id) : below_.blob_size(id);
  }

 private:
  const object::ObjectReader& below_;
  const object::MemoryObjects& above_;
};

Error needs_real_merge(const Version& version) {
  return make_error(Code::conflicts, "the changes of " + version.text() + " cannot be merged node by node",
                    "name one of them");
}

Result<ObjectId> merged_tree(const store::Snapshot& snapshot, const Version& version) {
  object::MemoryObjects built;
  const Overlaid reader(snapshot, built);
  Version done(version.changes.front());
  WEFT_TRY(const auto first, snapshot.change_summary(version.changes.front()));
  ObjectId tree = first.tree;
  for (std::size_t i = 1; i < version.changes.size(); ++i) {
    const Version next(version.changes[i]);
    WEFT_TRY(const auto next_summary, snapshot.change_summary(version.changes[i]));
    WEFT_TRY(const Version bases, merge_bases(snapshot, done, next));
    if (bases.changes.size() > 1) return needs_real_merge(version);
    WEFT_TRY(const ObjectId base, tree_of(snapshot, bases));
    WEFT_TRY(const auto merge, tree::merge_by_node(reader, built, base, tree, next_summary.tree));
    if (!merge.tree) return needs_real_merge(version);
    tree = *merge.tree;
    done.changes.push_back(version.changes[i]);
  }
  WEFT_TRY(const bool stored, snapshot.contains(object::ObjectKind::tree, tree));
  if (!stored && tree != object::empty_tree_id()) {
    return make_error(Code::unsupported, "the merge of " + version.text() + " is not recorded in this store yet",
                      "record it first: `weft land` makes a merge change");
  }
  return tree;
}

}  // namespace

Result<Resolved> resolve_version(const Repository& repository, const store::Snapshot& snapshot, std::string_view text) {
  return Resolver(repository, snapshot).whole(text);
}

Result<ObjectId> tree_of(const store::Snapshot& snapshot, const Version& version) {
  if (version.empty()) return object::empty_tree_id();
  if (version.changes.size() > 1) return merged_tree(snapshot, version);
  WEFT_TRY(const auto summary, snapshot.change_summary(version.changes.front()));
  return summary.tree;
}

Result<std::string> short_id(const store::Snapshot& snapshot, object::ObjectKind kind, const ObjectId& id) {
  const std::string hex = id.hex();
  std::size_t digits = kShortDigits;
  while (digits < hex.size()) {
    WEFT_TRY(const auto found, snapshot.find_by_prefix(kind, std::string_view(hex).substr(0, digits), 2));
    if (found.size() < 2) break;
    // As many digits as tell these two apart, at least one more.
    const std::string a = found[0].hex();
    const std::string b = found[1].hex();
    std::size_t common = digits;
    while (common < hex.size() && a[common] == b[common]) ++common;
    digits = std::max(digits + 1, common + 1);
  }
  return hex.substr(0, std::min(digits, hex.size()));
}

}  // namespace weft::repo
