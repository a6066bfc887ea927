#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace coli {
namespace {

using ::testing::HasSubstr;

std::string ErrorOf(std::string_view text, const JsonLimits& limits = {}) {
  const Result<Json> json = ParseJson(text, "f.json", limits);
  const Result<OrderedJson> ordered = ParseOrderedJson(text, "f.json", limits);
  if (json || ordered) {
    return "accepted";
  }
  EXPECT_EQ(json.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(json.error().message, ordered.error().message);
  return json.error().message;
}

std::string Repeat(std::string_view part, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

TEST(Json, ReadsEveryKindOfValue) {
  const std::string text =
      R"( {"a":[1,-2,3.5,1e3,true,false,null],"b":{"c":"\u00e9\ud83d\ude00\n"},"max":18446744073709551615} )";

  const Result<Json> json = ParseJson(text, "f.json");
  const Result<OrderedJson> ordered = ParseOrderedJson(text, "f.json");

  ASSERT_TRUE(json) << json.error().message;
  ASSERT_TRUE(ordered) << ordered.error().message;
  EXPECT_EQ(*json, Json::parse(text));
  EXPECT_EQ(*ordered, OrderedJson::parse(text));
  EXPECT_EQ(ParseJson("3", "f.json").value(), Json(3));
  EXPECT_EQ(ParseJson("\"x\"", "f.json").value(), Json("x"));
}

TEST(Json, OrderedKeepsTheOrderOfKeysAtEveryLevel) {
  const std::string text = R"({"z":1,"a":{"y":[{"d":1,"c":2}],"b":{}},"m":[]})";

  const Result<OrderedJson> json = ParseOrderedJson(text, "f.json");

  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->dump(), text);
}

TEST(Json, NestingIsAllowedUpToTheLimitAndNoFurther) {
  const JsonLimits limits{.max_depth = 8};

  EXPECT_TRUE(ParseJson(Repeat("[", 8) + Repeat("]", 8), "f.json", limits));
  EXPECT_THAT(ErrorOf(Repeat("[", 9) + Repeat("]", 9), limits),
              HasSubstr("f.json: byte 8: nested deeper than 8"));
  EXPECT_THAT(ErrorOf(Repeat("[", 1000000)), HasSubstr("byte 64: nested deeper than 64"));
  EXPECT_THAT(ErrorOf(Repeat("{\"a\":", 1000000)), HasSubstr("nested deeper than 64"));
}

TEST(Json, DuplicateKeysAreRefusedAtEveryLevel) {
  EXPECT_THAT(ErrorOf(R"({"a":1,"a":2})"),
              HasSubstr("byte 9: the same key twice in one object: \"a\""));
  EXPECT_THAT(ErrorOf(R"([{"x":{"b":1,"c":[],"b":1}}])"),
              HasSubstr("the same key twice in one object: \"b\""));
  EXPECT_THAT(ErrorOf(R"({"a":1,"\u0061":2})"), HasSubstr("the same key twice"));
  EXPECT_TRUE(ParseOrderedJson(R"([{"a":1},{"a":{"a":2}}])", "f.json"));
}

TEST(Json, WhatIsNotExactlyOneValueIsRefusedNamingTheByte) {
  EXPECT_EQ(ErrorOf(""), "f.json: expected JSON, found nothing (0 bytes)");
  EXPECT_EQ(ErrorOf(" \n"), "f.json: expected JSON, found white space only");
  EXPECT_THAT(ErrorOf("{} x"), HasSubstr("f.json: byte 3: "));
  EXPECT_THAT(ErrorOf("{}{}"), HasSubstr("byte 2: "));
  EXPECT_THAT(ErrorOf("[1,2"), HasSubstr("byte 4: "));
  EXPECT_THAT(ErrorOf("{\"a\": \"no end"), HasSubstr("byte 13: "));
  EXPECT_THAT(ErrorOf("[1,]"), HasSubstr("byte 3: "));
  EXPECT_THAT(ErrorOf("{'a':1}"), HasSubstr("byte 1: "));
  EXPECT_THAT(ErrorOf("[1] // why"), HasSubstr("byte 4: "));
  EXPECT_THAT(ErrorOf(std::string("1\0", 2)), HasSubstr("byte 1: a zero byte"));
  EXPECT_THAT(ErrorOf("\xEF\xBB\xBF{}"), HasSubstr("byte 0: a byte-order mark"));
}

TEST(Json, NumbersOutOfRangeAreRefused) {
  for (const char* text :
       {"NaN", "Infinity", "-Infinity", "nan", "+1", "01", ".5", "1.", "0x10", "1e", "--1"}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("f.json: byte ")) << text;
  }
  EXPECT_THAT(ErrorOf("[1e400]"), HasSubstr("number overflow"));
  EXPECT_THAT(ErrorOf("-1e999"), HasSubstr("number overflow"));
  EXPECT_THAT(ErrorOf("18446744073709551616"), HasSubstr("integer does not fit 64 bits"));
  EXPECT_THAT(ErrorOf("-9223372036854775809"), HasSubstr("integer does not fit 64 bits"));
  EXPECT_THAT(ErrorOf(Repeat("9", 100000)), HasSubstr("f.json: byte "));
  EXPECT_EQ(ParseJson("-9223372036854775808", "f.json").value(), Json(INT64_MIN));
}

TEST(Json, StringsMustBeValidUtf8AndWholeSurrogatePairs) {
  EXPECT_THAT(ErrorOf("\"\xFF\""), HasSubstr("byte 1: "));
  EXPECT_THAT(ErrorOf("\"ab\xC3\""), HasSubstr("byte 4: "));
  EXPECT_THAT(ErrorOf("\"\xED\xA0\x80\""), HasSubstr("byte 2: "));
  EXPECT_THAT(ErrorOf("\"\xC0\x80\""), HasSubstr("byte 1: "));
  EXPECT_THAT(ErrorOf(R"("\ud800")"), HasSubstr("surrogate"));
  EXPECT_THAT(ErrorOf(R"("\udc00")"), HasSubstr("surrogate"));
  EXPECT_THAT(ErrorOf(R"("\ud800\u0041")"), HasSubstr("surrogate"));
  EXPECT_THAT(ErrorOf(R"("\x41")"), HasSubstr("byte 2: "));
  EXPECT_THAT(ErrorOf("\"a\nb\""), HasSubstr("byte 2: "));
}

TEST(Json, MessagesAreShortAndPrintableWhateverTheBytes) {
  const std::string message = ErrorOf("[\"" + Repeat("\xC3\xA9\x01", 100000));

  EXPECT_LT(message.size(), 300u);
  for (const char c : message) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << message;
  }
}

