// SPDX-License-Identifier: MIT
// An agent of the same account is found by its proof, and nobody else passes for one.
#include "node/agents/account_guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/agents/agent_process.hpp"
#include "node/artifacts/http_server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

const Hash32 kSecret{{7}}, kOther{{8}}, kInstance{{9}};

struct AccountAgent : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = std::move(Store::open(folder.path() / "store")).value();
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http;

    void serve(ArtifactServer::PartyAnswer answer) {
        if (answer) server.answer_party(std::move(answer));
        http = std::move(ArtifactHttpServer::start(server, {})).value();
    }
};

TEST_F(AccountAgent, IsFoundByWhoHasItsSecret) {
    serve([](std::string_view challenge) { return party_answer(kSecret, kInstance, challenge); });
    EXPECT_EQ(ask_party(http->url(), kSecret), kInstance);
    EXPECT_EQ(ask_party(http->url(), kOther), std::nullopt) << "the agent of another account";
}

TEST_F(AccountAgent, IsNotFoundWhereNoneAnswersOrTheAnswerIsNoProof) {
    EXPECT_EQ(ask_party("http://127.0.0.1:1", kSecret), std::nullopt);
    EXPECT_EQ(ask_party("nonsense", kSecret), std::nullopt);
    serve({});
    EXPECT_EQ(ask_party(http->url(), kSecret), std::nullopt) << "an agent from before this path";
    // A stranger who took over the address has only old answers.
    const std::string old = *party_answer(kSecret, kInstance, std::string(64, '0'));
    server.answer_party([old](std::string_view) { return old; });
    EXPECT_EQ(ask_party(http->url(), kSecret), std::nullopt);
    server.answer_party([](std::string_view) { return std::string(128, 'x'); });
    EXPECT_EQ(ask_party(http->url(), kSecret), std::nullopt);
}

TEST(AccountGuard, RefusesAMalformedChallenge) {
    EXPECT_FALSE(party_answer(kSecret, kInstance, ""));
    EXPECT_FALSE(party_answer(kSecret, kInstance, std::string(63, '0')));
    EXPECT_FALSE(party_answer(kSecret, kInstance, std::string(64, 'g')));
    EXPECT_TRUE(party_answer(kSecret, kInstance, std::string(64, 'f')));
}

TEST(AccountGuard, NoticesAnEndpointThatReplacesOurs) {
    AccountGuard guard("http://a:1");
    EXPECT_FALSE(guard.is_replaced("http://old:1")) << "ours is not in a block yet";
    EXPECT_FALSE(guard.is_replaced("http://a:1"));
    EXPECT_TRUE(guard.is_replaced("http://b:1"));
}

TEST(AccountGuard, RefusesAnEndpointThatOtherMachinesCannotReach) {
    for (const char* const endpoint : {"http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000"}) {
        EXPECT_TRUE(check_reachable(endpoint, "http://127.0.0.1:8545")) << endpoint;
        EXPECT_TRUE(check_reachable(endpoint, "https://localhost:8545")) << endpoint;
        const auto refused = check_reachable(endpoint, "https://node.example:8545");
        ASSERT_FALSE(refused) << endpoint;
        EXPECT_THAT(refused.error().message, ::testing::HasSubstr("--endpoint"));
    }
    EXPECT_TRUE(check_reachable("http://10.0.0.2:9000", "https://node.example:8545"));
    for (const char* endpoint : {"", "nonsense", "ftp://10.0.0.2:9000", "http://"}) {
        const auto refused = check_reachable(endpoint, "http://127.0.0.1:8545");
        ASSERT_FALSE(refused) << endpoint;
        EXPECT_THAT(refused.error().message, ::testing::HasSubstr("is no URL"));
    }
    for (const char* endpoint : {"http://0.0.0.0:9000", "http://[::]:9000"})
        for (const char* node : {"http://127.0.0.1:8545", "https://node.example:8545"}) {
            const auto refused = check_reachable(endpoint, node);
            ASSERT_FALSE(refused) << endpoint;
            EXPECT_THAT(refused.error().message, ::testing::HasSubstr("names no machine"));
        }
}

/// A node on this machine is the default, and says nothing about where the other parties of its chain are.
TEST(AccountGuard, RefusesToServeOnLoopbackUnlessItIsChosen) {
    AgentOptions options;
    const auto refused = check_public_endpoint(options);
    ASSERT_FALSE(refused);
    for (const char* const part : {"127.0.0.1", "lose stake", "--listen 0.0.0.0", "--endpoint"})
        EXPECT_THAT(refused.error().message, ::testing::HasSubstr(part));
    options.endpoint = "http://10.0.0.2:9000";
    EXPECT_TRUE(check_public_endpoint(options)) << "another program forwards to it";
    options.endpoint.clear();
    options.listen_chosen = true;
    EXPECT_TRUE(check_public_endpoint(options));
    options.listen = "0.0.0.0";
    options.listen_chosen = false;
    EXPECT_TRUE(check_public_endpoint(options)) << "the quick start has looked for the endpoint";
}

TEST(AccountGuard, SaysWhatToDo) {
    EXPECT_THAT(already_runs("0xA", "http://a:1"),
                ::testing::AllOf(::testing::HasSubstr("another agent with the key of 0xA runs at http://a:1"),
                                 ::testing::HasSubstr("stop one of them")));
}

TEST(PrivateDataOfAgents, AreReadForNoNodeThatCouldLieAboutTheRequester) {
    for (const char* own : {"http://127.0.0.1:8545", "http://localhost:8545", "http://[::1]:8545"})
        EXPECT_TRUE(check_node_of_data(own, false)) << own;
    for (const char* other : {"https://node.example:8545", "http://192.168.1.2:8545", "127.0.0.1.example", ""}) {
        const auto refused = check_node_of_data(other, false);
        ASSERT_FALSE(refused) << other;
        EXPECT_THAT(refused.error().message, ::testing::HasSubstr("--trust-hash"));
        EXPECT_TRUE(check_node_of_data(other, true)) << other;
    }
}

}  // namespace
}  // namespace retrace::node
