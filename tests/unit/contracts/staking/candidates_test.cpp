// SPDX-License-Identifier: MIT
// Candidates for the beacon when the list of its members is full. SPEC 10.5.4, 11.8.
#include "contracts/records/store.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

class Candidates : public MarketTest {
protected:
    /// Writes the record of a party that owes no reveal, with this stake.
    void put(const Address& who, const U256& bonded, bool member) {
        market::VerifierInfo info;
        info.endpoint = "http://other";
        info.member = member;
        info.head = word("other");
        info.joined_epoch = kNever;
        store(state, keys::verifier(who), info);
        store(state, keys::stake(who), market::Stake{bonded, 0, 0, 0});
    }

    /// Fills the list of members with parties that have `coins` bonded each.
    void fill_members(std::uint64_t coins) {
        auto members = views::verifiers(state);
        while (members.size() < market::kVerifiersMax) {
            members.push_back(party("member " + std::to_string(filled++)));
            put(members.back(), U256(coins) * kCoin, true);
        }
        std::sort(members.begin(), members.end());
        store_list(state, keys::verifiers(), members);
    }
    void fill_candidates(std::uint64_t coins) {
        auto waiting = views::candidates(state);
        for (std::size_t i = 0; waiting.size() < market::kCandidatesMax; ++i) {
            waiting.push_back(party("candidate " + std::to_string(i)));
            put(waiting.back(), U256(coins) * kCoin, false);
        }
        std::sort(waiting.begin(), waiting.end());
        store_list(state, keys::candidates(), waiting);
    }
    /// One of the parties that fill the list is gone.
    void remove_member(std::size_t i) {
        remove_from_list(state, keys::verifiers(), party("member " + std::to_string(i)));
    }

    bool is_member(std::string_view name) const {
        const auto members = views::verifiers(state);
        const auto info = views::verifier(state, party(name));
        const bool listed = std::binary_search(members.begin(), members.end(), party(name));
        EXPECT_EQ(info && info->member, listed) << name;
        return listed;
    }
    bool waits(std::string_view name) const { return views::is_candidate(state, party(name)); }
    std::uint64_t epoch() const { return views::epoch_of(params, height); }
    void pass_mix() {
        do next_block();
        while (height % params.epoch_blocks != 0);
    }
    std::size_t members() const { return views::verifiers(state).size(); }

    std::size_t filled = 0;
    static constexpr std::uint64_t kNever = 1'000'000;
};

TEST_F(Candidates, ARicherPartyTakesThePlaceOfThePoorestMemberAtTheMix) {
    add_verifier("v1", 10);
    advance(2 * params.epoch_blocks);
    fill_members(20);
    while (height % params.epoch_blocks != 2) next_block();
    add_verifier("v2", 30);
    EXPECT_TRUE(waits("v2"));
    EXPECT_FALSE(is_member("v2"));
    EXPECT_TRUE(is_member("v1"));
    EXPECT_EQ(send("v2", RevealBeacon{link("v2", kChain - 1)}), CallStatus::not_member);
    events.clear();
    pass_mix();
    EXPECT_TRUE(is_member("v2"));
    EXPECT_FALSE(waits("v2"));
    EXPECT_EQ(views::verifier(state, party("v2"))->joined_epoch, epoch());
    EXPECT_FALSE(is_member("v1"));
    EXPECT_EQ(members(), market::kVerifiersMax);
    ASSERT_EQ(all<BeaconMixed>().size(), 1u);
    EXPECT_EQ(all<BeaconMixed>()[0].reveals, 1u) << "v1's reveal of the epoch is mixed before v1 leaves";
    ASSERT_EQ(all<VerifierLeft>().size(), 1u);
    EXPECT_EQ(all<VerifierLeft>()[0].verifier, party("v1"));
    EXPECT_FALSE(all<VerifierLeft>()[0].dropped);
    EXPECT_TRUE(all<Slashed>().empty());
    EXPECT_EQ(views::stake(state, party("v1")).bonded, U256(10) * kCoin);
    pass_mix();
    EXPECT_TRUE(is_member("v2")) << "its first reveal is due in the epoch after the one in which it joined";
    pass_mix();
    EXPECT_EQ(all<BeaconMixed>().back().reveals, 1u) << "v2's";
}

