#include "git/helper/session.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "git/helper/walk.h"

namespace weft::git::helper {
/// Turns what a TreeDiff finds into messages.
class Session::Sender : public DiffSink {
 public:
  Sender(Session& session, const Repository& repository) : session_(session), repository_(repository) {}

  Result<void> gone_directory(const std::string& path) override {
    return session_.channel_.send(wire::GoneDirectory{path});
  }
  Result<void> removed(const std::string& path) override { return session_.channel_.send(wire::Remove{path}); }
  Result<void> odd_tree(const std::string& path, ByteView object) override {
    return session_.channel_.send(wire::OddTree{path, object});
  }

  Result<void> put(const std::string& path, const TreeItem& item, std::optional<std::size_t> parent) override {
    if (path.size() > wire::kMaxPathBytes)
      return make_error(Code::invalid, "the git history has a path that is too long");
    wire::Put put;
    put.path = path;
    put.mode = item.mode;
    put.id = item.id;
    if (is_submodule(item.mode)) return session_.channel_.send(put);
    if (session_.blobs_.find(item.id)) {
      put.content = wire::Content::table;
      return session_.channel_.send(put);
    }
    session_.blobs_.insert(item.id, 0);
    if (parent) {
      put.content = wire::Content::parent;
      put.parent = static_cast<std::uint32_t>(*parent);
      return session_.channel_.send(put);
    }
    return send_content(put);
  }

 private:
  Result<void> send_content(wire::Put& put) {
    bool whole = false;
    const auto begin = [&](std::uint64_t size) -> Result<void> {
      put.size = size;
      // A blob that fits a Put is one piece; it is sent when that piece comes (or now, when there is none).
      whole = size <= wire::kMaxInlineBytes;
      put.content = whole ? wire::Content::inline_bytes : wire::Content::data;
      if (whole && size > 0) return {};
      return session_.channel_.send(put);
    };
    const auto data = [&](ByteView bytes) -> Result<void> {
      if (!whole) return session_.channel_.send(wire::Data{bytes});
      put.bytes = bytes;
      return session_.channel_.send(put);
    };
    static_assert(wire::kMaxInlineBytes <= wire::kMaxDataBytes);
    return repository_.read_blob(put.id, wire::kMaxDataBytes, begin, data);
  }

