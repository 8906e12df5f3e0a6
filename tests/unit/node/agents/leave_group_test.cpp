// SPDX-License-Identifier: MIT
// When a member may give up its seat, and what it is told when it may not.
#include "node/agents/leave_group.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "contracts/records/views.hpp"
#include "market/groups.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using market::GroupPhase;
using testing::HasSubstr;

class BlankView final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

/// Run 1 of task 1 trains in round 2, with two segments that are not final.
struct LeaveGroup : testing::Test {
    LeaveGroup() {
        group.task = 1;
        group.phase = GroupPhase::training;
        group.round = 2;
        group.deadline = 90;
        run.task = 1;
        run.index = 1;
        run.solver = self;
        run.state = market::RunState::running;
        run.next_state = 4;
        run.finalised = 1;
        contracts::store(state, keys::open_runs(self), contracts::ListOf<contracts::views::RunId>{{{5, 0}, {1, 1}}});
    }
    Result<Leaving> leaving(const ledger::Address& who) {
        contracts::store(state, keys::group(1), group);
        contracts::store(state, keys::run(1, 1), run);
        contracts::store(state, keys::member(1, 1), member);
        return leaving_of(state, 1, who);
    }
    LeavePoint point() { return leaving(self).value().point; }
    std::string refusal() { return leaving(self).error().message; }

    BlankView nothing;
    ledger::State state{nothing};
    const ledger::Address self{{7}};
    market::Group group;
    market::Run run;
    market::Member member;
};

TEST_F(LeaveGroup, WaitsForTheMessageThatIsBeingTrained) {
    const auto trains = leaving(self);
    ASSERT_TRUE(trains.has_value()) << trains.error().message;
    EXPECT_EQ(trains->point, LeavePoint::trains);
    EXPECT_EQ(trains->run, 1U);
    EXPECT_EQ(trains->round, 2U);
    EXPECT_EQ(trains->deadline, 90U);
    EXPECT_EQ(trains->unfinalised, 2U) << "states 2 and 3 are committed and not final";
    group.committed = {0};
    EXPECT_EQ(point(), LeavePoint::trains) << "another member has sent its message";
    group.committed.push_back(1);
    EXPECT_EQ(point(), LeavePoint::now);
    group.committed.clear();
    group.phase = GroupPhase::spreading;
    EXPECT_EQ(point(), LeavePoint::now) << "nobody waits for its message any more";
}

TEST_F(LeaveGroup, IsDoneOnce) {
    member.leaving = true;
    EXPECT_EQ(point(), LeavePoint::leaves);
}

TEST_F(LeaveGroup, IsRefusedWithTheReason) {
    EXPECT_THAT(leaving(ledger::Address{{8}}).error().message, HasSubstr("no seat in task 1"));
    EXPECT_THAT(leaving_of(state, 5, self).error().message, HasSubstr("no training in rounds"));
    run.next_state = 0;
    EXPECT_THAT(refusal(), HasSubstr("no first state yet"));
    run.next_state = 4;
    group.phase = GroupPhase::starting;
    EXPECT_THAT(refusal(), HasSubstr("have not begun"));
    group.phase = GroupPhase::over;
    EXPECT_THAT(refusal(), HasSubstr("are over"));
}

}  // namespace
}  // namespace retrace::node
