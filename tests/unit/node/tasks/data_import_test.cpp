// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <bit>

#include "node/tasks/data/gzip.hpp"
#include "node/tasks/data/images.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/data/npy.hpp"
#include "node/tasks/data/zip.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/data_test_files.hpp"

namespace retrace::node {
namespace {

using kernels::Dims;
using kernels::DType;
using test::write_file;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class T>
std::string error_of(const Result<T>& result) {
    return result ? "" : result.error().message;
}

std::vector<float> floats(const kernels::Tensor& tensor) {
    std::vector<float> out;
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) out.push_back(std::bit_cast<float>(tensor.bits(i)));
    return out;
}

TEST(Csv, NumbersAndLabels) {
    const auto data = decode_csv(view("a,b,kind\n1,2.5,0\r\n-3,+4e-1,2\n\n"), "");
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(floats(*data->find("x")), (std::vector<float>{1, 2.5f, -3, 0.4f}));
    EXPECT_EQ(data->find("x")->dims, (Dims{2, 2}));
    EXPECT_EQ(data->find("y")->data, (Bytes{0, 2}));
    EXPECT_EQ(data->classes, 3u);
    const auto other = decode_csv(view("a,b,kind\n1,2.5,0\n-3,4,2\n"), "b");
    EXPECT_EQ(floats(*other->find("y")), (std::vector<float>{2.5f, 4}));
    EXPECT_EQ(other->classes, 0u);
    EXPECT_EQ(decode_csv(view("1,300\n2,0\n"), "")->find("y")->dtype, DType::i32);
    EXPECT_EQ(floats(*decode_csv(view("1e-40,0\n2,0\n"), "")->find("x")), (std::vector<float>{0, 2})) << "subnormal";
}

TEST(Csv, BadTablesAreRefusedWithTheirLine) {
    EXPECT_THAT(error_of(decode_csv(view(""), "")), HasSubstr("no rows"));
    EXPECT_THAT(error_of(decode_csv(view("a,b\n"), "")), HasSubstr("no rows"));
    EXPECT_THAT(error_of(decode_csv(view("1\n2\n"), "")), HasSubstr("one column"));
    EXPECT_THAT(error_of(decode_csv(view("1,2\n3\n"), "")), HasSubstr("line 2 has 1 fields instead of 2"));
    for (const char* const field : {"nan", "inf", "1e39", "", "\"x\"", "0x10", "1 2", "=cmd()"}) {
        EXPECT_THAT(error_of(decode_csv(view("1,2\n" + std::string(field) + ",2\n"), "")), HasSubstr("line 2"))
            << field;
    }
    EXPECT_THAT(error_of(decode_csv(view("a,b\n1,2\n"), "c")), HasSubstr("no column is named c"));
}

TEST(Csv, OtherDelimitersAndQuotedFieldsAreUnderstood) {
    for (const char* const text : {"a;b;kind\n1;2;0\n3;4;1\n", "a\tb\tkind\n1\t2\t0\n3\t4\t1\n",
                                   "\"a, the first\",\"b \"\"two\"\"\",kind\n\"1\",2,0\r\n3, \"4\" ,1\n",
                                   "\xef\xbb\xbf"
                                   "1,2,0\n3,4,1"}) {
        const auto data = decode_csv(view(text), "");
        ASSERT_TRUE(data) << text << data.error().message;
        EXPECT_EQ(floats(*data->find("x")), (std::vector<float>{1, 2, 3, 4})) << text;
        EXPECT_EQ(data->find("y")->data, (Bytes{0, 1})) << text;
    }
    EXPECT_EQ(floats(*decode_csv(view("1|2|0\n"), "", '|')->find("x")), (std::vector<float>{1, 2}));
    EXPECT_EQ(decode_csv(view("\"a\nb\",n\n1,2\n"), "n")->find("y")->data, (Bytes{2}));
    EXPECT_THAT(error_of(decode_csv(view("1,2\n\"1,2\n"), "")), HasSubstr("line 2: a quote is not closed"));
    EXPECT_THAT(error_of(decode_csv(view("1,2\n\"1\"2,2\n"), "")), HasSubstr("line 2: a field in quotes"));
    EXPECT_THAT(error_of(decode_csv(view("1,5;2\n"), "")), HasSubstr("\"1,5\" is not a finite number"));
}

TEST(Csv, LabelsMayBeTextsAndOtherColumnsMayNot) {
    const auto data = decode_csv(view("size,kind,age\n1,dog,3\n2,cat,4\n3,dog,5\n"), "kind");
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->find("y")->data, (Bytes{1, 0, 1}));
    EXPECT_EQ(data->class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(data->classes, 2u);
    EXPECT_EQ(decode_csv(view("1,2,a\n3,4,7\n"), "")->class_names, (std::vector<std::string>{"7", "a"}));
    EXPECT_TRUE(decode_csv(view("1,2,1\n3,4,7\n"), "")->class_names.empty());
    EXPECT_THAT(error_of(decode_csv(view("size,kind\n1,0\nred,1\n"), "")),
                AllOf(HasSubstr("line 3: \"red\" in column size"), HasSubstr("--label")));
    EXPECT_THAT(error_of(decode_csv(view("1,2,nan\n"), "")), HasSubstr("\"nan\"")) << "a broken number is no class";
}

Bytes npy(const std::string& descr, const std::string& shape, View data, const char* order = "False") {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
    Bytes out{0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<std::uint8_t>(header.size()), 0};
    out.insert(out.end(), header.begin(), header.end());
    out.insert(out.end(), data.begin(), data.end());
    return out;
}

TEST(Npy, ElementTypes) {
    EXPECT_EQ(*decode_npy(npy("|u1", "(3,)", Bytes{1, 2, 255})), (kernels::Tensor{DType::u8, {3}, {1, 2, 255}}));
    EXPECT_EQ(decode_npy(npy("<f4", "(1, 2)", Bytes{0, 0, 128, 63, 0, 0, 0, 64}))->dims, (Dims{1, 2}));
    EXPECT_EQ(floats(*decode_npy(npy("<f8", "()", Bytes{0, 0, 0, 0, 0, 0, 0xf8, 0x3f}))), std::vector<float>{1.5f});
    EXPECT_EQ(*decode_npy(npy("<i8", "(1,)", Bytes(8, 0xff))), (kernels::Tensor{DType::i32, {1}, Bytes(4, 0xff)}));
    EXPECT_EQ(decode_npy(npy("<i2", "(1,)", Bytes(2, 0xff)))->data, Bytes(4, 0xff));
    EXPECT_EQ(decode_npy(npy("<u2", "(1,)", Bytes(2, 0xff)))->data, (Bytes{0xff, 0xff, 0, 0}));
    EXPECT_EQ(decode_npy(npy("|b1", "(2,)", Bytes{0, 1}))->dtype, DType::boolean);
}

TEST(Npy, BadFilesAreRefused) {
    EXPECT_THAT(error_of(decode_npy(npy("|O", "(1,)", Bytes(8)))), HasSubstr("pickle"));
    EXPECT_THAT(error_of(decode_npy(npy("<f2", "(1,)", Bytes(2)))), HasSubstr("<f2"));
    EXPECT_THAT(error_of(decode_npy(npy(">f4", "(1,)", Bytes(4)))), HasSubstr(">f4"));
    EXPECT_THAT(error_of(decode_npy(npy("<f4", "(2, 2)", Bytes(16), "True"))), HasSubstr("Fortran"));
    EXPECT_THAT(error_of(decode_npy(npy("<u4", "(1,)", Bytes(4, 0xff)))), HasSubstr("int32"));
    EXPECT_THAT(error_of(decode_npy(npy("|b1", "(1,)", Bytes{2}))), HasSubstr("bool"));
    EXPECT_THAT(error_of(decode_npy(npy("<f4", "(3,)", Bytes(8)))), HasSubstr("8 bytes instead of 12"));
    for (const char* const shape : {"(9223372036854775807, 4)", "(1,1,1,1,1,1,1,)", "(-1,)", "(1.5,)", "(x,)", "[1]",
                                    "(99999999999999999999,)", "((1,),)", "__import__('os')"}) {
        EXPECT_FALSE(decode_npy(npy("|u1", shape, Bytes(1)))) << shape;
    }
    const Bytes good = npy("|u1", "(3,)", Bytes(3));
    for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode_npy(View(good).first(size))) << size;
}

