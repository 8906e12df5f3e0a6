// SPDX-License-Identifier: MIT
#include "solver/rounds/message_store.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>

#include "kernels/commit/commitment.hpp"
#include "tests/unit/solver/tiny_task.hpp"

namespace retrace::test {
namespace {

using kernels::DType;
using kernels::Tensor;
using solver::MessageKey;
using solver::MessageStore;

struct MessageStoreTest : ::testing::Test {
    TemporaryDirectory folder;
    kernels::ThreadPool pool{1};
    std::unique_ptr<MessageStore> store = open();

    std::unique_ptr<MessageStore> open() { return std::move(MessageStore::open(folder.path)).value(); }
    static Tensor numbered(std::uint32_t number) {
        Tensor out = kernels::zeros(DType::i32, {8, 32});
        for (std::uint64_t i = 0; i < out.elements(); ++i)
            store_u32(out.data.data() + 4 * i, static_cast<std::uint32_t>(i * number) & 511);
        return out;
    }
    Hash32 root(const Tensor& tensor) { return kernels::tensor_root(tensor, pool); }
    static kernels::TensorRecord record(const Tensor& tensor) {
        return {kernels::TensorKind::state, tensor.dtype, tensor.dims, kernels::kNoWriter, ""};
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.path), {}));
    }
};

TEST_F(MessageStoreTest, KeepsMessagesAcrossARestart) {
    const Tensor a = numbered(1), b = numbered(2);
    const std::vector<Hash32> roots{root(a), root(b)};
    const MessageKey key{7, 3, 1};
    EXPECT_FALSE(store->has(key, roots));
    ASSERT_TRUE(store->save(key, roots, {a, b}).has_value());
    ASSERT_TRUE(store->save_holdings({7, 3, 0}, {true, {5, 1}}).has_value());
    for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(store->has(key, roots));
        EXPECT_FALSE(store->has(key, {roots[1], roots[0]}));
        EXPECT_FALSE(store->has({7, 3, 2}, roots));
        EXPECT_EQ(*store->tensor(roots[1], record(b), pool), b);
        EXPECT_EQ(store->holdings({7, 3, 0})->bitmap, (Bytes{5, 1}));
        EXPECT_TRUE(store->holdings({7, 3, 0})->extended);
        EXPECT_FALSE(store->holdings({7, 4, 0}).has_value());
        EXPECT_EQ(store->of_round(7, 3), std::vector<std::vector<Hash32>>(1, roots));
        store = open();
    }
}

TEST_F(MessageStoreTest, ServesPiecesOfTheTransportForm) {
    const Tensor a = numbered(1);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    const Bytes whole = *store->piece({root(a)}, 0, 1 << 20);
    EXPECT_LT(whole.size(), a.data.size() / 3) << "nine bits instead of 32";
    Bytes joined;
    for (std::uint64_t at = 0; at < whole.size(); at += 100) {
        const auto piece = store->piece({root(a)}, at, 100);
        joined.insert(joined.end(), piece->begin(), piece->end());
    }
    EXPECT_EQ(joined, whole);
    EXPECT_TRUE(store->piece({root(a)}, 1 << 20, 100)->empty());
    EXPECT_FALSE(store->piece({Hash32{{1}}}, 0, 100).has_value());
    EXPECT_FALSE(store->piece({root(a), Hash32{{1}}}, 0, 1).has_value()) << "not in part";
}

TEST_F(MessageStoreTest, ServesPiecesOfTensorsOneAfterAnother) {
    const Tensor a = numbered(1), b = numbered(2);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a), root(b)}, {a, b}).has_value());
    const std::vector<Hash32> roots{root(b), root(a), root(b)};
    Bytes whole, joined;
    for (const Hash32& one : roots) {
        const Bytes form = *store->piece({one}, 0, 1 << 20);
        whole.insert(whole.end(), form.begin(), form.end());
    }
    for (std::uint64_t at = 0; at < whole.size(); at += 301) {
        const auto piece = store->piece(roots, at, 301);
        joined.insert(joined.end(), piece->begin(), piece->end());
    }
    EXPECT_EQ(joined, whole);
    EXPECT_EQ(*store->piece(roots, 0, 1 << 20), whole);
    EXPECT_TRUE(store->piece(roots, whole.size(), 100)->empty());
}

