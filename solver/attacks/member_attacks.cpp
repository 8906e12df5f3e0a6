// SPDX-License-Identifier: MIT
#include "solver/attacks/member_attacks.hpp"

#include <algorithm>

#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/regions.hpp"

namespace retrace::solver {
namespace {

using kernels::Program;
using kernels::State;
using kernels::Tensor;

bool writes(const Program& program, std::uint32_t tensor) {
    return program.tensors[tensor].writer != kernels::kNoWriter;
}

bool writes_any(const Program& program, const std::vector<std::uint32_t>& tensors) {
    return std::ranges::any_of(tensors, [&](std::uint32_t t) { return writes(program, t); });
}

bool writes_shared(const Program& program, std::uint32_t shared) {
    for (std::uint32_t t = 0; t < shared; ++t)
        if (writes(program, t)) return true;
    return false;
}

/// `unmask` and `mask` read a table of masks.
bool reads_masks(const Program& program) {
    const std::uint32_t first = program.states + program.constants;
    return program.datasets == 2 && program.tensors[first].dims == kernels::kMaskTableDims;
}

/// Only the phases `init`, `enter`, `press` and `mask`, and `end` under masks, write a message, and only `press` and `mask`
/// leave the shared tensors (kernels/plan 1.3). Of those that leave both, the inner steps read data.
bool is_press(const GroupTerms& group, const Program& program) {
    return writes_any(program, group.public_tensors) && !writes_shared(program, group.shared) && !reads_masks(program);
}
bool is_mask(const GroupTerms& group, const Program& program) {
    return writes_any(program, group.public_tensors) && reads_masks(program);
}
bool is_inner(const GroupTerms& group, const Program& program) {
    return !writes_any(program, group.public_tensors) && !writes_shared(program, group.shared) &&
           program.datasets != 0 && !reads_masks(program);
}

/// Of the phases that merge (kernels/plan 2.7) those that take a message, and those that make one; other phases leave alone
/// what a merger has not sent.
bool is_merging(const Program& program) {
    for (std::uint32_t t = 0; t < program.states; ++t)
        if (program.tensors[t].name.starts_with("rounds.merge_") && writes(program, t))
            return program.datasets != 0 || program.tensors[t].name == "rounds.merge_residual";
    return false;
}

/// Replaces a member's message in one round, or another part of its state.
class OtherMessageRunner final : public ForgingRunner {
public:
    /// Changes tensors of a state; the second argument is the honest state before.
    using Change = std::function<void(State& after, const State& before)>;
    OtherMessageRunner(Change change, std::uint64_t first, std::uint64_t last, const Program& program,
                       kernels::Inputs inputs, kernels::ThreadPool& pool)
        : ForgingRunner(program, std::move(inputs), pool), change_(std::move(change)), first_(first), last_(last) {}

protected:
    std::optional<std::vector<Tensor>> forged(const State& before) override {
        if (before.step < first_ || before.step > last_) return std::nullopt;
        State after = before;
        if (!ProgramRunner::attempt(after, {})) return std::nullopt;
        change_(after, before);
        return std::move(after.tensors);
    }

private:
    Change change_;
    std::uint64_t first_, last_;
};

/// Adds one unit in the last place to the first number of a message that is no integer.
OtherMessageRunner::Change one_ulp_more(const GroupTerms& group) {
    return [numbers = group.public_tensors](State& after, const State&) {
        for (const std::uint32_t t : numbers) {
            Tensor& tensor = after.tensors[t];
            if (tensor.dtype != kernels::DType::f32) continue;
            store_u32(tensor.data.data(), load_u32(tensor.data.data()) + 1);
            return;
        }
    };
}

OtherMessageRunner::Change fill_with(std::uint32_t bits, const GroupTerms& group) {
    return [bits, numbers = group.public_tensors](State& after, const State&) {
        for (const std::uint32_t t : numbers) {
            Tensor& tensor = after.tensors[t];
            if (tensor.dtype != kernels::DType::f32) continue;
            for (std::uint64_t i = 0; i < tensor.elements(); ++i) store_u32(tensor.data.data() + 4 * i, bits);
        }
    };
}

/// Puts another mask over the message than its seeds give. It does so with each mask, and what it adds does not cancel.
OtherMessageRunner::Change shift_words(const GroupTerms& group) {
    return [numbers = group.public_tensors](State& after, const State&) {
        for (const std::uint32_t t : numbers) {
            std::uint8_t* const first = after.tensors[t].data.data();
            store_u32(first, load_u32(first) + 1);
        }
    };
}

/// Takes a message of the round before that is not in the state, as the member's own is.
OtherMessageRunner::Change copy_from(MessageStore* messages, std::uint64_t task, std::uint64_t round,
                                     const GroupTerms& group, const Program& program, kernels::ThreadPool& pool) {
    return [=, numbers = group.public_tensors, &program, &pool](State& after, const State& before) {
        if (messages == nullptr || round == 0) return;
        for (const std::vector<Hash32>& roots : messages->of_round(task, static_cast<std::uint32_t>(round - 1))) {
            std::vector<Tensor> message;
            for (std::size_t i = 0; i < numbers.size() && i < roots.size(); ++i)
                if (auto tensor = messages->tensor(roots[i], program.tensors[numbers[i]], pool))
                    message.push_back(std::move(tensor).value());
            if (message.size() != numbers.size()) continue;
            bool own = true;
            for (std::size_t i = 0; i < numbers.size(); ++i) own = own && message[i] == before.tensors[numbers[i]];
            if (own) continue;
            for (std::size_t i = 0; i < numbers.size(); ++i) after.tensors[numbers[i]] = std::move(message[i]);
            return;
        }
    };
}

}  // namespace

std::unique_ptr<StepRunner> make_member_attacker(ComputeAttack attack, const TaskTerms& terms, const Program& program,
                                                 kernels::Inputs inputs, kernels::ThreadPool& pool,
                                                 std::optional<std::uint64_t> round, MessageStore* messages) {
    constexpr std::uint32_t kNan = 0x7fc00000, kLarge = 0x7149f2ca;  // 1e30
    const GroupTerms& group = *terms.group;
    const std::uint64_t base = std::min<std::uint64_t>(round.value_or(group.rounds - 1), group.rounds - 1);
    const std::uint64_t first = kernels::trained_rounds(base, group.regions != 0) *
                                group.steps_max;  // Op step of the first inner step of the round.
    OtherMessageRunner::Change change;
    if (attack == ComputeAttack::poison_nan) change = fill_with(kNan, group);
    if (attack == ComputeAttack::poison_norm) change = fill_with(kLarge, group);
    if (attack == ComputeAttack::copy_message) change = copy_from(messages, terms.id, base, group, program, pool);
    // The steps of masks do not tell rounds apart, so it does so in each.
    if (attack == ComputeAttack::wrong_mask && is_mask(group, program))
        return std::make_unique<OtherMessageRunner>(shift_words(group), 0, 0, program, std::move(inputs), pool);
    if (kernels::is_merging_round(base, group.regions)) {
        if (attack == ComputeAttack::ulp) change = one_ulp_more(group);
        // What it leaves out it merges as if it had not come.
        const bool leaves_out = attack == ComputeAttack::skip_steps;
        if (leaves_out) change = [](State& after, const State& before) { after.tensors = before.tensors; };
        const bool here = is_merging(program) && (program.datasets != 0) == leaves_out;
        if (!change || !here) return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
        return std::make_unique<OtherMessageRunner>(std::move(change), first + group.steps_max, first + group.steps_max,
                                                    program, std::move(inputs), pool);
    }
    if (is_merging(program)) return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
    if (change && is_press(group, program))
        return std::make_unique<OtherMessageRunner>(std::move(change), first + 1, first + group.steps_max, program,
                                                    std::move(inputs), pool);
    if (change || attack == ComputeAttack::wrong_mask || !is_inner(group, program))
        return std::make_unique<ProgramRunner>(program, std::move(inputs), pool);
    // Op steps of the inner steps are numbered as those of a task with an interval of steps_max. An attack on a step that
    // the member does not make, because fewer fit into the round, has no effect.
    const Schedule schedule{std::uint64_t{group.rounds} * group.steps_max, group.steps_max};
    return make_attacker(attack, schedule, program, std::move(inputs), pool, base);
}

}  // namespace retrace::solver
