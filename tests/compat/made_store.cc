#include "made_store.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "git/import.h"
#include "git/testing/git_fixture.h"
#include "repo/history.h"
#include "repo/repository.h"
#include "store/store.h"

namespace weft::compat {
namespace {

using cli::testing::Machine;

/// Text that repeats itself, but no two blocks of which are equal.
std::string long_text(std::string_view name, std::size_t size) {
  std::string text;
  for (std::size_t line = 0; text.size() < size; ++line) text += fmt::format("{} line {}\n", name, line * line);
  return text;
}

/// Transactions that fill the log: what a ref carries is not compressed in it, but well by whoever packs the files.
void fill_log(store::Store& store, const ChangeId& change, int count) {
  for (int i = 0; i < count; ++i) {
    auto transaction = store.begin();
    ASSERT_TRUE(transaction);
    transaction->set_operation({.label = "fill", .author = "Ann Author <ann@example.org>"});
    store::RefEdit edit;
    edit.name = "filling";
    edit.after = store::RefValue{object::Version(change), Bytes(240'000, static_cast<char>('a' + i))};
    transaction->edit_ref(std::move(edit));
    ASSERT_TRUE(transaction->commit());
  }
}

repo::Context context_of(Machine& machine, Env& env) {
  return {env, machine.directory_, machine.environment_, static_cast<std::uint32_t>(::geteuid())};
}

/// Branches that were merged, a rename with an edit, a mode, a link, tags of both kinds.
void import_from_git(Machine& machine, Env& env, const std::string& helper) {
  git::testing::GitRepository git(machine.dir().path(), "git");
  git.write("guest/README", "a guest\n");
  git.write("guest/src/main.c", "int main() {\n  return 0;\n}\n");
  git.commit("Begin");
  git.git({"switch", "-q", "-c", "side"});
  git.write("guest/src/util.c", "int util;\n");
  git.commit("Add util");
  git.git({"switch", "-q", "main"});
  git.git({"mv", "guest/src/main.c", "guest/src/app.c"});
  git.write("guest/src/app.c", "int main() {\n  return 1;\n}\n");
  git.write("guest/run", "#!/bin/sh\n");
  std::filesystem::permissions(git.path() + "/guest/run", std::filesystem::perms(0755));
  std::filesystem::create_symlink("src/app.c", git.path() + "/guest/link");
  git.commit("Name the program");
  git.git({"branch", "-m", "guest"});
  git.git({"merge", "-q", "--no-ff", "-m", "Merge side", "side"});
  git.git({"tag", "light", "HEAD^"});
  git.git({"tag", "-a", "-m", "the first", "v1"});
  auto repository = repo::Repository::open(context_of(machine, env));
  ASSERT_TRUE(repository) << repository.error().message;
  git::ImportOptions options;
  options.path = git.path();
  options.helper = helper;
  const auto imported = git::import_repository(*repository, options);
  ASSERT_TRUE(imported) << imported.error().message;
}

}  // namespace

void make_store(Machine& machine, const std::string& helper) {
  Env env{posix_file_system(), machine.clock_, machine.random_};
  const std::string directory = machine.directory_ + "/.weft";
  {
    // Small segments, so that there are several.
    const auto made = store::Store::create(env, directory, {.segment_bytes = 1u << 20}, repo::store_hooks());
    ASSERT_TRUE(made) << made.error().message;
  }
  machine.ok({"init"});
  machine.write("README", "A store that stays as it is.\n");
  machine.write("src/one.c", "int one() {\n  return 1;\n}\n");
  machine.write("src/two.c", "int two() {\n  return 2;\n}\n");
  machine.write("bin/run", "#!/bin/sh\nexec true\n");
  std::filesystem::permissions(machine.directory_ + "/bin/run", std::filesystem::perms(0755));
  std::filesystem::create_symlink("../src/one.c", machine.directory_ + "/bin/link");
  std::filesystem::create_directory(machine.directory_ + "/empty");
  machine.ok({"commit", "-m", "Begin"});
  machine.write("text", long_text("old", 60'000));
  machine.write("large", long_text("large", 1'300'000));
  machine.ok({"commit", "-m", "Add a long text and a large file"});

  // Versions of one file, for packs to find.
  for (int i = 1; i <= 6; ++i) {
    machine.write("text", long_text("old", 60'000 + 1000 * static_cast<std::size_t>(i)));
    machine.write(fmt::format("many/{:02}", i), fmt::format("number {}\n", i));
    machine.ok({"commit", "-m", fmt::format("Grow the text, {}", i)});
  }
  std::string large = long_text("large", 1'300'000);
  large.replace(700'000, 5, "EDIT!");
  machine.write("large", large);
  machine.ok({"commit", "-m", "Edit the large file in its middle"});

  // A workspace beside, a merge, a conflict.
  machine.ok({"workspace", "add", "topic"});
  const std::string main_directory = machine.directory_;
  machine.directory_ = machine.dir() / "topic";
  machine.write("src/one.c", "int one() {\n  return 1 + 0;\n}\n");
  machine.rename("src/two.c", "lib/two.c");
  machine.environment_["WEFT_AUTHOR"] = "Tom Topic <tom@example.org>";
  machine.ok({"commit", "-m", "Move two, edit one"});
  machine.environment_["WEFT_AUTHOR"] = "Ann Author <ann@example.org>";
  machine.directory_ = main_directory;
  machine.write("src/two.c", "int two() {\n  return 1 + 1;\n}\n");
  machine.ok({"commit", "-m", "Edit two where it was"});
  machine.ok({"land"});

  import_from_git(machine, env, helper);

  // Undo and redo, a ref of its own, one that is gone.
  machine.write("README", "A store that stays as it is. Really.\n");
  machine.ok({"commit", "-m", "Insist"});
  machine.ok({"undo"});
  machine.ok({"redo"});
  machine.ok({"ref", "set", "release", "main"});
  machine.ok({"ref", "set", "gone", "main"});
  machine.ok({"ref", "delete", "gone"});

  {
    auto store = store::Store::open(env, directory, repo::store_hooks());
    ASSERT_TRUE(store) << store.error().message;
    const auto main_ref = store->snapshot()->ref("main");
    ASSERT_TRUE(main_ref && *main_ref);
    fill_log(*store, (*main_ref)->version.changes.front(), 6);
  }
  // And a tail behind all that.
  machine.write("src/three.c", "int three() {\n  return 3;\n}\n");
  machine.ok({"commit", "-m", "Add three"});
  machine.ok({"mv", "README", "READ ME"});
  machine.ok({"commit", "-m", "Rename what is read"});
}

std::string ask(Machine& machine) {
  std::string text;
  const auto weft = [&](const std::vector<std::string>& args) {
    const Machine::Ran ran = machine.run(args);
    text += "$ weft";
    for (const auto& arg : args) text += " " + cli::testing::shell_word(arg);
    text += "\n" + ran.out;
    if (!ran.out.empty() && ran.out.back() != '\n') text += "(no newline)\n";
    if (!ran.err.empty()) text += "! " + ran.err;
    if (ran.code != 0) text += fmt::format("[exit {}]\n", ran.code);
    text += "\n";
    return ran.out;
  };
  weft({"log", "--graph", "--all"});
  weft({"log", "--json-lines", "main"});
  weft({"op", "log", "-n", "100"});
  weft({"ref", "list"});
  weft({"ref", "log", "main"});
  weft({"ls", "-r", "main:"});
  weft({"show", "main"});
  weft({"show", "main-"});
  weft({"show", "guest"});
  weft({"show", "tags/v1"});
  weft({"log", "--json-lines", "guest"});
  weft({"diff", "--stat", "release", "main"});
  weft({"log", "main", "--", "src/one.c"});
  weft({"cat", "main:src/one.c"});
  weft({"cat", "main:lib/two.c"});
  weft({"cat", "main:bin/link"});
  weft({"ls", "-r", "guest:"});
  weft({"cat", "guest:guest/src/app.c"});
  for (const char* const path : {"text", "large"}) {
    const auto ran = machine.run({"cat", fmt::format("main:{}", path)});
    text +=
        fmt::format("$ weft cat main:{} | sha256sum\n{} ({} bytes)\n\n", path, sha256(ran.out).hex(), ran.out.size());
  }
  const auto verified = machine.run({"verify", "--deep"});
  text += fmt::format("$ weft verify --deep\n[exit {}]\n", verified.code);
  if (verified.code != 0) text += verified.out + verified.err;
  return text;
}

}  // namespace weft::compat