TEST(Json, SizeAndCountHaveLimits) {
  EXPECT_THAT(ErrorOf("[1,2,3]", {.max_bytes = 6}),
              HasSubstr("expected at most 6 bytes of JSON, found 7"));
  EXPECT_TRUE(ParseJson(R"({"a":1})", "f.json", {.max_values = 3}));
  EXPECT_THAT(ErrorOf(R"({"a":1})", {.max_values = 2}), HasSubstr("more than 2 values"));
  EXPECT_THAT(ErrorOf("[1,2,3]", {.max_values = 3}), HasSubstr("more than 3 values"));
}

// Would take minutes if the check for duplicates looked through all members.
TEST(Json, LargeObjectsTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 150000; ++i) {
    text += fmt::format("{}\"key {}\":{}", i == 0 ? "" : ",", i, i);
  }
  text += "}";

  const Result<OrderedJson> ordered = ParseOrderedJson(text, "f.json");
  const Result<Json> json = ParseJson(text, "f.json");

  ASSERT_TRUE(ordered) << ordered.error().message;
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(ordered->size(), 150000u);
  EXPECT_EQ(json->at("key 149999"), 149999);
}

// The members of `text` one after the other, and what came of it.
std::pair<std::string, Status> Members(std::string_view text, std::string_view refused = "none") {
  std::string seen;
  const auto take = [&](const std::string& key, const Json& value) -> Status {
    seen += key + "=" + value.dump() + ";";
    return key == refused ? Fail(ErrorCode::kUnsupported, "not {}", key) : Ok();
  };
  Status status = ParseJsonMembers(text, "f.json", {.max_depth = 3}, take);
  return {seen, std::move(status)};
}

TEST(JsonMembers, ComeInTheOrderOfTheTextAndWhole) {
  const auto [seen, status] = Members(R"({"b":{"x":[1,null]},"a":[],"c":"s","d":null,"":{}})");

  EXPECT_TRUE(status) << status.error().message;
  EXPECT_EQ(seen, R"(b={"x":[1,null]};a=[];c="s";d=null;={};)");
  EXPECT_TRUE(Members("{}").second);
}

TEST(JsonMembers, OtherTextsAreRefusedAsInWhole) {
  for (const std::string_view text :
       {R"({"a":1,"b":2,"a":3})", R"({"a":{"b":1,"b":2}})", R"({"a":[[[]]]})", R"({"a":1)", "{]"}) {
    EXPECT_EQ(Members(text).second.error().message,
              ParseJson(text, "f.json", {.max_depth = 3}).error().message);
  }
  EXPECT_EQ(Members("[1]").second.error().message, "f.json: expected an object, found array");
  EXPECT_EQ(Members("7").second.error().message, "f.json: expected an object, found number");
}

TEST(JsonMembers, TheTakerMayEndIt) {
  const auto [seen, status] = Members(R"({"a":1,"b":2,"c":3})", "b");

  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(status.error().message, "not b");
  EXPECT_EQ(seen, "a=1;b=2;");
}

TEST(Json, EveryPrefixOfAValidTextIsRefused) {
  const std::string text = R"({"a":[1.5,"\u00e9",{"b":null}],"c":true})";

  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseJson(text.substr(0, length), "f.json")) << length;
  }
}

}  // namespace
}  // namespace coli
