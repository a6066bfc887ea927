// For tests: writes .safetensors files, right ones and, where the test says so, wrong ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sys/testing/temp_directory.h"
#include "tensor/format.h"
#include "tensor/quantize.h"

namespace coli::testing {

struct TensorToWrite {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;
  std::vector<std::byte> bytes;
};

using Metadata = std::vector<std::pair<std::string, std::string>>;

inline std::string LittleEndian(uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  }
  return bytes;
}

// The bytes of a file with this header text.
inline std::string SafetensorsBytes(std::string_view header, std::string_view data) {
  return LittleEndian(header.size()) + std::string(header) + std::string(data);
}

// The header of tensors that follow each other in the given order.
inline std::string SafetensorsHeaderText(const std::vector<TensorToWrite>& tensors,
                                         const Metadata& metadata = {}) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) {
    header["__metadata__"][key] = value;
  }
  uint64_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    const uint64_t begin = std::exchange(end, end + tensor.bytes.size());
    header[tensor.name] = {
        {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  return header.dump();
}

inline void WriteSafetensors(const std::filesystem::path& path,
                             const std::vector<TensorToWrite>& tensors,
                             const Metadata& metadata = {}) {
  std::string data;
  for (const TensorToWrite& tensor : tensors) {
    data.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  WriteFile(path, SafetensorsBytes(SafetensorsHeaderText(tensors, metadata), data));
}

template <class T>
std::vector<std::byte> BytesOf(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

inline TensorToWrite FloatTensor(std::string name, std::vector<uint64_t> shape,
                                 const std::vector<float>& values) {
  return {std::move(name), "F32", std::move(shape), BytesOf(std::span<const float>(values))};
}

// Floats that differ from place to place, in [-1, 1).
inline std::vector<float> PatternFloats(size_t count, uint64_t seed) {
  std::vector<float> values;
  for (const std::byte byte : PatternBytes(count, seed)) {
    values.push_back(static_cast<float>(std::to_integer<int>(byte) - 128) / 128.0F);
  }
  return values;
}

// A quantised matrix of pattern floats as the colibri container has it: `name` as flat U8 codes and
// `name`.qs as flat F32.
struct QuantizedTensors {
  TensorToWrite codes;
  TensorToWrite scales;
};
inline QuantizedTensors QuantizedMatrix(const std::string& name, Format format, uint32_t rows,
                                        uint32_t cols, uint64_t seed) {
  std::vector<std::byte> codes(*CodeBytes(format, rows, cols));
  std::vector<std::byte> scales(*ScaleBytes(format, rows, cols));
  std::vector<float> values;
  for (uint32_t row = 0; row < rows; ++row) {
    const std::vector<float> pattern = PatternFloats(cols, seed + row);
    values.insert(values.end(), pattern.begin(), pattern.end());
  }
  COLI_CHECK(QuantizeRows({values.data(), rows, cols, cols}, 0,
                          {codes.data(), scales.data(), rows, cols, format}));
  return {{name, "U8", {codes.size()}, codes},
          {name + ".qs", "F32", {scales.size() / sizeof(float)}, scales}};
}

}  // namespace coli::testing
