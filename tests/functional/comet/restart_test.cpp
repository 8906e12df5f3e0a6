// SPDX-License-Identifier: MIT
// Nodes that end one after another while transactions come in: whatever a node has accepted is in a block afterwards.
#include "tests/functional/comet/testnet_fixture.hpp"

namespace retrace::node {
namespace {

class RollingRestart : public TestnetTest {
protected:
    /// Ends each node in turn and starts it again when the others have made blocks without it.
    void restart_all(const std::function<void(std::size_t)>& end) {
        TransferLoad load(network_->urls(), 1);
        for (std::size_t i = 0; i < kNodes; ++i) {
            const std::size_t other = (i + 1) % kNodes;
            end(i);
            ASSERT_TRUE(reaches(other, height(other) + 3));
            ASSERT_TRUE(network_->restart(i).has_value());
            ASSERT_TRUE(network_->await(i, 60s).has_value());
            ASSERT_TRUE(reaches(i, height(other) + 2));
        }
        const auto accepted = load.stop();
        EXPECT_GT(accepted.size(), 200U) << "the nodes were under load";
        expect_mined(accepted);
        expect_equal_chains(height(0));
    }
};

TEST_F(RollingRestart, LosesNoAcceptedTransactionWhenNodesStop) {
    restart_all([&](std::size_t i) {
        network_->node(i).stop(15s);
        EXPECT_EQ(network_->node(i).exit_status(), 0);
    });
}

/// The mempool's journal outlives the process.
TEST_F(RollingRestart, LosesNoAcceptedTransactionWhenNodesAreKilled) {
    restart_all([&](std::size_t i) { network_->node(i).kill(); });
}

}  // namespace
}  // namespace retrace::node
