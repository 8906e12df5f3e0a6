// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <fstream>

#include "node/artifacts/store.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using kernels::DType;
using test::doubling_program;
using test::open_store;
using test::random_tensor;
using test::root_of;

struct StoreTest : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = open_store(folder.path() / "a");

    void reopen() {
        store.reset();
        store = open_store(folder.path() / "a");
    }
    fs::path file(const Hash32& root, const char* kind, const char* suffix) const {
        return folder.path() / "a" / kind / (to_hex(view(root)) + suffix);
    }
    static void flip(const fs::path& path, std::streamoff at) {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekg(at);
        const char byte = static_cast<char>(file.get() ^ 1);
        file.seekp(at);
        file.put(byte);
    }
};

template <class T>
Fault fault_of(const Result<T, Failure>& result) {
    return result ? Fault{} : result.error().fault;
}

TEST_F(StoreTest, TensorsOfEveryShapeComeBack) {
    unsigned seed = 0;
    for (const kernels::Dims& dims : {kernels::Dims{}, {1}, {0}, {0, 7}, {31}, {33}, {32, 32}, {5, 3, 40}, {100, 65}}) {
        for (const DType dtype : {DType::f32, DType::i8, DType::u8, DType::i32, DType::boolean}) {
            const auto tensor = random_tensor(dtype, dims, ++seed);
            const auto root = store->put_tensor(tensor);
            ASSERT_TRUE(root) << root.error().message;
            EXPECT_EQ(*root, root_of(tensor));
            reopen();
            const auto back = store->tensor(*root);
            ASSERT_TRUE(back) << back.error().message;
            EXPECT_EQ(*back, tensor);
        }
    }
}

TEST_F(StoreTest, UnknownRootsAreNotFound) {
    const Hash32 root{{1}};
    EXPECT_EQ(fault_of(store->tensor(root)), Fault::not_found);
    EXPECT_EQ(fault_of(store->program(root)), Fault::not_found);
    EXPECT_EQ(fault_of(store->state(root)), Fault::not_found);
    EXPECT_EQ(fault_of(store->tiles(root, 0, 1)), Fault::not_found);
    EXPECT_EQ(fault_of(store->info(root)), Fault::not_found);
}

TEST_F(StoreTest, ProgramsComeBackAndOthersAreRefused) {
    const auto program = doubling_program();
    const Bytes file = kernels::encode(program);
    const auto root = store->put_program(file);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, kernels::CommittedProgram(program).root());
    EXPECT_EQ(*store->program(*root), program);
    EXPECT_EQ(store->info(*root)->kind, wire::Kind::program);
    EXPECT_EQ(fault_of(store->put_program(View(file).first(file.size() - 1))), Fault::malformed);
    EXPECT_EQ(fault_of(store->add_program(Hash32{{7}}, file)), Fault::wrong_root);
    EXPECT_FALSE(fs::exists(this->file(Hash32{{7}}, "programs", ".rtp")));
}

TEST_F(StoreTest, ADamagedProgramIsCorrupt) {
    const auto root = store->put_program(kernels::encode(doubling_program()));
    const fs::path path = file(*root, "programs", ".rtp");
    flip(path, static_cast<std::streamoff>(fs::file_size(path)) - 40);
    EXPECT_EQ(fault_of(store->program(*root)), Fault::corrupt);
}

TEST_F(StoreTest, ADamagedTensorIsCorruptAndCanBeFetchedAgain) {
    const auto tensor = random_tensor(DType::f32, {50, 50}, 1);
    const auto root = store->put_tensor(tensor);
    store.reset();
    flip(file(*root, "tensors", ".tensor"), 128 + 5000);
    store = open_store(folder.path() / "a");
    EXPECT_EQ(fault_of(store->tensor(*root)), Fault::corrupt);
    EXPECT_EQ(fault_of(store->tensor(*root)), Fault::not_found);
    ASSERT_TRUE(store->put_tensor(tensor));
    EXPECT_EQ(*store->tensor(*root), tensor);
}

