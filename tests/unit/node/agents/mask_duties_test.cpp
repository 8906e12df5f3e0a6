// SPDX-License-Identifier: MIT
// What members of a group with masks post, from what the ledger shows: a round with dropouts, a restart in every step, and a
// node that tells a member another story later.
#include "node/agents/mask_duties.hpp"

#include "market/masks/opening.hpp"
#include "node/agents/views.hpp"
#include "node/masks/mask_values.hpp"
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using contracts::CallStatus;
using market::MaskStep;

class MaskDutiesTest : public contracts::GroupMasks {
protected:
    /// Made anew for each question, as after a restart.
    MaskDuties duties(std::uint32_t run) { return MaskDuties(folder_.path() / std::to_string(run), source()); }
    market::Run record(std::uint32_t run) const { return contracts::views::run(state, 1, run).value(); }
    std::vector<MaskCall> due(std::uint32_t run) {
        auto first = duties(run).due(state, record(run));
        EXPECT_TRUE(first.has_value()) << (first ? "" : first.error().message);
        return first ? std::move(*first) : std::vector<MaskCall>{};
    }
    CallStatus send_call(std::uint32_t run, const MaskCall& due) {
        return std::visit([&](const auto& call) { return send(solver_of(run), call); }, due);
    }
    void play_step(const std::vector<std::uint32_t>& runs) {
        const std::uint32_t now = group().round;
        const MaskStep before = mask_step(now);
        for (const std::uint32_t run : runs)
            for (const MaskCall& call : due(run)) EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round > now || mask_step(now) != before; }));
    }
    Bytes masks_over(std::uint32_t run, contracts::CommitRound& call) override {
        const auto rows = duties(run).masks(state, record(run));
        EXPECT_TRUE(rows.has_value());
        if (!rows || rows->empty()) return {};
        call.masks = kernels::mask_table_root(*rows);
        return encode(*market::decode_mask_opening(
            MaskBook(folder_.path() / std::to_string(run)).find({1, run, group().round}).value()->opening));
    }

    void show_due_masks(std::uint32_t run) override {
        const auto shown = duties(run).shown(state, record(run));
        ASSERT_TRUE(shown.has_value()) << shown.error().message;
        for (const MaskCall& call : *shown) EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
    }

    test::TemporaryFolder folder_;
};

TEST_F(MaskDutiesTest, ARoundIsUnmaskedThoughMembersAreStartedAnewInEachStep) {
    begin();
    play_step({0, 1, 2, 3});
    ASSERT_EQ(mask_step(), MaskStep::shares);
    play_step({0, 1, 2, 3});
    ASSERT_EQ(mask_step(), MaskStep::complaints);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) EXPECT_TRUE(due(run).empty()) << "all shares fit";
    await_messages(0);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) {
        EXPECT_TRUE(due(run).empty());
        const auto rows = duties(run).masks(state, record(run)).value();
        EXPECT_EQ(rows.size(), 4u);
        EXPECT_EQ(duties(run).masks(state, record(run)).value(), rows);
    }
    send_messages({0, 1, 2, 3}, {2});
    ASSERT_EQ(group().phase, market::GroupPhase::unmasking);
    for (const std::uint32_t run : {0u, 1u, 3u})
        for (const MaskCall& call : due(run)) EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(recorded_runs(0), (contracts::RunList{0, 1, 3}));
    EXPECT_EQ(round(0).masks.size(), 3u + 3);
    // Members show the masks over the messages that are drawn with what they kept.
    ASSERT_TRUE(serve_until([&] { return contracts::views::round_message(state, 1, 0, 0)->masks.size() == 4; }));
    EXPECT_TRUE(duties(0).shown(state, record(0))->empty());
}

