#include "model/kv_cache.h"

#include "base/check.h"

namespace coli {
namespace {

uint32_t LayersWithCache(const ModelConfig& config, bool with_mtp) {
  return config.num_layers() + (with_mtp ? config.mtp_layers : 0);
}

bool HasIndexKeys(const ModelConfig& config, uint32_t layer) {
  return config.layer(LayerId{static_cast<int32_t>(layer)}).indexer == IndexerKind::kFull;
}

}  // namespace

uint64_t KvCache::Bytes(const ModelConfig& config, const KvCacheRoom& room) {
  const FormatInfo& format = Info(room.format);
  uint64_t position_bytes = 0;
  for (uint32_t layer = 0; layer < LayersWithCache(config, room.with_mtp); ++layer) {
    position_bytes += format.row_bytes(config.attention.latent_dim());
    position_bytes += HasIndexKeys(config, layer) ? format.row_bytes(config.indexer.head_dim) : 0;
  }
  return position_bytes * room.capacity;
}

Result<KvCache> KvCache::Create(const ModelConfig& config, const KvCacheRoom& room,
                                uint32_t first_position) {
  COLI_CHECK(room.format == FormatId::kF32 || room.format == FormatId::kBf16);
  KvCache cache;
  cache.format_ = &Info(room.format);
  cache.latent_dim_ = config.attention.latent_dim();
  cache.key_dim_ = config.indexer.head_dim;
  cache.latent_row_bytes_ = cache.format_->row_bytes(cache.latent_dim_);
  cache.key_row_bytes_ = cache.format_->row_bytes(cache.key_dim_);
  cache.capacity_ = room.capacity;
  cache.first_position_ = first_position;
  COLI_ASSIGN_OR_RETURN(cache.buffer_, AlignedBuffer::Allocate(Bytes(config, room)));
  size_t offset = 0;
  for (uint32_t layer = 0; layer < LayersWithCache(config, room.with_mtp); ++layer) {
    cache.latent_offset_.push_back(offset);
    offset += room.capacity * cache.latent_row_bytes_;
    cache.key_offset_.push_back(offset);
    offset += HasIndexKeys(config, layer) ? room.capacity * cache.key_row_bytes_ : 0;
  }
  return cache;
}

}  // namespace coli