TEST_F(StoreTest, ACutOrForeignTensorFileIsCorrupt) {
    const auto a = store->put_tensor(random_tensor(DType::f32, {50, 50}, 1));
    const auto b = store->put_tensor(random_tensor(DType::f32, {50, 50}, 2));
    store.reset();
    fs::resize_file(file(*a, "tensors", ".tensor"), 5000);
    fs::copy_file(file(*a, "tensors", ".tensor"), file(*b, "tensors", ".tensor"), fs::copy_options::overwrite_existing);
    store = open_store(folder.path() / "a");
    EXPECT_EQ(fault_of(store->tensor(*a)), Fault::corrupt);
    EXPECT_EQ(fault_of(store->tensor(*b)), Fault::corrupt);
    EXPECT_EQ(fault_of(store->tensor(*a)), Fault::not_found) << "out of the way, so that it can be fetched again";
    EXPECT_EQ(fault_of(store->info(*b)), Fault::not_found);
}

TEST_F(StoreTest, AStateComesBackWithTheRootThatASolverCommits) {
    kernels::State state{17, {random_tensor(DType::f32, {4, 3}, 1), random_tensor(DType::i32, {70}, 2)}};
    const Hash32 program{{9}};
    const auto root = store->put_state(program, state);
    ASSERT_TRUE(root) << root.error().message;
    kernels::ThreadPool pool(1);
    EXPECT_EQ(*root, kernels::commit_state(program, state, pool).root);
    reopen();
    EXPECT_EQ(*store->state(*root), state);
    EXPECT_TRUE(store->info(*root)->complete);
    EXPECT_EQ(store->states(), std::vector<Hash32>{*root});
}

TEST_F(StoreTest, RemovingAStateKeepsTheTensorsOfOthers) {
    const auto shared = random_tensor(DType::f32, {4, 3}, 1), own = random_tensor(DType::f32, {4, 3}, 2);
    const auto pinned = random_tensor(DType::f32, {4, 3}, 3);
    const auto a = store->put_state({}, {1, {shared, own, pinned}});
    const auto b = store->put_state({}, {2, {shared}});
    store->remove_state(*a, {root_of(pinned)});
    EXPECT_EQ(fault_of(store->state(*a)), Fault::not_found);
    EXPECT_EQ(fault_of(store->tensor(root_of(own))), Fault::not_found);
    EXPECT_TRUE(store->tensor(root_of(pinned)));
    EXPECT_TRUE(store->state(*b));
}

TEST_F(StoreTest, AManifestMustHashToItsRoot) {
    const wire::StateManifest manifest{{}, Hash32{{1}}, 3, {Hash32{{2}}}};
    EXPECT_EQ(fault_of(store->add_manifest(Hash32{{5}}, manifest)), Fault::wrong_root);
    ASSERT_TRUE(store->add_manifest(manifest.root(), manifest));
    EXPECT_FALSE(store->info(manifest.root())->complete);
    EXPECT_EQ(fault_of(store->state(manifest.root())), Fault::incomplete);
}

TEST_F(StoreTest, OneProcessAtATime) {
    EXPECT_EQ(fault_of(Store::open(folder.path() / "a")), Fault::in_use);
    store.reset();
    EXPECT_TRUE(Store::open(folder.path() / "a"));
}

TEST_F(StoreTest, LeftoversOfAKilledProcessGoAway) {
    store.reset();
    const fs::path leftover = folder.path() / "a" / "tensors" / "half.tensor.1234.unfinished";
    std::ofstream(leftover) << "x";
    store = open_store(folder.path() / "a");
    EXPECT_FALSE(fs::exists(leftover));
}

struct RangeTest : StoreTest {
    kernels::Tensor tensor = random_tensor(DType::u8, {200, 100}, 4);  // 7 × 4 tiles, padded on both edges.
    Hash32 root = root_of(tensor);
    std::unique_ptr<Store> source = open_store(folder.path() / "b");

    RangeTest() { EXPECT_TRUE(source->put_tensor(tensor)); }
    wire::TileRange range(std::uint64_t first, std::uint64_t count) { return *source->tiles(root, first, count); }
};

