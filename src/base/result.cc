#include "base/result.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/bytes.h"

namespace weft {

std::string_view name(Code code) {
  switch (code) {
    case Code::usage:
      return "usage";
    case Code::invalid:
      return "invalid";
    case Code::not_found:
      return "not_found";
    case Code::ambiguous:
      return "ambiguous";
    case Code::exists:
      return "exists";
    case Code::refused:
      return "refused";
    case Code::conflicts:
      return "conflicts";
    case Code::lost_race:
      return "lost_race";
    case Code::busy:
      return "busy";
    case Code::damaged:
      return "damaged";
    case Code::store_failed:
      return "store_failed";
    case Code::unsupported:
      return "unsupported";
    case Code::io:
      return "io";
    case Code::no_space:
      return "no_space";
    case Code::permission:
      return "permission";
    case Code::peer:
      return "peer";
    case Code::interrupted:
      return "interrupted";
    case Code::internal:
      return "internal";
  }
  return "internal";
}

int exit_code(Code code) {
  switch (code) {
    case Code::conflicts:
      return 1;
    case Code::usage:
      return 2;
    case Code::lost_race:
    case Code::busy:
      return 4;
    case Code::damaged:
    case Code::store_failed:
      return 5;
    case Code::peer:
      return 6;
    case Code::invalid:
    case Code::not_found:
    case Code::ambiguous:
    case Code::exists:
    case Code::refused:
    case Code::unsupported:
    case Code::io:
    case Code::no_space:
    case Code::permission:
    case Code::interrupted:
    case Code::internal:
      return 3;
  }
  return 3;
}

Error make_error(Code code, std::string message, std::string hint) {
  return Error{.code = code, .message = std::move(message), .hint = std::move(hint)};
}

Error damaged(std::string message, std::string hint) {
  return make_error(Code::damaged, std::move(message), std::move(hint));
}

namespace {

Code code_of_errno(int errnum) {
  switch (errnum) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::no_space;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::permission;
    case ENOENT:
    case ENOTDIR:
      return Code::not_found;
    case EEXIST:
      return Code::exists;
    default:
      return Code::io;
  }
}

/// What helps whatever was being done.
std::string_view hint_of_errno(int errnum) {
  switch (errnum) {
    case ENOSPC:
      return "free some space, then try again";
    case EDQUOT:
      return "your quota is used up: free some space of your own, then try again";
    case EFBIG:
      return "this is above the limit on the size of files: raise it (`ulimit -f`), then try again";
    case EMFILE:
      return "this is the limit on open files of one process: raise it (`ulimit -n`), then try again";
    case ENFILE:
      return "the machine has no more open files to give: end some programs, then try again";
    case ENOMEM:
      return "free some memory, or raise the limit (`ulimit -v`), then try again";
    case EROFS:
      return "the file system is mounted read-only";
    case EACCES:
    case EPERM:
      return "look whose it is, and who may use it (`ls -ld`)";
    case EIO:
      return "the disk reports an error: look at the system's log (`dmesg`), and make a copy of what can be read";
    case ESTALE:
      return "the file system's server no longer knows this file";
    case ENAMETOOLONG:
      return "choose a shorter name, or a directory nearer to the root";
    default:
      return {};
  }
}

}  // namespace

Error system_error(int errnum, std::string_view operation, std::string_view object) {
  // "rename to b" of a reads "cannot rename a to b"; every other phrase stands whole before the object.
  const std::size_t to = operation.find(" to ");
  std::string message = "cannot ";
  message += operation.substr(0, to);
  if (!object.empty()) {
    message += ' ';
    message += quoted(object);
  }
  if (to != std::string_view::npos) message += operation.substr(to);
  message += ": ";
  // Not strerror(): it may translate, allocate, and share a buffer between threads.
  if (const char* description = ::strerrordesc_np(errnum)) {
    message += description;
  } else {
    message += "error " + std::to_string(errnum);
  }
  Error error{.code = code_of_errno(errnum),
              .message = std::move(message),
              .hint = std::string(hint_of_errno(errnum)),
              .sys_errno = errnum};
  if (!object.empty()) error.details.emplace_back("path", object);
  return error;
}

void check_failed(const char* expression, const char* file, int line) {
  std::string text = "weft: internal error: ";
  text += file;
  text += ':' + std::to_string(line) + ": check failed: ";
  text += expression;
  text += '\n';
  // Nothing can be done if stderr is gone; the abort tells.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  std::abort();
}

}  // namespace weft