// x.npy, float32 [[1, 2], [3, 4]], written by Python's zipfile as numpy.savez_compressed does (deflate,
// forced ZIP64).
const Bytes kNpz = *from_hex(
    "504b03042d0000000800000021004efb2075ffffffffffffffff05001400782e6e70790100100090000000000000005300000000"
    "000000"
    "9bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a176724"
    "16a402"
    "f91a463a0a469a3a0ab50a64032e0686067b060606072002e2060700504b01022d032d0000000800000021004efb207553000000"
    "900000"
    "00050000000000000000000000800100000000782e6e7079504b05060000000001000100330000008a0000000000");

TEST(Npz, TheArchiveThatNumPyWrites) {
    const auto data = decode_npz(kNpz);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(floats(*data->find("x")), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(data->find("y"), nullptr);
}

TEST(Npz, DamagedArchivesAreRefused) {
    for (std::size_t size = 0; size < kNpz.size(); ++size) EXPECT_FALSE(decode_npz(View(kNpz).first(size))) << size;
    for (std::size_t at = 0; at < kNpz.size(); ++at) {
        Bytes bad = kNpz;
        bad[at] ^= 0x55;
        const auto data =
            decode_npz(bad);  // Must not crash; if it can still be read, only a date or an unused field has changed.
        if (data) {
            EXPECT_EQ(floats(*data->find("x")), (std::vector<float>{1, 2, 3, 4})) << at;
        }
    }
    EXPECT_THAT(error_of(read_zip(kNpz, 100)), HasSubstr("more than 100"));
}

TEST(Tokens, EachSampleIsFollowedByItsNextTokens) {
    ImportOptions options;
    options.context = 3;
    const auto data = decode_tokens(view("abcdefghi"), options);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->find("x")->data, to_bytes(view("abcdef")));
    EXPECT_EQ(data->find("y")->data, to_bytes(view("bcdefg")));
    EXPECT_EQ(data->find("y")->dims, (Dims{2, 3}));
    EXPECT_EQ(data->classes, 256u);
    options.token_bytes = 2;
    options.context = 1;
    const auto wide = decode_tokens(Bytes{1, 0, 0, 1, 3, 0}, options);
    EXPECT_EQ(wide->find("x")->data, (Bytes{1, 0, 0, 0, 0, 1, 0, 0}));
    EXPECT_EQ(wide->classes, 257u);
}

