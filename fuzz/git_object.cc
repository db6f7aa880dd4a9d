// A commit, tag or tree object of git: a commit comes back byte for byte from the change made of it, a tree that is
// called canonical from its items; and whatever author and message such a change has, as a change of weft's own it
// becomes a commit that names it.
#include <cstddef>
#include <cstdint>

#include "git/commit_object.h"
#include "git/export_commit.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteView input(reinterpret_cast<const char*>(data), size);
  if (const auto commit = git::parse_commit(input)) {
    object::Change change;
    git::fill_change(change, git::git_object_id("commit", input), *commit, input, true);
    WEFT_CHECK(git::commit_bytes(change, commit->tree, commit->parents).value() == input);
    change.tree.bytes[0] = 1;
    WEFT_CHECK(object::check_change(change).has_value());
    const Bytes native = git::native_commit_bytes(change, change.tree, commit->tree, commit->parents);
    const auto again = git::parse_commit(native);
    WEFT_CHECK(again && again->canonical_head && git::named_change(*again) == change.tree);
    WEFT_CHECK(native.find('\0') == Bytes::npos);
  }
  if (const auto tree = git::parse_tree(input)) {
    WEFT_CHECK(!tree->canonical || git::write_tree(tree->items) == input);
  }
  (void)git::parse_tag(input);
  return 0;
}
