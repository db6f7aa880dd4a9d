#include "cli/diff_tool.h"

#include <csignal>
#include <map>
#include <utility>

#include "base/process.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/patch_sides.h"
#include "cli/text.h"
#include "text/closest.h"

namespace weft::cli {
namespace {

using object::EntryKind;
using tree::Difference;
using tree::PathEntry;

struct Tool {
  std::string_view name;
  std::string_view command;
  bool directories = false;  ///< shows two directories at once; otherwise it is run for each file
};
constexpr Tool kTools[] = {
    {"bcompare", "bcompare $left $right", true},
    {"code", "code --wait --diff $left $right", false},
    {"codium", "codium --wait --diff $left $right", false},
    {"diff", "diff -ru $left $right", true},
    {"difft", "difft $left $right", true},
    {"diffuse", "diffuse $left $right", false},
    {"emerge", "emacs -f emerge-files-command $left $right", false},
    {"gvimdiff", "gvim -f -d $left $right", false},
    {"icdiff", "icdiff $left $right", false},
    {"kdiff3", "kdiff3 $left $right", true},
    {"kompare", "kompare $left $right", true},
    {"meld", "meld $left $right", true},
    {"nvimdiff", "nvim -d $left $right", false},
    {"opendiff", "opendiff $left $right", true},
    {"p4merge", "p4merge $left $right", false},
    {"vimdiff", "vim -f -d $left $right", false},
    {"vscode", "code --wait --diff $left $right", false},
    {"xxdiff", "xxdiff $left $right", false},
};

constexpr int kNotExecutable = 126, kNotFound = 127;

struct Choice {
  std::string command;
  bool directories = false;
};

Result<Choice> choose(const Invocation& invocation, const std::string& wanted) {
  std::string name = wanted.empty() ? settings(invocation).text("ui.diff-tool") : wanted;
  if (name.empty()) {
    return make_error(Code::usage, "no diff tool is set",
                      "name one (`--tool=vimdiff`), or `weft config set ui.diff-tool NAME`");
  }
  const std::string own = "diff-tools." + name;
  const bool is_name = name.find_first_of(" $./\"'") == std::string::npos;
  if (is_name && settings(invocation).is_set(own)) {
    name = settings(invocation).text(own);
  } else if (is_name) {
    for (const auto& tool : kTools) {
      if (tool.name == name) return Choice{std::string(tool.command), tool.directories};
    }
    std::vector<std::string> names;
    for (const auto& tool : kTools) names.emplace_back(tool.name);
    const auto close = text::closest(name, names);
    return make_error(Code::invalid, quoted_always(name) + " is no diff tool weft knows",
                      close.empty() ? "`weft config set diff-tools." + name + " 'COMMAND $left $right'` makes it one"
                                    : "did you mean " + close.front() + "?");
  }
  // A command of the user's shows directories where it says so by $left_dir.
  const bool directories = name.find("$left_dir") != std::string::npos;
  if (name.find("$left") == std::string::npos) name += " $left $right";
  return Choice{std::move(name), directories};
}

/// The two directories of copies.
class Copies {
 public:
  Copies(Invocation& invocation, const object::ObjectReader& reader, std::string root)
      : invocation_(invocation), fs_(invocation.context.env.fs), reader_(reader), root_(std::move(root)) {}
  ~Copies() {
    if (!keep_) remove(root_);
  }
  Copies(const Copies&) = delete;

  const std::string& root() const { return root_; }
  Result<void> begin() {
    for (const char* each : {"", "/left", "/right"}) WEFT_DO(fs_.make_directory(root_ + each));
    return {};
  }
  /// The copy's path; "/dev/null" for what is not there.
  Result<std::string> add(std::string_view side, const std::optional<PathEntry>& at) {
    if (!at || at->entry.kind == EntryKind::directory) return std::string("/dev/null");
    const std::string path = root_ + "/" + std::string(side) + "/" + at->path;
    WEFT_DO(repo::make_directories(fs_, parent_path(path)));
    WEFT_TRY(auto content, reader_.read(object::ObjectKind::blob, at->entry.id));
    if (at->entry.kind == EntryKind::submodule) content += "\n";
    WEFT_TRY(const auto file, fs_.open(path, OpenMode::create));
    WEFT_DO(file->write_at(0, content));
    WEFT_DO(file->set_size(content.size()));
    written_[path] = std::move(content);
    return path;
  }
  /// Keeps everything if a copy is no longer what was written.
  void look_for_edits() {
    for (const auto& [path, content] : written_) {
      const auto now = read_file(fs_, path, content.size());
      if (now && *now == content) continue;
      if (!now && now.error().code == Code::not_found) continue;
      keep_ = true;
    }
    if (keep_)
      notice(invocation_, "the tool changed copies, not your files; what it wrote is kept in " + quoted(root_));
  }

