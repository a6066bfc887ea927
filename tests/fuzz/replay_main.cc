// Runs files through a fuzz target that was built without a fuzzer: `<name>_fuzz
// FILE-OR-FOLDER...`.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesUnder(const fs::path& place) {
  if (fs::is_regular_file(place)) {
    return {place};
  }
  std::vector<fs::path> files;
  if (fs::is_directory(place)) {
    for (const auto& entry : fs::recursive_directory_iterator(place)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  return files;
}

void Replay(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
  const std::vector<uint8_t> bytes(text.begin(), text.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t replayed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& path : FilesUnder(argv[i])) {
      std::fprintf(stderr, "%s\n", path.c_str());
      Replay(path);
      ++replayed;
    }
  }
  // A test over an empty corpus would prove nothing.
  std::fprintf(stderr, "replayed %zu files\n", replayed);
  return replayed > 0 ? 0 : 1;
}
