// SPDX-License-Identifier: MIT
// The manifest.json of a data set, next to the files of a valid one. A manifest that loads can be written and loaded
// again.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "node/tasks/data/dataset.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;
namespace fs = std::filesystem;

DataSet sample() {
    DataSet out;
    out.name = "fuzz";
    out.source = "nowhere";
    out.classes = 3;
    out.parts.push_back(make_part("x", kernels::zeros(kernels::DType::f32, {4, 2})));
    out.parts.push_back(make_part("y", kernels::zeros(kernels::DType::i32, {4})));
    return out;
}

const fs::path& folder() {
    static const fs::path path = [] {
        fs::path out = fs::temp_directory_path() / ("retrace-fuzz-data-" + std::to_string(::getpid()));
        fs::remove_all(out);
        require(save_dataset(sample(), out).has_value(), "the sample is a data set");
        return out;
    }();
    return path;
}

void write_manifest(std::string_view text) {
    std::ofstream out(folder() / "manifest.json", std::ios::binary | std::ios::trunc);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

}  // namespace

std::vector<Bytes> seeds() {
    DataSet plain = sample();
    plain.classes = 0;
    plain.parts.pop_back();
    std::vector<Bytes> out;
    for (const std::string& text : {manifest_json(sample()), manifest_json(plain), std::string("{}")})
        out.push_back(to_bytes(view(std::string_view(text))));
    return out;
}

void run(View input) {
    write_manifest({reinterpret_cast<const char*>(input.data()), input.size()});
    const auto loaded = load_dataset(folder());
    if (!loaded) return;
    require(check(*loaded).has_value(), "what loads passes the check");
    const std::string written = manifest_json(*loaded);
    write_manifest(written);
    const auto again = load_dataset(folder());
    require(again.has_value() && manifest_json(*again) == written, "a data set is read as it was written");
    require(again->roots() == loaded->roots(), "and has the same roots");
}

}  // namespace retrace::fuzz
