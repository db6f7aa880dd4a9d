// What can be said of every FileSystem: helpers on top of the interface, and paths.
#include "base/file_system.h"

#include "base/hash.h"

namespace weft {

namespace {

/// Temporaries a writer tries before it gives up; names in use belong to concurrent writers or to crashed ones.
constexpr int kMaxTemporaryNames = 100;
constexpr std::string_view kTemporaryMark = ".tmp-";
constexpr std::size_t kTemporaryDigits = 8;
constexpr std::int64_t kOldTemporaryNs = std::int64_t{24} * 3600 * 1'000'000'000;

Result<void> write_temporary(File& file, ByteView content) {
  WEFT_DO(file.write_at(0, content));
  return file.sync();
}

}  // namespace

Result<Bytes> read_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes) {
  WEFT_TRY(const auto file, fs.open(path, OpenMode::read));
  WEFT_TRY(const std::uint64_t size, file->size());
  if (size > max_bytes) {
    return make_error(Code::invalid,
                      quoted(path) + " is larger than the " + std::to_string(max_bytes) + " bytes allowed here")
        .with("path", path);
  }
  Bytes content(size, '\0');
  WEFT_TRY(const std::size_t got, file->read_some_at(0, content));
  content.resize(got);  // cut meanwhile
  return content;
}

Result<void> write_file_durably(FileSystem& fs, const std::string& path, ByteView content) {
  // Names follow from the content, not from chance, so that a simulated run repeats exactly.
  const std::uint64_t first = xxh3(content);
  for (int attempt = 0; attempt < kMaxTemporaryNames; ++attempt) {
    const std::uint64_t number = first + static_cast<std::uint64_t>(attempt);
    const std::string temporary =
        path + std::string(kTemporaryMark) + to_hex({reinterpret_cast<const char*>(&number), kTemporaryDigits / 2});
    auto opened = fs.open(temporary, OpenMode::create_new);
    if (!opened) {
      if (opened.error().code == Code::exists) continue;
      return std::move(opened).error();
    }
    auto written = write_temporary(**opened, content);
    opened->reset();
    if (written) written = fs.rename(temporary, path);
    if (!written) {
      (void)fs.unlink(temporary);  // best effort: the first error is the one to report
      return std::move(written).error();
    }
    return fs.sync_directory(parent_path(path));
  }
  return make_error(Code::exists, "cannot write " + quoted(path) + ": too many temporary files beside it",
                    "remove the files named " + quoted(base_name(path) + ".tmp-*"))
      .with("path", path);
}

bool is_durable_temporary(std::string_view name) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view digits = name.substr(mark + kTemporaryMark.size());
  return digits.size() == kTemporaryDigits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void remove_old_durable_temporaries(FileSystem& fs, const std::string& directory, std::int64_t now_ns) {
  const auto entries = fs.list(directory);
  if (!entries) return;  // whoever needs the directory will say so
  for (const auto& entry : *entries) {
    if (!is_durable_temporary(entry.name)) continue;
    const std::string path = join_path(directory, entry.name);
    const auto status = fs.status(path);
    if (status && status->mtime_ns < now_ns - kOldTemporaryNs) (void)fs.unlink(path).has_value();
  }
}

Result<FileSystemType> FileSystem::type_of(const std::string&) { return FileSystemType{}; }

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  std::string path(directory);
  if (path.back() != '/') path += '/';
  path += name;
  return path;
}

std::string parent_path(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  std::string_view parent = path.substr(0, slash);
  while (!parent.empty() && parent.back() == '/') parent.remove_suffix(1);
  return parent.empty() ? "/" : std::string(parent);
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::size_t slash = path.rfind('/');
  if (path == "/" || slash == std::string_view::npos) return std::string(path);
  return std::string(path.substr(slash + 1));
}

}  // namespace weft
