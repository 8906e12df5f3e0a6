// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <future>

#include "kernels/program/codec.hpp"
#include "node/artifacts/charge.hpp"
#include "node/artifacts/route.hpp"
#include "node/artifacts/server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using kernels::DType;

struct ServerTest : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path() / "store");
    std::set<Hash32> wanted;
    ArtifactServer server{*store, [this](const Hash32& root) { return wanted.contains(root); }};

    static std::string path(const Hash32& root, const std::string& what) {
        return "/artifact/" + to_hex(view(root)) + "/" + what;
    }
    HttpReply get(const std::string& target) { return server.handle({"GET", target, {}}); }
    HttpReply put(const std::string& target, Bytes body) { return server.handle({"PUT", target, std::move(body)}); }
    static std::string slug_of(const HttpReply& reply) {
        const auto refusal = wire::decode_refusal(reply.body);
        return reply.status < 400 || !refusal ? "" : refusal->slug;
    }
};

TEST_F(ServerTest, OnlyExactPathsAreUnderstood) {
    const auto root = *store->put_tensor(test::random_tensor(DType::u8, {40, 40}, 1));
    const std::string hex = to_hex(view(root));
    EXPECT_EQ(get("/artifact/" + hex + "/info").status, 200u);
    std::string upper = hex;
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    for (const std::string& target : std::vector<std::string>{
             "/artifact/", "/artifact/" + hex, "/artifact/" + hex + "/", "/artifact/" + upper + "/info",
             "/artifact/../../etc/passwd", "/artifact/" + hex + "/../x", "/artifact/" + hex + "/info?x=1",
             "/artifact/" + hex + "/tiles", "/artifact/" + hex + "/tiles?first=0",
             "/artifact/" + hex + "/tiles?first=-1&count=1",
             "/artifact/" + hex + "/tiles?first=0&count=99999999999999999999",
             "/artifact/" + hex + "/tiles?first=0&count=1&x=2", "/artifact/" + hex.substr(1) + "/info",
             "/artifact/0" + hex + "/info", "/artifact/" + hex.substr(0, 60) + "%2e%2" + "/info", "/other", ""}) {
        EXPECT_EQ(slug_of(get(target)), "malformed") << target;
    }
    EXPECT_EQ(slug_of(server.handle({"DELETE", path(root, "info"), {}})), "malformed");
}

TEST_F(ServerTest, TilesAreBoundedAndInRange) {
    const auto root = *store->put_tensor(test::random_tensor(DType::u8, {32 * 1200, 32}, 1));
    const auto reply = get(path(root, "tiles?first=0&count=18446744073709551615"));
    EXPECT_EQ(wire::decode_tile_range(reply.body)->count(), 1024u);
    EXPECT_EQ(wire::decode_tile_range(get(path(root, "tiles?first=1190&count=50")).body)->count(), 10u);
    EXPECT_EQ(slug_of(get(path(root, "tiles?first=1200&count=1"))), "out_of_range");
    EXPECT_EQ(slug_of(get(path(root, "tiles?first=0&count=0"))), "out_of_range");
    EXPECT_EQ(get(path(Hash32{{1}}, "tiles?first=0&count=1")).status, 404u);
}

TEST_F(ServerTest, UploadsAreForWantedRootsOnly) {
    const auto tensor = test::random_tensor(DType::u8, {40, 40}, 1);
    auto other = test::open_store(folder.path() / "other");
    const auto root = *other->put_tensor(tensor);
    const Bytes body = wire::encode(*other->tiles(root, 0, 9));
    EXPECT_EQ(server.body_limit("PUT", path(root, "tiles")), 0u);
    EXPECT_EQ(slug_of(put(path(root, "tiles"), body)), "not_wanted");
    wanted = {root};
    EXPECT_EQ(server.body_limit("PUT", path(root, "tiles")), wire::kMessageBytesMax);
    EXPECT_EQ(server.body_limit("GET", path(root, "tiles")), 0u);
    EXPECT_EQ(wire::decode_info(get(path(root, "info")).body)->kind, wire::Kind::unknown);
    EXPECT_EQ(slug_of(put(path(root, "info"), body)), "malformed");
    EXPECT_EQ(slug_of(put(path(root, "tiles"), {0xff})), "malformed");
    EXPECT_EQ(put(path(root, "tiles"), body).status, 204u);
    EXPECT_EQ(*store->tensor(root), tensor);
}

