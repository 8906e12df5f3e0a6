// SPDX-License-Identifier: MIT
#include "solver/checkpoints/checkpoint_store.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <new>
#include <utility>

#include "solver/checkpoints/file_batch.hpp"
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
    /// Two tensors, the second of which never changes.
    kernels::State state(std::uint64_t step) {
        kernels::State state{step,
                             {kernels::zeros(kernels::DType::f32, {40, 3}), kernels::zeros(kernels::DType::u8, {7})}};
        state.tensors[0].f32()[5] = static_cast<float>(step);
        return state;
    }
    kernels::StateCommitment commit(const kernels::State& s) { return kernels::commit_state(program, s, pool); }
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

TEST_F(Store, LoadsWhatWasSavedAfterARestart) {
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

TEST_F(Store, WritesATensorThatDidNotChangeOnce) {
    const auto store = open();
    save(*store, 1);
    save(*store, 2);
    EXPECT_EQ(tensor_files(), 3u);
}

TEST_F(Store, RefusesASecondRootForTheSameCheckpoint) {
    const auto store = open();
    save(*store, 1);
    save(*store, 1);
    const kernels::State other = state(9);
    EXPECT_FALSE(store->save({1, 0, 1}, commit(other), other).has_value());
}

TEST_F(Store, PrunesAllButTheNewestAndTheRetained) {
    const auto store = open();
    for (std::uint64_t i = 0; i < 6; ++i) save(*store, i);
    ASSERT_TRUE(store->retain({1, 0, 1}, true).has_value());
    ASSERT_TRUE(store->prune(1, 0, 2).has_value());
    for (const std::uint64_t there : {1u, 4u, 5u}) EXPECT_TRUE(store->load({1, 0, there}, pool).has_value()) << there;
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

/// A state with a number, as trainings have the loss of their last step.
TEST_F(Store, NumbersOfDroppedStatesStay) {
    const auto with_loss = [&](std::uint64_t step) {
        kernels::State s = state(step);
        s.tensors.push_back(kernels::zeros(kernels::DType::f32, {}));
        s.tensors[2].f32()[0] = 0.5f + static_cast<float>(step);
        return s;
    };
    const std::uint64_t last = CheckpointStore::kNumbersMax + 4;
    {
        const auto store = open();
        for (std::uint64_t i = 0; i <= last; ++i)
            ASSERT_TRUE(store->save({1, 0, i}, commit(with_loss(i)), with_loss(i)).has_value());
        ASSERT_TRUE(store->prune(1, 0, 2).has_value());
    }
    const auto store = open();  // Also after a restart.
    const auto roots = [&](std::uint64_t i) { return commit(with_loss(i)).tensor_roots; };
    for (const std::uint64_t i : {std::uint64_t{3}, last - 2}) {
        ASSERT_TRUE(store->state(commit(with_loss(i)).root)) << i;
        EXPECT_EQ(store->state(commit(with_loss(i)).root)->tensor_roots, roots(i));
        EXPECT_EQ(*store->tensor(roots(i)[2], pool), with_loss(i).tensors[2]);
        EXPECT_FALSE(store->tensor(roots(i)[0], pool)) << "its other tensors are gone";
        EXPECT_FALSE(store->load({1, 0, i}, pool));
        EXPECT_TRUE(store->commitment({1, 0, i})->tensor_roots.empty()) << "to be made again if it is needed";
    }
    EXPECT_FALSE(store->state(commit(with_loss(2)).root)) << "the newest " << CheckpointStore::kNumbersMax << " only";
    EXPECT_FALSE(store->tensor(roots(2)[2], pool));
    ASSERT_TRUE(store->save({1, 0, 3}, commit(with_loss(3)), with_loss(3)).has_value());
    EXPECT_EQ(*store->load({1, 0, 3}, pool), with_loss(3)) << "made again";
    ASSERT_TRUE(store->discard({1, 0, 3}).has_value());
    EXPECT_FALSE(store->state(commit(with_loss(3)).root));
    ASSERT_TRUE(store->forget(1, 0).has_value());
    EXPECT_EQ(tensor_files(), 0u);
}

TEST_F(Store, ADamagedTensorIsRefusedAndMayBeWrittenAnew) {
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

TEST_F(Store, ADamagedManifestIsSetAside) {
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

TEST_F(Store, WhatACrashLeftUnfinishedIsRemoved) {
    save(*open(), 1);
    const auto torn = directory.path / "states" / "1-0-2.state.unfinished";
    std::ofstream(torn) << "half";
    const auto store = open();
    EXPECT_FALSE(std::filesystem::exists(torn));
    EXPECT_TRUE(store->load({1, 0, 1}, pool).has_value());
}

/// 64 tiles, one of which changes with every step.
class Changes : public Store {
protected:
    kernels::State large(std::uint64_t step) {
        kernels::State state{step, {kernels::zeros(kernels::DType::f32, {250, 250})}};
        for (std::uint64_t i = 0; i <= step; ++i) state.tensors[0].f32()[i * 40] = static_cast<float>(i + 1);
        return state;
    }
    void save_large(CheckpointStore& store, std::uint64_t index) {
        const kernels::State s = large(index);
        ASSERT_TRUE(store.save({1, 0, index}, commit(s), s).has_value());
    }
    std::vector<std::filesystem::path> deltas() const {
        std::vector<std::filesystem::path> out;
        for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors"))
            if (entry.path().extension() == ".delta") out.push_back(entry.path());
        return out;
    }
    static void flip_a_bit(const std::filesystem::path& path, std::uint64_t at) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(static_cast<std::streamoff>(at));
        const int byte = file.get();
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(byte ^ 4));
    }
};

TEST_F(Changes, OnlyChangedTilesAreWritten) {
    const auto store = open();
    save_large(*store, 0);
    const std::uint64_t whole = store->tensor_bytes_written();
    EXPECT_GE(whole, 250u * 250 * 4);
    save_large(*store, 1);
    const std::uint64_t change = store->tensor_bytes_written() - whole;
    EXPECT_LE(change, 4096u + 64);
    EXPECT_EQ(deltas().size(), 1u);
    for (const auto& opened : {open(), open()})
        for (const std::uint64_t index : {0u, 1u}) EXPECT_EQ(*opened->load({1, 0, index}, pool), large(index));
}

TEST_F(Changes, OnlyChangedTilesAreWrittenAfterARestartToo) {
    save_large(*open(), 0);
    const auto store = open();
    save_large(*store, 1);
    EXPECT_LE(store->tensor_bytes_written(), 4096u + 64);
    EXPECT_EQ(deltas().size(), 1u);
    EXPECT_EQ(*open()->load({1, 0, 1}, pool), large(1));
}

TEST_F(Changes, WhatWasDamagedWhileNothingRanIsNoBaseForChanges) {
    save_large(*open(), 0);
    for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors"))
        flip_a_bit(entry.path(), 100);
    const auto store = open();
    save_large(*store, 1);
    EXPECT_GE(store->tensor_bytes_written(), 250u * 250 * 4);
    EXPECT_TRUE(deltas().empty());
    EXPECT_EQ(*open()->load({1, 0, 1}, pool), large(1));
}

TEST_F(Changes, VersionsRestOnAFewOthersOnly) {
    const auto store = open();
    for (std::uint64_t i = 0; i < 30; ++i) save_large(*store, i);
    EXPECT_EQ(deltas().size(), 30u - 4) << "a whole file for every nine";
    ASSERT_TRUE(store->prune(1, 0, 2).has_value());
    EXPECT_EQ(*store->load({1, 0, 29}, pool), large(29));
    EXPECT_EQ(*store->load({1, 0, 28}, pool), large(28));
    EXPECT_EQ(*open()->load({1, 0, 28}, pool), large(28)) << "what a version rests on outlives its own checkpoint";
    EXPECT_LE(tensor_files(), 10u);
}

TEST_F(Changes, AFlippedBitInAnyVersionIsFoundAndMended) {
    for (const bool in_base : {false, true}) {
        const auto store = open();
        save_large(*store, 0);
        save_large(*store, 1);
        std::filesystem::path victim = deltas().at(0);
        if (in_base)
            for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors"))
                if (entry.path().extension() == ".tensor") victim = entry.path();
        flip_a_bit(victim, 100);
        const auto loaded = open()->load({1, 0, 1}, pool);
        ASSERT_FALSE(loaded.has_value());
        EXPECT_NE(loaded.error().message.find("(damaged)"), std::string::npos) << loaded.error().message;
        EXPECT_FALSE(std::filesystem::exists(victim));
        const auto mended = open();
        EXPECT_EQ(mended->load({1, 0, 0}, pool).has_value(), !in_base);
        save_large(*mended, 0);
        save_large(*mended, 1);
        EXPECT_EQ(*mended->load({1, 0, 1}, pool), large(1));
        ASSERT_TRUE(mended->forget(1, 0).has_value());
    }
}

TEST_F(Changes, WhatIsWrittenAgainDoesNotRestOnWhatRestsOnIt) {
    const auto store = open();
    for (std::uint64_t i = 0; i < 5; ++i) {
        save_large(*store, i);
        ASSERT_TRUE(store->retain({1, 0, i}, true).has_value());
    }
    const std::string second = to_hex(view(commit(large(2)).tensor_roots[0]));
    for (const auto& path : deltas())
        if (path.filename().string().starts_with(second)) flip_a_bit(path, 100);
    ASSERT_FALSE(store->load({1, 0, 2}, pool).has_value());
    ASSERT_TRUE(store->discard({1, 0, 2}).has_value());
    save_large(*store, 2);
    for (std::uint64_t i = 0; i < 5; ++i) {
        const auto loaded = store->load({1, 0, i}, pool);
        ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
        EXPECT_EQ(*loaded, large(i));
    }
}

/// Runs out of memory once.
struct SealWithoutMemory : solver::Seal {
    explicit SealWithoutMemory(bool& fails) : fails_(fails) {}
    Result<Bytes> close(View plain, std::string_view) const override {
        if (std::exchange(fails_, false)) throw std::bad_alloc();
        Bytes out(solver::kSealMagic.begin(), solver::kSealMagic.end());
        out.insert(out.end(), plain.begin(), plain.end());
        return out;
    }
    Result<Bytes> open(View sealed, std::string_view) const override {
        return Bytes(sealed.begin() + solver::kSealMagic.size(), sealed.end());
    }
    std::optional<std::uint64_t> plain_size(std::uint64_t) const override { return std::nullopt; }
    Result<Bytes> open_chunk(const solver::ReadAt&, std::uint64_t, std::uint64_t, std::string_view) const override {
        return error("it is not read in parts");
    }
    bool& fails_;
};

TEST_F(Changes, WhatWasNotWrittenForWantOfMemoryIsNotThere) {
    bool fails = false;
    const auto store = CheckpointStore::open(directory.path, std::make_unique<SealWithoutMemory>(fails)).value();
    save_large(*store, 0);
    fails = true;
    const kernels::State s = large(1);
    EXPECT_THROW((void)store->save({1, 0, 1}, commit(s), s), std::bad_alloc);
    save_large(*store, 1);
    EXPECT_EQ(*store->load({1, 0, 1}, pool), large(1));
}

TEST_F(Changes, ATornWriteAtAnyLengthLosesThatVersionOnly) {
    for (const std::uint64_t length : {0u, 1u, 17u, 60u, 4000u, 4129u}) {
        const auto store = open();
        save_large(*store, 0);
        save_large(*store, 1);
        std::filesystem::resize_file(deltas().at(0), length);
        const auto again = open();
        EXPECT_TRUE(again->load({1, 0, 0}, pool).has_value()) << length;
        const auto torn = again->load({1, 0, 1}, pool);
        ASSERT_FALSE(torn.has_value()) << length;
        EXPECT_NE(torn.error().message.find("(damaged)"), std::string::npos) << torn.error().message;
        ASSERT_TRUE(again->forget(1, 0).has_value());
    }
}

TEST_F(Changes, ATensorThatIsGoneIsNamedMissing) {
    const auto store = open();
    save_large(*store, 0);
    for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors"))
        std::filesystem::remove(entry.path());
    const auto loaded = store->load({1, 0, 0}, pool);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_NE(loaded.error().message.find("(missing)"), std::string::npos) << loaded.error().message;
    save_large(*store, 0);
    EXPECT_TRUE(store->load({1, 0, 0}, pool).has_value());
}

TEST_F(Changes, FilesThatRestOnEachOtherAreRefused) {
    const auto store = open();
    save_large(*store, 0);
    save_large(*store, 1);
    const std::string first = to_hex(view(commit(large(0)).tensor_roots[0]));
    const std::string second = to_hex(view(commit(large(1)).tensor_roots[0]));
    const auto tensors = directory.path / "tensors";
    std::filesystem::remove(tensors / (first + ".tensor"));
    std::filesystem::copy(tensors / (second + "." + first + ".delta"), tensors / (first + "." + second + ".delta"));
    EXPECT_FALSE(open()->load({1, 0, 1}, pool).has_value());
}

TEST_F(Changes, RollsBackToAnEarlierCheckpoint) {
    const auto store = open();
    for (std::uint64_t i = 0; i < 5; ++i) save_large(*store, i);
    ASSERT_TRUE(store->retain({1, 0, 3}, true).has_value());
    ASSERT_TRUE(store->rollback({1, 0, 1}).has_value());
    const auto again = open();
    EXPECT_EQ(again->newest(1, 0, 2), (CheckpointKey{1, 0, 1}));
    EXPECT_FALSE(again->load({1, 0, 4}, pool).has_value());
    EXPECT_EQ(*again->load({1, 0, 3}, pool), large(3)) << "what is retained stays";
    EXPECT_EQ(again->commitment({1, 0, 4})->root, commit(large(4)).root) << "roots stay";
    const kernels::State other = large(7);
    EXPECT_FALSE(again->save({1, 0, 4}, commit(other), other).has_value());
    EXPECT_FALSE(again->rollback({1, 0, 4}).has_value());
    save_large(*again, 2);
    EXPECT_EQ(*again->load({1, 0, 2}, pool), large(2));
}

TEST_F(Store, SaysWhyADirectoryCannotBeUsed) {
    std::ofstream(directory.path / "file") << "x";
    const auto store = CheckpointStore::open(directory.path / "file");
    ASSERT_FALSE(store.has_value());
    EXPECT_NE(store.error().message.find("cannot create"), std::string::npos);
}

}  // namespace
}  // namespace retrace::test
