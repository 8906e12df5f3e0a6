// SPDX-License-Identifier: MIT
// What a member and the ledger refuse: keys, shares, secrets and records that do not fit. market/SPEC 15.
#include <gtest/gtest.h>

#include "market/masks/records.hpp"
#include "tests/unit/masks/cohort.hpp"

namespace retrace::test {
namespace {

using market::CurvePoint;
using market::MaskKeys;
using market::MaskShares;
using market::ShareComplaint;

template <class T>
std::string refusal(const Result<T, MaskError>& result) {
    return result ? "accepted" : std::string(slug(result.error()));
}

/// A cohort in which members have dealt and sent.
struct SentCohort : Cohort {
    explicit SentCohort(std::size_t members = 5) : Cohort(members, 4) {
        deal();
        send(4);
    }
    std::uint32_t run(std::size_t place) const { return std::next(members.begin(), static_cast<long>(place))->first; }
};

TEST(MaskRefusals, KeysOfWrongLengthOrOffTheCurve) {
    const MaskKeys keys = Cohort(3, 1).masked.cohort.begin()->second;
    const Bytes bytes = encode(keys);
    ASSERT_EQ(bytes.size(), 292u);
    EXPECT_EQ(*market::decode_mask_keys(bytes), keys);
    EXPECT_EQ(refusal(market::decode_mask_keys(View(bytes).first(291))), "mask_wrong_length");
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(refusal(market::decode_mask_keys(longer)), "mask_wrong_length");
    for (std::size_t point = 0; point < 4; ++point) {
        Bytes off = bytes;
        std::fill_n(off.begin() + static_cast<long>(33 * point + 1), 32, 0);
        off[33 * point + 32] = 5;  // No point of the curve has this x.
        EXPECT_EQ(refusal(market::decode_mask_keys(off)), "mask_off_curve");
        off = bytes;
        off[33 * point] = 4;
        EXPECT_EQ(refusal(market::decode_mask_keys(off)), "mask_off_curve");
    }
    for (std::size_t scalar = 0; scalar < 5; ++scalar) {
        Bytes large = bytes;
        std::fill_n(large.begin() + static_cast<long>(132 + 32 * scalar), 32, 0xff);
        EXPECT_EQ(refusal(market::decode_mask_keys(large)), "mask_off_curve");
    }
}

/// The point with the same x and the other y.
CurvePoint negated(const CurvePoint& point) {
    Bytes bytes(point.bytes().begin(), point.bytes().end());
    bytes[0] ^= 1;
    return *CurvePoint::decode(bytes);
}

TEST(MaskRefusals, AKeyWhoseSecretItsOwnerDoesNotKnow) {
    Cohort cohort(4, 1);
    const MaskRound round = cohort.masked.round;
    const std::uint32_t victim = 2, rogue = 17;
    std::mt19937_64 random(9);
    const auto secrets = market::MaskSecrets::random(random_of(random));
    const MaskKeys own = secrets.keys(round, rogue, random_of(random));
    EXPECT_EQ(refusal(check_keys(round, rogue, own)), "accepted");
    // Complaints about a dealer with the negated key of another open all that the other one deals.
    for (CurvePoint MaskKeys::*key : {&MaskKeys::mask, &MaskKeys::self, &MaskKeys::deal, &MaskKeys::receive}) {
        MaskKeys taken = own;
        taken.*key = negated(cohort.masked.cohort.at(victim).*key);
        EXPECT_EQ(refusal(check_keys(round, rogue, taken)), "mask_wrong_proof");
        taken.*key = *ledger::sum(std::array{taken.*key, own.mask});  // Shifted by a secret that it knows.
        EXPECT_EQ(refusal(check_keys(round, rogue, taken)), "mask_wrong_proof");
    }
    cohort.masked.cohort.at(rogue) = own;
    cohort.masked.cohort.at(rogue).deal = negated(cohort.masked.cohort.at(victim).deal);
    EXPECT_EQ(refusal(check_cohort(round, cohort.masked.cohort)), "mask_wrong_proof");
    EXPECT_EQ(refusal(cohort.members.at(victim).deal(cohort.masked.cohort)), "mask_wrong_proof");
}

TEST(MaskRefusals, AProofOfKeysHoldsForOneRoundAndRun) {
    const Cohort cohort(3, 1);
    const MaskKeys keys = cohort.masked.cohort.at(7);
    const auto judged = [&](const MaskRound& round, std::uint32_t run, const MaskKeys& shown) {
        return refusal(check_keys(round, run, shown));
    };
    EXPECT_EQ(judged({7, 3, 0}, 7, keys), "accepted");
    EXPECT_EQ(judged({8, 3, 0}, 7, keys), "mask_wrong_proof");
    EXPECT_EQ(judged({7, 4, 0}, 7, keys), "mask_wrong_proof");
    EXPECT_EQ(judged({7, 3, 1}, 7, keys), "mask_wrong_proof");
    EXPECT_EQ(judged({7, 3, 0}, 2, keys), "mask_wrong_proof");
    MaskKeys wrong = keys;
    wrong.proof.challenge = wrong.proof.challenge + Scalar(1);
    EXPECT_EQ(judged({7, 3, 0}, 7, wrong), "mask_wrong_proof");
    wrong.proof.challenge = Scalar();
    EXPECT_EQ(judged({7, 3, 0}, 7, wrong), "mask_wrong_proof");
    for (std::size_t i = 0; i < 4; ++i) {
        wrong = keys;
        wrong.proof.responses[i] = wrong.proof.responses[i] + Scalar(1);
        EXPECT_EQ(judged({7, 3, 0}, 7, wrong), "mask_wrong_proof");
        wrong.proof.responses[i] = Scalar();
        EXPECT_EQ(judged({7, 3, 0}, 7, wrong), "mask_wrong_proof");
    }
    wrong = keys;
    std::swap(wrong.mask, wrong.self);
    EXPECT_EQ(judged({7, 3, 0}, 7, wrong), "mask_wrong_proof");
}

TEST(MaskRefusals, AKeyThatStandsTwice) {
    Cohort cohort(4, 1);
    EXPECT_EQ(refusal(check_cohort(MaskRound{7, 3, 0}, cohort.masked.cohort)), "accepted");
    CohortKeys of_another = cohort.masked.cohort;
    of_another.begin()->second.receive = of_another.rbegin()->second.mask;
    EXPECT_EQ(refusal(check_cohort(MaskRound{7, 3, 0}, of_another)), "mask_same_key");
    CohortKeys of_itself = cohort.masked.cohort;
    of_itself.begin()->second.self = of_itself.begin()->second.deal;
    EXPECT_EQ(refusal(check_cohort(MaskRound{7, 3, 0}, of_itself)), "mask_same_key");
    EXPECT_EQ(refusal(cohort.members.begin()->second.deal(of_itself)), "mask_same_key");
}

TEST(MaskRefusals, CohortsThatAreTooSmallOrTooLarge) {
    EXPECT_EQ(refusal(check_cohort(MaskRound{7, 3, 0}, Cohort(2, 1).masked.cohort)), "mask_wrong_count");
    EXPECT_EQ(refusal(check_cohort(MaskRound{7, 3, 0}, Cohort(65, 1).masked.cohort)), "mask_wrong_count");
}

TEST(MaskRefusals, ACohortWithOtherKeysOfTheMember) {
    Cohort cohort(4, 1), other(4, 2);
    EXPECT_EQ(refusal(cohort.members.begin()->second.deal(other.masked.cohort)), "mask_not_in_cohort");
    CohortKeys without = cohort.masked.cohort;
    without.erase(without.begin());
    EXPECT_EQ(refusal(cohort.members.begin()->second.deal(without)), "mask_not_in_cohort");
}

TEST(MaskRefusals, SharesOfWrongLengthOrOffTheCurve) {
    Cohort cohort(5, 1);
    cohort.deal();
    const MaskShares shares = cohort.masked.dealt.begin()->second;
    const Bytes bytes = encode(shares);
    EXPECT_EQ(*market::decode_mask_shares(bytes, 5), shares);
    EXPECT_EQ(refusal(market::decode_mask_shares(View(bytes).first(bytes.size() - 1), 5)), "mask_wrong_length");
    EXPECT_EQ(refusal(market::decode_mask_shares(bytes, 4)), "mask_wrong_length");
    EXPECT_EQ(refusal(market::decode_mask_shares(bytes, 6)), "mask_wrong_length");
    EXPECT_EQ(refusal(market::decode_mask_shares(bytes, 2)), "mask_wrong_count");
    Bytes off = bytes;
    off[0] = 9;
    EXPECT_EQ(refusal(market::decode_mask_shares(off, 5)), "mask_off_curve");
}

TEST(MaskRecords, WhatAMemberOfTheLargestCohortPostsFitsIntoARecord) {
    Cohort cohort(market::kMaskedMembersMax, 1);
    auto& [run, member] = *cohort.members.begin();
    market::MemberMasks posted;
    posted.keys = encode(member.keys());
    posted.shares = encode(member.deal(cohort.masked.cohort).value());
    RevealedShares complaints;  // Longer than shares.
    for (const auto& [dealer, keys] : cohort.masked.cohort)
        complaints.emplace(dealer, ShareComplaint{ledger::generator(), Scalar(1), Scalar(1)});
    posted.revealed = encode(complaints);
    EXPECT_EQ(market::decode_record<market::MemberMasks>(market::encode_record(posted)).value(), posted);
}

TEST(MaskRefusals, StepsOutOfOrder) {
    Cohort cohort(3, 1);
    MaskMember& member = cohort.members.begin()->second;
    EXPECT_EQ(refusal(member.unmask({2, 7})), "mask_wrong_phase");
    EXPECT_EQ(refusal(member.mask({}, {}, 10)), "mask_wrong_phase");
    cohort.deal();
    EXPECT_EQ(refusal(member.deal(cohort.masked.cohort)), "mask_wrong_phase");
    EXPECT_EQ(refusal(member.unmask({2, 7, 12})), "mask_wrong_phase");
    const std::vector<std::int32_t> values(3);
    EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 10)), "accepted");
    // A second message under the same masks would show the difference of both.
    EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 10)), "mask_wrong_phase");
}

