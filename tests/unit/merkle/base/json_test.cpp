// SPDX-License-Identifier: MIT
#include "merkle/base/json.hpp"

#include <gmock/gmock.h>

namespace retrace {
namespace {

using ::testing::HasSubstr;

std::string text_in(std::string_view json) {
    const auto value = parse_json(json);
    if (!value) return "refused: " + value.error().message;
    return value->text() == nullptr ? "no text" : *value->text();
}

std::string refusal_of(std::string_view json) {
    const auto value = parse_json(json);
    return value ? "taken" : value.error().message;
}

TEST(Json, EscapesAreUtf8) {
    EXPECT_EQ(text_in(R"("\u00e9")"), "\xc3\xa9");
    EXPECT_EQ(text_in(R"("caf\u00E9 au lait")"), "caf\xc3\xa9 au lait");
    EXPECT_EQ(text_in(R"("\u0041\u007f\u0080\u07ff")"), "A\x7f\xc2\x80\xdf\xbf");
    EXPECT_EQ(text_in(R"("\u0800\u20ac\ud7ff\ue000\uffff")"),
              "\xe0\xa0\x80\xe2\x82\xac\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
    EXPECT_EQ(text_in(R"("\ud800\udc00\ud834\udd1e\udbff\udfff")"), "\xf0\x90\x80\x80\xf0\x9d\x84\x9e\xf4\x8f\xbf\xbf");
    EXPECT_EQ(text_in(R"("\u0000")"), std::string(1, '\0'));
    EXPECT_EQ(text_in(R"("\" \\ \/ \b\f\n\r\t")"), "\" \\ / \b\f\n\r\t");
    EXPECT_EQ(text_in("\"\xc3\xa9\""), "\xc3\xa9");
}

TEST(Json, HalvesOfSurrogatePairsAreRefusedByName) {
    for (const char* json :
         {R"("\ud834")", R"("\ud834x")", R"("\ud834\n")", R"("\ud834\ud834\udd1e")", R"("\ud834\u0041")"})
        EXPECT_THAT(refusal_of(json), HasSubstr("the first half of a surrogate pair alone")) << json;
    for (const char* json : {R"("\udd1e")", R"("\udc00\ud800")"})
        EXPECT_THAT(refusal_of(json), HasSubstr("the second half of a surrogate pair alone")) << json;
}

TEST(Json, EscapesWithoutTheirDigitsAreRefused) {
    for (const char* json : {R"("\u")", R"("\u12")", R"("\u123")", R"("\u123g")", R"("\u+123")", R"("\u 123")",
                             R"("\u0x12")", R"("\ud834\u12")", "\"\\u00e"})
        EXPECT_THAT(refusal_of(json), HasSubstr("\\u without four hex digits")) << json;
    for (const char* json : {R"("\x41")", R"("\U0041")", R"("\)"})
        EXPECT_THAT(refusal_of(json), HasSubstr("an unknown escape")) << json;
}

TEST(Json, IntegersOf64BitsHaveTheirValue) {
    EXPECT_EQ(*parse_json("0")->natural(), 0u);
    EXPECT_EQ(*parse_json(" 18446744073709551615 ")->natural(), UINT64_MAX);
    EXPECT_EQ(*parse_json("-1")->negative(), -1);
    EXPECT_EQ(*parse_json("-9223372036854775808")->negative(), INT64_MIN);
}

TEST(Json, OtherNumbersAreReadAndHaveNoValue) {
    for (const char* json : {"0.25", "-1.5", "1.0", "1e3", "1E+3", "-2.5e-03", "0e0", "1e999999",
                             "18446744073709551616", "-9223372036854775809", "1000000000000000000000000000000"}) {
        const auto value = parse_json(json);
        ASSERT_TRUE(value) << json << ": " << value.error().message;
        EXPECT_EQ(value->kind, Json::Kind::other_number) << json;
        EXPECT_EQ(value->natural(), nullptr) << json;
        EXPECT_EQ(value->negative(), nullptr) << json;
    }
    const auto object = parse_json(R"({"seconds":[0.5,-1e-7],"n":7})");
    ASSERT_TRUE(object);
    EXPECT_EQ(*object->find("n")->natural(), 7u);
}

TEST(Json, AValueTooManyIsRefused) {
    const auto zeros = [](std::size_t count) {
        std::string out = "[0";
        for (std::size_t i = 1; i < count; ++i) out += ",0";
        return out + "]";
    };
    EXPECT_EQ(refusal_of(zeros(kJsonValuesMax - 1)), "taken");  // The array is a value too.
    EXPECT_THAT(refusal_of(zeros(kJsonValuesMax)), HasSubstr("too many values"));
}

TEST(Json, WhatIsNoNumberIsRefused) {
    for (const char* json : {"01", "-01", "00", "-", "+1", ".5", "1.", "1.e5", "1e", "1e+", "1e-x", "0x10", "NaN",
                             "-Infinity", "1.2.3", "1e5.5", "--1", "1 2"})
        EXPECT_FALSE(parse_json(json)) << json;
}

TEST(Json, WhatIsNoValueIsRefused) {
    for (const char* json : {"", " ", "{", "[1,", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "\"open", "nul", "truer",
                             "[1] x", "{\"a\":1,\"a\":2}", "\"line\nend\""})
        EXPECT_FALSE(parse_json(json)) << json;
    EXPECT_TRUE(parse_json(std::string(32, '[') + std::string(32, ']')));
    EXPECT_THAT(refusal_of(std::string(40, '[') + std::string(40, ']')), HasSubstr("too deep"));
}

}  // namespace
}  // namespace retrace
