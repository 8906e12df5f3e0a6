// SPDX-License-Identifier: MIT
// Checkpoints at rest under AES-256-GCM: the files reveal nothing, and no modified file is accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "node/artifacts/aes_gcm_seal.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using node::AesGcmSeal;
using solver::CheckpointStore;

Hash32 secret(std::uint8_t number) {
    Hash32 out;
    out.bytes[5] = number;
    return out;
}

solver::ReadAt reads(const Bytes& sealed) {
    return [&sealed](std::uint64_t at, std::uint64_t size) -> Result<Bytes> {
        if (at > sealed.size() || size > sealed.size() - at) return error("too short");
        return to_bytes(View(sealed).subspan(at, size));
    };
}

TEST(Seal, OpensWhatItClosedAtEveryLength) {
    const AesGcmSeal seal(secret(1));
    for (const std::size_t size : {0u, 1u, 15u, 4096u, (1u << 20) - 1, 1u << 20, (1u << 20) + 1, 3u << 20}) {
        Bytes plain(size);
        for (std::size_t i = 0; i < size; ++i) plain[i] = static_cast<std::uint8_t>(i * 7);
        const auto sealed = seal.close(plain, "a");
        ASSERT_TRUE(sealed.has_value());
        EXPECT_EQ(*seal.open(*sealed, "a"), plain) << size;
        EXPECT_FALSE(seal.open(*sealed, "b").has_value()) << "another name";
        EXPECT_FALSE(AesGcmSeal(secret(2)).open(*sealed, "a").has_value()) << "another key";
        EXPECT_NE(*seal.close(plain, "a"), *sealed) << "a nonce is used once";
        EXPECT_EQ(seal.plain_size(sealed->size()), size);
        Bytes chunks;
        for (std::uint64_t i = 0; i == 0 || i * solver::kSealChunk < size; ++i) {
            const auto chunk = seal.open_chunk(reads(*sealed), sealed->size(), i, "a");
            ASSERT_TRUE(chunk.has_value()) << size << " " << i;
            chunks.insert(chunks.end(), chunk->begin(), chunk->end());
            EXPECT_FALSE(seal.open_chunk(reads(*sealed), sealed->size(), i, "b").has_value()) << "another name";
        }
        EXPECT_EQ(chunks, plain) << size;
    }
}

TEST(Seal, AChunkOpensInItsPlaceOnly) {
    const AesGcmSeal seal(secret(1));
    const Bytes sealed = *seal.close(Bytes((2u << 20) + 100, 0x5a), "a");
    const auto opens = [&](const Bytes& file, std::uint64_t index) {
        return seal.open_chunk(reads(file), file.size(), index, "a").has_value();
    };
    const std::size_t chunk = (1u << 20) + 16, head = sealed.size() - 2 * chunk - 116;
    Bytes wrong = sealed;
    wrong[head + chunk + 5] ^= 1;
    EXPECT_TRUE(opens(wrong, 0));
    EXPECT_FALSE(opens(wrong, 1));
    EXPECT_TRUE(opens(wrong, 2));
    wrong = sealed;
    std::swap_ranges(wrong.begin() + static_cast<std::ptrdiff_t>(head),
                     wrong.begin() + static_cast<std::ptrdiff_t>(head + chunk),
                     wrong.begin() + static_cast<std::ptrdiff_t>(head + chunk));
    EXPECT_FALSE(opens(wrong, 0));
    EXPECT_FALSE(opens(wrong, 1));
    const Bytes cut(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(head + 2 * chunk));
    EXPECT_TRUE(opens(cut, 0));
    EXPECT_FALSE(opens(cut, 1)) << "it was not the last";
    EXPECT_FALSE(opens(cut, 2));
    wrong = sealed;
    wrong[0] ^= 1;
    EXPECT_FALSE(opens(wrong, 0)) << "no sealed file";
    EXPECT_FALSE(seal.plain_size(head).has_value());
    EXPECT_FALSE(seal.plain_size(head + chunk + 15).has_value());
}

TEST(Seal, RefusesWhateverWasChangedOrCut) {
    const AesGcmSeal seal(secret(1));
    const Bytes plain((2u << 20) + 100, 0x5a);
    const Bytes sealed = *seal.close(plain, "a");
    const std::size_t chunk = (1u << 20) + 16, head = sealed.size() - plain.size() - 3 * 16;
    for (const std::size_t at : {head - 1, head, head + 5, head + chunk - 1, sealed.size() - 1}) {
        Bytes wrong = sealed;
        wrong[at] ^= 1;
        EXPECT_FALSE(seal.open(wrong, "a").has_value()) << at;
    }
    for (const std::size_t length :
         {std::size_t{0}, head, head + 10, head + chunk, head + 2 * chunk, sealed.size() - 1})
        EXPECT_FALSE(seal.open(View(sealed).first(length), "a").has_value()) << length;
    const auto part = [&](std::size_t i) { return View(sealed).subspan(head + i * chunk, i < 2 ? chunk : 116); };
    Bytes swapped(sealed.begin(), sealed.begin() + static_cast<std::ptrdiff_t>(head));
    for (const std::size_t i : {1u, 0u, 2u}) swapped.insert(swapped.end(), part(i).begin(), part(i).end());
    ASSERT_EQ(swapped.size(), sealed.size());
    EXPECT_FALSE(seal.open(swapped, "a").has_value()) << "chunks in another order";
}

