// Error and Result<T>: how every function that meets files, other processes or outside bytes reports failure.
//
// A dropped Result warns (class-level [[nodiscard]]); our own mistakes are WEFT_CHECKs, which stay on in release
// builds. Threading: values, no shared state.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// Stable error codes: the CLI prints `name()` in JSON and derives the exit code from it (docs/JSON.md).
enum class Code : std::uint8_t {
  usage,         ///< the call's words are off (exit 2)
  invalid,       ///< bad input: malformed name, id, change list, ... (3)
  not_found,     ///< no such path, ref, version, store (3)
  ambiguous,     ///< a prefix or name that means several things (3)
  exists,        ///< would overwrite something (3)
  refused,       ///< the state forbids it: local edits, unlanded changes, foreign store, ... (3)
  conflicts,     ///< refused because of conflicts (1)
  lost_race,     ///< a compare-and-swap lost; `details` name the winner (4)
  busy,          ///< try again (4)
  damaged,       ///< bytes that are not what was written (5)
  store_failed,  ///< a write or flush failed; nothing is accepted before recovery (5)
  unsupported,   ///< a feature or format this binary does not know (3)
  io,            ///< the system refused a call (3)
  no_space,      ///< ENOSPC, EDQUOT, EFBIG; no memory (3)
  permission,    ///< EACCES, EPERM, EROFS (3)
  peer,          ///< another store, a helper or a transport (6)
  interrupted,   ///< by a signal (3)
  internal,      ///< a bug of ours (3)
};

/// `not_found` and so on: the word in JSON.
std::string_view name(Code code);
/// 1 to 6, see Code.
int exit_code(Code code);

/// What went wrong. `message` is one sentence without a final point: what was wrong, and where. `hint` says what to do
/// next.
struct [[nodiscard]] Error {
  Code code = Code::internal;
  std::string message;
  std::string hint{};
  int sys_errno = 0;
  /// Machine-readable facts (JSON `details`): "path", "ref", "expected", "actual", "offset", ...; bytes allowed in
  /// values.
  std::vector<std::pair<std::string, std::string>> details{};

  Error&& with(std::string key, std::string value) && {
    details.emplace_back(std::move(key), std::move(value));
    return std::move(*this);
  }
  Error&& hinted(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
};

Error make_error(Code code, std::string message, std::string hint = {});
/// Error for a failed system call; code from errno, and a hint where errno says what would help. `operation` is a verb
/// phrase ("open", "rename to x"), `object` a path.
Error system_error(int errnum, std::string_view operation, std::string_view object);
Error damaged(std::string message, std::string hint = {});

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;`
  Result(Error error) : state_(std::unexpected(std::move(error))) {}  // NOLINT

  bool has_value() const { return state_.has_value(); }
  explicit operator bool() const { return state_.has_value(); }
  T& value() & { return state_.value(); }
  const T& value() const& { return state_.value(); }
  T&& value() && { return std::move(state_).value(); }
  T& operator*() & { return *state_; }
  const T& operator*() const& { return *state_; }
  T&& operator*() && { return *std::move(state_); }
  T* operator->() { return &*state_; }
  const T* operator->() const { return &*state_; }
  Error& error() & { return state_.error(); }
  const Error& error() const& { return state_.error(); }
  Error&& error() && { return std::move(state_).error(); }
  T value_or(T other) const& { return state_.has_value() ? *state_ : std::move(other); }

  template <typename F>
  auto and_then(F&& f) && -> decltype(std::forward<F>(f)(std::declval<T>())) {
    if (!state_) return std::move(state_).error();
    return std::forward<F>(f)(*std::move(state_));
  }

 private:
  std::expected<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : state_(std::unexpected(std::move(error))) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.has_value(); }
  explicit operator bool() const { return state_.has_value(); }
  void value() const { (void)state_.value(); }
  Error& error() & { return state_.error(); }
  const Error& error() const& { return state_.error(); }
  Error&& error() && { return std::move(state_).error(); }

 private:
  std::expected<void, Error> state_;
};

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

#define WEFT_CONCAT_(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_(a, b)

/// Guards our own mistakes, never outside bytes. Aborts, also in release builds.
#define WEFT_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::weft::check_failed(#condition, __FILE__, __LINE__))

/// `WEFT_TRY(auto x, f());` declares x from f()'s value, or returns its error.
#define WEFT_TRY(declaration, expression) WEFT_TRY_(declaration, expression, WEFT_CONCAT(weft_try_, __COUNTER__))
#define WEFT_TRY_(declaration, expression, temporary)  \
  auto temporary = (expression);                       \
  if (!temporary) return std::move(temporary).error(); \
  declaration = *std::move(temporary)

/// `WEFT_DO(f());` returns f()'s error if it failed.
#define WEFT_DO(expression) WEFT_DO_(expression, WEFT_CONCAT(weft_do_, __COUNTER__))
#define WEFT_DO_(expression, temporary)                  \
  do {                                                   \
    auto temporary = (expression);                       \
    if (!temporary) return std::move(temporary).error(); \
  } while (false)

}  // namespace weft
