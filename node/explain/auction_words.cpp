// SPDX-License-Identifier: MIT
#include "node/explain/auction_words.hpp"

#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

using contracts::CallStatus;

/// The words of a rule without its slug.
std::string sentence(CallStatus rule) {
    const std::string both = contracts::reason(rule);
    const std::size_t at = both.find(": ");
    return at == std::string::npos ? both : both.substr(at + 2);
}

std::uint64_t count_of(const OtherSolvers& others, CallStatus rule) {
    for (const auto& [number, count] : others.obstacles)
        if (static_cast<CallStatus>(number) == rule) return count;
    return 0;
}

}  // namespace

std::string plural(std::uint64_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string words_of(const AuctionRecord& auction) {
    const OtherSolvers& others = auction.others;
    if (others.registered == 0) return "no solver without a bid is registered";
    std::string out = plural(others.registered, "solver") + " without a bid " +
                      (others.registered == 1 ? "is" : "are") + " registered";
    if (others.registered > others.examined) out += ", of whom " + std::to_string(others.examined) + " were examined";
    std::string rest;
    for (const auto& [number, count] : others.obstacles) {
        const auto rule = static_cast<CallStatus>(number);
        rest += rest.empty() ? ": " : ", ";
        rest += std::to_string(count) + (rule == CallStatus::stake_too_low ? " with too little free stake"
                                                                           : " that may not: " + sentence(rule));
        if (rule == CallStatus::stake_too_low && auction.has_stake_floor)
            rest += " (a bid locks " + describe_coins_needed(auction.stake_floor) +
                    ", and the most that one has free is " + describe_coins(others.most_stake) + ")";
    }
    if (others.free != 0)
        rest += (rest.empty() ? ": " : ", ") + std::to_string(others.free) +
                " stopped by no rule, but not running, or by limits of their own, such as a higher price";
    return out + rest;
}

std::string remedy_for(const OtherSolvers& others) {
    if (others.registered == 0) return "wait until solvers register, or start one with `retrace solver --quickstart`";
    std::string out;
    const auto add = [&](const std::string& what) { out += (out.empty() ? "" : "; ") + what; };
    if (others.meets(CallStatus::no_stake_suffices))
        add("raise audit_percent or auditors: with these no stake makes cheating a loss");
    const std::uint64_t poor = count_of(others, CallStatus::stake_too_low);
    if (poor != 0) add("solvers: bond more (`retrace solver --stake`)");
    if (poor > others.free) add("you: lower price_ceiling, or raise audit_percent, so that a bid locks less");
    if (others.free != 0)
        add(std::string("raise ") + (poor > others.free ? "" : "price_ceiling or ") +
            "checkpoint_blocks; a solver's log names its own limits");
    if (others.meets(CallStatus::balance_too_low)) add("solvers: fund the account for the bid's deposit");
    if (out.empty()) add("wait for other solvers");
    return out;
}

}  // namespace retrace::node
