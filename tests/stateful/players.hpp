// SPDX-License-Identifier: MIT
// Parties that know which calls are due, and send them or others: the generator of calls. Everything follows from the
// draws and the ledger's records.
#pragma once

#include <map>
#include <set>

#include "solver/capability/bench.hpp"
#include "tests/stateful/profile.hpp"
#include "tests/stateful/secrets.hpp"
#include "tests/stateful/world.hpp"

namespace retrace::stateful {

class Players {
public:
    /// `world`, `profile` and `draws` must outlive this.
    Players(World& world, const Profile& profile, Draws& draws);

    /// Plays the calls between two blocks, then the next block, or several in which nothing is due.
    void block();
    bool over() const { return world_.calls() >= profile_.calls; }

private:
    // players.cpp
    void enlist();
    void serve_staking();
    void reveal_beacons();
    void serve_challenges();
    void serve_validators();  // validators.cpp
    void join_beacon(const Address& who);
    void bond(const Address& who, const U256& wanted);
    // runs.cpp
    void serve_tasks();
    void post_task();
    void draw_auctions(market::TaskSpec& spec);
    void top_up(const TaskModel& model);
    void reserve_time(const TaskModel& model);
    void serve_reservations();
    void serve_auction(const TaskModel& model);
    void bid(const TaskModel& model);
    void serve_run(const TaskModel& model, const RunModel& run);
    void ask_keepers(const TaskModel& model, const RunModel& run);
    void commit_states(const TaskModel& model, const RunModel& run);
    void open_states(const TaskModel& model, const RunModel& run);
    void challenge_windows(const TaskModel& model, const RunModel& run);
    void serve_requester(const TaskModel& model);
    void report_model(const TaskModel& model, std::uint32_t run);
    // groups.cpp
    void post_group();
    void serve_group(const TaskModel& model);
    void serve_member(const TaskModel& model, const RunModel& run);
    void serve_private(const market::Run& run);
    void commit_segment(const TaskModel& model, const market::Run& run);
    void exchange_messages(const TaskModel& model, const market::Run& run);
    void mask_messages(const TaskModel& model, const market::Run& run);
    void open_member_states(const market::Run& run, const RunModel& model);
    /// What a report names of a message that the audited segment takes in; nullopt: none.
    std::optional<std::uint64_t> message_taken_in(const market::Audit& audit);
    // cases.cpp
    void serve_audits();
    void serve_audit(const market::Audit& audit);
    void serve_seat(const market::Audit& audit, const market::Seat& seat);
    void serve_disputes();
    void serve_reports();
    void report(const Address& who, market::ReportKind kind, std::uint64_t task, std::uint32_t run,
                std::uint64_t index);
    void answer(const market::Report& report);
    void serve_retention();
    /// Sends any call from any party.
    void noise();

    /// Sends the call, or a mutated variant of it.
    template <class Call>
    contracts::CallStatus send(const Address& who, Call call, const U256& value = U256());
    bool diligent() { return draws_.percent(profile_.diligence); }
    bool out_of_gas() const { return world_.gas_left() < 12'000'000; }
    Address anybody() { return party(static_cast<std::uint32_t>(draws_.below(profile_.accounts))); }
    Address solver() { return party(static_cast<std::uint32_t>(draws_.below(profile_.solvers))); }
    Address verifier() {
        return party(profile_.solvers + static_cast<std::uint32_t>(draws_.below(profile_.verifiers)));
    }
    const Mirror& mirror() const { return world_.mirror(); }
    market::Stake stake(const Address& who) const;
    bool is_member(const Address& who) const;

    World& world_;
    const Profile& profile_;
    Draws& draws_;
    Secrets secrets_;
    kernels::ThreadPool pool_{1};
    solver::HonestBench bench_{pool_};
    std::set<std::uint64_t> benched_;  ///< Challenges whose benchmark was really run; for the others the result is made
                                       ///< up.
    std::set<std::uint64_t> to_attest_;  ///< Audits with verdicts, whose auditors may attest.
    std::uint64_t posted_ = 0;
};

/// Plays the game of a profile to its end, checks everything and waits until all open records have ended. Throws
/// Failure.
void play(World& world, const Profile& profile, Draws& draws);

}  // namespace retrace::stateful
