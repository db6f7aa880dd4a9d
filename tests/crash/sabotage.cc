#include "sabotage.h"

namespace weft::store {
namespace {

class SabotagedFile final : public File {
 public:
  SabotagedFile(std::unique_ptr<File> inner, Sabotage sabotage, const std::string& path)
      : inner_(std::move(inner)),
        sabotage_(sabotage),
        in_log_(path.ends_with(".seg")),
        in_packs_(path.find("/packs/") != std::string::npos) {}

  Result<void> read_at(std::uint64_t offset, std::span<char> out) const override {
    return inner_->read_at(offset, out);
  }
  Result<std::size_t> read_some_at(std::uint64_t offset, std::span<char> out) const override {
    return inner_->read_some_at(offset, out);
  }
  Result<void> write_at(std::uint64_t offset, std::span<const ByteView> parts) override {
    if (flush_due_) {
      flush_due_ = false;
      WEFT_DO(inner_->sync());
    }
    auto written = inner_->write_at(offset, parts);
    if (!written && sabotage_ == Sabotage::write_errors_lost) return {};
    return written;
  }
  using File::write_at;
  Result<void> sync() override {
    switch (sabotage_) {
      case Sabotage::no_flush:
        return {};
      case Sabotage::no_log_flush:
        if (in_log_) return {};
        break;
      case Sabotage::no_pack_flush:
        if (in_packs_) return {};
        break;
      case Sabotage::late_log_flush:
        if (!in_log_) break;
        flush_due_ = true;
        return {};
      case Sabotage::flush_errors_lost:
      case Sabotage::write_errors_lost:
        (void)inner_->sync();
        return {};
      default:
        break;
    }
    return inner_->sync();
  }
  Result<std::uint64_t> size() const override { return inner_->size(); }
  Result<void> set_size(std::uint64_t size) override { return inner_->set_size(size); }
  Result<std::shared_ptr<Mapping>> map(std::uint64_t length) const override { return inner_->map(length); }

 private:
  std::unique_ptr<File> inner_;
  Sabotage sabotage_;
  bool in_log_, in_packs_;
  bool flush_due_ = false;
};

}  // namespace

std::string describe(Sabotage sabotage) {
  static constexpr const char* kNames[] = {"none",
                                           "no flush",
                                           "no flush of the log",
                                           "no flush of packs",
                                           "no flush of directories",
                                           "flush of the log too late",
                                           "errors of flushes lost",
                                           "errors of writes lost"};
  return kNames[static_cast<int>(sabotage)];
}

Result<std::unique_ptr<File>> SabotagedFileSystem::open(const std::string& path, OpenMode mode) {
  WEFT_TRY(auto file, inner->open(path, mode));
  if (sabotage == Sabotage::none || mode == OpenMode::read) return file;
  return std::unique_ptr<File>(std::make_unique<SabotagedFile>(std::move(file), sabotage, path));
}

Result<void> SabotagedFileSystem::sync_directory(const std::string& path) {
  if (sabotage == Sabotage::no_directory_flush) return {};
  return inner->sync_directory(path);
}

}  // namespace weft::store
