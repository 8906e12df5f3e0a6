// SPDX-License-Identifier: MIT
// States of many small tensors: neither disk waits nor memory grow with the number of tensors.
#include <gtest/gtest.h>

#include <algorithm>

#include "solver/checkpoints/checkpoint_store.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using solver::CheckpointStore;

/// A state of many tensors of one element.
kernels::State crumbs(std::uint64_t step, std::size_t count) {
    kernels::State out{step, {}};
    for (std::size_t i = 0; i < count; ++i) {
        out.tensors.push_back(kernels::zeros(kernels::DType::f32, {1}));
        store_u32(out.tensors.back().data.data(), static_cast<std::uint32_t>(i + 1000 * step));
    }
    return out;
}

struct ManyTensors : ::testing::Test {
    TemporaryDirectory directory;
    kernels::ThreadPool pool{1};

    std::unique_ptr<CheckpointStore> open() { return CheckpointStore::open(directory.path).value(); }
    kernels::StateCommitment commit(const kernels::State& s) { return kernels::commit_state({}, s, pool); }
    std::size_t tensor_files() const {
        const std::filesystem::directory_iterator files(directory.path / "tensors");
        return static_cast<std::size_t>(
            std::count_if(begin(files), end(files), [](const auto& entry) { return entry.is_regular_file(); }));
    }
};

TEST_F(ManyTensors, WaitsForTheDiskAsOftenForAThousandTensorsAsForTwo) {
    const auto store = open();
    const kernels::State many = crumbs(1, 900);
    ASSERT_TRUE(store->save({1, 0, 1}, commit(many), many).has_value());
    EXPECT_EQ(store->tensor_syncs(), 2u) << "their contents, then their names";
    EXPECT_EQ(tensor_files(), 900u);
    EXPECT_EQ(*open()->load({1, 0, 1}, pool), many);
    const kernels::State few = crumbs(2, 2);
    ASSERT_TRUE(store->save({2, 0, 2}, commit(few), few).has_value());
    EXPECT_EQ(store->tensor_syncs(), 2u + 3u);
    ASSERT_TRUE(store->save({3, 0, 2}, commit(few), few).has_value());
    EXPECT_EQ(store->tensor_syncs(), 2u + 3u) << "they are there";
}

TEST_F(ManyTensors, EqualTensorsOfOneStateAreOneFile) {
    const auto store = open();
    kernels::State s = crumbs(1, 40);
    for (kernels::Tensor& tensor : s.tensors) tensor.data = s.tensors[0].data;
    ASSERT_TRUE(store->save({1, 0, 1}, commit(s), s).has_value());
    EXPECT_EQ(tensor_files(), 1u);
    EXPECT_EQ(*open()->load({1, 0, 1}, pool), s);
}

TEST_F(ManyTensors, OfWhatIsDroppedTheStateSRootIsKnownAndNoTensorS) {
    const auto store = open();
    const kernels::State s = crumbs(1, 900);
    ASSERT_TRUE(store->save({1, 0, 1}, commit(s), s).has_value());
    ASSERT_TRUE(store->discard({1, 0, 1}).has_value());
    for (const auto& each : {store->commitment({1, 0, 1}), open()->commitment({1, 0, 1})}) {
        ASSERT_TRUE(each.has_value());
        EXPECT_EQ(each->root, commit(s).root);
        EXPECT_TRUE(each->tensor_roots.empty());
    }
    EXPECT_LT(std::filesystem::file_size(directory.path / "states" / "1-0-1.state"), 300u);
    ASSERT_TRUE(store->save({1, 0, 1}, commit(s), s).has_value()) << "it can be computed again";
    EXPECT_EQ(*store->load({1, 0, 1}, pool), s);
}

TEST_F(ManyTensors, ABatchThatFailsLeavesNothingBehind) {
    const auto store = open();
    const kernels::State s = crumbs(1, 40);
    const auto commitment = commit(s);
    // Blocks the path of the last file to be written.
    const auto blocked =
        unfinished_path(directory.path / "tensors" / (to_hex(view(commitment.tensor_roots.back())) + ".tensor"));
    std::filesystem::create_directory(blocked);
    EXPECT_FALSE(store->save({1, 0, 1}, commitment, s).has_value());
    EXPECT_EQ(tensor_files(), 0u);
    EXPECT_FALSE(store->commitment({1, 0, 1}).has_value());
    std::filesystem::remove(blocked);
    ASSERT_TRUE(store->save({1, 0, 1}, commitment, s).has_value());
    EXPECT_EQ(*open()->load({1, 0, 1}, pool), s);
}

}  // namespace
}  // namespace retrace::test
