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

std::string fitted(std::string_view text, std::size_t columns) {
  std::string out;
  std::size_t used = 0, last = 0;  // `last`: where the last column that was taken begins
  bool colored = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (text[at] == '\x1b') {
      end = std::min(text.find('m', at), text.size() - 1) + 1;
      colored = text.substr(at, end - at) != "\x1b[m";
    } else {
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      if (used == columns) {
        out.resize(last);
        out += "\u2026";
        if (colored) out += "\x1b[m";
        return out;
      }
      last = out.size();
      ++used;
    }
    out += text.substr(at, end - at);
    at = end;
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace weft::cli
