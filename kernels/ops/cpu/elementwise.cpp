// SPDX-License-Identifier: MIT
#include <array>

#include "kernels/ops/broadcast.hpp"
#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/cpu/loops.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kGrain = 16384;  ///< Minimum number of elements that a thread takes.

struct Side {
    const std::uint8_t* data = nullptr;
    std::uint32_t size = 0;
    Spread spread = Spread::full;
};

}  // namespace

void run_elementwise(const OpCall& call) {
    const OpFacts& facts = call.facts;
    const bool select = facts.op.code == OpCode::select;
    const ElementLoop loop = loops().element(facts.op.code, facts.inputs[select ? 1 : 0].dtype, facts.output.dtype);
    const Geometry shape = geometry(facts.output.dims);
    const std::size_t count = facts.inputs.size();
    const std::uint32_t out_size = size_of(facts.output.dtype);
    std::array<Side, 3> sides;
    bool flat = true;
    for (std::size_t i = 0; i < count; ++i) {
        sides[i] = {call.inputs[i], size_of(facts.inputs[i].dtype), *spread_of(shape, geometry(facts.inputs[i].dims))};
        flat &= sides[i].spread == Spread::full || sides[i].spread == Spread::scalar;
    }
    if (flat) {
        call.pool.parallel_for(shape.elements(), kGrain, [&](std::uint64_t begin, std::uint64_t end) {
            std::array<LoopOperand, 3> in;
            for (std::size_t i = 0; i < count; ++i) {
                const bool moves = sides[i].spread == Spread::full;
                in[i] = {sides[i].data + (moves ? begin * sides[i].size : 0), moves};
            }
            loop(in.data(), call.output + begin * out_size, end - begin);
        });
        return;
    }
    const std::uint64_t grain = std::max<std::uint64_t>(1, kGrain / std::max<std::uint64_t>(1, shape.cols));
    call.pool.parallel_for(shape.rows, grain, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t row = begin; row < end; ++row) {
            std::array<LoopOperand, 3> in;
            for (std::size_t i = 0; i < count; ++i) {
                const Side& side = sides[i];
                const std::uint64_t at = side.spread == Spread::full     ? row * shape.cols
                                         : side.spread == Spread::column ? row
                                                                         : 0;
                in[i] = {side.data + at * side.size, side.spread == Spread::full || side.spread == Spread::row};
            }
            loop(in.data(), call.output + row * shape.cols * out_size, shape.cols);
        }
    });
}

}  // namespace retrace::kernels
