#include "cli/session.h"

#include <algorithm>

#include "cli/output.h"
#include "cli/text.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

constexpr std::string_view kWorkspaces = "workspaces/";
constexpr std::string_view kPrivate[] = {"kept/", "rescue/"};

std::string person(const object::Signature& signature) {
  return printable(signature.name) + " <" + printable(signature.email) + ">";
}

}  // namespace

std::string names_text(const Invocation& invocation, const RefNames& names, const ChangeId& id) {
  const auto found = names.find(id);
  if (found == names.end()) return {};
  std::string out;
  for (const auto& name : found->second) {
    if (!out.empty()) out += paint(invocation, Style::id, ", ");
    out += paint(invocation, name == "@" ? Style::head : Style::ref, printable(name));
  }
  return paint(invocation, Style::id, " (") + out + paint(invocation, Style::id, ")");
}

Result<repo::Repository> open_repository(Invocation& invocation) {
  WEFT_TRY(auto repository, repo::Repository::open(invocation.context));
  for (const auto& text : repository.store().notices()) notice(invocation, text);
  if (const auto& damage = repository.store().damage()) {
    notice(invocation, "this store is damaged: " + damage->message);
    if (!damage->hint.empty()) hint(invocation, damage->hint);
  }
  return repository;
}

Result<repo::Resolved> resolve(Invocation& invocation, const repo::Repository& repository,
                               const store::Snapshot& snapshot, std::string_view text) {
  WEFT_TRY(auto resolved, repo::resolve_version(repository, snapshot, text));
  if (!resolved.notice.empty()) notice(invocation, resolved.notice);
  return resolved;
}

Result<VersionPath> resolve_version_path(Invocation& invocation, const repo::Repository& repository,
                                         const store::Snapshot& snapshot, std::string_view text) {
  VersionPath out;
  const std::size_t colon = text.find(':');
  // `tree:` and the like begin an id, and `git:SHA` a version: their colon is not the one in front of a path.
  const std::size_t after = text.starts_with("git:") ? text.find(':', 4) : colon;
  if (after == std::string_view::npos) {
    WEFT_TRY(out.version, resolve(invocation, repository, snapshot, "@"));
    WEFT_TRY(out.path, repository.repo_path(text));
  } else {
    WEFT_TRY(out.version, resolve(invocation, repository, snapshot, text.substr(0, after)));
    std::string_view path = text.substr(after + 1);
    while (path.starts_with("./")) path.remove_prefix(2);
    while (path.ends_with('/')) path.remove_suffix(1);
    out.path = path == "." ? "" : path;
    if (!out.path.empty()) WEFT_DO(tree::check_path(out.path));
  }
  WEFT_TRY(out.tree, repo::tree_of(snapshot, out.version.version));
  return out;
}

Error no_such_path(const store::Snapshot& snapshot, const VersionPath& at) {
  if (at.version.version.empty()) {
    return make_error(Code::not_found, "there is no " + quoted_always(at.path) + ": nothing is recorded yet",
                      "`weft commit` records the working tree")
        .with("path", at.path);
  }
  const auto version = short_version(snapshot, at.version.version);
  return make_error(Code::not_found,
                    "version " + (version ? *version : at.version.version.text()) + " has no " + quoted_always(at.path),
                    "`weft ls -r` lists what a version has, `weft log --all -- PATH` finds changes that had it")
      .with("path", at.path);
}

Result<RefNames> ref_names(const repo::Repository& repository, const store::Snapshot& snapshot) {
  RefNames out;
  WEFT_TRY(const auto refs, snapshot.refs());
  const std::string own = repository.workspace() ? repo::workspace_ref(repository.workspace()->name) : std::string();
  for (const auto& ref : refs) {
    if (std::any_of(std::begin(kPrivate), std::end(kPrivate),
                    [&](auto prefix) { return ref.name.starts_with(prefix); })) {
      continue;
    }
    std::string name = ref.name;
    if (name == own) {
      name = "@";
    } else if (name.starts_with(kWorkspaces)) {
      name = name.substr(kWorkspaces.size()) + "@";
    }
    for (const auto& id : ref.value.version.changes) {
      auto& names = out[id];
      names.insert(name == "@" ? names.begin() : names.end(), name);
    }
  }
  return out;
}

std::string git_commit_of(const object::Change& change) {
  const Bytes* sha = change.find_extra("git-sha1");
  return sha != nullptr && sha->size() == store::GitId::kSize ? to_hex(*sha) : std::string();
}

namespace {

constexpr std::size_t kMinDigits = 4, kMaxCandidates = 10;

Result<ObjectId> object_by_prefix(const store::Snapshot& snapshot, object::ObjectKind kind, std::string_view word,
                                  std::string_view digits) {
  const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digits.size() < kMinDigits || digits.size() > 2 * ObjectId::kSize ||
      !std::all_of(digits.begin(), digits.end(), is_hex)) {
    return make_error(Code::invalid, quoted_always(word) + " is no id", "an id has 4 to 64 digits, 0 to 9 and a to f");
  }
  WEFT_TRY(const auto found, snapshot.find_by_prefix(kind, digits, kMaxCandidates));
  if (found.size() == 1) return found.front();
  const std::string name(object::name(kind));
  if (found.empty()) {
    return make_error(Code::not_found, "there is no " + name + " " + quoted_always(digits),
                      "`weft ls -l` shows the ids of files");
  }
  Error error = make_error(Code::ambiguous, quoted_always(word) + " begins several ids", "give more digits");
  for (const auto& each : found) error.details.emplace_back("candidate", each.hex());
  return error;
}

}  // namespace

