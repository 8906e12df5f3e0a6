// SPDX-License-Identifier: MIT
#include "solver/checkpoints/checkpoint_store.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "solver/checkpoints/durable_file.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using solver::CheckpointKey;
using solver::CheckpointStore;

class Store : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    kernels::ThreadPool pool{1};
    Hash32 program;

    std::unique_ptr<CheckpointStore> open() {
        auto store = CheckpointStore::open(directory.path);
        EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
        return std::move(store).value();
    }
    /// Two tensors, of which the second never changes.
    kernels::State state(std::uint64_t step) {
        kernels::State state{
            step, {kernels::zeros(kernels::DType::f32, {40, 3}), kernels::zeros(kernels::DType::u8, {7})}};
        state.tensors[0].f32()[5] = static_cast<float>(step);
        return state;
    }
    kernels::StateCommitment commit(const kernels::State& s) {
        return kernels::commit_state(program, s, pool);
    }
    void save(CheckpointStore& store, std::uint64_t index) {
        const kernels::State s = state(index);
        ASSERT_TRUE(store.save({1, 0, index}, commit(s), s).has_value());
    }
    std::size_t tensor_files() const {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors")) {
            count += entry.is_regular_file() ? 1 : 0;
        }
        return count;
    }
};

TEST_F(Store, loads_what_was_saved_after_a_restart) {
    save(*open(), 3);
    const auto store = open();
    const auto loaded = store->load({1, 0, 3}, pool);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
    EXPECT_EQ(*loaded, state(3));
    EXPECT_EQ(store->commitment({1, 0, 3})->root, commit(state(3)).root);
    EXPECT_TRUE(store->state(commit(state(3)).root).has_value());
    EXPECT_FALSE(store->load({1, 0, 4}, pool).has_value());
    EXPECT_FALSE(store->load({2, 0, 3}, pool).has_value());
}

TEST_F(Store, writes_a_tensor_that_did_not_change_once) {
    const auto store = open();
    save(*store, 1);
    save(*store, 2);
    EXPECT_EQ(tensor_files(), 3u);
}

TEST_F(Store, refuses_a_second_root_for_the_same_checkpoint) {
    const auto store = open();
    save(*store, 1);
    save(*store, 1);
    const kernels::State other = state(9);
    EXPECT_FALSE(store->save({1, 0, 1}, commit(other), other).has_value());
}

TEST_F(Store, prunes_all_but_the_newest_and_the_retained) {
    const auto store = open();
    for (std::uint64_t i = 0; i < 6; ++i) save(*store, i);
    ASSERT_TRUE(store->retain({1, 0, 1}, true).has_value());
    ASSERT_TRUE(store->prune(1, 0, 2).has_value());
    for (const std::uint64_t there : {1u, 4u, 5u})
        EXPECT_TRUE(store->load({1, 0, there}, pool).has_value()) << there;
    for (const std::uint64_t gone : {0u, 2u, 3u}) {
        EXPECT_FALSE(store->load({1, 0, gone}, pool).has_value()) << gone;
        EXPECT_TRUE(store->commitment({1, 0, gone}).has_value()) << "roots outlive tensors";
    }
    EXPECT_EQ(tensor_files(), 4u);
    EXPECT_EQ(open()->newest(1, 0, 3), (CheckpointKey{1, 0, 1}));
    EXPECT_EQ(open()->newest(1, 0, 0), std::nullopt);
    EXPECT_EQ(open()->retained(), (std::vector<CheckpointKey>{{1, 0, 1}}));
    ASSERT_TRUE(store->forget(1, 0).has_value());
    EXPECT_EQ(tensor_files(), 0u);
}

TEST_F(Store, a_damaged_tensor_is_refused_and_may_be_written_anew) {
    const auto store = open();
    save(*store, 1);
    for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors")) {
        std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-1, std::ios::end);
        file.put('\x7f');
    }
    EXPECT_FALSE(store->load({1, 0, 1}, pool).has_value());
    EXPECT_FALSE(store->load({1, 0, 1}, pool).has_value());
    save(*store, 1);
    EXPECT_TRUE(store->load({1, 0, 1}, pool).has_value());
}

TEST_F(Store, a_damaged_manifest_is_set_aside) {
    save(*open(), 1);
    const auto path = directory.path / "states" / "1-0-1.state";
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(30);
        file.put('\x55');
    }
    EXPECT_FALSE(open()->commitment({1, 0, 1}).has_value());
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(Store, what_a_crash_left_unfinished_is_removed) {
    save(*open(), 1);
    const auto torn = directory.path / "states" / "1-0-2.state.unfinished";
    std::ofstream(torn) << "half";
    const auto store = open();
    EXPECT_FALSE(std::filesystem::exists(torn));
    EXPECT_TRUE(store->load({1, 0, 1}, pool).has_value());
}

TEST_F(Store, says_why_a_directory_cannot_be_used) {
    std::ofstream(directory.path / "file") << "x";
    const auto store = CheckpointStore::open(directory.path / "file");
    ASSERT_FALSE(store.has_value());
    EXPECT_NE(store.error().message.find("cannot create"), std::string::npos);
}

}  // namespace
}  // namespace retrace::test
