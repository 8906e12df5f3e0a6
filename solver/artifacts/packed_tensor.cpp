// SPDX-License-Identifier: MIT
#include "solver/artifacts/packed_tensor.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace retrace::solver {
namespace {

using kernels::DType;
using kernels::Tensor;

/// Calls `each(word)` for every element. The dtype is looked at once, not for every element.
template <class Each>
void for_each_word(const Tensor& tensor, const Each& each) {
    const std::uint8_t* data = tensor.data.data();
    const std::uint64_t elements = tensor.elements();
    if (tensor.dtype == DType::boolean) {
        for (std::uint64_t i = 0; i < elements; ++i) each(std::uint32_t{data[i]});
    } else {
        for (std::uint64_t i = 0; i < elements; ++i) each(load_u32(data + 4 * i));
    }
}

std::uint32_t width_of(const Tensor& tensor) {
    std::uint32_t any = 0;
    for_each_word(tensor, [&](std::uint32_t word) { any |= word; });
    return static_cast<std::uint32_t>(std::bit_width(any));
}

/// Reads words of 1 to 32 bits: eight bytes at a time, of which a word takes at most 39 bits.
class Words {
public:
    Words(View bytes, std::uint32_t width)
        : bytes_(bytes), width_(width), mask_(static_cast<std::uint32_t>((std::uint64_t{1} << width) - 1)) {
        const std::uint64_t whole = bytes.size() < kLoad ? 0 : bytes.size() - kLoad;
        tail_at_ = whole;
        std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes.end(), tail_.begin());
    }
    std::uint32_t at(std::uint64_t element) const {
        const std::uint64_t bit = element * width_, byte = bit / 8;
        const std::uint64_t bits =
            byte < tail_at_ ? load_u64(bytes_.data() + byte) : load_u64(tail_.data() + (byte - tail_at_));
        return static_cast<std::uint32_t>(bits >> bit % 8) & mask_;
    }

private:
    static constexpr std::size_t kLoad = 8;
    View bytes_;
    std::uint32_t width_, mask_;
    std::uint64_t tail_at_ = 0;
    std::array<std::uint8_t, 2 * kLoad> tail_{};  ///< The last bytes, followed by zeros.
};

/// Checks the zero bits after the last element.
Status<> check_padding(View words, std::uint64_t bits) {
    if (bits % 8 != 0 && words.back() >> bits % 8 != 0) return error("packed tensor: padding that is not zero");
    return Unit{};
}

}  // namespace

std::uint64_t packed_bytes(std::uint32_t width, std::uint64_t elements) noexcept {
    return 1 + (elements * width + 7) / 8;
}

Bytes pack(const Tensor& tensor) {
    ensure(tensor.dtype == DType::i32 || tensor.dtype == DType::boolean, "a tensor of int32 or bool");
    const std::uint32_t width = width_of(tensor);
    Bytes out(packed_bytes(width, tensor.elements()) + sizeof(std::uint32_t));  // Room to store whole words.
    std::uint8_t* at = out.data();
    *at++ = static_cast<std::uint8_t>(width);
    std::uint64_t held = 0;  // Bits that are not stored yet, fewer than 32 before an element is added.
    std::uint32_t count = 0;
    if (width != 0) {
        for_each_word(tensor, [&](std::uint32_t word) {
            held |= std::uint64_t{word} << count;
            count += width;
            if (count < 32) return;
            store_u32(at, static_cast<std::uint32_t>(held));
            at += 4;
            held >>= 32;
            count -= 32;
        });
        store_u32(at, static_cast<std::uint32_t>(held));
    }
    out.resize(packed_bytes(width, tensor.elements()));
    return out;
}

Result<Tensor> unpack(View bytes, DType dtype, kernels::Dims dims) {
    ensure(dtype == DType::i32 || dtype == DType::boolean, "a tensor of int32 or bool");
    if (bytes.empty()) return error("packed tensor: no width");
    const std::uint32_t width = bytes[0], most = dtype == DType::boolean ? 1 : 32;
    if (width > most) {
        return error("packed tensor: width " + std::to_string(width) + " over the limit of " + std::to_string(most));
    }
    const std::uint64_t elements = kernels::geometry(dims).elements(), expected = packed_bytes(width, elements);
    if (bytes.size() != expected) {
        return error("packed tensor: " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(expected));
    }
    Tensor out = kernels::zeros(dtype, std::move(dims));
    if (width == 0) return out;
    RETRACE_CHECK(check_padding(bytes.subspan(1), elements * width));
    const Words words(bytes.subspan(1), width);
    std::uint32_t any = 0;
    for (std::uint64_t i = 0; i < elements; ++i) {
        const std::uint32_t word = words.at(i);
        any |= word;
        if (dtype == DType::boolean) {
            out.data[i] = static_cast<std::uint8_t>(word);
        } else {
            store_u32(out.data.data() + 4 * i, word);
        }
    }
    if (static_cast<std::uint32_t>(std::bit_width(any)) != width) {
        return error("packed tensor: width " + std::to_string(width) + " where " + std::to_string(std::bit_width(any)) +
                     " suffices");
    }
    return out;
}

namespace {

bool can_pack(DType dtype) { return dtype == DType::i32 || dtype == DType::boolean; }

std::uint64_t plain_bytes(const kernels::TensorRecord& record) {
    return kernels::geometry(record.dims).elements() * kernels::size_of(record.dtype);
}

}  // namespace

Bytes transport_form(const Tensor& tensor) { return can_pack(tensor.dtype) ? pack(tensor) : tensor.data; }

std::uint64_t transport_bytes_max(const kernels::TensorRecord& record) {
    return plain_bytes(record) + (can_pack(record.dtype) ? 1 : 0);
}

Result<std::uint64_t> transport_bytes(View bytes, const kernels::TensorRecord& record) {
    std::uint64_t length = plain_bytes(record);
    if (can_pack(record.dtype)) {
        if (bytes.empty()) return error("packed tensor: no width");
        if (bytes[0] > 32) return error("packed tensor: width " + std::to_string(bytes[0]) + " over the limit of 32");
        length = packed_bytes(bytes[0], kernels::geometry(record.dims).elements());
    }
    if (length > bytes.size())
        return error("tensor: " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(length));
    return length;
}

Result<Tensor> from_transport_form(View bytes, const kernels::TensorRecord& record) {
    if (can_pack(record.dtype)) return unpack(bytes, record.dtype, record.dims);
    if (bytes.size() != plain_bytes(record))
        return error("tensor: " + std::to_string(bytes.size()) + " bytes, not " + std::to_string(plain_bytes(record)));
    Tensor out = kernels::zeros(record.dtype, record.dims);
    std::copy(bytes.begin(), bytes.end(), out.data.begin());
    return out;
}

}  // namespace retrace::solver
