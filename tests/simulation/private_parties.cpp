// SPDX-License-Identifier: MIT
// What solvers and verifiers do about data that members of private groups keep to themselves.
#include <algorithm>

#include "contracts/records/group_views.hpp"
#include "node/agents/consent_change.hpp"
#include "tests/simulation/solver_party.hpp"
#include "tests/simulation/verifier_party.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

bool is_private(const solver::RunView& run) { return run.terms.group && run.terms.group->private_sets != 0; }

void add_data(solver::PrivateData& out, const std::vector<Hash32>& roots, std::vector<kernels::Tensor> tensors) {
    for (std::size_t i = 0; i < roots.size(); ++i) out.add(roots[i], std::move(tensors[i]));
}

/// Flips a bit of each value that the program's ops give it.
class FlippingRunner final : public solver::ProgramRunner {
public:
    FlippingRunner(const kernels::Program& program, kernels::Inputs inputs, kernels::ThreadPool& pool)
        : ProgramRunner(program, std::move(inputs), pool) {
        executor().set_tamper([](std::uint64_t, std::uint32_t, kernels::Tensor& out) {
            if (!out.data.empty() && out.dtype == kernels::DType::f32) out.data[0] ^= 1;
        });
    }
};

}  // namespace

void SolverParty::load_own_data() {
    const auto committed = roots_of(data_of_member(address()));
    add_data(memory_->data, committed, data_of_member(address(), role_.switches_data));
}

void SolverParty::use_own_data(solver::SolverView& seen) {
    const auto use = [&](solver::TaskTerms& terms) {
        if (!terms.group || terms.group->private_sets == 0) return;
        const auto own = roots_of(data_of_member(address()));
        memory_->data.allow(terms.id, own);
        if (terms.data_roots.empty()) terms.data_roots = own;
    };
    for (solver::RunView& run : seen.runs) use(run.terms);
    for (solver::SeatView& seat : seen.seats) use(seat.terms);
}

void SolverParty::update_consent(const ledger::StateView& view, std::uint64_t height, const solver::SolverView& seen) {
    std::vector<ledger::Address> wanted;
    for (const std::string& name : role_.consents) wanted.push_back(party_address(name));
    std::sort(wanted.begin(), wanted.end());
    for (const solver::RunView& run : seen.runs) {
        const solver::RunKey key{run.terms.id, run.run};
        const auto last = consented_.find(key);
        if (!is_private(run) || run.may_accept || (last != consented_.end() && height < last->second + kResendBlocks))
            continue;
        const auto change = node::consent_change(wanted, views::consent(view, key.first, key.second),
                                                 views::run(view, key.first, key.second)->finalised, address(),
                                                 views::task(view, key.first)->requester);
        if (change.given.empty()) continue;
        consented_[key] = height;
        call("names auditors of its data", contracts::GiveConsent{key.first, key.second, change.given});
    }
}

solver::RunnerFactory SolverParty::with_false_start(solver::RunnerFactory runners) const {
    const Hash32 init = group_kind(false).header.phases.front().program;
    return [init, runners = std::move(runners)](const solver::TaskTerms& terms, const kernels::Program& program,
                                                kernels::Inputs inputs,
                                                kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        if (terms.group && kernels::CommittedProgram(program).root() == init)
            return std::make_unique<FlippingRunner>(program, std::move(inputs), pool);
        return runners(terms, program, std::move(inputs), pool);
    };
}

void VerifierParty::load_data() {
    for (const std::string& name : role_.has_data_of) {
        const auto data = data_of_member(party_address(name));
        add_data(memory_->data, roots_of(data), data);
    }
}

void VerifierParty::update_consents(const ledger::StateView& view, std::uint64_t height) {
    std::set<ledger::Address> members;
    for (const std::string& name : role_.has_data_of) members.insert(party_address(name));
    for (const std::uint64_t id : members.empty() ? std::vector<std::uint64_t>() : views::active_tasks(view)) {
        const auto terms = views::group_spec(view, id);
        if (!terms || terms->private_sets == 0) continue;
        const auto task = views::task(view, id);
        for (const std::uint32_t index : task->active) {
            const auto run = views::run(view, id, index);
            const auto member = views::member(view, id, index);
            if (!run || !member || run->state != market::RunState::running) continue;
            const bool has = members.contains(run->solver) && member->data == roots_of(data_of_member(run->solver));
            if (has) memory_->data.allow(id, member->data);
            const auto last = consents_.find({id, index});
            const auto answer = node::consent_answer(views::consent(view, id, index), run->finalised, address(), has);
            if (answer != node::ConsentAnswer::accept ||
                (last != consents_.end() && height < last->second + kResendBlocks))
                continue;
            consents_[{id, index}] = height;
            call("accepts a consent", contracts::AcceptConsent{id, index});
        }
    }
}

}  // namespace retrace::sim
