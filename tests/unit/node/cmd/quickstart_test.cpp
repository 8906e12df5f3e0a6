// SPDX-License-Identifier: MIT
// The parts of `--quickstart` that need no node.
#include "node/cmd/quickstart.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "contracts/records/store.hpp"
#include "ledger/state/state.hpp"
#include "node/agents/bidding.hpp"
#include "node/platform/units.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node::cli {
namespace {

using ledger::U256;
using ::testing::HasSubstr;

U256 coins(const char* text) { return parse_coins(text).value(); }

TEST(Quickstart, AsksForStakeAndFeesThatAreNotThere) {
    EXPECT_EQ(coins_missing(coins("50"), coins("1"), {}, {}), coins("51"));
    EXPECT_EQ(coins_missing(coins("50"), coins("1"), coins("20"), coins("5")), coins("26"));
    EXPECT_EQ(coins_missing(coins("50"), coins("1"), {}, coins("51")), U256());
    EXPECT_EQ(coins_missing(coins("50"), coins("1"), coins("50"), coins("0.04")), coins("0.06"));
    EXPECT_EQ(coins_missing(coins("50"), coins("1"), coins("60"), coins("0.1")), U256()) << "it earns by now";
}

TEST(Quickstart, ASolversFeesHaveItsDepositsToo) {
    const market::Params params;
    const U256 fee(1'000'000'000);
    EXPECT_EQ(fees_to_start(params, fee, AgentRole::verifier), segment_fees(fee) * U256(20));
    EXPECT_EQ(fees_to_start(params, fee, AgentRole::solver),
              segment_fees(fee) * U256(20) + params.bid_deposit * U256(20));
}

class NoState final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

/// A stranger could otherwise post dear tasks, whose escrow comes back, and decide what newcomers bond.
TEST(Quickstart, ADearTaskDoesNotRaiseTheStakeOfANewcomer) {
    const NoState nothing;
    ledger::State state(nothing);
    const market::Params params;
    const U256 usual = stake_to_start(state, params, AgentRole::solver);
    market::TaskSpec spec;
    spec.steps = spec.interval = 1;
    market::Task task;
    task.id = 1;
    task.wanted = 1;
    task.state = market::TaskState::bidding;
    contracts::store(state, contracts::keys::task(1), task);
    contracts::add_to_list(state, contracts::keys::active_tasks(), std::uint64_t{1});
    for (const auto& [ceiling, more] : {std::pair{"1000", false}, {"0.1", true}}) {
        spec.price_ceiling = coins(ceiling);
        contracts::store(state, contracts::keys::spec(1), spec);
        const U256 stake = stake_to_start(state, params, AgentRole::solver);
        EXPECT_EQ(stake < usual, more) << ceiling;
        EXPECT_LE(stake, usual) << ceiling;
    }
}

TEST(Quickstart, FindsTheWordsThatItAsksFor) {
    const std::string_view words = "abandon ability able about";
    EXPECT_EQ(word_of(words, 0), "abandon");
    EXPECT_EQ(word_of(words, 2), "able");
    EXPECT_EQ(word_of(words, 3), "about");
    EXPECT_EQ(word_of(words, 4), "");
}

class QuickstartKey : public ::testing::Test {
protected:
    void SetUp() override {
        options.keys = (folder.path() / "keys").string();
        options.passphrase_file = (folder.path() / "pass").string();
        std::ofstream(options.passphrase_file) << "secret\n";
        agent.data_dir = folder.path() / "agent";
        agent.node_url = "http://127.0.0.1:1";
        agent.timeout = std::chrono::seconds(0);
        flags.on = flags.skip_checks = true;
        flags.words_file = (folder.path() / "words").string();
    }
    /// Runs it until it looks for the node; returns the error, which is about that node.
    std::string run() {
        ::testing::internal::CaptureStdout();
        const auto key = prepare_agent(AgentRole::solver, flags, options, agent, false);
        said = ::testing::internal::GetCapturedStdout();
        return key ? "" : key.error().message;
    }
    std::string text(const std::string& name) const {
        std::ifstream in(folder.path() / name);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    test::TemporaryFolder folder;
    QuickstartFlags flags;
    KeyOptions options;
    AgentOptions agent;
    std::string said;
};

TEST_F(QuickstartKey, MakesAKeyOnceAndFindsItAgain) {
    EXPECT_THAT(run(), HasSubstr("no answer from the node"));
    EXPECT_THAT(said, HasSubstr("step 1 of 5: made the key 0x"));
    const std::string account = text("agent/account"), words = text("words");
    EXPECT_EQ(account.size(), 42u);
    EXPECT_THAT(said, ::testing::Not(HasSubstr(words.substr(0, words.size() - 1))));
    EXPECT_EQ(std::filesystem::status(flags.words_file).permissions(), std::filesystem::perms(0600));
    EXPECT_THAT(run(), HasSubstr("no answer from the node"));
    EXPECT_THAT(said, HasSubstr("the key is that of " + account));
    EXPECT_EQ(text("words"), words);
}

TEST_F(QuickstartKey, GoesOnWithTheWordsOfAnInterruptedStart) {
    run();
    const std::string account = text("agent/account");
    std::filesystem::remove_all(folder.path() / "agent");
    run();
    EXPECT_EQ(text("agent/account"), account);
    EXPECT_THAT(said, HasSubstr("step 1 of 5: the key is that of " + account + ", whose words are in "));
    std::filesystem::remove_all(folder.path() / "agent");
    std::filesystem::remove_all(folder.path() / "keys");
    run();
    EXPECT_EQ(text("agent/account"), account);
    EXPECT_THAT(said, HasSubstr(" of the words that are already in " + flags.words_file));
}

TEST_F(QuickstartKey, RefusesWordsThatOthersMayKnow) {
    run();
    std::filesystem::remove_all(folder.path() / "agent");
    std::filesystem::remove_all(folder.path() / "keys");
    const auto is_refused = [&] {
        EXPECT_THAT(run(), HasSubstr(flags.words_file + " exists and is not a file of this user with mode 0600"));
        EXPECT_EQ(said, "");
        EXPECT_FALSE(std::filesystem::exists(folder.path() / "keys"));
    };
    for (const unsigned mode : {0644u, 0640u, 0620u}) {
        std::filesystem::permissions(flags.words_file, std::filesystem::perms(mode));
        is_refused();
    }
    std::filesystem::permissions(flags.words_file, std::filesystem::perms(0600));
    const std::string target = (folder.path() / "target").string();
    std::filesystem::rename(flags.words_file, target);
    std::filesystem::create_symlink(target, flags.words_file);
    is_refused();
}

TEST_F(QuickstartKey, RefusesAnEmptyPassphrase) {
    std::ofstream(options.passphrase_file) << "\n";
    EXPECT_THAT(run(), HasSubstr("the passphrase is empty"));
    EXPECT_FALSE(std::filesystem::exists(flags.words_file));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "agent/account"));
}

}  // namespace
}  // namespace retrace::node::cli
