#include "store/routing_trace.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "sys/file.h"
#include "tensor/half.h"

namespace coli {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "COLIROUT";
constexpr uint32_t kVersion = 1;
constexpr uint16_t kFlag = 0x8000;        // of a layer: begins a step; of an expert: chosen
constexpr uint16_t kEnd = 0xFFFF;         // in place of a layer: the end record
constexpr uint16_t kLargestF16 = 0x7BFF;  // 65,504
constexpr uint64_t kMaxFileBytes = uint64_t{16} << 30;

template <class T>
void Put(std::vector<std::byte>& bytes, T value) {
  const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// Of everything before a record and the record, given that of everything before it.
uint64_t Chain(uint64_t checksum, std::span<const std::byte> record) {
  return XXH3_64bits_withSeed(record.data(), record.size(), checksum);
}

uint32_t ScoresOf(const RoutingTraceHeader& header, LayerId layer) {
  return std::min(header.layers[static_cast<size_t>(Raw(layer))].experts,
                  std::max(RoutingTrace::kScores, header.experts_per_token));
}

// --- reading ---

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  Result<RoutingTrace> Run() {
    COLI_ASSIGN_OR_RETURN(RoutingTraceHeader header, Header());
    RoutingTrace trace(std::move(header));
    while (true) {
      const size_t start = position_;
      COLI_ASSIGN_OR_RETURN(const auto place, Take<uint16_t>("a record"));
      COLI_ASSIGN_OR_RETURN(const auto count, Take<uint16_t>("a number of scores"));
      if (place == kEnd) {
        COLI_RETURN_IF_ERROR(End(count, trace.rows()));
        return trace;
      }
      COLI_RETURN_IF_ERROR(Row(start, place, count, trace));
      checksum_ = Chain(checksum_, bytes_.subspan(start, position_ - start));
    }
  }

 private:
  template <class... Args>
  tl::unexpected<Error> Bad(size_t position, fmt::format_string<Args...> format, Args&&... args) {
    return Fail(ErrorCode::kCorrupt, "{}: byte {}: {}", name_, position,
                fmt::format(format, std::forward<Args>(args)...));
  }

  template <class T>
  Result<T> Take(std::string_view what) {
    if (bytes_.size() - position_ < sizeof(T)) {
      return Bad(bytes_.size(), "expected {}, found the end of the file", what);
    }
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  Result<RoutingTraceHeader> Header() {
    COLI_ASSIGN_OR_RETURN(const auto magic, (Take<std::array<char, 8>>("a routing trace")));
    if (std::string_view(magic.data(), magic.size()) != kMagic) {
      return Bad(0, "expected a routing trace, which begins with {}", kMagic);
    }
    COLI_ASSIGN_OR_RETURN(const auto version, Take<uint32_t>("a version"));
    if (version != kVersion) {
      return Bad(kMagic.size(), "expected version {}, found {}", kVersion, version);
    }
    RoutingTraceHeader header;
    COLI_ASSIGN_OR_RETURN(header.experts_per_token, Take<uint32_t>("experts per token"));
    COLI_ASSIGN_OR_RETURN(const auto layers, Take<uint32_t>("a number of layers"));
    if (layers > RoutingTrace::kMaxLayers) {
      return Bad(position_ - sizeof(layers), "expected at most {} layers, found {}",
                 RoutingTrace::kMaxLayers, layers);
    }
    for (uint32_t i = 0; i < layers; ++i) {
      RoutingTraceHeader::Layer layer;
      COLI_ASSIGN_OR_RETURN(layer.experts, Take<uint32_t>("a number of experts"));
      COLI_ASSIGN_OR_RETURN(layer.expert_bytes, Take<uint64_t>("the size of an expert"));
      COLI_RETURN_IF_ERROR(CheckLayer(i, layer, header.experts_per_token));
      header.layers.push_back(layer);
    }
    checksum_ = Chain(0, bytes_.first(position_));
    return header;
  }

  Status CheckLayer(uint32_t number, const RoutingTraceHeader::Layer& layer, uint32_t chosen) {
    if (layer.experts == 0) {
      return Ok();
    }
    if (layer.experts > RoutingTrace::kMaxExperts || chosen == 0 || chosen > layer.experts) {
      return Bad(position_,
                 "layer {}: expected at most {} experts, of which a token uses at least one, found "
                 "{} and {}",
                 number, RoutingTrace::kMaxExperts, layer.experts, chosen);
    }
    if (layer.expert_bytes == 0 || layer.expert_bytes > uint64_t{1} << 40) {
      return Bad(position_, "layer {}: expected an expert of 1 byte to 1 TiB, found {}", number,
                 layer.expert_bytes);
    }
    return Ok();
  }

  Status Row(size_t start, uint16_t place, uint16_t count, RoutingTrace& trace) {
    const RoutingTraceHeader& header = trace.header();
    const auto layer = static_cast<uint16_t>(place & ~kFlag);
    if (layer >= header.layers.size() || header.layers[layer].experts == 0) {
      return Bad(start, "expected a layer with experts, found {}", layer);
    }
    const LayerId id{layer};
    if (count < header.experts_per_token || count > ScoresOf(header, id)) {
      return Bad(start + sizeof(place), "layer {}: expected {} to {} scores, found {}", layer,
                 header.experts_per_token, ScoresOf(header, id), count);
    }
    COLI_ASSIGN_OR_RETURN(const auto best, Take<float>("a score"));
    if (!std::isfinite(best)) {
      return Bad(position_ - sizeof(best), "expected a finite score, found {}", best);
    }
    seen_.assign(header.layers[layer].experts, false);
    ranked_.clear();
    for (uint16_t i = 0; i < count; ++i) {
      COLI_RETURN_IF_ERROR(Entry(best));
    }
    const auto chosen = std::ranges::count_if(ranked_, &RankedExpert::chosen);
    if (chosen != static_cast<ptrdiff_t>(header.experts_per_token)) {
      return Bad(start, "expected {} chosen experts, found {}", header.experts_per_token, chosen);
    }
    trace.Append({id, (place & kFlag) != 0, ranked_});
    return Ok();
  }

  Status Entry(float best) {
    const size_t start = position_;
    COLI_ASSIGN_OR_RETURN(const auto word, Take<uint16_t>("an expert"));
    COLI_ASSIGN_OR_RETURN(const auto below, Take<uint16_t>("a score"));
    const auto expert = static_cast<uint16_t>(word & ~kFlag);
    if (expert >= seen_.size() || seen_[expert]) {
      return Bad(start, "expected another one of {} experts, found {}", seen_.size(), expert);
    }
    const float score = best - FloatFromF16(below);
    if (below > kLargestF16 || (!ranked_.empty() && score > ranked_.back().score)) {
      return Bad(start, "expected scores in descending order, found {} below the best",
                 FloatFromF16(below));
    }
    seen_[expert] = true;
    ranked_.push_back({ExpertId{expert}, score, (word & kFlag) != 0});
    return Ok();
  }

  Status End(uint16_t count, uint64_t found_rows) {
    COLI_ASSIGN_OR_RETURN(const auto rows, Take<uint64_t>("a number of rows"));
    COLI_ASSIGN_OR_RETURN(const auto checksum, Take<uint64_t>("a checksum"));
    if (count != 0 || rows != found_rows) {
      return Bad(position_, "expected {} rows, found {}", rows, found_rows);
    }
    if (checksum != checksum_) {
      return Bad(position_, "expected the checksum {:016x}, found {:016x}", checksum_, checksum);
    }
    if (position_ != bytes_.size()) {
      return Bad(position_, "expected the end of the file, found {} bytes more",
                 bytes_.size() - position_);
    }
    return Ok();
  }

  const std::span<const std::byte> bytes_;
  const std::string_view name_;
  size_t position_ = 0;
  uint64_t checksum_ = 0;
  std::vector<bool> seen_;            // experts of the row
  std::vector<RankedExpert> ranked_;  // of the row
};

}  // namespace

Result<RoutingTrace> RoutingTrace::Parse(std::span<const std::byte> bytes, std::string_view name) {
  return Parser(bytes, name).Run();
}

Result<RoutingTrace> RoutingTrace::Read(const std::filesystem::path& path) {
  COLI_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMaxFileBytes));
  return Parse(std::as_bytes(std::span(text)), path.string());
}

