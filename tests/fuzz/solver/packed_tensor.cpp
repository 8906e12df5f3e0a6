// SPDX-License-Identifier: MIT
// Packed tensors: bytes that unpack are the only ones of their tensor, and what is packed unpacks to itself.
#include "solver/artifacts/packed_tensor.hpp"

#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using kernels::DType;
using kernels::Tensor;

void decode_anything(Choices& choices) {
    const DType dtype = choices.flip() ? DType::i32 : DType::boolean;
    kernels::Dims dims{choices.byte()};
    if (choices.flip()) dims.push_back(choices.below(4));
    const View bytes = choices.rest();
    const Result<Tensor> tensor = solver::unpack(bytes, dtype, dims);
    if (!tensor) return;
    require(tensor->dtype == dtype && tensor->dims == dims, "the shape is the receiver's");
    require(equal(solver::pack(*tensor), bytes), "one tensor has one packed form");
}

void pack_and_damage(Choices& choices) {
    const DType dtype = choices.flip() ? DType::i32 : DType::boolean;
    const std::size_t width = choices.below(33);
    Tensor tensor = kernels::zeros(dtype, {choices.byte()});
    for (std::uint64_t i = 0; i < tensor.elements(); ++i) {
        const std::uint64_t word = choices.number() & ((std::uint64_t{1} << width) - 1);
        if (dtype == DType::i32) {
            store_u32(tensor.data.data() + 4 * i, static_cast<std::uint32_t>(word));
        } else {
            tensor.data[i] = word & 1;
        }
    }
    Bytes bytes = solver::pack(tensor);
    const Result<Tensor> found = solver::unpack(bytes, dtype, tensor.dims);
    require(found && *found == tensor, "what is packed unpacks to itself");
    const Bytes before = bytes;
    damage(bytes, choices);
    const Result<Tensor> other = solver::unpack(bytes, dtype, tensor.dims);
    require(bytes == before || !other || *other != tensor, "other bytes are no form of the same tensor");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint8_t mode = 0; mode < 2; ++mode)
        for (std::uint64_t number = 0; number < 12; ++number) out.push_back(random_choices(mode, number, 300));
    Bytes packed{0, 1, 3, 0, 9, 0xff, 0x03, 0x00, 0x04};
    out.push_back(packed);
    out.push_back({0, 0, 3, 0, 1, 0x06});
    return out;
}

void run(View input) {
    Choices choices(input);
    choices.flip() ? pack_and_damage(choices) : decode_anything(choices);
}

}  // namespace retrace::fuzz
