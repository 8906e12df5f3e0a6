// SPDX-License-Identifier: MIT
#include "tests/simulation/simulation.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/records/standing.hpp"
#include "merkle/base/ensure.hpp"
#include "tests/simulation/validator_party.hpp"

namespace retrace::sim {
namespace {

namespace fs = std::filesystem;
namespace views = contracts::views;

constexpr std::uint64_t kCoins = 100'000;
constexpr std::uint64_t kSettleBlocks = 12;  // Blocks after the last task's end, in which pending messages arrive.
constexpr std::uint64_t kDeepEvery = 8;      // Interval in blocks of the walk through all records.

/// State of one run.
class Play {
public:
    Play(std::uint64_t seed, const Scenario& scenario, const Catalogue& catalogue, const RunOptions& options);
    Outcome run();

private:
    struct Member {
        std::string name;
        ledger::Address address;
        bool honest = true;
    };
    ledger::Genesis genesis(const std::vector<Member>& members) const;
    void add_parties();
    void plan_outages();
    void listen_for_cuts();
    void produce();
    void record(std::uint64_t height);
    void set_truths(const ledger::StateView& view);
    void set_truths_of_members(const ledger::StateView& view);
    void count_fees(const ledger::Block& block);
    Outcome outcome() const;
    bool all_ended(const ledger::StateView& view) const;