RoutedRow RoutingTrace::row(size_t i) const {
  const Place& place = rows_[i];
  return {place.layer, place.begins_step, std::span(ranked_).subspan(place.first, place.count)};
}

void RoutingTrace::Append(const RoutedRow& row) {
  rows_.push_back(
      {row.layer, row.begins_step, static_cast<uint32_t>(row.ranked.size()), ranked_.size()});
  ranked_.insert(ranked_.end(), row.ranked.begin(), row.ranked.end());
}

// --- writing ---

Result<RoutingTraceWriter> RoutingTraceWriter::Create(const std::filesystem::path& path,
                                                      const RoutingTraceHeader& header) {
  uint32_t most = 0;
  for (const RoutingTraceHeader::Layer& layer : header.layers) {
    most = std::max(most, layer.experts);
  }
  if (header.layers.size() > RoutingTrace::kMaxLayers || most > RoutingTrace::kMaxExperts) {
    return Fail(ErrorCode::kUnsupported,
                "{}: a routing trace has at most {} layers of {} experts; the model has {} of {}",
                path.string(), RoutingTrace::kMaxLayers, RoutingTrace::kMaxExperts,
                header.layers.size(), most);
  }
  COLI_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  RoutingTraceWriter writer(std::move(file), header);
  const auto magic = std::as_bytes(std::span(kMagic));
  writer.bytes_.assign(magic.begin(), magic.end());
  Put(writer.bytes_, kVersion);
  Put(writer.bytes_, header.experts_per_token);
  Put(writer.bytes_, static_cast<uint32_t>(header.layers.size()));
  for (const RoutingTraceHeader::Layer& layer : header.layers) {
    Put(writer.bytes_, layer.experts);
    Put(writer.bytes_, layer.expert_bytes);
  }
  COLI_RETURN_IF_ERROR(writer.Write());
  return writer;
}

