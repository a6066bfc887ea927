#include "model/kv_cache.h"

namespace coli {
namespace {

uint32_t LayersWithCache(const ModelConfig& config, bool with_mtp) {
  return config.num_layers() + (with_mtp ? config.mtp_layers : 0);
}

bool HasIndexKeys(const ModelConfig& config, uint32_t layer) {
  return config.layer(LayerId{static_cast<int32_t>(layer)}).indexer == IndexerKind::kFull;
}

}  // namespace

uint64_t KvCache::Bytes(const ModelConfig& config, uint32_t capacity, bool with_mtp) {
  uint64_t floats = 0;
  for (uint32_t layer = 0; layer < LayersWithCache(config, with_mtp); ++layer) {
    const uint64_t key_dim = HasIndexKeys(config, layer) ? config.indexer.head_dim : 0;
    floats += uint64_t{capacity} * (config.attention.latent_dim() + key_dim);
  }
  return floats * sizeof(float);
}

Result<KvCache> KvCache::Create(const ModelConfig& config, uint32_t capacity, bool with_mtp,
                                uint32_t first_position) {
  KvCache cache;
  cache.latent_dim_ = config.attention.latent_dim();
  cache.key_dim_ = config.indexer.head_dim;
  cache.capacity_ = capacity;
  cache.first_position_ = first_position;
  COLI_ASSIGN_OR_RETURN(cache.buffer_, AlignedBuffer::Allocate(Bytes(config, capacity, with_mtp)));
  size_t offset = 0;
  for (uint32_t layer = 0; layer < LayersWithCache(config, with_mtp); ++layer) {
    cache.latent_offset_.push_back(offset);
    offset += size_t{capacity} * cache.latent_dim_;
    cache.key_offset_.push_back(offset);
    offset += HasIndexKeys(config, layer) ? size_t{capacity} * cache.key_dim_ : 0;
  }
  return cache;
}

}  // namespace coli
