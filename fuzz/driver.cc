// Replays inputs through a fuzz target built without libFuzzer: driver FILE-OR-DIRECTORY...
//
// Each argument is a file, or a directory whose files are replayed in name order. Prints "replayed N inputs" and exits
// 0; exits 1 when there is nothing to replay or an argument cannot be read. A crash ends the process as it ends any
// other, after the signal handler has named the input.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

// A signal handler can reach nothing but a global.
char current_input[4096];

void name_input(int signal) {
  const auto say = [](const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); };
  say("crashed on ");
  say(current_input);
  say("\n");
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

bool list_inputs(const fs::path& argument, std::vector<fs::path>& inputs) {
  std::error_code error;
  if (!fs::is_directory(argument, error)) {
    inputs.push_back(argument);
    return true;
  }
  std::vector<fs::path> found;
  for (fs::directory_iterator it(argument, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) found.push_back(it->path());
  }
  if (error) {
    std::fprintf(stderr, "cannot list %s: %s\n", argument.c_str(), error.message().c_str());
    return false;
  }
  std::sort(found.begin(), found.end());
  inputs.insert(inputs.end(), found.begin(), found.end());
  return true;
}

bool replay(const fs::path& input) {
  std::ifstream file(input, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", input.c_str());
    return false;
  }
  std::snprintf(current_input, sizeof(current_input), "%s", input.c_str());
  // A copy of exactly this size, so that a sanitizer sees reads beyond its end (a string has a NUL there).
  const std::vector<std::uint8_t> exact(bytes.begin(), bytes.end());
  (void)LLVMFuzzerTestOneInput(exact.data(), exact.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, name_input);
  std::vector<fs::path> inputs;
  for (int i = 1; i < argc; ++i) {
    if (!list_inputs(argv[i], inputs)) return 1;
  }
  for (const fs::path& input : inputs) {
    if (!replay(input)) return 1;
  }
  std::printf("replayed %zu inputs\n", inputs.size());
  return inputs.empty() ? 1 : 0;
}
