// SPDX-License-Identifier: MIT
// An auditor of private data serves no state of that training, whoever knows its roots.
#include <gtest/gtest.h>

#include "node/artifacts/provider.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

class ProviderWithheld : public ::testing::Test {
protected:
    ProviderWithheld() : checkpoints_(solver::CheckpointStore::open(folder_.path()).value()) {
        secret_ = save({1, 0, 1}, private_, {own_, common_});
        public_ = save({2, 0, 1}, other_, {common_});
    }
    kernels::StateCommitment save(const solver::CheckpointKey& key, const Hash32& program,
                                  std::vector<kernels::Tensor> tensors) {
        kernels::State state;
        state.tensors = std::move(tensors);
        auto commitment = kernels::commit_state(program, state, pool_);
        EXPECT_TRUE(checkpoints_->save(key, commitment, state).has_value());
        return commitment;
    }
    bool serves(const Hash32& tensor) { return provider_.tiles(tensor, 0, 1).has_value(); }

    test::TemporaryFolder folder_;
    kernels::ThreadPool pool_{1};
    const Hash32 private_{{1}}, other_{{2}};
    const kernels::Tensor own_ = test::random_tensor(kernels::DType::f32, {4, 4}, 1);
    const kernels::Tensor common_ = test::random_tensor(kernels::DType::f32, {4, 4}, 2);
    std::unique_ptr<solver::CheckpointStore> checkpoints_;
    CheckpointProvider provider_{*checkpoints_};
    kernels::StateCommitment secret_, public_;
};

TEST_F(ProviderWithheld, NothingOfAWithheldProgramIsServed) {
    provider_.withhold_programs({private_});
    EXPECT_FALSE(provider_.state(secret_.root).has_value());
    EXPECT_FALSE(serves(secret_.tensor_roots[0])) << "also by the root of a tensor";
    EXPECT_FALSE(provider_.leaves(secret_.tensor_roots[0], 0, 1).has_value());
    EXPECT_FALSE(provider_.info(secret_.tensor_roots[0]).has_value());
    EXPECT_TRUE(provider_.state(public_.root).has_value());
    EXPECT_TRUE(serves(public_.tensor_roots[0])) << "another program's state has the same tensor";
    provider_.withhold_programs({});
    EXPECT_TRUE(provider_.state(secret_.root).has_value());
    EXPECT_TRUE(serves(secret_.tensor_roots[0]));
}

TEST_F(ProviderWithheld, NothingIsServedUntilTheProgramsAreKnown) {
    provider_.withhold_all();
    EXPECT_FALSE(provider_.state(public_.root).has_value());
    EXPECT_FALSE(serves(public_.tensor_roots[0]));
    provider_.withhold_programs({private_});
    EXPECT_TRUE(provider_.state(public_.root).has_value());
    EXPECT_FALSE(provider_.state(secret_.root).has_value());
}

}  // namespace
}  // namespace retrace::node
