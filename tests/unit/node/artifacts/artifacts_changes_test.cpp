// SPDX-License-Identifier: MIT
// If an earlier version of a tensor is available, only the changed tiles are transferred.
#include <chrono>

#include "node/artifacts/client.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using kernels::DType;
using std::chrono::milliseconds;
using test::random_tensor;

struct Changes : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> there = test::open_store(folder.path() / "there");
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    ArtifactServer server{*there, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http = *ArtifactHttpServer::start(server, {});
    ArtifactClient client{*here, {milliseconds(1500), 1, milliseconds(1)}};
    kernels::ThreadPool pool{1};

    std::vector<std::string> peers() const { return {http->url()}; }
    /// Returns `tensor` with some of its elements changed.
    static kernels::Tensor changed(kernels::Tensor tensor, std::initializer_list<std::size_t> bytes) {
        for (const std::size_t at : bytes) tensor.data[at] ^= 0x40;
        return tensor;
    }
};

TEST_F(Changes, OnlyTheirTilesTravel) {
    const auto before = random_tensor(DType::f32, {1000, 500}, 1);  // 512 tiles
    const auto after = changed(before, {0, 700'000, 1'999'999});
    const auto root = *there->put_tensor(after);
    ASSERT_TRUE(client.fetch_tensor(peers(), root, &before));
    EXPECT_EQ(client.tiles_fetched(), 3u);
    EXPECT_EQ(*here->tensor(root), after);
}

TEST_F(Changes, AnEarlierVersionOfAnotherShapeIsOfNoUse) {
    const auto after = random_tensor(DType::f32, {100, 64}, 1);
    const auto before = random_tensor(DType::f32, {64, 100}, 1);
    const auto root = *there->put_tensor(after);
    ASSERT_TRUE(client.fetch_tensor(peers(), root, &before));
    EXPECT_EQ(client.tiles_fetched(), 8u);
    EXPECT_EQ(*here->tensor(root), after);
}

TEST_F(Changes, ASourceUsesThePartysOwnCheckpoints) {
    const kernels::State old{3, {random_tensor(DType::f32, {256, 128}, 1), random_tensor(DType::u8, {500}, 2)}};
    kernels::State now = old;
    now.step = 4;
    now.tensors[0] = changed(old.tensors[0], {5'000});
    const Hash32 program = *there->put_program(kernels::encode(test::doubling_program()));
    const auto root = there->put_state(program, now);
    ASSERT_TRUE(root);
    const auto own = *solver::CheckpointStore::open(folder.path() / "checkpoints");
    ASSERT_TRUE(own->save({1, 0, 1}, kernels::commit_state(program, old, pool), old));
    PeerSource source(*here, client, [this] { return peers(); });
    source.add_own(*own);
    const auto roots = source.state(*root);
    ASSERT_TRUE(roots) << roots.error().message;
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(*source.tensor(roots->tensor_roots[i], test::record_of(now.tensors[i])), now.tensors[i]);
    EXPECT_EQ(client.tiles_fetched(), 1u) << "one of 32, and nothing of the tensor that did not change";
}

TEST_F(Changes, HashesAreBoundedAndInRange) {
    const auto root = *there->put_tensor(random_tensor(DType::f32, {100, 64}, 1));
    EXPECT_EQ(there->leaves(root, 0, 8)->size(), 8u * 32);
    for (const auto& [first, count] : {std::pair{0u, 0u}, {0u, 9u}, {8u, 1u}, {7u, 2u}, {0u, 70'000u}})
        EXPECT_EQ(there->leaves(root, first, count).error().fault, Fault::out_of_range) << first << " " << count;
    for (const char* target : {"leaves", "leaves?first=0", "leaves?first=0&count=x", "leaves?first=0&count=9"}) {
        const HttpReply reply = server.handle({"GET", "/artifact/" + to_hex(view(root)) + "/" + target, {}});
        EXPECT_GE(reply.status, 400u) << target;
    }
}

}  // namespace
}  // namespace retrace::node
