// SPDX-License-Identifier: MIT
// Over real sockets: a store behind the small HTTP server, a client with its own store, and peers that lie.
#include <gmock/gmock.h>

#include <chrono>

#include "node/artifacts/client.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/peer_source.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/artifacts_hostile_peer.hpp"

namespace retrace::node {
namespace {

using kernels::DType;
using test::HostilePeer;
using test::open_store;
using test::random_tensor;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct TransferTest : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> there = open_store(folder.path() / "there"), here = open_store(folder.path() / "here");
    std::set<Hash32> wanted;
    ArtifactServer server{*there, [this](const Hash32& root) { return wanted.contains(root); }};
    std::unique_ptr<ArtifactHttpServer> http = *ArtifactHttpServer::start(server, {});
    ArtifactClient client{*here, {milliseconds(1500), 1, milliseconds(1)}};

    std::vector<std::string> peers() const { return {http->url()}; }
};

Fault fault_of(const Status<Failure>& status) { return status ? Fault{} : status.error().fault; }

TEST_F(TransferTest, TensorsAreFetched) {
    for (const kernels::Dims& dims : {kernels::Dims{}, {0, 3}, {33, 65}, {2000, 800}}) {
        const auto tensor = random_tensor(DType::f32, dims, 1);
        const auto root = there->put_tensor(tensor);
        ASSERT_TRUE(root);
        const auto fetched = client.fetch_tensor(peers(), *root);
        ASSERT_TRUE(fetched) << fetched.error().message;
        EXPECT_EQ(*here->tensor(*root), tensor);
    }
}

TEST_F(TransferTest, ProgramsAndStatesAreFetched) {
    const auto program = there->put_program(kernels::encode(test::doubling_program()));
    const kernels::State state{5, {random_tensor(DType::f32, {4, 3}, 1), random_tensor(DType::f32, {90, 3}, 2)}};
    const auto root = there->put_state(*program, state);
    ASSERT_TRUE(client.fetch_program(peers(), *program));
    ASSERT_TRUE(client.fetch_state(peers(), *root));
    EXPECT_EQ(*here->program(*program), test::doubling_program());
    EXPECT_EQ(*here->state(*root), state);
}

TEST_F(TransferTest, AProgramThatWasDamagedHereIsFetchedAgain) {
    const Hash32 root = *there->put_program(kernels::encode(test::doubling_program()));
    ASSERT_TRUE(client.fetch_program({http->url()}, root));
    const auto file = folder.path() / "here" / "programs" / (to_hex(view(root)) + ".rtp");
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    ASSERT_FALSE(here->program(root));
    const auto again = client.fetch_program({http->url()}, root);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(here->program(root));
}

TEST_F(TransferTest, ASourceFetchesForSolversAndVerifiers) {
    const auto program = there->put_program(kernels::encode(test::doubling_program()));
    const kernels::State state{5, {random_tensor(DType::f32, {4, 3}, 1)}};
    const auto root = there->put_state(*program, state);
    PeerSource source(*here, client, [this] { return peers(); });
    kernels::ThreadPool pool(1);
    const auto committed = solver::fetch_program(source, *program, 1 << 20);
    ASSERT_TRUE(committed) << committed.error().message;
    const auto back = solver::fetch_state(source, **committed, *root, 5, pool);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(*back, state);
    const auto unknown = source.tensor(Hash32{{1}}, test::record_of(state.tensors[0]));
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, ::testing::StartsWith("not_found: "));
}

TEST_F(TransferTest, WantedArtifactsAreUploaded) {
    const auto program = here->put_program(kernels::encode(test::doubling_program()));
    const auto tensor = here->put_tensor(random_tensor(DType::u8, {3000, 784}, 3));
    const kernels::State state{0, {random_tensor(DType::f32, {4, 3}, 1), kernels::zeros(DType::f32, {0})}};
    const auto root = here->put_state(*program, state);
    wanted = {*program, *tensor, *root};
    ASSERT_TRUE(client.upload_program(http->url(), *program));
    const auto sent = client.upload_tensor(http->url(), *tensor);
    ASSERT_TRUE(sent) << sent.error().message;
    const auto state_sent = client.upload_state(http->url(), *root);
    ASSERT_TRUE(state_sent) << state_sent.error().message;
    EXPECT_EQ(*there->state(*root), state);
    EXPECT_EQ(*there->tensor(*tensor), *here->tensor(*tensor));
    EXPECT_TRUE(there->program(*program));
    EXPECT_TRUE(client.upload_tensor(http->url(), *tensor)) << "a second time there is nothing to do";
}

