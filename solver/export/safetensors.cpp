// SPDX-License-Identifier: MIT
#include "solver/export/safetensors.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "kernels/program/limits.hpp"
#include "merkle/base/json.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;
using kernels::Tensor;

constexpr std::array<std::pair<DType, std::string_view>, 5> kDTypes = {
    {{DType::f32, "F32"}, {DType::i8, "I8"}, {DType::u8, "U8"}, {DType::i32, "I32"}, {DType::boolean, "BOOL"}}};
constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kAlignment = 8;
/// The largest number of tensors of a state (node/wire/artifact_codec.hpp), plus one for the metadata.
constexpr std::size_t kEntriesMax = (std::size_t{1} << 16) + 1;

std::string_view name_of(DType dtype) {
    const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& d) { return d.first == dtype; });
    ensure(found != kDTypes.end(), "a known dtype");
    return found->second;
}

std::string list(const std::vector<std::uint64_t>& numbers) {
    std::string out = "[";
    for (const std::uint64_t number : numbers) out += (out.size() > 1 ? "," : "") + std::to_string(number);
    return out + "]";
}

/// A tensor of the header and the range of its bytes.
struct Placed {
    NamedTensor named;
    std::uint64_t begin = 0, end = 0;
};

/// Returns the numbers of an array; nullopt if `json` is something else.
std::optional<std::vector<std::uint64_t>> read_numbers(const Json& json) {
    if (json.array() == nullptr) return std::nullopt;
    std::vector<std::uint64_t> out;
    for (const Json& item : *json.array()) {
        if (item.natural() == nullptr) return std::nullopt;
        out.push_back(*item.natural());
    }
    return out;
}

Result<Placed> read_entry(const std::string& name, const Json& entry) {
    const Json *dtype = entry.find("dtype"), *shape = entry.find("shape"), *offsets = entry.find("data_offsets");
    if (dtype == nullptr || shape == nullptr || offsets == nullptr || entry.members.size() != 3) {
        return error("tensor \"" + name + "\": has not just dtype, shape and data_offsets");
    }
    const std::string* type = dtype->text();
    const auto dims = read_numbers(*shape), range = read_numbers(*offsets);
    if (!dims || !range) {
        return error("tensor \"" + name + "\": shape and data_offsets are no lists of numbers from 0 to 2^64 - 1");
    }
    if (type == nullptr || range->size() != 2 || (*range)[0] > (*range)[1]) {
        return error("tensor \"" + name + "\": a field of the wrong type");
    }
    const auto known = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const auto& d) { return d.second == *type; });
    if (known == kDTypes.end()) return error("tensor \"" + name + "\": dtype " + *type + " is not supported");
    if (const auto fine = kernels::check_dims(*dims); !fine) {
        return error("tensor \"" + name + "\": " + fine.error().message);
    }
    Placed placed{{name, {known->first, *dims, {}}}, (*range)[0], (*range)[1]};
    if (placed.end - placed.begin != placed.named.tensor.elements() * kernels::size_of(known->first)) {
        return error("tensor \"" + name + "\": its bytes do not fit its shape");
    }
    return placed;
}

Status<> read_metadata(const Json& entry, TensorFile& file) {
    if (entry.kind != Json::Kind::object) return error("metadata: it is no object");
    for (const auto& [key, value] : entry.members) {
        if (value.text() == nullptr) return error("metadata: \"" + key + "\" is no string");
        file.metadata[key] = *value.text();
    }
    return Unit{};
}

}  // namespace

Bytes encode_safetensors_head(const TensorFile& file) {
    std::string header = "{";
    if (!file.metadata.empty()) {
        header += quote_json(kMetadata) + ":{";
        for (const auto& [key, value] : file.metadata) {
            header += (header.back() == '{' ? "" : ",") + quote_json(key) + ":" + quote_json(value);
        }
        header += "}";
    }
    std::set<std::string> names = {std::string(kMetadata)};
    std::uint64_t at = 0;
    for (const NamedTensor& named : file.tensors) {
        ensure(names.insert(named.name).second, "names of tensors are unique");
        const std::uint64_t end = at + named.tensor.elements() * kernels::size_of(named.tensor.dtype);
        header += (header.size() > 1 ? "," : "") + quote_json(named.name) +
                  ":{\"dtype\":" + quote_json(name_of(named.tensor.dtype)) + ",\"shape\":" + list(named.tensor.dims) +
                  ",\"data_offsets\":" + list({at, end}) + "}";
        at = end;
    }
    header += "}";
    header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    Writer out;
    out.u64(header.size()).raw(view(header));
    return std::move(out).take();
}

Bytes encode_safetensors(const TensorFile& file) {
    Writer out;
    out.raw(encode_safetensors_head(file));
    for (const NamedTensor& named : file.tensors) out.raw(named.tensor.data);
    return std::move(out).take();
}

Result<TensorFile> decode_safetensors(View bytes) {
    if (bytes.size() < 8) return error("safetensors: truncated before the header");
    const std::uint64_t length = load_u64(bytes.data());
    if (length > kSafetensorsHeaderMax) return error("safetensors: header over the limit");
    if (length > bytes.size() - 8) return error("safetensors: truncated in the header");
    const View text = bytes.subspan(8, length), data = bytes.subspan(8 + length);
    const auto header = parse_json({reinterpret_cast<const char*>(text.data()), text.size()});
    if (!header) return error("safetensors: header: " + header.error().message);
    if (header->kind != Json::Kind::object) return error("safetensors: header: it is no object");
    if (header->members.size() > kEntriesMax) return error("safetensors: header: too many tensors");

    TensorFile file;
    std::vector<Placed> placed;
    for (const auto& [name, entry] : header->members) {
        if (name == kMetadata) {
            RETRACE_CHECK(read_metadata(entry, file));
            continue;
        }
        RETRACE_TRY(tensor, read_entry(name, entry));
        placed.push_back(std::move(tensor));
    }
    std::stable_sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t at = 0;
    for (Placed& tensor : placed) {
        if (tensor.begin != at) return error("tensor \"" + tensor.named.name + "\": a gap or an overlap before it");
        if (tensor.end > data.size()) return error("tensor \"" + tensor.named.name + "\": truncated");
        tensor.named.tensor.data = to_bytes(data.subspan(tensor.begin, tensor.end - tensor.begin));
        at = tensor.end;
        file.tensors.push_back(std::move(tensor.named));
    }
    if (at != data.size()) return error("safetensors: bytes are left after the last tensor");
    return file;
}

bool is_parameter(const std::string& name) {
    const auto ends_with = [&](std::string_view suffix) { return name.ends_with(suffix); };
    return !name.empty() && !ends_with(".m") && !ends_with(".v") && !ends_with(".momentum");
}

}  // namespace retrace::solver
