// SPDX-License-Identifier: MIT
#include "node/tasks/data/dataset.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/limits.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/base/ensure.hpp"
#include "node/platform/files.hpp"
#include "node/platform/strict_json.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using kernels::DType;

constexpr std::uint64_t kDatasetVersion = 1;
constexpr std::size_t kManifestBytesMax = std::size_t{1} << 20;
constexpr std::size_t kPartsMax = 64;
constexpr DType kDTypes[] = {DType::f32, DType::i8, DType::u8, DType::i32, DType::boolean};

bool is_part_name(std::string_view name) noexcept {
    const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_rest = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    return !name.empty() && name.size() <= 32 && is_letter(name.front()) &&
           std::all_of(name.begin(), name.end(), is_rest);
}

Status<> in_words(Status<Failure> status) {
    if (status) return Unit{};
    return error(std::move(status).error().message);
}

std::uint64_t tensor_bytes(const kernels::Tensor& tensor) { return tensor.elements() * kernels::size_of(tensor.dtype); }

Status<> check_labels(const kernels::Tensor& labels, std::uint32_t classes) {
    for (std::uint64_t i = 0; i < labels.elements(); ++i) {
        // A negative int32 label is a large number here, so one comparison does.
        const bool below_zero = labels.dtype == DType::i8 && labels.bits(i) > 127;
        if (below_zero || labels.bits(i) >= classes) {
            return error("sample " + std::to_string(i) + " has a label outside 0.." + std::to_string(classes - 1));
        }
    }
    return Unit{};
}

/// Reads everything but the elements, including the root that they must have.
Result<DataSet::Part> read_part(const json::value& value) {
    RETRACE_TRY(fields, StrictObject::open(value, {"name", "dtype", "shape", "root"}));
    DataSet::Part part;
    RETRACE_TRY(name, fields.text("name", 32));
    if (!is_part_name(name)) return error("the manifest names a tensor \"" + name + "\"");
    part.name = std::move(name);
    RETRACE_TRY(dtype, fields.text("dtype", 8));
    const auto found =
        std::find_if(std::begin(kDTypes), std::end(kDTypes), [&](DType known) { return dtype_name(known) == dtype; });
    if (found == std::end(kDTypes)) return error("the manifest has an unknown dtype " + dtype);
    part.tensor.dtype = *found;
    RETRACE_TRY(shape, fields.numbers("shape", kernels::kRankMax));
    RETRACE_CHECK(kernels::check_dims(shape));
    part.tensor.dims = std::move(shape);
    RETRACE_TRY(root, fields.hash("root"));
    part.root = root;
    return part;
}

Status<> read_elements(DataSet::Part& part, const fs::path& folder) {
    const std::uint64_t size = tensor_bytes(part.tensor);
    if (size > kDataBytesMax) return error("tensor " + part.name + " is too large");
    const fs::path path = folder / (part.name + ".bin");
    auto data = read_file(path, size);
    if (!data) return error(data.error().message);
    if (data->size() != size) {
        return error(path.string() + ": has " + std::to_string(data->size()) + " bytes instead of " +
                     std::to_string(size));
    }
    part.tensor.data = std::move(*data);
    kernels::ThreadPool pool;
    if (kernels::tensor_root(part.tensor, pool) != part.root) {
        return error(path.string() + ": the data does not hash to the root in the manifest");
    }
    return Unit{};
}

Status<> write_files(const DataSet& data, const fs::path& folder) {
    for (const DataSet::Part& part : data.parts) {
        RETRACE_CHECK(write_durably(folder / (part.name + ".bin"), {part.tensor.data}));
    }
    RETRACE_CHECK(write_durably(folder / "manifest.json", {view(manifest_json(data))}));
    return Unit{};
}

}  // namespace

std::uint64_t DataSet::samples() const noexcept {
    const kernels::Tensor* const x = find("x");
    const kernels::Tensor* const first = x != nullptr ? x : parts.empty() ? nullptr : &parts.front().tensor;
    return first == nullptr || first->dims.empty() ? 0 : first->dims.front();
}

std::vector<Hash32> DataSet::roots() const {
    std::vector<Hash32> out;
    for (const Part& part : parts) out.push_back(part.root);
    return out;
}

const kernels::Tensor* DataSet::find(std::string_view part) const noexcept {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.name == part; });
    return found == parts.end() ? nullptr : &found->tensor;
}

DataSet::Part make_part(std::string name, kernels::Tensor tensor) {
    ensure(is_part_name(name), "the name of a tensor of a data set");
    kernels::ThreadPool pool;
    const Hash32 root = kernels::tensor_root(tensor, pool);
    return {std::move(name), std::move(tensor), root};
}