TEST_F(RangeTest, RangesInAnyOrderMakeTheTensor) {
    for (const wire::Range& r : {wire::Range{20, 8}, {0, 3}, {2, 5}, {7, 13}}) {
        EXPECT_EQ(fault_of(store->tensor(root)), r.first == 20 ? Fault::not_found : Fault::incomplete);
        const auto added = store->add_tiles(root, range(r.first, r.count));
        ASSERT_TRUE(added) << added.error().message;
    }
    EXPECT_EQ(*store->tensor(root), tensor);
    EXPECT_TRUE(store->info(root)->complete);
    EXPECT_TRUE(store->add_tiles(root, range(0, 1)));
}

TEST_F(RangeTest, WhatIsMissingSurvivesARestart) {
    ASSERT_TRUE(store->add_tiles(root, range(2, 3)));
    ASSERT_TRUE(store->add_tiles(root, range(10, 1)));
    reopen();
    const auto info = store->info(root);
    ASSERT_TRUE(info) << info.error().message;
    EXPECT_EQ(info->missing, (std::vector<wire::Range>{{0, 2}, {5, 5}, {11, 17}}));
    for (const auto& gap : info->missing) ASSERT_TRUE(store->add_tiles(root, range(gap.first, gap.count)));
    EXPECT_EQ(*store->tensor(root), tensor);
}

TEST_F(RangeTest, ADamagedPartStartsAnew) {
    ASSERT_TRUE(store->add_tiles(root, range(0, 27)));
    store.reset();
    flip(file(root, "tensors", ".part"), 128 + 100);
    store = open_store(folder.path() / "a");
    EXPECT_EQ(fault_of(store->add_tiles(root, range(27, 1))), Fault::corrupt);
    EXPECT_EQ(fault_of(store->info(root)), Fault::not_found);
    ASSERT_TRUE(store->add_tiles(root, range(0, 28)));
    EXPECT_EQ(*store->tensor(root), tensor);
}

/// After a power loss, a file may have its name but not its contents.
TEST_F(RangeTest, APartThatLostItsContentStartsAnew) {
    const auto lose = [&](const char* suffix, int how) {
        const fs::path lost = file(root, "tensors", suffix);
        const auto size = fs::file_size(lost);
        if (how == 0) fs::remove(lost);
        if (how == 1) fs::resize_file(lost, 0);
        if (how == 2) std::ofstream(lost, std::ios::binary) << std::string(size, '\0');
    };
    const std::pair<const char*, int> losses[] = {{".have", 0}, {".have", 1}, {".part", 1}, {".part", 2}};
    for (const bool asked : {false, true}) {
        for (const auto& [suffix, how] : losses) {
            ASSERT_TRUE(store->add_tiles(root, range(2, 3)));
            store.reset();
            lose(suffix, how);
            store = open_store(folder.path() / "a");
            if (asked) {
                EXPECT_EQ(fault_of(store->info(root)), Fault::not_found) << suffix << how;
            }
            const auto added = store->add_tiles(root, range(0, 28));
            ASSERT_TRUE(added) << suffix << how << added.error().message;
            EXPECT_EQ(*store->tensor(root), tensor);
            store->remove_tensor(root);
        }
    }
}

TEST_F(RangeTest, TensorsThatWereBegunBesideEachOtherLeaveTheDiskItsRest) {
    ASSERT_TRUE(store->begin_tensor(root, range(0, 1).header));
    store.reset();
    Store::Options options;
    options.tensors.left_free.bytes = std::uint64_t{1} << 60;  // As if others had filled the disk meanwhile.
    store = open_store(folder.path() / "a", options);
    EXPECT_EQ(fault_of(store->add_tiles(root, range(0, 28))), Fault::no_space);
    EXPECT_EQ(store->info(root)->missing, (std::vector<wire::Range>{{0, 28}}));
}