TEST_F(Candidates, EqualStakeDisplacesNobody) {
    fill_members(20);
    add_verifier("v1", 20);
    pass_mix();
    EXPECT_FALSE(is_member("v1"));
    EXPECT_TRUE(waits("v1"));
    ASSERT_EQ(send("v1", Deposit{}, 1), CallStatus::ok);
    EXPECT_FALSE(is_member("v1")) << "only when the epoch is mixed";
    pass_mix();
    EXPECT_TRUE(is_member("v1")) << "the stake counts that is bonded then";
}

TEST_F(Candidates, OfEqualMembersTheOneThatJoinedLastLeaves) {
    add_verifier("v1", 10);
    advance(params.epoch_blocks);
    add_verifier("v2", 10);
    advance(params.epoch_blocks);
    fill_members(20);
    add_verifier("v3", 11);
    pass_mix();
    EXPECT_TRUE(is_member("v3"));
    EXPECT_TRUE(is_member("v1"));
    EXPECT_FALSE(is_member("v2"));
}

TEST_F(Candidates, FreePlacesComeFirstAndGoToTheRichest) {
    add_verifier("v1", 10);
    advance(params.epoch_blocks);
    fill_members(20);
    add_verifier("v2", 15);
    add_verifier("v3", 10);
    remove_member(0);
    pass_mix();
    EXPECT_TRUE(is_member("v2")) << "in the free place";
    EXPECT_TRUE(is_member("v1")) << "v3 has no more stake";
    EXPECT_TRUE(waits("v3"));
    remove_member(1);
    pass_mix();
    EXPECT_TRUE(is_member("v3")) << "a free place needs no more stake than a member has";
    EXPECT_TRUE(is_member("v1"));
}

TEST_F(Candidates, ARegistrationTakesAFreePlaceAtOnce) {
    fill_members(20);
    add_verifier("v1", 10);
    ASSERT_TRUE(waits("v1"));
    remove_member(0);
    ASSERT_EQ(send("v1", RegisterVerifier{"http://again", link("v1", kChain)}), CallStatus::ok);
    EXPECT_TRUE(is_member("v1"));
    EXPECT_FALSE(waits("v1"));
}

TEST_F(Candidates, AreBoundedAndMoreStakeTakesAPlace) {
    fill_members(50);
    fill_candidates(20);
    ASSERT_EQ(send("v1", Deposit{}, U256(20) * kCoin), CallStatus::ok);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v", word("x")}), CallStatus::verifiers_full)
        << "as much as the least";
    ASSERT_EQ(send("v1", Deposit{}, 1), CallStatus::ok);
    EXPECT_EQ(send("v1", RegisterVerifier{"http://v", word("x")}), CallStatus::ok);
    EXPECT_TRUE(waits("v1"));
    EXPECT_EQ(views::candidates(state).size(), market::kCandidatesMax) << "the last one has left";
    EXPECT_EQ(send("v1", RegisterVerifier{"http://elsewhere", word("y")}), CallStatus::ok) << "it has its place";
    EXPECT_EQ(views::candidates(state).size(), market::kCandidatesMax);
    EXPECT_EQ(views::verifier(state, party("v1"))->endpoint, "http://elsewhere");
    pass_mix();
    EXPECT_TRUE(waits("v1"));
}

TEST_F(Candidates, OneMixAdmitsAllWithMoreStakeAndNoMore) {
    fill_members(20);
    add_verifier("v1", 10);
    fill_candidates(30);
    pass_mix();
    EXPECT_EQ(members(), market::kVerifiersMax);
    EXPECT_EQ(views::candidates(state), std::vector<Address>{party("v1")});
    for (std::size_t i = 0; i + 1 < market::kCandidatesMax; ++i)
        EXPECT_TRUE(is_member("candidate " + std::to_string(i))) << i;
}

TEST_F(Candidates, WhoUnbondsIsOneNoLonger) {
    fill_members(20);
    add_verifier("v1", 30);
    ASSERT_EQ(send("v1", BeginUnbond{U256(29) * kCoin}), CallStatus::ok) << "a candidate keeps nothing";
    EXPECT_TRUE(waits("v1")) << "it has the least stake";
    ASSERT_EQ(send("v1", BeginUnbond{kCoin}), CallStatus::ok);
    EXPECT_FALSE(waits("v1"));
    pass_mix();
    EXPECT_FALSE(is_member("v1"));
    EXPECT_EQ(members(), market::kVerifiersMax);
}

