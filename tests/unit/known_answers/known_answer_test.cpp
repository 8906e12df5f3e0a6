// SPDX-License-Identifier: MIT
#include "kernels/tools/known_answer.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "kernels/tools/case_program.hpp"
#include "kernels/tools/cpu_backends.hpp"
#include "kernels/tools/reference.hpp"

namespace retrace::kernels::tools {
namespace {

using ::testing::HasSubstr;

/// 1 + 2, 3 + 4: the words 40400000 and 40e00000.
constexpr const char* kOutput = "000040400000e040";

std::string case_text(const std::string& sha256, const std::string& rest) {
    return R"({"name":"sum","op":"elementwise","fn":"add","n":2,"in":[)"
           R"({"kind":"explicit","words":["3f800000","40400000"]},)"
           R"({"kind":"explicit","words":["40000000","40800000"]}],"words":2,"sha256":")" +
           sha256 + "\"" + rest + "}";
}

Result<KnownAnswer> read(const std::string& sha256, const std::string& rest) {
    return read_case(*parse_json(case_text(sha256, rest)));
}

std::string digest() { return digest_of({0x40400000, 0x40e00000}); }

std::string with_output(const std::string& hex) { return ",\"out_hex\":\"" + hex + "\""; }

TEST(KnownAnswer, OutputIsReadWhereItIsThere) {
    const auto known = read(digest(), with_output(kOutput));
    ASSERT_TRUE(known) << known.error().message;
    EXPECT_EQ(known->output, (Words{0x40400000, 0x40e00000}));
    ASSERT_TRUE(read(digest(), ""));
    EXPECT_TRUE(read(digest(), "")->output.empty());
}

TEST(KnownAnswer, OutputThatIsNotOfTheDigestIsRefused) {
    for (const char* hex : {"0000000000000000", "000040400000e041"}) {
        const auto known = read(digest(), with_output(hex));
        ASSERT_FALSE(known) << hex;
        EXPECT_THAT(known.error().message, HasSubstr("\"out_hex\" is not what \"sha256\" is the hash of"));
    }
}

TEST(KnownAnswer, OutputOfAnotherLengthOrKindIsRefused) {
    for (const std::string& rest :
         {with_output(""), with_output("00004040"), with_output("000040400000e04"), with_output("000040400000e040ff"),
          with_output("g00040400000e040"), std::string(",\"out_hex\":7"), std::string(",\"out_hex\":null")}) {
        const auto known = read(digest(), rest);
        ASSERT_FALSE(known) << rest;
        EXPECT_THAT(known.error().message, HasSubstr("out_hex")) << rest;
    }
}

TEST(KnownAnswer, DifferenceNamesTheFirstElement) {
    const auto known = read(digest(), with_output(kOutput));
    EXPECT_EQ(difference(*known, {0x40400000, 0x40e00000}), "");
    EXPECT_EQ(difference(*known, {0x40400000, 0x40e00001}), "element 1 is 40e00001, not 40e00000");
    EXPECT_EQ(difference(*known, {0, 0}), "element 0 is 00000000, not 40400000");
    EXPECT_EQ(difference(*known, {0x40400000}), "1 words, not 2");
}

TEST(KnownAnswer, DifferenceFromAHashAloneIsThatFromTheReference) {
    EXPECT_EQ(difference(*read(digest(), ""), {0x40400000, 7}), "element 1 is 00000007, the reference's is 40e00000");
    EXPECT_THAT(difference(*read(std::string(64, '0'), ""), {0x40400000, 0x40e00000}),
                HasSubstr("every element is the reference's"));
}

TEST(KnownAnswer, EveryBackendOfTheMachineIsTried) {
    unsetenv("RETRACE_CPU");
    std::vector<std::string> names;
    for (const CpuBackend& backend : cpu_backends()) names.push_back(backend.name());
    ASSERT_GE(names.size(), 3u);
    EXPECT_EQ(names.front(), "element rules");
    EXPECT_EQ(names.size(), 1 + 2 * cpu_levels().size());
    for (const CpuLevel level : cpu_levels()) {
        EXPECT_THAT(names, ::testing::Contains(std::string(name_of(level)) + ", 1 thread"));
        EXPECT_THAT(names, ::testing::Contains(std::string(name_of(level)) + ", 3 threads"));
    }
}

TEST(KnownAnswer, EveryBackendFindsADifference) {
    const std::string other = digest_of({0x40400000, 0x40e00001});
    const auto right = read(digest(), with_output(kOutput)), wrong = read(other, with_output("000040400100e040"));
    ASSERT_TRUE(right && wrong);
    const auto program = program_of(*right);
    ASSERT_TRUE(program && program->has_value());
    for (const CpuBackend& backend : cpu_backends()) {
        EXPECT_EQ(difference_on(backend, **program, *right), "") << backend.name();
        EXPECT_EQ(difference_on(backend, **program, *wrong), "element 1 is 40e00000, not 40e00001") << backend.name();
    }
}

TEST(KnownAnswer, WhatTheCheckerRefusesIsNoProgram) {
    auto known = read(digest(), "");
    known->function = "no_such_function";
    EXPECT_THAT(program_of(*known).error().message, HasSubstr("no_such_function"));
    known = read(digest(), "");
    known->cols = std::uint64_t{1} << 37;
    EXPECT_THAT(program_of(*known).error().message, HasSubstr("more than 2^36 elements"));
}

}  // namespace
}  // namespace retrace::kernels::tools
