// SPDX-License-Identifier: MIT
// Tiles that are read from a tensor's files without the rest of it.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "solver/checkpoints/checkpoint_store.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using kernels::DType;
using solver::CheckpointStore;
using solver::StoreFault;

struct Parts : ::testing::Test {
    TemporaryDirectory directory;
    kernels::ThreadPool pool{1};
    std::mt19937 random{1};
    std::uint64_t saved = 0;

    /// Saves the tensor as the next checkpoint of the same run, and returns its root.
    Hash32 save(CheckpointStore& store, const kernels::Tensor& tensor) {
        const kernels::State state{saved, {tensor}};
        const auto commitment = kernels::commit_state({}, state, pool);
        EXPECT_TRUE(store.save({1, 0, saved++}, commitment, state).has_value());
        return commitment.tensor_roots[0];
    }
    kernels::Tensor random_tensor(DType dtype, kernels::Dims dims) {
        kernels::Tensor out = kernels::zeros(dtype, std::move(dims));
        for (std::uint8_t& byte : out.data) byte = static_cast<std::uint8_t>(random() & 1);
        return out;
    }
    void expect_tiles(const CheckpointStore& store, const Hash32& root, const kernels::Tensor& tensor) {
        const auto parts = store.parts(root);
        ASSERT_TRUE(parts.has_value()) << parts.error().message;
        EXPECT_EQ(parts->header().root(), root);
        const std::uint64_t tiles = kernels::geometry(tensor.dims).tiles();
        ASSERT_EQ(parts->tree().leaf_count(), tiles);
        for (std::uint64_t first = 0; first < tiles; ++first) {
            for (const std::uint64_t count :
                 {std::uint64_t{1}, std::min<std::uint64_t>(3, tiles - first), tiles - first}) {
                Bytes expected;
                for (std::uint64_t i = first; i < first + count; ++i) {
                    const Bytes tile = kernels::tile_bytes(tensor, i);
                    expected.insert(expected.end(), tile.begin(), tile.end());
                }
                const auto read = parts->tiles(first, count);
                ASSERT_TRUE(read.has_value()) << read.error().message;
                EXPECT_EQ(*read, expected) << first << " " << count;
            }
        }
    }
    std::filesystem::path only_file() const {
        std::filesystem::path out;
        for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors")) out = entry.path();
        return out;
    }
};

TEST_F(Parts, AreThoseOfTheTensorForEveryShape) {
    const auto store = *CheckpointStore::open(directory.path);
    for (const kernels::Dims& dims :
         {kernels::Dims{}, {7}, {100}, {1, 1}, {40, 3}, {3, 70}, {64, 64}, {65, 97}, {3, 5, 33}, {0, 5}}) {
        for (const DType dtype : {DType::f32, DType::u8, DType::boolean}) {
            const kernels::Tensor tensor = random_tensor(dtype, dims);
            expect_tiles(*store, save(*store, tensor), tensor);
            ASSERT_TRUE(store->forget(1, 0).has_value());
        }
    }
}

TEST_F(Parts, AreThoseOfTheNewestVersionThatChangedThem) {
    const auto store = *CheckpointStore::open(directory.path);
    std::vector<kernels::Tensor> versions{random_tensor(DType::u8, {200, 150})};
    std::vector<Hash32> roots{save(*store, versions[0])};
    for (std::uint8_t version = 1; version <= 6; ++version) {
        kernels::Tensor next = versions.back();
        for (const std::size_t at : {std::size_t{0}, std::size_t{40} * version, next.data.size() - 1 - version})
            next.data[at] = static_cast<std::uint8_t>(10 + version);
        versions.push_back(next);
        roots.push_back(save(*store, next));
    }
    std::size_t deltas = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path / "tensors"))
        deltas += entry.path().extension() == ".delta" ? 1 : 0;
    EXPECT_EQ(deltas, 6u);
    for (std::size_t i = 0; i < roots.size(); ++i) expect_tiles(*store, roots[i], versions[i]);
}

TEST_F(Parts, OfADamagedTensorAreNotReadAndItIsRemoved) {
    const auto store = *CheckpointStore::open(directory.path);
    const Hash32 root = save(*store, random_tensor(DType::u8, {100, 100}));
    const auto before = store->parts(root);
    ASSERT_TRUE(before.has_value());
    {
        std::fstream file(only_file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(500);
        file.put(9);
    }
    const auto changed = before->tiles(0, 16);
    ASSERT_FALSE(changed.has_value()) << "what is served is what was committed";
    EXPECT_EQ(changed.error().kind, StoreFault::damaged);
    const auto again = store->parts(root);
    ASSERT_FALSE(again.has_value());
    EXPECT_EQ(again.error().kind, StoreFault::damaged);
    EXPECT_TRUE(only_file().empty()) << "a later save writes it again";
    const auto gone = before->tiles(0, 1);
    ASSERT_FALSE(gone.has_value());
    EXPECT_EQ(gone.error().kind, StoreFault::missing);
    EXPECT_EQ(store->parts(root).error().kind, StoreFault::missing);
}

}  // namespace
}  // namespace retrace::test
