#include "git/refs.h"

#include <set>

#include "repo/history.h"
#include "repo/recording.h"

namespace weft::git {
namespace {

constexpr std::string_view kHeads = "refs/heads/";
constexpr std::string_view kTags = "refs/tags/";
constexpr std::string_view kRemotes = "refs/remotes/";
constexpr std::string_view kTagPrefix = "tags/";
constexpr std::string_view kPeerPrefix = "peer/";

/// Weft's name, without looking at whether weft can have it; empty for refs that are not imported.
std::string weft_name(std::string_view git_name) {
  if (git_name.starts_with(kHeads)) return std::string(git_name.substr(kHeads.size()));
  if (git_name.starts_with(kTags)) return std::string(kTagPrefix).append(git_name.substr(kTags.size()));
  if (git_name.starts_with(kRemotes)) return std::string(kPeerPrefix).append(git_name.substr(kRemotes.size()));
  return {};
}

std::string name_problem(std::string_view git_name, std::string_view name) {
  if (const auto problem = store::ref_name_problem(name); !problem.empty()) {
    return "no ref of weft can have that name: it " + std::string(problem);
  }
  if (!repo::check_movable_ref(name)) return "weft keeps names of that kind for itself";
  if (git_name.starts_with(kHeads) && (name.starts_with(kTagPrefix) || name.starts_with(kPeerPrefix))) {
    return "a branch of that name would stand among weft's tags or peers";
  }
  return {};
}

}  // namespace

std::string branch_ref(std::string_view git_name) {
  if (!git_name.starts_with(kHeads)) return {};
  std::string name = weft_name(git_name);
  return name_problem(git_name, name).empty() ? name : std::string();
}

std::string git_ref_name(std::string_view name) {
  if (!repo::check_movable_ref(name)) return {};
  if (name.starts_with(kTagPrefix)) return std::string(kTags).append(name.substr(kTagPrefix.size()));
  if (name.starts_with(kPeerPrefix)) return std::string(kRemotes).append(name.substr(kPeerPrefix.size()));
  return std::string(kHeads).append(name);
}

std::string weft_ref_name(std::string_view git_name) {
  std::string name = weft_name(git_name);
  return !name.empty() && name_problem(git_name, name).empty() ? name : std::string();
}

RefMapping map_refs(const std::vector<GitRef>& refs) {
  RefMapping mapping;
  std::set<std::string> names;
  for (const auto& ref : refs) {
    const auto skip = [&](std::string reason) { mapping.skipped.push_back({ref.name, std::move(reason)}); };
    std::string name = weft_name(ref.name);
    if (name.empty()) continue;
    const bool target = ref.kind == wire::TargetKind::tree || ref.kind == wire::TargetKind::blob;
    if (ref.kind != wire::TargetKind::commit && !(target && name.starts_with(kTagPrefix))) {
      skip(ref.kind == wire::TargetKind::tree     ? "it names a tree, not a commit"
           : ref.kind == wire::TargetKind::blob   ? "it names a file's content, not a commit"
           : ref.kind == wire::TargetKind::broken ? "it is broken: git cannot read it either"
                                                  : "what it names is missing in the git repository");
      continue;
    }
    if (auto problem = name_problem(ref.name, name); !problem.empty()) {
      skip(std::move(problem));
      continue;
    }
    if (!names.insert(name).second) {
      skip("another git ref already becomes " + name);
      continue;
    }
    MappedRef mapped;
    mapped.git_name = ref.name;
    mapped.mirror = name.starts_with(kPeerPrefix);
    mapped.name = std::move(name);
    mapped.commit = ref.peeled;
    if (!ref.tags.empty()) mapped.extra = encode_tags(ref.tags);
    mapping.refs.push_back(std::move(mapped));
  }
  return mapping;
}

Bytes encode_tags(const std::vector<Bytes>& tags) {
  Bytes out;
  ByteWriter writer(out);
  writer.u8(kTagsVersion);
  writer.varint(tags.size());
  for (const auto& tag : tags) writer.sized(tag);
  return out;
}

Result<std::vector<Bytes>> decode_tags(ByteView extra) {
  ByteReader reader(extra);
  std::vector<Bytes> tags;
  if (reader.u8() != kTagsVersion) reader.fail();
  const auto count = reader.varint_max(wire::kMaxTagDepth);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) tags.emplace_back(reader.sized(wire::kMaxObjectBytes));
  if (!reader.ok() || !reader.at_end() || tags.empty()) return damaged("a ref's annotated tag is malformed");
  return tags;
}

std::string_view name(RefAction action) {
  switch (action) {
    case RefAction::created:
      return "created";
    case RefAction::moved:
      return "moved";
    case RefAction::unchanged:
      return "unchanged";
    case RefAction::behind:
      return "behind";
    case RefAction::diverged:
      return "diverged";
  }
  return {};
}

Result<PlannedRef> plan_ref(const store::Snapshot& snapshot, const MappedRef& ref, const ChangeId& change) {
  PlannedRef planned;
  planned.ref = ref;
  planned.change = change;
  WEFT_TRY(const auto current, snapshot.ref(ref.name));
  if (!current) {
    planned.action = RefAction::created;
    return planned;
  }
  planned.before = current->version;
  const object::Version after(change);
  if (current->version == after) {
    planned.action = current->extra == ref.extra ? RefAction::unchanged : RefAction::moved;
    return planned;
  }
  if (ref.mirror) {
    planned.action = RefAction::moved;
    return planned;
  }
  WEFT_TRY(const bool forward, repo::is_ancestor(snapshot, current->version, after));
  if (forward) {
    planned.action = RefAction::moved;
    return planned;
  }
  WEFT_TRY(const bool back, repo::is_ancestor(snapshot, after, current->version));
  planned.action = back ? RefAction::behind : RefAction::diverged;
  return planned;
}

}  // namespace weft::git
