// SPDX-License-Identifier: MIT
#include "node/tasks/data/import.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/program/limits.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/data/gzip.hpp"
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

using NamedArrays = std::vector<std::pair<std::string, kernels::Tensor>>;

std::string lower_case(std::string text) {
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return text;
}

/// Takes the arrays of the split: x and y, or x_train and x_test with their y, in either case of letters.
Result<DataSet> from_named(NamedArrays arrays, Split split) {
    const std::string ours = split == Split::test ? "_test" : "_train";
    const std::string others = split == Split::test ? "_train" : "_test";
    kernels::Tensor *x = nullptr, *y = nullptr;
    for (auto& [full, tensor] : arrays) {
        std::string name = lower_case(full);
        if (name == "x" + others || name == "y" + others) continue;
        if (name.ends_with(ours)) name.resize(name.size() - ours.size());
        if (name != "x" && name != "y")
            return error("array " + full.substr(0, 40) +
                         ": only x and y, X_train and y_train, X_test and y_test are "
                         "understood");
        kernels::Tensor*& slot = name == "x" ? x : y;
        if (slot != nullptr) return error("two arrays are named " + name);
        slot = &tensor;
    }
    if (x == nullptr) return error("there is no array x");
    return make_xy(std::move(*x), y);
}

/// X_train.npy has its labels beside it in y_train.npy; a file that is not named so has none.
Result<DataSet> load_npy(const fs::path& path, View file) {
    auto x = decode_npy(file);
    if (!x) return error(x.error().message);
    std::string name = path.filename().string();
    std::error_code ignored;
    if (name.front() != 'x' && name.front() != 'X') return make_xy(std::move(*x), nullptr);
    for (const char letter : {'y', 'Y'}) {
        name.front() = letter;
        const fs::path beside = path.parent_path() / name;
        if (!fs::is_regular_file(beside, ignored)) continue;
        auto labels = read_file(beside, kDataBytesMax);
        if (!labels) return error(labels.error().message);
        const auto y = decode_npy(*labels);
        if (!y) return error(name + ": " + y.error().message);
        return make_xy(std::move(*x), &*y);
    }
    return make_xy(std::move(*x), nullptr);
}

/// Gives each sample of x the shape [extents …], as which the file stores its numbers already.
Status<> reshape(DataSet& data, const std::vector<std::uint64_t>& shape) {
    if (shape.empty()) return Unit{};
    for (DataSet::Part& part : data.parts) {
        if (part.name != "x") continue;
        kernels::Dims dims{part.tensor.dims.front()};
        dims.insert(dims.end(), shape.begin(), shape.end());
        RETRACE_CHECK(kernels::check_dims(dims));
        kernels::Tensor reshaped = std::move(part.tensor);
        const std::uint64_t before = reshaped.elements();
        reshaped.dims = std::move(dims);
        if (reshaped.elements() != before)
            return error("--shape: a sample has " + std::to_string(before / reshaped.dims.front()) +
                         " numbers and the shape " + std::to_string(reshaped.elements() / reshaped.dims.front()));
        part = make_part("x", std::move(reshaped));
    }
    return Unit{};
}

Result<DataSet> decode_file(const fs::path& path, const std::string& suffix, View file, const ImportOptions& options) {
    if (suffix == ".csv") return decode_csv(file, options.label, options.delimiter);
    if (suffix == ".tsv") return decode_csv(file, options.label, options.delimiter == 0 ? '\t' : options.delimiter);
    if (suffix == ".npz") return decode_npz(file, options.split);
    if (suffix == ".npy") return load_npy(path, file);
    if (suffix == ".safetensors") return decode_safetensors_data(file, options.split);
    if (options.raw_tokens || suffix == ".txt" || suffix == ".bin" || suffix == ".tokens")
        return decode_tokens(file, options);
    return error(
        "a file of this kind is not understood: .csv, .tsv (also .gz), .npz, .npy, .safetensors, and raw "
        "tokens in .txt, .bin or .tokens are; --raw-tokens takes its bytes as tokens");
}

Result<DataSet> load_path(const fs::path& path, const ImportOptions& options) {
    std::error_code code;
    if (fs::is_directory(path, code)) {
        return is_idx_folder(path) ? load_idx_folder(path, options.split, options.flat)
                                   : load_image_folder(path, options.flat);
    }
    auto file = read_file(path, kDataBytesMax);
    if (!file) return error(file.error().message);
    std::string suffix = lower_case(path.extension().string());
    if (suffix == ".gz" && !options.raw_tokens) {
        auto unpacked = gunzip(*file, kDataBytesMax);
        if (!unpacked) return error(path.string() + ": " + unpacked.error().message);
        file = std::move(*unpacked);
        suffix = lower_case(path.stem().extension().string());
    }
    auto data = decode_file(path, suffix, *file, options);
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

Result<DataSet> decode_npz(View file, Split split) {
    RETRACE_TRY(members, read_zip(file, kDataBytesMax));
    NamedArrays arrays;
    for (const ZipMember& member : members) {
        auto tensor = decode_npy(member.data);
        if (!tensor) return error(member.name.substr(0, 40) + ": " + tensor.error().message);
        const std::string name =
            member.name.ends_with(".npy") ? member.name.substr(0, member.name.size() - 4) : member.name;
        arrays.emplace_back(name, std::move(*tensor));
    }
    return from_named(std::move(arrays), split);
}

Result<DataSet> decode_safetensors_data(View file, Split split) {
    RETRACE_TRY(content, solver::decode_safetensors(file));
    NamedArrays arrays;
    for (auto& named : content.tensors) arrays.emplace_back(named.name, std::move(named.tensor));
    return from_named(std::move(arrays), split);
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
    RETRACE_CHECK(reshape(data, options.shape));
    const fs::path named = source.filename().empty() ? source.parent_path() : source;
    if (data.source.empty()) data.source = named.filename().string().substr(0, 300);
    if (!is_idx_folder(source)) data.name = named.stem().string().substr(0, 64);
    if (!options.name.empty()) data.name = options.name;
    RETRACE_CHECK(check(data));
    return data;
}

}  // namespace retrace::node