TEST(MaskRefusals, ValuesThatNeedMoreBits) {
    Cohort cohort(3, 1);
    cohort.deal();
    MaskMember& member = cohort.members.begin()->second;
    for (const std::int32_t value : {512, -513}) {
        const std::vector<std::int32_t> values{0, value};
        EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 10)), "mask_value_out_of_range");
    }
    const std::vector<std::int32_t> values{-512, 511};
    EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 31)), "mask_value_out_of_range");
    EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 0)), "mask_value_out_of_range");
    EXPECT_EQ(refusal(member.mask(cohort.masked.dealt, values, 10)), "accepted");
}

TEST(MaskRefusals, TooFewDealers) {
    Cohort cohort(6, 1);
    cohort.deal({2, 7, 12});
    const std::vector<std::int32_t> values(3);
    EXPECT_EQ(refusal(cohort.members.at(17).mask(cohort.masked.dealt, values, 10)), "mask_too_few");
    Cohort absent(6, 1);
    absent.deal({2});
    EXPECT_EQ(refusal(absent.members.at(2).mask(absent.masked.dealt, values, 10)), "mask_wrong_phase");
}

TEST(MaskRefusals, AMemberHidesAmongNoFewerThanTheTermsAllow) {
    Cohort small(5, 1, {7, 3, 0}, 6);
    EXPECT_EQ(refusal(small.members.at(2).deal(small.masked.cohort)), "mask_too_few");
    Cohort cohort(6, 1, {7, 3, 0}, 6);
    cohort.deal({7});
    const std::vector<std::int32_t> values(3);
    EXPECT_EQ(refusal(cohort.members.at(2).mask(cohort.masked.dealt, values, 10)), "mask_too_few");
    Cohort sent(6, 1, {7, 3, 0}, 6);
    sent.deal();
    sent.send(4);
    EXPECT_EQ(refusal(sent.members.at(2).unmask({2, 7, 12, 17, 22})), "mask_too_few");  // Five are above the threshold.
    EXPECT_EQ(refusal(sent.members.at(2).unmask(sent.masked.recorded)), "accepted");
}

