// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/staking/validators.hpp"

#include <algorithm>

#include "contracts/calls/validator_message.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "ledger/crypto/vrf.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::contracts {
namespace {

struct Candidate {
    Address account;
    std::uint64_t power = 0;
};

market::ValidatorRules rules_of(const StateView& view) {
    return must_load<market::ValidatorRules>(view, keys::validator_rules());
}

/// The order in which candidates get places in the set; equals follow in order of account.
bool goes_first(const Candidate& a, const Candidate& b) {
    return a.power != b.power ? a.power > b.power : a.account < b.account;
}

std::vector<Candidate> candidates(const StateView& view, const market::ValidatorRules& rules) {
    std::vector<Candidate> out;
    for (const Address& account : list<Address>(view, keys::validator_candidates())) {
        const auto info = must_load<market::ValidatorInfo>(view, keys::validator(account));
        out.push_back({account, market::power_of(info, rules)});
    }
    std::sort(out.begin(), out.end(), goes_first);
    return out;
}

void store_set(Effects& fx, const std::vector<SetMember>& now) {
    const auto before = views::validator_set(fx.state);
    if (now == before) return;
    store_list(fx.state, keys::validator_set(), now);
    const auto is_in = [](const std::vector<SetMember>& set, const Hash32& key) {
        return std::ranges::any_of(set, [&](const SetMember& m) { return m.key == key; });
    };
    for (const SetMember& member : before)
        if (!is_in(now, member.key)) fx.emit(ValidatorPowerChanged{member.account, member.key, 0});
    for (const SetMember& member : now)
        if (std::ranges::find(before, member) == before.end())
            fx.emit(ValidatorPowerChanged{member.account, member.key, member.power});
}

/// Epochs for which a candidate outside the set that was silent stands behind the others, or is in jail.
constexpr std::uint64_t kSilenceRemembered = 16;

/// A member that the election would have, with what its growth depends on.
struct Elected {
    SetMember member;          ///< With the power that its stake gives.
    std::uint64_t before = 0;  ///< Its account's power in the set that ends, with whatever key.
    bool silent = false;       ///< A member that missed more than half of the votes of the epoch that ends.
    bool comes_last = false;   ///< Others grow first.
    std::uint64_t power = 0;   ///< That the election gives it.
    bool needs_free_place() const { return comes_last && before == 0; }
};

/// What a member that was silent keeps: not what the last election gave it, because nobody has seen that vote.
std::uint64_t kept_power(const std::vector<PowerGrowth>& last, const Address& account, std::uint64_t before) {
    const auto grown = std::ranges::find(last, account, &PowerGrowth::account);
    return before - std::min(before, grown != last.end() ? grown->amount : 0);
}

/// Whether the validator missed more than half of the votes of the last epoch in which it missed one.
bool missed_most(const Effects& fx, const market::ValidatorInfo& info) {
    return info.epoch_missed > fx.params.epoch_blocks / 2;
}

std::uint64_t ended_epoch(const Effects& fx) { return views::epoch_of(fx.params, fx.height) - 1; }

/// 20.4.1: jails the members that were silent with all their power, which is then what the last election gave them.
void jail_silent(Effects& fx, const market::ValidatorRules& rules) {
    const auto last = list<PowerGrowth>(fx.state, keys::validator_growth());
    for (const SetMember& member : views::validator_set(fx.state)) {
        auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(member.account));
        if (info.jailed_until != 0 || info.double_signed) continue;
        if (!missed_most(fx, info) || info.missed_epoch != ended_epoch(fx)) continue;
        if (kept_power(last, member.account, member.power) != 0) continue;
        info.jailed_until = fx.height + std::max(rules.jail_blocks, kSilenceRemembered * fx.params.epoch_blocks);
        fx.emit(ValidatorJailed{member.account, info.jailed_until});
        store_validator(fx, member.account, info);
    }
}

std::vector<Elected> elected_of(const Effects& fx, const std::vector<SetMember>& wanted) {
    const auto before = views::validator_set(fx.state);
    const auto last = list<PowerGrowth>(fx.state, keys::validator_growth());
    const std::uint64_t ended = ended_epoch(fx);
    std::vector<Elected> out;
    for (const SetMember& member : wanted) {
        const auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(member.account));
        const auto old = std::ranges::find(before, member.account, &SetMember::account);
        Elected one{member, old == before.end() ? 0 : old->power, false, false, 0};
        const std::uint64_t remembered = one.before != 0 ? 0 : kSilenceRemembered;
        one.comes_last = missed_most(fx, info) && info.missed_epoch + remembered >= ended;
        one.silent = one.comes_last && one.before != 0;
        if (one.silent) one.member.power = std::min(one.member.power, kept_power(last, member.account, one.before));
        out.push_back(one);
    }
    std::ranges::stable_partition(out, [](const Elected& one) { return !one.comes_last; });
    return out;
}

