#include "git/git_object.h"

// The low-level routine, like base/hash.cc: its first call costs nothing.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>
#include <new>

namespace weft::git {
namespace {

constexpr std::size_t kMaxModeDigits = 7;

SHA_CTX* context(unsigned char* state) { return std::launder(reinterpret_cast<SHA_CTX*>(state)); }

/// The value of the line `text` begins with ("KEY VALUE\n"), which is cut off; nullopt, and nothing cut, on any other
/// line.
std::optional<std::string_view> take_value(std::string_view& text, std::string_view key) {
  const auto end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const auto line = text.substr(0, end);
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ' ') return std::nullopt;
  text.remove_prefix(end + 1);
  return line.substr(key.size() + 1);
}

void append_line(Bytes& out, std::string_view key, const Sha1& id) {
  out += key;
  out += ' ';
  out += id.hex();
  out += '\n';
}

/// Git sorts directories as if their names ended in '/'.
bool git_less(const TreeItem& a, const TreeItem& b) {
  const auto common = std::min(a.name.size(), b.name.size());
  if (const int order = a.name.substr(0, common).compare(b.name.substr(0, common)); order != 0) return order < 0;
  const auto next = [common](const TreeItem& item) -> unsigned char {
    if (item.name.size() > common) return static_cast<unsigned char>(item.name[common]);
    return is_directory(item.mode) ? '/' : '\0';
  };
  return next(a) < next(b);
}

bool is_git_mode(std::uint32_t mode) {
  return mode == kModeFile || mode == kModeExecutable || mode == kModeSymlink || mode == kModeSubmodule ||
         mode == kModeDirectory;
}

Error bad_tree() { return damaged("a git tree object is malformed"); }

}  // namespace

Sha1Hasher::Sha1Hasher(std::string_view kind, std::uint64_t size) {
  static_assert(sizeof(SHA_CTX) <= sizeof(state_) && alignof(SHA_CTX) <= 8);
  WEFT_CHECK(SHA1_Init(new (state_) SHA_CTX) == 1);
  std::string header(kind);
  header += ' ';
  header += std::to_string(size);
  header += '\0';
  update(header);
}

void Sha1Hasher::update(ByteView data) { WEFT_CHECK(SHA1_Update(context(state_), data.data(), data.size()) == 1); }

Sha1 Sha1Hasher::finish() {
  Sha1 id;
  WEFT_CHECK(SHA1_Final(id.bytes.data(), context(state_)) == 1);
  return id;
}

Sha1 git_object_id(std::string_view kind, ByteView object) {
  Sha1Hasher hasher(kind, object.size());
  hasher.update(object);
  return hasher.finish();
}

Result<CommitObject> parse_commit(ByteView object) {
  CommitObject commit;
  std::string_view rest = object;
  const auto tree = take_value(rest, "tree");
  const auto tree_id = tree ? Sha1::parse(*tree) : std::nullopt;
  if (!tree_id) return damaged("a git commit object does not begin with a tree line");
  commit.tree = *tree_id;
  while (true) {
    std::string_view next = rest;
    const auto parent = take_value(next, "parent");
    const auto parent_id = parent ? Sha1::parse(*parent) : std::nullopt;
    if (!parent_id) break;
    commit.parents.push_back(*parent_id);
    rest = next;
  }
  commit.rest = rest;
  commit.canonical_head = object.substr(0, object.size() - rest.size()) == commit_head(commit.tree, commit.parents);
  return commit;
}

Bytes commit_head(const Sha1& tree, const std::vector<Sha1>& parents) {
  Bytes out;
  append_line(out, "tree", tree);
  for (const auto& parent : parents) append_line(out, "parent", parent);
  return out;
}

Result<TagTarget> parse_tag(ByteView object) {
  std::string_view rest = object;
  const auto target = take_value(rest, "object");
  const auto id = target ? Sha1::parse(*target) : std::nullopt;
  const auto type = take_value(rest, "type");
  if (!id || !type) return damaged("a git tag object does not begin with an object line and a type line");
  return TagTarget{*id, *type};
}

Result<TreeObject> parse_tree(ByteView object) {
  TreeObject tree;
  std::string_view rest = object;
  while (!rest.empty()) {
    const auto space = rest.find(' ');
    if (space == std::string_view::npos || space == 0 || space > kMaxModeDigits) return bad_tree();
    TreeItem item;
    for (const char digit : rest.substr(0, space)) {
      if (digit < '0' || digit > '7') return bad_tree();
      item.mode = item.mode * 8 + static_cast<std::uint32_t>(digit - '0');
    }
    if (rest[0] == '0' || !is_git_mode(item.mode)) tree.canonical = false;
    item.mode &= 0177777;
    rest.remove_prefix(space + 1);
    const auto end = rest.find('\0');
    if (end == std::string_view::npos || rest.size() - end - 1 < Sha1::kSize) return bad_tree();
    item.name = rest.substr(0, end);
    item.id = Sha1::from_bytes(rest.substr(end + 1, Sha1::kSize));
    rest.remove_prefix(end + 1 + Sha1::kSize);
    if (!tree.items.empty() && !git_less(tree.items.back(), item)) tree.canonical = false;
    tree.items.push_back(item);
  }
  return tree;
}

Bytes write_tree(std::vector<TreeItem> items) {
  std::sort(items.begin(), items.end(), git_less);
  Bytes out;
  for (const auto& item : items) {
    char digits[12];
    std::size_t length = 0;
    for (std::uint32_t mode = item.mode; mode != 0; mode /= 8) digits[length++] = static_cast<char>('0' + mode % 8);
    while (length > 0) out += digits[--length];
    out += ' ';
    out += item.name;
    out += '\0';
    out += item.id.view();
  }
  return out;
}

}  // namespace weft::git
