// For tests: a large, odd, deterministic history as a stream for `git fast-import`.
//
// Several lines of development from several roots: edits, renames of files and directories, modes, links, submodules,
// odd names, empty commits, merges (some of many parents), time zones, encodings, messages without a final newline,
// tags of both kinds. Header only. Threading: values.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

namespace weft::git::testing {

struct HistorySize {
  std::size_t commits = 400;
  std::size_t merges = 30;
  std::size_t files = 60;  ///< of a branch, about
};

class HistoryGenerator {
 public:
  HistoryGenerator(std::uint64_t seed, HistorySize size) : random_(seed), size_(size) {}

  /// The same for the same seed and size.
  std::string stream() {
    const std::size_t merge_every = size_.merges == 0 ? size_.commits + 1 : size_.commits / (size_.merges + 1) + 1;
    for (std::size_t i = 0; i < size_.commits; ++i) {
      Branch& branch = branches_[pick(std::size(branches_))];
      if (branch.mark != 0 && i % merge_every == merge_every - 1) {
        merge(branch);
      } else {
        commit(branch);
      }
      if (i % 97 == 96) tag(branch, i);
    }
    for (std::size_t i = 0; i < std::size(branches_); ++i) {
      if (branches_[i].mark != 0)
        out_ += "reset " + branch_name(i) + "\nfrom :" + std::to_string(branches_[i].mark) + "\n\n";
    }
    return std::move(out_);
  }