/// 20.4.1: power that nobody has seen voting may not stop the chain. What grows, in order, is with the power of those
/// that were silent at most a quarter of what votes.
void limit_growth(std::vector<Elected>& elected) {
    std::uint64_t voting = 0, silent = 0;
    for (const Elected& one : elected) (one.silent ? silent : voting) += std::min(one.before, one.member.power);
    // Without anybody left of those that voted, what is there decides.
    std::uint64_t left = voting < 4 ? ~std::uint64_t{0} : voting / 4 - std::min(voting / 4, silent);
    for (Elected& one : elected) {
        one.power = std::min(one.member.power, one.before);
        const std::uint64_t growth = std::min(one.member.power - one.power, left);
        left -= growth;
        one.power += growth;
    }
}

/// Leaves those that get a place, and gives out again what others would have grown by in vain.
void fill_places(std::vector<Elected>& elected, std::size_t places) {
    for (;;) {
        limit_growth(elected);
        std::vector<Candidate> order, behind;
        for (const Elected& one : elected)
            if (one.power != 0) (one.needs_free_place() ? behind : order).push_back({one.member.account, one.power});
        std::ranges::sort(order, goes_first);
        std::ranges::sort(behind, goes_first);
        order.insert(order.end(), behind.begin(), behind.end());
        order.resize(std::min(places, order.size()));
        const auto has_place = [&](const Elected& one) {
            return std::ranges::find(order, one.member.account, &Candidate::account) != order.end();
        };
        const auto in_vain = [&](const Elected& one) { return one.before == 0 && one.power != 0 && !has_place(one); };
        if (std::erase_if(elected, in_vain) != 0) continue;
        std::erase_if(elected, [&](const Elected& one) { return !has_place(one); });
        return;
    }
}

/// Takes a jailed validator out of the set at once. The last one stays until an election finds another, because a chain
/// without validators stands still for ever.
void expel(Effects& fx, const Address& account) {
    auto set = views::validator_set(fx.state);
    if (set.size() < 2) return;
    std::erase_if(set, [&](const SetMember& m) { return m.account == account; });
    store_set(fx, set);
}

/// Burns a share of all that is locked for the validator; what is about to leave is part of it.
void slash(Effects& fx, const Address& account, market::ValidatorInfo& info, std::uint64_t share_bp,
           SlashReason reason) {
    const auto part = [&](const U256& amount) { return ledger::mul_div(amount, share_bp, market::kBasisPoints); };
    const U256 of_stake = part(info.stake), of_leaving = part(info.leaving);
    info.stake -= of_stake;
    info.leaving -= of_leaving;
    slash_locked(fx, account, 0, of_stake + of_leaving, {}, reason);
}

}  // namespace

void found_validators(ledger::State& state, std::span<const ledger::Validator> founders,
                      const market::ValidatorRules& rules) {
    store(state, keys::validator_rules(), rules);
    std::vector<SetMember> set;
    for (const ledger::Validator& founder : founders) {
        market::ValidatorInfo info;
        info.key = founder.key;
        info.vrf_key = to_bytes(founder.vrf_key.bytes);
        info.granted = founder.power;
        store(state, keys::validator(founder.account), info);
        store(state, keys::registered_key(ledger::consensus_address(founder.key)),
              RegisteredKey{founder.account, info.key, info.vrf_key});
        set.push_back({founder.account, founder.key, founder.power});
    }
    std::ranges::sort(set, {}, &SetMember::account);
    std::vector<Address> accounts;
    for (const SetMember& member : set) accounts.push_back(member.account);
    store_list(state, keys::validator_set(), std::move(set));
    store_list(state, keys::validator_candidates(), std::move(accounts));
}

void register_keys(Effects& fx, const Address& account, const RegisteredKey& registered) {
    store(fx.state, keys::registered_key(ledger::consensus_address(registered.key)), registered);
    auto info = views::validator(fx.state, account).value_or(market::ValidatorInfo{});
    info.key = registered.key;
    info.vrf_key = registered.vrf_key;
    store(fx.state, keys::validator(account), info);
    fx.emit(ValidatorRegistered{account, registered.key});
}

