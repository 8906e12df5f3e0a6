// SPDX-License-Identifier: MIT
// The light client against CometBFT's own verdicts (tests/vectors/comet), and against nodes that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>
#include <sstream>

#include "ledger/exec/validator.hpp"
#include "node/light/light_client.hpp"
#include "node/light/verify.hpp"

namespace retrace::node::light {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

const json::value& vectors() {
    static const json::value all = [] {
        std::ifstream in(std::string(RETRACE_VECTORS) + "/comet/light.json");
        std::ostringstream text;
        text << in.rdbuf();
        return json::parse(text.str());
    }();
    return all;
}

Result<LightBlock> block_of(const json::value& block) {
    return parse_light_block(block.at("commit"), block.at("validators"));
}

const json::value& named(const char* name) {
    for (const json::value& one : vectors().at("cases").as_array())
        if (one.at("name").as_string() == name) return one;
    ADD_FAILURE() << name;
    return vectors();
}

std::string verdict(const Status<Refusal>& status) {
    if (status) return "success";
    static const std::map<RefusalKind, std::string> names{{RefusalKind::not_enough_trust, "not enough trust"},
                                                          {RefusalKind::expired, "expired"},
                                                          {RefusalKind::invalid, "invalid"}};
    return names.at(status.error().kind);
}

TEST(LightVerify, AgreesWithCometBft) {
    std::map<std::string, int> seen;
    for (const json::value& one : vectors().at("cases").as_array()) {
        const std::string name(one.at("name").as_string());
        const auto trusted = block_of(one.at("trusted")), fresh = block_of(one.at("new"));
        ASSERT_TRUE(trusted.has_value()) << name << ": " << trusted.error().message;
        ASSERT_TRUE(fresh.has_value()) << name << ": " << fresh.error().message;
        EXPECT_TRUE(verify_alone(*trusted).has_value()) << name;
        // The vectors' clock has whole seconds; CometBFT's had a fraction, with the same outcome.
        const auto status = verify(*trusted, *fresh, {one.at("now").as_int64(), 123'456'789});
        // CometBFT refuses a commit at the first wrong signature; here it does not count, and the others suffice.
        const bool only_one_wrong = name == "a forged signature" || name == "a signature's time was changed";
        if (only_one_wrong) {
            EXPECT_EQ(one.at("verdict").as_string(), "invalid");
        }
        EXPECT_EQ(verdict(status), only_one_wrong ? "success" : std::string(one.at("verdict").as_string()))
            << name << ": " << (status ? std::string() : status.error().message);
        ++seen[verdict(status)];
    }
    EXPECT_EQ(seen.size(), 4U);
    EXPECT_GE(seen["success"], 10);
    EXPECT_GE(seen["invalid"], 15);
}

TEST(LightVerify, EachSignedFieldCounts) {
    const json::value& good = named("adjacent");
    const auto trusted = block_of(good.at("trusted")), fresh = block_of(good.at("new"));
    const Time now{good.at("now").as_int64(), 0};
    const auto changed = [&](const std::function<void(LightBlock&)>& change) {
        LightBlock block = *fresh;
        change(block);
        return verdict(verify(*trusted, block, now));
    };
    ASSERT_EQ(changed([](LightBlock&) {}), "success");
    for (Bytes Header::*field : {&Header::last_commit_hash, &Header::data_hash, &Header::validators_hash,
                                 &Header::next_validators_hash, &Header::consensus_hash, &Header::app_hash,
                                 &Header::last_results_hash, &Header::evidence_hash, &Header::proposer}) {
        EXPECT_EQ(changed([&](LightBlock& block) { (block.header.*field)[3] ^= 1; }), "invalid");
        EXPECT_EQ(changed([&](LightBlock& block) { (block.header.*field).clear(); }), "invalid");
    }
    EXPECT_EQ(changed([](LightBlock& block) { ++block.header.app_version; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.header.block_version; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.header.time.nanos; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.header.last_block.parts; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.commit.block.parts; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { block.commit.block.parts_hash[0] ^= 1; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.commit.round; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { ++block.validators[0].power; }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { block.validators.pop_back(); }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { block.commit.votes.clear(); }), "invalid");
    EXPECT_EQ(changed([](LightBlock& block) { block.commit.votes[1] = block.commit.votes[0]; }), "invalid");
}

TEST(LightVerify, AWrongSignatureDoesNotCount) {
    const json::value& good = named("adjacent");
    const auto trusted = block_of(good.at("trusted"));
    LightBlock fresh = *block_of(good.at("new"));
    std::int64_t all = 0, wrong = 0;
    for (const Validator& one : fresh.validators) all += one.power;
    for (std::size_t i = 0; i < fresh.commit.votes.size(); ++i) {
        if (fresh.commit.votes[i].signature.empty()) continue;
        fresh.commit.votes[i].signature[7] ^= 1;
        wrong += fresh.validators[i].power;
        const bool enough = all - wrong > all * 2 / 3;
        EXPECT_EQ(verdict(verify(*trusted, fresh, {good.at("now").as_int64(), 0})), enough ? "success" : "invalid")
            << i;
    }
    EXPECT_GT(wrong, all / 3);
}

TEST(LightVerify, OneTrustedValidatorDoesNotCountTwice) {
    const json::value& good = named("skipping, a quarter of the trusted power");
    const auto trusted = block_of(good.at("trusted"));
    LightBlock fresh = *block_of(good.at("new"));
    const auto own = std::ranges::find_if(fresh.commit.votes, [&](const Vote& vote) {
        return std::ranges::any_of(trusted->validators, [&](const Validator& one) {
            return equal(vote.validator, ledger::consensus_address(one.key));
        });
    });
    ASSERT_NE(own, fresh.commit.votes.end());
    const Vote vote = *own;
    for (Vote& other : fresh.commit.votes) other = vote;
    EXPECT_EQ(verdict(verify(*trusted, fresh, {good.at("now").as_int64(), 0})), "invalid");
}

TEST(LightBlocks, WithoutTheFormOfCometAreRefusedByName) {
    const json::value& good = named("adjacent").at("new");
    const auto refusal = [&](const std::string& from, const std::string& to) {
        std::string commit = json::serialize(good.at("commit")), validators = json::serialize(good.at("validators"));
        for (std::string* text : {&commit, &validators})
            if (const auto at = text->find(from); at != std::string::npos) text->replace(at, from.size(), to);
        const auto block = parse_light_block(json::parse(commit), json::parse(validators));
        return block ? std::string() : block.error().message;
    };
    EXPECT_EQ(refusal("none of this", ""), "");
    EXPECT_THAT(refusal("\"height\":\"6\"", "\"height\":\"-6\""), HasSubstr("\"height\""));
    EXPECT_THAT(refusal("\"height\":\"6\"", "\"height\":\"6x\""), HasSubstr("\"height\""));
    EXPECT_THAT(refusal("\"height\":\"6\"", "\"height\":\"9223372036854775808\""), HasSubstr("\"height\""));
    EXPECT_THAT(refusal("\"app_hash\":\"", "\"app_hash\":\"00"), HasSubstr("\"app_hash\""));
    EXPECT_THAT(refusal("\"app_hash\":", "\"hash\":"), HasSubstr("\"app_hash\""));
    EXPECT_THAT(refusal("123456789Z\",\"last_block_id\"", "123456789+01:00\",\"last_block_id\""),
                HasSubstr("\"time\""));
    EXPECT_THAT(refusal("\"total\":3", "\"total\":4294967296"), HasSubstr("\"total\""));
    EXPECT_THAT(refusal("\"signature\":\"", "\"signature\":\"AA"), HasSubstr("\"signature\""));
    EXPECT_THAT(refusal("\"signatures\":[", "\"signatures\":7,\"x\":["), HasSubstr("\"signatures\""));
    EXPECT_THAT(refusal("PubKeyEd25519", "PubKeySecp256k1"), HasSubstr("\"type\""));
    EXPECT_THAT(refusal("\"voting_power\":\"10\"", "\"voting_power\":\"4611686018427387904\""),
                HasSubstr("\"voting_power\""));
    EXPECT_THAT(refusal("\"chain_id\":\"", "\"chain_id\":\"" + std::string(60, 'c')), HasSubstr("\"chain_id\""));
    EXPECT_FALSE(parse_light_block(json::value(7), json::value()).has_value());
}

/// A source whose sets change: blocks 5, 6 and 60 of two cases.
class Followed : public testing::Test {
protected:
    void add(const json::value& block) {
        const LightBlock parsed = *block_of(block);
        blocks_[static_cast<std::uint64_t>(parsed.header.height)] = parsed;
    }
    BlockSource source() {
        return [this](std::uint64_t height) -> Result<LightBlock> {
            asked_.push_back(height);
            const auto found = height == 0 ? std::prev(blocks_.end()) : blocks_.find(height);
            if (found == blocks_.end()) return error("no such block");
            return found->second;
        };
    }
    TrustedBlock trust(std::uint64_t height) { return {height, to_hex(view(hash_of(blocks_.at(height).header)))}; }

    TrustRules forever_{std::chrono::hours(24 * 365 * 100), std::chrono::hours(24 * 365 * 100)};
    std::map<std::uint64_t, LightBlock> blocks_;
    std::vector<std::uint64_t> asked_;
};

TEST_F(Followed, FromTheTrustedBlockOn) {
    const json::value& good = named("skipping, same set");
    add(good.at("trusted"));
    add(good.at("new"));
    auto client = LightClient::start(source(), trust(5), forever_);
    ASSERT_TRUE(client.has_value()) << client.error().message;
    const auto newest = client->verified();
    ASSERT_TRUE(newest.has_value()) << newest.error().message;
    EXPECT_EQ(newest->header.height, 60);
    EXPECT_TRUE(client->verified(60).has_value());
    EXPECT_THAT(client->verified(5).error().message, HasSubstr("not above the trusted one"));

    blocks_.at(60).header.app_hash[0] ^= 1;
    auto again = LightClient::start(source(), trust(5), forever_);
    EXPECT_THAT(again->verified().error().message, HasSubstr("for another header"));
    EXPECT_THAT(client->verified(60).error().message, HasSubstr("another block 60 than before"));
    EXPECT_THAT(LightClient::start(source(), {5, std::string(64, 'a')}, forever_).error().message,
                HasSubstr("is not the one that is trusted"));
    EXPECT_THAT(LightClient::start(source(), {5, "0x12"}, forever_).error().message, HasSubstr("64 hex digits"));
    EXPECT_THAT(LightClient::start(source(), {7, std::string(64, 'a')}, forever_).error().message,
                HasSubstr("no such block"));
}

TEST_F(Followed, TakesTheBlockBelowWhenTheNewestIsNotProved) {
    const json::value& good = named("skipping, same set");
    add(good.at("trusted"));
    add(good.at("new"));
    // Block 61 has no valid commit: it is block 60 with another height.
    blocks_[61] = blocks_.at(60);
    blocks_[61].header.height = blocks_[61].commit.height = 61;
    auto client = LightClient::start(source(), trust(5), forever_);
    ASSERT_TRUE(client.has_value()) << client.error().message;
    const auto newest = client->verified();
    ASSERT_TRUE(newest.has_value()) << newest.error().message;
    EXPECT_EQ(newest->header.height, 60);
    EXPECT_EQ(client->verified().value().header.height, 60) << "which is trusted now";
    EXPECT_FALSE(client->verified(61).has_value()) << "asked for by its height";
    blocks_.erase(60);
    EXPECT_FALSE(client->verified().has_value());
}

TEST_F(Followed, LooksBetweenWhenTooFewOfTheTrustedOnesSigned) {
    const json::value& gap = named("skipping, nobody of the trusted set");
    add(gap.at("trusted"));
    add(gap.at("new"));
    auto client = LightClient::start(source(), trust(5), forever_);
    ASSERT_TRUE(client.has_value());
    asked_.clear();
    EXPECT_THAT(client->verified().error().message, HasSubstr("no such block"));
    EXPECT_EQ(asked_, (std::vector<std::uint64_t>{0, 32}));
    // A node that answers with another height than it is asked for does not keep the client busy.
    const BlockSource stubborn = [&](std::uint64_t height) -> Result<LightBlock> {
        return height == 5 ? blocks_.at(5) : blocks_.at(60);
    };
    auto other = LightClient::start(stubborn, trust(5), forever_);
    EXPECT_THAT(other->verified().error().message, HasSubstr("another block than it was asked for"));
}

}  // namespace
}  // namespace retrace::node::light
