// What attention remembers of one sequence: per layer and position the normed latent and the
// rotated rope key, and in layers with an indexer the indexer's key. Rows are indexed by position,
// so forgetting is only a shorter length.
//
// Values are f32 or bf16. They are rounded once, when a row is stored, and computed with in f32: a
// bf16 cache gives the bits of an f32 cache whose rows were rounded.
//
// Memory is taken from the system when a row is first written. Engine thread only; distinct rows
// may be stored by several threads at the same time, and any be read.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/model_config.h"
#include "sys/aligned_buffer.h"
#include "tensor/format.h"

namespace coli {

// What a cache has room for.
struct KvCacheRoom {
  uint32_t capacity = 0;             // positions, in every main layer
  bool with_mtp = false;             // and in the MTP layers
  FormatId format = FormatId::kF32;  // of the values: kF32 or kBf16
};

class KvCache {
 public:
  // `first_position` is the rope position of row 0.
  static Result<KvCache> Create(const ModelConfig& config, const KvCacheRoom& room,
                                uint32_t first_position = 0);
  // Bytes that Create reserves.
  static uint64_t Bytes(const ModelConfig& config, const KvCacheRoom& room);

  // values: [kv_lora_rank + qk_rope_head_dim], latent, then rope key.
  void StoreLatent(LayerId layer, uint32_t row, const float* values) {
    Store(values, latent_dim_, Row(latent_offset_[Index(layer)], latent_row_bytes_, row));
  }
  // The row in f32: where it lies, or in `widened`, which has room for it.
  const float* latent(LayerId layer, uint32_t row, float* widened) const {
    return Read(Row(latent_offset_[Index(layer)], latent_row_bytes_, row), latent_dim_, widened);
  }
  // values: [index head_dim]; full layers only.
  void StoreIndexKey(LayerId layer, uint32_t row, const float* values) {
    Store(values, key_dim_, Row(key_offset_[Index(layer)], key_row_bytes_, row));
  }
  const float* index_key(LayerId layer, uint32_t row, float* widened) const {
    return Read(Row(key_offset_[Index(layer)], key_row_bytes_, row), key_dim_, widened);
  }

  uint32_t capacity() const { return capacity_; }
  uint32_t first_position() const { return first_position_; }

 private:
  static size_t Index(LayerId layer) { return static_cast<size_t>(Raw(layer)); }
  std::byte* Row(size_t offset, size_t row_bytes, uint32_t row) const {
    return buffer_.data() + offset + row_bytes * row;
  }
  void Store(const float* values, uint32_t dim, std::byte* row) const {
    format_->encode_block({values, 1, dim, dim}, 0, row, nullptr);
  }
  const float* Read(const std::byte* row, uint32_t dim, float* widened) const {
    if (format_->id == FormatId::kF32) {
      return reinterpret_cast<const float*>(row);
    }
    format_->decode_row(row, nullptr, dim, 0, widened);
    return widened;
  }

  AlignedBuffer buffer_;
  const FormatInfo* format_ = nullptr;
  std::vector<size_t> latent_offset_;  // bytes from the start of the buffer, by layer
  std::vector<size_t> key_offset_;
  size_t latent_row_bytes_ = 0;
  size_t key_row_bytes_ = 0;
  uint32_t latent_dim_ = 0;
  uint32_t key_dim_ = 0;
  uint32_t capacity_ = 0;
  uint32_t first_position_ = 0;
};

}  // namespace coli