TEST_F(Candidates, WhoseStakeIsLockedOrTakenIsRemovedAtTheMix) {
    fill_members(20);
    add_verifier("v1", 30);
    add_verifier("v2", 30);
    market::Stake locked = views::stake(state, party("v1"));
    locked.locked = locked.bonded - params.beacon_penalty + U256(1);
    books_are_damaged = true;
    store(state, keys::stake(party("v1")), locked);
    store(state, keys::stake(party("v2")), market::Stake{params.min_verifier_stake - U256(1), 0, 0, 0});
    remove_member(0);
    pass_mix();
    EXPECT_TRUE(views::candidates(state).empty());
    EXPECT_FALSE(is_member("v1"));
    EXPECT_FALSE(is_member("v2"));
    EXPECT_EQ(members(), market::kVerifiersMax - 1) << "nobody lost a place to them";
}

TEST_F(Candidates, ACandidateMayRetire) {
    fill_members(20);
    add_verifier("v1", 30);
    EXPECT_EQ(send("v1", RetireVerifier{}), CallStatus::ok);
    EXPECT_FALSE(waits("v1"));
    EXPECT_EQ(send("v1", RetireVerifier{}), CallStatus::not_member);
    pass_mix();
    EXPECT_FALSE(is_member("v1"));
}

TEST_F(Candidates, AMemberThatMissedARevealReturns) {
    add_verifier("v1", 30);
    advance(2 * params.epoch_blocks);
    fill_members(20);
    silent.insert("v1");
    pass_mix();
    if (is_member("v1")) pass_mix();
    ASSERT_FALSE(is_member("v1"));
    fill_members(20);  // A spare account of the owner of all other places takes the free one.
    ASSERT_EQ(members(), market::kVerifiersMax);
    silent.clear();
    ASSERT_EQ(send("v1", RegisterVerifier{"http://v1", link("v1", chains["v1"])}), CallStatus::ok)
        << last.revert_reason;
    EXPECT_TRUE(waits("v1"));
    pass_mix();
    EXPECT_TRUE(is_member("v1"));
    advance(3 * params.epoch_blocks);
    EXPECT_TRUE(is_member("v1")) << "and reveals";
}

/// 11.8: who has seen the beacon must not choose by the stake of candidates who is left to be drawn by it.
TEST_F(Candidates, DisplaceNobodyBeforeTheDrawsOfTheirBlock) {
    const auto pass = [&](std::uint64_t until) {
        start_run();
        for (std::uint64_t i = 0; i <= 1; ++i) ASSERT_EQ(checkpoint("alice", i), CallStatus::ok);
        while (all<AuditorsDrawn>().empty() && height < until) serve("alice"), next_block();
    };
    pass(200);
    const std::uint64_t drawn = height;
    ASSERT_EQ(all<AuditorsDrawn>().size(), 1u);
    ASSERT_EQ(drawn % params.epoch_blocks, 0u);
    begin(small_params());
    events.clear();
    pass(drawn - 1);
    fill_members(200);
    for (const char* name : {"v4", "carol", "dave"}) add_verifier(name, 150);
    serve("alice");
    next_block();
    for (const char* name : {"v1", "v2", "v3"}) EXPECT_FALSE(is_member(name)) << name;
    ASSERT_EQ(all<AuditorsDrawn>().size(), 1u);
    const auto auditors = all<AuditorsDrawn>()[0].auditors;
    EXPECT_EQ(auditors.size(), 2u);
    for (const Address& auditor : auditors)
        EXPECT_THAT(name_of(auditor), testing::AnyOf("v1", "v2", "v3")) << "a member until this block";
    for (int i = 0; i < 40 && views::audit(state, 1)->phase != market::AuditPhase::closed; ++i)
        serve("alice"), check_audits(), next_block();
    const market::Audit audit = views::audit(state, 1).value();
    EXPECT_EQ(audit.phase, market::AuditPhase::closed);
    for (const market::Seat& seat : audit.seats)
        EXPECT_EQ(seat.state, market::SeatState::matched) << "the seats of those that left go on";
    EXPECT_TRUE(all<Slashed>().empty());
}

}  // namespace
}  // namespace retrace::contracts