class SealedStore : public ::testing::Test {
protected:
    TemporaryDirectory directory;
    kernels::ThreadPool pool{1};

    kernels::State state(std::uint64_t step) {
        kernels::State state{step, {kernels::zeros(kernels::DType::u8, {100, 100})}};
        const std::string_view text = "a number that nobody else should read";
        std::copy(text.begin(), text.end(), state.tensors[0].data.begin());
        state.tensors[0].data[5'000] = static_cast<std::uint8_t>(step);
        return state;
    }
    auto open(std::uint8_t key) {
        return CheckpointStore::open(directory.path, key == 0 ? nullptr : std::make_unique<AesGcmSeal>(secret(key)));
    }
    void save(CheckpointStore& store, std::uint64_t index) {
        const kernels::State s = state(index);
        ASSERT_TRUE(store.save({1, 0, index}, kernels::commit_state({}, s, pool), s).has_value());
    }
    std::vector<std::filesystem::path> files() const {
        std::vector<std::filesystem::path> out;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path))
            if (entry.is_regular_file()) out.push_back(entry.path());
        return out;
    }
};

TEST_F(SealedStore, ShowsNothingOnDiskAndLoadsAfterARestart) {
    for (const std::uint64_t index : {0u, 1u}) save(**open(1), index);
    for (const std::uint64_t index : {0u, 1u}) EXPECT_EQ(*(*open(1))->load({1, 0, index}, pool), state(index));
    for (const std::filesystem::path& path : files()) {
        std::ifstream file(path, std::ios::binary);
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        EXPECT_TRUE(text.starts_with(solver::kSealMagic)) << path;
        EXPECT_EQ(text.find("nobody else"), std::string::npos) << path;
    }
}

TEST_F(SealedStore, AnotherKeyOrNoneIsRefusedByNameAndDestroysNothing) {
    save(**open(1), 0);
    const auto other = open(2);
    ASSERT_FALSE(other.has_value());
    EXPECT_NE(other.error().message.find("(wrong_key)"), std::string::npos) << other.error().message;
    const auto none = open(0);
    ASSERT_FALSE(none.has_value());
    EXPECT_NE(none.error().message.find("(sealed)"), std::string::npos) << none.error().message;
    EXPECT_EQ(*(*open(1))->load({1, 0, 0}, pool), state(0));
}

TEST_F(SealedStore, APlainStoreIsRefusedByNameAndStays) {
    save(**open(0), 0);
    const auto store = open(1);
    ASSERT_FALSE(store.has_value());
    EXPECT_NE(store.error().message.find("(plain)"), std::string::npos) << store.error().message;
    EXPECT_EQ(*(*open(0))->load({1, 0, 0}, pool), state(0));
}

TEST_F(SealedStore, ACheckpointThatSomebodyElseWroteIsNoCheckpoint) {
    save(**open(1), 0);
    // Forged without the key: a state that hashes to its name, and a manifest that claims it as the next checkpoint.
    TemporaryDirectory elsewhere;
    {
        const auto forger = CheckpointStore::open(elsewhere.path, nullptr);
        save(**forger, 1);
    }
    for (const char* const part : {"states", "tensors"}) {
        for (const auto& entry : std::filesystem::directory_iterator(elsewhere.path / part))
            std::filesystem::copy_file(entry.path(), directory.path / part / entry.path().filename());
    }
    const auto store = open(1);
    ASSERT_TRUE(store.has_value()) << store.error().message;
    EXPECT_EQ((*store)->newest(1, 0, 9)->index, 0u) << "a solver would go on from there and lose its stake";
    EXPECT_FALSE((*store)->load({1, 0, 1}, pool).has_value());
    EXPECT_EQ(*(*store)->load({1, 0, 0}, pool), state(0));
    std::filesystem::remove(directory.path / "key-check");
    EXPECT_FALSE(open(1).has_value()) << "nor does removing the mark of the key help";
}

TEST_F(SealedStore, AFlippedBitIsDamage) {
    save(**open(1), 0);
    for (const std::filesystem::path& path : files()) {
        if (path.extension() != ".tensor") continue;
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(200);
        const int byte = file.get();  // Sealed, so it may have any value.
        file.seekp(200);
        file.put(static_cast<char>(byte ^ 1));
    }
    const auto loaded = (*open(1))->load({1, 0, 0}, pool);
    ASSERT_FALSE(loaded.has_value());
    EXPECT_NE(loaded.error().message.find("(damaged)"), std::string::npos) << loaded.error().message;
}

}  // namespace
}  // namespace retrace::test
