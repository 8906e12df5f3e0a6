// SPDX-License-Identifier: MIT
#include "tests/stateful/secrets.hpp"

#include "solver/commitments.hpp"
#include "tests/stateful/draws.hpp"

namespace retrace::stateful {
namespace {

constexpr std::uint64_t kChainLength = 48;

std::uint64_t number_of(const ledger::Address& who) { return load_u32(who.bytes.data() + 16); }

std::uint64_t mixed3(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return mixed(mixed(mixed(a) ^ b) ^ c); }

std::uint64_t state_step(const market::TaskSpec& spec, std::uint64_t index) {
    return std::min(spec.steps, index * spec.interval);
}

}  // namespace

kernels::ProgramHeader Secrets::program() const { return {}; }

kernels::TensorHeader Secrets::data() const {
    kernels::TensorHeader header;
    header.dims = {0};
    return header;
}

market::TaskSpec Secrets::facts() const {
    market::TaskSpec spec;
    spec.program_root = program().root();
    spec.program_bytes = 100;
    spec.initial_state_root = root(0, Truth::right);
    spec.data_roots = {data().root()};
    spec.contract_hash = params_.contract_hash;
    return spec;
}

kernels::StateHeader Secrets::header(std::uint64_t step, Truth truth) const {
    kernels::StateHeader header;
    header.contract = params_.contract_hash;
    header.program = program().root();
    header.step = step;
    // A tree over no tensors: the header opens the root and convicts its poster.
    if (truth == Truth::wrong) header.tree_root.bytes[0] = 1;
    return header;
}

Hash32 Secrets::root(std::uint64_t step, Truth truth) const {
    Hash32& known = roots_[{step, truth}];
    if (known.is_zero()) {
        known = truth == Truth::closed ? salt(99, step, 99) : header(step, truth).root();
    }
    return known;
}

Secrets::Truth Secrets::truth_of(std::uint64_t task, std::uint32_t run, std::uint64_t index, bool seeded) const {
    const std::uint64_t draw = mixed3(task, run, 17);
    if (draw % 100 >= cheats_) return Truth::right;
    const std::uint64_t from = (draw >> 8) % 4;
    if (index < from || (index == 0 && !seeded)) return Truth::right;
    // Some runs are wrong in one state only, so that two runs differ and agree again.
    if ((draw >> 16) % 4 == 0 && index != std::max<std::uint64_t>(from, seeded ? 0 : 1)) return Truth::right;
    return (draw >> 24) % 2 == 0 ? Truth::wrong : Truth::closed;
}

Hash32 Secrets::run_root(const TaskModel& task, std::uint32_t run, std::uint64_t index) const {
    const market::Run& assigned = task.runs[run].run;
    // 13.2: a run that starts from an agreed state and shows another one loses at once, so only a few do.
    if (index == assigned.first_state && index > 0 && mixed3(task.task.id, run, 5) % 16 != 0)
        return assigned.first_root;
    return root(state_step(task.spec, index), truth_of(task.task.id, run, index, !task.spec.init_root.is_zero()));
}

Hash32 Secrets::true_root(const market::TaskSpec& spec, std::uint64_t index) const {
    return root(state_step(spec, index), Truth::right);
}

Hash32 Secrets::verdict_root(const market::TaskSpec& spec, const market::Audit& audit,
                             const ledger::Address& auditor) const {
    const std::uint64_t draw = mixed3(audit.id, number_of(auditor), 23);
    if (draw % 100 < liars_) return root(state_step(spec, audit.segment + 1), Truth::closed);
    return true_root(spec, audit.segment + 1);
}

Hash32 Secrets::salt(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    Hash32 out;
    for (std::size_t i = 0; i < 4; ++i) store_u64(out.data() + 8 * i, mixed3(a, b + i, c));
    return out;
}

U256 Secrets::price(const TaskModel& task, const ledger::Address& bidder) const {
    const std::uint64_t share = 1 + mixed3(task.task.id, task.task.round, number_of(bidder)) % 100;
    return ledger::max(U256(1), ledger::mul_div(task.spec.price_ceiling, share, 100));
}

std::uint64_t Secrets::finish(const TaskModel& task, const ledger::Address& bidder) const {
    const std::uint64_t longest = task.spec.finish_blocks;
    const std::uint64_t draw = mixed3(task.task.id, task.task.round + 1, number_of(bidder));
    return task.task.reveal_end + (draw % 3 == 0 ? 1 + (draw >> 8) % longest : longest);
}

Hash32 Secrets::new_chain(const ledger::Address& who) {
    Hash32 value = salt(number_of(who), ++chains_, 31);
    for (std::uint64_t i = 0; i < kChainLength; ++i) {
        const Hash32 next = solver::beacon_link(value);
        preimages_[next] = value;
        value = next;
    }
    return value;
}

std::optional<Hash32> Secrets::preimage(const Hash32& head) const {
    const auto found = preimages_.find(head);
    return found == preimages_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace retrace::stateful
