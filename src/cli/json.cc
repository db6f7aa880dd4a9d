#include "cli/json.h"

#include <utility>

namespace weft::cli {
namespace {

/// The text as a JSON string literal; it must be UTF-8.
std::string literal(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        // DEL is legal JSON, but it is a control byte to a terminal.
        if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
  return out;
}

}  // namespace

Json::Json(std::string_view text) {
  if (is_utf8(text)) {
    text_ = literal(text);
  } else {
    kind_ = Kind::object;
    text_ = "{\"bytes\": \"" + to_base64(text) + "\"}";
  }
}

Json Json::milliseconds(std::int64_t ns) {
  const std::int64_t us = ns < 0 ? 0 : ns / 1000;
  std::string decimals = std::to_string(us % 1000);
  decimals.insert(0, 3 - decimals.size(), '0');
  return Json(Kind::scalar, std::to_string(us / 1000) + "." + decimals);
}

Json& Json::set(std::string_view key, const Json& value) & {
  WEFT_CHECK(kind_ == Kind::object);
  const bool first = text_.size() == 2;
  text_.pop_back();
  if (!first) text_ += ", ";
  text_ += literal(key);
  text_ += ": ";
  text_ += value.text_;
  text_ += '}';
  return *this;
}

Json& Json::merge(const Json& object) & {
  WEFT_CHECK(kind_ == Kind::object && object.kind_ == Kind::object);
  if (object.is_empty_object()) return *this;
  const bool first = text_.size() == 2;
  text_.pop_back();
  if (!first) text_ += ", ";
  text_.append(object.text_, 1);
  return *this;
}

Json& Json::push(const Json& value) & {
  WEFT_CHECK(kind_ == Kind::array);
  const bool first = text_.size() == 2;
  text_.pop_back();
  if (!first) text_ += ", ";
  text_ += value.text_;
  text_ += ']';
  return *this;
}

}  // namespace weft::cli
