// SPDX-License-Identifier: MIT
#include "node/tasks/data/import.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "node/platform/files.hpp"
#include "node/tasks/data/npy.hpp"
#include "node/tasks/data/zip.hpp"
#include "solver/export/safetensors.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using kernels::DType;

constexpr std::uint32_t kClassesMax = 1u << 20;  ///< Larger whole numbers are quantities, not classes.

/// Whether all floats are whole numbers in 0 to kClassesMax - 1, so that they are class labels.
bool are_labels(const kernels::Tensor& y) {
    for (std::uint64_t i = 0; i < y.elements(); ++i) {
        const float value = std::bit_cast<float>(y.bits(i));
        if (!(value >= 0) || value >= static_cast<float>(kClassesMax) || value != std::floor(value)) return false;
    }
    return true;
}

std::int64_t label_at(const kernels::Tensor& y, std::uint64_t i) {
    const std::uint32_t bits = y.bits(i);
    if (y.dtype == DType::f32) return static_cast<std::int64_t>(std::bit_cast<float>(bits));
    if (y.dtype == DType::i8) return static_cast<std::int8_t>(bits);
    if (y.dtype == DType::i32) return static_cast<std::int32_t>(bits);
    return bits;
}

/// Converts labels to u8 if they fit, else to i32; sets `classes`.
Result<kernels::Tensor> pack_labels(const kernels::Tensor& y, std::uint32_t& classes) {
    std::int64_t greatest = 0;
    for (std::uint64_t i = 0; i < y.elements(); ++i) {
        const std::int64_t label = label_at(y, i);
        if (label < 0 || label >= kClassesMax) {
            return error("sample " + std::to_string(i) + " has the label " + std::to_string(label));
        }
        greatest = std::max(greatest, label);
    }
    classes = static_cast<std::uint32_t>(greatest + 1);
    kernels::Tensor out = kernels::zeros(greatest < 256 ? DType::u8 : DType::i32, y.dims);
    for (std::uint64_t i = 0; i < y.elements(); ++i) {
        const auto label = static_cast<std::uint32_t>(label_at(y, i));
        if (out.dtype == DType::u8) {
            out.data[i] = static_cast<std::uint8_t>(label);
        } else {
            store_u32(out.data.data() + 4 * i, label);
        }
    }
    return out;
}

Result<DataSet> from_named(std::vector<std::pair<std::string, kernels::Tensor>> arrays) {
    kernels::Tensor *x = nullptr, *y = nullptr;
    for (auto& [name, tensor] : arrays) {
        if (name != "x" && name != "y") return error("array " + name.substr(0, 40) + ": only x and y are understood");
        kernels::Tensor*& slot = name == "x" ? x : y;
        if (slot != nullptr) return error("two arrays are named " + name);
        slot = &tensor;
    }
    if (x == nullptr) return error("there is no array x");
    return make_xy(std::move(*x), y);
}

Result<DataSet> load_path(const fs::path& path, const ImportOptions& options) {
    std::error_code code;
    if (fs::is_directory(path, code)) {
        return is_idx_folder(path) ? load_idx_folder(path, options.split, options.flat)
                                   : load_image_folder(path, options.flat);
    }
    auto file = read_file(path, kDataBytesMax);
    if (!file) return error(file.error().message);
    const std::string suffix = path.extension().string();
    auto data = suffix == ".csv"           ? decode_csv(*file, options.label)
                : suffix == ".npz"         ? decode_npz(*file)
                : suffix == ".safetensors" ? decode_safetensors_data(*file)
                                           : decode_tokens(*file, options);
    if (!data) return error(path.string() + ": " + data.error().message);
    return data;
}

}  // namespace

Status<> clean(kernels::Tensor& tensor, const std::string& name) {
    if (tensor.dtype != DType::f32) return Unit{};
    const std::uint64_t elements = tensor.elements();
    for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint32_t bits = tensor.bits(i), exponent = bits >> 23 & 0xff;
        if (exponent == 0xff) return error(name + " holds a NaN or an infinity at element " + std::to_string(i));
        if (exponent == 0) store_u32(tensor.data.data() + 4 * i, bits & 0x80000000);
    }
    return Unit{};
}

