// SPDX-License-Identifier: MIT
#include "node/tasks/data/idx.hpp"

#include <algorithm>
#include <optional>

#include "node/platform/files.hpp"
#include "node/tasks/data/gzip.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

constexpr std::uint8_t kTypeU8 = 0x08;
constexpr std::uint8_t kIdxRankMax = 4;
constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";

std::uint64_t load_u32_big(const std::uint8_t* p) {
    return std::uint64_t{p[0]} << 24 | std::uint64_t{p[1]} << 16 | std::uint64_t{p[2]} << 8 | p[3];
}

std::string prefix_of(Split split) { return split == Split::train ? "train" : "t10k"; }

std::optional<fs::path> find_file(const fs::path& folder, const std::string& stem) {
    std::error_code code;
    for (const char* const suffix : {".gz", ""}) {
        const fs::path path = folder / (stem + suffix);
        if (fs::is_regular_file(path, code)) return path;
    }
    return std::nullopt;
}

Result<kernels::Tensor> load_named(const fs::path& folder, const std::string& stem) {
    const auto path = find_file(folder, stem);
    if (!path) return error(folder.string() + ": has no " + stem + ".gz and no " + stem);
    return load_idx(*path);
}

}  // namespace

Result<kernels::Tensor> decode_idx(View file) {
    if (file.size() < 4 || file[0] != 0 || file[1] != 0) return error("not an IDX file");
    if (file[2] != kTypeU8) return error("an IDX file of another type than unsigned bytes");
    const std::size_t rank = file[3];
    if (rank < 1 || rank > kIdxRankMax) return error("an IDX file of rank " + std::to_string(rank));
    const std::size_t head = 4 + 4 * rank;
    if (file.size() < head) return error("the IDX file is cut off in its header");
    kernels::Tensor out{kernels::DType::u8, {}, {}};
    // Each extent has 32 bits: the product is compared with the length at every step, before it can overflow.
    std::uint64_t elements = 1;
    for (std::size_t i = 0; i < rank; ++i) {
        out.dims.push_back(load_u32_big(file.data() + 4 + 4 * i));
        if (out.dims.back() == 0) return error("the IDX file has no elements");
        elements *= out.dims.back();
        if (elements > file.size()) return error("the IDX file is shorter than its extents say");
    }
    if (file.size() != head + elements) {
        return error("the IDX file has " + std::to_string(file.size() - head) + " bytes of elements instead of " +
                     std::to_string(elements));
    }
    out.data = to_bytes(file.subspan(head));
    return out;
}

Result<kernels::Tensor> load_idx(const fs::path& path) {
    auto file = read_file(path, kDataBytesMax);
    if (!file) return error(file.error().message);
    if (is_gzip(*file)) {
        auto unpacked = gunzip(*file, kDataBytesMax);
        if (!unpacked) return error(path.string() + ": " + unpacked.error().message);
        *file = std::move(*unpacked);
    }
    auto tensor = decode_idx(*file);
    if (!tensor) return error(path.string() + ": " + tensor.error().message);
    return tensor;
}

Result<DataSet> load_idx_folder(const fs::path& folder, Split split, bool flat) {
    RETRACE_TRY(x, load_named(folder, prefix_of(split) + "-images-idx3-ubyte"));
    RETRACE_TRY(y, load_named(folder, prefix_of(split) + "-labels-idx1-ubyte"));
    if (x.dims.size() != 3 || y.dims.size() != 1) return error(folder.string() + ": not images and labels");
    const std::uint64_t samples = x.dims[0], rows = x.dims[1], cols = x.dims[2];
    x.dims = flat ? kernels::Dims{samples, rows * cols} : kernels::Dims{samples, 1, rows, cols};
    DataSet out;
    out.name = fs::path(folder / "").parent_path().filename().string() + (split == Split::train ? "-train" : "-test");
    out.source = prefix_of(split) + "-images-idx3-ubyte, " + prefix_of(split) + "-labels-idx1-ubyte";
    out.classes = *std::max_element(y.data.begin(), y.data.end()) + 1u;
    out.parts.push_back(make_part("x", std::move(x)));
    out.parts.push_back(make_part("y", std::move(y)));
    RETRACE_CHECK(check(out));
    return out;
}

bool is_idx_folder(const fs::path& folder) {
    return find_file(folder, "train-images-idx3-ubyte") || find_file(folder, "t10k-images-idx3-ubyte");
}

Result<fs::path> fashion_mnist_folder() {
    if (is_idx_folder(kFashionMnist)) return fs::path(kFashionMnist);
    return error(std::string(kFashionMnist) +
                 " is not there; install Debian's package dataset-fashion-mnist "
                 "(apt-get install --no-install-recommends dataset-fashion-mnist)");
}

}  // namespace retrace::node
