#include "synth/row_pool.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tensor/quantize.h"

namespace coli {
namespace {

constexpr uint32_t kRowUnit = 64;  // columns, where a whole row shares a scale or has none
constexpr uint32_t kMinBlocks = 8;
constexpr uint32_t kMaxBlocks = 256;
constexpr double kDegrees = 5;  // of freedom of Student's t

uint32_t BlockCount(Format format, uint32_t cols) {
  const uint64_t bytes = Info(format).row_bytes(cols) * Info(format).scale_rows;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(RowPool::kPoolBytes / bytes, kMinBlocks, kMaxBlocks));
}

// Fills a block with one of the two distributions.
void Draw(std::mt19937_64& generator, bool heavy, float deviation, std::vector<float>& values) {
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> student(kDegrees);
  const double unit = std::sqrt((kDegrees - 2) / kDegrees);  // makes Student's deviation 1
  for (float& value : values) {
    value = deviation * static_cast<float>(heavy ? student(generator) * unit : normal(generator));
  }
}

}  // namespace

uint64_t MixSeeds(uint64_t a, uint64_t b) {
  uint64_t x = a + 0x9e3779b97f4a7c15U * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

RowPool::RowPool(Format format, uint32_t cols, uint32_t blocks)
    : format_(format),
      cols_(cols),
      block_rows_(Info(format).scale_rows),
      blocks_(blocks),
      row_bytes_(Info(format).row_bytes(cols)),
      scale_bytes_(RowScaleBytes(format, cols)) {
  const uint32_t group = ScaleColumns(format);
  const uint32_t unit = group != 0 ? std::max(group, kRowUnit / group * group) : kRowUnit;
  units_ = cols % unit == 0 ? cols / unit : 1;
  unit_bytes_ = row_bytes_ / units_;
  unit_scales_ = group != 0 ? scale_bytes_ / units_ : 0;
  codes_.resize(uint64_t{blocks} * block_rows_ * row_bytes_);
  scales_.resize(uint64_t{blocks} * scale_bytes_);
}

Result<RowPool> RowPool::Create(Format format, uint32_t cols, float deviation, uint64_t seed) {
  RowPool pool(format, cols, BlockCount(format, cols));
  std::mt19937_64 generator(seed);
  std::vector<float> values(uint64_t{pool.block_rows_} * cols);
  for (uint32_t block = 0; block < pool.blocks_; ++block) {
    Draw(generator, block % 2 == 1, deviation, values);
    COLI_RETURN_IF_ERROR(QuantizeRows(
        {values.data(), pool.block_rows_, cols, cols}, 0,
        {pool.codes_.data() + uint64_t{block} * pool.block_rows_ * pool.row_bytes_,
         pool.scales_.data() + block * pool.scale_bytes_, pool.block_rows_, cols, format}));
  }
  return pool;
}

RowPool::Source RowPool::SourceOf(uint64_t seed, uint32_t block) const {
  const uint64_t mixed = MixSeeds(seed, block);
  return {static_cast<uint32_t>((mixed & 0xFFFFFFFFU) % blocks_),
          static_cast<uint32_t>((mixed >> 32) % units_)};
}

void RowPool::AppendCodes(uint64_t seed, uint32_t begin, uint32_t end,
                          std::vector<std::byte>& out) const {
  for (uint32_t row = begin; row < end; ++row) {
    const Source source = SourceOf(seed, row / block_rows_);
    const std::byte* const first =
        codes_.data() + (uint64_t{source.block} * block_rows_ + row % block_rows_) * row_bytes_;
    const std::byte* const turned = first + source.turn * unit_bytes_;
    out.insert(out.end(), turned, first + row_bytes_);
    out.insert(out.end(), first, turned);
  }
}

void RowPool::AppendScales(uint64_t seed, uint32_t rows, std::vector<std::byte>& out) const {
  for (uint32_t block = 0; block * block_rows_ < rows; ++block) {
    const Source source = SourceOf(seed, block);
    const std::byte* const first = scales_.data() + source.block * scale_bytes_;
    const std::byte* const turned = first + source.turn * unit_scales_;
    out.insert(out.end(), turned, first + scale_bytes_);
    out.insert(out.end(), first, turned);
  }
}

}  // namespace coli
