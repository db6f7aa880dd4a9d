// ArrayWriter: one array of a file that has several, written a buffer at a time: runs are larger than memory should
// have to be.
#pragma once

#include <cstdint>

#include "base/file_system.h"

namespace weft::store {

class ArrayWriter {
 public:
  ArrayWriter(File& file, std::uint64_t offset) : file_(file), offset_(offset) {}
  Result<void> add(const char* bytes, std::size_t length) {
    buffer_.append(bytes, length);
    if (buffer_.size() < kBufferBytes) return {};
    return flush();
  }
  Result<void> flush() {
    if (buffer_.empty()) return {};
    WEFT_DO(file_.write_at(offset_, buffer_));
    offset_ += buffer_.size();
    buffer_.clear();
    return {};
  }

 private:
  static constexpr std::size_t kBufferBytes = 1u << 20;
  File& file_;
  std::uint64_t offset_;
  Bytes buffer_;
};

}  // namespace weft::store
