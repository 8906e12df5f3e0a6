// SPDX-License-Identifier: MIT
// Running out of memory while a commitment is hashed in the background ends the commitment, not the process.
#include <gtest/gtest.h>

#include <atomic>

#include "kernels/commit/committer.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/failing_new.hpp"

namespace {

std::atomic<bool> run_out{false};     ///< Allocations fail on all other threads.
thread_local bool is_tester = false;  ///< Allocations of this thread never fail.

}  // namespace

bool retrace::test::memory_ends() { return run_out.load(std::memory_order_relaxed) && !is_tester; }

namespace retrace::kernels {
namespace {

TEST(StateCommitter, ThrowsInFinishWhatWasThrownBesideTheTrainingAndStartsAnew) {
    is_tester = true;
    Program program;
    program.states = 2;
    for (int i = 0; i < 2; ++i) program.tensors.push_back({TensorKind::state, DType::f32, {70, 100}, 0, ""});
    const Hash32 root = merkle::sha256(view("p"));
    ThreadPool pool(1);
    State state{3, {zeros(DType::f32, {70, 100}), zeros(DType::f32, {70, 100})}};
    StateCommitter committer(program, root);
    committer.begin(state, pool);
    EXPECT_EQ(committer.finish().root, commit_state(root, state, pool).root);
    for (Tensor& tensor : state.tensors) tensor.data[5] = 1;
    run_out = true;
    committer.begin(state, pool);
    EXPECT_THROW(committer.finish(), std::bad_alloc);
    run_out = false;
    EXPECT_FALSE(committer.under_way());
    // The state has not changed since, but the stored hashes are not those of the failed snapshot.
    committer.begin(state, pool);
    EXPECT_EQ(committer.finish().root, commit_state(root, state, pool).root);
    is_tester = false;
}

}  // namespace
}  // namespace retrace::kernels
