// SPDX-License-Identifier: MIT
// Hostile and damaged files: an error message, exit status 1, none of their code executed, no folder left.
#include <gmock/gmock.h>

#include "tests/functional/task_fixture.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string number(std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
}

std::uint32_t crc32_of(const std::string& data) {
    std::uint32_t crc = 0xffffffff;
    for (const char byte : data) {
        crc ^= static_cast<std::uint8_t>(byte);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/// A ZIP archive of uncompressed members.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members) {
    std::string out, directory;
    for (const auto& [name, data] : members) {
        const std::string head = number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                                 number(crc32_of(data), 4) + number(data.size(), 4) + number(data.size(), 4) +
                                 number(name.size(), 2) + number(0, 2);
        directory += "PK\1\2" + number(20, 2) + head + number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                     number(out.size(), 4) + name;
        out += "PK\3\4" + head + name + data;
    }
    const std::string count = number(members.size(), 2);
    return out + directory + "PK\5\6" + number(0, 4) + count + count + number(directory.size(), 4) +
           number(out.size(), 4) + number(0, 2);
}

std::string npy(const std::string& type, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize((header.size() + 10 + 64) / 64 * 64 - 10, ' ');
    header.back() = '\n';
    return std::string("\x93NUMPY\1\0", 8) + number(header.size(), 2) + header + data;
}

/// Unpickling this would call os.system.
const std::string kPickle =
    std::string("\x80\2", 2) + "cposix\nsystem\nX\x0c" + std::string(3, '\0') + "touch stolen\x85R.";

class RefusedFiles : public TaskTest {
protected:
    fs::path write(const std::string& name, const std::string& content) const {
        std::ofstream(path(name), std::ios::binary) << content;
        return path(name);
    }
    /// Returns the error message of `command -o FOLDER`, which must leave no folder.
    std::string refused(const std::string& command) const {
        const Ran ran = retrace(command + " -o " + path("out").string());
        EXPECT_EQ(ran.status, 1) << command << ran.out << ran.err;
        EXPECT_FALSE(fs::exists(path("out"))) << command;
        EXPECT_FALSE(fs::exists(path("out.partial"))) << command;
        EXPECT_FALSE(fs::exists("stolen") || fs::exists(path("stolen"))) << command;
        EXPECT_FALSE(ran.err.empty());
        return ran.err;
    }
    std::string refused_data(const std::string& name, const std::string& content) const {
        return refused("data import " + write(name, content).string());
    }
    std::string images() const { return (fs::exists(path("images")) ? path("images") : small_images(32)).string(); }
    std::string refused_model(const std::string& content, const std::string& options = " --batch 16") const {
        return refused("task compile " + write("model.pt", content).string() + " --data " + images() + options);
    }
};

TEST_F(RefusedFiles, APickleInsideOfAnNpzArchive) {
    const std::string y = npy("|u1", "(2,)", std::string(2, '\0'));
    EXPECT_THAT(refused_data("a.npz", zip_of({{"x.npy", npy("|O", "(2,)", kPickle)}, {"y.npy", y}})),
                HasSubstr("pickle"));
    EXPECT_FALSE(refused_data("b.npz", zip_of({{"x.npy", kPickle}, {"y.npy", y}})).empty());
}

TEST_F(RefusedFiles, APickleInsideOfATorchArchive) {
    EXPECT_THAT(refused_model(zip_of({{"archive/data.pkl", kPickle}, {"archive/version", "3\n"}})),
                AllOf(HasSubstr("torch.save"), HasSubstr("torch.jit.script")));
    // It pretends to be TorchScript: LibTorch's own reader does not know os.system.
    EXPECT_THAT(refused_model(zip_of(
                    {{"archive/data.pkl", kPickle}, {"archive/constants.pkl", kPickle}, {"archive/version", "3\n"}})),
                HasSubstr("cannot be loaded"));
}

/// 2×1 pixels (10, 20, 30), (40, 50, 60).
const std::string kPng = std::string(
    "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\1\x08\2\0\0\0\x7b\x40\xe8\xdd\0\0\0\x0fIDAT\x78\xda"
    "\x63\xe0\x12\x91\xd3\x30\xb2\1\0\2\x37\0\xd3\xe2\x2d\xed\x9f\0\0\0\0IEND\xae\x42\x60\x82",
    72);

class ImportedFiles : public RefusedFiles {
protected:
    /// Checks the samples and classes that the command prints, and the extents of x.
    void expect(const std::string& from, int samples, const std::string& shape, const std::string& classes) {
        std::error_code ignored;
        fs::remove_all(path("out"), ignored);
        const Ran ran = retrace("data import " + path(from).string() + " -o " + path("out").string() +
                                (from == "text.txt" ? " --context 4" : ""));
        EXPECT_EQ(ran.status, 0) << from << ran.err;
        EXPECT_THAT(ran.out, AllOf(HasSubstr("samples   " + std::to_string(samples) + "\n"), HasSubstr("tensor    x  "),
                                   HasSubstr(' ' + shape + "  root 0x"), HasSubstr(classes)))
            << from;
    }
};

TEST_F(ImportedFiles, EveryFormatPrintsSamplesShapesClassesAndRoots) {
    const std::string x(24, '\1');
    write("a.csv", "1,2,0\n3,4,1\n5,6,2\n");
    expect("a.csv", 3, "3x2", "classes   3");
    write("a.npz",
          zip_of({{"x.npy", npy("|u1", "(2, 12)", x)}, {"y.npy", npy("|u1", "(2,)", std::string("\0\1", 2))}}));
    expect("a.npz", 2, "2x12", "classes   2");
    const std::string header = R"({"x":{"dtype":"U8","shape":[2,12],"data_offsets":[0,24]},)"
                               R"("y":{"dtype":"U8","shape":[2],"data_offsets":[24,26]}})";
    write("a.safetensors", number(header.size(), 8) + header + x + std::string("\0\1", 2));
    expect("a.safetensors", 2, "2x12", "classes   2");
    write("text.txt", "In the beginning God created");
    expect("text.txt", 6, "6x4", "classes   ");
    fs::create_directories(path("idx"));
    write("idx/train-images-idx3-ubyte", std::string("\0\0\x08\3\0\0\0\2\0\0\0\3\0\0\0\4", 16) + x);
    write("idx/train-labels-idx1-ubyte", std::string("\0\0\x08\1\0\0\0\2\4\0", 10));
    expect("idx", 2, "2x12", "classes   5");
    for (const char* name : {"pets/cat", "pets/dog"}) fs::create_directories(path(name));
    for (const char* name : {"pets/cat/1.png", "pets/cat/2.png", "pets/dog/1.png"}) write(name, kPng);
    expect("pets", 3, "3x6", "classes   2");
}

TEST_F(ImportedFiles, ATaskNeedsNoMoreThanAModelDataAndAFolder) {
    make_model("mlp", path("model.pt"));
    const std::string data = " --data " + small_images(256).string() + " -o " + path("task").string();
    const Ran ran = retrace("task compile " + path("model.pt").string() + data);
    EXPECT_EQ(ran.status, 0) << ran.err;
    for (const char* name : {"task.toml", "program.rtp", "initial.safetensors", "module.pt", "data/manifest.json"})
        EXPECT_TRUE(fs::exists(path("task") / name)) << name;
}

TEST_F(RefusedFiles, ArchivesThatAreCut) {
    const std::string whole = zip_of(
        {{"x.npy", npy("<f4", "(2, 1)", std::string(8, '\0'))}, {"y.npy", npy("|u1", "(2,)", std::string(2, '\1'))}});
    const Ran fine = retrace("data import " + write("whole.npz", whole).string() + " -o " + path("whole").string());
    ASSERT_EQ(fine.status, 0) << fine.err;
    for (const std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{4}, std::size_t{0}})
        EXPECT_THAT(refused_data("cut.npz", whole.substr(0, size)), HasSubstr("cut.npz"));
}

