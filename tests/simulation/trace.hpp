// SPDX-License-Identifier: MIT
// A log of a run in words: printed on request, and always hashed, so that two runs of one seed can be compared.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ledger/exec/executor.hpp"
#include "merkle/hash/sha256.hpp"
#include "tests/simulation/clock.hpp"

namespace retrace::sim {

class Trace {
public:
    using Sink = std::function<void(const std::string& line)>;
    explicit Trace(Sink sink = {}) : sink_(std::move(sink)) {}

    void name(const ledger::Address& address, std::string name) { names_[address] = std::move(name); }
    std::string name_of(const ledger::Address& address) const;

    void say(Millis now, std::string_view who, std::string_view what);
    /// Logs an event of a contract, with names for addresses.
    void log(Millis now, std::uint64_t height, const ledger::Log& log);
    /// Sets the receiver of each line.
    void on_line(Sink heard) { heard_ = std::move(heard); }
    /// Hash over all lines so far: each line is hashed together with the previous value.
    const Hash32& hash() const noexcept { return hash_; }
    std::uint64_t lines() const noexcept { return lines_; }

private:
    Sink sink_, heard_;
    Hash32 hash_;
    std::uint64_t lines_ = 0;
    std::map<ledger::Address, std::string> names_;
};

}  // namespace retrace::sim
