// SPDX-License-Identifier: MIT
#include <algorithm>

#include "node/platform/files.hpp"
#include "node/tasks/data/images.hpp"
#include "node/tasks/data/import.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kImageFileBytesMax = std::size_t{64} << 20;

/// Sorted by name, so that the data set does not depend on the file system.
std::vector<fs::path> sorted_entries(const fs::path& folder, bool directories) {
    std::vector<fs::path> out;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with('.') && entry.is_directory(code) == directories) out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// Appends the pixels channel after channel: [channels, rows, cols].
void append_planes(const Image& image, Bytes& out) {
    const std::size_t pixels = std::size_t{image.width} * image.height;
    for (std::uint32_t channel = 0; channel < image.channels; ++channel) {
        for (std::size_t i = 0; i < pixels; ++i) out.push_back(image.pixels[i * image.channels + channel]);
    }
}

struct Gathered {
    Image first;  ///< Without pixels.
    Bytes x;
    std::uint64_t samples = 0;
};

Status<> add_image(const fs::path& path, Gathered& all) {
    const auto file = read_file(path, kImageFileBytesMax);
    if (!file) return error(file.error().message);
    auto image = decode_image(*file, all.first.channels);
    if (!image) return error(path.string() + ": " + image.error().message);
    if (all.samples == 0) all.first = {image->width, image->height, image->channels, {}};
    if (image->width != all.first.width || image->height != all.first.height) {
        return error(path.string() + ": " + std::to_string(image->width) + "x" + std::to_string(image->height) +
                     " pixels; the images before it have " + std::to_string(all.first.width) + "x" +
                     std::to_string(all.first.height));
    }
    if (all.x.size() + image->pixels.size() > kDataBytesMax) return error(path.string() + ": the images are too many");
    append_planes(*image, all.x);
    ++all.samples;
    return Unit{};
}

}  // namespace

Result<DataSet> load_image_folder(const fs::path& folder, bool flat) {
    const auto classes = sorted_entries(folder, true);
    if (classes.empty()) return error(folder.string() + ": no IDX files, and no folder of images for each class");
    Gathered all;
    Bytes labels;
    for (std::size_t label = 0; label < classes.size(); ++label) {
        const auto files = sorted_entries(classes[label], false);
        if (files.empty()) return error(classes[label].string() + ": no images");
        for (const fs::path& path : files) {
            RETRACE_CHECK(add_image(path, all));
            labels.resize(labels.size() + 4);
            store_u32(labels.data() + labels.size() - 4, static_cast<std::uint32_t>(label));
        }
    }
    const std::uint64_t rows = all.first.height, cols = all.first.width, channels = all.first.channels;
    kernels::Tensor x{kernels::DType::u8, {all.samples, channels, rows, cols}, std::move(all.x)};
    if (flat) x.dims = {all.samples, channels * rows * cols};
    const kernels::Tensor y{kernels::DType::i32, {all.samples}, std::move(labels)};
    return make_xy(std::move(x), &y);
}

}  // namespace retrace::node
