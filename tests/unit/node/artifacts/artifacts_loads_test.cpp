// SPDX-License-Identifier: MIT
// Requests for some tensors of a checkpoint make those for others neither dear nor slow.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "node/artifacts/aes_gcm_seal.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/tensor_layout.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using std::chrono::milliseconds;

struct Reads {
    std::atomic<int> chunks{0};
    std::atomic<bool> held{false};  ///< While set, nothing is read but the file of `free`.
    std::string free = "none";
};

class WatchedSeal final : public solver::Seal {
public:
    explicit WatchedSeal(Reads& reads) : reads_(reads) {}
    Result<Bytes> close(View plain, std::string_view name) const override { return seal_.close(plain, name); }
    Result<Bytes> open(View sealed, std::string_view name) const override {
        reads_.chunks += static_cast<int>(sealed.size() / solver::kSealChunk + 1);
        return seal_.open(sealed, name);
    }
    std::optional<std::uint64_t> plain_size(std::uint64_t sealed) const override { return seal_.plain_size(sealed); }
    Result<Bytes> open_chunk(const solver::ReadAt& read, std::uint64_t sealed, std::uint64_t index,
                             std::string_view name) const override {
        ++reads_.chunks;
        while (reads_.held && !name.starts_with(reads_.free)) std::this_thread::sleep_for(milliseconds(5));
        return seal_.open_chunk(read, sealed, index, name);
    }

private:
    AesGcmSeal seal_{Hash32{{1}}};
    Reads& reads_;
};

struct Loads : ::testing::Test {
    test::TemporaryFolder folder;
    Reads reads;
    std::unique_ptr<solver::CheckpointStore> checkpoints =
        *solver::CheckpointStore::open(folder.path() / "checkpoints", std::make_unique<WatchedSeal>(reads));

    /// Saves a checkpoint of `count` tensors of such a shape.
    kernels::StateCommitment save(unsigned count, const kernels::Dims& dims) {
        kernels::ThreadPool pool(1);
        kernels::State state;
        for (unsigned i = 0; i < count; ++i)
            state.tensors.push_back(test::random_tensor(kernels::DType::f32, dims, i + 1));
        auto commitment = kernels::commit_state({}, state, pool);
        EXPECT_TRUE(checkpoints->save({1, 0, 1}, commitment, state).has_value());
        return commitment;
    }
};

