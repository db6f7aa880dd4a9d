#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

#include <unistd.h>

namespace weft::cli {
namespace {

// A signal handler reaches nothing but what is static.
std::atomic<const char*> notice_text = nullptr;
std::atomic<std::size_t> notice_bytes = 0;
std::atomic<bool> is_put_off = false;
static_assert(std::atomic<const char*>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

extern "C" void on_interrupt(int signal) {
  if (is_put_off) return;
  // A line of progress may stand there.
  constexpr std::string_view kErase = "\r\x1b[K";
  if (::isatty(STDERR_FILENO) == 1) (void)!::write(STDERR_FILENO, kErase.data(), kErase.size());
  (void)!::write(STDERR_FILENO, notice_text, notice_bytes);
  (void)std::signal(signal, SIG_DFL);
  (void)std::raise(signal);  // delivered when this returns
}

}  // namespace

InterruptNotice::InterruptNotice(std::string_view text) {
  struct sigaction before{};
  if (::sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  notice_text = text.data();
  notice_bytes = text.size();
  is_put_off = false;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  installed_ = ::sigaction(SIGINT, &action, nullptr) == 0;
}

InterruptNotice::~InterruptNotice() {
  if (installed_) (void)std::signal(SIGINT, SIG_DFL);
}

void InterruptNotice::put_off(bool yes) { is_put_off = yes; }

}  // namespace weft::cli
