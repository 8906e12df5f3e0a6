// SPDX-License-Identifier: MIT
#include <cstdio>

#include "tests/bench/rounds/measurements.hpp"

namespace retrace::bench {
namespace {

/// Means over seeds.
class Means {
public:
    Means(const RoundsOptions& options, kernels::ThreadPool& pool) : options_(options), pool_(pool) {}

    Score alone(const Recipe& recipe) {
        return mean("one machine",
                    [&](std::uint64_t seed) { return train_alone(recipe, options_.steps, seed, pool_); });
    }
    Score group(const std::string& what, const Recipe& recipe, std::uint32_t bits, double lost) {
        kernels::RoundsSpec spec;
        spec.inner = kInner;
        spec.bits = bits;
        spec.members = recipe.members;
        spec.outer_rate = options_.outer_rate;
        return mean(what,
                    [&](std::uint64_t seed) { return train_group(recipe, spec, options_.steps, seed, lost, pool_); });
    }

    /// The accuracy with this privacy; 0: none.
    Result<double> apart(double epsilon) {
        double sum = 0;
        for (std::uint64_t seed = 0; seed < options_.seeds; ++seed) {
            RETRACE_TRY(one, train_apart(epsilon, seed, pool_));
            std::fprintf(stderr, "dp_accuracy, epsilon %g, seed %llu: accuracy %.4f\n", epsilon,
                         static_cast<unsigned long long>(seed), one.accuracy);
            sum += one.accuracy;
        }
        return sum / static_cast<double>(options_.seeds);
    }
    Score gradients(const std::string& what, const Recipe& recipe) {
        return mean(what, [&](std::uint64_t seed) { return train_gradients(recipe, 2, options_.steps, seed, pool_); });
    }

private:
    Score mean(const std::string& what, const std::function<Score(std::uint64_t)>& train) {
        Score sum;
        for (std::uint64_t seed = 0; seed < options_.seeds; ++seed) {
            const Score one = train(seed);
            std::fprintf(stderr, "%s, %llu steps, seed %llu: loss %.4f, accuracy %.4f\n", what.c_str(),
                         static_cast<unsigned long long>(options_.steps), static_cast<unsigned long long>(seed),
                         one.loss, one.accuracy);
            sum.loss += one.loss;
            sum.accuracy += one.accuracy;
        }
        const auto n = static_cast<double>(options_.seeds);
        return {sum.loss / n, sum.accuracy / n};
    }
    const RoundsOptions& options_;
    kernels::ThreadPool& pool_;
};

}  // namespace

std::vector<Row> measure_quality(const RoundsOptions& options, const Wants& wants) {
    std::vector<Row> rows;
    kernels::ThreadPool pool(1);  // Models of this size gain little from more threads.
    Means means(options, pool);
    struct Case {
        std::string name;
        std::function<Score(const Recipe&)> train;
    };
    const auto group = [&](const char* name, std::uint32_t bits, double lost) {
        return Case{name,
                    [&, name, bits, lost](const Recipe& recipe) { return means.group(name, recipe, bits, lost); }};
    };
    const Case cases[] = {
        group("rounds_quality", 1, 0), group("rounds_quality_2bits", 2, 0), group("rounds_lossy", 1, 0.15),
        Case{"gradient_quality", [&](const Recipe& recipe) { return means.gradients("gradient_quality", recipe); }}};
    std::optional<double> peer;
    for (const Case& one : cases) {
        if (!wants(one.name)) continue;
        const auto recipe = text_recipe();
        if (!recipe) {
            rows.push_back({one.name, "nats", recipe.error().message});
            continue;
        }
        if (!peer) peer = means.alone(*recipe).loss;
        rows.push_back({one.name, "nats", "one machine", one.train(*recipe).loss, *peer});
    }
    if (wants("dp_accuracy")) {
        const auto silent = means.apart(0);
        const auto noisy = means.apart(5.5);
        rows.push_back(silent && noisy ? Row{"dp_accuracy", "accuracy", "without noise", *noisy, *silent}
                                       : Row{"dp_accuracy", "accuracy", silent.error().message});
    }
    const std::string image = "rounds_quality_image";
    if (!wants(image)) return rows;
    const auto recipe = image_recipe();
    if (!recipe) {
        rows.push_back({image, "accuracy", recipe.error().message});
        return rows;
    }
    const double alone = means.alone(*recipe).accuracy;
    rows.push_back({image, "accuracy", "one machine", means.group(image, *recipe, 1, 0).accuracy, alone});
    return rows;
}

}  // namespace retrace::bench
