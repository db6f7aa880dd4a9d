// Immortal<T>: a function-local or namespace-scope object that is initialised by the compiler and never destroyed.
//
// For the few stateless or process-wide objects base hands out by reference (posix_file_system(), system_clock(), ...):
// no constructor runs at start-up, no destructor is registered with atexit, and threads still running at exit find it.
#pragma once

#include <utility>

namespace weft {

template <typename T>
union Immortal {
  template <typename... Args>
  explicit constexpr Immortal(Args&&... args) : value(std::forward<Args>(args)...) {}
  constexpr ~Immortal() {}
  T value;
};

}  // namespace weft