  Session& session_;
  const Repository& repository_;
};

Result<void> Session::run(const std::string& repository_path) {
  WEFT_DO(channel_.send_hello());
  WEFT_TRY(const Repository repository, Repository::open(repository_path));
  WEFT_TRY(Channel::Tips tips, channel_.send_facts(repository, wire::Presence::existing));
  WEFT_TRY(const wire::Message answer, channel_.next());
  const auto* request = std::get_if<wire::Request>(&answer);
  if (!request || request->version != wire::kVersion) {
    return make_error(Code::peer, "weft asked for something this weft-git does not know");
  }
  if (request->head) {
    WEFT_TRY(const Repository::Facts facts, repository.facts());
    if (!facts.head_commit.is_zero()) tips.commits.push_back(facts.head_commit);
  }
  const auto parents = [&](const Sha1& commit) -> Result<std::vector<Sha1>> {
    WEFT_TRY(const RawObject object, repository.read(commit, GIT_OBJECT_COMMIT));
    WEFT_TRY(CommitObject parsed, parse_commit(object.bytes()));
    return std::move(parsed.parents);
  };
  WEFT_TRY(std::vector<Sha1> order, order_commits(tips.commits, request->hidden, parents));
  const std::unordered_set<Sha1, IdHash> hidden(request->hidden.begin(), request->hidden.end());
  for (const auto& [id, kind] : tips.targets) {
    if (!hidden.contains(id) && targets_.emplace(id, kind).second) order.push_back(id);
  }
  WEFT_DO(channel_.send(wire::Total{order.size()}));
  WEFT_DO(send_history(repository, order));
  WEFT_DO(channel_.send(wire::End{order.size()}));
  return channel_.flush();
}

Result<void> Session::send_history(const Repository& repository, const std::vector<Sha1>& order) {
  TreeDiff trees([&repository](const Sha1& id) -> Result<Bytes> {
    WEFT_TRY(const RawObject object, repository.read(id, GIT_OBJECT_TREE));
    return Bytes(object.bytes());
  });
  // The next offer is under way while weft answers this one (GW3).
  std::size_t offered = 0;
  std::deque<std::vector<Sha1>> open;
  const auto offer_next = [&]() -> Result<void> {
    const std::size_t count = std::min(wire::kMaxOffer, order.size() - offered);
    if (count == 0) return {};
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(offered);
    wire::Offer offer;
    offer.commits.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    offered += count;
    WEFT_DO(channel_.send(offer));
    open.push_back(std::move(offer.commits));
    return channel_.flush();
  };
  WEFT_DO(offer_next());
  while (!open.empty()) {
    WEFT_DO(offer_next());
    const std::vector<Sha1> commits = std::move(open.front());
    open.pop_front();
    WEFT_TRY(const wire::Message answer, channel_.next());
    const auto* known = std::get_if<wire::Known>(&answer);
    if (!known || known->bits.size() != (commits.size() + 7) / 8) {
      return make_error(Code::peer, "weft's answer does not fit what was offered");
    }
    std::vector<bool> has(commits.size());
    for (std::size_t i = 0; i < commits.size(); ++i) has[i] = (known->bits[i / 8] >> (i % 8) & 1) != 0;
    for (std::size_t i = 0; i < commits.size(); ++i) {
      if (!has[i]) WEFT_DO(send_one(repository, trees, commits[i]));
    }
  }
  return {};
}

Result<void> Session::send_one(const Repository& repository, TreeDiff& trees, const Sha1& id) {
  const auto target = targets_.find(id);
  if (target == targets_.end()) return send_commit(repository, trees, id);
  return send_target(repository, trees, id, target->second);
}

Result<void> Session::send_target(const Repository& repository, TreeDiff& trees, const Sha1& id,
                                  wire::TargetKind kind) {
  WEFT_DO(channel_.send(wire::Commit{id, kind, {}}));
  Sender sender(*this, repository);
  if (kind == wire::TargetKind::blob) {
    WEFT_DO(sender.put(std::string(wire::kTargetName), {wire::kTargetName, kModeFile, id}, std::nullopt));
  } else if (auto diffed = trees.diff({}, id, sender); !diffed) {
    Error error = std::move(diffed).error();
    error.message += ", in the tree " + id.hex() + ", which a tag names";
    return error;
  }
  return channel_.send(wire::CommitEnd{});
}

Result<void> Session::send_commit(const Repository& repository, TreeDiff& trees, const Sha1& id) {
  WEFT_TRY(const RawObject object, repository.read(id, GIT_OBJECT_COMMIT));
  WEFT_DO(channel_.send(wire::Commit{id, wire::TargetKind::commit, object.bytes()}));
  WEFT_TRY(const CommitObject commit, parse_commit(object.bytes()));
  remember_root(id, commit.tree);
  std::vector<Sha1> parent_trees;
  for (const auto& parent : commit.parents) {
    WEFT_TRY(const Sha1 tree, root_tree(repository, parent));
    parent_trees.push_back(tree);
  }
  Sender sender(*this, repository);
  auto diffed = trees.diff(parent_trees, commit.tree, sender);
  if (!diffed) {
    Error error = std::move(diffed).error();
    error.message += ", in commit " + id.hex();
    return error;
  }
  return channel_.send(wire::CommitEnd{});
}

Result<Sha1> Session::root_tree(const Repository& repository, const Sha1& commit) {
  for (const auto* generation : {&roots_, &older_roots_}) {
    if (const auto found = generation->find(commit); found != generation->end()) return found->second;
  }
  WEFT_TRY(const RawObject object, repository.read(commit, GIT_OBJECT_COMMIT));
  WEFT_TRY(const CommitObject parsed, parse_commit(object.bytes()));
  remember_root(commit, parsed.tree);
  return parsed.tree;
}

void Session::remember_root(const Sha1& commit, const Sha1& tree) {
  if (roots_.size() >= kRootTrees) {
    older_roots_ = std::move(roots_);
    roots_.clear();
  }
  roots_[commit] = tree;
}

}  // namespace weft::git::helper