TEST(Tokens, ShortOrOddFilesAreRefused) {
    ImportOptions options;
    options.context = 4;
    EXPECT_THAT(error_of(decode_tokens(view("abcd"), options)), HasSubstr("fewer tokens"));
    options.token_bytes = 4;
    EXPECT_THAT(error_of(decode_tokens(view("abcde"), options)), HasSubstr("not a multiple"));
    options.context = 1;
    EXPECT_THAT(error_of(decode_tokens(Bytes(8, 0xff), options)), HasSubstr("token 0"));
    options.token_bytes = 3;
    EXPECT_FALSE(decode_tokens(view("abcdef"), options));
}

// 3×2 grey pixels 1, 2, 3, 250, 251, 252.
const Bytes kGreyPng = *from_hex(
    "89504e470d0a1a0a0000000d4948445200000003000000020800000000b81f39c6000000104944415478da6360646266f8f5fb0f"
    "00060a02f8"
    "a42976420000000049454e44ae426082");
// 2×1 pixels (10, 20, 30), (40, 50, 60).
const Bytes kRgbPng = *from_hex(
    "89504e470d0a1a0a0000000d49484452000000020000000108020000007b40e8dd0000000f4944415478da63e01291d330b20100"
    "023700d3e2"
    "2ded9f0000000049454e44ae426082");
