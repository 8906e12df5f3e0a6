// SPDX-License-Identifier: MIT
// `retrace demo --rounds`: a training by eight members in rounds, with real processes on this machine.
#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

struct RoundsDemoOptions {
    std::string cheat = "ulp";         ///< One of rounds_demo_cheats.
    std::filesystem::path folder;      ///< Folder for all files; empty: a temporary one, removed on success.
    std::filesystem::path executable;  ///< Path of the retrace executable.
    std::uint64_t rounds = 24, inner = 10;
    bool rolls_back = false;  ///< The group goes back when the cheater is convicted; else the records stand.
    std::uint64_t block_ms = 200;
    std::uint32_t validators = 0;   ///< 0: one node with the embedded engine; else nodes with CometBFT.
    std::uint64_t timeout_s = 300;  ///< The demo fails after this time.
    bool quiet = false;             ///< Suppresses the line for each event.
};

/// The frauds that one member can commit; none: all are honest.
const std::vector<std::string>& rounds_demo_cheats();

/// Seven members train from the start. One of them cheats in one round, one is killed, misses three rounds and comes
/// back, and an eighth joins late. Returns the facts that --json prints. An error says which step failed and names the
/// folder, which is then kept.
Result<boost::json::object> run_rounds_demo(const RoundsDemoOptions& options);
/// Formats the closing table.
std::string rounds_demo_table(const boost::json::object& facts);

}  // namespace retrace::node
