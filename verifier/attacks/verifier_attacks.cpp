// SPDX-License-Identifier: MIT
#include "verifier/attacks/verifier_attacks.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "merkle/hash/sha256.hpp"
#include "solver/attacks/compute_attacks.hpp"

namespace retrace::verifier {
namespace {

constexpr std::array kAttacks = {VerifierAttack::false_accuser, VerifierAttack::copier,  VerifierAttack::never_reveals,
                                 VerifierAttack::guesser,       VerifierAttack::no_show, VerifierAttack::false_reporter,
                                 VerifierAttack::griefer};

class Copier final : public Verifier {
public:
    explicit Copier(std::unique_ptr<Verifier> inner) : inner_(std::move(inner)) {}

    Output on_view(const VerifierView& view) override {
        VerifierView idle = view;
        idle.audits.clear();  // The inner agent does not compute audits that it does not see.
        Output out = inner_->on_view(idle);
        for (const AuditView& seat : view.audits) {
            if (!seat.may_commit || seat.others.empty() || !copied_.insert(seat.id).second) continue;
            out.moves.push_back(CommitVerdict{seat.id, seat.others.front()});
        }
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
    std::set<std::uint64_t> copied_;
};

/// An honest agent with some of its moves withheld.
class Withholder final : public Verifier {
public:
    using Keep = bool (*)(const VerifierMove&);
    Withholder(std::unique_ptr<Verifier> inner, Keep kept_back) : inner_(std::move(inner)), kept_back_(kept_back) {}

    Output on_view(const VerifierView& view) override {
        Output out = inner_->on_view(view);
        std::erase_if(out.moves, kept_back_);
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
    Keep kept_back_;
};

/// Takes verdicts from a function instead of a replay. Disputes are left to the inner agent, which does compute.
class Reciter final : public Verifier {
public:
    using Root = std::function<std::optional<Hash32>(const AuditView&)>;
    Reciter(std::unique_ptr<Verifier> inner, Root root, Hash32 secret, solver::PartyId address)
        : inner_(std::move(inner)), root_(std::move(root)), secret_(secret), address_(address) {}

    Output on_view(const VerifierView& view) override {
        VerifierView idle = view;
        idle.audits.clear();
        Output out = inner_->on_view(idle);
        for (const AuditView& seat : view.audits) {
            const Hash32 salt = solver::verdict_salt(secret_, seat.id);
            if (seat.may_commit && said_.count(seat.id) == 0) {
                const std::optional<Hash32> root = root_(seat);
                if (!root) continue;
                said_[seat.id] = *root;
                out.moves.push_back(CommitVerdict{seat.id, solver::verdict_commitment(*root, salt, address_, seat.id)});
            }
            if (seat.may_reveal && said_.count(seat.id) != 0 && revealed_.insert(seat.id).second)
                out.moves.push_back(RevealVerdict{seat.id, said_[seat.id], salt});
        }
        for (const KeepView& kept : view.keep) {
            if (kept.may_attest && attested_.insert({kept.task, kept.run, kept.index}).second)
                out.moves.push_back(AttestRetention{kept.task, kept.run, kept.index});
        }
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
    Root root_;
    Hash32 secret_;
    solver::PartyId address_;
    std::map<std::uint64_t, Hash32> said_;  // Keyed by audit.
    std::set<std::uint64_t> revealed_;
    std::set<solver::CheckpointKey> attested_;
};

class FalseReporter final : public Verifier {
public:
    explicit FalseReporter(std::unique_ptr<Verifier> inner) : inner_(std::move(inner)) {}