TEST_F(TransferTest, UnwantedUploadsAreRefused) {
    const auto program = here->put_program(kernels::encode(test::doubling_program()));
    const auto tensor = here->put_tensor(random_tensor(DType::u8, {64, 64}, 3));
    const auto state = here->put_state(*program, {0, {random_tensor(DType::f32, {4, 3}, 1)}});
    EXPECT_EQ(fault_of(client.upload_program(http->url(), *program)), Fault::not_found);
    EXPECT_EQ(fault_of(client.upload_tensor(http->url(), *tensor)), Fault::not_found);
    EXPECT_EQ(fault_of(client.upload_state(http->url(), *state)), Fault::not_found);
    // A client that does not ask first gets the answer while it is still sending.
    HttpConnection rude(*parse_url(http->url()));
    const HttpRequest request{"PUT", "/artifact/" + to_hex(view(*tensor)) + "/tiles", Bytes(3 << 20)};
    const auto reply = rude.exchange(request, 1000, kernels::StopToken::after(milliseconds(1500)));
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->status, 403u);
    EXPECT_FALSE(there->info(*tensor));
}

TEST_F(TransferTest, AnUploadGoesOnWhereItStopped) {
    const auto tensor = here->put_tensor(random_tensor(DType::u8, {5000, 300}, 3));  // 157 × 10 tiles.
    wanted = {*tensor};
    ASSERT_TRUE(there->add_tiles(*tensor, *here->tiles(*tensor, 0, 900)));
    std::vector<std::uint64_t> seen;
    client.set_progress([&](const ArtifactClient::Progress& progress) { seen.push_back(progress.tiles); });
    ASSERT_TRUE(client.upload_tensor(http->url(), *tensor));
    EXPECT_EQ(seen, std::vector<std::uint64_t>{1570});
    EXPECT_EQ(*there->tensor(*tensor), *here->tensor(*tensor));
}

TEST_F(TransferTest, AFetchGoesOnWithAnotherPeer) {
    const auto tensor = random_tensor(DType::u8, {5000, 300}, 3);
    const auto root = there->put_tensor(tensor);
    ASSERT_TRUE(here->add_tiles(*root, *there->tiles(*root, 100, 1000)));
    HostilePeer liar([](const std::string&, const auto& send) { send(HostilePeer::ok("nonsense")); });
    ASSERT_TRUE(client.fetch_tensor({"http://127.0.0.1:1", "nonsense", liar.url(), http->url()}, *root));
    EXPECT_EQ(*here->tensor(*root), tensor);
    EXPECT_EQ(liar.requests(), 1);
}

TEST_F(TransferTest, PeersThatLieAreFoundOut) {
    const auto root = there->put_tensor(random_tensor(DType::u8, {320, 32}, 3));
    const auto other = there->put_tensor(random_tensor(DType::u8, {320, 32}, 4));
    const auto text = [](const Bytes& bytes) { return std::string(bytes.begin(), bytes.end()); };
    const auto serve = [&](wire::TileRange range) {
        const auto info = *there->info(*root);
        return [=](const std::string& line, const HostilePeer::Send& send) {
            const bool asks_info = line.find("/info") != std::string::npos;
            send(HostilePeer::ok(text(asks_info ? wire::encode(info) : wire::encode(range))));
        };
    };
    wire::TileRange tampered = *there->tiles(*root, 0, 10);
    tampered.tiles[77] ^= 1;
    {
        HostilePeer peer(serve(tampered));
        EXPECT_EQ(fault_of(client.fetch_tensor({peer.url()}, *root)), Fault::wrong_proof);
    }
    {
        HostilePeer peer(serve(*there->tiles(*other, 0, 10)));
        EXPECT_EQ(fault_of(client.fetch_tensor({peer.url()}, *root)), Fault::wrong_root);
    }
    {  // Valid tiles, but not the requested ones: repeated, they would make no progress.
        HostilePeer peer(serve(*there->tiles(*root, 3, 2)));
        EXPECT_EQ(fault_of(client.fetch_tensor({peer.url()}, *root)), Fault::malformed);
    }
    {
        HostilePeer peer(serve({(*there->tiles(*root, 0, 1)).header, 0, {}, {}}));
        EXPECT_EQ(fault_of(client.fetch_tensor({peer.url()}, *root)), Fault::malformed);
    }
    EXPECT_EQ(here->info(*root)->missing, (std::vector<wire::Range>{{0, 10}}));
}