TEST_F(RefusedFiles, LabelsAndNumbersThatAreWrong) {
    const std::string nan = number(0x7fc00000, 4) + number(0x3f800000, 4);
    const std::string labels = npy("|u1", "(2,)", std::string(2, '\1'));
    EXPECT_THAT(refused_data("nan.npz", zip_of({{"x.npy", npy("<f4", "(2, 1)", nan)}, {"y.npy", labels}})),
                HasSubstr("NaN"));
    EXPECT_THAT(
        refused_data("few.npz", zip_of({{"x.npy", npy("<f4", "(3, 1)", std::string(12, '\0'))}, {"y.npy", labels}})),
        HasSubstr("x and y have different numbers of samples"));
    EXPECT_FALSE(refused_data("less.npz", zip_of({{"x.npy", npy("<f4", "(2, 1)", std::string(8, '\0'))},
                                                  {"y.npy", npy("<i4", "(2,)", number(0xffffffff, 4) + number(1, 4))}}))
                     .empty());
    EXPECT_THAT(refused_data("nan.csv", "a,b,y\n1,nan,0\n2,3,1\n"), HasSubstr("nan.csv"));
    EXPECT_THAT(refused_data("word.csv", "1,2,0\n3,red,1\n"), HasSubstr("line 2"));
}

