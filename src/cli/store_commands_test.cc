// Golden transcripts of the commands about refs, operations and the store itself, and the shape of
// every command's JSON.

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/golden.h"

namespace weft::cli {
namespace {

using testing::Machine;
using testing::Transcript;

void begin(Machine& machine) {
  machine.ok({"init"});
  machine.write("a", "one\n");
  machine.ok({"commit", "-m", "One"});
  machine.write("a", "two\n");
  machine.ok({"commit", "-m", "Two"});
}

TEST(StoreGolden, Refs) {
  Machine machine;
  begin(machine);
  Transcript transcript(machine);
  transcript.weft({"ref", "list"});
  transcript.weft({"ref", "set", "tags/v1", "main-"});
  transcript.weft({"ref", "set", "tags/v1", "main-"});
  transcript.weft({"ref", "set", "tags/v1", "main"});
  transcript.weft({"ref", "set", "tags/v1", "main", "--expect", "main-"});
  transcript.weft({"ref", "set", "tags/v1", "main", "--expect", "none"});
  transcript.weft({"ref", "set", "tags/v1", "main-", "--expect", "main"});
  transcript.weft({"ref", "set", "tags/v2", "main", "--expect", "none", "--json"});
  transcript.weft({"ref", "set", "tags/v2", "main-", "--expect", "main-", "--json"});
  transcript.weft({"ref", "list", "tags/"});
  transcript.weft({"ref", "list", "--json"});
  transcript.weft({"ref", "list", "--json-lines", "tags/"});
  transcript.weft({"ref", "list", "-0", "tags/"});
  transcript.weft({"ref", "log", "tags/v1"});
  transcript.weft({"ref", "log", "tags/v1", "-n1", "--json"});
  transcript.weft({"ref", "log"});
  transcript.weft({"show", "--name-only", "tags/v1@{1}"});
  transcript.weft({"show", "--name-only", "v1"});
  transcript.weft({"show", "HEAD~1"});
  transcript.weft({"show", "main@{99}"});
  transcript.weft({"log", "main----"});
  transcript.weft({"log", "-x.c"});
  transcript.weft({"log", "x+y"});
  transcript.weft({"cat", "default:a"});
  transcript.weft({"ref", "delete", "tags/v1", "--expect", "main"});
  transcript.weft({"ref", "delete", "tags/v1"});
  transcript.weft({"ref", "delete", "tags/v1"});
  transcript.weft({"ref", "delete", "tags/v2", "--json"});
  transcript.weft({"undo", "-q"});
  transcript.weft({"ref", "list", "tags/"});
  transcript.weft({"ref", "log", "tags/v3"});
  transcript.weft({"ref", "set", "bad..name", "main"});
  transcript.weft({"ref", "set", "-x", "main"});
  transcript.weft({"ref", "set", "new", "nowhere"});
  transcript.weft({"ref", "set", "new"});
  transcript.weft({"ref", "set", "workspaces/nobody", "main"});
  transcript.weft({"ref", "set", "kept/x", "main"});
  transcript.weft({"ref", "delete", "workspaces/default"});
  transcript.expect("ref");
}

TEST(StoreGolden, OperationLog) {
  Machine machine;
  begin(machine);
  machine.ok({"ref", "set", "tags/v1", "main"});
  Transcript transcript(machine);
  transcript.weft({"op", "log"});
  transcript.weft({"op", "log", "-v", "-n", "2"});
  transcript.weft({"op", "log", "--ref", "tags/v1"});
  transcript.weft({"op", "log", "-w", "nobody"});
  transcript.weft({"op", "log", "--json", "-n", "1"});
  transcript.weft({"op", "log", "--json-lines", "-n", "1"});
  transcript.weft({"op", "log", "--author", "ANN", "-n", "1"});
  transcript.weft({"op", "log", "--author", "nobody"});
  transcript.weft({"op", "show"});
  transcript.weft({"op", "show", "--json"});
  transcript.expect("op_log");
}

TEST(StoreGolden, OperationRestore) {
  Machine machine;
  machine.ok({"init"});
  machine.write("a", "one\n");
  machine.ok({"commit", "-m", "One"});
  const std::string listed = machine.ok({"op", "log", "-n", "1"});
  const std::string one = listed.substr(0, listed.find(' '));
  machine.write("a", "one\ntwo\n");
  machine.ok({"commit", "-m", "Two"});
  machine.ok({"ref", "set", "tags/v1", "main"});
  Transcript transcript(machine);
  transcript.weft({"op", "show", one, "-p"});
  transcript.weft({"op", "restore", one, "--dry-run"});
  transcript.weft({"op", "restore", one, "--dry-run", "--json"});
  transcript.weft({"op", "restore", one});
  transcript.weft({"op", "restore", one});
  transcript.weft({"status"});
  transcript.weft({"op", "log", "-v", "-n", "1"});
  transcript.weft({"op", "show"});
  transcript.weft({"undo"});
  transcript.weft({"op", "show", one});
  transcript.weft({"op", "restore", "--before", one, "--json"});
  transcript.weft({"undo"});
  transcript.say("another workspace moves what would go back");
  machine.ok({"workspace", "add", "other"});
  const std::string home = std::exchange(machine.directory_, machine.dir() / "other");
  machine.write("b", "b\n");
  machine.ok({"commit", "-m", "Beside"});
  machine.directory_ = home;
  transcript.weft({"op", "restore", one});
  transcript.weft({"op", "restore", "--all", one});
  transcript.expect("op_restore");
}

TEST(StoreGolden, InfoVerifyRepair) {
  Machine machine;
  begin(machine);
  Transcript transcript(machine);
  transcript.mask("[0-9]+ (frame|object|ref|transaction|batch|flush|log write|file)(es|s)?", "N $1(s)");
  transcript.mask("[0-9.]+ (KiB|MiB|bytes)", "SIZE");
  transcript.mask(
      "\"(end|files|bytes|segment_bytes|objects|refs|frames|transactions|batches|flushes|log_writes|bytes_written|zero_"
      "bytes)\": [0-9]+",
      "\"$1\": N");
  transcript.weft({"info"});
  transcript.weft({"info", "--json"});
  transcript.weft({"-C", ".weft", "info"});
  transcript.weft({"verify"});
  transcript.weft({"verify", "--deep"});
  transcript.weft({"verify", "--deep", "--json"});
  transcript.weft({"repair"});
  transcript.weft({"repair", "--json"});
  transcript.weft({"verify", "--deep"});
  transcript.weft({"-C", "/", "verify"});
  transcript.expect("care");
}

TEST(StoreGolden, ADamagedStoreIsReadAndSaysSo) {
  Machine machine;
  begin(machine);
  const std::string segment = machine.directory_ + "/.weft/log/0000000001.seg";
  ASSERT_TRUE(std::filesystem::exists(segment));
  const auto ran_before = machine.run({"verify"});
  ASSERT_EQ(ran_before.code, 0);
  // A byte in the middle of what was once durable.
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096 + 200);
  file.put('\x5a');
  file.close();
  std::filesystem::remove(machine.directory_ + "/.weft/control");
  const auto ran = machine.run({"verify", "--deep"});
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  const auto json = machine.run({"verify", "--deep", "--json"});
  EXPECT_EQ(json.code, 5);
  EXPECT_TRUE(nlohmann::json::accept(json.out)) << json.out;
}

/// The text of a command's section in docs/JSON.md.
std::string section(const std::string& document, const std::string& command) {
  const std::size_t at = document.find("\n### " + command + "\n");
  if (at == std::string::npos) return {};
  return document.substr(at, document.find("\n### ", at + 1) - at);
}

std::string oldest_operation(Machine& machine) {
  const std::string all = machine.ok({"op", "log"});
  const std::size_t last = all.rfind('\n', all.size() - 2);
  return all.substr(last + 1, 12);
}

// Every key a command prints is in its section of docs/JSON.md, and every output is one whole envelope.
TEST(Json, EveryCommandPrintsWhatTheDocumentSays) {
  const std::filesystem::path here = __FILE__;
  std::ifstream file(here.parent_path().parent_path().parent_path() / "docs" / "JSON.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(document.empty());
  for (const auto& command : commands()) {
    EXPECT_FALSE(section(document, std::string(command.name)).empty()) << command.name << " is not in docs/JSON.md";
  }

  Machine machine;
  const auto check = [&](const std::string& command, std::vector<std::string> args, bool ok = true) {
    args.push_back("--json");
    const auto ran = machine.run(args);
    SCOPED_TRACE(command + ": " + ran.out + ran.err);
    EXPECT_EQ(ran.err, "");
    ASSERT_TRUE(nlohmann::json::accept(ran.out));
    const auto envelope = nlohmann::json::parse(ran.out);
    ASSERT_EQ(envelope.at("weft"), 1);
    ASSERT_EQ(envelope.at("ok"), ok);
    ASSERT_TRUE(envelope.at("meta").at("elapsed_ms").is_number());
    if (!ok) {
      ASSERT_TRUE(envelope.at("error").at("details").is_object());
      return;
    }
    const std::string text = section(document, command);
    for (const auto& [key, value] : envelope.at("data").items()) {
      const bool listed =
          text.find("\"" + key + "\"") != std::string::npos || text.find("`" + key + "[]`") != std::string::npos;
      EXPECT_TRUE(listed) << key;
      if (text.find("`" + key + "[]`") == std::string::npos) continue;
      for (const auto& item : value) {
        for (const auto& [inner, unused] : item.items()) {
          const bool shared = command == "show" || text.find("ENTRY") != std::string::npos;
          EXPECT_TRUE(shared || text.find("\"" + inner + "\"") != std::string::npos) << key << "." << inner;
        }
      }
    }
  };
  check("log", {"log"}, false);
  check("init", {"init"});
  check("status", {"status"});
  machine.write("a", "one\n");
  machine.write("b", "b\n");
  check("status", {"status", "--ignored"});
  check("diff", {"diff"});
  check("commit", {"commit", "-m", "One"});
  check("commit", {"commit", "-m", "Nothing"});
  check("workspace add", {"workspace", "add", "other"});
  check("workspace list", {"workspace", "list"});
  check("mv", {"mv", "b", "c"});
  machine.write("a", "two\n");
  check("status", {"status"});
  check("commit", {"commit", "-m", "Two"});
  machine.write("a", "three\n");
  check("restore", {"restore", "a"});
  check("rm", {"rm", "c"});
  check("commit", {"commit", "-m", "Three"});
  const std::string home = std::exchange(machine.directory_, machine.dir() / "other");
  machine.write("z", "z\n");
  check("commit", {"commit", "-m", "Z"});
  check("land", {"land"});
  machine.directory_ = home;
  check("switch", {"switch", "main"});
  check("workspace rm", {"workspace", "rm", "other"});
  check("undo", {"undo"});
  check("redo", {"redo"});
  check("log", {"log"});
  check("log", {"log", "a"});
  check("show", {"show"});
  check("ls", {"ls"});
  check("cat", {"cat", "a"});
  check("ref list", {"ref", "list"});
  check("ref set", {"ref", "set", "x", "main"});
  check("ref log", {"ref", "log", "x"});
  check("ref delete", {"ref", "delete", "x"});
  check("op log", {"op", "log"});
  check("op show", {"op", "show"});
  check("op restore", {"op", "restore", "--all", "--dry-run", oldest_operation(machine)});
  check("info", {"info"});
  check("verify", {"verify", "--deep"});
  check("doctor", {"doctor"});
  check("repair", {"repair"});
  check("config set", {"config", "set", "user.name", "Ann"});
  check("config list", {"config", "list"});
  check("help", {"help"});
  check("help", {"--version"});
  check("cat", {"cat", "nothing"}, false);
}

}  // namespace
}  // namespace weft::cli
