#include "cli/session.h"

#include <algorithm>

#include "cli/dates.h"
#include "cli/output.h"
#include "cli/text.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

constexpr std::string_view kWorkspaces = "workspaces/";
constexpr std::string_view kPrivate[] = {"kept/", "rescue/"};

std::string names_text(const Invocation& invocation, const RefNames& names, const ChangeId& id) {
  const auto found = names.find(id);
  if (found == names.end()) return {};
  std::string out;
  for (const auto& name : found->second) {
    if (!out.empty()) out += paint(invocation, Style::yellow, ", ");
    out += paint(invocation, name == "@" ? Style::cyan : Style::green, printable(name));
  }
  return paint(invocation, Style::yellow, " (") + out + paint(invocation, Style::yellow, ")");
}

std::string person(const object::Signature& signature) {
  return printable(signature.name) + " <" + printable(signature.email) + ">";
}

}  // namespace

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
  std::string out = paint(invocation, Style::yellow, "change " + id.hex()) + names_text(invocation, names, id) + "\n";
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
  out += "Date:   " + date_text(change.author.time) + "\n";
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
  return paint(invocation, Style::yellow, shortened) + names_text(invocation, names, id) + " " +
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
