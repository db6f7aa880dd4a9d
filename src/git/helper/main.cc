// weft-git: reads and writes git repositories for weft, through libgit2, which has no static archive in Debian (weft is
// fully static).
//
// `weft-git import PATH` and `weft-git export PATH no|bare|worktree BRANCH` speak git/wire.h over stdin and stdout;
// weft starts them, nobody else needs to.
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "git/helper/export_session.h"
#include "git/helper/session.h"

namespace {

using weft::git::helper::Create;

std::optional<Create> parse_create(std::string_view word) {
  if (word == "no") return Create::no;
  if (word == "bare") return Create::bare;
  if (word == "worktree") return Create::work_tree;
  return std::nullopt;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (argc == 2 && verb == "--version") {
    // `weft doctor` reads the protocol's number off the end.
    std::printf("weft-git 0.1.0, protocol %u\n", static_cast<unsigned>(weft::git::wire::kVersion));
    return 0;
  }
  const auto create = argc == 5 && verb == "export" ? parse_create(argv[3]) : std::nullopt;
  if (!(argc == 3 && verb == "import") && !create) {
    std::fputs("weft-git is a helper of weft: use `weft git import PATH` and `weft git export PATH`\n", stderr);
    return 2;
  }
  // When weft is gone, writing fails and the program ends by itself.
  std::signal(SIGPIPE, SIG_IGN);
  const weft::git::helper::Library library;
  weft::git::helper::Channel channel(weft::Fd(0), weft::Fd(1));
  const auto result = channel.run([&]() -> weft::Result<void> {
    if (create) return weft::git::helper::ExportSession(channel).run(argv[2], *create, argv[4]);
    return weft::git::helper::Session(channel).run(argv[2]);
  });
  return result ? 0 : 1;
}