TEST_F(TransferTest, ForeignProgramsAndManifestsAreWrongRoots) {
    const auto program = there->put_program(kernels::encode(test::doubling_program()));
    const auto state = there->put_state(*program, {0, {random_tensor(DType::f32, {4, 3}, 1)}});
    const Bytes file = *there->program_file(*program), manifest = wire::encode(*there->manifest(*state));
    const auto serve = [&](const std::string& line, const HostilePeer::Send& send) {
        const Bytes& body = line.find("/state") != std::string::npos ? manifest : file;
        send(HostilePeer::ok({body.begin(), body.end()}));
    };
    HostilePeer one(serve), other(serve);
    EXPECT_EQ(fault_of(client.fetch_program({one.url()}, Hash32{{1}})), Fault::wrong_root);
    EXPECT_EQ(fault_of(client.fetch_state({other.url()}, Hash32{{1}})), Fault::wrong_root);
    EXPECT_EQ(fault_of(client.fetch_state({one.url()}, Hash32{{1}})), Fault::timeout) << "it is skipped now";
}

TEST_F(TransferTest, ATensorOfAnotherShapeIsRefusedBeforeItTravels) {
    const auto root = there->put_tensor(random_tensor(DType::f32, {400, 300}, 1));
    ASSERT_TRUE(root);
    kernels::TensorRecord record;
    record.dtype = DType::f32;
    for (const kernels::Dims& dims : {kernels::Dims{40, 3}, kernels::Dims{300, 400}}) {
        record.dims = dims;
        EXPECT_EQ(fault_of(client.fetch_tensor({http->url()}, *root, nullptr, &record)), Fault::wrong_shape);
    }
    EXPECT_EQ(client.tiles_fetched(), 0u);
    const auto begun = here->info(*root);
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().fault, Fault::not_found) << "no room was taken for it";
    record.dims = {400, 300};
    EXPECT_TRUE(client.fetch_tensor({http->url()}, *root, nullptr, &record));
    record.dims = {40, 3};
    EXPECT_EQ(fault_of(client.fetch_tensor({http->url()}, *root, nullptr, &record)), Fault::wrong_shape)
        << "nor is it read when it is here";
}

TEST_F(TransferTest, EndlessBodiesEndAtTheLimit) {
    const Hash32 root{{1}};
    const std::string megabyte(1 << 20, 'x');
    for (const std::string& head :
         {std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), std::string("HTTP/1.1 200 OK\r\n\r\n"),
          std::string("HTTP/1.1 200 OK\r\nX: ") + std::string(1 << 16, 'y')}) {
        HostilePeer peer([&](const std::string&, const HostilePeer::Send& send) {
            if (!send(head)) return;
            for (int i = 0; i < 100 && send(megabyte); ++i) {
            }
        });
        EXPECT_EQ(fault_of(client.fetch_tensor({peer.url()}, root)), Fault::too_large);
    }
}

TEST_F(TransferTest, EndlessHeadsOfChunksEndToo) {
    std::atomic<std::uint64_t> sent{0};
    for (const std::string& begin : {std::string("5;"), std::string("0\r\nx: ")}) {
        sent = 0;
        HostilePeer peer([&](const std::string&, const HostilePeer::Send& send) {
            send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + begin);
            const std::string piece(4000, 'a');
            while (sent < (64u << 20) && send(piece)) sent += piece.size();
        });
        EXPECT_FALSE(client.fetch_manifest({peer.url()}, Hash32{{1}}));
        EXPECT_LT(sent, 32u << 20) << begin;
    }
}

