// SPDX-License-Identifier: MIT
#include "kernels/ops/op.hpp"
#include "kernels/ops/op_call.hpp"

namespace retrace::kernels {
namespace {

class MemorySource final : public ElementSource {
public:
    explicit MemorySource(const OpCall& call) {
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            slots_.push_back({call.inputs[i], size_of(call.facts.inputs[i].dtype) == 1});
        }
    }
    std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) override {
        const Slot& s = slots_[slot];
        return s.bytes ? s.data[element] : load_u32(s.data + 4 * element);
    }

private:
    struct Slot {
        const std::uint8_t* data;
        bool bytes;
    };
    std::vector<Slot> slots_;
};

}  // namespace

void run_reference(const OpCall& call) {
    const OpRule* rule = find_rule(call.facts.op.code);
    ensure(rule != nullptr, "a checked op");
    const std::uint64_t links = link_count(call.facts);
    const bool bytes = size_of(call.facts.output.dtype) == 1;
    call.pool.parallel_for(elements_of(call.facts.output), 64, [&](std::uint64_t begin, std::uint64_t end) {
        MemorySource source(call);
        Reads reads(source);
        for (std::uint64_t element = begin; element < end; ++element) {
            ElementQuery query{element, 0, 0, call.seed, call.step};
            for (; query.link < links; ++query.link) query.before = rule->element(call.facts, query, reads);
            if (bytes) {
                call.output[element] = static_cast<std::uint8_t>(query.before);
            } else {
                store_u32(call.output + 4 * element, query.before);
            }
        }
    });
}

}  // namespace retrace::kernels