TEST_F(ServerTest, TensorsOfAWantedStateAreWantedAlsoAfterARestart) {
    auto other = test::open_store(folder.path() / "other");
    const auto state = *other->put_state({}, {0, {test::random_tensor(DType::f32, {4, 3}, 1)}});
    const auto manifest = *other->manifest(state);
    const Hash32 tensor = manifest.tensor_roots[0];
    wanted = {state};
    EXPECT_EQ(server.body_limit("PUT", path(tensor, "tiles")), 0u);
    EXPECT_EQ(put(path(state, "state"), wire::encode(manifest)).status, 204u);
    EXPECT_GT(server.body_limit("PUT", path(tensor, "tiles")), 0u);
    ArtifactServer again(*store, [&](const Hash32& root) { return wanted.contains(root); });
    EXPECT_GT(again.body_limit("PUT", path(tensor, "tiles")), 0u);
    wanted.clear();
    EXPECT_EQ(again.body_limit("PUT", path(tensor, "tiles")), 0u);
}

/// Posting, uploading and cancelling again and again leaves nothing in memory.
TEST_F(ServerTest, TensorsOfAStateThatIsGoneAreForgotten) {
    auto other = test::open_store(folder.path() / "other");
    const auto first = *other->put_state({}, {0, {test::random_tensor(DType::f32, {4, 3}, 1)}});
    const auto second = *other->put_state({}, {0, {test::random_tensor(DType::f32, {4, 3}, 2)}});
    wanted = {first, second};
    const auto tensor_of = [&](const Hash32& state) { return other->manifest(state)->tensor_roots[0]; };
    const auto is_wanted = [&](const Hash32& state) {
        return server.body_limit("PUT", path(tensor_of(state), "tiles")) > 0;
    };
    for (const Hash32& state : wanted)
        ASSERT_EQ(put(path(state, "state"), wire::encode(*other->manifest(state))).status, 204u);
    store->remove(first, {});
    server.forget_gone_states();
    EXPECT_FALSE(is_wanted(first));
    EXPECT_TRUE(is_wanted(second));
    ASSERT_EQ(put(path(first, "state"), wire::encode(*other->manifest(first))).status, 204u);
    EXPECT_TRUE(is_wanted(first));
}

TEST_F(ServerTest, TamperedUploadsAreRefusedByName) {
    auto other = test::open_store(folder.path() / "other");
    const auto root = *other->put_tensor(test::random_tensor(DType::u8, {40, 40}, 1));
    const auto program = *other->put_program(kernels::encode(test::doubling_program()));
    wanted = {root, program};
    auto range = *other->tiles(root, 0, 2);
    range.tiles[0] ^= 1;
    EXPECT_EQ(slug_of(put(path(root, "tiles"), wire::encode(range))), "wrong_proof");
    EXPECT_EQ(slug_of(put(path(program, "tiles"), wire::encode(*other->tiles(root, 0, 2)))), "wrong_root");
    EXPECT_EQ(slug_of(put(path(program, "program"), Bytes(10))), "malformed");
    EXPECT_EQ(slug_of(put(path(root, "program"), *other->program_file(program))), "wrong_root");
    EXPECT_EQ(slug_of(put(path(root, "state"), wire::encode(wire::StateManifest{}))), "wrong_root");
    EXPECT_FALSE(store->info(root));
}

