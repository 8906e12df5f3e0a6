// SPDX-License-Identifier: MIT
// One that is no member has the shared model of all members after each record, from the messages alone.
#include "solver/rounds/group_follower.hpp"

#include <gmock/gmock.h>

#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::test {
namespace {

using kernels::UpdateKind;
using solver::GroupFollower;
using ::testing::HasSubstr;

class Followers : public ::testing::TestWithParam<UpdateKind> {
protected:
    Followers() {
        for (std::uint32_t i = 0; i < 3; ++i) {
            group_.party(i).config.member_steps = 2 + i % 2;
            group_.party(i).config.keep_checkpoints = 16;
            group_.party(i).start();
        }
        // Run 1 misses two rounds; nobody has run 2's message of round 3; round 4 closes without any.
        group_.away = {{1, 1}, {2, 1}, {4, 0}, {4, 1}, {4, 2}};
        group_.hidden = {{3, 2}};
    }
    std::vector<std::vector<kernels::Tensor>> messages_of(const solver::RecordView& record) {
        std::vector<std::vector<kernels::Tensor>> out;
        for (const solver::RecordView::Entry& entry : record.entries) {
            auto& message = out.emplace_back();
            for (std::uint32_t place = 0; place < entry.tensors.size(); ++place) {
                const auto& tensor = plan_.states().tensors[plan_.public_tensors()[place]];
                auto read = group_.party(entry.run).messages->tensor_of({7, record.round, entry.run}, place, tensor,
                                                                        task_.pool);
                EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
                if (read) message.push_back(std::move(read).value());
            }
        }
        return out;
    }
    /// The roots of the shared tensors that members' states with this base have.
    std::vector<std::vector<Hash32>> of_members(std::uint32_t base) {
        std::vector<std::vector<Hash32>> out;
        for (std::uint32_t run = 0; run < group_.members(); ++run)
            for (std::uint64_t index = 0; index < group_.run(run).next_state; ++index) {
                const auto state = group_.party(run).states->commitment({7, run, index});
                if (state && !state->tensor_roots.empty() && state->header.step >> kernels::kPlaceBits == base)
                    out.emplace_back(state->tensor_roots.begin(), state->tensor_roots.begin() + plan_.shared());
            }
        return out;
    }

    solver::PlanRunner::MakeRunner in_process() {
        return [this](const kernels::Program& program, kernels::Inputs inputs) {
            return std::make_unique<solver::ProgramRunner>(program, std::move(inputs), task_.pool);
        };
    }

    TinyGroup task_{GetParam(), 6};
    MiniGroup group_{task_, 3};
    solver::CommittedPlan plan_{task_.plan};
};

INSTANTIATE_TEST_SUITE_P(Updates, Followers, ::testing::Values(UpdateKind::dense, UpdateKind::sparse),
                         [](const auto& info) { return info.param == UpdateKind::dense ? "dense" : "sparse"; });

TEST_P(Followers, HaveTheSharedTensorsOfAllMembersAtEachBase) {
    ASSERT_TRUE(group_.play());
    GroupFollower follower(plan_, task_.terms.seed, in_process(), task_.pool);
    ASSERT_TRUE(follower.begin().has_value());
    std::size_t compared = 0;
    for (const solver::RecordView& record : group_.records) {
        for (const auto& roots : of_members(follower.base())) {
            EXPECT_EQ(roots, follower.shared_roots()) << "base " << follower.base();
            ++compared;
        }
        ASSERT_TRUE(follower.take_in(record, messages_of(record)).has_value());
    }
    EXPECT_EQ(follower.base(), 6u);
    for (const auto& roots : of_members(6)) {
        EXPECT_EQ(roots, follower.shared_roots()) << "the delivered state";
        ++compared;
    }
    EXPECT_GE(compared, 12u);
}

TEST_P(Followers, BeginAtTheStateOfAMember) {
    ASSERT_TRUE(group_.play());
    GroupFollower whole(plan_, task_.terms.seed, in_process(), task_.pool),
        late(plan_, task_.terms.seed, in_process(), task_.pool);
    ASSERT_TRUE(whole.begin().has_value());
    for (const solver::RecordView& record : group_.records) {
        if (record.round == 3) {
            const auto& tensors = whole.state().tensors;
            ASSERT_TRUE(late.begin_at(3, {tensors.begin(), tensors.begin() + plan_.shared()}).has_value());
        }
        const auto messages = messages_of(record);
        ASSERT_TRUE(whole.take_in(record, messages).has_value());
        if (late.has_begun()) {
            ASSERT_TRUE(late.take_in(record, messages).has_value());
        }
    }
    EXPECT_EQ(late.base(), 6u);
    EXPECT_EQ(late.shared_roots(), whole.shared_roots());
}

TEST_P(Followers, RefuseWhatIsNotTheNextRecord) {
    ASSERT_TRUE(group_.play());
    GroupFollower follower(plan_, task_.terms.seed, in_process(), task_.pool);
    const solver::RecordView& first = group_.records.at(0);
    auto messages = messages_of(first);
    EXPECT_THAT(follower.take_in(first, messages).error().message, HasSubstr("no state to begin with"));
    ASSERT_TRUE(follower.begin().has_value());
    EXPECT_THAT(follower.take_in(group_.records.at(1), messages).error().message, HasSubstr("round 0 is next"));
    auto few = messages;
    few.pop_back();
    EXPECT_THAT(follower.take_in(first, few).error().message, HasSubstr("number of messages"));
    auto torn = messages;
    torn.front().pop_back();
    EXPECT_THAT(follower.take_in(first, torn).error().message, HasSubstr("number of tensors"));
    EXPECT_THAT(follower.begin_at(2, {}).error().message, HasSubstr("number of shared tensors"));
    EXPECT_EQ(follower.base(), 0u);
    ASSERT_TRUE(follower.take_in(first, messages).has_value()) << "what was refused changed nothing";
}

}  // namespace
}  // namespace retrace::test
