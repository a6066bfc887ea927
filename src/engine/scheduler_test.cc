#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include "engine/testing/golden.h"

namespace coli {
namespace {

std::unique_ptr<Sequence> Started(size_t prompt_tokens) {
  GenerationRequest request;
  request.prompt = testing::Tokens(prompt_tokens);
  auto sequence = std::make_unique<Sequence>(std::move(request), std::make_shared<TokenStream>());
  sequence->Start({});
  return sequence;
}

// A sequence whose prompt is done and that has generated one token.
std::unique_ptr<Sequence> Decoding() {
  auto sequence = Started(4);
  sequence->Advance(4);
  sequence->Accept(TokenId{1}, false, 1000);
  return sequence;
}

std::vector<uint32_t> Rows(const std::vector<std::unique_ptr<Sequence>>& running,
                           uint32_t prefill_rows) {
  std::vector<uint32_t> rows;
  for (const Slice& slice : ChooseSlices(running, prefill_rows)) {
    rows.push_back(slice.rows);
  }
  return rows;
}

TEST(ChooseSlices, PromptsShareTheRowsInOrderOfAdmission) {
  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(Started(6));
  running.push_back(Started(20));
  running.push_back(Started(5));

  EXPECT_EQ(Rows(running, 10), (std::vector<uint32_t>{6, 4}));
  EXPECT_EQ(Rows(running, 100), (std::vector<uint32_t>{6, 20, 5}));
}

TEST(ChooseSlices, EveryDecodingSequenceGetsItsRowWhateverPromptsWait) {
  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(Started(50));
  running.push_back(Decoding());
  running.push_back(Decoding());

  EXPECT_EQ(Rows(running, 8), (std::vector<uint32_t>{8, 1, 1}));
}

TEST(ChooseSlices, ALongPromptGoesInShortSlicesWhileSomebodyReadsAnAnswer) {
  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(Started(5000));
  EXPECT_EQ(Rows(running, 4096), (std::vector<uint32_t>{4096}));

  running.push_back(Decoding());

  EXPECT_EQ(Rows(running, 4096), (std::vector<uint32_t>{kPrefillRowsBesideDecoding, 1}));
}

TEST(ChooseSlices, ASequenceWhoseReaderIsBehindWaitsAlone) {
  std::vector<std::unique_ptr<Sequence>> running;
  running.push_back(Decoding());
  running.push_back(Decoding());
  while (!running[0]->stream().full()) {
    running[0]->stream().Push(TokenId{1});
  }

  const std::vector<Slice> slices = ChooseSlices(running, 8);

  ASSERT_EQ(slices.size(), 1U);
  EXPECT_EQ(slices[0].sequence, running[1].get());
}

}  // namespace
}  // namespace coli
