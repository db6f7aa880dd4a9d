// The completion scripts in the real shells, asking the real binary. Shells that are not installed are skipped.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace weft {
namespace {

using Lines = std::vector<std::string>;

class Shells : public ::testing::Test {
 protected:
  Shells() {
    std::filesystem::create_directory(dir_ / "w");
    std::filesystem::create_directory(dir_ / "home");
    std::filesystem::create_directory(dir_ / "bin");
    std::filesystem::create_symlink(WEFT_PROGRAM, dir_ / "bin/weft");
    shell(
        "weft init && mkdir src && echo a > src/a.c && echo b > 'with space' && echo c > a:b && weft commit -m Begin &&"
        "weft ref set tags/v1 main && weft ref set topic main && echo more >> src/a.c");
    for (const char* name : {"bash", "zsh", "fish"}) {
      shell(std::string("weft completion ") + name + " > ../weft." + name);
    }
  }

  static bool installed(const std::string& name) {
    return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0;
  }

  /// Runs in the working tree; what it prints, stderr included.
  Lines shell(const std::string& script, const std::string& program = "bash --noprofile --norc") {
    const std::string path = dir_ / "script";
    std::ofstream(path) << script << "\n";
    const std::string command = "cd '" + (dir_ / "w") + "' && env -i HOME='" + (dir_ / "home") + "' PATH='" +
                                (dir_ / "bin") +
                                "':/usr/bin:/bin TERM=xterm LC_ALL=C.UTF-8 WEFT_AUTHOR='Ann <ann@example.org>' " +
                                program + " '" + path + "' > '" + (dir_ / "out") + "' 2>&1 < /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0) << script;
    Lines out;
    std::ifstream file(dir_ / "out");
    for (std::string line; std::getline(file, line);) out.push_back(line);
    return out;
  }

  /// COMPREPLY for the words as bash breaks them up; the cursor is at the end of the line.
  Lines bash(const std::string& line, const std::string& words, const std::string& more = "") {
    return shell("source ../weft.bash\n" + more + "\nCOMP_WORDS=(" + words +
                 ") COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=" + quoted(line) +
                 " COMP_POINT=${#COMP_LINE}\n_weft\nfor each in \"${COMPREPLY[@]}\"; do echo \"<$each>\"; done\n");
  }
  static std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) c == '\'' ? out += "'\\''" : out += c;
    return out + "'";
  }

  TempDir dir_;
};

TEST_F(Shells, Bash) {
  EXPECT_EQ(bash("weft swi", "weft swi"), Lines{"<switch>"});
  EXPECT_EQ(bash("weft workspace ", "weft workspace ''"), (Lines{"<add>", "<list>", "<rm>"}));
  EXPECT_EQ(bash("weft commit --allow", "weft commit --allow"), Lines{"<--allow-empty>"});
  EXPECT_EQ(bash("weft switch t", "weft switch t"), (Lines{"<tags/v1>", "<topic>"}));
  EXPECT_EQ(bash("weft mv sr", "weft mv sr"), Lines{"<src/>"});
  EXPECT_EQ(bash("weft commit ", "weft commit ''"), Lines{"<src/>"});
  EXPECT_EQ(bash("weft  -C  src mv ", "weft -C src mv ''"), Lines{"<a.c>"});
  EXPECT_EQ(bash("bin/weft nonsense ", "../bin/weft nonsense ''"), Lines{});
}

TEST_F(Shells, BashPutsBrokenWordsTogether) {
  EXPECT_EQ(bash("weft log --color=al", "weft log --color = al"), Lines{"<always>"});
  EXPECT_EQ(bash("weft log --color=", "weft log --color ="), (Lines{"<always>", "<auto>", "<never>"}));
  EXPECT_EQ(bash("weft cat topic:sr", "weft cat topic : sr"), Lines{"<src/>"});
  EXPECT_EQ(bash("weft cat topic:", "weft cat topic :"), (Lines{"<a:b>", "<src/>", "<with\\ space>"}));
  EXPECT_EQ(bash("weft restore --from=top", "weft restore --from = top"), Lines{"<topic>"});
  EXPECT_EQ(bash("weft show main@{", "weft show main @ {"), Lines{"<\\{0\\}>"});
  EXPECT_EQ(bash("weft log main..to", "weft log main..to"), Lines{"<main..topic>"});
  // Without COMP_LINE the breaks are told by what they are.
  EXPECT_EQ(
      shell("source ../weft.bash; COMP_WORDS=(weft log --color = al) COMP_CWORD=4; _weft; echo \"${COMPREPLY[@]}\""),
      Lines{"always"});
  // In the middle of a line: what is behind the cursor does not count.
  EXPECT_EQ(shell("source ../weft.bash; COMP_WORDS=(weft switch topic more) COMP_CWORD=2 COMP_LINE='weft switch topic "
                  "more' COMP_POINT=14; _weft; echo \"${COMPREPLY[@]}\""),
            Lines{"topic"});
}

