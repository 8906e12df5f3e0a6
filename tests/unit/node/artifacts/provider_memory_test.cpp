// SPDX-License-Identifier: MIT
// Memory used for requests of strangers stays within its bound, for any tensors.
#include <gtest/gtest.h>

#include "node/artifacts/provider.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

/// A program with very many small state tensors creates as many new ones with each checkpoint.
TEST(ProviderMemory, TensorsOfOneNumberAreCountedWithAllThatIsKeptOfThem) {
    constexpr std::size_t kTensors = 64, kBytes = 10'000;
    test::TemporaryFolder folder;
    kernels::ThreadPool pool(1);
    kernels::State state;
    for (std::uint32_t i = 0; i < kTensors; ++i)
        state.tensors.push_back(test::random_tensor(kernels::DType::f32, {1, 1}, i + 1));
    const auto commitment = kernels::commit_state({}, state, pool);
    const auto checkpoints = solver::CheckpointStore::open(folder.path());
    ASSERT_TRUE(checkpoints.has_value());
    ASSERT_TRUE((*checkpoints)->save({1, 0, 1}, commitment, state).has_value());
    CheckpointProvider provider(**checkpoints, kBytes);
    for (const Hash32& root : commitment.tensor_roots) ASSERT_TRUE(provider.tiles(root, 0, 1).has_value());
    EXPECT_LE(provider.kept(), kBytes / 512);
    EXPECT_GE(provider.kept(), 8U);
    EXPECT_TRUE(provider.tiles(commitment.tensor_roots.front(), 0, 1).has_value()) << "it is read again";
}

}  // namespace
}  // namespace retrace::node
