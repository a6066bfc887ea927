#include "cli/chat_input.h"

#include <gtest/gtest.h>

namespace coli {
namespace {

TEST(ChatCommand, OnlyColonAndALetterIsOne) {
  EXPECT_EQ(ParseChatCommand(":reset"), ChatCommand::kReset);
  EXPECT_EQ(ParseChatCommand(" :q "), ChatCommand::kQuit);
  EXPECT_EQ(ParseChatCommand(":rest"), ChatCommand::kUnknown);
  EXPECT_EQ(ParseChatCommand(":)"), std::nullopt);
  EXPECT_EQ(ParseChatCommand(":"), std::nullopt);
  EXPECT_EQ(ParseChatCommand("reset"), std::nullopt);
  EXPECT_EQ(ParseChatCommand(""), std::nullopt);
}

TEST(MessageAssembler, ALineIsAMessage) {
  MessageAssembler assembler;

  EXPECT_EQ(assembler.Push("hello"), "hello");
  EXPECT_EQ(assembler.Push("with CR\r"), "with CR");
  EXPECT_EQ(assembler.Push(""), "");
}

TEST(MessageAssembler, ABlockKeepsItsLines) {
  MessageAssembler assembler;

  EXPECT_EQ(assembler.Push("\"\"\""), std::nullopt);
  EXPECT_EQ(assembler.Push("  one"), std::nullopt);
  EXPECT_EQ(assembler.Push(""), std::nullopt);
  EXPECT_EQ(assembler.Push("two"), std::nullopt);
  EXPECT_TRUE(assembler.open());
  EXPECT_EQ(assembler.Push("\"\"\""), "  one\n\ntwo");
  EXPECT_FALSE(assembler.open());
}

TEST(MessageAssembler, ABlockMayBeginAndEndBesideText) {
  MessageAssembler assembler;

  EXPECT_EQ(assembler.Push("\"\"\"one"), std::nullopt);
  EXPECT_EQ(assembler.Push("two\"\"\""), "one\ntwo");
  EXPECT_EQ(assembler.Push("\"\"\"all of it\"\"\""), "all of it");
}

TEST(MessageAssembler, AnOpenBlockCanBeDroppedOrTaken) {
  MessageAssembler assembler;
  assembler.Push("\"\"\"one");
  assembler.Clear();
  EXPECT_EQ(assembler.Push("two"), "two");

  assembler.Push("\"\"\"three");

  EXPECT_EQ(assembler.Rest(), "three");
}

}  // namespace
}  // namespace coli