TEST_F(Shells, BashQuotes) {
  EXPECT_EQ(bash("weft mv w", "weft mv w"), Lines{"<with\\ space>"});
  EXPECT_EQ(bash("weft mv with\\ s", "weft mv 'with\\ s'"), Lines{"<with\\ space>"});
  EXPECT_EQ(bash("weft mv \"with s", "weft mv '\"with s'"), Lines{"<with space>"});
  EXPECT_EQ(bash("weft mv $(touch", "weft mv '$(touch ../evil)'"), Lines{});
  EXPECT_FALSE(std::filesystem::exists(dir_ / "evil"));
}

TEST_F(Shells, BashSaysWhatEachIsWhenItLists) {
  const auto listed = bash("weft switch t", "weft switch t", "COMP_TYPE=63");
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_TRUE(listed[0].starts_with("<tags/v1  (") && listed[0].ends_with(" Begin)>")) << listed[0];
  EXPECT_EQ(bash("weft switch to", "weft switch to", "COMP_TYPE=63"), Lines{"<topic>"});
}

TEST_F(Shells, BashCompletesFileNamesItself) {
  EXPECT_EQ(bash("weft commit -F a", "weft commit -F a"), Lines{"<a:b>"});
  EXPECT_EQ(bash("weft -C s", "weft -C s"), Lines{"<src>"});
}

TEST_F(Shells, Fish) {
  if (!installed("fish")) GTEST_SKIP() << "fish is not installed";
  const auto fish = [&](const std::string& line) {
    return shell("source ../weft.fish\ncomplete -C " + quoted(line), "fish --no-config");
  };
  EXPECT_EQ(fish("weft swi"), Lines{"switch\tbring the workspace to another version"});
  EXPECT_EQ(fish("weft log --gra"), Lines{"--graph\tdraw the lines of history; one line a change unless -v"});
  EXPECT_EQ(fish("weft commit "), Lines{"src/"});
  EXPECT_EQ(fish("weft cat topic:sr"), Lines{"topic:src/"});
  EXPECT_EQ(fish("weft mv w").size(), 1u);
  EXPECT_EQ(fish("weft -C s"), Lines{"src/\tDirectory"});
  const auto refs = fish("weft switch to");
  ASSERT_EQ(refs.size(), 1u);
  EXPECT_TRUE(refs[0].starts_with("topic\t") && refs[0].ends_with(" Begin")) << refs[0];
}

TEST_F(Shells, Zsh) {
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  // A terminal of its own: the line, the Tab key, and a key that prints the line as it is then.
  const auto zsh = [&](const std::string& line) {
    const auto out = shell(
        "zmodload zsh/zpty || exit 1\n"
        "zpty -b z zsh -f -i\n"
        "zpty -w z 'PS1= PS2= ; autoload -Uz compinit; compinit -u -D; source ../weft.zsh; zstyle \":completion:*\" "
        "menu no;"
        "show() { print -r -- \"<line>$BUFFER</line>\" }; zle -N show; bindkey \"^X\" show; print rea\"\"dy'\n"
        "zpty -r z seen '*ready*'\n"
        "zpty -w -n z " +
            quoted(line) +
            "$'\\t\\x18'\n"
            "zpty -r z seen '*</line>*'\n"
            "print -r -- ${${seen##*<line>}%%</line>*}\n"
            "zpty -d z\n",
        "timeout 20 zsh -f");
    return out.empty() ? std::string("(nothing)") : out.back();
  };
  EXPECT_EQ(zsh("weft swi"), "weft switch ");
  EXPECT_EQ(zsh("weft log --gra"), "weft log --graph ");
  EXPECT_EQ(zsh("weft switch to"), "weft switch topic ");
  EXPECT_EQ(zsh("weft cat topic:sr"), "weft cat topic:src/");
  EXPECT_EQ(zsh("weft mv wi"), "weft mv with\\ space ");
  EXPECT_EQ(zsh("weft commit "), "weft commit src/");
}

}  // namespace
}  // namespace weft
