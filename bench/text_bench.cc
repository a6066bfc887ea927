// How fast text becomes tokens, and that no text is slow: 1 MiB of the worst kinds must stay far
// below 2 s, and twice the text must take about twice the time.
//
//   text_bench                             the hand-made tokenizer of the tests
//   text_bench --tokenizer=tokenizer.json  that of a checkpoint
#include <benchmark/benchmark.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/testing/tokenizer.h"
#include "text/tokenizer.h"

namespace coli {
namespace {

std::string Repeat(std::string_view part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += part;
  }
  return text;
}

const std::vector<std::pair<const char*, const char*>> kTexts = {
    {"prose",
     "The smallest hummingbird weighs less than a coin, and it can hover. It's 12345 beats "
     "long.\n"},
    {"one_letter", "a"},
    {"letters", "abcabbcah"},
    {"spaces", " "},
    {"space_letter", "  a"},
    {"newlines", "\n"},
    {"spaces_newline", "                                                               \n"},
    {"digits", "0123456789"},
    {"punctuation", "!?"},
    {"emoji", "\U0001f426"},
    {"emoji_joined", "\U0001f468\u200d\U0001f469\u200d\U0001f467"},
    {"marks", "a\u0301\u0302"},
    {"new_letters", "\U00013460"},
    {"chinese", "\u8702\u9e1f"},
    {"almost_control", "<|use"},
    {"control", "<|user|>"},
};

void Encode(benchmark::State& state, const Tokenizer& tokenizer, std::string_view part) {
  const std::string text = Repeat(part, static_cast<size_t>(state.range(0)));
  size_t tokens = 0;
  for (auto _ : state) {
    const auto ids = tokenizer.Encode(text, SpecialTokens::kParse);
    if (!ids) {
      state.SkipWithError(ids.error().message.c_str());
      break;
    }
    tokens = ids->size();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
  state.counters["tokens"] = static_cast<double>(tokens);
}

void Decode(benchmark::State& state, const Tokenizer& tokenizer) {
  const auto ids =
      tokenizer.Encode(Repeat(kTexts[0].second, 1 << 20), SpecialTokens::kParse).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(tokenizer.Decode(ids, false));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(ids.size()));
}

void Parse(benchmark::State& state, const std::string& json) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(Tokenizer::Parse(json, "tokenizer.json"));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(json.size()));
}

int Run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  std::string json = testing_tokenizer::Make().dump();
  constexpr std::string_view kFlag = "--tokenizer=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kFlag)) {
    std::ifstream file(std::string(std::string_view(argv[1]).substr(kFlag.size())),
                       std::ios::binary);
    json.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  const auto tokenizer = Tokenizer::Parse(json, "tokenizer.json");
  if (!tokenizer) {
    fmt::print(stderr, "{}\n", tokenizer.error().message);
    return 1;
  }
  benchmark::RegisterBenchmark("parse", [&](benchmark::State& state) {
    Parse(state, json);
  })->Unit(benchmark::kMillisecond);
  for (const auto& [name, part] : kTexts) {
    benchmark::RegisterBenchmark(
        fmt::format("encode/{}", name).c_str(),
        [&, text = part](benchmark::State& state) { Encode(state, *tokenizer, text); })
        ->Arg(1 << 19)
        ->Arg(1 << 20)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::RegisterBenchmark("decode/prose", [&](benchmark::State& state) {
    Decode(state, *tokenizer);
  })->Unit(benchmark::kMillisecond);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace coli

int main(int argc, char** argv) { return coli::Run(argc, argv); }
