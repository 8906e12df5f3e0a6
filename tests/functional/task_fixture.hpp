// SPDX-License-Identifier: MIT
// Runs the real program on small data sets in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "node/tasks/data/dataset.hpp"

namespace retrace::testing {

namespace fs = std::filesystem;

struct Ran {
    int status = -1;
    std::string out, err;
};

class TaskTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "retrace-task-test-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    fs::path path(const std::string& name) const { return folder_ / name; }

    /// Runs `retrace ARGUMENTS`. The shell interprets the quotes and the text `before` the command: a limit, a
    /// variable. `name`: of the file of its standard error; two that run at once need two.
    Ran retrace(const std::string& arguments, const std::string& before = {}, const char* name = "stderr") const {
        const fs::path err = path(name);
        const std::string command = before + std::string(RETRACE_PROGRAM) + " " + arguments + " 2>" + err.string();
        Ran ran;
        std::FILE* const pipe = ::popen(command.c_str(), "r");
        if (pipe == nullptr) return ran;
        std::array<char, 4096> buffer;
        for (std::size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
            ran.out.append(buffer.data(), count);
        }
        const int status = ::pclose(pipe);
        ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        std::ifstream said(err);
        ran.err.assign(std::istreambuf_iterator<char>(said), {});
        return ran;
    }

    /// Returns a data set folder with images whose brightness determines their class.
    fs::path small_images(std::uint64_t samples, std::uint32_t classes = 10) const {
        kernels::Tensor x = kernels::zeros(kernels::DType::u8, {samples, 1, 28, 28});
        kernels::Tensor y = kernels::zeros(kernels::DType::u8, {samples});
        std::uint32_t noise = 1;
        for (std::uint64_t i = 0; i < samples; ++i) {
            y.data[i] = static_cast<std::uint8_t>(i * 7 % classes);
            for (std::uint64_t j = 0; j < 784; ++j) {
                noise = noise * 1664525 + 1013904223;
                const std::uint32_t level = j / 28 % 10 == y.data[i] ? 160 : 20;
                x.data[i * 784 + j] = static_cast<std::uint8_t>(level + (noise >> 26));
            }
        }
        node::DataSet data;
        data.name = "stripes";
        data.classes = classes;
        data.parts.push_back(node::make_part("x", std::move(x)));
        data.parts.push_back(node::make_part("y", std::move(y)));
        EXPECT_TRUE(node::save_dataset(data, path("images")));
        return path("images");
    }

    fs::path small_text() const {
        std::ofstream out(path("text.txt"));
        for (int i = 0; i < 900; ++i) out << "the " << i * i % 97 << " lions of line " << i << " sleep.\n";
        return path("text.txt");
    }

private:
    fs::path folder_;
};

}  // namespace retrace::testing
