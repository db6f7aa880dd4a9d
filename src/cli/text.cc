#include "cli/text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace weft::cli {
namespace {

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = now;
  }
  return last[b.size()];
}

constexpr std::size_t kMaxWordLength = 40;  // longer ones are no slip of the finger, and the distance is quadratic

}  // namespace

std::string quoted_always(std::string_view text) {
  std::string out = quoted(text);
  return out.starts_with('"') && out.size() > 1 ? out : '"' + out + '"';
}

std::vector<std::string> closest(std::string_view word, const std::vector<std::string>& names) {
  if (word.size() > kMaxWordLength) return {};
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const auto& name : names) {
    if (name.empty()) continue;
    const std::size_t far = distance(word, name);
    if (far <= limit && far < name.size()) found.emplace_back(far, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (auto& [far, name] : found) {
    if (out.size() < 3 && far <= found.front().first + 1) out.push_back(std::move(name));
  }
  return out;
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