    std::uint64_t seed_;
    const Scenario& scenario_;
    market::Params params_;
    WatchedExecutor executor_;
    Random random_;
    std::vector<Member> members_;
    std::unique_ptr<World> world_;
    std::unique_ptr<Checkers> checkers_;
    std::map<std::uint64_t, std::vector<Hash32>> truths_;
    std::map<ledger::Address, ledger::U256> fees_;
    std::set<std::size_t> cuts_begun_;  ///< Indices of the cuts that have begun.
    std::uint64_t ended_height_ = 0, transactions_ = 0;
    bool over_ = false;
};

std::vector<std::string> names_of(const Scenario& scenario) {
    std::vector<std::string> names{"requester"};
    for (std::size_t i = 0; i < scenario.solvers.size(); ++i) names.push_back("solver" + std::to_string(i));
    for (std::size_t i = 0; i < scenario.verifiers.size(); ++i) names.push_back("verifier" + std::to_string(i));
    for (std::size_t i = 1; i < scenario.requesters; ++i) names.push_back("requester" + std::to_string(i));
    for (std::size_t i = 0; i < scenario.validators.size(); ++i) names.push_back("validator-" + std::to_string(i));
    const auto copies = [](const ValidatorRole& role) { return role.fraud == ProposerFraud::front_run; };
    if (std::ranges::any_of(scenario.validators, copies)) names.push_back(kFrontRunner);
    return names;
}

/// Takes a party's number: requester, solvers, verifiers, further requesters, validators, the proposers' account.
bool is_honest(const Scenario& scenario, std::size_t party) {
    if (party == 0) return !scenario.bad_requesters.contains(0);
    if (--party < scenario.solvers.size()) return scenario.solvers[party].honest();
    party -= scenario.solvers.size();
    if (party < scenario.verifiers.size()) return scenario.verifiers[party].honest();
    party -= scenario.verifiers.size();
    if (++party < scenario.requesters) return !scenario.bad_requesters.contains(party);
    party -= scenario.requesters;
    return party < scenario.validators.size() && scenario.validators[party].honest();
}

Play::Play(std::uint64_t seed, const Scenario& scenario, const Catalogue& catalogue, const RunOptions& options)
    : seed_(seed),
      scenario_(scenario),
      params_(scenario.params),
      executor_(options.sabotage, options.sabotage_height),
      random_(seed) {
    const auto names = names_of(scenario);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool honest = is_honest(scenario, i) && !scenario.owned.contains(names[i]);
        members_.push_back({names[i], party_address(names[i]), honest});
    }
    HostOptions host;
    host.validators = scenario.validators;
    host.shares = scenario.shares;
    host.crash_permille = scenario.node_crash_permille;
    std::map<ledger::Address, Watched> watched;
    for (const Member& member : members_) {
        if (member.honest) host.victims.insert(member.address);
        const bool works = member.name.starts_with("solver") || member.name.starts_with("verifier");
        if (member.honest && works) host.copied.insert(member.address);
        watched[member.address] = {member.name, member.honest};
    }
    for (std::size_t i = 0; i < scenario.solvers.size(); ++i)
        watched[members_[1 + i].address].price_bp = scenario.solvers[i].price_bp;
    if (!scenario.verifiers.empty()) executor_.set_victim(members_[1 + scenario.solvers.size()].address);
    world_ = std::make_unique<World>(random_, catalogue, params_, scenario.costs, genesis(members_), executor_,
                                     std::move(host), scenario.network, options.sink, options.folder);
    checkers_ = std::make_unique<Checkers>(std::move(watched), params_);
    world_->trace.say(0, "seed " + std::to_string(seed), scenario.describe());
    add_parties();
    plan_outages();
    listen_for_cuts();
}

ledger::Genesis Play::genesis(const std::vector<Member>& members) const {
    ledger::Genesis out;
    out.chain_id = kChainId;
    out.gas_limit = 20'000'000'000;
    out.base_fee = 7;  // Low, so that gains and losses follow from the rules and not from gas.
    for (const Member& member : members) out.alloc[member.address] = initial_coins();
    out.contracts = market::encode(params_);
    return out;
}

void Play::add_parties() {
    World& world = *world_;
    NodeId id = 1;
    const auto add_requester = [&](std::size_t number) {
        const Member& member = members_[id - 1];
        world.parties.push_back(
            std::make_unique<RequesterParty>(world, id, member.name, member.honest, scenario_.planned_tasks, number));
    };
    add_requester(0);
    for (const SolverRole& role : scenario_.solvers) {
        ++id;
        world.parties.push_back(std::make_unique<SolverParty>(world, id, members_[id - 1].name, role));
    }
    for (const VerifierRole& role : scenario_.verifiers) {
        ++id;
        world.parties.push_back(std::make_unique<VerifierParty>(world, id, members_[id - 1].name, role));
    }
    for (std::size_t number = 1; number < scenario_.requesters; ++number) {
        ++id;
        add_requester(number);
    }
    for (const ValidatorRole& role : scenario_.validators) {
        ++id;
        world.parties.push_back(std::make_unique<ValidatorParty>(world, id, members_[id - 1].name, role));
    }
    world.trace.name(party_address(kFrontRunner), kFrontRunner);
    for (const auto& party : world.parties) party->power_on();
}

void Play::plan_outages() {
    for (const Outage& outage : scenario_.outages) {
        Party& party = *world_->parties[outage.party];
        if (outage.crash)
            party.plan_crash(outage.from, outage.until);
        else
            world_->network.cut(party.id(), outage.from, outage.until);
    }
}

/// Returns the height after "deadline=" in a line of the trace.
std::uint64_t deadline_in(const std::string& line) {
    constexpr std::string_view kWord = "deadline=";
    const std::size_t at = line.find(kWord);
    ensure(at != std::string::npos, "the line says a deadline");
    return std::stoull(line.substr(at + kWord.size()));
}

void Play::listen_for_cuts() {
    if (scenario_.triggered_cuts.empty()) return;
    world_->trace.on_line([this](const std::string& line) {
        for (std::size_t i = 0; i < scenario_.triggered_cuts.size(); ++i) {
            const TriggeredCut& cut = scenario_.triggered_cuts[i];
            if (line.find(cut.words) == std::string::npos) continue;
            if (cut.before && deadline_in(line) == 0) continue;  // The deadline is not running yet.
            if (!cuts_begun_.insert(i).second) continue;
            const Millis from = world_->clock.now() + cut.after * kBlockMillis;
            const Millis until =
                cut.before ? (deadline_in(line) - *cut.before) * kBlockMillis : from + cut.blocks * kBlockMillis;
            world_->network.cut(world_->parties[cut.party]->id(), from, until);
        }
    });
}

bool Play::all_ended(const ledger::StateView& view) const {
    return views::task_count(view) >= scenario_.planned_tasks.size() && views::active_tasks(view).empty();
}

void Play::set_truths(const ledger::StateView& view) {
    for (std::uint64_t id = truths_.size() + 1; id <= views::task_count(view); ++id) {
        const PlannedTask& planned = scenario_.planned_tasks[id - 1];
        if (planned.fraud == RequesterFraud::no_upload || planned.fraud == RequesterFraud::impossible)
            checkers_->set_unservable(id);
        if (planned.group) {
            truths_[id] = {};
            continue;
        }
        truths_[id] =
            true_roots(world_->catalogue[planned.kind], planned.steps, planned.interval, planned.seed, world_->pool);
        checkers_->set_truth(id, truths_[id]);
    }
}

/// What a member has to compute follows from the records, so it is known at the end. Honest members are compared with
/// one another.
void Play::set_truths_of_members(const ledger::StateView& view) {
    for (const auto& [task, roots] : truths_) {
        const auto& group = scenario_.planned_tasks[task - 1].group;
        if (!group) continue;
        const GroupKind& kind = group_kind(group->regions != 0, group->masked);
        const std::uint32_t runs = views::task(view, task)->runs;
        for (std::uint32_t index = 0; index < runs; ++index) {
            const auto run = views::run(view, task, index);
            const auto found = std::ranges::find(members_, run->solver, &Member::address);
            if (found == members_.end() || found->honest) continue;
            const bool is_private = scenario_.planned_tasks[task - 1].group->is_private;
            const auto data = is_private ? data_of_member(run->solver) : kind.data;
            checkers_->set_truth(
                task, index, true_roots_of_member(kind, view, *run, {world_->sent, world_->masks}, data, world_->pool));
        }
    }
}

void Play::count_fees(const ledger::Block& block) {
    for (std::size_t i = 0; i < block.txs.size(); ++i) {
        ++transactions_;
        if (block.txs[i].tx == nullptr) continue;
        const ledger::Receipt& receipt = block.receipts[i];
        fees_[block.txs[i].tx->sender] += receipt.effective_gas_price * ledger::U256(receipt.gas_used);
    }
}

void Play::record(std::uint64_t height) {
    World& world = *world_;
    for (const auto& party : world.parties) {
        const Millis now = world.clock.now();
        const auto arrival = party->is_at_node() ? std::optional(now) : world.network.send(kHostNode, party->id(), now);
        if (!arrival) continue;
        world.clock.at(*arrival, [&party, height] { party->on_notice(height); });
    }
}

void Play::produce() {
    World& world = *world_;
    const Host::Made made = world.host.produce();
    const ledger::Block& block = *made.block;
    const std::uint64_t height = block.header.height;
    if (made.crashes != 0) world.trace.say(world.clock.now(), "node", "crashes while it writes a block");
    if (!made.violation.empty()) checkers_->report(made.violation);
    for (const ledger::Log& log : block.system_logs) world.trace.log(world.clock.now(), height, log);
    for (const ledger::Receipt& receipt : block.receipts) {
        for (const ledger::Log& log : receipt.logs) world.trace.log(world.clock.now(), height, log);
        if (!receipt.success) world.trace.say(world.clock.now(), "refused", receipt.revert_reason);
    }
    count_fees(block);
    const auto view = world.host.chain().view();
    set_truths(*view);
    checkers_->after_block(block, *view, height % kDeepEvery == 0);
    if (const auto broken = executor_.take_broken()) checkers_->report("invariant: " + *broken);
    record(height);
    if (ended_height_ == 0 && all_ended(*view)) ended_height_ = height;
    const bool violated = !checkers_->findings().violations.empty();  // Stops at the first violation, since later
                                                                      // blocks add no information.
    const bool at_end =
        height >= scenario_.blocks_max || (ended_height_ != 0 && height >= ended_height_ + kSettleBlocks);
    over_ = violated || at_end;
    if (at_end && !violated) set_truths_of_members(*view);
    if (at_end && !violated) checkers_->at_end(*view, height, ended_height_ != 0);
    if (!over_) world.clock.after(kBlockMillis, [this] { produce(); });
}

std::vector<Hash32> opened_roots(const ledger::StateView& view, const market::Run& run, std::size_t states) {
    std::vector<Hash32> out(states);
    for (std::size_t index = 0; index < states; ++index) {
        const auto state = views::checkpoint(view, run.task, run.index, index);
        if (state && state->opened) out[index] = state->root;
    }
    return out;
}

Outcome Play::outcome() const {
    Outcome out;
    out.seed = seed_;
    out.findings = checkers_->findings();
    out.trace_hash = world_->trace.hash();
    out.trace_lines = world_->trace.lines();
    out.height = world_->host.chain().height();
    out.transactions = transactions_;
    const auto view = world_->host.chain().view();
    for (const Member& member : members_) {
        out.names[member.address] = member.name;
        Outcome::Balance& balance = out.balances[member.name];
        balance.coins = ledger::balance_of(*view, member.address);
        const market::Stake stake = views::stake(*view, member.address);
        balance.bonded = stake.bonded;
        if (const auto info = views::solver(*view, member.address)) out.solvers[member.name] = *info;
        out.standings[member.name] = views::standing(*view, member.address);
        const auto fees = fees_.find(member.address);
        if (fees != fees_.end()) balance.fees = fees->second;
    }
    for (std::uint64_t id = 1; id <= views::task_count(*view); ++id) {
        const auto task = views::task(*view, id);
        if (!task) continue;
        Outcome::TaskEnd end;
        end.state = task->state;
        end.truth = truths_.at(id);
        if (!end.truth.empty()) end.true_root = end.truth.back();
        end.spec = views::spec(*view, id).value();
        end.requester = task->requester;
        end.rollbacks = views::rollbacks(*view, id).noted.size();
        while (const auto record = views::round(*view, id, static_cast<std::uint32_t>(end.rounds.size())))
            end.rounds.push_back(*record);
        for (std::uint32_t index = 0; index < task->runs; ++index) {
            end.runs.push_back(views::run(*view, id, index).value());
            end.roots.push_back(opened_roots(*view, end.runs.back(), end.truth.size()));
            if (end.truth.empty()) continue;  // A group's.
            const auto last = views::checkpoint(*view, id, index, truths_.at(id).size() - 1);
            if (last && last->opened) end.final_root = last->root;
            if (last && end.runs.back().state == market::RunState::settled) end.paid_root = last->root;
        }
        out.tasks.push_back(std::move(end));
    }
    for (std::uint64_t id = 1; id <= views::dispute_count(*view); ++id)
        out.disputes.push_back(views::dispute(*view, id).value());
    for (std::uint64_t id = 1; id <= views::report_count(*view); ++id)
        out.reports.push_back(views::report(*view, id).value());
    for (std::uint64_t id = 1; id <= views::audit_count(*view); ++id)
        out.audits.push_back(views::audit(*view, id).value());
    for (std::uint64_t id = 1; id <= views::reservation_count(*view); ++id)
        out.reservations.push_back(views::reservation(*view, id).value());
    return out;
}

Outcome Play::run() {
    world_->clock.at(kBlockMillis, [this] { produce(); });
    while (!over_ && world_->clock.step()) {
    }
    for (const auto& party : world_->parties) party->power_off();
    return outcome();
}

}  // namespace

ledger::U256 initial_coins() { return ledger::U256(kCoins) * ledger::U256(1000 * market::kMilli); }

fs::path scratch_folder() {
    static std::atomic<std::uint64_t> count{0};
    std::error_code failure;
    const fs::path shared = "/dev/shm";
    const bool in_memory = fs::is_directory(shared, failure) && ::access(shared.c_str(), W_OK) == 0;
    const fs::path base = in_memory ? shared : fs::temp_directory_path();
    return base / ("retrace-sim-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
}

Outcome play(std::uint64_t seed, const Scenario& scenario, const Catalogue& catalogue, const RunOptions& options) {
    RunOptions own = options;
    if (own.folder.empty()) own.folder = scratch_folder();
    Outcome outcome;
    {
        Play run(seed, scenario, catalogue, own);
        outcome = run.run();
    }
    std::error_code ignored;
    fs::remove_all(own.folder, ignored);
    return outcome;
}

}  // namespace retrace::sim
