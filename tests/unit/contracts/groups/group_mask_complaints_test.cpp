// SPDX-License-Identifier: MIT
// Complaints between shares and messages: who seals a wrong share is put out, and the round goes on without it.
// SPEC 21.11.29.
#include "contracts/calls/gas.hpp"
#include "tests/unit/contracts/groups/group_masks_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupMaskComplaints : public GroupMasks {
protected:
    /// All deal, some of them garbage for everybody.
    void deal_with_garbage_of(const std::set<std::uint32_t>& liars) {
        agree_on_keys({0, 1, 2, 3});
        for (const std::uint32_t run : {0u, 1u, 2u, 3u}) {
            Bytes shares = shares_of(run);
            for (std::size_t i = shares.size() - 4 * 64; i < shares.size() && liars.contains(run); ++i)
                shares[i] ^= 0x5a;
            ASSERT_EQ(send(solver_of(run), MaskShares{1, run, group().round, shares}), CallStatus::ok);
        }
        next_block();
        ASSERT_EQ(mask_step(group().round), MaskStep::complaints);
    }
    ComplainOfShare complaint_of(std::uint32_t run, std::uint32_t dealer) {
        const auto round = masked(group().round);
        return {1, run, group().round, dealer,
                encode(market::complain(round.round, round.cohort, dealer, run, secrets_.at(run), source()))};
    }
    std::string complain(std::uint32_t run, std::uint32_t dealer) {
        return name(send(solver_of(run), complaint_of(run, dealer)));
    }
    U256 bonded(std::uint32_t run) const { return views::stake(state, views::run(state, 1, run)->solver).bonded; }
};

TEST_F(GroupMaskComplaints, TheRoundOfTheOthersIsRecordedWithoutADealerOfGarbage) {
    begin();
    deal_with_garbage_of({2});
    const U256 before = bonded(2), locked = run(2).locked;
    ASSERT_FALSE(locked.is_zero());
    EXPECT_EQ(complain(0, 2), "ok");
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(bonded(2), before - locked);
    EXPECT_EQ(masks().dealt, (RunList{0, 1, 3}));
    EXPECT_EQ(complain(1, 2), "not_in_cohort") << "nobody is put out twice";
    await_messages(0);
    ASSERT_EQ(mask_step(), MaskStep::messages);
    send_messages({0, 1, 3});
    ASSERT_EQ(group().phase, GroupPhase::unmasking);
    for (const std::uint32_t run : {0u, 1u, 3u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    next_block();
    EXPECT_EQ(mask_step(), MaskStep::open);
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 3}));
    std::vector<market::MaskTerm> terms;
    for (const std::uint32_t run : {0u, 1u, 3u})
        terms.push_back({market::self_seed({1, 0, 0}, run, secrets_.at(run).self), true});
    EXPECT_EQ(round(0).terms, mask_root_of(terms)) << "no mask of 2 is in the sum";
}

TEST_F(GroupMaskComplaints, ADealerThatLeavesIsPutOutWithItsLock) {
    begin();
    deal_with_garbage_of({2});
    const U256 before = bonded(2), locked = run(2).locked;
    ASSERT_EQ(send("carol", LeaveTask{1, 2}), CallStatus::ok);
    serve_block();
    EXPECT_EQ(complain(3, 2), "ok");
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(bonded(2), before - locked);
}

TEST_F(GroupMaskComplaints, WhoDidNotDealMayComplain) {
    begin({"alice", "bob", "carol", "dave", "erin", "frank"});
    agree_on_keys({0, 1, 2, 3, 4, 5});
    for (const std::uint32_t run : {0u, 1u, 4u, 5u}) ASSERT_EQ(deal(run), CallStatus::ok);
    Bytes wrong = shares_of(2);
    wrong[wrong.size() - 2 * 64 - 1] ^= 1;  // For member 3.
    ASSERT_EQ(send("carol", MaskShares{1, 2, 0, wrong}), CallStatus::ok);
    ASSERT_TRUE(serve_until([&] { return mask_step() == MaskStep::complaints; }));
    EXPECT_EQ(complain(0, 2), "mask_wrong_share");
    EXPECT_EQ(complain(3, 2), "ok");
    EXPECT_EQ(masks().dealt, (RunList{0, 1, 4, 5}));
}

class GroupMaskComplaintsOfSix : public GroupMaskComplaints {
protected:
    /// Six members, all of which the terms need; 2 seals a wrong share for 3.
    void deal_of_six() {
        market::GroupSpec terms = masked_terms();
        terms.least = 6;
        start_group(terms, {"alice", "bob", "carol", "dave", "erin", "frank"});
        begin_rounds();
        agree_on_keys({0, 1, 2, 3, 4, 5});
        for (const std::uint32_t run : {0u, 1u, 3u, 4u, 5u}) ASSERT_EQ(deal(run), CallStatus::ok);
        Bytes wrong = shares_of(2);
        wrong[wrong.size() - 3 * 64] ^= 1;  // The share of 2's own mask for member 3.
        ASSERT_EQ(send("carol", MaskShares{1, 2, 0, wrong}), CallStatus::ok);
        next_block();
        ASSERT_EQ(mask_step(), MaskStep::complaints);
    }
};

