#include "store/store.h"
#include "store/transaction_codec.h"

namespace weft::store {

std::string_view ref_name_problem(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxRefNameBytes) return "is longer than 200 bytes";
  if (!is_utf8(name)) return "is not UTF-8";
  if (name.front() == '-') return "begins with '-'";
  if (name.back() == '/' || name.front() == '/') return "begins or ends with '/'";
  if (name.back() == '.') return "ends with '.'";
  if (name == "@") return "is '@'";
  if (name.find("..") != std::string_view::npos) return "contains '..'";
  if (name.find("@{") != std::string_view::npos) return "contains '@{'";
  bool all_hex = name.size() == 2 * ObjectId::kSize;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) return "contains a control character";
    if (std::string_view(" ~^:?*[\\").find(c) != std::string_view::npos) return "contains one of space ~ ^ : ? * [ \\";
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    all_hex = all_hex && hex;
  }
  if (all_hex) return "looks like an id";
  std::size_t begin = 0;
  while (begin <= name.size()) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty()) return "has an empty part";
    if (part.front() == '.') return "has a part that begins with '.'";
    if (part.ends_with(".lock")) return "has a part that ends in '.lock'";
    begin = end + 1;
  }
  return {};
}

}  // namespace weft::store