TEST_F(RefusedFiles, ADataSetSmallerThanABatch) {
    make_model("mlp", path("whole.pt"));
    std::ifstream in(path("whole.pt"), std::ios::binary);
    EXPECT_THAT(refused_model({std::istreambuf_iterator<char>(in), {}}, " --batch 33"),
                HasSubstr("32 samples, fewer than a batch of 33"));
}

TEST_F(RefusedFiles, OutputsThatCannotBeWritten) {
    write("file", "no folder");
    const std::string inside = (path("file") / "set").string(), images = small_images(32).string();
    const Ran data = retrace("data import " + write("a.csv", "1,2,0\n3,4,1\n").string() + " -o " + inside);
    EXPECT_EQ(data.status, 1);
    EXPECT_THAT(data.err, HasSubstr(inside.substr(0, inside.size() - 4)));
    const Ran compiled =
        retrace("task compile lenet --batch 16 --steps 1 --data " + images + " -o " + path("task").string());
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    const Ran ran = retrace("task run " + path("task").string() + " --local -o " + inside);
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr(inside.substr(0, inside.size() - 4)));
}

/// If model.pt cannot be written, no folder with an incomplete model is left.
TEST_F(RefusedFiles, AModelThatCannotBePutBackLeavesTheTrainedStateAlone) {
    make_model("mlp", path("model.pt"));
    const Ran compiled = retrace("task compile " + path("model.pt").string() + " --batch 16 --steps 1 --data " +
                                 small_images(32).string() + " -o " + path("task").string());
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    write("task/module.pt", "damaged since");
    const Ran ran = retrace("task run " + path("task").string() + " --local -o " + path("out").string());
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("no TorchScript file"));
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(path("out"))) left.push_back(entry.path().filename().string());
    EXPECT_THAT(left, ElementsAre("unfinished.run"));
}

TEST_F(RefusedFiles, WhatAKilledCompileLeftIsSweptUp) {
    fs::create_directories(path("task.partial") / "data");
    write("task.partial/program.rtp", "half");
    const Ran ran = retrace("task compile lenet --batch 16 --steps 1 --data " + small_images(32).string() + " -o " +
                            path("task").string());
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_FALSE(fs::exists(path("task.partial")));
    fs::create_directories(path("busy"));
    write("busy/file", "mine");
    const Ran again = retrace("task compile lenet --batch 16 --steps 1 --data " + path("images").string() + " -o " +
                              path("busy").string());
    EXPECT_EQ(again.status, 1);
    EXPECT_THAT(again.err, HasSubstr("not empty"));
}

}  // namespace
}  // namespace retrace::testing
