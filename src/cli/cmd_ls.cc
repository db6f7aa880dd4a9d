// ls: the files of a version.

#include <fmt/format.h>

#include "cli/output.h"
#include "cli/patch.h"
#include "cli/session.h"
#include "cli/text.h"
#include "tree/tree.h"

namespace weft::cli {
namespace {

constexpr std::size_t kIdDigits = 12;

std::string_view mark(object::EntryKind kind) {
  switch (kind) {
    case object::EntryKind::directory:
      return "/";
    case object::EntryKind::symlink:
      return "@";
    default:
      return "";
  }
}

char letter(object::EntryKind kind) {
  switch (kind) {
    case object::EntryKind::directory:
      return 'd';
    case object::EntryKind::symlink:
      return 'l';
    case object::EntryKind::submodule:
      return 'm';
    case object::EntryKind::file:
      break;
  }
  return '-';
}

}  // namespace

Result<int> cmd_ls(Invocation& invocation) {
  std::string typed;
  bool recursive = false, long_form = false;
  Options options("ls", "Lists the files of a version.");
  options.positional(
      "[VERSION:]PATH", typed,
      "what to list; `VERSION:` lists a version's top; without a version: of `@`; or `tree:ID`, `node:ID`", false);
  options.flag("-r,--recursive", recursive, "also what is in directories below");
  options.flag("-l,--long", long_form, "kind, mode, size and content id as well");
  options.footer("Lists what is recorded, not the working tree: `weft status` compares the two.");
  WEFT_DO(options.parse(invocation));

  WEFT_TRY(const auto repository, open_repository(invocation));
  WEFT_TRY(const auto snapshot, repository.store().snapshot());
  WEFT_TRY(const auto named, find_object(invocation, repository, snapshot, typed));
  VersionPath at;
  std::optional<object::TreeEntry> top;
  if (named && !named->entry) {
    if (named->kind != object::ObjectKind::tree) {
      return make_error(Code::invalid, quoted_always(typed) + " is a file's content", "`weft cat` prints it");
    }
    WEFT_TRY(top, tree::find_path(snapshot, named->id, ""));
  } else {
    const std::string word = named ? "@:" + named->path : typed.empty() ? std::string(".") : typed;
    WEFT_TRY(at, resolve_version_path(invocation, repository, snapshot, word));
    WEFT_TRY(top, tree::find_path(snapshot, at.tree, at.path));
  }
  if (!top) {
    Error error = no_such_path(snapshot, at);
    // `ls main` means a path, and who types it means a version.
    if (typed.find(':') == std::string::npos && repo::resolve_version(repository, snapshot, typed)) {
      error.hint = quoted_always(typed) + " is a version: `weft ls " + typed + ":` lists it";
    }
    return error;
  }
  page(invocation);
  JsonList list(invocation, "entries");
  const auto show = [&](const tree::PathEntry& entry) {
    if (wants_json(invocation)) {
      list.add(Json::object().set("path", entry.path).merge(json_entry(entry.entry)));
      return;
    }
    // Listed from where the user listed: `ls src` shows names in src, with -r paths below it.
    std::string_view shown = entry.path;
    if (top->kind == object::EntryKind::directory && !at.path.empty()) shown.remove_prefix(at.path.size() + 1);
    std::string line;
    if (long_form) {
      line = fmt::format("{}{} {:>10} {} ", letter(entry.entry.kind), mode_text(entry.entry.mode), entry.entry.size,
                         entry.entry.id.hex().substr(0, kIdDigits));
    }
    const bool plain = invocation.common.zero;
    line += paint(invocation, entry.entry.kind == object::EntryKind::directory ? Style::path : Style::none,
                  shown_path(invocation, shown));
    if (!plain) line += mark(entry.entry.kind);
    print(invocation, line.append(line_end(invocation)));
  };
  if (top->kind != object::EntryKind::directory) {
    show({at.path, *top});
  } else {
    WEFT_DO(tree::walk(snapshot, top->id, at.path, [&](const tree::PathEntry& entry) -> Result<bool> {
      if (entry.path != at.path) show(entry);
      return recursive || entry.path == at.path;
    }));
  }
  if (wants_json(invocation)) list.finish(Json::object().set("version", json_version(at.version.version)));
  return 0;
}

}  // namespace weft::cli