// A header of 70000×70000 pixels.
const Bytes kGiantPng = *from_hex(
    "89504e470d0a1a0a0000000d49484452000111700001117008000000001a556b17000000084944415478da0300000000016fddc9"
    "9100000000"
    "49454e44ae426082");
// 2×2 grey pixels of 0x40, by libjpeg.
const Bytes kJpeg = *from_hex(
    "ffd8ffe000104a46494600010100000100010000ffdb00430001010101010101010101010101010101010101010101010101"
    "010101010101010101010101010101010101010101010101010101010101010101010101010101ffc0000b08000200020101"
    "1100ffc4001400010000000000000000000000000000000affc40014100100000000000000000000000000000000ffda0008"
    "010100003f003fefffd9");

TEST(Images, PngAndJpegPixels) {
    EXPECT_EQ(decode_image(kGreyPng, 0)->pixels, (Bytes{1, 2, 3, 250, 251, 252}));
    EXPECT_EQ(decode_image(kRgbPng, 0)->pixels, (Bytes{10, 20, 30, 40, 50, 60}));
    EXPECT_EQ(decode_image(kJpeg, 0)->pixels, Bytes(4, 0x40));
    EXPECT_EQ(decode_image(kJpeg, 3)->pixels, Bytes(12, 0x40));
}

TEST(Images, DamagedOrGiantImagesAreRefused) {
    EXPECT_THAT(error_of(decode_image(kGiantPng, 0)), HasSubstr("70000"));
    EXPECT_FALSE(decode_image({}, 0));
    for (const Bytes& whole : {kGreyPng, kJpeg}) {
        for (std::size_t size = 0; size + 12 < whole.size(); ++size) {
            EXPECT_FALSE(decode_image(View(whole).first(size), 0)) << size;
        }
    }
    Bytes bad = kGreyPng;
    bad[45] ^= 1;
    EXPECT_FALSE(decode_image(bad, 0));
}

struct FolderTest : ::testing::Test {
    test::TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "pets";
};

TEST_F(FolderTest, SubfoldersAreClasses) {
    write_file(path / "cat" / "2.png", kRgbPng);
    write_file(path / "cat" / "1.png", kRgbPng);
    write_file(path / "ant" / "x.png", kRgbPng);
    ImportOptions options;
    const auto flat = import_dataset(path.string(), options);
    ASSERT_TRUE(flat) << flat.error().message;
    EXPECT_EQ(flat->name, "pets");
    EXPECT_EQ(flat->classes, 2u);
    EXPECT_EQ(flat->find("y")->data, (Bytes{0, 1, 1}));
    EXPECT_EQ(flat->find("x")->dims, (Dims{3, 6}));
    EXPECT_EQ((Bytes(flat->find("x")->data.begin(), flat->find("x")->data.begin() + 6)),
              (Bytes{10, 40, 20, 50, 30, 60}));
    options.flat = false;
    EXPECT_EQ(import_dataset(path.string(), options)->find("x")->dims, (Dims{3, 3, 1, 2}));
}

TEST_F(FolderTest, OddFoldersAreRefusedByName) {
    EXPECT_THAT(error_of(import_dataset(path.string(), {})), HasSubstr("pets"));
    write_file(path / "readme.txt", view("x"));
    EXPECT_THAT(error_of(import_dataset(path.string(), {})), HasSubstr("folder of images for each class"));
    write_file(path / "cat" / "1.png", kRgbPng);
    write_file(path / "dog" / "1.png", kGreyPng);
    EXPECT_THAT(error_of(import_dataset(path.string(), {})), HasSubstr("3x2 pixels; the images before it have 2x1"));
    write_file(path / "dog" / "1.png", view("#!/bin/sh"));
    EXPECT_THAT(error_of(import_dataset(path.string(), {})), HasSubstr("neither a PNG nor a JPEG"));
}

