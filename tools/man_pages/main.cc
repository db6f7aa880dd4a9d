// weft-man SOURCE-DIR OUT-DIR: writes the scdoc source of every manual page into OUT-DIR: docs/man's own pages as they
// are, weft(1) and weft-COMMAND(1) with what the code knows (cli/man_page.h). A command without a page, and a page
// without a command, is an error. Part of the build, not installed.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "cli/man_page.h"

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

int run(const std::filesystem::path& source, const std::filesystem::path& out) {
  std::filesystem::create_directories(out);
  for (const auto& old : std::filesystem::directory_iterator(out)) {
    if (old.path().extension() == ".scd") std::filesystem::remove(old.path());
  }
  const weft::cli::Io io{[](std::string_view) {}, [](std::string_view) {}, {}};
  weft::Env env = weft::system_env();
  const weft::repo::Context context{env, "/", {}, 0};
  std::set<std::string> fragments;
  for (const auto& command : weft::cli::commands()) {
    const std::string name = weft::cli::man_page_name(command.name);
    fragments.insert(name + ".scd");
    write(out / (name + ".1.scd"),
          weft::cli::man_page(command, weft::cli::describe(command, io, context), read(source / (name + ".scd"))));
  }
  for (const auto& file : std::filesystem::directory_iterator(source)) {
    const std::string name = file.path().filename().string();
    if (fragments.contains(name) || file.path().extension() != ".scd") continue;
    const std::string section = file.path().stem().extension().string();
    if (section.empty()) throw std::runtime_error(name + " belongs to no command");
    write(out / name, weft::cli::with_lists(read(file.path())));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: weft-man SOURCE-DIR OUT-DIR\n", stderr);
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft-man: %s\n", error.what());
    return 1;
  }
}
