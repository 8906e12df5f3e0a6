// SPDX-License-Identifier: MIT
// Methods for parties of the market and its parameters.
#include "node/server/methods/answers.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

namespace views = contracts::views;

constexpr const char* kNoMarket = "this chain has no Retrace contracts";

Answer get_params(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(ref, params.block(0));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto market_params = views::params(*state.view);
    if (!market_params) return server_error(kNoMarket);
    return record_json(*market_params);
}

Answer get_party(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(address, params.address(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const ledger::StateView& view = *state.view;
    const ledger::Account account = view.account(address);
    PartyAnswer out{address,
                    account.nonce,
                    account.balance,
                    views::stake(view, address),
                    views::solver(view, address),
                    views::verifier(view, address),
                    std::nullopt,
                    {},
                    views::open_audits(view, address),
                    views::disputes_of(view, address)};
    if (out.solver) out.challenge = views::challenge(view, out.solver->challenge);
    for (const views::RunId& run : views::open_runs(view, address)) out.open_runs.push_back({run.task, run.run});
    return record_json(out);
}

Answer get_verifiers(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(ref, params.block(0));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    std::vector<VerifierAnswer> out;
    for (const ledger::Address& member : views::verifiers(*state.view)) {
        if (auto info = views::verifier(*state.view, member))
            out.push_back({member, std::move(*info), views::stake(*state.view, member)});
    }
    return record_json(out);
}

/// Those beyond the places of the list are left out, because no record of the state names them.
Answer get_solvers(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(ref, params.block(0));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    std::vector<SolverAnswer> out;
    for (const ledger::Address& solver : views::solvers(*state.view)) {
        if (auto info = views::solver(*state.view, solver))
            out.push_back({solver, std::move(*info), views::stake(*state.view, solver),
                           views::open_runs(*state.view, solver).size()});
    }
    return record_json(out);
}

Answer get_beacon(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(ref, params.block(0));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    const auto market_params = views::params(*state.view);
    const auto beacon = views::beacon(*state.view);
    if (!market_params || !beacon) return server_error(kNoMarket);
    const std::uint64_t epoch = views::epoch_of(*market_params, state.height);
    return record_json(
        BeaconAnswer{state.height, epoch, beacon->epoch, beacon->value, (epoch + 1) * market_params->epoch_blocks});
}

}  // namespace

void register_retrace_parties(Router& router, const Backend& backend) {
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"retrace_params",
                "The numbers that genesis fixed for the market.",
                {block},
                "MarketParams",
                [&backend](const Params& params, Caller& caller) { return get_params(backend, params, caller); }});
    router.add({"retrace_party",
                "All that the chain knows of an address: stake, registrations, measured capability, what is open.",
                {{"address", "Address"}, block},
                "Party",
                [&backend](const Params& params, Caller& caller) { return get_party(backend, params, caller); }});
    router.add({"retrace_verifiers",
                "Members of the beacon, in order of address.",
                {block},
                "Verifier[]",
                [&backend](const Params& params, Caller& caller) { return get_verifiers(backend, params, caller); }});
    router.add({"retrace_solvers",
                "Solvers whose speed the ledger measures, at most 1,024, in order of address.",
                {block},
                "Solver[]",
                [&backend](const Params& params, Caller& caller) { return get_solvers(backend, params, caller); }});
    router.add({"retrace_beacon",
                "The newest public randomness.",
                {block},
                "Beacon",
                [&backend](const Params& params, Caller& caller) { return get_beacon(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
