// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <limits>

#include "node/artifacts/metrics_csv.hpp"
#include "node/artifacts/receipt.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using ::testing::HasSubstr;

Receipt sample() {
    Receipt out;
    out.chain_id = 7298;
    out.task = 3;
    out.requester = "0x" + std::string(40, 'a');
    out.solver = "0x" + std::string(40, 'b');
    out.contract = Hash32{{1}};
    out.program = Hash32{{2}};
    out.data = {Hash32{{3}}, Hash32{{4}}};
    out.seed = ~std::uint64_t{0};
    out.steps = 250;
    out.interval = 100;
    out.posted_height = 12;
    out.settled_height = 99;
    out.states = {{0, 20, Hash32{{5}}}, {3, 90, Hash32{{6}}}};
    out.audits = {{0, 30, {out.requester}}, {2, 95, {}}};
    return out;
}

std::string error_of(const std::string& text) {
    const auto receipt = receipt_from_json(view(text));
    return receipt ? "" : receipt.error().message;
}

std::string replaced(const std::string& from, const std::string& to) {
    std::string text = to_json(sample());
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

TEST(Receipt, ComesBackFromItsFile) {
    test::TemporaryFolder folder;
    ASSERT_TRUE(store_receipt(sample(), folder.path() / "receipt.json"));
    const auto back = load_receipt(folder.path() / "receipt.json");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, sample());
    EXPECT_EQ(to_json(*back), to_json(sample()));
    EXPECT_THAT(to_json(sample()),
                ::testing::StartsWith(R"({"format":1,"chain_id":7298,"task":3,"requester":"0xaaaa)"));
}

TEST(Receipt, IsReadStrictly) {
    EXPECT_EQ(error_of(to_json(sample())), "");
    EXPECT_THAT(error_of("{}"), HasSubstr("\"format\""));
    EXPECT_THAT(error_of("null"), HasSubstr("object"));
    EXPECT_THAT(error_of(replaced("\"format\":1", "\"format\":9")), HasSubstr("format 9"));
    EXPECT_THAT(error_of(replaced("\"task\":3", "\"task\":3,\"extra\":1")), HasSubstr("out of order"));
    EXPECT_THAT(error_of(replaced("\"task\":3", "\"task\":3.5")), HasSubstr("whole number"));
    EXPECT_THAT(error_of(replaced("\"task\":3", "\"task\":-3")), HasSubstr("whole number"));
    EXPECT_THAT(error_of(replaced("0xaaaaaaaa", "0xAaaaaaaa")), HasSubstr("not an address"));
    EXPECT_THAT(error_of(replaced("\"0x02", "\"0x0")), HasSubstr("\"program\""));
    EXPECT_THAT(error_of(replaced("\"index\":0", "\"index\":3")), HasSubstr("do not ascend"));
    EXPECT_THAT(error_of(replaced("\"index\":0", "\"index\":1")), HasSubstr("initial state"));
    EXPECT_THAT(error_of(replaced("\"index\":3", "\"index\":2")), HasSubstr("end of the training"));
    EXPECT_THAT(error_of(replaced("\"segment\":2", "\"segment\":0")), HasSubstr("do not ascend"));
    Receipt twice = sample();
    twice.audits.push_back(twice.audits.back());
    EXPECT_THAT(error_of(to_json(twice)), HasSubstr("the audits do not ascend")) << "an audit that is listed twice";
    EXPECT_THAT(error_of(replaced("\"segment\":2", "\"segment\":3")), HasSubstr("does not exist"));
    EXPECT_THAT(error_of(replaced("\"interval\":100", "\"interval\":0")), HasSubstr("no interval"));
    EXPECT_THAT(error_of(to_json(sample()) + "x"), HasSubstr("not JSON"));
}

TEST(Receipt, AMissingOrEndlessFileIsNamed) {
    EXPECT_THAT(load_receipt("/nowhere/receipt.json").error().message, HasSubstr("/nowhere/receipt.json"));
    EXPECT_THAT(load_receipt("/dev/zero").error().message, HasSubstr("not a regular file"));
}

TEST(MetricsCsv, ShortestDecimalsAndQuotedNames) {
    const MetricTable table{{"loss", "a,\"b\""},
                            {{0, {2.3025851f, 0}}, {1, {0.1f, -std::numeric_limits<float>::infinity()}}}};
    EXPECT_EQ(to_csv(table), "step,loss,\"a,\"\"b\"\"\"\n0,2.3025851,0\n1,0.1,-inf\n");
}

}  // namespace
}  // namespace retrace::node
