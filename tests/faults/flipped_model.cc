#include "faults/flipped_model.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/check.h"
#include "engine/engine.h"
#include "store/container.h"
#include "text/testing/tokenizer.h"

namespace coli::testing {
namespace {

namespace fs = std::filesystem;

// ASCII without any merge of the tokenizer: a golden model of 128 tokens knows every byte of it.
constexpr std::string_view kPrompt = "FLIP 1 BIT OF 4,096?";
constexpr uint32_t kNewTokens = 12;
constexpr std::chrono::hours kPatience{1};  // the deadline of the process comes first

Part PartOf(std::string_view tensor, DType dtype) {
  if (dtype == DType::kU8) {
    return Part::kCodes;
  }
  return tensor.ends_with(".qs") ? Part::kScales : Part::kFloats;
}

std::string IndexOf(const Container& container) {
  Json map = Json::object();
  for (const auto& [name, tensor] : container.tensors()) {
    map[std::string(name)] = fs::path(tensor.file->path()).filename().string();
  }
  return Json{{"metadata", {{"total_size", container.total_bytes()}}}, {"weight_map", map}}.dump(1);
}

// Takes the answer from the stream; nothing for as long as kPatience is an error, too.
Outcome Collect(const Tokenizer& tokenizer, std::vector<TokenId> ids, TokenStream& stream) {
  const size_t prompt = ids.size();
  while (true) {
    const TokenStream::Event event = stream.Next(kPatience);
    if (const auto* token = std::get_if<TokenId>(&event)) {
      ids.push_back(*token);
    } else if (!std::holds_alternative<TokenStream::End>(event)) {
      return {Outcome::Kind::kFailed, "no token and no end of the answer in time"};
    } else if (!stream.outcome()) {
      return {Outcome::Kind::kFailed, stream.outcome().error().message};
    } else {
      break;
    }
  }
  std::string text;
  for (const TokenId id : ids) {
    text += fmt::format("{} ", Raw(id));
  }
  return {Outcome::Kind::kAnswered, text + tokenizer.Decode(std::span(ids).subspan(prompt), false)};
}

}  // namespace

std::string_view Name(Part part) {
  constexpr std::array<std::string_view, kParts> kNames = {"config.json",
                                                           "generation_config.json",
                                                           "tokenizer.json",
                                                           "index",
                                                           "safetensors header",
                                                           "codes",
                                                           "scales",
                                                           "floats"};
  return kNames.at(static_cast<size_t>(part));
}

std::string Bit::Text() const {
  return fmt::format("{} ({}), byte {}, bit {}", segment->file.filename().string(),
                     Name(segment->part), segment->begin + byte, bit);
}

FlippedModel::FlippedModel(const fs::path& golden) {
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (!entry.path().filename().string().starts_with("reference.")) {
      fs::copy(entry.path(), directory_.path());
    }
  }
  WriteFile(directory_ / "generation_config.json",
            R"({"eos_token_id": [0], "temperature": 1.0, "top_p": 0.95, "top_k": 40})");
  WriteFile(directory_ / "tokenizer.json", testing_tokenizer::Make().dump());
  AddShards();
  AddFile(Part::kConfig, "config.json");
  AddFile(Part::kGeneration, "generation_config.json");
  AddFile(Part::kTokenizer, "tokenizer.json");
  AddFile(Part::kIndex, "model.safetensors.index.json");
  for (const Segment& segment : segments_) {
    bytes_[static_cast<size_t>(segment.part)] += segment.bytes;
  }
}

void FlippedModel::AddFile(Part part, const std::string& name) {
  const fs::path path = directory_ / name;
  segments_.push_back({part, path, 0, fs::file_size(path)});
}

void FlippedModel::AddShards() {
  const auto container = Container::Open(directory_.path());
  COLI_CHECK(container.has_value());
  WriteFile(directory_ / "model.safetensors.index.json", IndexOf(*container));
  for (const auto& file : container->files()) {
    const auto& entries = file->header().entries();
    COLI_CHECK(!entries.empty());
    const fs::path path = file->file().path();
    segments_.push_back({Part::kHeader, path, 0, file->Tensor(entries.front()).offset});
    for (const auto& entry : entries) {
      const StoredTensor tensor = file->Tensor(entry);
      segments_.push_back({PartOf(entry.name, entry.dtype), path, tensor.offset, tensor.bytes});
    }
  }
}

uint64_t FlippedModel::total_bytes() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), uint64_t{0});
}

Bit FlippedModel::Draw(uint64_t seed, uint64_t number) const {
  std::mt19937_64 random(seed << 32 ^ number);
  const bool anywhere = random() % 2 == 0;
  const auto text_part = static_cast<Part>(random() % kTextParts);
  uint64_t at = random() % (anywhere ? total_bytes() : bytes(text_part));
  const auto bit = static_cast<unsigned>(random() % 8);
  for (const Segment& segment : segments_) {
    if (!anywhere && segment.part != text_part) {
      continue;
    }
    if (at < segment.bytes) {
      return {&segment, at, bit};
    }
    at -= segment.bytes;
  }
  COLI_CHECK(false);
}

void FlippedModel::Flip(const Bit& bit) const {
  std::fstream file(bit.segment->file, std::ios::binary | std::ios::in | std::ios::out);
  const auto at = static_cast<std::streamoff>(bit.segment->begin + bit.byte);
  file.seekg(at);
  const int value = file.get();
  COLI_CHECK(file.good());
  file.seekp(at);
  file.put(static_cast<char>(value ^ (1 << bit.bit)));
  COLI_CHECK(file.good());
}

Outcome LoadAndAnswer(const fs::path& directory, uint64_t ram_bytes) {
  const auto refused = [](const Error& error) {
    return Outcome{Outcome::Kind::kRefused, error.message};
  };
  const auto failed = [](const Error& error) {
    return Outcome{Outcome::Kind::kFailed, error.message};
  };
  const std::string source = (directory / "tokenizer.json").string();
  const auto text = ReadTextFile(source, kMaxTokenizerBytes);
  if (!text) {
    return refused(text.error());
  }
  const auto tokenizer = Tokenizer::Parse(*text, source);
  if (!tokenizer) {
    return refused(tokenizer.error());
  }
  const auto prompt = tokenizer->Encode(kPrompt, SpecialTokens::kParse);
  if (!prompt) {
    return failed(prompt.error());
  }
  EngineOptions options;
  options.model_dir = directory;
  options.threads = 1;
  options.io_threads = 1;
  options.context = 64;
  options.prefill_chunk = 16;
  options.ram_bytes = ram_bytes;
  options.load_mtp = true;
  const auto engine = Engine::Create(options);
  if (!engine) {
    return refused(engine.error());
  }
  GenerationRequest request;
  request.prompt = *prompt;
  request.max_tokens = kNewTokens;
  request.sampling.temperature = 0;
  const auto stream = (*engine)->Submit(request);
  if (!stream) {
    return failed(stream.error());
  }
  return Collect(*tokenizer, *prompt, **stream);
}

}  // namespace coli::testing