TEST_F(TransferTest, ASlowDripRunsIntoTheDeadline) {
    std::atomic<bool> stop{false};
    HostilePeer peer([&](const std::string&, const HostilePeer::Send& send) {
        if (!send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")) return;
        while (!stop && send("x")) std::this_thread::sleep_for(milliseconds(20));
    });
    ArtifactClient hasty(*here, {milliseconds(300), 1, milliseconds(1)});
    const auto begin = Clock::now();
    EXPECT_EQ(fault_of(hasty.fetch_tensor({peer.url()}, Hash32{{1}})), Fault::timeout);
    EXPECT_LT(Clock::now() - begin, milliseconds(1200));
    stop = true;
}

TEST_F(TransferTest, PeersThatHangUpOrBabbleAreNamed) {
    HostilePeer mute([](const std::string&, const HostilePeer::Send&) {});
    EXPECT_EQ(fault_of(client.fetch_tensor({mute.url()}, Hash32{{1}})), Fault::unreachable);
    HostilePeer babble([](const std::string&, const HostilePeer::Send& send) { send("220 smtp ready\r\n\r\n"); });
    EXPECT_EQ(fault_of(client.fetch_tensor({babble.url()}, Hash32{{1}})), Fault::malformed);
    HostilePeer cut([](const std::string&, const HostilePeer::Send& send) {
        send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort");
    });
    EXPECT_EQ(fault_of(client.fetch_tensor({cut.url()}, Hash32{{1}})), Fault::unreachable);
    HostilePeer error([](const std::string&, const HostilePeer::Send& send) {
        send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n");
    });
    EXPECT_EQ(fault_of(client.fetch_tensor({error.url()}, Hash32{{1}})), Fault::refused);
    EXPECT_EQ(fault_of(client.fetch_tensor({}, Hash32{{1}})), Fault::not_found);
}

TEST_F(TransferTest, TheServerDropsClientsThatDrip) {
    http.reset();
    ArtifactHttpServer::Options options;
    options.idle = std::chrono::seconds(1);
    http = *ArtifactHttpServer::start(server, options);
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(http->port());
    ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(client, "GET /arti", 9, MSG_NOSIGNAL), 9);
    char byte = 0;
    const auto begin = Clock::now();
    EXPECT_LE(::recv(client, &byte, 1, 0), 0);
    EXPECT_LT(Clock::now() - begin, milliseconds(4000));
    ::close(client);
}

TEST_F(TransferTest, APortInUseIsNamed) {
    ArtifactHttpServer::Options options;
    options.port = http->port();
    const auto second = ArtifactHttpServer::start(server, options);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, ::testing::HasSubstr(std::to_string(options.port)));
}

TEST(ArtifactUrl, OnlySchemeHostAndPort) {
    EXPECT_EQ(*parse_url("http://127.0.0.1:8545"), (Url{"127.0.0.1", "8545", false, {}}));
    EXPECT_EQ(*parse_url("http://node.example/"), (Url{"node.example", "80", false, {}}));
    EXPECT_EQ(*parse_url("http://[::1]:9"), (Url{"::1", "9", false, {}}));
    EXPECT_EQ(*parse_url("https://a"), (Url{"a", "443", true, {}}));
    for (const char* const bad : {"", "http://", "https://", "ftp://a", "http://a:b", "http://a:99999", "http://a/b",
                                  "http://u@a", "http://a:1\r\nX: y", "http://[::1", "http://:80"}) {
        EXPECT_FALSE(parse_url(bad)) << bad;
    }
}

TEST(ArtifactUrl, AStrangersAddressNamesNoFile) {
    const std::string file = "https://127.0.0.1:1#ca=/dev/stdin";
    EXPECT_TRUE(parse_url(file)) << "a user may";
    EXPECT_FALSE(parse_public_url(file));
    EXPECT_TRUE(parse_public_url("https://127.0.0.1:1#sha256=" + std::string(64, 'a')));
    EXPECT_TRUE(parse_public_url("http://127.0.0.1:1"));
    for (const char* steering : {"http://a\x1b[2J", "http://\x07", "http://a\xc2\x9b", "http://a b"})
        EXPECT_FALSE(parse_public_url(steering)) << "its words end up in logs";
    EXPECT_FALSE(parse_public_url(""));
    HttpConnection waiting(*parse_url("https://127.0.0.1:1#ca=/dev/zero"));
    const auto reply = waiting.exchange({"GET", "/", {}}, 1000, kernels::StopToken::after(milliseconds(500)));
    ASSERT_FALSE(reply);
}

// Fashion-MNIST's training images are this large: 60000 × 784 bytes.
TEST_F(TransferTest, FortySevenMegabytesTakeAMoment) {
    const auto tensor = random_tensor(DType::u8, {60000, 784}, 9);
    const auto root = here->put_tensor(tensor);
    wanted = {*root};
    auto begin = Clock::now();
    ASSERT_TRUE(client.upload_tensor(http->url(), *root));
    const auto upload = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    here->remove_tensor(*root);
    begin = Clock::now();
    ASSERT_TRUE(client.fetch_tensor(peers(), *root));
    const auto fetch = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    EXPECT_EQ(*here->tensor(*root), tensor);
    RecordProperty("upload_ms", static_cast<int>(upload.count()));
    RecordProperty("fetch_ms", static_cast<int>(fetch.count()));
    std::printf("upload %d ms, fetch %d ms\n", static_cast<int>(upload.count()), static_cast<int>(fetch.count()));
    // The target is 1.5 s on a quiet core; machines that run tests are not quiet, and sanitizers are slow.
    EXPECT_LT(upload, milliseconds(15000));
    EXPECT_LT(fetch, milliseconds(15000));
}

}  // namespace
}  // namespace retrace::node
