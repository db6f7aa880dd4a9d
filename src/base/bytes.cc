#include "base/bytes.h"

#include <array>
#include <bit>

namespace weft {

// ByteWriter and ByteReader copy integers as they lie in memory.
static_assert(std::endian::native == std::endian::little);

namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr char kBase64Digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

int base64_value(char digit) {
  if (digit >= 'A' && digit <= 'Z') return digit - 'A';
  if (digit >= 'a' && digit <= 'z') return digit - 'a' + 26;
  if (digit >= '0' && digit <= '9') return digit - '0' + 52;
  if (digit == '+') return 62;
  if (digit == '/') return 63;
  return -1;
}

std::uint8_t byte_at(ByteView bytes, std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); }

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;  // 0: not UTF-8
};

/// The code point that begins at `i`: shortest form only, no surrogates, nothing above U+10FFFF (Unicode 15, table
/// 3-7).
CodePoint code_point_at(ByteView bytes, std::size_t i) {
  const std::uint8_t lead = byte_at(bytes, i);
  if (lead < 0x80) return {lead, 1};
  std::size_t length = 0;
  std::uint32_t value = 0;
  if (lead >= 0xc2 && lead <= 0xdf) {
    length = 2;
    value = lead & 0x1fu;
  } else if ((lead & 0xf0) == 0xe0) {
    length = 3;
    value = lead & 0x0fu;
  } else if (lead >= 0xf0 && lead <= 0xf4) {
    length = 4;
    value = lead & 0x07u;
  } else {
    return {};
  }
  if (bytes.size() - i < length) return {};
  for (std::size_t k = 1; k < length; ++k) {
    const std::uint8_t next = byte_at(bytes, i + k);
    if ((next & 0xc0) != 0x80) return {};
    value = value << 6 | (next & 0x3fu);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  if (overlong || surrogate || value > 0x10ffff) return {};
  return {value, length};
}

/// Characters that act on a terminal or on the order of what follows instead of showing: C0, DEL, C1, line and
/// paragraph separators, and the bidirectional overrides with which a name can pose as another.
bool acts_on_terminal(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || c == 0x2028 || c == 0x2029 || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

void append_escaped(std::string& out, std::uint8_t byte) {
  switch (byte) {
    case '\a':
      out += "\\a";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\v':
      out += "\\v";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\r':
      out += "\\r";
      return;
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    default:
      out += '\\';
      out += static_cast<char>('0' + (byte >> 6));
      out += static_cast<char>('0' + (byte >> 3 & 7));
      out += static_cast<char>('0' + (byte & 7));
  }
}

}  // namespace

void ByteWriter::varint(std::uint64_t value) {
  char buffer[10];
  std::size_t size = 0;
  while (value >= 0x80) {
    buffer[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  buffer[size++] = static_cast<char>(value);
  out_.append(buffer, size);
}

std::uint64_t ByteReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; ok_ && shift < 64; shift += 7) {
    const std::uint8_t byte = u8();
    if (shift == 63 && byte > 1) break;  // does not fit 64 bits
    if (byte == 0 && shift > 0) break;   // a longer form than needed
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return ok_ ? value : 0;
  }
  fail();
  return 0;
}

ByteView ByteReader::raw(std::size_t length) {
  if (!ok_ || length > remaining()) {
    fail();
    return {};
  }
  const ByteView result = data_.substr(position_, length);
  position_ += length;
  return result;
}

ByteView ByteReader::sized(std::size_t max) {
  const std::uint64_t length = varint_max(max);
  return ok_ ? raw(static_cast<std::size_t>(length)) : ByteView{};
}

std::string to_hex(ByteView bytes) {
  std::string out(bytes.size() * 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out[2 * i] = kHexDigits[byte_at(bytes, i) >> 4];
    out[2 * i + 1] = kHexDigits[byte_at(bytes, i) & 15];
  }
  return out;
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes out(text.size() / 2, '\0');
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<char>(high << 4 | low);
  }
  return out;
}

std::string to_base64(ByteView bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? byte_at(bytes, i + k) : 0u);
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? kBase64Digits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

std::optional<Bytes> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  Bytes out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::size_t digits = 4;
    if (i + 4 == text.size()) {
      while (digits > 2 && text[i + digits - 1] == '=') --digits;
    }
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const int value = k < digits ? base64_value(text[i + k]) : 0;
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    const std::size_t count = digits - 1;
    // Bits that no byte uses must be zero, else two texts would mean the same bytes.
    if ((group & (0xffffffu >> (8 * count))) != 0) return std::nullopt;
    for (std::size_t k = 0; k < count; ++k) out += static_cast<char>(group >> (16 - 8 * k) & 0xff);
  }
  return out;
}

bool is_utf8(ByteView bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    if (byte_at(bytes, i) < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = code_point_at(bytes, i).length;
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string quoted(ByteView name) {
  std::string out = "\"";
  bool escaped = false;
  for (std::size_t i = 0; i < name.size();) {
    const CodePoint c = code_point_at(name, i);
    const std::size_t length = std::max<std::size_t>(1, c.length);
    if (c.length == 0 || acts_on_terminal(c.value) || c.value == '"' || c.value == '\\') {
      escaped = true;
      for (std::size_t k = 0; k < length; ++k) append_escaped(out, byte_at(name, i + k));
    } else {
      out += name.substr(i, length);
    }
    i += length;
  }
  if (!escaped) return std::string(name);
  return out + '"';
}

}  // namespace weft