TEST_F(FolderTest, FilesAreToldByTheirSuffix) {
    write_file(path / "t.csv", view("1,0\n2,1\n"));
    write_file(path / "t.npz", kNpz);
    write_file(path / "t.safetensors", view("short"));
    write_file(path / "t.txt", Bytes(1000, 'a'));
    EXPECT_EQ(import_dataset((path / "t.csv").string(), {})->classes, 2u);
    EXPECT_EQ(import_dataset((path / "t.npz").string(), {})->samples(), 2u);
    EXPECT_THAT(error_of(import_dataset((path / "t.safetensors").string(), {})), HasSubstr("t.safetensors"));
    EXPECT_EQ(import_dataset((path / "t.txt").string(), {})->samples(), 7u);
    EXPECT_THAT(error_of(import_dataset((path / "none.csv").string(), {})), HasSubstr("none.csv"));
    write_file(path / "t.tsv", view("1\t0\n2\t1\n"));
    EXPECT_EQ(import_dataset((path / "t.tsv").string(), {})->classes, 2u);
}

TEST_F(FolderTest, AFileThatIsNotUnderstoodIsRefusedUnlessItHoldsRawTokens) {
    write_file(path / "t.parquet", Bytes(1000, 'a'));
    EXPECT_THAT(error_of(import_dataset((path / "t.parquet").string(), {})),
                AllOf(HasSubstr("t.parquet"), HasSubstr("not understood"), HasSubstr("--raw-tokens")));
    ImportOptions options;
    options.raw_tokens = true;
    EXPECT_EQ(import_dataset((path / "t.parquet").string(), options)->samples(), 7u);
}

TEST_F(FolderTest, AnNpyFileHasItsLabelsBesideIt) {
    const std::uint8_t pixels[] = {1, 2, 3, 4, 5, 6, 7, 8}, labels[] = {0, 1};
    write_file(path / "X_train.npy", npy("|u1", "(2, 4)", pixels));
    EXPECT_EQ(import_dataset((path / "X_train.npy").string(), {})->find("y"), nullptr);
    write_file(path / "y_train.npy", npy("|u1", "(2,)", labels));
    ImportOptions options;
    options.shape = {1, 2, 2};
    const auto data = import_dataset((path / "X_train.npy").string(), options);
    ASSERT_TRUE(data) << data.error().message;
    EXPECT_EQ(data->classes, 2u);
    EXPECT_EQ(data->find("x")->dims, (Dims{2, 1, 2, 2}));
    options.shape = {3};
    EXPECT_THAT(error_of(import_dataset((path / "X_train.npy").string(), options)),
                HasSubstr("a sample has 4 numbers and the shape 3"));
}

TEST(MakeXy, ValuesFromOutsideAreChecked) {
    kernels::Tensor x{DType::f32, {2, 1}, Bytes(8)};
    store_u32(x.data.data() + 4, 0x7fc00000);
    EXPECT_THAT(error_of(make_xy(x, nullptr)), HasSubstr("NaN or an infinity at element 1"));
    x = kernels::zeros(DType::f32, {2, 1});
    kernels::Tensor y{DType::i32, {2}, Bytes(8)};
    store_u32(y.data.data(), 0xffffffff);
    EXPECT_THAT(error_of(make_xy(x, &y)), HasSubstr("label -1"));
    y = {DType::u8, {3}, {0, 1, 2}};
    EXPECT_THAT(error_of(make_xy(x, &y)), HasSubstr("different numbers"));
}

}  // namespace
}  // namespace retrace::node