TEST(MaskRefusals, RecordsOfTooFewOrOfStrangers) {
    SentCohort cohort;
    MaskMember& member = cohort.members.at(cohort.run(0));
    EXPECT_EQ(refusal(member.unmask({cohort.run(0), cohort.run(1)})), "mask_too_few");
    EXPECT_EQ(refusal(member.unmask({cohort.run(0), cohort.run(1), 999})), "mask_not_in_cohort");
    EXPECT_EQ(refusal(member.unmask({cohort.run(0), cohort.run(0), cohort.run(1)})), "mask_wrong_count");
    EXPECT_EQ(refusal(member.unmask({cohort.run(1), cohort.run(0), cohort.run(2)})), "mask_wrong_count");
    EXPECT_EQ(refusal(member.unmask(cohort.masked.recorded)), "accepted");
}

TEST(MaskRefusals, AMemberWhoseMessageCameTooLateKeepsItsSeed) {
    SentCohort cohort(6);
    const std::uint32_t late = cohort.run(0);
    cohort.masked.recorded.erase(cohort.masked.recorded.begin());
    for (auto& [run, member] : cohort.members) {
        const Scalar share = std::get<Scalar>(member.unmask(cohort.masked.recorded).value().at(late));
        const MaskShares& shares = cohort.masked.dealt.at(late);
        EXPECT_TRUE(is_dealt(cohort.masked.cohort, late, shares, run, ShareKind::mask, share));
        EXPECT_FALSE(is_dealt(cohort.masked.cohort, late, shares, run, ShareKind::self, share));
    }
}

