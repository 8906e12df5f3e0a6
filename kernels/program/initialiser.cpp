// SPDX-License-Identifier: MIT
#include "kernels/program/initialiser.hpp"

namespace retrace::kernels {

Status<> check_initialiser(const Program& init, const Program& program) {
    if (init.states != program.states) return error("the initialiser has another number of state tensors");
    if (init.datasets != 0) return error("the initialiser reads data sets");
    for (std::uint32_t i = 0; i < init.states; ++i) {
        const TensorRecord& made = init.tensors[i];
        const TensorRecord& used = program.tensors[i];
        if (made.dtype != used.dtype || made.dims != used.dims) return error("the initialiser makes other shapes");
        if (made.writer == kNoWriter) return error("the initialiser leaves a state tensor out");
    }
    for (const OpRecord& op : init.ops) {
        for (const std::uint32_t input : op.inputs) {
            if (input < init.states) return error("the initialiser reads a state tensor");
        }
    }
    return Unit{};
}

}  // namespace retrace::kernels
