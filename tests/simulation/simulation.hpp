// SPDX-License-Identifier: MIT
// One run: a scenario played to its end in virtual time with all checkers enabled.
#pragma once

#include "market/standing.hpp"
#include "tests/simulation/checkers.hpp"
#include "tests/simulation/scenario.hpp"

namespace retrace::sim {

struct Outcome {
    std::uint64_t seed = 0;
    Findings findings;
    Hash32 trace_hash;
    std::uint64_t height = 0, trace_lines = 0, transactions = 0;

    /// State of the chain at the end, by party name, for tests of single adversaries.
    struct Balance {
        ledger::U256 coins, bonded;  ///< Coins include everything but the stake.
        ledger::U256 fees;           ///< Gas fees paid over the whole run.
        ledger::U256 wealth() const { return coins + bonded + fees; }
    };
    std::map<std::string, Balance> balances;
    std::map<std::string, market::SolverInfo> solvers;
    std::map<std::string, market::Standing> standings;  ///< Of all parties.
    struct TaskEnd {
        market::TaskState state{};
        std::vector<market::Run> runs;
        Hash32 final_root, true_root;  ///< Last state of the last run, zero if it was never opened.
        Hash32 paid_root;              ///< Last state of a settled run.
        market::TaskSpec spec;
        ledger::Address requester;
        std::size_t rollbacks = 0;               ///< Of a group,
        std::vector<market::Round> rounds;       ///< and its records.
        std::vector<Hash32> truth;               ///< Roots of all states.
        std::vector<std::vector<Hash32>> roots;  ///< By run: roots of all states, zero where it opened none.
    };
    std::vector<TaskEnd> tasks;
    std::vector<market::Dispute> disputes;
    std::vector<market::Report> reports;
    std::vector<market::Audit> audits;
    std::vector<market::Reservation> reservations;
    std::map<ledger::Address, std::string> names;

    const std::string& solver_of(const market::Run& run) const { return names.at(run.solver); }

    bool good() const { return findings.violations.empty(); }
};

struct RunOptions {
    Sabotage sabotage = Sabotage::none;
    std::uint64_t sabotage_height = 60;
    Trace::Sink sink;              ///< Receives each line of the trace.
    std::filesystem::path folder;  ///< Folder for the parties' disks; created and removed by the run.
};

/// Initial balance of a party.
ledger::U256 initial_coins();

/// Plays the scenario. The same arguments give the same outcome on any machine and in parallel with other runs.
Outcome play(std::uint64_t seed, const Scenario& scenario, const Catalogue& catalogue, const RunOptions& options);

/// A folder on a memory file system if the machine has one, for `RunOptions::folder`.
std::filesystem::path scratch_folder();

}  // namespace retrace::sim
