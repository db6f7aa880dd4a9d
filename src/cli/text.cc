#include "cli/text.h"

#include <algorithm>

#include <fmt/format.h>

namespace weft::cli {

std::string quoted_always(std::string_view text) {
  std::string out = quoted(text);
  return out.starts_with('"') && out.size() > 1 ? out : '"' + out + '"';
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  double value = static_cast<double>(bytes);
  std::string_view unit;
  for (const std::string_view next : {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string_view subject(std::string_view message) { return message.substr(0, message.find('\n')); }

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace weft::cli