TEST_F(MaskDutiesTest, AMemberRepeatsItsAnswersAndGivesNoOthers) {
    begin();
    const auto keys = std::get<contracts::MaskKeys>(due(0).at(0));
    EXPECT_EQ(std::get<contracts::MaskKeys>(due(0).at(0)).keys, keys.keys);
    play_step({0, 1, 2, 3});
    const auto shares = std::get<contracts::MaskShares>(due(0).at(0));
    // The node shows a smaller cohort: shares of other polynomials would be a second answer.
    const auto kept = masks();
    auto other = kept;
    other.cohort.pop_back();
    contracts::store(state, contracts::keys::round_masks(1, 0), other);
    const auto elsewhere = duties(0).due(state, record(0));
    ASSERT_FALSE(elsewhere.has_value());
    EXPECT_NE(elsewhere.error().message.find("another cohort"), std::string::npos) << elsewhere.error().message;
    contracts::store(state, contracts::keys::round_masks(1, 0), kept);
    EXPECT_EQ(std::get<contracts::MaskShares>(due(0).at(0)).shares, shares.shares);
    play_step({0, 1, 2, 3});
    await_messages(0);
    ASSERT_EQ(duties(0).masks(state, record(0))->size(), 4u);
    other = masks();
    other.dealt = {0, 1, 2};
    const auto before = masks();
    contracts::store(state, contracts::keys::round_masks(1, 0), other);
    const auto twice = duties(0).masks(state, record(0));
    ASSERT_FALSE(twice.has_value()) << "two messages under the same keys";
    contracts::store(state, contracts::keys::round_masks(1, 0), before);
    send_messages({0, 1, 2, 3});
    ASSERT_EQ(group().phase, market::GroupPhase::unmasking);
    const auto revealed = std::get<contracts::Unmask>(due(0).at(0));
    other = masks();
    other.recorded = {0, 1, 2};
    contracts::store(state, contracts::keys::round_masks(1, 0), other);
    EXPECT_EQ(std::get<contracts::Unmask>(due(0).at(0)).shares, revealed.shares)
        << "shares of both secrets of member 3 would open its message";
}

TEST_F(MaskDutiesTest, NotesStayUntilTheSegmentIsFinal) {
    begin();
    play_step({0, 1, 2, 3});
    play_step({0, 1, 2, 3});
    await_messages(0);
    send_messages({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 2u, 3u})
        for (const MaskCall& call : due(run)) EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    const auto kept = [&] { return MaskBook(folder_.path() / "0").find({1, 0, 0}).value().has_value(); };
    // Many rounds later, though the group keeps messages of a few only.
    auto later = group();
    later.round = 100;
    contracts::store(state, contracts::keys::group(1), later);
    duties(0).forget(state, record(0));
    EXPECT_TRUE(kept());
    auto final_run = record(0);
    final_run.finalised = final_run.next_state - 1;
    duties(0).forget(state, final_run);
    EXPECT_FALSE(kept());
}

TEST_F(MaskDutiesTest, AMachineDoesNotUseSecretsOfKeysThatAnotherOnePosted) {
    begin();
    // A second machine of the same account has made secrets too; the first one's keys are on the ledger.
    const auto second = [&] { return MaskDuties(folder_.path() / "second", source()); };
    ASSERT_EQ(second().due(state, record(0)).value().size(), 1u);
    play_step({0, 1, 2, 3});
    const auto refused = [&](const auto& made) {
        ASSERT_FALSE(made.has_value());
        EXPECT_NE(made.error().message.find("another machine posted them"), std::string::npos);
    };
    refused(second().due(state, record(0)));
    play_step({0, 1, 2, 3});
    refused(second().due(state, record(0)));
    await_messages(0);
    refused(second().masks(state, record(0)));
    send_messages({0, 1, 2, 3});
    ASSERT_EQ(group().phase, market::GroupPhase::unmasking);
    refused(second().due(state, record(0)));
    EXPECT_EQ(due(0).size(), 1u);
}