 private:
  void remove(const std::string& directory) {
    const auto entries = fs_.list(directory);
    if (!entries) return;
    for (const auto& entry : *entries) {
      const std::string path = directory + "/" + entry.name;
      if (entry.kind == FileKind::directory) {
        remove(path);
      } else {
        (void)fs_.unlink(path).has_value();
      }
    }
    (void)fs_.remove_directory(directory).has_value();
  }

  Invocation& invocation_;
  FileSystem& fs_;
  const object::ObjectReader& reader_;
  std::string root_;
  std::map<std::string, Bytes> written_;
  bool keep_ = false;
};

Result<void> show(Invocation& invocation, const std::string& command, const std::string& left, const std::string& right,
                  const std::string& path) {
  // Names may hold blanks and stars; what a variable holds is one word here, quoted or not.
  const std::string script =
      "set -f; IFS=; left=$1 right=$2 left_dir=$1 right_dir=$2 path=$3; export left right path\n" + command;
  WEFT_TRY(const int code, run_user_command(invocation, script, {left, right, path}));
  if (code == kNotFound || code == kNotExecutable) {
    return make_error(Code::not_found, "the diff tool `" + command + "` cannot be run",
                      "`weft config set ui.diff-tool NAME` takes another");
  }
  return {};
}

}  // namespace

Result<int> run_user_command(Invocation& invocation, const std::string& script,
                             const std::vector<std::string>& arguments) {
  ProcessOptions options;
  options.argv = {"/bin/sh", "-c", script, "weft"};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = process_environment(invocation);
  options.directory = invocation.context.directory;
  options.in = ProcessOptions::Stream::inherit;
  WEFT_TRY(auto process, Process::start(options));
  // Ctrl-C belongs to what runs in front of us.
  const auto before_interrupt = std::signal(SIGINT, SIG_IGN);
  const auto before_quit = std::signal(SIGQUIT, SIG_IGN);
  const auto status = process.wait();
  if (before_interrupt != SIG_ERR) std::signal(SIGINT, before_interrupt);
  if (before_quit != SIG_ERR) std::signal(SIGQUIT, before_quit);
  if (!status) return status.error();
  return status->signal != 0 ? 128 + status->signal : status->code;
}

Result<void> run_diff_tool(Invocation& invocation, const object::ObjectReader& reader,
                           const std::vector<Difference>& differences, const DiffToolRequest& request) {
  WEFT_TRY(const auto choice, choose(invocation, request.name));
  if (differences.empty()) return {};
  FileSystem& fs = invocation.context.env.fs;
  Copies copies(invocation, reader,
                request.scratch + "/diff-" + invocation.context.env.random.id<NodeId>().hex().substr(0, 8));
  WEFT_DO(copies.begin());
  for (const auto& difference : differences) {
    if (is_directory(difference)) continue;
    const std::string& path = path_of(difference);
    auto left = copies.add("left", difference.before);
    const std::string working = request.working_tree + "/" + path;
    const bool here = !request.working_tree.empty() && difference.after && fs.status(working).has_value();
    auto right = here && !choice.directories ? Result<std::string>(working) : copies.add("right", difference.after);
    if (!left || !right) {
      const Error& error = !left ? left.error() : right.error();
      if (error.code != Code::not_found) return error;
      notice(invocation, quoted(path) + " is left out: it is too large to be shown");
      continue;
    }
    if (!choice.directories) WEFT_DO(show(invocation, choice.command, *left, *right, path));
  }
  if (choice.directories) {
    WEFT_DO(show(invocation, choice.command, copies.root() + "/left", copies.root() + "/right", ""));
  }
  copies.look_for_edits();
  return {};
}

}  // namespace weft::cli