TEST_F(GroupMaskComplaintsOfSix, AMemberThatCannotBeSparedIsComplainedOfWhenItIsUnmasked) {
    deal_of_six();
    await_messages(0);
    ASSERT_EQ(mask_step(), MaskStep::messages);
    send_messages({0, 1, 2, 3, 4, 5});
    ASSERT_EQ(group().phase, GroupPhase::unmasking);
    for (const std::uint32_t run : {3u, 0u, 1u, 4u, 5u}) ASSERT_EQ(unmask(run), CallStatus::ok) << last.revert_reason;
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_EQ(run(2).state, RunState::forfeited) << "by the complaint of 3 in its shares";
    EXPECT_EQ(mask_step(), MaskStep::open);
    EXPECT_EQ(recorded_runs(0), (RunList{0, 1, 2, 3, 4, 5}));
}

TEST_F(GroupMaskComplaintsOfSix, AComplaintThatLeavesTooFewLosesTheMasksAndMakesNobodyAbsent) {
    deal_of_six();
    EXPECT_EQ(complain(3, 2), "ok");
    EXPECT_EQ(run(2).state, RunState::forfeited) << "whatever it costs the round, the dealer pays for it";
    EXPECT_EQ(mask_step(), MaskStep::lost);
    EXPECT_EQ(name(train(0)), "wrong_mask_step");
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    EXPECT_TRUE(round(0).entries.empty());
    for (const std::uint32_t index : {0u, 1u, 3u, 4u, 5u}) EXPECT_EQ(member(index).absent, 0u) << index;
}

TEST_F(GroupMaskComplaints, AreTakenForTheWholeStepAndInNoOther) {
    begin();
    agree_on_keys({0, 1, 2, 3});
    EXPECT_EQ(name(send("alice", ComplainOfShare{1, 0, 0, 2, Bytes(97)})), "mask_off_curve");
    for (const std::uint32_t run : {0u, 1u, 2u, 3u}) ASSERT_EQ(deal(run), CallStatus::ok);
    EXPECT_EQ(complain(0, 2), "wrong_mask_step");
    next_block();
    const std::uint64_t end = masks().deadline;
    EXPECT_EQ(end, height + masked_terms().mask_blocks);
    EXPECT_EQ(name(train(0)), "wrong_mask_step");
    ASSERT_TRUE(serve_until([&] { return height == end; }));
    EXPECT_EQ(complain(0, 2), "mask_wrong_share");
    ++height;
    EXPECT_EQ(complain(0, 2), "too_late");
    --height;
    next_block();
    EXPECT_EQ(mask_step(), MaskStep::messages);
    EXPECT_EQ(complain(0, 2), "wrong_mask_step");
}

TEST_F(GroupMaskComplaints, ThatProveNothingChangeNothing) {
    begin();
    deal_with_garbage_of({2});
    const auto sent = [&](const std::string& who, const ComplainOfShare& complaint) {
        return name(send(who, complaint));
    };
    ComplainOfShare good = complaint_of(0, 2);
    EXPECT_EQ(sent("bob", good), "not_solver");
    ComplainOfShare changed = good;
    changed.run = 1;
    EXPECT_EQ(sent("bob", changed), "mask_wrong_proof") << "of another receiver";
    changed = good;
    changed.dealer = 3;
    EXPECT_EQ(sent("alice", changed), "mask_wrong_proof") << "about another dealer";
    changed.dealer = 9;
    EXPECT_EQ(sent("alice", changed), "not_in_cohort");
    changed = good;
    changed.round = 1;
    EXPECT_EQ(sent("alice", changed), "wrong_round");
    changed = good;
    changed.complaint.pop_back();
    EXPECT_EQ(sent("alice", changed), "mask_wrong_length");
    changed = good;
    changed.complaint.back() ^= 1;
    EXPECT_EQ(sent("alice", changed), "mask_wrong_proof");
    EXPECT_EQ(complain(0, 3), "mask_wrong_share");
    EXPECT_EQ(masks().dealt, (RunList{0, 1, 2, 3}));
    for (const std::uint32_t index : {0u, 1u, 2u, 3u}) EXPECT_EQ(run(index).state, RunState::running);
    EXPECT_EQ(sent("alice", good), "ok");
}

TEST_F(GroupMaskComplaints, WhoseComplaintComesSecondIsNotAbsent) {
    begin();
    deal_with_garbage_of({1, 2});
    EXPECT_EQ(complain(0, 1), "ok");
    EXPECT_EQ(mask_step(), MaskStep::complaints);
    // 3 has shown what 2 sealed for it, and so masks nothing with 2.
    EXPECT_EQ(complain(3, 2), "ok");
    EXPECT_EQ(run(1).state, RunState::forfeited);
    EXPECT_EQ(run(2).state, RunState::forfeited);
    EXPECT_EQ(mask_step(), MaskStep::lost);
    ASSERT_TRUE(serve_until([&] { return group().round == 1; }));
    for (const std::uint32_t index : {0u, 3u}) EXPECT_EQ(member(index).absent, 0u) << index;
}

TEST_F(GroupMaskComplaints, PayForNoLessThanTheSameComplaintInUnmask) {
    market::RevealedShares shares;
    for (std::uint32_t dealer = 0; dealer < 4; ++dealer) shares.emplace(dealer, market::Scalar(1));
    const std::uint64_t without = extra_gas(Unmask{1, 0, 0, encode(shares)});
    shares.at(2) = market::ShareComplaint{ledger::generator(), market::Scalar(1), market::Scalar(1)};
    const std::uint64_t with = extra_gas(Unmask{1, 0, 0, encode(shares)});
    ASSERT_GT(with, without + kGasScheduledItem);
    EXPECT_GE(extra_gas(ComplainOfShare{}), with - without + kGasMaskProof);
}

}  // namespace
}  // namespace retrace::contracts