Status<> check(const DataSet& data) {
    if (data.name.empty() || data.name.size() > 64) return error("a data set's name has 1 to 64 bytes");
    if (data.source.size() > 300) return error("a data set's source has at most 300 bytes");
    if (data.parts.empty() || data.parts.size() > kPartsMax) return error("a data set has 1 to 64 tensors");
    for (std::size_t i = 0; i < data.parts.size(); ++i) {
        const DataSet::Part& part = data.parts[i];
        if (data.find(part.name) != &part.tensor) return error("two tensors have the name " + part.name);
        if (tensor_bytes(part.tensor) > kDataBytesMax) return error("tensor " + part.name + " is too large");
        if (part.tensor.elements() == 0) return error("tensor " + part.name + " is empty");
    }
    const kernels::Tensor* const x = data.find("x");
    const kernels::Tensor* const y = data.find("y");
    if (x != nullptr && y != nullptr) {
        if (x->dims.empty() || y->dims.empty() || x->dims.front() != y->dims.front()) {
            return error("x and y have different numbers of samples");
        }
    }
    if (data.classes == 0) return Unit{};
    if (y == nullptr || y->dtype == DType::f32) return error("a data set with classes needs labels \"y\" of integers");
    return check_labels(*y, data.classes);
}

std::string_view dtype_name(DType dtype) noexcept {
    switch (dtype) {
        case DType::f32: return "f32";
        case DType::i8: return "i8";
        case DType::u8: return "u8";
        case DType::i32: return "i32";
        case DType::boolean: return "bool";
    }
    return "unknown";
}

std::string manifest_json(const DataSet& data) {
    json::array parts;
    for (const DataSet::Part& part : data.parts) {
        json::array shape(part.tensor.dims.begin(), part.tensor.dims.end());
        parts.push_back(json::object{{"name", part.name},
                                     {"dtype", dtype_name(part.tensor.dtype)},
                                     {"shape", std::move(shape)},
                                     {"root", to_0x(view(part.root))}});
    }
    return json::serialize(json::object{{"format", kDatasetVersion},
                                        {"name", data.name},
                                        {"source", data.source},
                                        {"classes", data.classes},
                                        {"tensors", std::move(parts)}}) +
           "\n";
}

Status<> save_dataset(const DataSet& data, const fs::path& folder) {
    RETRACE_CHECK(check(data));
    std::error_code code;
    if (fs::exists(folder, code) && !fs::is_empty(folder, code)) {
        return error(folder.string() + ": exists and is not an empty folder");
    }
    // Written beside the target and renamed, so that nobody can see a partial data set.
    fs::path target = fs::absolute(folder, code);
    if (target.filename().empty()) target = target.parent_path();
    const fs::path beside = target.string() + ".partial";
    fs::remove_all(beside, code);
    RETRACE_CHECK(in_words(make_directory(beside)));
    auto written = write_files(data, beside);
    if (written) {
        fs::rename(beside, target, code);
        if (code) written = error(target.string() + ": cannot create: " + code.message());
    }
    if (!written) fs::remove_all(beside, code);
    return written;
}

Result<DataSet> load_dataset(const fs::path& folder) {
    const fs::path path = folder / "manifest.json";
    const auto text = read_file(path, kManifestBytesMax);
    if (!text) return error(text.error().message);
    RETRACE_TRY(value, parse_json(*text, path.string()));
    RETRACE_TRY(fields, StrictObject::open(value, {"format", "name", "source", "classes", "tensors"}));
    RETRACE_TRY(format, fields.number("format"));
    if (format != kDatasetVersion) return error(path.string() + ": format " + std::to_string(format) + " is unknown");
    DataSet out;
    RETRACE_TRY(name, fields.text("name", 64));
    RETRACE_TRY(source, fields.text("source", 300));
    RETRACE_TRY(classes, fields.number("classes"));
    if (classes > 0xffffffff) return error(path.string() + ": too many classes");
    out.name = std::move(name);
    out.source = std::move(source);
    out.classes = static_cast<std::uint32_t>(classes);
    RETRACE_TRY(parts, fields.array("tensors", kPartsMax));
    for (const json::value& entry : *parts) {
        RETRACE_TRY(part, read_part(entry));
        RETRACE_CHECK(read_elements(part, folder));
        out.parts.push_back(std::move(part));
    }
    RETRACE_CHECK(check(out));
    return out;
}

}  // namespace retrace::node
