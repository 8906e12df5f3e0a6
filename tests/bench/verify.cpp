// SPDX-License-Identifier: MIT
// `bench_verify [--json] [--rounds N]`: the cost of checking a training. Measures replay compared with training
// (processor time of all threads, alternating samples, medians), audits at the default policy, and disputes about a
// program of a billion parameters compared with published figures of other systems.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "market/econ.hpp"
#include "solver/train/trainer.hpp"
#include "tests/bench/rows.hpp"
#include "tests/bench/train_models.hpp"
#include "tests/unit/verifier/game/bounds_synthetic.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::bench {
namespace {

constexpr std::uint64_t kSegmentSteps = 100;
constexpr std::uint64_t kSegments = 100;
constexpr double kBlockSeconds = 1;
constexpr double kOpmlSeconds = 120;              ///< opML (2024): a dispute about an MNIST classifier.
constexpr double kBoldSeconds = 2 * 6.4 * 86400;  ///< BoLD: up to two challenge periods of 6.4 days.

double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// A small convolutional training on noise, since the values do not affect the amount of work.
struct Training {
    kernels::ThreadPool pool;
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {1024, 1, CnnSizes::side, CnnSizes::side});
    kernels::Tensor y = kernels::zeros(kernels::DType::u8, {1024});
    kernels::TrainingPrograms programs = build(x, y);
    kernels::CommittedProgram committed{programs.train};
    kernels::State start = kernels::run_initialiser(programs.init, 1, pool);
    kernels::Inputs inputs{1, {&x, &y}};
    solver::ProgramRunner runner{committed.program(), inputs, pool};

    static kernels::TrainingPrograms build(kernels::Tensor& x, kernels::Tensor& y) {
        std::uint32_t state = 1;
        for (kernels::Tensor* tensor : {&x, &y}) {
            for (std::uint8_t& byte : tensor->data) {
                state = state * 1664525u + 1013904223u;
                byte = static_cast<std::uint8_t>((state >> 16) % (tensor == &x ? 256 : CnnSizes::classes));
            }
        }
        kernels::ModelSpec model;
        model.kind = "lenet";
        model.input = {1, CnnSizes::side, CnnSizes::side};
        model.classes = CnnSizes::classes;
        kernels::TrainingSpec training;
        training.samples = 1024;
        training.batch = CnnSizes::batch;
        return *kernels::build_training(model, training, 1024, 1);
    }

    /// The solver's work: the steps, and the commitment at their end.
    Hash32 train() {
        Hash32 root;
        kernels::State state = start;
        solver::Trainer trainer(committed, runner, {kSegmentSteps, kSegmentSteps}, pool);
        const auto done = trainer.run(
            state, 1, [](const solver::Progress&) { return true; },
            [&](std::uint64_t, const kernels::StateCommitment& commitment, const kernels::State&) {
                root = commitment.root;
                return Status<>(Unit{});
            });
        return done ? root : Hash32{};
    }
    /// The verifier's work: the start is checked against its root first.
    Hash32 replay() {
        const Hash32 root = kernels::commit_state(committed.root(), start, pool).root;
        verifier::Replayer replayer({&committed, &committed, &runner, &pool, 1, inputs.datasets}, start, kSegmentSteps);
        return root.is_zero() ? root : replayer.end_root();
    }
};

struct Speeds {
    double train = 0, replay = 0;  ///< Steps per processor second.
};

Speeds replay_speed(int rounds) {
    Training training;
    if (training.train() != training.replay()) {
        std::fputs("bench_verify: the replay ends in another root\n", stderr);
        std::exit(1);
    }
    std::vector<double> train, replay;
    for (int round = 0; round < rounds; ++round) {
        double begin = processor_seconds();
        training.train();
        train.push_back(processor_seconds() - begin);
        begin = processor_seconds();
        training.replay();
        replay.push_back(processor_seconds() - begin);
    }
    return {kSegmentSteps / median(train), kSegmentSteps / median(replay)};
}

market::Setting policy(std::uint64_t audit_bp, std::uint8_t auditors) {
    market::Setting setting;
    setting.spec.steps = kSegments;
    setting.spec.interval = 1;
    setting.spec.price_ceiling = setting.params.audit_fee;
    setting.spec.audit_bp = static_cast<std::uint16_t>(audit_bp);
    setting.spec.auditors = auditors;
    return setting;
}

