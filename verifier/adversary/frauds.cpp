// SPDX-License-Identifier: MIT
#include "verifier/adversary/frauds.hpp"

#include <algorithm>
#include <array>

namespace retrace::verifier {
namespace {

constexpr std::array kFrauds = {VerifierFraud::false_accuser, VerifierFraud::copier,
                                VerifierFraud::never_reveals};

class Copier final : public Verifier {
public:
    explicit Copier(std::unique_ptr<Verifier> inner) : inner_(std::move(inner)) {}

    Output on_view(const VerifierView& view) override {
        VerifierView idle = view;
        idle.audits.clear();  // What the honest part does not see it does not compute.
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

class NeverReveals final : public Verifier {
public:
    explicit NeverReveals(std::unique_ptr<Verifier> inner) : inner_(std::move(inner)) {}

    Output on_view(const VerifierView& view) override {
        Output out = inner_->on_view(view);
        std::erase_if(out.moves,
                      [](const VerifierMove& move) { return std::holds_alternative<RevealVerdict>(move); });
        return out;
    }
    void on_done(const VerifierResult& result) override { inner_->on_done(result); }
    std::vector<std::string> take_problems() override { return inner_->take_problems(); }

private:
    std::unique_ptr<Verifier> inner_;
};

}  // namespace

std::string_view slug(VerifierFraud fraud) noexcept {
    switch (fraud) {
        case VerifierFraud::false_accuser:
            return "false_accuser";
        case VerifierFraud::copier:
            return "copier";
        case VerifierFraud::never_reveals:
            return "never_reveals";
    }
    return "unknown";
}

std::optional<VerifierFraud> parse_verifier_fraud(std::string_view text) noexcept {
    const auto found = std::find_if(kFrauds.begin(), kFrauds.end(),
                                    [&](VerifierFraud fraud) { return slug(fraud) == text; });
    if (found == kFrauds.end()) return std::nullopt;
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

std::unique_ptr<Verifier> make_fraud(VerifierFraud fraud, std::unique_ptr<Verifier> inner) {
    switch (fraud) {
        case VerifierFraud::copier:
            return std::make_unique<Copier>(std::move(inner));
        case VerifierFraud::never_reveals:
            return std::make_unique<NeverReveals>(std::move(inner));
        case VerifierFraud::false_accuser:
            break;
    }
    return inner;
}

}  // namespace retrace::verifier
