// SPDX-License-Identifier: MIT
// Members of groups with masks: they train while the masks are agreed on, and take no plan whose programs of masks are not
// the builder's.
#include <gmock/gmock.h>

#include "kernels/builder/mask_programs.hpp"
#include "kernels/plan/mask_table.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::test {
namespace {

using kernels::Phase;
using kernels::UpdateKind;
using ::testing::HasSubstr;

constexpr std::uint32_t kBits = 10;  // As RoundsSpec::mask_bits.

struct MaskedTask : TinyGroup {
    explicit MaskedTask(std::uint32_t bits = kBits) : TinyGroup(UpdateKind::masked) { terms.group->mask_bits = bits; }
};

class MaskedMembers : public ::testing::Test {
protected:
    /// A group of two that is in its first round; members make so many inner steps.
    void begin(MiniGroup& group, std::uint32_t steps) {
        for (const std::uint32_t run : {0u, 1u}) {
            group.party(run).config.member_steps = steps;
            group.party(run).start();
        }
        while (group.phase != solver::RoundPhase::training) group.block();
    }
    /// Shows member 0 a view of the open round; runs its work. Returns what it sends.
    std::optional<solver::CommitRound> show(MiniGroup& group, bool takes_messages, bool has_masks) {
        ++group.height;
        solver::SolverView view = group.view_of(0);
        solver::MemberView& member = *view.runs[0].member;
        member.may_commit = takes_messages;
        member.may_begin = !takes_messages;
        if (has_masks) member.masks = masks_;
        auto out = group.party(0).agent->on_view(view);
        worked_ = out.work.has_value();
        if (out.work) group.party(0).agent->on_done(out.work->run());
        for (const solver::SolverMove& move : out.moves)
            if (const auto* sent = std::get_if<solver::CommitRound>(&move)) return *sent;
        return std::nullopt;
    }

    MaskedTask task_;
    std::vector<kernels::MaskRow> masks_{{Hash32{{1}}, true}, {Hash32{{2}}, false}, {Hash32{{3}}, true}};
    bool worked_ = false;
};

TEST_F(MaskedMembers, TrainWhileMasksAreAgreedOn) {
    // One gets its masks before it begins, the other one only when its inner steps are made.
    MiniGroup early(task_, 2), late(task_, 2);
    begin(early, 3);
    begin(late, 3);
    std::optional<solver::CommitRound> expected, sent;
    EXPECT_FALSE(show(early, true, true).has_value());
    EXPECT_TRUE(worked_);
    expected = show(early, true, true);
    ASSERT_TRUE(expected.has_value());

    EXPECT_FALSE(show(late, false, false).has_value());
    EXPECT_TRUE(worked_) << "it trains before the masks are known";
    for (int block = 0; block < 3; ++block) {
        EXPECT_FALSE(show(late, false, false).has_value());
        EXPECT_FALSE(worked_) << "and then waits for them";
    }
    EXPECT_FALSE(show(late, true, false).has_value());
    EXPECT_FALSE(worked_) << "nobody sends a message without its masks";
    EXPECT_FALSE(show(late, true, true).has_value());
    EXPECT_TRUE(worked_);
    sent = show(late, true, true);
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->steps, 3u) << "no step more than it had made";
    EXPECT_EQ(sent->steps, expected->steps);
    EXPECT_EQ(sent->message, expected->message);
    EXPECT_EQ(sent->commitment, expected->commitment);
    EXPECT_EQ(sent->masks, kernels::mask_table_root(masks_));
}

TEST_F(MaskedMembers, ProgramsOfMasksAreThoseOfTheBuilder) {
    for (const std::uint32_t bits : {2u, kBits, 27u}) {
        kernels::RoundsSpec spec;
        spec.update = UpdateKind::masked;
        spec.mask_bits = bits;
        kernels::ModelSpec model;
        model.hidden = {12};
        model.input = {16};
        model.classes = 2;
        kernels::TrainingSpec training;
        training.samples = 64;
        training.batch = 8;
        training.steps = 100;
        const auto programs = kernels::build_training(model, training, 64, 64).value();
        const auto plan = kernels::build_rounds(programs, training, spec).value();
        const auto made = kernels::build_mask_programs(plan.phases[0].program, bits);
        ASSERT_TRUE(made.has_value()) << made.error().message;
        for (const kernels::PhaseProgram& phase : plan.phases) {
            const Hash32 root = kernels::CommittedProgram(phase.program).root();
            if (phase.phase != Phase::mask && phase.phase != Phase::unmask) continue;
            const kernels::Program& same = phase.phase == Phase::mask ? made->mask : made->unmask;
            EXPECT_EQ(root, kernels::CommittedProgram(same).root()) << bits;
        }
        EXPECT_FALSE(kernels::build_mask_programs(programs.train, bits).has_value()) << "no message in its states";
        EXPECT_FALSE(kernels::build_mask_programs(plan.phases[0].program, 28).has_value());
    }
}

TEST_F(MaskedMembers, APlanWithOtherProgramsOfMasksIsDeclined) {
    const auto declined = [](MaskedTask& task) {
        MiniGroup group(task, 2);
        std::string reason;
        for (int block = 0; block < 4; ++block) {
            auto out = group.party(0).agent->on_view(group.view_of(0));
            for (const solver::SolverMove& move : out.moves)
                if (const auto* decline = std::get_if<solver::Decline>(&move)) reason = decline->reason;
            if (out.work) group.party(0).agent->on_done(out.work->run());
        }
        return reason;
    };
    MaskedTask right;
    EXPECT_EQ(declined(right), "");
    MaskedTask narrow(kBits - 1);
    EXPECT_THAT(declined(narrow), HasSubstr("programs of masks are not those of 9 bits"));
    // `mask` leaves the message as it is: what `unmask` does with a row is done in both.
    MaskedTask bare;
    for (kernels::PhaseProgram& phase : bare.plan.phases) {
        if (phase.phase != Phase::mask) continue;
        for (kernels::OpRecord& op : phase.program.ops)
            if (op.code == kernels::OpCode::add_wrap) op.code = kernels::OpCode::sub_wrap;
    }
    const Bytes file = kernels::encode(bare.plan);
    bare.terms.program_root = kernels::plan_root(bare.plan);
    bare.terms.program_bytes = file.size();
    bare.source.programs[bare.terms.program_root] = file;
    EXPECT_THAT(declined(bare), HasSubstr("messages may be seen"));
}

}  // namespace
}  // namespace retrace::test
