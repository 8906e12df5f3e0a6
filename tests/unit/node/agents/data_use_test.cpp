// SPDX-License-Identifier: MIT
// For whom a solver trains on its data, whose data a verifier audits, and what both compare before they lock stake.
#include "node/agents/data_use.hpp"

#include <gtest/gtest.h>

#include "node/agents/data_checks.hpp"
#include "tests/unit/solver/rounds/mini_group.hpp"

namespace retrace::node {
namespace {

using ledger::Address;

Address owner(std::uint8_t number) { return Address{{number}}; }
Hash32 data_root(std::uint8_t number) { return Hash32{{number}}; }
const std::vector<Hash32> kOwnData{data_root(1), data_root(2)}, kOtherData{data_root(1), data_root(3)};

TEST(DataUse, IsForRequestersAndNeverForTheNumberOfATask) {
    const Address named = owner(7), stranger = owner(8);
    EXPECT_FALSE(DataUse{}.permits(named, data_root(9))) << "any requester may admit this account";
    const DataUse all{{named}, {}}, one{{}, {{named, data_root(9)}}};
    EXPECT_TRUE(all.permits(named, data_root(9)));
    EXPECT_TRUE(all.permits(named, data_root(10)));
    EXPECT_FALSE(all.permits(stranger, data_root(9)));
    EXPECT_TRUE(one.permits(named, data_root(9)));
    EXPECT_FALSE(one.permits(named, data_root(10))) << "other programs of the same requester";
    EXPECT_FALSE(one.permits(stranger, data_root(9)))
        << "a stranger may post the same plan with another initialiser or seed";
    EXPECT_TRUE(DataUse{}.empty());
    EXPECT_FALSE(one.empty());
}

TEST(DataUse, WhoIsNamedNoMoreGetsNothingNew) {
    EXPECT_EQ(data_grant(true, kOwnData, {}), DataGrant::train);
    EXPECT_EQ(data_grant(true, kOwnData, kOwnData), DataGrant::train);
    EXPECT_EQ(data_grant(false, kOwnData, kOwnData), DataGrant::finish)
        << "disputes about what it has trained are played";
    EXPECT_EQ(data_grant(false, kOwnData, {}), DataGrant::none);
    EXPECT_EQ(data_grant(true, kOwnData, kOtherData), DataGrant::none) << "the operator gave another folder";
    EXPECT_EQ(data_grant(true, {}, {}), DataGrant::none);
    EXPECT_EQ(data_grant(true, {}, kOwnData), DataGrant::none);
}

TEST(DataUse, AMemberThatTrainsNoMoreOpensAndFinishesWhatItHas) {
    solver::RunView run;
    run.terms.data_roots = kOwnData;
    run.may_commit = true;
    run.open_roots = {1, 2};
    run.member.emplace();
    run.member->may_commit = run.member->may_go_on = run.member->may_commit_data = true;
    run.member->may_finish = run.member->may_list = run.member->may_reveal = true;
    stop_training(run);
    EXPECT_TRUE(run.terms.data_roots.empty()) << "no program of the task gets them";
    EXPECT_FALSE(run.member->may_commit);
    EXPECT_FALSE(run.member->may_go_on);
    EXPECT_FALSE(run.member->may_commit_data);
    EXPECT_TRUE(run.may_commit) << "the first state reads no data, and without it nobody may leave";
    EXPECT_TRUE(run.member->may_finish);
    EXPECT_TRUE(run.member->may_list);
    EXPECT_EQ(run.open_roots, (std::vector<std::uint64_t>{1, 2}));
    solver::RunView alone;
    stop_training(alone);
    EXPECT_FALSE(alone.member.has_value());
}

TEST(DataUse, AVerifierHasTheDataOfTheMembersThatItsOperatorNamed) {
    const std::vector<AuditedData> audited{{3, owner(1), kOwnData}, {4, owner(2), kOtherData}};
    EXPECT_TRUE(has_data_of(audited, 3, owner(1), kOwnData));
    EXPECT_FALSE(has_data_of(audited, 4, owner(1), kOwnData)) << "a stranger's task";
    EXPECT_FALSE(has_data_of(audited, 3, owner(2), kOwnData))
        << "another member that committed to the same public roots";
    EXPECT_FALSE(has_data_of(audited, 3, owner(1), kOtherData)) << "the member committed to other data than it gave";
    EXPECT_FALSE(has_data_of(audited, 3, owner(1), {kOwnData[0]}));
    EXPECT_FALSE(has_data_of({}, 3, owner(1), kOwnData));
}

/// A party that has these data sets, and a group whose plan the source has.
struct CheckedParty {
    retrace::test::TinyGroup group;
    solver::PrivateData data;
    solver::TaskCache cache{group.source, group.pool};
    DataChecks checks;
    std::uint64_t height = 10;

