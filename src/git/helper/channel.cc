#include "git/helper/channel.h"

namespace weft::git::helper {
namespace {

std::string program_text() {
  int major = 0;
  int minor = 0;
  int revision = 0;
  git_libgit2_version(&major, &minor, &revision);
  return "weft-git, libgit2 " + std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
}

wire::FailureKind failure_kind(Code code) {
  switch (code) {
    case Code::not_found:
      return wire::FailureKind::not_repository;
    case Code::unsupported:
      return wire::FailureKind::unsupported;
    case Code::damaged:
      return wire::FailureKind::damaged;
    case Code::invalid:
      return wire::FailureKind::invalid;
    default:
      return wire::FailureKind::io;
  }
}

}  // namespace

Channel::Channel(Fd in, Fd out)
    : in_(std::move(in)),
      out_(std::move(out)),
      reader_([this](std::span<char> buffer) { return read_some(in_, buffer, "weft"); }) {}

Result<void> Channel::send(const wire::Message& message) {
  wire::append_frame(pending_, message);
  if (pending_.size() < kFlushBytes) return {};
  return flush();
}

Result<void> Channel::flush() {
  WEFT_DO(write_all(out_, pending_, "weft"));
  pending_.clear();
  return {};
}

Result<void> Channel::run(const std::function<Result<void>()>& converse) {
  auto result = converse();
  if (!result) {
    const Error& error = result.error();
    // weft may be gone already: then nobody is left to tell.
    auto told = send(wire::Failure{failure_kind(error.code), error.message, error.hint});
    if (told) told = flush();
    if (!told) return told;
  }
  return result;
}

Result<void> Channel::send_hello() {
  const std::string program = program_text();
  return send(wire::Hello{wire::kVersion, program});
}

Result<Channel::Tips> Channel::send_facts(const Repository& repository, wire::Presence presence) {
  WEFT_TRY(const Repository::Facts facts, repository.facts());
  wire::Facts message;
  message.object_format = facts.object_format;
  message.head = facts.head;
  message.work_tree = facts.work_tree;
  message.directory = facts.directory;
  message.head_commit = facts.head_commit;
  message.presence = presence;
  message.shallow = facts.shallow;
  message.partial = facts.partial;
  message.sparse = facts.sparse;
  message.conversions = facts.conversions;
  WEFT_DO(send(message));
  // weft refuses these by name; reading their refs could already fail.
  Tips tips;
  std::vector<std::string> others;
  if (facts.object_format == "sha1" && !facts.shallow && !facts.partial) {
    WEFT_TRY(others, send_refs(repository, tips));
  }
  WEFT_DO(send(wire::RefsEnd{{others.begin(), others.end()}}));
  WEFT_DO(flush());
  return tips;
}

Result<std::vector<std::string>> Channel::send_refs(const Repository& repository, Tips& tips) {
  return repository.for_each_ref([&](const Repository::Reference& reference) -> Result<void> {
    wire::Ref message;
    message.name = reference.name;
    message.target = reference.target;
    message.kind = reference.kind;
    message.peeled = reference.peeled;
    std::size_t bytes = reference.name.size();
    for (const auto& tag : reference.tags) {
      message.tags.push_back(tag);
      bytes += tag.size();
    }
    if (bytes > wire::kMaxObjectBytes) {
      return make_error(Code::invalid, "the git tag " + quoted(reference.name) + " is too large");
    }
    if (reference.kind == wire::TargetKind::commit) {
      tips.commits.push_back(reference.peeled);
    } else if (reference.name.starts_with(wire::kTagRefs) &&
               (reference.kind == wire::TargetKind::tree || reference.kind == wire::TargetKind::blob)) {
      tips.targets.emplace_back(reference.peeled, reference.kind);
    }
    return send(message);
  });
}

}  // namespace weft::git::helper
