// SPDX-License-Identifier: MIT
#include "node/explain/reservation_reason.hpp"

#include "contracts/lifecycle/isolate.hpp"
#include "contracts/records/views.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

using market::Reservation;
using market::ReservationState;

/// A call that is sent after block `height` comes into the next one at the earliest.
bool comes_before(std::uint64_t limit, std::uint64_t height) { return height + 1 < limit; }

constexpr const char* kAgain = "offer it again, or post the task for all solvers (`retrace task submit`)";

ReservationExplanation explain_accepted(const Reservation& of, std::uint64_t height) {
    const std::string number = std::to_string(of.id);
    if (comes_before(of.from, height))
        return {"the solver has locked " + describe_coins(of.locked) + " of its stake and keeps its time",
                {},
                "the requester may begin the task",
                of.from};
    if (!comes_before(of.until, height))
        return {"the task did not begin in time",
                {},
                "the solver has the deposit of " + describe_coins(of.deposit) + ", and its stake is free",
                of.until};
    return {"the requester may begin the task, and has not yet",
            "requester: `retrace reservation begin " + number + " FILE`",
            "the solver has the deposit of " + describe_coins(of.deposit) + ", and its stake is free", of.until};
}

ReservationExplanation explain_offered(const Reservation& of, std::uint64_t height) {
    const std::string number = std::to_string(of.id), deposit = describe_coins(of.deposit);
    const std::string withdraw = "requester: `retrace reservation withdraw " + number + "` ";
    if (!comes_before(of.from, height))
        return {"the solver did not accept it in time, and can no longer",
                withdraw + "returns the deposit of " + deposit,
                {},
                {}};
    return {"it waits for the solver to accept it; then the solver locks its stake, and loses " + deposit +
                " of it if it does not come",
            "solver: `retrace reservation accept " + number + "`; " + withdraw + "takes it back",
            "the solver can no longer accept it; its deposit of " + deposit + " returns when it is taken back",
            of.from};
}

ReservationExplanation explain_begun(const ledger::StateView& view, const Reservation& of) {
    const std::string task = std::to_string(of.task), deposit = describe_coins(of.deposit);
    if (contracts::is_frozen(view, of.task))
        return {
            "task " + task + " was frozen before the solver accepted its data; neither side is at fault",
            {},
            "when task " + task + " is released, the deposit of " + deposit + " returns and the solver's stake is free",
            {}};
    ReservationExplanation out{
        "task " + task + " has begun and waits until the solver has its data",
        "requester: `retrace task upload " + task + " FILE`, with the task's file, sends what is missing",
        "the deposit of " + deposit + " and as much of the solver's stake are burned, and task " + task +
            " goes on to an auction",
        {}};
    const auto run = contracts::views::run(view, of.task, 0);
    if (run && run->deadline != 0) out.next_height = run->deadline;
    return out;
}

}  // namespace

ReservationExplanation explain_reservation(const ledger::StateView& view, const Reservation& of, std::uint64_t height) {
    const std::string task = std::to_string(of.task), deposit = describe_coins(of.deposit);
    switch (of.state) {
        case ReservationState::offered: return explain_offered(of, height);
        case ReservationState::accepted: return explain_accepted(of, height);
        case ReservationState::begun: return explain_begun(view, of);
        case ReservationState::honoured:
            return {"the solver took task " + task + "; the deposit of " + deposit + " returned", {}, {}, {}};
        case ReservationState::broken:
            return {"the solver did not take task " + task + "; the deposit of " + deposit +
                        " and as much of its stake are burned",
                    "`retrace task explain " + task + "` says how the task goes on",
                    {},
                    {}};
        case ReservationState::unused:
            return {"the task did not begin in time; the solver has the deposit of " + deposit, kAgain, {}, {}};
        case ReservationState::lapsed:
            return {"the solver did not accept it in time; the deposit of " + deposit + " returned", kAgain, {}, {}};
        case ReservationState::withdrawn:
            return {"the requester took the offer back; the deposit of " + deposit + " returned", {}, {}, {}};
        case ReservationState::released:
            return {"task " + task + " was frozen before the solver accepted its data, and released; the deposit of " +
                        deposit + " returned and the solver's stake is free",
                    kAgain,
                    {},
                    {}};
    }
    return {};
}

}  // namespace retrace::node