double caught_percent(std::uint64_t audit_bp, std::uint64_t bad) {
    return 1e-4 * static_cast<double>(market::detection_ppm(market::effective_audit_probability(audit_bp, 0, 2), bad));
}

void add_audits(std::vector<Row>& rows, const Speeds& speeds) {
    const market::TaskSpec defaults;
    for (const std::uint8_t auditors : {defaults.auditors, std::uint8_t{1}}) {
        const double replays =
            1e-2 * static_cast<double>(market::audit_books(policy(defaults.audit_bp, auditors)).replays_bp);
        rows.push_back({"audit_cost_v" + std::to_string(auditors), "%", "at most, of the training's cost",
                        replays * speeds.train / speeds.replay, auditors == 1 ? 10.0 : 15.0});
        // Price of the audits for the requester: the fee follows the price, so this holds for any price.
        market::Setting dear = policy(defaults.audit_bp, auditors);
        dear.spec.price_ceiling = ledger::U256(1'000 * market::kMilli);
        rows.push_back({"audit_price_v" + std::to_string(auditors), "%", "at most, of the training's price",
                        1e-2 * static_cast<double>(market::audit_cost_bp(dear.params, dear.spec)),
                        auditors == 1 ? 10.0 : 15.0});
    }
    for (const std::uint64_t bad : {1, 2, 5, 10}) {
        rows.push_back({"catch_" + std::to_string(bad) + "_of_100", "%", "at the default policy",
                        caught_percent(defaults.audit_bp, bad), 0});
    }
    std::uint64_t least = 1;
    while (caught_percent(least, 10) < 99) ++least;
    rows.push_back(
        {"p_for_99_of_10", "%", "audit rate that catches 10 of 100 with 99 %", 1e-2 * static_cast<double>(least), 0});
    rows.push_back({"catch_10_of_100_at_that_p", "%", "at least", caught_percent(least, 10), 99});
}

void add_disputes(std::vector<Row>& rows) {
    test::SyntheticResult worst;
    double referee = 0, macs = 0;
    for (const test::SyntheticShape& shape : test::synthetic_shapes()) {
        const test::SyntheticResult result = test::synthetic_dispute(shape, true);
        const double bytes = static_cast<double>(result.game.evidence_bytes + result.moves * test::kTxOverhead);
        rows.push_back({"dispute_bytes_" + shape.name, "KiB", "at most", bytes / 1024, 160});
        if (shape.parameters() < 900'000'000) continue;
        referee = std::max(referee, result.referee_ms);
        macs = std::max(macs, static_cast<double>(shape.batch * shape.m) * static_cast<double>(shape.n * shape.k));
        worst.moves = std::max(worst.moves, result.moves);
        worst.game.rounds = std::max(worst.game.rounds, result.game.rounds);
        worst.game.largest_move = std::max(worst.game.largest_move, result.game.largest_move);
        worst.game.evidence_bytes =
            std::max(worst.game.evidence_bytes, result.game.evidence_bytes + result.moves * test::kTxOverhead);
    }
    const double seconds = worst.moves * kBlockSeconds;
    rows.push_back({"dispute_rounds", "rounds", "at most", static_cast<double>(worst.game.rounds), 24});
    rows.push_back({"dispute_largest_move", "KiB", "at most", static_cast<double>(worst.game.largest_move) / 1024, 96});
    rows.push_back({"dispute_bytes", "KiB", "at most", static_cast<double>(worst.game.evidence_bytes) / 1024, 160});
    rows.push_back({"dispute_referee", "ms", "at most", referee, 1});
    rows.push_back({"dispute_time_opml", "s", "opML: MNIST", seconds, kOpmlSeconds});
    rows.push_back({"dispute_time_bold", "s", "BoLD: two challenge periods", seconds, kBoldSeconds});
    rows.push_back({"referee_work", "mul-adds", "Verde: the whole operator", 256, macs});
}

int run(const std::vector<std::string>& arguments) {
    bool json = false;
    int rounds = 5;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--rounds" && i + 1 < arguments.size())
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else
            return std::fputs("usage: bench_verify [--json] [--rounds N]\n", stderr), 2;
    }
    const Speeds speeds = replay_speed(rounds);
    std::vector<Row> rows;
    rows.push_back({"replay_speed", "steps/s", "training", speeds.replay, speeds.train});
    add_audits(rows, speeds);
    add_disputes(rows);
    report("processor time", rows, json);
    return 0;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