TEST_F(MessageStoreTest, RemovesADamagedMessage) {
    const Tensor a = numbered(1);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    {
        std::fstream file(std::filesystem::directory_iterator(folder.path)->path(),
                          std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(20);
        file.put('x');
    }
    EXPECT_FALSE(store->tensor(root(a), record(a), pool).has_value());
    EXPECT_TRUE(store->has({7, 0, 0}, {root(a)})) << "a root alone removes nothing";
    EXPECT_FALSE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
    EXPECT_FALSE(store->has({7, 0, 0}, {root(a)}));
    EXPECT_EQ(files(), 0u);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    EXPECT_TRUE(store->tensor(root(a), record(a), pool).has_value());
}

TEST_F(MessageStoreTest, KeepsAMessageThatCannotBeReadNow) {
    const Tensor a = numbered(1);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    struct rlimit before {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit none { 0, before.rlim_max };
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto refused = store->tensor_of({7, 0, 0}, 0, record(a), pool);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(refused.has_value());
    EXPECT_TRUE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
    std::filesystem::remove(std::filesystem::directory_iterator(folder.path)->path());
    EXPECT_FALSE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
    EXPECT_FALSE(store->has({7, 0, 0}, {root(a)})) << "a file that is gone is fetched again";
}

TEST_F(MessageStoreTest, RemovesAMessageThatTheDiskCannotRead) {
    const Tensor a = numbered(1);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    const std::filesystem::path path = std::filesystem::directory_iterator(folder.path)->path();
    std::filesystem::remove(path);
    std::filesystem::create_symlink(path, path);  // Whoever opens it follows it without end (ELOOP).
    EXPECT_FALSE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
    EXPECT_FALSE(store->has({7, 0, 0}, {root(a)})) << "it is fetched again";
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    EXPECT_TRUE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
}

TEST_F(MessageStoreTest, ARootThatAStrangerNamesWithAnotherShapeRemovesNothing) {
    const Tensor a = numbered(1);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    auto other = record(a);
    other.dims.push_back(2);
    EXPECT_FALSE(store->tensor(root(a), other, pool).has_value());
    EXPECT_FALSE(store->tensor_of({8, 0, 0}, 0, record(a), pool).has_value()) << "no message of this task";
    EXPECT_FALSE(store->tensor_of({7, 0, 0}, 1, record(a), pool).has_value()) << "no such place";
    EXPECT_TRUE(store->tensor_of({7, 0, 0}, 0, record(a), pool).has_value());
}

TEST_F(MessageStoreTest, ForgetsOldRoundsOfOneTask) {
    const Tensor a = numbered(1);
    for (std::uint32_t round = 0; round < 4; ++round) {
        ASSERT_TRUE(store->save({7, round, 0}, {root(a)}, {a}).has_value());
        ASSERT_TRUE(store->save({8, round, 0}, {root(a)}, {a}).has_value());
        ASSERT_TRUE(store->save_holdings({7, round, 5}, {false, {1}}).has_value());
    }
    store->keep_from(7, 3);
    EXPECT_FALSE(store->has({7, 2, 0}, {root(a)}));
    EXPECT_TRUE(store->has({7, 3, 0}, {root(a)}));
    EXPECT_TRUE(store->has({8, 0, 0}, {root(a)}));
    EXPECT_FALSE(store->holdings({7, 2, 5}).has_value());
    EXPECT_EQ(files(), 6u);
    store->keep_from(8, UINT32_MAX);
    EXPECT_EQ(store->tasks(), std::vector<std::uint64_t>{7});
    EXPECT_TRUE(store->tensor(root(a), record(a), pool).has_value()) << "the other task's file stays";
    store->remove({7, 3, 0});
    EXPECT_FALSE(store->tensor(root(a), record(a), pool).has_value());
}

TEST_F(MessageStoreTest, AMessageOfTheSameRoundReplacesAnother) {
    const Tensor a = numbered(1), b = numbered(2);
    ASSERT_TRUE(store->save({7, 0, 0}, {root(a)}, {a}).has_value());
    ASSERT_TRUE(store->save({7, 0, 0}, {root(b)}, {b}).has_value());
    EXPECT_FALSE(store->has({7, 0, 0}, {root(a)}));
    EXPECT_TRUE(store->has({7, 0, 0}, {root(b)}));
    EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace retrace::test