/// A disk without inodes is full, however many bytes are free: each file of an artifact takes one.
TEST_F(RangeTest, WhatMakesAFileIsRefusedWhenInodesAreFew) {
    const Bytes program = kernels::encode(doubling_program());
    const wire::StateManifest manifest{{}, Hash32{{1}}, 3, {root}};
    const Hash32 program_root = *source->put_program(program);
    if (free_space(folder.path()).inodes == UINT64_MAX)
        GTEST_SKIP() << "this file system makes inodes as it needs them; on ext4 it runs";
    store.reset();
    Store::Options options;
    options.tensors.left_free.inodes = std::uint64_t{1} << 60;  // As if others had filled the disk meanwhile.
    store = open_store(folder.path() / "a", options);
    const auto refused = store->add_tiles(root, range(0, 28));
    ASSERT_EQ(fault_of(refused), Fault::no_space);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("a tensor of 20000 bytes does not fit on the disk: "));
    EXPECT_THAT(refused.error().message,
                testing::HasSubstr("256 MiB and 1152921504606846976 inodes have to stay free"));
    EXPECT_EQ(fault_of(store->put_tensor(tensor)), Fault::no_space);
    EXPECT_EQ(fault_of(store->add_program(program_root, program)), Fault::no_space);
    EXPECT_EQ(fault_of(store->add_program_piece(program_root, {0, program.size(), std::string(32, 'a')}, program)),
              Fault::no_space);
    EXPECT_EQ(fault_of(store->add_manifest(manifest.root(), manifest)), Fault::no_space);
    EXPECT_EQ(fault_of(store->info(root)), Fault::not_found);
    store = nullptr;
    store = open_store(folder.path() / "a");
    ASSERT_TRUE(store->add_tiles(root, range(0, 1)));
    store = nullptr;
    store = open_store(folder.path() / "a", options);
    EXPECT_TRUE(store->add_tiles(root, range(1, 27))) << "its files are there";
}

TEST(DiskRoomTest, AFileSystemWithoutACountOfInodesHasAnyNumber) {
    struct statvfs info {};
    info.f_frsize = 4096;
    info.f_bavail = 3;
    info.f_files = 10;
    info.f_favail = 2;
    EXPECT_EQ(free_space(info).bytes, 3u * 4096);
    EXPECT_EQ(free_space(info).inodes, 2u);
    info.f_favail = 0;
    EXPECT_EQ(free_space(info).inodes, 0u);
    info.f_files = 0;  // btrfs
    EXPECT_EQ(free_space(info).inodes, UINT64_MAX);
}

/// The first range of a tensor with one row of tiles reserves space for all of it: later ranges need no more of the
/// disk.
TEST_F(StoreTest, WhatIsReservedIsNotAskedForAgain) {
    Store::Options full;
    full.tensors.left_free.bytes = std::uint64_t{1} << 60;  // As if others had filled the disk meanwhile.
    for (const kernels::Dims& dims : {kernels::Dims{640'000}, kernels::Dims{2, 320'000}, kernels::Dims{1024, 320}}) {
        const auto source = open_store(folder.path() / ("from" + std::to_string(dims[0])));
        const Hash32 root = *source->put_tensor(random_tensor(DType::u8, dims, 1));
        const auto part = [&](std::uint64_t first) { return *source->tiles(root, first, 10); };
        const auto add = [&](const Store::Options& options, std::uint64_t first) {
            return open_store(folder.path() / ("to" + std::to_string(dims[0])), options)->add_tiles(root, part(first));
        };
        ASSERT_TRUE(add({}, 0));
        const auto second = add(full, 10);
        if (dims[0] == 1024) {
            EXPECT_EQ(fault_of(second), Fault::no_space) << "other rows";
        } else {
            EXPECT_TRUE(second) << second.error().message;
        }
    }
}

TEST_F(StoreTest, ALinkThatLiesInTheWayIsNotWrittenThrough) {
    const fs::path precious = folder.path() / "precious", out = folder.path() / "receipt.json";
    std::ofstream(precious) << "mine";
    fs::create_symlink(precious, unfinished_path(out));
    ASSERT_TRUE(write_durably(out, {view(std::string_view("theirs"))}));
    EXPECT_EQ(fs::file_size(precious), 4u);
    EXPECT_FALSE(fs::is_symlink(out));
    EXPECT_EQ(fs::file_size(out), 6u);
}