bool is_validator_candidate(const StateView& view, const Address& account) {
    return std::ranges::binary_search(list<Address>(view, keys::validator_candidates()), account);
}

namespace {

/// The candidate that gives way to a richer one: the last one that is not in the set. There are more candidates than
/// places in a set, so there is one.
Candidate last_outside(const StateView& view, const std::vector<Candidate>& waiting) {
    const auto set = views::validator_set(view);
    for (auto at = waiting.rbegin(); at != waiting.rend(); ++at)
        if (std::ranges::find(set, at->account, &SetMember::account) == set.end()) return *at;
    return {{}, ~std::uint64_t{0}};
}

}  // namespace

bool has_validator_place(const StateView& view, const Address& account, std::uint64_t power) {
    const auto waiting = candidates(view, rules_of(view));
    return waiting.size() < market::kValidatorCandidatesMax ||
           std::ranges::any_of(waiting, [&](const Candidate& c) { return c.account == account; }) ||
           last_outside(view, waiting).power < power;
}

void store_validator(Effects& fx, const Address& account, const market::ValidatorInfo& info) {
    store(fx.state, keys::validator(account), info);
    const market::ValidatorRules rules = rules_of(fx.state);
    const std::uint64_t power = market::power_of(info, rules);
    if (power == 0) return remove_from_list(fx.state, keys::validator_candidates(), account);
    if (!has_validator_place(fx.state, account, power)) return;
    auto listed = list<Address>(fx.state, keys::validator_candidates());
    if (std::ranges::binary_search(listed, account)) return;
    if (listed.size() >= market::kValidatorCandidatesMax)
        remove_from_list(fx.state, keys::validator_candidates(),
                         last_outside(fx.state, candidates(fx.state, rules)).account);
    add_to_list(fx.state, keys::validator_candidates(), account);
}

void note_missed_votes(Effects& fx, std::span<const ledger::ConsensusAddress> missed) {
    const market::ValidatorRules rules = rules_of(fx.state);
    if (fx.height == 0) return;
    const auto set = views::validator_set(fx.state);
    // The votes are for the block before, and an epoch's first block brings those for the last one of the epoch before.
    const std::uint64_t window = (fx.height - 1) / rules.downtime_blocks;
    const std::uint64_t epoch = views::epoch_of(fx.params, fx.height - 1);
    for (const ledger::ConsensusAddress& address : missed) {
        const auto owner = views::registered_key(fx.state, address);
        if (!owner) continue;
        auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(owner->account));
        if (info.jailed_until != 0 || info.double_signed) continue;  // It votes for two blocks more.
        if (info.missed_window != window) info.missed = 0;
        info.missed_window = window;
        ++info.missed;
        // One that has left the set is still asked for two blocks, which do not hide that it was silent before.
        if (std::ranges::find(set, owner->account, &SetMember::account) != set.end()) {
            if (info.missed_epoch != epoch) info.epoch_missed = 0;
            info.missed_epoch = epoch;
            ++info.epoch_missed;
        }
        if (info.missed <= rules.downtime_blocks / 2) {
            store(fx.state, keys::validator(owner->account), info);
            continue;
        }
        info.missed = 0;
        // Its jail does not hide that it was silent: it leaves the set before the epoch's reports have shown it.
        info.missed_epoch = epoch;
        info.epoch_missed = fx.params.epoch_blocks;
        info.jailed_until = fx.height + rules.jail_blocks;
        slash(fx, owner->account, info, rules.downtime_bp, SlashReason::votes_missed);
        fx.emit(ValidatorJailed{owner->account, info.jailed_until});
        expel(fx, owner->account);
        store_validator(fx, owner->account, info);
    }
}

void punish_misbehavior(Effects& fx, std::span<const ledger::Misbehavior> misbehavior) {
    const market::ValidatorRules rules = rules_of(fx.state);
    for (const ledger::Misbehavior& one : misbehavior) {
        const auto owner = views::registered_key(fx.state, one.validator);
        if (!owner) continue;
        auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(owner->account));
        if (info.double_signed) continue;  // 20.6: once, however many proofs there are
        info.double_signed = true;
        slash(fx, owner->account, info, rules.double_sign_bp, SlashReason::signed_twice);
        fx.emit(ValidatorJailed{owner->account, 0});
        expel(fx, owner->account);
        store_validator(fx, owner->account, info);
    }
}

