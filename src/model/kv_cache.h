// What attention remembers of one sequence: per layer and position the normed latent and the
// rotated rope key, and in layers with an indexer the indexer's key. f32. Rows are indexed by
// position, so forgetting is only a shorter length.
//
// Memory is taken from the system when a row is first written. Engine thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/model_config.h"
#include "sys/aligned_buffer.h"

namespace coli {

class KvCache {
 public:
  // Room for `capacity` positions in every main layer and, if `with_mtp`, the MTP layers.
  // `first_position` is the rope position of row 0.
  static Result<KvCache> Create(const ModelConfig& config, uint32_t capacity, bool with_mtp,
                                uint32_t first_position = 0);
  // Bytes that Create reserves.
  static uint64_t Bytes(const ModelConfig& config, uint32_t capacity, bool with_mtp);

  // [kv_lora_rank + qk_rope_head_dim]: latent, then rope key.
  float* latent(LayerId layer, uint32_t row) {
    return Row(latent_offset_[Index(layer)], latent_dim_, row);
  }
  const float* latent(LayerId layer, uint32_t row) const {
    return Row(latent_offset_[Index(layer)], latent_dim_, row);
  }
  // [index head_dim]; full layers only.
  float* index_key(LayerId layer, uint32_t row) {
    return Row(key_offset_[Index(layer)], key_dim_, row);
  }
  const float* index_key(LayerId layer, uint32_t row) const {
    return Row(key_offset_[Index(layer)], key_dim_, row);
  }

  uint32_t capacity() const { return capacity_; }
  uint32_t first_position() const { return first_position_; }

 private:
  static size_t Index(LayerId layer) { return static_cast<size_t>(Raw(layer)); }
  float* Row(size_t offset, uint32_t dim, uint32_t row) const {
    return buffer_.floats() + offset + size_t{row} * dim;
  }

  AlignedBuffer buffer_;
  std::vector<size_t> latent_offset_;  // floats from the start of the buffer, by layer
  std::vector<size_t> key_offset_;
  uint32_t latent_dim_ = 0;
  uint32_t key_dim_ = 0;
  uint32_t capacity_ = 0;
  uint32_t first_position_ = 0;
};

}  // namespace coli
