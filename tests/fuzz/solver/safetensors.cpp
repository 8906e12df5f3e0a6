// SPDX-License-Identifier: MIT
// model.safetensors: its JSON header has many encodings, but a file that was read can be written and read again.
#include "solver/export/safetensors.hpp"

#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {

using namespace solver;

std::vector<Bytes> seeds() {
    TensorFile file;
    file.tensors = {{"fc1.weight", kernels::zeros(kernels::DType::f32, {2, 3})},
                    {"mask", kernels::zeros(kernels::DType::boolean, {4})},
                    {"step", kernels::zeros(kernels::DType::i32, {})},
                    {"empty", kernels::zeros(kernels::DType::u8, {0, 5})}};
    TensorFile described = file;
    described.metadata = {{"format", "pt"}, {"quote", "\"\\\n\t\x01 \xc3\xa9"}};
    return {encode_safetensors({}), encode_safetensors(file), encode_safetensors(described)};
}

void run(View input) {
    const auto file = decode_safetensors(input);
    if (!file) return;
    for (const NamedTensor& item : file->tensors)
        require(item.tensor.data.size() == item.tensor.elements() * kernels::size_of(item.tensor.dtype),
                "a tensor has the bytes that its extents say");
    const auto again = decode_safetensors(encode_safetensors(*file));
    require(again.has_value() && *again == *file, "a file survives being written");
}

}  // namespace retrace::fuzz
