// SPDX-License-Identifier: MIT
// Groups from their posting to their delivery. SPEC 21.
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupLife : public GroupTest {};

TEST_F(GroupLife, FourMembersTrainInRoundsAndDeliver) {
    start_group(small_terms());
    const U256 price = group().price;
    EXPECT_EQ(price, U256(430)) << "the highest winning price, as nobody lost";
    begin_rounds();
    for (std::uint32_t now = 0; now < 3; ++now) {
        ASSERT_EQ(group().round, now);
        play_round({0, 1, 2, 3});
        EXPECT_EQ(round(now).entries.size(), 4u);
        EXPECT_EQ(round(now).total, 40u);
        EXPECT_EQ(round(now).holds, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    }
    deliver({0, 1, 2, 3});
    for (std::uint32_t index = 0; index < 4; ++index) EXPECT_EQ(run(index).earned, price * U256(3)) << index;
    ASSERT_EQ(send("requester", AcceptModel{1}), CallStatus::ok);
    EXPECT_EQ(task().state, TaskState::settled);
    EXPECT_EQ(all<Slashed>().size(), 0u);
}

}  // namespace
}  // namespace retrace::contracts
