// SPDX-License-Identifier: MIT
#include "node/tasks/open_data.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "node/tasks/data/import.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
using kernels::DType;

bool has_manifest(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path / "manifest.json", ignored);
}

Result<ImportOptions> options_of(const DataRequest& request, Split split) {
    ImportOptions options;
    RETRACE_TRY(delimiter, parse_delimiter(request.delimiter));
    RETRACE_TRY(shape, parse_shape(request.shape));
    options.delimiter = delimiter;
    options.shape = std::move(shape);
    options.raw_tokens = request.raw_tokens;
    options.split = split;
    options.flat = request.flat;
    options.label = request.label;
    options.context = request.context;
    options.token_bytes = request.token_bytes;
    return options;
}

Result<DataSet> open_one(const std::string& path, const DataRequest& request, Split split) {
    std::error_code ignored;
    if (path != "fashion-mnist" && !fs::exists(path, ignored)) return error(path + ": no such file or folder");
    if (has_manifest(path)) return load_dataset(path);
    RETRACE_TRY(options, options_of(request, split));
    return import_dataset(path, options);
}

/// Returns samples [first, first + count) of every part.
DataSet part_of(const DataSet& data, std::uint64_t first, std::uint64_t count) {
    DataSet out = data;
    out.parts.clear();
    for (const DataSet::Part& part : data.parts) {
        kernels::Tensor piece = part.tensor;
        const std::uint64_t each = piece.data.size() / piece.dims[0];
        piece.dims[0] = count;
        const auto* const start = part.tensor.data.data() + first * each;
        piece.data.assign(start, start + count * each);
        out.parts.push_back(make_part(part.name, std::move(piece)));
    }
    return out;
}

Status<> check_numbers(const DataSet& data) {
    for (const DataSet::Part& part : data.parts) {
        if (part.tensor.dtype != DType::f32) continue;
        for (std::uint64_t i = 0; i < part.tensor.elements(); ++i) {
            if ((part.tensor.bits(i) >> 23 & 0xff) == 0xff) {
                return error("the data set holds a NaN or an infinity: " + part.name + ", element " +
                             std::to_string(i));
            }
        }
    }
    return Unit{};
}

Status<> check_targets(const DataSet& data, const kernels::Tensor& y, kernels::LossKind loss) {
    if (loss == kernels::LossKind::cross_entropy) {
        if (data.classes < 2 || y.dtype == DType::f32) {
            return error("cross_entropy needs a class for each sample and y holds numbers; use --loss mse");
        }
        return Unit{};
    }
    if (loss != kernels::LossKind::bce) return Unit{};
    for (std::uint64_t i = 0; i < y.elements(); ++i) {
        const std::uint32_t bits = y.bits(i);
        const float value = y.dtype == DType::f32 ? std::bit_cast<float>(bits) : static_cast<float>(bits);
        if (!(value >= 0.0f && value <= 1.0f)) {
            return error("bce needs targets from 0 to 1 and element " + std::to_string(i) + " of y is " +
                         std::to_string(value));
        }
    }
    return Unit{};
}

}  // namespace

Result<char> parse_delimiter(const std::string& text) {
    if (text.empty()) return '\0';
    if (text == "tab" || text == "\\t") return '\t';
    if (text.size() == 1 && text != "\"" && text != "\n" && text != "\r") return text.front();
    return error("--delimiter is one character, like \";\", or tab");
}

Result<std::vector<std::uint64_t>> parse_shape(const std::string& text) {
    std::vector<std::uint64_t> out;
    for (std::size_t at = 0; at < text.size();) {
        std::uint64_t extent = 0;
        const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), extent);
        at = static_cast<std::size_t>(end - text.data());
        const bool ended = at == text.size();
        if (code != std::errc{} || extent == 0 || (!ended && (text[at] != 'x' || at + 1 == text.size())))
            return error("--shape is the shape of one sample, like 1x28x28, not \"" + text + "\"");
        out.push_back(extent);
        if (!ended) ++at;
    }
    return out;
}

bool are_tokens(const DataSet& data) {
    const kernels::Tensor *x = data.find("x"), *y = data.find("y");
    const bool whole = x != nullptr && (x->dtype == DType::u8 || x->dtype == DType::i32);
    return whole && y != nullptr && x->dims.size() == 2 && y->dims == x->dims && y->dtype != DType::f32;
}

Status<> check_data(const DataSet& data, kernels::LossKind loss, std::uint64_t batch) {
    const kernels::Tensor *x = data.find("x"), *y = data.find("y");
    if (x == nullptr || y == nullptr || x->dims.size() < 2 || data.parts.size() != 2) {
        return error("the data set needs parts x [samples, …] and y [samples, …], and no others");
    }
    if (data.samples() < batch) {
        return error("the data set has " + std::to_string(data.samples()) + " samples, fewer than a batch of " +
                     std::to_string(batch));
    }
    if (x->dtype != DType::u8 && x->dtype != DType::i32 && x->dtype != DType::f32) {
        return error("x holds " + std::string(dtype_name(x->dtype)) + "; u8, i32 and f32 are understood");
    }
    RETRACE_CHECK(check_numbers(data));
    return check_targets(data, *y, loss);
}

Result<TaskData> open_data(const DataRequest& request) {
    RETRACE_TRY(train, open_one(request.data, request, Split::train));
    TaskData out{std::move(train), std::nullopt};
    const bool has_splits = request.data == "fashion-mnist" || is_idx_folder(request.data);
    if (request.test_share > 0 && (has_splits || !request.test_data.empty()))
        return error("--test-share: " + (has_splits ? request.data + " has test samples of its own"
                                                    : std::string("--test-data names the test samples")));
    if (!request.test_data.empty()) {
        RETRACE_TRY(test, open_one(request.test_data, request, Split::test));
        out.test = std::move(test);
    } else if (has_splits) {
        RETRACE_TRY(test, open_one(request.data, request, Split::test));
        out.test = std::move(test);
    } else if (request.test_share > 0) {
        const std::uint64_t all = out.train.samples();
        const auto test = static_cast<std::uint64_t>(std::llround(request.test_share * static_cast<double>(all)));
        if (test == 0 || test >= all)
            return error("--test-share leaves " + std::to_string(all - test) + " samples to train and " +
                         std::to_string(test) + " to test");
        out.test = part_of(out.train, all - test, test);
        out.train = part_of(out.train, 0, all - test);
    } else if (are_tokens(out.train) && out.train.samples() >= 20 && !has_manifest(request.data)) {
        const std::uint64_t kept = out.train.samples() - out.train.samples() / 10;
        out.test = part_of(out.train, kept, out.train.samples() - kept);
        out.train = part_of(out.train, 0, kept);
    }
    return out;
}

Result<DataSet> open_data(const std::string& data, Split split, bool flat) {
    DataRequest request;
    request.flat = flat;
    return open_one(data, request, split);
}

}  // namespace retrace::node
