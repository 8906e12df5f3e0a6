// SPDX-License-Identifier: MIT
// The segments of a member of a private group: it takes in records, or trains. Contracts 21.13.4.
#include <gtest/gtest.h>

#include "solver/agent/member.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::solver {
namespace {

GroupTerms terms_with(std::uint32_t private_sets) {
    GroupTerms out;
    out.rounds = 9;
    out.steps_max = 4;
    out.shared = 1;
    out.public_tensors = {2};
    out.members = 2;
    out.keep_rounds = 8;
    out.catch_up_max = 16;
    out.private_sets = private_sets;
    return out;
}

MemberView member_at(std::uint32_t base) {
    MemberView out;
    out.phase = RoundPhase::training;
    out.round = 3;
    out.base = base;
    out.may_commit = true;
    for (std::uint32_t round = base; round < out.round; ++round)
        out.records.push_back({round, 8, {{0, 4, {Hash32()}, 4, 0}, {1, 4, {Hash32()}, 4, 0}}});
    return out;
}

TEST(PrivateMember, TakesInRecordsBeforeItTrains) {
    const auto together = next_segment(member_at(1), 5, terms_with(0));
    ASSERT_TRUE(together.has_value());
    EXPECT_EQ(together->span.base, 3u);
    EXPECT_EQ(together->span.steps, 4u);
    const auto records = next_segment(member_at(1), 5, terms_with(2));
    ASSERT_TRUE(records.has_value());
    EXPECT_EQ(records->span.from, 1u);
    EXPECT_EQ(records->span.base, 3u);
    EXPECT_EQ(records->span.steps, 0u);
    const auto steps = next_segment(member_at(3), 6, terms_with(2));
    ASSERT_TRUE(steps.has_value());
    EXPECT_EQ(steps->span.from, 3u);
    EXPECT_EQ(steps->span.base, 3u);
    EXPECT_EQ(steps->span.steps, 4u);
}

TEST(PrivateMember, AStateThatItHasMadeIsCommittedAsWhatItIs) {
    const GroupTerms terms = terms_with(2);
    const auto order = next_segment(member_at(1), 5, terms);
    const std::uint64_t made = kernels::header_step(3, 2 * (1 + 2 + 1));  // begin, two messages, end; twice.
    const auto span = span_of(*order, made, terms.steps_max);
    ASSERT_TRUE(span.has_value());
    EXPECT_EQ(span->steps, 0u);
    const auto again = next_segment(member_at(1), 5, terms, {made, std::nullopt});
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->span.steps, 0u);
    const auto trained = next_segment(member_at(3), 6, terms, {kernels::header_step(3, 5), std::nullopt});
    ASSERT_TRUE(trained.has_value());
    EXPECT_EQ(span_of(*trained, kernels::header_step(3, 5), terms.steps_max)->steps, 4u);
}

/// Contracts 21.13.33. A member whose operator withdrew its data opens what it has committed to, and trains no more.
TEST(PrivateMember, OpensItsFirstStateBeforeAnyOtherAlsoWithoutData) {
    test::TinyGroup task;
    test::MiniGroup group(task, 2);
    for (int i = 0; i < 200 && group.run(0).next_state < 4; ++i) group.block();
    ASSERT_GE(group.run(0).next_state, 4u);
    test::GroupParty& party = group.party(0);
    party.start();
    const auto opened = [&](const std::vector<std::uint64_t>& due) {
        std::set<std::uint64_t> out;
        for (int i = 0; i < 30; ++i) {
            ++group.height;
            SolverView view = group.view_of(0);
            RunView& run = view.runs.at(0);
            run.terms.group->private_sets = 2;
            run.terms.data_roots.clear();
            run.open_roots = due;
            run.member->may_commit = run.member->may_go_on = false;
            auto now = party.agent->on_view(view);
            for (const SolverMove& move : now.moves) {
                if (const auto* opening = std::get_if<OpenMember>(&move)) out.insert(opening->opening.index);
                EXPECT_FALSE(std::holds_alternative<CommitRound>(move));
            }
            if (!now.work) continue;
            EXPECT_FALSE(now.work->what.starts_with("train")) << now.work->what;
            party.agent->on_done(now.work->run());
        }
        return out;
    };
    EXPECT_EQ(opened({0, 1, 2}), std::set<std::uint64_t>{0});
    EXPECT_EQ(opened({1, 2}), (std::set<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace retrace::solver
