// SPDX-License-Identifier: MIT
// Replicas that join a running task, and take all the time that they have.
#pragma once

#include "tests/unit/contracts/scenarios/hostile_reports_fixture.hpp"

namespace retrace::contracts {

class JoiningReplicas : public HostileReports {
protected:
    /// The requester pays for this many more replicas of task 1.
    void pay_raise(std::size_t more) {
        const auto from = views::newest_finalised_state(state, task()).index;
        const auto count = static_cast<std::uint8_t>(more);
        const U256 price = market::escrow_of_more(views::spec(state, 1).value(), params, from, count).total();
        const auto all = static_cast<std::uint8_t>(task().active.size() + more);
        ASSERT_EQ(send("requester", RaiseReplicas{1, all}, price), CallStatus::ok) << last.revert_reason;
    }
    /// These win the places, with their prices.
    void raise(const std::map<std::string, std::uint64_t>& winners) {
        pay_raise(winners.size());
        auction(winners);
    }
    /// Has the run's newest finalised state retained, so that its segments are paid.
    void keep(const std::string& solver, std::uint32_t index) {
        const market::Run now = run(index);
        if (now.finalised == now.paid || !views::checkpoint(state, 1, index, now.finalised)->keepers.empty()) return;
        send(solver, RequestRetention{1, index, now.finalised}, params.audit_fee);
        send("v1", AttestRetention{1, index, now.finalised});
    }
    void commit_if_due(const std::string& solver, std::uint32_t index) {
        const market::Run now = run(index);
        if (now.deadline == 0 || height + 1 < now.deadline) return;
        ASSERT_EQ(checkpoint(solver, now.next_state, index), CallStatus::ok) << last.revert_reason;
    }
};

}  // namespace retrace::contracts