    CheckedParty() {
        group.terms.group->private_sets = 2;
        for (const kernels::Tensor* set : {&group.x, &group.y}) data.add(kernels::tensor_root(*set, group.pool), *set);
        cache.set_private(data);
    }
    std::vector<Hash32> own() const { return group.terms.data_roots; }
    std::optional<solver::WorkOrder<DataChecked>> order(const std::vector<Hash32>& roots) {
        return checks.order(group.terms, roots, {group.terms.id, 0}, height, cache);
    }
    void run(const std::vector<Hash32>& roots) {
        auto work = order(roots);
        ASSERT_TRUE(work.has_value());
        checks.on_done(work->run(), height);
    }
};

TEST(DataChecks, CompareWhatIsHereWithThePlan) {
    CheckedParty party;
    const auto own = party.own();
    EXPECT_EQ(party.checks.result(7, own), std::nullopt) << "nobody has compared them";
    party.run(own);
    EXPECT_EQ(party.checks.result(7, own), "");
    const std::vector<Hash32> swapped{own[1], own[0]}, one{own[0]}, unknown{own[0], data_root(9)};
    for (const auto& wrong : {swapped, one, unknown, std::vector<Hash32>{}}) {
        party.run(wrong);
        ASSERT_TRUE(party.checks.result(7, wrong).has_value());
        EXPECT_NE(party.checks.result(7, wrong), "");
    }
    EXPECT_NE(party.checks.result(7, swapped)->find("shapes"), std::string::npos);
    EXPECT_FALSE(party.order(own).has_value()) << "the plan of a task never changes";
    party.checks.forget_unless([](std::uint64_t task) { return task != 7; });
    EXPECT_EQ(party.checks.result(7, own), std::nullopt);
}

TEST(DataChecks, APlanThatNobodyServesIsAskedForAgainAndHoldsNothingUp) {
    CheckedParty party;
    const auto file = party.group.source.programs;
    party.group.source.programs.clear();
    auto work = party.order(party.own());
    ASSERT_TRUE(work.has_value());
    EXPECT_EQ(work->fetch_by, 10 + DataChecks::kRetryBlocks);
    EXPECT_FALSE(party.order(party.own()).has_value()) << "it is under way";
    const DataChecked failed = work->run();
    EXPECT_TRUE(failed.transient);
    party.checks.on_done(failed, 12);
    EXPECT_EQ(party.checks.result(7, party.own()), std::nullopt);
    party.height = 12 + DataChecks::kRetryBlocks - 1;
    EXPECT_FALSE(party.order(party.own()).has_value());
    ++party.height;
    party.group.source.programs = file;
    party.run(party.own());
    EXPECT_EQ(party.checks.result(7, party.own()), "");
    party.checks.on_done({6, party.own(), {}, false}, 41);
    EXPECT_EQ(party.checks.result(6, party.own()), std::nullopt) << "nobody asked for it";
}

}  // namespace
}  // namespace retrace::node
