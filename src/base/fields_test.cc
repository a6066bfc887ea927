#include "base/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace coli {
namespace {

constexpr std::string_view kSizeNames[] = {"size", "width", "breadth"};

Fields Of(const Json& object) { return *Fields::Of(object, "file.json"); }

template <class T>
std::string ErrorOf(const Result<T>& result) {
  return result ? "accepted" : result.error().message;
}

TEST(Fields, IntegerErrorNamesPlaceKeyRangeAndValue) {
  const Json object{{"index_topk", "many"}};

  EXPECT_EQ(ErrorOf(Of(object).Int("index_topk", {1, 1048576})),
            "file.json: index_topk: expected an integer in [1, 1048576], found \"many\"");
}

TEST(Fields, IntegerMustBeAJsonIntegerInRange) {
  const Json object = Json::parse(
      R"({"float": 64.0, "half": 1.5, "text": "64", "flag": true, "null": null, "list": [64],
      "negative": -1, "large": 18446744073709551615, "minimum": -9223372036854775808, "low": 1,
      "high": 64})");
  const Fields fields = Of(object);
  const IntRange range{1, 64};

  for (const char* key : {"float", "half", "text", "flag", "null", "list", "negative", "large",
                          "minimum", "missing"}) {
    EXPECT_FALSE(fields.Int(key, range)) << key;
  }
  EXPECT_EQ(fields.Int("low", range), 1);
  EXPECT_EQ(fields.Int("high", range), 64);
  EXPECT_FALSE(fields.Int("large", {0, std::numeric_limits<int64_t>::max()}));
}

TEST(Fields, FoundShowsTheValueShortAndPrintable) {
  const auto shown = [](const Json& value) {
    const std::string error = ErrorOf(Of(Json{{"n", value}}).Int("n", {1, 2}));
    return error.substr(error.find("found ") + 6);
  };

  EXPECT_EQ(shown(64.0), "64.0");
  EXPECT_EQ(shown(true), "true");
  EXPECT_EQ(shown(nullptr), "null");
  EXPECT_EQ(shown(Json::array({1, "a", Json::array({2})})), "[1, \"a\", a list of 1 values]");
  EXPECT_EQ(shown(std::vector<int>(1000, 7)), "a list of 1000 values");
  EXPECT_EQ(shown(Json::object()), "{}");
  EXPECT_EQ(shown(Json{{"a", 1}}), "an object");
  EXPECT_EQ(shown("a\x1b[31m\n\xc3\xa9"), "\"a\\u001b[31m\\n\\u00e9\"");
  EXPECT_EQ(shown(std::string(100000, 'x')), '"' + std::string(60, 'x') + "\"...");
  EXPECT_EQ(ErrorOf(Of(Json::object()).Int("n", {1, 2})),
            "file.json: n: expected an integer in [1, 2], found nothing");
}

TEST(Fields, AbsentAndNullDiffer) {
  const Json object{{"null", nullptr}, {"five", 5}};
  const Fields fields = Of(object);

  EXPECT_EQ(fields.IntOr("absent", {1, 9}, 7), 7);
  EXPECT_FALSE(fields.IntOr("null", {1, 9}, 7));
  EXPECT_EQ(fields.IntOr("five", {1, 9}, 7), 5);
  EXPECT_EQ(fields.MaybeInt("absent", {1, 9}).value(), std::optional<int64_t>());
  EXPECT_EQ(fields.MaybeInt("null", {1, 9}).value(), std::optional<int64_t>());
  EXPECT_EQ(fields.MaybeInt("five", {1, 9}).value(), std::optional<int64_t>(5));
  EXPECT_FALSE(fields.Has("null"));
  EXPECT_TRUE(fields.IsNull("null"));
  EXPECT_FALSE(fields.IsNull("absent"));
}

TEST(Fields, SpellingsMustAgree) {
  EXPECT_EQ(Of(Json{{"breadth", 5}}).Int(kSizeNames, {1, 9}), 5);
  EXPECT_EQ(Of(Json{{"width", 5}, {"breadth", 5}}).Int(kSizeNames, {1, 9}), 5);
  EXPECT_EQ(Of(Json{{"size", nullptr}, {"breadth", 5}}).Int(kSizeNames, {1, 9}), 5);
  EXPECT_EQ(ErrorOf(Of(Json{{"size", 4}, {"breadth", 5}}).Int(kSizeNames, {1, 9})),
            "file.json: breadth: expected the same value as in size, 4, found 5");
  EXPECT_EQ(ErrorOf(Of(Json::object()).Int(kSizeNames, {1, 9})),
            "file.json: size: expected an integer in [1, 9], found nothing");
}

TEST(Fields, FloatTakesAnyNumberInRange) {
  const Json object{{"integer", 1}, {"float", 1e-5}, {"large", 1e300}, {"text", "1"}};
  const Fields fields = Of(object);

  EXPECT_EQ(fields.Float("integer", {0, 1}), 1.0);
  EXPECT_EQ(fields.Float("float", {0, 1}), 1e-5);
  EXPECT_EQ(ErrorOf(fields.Float("large", {1e-12, 1})),
            "file.json: large: expected a number in [1e-12, 1], found 1e+300");
  EXPECT_FALSE(fields.Float("text", {0, 1}));
  EXPECT_EQ(fields.FloatOr("absent", {0, 1}, 0.5), 0.5);
  EXPECT_EQ(fields.MaybeFloat("absent", {0, 1}).value(), std::optional<double>());
}

