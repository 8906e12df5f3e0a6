// SPDX-License-Identifier: MIT
#include "node/agents/promise_check.hpp"

#include "contracts/records/reservations.hpp"
#include "contracts/records/views.hpp"
#include "node/agents/machine_speed.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/views.hpp"

namespace retrace::node {
namespace {

/// The offer that is made to the solver, with its task.
std::optional<ReservedTask> offer_to(const ledger::StateView& state, const ledger::Address& solver, std::uint64_t id) {
    auto reservation = contracts::views::reservation(state, id);
    auto spec = contracts::views::reserved_spec(state, id);
    if (!reservation || !spec || reservation->solver != solver) return std::nullopt;
    if (reservation->state != market::ReservationState::offered) return std::nullopt;
    return ReservedTask{std::move(*reservation), std::move(*spec)};
}

}  // namespace

Result<std::optional<Bidding::Unkept>> check_promise(ChainReader& chain, const ledger::Address& solver,
                                                     std::uint64_t reservation, solver::DeviceChoice device,
                                                     unsigned threads) {
    RETRACE_TRY(state, chain.newest());
    const auto base_fee = chain.client().base_fee();
    if (!base_fee) return error(base_fee.error().message);
    kernels::ThreadPool pool(threads);
    const double speed = multiply_adds_per_second(pool, kMeasureSpeed);
    const double block_s = block_time(chain.client(), state.height()).value_or(Machine{}.block_s);
    Bidding::Options options;
    options.on_device = computes_on_device(device);
    Immutable immutable;
    std::optional<Bidding::Unkept> out;
    const auto look = [&] {
        const auto offer = offer_to(state, solver, reservation);
        const auto params = immutable.params(state);
        if (!offer || !params) return;
        Bidding bidding(options, {}, solver);
        bidding.set_machine(speed, block_s);
        bidding.set_reserved(reserved_tasks(state, solver));
        const Pricing no_bids = [](std::uint64_t, const market::TaskSpec&) { return Quote{}; };
        solver::SolverView view = solver_view(state, state.height(), solver, no_bids, immutable);
        bidding.choose(state, *params, *base_fee, immutable, view);  // Reads the speed that the ledger has proved.
        out = bidding.unkept(state, *params, *base_fee, immutable, view, *offer);
    };
    state.read_ahead(look);
    state.read(look);
    if (state.failure()) return error(state.failure()->message);
    return out;
}

}  // namespace retrace::node