/// Five of six members sent; 27 did not.
struct RevealingCohort : Cohort {
    RevealingCohort() : Cohort(6, 4) {
        deal();
        send(4, {27});
    }
    RevealedShares shares_of(std::uint32_t run) { return members.at(run).unmask(masked.recorded).value(); }
    std::string judged(std::uint32_t run, const RevealedShares& shares) {
        return refusal(check_revealed(masked, run, shares));
    }
};

TEST(MaskRefusals, SharesThatAreMissingTooManyOrWrong) {
    RevealingCohort cohort;
    const RevealedShares honest = cohort.shares_of(2);
    EXPECT_EQ(honest.size(), 6u);
    EXPECT_EQ(cohort.judged(2, honest), "accepted");
    EXPECT_EQ(cohort.judged(7, honest), "mask_wrong_share");
    RevealedShares fewer = honest;
    fewer.erase(22);
    EXPECT_EQ(cohort.judged(2, fewer), "mask_wrong_count");
    fewer.emplace(999, Scalar(1));
    EXPECT_EQ(cohort.judged(2, fewer), "mask_wrong_count");
    RevealedShares more = honest;
    more.emplace(999, Scalar(1));
    EXPECT_EQ(cohort.judged(2, more), "mask_wrong_count");
    for (const auto& value : {RevealedShares::mapped_type(Scalar(1)), {Scalar()}, honest.at(22)}) {
        RevealedShares wrong = honest;
        wrong.at(27) = value;
        EXPECT_EQ(cohort.judged(2, wrong), "mask_wrong_share");
    }
    EXPECT_EQ(cohort.judged(999, honest), "mask_not_in_cohort");
}

TEST(MaskRefusals, WrongSharesAreLeftOutAsLongAsThereAreEnough) {
    RevealingCohort cohort;
    for (const std::uint32_t run : cohort.masked.recorded) cohort.revealed.emplace(run, cohort.shares_of(run));
    const auto honest = mask_terms(cohort.masked, cohort.revealed);
    ASSERT_TRUE(honest.has_value());
    EXPECT_EQ(honest->size(), 10u);  // Five masks of members, and five of pairs with 27.
    cohort.revealed.at(2).at(22) = Scalar(5);
    cohort.revealed.at(2).at(27) = Scalar(6);
    EXPECT_EQ(*mask_terms(cohort.masked, cohort.revealed), *honest);
    cohort.revealed.at(12).at(27) = Scalar(7);
    EXPECT_EQ(refusal(mask_terms(cohort.masked, cohort.revealed)), "mask_too_few");
}

