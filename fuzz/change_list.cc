// A change list: whatever parses can be applied to an empty tree, or is refused by a clear error; nothing else happens.
#include <cstddef>
#include <cstdint>

#include "base/testing/fake_env.h"
#include "object/memory_objects.h"
#include "repo/change_list.h"
#include "tree/tree.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const auto list = repo::parse_change_list({reinterpret_cast<const char*>(data), size});
  if (!list) {
    WEFT_CHECK(list.error().code == Code::invalid && !list.error().message.empty());
    return 0;
  }
  FakeEnv world;
  Env env = world.env();  // the simulated file system: `file` finds nothing on the real one
  const repo::Context context{env, "/", {}, 0};
  object::MemoryObjects objects;
  const auto root = object::write_directory(objects, {}).value();
  const auto tree = repo::apply_change_list(context, *list, objects, objects, root);
  if (!tree) {
    WEFT_CHECK(tree.error().code != Code::internal && tree.error().code != Code::damaged);
    return 0;
  }
  // What was built is a tree every reader accepts (CASES C17).
  const auto walked = tree::walk(objects, *tree, "", [](const tree::PathEntry& entry) -> Result<bool> {
    WEFT_CHECK(tree::check_path(entry.path).has_value());
    return true;
  });
  WEFT_CHECK(walked.has_value());
  return 0;
}