Result<DataSet> make_xy(kernels::Tensor x, const kernels::Tensor* y) {
    DataSet out;
    out.name = "data";
    RETRACE_CHECK(clean(x, "x"));
    out.parts.push_back(make_part("x", std::move(x)));
    if (y == nullptr) return out;
    kernels::Tensor target = *y;
    RETRACE_CHECK(clean(target, "y"));
    if (target.dtype != DType::f32 || are_labels(target)) {
        RETRACE_TRY(labels, pack_labels(target, out.classes));
        target = std::move(labels);
    }
    out.parts.push_back(make_part("y", std::move(target)));
    RETRACE_CHECK(check(out));
    return out;
}

Result<DataSet> decode_npz(View file) {
    RETRACE_TRY(members, read_zip(file, kDataBytesMax));
    std::vector<std::pair<std::string, kernels::Tensor>> arrays;
    for (const ZipMember& member : members) {
        auto tensor = decode_npy(member.data);
        if (!tensor) return error(member.name.substr(0, 40) + ": " + tensor.error().message);
        const std::string name =
            member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
        arrays.emplace_back(name, std::move(*tensor));
    }
    return from_named(std::move(arrays));
}

Result<DataSet> decode_safetensors_data(View file) {
    RETRACE_TRY(content, solver::decode_safetensors(file));
    std::vector<std::pair<std::string, kernels::Tensor>> arrays;
    for (auto& named : content.tensors) arrays.emplace_back(named.name, std::move(named.tensor));
    return from_named(std::move(arrays));
}

Result<DataSet> decode_tokens(View file, const ImportOptions& options) {
    const std::uint32_t width = options.token_bytes;
    if (width != 1 && width != 2 && width != 4) return error("a token has 1, 2 or 4 bytes");
    if (options.context == 0 || options.context > (1u << 20)) return error("a sample has 1 to 1048576 tokens");
    if (file.size() % width != 0) return error("the file's size is not a multiple of the token size");
    const std::uint64_t tokens = file.size() / width;
    if (tokens <= options.context) return error("fewer tokens than one sample needs");
    const std::uint64_t samples = (tokens - 1) / options.context;
    const DType dtype = width == 1 ? DType::u8 : DType::i32;
    kernels::Tensor x = kernels::zeros(dtype, {samples, options.context}), y = x;
    std::uint32_t greatest = 0;
    const auto token = [&](std::uint64_t i) {
        const std::uint8_t* const p = file.data() + i * width;
        return width == 1 ? *p : width == 2 ? load_u16(p) : load_u32(p);
    };
    for (std::uint64_t i = 0; i <= samples * options.context; ++i) {
        const std::uint32_t value = token(i);
        if (value >= kClassesMax) return error("token " + std::to_string(i) + " is " + std::to_string(value));
        greatest = std::max(greatest, value);
        const auto put = [&](kernels::Tensor& tensor, std::uint64_t at) {
            width == 1 ? void(tensor.data[at] = static_cast<std::uint8_t>(value))
                       : store_u32(tensor.data.data() + 4 * at, value);
        };
        if (i < samples * options.context) put(x, i);
        if (i > 0) put(y, i - 1);
    }
    DataSet out;
    out.name = "tokens";
    out.classes = width == 1 ? 256 : greatest + 1;
    out.parts.push_back(make_part("x", std::move(x)));
    out.parts.push_back(make_part("y", std::move(y)));
    RETRACE_CHECK(check(out));
    return out;
}

Result<DataSet> import_dataset(const std::string& path, const ImportOptions& options) {
    fs::path source = path;
    if (path == "fashion-mnist") {
        RETRACE_TRY(folder, fashion_mnist_folder());
        source = folder;
    }
    RETRACE_TRY(data, load_path(source, options));
    const fs::path named = source.filename().empty() ? source.parent_path() : source;
    if (data.source.empty()) data.source = named.filename().string().substr(0, 300);
    if (!is_idx_folder(source)) data.name = named.stem().string().substr(0, 64);
    if (!options.name.empty()) data.name = options.name;
    RETRACE_CHECK(check(data));
    return data;
}

}  // namespace retrace::node
