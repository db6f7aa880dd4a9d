#include "git/helper/walk.h"

#include <unordered_set>

namespace weft::git::helper {

Result<std::vector<Sha1>> order_commits(const std::vector<Sha1>& tips, const std::vector<Sha1>& hidden,
                                        const ReadParents& parents) {
  struct Step {
    Sha1 id;
    bool leave;  ///< its parents are done
  };
  std::vector<Sha1> order;
  std::unordered_set<Sha1, IdHash> visited(hidden.begin(), hidden.end());
  std::vector<Step> stack;
  for (const auto& tip : tips) {
    stack.push_back({tip, false});
    while (!stack.empty()) {
      const Step step = stack.back();
      stack.pop_back();
      if (step.leave) {
        order.push_back(step.id);
        continue;
      }
      if (!visited.insert(step.id).second) continue;
      if (visited.size() > kMaxCommits) return make_error(Code::invalid, "the git repository has too many commits");
      WEFT_TRY(const std::vector<Sha1> below, parents(step.id));
      stack.push_back({step.id, true});
      for (auto parent = below.rbegin(); parent != below.rend(); ++parent) {
        if (!visited.contains(*parent)) stack.push_back({*parent, false});
      }
    }
  }
  return order;
}

}  // namespace weft::git::helper
