#include "git/conversation.h"

#include <algorithm>

namespace weft::git {
namespace {

constexpr std::string_view kUpgradeHint = "install weft and weft-git of one version, beside each other";

Error unexpected() { return make_error(Code::peer, "weft-git sent a message out of turn", std::string(kUpgradeHint)); }

/// The content of a large blob, as its Data messages come in.
class DataSource final : public object::ByteSource {
 public:
  DataSource(wire::FrameReader& reader, std::uint64_t size) : reader_(reader), left_(size) {}
  Result<std::size_t> read(std::span<char> out) override {
    if (out.empty()) return std::size_t{0};
    if (piece_.empty() && left_ > 0) {
      WEFT_TRY(const wire::Message message, reader_.next());
      const auto* data = std::get_if<wire::Data>(&message);
      if (!data || data->bytes.empty() || data->bytes.size() > left_) {
        return make_error(Code::peer, "weft-git broke off the content of a file", std::string(kUpgradeHint));
      }
      piece_ = data->bytes;
      left_ -= piece_.size();
    }
    const std::size_t count = std::min(out.size(), piece_.size());
    std::copy_n(piece_.data(), count, out.data());
    piece_.remove_prefix(count);
    return count;
  }

 private:
  wire::FrameReader& reader_;
  std::uint64_t left_;
  ByteView piece_;
};

Error from_failure(const wire::Failure& failure) {
  const auto code = [&failure] {
    switch (failure.kind) {
      case wire::FailureKind::not_repository:
        return Code::not_found;
      case wire::FailureKind::unsupported:
        return Code::unsupported;
      case wire::FailureKind::damaged:
      case wire::FailureKind::invalid:
        // Both are about the git repository: weft's own store is sound (exit code 3, not 5).
        return Code::invalid;
      case wire::FailureKind::io:
        return Code::io;
    }
    return Code::io;
  };
  return make_error(code(), std::string(failure.message), std::string(failure.hint));
}

Result<void> check_facts(const wire::Facts& facts) {
  if (facts.object_format != "sha1") {
    return make_error(Code::unsupported,
                      "the git repository names its objects by " + std::string(facts.object_format) +
                          ", which weft cannot read or write",
                      "only repositories that use SHA-1 will do");
  }
  if (facts.shallow) {
    return make_error(Code::unsupported, "the git repository is shallow: parts of its history are missing",
                      "git fetch --unshallow completes it");
  }
  if (facts.partial) {
    return make_error(Code::unsupported, "the git repository is a partial clone: files of its history may be missing",
                      "import a full clone (git clone without --filter)");
  }
  return {};
}

}  // namespace

Conversation::Conversation(wire::FrameReader::Read read, Write write)
    : reader_(std::move(read)), write_(std::move(write)) {}

Result<wire::Message> Conversation::next() {
  WEFT_TRY(wire::Message message, reader_.next());
  if (const auto* failure = std::get_if<wire::Failure>(&message)) return from_failure(*failure);
  return message;
}

Result<void> Conversation::send(const wire::Message& message) {
  Bytes frame;
  wire::append_frame(frame, message);
  return write_(frame);
}

Result<RepositoryFacts> Conversation::read_facts() {
  RepositoryFacts result;
  {
    WEFT_TRY(const wire::Message message, next());
    const auto* hello = std::get_if<wire::Hello>(&message);
    if (!hello) return unexpected();
    if (hello->version != wire::kVersion) {
      return make_error(Code::peer, "weft-git speaks another version of the protocol", std::string(kUpgradeHint));
    }
    result.program = std::string(hello->program);
  }
  {
    WEFT_TRY(const wire::Message message, next());
    const auto* facts = std::get_if<wire::Facts>(&message);
    if (!facts) return unexpected();
    WEFT_DO(check_facts(*facts));
    result.head = std::string(facts->head);
    result.work_tree = std::string(facts->work_tree);
    result.directory = std::string(facts->directory);
    result.head_commit = facts->head_commit;
    result.presence = facts->presence;
    result.sparse = facts->sparse;
    result.conversions = std::string(facts->conversions);
  }
  while (true) {
    WEFT_TRY(const wire::Message message, next());
    if (const auto* end = std::get_if<wire::RefsEnd>(&message)) {
      for (const auto group : end->others) result.others.emplace_back(group);
      return result;
    }
    const auto* ref = std::get_if<wire::Ref>(&message);
    if (!ref || result.refs.size() >= kMaxRefs) return unexpected();
    GitRef kept;
    kept.name = std::string(ref->name);
    kept.kind = ref->kind;
    kept.target = ref->target;
    kept.peeled = ref->peeled;
    for (const auto tag : ref->tags) kept.tags.emplace_back(tag);
    result.refs.push_back(std::move(kept));
  }
}

Result<void> Conversation::request(std::vector<Sha1> hidden, bool head) {
  wire::Request request;
  request.head = head;
  request.hidden = std::move(hidden);
  return send(request);
}

Result<Conversation::Received> Conversation::receive(Converter& converter, const AfterCommit& after_commit,
                                                     const Progress& progress) {
  std::uint64_t total = 0;
  std::uint64_t bytes = 0;
  while (true) {
    WEFT_TRY(const wire::Message message, next());
    if (const auto* put = std::get_if<wire::Put>(&message)) {
      bytes += put->size;
      WEFT_DO(take_put(*put, converter));
    } else if (const auto* removed = std::get_if<wire::Remove>(&message)) {
      WEFT_DO(converter.removed(*removed));
    } else if (const auto* gone = std::get_if<wire::GoneDirectory>(&message)) {
      WEFT_DO(converter.gone_directory(*gone));
    } else if (const auto* odd = std::get_if<wire::OddTree>(&message)) {
      bytes += odd->object.size();
      WEFT_DO(converter.odd_tree(*odd));
    } else if (const auto* commit = std::get_if<wire::Commit>(&message)) {
      bytes += commit->object.size();
      WEFT_DO(converter.begin(*commit));
    } else if (std::holds_alternative<wire::CommitEnd>(message)) {
      WEFT_TRY(const ImportedChange imported, converter.end());
      (void)imported;
      ++received_.commits;
      WEFT_DO(after_commit(bytes));
      bytes = 0;
      if (progress) progress(received_.commits + received_.known, total);
    } else if (const auto* offer = std::get_if<wire::Offer>(&message)) {
      WEFT_DO(answer(*offer, converter));
    } else if (const auto* count = std::get_if<wire::Total>(&message)) {
      total = count->commits;
    } else if (std::holds_alternative<wire::End>(message)) {
      return received_;
    } else {
      return unexpected();
    }
  }
}

Result<void> Conversation::answer(const wire::Offer& offer, Converter& converter) {
  Bytes bits((offer.commits.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < offer.commits.size(); ++i) {
    WEFT_TRY(const auto known, converter.find(offer.commits[i]));
    if (!known) continue;
    bits[i / 8] = static_cast<char>(static_cast<unsigned char>(bits[i / 8]) | (1u << (i % 8)));
    ++received_.known;
  }
  return send(wire::Known{bits});
}

Result<void> Conversation::take_put(const wire::Put& put, Converter& converter) {
  if (put.content != wire::Content::data) return converter.put(put, nullptr);
  // The frame that `put` points into goes away with the first piece of data.
  const Bytes path(put.path);
  wire::Put own = put;
  own.path = path;
  DataSource source(reader_, put.size);
  return converter.put(own, &source);
}

// --- export ---

Result<void> Conversation::flush_writes() {
  if (queued_.empty()) return {};
  const auto written = write_(queued_);
  queued_.clear();
  if (written) return {};
  // A helper that gave up says why before it goes.
  while (true) {
    auto said = next();
    if (said) continue;
    return said.error().code == Code::peer ? written.error() : said.error();
  }
}

Result<void> Conversation::queue(const wire::Message& message) {
  wire::append_frame(queued_, message);
  return queued_.size() < kFlushBytes ? Result<void>() : flush_writes();
}

Result<wire::Message> Conversation::ask(const wire::Message& question) {
  WEFT_DO(queue(question));
  WEFT_DO(flush_writes());
  return next();
}

Result<Bytes> Conversation::read(wire::GitKind kind, const Sha1& id) {
  WEFT_TRY(const wire::Message message, ask(wire::Read{kind, id}));
  const auto* found = std::get_if<wire::Found>(&message);
  if (!found) return unexpected();
  if (!found->found) {
    return make_error(Code::invalid, "the git repository lacks the object " + id.hex() + ", which its refs need",
                      "git fsck tells what is damaged; nothing was moved");
  }
  return Bytes(found->bytes);
}

Result<void> Conversation::write(wire::GitKind kind, const Sha1& id, std::string_view hint, ByteView bytes) {
  wire::Write message{kind, id, hint, true, bytes.size(), bytes};
  if (kind != wire::GitKind::blob || bytes.size() <= wire::kMaxInlineBytes) return queue(message);
  message.whole = false;
  message.bytes = {};
  WEFT_DO(queue(message));
  for (std::size_t at = 0; at < bytes.size(); at += wire::kMaxDataBytes) {
    WEFT_DO(queue(wire::Data{bytes.substr(at, wire::kMaxDataBytes)}));
  }
  return {};
}

Result<void> Conversation::write_blob(const Sha1& id, std::string_view hint, std::uint64_t size,
                                      object::ByteSource& source) {
  WEFT_DO(queue(wire::Write{wire::GitKind::blob, id, hint, false, size, {}}));
  Bytes buffer(wire::kMaxDataBytes, '\0');
  std::uint64_t come = 0;
  while (true) {
    WEFT_TRY(const std::size_t count, source.read(std::span(buffer.data(), buffer.size())));
    if (count == 0) break;
    come += count;
    if (come > size) break;
    WEFT_DO(queue(wire::Data{ByteView(buffer).substr(0, count)}));
  }
  if (come != size) return damaged("a file's content is not as long as it was a moment ago");
  return {};
}

Result<wire::Kept> Conversation::keep() {
  WEFT_TRY(const wire::Message message, ask(wire::Keep{}));
  const auto* kept = std::get_if<wire::Kept>(&message);
  if (!kept) return unexpected();
  return *kept;
}

Result<Conversation::Moved> Conversation::ask_move(const wire::Message& question) {
  WEFT_TRY(const wire::Message message, ask(question));
  const auto* moved = std::get_if<wire::Moved>(&message);
  if (!moved) return unexpected();
  return Moved{moved->status, moved->actual, std::string(moved->text)};
}

Result<Conversation::Moved> Conversation::move(std::string_view ref, const Sha1& expected, const Sha1& target,
                                               bool own_work_tree) {
  return ask_move(wire::Move{ref, expected, target, own_work_tree});
}

Result<Conversation::Moved> Conversation::attach(std::string_view branch) { return ask_move(wire::Attach{branch}); }

Result<void> Conversation::end() {
  WEFT_TRY(const wire::Message message, ask(wire::End{}));
  if (!std::holds_alternative<wire::End>(message)) return unexpected();
  return {};
}

}  // namespace weft::git
