#include "base/bus_error.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace weft {
namespace {

constexpr std::size_t kMaxMapsBytes = 256u << 10;
constexpr std::size_t kMaxPath = 4096;

// A signal handler has nothing else to look at.
std::atomic<BusErrorForm> the_form = BusErrorForm::text;
std::atomic<int> the_status = 1;
char maps_text[kMaxMapsBytes];

/// Builds one message without memory of its own; what does not fit is left out.
class Message {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (used_ < sizeof(text_)) text_[used_++] = c;
    }
  }
  /// Inside a JSON string; bytes that would need more than a backslash become '?'.
  void add_quoted(std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') add("\\");
      add(byte < 0x20 || byte >= 0x7f ? std::string_view("?") : std::string_view(&c, 1));
    }
  }
  void write_to(int fd) const {
    std::size_t done = 0;
    while (done < used_) {
      const ssize_t wrote = ::write(fd, text_ + done, used_ - done);
      if (wrote <= 0) return;
      done += static_cast<std::size_t>(wrote);
    }
  }

 private:
  char text_[2 * kMaxPath + 1024];
  std::size_t used_ = 0;
};

std::string_view read_maps() {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::size_t used = 0;
  while (used < sizeof(maps_text)) {
    const ssize_t got = ::read(fd, maps_text + used, sizeof(maps_text) - used);
    if (got <= 0) break;
    used += static_cast<std::size_t>(got);
  }
  ::close(fd);
  return {maps_text, used};
}

void on_bus_error(int, siginfo_t* info, void*) {
  // SA_RESETHAND: a second fault, in here or by another thread, is a crash.
  const std::string_view path = mapped_path(read_maps(), reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (path.empty()) return;  // touched again, with nobody to catch it
  // The control block is no truth: the next command makes a new one.
  const bool control = path.ends_with("/.weft/control");
  const std::string_view hint = control ? "nothing recorded is lost: run the command again"
                                        : "run `weft verify`; `weft op log` shows what was recorded";
  Message message;
  if (the_form.load() == BusErrorForm::json) {
    message.add(R"({"weft": 1, "ok": false, "error": {"code": "damaged", "message": ")");
    message.add_quoted(path);
    message.add(R"( was cut, or could not be read, while this command used it", "hint": ")");
    message.add_quoted(hint);
    message.add(R"(", "details": {"path": [")");
    message.add_quoted(path);
    message.add("\"]}}, \"meta\": {\"elapsed_ms\": 0}}\n");
    message.write_to(STDOUT_FILENO);
  } else {
    message.add("weft: ");
    message.add(path);
    message.add(" was cut, or could not be read, while this command used it\nhint: ");
    message.add(hint);
    message.add("\n");
    message.write_to(STDERR_FILENO);
  }
  ::_exit(the_status.load());
}

/// Takes hexadecimal digits off the front.
std::uint64_t take_hex(std::string_view& text) {
  std::uint64_t value = 0;
  while (!text.empty()) {
    const char c = text[0];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value << 4 | static_cast<unsigned>(digit);
    text.remove_prefix(1);
  }
  return value;
}

}  // namespace

// A line: "7f0c4b000000-7f0c4f000000 r--s 00000000 fe:00 1234567    /path of the file".
std::string_view mapped_path(std::string_view maps, std::uint64_t address) {
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    std::string_view line = maps.substr(0, end);
    maps.remove_prefix(std::min(end + 1, maps.size()));
    const std::uint64_t from = take_hex(line);
    if (!line.starts_with('-')) continue;
    line.remove_prefix(1);
    const std::uint64_t to = take_hex(line);
    if (address < from || address >= to) continue;
    const std::size_t slash = line.find(" /");
    if (slash == std::string_view::npos) return {};
    line.remove_prefix(slash + 1);
    constexpr std::string_view kDeleted = " (deleted)";
    if (line.ends_with(kDeleted)) line.remove_suffix(kDeleted.size());
    return line;
  }
  return {};
}

void explain_bus_errors(BusErrorForm form, int status) {
  the_form.store(form);
  the_status.store(status);
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  (void)::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace weft