TEST(Fields, BooleansAndStringsAreNotGuessed) {
  const Json object{{"one", 1}, {"yes", "true"}, {"false", false}};
  const Fields fields = Of(object);

  EXPECT_EQ(ErrorOf(fields.BoolOr("one", true)), "file.json: one: expected true or false, found 1");
  EXPECT_FALSE(fields.BoolOr("yes", true));
  EXPECT_EQ(fields.BoolOr("false", true), false);
  EXPECT_EQ(fields.BoolOr("absent", true), true);
  EXPECT_EQ(fields.String("yes"), "true");
  EXPECT_EQ(ErrorOf(fields.String("one")), "file.json: one: expected a string, found 1");
  EXPECT_EQ(fields.MaybeString("absent").value(), std::optional<std::string>());
}

TEST(Fields, ListErrorsNameTheElement) {
  const Json object{{"ids", {1, 2, -3}}, {"one", 4}, {"words", {"full", "Full"}}, {"word", "full"}};
  const Fields fields = Of(object);

  EXPECT_EQ(ErrorOf(fields.MaybeInts("ids", {0, 9})),
            "file.json: ids[2]: expected an integer in [0, 9], found -3");
  EXPECT_EQ(fields.MaybeInts("one", {0, 9}).value(), std::vector<int64_t>{4});
  EXPECT_EQ(ErrorOf(fields.MaybeWords("words", {"full", "shared"})),
            "file.json: words[1]: expected \"full\" or \"shared\", found \"Full\"");
  EXPECT_EQ(ErrorOf(fields.MaybeWords("word", {"full", "shared"})),
            "file.json: word: expected a list of \"full\" or \"shared\", found \"full\"");
}

TEST(Fields, ObjectsCarryTheirPath) {
  const Json object{{"rope", {{"theta", "x"}}}, {"flat", 1}};
  const Fields fields = Of(object);

  const auto rope = fields.MaybeObject("rope");
  ASSERT_TRUE(rope && *rope);
  EXPECT_EQ(ErrorOf((*rope)->Float("theta", {1, 2})),
            "file.json: rope.theta: expected a number in [1, 2], found \"x\"");
  EXPECT_EQ(ErrorOf(fields.MaybeObject("flat")), "file.json: flat: expected an object, found 1");
  EXPECT_EQ(ErrorOf(Fields::Of(Json(3), "file.json")), "file.json: expected an object, found 3");
}

TEST(Fields, WithinPrefersTheInnerObject) {
  const Json inner{{"a", 1}, {"n", nullptr}};
  const Json outer{{"a", 2}, {"b", 3}, {"n", 4}};

  const Fields both = Fields::Of(inner, "file.json", "text.")->Within(Of(outer));

  EXPECT_EQ(both.Int("a", {0, 9}), 1);
  EXPECT_EQ(both.Int("b", {0, 9}), 3);
  EXPECT_TRUE(both.IsNull("n"));
  EXPECT_EQ(ErrorOf(both.Int("b", {0, 1})), "file.json: b: expected an integer in [0, 1], found 3");
  EXPECT_EQ(ErrorOf(both.Int("a", {5, 9})),
            "file.json: text.a: expected an integer in [5, 9], found 1");
}

TEST(Fields, OnlyRefusesOtherValuesAsUnsupported) {
  const Json object{{"act", "gelu"}, {"freq", 1.0}, {"bias", true}, {"null", nullptr}};
  const Fields fields = Of(object);

  const Status act = fields.Only("act", "silu");
  EXPECT_EQ(act.error().message, "file.json: act: expected \"silu\", found \"gelu\"");
  EXPECT_EQ(act.error().code, ErrorCode::kUnsupported);
  EXPECT_FALSE(fields.Only("freq", int64_t{1}));
  EXPECT_FALSE(fields.Only("bias", false));
  EXPECT_TRUE(fields.Only("bias", true));
  EXPECT_TRUE(fields.Only("null", "silu"));
  EXPECT_TRUE(fields.Only("absent", "silu"));
}

TEST(Fields, FindPrefixIgnoresWhatIsOff) {
  EXPECT_EQ(Of(Json{{"kpool_size", 4}}).FindPrefix("kpool"), "kpool_size");
  EXPECT_EQ(Of(Json{{"kpool", false}, {"kpool_size", nullptr}, {"akpool", 1}}).FindPrefix("kpool"),
            std::nullopt);
}

TEST(Fields, ErrorsHaveTheCodeOfTheirSource) {
  const Json object{{"n", "x"}};

  EXPECT_EQ(Of(object).Int("n", {0, 1}).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(
      Fields::Of(object, "request", "", ErrorCode::kInvalidArgument)->Int("n", {0, 1}).error().code,
      ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace coli
