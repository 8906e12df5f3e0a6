// SPDX-License-Identifier: MIT
// The cache of members is the same as reading them each time, whatever changes in between (contracts 14.2).
#include "contracts/lifecycle/audits/members.hpp"

#include <random>

#include "contracts/lifecycle/isolate.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "tests/unit/contracts/market/market_fixture.hpp"

namespace retrace::contracts {
namespace {

using Seen = std::vector<std::tuple<Address, U256, Readiness>>;

Seen seen(const Effects& fx) {
    Seen out;
    visit_members(fx, [&](const Member& member) {
        out.emplace_back(member.party, member.weight, member.readiness);
        return false;
    });
    return out;
}

Seen read_anew(const Effects& fx) { return seen(Effects{fx.state, fx.params, fx.height, {}}); }

class Members : public MarketTest {
protected:
    std::mt19937_64 random{20261128};

    Members() {
        for (const char* name : {"alice", "bob", "carol", "dave", "v1", "v2", "v3", "v4"}) add_verifier(name);
        while (height < 60) next_block();
    }
    std::uint64_t below(std::uint64_t n) { return random() % n; }

    void change(Effects& fx) {
        const auto all = views::verifiers(fx.state);
        const Address who = all.at(below(all.size()));
        auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(who));
        auto audits = views::open_audits(fx.state, who), disputes = views::open_disputes(fx.state, who);
        switch (below(8)) {
            case 0: info.retiring = !info.retiring; break;
            case 1: info.weight += U256(1 + below(9)); break;
            case 2: info.joined_epoch = below(2) * views::epoch_of(params, height); break;
            case 3: (void)give_work(fx, who, 1 + below(params.unbond_blocks)); break;
            case 4: audits.empty() ? audits.push_back(1 + below(5)) : audits.clear(); break;
            case 5: disputes.empty() ? disputes.push_back(1 + below(5)) : disputes.clear(); break;
            case 6: {
                auto stake = views::stake(fx.state, who);
                stake.locked = stake.locked.is_zero() ? stake.bonded : U256();
                store(fx.state, keys::stake(who), stake);
                break;
            }
            default:
                if (below(8) != 0) break;
                auto fewer = all;
                fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(below(fewer.size())));
                if (fewer.size() > 3) store_list(fx.state, keys::verifiers(), std::move(fewer));
        }
        store(fx.state, keys::verifier(who), info);
        store_list(fx.state, keys::open_audits(who), std::move(audits));
        store_list(fx.state, keys::open_disputes(who), std::move(disputes));
    }
};

TEST_F(Members, TheCacheSeesWhatTheStateHolds) {
    MemberCache cache;
    ledger::State next{static_cast<const ledger::StateView&>(state)};
    Effects fx{next, params, height, {}, &cache};
    std::set<Readiness> met;
    std::size_t merged = 0, discarded = 0;
    for (int round = 0; round < 2'000; ++round) {
        const bool fails = below(4) == 0;
        const bool done = isolate(fx, {}, [&](Effects& inner) {
            for (std::uint64_t times = below(4); times > 0; --times) {
                change(inner);
                if (below(2) == 0) {
                    EXPECT_EQ(seen(inner), read_anew(inner)) << "inside, round " << round;
                }
            }
            if (fails) ensure(false, "a rule that breaks an invariant");
        });
        ++(done ? merged : discarded);
        const Seen now = seen(fx);
        ASSERT_EQ(now, read_anew(fx)) << "round " << round;
        for (const auto& [party, weight, readiness] : now) met.insert(readiness);
    }
    EXPECT_EQ(met.size(), 3u);
    EXPECT_GT(merged, 500u);
    EXPECT_GT(discarded, 300u);
}

/// A view that counts what is read of it.
class Counted final : public ledger::StateView {
public:
    explicit Counted(const ledger::StateView& base) : base_(base) {}
    ledger::Account account(const Address& who) const override { return ++reads, base_.account(who); }
    Bytes slot(const Address& contract, View key) const override { return ++reads, base_.slot(contract, key); }
    mutable std::size_t reads = 0;

private:
    const ledger::StateView& base_;
};

TEST_F(Members, ManyDrawsOfABlockReadThemOnce) {
    const Counted counted(state);
    ledger::State next{counted};
    MemberCache cache;
    const Effects cached{next, params, height, {}, &cache}, direct{next, params, height, {}};
    (void)seen(direct);
    const std::size_t once = counted.reads;
    (void)seen(cached);
    counted.reads = 0;
    for (int i = 0; i < 256; ++i) (void)seen(cached);
    EXPECT_EQ(counted.reads, 0u) << "the first one read " << once;
}

}  // namespace
}  // namespace retrace::contracts
