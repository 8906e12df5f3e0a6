// SPDX-License-Identifier: MIT
// Commitments of slightly changed states on the emulated device equal those of the CPU.
#include "kernels/cuda/committer.hpp"

#include <gmock/gmock.h>

#include <random>

#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/layout.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::kernels::cuda {
namespace {

/// A state in the device's memory and its committer.
struct Committed {
    std::vector<Tensor> tensors{zeros(DType::f32, {70, 100}), zeros(DType::f32, {}),     zeros(DType::u8, {65, 33}),
                                zeros(DType::i32, {5, 3, 7}), zeros(DType::f32, {0, 4}), zeros(DType::f32, {40, 40}),
                                zeros(DType::i8, {31})};
    static constexpr std::size_t kUnwritten = 5;
    Queue queue = *Queue::open();
    Memory state, workspace, space;
    std::vector<std::uint64_t> places;
    std::optional<DeviceCommitter> committer;

    Committed() {
        std::vector<DeviceCommitter::Entry> entries;
        std::uint64_t at = 0;
        for (const Tensor& tensor : tensors) {
            places.push_back(at);
            at += aligned_bytes(tensor.data.size());
        }
        state = *Memory::take(at);
        workspace = *Memory::take(4096);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            entries.push_back({state.data() + places[i], tensors[i].dtype, tensors[i].dims, i != kUnwritten});
        space = *Memory::take(DeviceCommitter(entries, nullptr).bytes());
        committer.emplace(entries, space.data());
        bring();
    }
    void bring() {
        for (std::size_t i = 0; i < tensors.size(); ++i)
            EXPECT_TRUE(queue.copy_in(state.data() + places[i], tensors[i].data.data(), tensors[i].data.size()));
    }
    void expect_roots() {
        ThreadPool pool(1);
        std::vector<Hash32> roots;
        for (const Tensor& tensor : tensors) roots.push_back(tensor_root(tensor, pool));
        const std::vector<Tensor> then = tensors;
        ASSERT_TRUE(committer->begin(queue, workspace.data()));
        for (std::size_t i = 0; i < tensors.size(); ++i)  // overwritten by the next step
            if (i != kUnwritten) queue.clear(state.data() + places[i], tensors[i].data.size());
        const auto found = committer->finish();
        ASSERT_TRUE(found);
        EXPECT_EQ(*found, roots);
        std::vector<Tensor> stored = tensors;
        ASSERT_TRUE(committer->store(stored));
        EXPECT_EQ(stored, then);
        bring();
    }
};

TEST(DeviceCommitter, FollowsChangesOfSingleBytes) {
    emulation::settings = {}, emulation::device = {};
    Committed all;
    std::mt19937_64 random(7);
    for (int round = 0; round < 12; ++round) {
        SCOPED_TRACE(round);
        all.expect_roots();
        for (std::uint64_t changes = random() % 4; changes > 0; --changes) {
            const std::size_t i = random() % all.tensors.size();
            Bytes& data = all.tensors[i].data;
            if (i == Committed::kUnwritten || data.empty()) continue;
            data[random() % data.size()] ^= static_cast<std::uint8_t>(1 + random() % 255);
        }
        all.bring();
    }
}

TEST(DeviceCommitter, HashesUnwrittenTensorsAgainWhenItIsToldThatSomebodyWroteThem) {
    emulation::settings = {}, emulation::device = {};
    Committed all;
    all.expect_roots();
    all.tensors[Committed::kUnwritten].data[77] = 1;
    all.bring();
    all.committer->forget_unwritten();
    all.expect_roots();
}

TEST(DeviceCommitter, AfterAFailureItCopiesAndHashesEverythingAgain) {
    emulation::settings = {}, emulation::device = {};
    for (const bool begun : {false, true}) {
        SCOPED_TRACE(begun);
        Committed all;
        all.expect_roots();
        all.tensors[0].data[5] = 1;
        all.bring();
        if (begun) {
            ASSERT_TRUE(all.committer->begin(all.queue, all.workspace.data()));
        }
        emulation::device.works_for = 0;
        if (begun) {
            EXPECT_FALSE(all.committer->finish());
        } else {
            EXPECT_FALSE(all.committer->begin(all.queue, all.workspace.data()));
        }
        emulation::device.failing = false;
        all.expect_roots();
    }
}

TEST(DeviceCommitter, AStateWithoutElementsIsCommitted) {
    emulation::settings = {}, emulation::device = {};
    const Tensor nothing = zeros(DType::f32, {0});
    DeviceCommitter sized({{nullptr, DType::f32, {0}, true}}, nullptr);
    Memory space = *Memory::take(sized.bytes() + 256);
    DeviceCommitter committer({{space.data(), DType::f32, {0}, true}}, space.data());
    Queue queue = *Queue::open();
    ThreadPool pool(1);
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE(committer.begin(queue, space.data()));
        EXPECT_EQ(*committer.finish(), std::vector<Hash32>{tensor_root(nothing, pool)});
    }
}

}  // namespace
}  // namespace retrace::kernels::cuda
