// One JSON value (RFC 8259), built in order and written once. Small on purpose: starting up is part of every commit.
//
// Invariants:
//   J-1  Keys come out in the order they were set; the caller sets each key once.
//   J-2  Output is always valid UTF-8 JSON: a string that is not UTF-8 becomes {"bytes": BASE64} (DESIGN 11).
// Threading: values.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace weft::cli {

class Json {
 public:
  Json() : text_("null") {}
  Json(std::nullptr_t) : Json() {}                                          // NOLINT(google-explicit-constructor)
  Json(std::same_as<bool> auto value) : text_(value ? "true" : "false") {}  // NOLINT
  Json(std::integral auto value)                                            // NOLINT
    requires(!std::same_as<decltype(value), bool> && !std::same_as<decltype(value), char>)
      : text_(std::to_string(value)) {}
  Json(std::string_view text);                                     // NOLINT
  Json(const std::string& text) : Json(std::string_view(text)) {}  // NOLINT
  Json(const char* text) : Json(std::string_view(text)) {}         // NOLINT

  static Json object() { return Json(Kind::object, "{}"); }
  static Json array() { return Json(Kind::array, "[]"); }
  /// A duration as a number of milliseconds with three decimals.
  static Json milliseconds(std::int64_t ns);

  /// Of an object: adds a key. Returns *this, for chains.
  Json& set(std::string_view key, const Json& value) &;
  Json&& set(std::string_view key, const Json& value) && { return std::move(set(key, value)); }
  /// Of an object: adds all keys of another.
  Json& merge(const Json& object) &;
  Json&& merge(const Json& object) && { return std::move(merge(object)); }
  /// Of an array: adds an element.
  Json& push(const Json& value) &;

  bool is_empty_object() const { return kind_ == Kind::object && text_.size() == 2; }
  /// On one line.
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t { scalar, object, array };
  Json(Kind kind, std::string text) : kind_(kind), text_(std::move(text)) {}

  Kind kind_ = Kind::scalar;
  std::string text_;  ///< the value as it will be written
};

}  // namespace weft::cli