/// Its sender need not have any tile: two files would lie on the disk for the hash of a header.
TEST_F(ServerTest, AHeaderAloneOfATensorWithTilesIsRefused) {
    const kernels::TensorHeader invented{DType::f32, {1}, Hash32{{7}}};
    wanted = {invented.root()};
    const wire::TileRange header{invented, 0, {}, {}};
    EXPECT_EQ(slug_of(put(path(invented.root(), "tiles"), wire::encode(header))), "no_tiles");
    EXPECT_FALSE(store->known(invented.root()));
    EXPECT_TRUE(store->sizes().empty());
    wire::TileRange tile{invented, 0, Bytes(4096), {}};
    EXPECT_EQ(slug_of(put(path(invented.root(), "tiles"), wire::encode(tile))), "wrong_proof");
    EXPECT_FALSE(store->known(invented.root()));
    EXPECT_TRUE(store->begin_tensor(invented.root(), invented)) << "our own fetches begin before they have a tile";
    EXPECT_TRUE(store->known(invented.root()));
    const kernels::TensorHeader empty{DType::f32, {0, 5}, {}};
    wanted = {empty.root()};
    EXPECT_EQ(put(path(empty.root(), "tiles"), wire::encode(wire::TileRange{empty, 0, {}, {}})).status, 204u);
    EXPECT_TRUE(store->tensor(empty.root()));
}

TEST_F(ServerTest, AProviderServesTheCheckpointsOfASolver) {
    const auto checkpoints = solver::CheckpointStore::open(folder.path() / "checkpoints");
    ASSERT_TRUE(checkpoints);
    kernels::ThreadPool pool(1);
    const kernels::State state{5, {test::random_tensor(DType::f32, {70, 40}, 1)}};
    const auto commitment = kernels::commit_state(Hash32{{2}}, state, pool);
    ASSERT_TRUE((*checkpoints)->save({1, 0, 1}, commitment, state));
    const std::string info = path(commitment.root, "info"),
                      tiles = path(commitment.tensor_roots[0], "tiles?first=0&count=9");
    EXPECT_EQ(get(tiles).status, 404u);
    CheckpointProvider provider(**checkpoints);
    server.add_provider(provider);
    EXPECT_TRUE(wire::decode_info(get(info).body)->complete);
    EXPECT_EQ(wire::decode_state_manifest(get(path(commitment.root, "state")).body)->root(), commitment.root);
    const auto range = wire::decode_tile_range(get(tiles).body);
    ASSERT_TRUE(range);
    EXPECT_TRUE(store->add_tiles(commitment.tensor_roots[0], *range));
    EXPECT_EQ(*store->tensor(commitment.tensor_roots[0]), state.tensors[0]);
    EXPECT_EQ(get(path(Hash32{{9}}, "tiles?first=0&count=1")).status, 404u);
    EXPECT_EQ(get(path(Hash32{{9}}, "state")).status, 404u);
}

TEST_F(ServerTest, TheRouteOfTheNodeSaysTheSame) {
    const auto root = *store->put_tensor(test::random_tensor(DType::u8, {40, 40}, 1));
    const auto route = artifact_route(server);
    const auto reply = get(path(root, "info"));
    const auto same = route.handler({"GET", path(root, "info"), {}, ""});
    EXPECT_EQ(same.status, 200u);
    EXPECT_EQ(same.body, reply.body);
    EXPECT_EQ(route.handler({"GET", path(Hash32{{1}}, "info"), {}, ""}).status, 404u);
}

/// Disk space of all files whose names begin with the root, in blocks of st_blocks.
std::uint64_t held(const std::filesystem::path& folder, const Hash32& root) {
    std::uint64_t out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        struct stat info {};
        if (!entry.path().filename().string().starts_with(to_hex(view(root)))) continue;
        if (::stat(entry.path().c_str(), &info) == 0) out += static_cast<std::uint64_t>(info.st_blocks) * 512;
    }
    return out;
}

