// SPDX-License-Identifier: MIT
// Data that the parties know and the ledger does not: salts, prices, beacon chains, and the states of a dummy training.
// The program has no tensors, so its states, tiles and records are opened by their headers alone: a true state and a
// false one each decide a dispute by the referee's own rules, without any machine learning.
#pragma once

#include <unordered_map>

#include "contracts/records/views.hpp"
#include "tests/stateful/mirror.hpp"

namespace retrace::stateful {

class Secrets {
public:
    Secrets(const market::Params& params, std::uint64_t cheats, std::uint64_t liars)
        : params_(params), cheats_(cheats), liars_(liars) {}

    /// Validity of a state of a run.
    enum class Truth : std::uint8_t {
        right,   ///< The state that every honest party computes.
        wrong,   ///< Opened by its header, which shows that it is wrong.
        closed,  ///< No header opens it.
    };

    kernels::ProgramHeader program() const;
    kernels::TensorHeader data() const;
    market::TaskSpec facts() const;  ///< Roots of program, data and start state.
    kernels::StateHeader header(std::uint64_t step, Truth truth) const;
    Hash32 root(std::uint64_t step, Truth truth) const;
    Truth truth_of(std::uint64_t task, std::uint32_t run, std::uint64_t index, bool seeded) const;
    /// Root of state `index` of a run as its solver has it, and the true root.
    Hash32 run_root(const TaskModel& task, std::uint32_t run, std::uint64_t index) const;
    Hash32 true_root(const market::TaskSpec& spec, std::uint64_t index) const;
    Hash32 verdict_root(const market::TaskSpec& spec, const market::Audit& audit, const ledger::Address& auditor) const;

    static Hash32 salt(std::uint64_t a, std::uint64_t b, std::uint64_t c);
    U256 price(const TaskModel& task, const ledger::Address& bidder) const;
    std::uint64_t finish(const TaskModel& task, const ledger::Address& bidder) const;

    /// Returns the newest value of a new chain, and later the value to reveal for a head; nullopt: the chain has ended.
    Hash32 new_chain(const ledger::Address& who);
    std::optional<Hash32> preimage(const Hash32& head) const;

private:
    struct Hasher {
        std::size_t operator()(const Hash32& hash) const { return load_u64(hash.data()); }
    };
    market::Params params_;
    std::uint64_t cheats_ = 0, liars_ = 0;
    std::uint64_t chains_ = 0;
    std::unordered_map<Hash32, Hash32, Hasher> preimages_;
    mutable std::map<std::pair<std::uint64_t, Truth>, Hash32> roots_;
};

}  // namespace retrace::stateful
