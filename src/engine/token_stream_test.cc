#include "engine/token_stream.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace coli {
namespace {

using std::chrono::milliseconds;

TEST(TokenStream, GivesTokensInOrderAndThenTheEnd) {
  TokenStream stream;
  stream.Push(TokenId{3});
  stream.Push(TokenId{4});
  stream.Finish(GenerationResult{FinishReason::kLength, {}});

  EXPECT_EQ(std::get<TokenId>(stream.Next(milliseconds(0))), TokenId{3});
  EXPECT_EQ(std::get<TokenId>(stream.Next(milliseconds(0))), TokenId{4});
  EXPECT_TRUE(std::holds_alternative<TokenStream::End>(stream.Next(milliseconds(0))));
  EXPECT_EQ(stream.outcome()->reason, FinishReason::kLength);
}

TEST(TokenStream, SaysSoWhenNothingHappens) {
  TokenStream stream;

  EXPECT_TRUE(std::holds_alternative<TokenStream::Timeout>(stream.Next(milliseconds(1))));
}

TEST(TokenStream, IsFullAtItsCapacityAndNotAfterOneWasRead) {
  TokenStream stream;
  for (size_t i = 0; i < TokenStream::kCapacity; ++i) {
    EXPECT_FALSE(stream.full());
    stream.Push(TokenId{1});
  }

  EXPECT_TRUE(stream.full());
  stream.Next(milliseconds(0));
  EXPECT_FALSE(stream.full());
}

TEST(TokenStream, AnErrorIsTheOutcomeAfterTheTokensThatCameBeforeIt) {
  TokenStream stream;
  stream.Push(TokenId{7});
  stream.Finish(Fail(ErrorCode::kIo, "the drive is gone"));

  EXPECT_TRUE(std::holds_alternative<TokenId>(stream.Next(milliseconds(0))));
  EXPECT_TRUE(std::holds_alternative<TokenStream::End>(stream.Next(milliseconds(0))));
  EXPECT_EQ(stream.outcome().error().message, "the drive is gone");
}

TEST(TokenStream, CarriesEveryTokenFromOneThreadToAnother) {
  constexpr int kTokens = 20000;
  TokenStream stream;
  std::jthread producer([&] {
    for (int i = 0; i < kTokens; ++i) {
      while (stream.full()) {
        std::this_thread::yield();
      }
      stream.Push(TokenId{i});
    }
    stream.Finish(GenerationResult{});
  });

  int expected = 0;
  for (auto event = stream.Next(std::chrono::seconds(30));
       !std::holds_alternative<TokenStream::End>(event);
       event = stream.Next(std::chrono::seconds(30))) {
    ASSERT_TRUE(std::holds_alternative<TokenId>(event));
    ASSERT_EQ(std::get<TokenId>(event), TokenId{expected++});
  }

  EXPECT_EQ(expected, kTokens);
}

}  // namespace
}  // namespace coli