    Output on_view(const VerifierView& view) override {
        Output out = inner_->on_view(view);
        for (const AuditView& seat : view.audits) {
            if (!seat.may_report) continue;
            // Cycles through every kind, and includes tiles that do not exist.
            constexpr solver::ReportKind kKinds[] = {solver::ReportKind::state, solver::ReportKind::data,
                                                     solver::ReportKind::program};
            const std::uint64_t turn = turn_++;
            const solver::ReportKind kind = kKinds[turn % 3];
            const std::uint64_t index = kind == solver::ReportKind::state ? seat.segment : 0;
            out.moves.push_back(ReportUnavailable{kind, seat.terms.id, seat.run, index,
                                                  static_cast<std::uint32_t>(turn % 5), turn % 2 * 1000});
        }
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
    std::uint64_t turn_ = 0;
};

class Griefer final : public Verifier {
public:
    explicit Griefer(std::unique_ptr<Verifier> inner) : inner_(std::move(inner)) {}

    Output on_view(const VerifierView& view) override {
        VerifierView idle = view;
        idle.disputes.clear();
        idle.watch.clear();
        Output out = inner_->on_view(idle);
        const Hash32 root = merkle::sha256(retrace::view(std::string_view("anything else")));
        for (const WatchView& seen : view.watch) {
            if (griefed_.insert({seen.terms.id, seen.run, seen.segment}).second)
                out.moves.push_back(ChallengeSegment{seen.terms.id, seen.run, seen.segment, root});
        }
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
    std::set<solver::CheckpointKey> griefed_;  // Segments.
};

}  // namespace

std::string_view slug(VerifierAttack attack) noexcept {
    switch (attack) {
        case VerifierAttack::false_accuser: return "false_accuser";
        case VerifierAttack::copier: return "copier";
        case VerifierAttack::never_reveals: return "never_reveals";
        case VerifierAttack::guesser: return "guesser";
        case VerifierAttack::no_show: return "no_show";
        case VerifierAttack::false_reporter: return "false_reporter";
        case VerifierAttack::griefer: return "griefer";
    }
    return "unknown";
}

std::optional<VerifierAttack> parse_verifier_attack(std::string_view text) noexcept {
    const auto found =
        std::find_if(kAttacks.begin(), kAttacks.end(), [&](VerifierAttack attack) { return slug(attack) == text; });
    if (found == kAttacks.end()) return std::nullopt;
    return *found;
}

solver::RunnerFactory accusing_runners() {
    return [](const solver::TaskTerms& terms, const kernels::Program& program, kernels::Inputs inputs,
              kernels::ThreadPool& pool) -> std::unique_ptr<solver::StepRunner> {
        const auto last_of_segment = [schedule = terms.schedule](std::uint64_t step) {
            return (step + 1) % schedule.interval == 0 || step + 1 == schedule.steps;
        };
        return std::make_unique<solver::UlpRunner>(last_of_segment, program, std::move(inputs), pool);
    };
}

std::unique_ptr<Verifier> make_attacker(VerifierAttack attack, const VerifierConfig& config,
                                        std::unique_ptr<Verifier> inner) {
    switch (attack) {
        case VerifierAttack::copier: return std::make_unique<Copier>(std::move(inner));
        case VerifierAttack::never_reveals:
            return std::make_unique<Withholder>(
                std::move(inner), [](const VerifierMove& move) { return std::holds_alternative<RevealVerdict>(move); });
        case VerifierAttack::no_show:
            return std::make_unique<Withholder>(
                std::move(inner), [](const VerifierMove& move) { return std::holds_alternative<CommitVerdict>(move); });
        case VerifierAttack::guesser:
            return std::make_unique<Reciter>(
                std::move(inner), [](const AuditView& seat) { return std::optional(seat.start_root); }, config.secret,
                config.address);
        case VerifierAttack::false_reporter: return std::make_unique<FalseReporter>(std::move(inner));
        case VerifierAttack::griefer: return std::make_unique<Griefer>(std::move(inner));
        case VerifierAttack::false_accuser: break;
    }
    return inner;
}

std::unique_ptr<Verifier> make_colluder(Whisper whisper, const VerifierConfig& config,
                                        std::unique_ptr<Verifier> inner) {
    auto root = [whisper = std::move(whisper)](const AuditView& seat) {
        return whisper(seat.terms.id, seat.run, seat.segment + 1);
    };
    return std::make_unique<Reciter>(std::move(inner), std::move(root), config.secret, config.address);
}

}  // namespace retrace::verifier
