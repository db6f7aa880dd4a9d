#include "support.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/process.h"
#include "base/shared_control.h"

namespace weft::environment {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class ActingControl final : public SharedControl {
 public:
  ActingControl(std::unique_ptr<SharedControl> inner, std::string name, int pass, std::function<void()> act)
      : inner_(std::move(inner)), name_(std::move(name)), pass_(pass), act_(std::move(act)) {
    base_ = inner_->base();
    size_ = inner_->size();
  }
  void wait(Word& word, std::uint32_t expected, std::int64_t timeout_ns) override {
    inner_->wait(word, expected, timeout_ns);
  }
  void wake(Word& word, int count) override { inner_->wake(word, count); }
  Result<void> ensure_allocated(std::size_t offset, std::size_t length) override {
    return inner_->ensure_allocated(offset, length);
  }
  Result<OwnerToken> token() override { return inner_->token(); }
  bool alive(OwnerToken token) override { return inner_->alive(token); }
  std::uint32_t process_of(OwnerToken token) override { return inner_->process_of(token); }
  bool current() const override { return inner_->current(); }
  void point(const char* name) override {
    if (name_ == name && --pass_ == 0) act_();
  }

 private:
  std::unique_ptr<SharedControl> inner_;
  std::string name_;
  int pass_;
  std::function<void()> act_;
};

}  // namespace

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void put_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::string get_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string unlike(const ProcessOutput& output, int code) {
  if (output.status.signal == 0 && output.status.code == code) return "";
  return output.status.text() + ": " + output.out + output.err;
}

void note(const std::string& path, const std::string& line) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const std::string text = line + "\n";
  if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(99);
  ::close(fd);
}

std::vector<std::string> noted(const std::string& path, const std::string& prefix) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(prefix)) lines.push_back(line);
  }
  return lines;
}

void pause_ms(long ms) {
  const timespec time{ms / 1000, ms % 1000 * 1'000'000};
  ::nanosleep(&time, nullptr);
}

std::string make_store(const std::string& directory, std::uint64_t segment_bytes) {
  std::string path = directory + "/.weft";
  const auto made = store::Store::create(system_env(), path, {.segment_bytes = segment_bytes});
  EXPECT_TRUE(made) << made.error().message;
  return path;
}

Result<void> commit_once(const store::Store& store, const std::string& label, std::size_t extra_bytes) {
  WEFT_TRY(auto transaction, store.begin());
  object::Change change;
  change.lamport = 1;
  change.author = change.committer = {"A", "a@example.org", {kSecond, 60}};
  change.message = label;
  change.tree = object::empty_tree_id();
  transaction.set_operation({.label = label, .author = "A <a@example.org>"});
  WEFT_TRY(const ChangeId id, transaction.put_change(change));
  store::RefEdit edit;
  edit.name = "own/" + label.substr(0, label.rfind('-'));
  edit.after = store::RefValue{store::Version(id), Bytes(extra_bytes, 'x')};
  transaction.edit_ref(std::move(edit));
  const auto committed = transaction.commit();
  return committed ? Result<void>() : Result<void>(committed.error());
}

Result<void> commit_many(const store::Store& store, const std::string& name, int count, const std::string& notes) {
  for (int i = 0; i < count; ++i) {
    const std::string label = name + "-" + std::to_string(i);
    // Every fourth is too large for the ring: its author writes it.
    WEFT_DO(commit_once(store, label, i % 4 == 3 ? 300'000 : 0));
    note(notes, label);
  }
  return {};
}

std::vector<std::string> labels_of(const store::Store& store) {
  std::vector<std::string> labels;
  const auto snapshot = store.snapshot();
  EXPECT_TRUE(snapshot);
  if (!snapshot) return labels;
  const auto read =
      snapshot->operations([&](const store::Operation& operation) { return labels.push_back(operation.label), true; });
  EXPECT_TRUE(read) << read.error().message;
  return labels;
}

std::string problem_with(const std::string& directory, const std::string& notes) {
  const auto store = store::Store::open(system_env(), directory);
  if (!store) return "it does not open: " + store.error().message;
  if (store->damage()) return "it is damaged: " + store->damage()->message;
  std::map<std::string, int> listed;
  for (const auto& label : labels_of(*store)) ++listed[label];
  for (const auto& label : noted(notes)) {
    if (listed[label] != 1) return label + " is there " + std::to_string(listed[label]) + " times";
  }
  const auto report = store->verify(true, {});
  if (!report) return "it cannot be verified: " + report.error().message;
  for (const auto& finding : report->findings) return finding.what + " / " + finding.affects;
  return "";
}

store::StoreHooks acting_at(const std::string& point, int pass, std::function<void()> act) {
  store::StoreHooks hooks;
  hooks.open_control = [=](const SharedControlOptions& options) -> Result<std::unique_ptr<SharedControl>> {
    WEFT_TRY(auto inner, open_mapped_control(options));
    return std::unique_ptr<SharedControl>(std::make_unique<ActingControl>(std::move(inner), point, pass, act));
  };
  return hooks;
}

Children::~Children() {
  for (const pid_t child : children_) ::kill(child, SIGKILL);
  for (const pid_t child : children_) ::waitpid(child, nullptr, 0);
}

pid_t Children::start(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  WEFT_CHECK(child >= 0);
  if (child == 0) {
    children_.clear();
    const int code = body();
    std::fflush(nullptr);
    ::_exit(code);
  }
  children_.insert(child);
  return child;
}

int Children::end_of(pid_t child, int timeout_s) {
  children_.erase(child);
  int status = 0;
  const std::int64_t deadline = system_clock().monotonic_ns() + timeout_s * kSecond;
  while (::waitpid(child, &status, WNOHANG) != child) {
    if (system_clock().monotonic_ns() > deadline) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      ADD_FAILURE() << "a process does not end";
      return -1;
    }
    pause_ms(2);
  }
  return status;
}

bool Children::is_stopped(pid_t child, int timeout_s) {
  const std::int64_t deadline = system_clock().monotonic_ns() + timeout_s * kSecond;
  int status = 0;
  while (system_clock().monotonic_ns() < deadline) {
    if (::waitpid(child, &status, WUNTRACED | WNOHANG) == child) {
      if (WIFSTOPPED(status)) return true;
      children_.erase(child);
      return false;
    }
    pause_ms(2);
  }
  return false;
}

OpenPlace::OpenPlace() {
  namespace fs = std::filesystem;
  fs::create_directory(dir_ / "bin");
  fs::copy_file(WEFT_PROGRAM, program());
  for (const std::string& path : {dir_.path(), dir_ / "bin", program()}) EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
}

ProcessOutput OpenPlace::run(const std::string& directory, std::vector<std::string> arguments,
                             std::vector<std::string> environment) const {
  ProcessOptions options;
  options.argv = {program()};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.directory = directory;
  options.environment = std::move(environment);
  options.environment->emplace_back("PATH=/usr/bin:/bin");
  options.environment->emplace_back("WEFT_AUTHOR=Ann <ann@example.org>");
  auto output = run_process(std::move(options), "", 64u << 20);
  if (output) return *std::move(output);
  return {{126, 0}, "", output.error().message};
}

bool become(unsigned user, unsigned group, unsigned mask) {
  ::umask(mask);
  return ::geteuid() == 0 && ::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(user) == 0;
}

}  // namespace weft::environment
