// The list of commands. One line each; the functions are in cmd_NAME.cc.

#include "cli/command.h"

namespace weft::cli {

#define WEFT_COMMANDS(X)                                                              \
  X("init", cmd_init, "make a store in this directory")                               \
  X("info", cmd_info, "say what store and workspace this is, and how big")            \
  X("status", cmd_status, "list what differs from the head")                          \
  X("commit", cmd_commit, "record the working tree as a change")                      \
  X("log", cmd_log, "show history")                                                   \
  X("show", cmd_show, "show a change and what it did")                                \
  X("diff", cmd_diff, "show what differs between versions, or from the working tree") \
  X("switch", cmd_switch, "bring the workspace to another version")                   \
  X("restore", cmd_restore, "bring files back as a version has them")                 \
  X("mv", cmd_mv, "move or rename a file or directory")                               \
  X("rm", cmd_rm, "remove files")                                                     \
  X("ls", cmd_ls, "list the files of a version")                                      \
  X("cat", cmd_cat, "print a file as a version has it")                               \
  X("land", cmd_land, "bring the workspace's changes onto the ref it follows")        \
  X("ref list", cmd_ref_list, "list refs")                                            \
  X("ref set", cmd_ref_set, "point a ref at a version")                               \
  X("ref delete", cmd_ref_delete, "delete a ref")                                     \
  X("ref log", cmd_ref_log, "list where a ref has stood")                             \
  X("workspace add", cmd_workspace_add, "make another workspace of this store")       \
  X("workspace list", cmd_workspace_list, "list the workspaces")                      \
  X("workspace rm", cmd_workspace_rm, "remove a workspace")                           \
  X("undo", cmd_undo, "take back an operation")                                       \
  X("redo", cmd_redo, "take back an undo")                                            \
  X("op log", cmd_op_log, "list operations, newest first")                            \
  X("op show", cmd_op_show, "show an operation and what it did")                      \
  X("op restore", cmd_op_restore, "set refs back to how they stood at an operation")  \
  X("config get", cmd_config_get, "print a setting")                                  \
  X("config set", cmd_config_set, "set a value in your configuration")                \
  X("config unset", cmd_config_unset, "take a value out of your configuration")       \
  X("config list", cmd_config_list, "list your configuration")                        \
  X("config edit", cmd_config_edit, "open your configuration in your editor")         \
  X("config path", cmd_config_path, "print where your configuration is")              \
  X("verify", cmd_verify, "check the store")                                          \
  X("doctor", cmd_doctor, "look what is wrong, and say what to do")                   \
  X("repair", cmd_repair, "rebuild what can be rebuilt")                              \
  X("gc", cmd_gc, "drop what nothing needs, and pack the rest")                        \
  X("git import", cmd_git_import, "bring in a git repository's history")              \
  X("git export", cmd_git_export, "write history into a git repository")              \
  X("completion", cmd_completion, "print a completion script for your shell")         \
  X("help", cmd_help, "show how to use weft")

#define WEFT_DECLARE(name, function, summary) Result<int> function(Invocation& invocation);
WEFT_COMMANDS(WEFT_DECLARE)
#undef WEFT_DECLARE

std::span<const Command> commands() {
#define WEFT_LIST(name, function, summary) {name, summary, function},
  static constexpr Command kCommands[] = {WEFT_COMMANDS(WEFT_LIST)};
#undef WEFT_LIST
  return kCommands;
}

}  // namespace weft::cli