TEST_F(ServerTest, AnUploadIsChargedAsTheStoreThenReportsAndNotLessThanTheDiskHolds) {
    std::map<Hash32, std::uint64_t> charges;
    server.set_quota_hooks({[&](const Hash32& root, const std::vector<Hash32>&, const auto& size) -> Status<Failure> {
                                charges[root] = size.charge;
                                return Unit{};
                            },
                            [&](const Hash32& root, bool is_here) { EXPECT_TRUE(is_here) << to_hex(view(root)); }});
    const auto source = test::open_store(folder.path() / "source");
    const auto check = [&](const Hash32& root, const char* when) {
        EXPECT_EQ(store->sizes().at(root), charges.at(root)) << when;
        EXPECT_GE(charges.at(root), kArtifactBytesMin) << when;
        EXPECT_GE(charges.at(root), held(folder.path() / "store", root)) << when;
    };
    const Hash32 program = *source->put_program(kernels::encode(test::doubling_program()));
    const Hash32 state = *source->put_state(program, {0, {test::random_tensor(DType::f32, {4, 3}, 1)}});
    wanted = {program, state};
    ASSERT_EQ(put(path(program, "program"), *source->program_file(program)).status, 204u);
    check(program, "a program");
    ASSERT_EQ(put(path(state, "state"), wire::encode(*source->manifest(state))).status, 204u);
    check(state, "a state");
    for (const kernels::Dims& dims : {kernels::Dims{33}, {40, 40}, {8000, 33}, {9, 64'000}, {2048, 320}}) {
        const Hash32 root = *source->put_tensor(test::random_tensor(DType::u8, dims, 1));
        const std::string shape = std::to_string(dims[0]);
        wanted.insert(root);
        ASSERT_EQ(put(path(root, "tiles"), wire::encode(*source->tiles(root, 0, 1))).status, 204u);
        check(root, shape.c_str());
        const std::uint64_t tiles = kernels::geometry(dims).tiles();
        // Each second tile first, so that the file is as scattered as a sender can make it.
        for (const std::uint64_t first : {2, 1})
            for (std::uint64_t i = first; i < tiles; i += 2)
                ASSERT_EQ(put(path(root, "tiles"), wire::encode(*source->tiles(root, i, 1))).status, 204u);
        ASSERT_TRUE(store->info(root)->complete);
        const std::uint64_t now = store->sizes().at(root);
        EXPECT_LE(now, charges.at(root)) << "the flags of its tiles are gone";
        EXPECT_GE(now, held(folder.path() / "store", root)) << shape;
        EXPECT_GE(now, kArtifactBytesMin) << shape;
    }
    const Hash32 empty = *source->put_tensor(kernels::zeros(DType::f32, {0, 5}));
    wanted.insert(empty);
    ASSERT_EQ(put(path(empty, "tiles"), wire::encode(wire::TileRange{source->info(empty)->header, 0, {}, {}})).status,
              204u);
    check(empty, "a tensor without elements");
    EXPECT_EQ(artifact_charge({UINT64_MAX}), UINT64_MAX) << "sums do not wrap";
}

// A wrong upload in parallel with an honest one must not refund the honest one's charge.
TEST_F(ServerTest, UploadsOfOneRootAtATimeAreChargedOnce) {
    const Bytes file = kernels::encode(test::doubling_program());
    const auto source = test::open_store(folder.path() / "source");
    const Hash32 root = *source->put_program(file);
    wanted.insert(root);
    std::mutex mutex;
    std::map<Hash32, std::uint64_t> charges;
    std::size_t asked = 0, done = 0;
    std::future<HttpReply> other;
    server.set_quota_hooks({[&](const Hash32& name, const std::vector<Hash32>&, const auto& size) -> Status<Failure> {
                                bool first = false;
                                {
                                    const std::lock_guard lock(mutex);
                                    charges[name] = size.charge;
                                    first = ++asked == 1;
                                }
                                // If it is allowed to, the other upload starts and ends between this charge and the
                                // upload that it is for.
                                if (first) {
                                    other = std::async(std::launch::async, [&] {
                                        return put(path(root, "program"), Bytes(file.size(), 1));
                                    });
                                    other.wait_for(std::chrono::milliseconds(500));
                                }
                                return Unit{};
                            },
                            [&](const Hash32& name, bool is_here) {
                                const std::lock_guard lock(mutex);
                                ++done;
                                if (!is_here) charges.erase(name);
                            }});
    EXPECT_EQ(put(path(root, "program"), file).status, 204u);
    EXPECT_GE(other.get().status, 400u);
    EXPECT_EQ(charges, (std::map<Hash32, std::uint64_t>{{root, artifact_charge({file.size()})}}));
    EXPECT_GE(done, 1u);
    charges.clear();
    const Hash32 absent{{7}};
    wanted.insert(absent);
    EXPECT_GE(put(path(absent, "program"), file).status, 400u);
    EXPECT_TRUE(charges.empty()) << "nothing was written";
}

}  // namespace
}  // namespace retrace::node
