// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include <fstream>

#include "node/tasks/data/dataset.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/data_test_files.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using kernels::DType;
using ::testing::HasSubstr;

struct DataSetTest : ::testing::Test {
    test::TemporaryFolder folder;
    fs::path target = folder.path() / "set";
    DataSet data{"digits", "made up", 3, {}};

    DataSetTest() {
        data.parts.push_back(make_part("x", test::random_tensor(DType::u8, {4, 50}, 1)));
        data.parts.push_back(make_part("y", {DType::u8, {4}, {0, 2, 1, 0}}));
    }
    std::string manifest() const {
        std::ifstream file(target / "manifest.json");
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::string load_with(const std::string& text) const {
        test::write_file(target / "manifest.json", view(text));
        const auto loaded = load_dataset(target);
        return loaded ? "" : loaded.error().message;
    }
    static std::string replaced(std::string text, const std::string& from, const std::string& to) {
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        return text.replace(at, from.size(), to);
    }
};

TEST_F(DataSetTest, ComesBackFromItsFolder) {
    ASSERT_TRUE(save_dataset(data, target));
    const auto back = load_dataset(target);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->name, "digits");
    EXPECT_EQ(back->source, "made up");
    EXPECT_EQ(back->classes, 3u);
    EXPECT_EQ(back->roots(), data.roots());
    EXPECT_EQ(*back->find("x"), *data.find("x"));
    EXPECT_EQ(manifest_json(*back), manifest());
}

TEST_F(DataSetTest, AFolderWithContentsIsNotOverwritten) {
    test::write_file(target / "precious.txt", view("mine"));
    const auto saved = save_dataset(data, target);
    ASSERT_FALSE(saved);
    EXPECT_THAT(saved.error().message, HasSubstr("not an empty folder"));
    EXPECT_TRUE(fs::exists(target / "precious.txt"));
}

TEST_F(DataSetTest, AnUnwritableTargetLeavesNothing) {
    test::write_file(folder.path() / "file", view("x"));
    EXPECT_FALSE(save_dataset(data, folder.path() / "file" / "set"));
    EXPECT_FALSE(save_dataset(data, "/proc/set"));
}

TEST_F(DataSetTest, DamagedDataIsFoundOut) {
    ASSERT_TRUE(save_dataset(data, target));
    Bytes x = data.find("x")->data;
    x[7] ^= 1;
    test::write_file(target / "x.bin", x);
    EXPECT_THAT(load_dataset(target).error().message, HasSubstr("does not hash to the root"));
    x.pop_back();
    test::write_file(target / "x.bin", x);
    EXPECT_THAT(load_dataset(target).error().message, HasSubstr("199 bytes instead of 200"));
    x.resize(300);
    test::write_file(target / "x.bin", x);
    EXPECT_FALSE(load_dataset(target));
    fs::remove(target / "x.bin");
    EXPECT_THAT(load_dataset(target).error().message, HasSubstr("x.bin"));
}

TEST_F(DataSetTest, ManifestsAreReadStrictly) {
    ASSERT_TRUE(save_dataset(data, target));
    const std::string good = manifest();
    EXPECT_EQ(load_with(good), "");
    EXPECT_THAT(load_with(""), HasSubstr("not JSON"));
    EXPECT_THAT(load_with("[]"), HasSubstr("not a JSON object"));
    EXPECT_THAT(load_with(good.substr(0, good.size() / 2)), HasSubstr("not JSON"));
    EXPECT_THAT(load_with(replaced(good, "\"format\":1", "\"format\":2")), HasSubstr("format 2"));
    EXPECT_THAT(load_with(replaced(good, "\"classes\":3", "\"classes\":-3")), HasSubstr("classes"));
    EXPECT_THAT(load_with(replaced(good, "\"classes\":3", "\"classes\":2")), HasSubstr("label outside 0..1"));
    EXPECT_THAT(load_with(replaced(good, "\"classes\":3", "\"colour\":3")), HasSubstr("\"classes\""));
    EXPECT_THAT(load_with(replaced(good, "[4,50]", "[50,4]")), HasSubstr("does not hash"));
    EXPECT_THAT(load_with(replaced(good, "[4,50]", "[1,1,1,1,1,1,1]")), HasSubstr("too long"));
    EXPECT_THAT(load_with(replaced(good, "[4,50]", "[9223372036854775807,50]")), ::testing::Not(::testing::IsEmpty()));
    EXPECT_THAT(load_with(replaced(good, "[4,50]", "[17179869184,1]")), HasSubstr("too large"));
    EXPECT_THAT(load_with(replaced(good, "\"u8\"", "\"f16\"")), HasSubstr("f16"));
    EXPECT_THAT(load_with(std::string(1 << 21, ' ')), HasSubstr("longer than"));
    EXPECT_THAT(load_with(std::string(1000, '[')), HasSubstr("not JSON"));
}

TEST_F(DataSetTest, NamesCannotLeaveTheFolder) {
    ASSERT_TRUE(save_dataset(data, target));
    const std::string good = manifest();
    for (const char* const name : {"../x", "/etc/passwd", "a/b", "..", "", "x\\u0000", "X", "manifest.json"}) {
        const auto bad = replaced(good, "\"name\":\"x\"", "\"name\":\"" + std::string(name) + "\"");
        EXPECT_THAT(load_with(bad), HasSubstr("names a tensor")) << name;
    }
    EXPECT_THAT(load_with(replaced(good, "\"name\":\"x\"", "\"name\":\"y\"")), ::testing::Not(::testing::IsEmpty()));
}

TEST_F(DataSetTest, LabelsAndSizesAreChecked) {
    data.classes = 2;
    EXPECT_THAT(check(data).error().message, HasSubstr("sample 1 has a label"));
    data.classes = 3;
    data.parts[1] = make_part("y", {DType::u8, {3}, {0, 2, 1}});
    EXPECT_THAT(check(data).error().message, HasSubstr("different numbers"));
    data.parts[1] = make_part("y", {DType::i8, {4}, {0, 2, 1, 0xff}});
    EXPECT_THAT(check(data).error().message, HasSubstr("sample 3"));
    data.parts.pop_back();
    EXPECT_THAT(check(data).error().message, HasSubstr("needs labels"));
    data.parts.push_back(make_part("x", *data.find("x")));
    EXPECT_THAT(check(data).error().message, HasSubstr("two tensors"));
    data.parts = {make_part("x", kernels::zeros(DType::u8, {0, 4}))};
    EXPECT_THAT(check(data).error().message, HasSubstr("empty"));
}

}  // namespace
}  // namespace retrace::node
