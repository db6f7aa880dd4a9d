// weft-git: reads git repositories for weft, through libgit2, which has no static archive in Debian (weft is fully
// static).
//
// `weft-git import PATH` speaks git/wire.h over stdin and stdout; weft starts it, nobody else needs to.
#include <csignal>
#include <cstdio>
#include <string_view>

#include "git/helper/session.h"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::puts("weft-git 0.1.0");
    return 0;
  }
  if (argc != 3 || std::string_view(argv[1]) != "import") {
    std::fputs("weft-git is a helper of weft: use `weft git import PATH`\n", stderr);
    return 2;
  }
  // When weft is gone, writing fails and the program ends by itself.
  std::signal(SIGPIPE, SIG_IGN);
  const weft::git::helper::Library library;
  weft::git::helper::Session session(weft::Fd(0), weft::Fd(1));
  return session.run(argv[2]) ? 0 : 1;
}