/// Two auditors, or an auditor and an attacker, fetch two tensors that memory does not hold.
TEST_F(Loads, ARangeReadsWhatItHoldsWhateverElseIsRequested) {
    const auto roots = save(2, {1024, 1024}).tensor_roots;  // 4 MiB each.
    CheckpointProvider provider(*checkpoints, 200'000);
    for (const Hash32& root : roots) ASSERT_TRUE(provider.tiles(root, 0, 1).has_value());
    const int opened = reads.chunks;
    EXPECT_LE(opened, 2 * 6 + 2) << "each was read once";
    for (std::uint64_t row = 0; row < 32; ++row) {
        for (const Hash32& root : roots) {
            const auto range = provider.tiles(root, 32 * row, 32);
            ASSERT_TRUE(range.has_value()) << range.error().message;
            EXPECT_TRUE(check_range(*range).has_value());
        }
    }
    EXPECT_LE(reads.chunks - opened, 2 * 32 * 2) << "a row of tiles is 128 KiB, which two chunks hold";
}

TEST_F(Loads, AClientThatOpensManyTensorsEvictsItsOwn) {
    const auto roots = save(12, {128, 128}).tensor_roots;
    CheckpointProvider provider(*checkpoints, 10'000);
    ASSERT_TRUE(provider.tiles(roots[0], 0, 1, "auditor").has_value());
    for (std::size_t i = 1; i < roots.size(); ++i) ASSERT_TRUE(provider.tiles(roots[i], 0, 1, "other").has_value());
    EXPECT_LT(provider.kept(), roots.size());
    EXPECT_TRUE(provider.is_open(roots[0]));
    EXPECT_FALSE(provider.is_open(roots[1]));
    EXPECT_TRUE(provider.is_open(roots.back()));
}

TEST_F(Loads, ATensorThatIsGoneIsForgotten) {
    const Hash32 root = save(1, {64, 64}).tensor_roots[0];
    CheckpointProvider provider(*checkpoints);
    ASSERT_TRUE(provider.tiles(root, 0, 4).has_value());
    ASSERT_TRUE(checkpoints->forget(1, 0).has_value());
    for (int i = 0; i < 2; ++i) {
        const auto range = provider.tiles(root, 0, 4);
        ASSERT_FALSE(range.has_value());
        EXPECT_EQ(range.error().fault, Fault::not_found);
        EXPECT_EQ(range.error().message.find(folder.path().string()), std::string::npos) << "no business of a peer";
        EXPECT_FALSE(provider.is_open(root));
    }
}

struct LoadsOverHttp : Loads {
    std::unique_ptr<Store> store = test::open_store(folder.path() / "store");
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    CheckpointProvider provider{*checkpoints};
    std::unique_ptr<ArtifactHttpServer> http;
    std::vector<int> sockets;

    ~LoadsOverHttp() override {
        reads.held = false;
        for (const int one : sockets) ::close(one);
    }
    int request(int client, const Hash32& root, const std::string& what) {
        const int one = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(client));
        EXPECT_EQ(::bind(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(http->port());
        EXPECT_EQ(::connect(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const timeval timeout{5, 0};
        ::setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        const std::string text = "GET /artifact/" + to_hex(view(root)) + "/" + what + " HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(::send(one, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        sockets.push_back(one);
        return one;
    }
    static std::string status(int one) {
        char reply[12] = {};
        return {reply, static_cast<std::size_t>(std::max<ssize_t>(::recv(one, reply, sizeof reply, MSG_WAITALL), 0))};
    }
};

/// Eight addresses would occupy all of the server's threads twice.
TEST_F(LoadsOverHttp, WhatIsOpenWaitsForNoTensorThatIsRead) {
    constexpr int kClients = 8;
    const auto commitment = save(kClients + 1, {64, 64});
    const Hash32 open = commitment.tensor_roots.back();
    reads.free = to_hex(view(open));
    server.add_provider(provider);
    http = *ArtifactHttpServer::start(server, {});
    ASSERT_TRUE(provider.tiles(open, 0, 1).has_value());
    reads.held = true;
    std::vector<int> waiting;
    for (int i = 0; i < kClients; ++i)
        waiting.push_back(
            request(1 + i, commitment.tensor_roots[static_cast<std::size_t>(i)], "tiles?first=0&count=4"));
    std::this_thread::sleep_for(milliseconds(300));
    EXPECT_EQ(status(request(20, open, "tiles?first=0&count=4")), "HTTP/1.1 200");
    EXPECT_EQ(status(request(21, open, "info")), "HTTP/1.1 200");
    EXPECT_EQ(status(request(22, open, "leaves?first=0&count=4")), "HTTP/1.1 200");
    EXPECT_EQ(status(request(23, commitment.root, "state")), "HTTP/1.1 200") << "nor does the store of checkpoints";
    reads.held = false;
    for (const int one : waiting) EXPECT_EQ(status(one), "HTTP/1.1 200") << "each gets its turn";
}

TEST_F(LoadsOverHttp, AServerThatEndsWaitsForOneTensorOnly) {
    const auto commitment = save(6, {64, 64});
    server.add_provider(provider);
    http = *ArtifactHttpServer::start(server, {});
    reads.held = true;
    for (int i = 0; i < 6; ++i)
        request(1 + i, commitment.tensor_roots[static_cast<std::size_t>(i)], "tiles?first=0&count=4");
    std::this_thread::sleep_for(milliseconds(300));
    std::thread later([&] {
        std::this_thread::sleep_for(milliseconds(100));
        reads.held = false;
    });
    http.reset();
    later.join();
    EXPECT_LE(provider.kept(), 1u);
}

}  // namespace
}  // namespace retrace::node