Result<std::optional<NamedObject>> find_object(Invocation& invocation, const repo::Repository& repository,
                                               const store::Snapshot& snapshot, std::string_view word) {
  NamedObject out;
  if (word.starts_with("blob:") || word.starts_with("tree:")) {
    out.kind = word[0] == 'b' ? object::ObjectKind::blob : object::ObjectKind::tree;
    WEFT_TRY(out.id, object_by_prefix(snapshot, out.kind, word, word.substr(5)));
    return std::optional(std::move(out));
  }
  if (!word.starts_with("node:")) return std::optional<NamedObject>();
  const std::string_view digits = word.substr(5);
  if (digits.size() < kMinDigits) {
    return make_error(Code::invalid, quoted_always(word) + " is no node id", "give 4 digits and more");
  }
  WEFT_TRY(const auto head, resolve(invocation, repository, snapshot, "@"));
  WEFT_TRY(const auto root, repo::tree_of(snapshot, head.version));
  std::size_t matches = 0;
  WEFT_DO(tree::walk(snapshot, root, "", [&](const tree::PathEntry& at) -> Result<bool> {
    if (at.entry.node.hex().starts_with(digits) && ++matches == 1) {
      out.entry = at.entry;
      out.path = at.path;
      out.id = at.entry.id;
      if (at.entry.kind == object::EntryKind::directory) out.kind = object::ObjectKind::tree;
    }
    return true;
  }));
  if (matches > 1) return make_error(Code::ambiguous, quoted_always(word) + " begins several ids", "give more digits");
  if (matches == 0) {
    return make_error(Code::not_found, "there is no node " + quoted_always(digits) + " in `@`",
                      "`weft ls --json` shows the nodes of files");
  }
  return std::optional(std::move(out));
}

Json json_change(const ChangeId& id, const object::Change& change, const RefNames& names) {
  Json parents = Json::array();
  for (const auto& parent : change.parents) parents.push(parent.hex());
  Json refs = Json::array();
  if (const auto found = names.find(id); found != names.end()) {
    for (const auto& name : found->second) refs.push(name);
  }
  Json out = Json::object();
  out.set("id", id.hex())
      .set("parents", parents)
      .set("author", json_signature(change.author))
      .set("committer", json_signature(change.committer))
      .set("message", change.message)
      .set("tree", change.tree.hex())
      .set("form", change.form == object::OpsForm::recorded ? "recorded" : "derived")
      .set("lamport", change.lamport)
      .set("refs", refs);
  if (!change.agent.empty()) out.set("agent", change.agent);
  if (!change.job.empty()) out.set("job", change.job);
  if (const auto git = git_commit_of(change); !git.empty()) out.set("git", git);
  return out;
}

std::string change_text(const Invocation& invocation, const store::Snapshot& snapshot, const ChangeId& id,
                        const object::Change& change, const RefNames& names) {
  std::string out = paint(invocation, Style::id, "change " + id.hex()) + names_text(invocation, names, id) + "\n";
  if (change.parents.size() > 1) {
    out += "Merge: ";
    for (const auto& parent : change.parents) {
      const auto shortened = repo::short_id(snapshot, object::ObjectKind::change, parent);
      out += (&parent == change.parents.data() ? "" : " ") + (shortened ? *shortened : parent.hex());
    }
    out += "\n";
  }
  out += "Author: " + person(change.author) + "\n";
  if (invocation.common.verbose) {
    out += "Committer: " + person(change.committer) + "\n";
  }
  if (!change.agent.empty()) out += "Agent:  " + printable(change.agent) + "\n";
  if (!change.job.empty()) out += "Job:    " + printable(change.job) + "\n";
  if (invocation.common.verbose) {
    if (const auto git = git_commit_of(change); !git.empty()) out += "Git:    " + git + "\n";
    out += "Tree:   " + change.tree.hex() + "\n";
  }
  out += "Date:   " + shown_date(invocation, change.author.time) + "\n";
  std::string message = printable(change.message);
  while (message.ends_with('\n')) message.pop_back();
  if (message.empty()) return out;
  out += "\n";
  for (std::string_view rest = message; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) (out += "    ") += rest.substr(0, end);
    out += "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

Result<std::string> change_line(const Invocation& invocation, const store::Snapshot& snapshot, const ChangeId& id,
                                const object::Change& change, const RefNames& names) {
  WEFT_TRY(const auto shortened, repo::short_id(snapshot, object::ObjectKind::change, id));
  return paint(invocation, Style::id, shortened) + names_text(invocation, names, id) + " " +
         printable(subject(change.message));
}

Result<std::string> short_version(const store::Snapshot& snapshot, const object::Version& version) {
  if (version.empty()) return std::string("none");
  std::string out;
  for (const auto& id : version.changes) {
    WEFT_TRY(const auto shortened, repo::short_id(snapshot, object::ObjectKind::change, id));
    out += (out.empty() ? "" : "+") + shortened;
  }
  return out;
}

}  // namespace weft::cli
