// The quantisers against an independent implementation in NumPy, byte for byte:
// tests/golden/quantizers, made by tools/oracle/quantizer_goldens.py.
#include <gtest/gtest.h>

#include <charconv>
#include <string>
#include <thread>
#include <vector>

#include "store/container.h"
#include "tensor/format.h"
#include "tensor/quantize.h"

namespace coli {
namespace {

constexpr const char* kGoldens = "tests/golden/quantizers";  // tests run in the root of the tree
constexpr std::string_view kValues = ".values";

std::vector<std::byte> Bytes(const Container& container, const std::string& name) {
  const StoredTensor& tensor = container.tensors().at(name);
  std::vector<std::byte> bytes(tensor.bytes);
  EXPECT_TRUE(tensor.file->ReadExact(tensor.offset, bytes));
  return bytes;
}

struct Matrix {
  std::vector<float> values;
  uint32_t rows = 0;
  uint32_t cols = 0;
  ConstMatrixView Rows(uint32_t begin, uint32_t end) const {
    return ConstMatrixView{values.data(), rows, cols, cols}.Rows(begin, end - begin);
  }
};

Matrix Values(const Container& container, const std::string& name) {
  const std::vector<uint64_t>& shape = container.tensors().at(name).shape;
  Matrix matrix{{}, static_cast<uint32_t>(shape.at(0)), static_cast<uint32_t>(shape.at(1))};
  const std::vector<std::byte> bytes = Bytes(container, name);
  matrix.values.resize(bytes.size() / sizeof(float));
  std::memcpy(matrix.values.data(), bytes.data(), bytes.size());
  return matrix;
}

// "int4-grouped/64" or "int8-row".
Format FormatOf(std::string_view name) {
  const size_t slash = name.find('/');
  Format format{FindFormat(name.substr(0, slash)).value()};
  if (slash != std::string_view::npos) {
    std::from_chars(name.data() + slash + 1, name.data() + name.size(), format.group);
  }
  return format;
}

struct Quantized {
  std::vector<std::byte> codes;
  std::vector<std::byte> scales;
  bool operator==(const Quantized&) const = default;
};

// Room with bytes that no quantiser would write by not writing.
Quantized Room(Format format, const Matrix& matrix) {
  return {std::vector<std::byte>(*CodeBytes(format, matrix.rows, matrix.cols), std::byte{0xa5}),
          std::vector<std::byte>(*ScaleBytes(format, matrix.rows, matrix.cols), std::byte{0xa5})};
}

Quantized AtOnce(Format format, const Matrix& matrix) {
  Quantized room = Room(format, matrix);
  EXPECT_TRUE(
      QuantizeRows(matrix.Rows(0, matrix.rows), 0,
                   {room.codes.data(), room.scales.data(), matrix.rows, matrix.cols, format}));
  return room;
}

// Every row by a thread of its own.
Quantized ByThreads(Format format, const Matrix& matrix) {
  Quantized room = Room(format, matrix);
  const QuantizedMatrix out{room.codes.data(), room.scales.data(), matrix.rows, matrix.cols,
                            format};
  std::vector<std::thread> threads;
  for (uint32_t row = matrix.rows; row-- > 0;) {
    threads.emplace_back(
        [&, row] { EXPECT_TRUE(QuantizeRows(matrix.Rows(row, row + 1), row, out)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return room;
}

TEST(QuantizerGoldens, BytesEqualThoseOfTheIndependentImplementation) {
  const auto container = Container::Open(kGoldens);
  ASSERT_TRUE(container) << container.error().message;
  size_t compared = 0;
  for (const auto& [name, tensor] : container->tensors()) {
    constexpr std::string_view kCodes = ".codes";
    if (!name.ends_with(kCodes)) {
      continue;
    }
    SCOPED_TRACE(name);
    const std::string stem(name.substr(0, name.size() - kCodes.size()));
    const size_t dot = stem.find('.');
    const Format format = FormatOf(std::string_view(stem).substr(dot + 1));
    const Matrix matrix = Values(*container, stem.substr(0, dot).append(kValues));
    const Quantized expected{Bytes(*container, std::string(name)),
                             Bytes(*container, stem + ".scales")};

    EXPECT_EQ(AtOnce(format, matrix), expected);
    EXPECT_EQ(ByThreads(format, matrix), expected);
    ++compared;
  }
  EXPECT_EQ(compared, 77U);  // 11 matrices in 7 formats
}

}  // namespace
}  // namespace coli