TEST_F(MaskDutiesTest, ChainsOfOneNumberHaveNotesOfTheirOwn) {
    const auto folder = [&](std::uint8_t genesis) {
        Hash32 hash;
        hash.bytes[0] = genesis;
        return mask_notes_folder(folder_.path(), 7, hash);
    };
    EXPECT_NE(folder(1), folder(2));
    EXPECT_NE(folder(1), mask_notes_folder(folder_.path(), 8, Hash32()));
    begin();
    const auto keys_on = [&](std::uint8_t genesis) {
        return std::get<contracts::MaskKeys>(MaskDuties(folder(genesis), source()).due(state, record(0))->at(0)).keys;
    };
    const Bytes first = keys_on(1);
    EXPECT_NE(keys_on(2), first);
    EXPECT_EQ(keys_on(1), first);
    const auto nowhere = MaskDuties({}, source()).due(state, record(0));
    ASSERT_FALSE(nowhere.has_value());
    EXPECT_NE(nowhere.error().message.find("first block"), std::string::npos);
}

TEST_F(MaskDutiesTest, StatesBehindMasksAreServedForAuditsOnly) {
    begin();
    for (std::uint32_t now = 0; now < 3; ++now) {
        play_step({0, 1, 2, 3});
        play_step({0, 1, 2, 3});
        await_messages(now);
        send_messages({0, 1, 2, 3});
        for (const std::uint32_t run : {0u, 1u, 2u, 3u})
            for (const MaskCall& call : due(run)) EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
        ASSERT_TRUE(serve_until([&] { return group().round == now + 1; }));
    }
    Withheld withheld(100);
    deliver({0, 1, 2, 3});
    std::size_t hidden = 0, served = 0;
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) {
        withheld.update(state, height, record(run).solver);
        const auto roots = withheld.roots();
        for (std::uint64_t i = 1; i < record(run).next_state; ++i) {
            const auto next = contracts::views::segment(state, 1, run, i);
            const Hash32 root = contracts::views::checkpoint(state, 1, run, i)->root;
            const bool needed = i + 1 == record(run).next_state || (next && next->audit != 0);
            EXPECT_EQ(roots.contains(root), !needed) << run << " " << i;
            (needed ? served : hidden) += 1;
        }
        withheld = Withheld(100);
    }
    EXPECT_GT(hidden, 0u);
    EXPECT_GT(served, 4u);
}

TEST_F(MaskDutiesTest, WhoseNotesAreLostTakesNoFurtherPart) {
    begin();
    play_step({0, 1, 2, 3});
    std::filesystem::remove_all(folder_.path() / "0");
    EXPECT_FALSE(duties(0).due(state, record(0)).has_value()) << "it does not deal the secrets of keys that it lost";
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / "1"))
        std::filesystem::resize_file(entry.path(), 20);
    EXPECT_FALSE(duties(1).due(state, record(1)).has_value());
}

TEST_F(MaskDutiesTest, ADealerOfGarbageIsPutOut) {
    begin();
    play_step({0, 1, 2, 3});
    for (const std::uint32_t run : {0u, 1u, 2u, 3u})
        for (MaskCall call : due(run)) {
            auto& shares = std::get<contracts::MaskShares>(call).shares;
            if (run == 2) shares[shares.size() - 1] ^= 1;  // For member 3.
            EXPECT_EQ(send_call(run, call), CallStatus::ok) << last.revert_reason;
        }
    next_block();
    ASSERT_EQ(mask_step(), MaskStep::complaints);
    EXPECT_TRUE(due(0).empty());
    const auto complaints = due(3);
    ASSERT_EQ(complaints.size(), 1u);
    EXPECT_EQ(send_call(3, complaints[0]), CallStatus::ok) << last.revert_reason;
    EXPECT_EQ(run(2).state, market::RunState::forfeited);
    await_messages(0);
    EXPECT_EQ(duties(3).masks(state, record(3)).value().size(), 3u) << "no mask with the dealer that was put out";
}

}  // namespace
}  // namespace retrace::node
