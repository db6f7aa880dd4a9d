// bw2c: a process per commit. 32 launchers each rewrite one small file and start one process on it, over and over, for
// a fixed time: the ceiling (a static program that returns 0), weft by change list on a ref each, weft in 32 workspaces
// (BS8), a static SQLite program, and git in 32 worktrees of one repository or all in one. The launchers spawn with
// vfork semantics (posix_spawn), so what is measured is the program.
//
// Invariant: a process that does not exit with 0 ends the run (git's are counted: it refuses where others hold its
// locks), and at the end each store must hold every acknowledged commit.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "report.h"
#include "runner.h"
#include "scratch.h"

namespace weft::bench {
namespace {

constexpr char kUsage[] =
    "usage: bw2c [--weft BINARY] [--name NAME] [--rounds N] [--seconds S]\n"
    "            [--only bare,weft,weft-workspaces,sqlite-cli,sqlite-cli-queue,git-worktrees,git-worktrees-defaults,\n"
    "                    git-one-worktree]\n"
    "            [--launchers N] [--slow-us US] [--dir DIR] [--results DIR]\n"
    "--weft: default build/release/weft. --slow-us: dynamic binaries (build/bench/weft) under slow_flush.so.\n"
    "--name: write DIR/NAME.json and DIR/NAME.md, by default in bench/results; without it nothing is written.\n";

struct Programs {
  std::string weft, sqlite_cli, bare;
  std::vector<std::string> environment;  ///< of the measured processes, beside environment_of()
};

/// What one launcher does: rewrite `file` with content(n), then start argv in `directory`, and `then` after it if there
/// is one. One that ends with another status than 0 ends the run, or is counted.
struct Launch {
  std::string directory;
  std::vector<std::string> argv;
  std::string file;
  bool as_change_list = false;
  std::vector<std::string> environment = {};
  std::vector<std::string> then = {};
  bool count_failures = false;
};

/// No HOME of the user's, no configuration of theirs: the same for everybody.
std::vector<std::string> environment_of(const std::string& home) {
  return {"PATH=/usr/bin:/bin", "HOME=" + home, "WEFT_AUTHOR=Bench <bench@example.org>"};
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (std::string& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// Runs to the end; what it says goes to `output`. Throws unless it exits with 0.
std::string run_program(const std::string& directory, std::vector<std::string> argv, const std::string& home) {
  const std::string output = home + "/output";
  const pid_t pid = ::fork();
  if (pid < 0) throw std::runtime_error("fork");
  if (pid == 0) {
    const int fd = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    if (::chdir(directory.c_str()) != 0) ::_exit(126);
    std::vector<std::string> environment = environment_of(home);
    ::execve(argv[0].c_str(), pointers(argv).data(), pointers(environment).data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::stringstream said;
  said << std::ifstream(output).rdbuf();
  if (status != 0) {
    std::string command;
    for (const std::string& word : argv) command += word + " ";
    throw std::runtime_error(command + "ended with status " + std::to_string(status) + ": " + said.str());
  }
  return said.str();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  if (!(file << text).flush()) throw std::runtime_error("cannot write " + path);
}

struct LauncherSlot {
  Histogram latency;
  std::uint64_t commits, failed;
  std::int64_t started_ns, ended_ns;
  rusage children;
  char error[512];
};

void launch_loop(const Launch& launch, const std::string& home, int number, double seconds, LauncherSlot& slot) {
  std::vector<std::string> environment = environment_of(home), argv = launch.argv, then = launch.then;
  environment.insert(environment.end(), launch.environment.begin(), launch.environment.end());
  const auto environment_pointers = pointers(environment);
  std::vector<std::vector<char*>> programs = {pointers(argv)};
  if (!then.empty()) programs.push_back(pointers(then));
  if (::chdir(launch.directory.c_str()) != 0) throw std::runtime_error("chdir " + launch.directory);
  const std::string errors = home + "/stderr-" + std::to_string(number);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int file = ::open(launch.file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw std::runtime_error("cannot make " + launch.file);
  slot.started_ns = now_ns();
  const std::int64_t until = slot.started_ns + static_cast<std::int64_t>(seconds * 1e9);
  for (std::int64_t start = slot.started_ns; start < until;) {
    char line[128], content[512];
    std::snprintf(line, sizeof(line),
                  "launcher %02d, commit %012llu of a file that is about as long as a line or two of code is", number,
                  static_cast<unsigned long long>(slot.commits + slot.failed));
    const int length =
        launch.as_change_list
            ? std::snprintf(
                  content, sizeof(content),
                  "{\"weft\": 1, \"ops\": [{\"op\": \"write\", \"path\": \"file-%02d\", \"content\": \"%s\\n\"}]}\n",
                  number, line)
            : std::snprintf(content, sizeof(content), "%s\n", line);
    if (::pwrite(file, content, static_cast<std::size_t>(length), 0) != length)
      throw std::runtime_error("cannot write the file");
    int status = 0;
    for (std::size_t i = 0; i < programs.size() && status == 0; ++i) {
      pid_t pid = 0;
      if (::posix_spawn(&pid, programs[i][0], &actions, nullptr, programs[i].data(), environment_pointers.data()) !=
          0) {
        throw std::runtime_error(std::string("cannot start ") + programs[i][0]);
      }
      ::waitpid(pid, &status, 0);
    }
    if (status != 0 && launch.count_failures) {
      ++slot.failed;
      start = now_ns();
      continue;
    }
    if (status != 0) {
      std::stringstream said;
      said << std::ifstream(errors).rdbuf();
      throw std::runtime_error("ended with status " + std::to_string(status) + ": " + said.str());
    }
    const std::int64_t end = now_ns();
    slot.latency.add(end - start);
    ++slot.commits;
    start = end;
  }
  slot.ended_ns = now_ns();
  ::getrusage(RUSAGE_CHILDREN, &slot.children);
}

Metrics run_launchers(const std::vector<Launch>& launches, const std::string& home, double seconds) {
  auto* slots = shared_array<LauncherSlot>(launches.size());
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  std::vector<pid_t> pids;
  std::fflush(nullptr);
  const DiskCounts disk_before = DiskCounts::of(home);
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error("fork");
    if (pid == 0) {
      char byte = 0;
      ::close(gate[1]);
      while (::read(gate[0], &byte, 1) < 0) {
      }
      try {
        launch_loop(launches[i], home, static_cast<int>(i), seconds, slots[i]);
      } catch (const std::exception& error) {
        std::snprintf(slots[i].error, sizeof(slots[i].error), "%s", error.what());
        ::_exit(1);
      }
      ::_exit(0);
    }
    pids.push_back(pid);
  }
  ::usleep(50'000);
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  const DiskCounts disk = DiskCounts::of(home) - disk_before;
  Histogram latency;
  double commits = 0, failed = 0, switches = 0, cpu_us = 0, faults = 0;
  std::uint64_t slowest = ~0ull, fastest = 0;
  std::int64_t started = slots[0].started_ns, ended = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const LauncherSlot& slot = slots[i];
    if (slot.error[0]) throw std::runtime_error(slot.error);
    latency.add(slot.latency);
    commits += static_cast<double>(slot.commits);
    failed += static_cast<double>(slot.failed);
    slowest = std::min(slowest, slot.commits);
    fastest = std::max(fastest, slot.commits);
    started = std::min(started, slot.started_ns);
    ended = std::max(ended, slot.ended_ns);
    const rusage& used = slot.children;
    switches += static_cast<double>(used.ru_nvcsw + used.ru_nivcsw);
    faults += static_cast<double>(used.ru_minflt);
    cpu_us += static_cast<double>((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1'000'000 + used.ru_utime.tv_usec +
                                  used.ru_stime.tv_usec);
  }
  if (commits == 0) throw std::runtime_error("not one commit went through");
  return {
      {"per_second", commits / (static_cast<double>(ended - started) / 1e9)},
      {"commits", commits},
      {"failed", failed},
      {"p50_us", latency.quantile_us(0.5)},
      {"p99_us", latency.quantile_us(0.99)},
      {"worst_us", latency.worst_us()},
      {"fastest_to_slowest", static_cast<double>(fastest) / static_cast<double>(std::max<std::uint64_t>(slowest, 1))},
      {"context_switches_per_commit", switches / commits},
      {"cpu_us_per_commit", cpu_us / commits},
      {"faults_per_commit", faults / commits},
      {"device_bytes_per_commit", static_cast<double>(disk.written_bytes) / commits},
      {"device_flushes_per_commit", static_cast<double>(disk.flushes) / commits}};
}

std::string two_digits(int i) {
  char text[16];
  std::snprintf(text, sizeof(text), "%02d", i);
  return text;
}

/// "changes": N in what `weft info --json` says.
std::uint64_t count_of_changes(const std::string& json) {
  const std::size_t key = json.find("\"changes\":");
  if (key == std::string::npos) throw std::runtime_error("no count of changes in: " + json);
  return std::strtoull(json.c_str() + key + 10, nullptr, 10);
}

/// 32 worktrees of one repository on a branch each, or 32 processes in one checkout: then git refuses whoever meets
/// another's lock, and one's commit may take another's file along, so that not every commit a process acknowledged has
/// a file of its own.
Metrics git_round(const std::string& what, const std::string& root, int launchers, double seconds) {
  const std::string tree = root + "/tree";
  std::vector<std::string> git = {"/usr/bin/git"};
  if (what != "git-worktrees-defaults") git.insert(git.end(), {"-c", "core.fsync=all", "-c", "core.fsyncMethod=batch"});
  const auto with = [&](std::vector<std::string> words) {
    std::vector<std::string> argv = git;
    argv.insert(argv.end(), words.begin(), words.end());
    return argv;
  };
  std::filesystem::create_directory(tree);
  run_program(tree, with({"init", "-q", "-b", "main"}), root);
  for (const auto& [key, value] : std::map<std::string, std::string>{
           {"user.name", "Bench"}, {"user.email", "bench@example.org"}, {"gc.auto", "0"}}) {
    run_program(tree, with({"config", key, value}), root);
  }
  write_text(tree + "/readme", "A file to begin with.\n");
  run_program(tree, with({"add", "-A"}), root);
  run_program(tree, with({"commit", "-q", "-m", "Begin"}), root);
  std::vector<Launch> launches;
  for (int i = 0; i < launchers; ++i) {
    const std::string name = "w" + two_digits(i);
    const bool shared = what == "git-one-worktree";
    const std::string path = shared ? tree : root + "/" + name;
    const std::string file = shared ? "file-" + two_digits(i) : "file";
    if (!shared) run_program(tree, with({"worktree", "add", "-q", "-b", name, path}), root);
    Launch launch{path, with(shared ? std::vector<std::string>{"add", file} : std::vector<std::string>{"add", "-A"}),
                  path + "/" + file};
    launch.then = with({"commit", "-q", "-m", "Edit"});
    launch.count_failures = true;
    launches.push_back(std::move(launch));
  }
  Metrics m = run_launchers(launches, root, seconds);
  const std::uint64_t held = std::stoull(run_program(tree, with({"rev-list", "--count", "--all"}), root)) - 1;
  if (static_cast<double>(held) < m["commits"]) throw std::runtime_error("commits are missing");
  run_program(tree, with({"fsck", "--no-dangling"}), root);
  return m;
}

Metrics one_round(const std::string& what, const Programs& programs, const std::string& root, int launchers,
                  double seconds) {
  if (what.rfind("git", 0) == 0) return git_round(what, root, launchers, seconds);
  std::vector<Launch> launches;
  const bool sqlite = what.rfind("sqlite-cli", 0) == 0;
  if (what == "bare" || sqlite) {
    const std::string db = root + "/store.db";
    if (sqlite) run_program(root, {programs.sqlite_cli, "--init", db}, root);
    for (int i = 0; i < launchers; ++i) {
      const std::string file = root + "/file-" + two_digits(i);
      std::vector<std::string> argv = {programs.bare};
      if (sqlite) argv = {programs.sqlite_cli, db, "bench/" + two_digits(i), file};
      if (what == "sqlite-cli-queue") argv.push_back("queue");
      launches.push_back({root, argv, file, false, programs.environment});
    }
    Metrics m = run_launchers(launches, root, seconds);
    if (sqlite) {
      const std::uint64_t held = std::stoull(run_program(root, {programs.sqlite_cli, "--count", db}, root));
      if (static_cast<double>(held) < m["commits"]) throw std::runtime_error("commits are missing");
    }
    return m;
  }
  const std::string tree = root + "/tree";
  std::filesystem::create_directory(tree);
  run_program(tree, {programs.weft, "init"}, root);
  write_text(tree + "/readme", "A file to begin with.\n");
  run_program(tree, {programs.weft, "commit", "-m", "Begin"}, root);
  for (int i = 0; i < launchers; ++i) {
    const std::string name = "w" + two_digits(i);
    if (what == "weft") {
      run_program(tree, {programs.weft, "ref", "set", "bench/" + name, "main"}, root);
      const std::string file = root + "/changes-" + two_digits(i);
      launches.push_back({tree,
                          {programs.weft, "commit", "--parent", "bench/" + name, "--changes", file, "--advance",
                           "bench/" + name, "-m", "Edit"},
                          file,
                          true,
                          programs.environment});
    } else {
      const std::string path = root + "/" + name;
      run_program(tree, {programs.weft, "workspace", "add", name, "--path", path}, root);
      launches.push_back({path, {programs.weft, "commit", "-m", "Edit"}, path + "/file", false, programs.environment});
    }
  }
  const std::uint64_t before = count_of_changes(run_program(tree, {programs.weft, "info", "--json"}, root));
  Metrics m = run_launchers(launches, root, seconds);
  const std::uint64_t held = count_of_changes(run_program(tree, {programs.weft, "info", "--json"}, root)) - before;
  if (static_cast<double>(held) < m["commits"]) {
    throw std::runtime_error("acknowledged " + std::to_string(m["commits"]) + " commits and holds " +
                             std::to_string(held));
  }
  run_program(tree, {programs.weft, "verify"}, root);
  return m;
}

int run(int argc, char** argv) {
  Programs programs;
  std::uint32_t slow_us = 0;
  programs.bare = own_directory() + "/bare_exec";
  SuiteResult suite;
  suite.id = "bw2c";
  suite.contenders = {"weft", "bare", "weft-workspaces", "sqlite-cli", "sqlite-cli-queue"};
  std::string name, directory, results = WEFT_BENCH_RESULTS;
  int rounds = 3, launchers = 32;
  double seconds = 5;
  Report report;
  for (int i = 0; i < argc; ++i) report.command += (i ? " " : "") + std::string(i ? argv[i] : "bw2c");
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--help" || i + 1 == argc) {
      std::fputs(kUsage, option == "--help" ? stdout : stderr);
      return option == "--help" ? 0 : 2;
    }
    const std::string value = argv[++i];
    if (option == "--weft") {
      programs.weft = std::filesystem::absolute(value).string();
    } else if (option == "--only") {
      suite.contenders.clear();
      std::istringstream in(value);
      for (std::string part; std::getline(in, part, ',');) suite.contenders.push_back(part);
    } else if (option == "--name") {
      name = value;
    } else if (option == "--rounds") {
      rounds = std::stoi(value);
    } else if (option == "--seconds") {
      seconds = std::stod(value);
    } else if (option == "--launchers") {
      launchers = std::stoi(value);
    } else if (option == "--slow-us") {
      slow_us = static_cast<std::uint32_t>(std::stoul(value));
    } else if (option == "--dir") {
      directory = value;
    } else if (option == "--results") {
      results = value;
    } else {
      std::fprintf(stderr, "bw2c: unknown option %s\n%s", option.c_str(), kUsage);
      return 2;
    }
  }
  if (launchers < 1 || launchers > 99 || rounds < 1) {
    std::fprintf(stderr, "bw2c: --launchers is 1 to 99, --rounds at least 1\n");
    return 2;
  }
  programs.sqlite_cli = own_directory() + (slow_us ? "/sqlite_cli_dynamic" : "/sqlite_cli");
  if (programs.weft.empty()) {
    programs.weft = slow_us ? std::filesystem::absolute(own_directory() + "/../weft").string() : WEFT_BENCH_RELEASE;
  }
  if (slow_us) {
    programs.environment = {"LD_PRELOAD=" + own_directory() + "/slow_flush.so",
                            "WEFT_SLOW_FLUSH_US=" + std::to_string(slow_us)};
    suite.flush_delay_us = slow_us;
  }
  const Scratch scratch(directory);
  report.name = name;
  report.facts = machine_facts(scratch.path());
  report.settings = {
      {"bare", "a static C program that returns 0"},
      {"weft", "weft commit --parent REF --changes FILE --advance REF, a ref each"},
      {"weft-workspaces", "weft commit -m, a workspace each, one file changed"},
      {"sqlite-cli", "static, the settings of the SQLite contender, WAL kept when closing; busy handler 0.1 to 1 ms"},
      {"sqlite-cli-queue", "the same, queueing on flock for the write lock"},
      {"git-worktrees",
       "git add -A && git commit, a worktree and branch each; core.fsync=all, fsyncMethod=batch, gc.auto=0"},
      {"git-worktrees-defaults", "the same with git's own core.fsync: commits are not flushed"},
      {"git-one-worktree", "git add FILE && git commit, all in one checkout; flushes as git-worktrees"}};
  suite.title =
      std::to_string(launchers) + " launchers, a process per commit with one small file, a ref or workspace each.";
  suite.key = "per_second";
  suite.columns = {{"p50_us", "p50 us"},
                   {"p99_us", "p99 us"},
                   {"worst_us", "worst us"},
                   {"failed", "failed"},
                   {"fastest_to_slowest", "fastest to slowest launcher", 2},
                   {"cpu_us_per_commit", "CPU us a process"},
                   {"context_switches_per_commit", "context switches a process", 1},
                   {"faults_per_commit", "page faults a process"},
                   {"device_bytes_per_commit", "bytes to the device a commit"}};
  suite.before = probe_disk(scratch.path());
  int serial = 0;
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& what : suite.contenders) {
      if (suite.errors.contains(what)) continue;
      if (what.rfind("weft", 0) == 0 && ::access(programs.weft.c_str(), X_OK) != 0) {
        suite.errors[what] = "no " + programs.weft;
        continue;
      }
      const std::string root = scratch.path() + "/" + what + "-" + std::to_string(serial++);
      std::filesystem::create_directory(root);
      try {
        Metrics metrics = one_round(what, programs, root, launchers, seconds);
        std::fprintf(stderr, "bw2c round %d %-16s per_second %.0f\n", round + 1, what.c_str(), metrics["per_second"]);
        suite.rounds[what].push_back(std::move(metrics));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "bw2c round %d %s FAILED: %s\n", round + 1, what.c_str(), error.what());
        suite.errors[what] = error.what();
      }
    }
  }
  suite.after = probe_disk(scratch.path());
  std::fputs(to_markdown(suite).c_str(), stdout);
  const bool failed = !suite.errors.empty();
  report.suites.push_back(std::move(suite));
  if (!name.empty()) write_report(report, results);
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  try {
    return weft::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bw2c: %s\n", error.what());
    return 1;
  }
}
