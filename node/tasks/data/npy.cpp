// SPDX-License-Identifier: MIT
#include "node/tasks/data/npy.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "kernels/program/limits.hpp"

namespace retrace::node {
namespace {

using kernels::DType;

constexpr std::size_t kNpyHeaderBytesMax = 64 << 10;

struct NpyHeader {
    std::string descr;
    bool fortran = false;
    kernels::Dims shape;
};

/// The header is a Python dictionary literal. Only what numpy writes is read: strings in single quotes, True,
/// False, a tuple of whole numbers. Nothing is evaluated.
class HeaderReader {
public:
    explicit HeaderReader(std::string_view text) : text_(text) {}

    Result<NpyHeader> read() {
        NpyHeader out;
        bool descr = false, order = false, shape = false;
        if (!take('{')) return bad();
        while (!take('}')) {
            const auto key = string();
            if (!key || !take(':')) return bad();
            bool* const seen = *key == "descr"           ? &descr
                               : *key == "fortran_order" ? &order
                               : *key == "shape"         ? &shape
                                                         : nullptr;
            if (seen == nullptr || *seen) return bad();
            *seen = true;
            if (!(*key == "descr" ? read_descr(out) : *key == "shape" ? read_shape(out) : read_order(out)))
                return bad();
            take(',');
        }
        skip();
        if (!descr || !order || !shape || !text_.empty()) return bad();
        return out;
    }

private:
    static Unexpected<Error> bad() { return retrace::error("the NPY header is not what NumPy writes"); }

    void skip() {
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n')) text_.remove_prefix(1);
    }
    bool take(char c) {
        skip();
        if (text_.empty() || text_.front() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    bool take(std::string_view word) {
        skip();
        if (!text_.starts_with(word)) return false;
        text_.remove_prefix(word.size());
        return true;
    }
    std::optional<std::string> string() {
        if (!take('\'')) return std::nullopt;
        const auto end = text_.find('\'');
        if (end == std::string_view::npos || end > 40) return std::nullopt;
        std::string out(text_.substr(0, end));
        text_.remove_prefix(end + 1);
        return out;
    }
    bool read_descr(NpyHeader& out) {
        const auto value = string();
        if (value) out.descr = *value;
        return value.has_value();
    }
    bool read_order(NpyHeader& out) {
        out.fortran = take(std::string_view("True"));
        return out.fortran || take(std::string_view("False"));
    }
    bool read_shape(NpyHeader& out) {
        if (!take('(')) return false;
        while (!take(')')) {
            skip();
            std::uint64_t extent = 0;
            const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
            if (code != std::errc{} || out.shape.size() == kernels::kRankMax) return false;
            text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
            out.shape.push_back(extent);
            if (!take(',') && !text_.starts_with(')')) return false;
        }
        return true;
    }

    std::string_view text_;
};

struct ElementType {
    std::string_view descr;
    DType dtype;
    std::uint32_t size;
};
constexpr ElementType kTypes[] = {{"<f4", DType::f32, 4}, {"<f8", DType::f32, 8},     {"|u1", DType::u8, 1},
                                  {"|i1", DType::i8, 1},  {"|b1", DType::boolean, 1}, {"<i4", DType::i32, 4},
                                  {"<u2", DType::i32, 2}, {"<i2", DType::i32, 2},     {"<u4", DType::i32, 4},
                                  {"<i8", DType::i32, 8}};

std::int64_t whole_number(std::string_view descr, const std::uint8_t* p) {
    if (descr == "<u2") return load_u16(p);
    if (descr == "<i2") return static_cast<std::int16_t>(load_u16(p));
    if (descr == "<u4") return load_u32(p);
    return static_cast<std::int64_t>(load_u64(p));
}

/// Converts elements whose width differs from the dtype's.
Status<> convert(const ElementType& type, View in, Bytes& out) {
    const std::size_t count = in.size() / type.size;
    out.resize(count * 4);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* const p = in.data() + i * type.size;
        std::uint32_t bits = 0;
        if (type.dtype == DType::f32) {
            bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(load_u64(p))));
        } else {
            const std::int64_t value = whole_number(type.descr, p);
            if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
                return error("element " + std::to_string(i) + " does not fit int32");
            }
            bits = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
        }
        store_u32(out.data() + 4 * i, bits);
    }
    return Unit{};
}

}  // namespace

Result<kernels::Tensor> decode_npy(View file) {
    constexpr std::uint8_t kMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (file.size() < 12 || !equal(file.first(6), kMagic)) return error("not an NPY file");
    const std::uint8_t major = file[6];
    if (major < 1 || major > 3) return error("NPY format " + std::to_string(major) + " is unknown");
    const std::size_t start = major == 1 ? 10 : 12;
    const std::size_t length = major == 1 ? load_u16(file.data() + 8) : load_u32(file.data() + 8);
    if (length > kNpyHeaderBytesMax) return error("the NPY header is too long");
    if (file.size() - start < length) return error("the NPY file is cut off in its header");
    const View text = file.subspan(start, length);
    RETRACE_TRY(header, HeaderReader({reinterpret_cast<const char*>(text.data()), text.size()}).read());
    const View data = file.subspan(start + length);
    if (header.descr.find('O') != std::string::npos) {
        return error(
            "an array of Python objects (a pickle), which is refused: loading it would run its author's "
            "code");
    }
    const auto type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const ElementType& known) { return known.descr == header.descr; });
    if (type == std::end(kTypes)) return error("elements of type " + header.descr + " are not supported");
    if (header.fortran) return error("the array is in Fortran order; save numpy.ascontiguousarray(a) instead");
    RETRACE_CHECK(kernels::check_dims(header.shape));
    kernels::Tensor out{type->dtype, std::move(header.shape), {}};
    if (data.size() != out.elements() * type->size) {
        return error("the array has " + std::to_string(data.size()) + " bytes instead of " +
                     std::to_string(out.elements() * type->size));
    }
    const bool as_is = type->size == kernels::size_of(type->dtype) && type->descr != "<u4";
    if (as_is) {
        out.data = to_bytes(data);
    } else {
        RETRACE_CHECK(convert(*type, data, out.data));
    }
    if (out.dtype == DType::boolean &&
        std::any_of(out.data.begin(), out.data.end(), [](std::uint8_t byte) { return byte > 1; })) {
        return error("a bool that is neither 0 nor 1");
    }
    return out;
}

}  // namespace retrace::node
