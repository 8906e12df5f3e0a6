// SPDX-License-Identifier: MIT
// A ledger of the native contracts without keys, encoded blocks or a disk: calls and blocks run on the ledger's own
// state as the ledger runs them (overlay, supply, invariants), and the properties are checked after each.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>

#include "contracts/calls/call_status.hpp"
#include "contracts/executor.hpp"
#include "ledger/chain/block_input.hpp"
#include "ledger/chain/committed_view.hpp"
#include "ledger/chain/records.hpp"
#include "tests/stateful/mirror.hpp"
#include "tests/stateful/trace.hpp"

namespace retrace::stateful {

/// A violated property. `property` names it without numbers, so that it can be compared between traces.
class Failure : public std::runtime_error {
public:
    Failure(std::string property, const std::string& detail)
        : std::runtime_error(property + (detail.empty() ? "" : ": " + detail)), property(std::move(property)) {}
    std::string property;
};

/// SPEC 2: reads and writes that a call may make for its gas, and the work that the start of a block may take.
struct Limits {
    std::uint64_t gas_a_read = 100;       ///< Gas for one read of a record.
    std::uint64_t gas_a_write = 300;      ///< Gas for one write of a record.
    std::uint64_t bytes_a_gas = 4;        ///< Bytes read and written per unit of gas.
    std::uint64_t block_reads = 400'000;  ///< Reads at the start of a block.
    double block_seconds = 1.0;           ///< Processor time of the start of a block.
    double call_seconds = 0.25;           ///< Processor time of one call.
};

struct Options {
    Limits limits;
    unsigned check_every = 16;   ///< Blocks between sums over all records (all other checks run after each block).
    unsigned restart_every = 0;  ///< Commits to the store and reopens it after so many executed blocks; 0: never.
    std::uint64_t calls_max = ~std::uint64_t{0};   ///< Limit on a game's calls, in addition to its profile's.
    const ledger::TxExecutor* executor = nullptr;  ///< nullptr: the contracts.
};

/// Costs of the most expensive call and block.
struct Costs {
    double call_reads_a_limit = 0;  ///< Reads divided by the number that the gas allows; likewise the next two.
    double call_writes_a_limit = 0, call_bytes_a_limit = 0;
    std::string reads_of, writes_of, bytes_of;  ///< Method and status of the calls with these maxima.
    struct Most {
        std::uint64_t reads = 0, writes = 0, bytes = 0;
        std::uint64_t items = 0;  ///< Scheduled items.
        std::uint64_t gas = 0;    ///< Least gas of these calls.
    };
    std::map<std::string, Most> methods;  ///< By method, and whether the call was accepted or refused.
    std::uint64_t block_reads = 0;
    double block_seconds = 0, call_seconds = 0;
    void add(const Costs& other);
};

class World {
public:
    World(const market::Params& params, std::uint32_t accounts, Options options);

    /// Sends a call and returns its status, `ok` if it was accepted. Throws Failure.
    contracts::CallStatus send(const SendCall& call);
    /// Throws Failure.
    void pass(std::uint64_t blocks);
    /// Checks all sums, bounds and schedules now. Throws Failure.
    void check() const;
    /// All parties are silent: within `blocks` heights every open record must end by itself, and no stake may stay
    /// locked. Returns false if the longest window of these parameters is longer than `blocks`. Throws Failure.
    bool drain(std::uint64_t blocks);
    void play(const Event& event);
    /// Writes everything to a store as the ledger does, reopens it and continues from there. Throws Failure.
    void restart();
    /// Root of the state tree over the whole state.
    Hash32 root() const;

    const Mirror& mirror() const { return mirror_; }
    const ledger::StateView& state() const { return state_; }
    const market::Params& params() const { return params_; }
    std::uint64_t height() const { return block_.height; }
    std::uint64_t gas_left() const { return gas_left_; }
    const Trace& trace() const { return trace_; }
    const Costs& costs() const { return costs_; }
    std::uint64_t calls() const { return calls_; }
    /// Calls by method (contract and selector) and status.
    using Counts = std::map<std::pair<std::string, std::uint16_t>, std::uint64_t>;
    const Counts& counts() const { return counts_; }
    ledger::U256 balance(const Address& who) const { return state_.account(who).balance; }

private:
    class Counted;
    void begin_block();
    ledger::EngineReport report() const;
    void advance(std::uint64_t blocks);
    void take_over(ledger::State& next);
    void check_cost(const std::string& method, std::uint64_t gas, const Counted& read, const ledger::State& next,
                    const ledger::StateDiff& diff);
    template <class Work>
    void guarded(Work work);

    Options options_;
    market::Params params_;
    /// A broken invariant, which a node would undo and log, is a failure here.
    contracts::Executor contracts_{
        [](const std::string& what) { throw Failure("nothing breaks an invariant: " + what, ""); }};
    const ledger::TxExecutor& executor_;
    std::unique_ptr<ledger::MemoryStore> store_;
    std::unique_ptr<ledger::StateView> base_;
    std::unique_ptr<ledger::State> held_;
    ledger::State& state_;
    ledger::BlockContext block_;
    Mirror mirror_;
    Trace trace_;
    Costs costs_;
    Counts counts_;
    std::vector<Address> parties_;
    Hash32 stored_root_;
    std::optional<ledger::TipRecord> tip_;
    std::uint64_t gas_left_ = 0, calls_ = 0, blocks_ = 0;
};

/// Plays a trace. Returns nullopt if all properties hold.
std::optional<Failure> replay(const Trace& trace, const Options& options);
/// Removes events as long as the trace fails in the same way, within so many seconds of processor time, and returns the
/// shortest trace found.
Trace shrink(Trace trace, const std::string& property, const Options& options, double seconds = 60);
/// Processor time of this thread, so that the load of the machine changes no finding.
double processor_seconds();

}  // namespace retrace::stateful
