// SPDX-License-Identifier: MIT
#include "node/service/verifier_service.hpp"

#include <spdlog/spdlog.h>

#include <thread>

#include "node/printable.hpp"
#include "node/service/remote_state.hpp"

namespace retrace::node {
namespace {

constexpr std::uint64_t kResendBlocks = 8;

solver::RunnerFactory runners_of(const VerifierOptions& options) {
    return options.fraud == verifier::VerifierFraud::false_accuser ? verifier::accusing_runners()
                                                                   : solver::honest_runners();
}

struct CallOf {
    Submitter& submitter;
    const market::Params& params;

    Result<Hash32> operator()(const verifier::CommitVerdict& m) const {
        spdlog::info("verdict committed audit={}", m.audit);
        return submitter.send("commit verdict of audit " + std::to_string(m.audit),
                              contracts::CommitVerdict{m.audit, m.commitment});
    }
    Result<Hash32> operator()(const verifier::RevealVerdict& m) const {
        spdlog::info("verdict revealed audit={} root={}", m.audit, to_hex(view(m.root)));
        return submitter.send("reveal verdict of audit " + std::to_string(m.audit),
                              contracts::RevealVerdict{m.audit, m.root, m.salt});
    }
    Result<Hash32> operator()(const verifier::AttestRetention& m) const {
        return submitter.send(
            "attest state " + std::to_string(m.index) + " of task " + std::to_string(m.task),
            contracts::AttestRetention{m.task, m.run, m.index});
    }
    Result<Hash32> operator()(const verifier::ReportUnavailable& m) const {
        spdlog::warn("unavailable task={} run={} index={} tensor={} tile={}", m.task, m.run, m.index,
                     m.tensor, m.tile);
        const contracts::ReportUnavailable call{
            static_cast<std::uint8_t>(m.kind), m.task, m.run, m.index, m.tensor, m.tile};
        return submitter.send("report task " + std::to_string(m.task), call, params.report_fee);
    }
    Result<Hash32> operator()(const verifier::RevealBeacon& m) const {
        return submitter.send("reveal beacon", contracts::RevealBeacon{m.preimage});
    }
    Result<Hash32> operator()(const verifier::ChallengeInitial& m) const {
        spdlog::warn("challenge initial state task={} run={}", m.task, m.run);
        return submitter.send("challenge the initial state of task " + std::to_string(m.task),
                              contracts::ChallengeInitial{m.task, m.run, m.root}, params.challenge_bond);
    }
    Result<Hash32> operator()(const verifier::ChallengeSegment& m) const {
        spdlog::warn("challenge task={} run={} segment={}", m.task, m.run, m.segment);
        return submitter.send(
            "challenge segment " + std::to_string(m.segment) + " of task " + std::to_string(m.task),
            contracts::ChallengeSegment{m.task, m.run, m.segment, m.root}, params.challenge_bond);
    }
    Result<Hash32> operator()(const verifier::AnswerReport& m) const {
        return submitter.send("answer report " + std::to_string(m.report),
                              contracts::AnswerUnavailable{m.report, m.answer});
    }
    Result<Hash32> operator()(const verifier::PlayMove& m) const {
        return submitter.send("move in dispute " + std::to_string(m.dispute),
                              contracts::PlayMove{m.dispute, m.move});
    }
};

}  // namespace

VerifierService::VerifierService(const VerifierOptions& options, std::unique_ptr<Party> party)
    : options_(options),
      party_(std::move(party)),
      workshop_(party_->source(), party_->pool(), runners_of(options), party_->memory()) {
    verifier::VerifierConfig config;
    config.secret = party_->secret();
    config.address = party_->address().bytes;
    config.resend_blocks = kResendBlocks;
    config.watch_bp = options_.watch_bp;
    auto agent = std::make_unique<verifier::VerifierAgent>(config, workshop_, party_->checkpoints());
    agent_ = agent.get();
    if (options.fraud)
        verifier_ = verifier::make_fraud(*options.fraud, config, std::move(agent));
    else
        verifier_ = std::move(agent);
}

Result<std::unique_ptr<VerifierService>> VerifierService::open(const VerifierOptions& options,
                                                               ledger::SecretKey key) {
    RETRACE_TRY(party, Party::open(options.party, std::move(key)));
    if (options.fraud && !party->developer_chain()) {
        return error("--cheat is refused: the chain at " + options.party.node_url +
                     " is not a developer chain");
    }
    std::unique_ptr<VerifierService> service(new VerifierService(options, std::move(party)));
    RETRACE_CHECK(service->enroll());
    return service;
}

Hash32 VerifierService::head_to_register(const std::optional<market::VerifierInfo>& info) {
    if (!info) return agent_->beacon_head(0);
    if (agent_->before(info->head)) return info->head;  // Goes on with the chain that was registered.
    std::uint64_t chain = 0;
    while (chain < 3 && agent_->beacon_head(chain) == info->head) ++chain;
    return agent_->beacon_head(chain);
}

Status<> VerifierService::enroll() {
    const auto height = party_->client().height();
    if (!height) return error(height.error().message);
    enrolled_height_ = *height;
    const RemoteState state(party_->client(), *height);
    const auto params = party_->immutable().params(state);
    const auto info = contracts::views::verifier(state, party_->address());
    if (!params) return error("the chain's parameters cannot be read");
    RETRACE_CHECK(party_->bond(params->min_verifier_stake));
    if (!info || !info->member) {
        RETRACE_CHECK(party_->submitter().execute(
            "register verifier", contracts::RegisterVerifier{party_->endpoint(), head_to_register(info)}));
        spdlog::info("registered role=verifier endpoint={}", party_->endpoint());
    }
    return Unit{};
}

void VerifierService::update_endpoint(const market::VerifierInfo& info, const market::Params& params,
                                      std::uint64_t height) {
    if (!info.member || info.endpoint == party_->endpoint() || height < moved_height_ + kResendBlocks) return;
    const std::uint64_t epoch = contracts::views::epoch_of(params, height + 1);
    if (info.joined_epoch < epoch && info.revealed_epoch != epoch) return;
    moved_height_ = height;
    const auto sent = party_->submitter().send(
        "register verifier", contracts::RegisterVerifier{party_->endpoint(), head_to_register(info)});
    if (sent)
        spdlog::info("moved endpoint={}", party_->endpoint());
    else
        spdlog::warn("not sent {}", sent.error().message);
}

void VerifierService::run(const std::atomic<bool>& stop) {
    while (!stop) {
        if (const auto result = worker_.poll()) verifier_->on_done(*result);
        for (const std::string& problem : verifier_->take_problems())
            spdlog::warn("problem {}", printable(problem));
        if (const auto height = party_->new_height()) {
            on_block(*height);
            party_->report_outcomes();
        }
        std::this_thread::sleep_for(party_->options().poll);
    }
    party_->stop_fetching();
}

void VerifierService::on_block(std::uint64_t height) {
    const RemoteState state(party_->client(), height);
    const auto params = party_->immutable().params(state);
    verifier::VerifierView view;
    state.read([&] {
        view = verifier_view(state, height, party_->address(), seats_, party_->immutable(),
                             options_.watch_bp != 0 || options_.fraud == verifier::VerifierFraud::griefer,
                             party_->checkpoints().retained());
    });
    if (state.failure()) return;  // The next block brings another view.
    std::map<std::uint64_t, solver::TaskTerms> tasks;
    const auto add = [&](const auto& list) {
        for (const auto& item : list) tasks.emplace(item.terms.id, item.terms);
    };
    add(view.audits);
    add(view.disputes);
    add(view.initials);
    add(view.watch);
    add(view.offers);
    add(view.reports);
    std::vector<std::string> peers;
    std::optional<market::VerifierInfo> info;
    state.read([&] {
        for (const auto& [task, terms] : tasks) {
            for (std::string& peer : endpoints_of(state, task)) peers.push_back(std::move(peer));
        }
        info = contracts::views::verifier(state, party_->address());
    });
    if (state.failure() || !params) return;
    party_->set_peers(std::move(peers));
    // A node that was down made us miss a reveal and drop out: back in, as soon as it is there.
    if (info && !info->member && height > enrolled_height_ + params->epoch_blocks) {
        spdlog::warn("dropped from the beacon, joining again");
        if (const auto joined = enroll(); !joined) spdlog::warn("cannot join: {}", joined.error().message);
    }
    if (info) update_endpoint(*info, *params, height);

    // Before there is new work: who always has some would keep every task that it ever had.
    if (worker_.idle()) workshop_.keep_only(tasks);
    verifier::Verifier::Output out = verifier_->on_view(view);
    for (const verifier::VerifierMove& move : out.moves) {
        const auto sent = std::visit(CallOf{party_->submitter(), *params}, move);
        if (!sent) spdlog::warn("not sent {}", sent.error().message);
    }
    if (out.work) worker_.add(party_->in_time(std::move(*out.work)));
    // A kept state is proved with its task's program; nobody else may serve that when it is asked for.
    for (const verifier::KeepView& kept : view.keep) {
        if (tasks.contains(kept.task)) continue;
        if (const auto spec = party_->immutable().spec(state, kept.task))
            tasks[kept.task].program_root = spec->program_root;
    }
    if (!state.failure()) party_->tidy(height, tasks);
}

}  // namespace retrace::node
