// SPDX-License-Identifier: MIT
#include "kernels/builder/mask_programs.hpp"

#include "kernels/builder/masked_sum.hpp"

namespace retrace::kernels {
namespace {

using Write = void (MaskedSum::*)(Graph&, const MaskedStates&) const;

Result<Program> program_of(const Program& states, const MaskedSum& sum, std::uint32_t message, std::uint32_t total,
                           Write write) {
    Graph g;
    MaskedStates s;
    for (std::uint32_t t = 0; t < states.states; ++t) {
        const TensorRecord& record = states.tensors[t];
        const Value state = g.state(record.name, record.dtype, record.dims);
        if (t == message) s.message = state;
        if (t == total) s.sum = state;
    }
    (sum.*write)(g, s);
    return g.build();
}

}  // namespace

Result<MaskPrograms> build_mask_programs(const Program& states, std::uint32_t bits) {
    if (bits < 2 || bits > 27) return error("values under masks have 2 to 27 bits");
    const auto find = [&](const std::string& name) {
        std::uint32_t t = 0;
        while (t < states.states && states.tensors[t].name != name) ++t;
        return t;
    };
    const std::uint32_t message = find(kMaskedMessageName), total = find(kMaskedTotalName);
    const auto is_sum = [&](std::uint32_t t) {
        return t < states.states && states.tensors[t].dtype == DType::i32 && states.tensors[t].dims.size() == 2 &&
               states.tensors[t].dims[1] == 32 && states.tensors[t].dims == states.tensors[message].dims;
    };
    if (!is_sum(message) || !is_sum(total)) return error("the plan has no message under masks, or no sum of them");
    const MaskedSum sum({states.tensors[message].dims[0] * 32, 1}, bits);
    RETRACE_TRY(mask, program_of(states, sum, message, total, &MaskedSum::mask));
    RETRACE_TRY(unmask, program_of(states, sum, message, total, &MaskedSum::unmask));
    return MaskPrograms{std::move(mask), std::move(unmask)};
}

}  // namespace retrace::kernels