 private:
  struct File {
    std::string mode;
    std::string content;
  };
  struct Branch {
    std::uint64_t mark = 0;
    std::map<std::string, File> files;
  };

  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random_() % below); }
  std::string branch_name(std::size_t index) const {
    return "refs/heads/" + (index == 0 ? std::string("main") : "line/" + std::to_string(index));
  }
  std::size_t index_of(const Branch& branch) const { return static_cast<std::size_t>(&branch - branches_); }

  std::string new_path() {
    static const char* const kDirectories[] = {"", "src/", "src/deep/er/", "doc/", "odd dir/", "\xC3\xA4\xC3\xB6/"};
    static const char* const kNames[] = {"file", "a b", "\xFF\xFE raw", "name.txt", "quote\"d", "back\\slash", "-dash"};
    return std::string(kDirectories[pick(std::size(kDirectories))]) + kNames[pick(std::size(kNames))] +
           std::to_string(pick(size_.files * 2));
  }
  /// No file where a directory is, and no directory where a file is.
  static bool is_free(const Branch& branch, const std::string& path) {
    if (branch.files.contains(path)) return false;
    const auto below = branch.files.lower_bound(path + "/");
    if (below != branch.files.end() && below->first.starts_with(path + "/")) return false;
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
      if (branch.files.contains(path.substr(0, slash))) return false;
    }
    return true;
  }
  std::string text() {
    std::string content;
    const std::size_t lines = pick(40);
    for (std::size_t i = 0; i < lines; ++i) content += "line " + std::to_string(pick(1000)) + "\n";
    if (pick(9) == 0) content += std::string("binary \0 bytes", 14);
    return content;
  }
  static std::string quoted_path(const std::string& path) {
    std::string out = "\"";
    for (const char c : path) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (byte < 0x20 || byte >= 0x7F) {
        out += '\\';
        for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
      } else {
        out += c;
      }
    }
    return out + "\"";
  }
  void data(const std::string& bytes) { out_ += "data " + std::to_string(bytes.size()) + "\n" + bytes + "\n"; }
  void put(Branch& branch, const std::string& path, const File& file) {
    if (file.mode == "160000") {
      out_ += "M 160000 " + file.content + " " + quoted_path(path) + "\n";
    } else {
      out_ += "M " + file.mode + " inline " + quoted_path(path) + "\n";
      data(file.content);
    }
    branch.files[path] = file;
  }

  void begin(Branch& branch) {
    static const char* const kZones[] = {"+0000", "-0830", "+0545", "+1400", "-1200"};
    time_ += static_cast<std::int64_t>(pick(5000)) - 500;
    const std::string when = std::to_string(time_) + " " + kZones[pick(std::size(kZones))];
    out_ += "commit " + branch_name(index_of(branch)) + "\nmark :" + std::to_string(++marks_) + "\n";
    out_ += "author Ann \xC3\x85uthor " + std::to_string(pick(5)) + " <ann@x.y> " + when + "\n";
    out_ += "committer Cora <> " + std::to_string(time_ + 7) + " +0100\n";
    std::string message = "Change " + std::to_string(marks_) + "\n\nBecause.\n";
    if (pick(10) == 0) message = "no final newline";
    if (pick(30) == 0) message.clear();
    if (pick(25) == 0) {
      out_ += "encoding iso-8859-1\n";
      message = "Schl\xFCsse\n";
    }
    data(message);
    if (branch.mark != 0) out_ += "from :" + std::to_string(branch.mark) + "\n";
  }

  void commit(Branch& branch) {
    if (branch.mark == 0 && index_of(branch) % 3 != 0 && branches_[0].mark != 0) {
      branch = branches_[0];  // some lines have roots of their own
    }
    begin(branch);
    branch.mark = marks_;
    std::size_t edits = pick(12) == 0 ? 0 : 1 + pick(4);
    if (branch.files.empty()) edits = 10;
    for (std::size_t i = 0; i < edits; ++i) edit(branch);
    out_ += "\n";
  }

  void edit(Branch& branch) {
    const std::size_t kind = pick(20);
    const auto any = [&] {
      return std::next(branch.files.begin(), static_cast<std::ptrdiff_t>(pick(branch.files.size())));
    };
    if (branch.files.size() < size_.files / 2 || kind < 3) {
      const std::string path = new_path();
      if (!is_free(branch, path)) return;
      static const char* const kModes[] = {"100644", "100644", "100644", "100755"};
      File file{kModes[pick(4)], text()};
      if (pick(15) == 0) file = {"120000", "target" + std::to_string(pick(9))};
      if (pick(40) == 0) file = {"160000", std::string(40, static_cast<char>('1' + pick(8)))};
      put(branch, path, file);
    } else if (kind < 14) {
      const auto found = any();
      File file = found->second;
      if (file.mode == "160000") return;
      if (file.mode != "120000") {
        if (pick(8) == 0) file.mode = file.mode == "100644" ? "100755" : "100644";
        file.content.insert(pick(file.content.size() + 1), "edited " + std::to_string(pick(1000)) + "\n");
      } else {
        file.content += "x";
      }
      put(branch, found->first, file);
    } else if (kind < 16) {
      const auto found = any();
      out_ += "D " + quoted_path(found->first) + "\n";
      branch.files.erase(found);
    } else if (kind < 18) {
      const auto found = any();
      const std::string to = new_path();
      const std::string from = found->first;
      const File file = found->second;
      branch.files.erase(found);
      if (!is_free(branch, to)) {
        branch.files[from] = file;
        return;
      }
      out_ += "R " + quoted_path(from) + " " + quoted_path(to) + "\n";
      branch.files[to] = file;
    } else {
      rename_directory(branch);
    }
  }

  void rename_directory(Branch& branch) {
    const std::string from = pick(2) == 0 ? "src/deep" : "doc";
    const std::string to = "moved" + std::to_string(pick(9));
    if (!is_free(branch, to) || branch.files.contains(from)) return;
    std::map<std::string, File> rest;
    bool any = false;
    for (const auto& [path, file] : branch.files) {
      const bool inside = path.starts_with(from + "/");
      any = any || inside;
      rest[inside ? to + path.substr(from.size()) : path] = file;
    }
    if (!any) return;
    out_ += "R " + quoted_path(from) + " " + quoted_path(to) + "\n";
    branch.files = std::move(rest);
  }

  void merge(Branch& branch) {
    std::vector<Branch*> others;
    const std::size_t wanted = pick(6) == 0 ? 3 : 1;
    for (std::size_t tries = 0; tries < 20 && others.size() < wanted; ++tries) {
      Branch& other = branches_[pick(std::size(branches_))];
      if (other.mark == 0 || other.mark == branch.mark) continue;
      bool taken = false;
      for (const Branch* each : others) taken = taken || each->mark == other.mark;
      if (!taken) others.push_back(&other);
    }
    begin(branch);
    branch.mark = marks_;
    for (const Branch* other : others) out_ += "merge :" + std::to_string(other->mark) + "\n";
    for (const Branch* other : others) {
      for (const auto& [path, file] : other->files) {
        if (pick(3) == 0 && is_free(branch, path)) put(branch, path, file);
      }
    }
    out_ += "\n";
  }

  void tag(const Branch& branch, std::size_t number) {
    if (branch.mark == 0) return;
    const std::string name = "v" + std::to_string(number);
    const std::string from = "from :" + std::to_string(branch.mark) + "\n";
    if (number % 2 == 0) {
      out_ += "tag " + name + "\n" + from + "tagger Tom <t@x.y> " + std::to_string(time_) + " -0330\n";
      data("Tag " + name + "\n");
    } else {
      out_ += "reset refs/tags/" + name + "\n" + from + "\n";
    }
  }

  std::mt19937_64 random_;
  HistorySize size_;
  Branch branches_[7];
  std::uint64_t marks_ = 0;
  std::int64_t time_ = 1'500'000'000;
  std::string out_;
};

}  // namespace weft::git::testing
