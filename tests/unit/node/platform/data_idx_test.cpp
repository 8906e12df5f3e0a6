// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "node/platform/files.hpp"
#include "node/tasks/data/gzip.hpp"
#include "node/tasks/data/idx.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/data_test_files.hpp"

namespace retrace::node {
namespace {

using test::idx;
using test::write_file;
using ::testing::HasSubstr;

// gzip -n of "hello\n".
const Bytes kHelloGzip = *from_hex("1f8b0800000000000003cb48cdc9c9e7020020303a3606000000");

TEST(Gzip, UnpacksOneMember) {
    EXPECT_TRUE(is_gzip(kHelloGzip));
    EXPECT_EQ(*gunzip(kHelloGzip, 6), to_bytes(view("hello\n")));
}

TEST(Gzip, RefusesWhatIsCutDamagedLongOrFollowed) {
    for (std::size_t size = 0; size < kHelloGzip.size(); ++size) EXPECT_FALSE(gunzip(View(kHelloGzip).first(size), 99));
    EXPECT_THAT(gunzip(kHelloGzip, 5).error().message, HasSubstr("more than 5 bytes"));
    Bytes bad = kHelloGzip;
    bad[bad.size() - 6] ^= 1;  // The checksum.
    EXPECT_THAT(gunzip(bad, 99).error().message, HasSubstr("damaged"));
    bad = kHelloGzip;
    bad.push_back(0);
    EXPECT_THAT(gunzip(bad, 99).error().message, HasSubstr("left"));
}

TEST(Idx, ExtentsAndElements) {
    const auto tensor = decode_idx(idx({2, 3}, Bytes{1, 2, 3, 4, 5, 6}));
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->dims, (kernels::Dims{2, 3}));
    EXPECT_EQ(tensor->dtype, kernels::DType::u8);
    EXPECT_EQ(tensor->data, (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(Idx, BadFilesAreRefused) {
    const auto message = [](const Bytes& file) {
        const auto tensor = decode_idx(file);
        return tensor ? std::string() : tensor.error().message;
    };
    EXPECT_THAT(message({}), HasSubstr("not an IDX file"));
    EXPECT_THAT(message({0, 0, 0x0d, 1, 0, 0, 0, 0}), HasSubstr("another type"));
    EXPECT_THAT(message({0, 0, 8, 0}), HasSubstr("rank 0"));
    EXPECT_THAT(message({0, 0, 8, 5}), HasSubstr("rank 5"));
    EXPECT_THAT(message({0, 0, 8, 2, 0, 0, 0, 1}), HasSubstr("cut off"));
    EXPECT_THAT(message(idx({2, 3}, Bytes(5))), HasSubstr("5 bytes of elements instead of 6"));
    EXPECT_THAT(message(idx({2, 3}, Bytes(7))), HasSubstr("7 bytes of elements instead of 6"));
    EXPECT_THAT(message(idx({0}, {})), HasSubstr("no elements"));
    EXPECT_THAT(message(idx({0xffffffff, 0xffffffff, 0xffffffff}, Bytes(9))), HasSubstr("shorter"));
    EXPECT_THAT(message(idx({0x10000, 0x10000, 0x10000, 0x10000}, Bytes(9))), HasSubstr("shorter")) << "2^64 elements";
}

struct IdxFolderTest : ::testing::Test {
    test::TemporaryFolder folder;
    void write(const std::string& name, const Bytes& file) { write_file(folder.path() / "shapes" / name, file); }
};

TEST_F(IdxFolderTest, ImagesAndLabelsBecomeADataSet) {
    write("train-images-idx3-ubyte", idx({2, 1, 3}, Bytes{1, 2, 3, 4, 5, 6}));
    write("train-labels-idx1-ubyte", idx({2}, Bytes{4, 0}));
    ASSERT_TRUE(is_idx_folder(folder.path() / "shapes"));
    const auto data = load_idx_folder(folder.path() / "shapes", Split::train, true);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->name, "shapes-train");
    EXPECT_EQ(data->classes, 5u);
    EXPECT_EQ(data->samples(), 2u);
    EXPECT_EQ(data->find("x")->dims, (kernels::Dims{2, 3}));
    EXPECT_EQ(data->roots(), (std::vector<Hash32>{test::root_of(*data->find("x")), test::root_of(*data->find("y"))}));
    EXPECT_EQ(load_idx_folder(folder.path() / "shapes", Split::train, false)->find("x")->dims,
              (kernels::Dims{2, 1, 1, 3}));
    EXPECT_THAT(load_idx_folder(folder.path() / "shapes", Split::test, true).error().message, HasSubstr("t10k-images"));
}

TEST_F(IdxFolderTest, NumbersOfImagesAndLabelsMustAgree) {
    write("train-images-idx3-ubyte", idx({2, 1, 3}, Bytes(6)));
    write("train-labels-idx1-ubyte", idx({3}, Bytes(3)));
    EXPECT_THAT(load_idx_folder(folder.path() / "shapes", Split::train, true).error().message,
                HasSubstr("different numbers of samples"));
}

TEST_F(IdxFolderTest, ATruncatedGzipFileIsNamed) {
    write("train-images-idx3-ubyte.gz", Bytes(kHelloGzip.begin(), kHelloGzip.end() - 4));
    EXPECT_THAT(load_idx_folder(folder.path() / "shapes", Split::train, true).error().message,
                ::testing::AllOf(HasSubstr("train-images-idx3-ubyte.gz"), HasSubstr("cut off")));
}

TEST(FashionMnist, SixtyThousandRealImages) {
    const auto folder = fashion_mnist_folder();
    if (!folder) GTEST_SKIP() << folder.error().message;
    const auto train = load_idx_folder(*folder, Split::train, true);
    ASSERT_TRUE(train) << train.error().message;
    EXPECT_EQ(train->samples(), 60000u);
    EXPECT_EQ(train->classes, 10u);
    EXPECT_EQ(train->find("x")->dims, (kernels::Dims{60000, 784}));
    EXPECT_EQ((std::vector<std::uint8_t>(train->find("y")->data.begin(), train->find("y")->data.begin() + 5)),
              (std::vector<std::uint8_t>{9, 0, 0, 3, 0}));
    const auto test = load_idx_folder(*folder, Split::test, true);
    ASSERT_TRUE(test) << test.error().message;
    EXPECT_EQ(test->samples(), 10000u);
}

}  // namespace
}  // namespace retrace::node
