// SPDX-License-Identifier: MIT
#include "tests/simulation/verifier_party.hpp"

#include "market/escrow.hpp"
#include "merkle/base/ensure.hpp"
#include "tests/simulation/solver_party.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kBeaconLength = 4096;  // More epochs than a simulated run has.

}  // namespace

std::string VerifierRole::describe() const {
    if (fraud) return std::string(verifier::slug(*fraud)) + (no_verdicts ? "+no_verdicts" : "");
    return colludes ? "colluder" : "honest";
}

VerifierParty::VerifierParty(World& world, NodeId id, std::string name, VerifierRole role)
    : Party(world, id, std::move(name), role.honest(), role.speed_bp), role_(std::move(role)) {}

std::unique_ptr<verifier::Verifier> VerifierParty::adversary(const verifier::VerifierConfig& config,
                                                             std::unique_ptr<verifier::Verifier> honest) {
    if (role_.no_verdicts)
        honest = verifier::make_attacker(verifier::VerifierAttack::no_show, config, std::move(honest));
    if (role_.fraud) return verifier::make_attacker(*role_.fraud, config, std::move(honest));
    if (!role_.colludes) return honest;
    const auto whisper = [this](std::uint64_t task, std::uint32_t run, std::uint64_t index) -> std::optional<Hash32> {
        for (const auto& party : world().parties) {
            const auto* solver = dynamic_cast<const SolverParty*>(party.get());
            if (solver == nullptr || solver->honest()) continue;
            if (const auto root = solver->root_of(task, run, index)) return root;
        }
        return std::nullopt;
    };
    return verifier::make_colluder(whisper, config, std::move(honest));
}

void VerifierParty::boot() {
    auto memory = std::make_unique<Memory>();
    auto store = solver::CheckpointStore::open(disk());
    ensure(store.has_value(), "a checkpoint store opens after any crash");
    memory->store = std::move(*store);
    auto messages = solver::MessageStore::open(disk() / "messages");
    ensure(messages.has_value(), "a message store opens after any crash");
    memory->messages = std::move(*messages);
    memory->provider = std::make_unique<StoreProvider>(*memory->store, world().pool, memory->messages.get());
    memory->source = std::make_unique<NetworkSource>(world(), id());
    const bool accuser = role_.fraud == verifier::VerifierAttack::false_accuser;
    memory->task_cache = std::make_unique<solver::TaskCache>(
        *memory->source, world().pool,
        timed_runners(accuser ? verifier::accusing_runners() : solver::honest_runners()));
    memory->task_cache->set_private(memory->data);
    verifier::VerifierConfig config;
    config.secret = secret();
    config.address = address().bytes;
    config.resend_blocks = kResendBlocks;
    config.beacon_length = kBeaconLength;
    config.watch_bp = role_.watch_bp;
    config.messages = memory->messages.get();
    auto agent = std::make_unique<verifier::VerifierAgent>(config, *memory->task_cache, *memory->store);
    memory->agent = agent.get();
    memory->verifier = adversary(config, std::move(agent));
    memory_ = std::move(memory);
    load_data();
}

void VerifierParty::halt() {
    memory_.reset();
    enrolled_height_ = 0;
}

void VerifierParty::enroll(const ledger::StateView& view, std::uint64_t height,
                           const std::optional<market::VerifierInfo>& info) {
    if (enrolled_height_ != 0 && height < enrolled_height_ + kResendBlocks) return;
    enrolled_height_ = height;
    if (views::stake(view, address()).bonded < world().params.min_verifier_stake)
        return call("deposits", contracts::Deposit{}, role_.stake);
    // A verifier that was dropped continues the beacon chain that it registered.
    const Hash32 head = info ? info->head : memory_->agent->beacon().beacon_head(0);
    call("registers as verifier", contracts::RegisterVerifier{"sim://" + name(), head});
}

void VerifierParty::act(const ledger::StateView& view, std::uint64_t height) {
    const auto info = views::verifier(view, address());
    if (!info || !info->member) enroll(view, height, info);
    update_consents(view, height);
    const bool watches = role_.watch_bp != 0 || role_.fraud == verifier::VerifierAttack::griefer;
    node::WatchChoice choice;
    if (!role_.fraud)
        choice = [agent = memory_->agent](std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
            return agent->watches(task, run, segment);
        };
    const verifier::VerifierView seen =
        node::verifier_view(view, height, address(), memory_->seats, world().immutable, watches, {}, choice);
    verifier::Verifier::Output out = memory_->verifier->on_view(seen);
    for (const verifier::VerifierMove& move : out.moves) make_move(view, move);
    if (out.work) {
        work<verifier::VerifierResult>(std::move(*out.work), [this](const verifier::VerifierResult& result) {
            memory_->verifier->on_done(result);
            for (const std::string& problem : memory_->verifier->take_problems()) say(problem);
        });
    }
}

void VerifierParty::make_move(const ledger::StateView& view, const verifier::VerifierMove& move) {
    const auto bond_of = [&](std::uint64_t task) {
        return market::challenge_bond(world().params, world().immutable.spec(view, task).value());
    };
    if (const auto* m = std::get_if<verifier::CommitVerdict>(&move)) {
        call("commits a verdict", contracts::CommitVerdict{m->audit, m->commitment});
    } else if (const auto* m = std::get_if<verifier::RevealVerdict>(&move)) {
        call("reveals its verdict", contracts::RevealVerdict{m->audit, m->root, m->salt});
    } else if (const auto* m = std::get_if<verifier::AttestRetention>(&move)) {
        call("attests to keep state " + std::to_string(m->index),
             contracts::AttestRetention{m->task, m->run, m->index});
    } else if (const auto* m = std::get_if<verifier::ReportUnavailable>(&move)) {
        const auto kind = static_cast<std::uint8_t>(m->kind);
        call("reports something that is not served",
             contracts::ReportUnavailable{kind, m->task, m->run, m->index, m->tensor, m->tile},
             world().params.report_fee);
    } else if (const auto* m = std::get_if<verifier::RevealBeacon>(&move)) {
        call("reveals its beacon link", contracts::RevealBeacon{m->preimage});
    } else if (const auto* m = std::get_if<verifier::ChallengeInitial>(&move)) {
        call("challenges the initial state", contracts::ChallengeInitial{m->task, m->run, m->root}, bond_of(m->task));
    } else if (const auto* m = std::get_if<verifier::ChallengeSegment>(&move)) {
        call("challenges segment " + std::to_string(m->segment),
             contracts::ChallengeSegment{m->task, m->run, m->segment, m->root}, bond_of(m->task));
    } else if (const auto* m = std::get_if<verifier::AnswerReport>(&move)) {
        call("answers report " + std::to_string(m->report), contracts::AnswerUnavailable{m->report, m->answer});
    } else if (const auto* m = std::get_if<verifier::PlayMove>(&move)) {
        call("moves in dispute " + std::to_string(m->dispute), contracts::PlayMove{m->dispute, m->move});
    }
}

}  // namespace retrace::sim
