// SPDX-License-Identifier: MIT
// Artifacts that are no longer named by any task, and programs that arrive in parts.
#include <gtest/gtest.h>

#include "kernels/program/codec.hpp"
#include "node/artifacts/garbage_collector.hpp"
#include "node/artifacts/server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using kernels::DType;

TEST(GarbageCollector, DeletesOnlyArtifactsThatNobodyNamedForTheRetentionPeriod) {
    test::TemporaryFolder folder;
    const auto store = test::open_store(folder.path());
    const auto program = store->put_program(kernels::encode(test::doubling_program()));
    const auto data = store->put_tensor(test::random_tensor(DType::u8, {64, 64}, 3));
    const kernels::State state{0, {test::random_tensor(DType::f32, {4, 3}, 1)}};
    const auto root = store->put_state(*program, state);
    ASSERT_TRUE(program && data && root);
    EXPECT_EQ(store->roots().size(), 3u) << "a tensor of a state does not stand for itself";
    GarbageCollector garbage_collector(*store, 10);
    EXPECT_EQ(garbage_collector.collect(100, {*program, *data, *root}), 0u);
    EXPECT_EQ(garbage_collector.collect(105, {*program, *data}), 0u);
    EXPECT_EQ(garbage_collector.collect(110, {*program, *data}), 0u);
    EXPECT_EQ(garbage_collector.collect(111, {*program, *data}), 1u) << "the state was named last at 100";
    EXPECT_FALSE(store->state(*root));
    EXPECT_TRUE(store->program(*program));
    EXPECT_EQ(garbage_collector.collect(200, {}), 2u);
    EXPECT_TRUE(store->roots().empty());
}

TEST(GarbageCollector, AfterARestartNothingGoesEarly) {
    test::TemporaryFolder folder;
    const auto store = test::open_store(folder.path());
    ASSERT_TRUE(store->put_tensor(test::random_tensor(DType::u8, {8, 8}, 3)));
    EXPECT_EQ(GarbageCollector(*store, 10).collect(1'000, {}), 0u);
}

TEST(GarbageCollector, DataThatAStateSharesStayWhileTheyAreNamed) {
    test::TemporaryFolder folder;
    const auto store = test::open_store(folder.path());
    const auto program = store->put_program(kernels::encode(test::doubling_program()));
    const kernels::Tensor shared = test::random_tensor(DType::f32, {4, 3}, 1);
    const auto tensor = store->put_tensor(shared);
    const auto root = store->put_state(*program, {0, {shared}});
    GarbageCollector garbage_collector(*store, 1);
    EXPECT_EQ(garbage_collector.collect(1, {*program, *tensor}), 0u);
    EXPECT_EQ(garbage_collector.collect(5, {*program, *tensor}), 1u);
    EXPECT_FALSE(store->state(*root));
    EXPECT_TRUE(store->tensor(*tensor));
}

class Pieces : public ::testing::Test {
protected:
    unsigned put(std::size_t at, std::size_t of, View piece, char sender = 'a') {
        const std::string target = "/artifact/" + to_hex(view(root_)) + "/program?at=" + std::to_string(at) +
                                   "&of=" + std::to_string(of) + "&upload=" + std::string(32, sender);
        return server_.handle({"PUT", target, to_bytes(piece)}).status;
    }

    static Store::Options small_pieces() {
        Store::Options options;
        options.piece_bytes = 16;
        return options;
    }

    test::TemporaryFolder folder_;
    std::unique_ptr<Store> store_ = test::open_store(folder_.path(), small_pieces());
    Bytes file_ = kernels::encode(test::doubling_program());
    Hash32 root_ = kernels::CommittedProgram(test::doubling_program()).root();
    ArtifactServer server_{*store_, [](const Hash32&) { return true; }};
};

TEST_F(Pieces, AProgramArrivesPieceByPiece) {
    const std::size_t half = file_.size() / 2;
    EXPECT_EQ(put(0, file_.size(), View(file_).first(half)), 204u);
    EXPECT_FALSE(store_->program(root_)) << "not there before the last piece";
    EXPECT_EQ(put(half, file_.size(), View(file_).subspan(half)), 204u);
    EXPECT_TRUE(store_->program(root_));
}

TEST_F(Pieces, PiecesOutOfOrderOrOfAnotherProgramAreRefused) {
    const std::size_t half = file_.size() / 2;
    EXPECT_EQ(put(half, file_.size(), View(file_).subspan(half)), 409u) << "the first piece is missing";
    EXPECT_EQ(put(0, file_.size(), {}), 400u);
    EXPECT_EQ(put(file_.size(), file_.size(), View(file_).first(1)), 400u);
    EXPECT_EQ(put(0, std::size_t{1} << 40, View(file_).first(1)), 413u);
    EXPECT_EQ(put(0, file_.size(), View(file_).first(half)), 204u);
    EXPECT_EQ(put(0, file_.size(), View(file_).first(half)), 204u) << "begins anew";
    Bytes other(View(file_).subspan(half).begin(), View(file_).subspan(half).end());
    other.back() ^= 1;
    EXPECT_GE(put(half, file_.size(), other), 400u);
    EXPECT_FALSE(store_->program(root_));
    EXPECT_EQ(put(half, file_.size(), View(file_).subspan(half)), 409u) << "it begins anew";
}

TEST_F(Pieces, NobodySpoilsTheUploadOfAnother) {
    const std::size_t half = file_.size() / 2;
    EXPECT_EQ(put(0, file_.size(), View(file_).first(half)), 204u);
    EXPECT_EQ(put(0, file_.size(), Bytes(half), 'b'), 204u) << "a stranger begins anew, for itself";
    EXPECT_EQ(put(half, file_.size(), Bytes(file_.size() - half), 'b'), 400u);
    EXPECT_EQ(put(half, file_.size(), View(file_).subspan(half)), 204u);
    EXPECT_TRUE(store_->program(root_));
}

TEST_F(Pieces, UploadsAreBoundedInNumberAndNamed) {
    EXPECT_EQ(put(0, file_.size(), View(file_).first(16), '/'), 400u);
    EXPECT_EQ(put(0, file_.size(), View(file_).first(15)), 400u) << "too short a piece";
    PartialProgramUploads uploads(folder_.path() / "programs", {.file_bytes = 1000, .piece_bytes = 1, .uploads = 3});
    const auto add = [&](std::uint64_t first, char name) {
        const std::string upload(32, name);
        return uploads.add(root_, {first, 3, upload}, Bytes(1)).has_value();
    };
    for (const char name : {'a', 'b', 'c'}) EXPECT_TRUE(add(0, name));
    EXPECT_TRUE(add(1, 'a')) << "written to last";
    EXPECT_TRUE(add(0, 'd')) << "pushes the oldest out, which is b";
    EXPECT_FALSE(add(1, 'b'));
    EXPECT_TRUE(add(2, 'a'));
    EXPECT_FALSE(add(2, 'a')) << "it is whole and gone";
    uploads.remove(root_);
    EXPECT_FALSE(add(1, 'c'));
}

}  // namespace
}  // namespace retrace::node