TEST_F(RangeTest, TamperedTilesAreRefusedAndNothingIsKept) {
    auto bad = range(3, 4);
    bad.tiles[1500] ^= 1;
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_proof);
    bad = range(3, 4);
    bad.proof.siblings[0].bytes[0] ^= 1;
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_proof);
    bad = range(3, 4);
    bad.proof.siblings.push_back({});
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_proof);
    bad = range(3, 4);
    bad.first = 4;
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_proof);
    bad.first = 26;
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::out_of_range);
    bad.first = ~std::uint64_t{0};
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::out_of_range);
    EXPECT_EQ(fault_of(store->info(root)), Fault::not_found);
}

TEST_F(RangeTest, AnotherHeaderIsAWrongRoot) {
    auto bad = range(0, 1);
    bad.header.dims = {100, 200};
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_root);
    bad = range(0, 1);
    bad.header.dtype = DType::i8;
    EXPECT_EQ(fault_of(store->add_tiles(root, bad)), Fault::wrong_root);
    EXPECT_EQ(fault_of(store->add_tiles(Hash32{{1}}, range(0, 1))), Fault::wrong_root);
}

/// A tensor root that commits to invalid tiles.
wire::TileRange committed(DType dtype, kernels::Dims dims, Bytes tile) {
    kernels::TensorHeader header{dtype, std::move(dims), merkle::tile_leaf(tile)};
    return {header, 0, std::move(tile), {}};
}

TEST_F(StoreTest, CommittedPaddingAndBoolsAreRefused) {
    Bytes tile(1024);
    tile[1023] = 1;
    auto range = committed(DType::u8, {31, 32}, tile);
    EXPECT_EQ(fault_of(store->add_tiles(range.header.root(), range)), Fault::bad_tile);
    range = committed(DType::u8, {32, 31}, tile);
    EXPECT_EQ(fault_of(store->add_tiles(range.header.root(), range)), Fault::bad_tile);
    range = committed(DType::u8, {32, 32}, tile);
    EXPECT_TRUE(store->add_tiles(range.header.root(), range));
    tile[0] = 2;
    range = committed(DType::boolean, {32, 32}, tile);
    EXPECT_EQ(fault_of(store->add_tiles(range.header.root(), range)), Fault::bad_tile);
}

TEST_F(StoreTest, ATensorOverTheLimitIsRefusedBeforeADiskBlockIsTouched) {
    store.reset();
    Store::Options options;
    options.tensors.tensor_bytes = 1 << 20;
    store = open_store(folder.path() / "a", options);
    const kernels::TensorHeader giant{DType::f32, {std::uint64_t{1} << 35, 1}, Hash32{{1}}};
    EXPECT_EQ(fault_of(store->begin_tensor(giant.root(), giant)), Fault::too_large);
    options.tensors.tensor_bytes = ~std::uint64_t{0};
    store.reset();
    store = open_store(folder.path() / "a", options);
    const kernels::TensorHeader larger_than_the_disk{DType::f32, {std::uint64_t{1} << 36}, Hash32{{1}}};
    EXPECT_EQ(fault_of(store->begin_tensor(larger_than_the_disk.root(), larger_than_the_disk)), Fault::no_space);
}

TEST_F(StoreTest, AnEmptyTensorNeedsItsHeaderOnly) {
    const auto tensor = kernels::zeros(DType::f32, {0, 5});
    const kernels::TensorHeader header{DType::f32, {0, 5}, {}};
    ASSERT_TRUE(store->add_tiles(header.root(), {header, 0, {}, {}}));
    EXPECT_EQ(*store->tensor(header.root()), tensor);
    const kernels::TensorHeader odd{DType::f32, {0, 5}, Hash32{{1}}};
    EXPECT_EQ(fault_of(store->add_tiles(odd.root(), {odd, 0, {}, {}})), Fault::wrong_proof);
}

}  // namespace
}  // namespace retrace::node
