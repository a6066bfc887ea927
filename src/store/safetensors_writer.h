// Writes one .safetensors file as a stream: the header first, from the list of tensors, then their
// bytes in the order of the list. So a file of any size takes no memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/file_writer.h"

namespace coli {

// A tensor to be written.
struct TensorEntry {
  std::string name;
  std::string dtype;  // as the format spells it: "U8", "F32", "BF16", "F8_E4M3"
  std::vector<uint64_t> shape;
  uint64_t bytes = 0;
};

class SafetensorsWriter {
 public:
  // Creates the file with its header; the data begin at a multiple of 64 bytes. `metadata` may be
  // empty. Errors as FileWriter.
  static Result<SafetensorsWriter> Create(const std::filesystem::path& path,
                                          const std::vector<TensorEntry>& tensors,
                                          const std::map<std::string, std::string>& metadata);

  // The next bytes of the data. Errors as FileWriter.
  Status Append(std::span<const std::byte> bytes);
  // The next bytes of the data are a hole: zeros without room of their own. Errors as FileWriter.
  Status Skip(uint64_t bytes);
  // All bytes of all tensors must have been appended or skipped. Waits until the drive has them.
  Status Finish();

 private:
  SafetensorsWriter(FileWriter file, uint64_t end) : file_(std::move(file)), end_(end) {}
  FileWriter file_;
  uint64_t end_;  // of the file
};

}  // namespace coli
