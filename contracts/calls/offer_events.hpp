// SPDX-License-Identifier: MIT
// Events about places, and about offers of requesters and solvers while a task runs. SPEC 5.
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

/// Coins were burned for a place: of a bid when its auction ends, of a task when it ends, or for locks when it is cancelled.
struct PlacePaid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "PlacePaid";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "party", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.party, e.amount); }
    std::uint64_t task = 0;
    Address party;
    U256 amount;
};
/// A requester added `amount` to the escrow of its open task: from the next one on its auctions have at least this ceiling,
/// and `auctions` may follow ones without winners, those of its terms and of earlier calls included.
struct TaskToppedUp {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "TaskToppedUp";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "requester", "ceiling", "auctions", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.requester, e.ceiling, e.auctions, e.amount); }
    std::uint64_t task = 0;
    Address requester;
    U256 ceiling;
    std::uint32_t auctions = 0;
    U256 amount;
};
struct TimeReserved {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "TimeReserved";
    static constexpr std::size_t kIndexed = 3;
    static Names names() { return {"reservation", "requester", "solver", "price", "from", "until", "deposit"}; }
    static auto tie(auto& e) {
        return std::tie(e.reservation, e.requester, e.solver, e.price, e.from, e.until, e.deposit);
    }
    std::uint64_t reservation = 0;
    Address requester, solver;
    U256 price;
    std::uint64_t from = 0, until = 0;
    U256 deposit;
};
/// `state`: market::ReservationState. `task`: 0 until it has begun.
struct ReservationChanged {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "ReservationChanged";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"reservation", "state", "task"}; }
    static auto tie(auto& e) { return std::tie(e.reservation, e.state, e.task); }
    std::uint64_t reservation = 0;
    std::uint8_t state = 0;
    std::uint64_t task = 0;
};
/// A reservation was not used: its solver has the deposit.
struct ReservationPaid {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "ReservationPaid";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"reservation", "solver", "amount"}; }
    static auto tie(auto& e) { return std::tie(e.reservation, e.solver, e.amount); }
    std::uint64_t reservation = 0;
    Address solver;
    U256 amount;
};
/// A spot task's solver gave its run back: state `index` is the last one that it commits to.
struct RunGivenBack {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "RunGivenBack";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"task", "solver", "run", "index"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.solver, e.run, e.index); }
    std::uint64_t task = 0;
    Address solver;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
};
/// An auction for more replicas has begun.
struct ReplicasWanted {
    static constexpr Contract kContract = Contract::market;
    static constexpr std::string_view kName = "ReplicasWanted";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"task", "wanted", "bidEnd", "revealEnd"}; }
    static auto tie(auto& e) { return std::tie(e.task, e.wanted, e.bid_end, e.reveal_end); }
    std::uint64_t task = 0;
    std::uint8_t wanted = 0;
    std::uint64_t bid_end = 0, reveal_end = 0;
};
struct RetentionRequested {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "RetentionRequested";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"retention", "task", "run", "index", "fee"}; }
    static auto tie(auto& e) { return std::tie(e.retention, e.task, e.run, e.index, e.fee); }
    std::uint64_t retention = 0;
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    U256 fee;
};
/// A verifier keeps the state and was paid, or (keeper zero) the run ended first and the fee was returned.
struct RetentionClosed {
    static constexpr Contract kContract = Contract::audits;
    static constexpr std::string_view kName = "RetentionClosed";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"retention", "task", "keeper"}; }
    static auto tie(auto& e) { return std::tie(e.retention, e.task, e.keeper); }
    std::uint64_t retention = 0;
    std::uint64_t task = 0;
    Address keeper;
};

}  // namespace retrace::contracts
