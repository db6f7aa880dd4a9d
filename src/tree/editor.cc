// TreeEditor: directories are kept in one table and name each other by index, so that no depth can exhaust the stack.
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "tree/node_diff.h"
#include "tree/tree.h"

namespace weft::tree {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

std::pair<ByteView, ByteView> split_parent(ByteView path) {
  const std::size_t slash = path.rfind('/');
  if (slash == ByteView::npos) return {ByteView(), path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

Error missing(ByteView path) {
  return make_error(Code::not_found, fmt::format("there is no {} in the tree", quoted(path)))
      .with("path", std::string(path));
}

Error no_directory(ByteView path) {
  return make_error(Code::invalid, fmt::format("{} is not a directory", quoted(path))).with("path", std::string(path));
}

Error the_root(std::string_view verb) {
  return make_error(Code::invalid, fmt::format("the root of a tree cannot be {}", verb));
}

}  // namespace

struct TreeEditor::State {
  struct Slot {
    std::optional<TreeEntry> entry;
    std::size_t directory = kNone;  // in directories, when it was looked into
    bool edited = false;
  };
  struct Directory {
    std::optional<ObjectId> stored;                  // absent: new
    std::map<std::string, Slot, std::less<>> slots;  // the names looked at
  };

  State(const ObjectReader& r, const ObjectId& root) : reader(r) { add_directory(root); }

  const ObjectReader& reader;
  std::deque<Directory> directories;  // the root first

  std::size_t add_directory(const ObjectId& tree) {
    directories.emplace_back();
    if (!tree.is_zero() && !is_empty_tree(tree)) directories.back().stored = tree;
    return directories.size() - 1;
  }

  Result<Slot*> slot(std::size_t directory, ByteView name) {
    Directory& in = directories[directory];
    if (const auto known = in.slots.find(name); known != in.slots.end()) return &known->second;
    Slot fresh;
    if (in.stored) {
      WEFT_TRY(fresh.entry, object::find_entry(reader, *in.stored, name));
    }
    return &in.slots.emplace(std::string(name), std::move(fresh)).first->second;
  }

  /// The directory an entry stands for, looked into.
  std::size_t open(Slot& slot) {
    if (slot.directory == kNone) slot.directory = add_directory(slot.entry->id);
    return slot.directory;
  }

  /// The directory at `path`; kNone when something on the way is missing. invalid where something is not a directory.
  Result<std::size_t> directory_at(ByteView path) {
    std::size_t at = 0;
    for (std::size_t begin = 0; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      WEFT_TRY(Slot * next, slot(at, path.substr(begin, end - begin)));
      if (!next->entry) return kNone;
      if (next->entry->kind != EntryKind::directory) return no_directory(path.substr(0, end));
      at = open(*next);
      begin = end + 1;
    }
    return at;
  }

  Result<Slot*> slot_in_existing(ByteView path) {
    const auto [parent, name] = split_parent(path);
    WEFT_TRY(const std::size_t directory, directory_at(parent));
    if (directory == kNone) return missing(parent);
    return slot(directory, name);
  }

  static void put(Slot& slot, ByteView name, std::optional<TreeEntry> entry, std::size_t directory) {
    slot.entry = std::move(entry);
    slot.directory = directory;
    slot.edited = true;
    if (slot.entry) slot.entry->name = std::string(name);
  }

  void put_new(Slot& slot, ByteView name, TreeEntry entry) {
    // An empty directory is written by finish(), whoever has or has not stored one.
    std::size_t directory = kNone;
    if (entry.kind == EntryKind::directory && (entry.id.is_zero() || is_empty_tree(entry.id))) {
      directory = add_directory(entry.id);
    }
    put(slot, name, std::move(entry), directory);
  }

  Result<ObjectId> write(std::size_t index, ObjectWriter& writer) {
    Directory& directory = directories[index];
    std::vector<object::EntryEdit> edits;
    for (auto& [name, slot] : directory.slots) {
      if (slot.edited) edits.push_back({name, slot.entry});
      slot.edited = false;
    }
    if (directory.stored && edits.empty()) return *directory.stored;
    WEFT_TRY(const ObjectId id, edit_or_write_directory(reader, writer, directory.stored, std::move(edits)));
    // What was looked up stays true of the new directory.
    if (is_empty_tree(id)) {
      directory.stored.reset();
    } else {
      directory.stored = id;
    }
    return id;
  }
};

TreeEditor::TreeEditor(const ObjectReader& reader, const ObjectId& root)
    : state_(std::make_unique<State>(reader, root)) {}
TreeEditor::~TreeEditor() = default;
TreeEditor::TreeEditor(TreeEditor&&) noexcept = default;

Result<std::optional<TreeEntry>> TreeEditor::find(ByteView path) {
  WEFT_DO(check_path(path));
  if (path.empty()) return std::optional(root_entry(state_->directories[0].stored.value_or(object::empty_tree_id())));
  const auto [parent, name] = split_parent(path);
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < parent.size();) {
    const std::size_t end = std::min(parent.find('/', begin), parent.size());
    WEFT_TRY(State::Slot * next, state_->slot(at, parent.substr(begin, end - begin)));
    if (!next->entry || next->entry->kind != EntryKind::directory) return std::optional<TreeEntry>();
    at = state_->open(*next);
    begin = end + 1;
  }
  WEFT_TRY(State::Slot * slot, state_->slot(at, name));
  return slot->entry;
}

Result<void> TreeEditor::set(ByteView path, TreeEntry entry) {
  WEFT_DO(check_path(path));
  if (path.empty()) return the_root("replaced");
  WEFT_TRY(State::Slot * slot, state_->slot_in_existing(path));
  state_->put_new(*slot, split_parent(path).second, std::move(entry));
  return {};
}

Result<void> TreeEditor::set_with_parents(ByteView path, TreeEntry entry,
                                          const std::function<NodeId(ByteView path)>& new_node) {
  WEFT_DO(check_path(path));
  if (path.empty()) return the_root("replaced");
  std::size_t at = 0;
  for (std::size_t begin = 0;;) {
    const std::size_t end = path.find('/', begin);
    const ByteView name = path.substr(begin, end == ByteView::npos ? end : end - begin);
    WEFT_TRY(State::Slot * slot, state_->slot(at, name));
    if (end == ByteView::npos) {
      state_->put_new(*slot, name, std::move(entry));
      return {};
    }
    if (!slot->entry) {
      TreeEntry made = root_entry(object::empty_tree_id());
      made.node = new_node(path.substr(0, end));
      state_->put_new(*slot, name, std::move(made));
    } else if (slot->entry->kind != EntryKind::directory) {
      return no_directory(path.substr(0, end));
    }
    at = state_->open(*slot);
    begin = end + 1;
  }
}

Result<void> TreeEditor::remove(ByteView path) {
  WEFT_DO(check_path(path));
  if (path.empty()) return the_root("removed");
  WEFT_TRY(State::Slot * slot, state_->slot_in_existing(path));
  if (!slot->entry) return missing(path);
  State::put(*slot, {}, std::nullopt, kNone);
  return {};
}

Result<void> TreeEditor::move(ByteView from, ByteView to) {
  WEFT_DO(check_path(from));
  WEFT_DO(check_path(to));
  if (from.empty() || to.empty()) return the_root("moved");
  if (to.size() > from.size() && to.starts_with(from) && to[from.size()] == '/') {
    return make_error(Code::invalid, fmt::format("{} cannot be moved below itself, to {}", quoted(from), quoted(to)));
  }
  WEFT_TRY(State::Slot * source, state_->slot_in_existing(from));
  if (!source->entry) return missing(from);
  WEFT_TRY(State::Slot * target, state_->slot_in_existing(to));
  if (target->entry) {
    return make_error(Code::exists, fmt::format("{} is in the way of moving {} there", quoted(to), quoted(from)),
                      "remove it first, or choose another name")
        .with("path", std::string(to));
  }
  const std::size_t directory = source->directory;
  State::put(*target, split_parent(to).second, std::move(source->entry), directory);
  State::put(*source, {}, std::nullopt, kNone);
  return {};
}

Result<ObjectId> TreeEditor::finish(ObjectWriter& writer) {
  struct Step {
    std::size_t directory;
    std::vector<State::Slot*> below;  // looked into, to be written first
    std::size_t next = 0;
    State::Slot* slot = nullptr;  // the directory's own entry
  };
  const auto step_into = [&](std::size_t directory, State::Slot* slot) {
    Step step{directory, {}, 0, slot};
    for (auto& [name, child] : state_->directories[directory].slots) {
      if (child.entry && child.directory != kNone) step.below.push_back(&child);
    }
    return step;
  };
  std::vector<Step> steps;
  steps.push_back(step_into(0, nullptr));
  for (;;) {
    Step& step = steps.back();
    if (step.next < step.below.size()) {
      State::Slot* child = step.below[step.next++];
      steps.push_back(step_into(child->directory, child));
      continue;
    }
    WEFT_TRY(const ObjectId id, state_->write(step.directory, writer));
    State::Slot* slot = step.slot;
    steps.pop_back();
    if (slot == nullptr) return id;
    if (slot->entry->id != id) slot->edited = true;
    slot->entry->id = id;
  }
}

}  // namespace weft::tree