TEST(MaskRefusals, RevealedSharesThatDoNotDecode) {
    RevealingCohort cohort;
    const Bytes bytes = encode(cohort.shares_of(2));
    EXPECT_EQ(bytes.size(), 1 + 6 * 37u);
    EXPECT_EQ(encode(*market::decode_revealed_shares(bytes)), bytes);
    EXPECT_EQ(refusal(market::decode_revealed_shares(View(bytes).first(bytes.size() - 1))), "mask_wrong_length");
    Bytes many = bytes;
    many[0] = 65;
    EXPECT_EQ(refusal(market::decode_revealed_shares(many)), "mask_wrong_count");
    Bytes twice = bytes;
    std::copy_n(bytes.begin() + 1, 37, twice.begin() + 38);
    EXPECT_EQ(refusal(market::decode_revealed_shares(twice)), "mask_wrong_count");
    Bytes kind = bytes;
    kind[5] = 3;
    EXPECT_EQ(refusal(market::decode_revealed_shares(kind)), "mask_wrong_length");
    Bytes large = bytes;
    std::fill_n(large.begin() + 6, 32, 0xff);
    EXPECT_EQ(refusal(market::decode_revealed_shares(large)), "mask_off_curve");
}

TEST(MaskRefusals, ComplaintsAreCountedWithoutDecodingThem) {
    RevealedShares shares;
    for (std::uint32_t run = 0; run < 32; ++run) {
        shares[run] = Scalar(1);
        EXPECT_EQ(market::complaints_in(encode(shares)), 0u);
    }
    for (std::uint32_t run = 0; run < 32; ++run) {
        shares[run] = ShareComplaint{ledger::generator(), Scalar(1), Scalar(1)};
        EXPECT_EQ(market::complaints_in(encode(shares)), run + 1);
    }
    EXPECT_EQ(market::complaints_in({}), 0u);
    EXPECT_EQ(market::complaints_in(Bytes(100'000)), 64u);  // Does not decode.
    EXPECT_EQ(market::complaints_in(Bytes{64, 1}), 0u);
}

TEST(MaskRefusals, ADealerOfAWrongShareIsConvictedByItsReceiver) {
    for (const ShareKind kind : {ShareKind::self, ShareKind::mask}) {
        Cohort cohort(6, 4);
        cohort.deal();
        // 22 seals something else for 2.
        auto& sealed = cohort.masked.dealt.at(22).sealed.front();
        (kind == ShareKind::self ? sealed.self : sealed.mask).bytes[31] ^= 1;
        cohort.send(4);
        for (auto& [run, member] : cohort.members)
            cohort.revealed.emplace(run, member.unmask(cohort.masked.recorded).value());
        const RevealedShares& shares = cohort.revealed.at(2);
        EXPECT_EQ(refusal(check_revealed(cohort.masked, 2, shares)), "accepted");
        EXPECT_EQ(std::holds_alternative<ShareComplaint>(shares.at(22)), kind == ShareKind::self);
        EXPECT_EQ(encode(*market::decode_revealed_shares(encode(shares))), encode(shares));
        // The five others give the sum.
        const auto terms = mask_terms(cohort.masked, cohort.revealed);
        ASSERT_TRUE(terms.has_value());
        EXPECT_EQ(node::unmasked(cohort.sum_of_messages(), *terms, 13), cohort.sum_of_values());
    }
}

TEST(MaskRefusals, AMemberComplainsBeforeItMasksAnythingWithADealerOfGarbage) {
    Cohort cohort(6, 4);
    cohort.deal();
    auto& sealed = cohort.masked.dealt.at(22).sealed;
    sealed.front().mask.bytes[31] ^= 1;  // For 2.
    for (auto& [run, member] : cohort.members) {
        const auto complaints = member.complaints(cohort.masked.dealt);
        ASSERT_TRUE(complaints.has_value());
        EXPECT_EQ(complaints->size(), run == 2 ? 1u : 0u) << run;
        for (const auto& [dealer, complaint] : *complaints)
            EXPECT_EQ(refusal(market::check_complaint(cohort.masked.round, cohort.masked.cohort, dealer,
                                                      cohort.masked.dealt.at(dealer), run, complaint)),
                      "accepted");
    }
    const auto all = cohort.masked.dealt;
    const std::vector<std::int32_t> values(4);
    EXPECT_EQ(refusal(cohort.members.at(2).mask(all, values, 10)), "mask_wrong_share") << "2 has shown what 22 sealed";
    cohort.masked.dealt.erase(22);  // It is put out.
    cohort.members.erase(22);
    cohort.send(4);
    EXPECT_EQ(refusal(cohort.members.at(2).complaints(all)), "mask_wrong_phase");
    for (auto& [run, member] : cohort.members)
        cohort.revealed.emplace(run, member.unmask(cohort.masked.recorded).value());
    const auto terms = mask_terms(cohort.masked, cohort.revealed);
    ASSERT_TRUE(terms.has_value());
    EXPECT_EQ(node::unmasked(cohort.sum_of_messages(), *terms, 13), cohort.sum_of_values());
}

TEST(MaskRefusals, AMemberComplainsOfNoMoreThanMayBePutOut) {
    for (const std::uint32_t least : {3u, 5u, 6u}) {
        Cohort cohort(6, 4, {7, 3, 0}, least);
        cohort.deal();
        for (const std::uint32_t dealer : {7u, 12u, 22u})
            cohort.masked.dealt.at(dealer).sealed.front().mask.bytes[31] ^= 1;
        const auto complaints = cohort.members.at(2).complaints(cohort.masked.dealt);
        ASSERT_TRUE(complaints.has_value());
        EXPECT_EQ(complaints->size(), least == 3 ? 2u : 6 - least) << "four of six are the threshold";
        const std::vector<std::int32_t> values(4);
        EXPECT_EQ(refusal(cohort.members.at(2).mask(cohort.masked.dealt, values, 10)),
                  least == 6 ? "accepted" : "mask_wrong_share");
    }
}

TEST(MaskRefusals, ComplaintsThatProveNothing) {
    Cohort cohort(4, 4);
    std::mt19937_64 random(3);
    std::map<std::uint32_t, market::MaskSecrets> secrets;
    for (auto& [run, keys] : cohort.masked.cohort) {
        secrets.emplace(run, market::MaskSecrets::random(random_of(random)));
        keys = secrets.at(run).keys(cohort.masked.round, run, random_of(random));
    }
    const auto& [round, keys] = std::tie(cohort.masked.round, cohort.masked.cohort);
    MaskShares shares = market::deal_shares(round, keys, 2, secrets.at(2), random_of(random));
    const auto complaint = [&](std::uint32_t receiver) {
        return market::complain(round, keys, 2, receiver, secrets.at(receiver), random_of(random));
    };
    const auto judged = [&](std::uint32_t receiver, const ShareComplaint& made) {
        return refusal(market::check_complaint(round, keys, 2, shares, receiver, made));
    };
    EXPECT_EQ(judged(7, complaint(7)), "mask_wrong_share");  // Both shares fit.
    MaskShares own = shares;
    own.sealed[0].mask.bytes[3] ^= 1;
    EXPECT_EQ(refusal(market::check_complaint(round, keys, 2, own, 2, complaint(2))), "mask_wrong_share");
    shares.sealed[1].mask.bytes[3] ^= 1;
    EXPECT_EQ(judged(7, complaint(7)), "accepted");
    EXPECT_EQ(judged(12, complaint(12)), "mask_wrong_share");
    EXPECT_EQ(judged(12, complaint(7)), "mask_wrong_proof");
    ShareComplaint forged = complaint(12);  // Another point would open something else.
    forged.agreed = ledger::generator();
    EXPECT_EQ(judged(12, forged), "mask_wrong_proof");
    for (Scalar ShareComplaint::*part : {&ShareComplaint::challenge, &ShareComplaint::response}) {
        ShareComplaint wrong = complaint(7);
        wrong.*part = wrong.*part + Scalar(1);
        EXPECT_EQ(judged(7, wrong), "mask_wrong_proof");
        wrong.*part = Scalar();
        EXPECT_EQ(judged(7, wrong), "mask_wrong_proof");
    }
    const Bytes bytes = encode(complaint(7));
    EXPECT_EQ(bytes.size(), 97u);
    EXPECT_EQ(refusal(market::decode_share_complaint(View(bytes).first(96))), "mask_wrong_length");
}

}  // namespace
}  // namespace retrace::test