Status RoutingTraceWriter::Append(LayerId layer, bool begins_step, std::span<const float> scores,
                                  std::span<const ExpertId> chosen) {
  COLI_CHECK(scores.size() == header_.layers[static_cast<size_t>(Raw(layer))].experts);
  Rank(scores, chosen);
  ranked_.resize(std::min<size_t>(ranked_.size(), ScoresOf(header_, layer)));
  bytes_.clear();
  Put(bytes_, static_cast<uint16_t>(Raw(layer) | (begins_step ? kFlag : 0)));
  Put(bytes_, static_cast<uint16_t>(ranked_.size()));
  const float best = ranked_.front().score;
  Put(bytes_, best);
  for (const RankedExpert& ranked : ranked_) {
    Put(bytes_, static_cast<uint16_t>(Raw(ranked.expert) | (ranked.chosen ? kFlag : 0)));
    Put(bytes_, std::min(F16FromFloat(best - ranked.score), kLargestF16));
  }
  ++rows_;
  return Write();
}

// Chosen experts come first among equals, so that the cut never loses one.
void RoutingTraceWriter::Rank(std::span<const float> scores, std::span<const ExpertId> chosen) {
  ranked_.clear();
  for (size_t e = 0; e < scores.size(); ++e) {
    const ExpertId expert{static_cast<int32_t>(e)};
    const bool is_chosen = std::ranges::find(chosen, expert) != chosen.end();
    if (std::isfinite(scores[e])) {
      ranked_.push_back({expert, scores[e], is_chosen});
    }
  }
  std::ranges::sort(ranked_, [](const RankedExpert& a, const RankedExpert& b) {
    return a.score != b.score ? a.score > b.score : a.chosen && !b.chosen;
  });
}

Status RoutingTraceWriter::Write() {
  checksum_ = Chain(checksum_, bytes_);
  return file_.Append(bytes_);
}

Status RoutingTraceWriter::Finish() {
  bytes_.clear();
  Put(bytes_, kEnd);
  Put(bytes_, uint16_t{0});
  Put(bytes_, rows_);
  Put(bytes_, checksum_);
  COLI_RETURN_IF_ERROR(file_.Append(bytes_));
  return file_.Finish();
}

}  // namespace coli
