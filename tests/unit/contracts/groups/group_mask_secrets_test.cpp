// SPDX-License-Identifier: MIT
// The secrets of a round are put together over several blocks. SPEC 21.11.7.
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupMaskSecrets : public GroupMasks {
protected:
    /// Six members deal and send, four messages are recorded, and all reveal their shares.
    void unmask_of_six() {
        begin({"alice", "bob", "carol", "dave", "erin", "frank"});
        const RunList all{0, 1, 2, 3, 4, 5};
        agree_on_keys(all);
        deal_all(all);
        send_messages(all, {1, 4});
        ASSERT_EQ(group().phase, GroupPhase::unmasking);
        for (const std::uint32_t run : all) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    }
};

TEST_F(GroupMaskSecrets, FourSecretsAreOpenedInABlock) {
    unmask_of_six();
    const auto masked_before = masked();
    std::map<std::uint32_t, market::RevealedShares> revealed;
    for (const std::uint32_t run : {0u, 1u, 2u, 3u, 4u, 5u}) revealed.emplace(run, revealed_of(run));
    next_block();
    ASSERT_EQ(mask_step(), MaskStep::secrets);
    EXPECT_EQ(group().round, 0u);
    EXPECT_EQ(masks().opened, market::kMaskSecretsAtOnce);
    EXPECT_EQ(masks().terms.size(), 4u) << "their own masks of the recorded members";
    EXPECT_EQ(name(send("alice", Unmask{1, 0, 0, encode(revealed_of(0))})), "wrong_mask_step");
    EXPECT_EQ(name(send("bob", LeaveTask{1, 1})), "ok");
    EXPECT_EQ(run(1).state, RunState::running) << "a dealer waits until the masks are open";
    next_block();
    EXPECT_EQ(mask_step(), MaskStep::open);
    EXPECT_EQ(group().round, 1u);
    EXPECT_EQ(recorded_runs(0), (RunList{0, 2, 3, 5}));
    const auto terms = market::mask_terms(masked_before, revealed);
    ASSERT_TRUE(terms.has_value());
    EXPECT_EQ(round(0).masks, *terms);
    EXPECT_EQ(round(0).masks.size(), 4u + 2 * 4);
    EXPECT_EQ(round(0).terms, mask_root_of(*terms));
}

TEST_F(GroupMaskSecrets, OneThatIsMissingAfterOthersWereOpenedMakesTheRoundVoid) {
    begin({"alice", "bob", "carol", "dave", "erin", "frank"});
    const RunList all{0, 1, 2, 3, 4, 5};
    agree_on_keys(all);
    // 5 seals garbage for three members, which cannot reveal its shares; its message is not recorded.
    for (const std::uint32_t run : {0u, 1u, 2u, 3u, 4u}) ASSERT_EQ(deal(run), CallStatus::ok);
    Bytes wrong = shares_of(5);
    for (std::size_t i = wrong.size() - 6 * 64; i < wrong.size() - 3 * 64; ++i) wrong[i] ^= 0x5a;
    ASSERT_EQ(send("frank", MaskShares{1, 5, 0, wrong}), CallStatus::ok);
    await_messages(0);
    send_messages(all, {5});
    ASSERT_EQ(group().phase, GroupPhase::unmasking);
    for (const std::uint32_t run : {0u, 1u, 2u, 3u, 4u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(mask_step(), MaskStep::lost);
    EXPECT_TRUE(round(0).entries.empty());
    EXPECT_TRUE(round(0).masks.empty()) << "no secret of a void round is in its record";
    EXPECT_EQ(run(5).state, RunState::forfeited);
}

TEST_F(GroupMaskSecrets, ALongestRoundHasTimeForTheSecretsOf32Members) {
    market::GroupSpec terms = masked_terms();
    const std::uint64_t with = market::longest_round(terms);
    terms.mask_bits = 0;
    EXPECT_EQ(with, market::longest_round(terms) + terms.mask_blocks + 1 + 32 / market::kMaskSecretsAtOnce);
}

}  // namespace
}  // namespace retrace::contracts