void note_shares(Effects& fx, std::uint64_t chain_id, std::span<const ledger::BeaconShare> shares) {
    if (fx.height < 2 || fx.height % fx.params.epoch_blocks != 0) return;
    const Bytes message = beacon_share_message(chain_id, fx.height - 1);
    Writer all;
    all.raw(view(std::string_view("retrace/beacon-shares/1")));
    const ledger::ConsensusAddress* last = nullptr;
    for (const ledger::BeaconShare& share : shares) {
        if (last != nullptr && !(*last < share.validator)) continue;
        const auto owner = views::registered_key(fx.state, share.validator);
        ledger::VrfKey key;
        if (!owner || owner->vrf_key.size() != key.bytes.size()) continue;
        std::ranges::copy(owner->vrf_key, key.bytes.begin());
        const auto value = ledger::vrf_verify(key, message, share.proof);
        if (!value) continue;
        last = &share.validator;
        all.raw(share.validator).hash(*value);
    }
    if (last == nullptr) return;
    store(fx.state, keys::beacon_shares(views::epoch_of(fx.params, fx.height)), Digest{merkle::sha256(all.data())});
}

void vote_upgrade(Effects& fx, const UpgradeVote& vote) {
    Upgrade upgrade = views::upgrade(fx.state);
    const auto set = views::validator_set(fx.state);
    const auto member = [&](const Address& account) { return std::ranges::find(set, account, &SetMember::account); };
    // Those that have left the set since they voted have no say.
    std::erase_if(upgrade.votes, [&](const UpgradeVote& old) {
        return old.account == vote.account || member(old.account) == set.end();
    });
    if (vote.version != 0) {
        const auto at = std::ranges::lower_bound(upgrade.votes, vote.account, {}, &UpgradeVote::account);
        upgrade.votes.insert(at, vote);
    }
    std::uint64_t all = 0, agreed = 0;
    for (const SetMember& one : set) all += one.power;
    for (const UpgradeVote& one : upgrade.votes)
        if (one.version == vote.version && one.height == vote.height) agreed += member(one.account)->power;
    if (vote.version != 0 && agreed > all * 2 / 3 &&
        (upgrade.version != vote.version || upgrade.height != vote.height)) {
        upgrade.version = vote.version;
        upgrade.height = vote.height;
        fx.emit(UpgradeDecided{vote.version, vote.height});
    }
    store(fx.state, keys::upgrade(), upgrade);
}

std::uint64_t rules_version_at(const StateView& view, std::uint64_t height) {
    const Upgrade upgrade = views::upgrade(view);
    return upgrade.version != 0 && height >= upgrade.height ? upgrade.version : upgrade.current;
}

void upgrade_if_due(Effects& fx) {
    const Upgrade upgrade = views::upgrade(fx.state);
    if (upgrade.version == 0 || fx.height < upgrade.height) return;
    Upgrade now;
    now.current = upgrade.version;
    store(fx.state, keys::upgrade(), now);
}

void elect_validators(Effects& fx) {
    if (fx.height == 0 || fx.height % fx.params.epoch_blocks != 0) return;
    const auto rules = views::validator_rules(fx.state);
    if (!rules) return;
    jail_silent(fx, *rules);
    std::vector<SetMember> set;
    for (const Candidate& candidate : candidates(fx.state, *rules)) {
        if (candidate.power == 0) break;
        const auto info = must_load<market::ValidatorInfo>(fx.state, keys::validator(candidate.account));
        set.push_back({candidate.account, info.key, candidate.power});
    }
    std::vector<Elected> elected = elected_of(fx, set);
    fill_places(elected, rules->is_open() ? rules->places : elected.size());
    if (elected.empty()) return;  // As in `expel`.
    set.clear();
    std::vector<PowerGrowth> growth;
    for (const Elected& one : elected) {
        set.push_back({one.member.account, one.member.key, one.power});
        if (one.power > one.before) growth.push_back({one.member.account, one.power - one.before});
    }
    std::ranges::sort(set, {}, &SetMember::account);
    std::ranges::sort(growth, {}, &PowerGrowth::account);
    store_list(fx.state, keys::validator_growth(), std::move(growth));
    store_set(fx, set);
}

}  // namespace retrace::contracts
