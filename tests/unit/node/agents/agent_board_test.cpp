// SPDX-License-Identifier: MIT
// What an agent owes follows from its view.
#include "node/agents/agent_board.hpp"

#include <gmock/gmock.h>

namespace retrace::node {
namespace {

using ::testing::ElementsAre;

solver::RunView run_of(std::uint64_t task, std::uint64_t next, std::uint64_t deadline) {
    solver::RunView out;
    out.terms.id = task;
    out.terms.schedule = {90, 10};
    out.next_state = next;
    out.deadline = deadline;
    return out;
}

TEST(AgentBoard, PutsWhatIsDueFirstOnTop) {
    solver::SolverView view;
    view.runs = {run_of(1, 10, 0), run_of(2, 4, 80), run_of(3, 0, 60)};
    view.runs[2].may_accept = true;
    view.runs[0].reports.push_back({.id = 5, .deadline = 70});
    verifier::DisputeView own, other;
    own.id = 8, own.terms.id = 2, own.segment = 3, own.side = verifier::Side::solver, own.deadline = 65;
    other = own;
    other.id = 9, other.side = verifier::Side::challenger;
    ReservedTask promised;
    promised.reservation.id = 6, promised.reservation.from = 90, promised.reservation.until = 95;
    EXPECT_THAT(duties_of(view, {own, other}, {promised}),
                ElementsAre(Duty{"accept the data, or decline", 3, 60},
                            Duty{"dispute 8 of segment 3: the next move is due", 2, 65}, Duty{"answer report 5", 1, 70},
                            Duty{"checkpoint 4 of 9", 2, 80}, Duty{"all states up to 9 are committed: waits", 1, 0},
                            Duty{"dispute 9 of segment 3: the other side moves", 2, 0},
                            Duty{"be there: reservation 6 may begin from block 90 on and before block 95", 0, 0}));
}

TEST(AgentBoard, KnowsTheSeatsOfAVerifier) {
    verifier::VerifierView view;
    verifier::AuditView open, committed, early;
    open.id = 1, open.terms.id = 4, open.segment = 2, open.deadline = 50;
    committed = open;
    committed.id = 2, committed.deadline = 40, committed.commitment.bytes[0] = 1;
    early = open;
    early.id = 3, early.deadline = 0;
    view.audits = {early, open, committed};
    view.keep = {{.task = 4, .run = 0, .index = 7}};
    EXPECT_THAT(duties_of(view), ElementsAre(Duty{"audit 2 of segment 2: reveal the verdict", 4, 40},
                                             Duty{"audit 1 of segment 2: commit the verdict", 4, 50},
                                             Duty{"audit 3 of segment 2: waits", 4, 0}, Duty{"keep state 7", 4, 0}));
}

TEST(AgentBoard, ShowsTheLastStatus) {
    AgentBoard board;
    EXPECT_EQ(board.get().height, 0U);
    AgentStatus status;
    status.height = 3;
    board.set(status);
    EXPECT_EQ(board.get().height, 3U);
}

}  // namespace
}  // namespace retrace::node
