// SPDX-License-Identifier: MIT
// `cuda_bench [--json] [--smoke] [--only PART] [--layers N] [--peer COMMAND]`: the figures of a device, medians of device
// time, peers interleaved. COMMAND prints rows of the same training by another library (gpt_torch.py); --smoke only tests
// that everything runs; PART is products, chains, hashing, training, recipes or warpgroups, or step, which only --only
// runs: one step of the training, for a profiler; N layers instead of twelve.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/builder/training.hpp"
#include "kernels/cuda/executor.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/trees.hpp"
#include "tests/bench/rows.hpp"
#include "tests/cuda/device/cublas.hpp"

namespace retrace::bench {
namespace {

using kernels::Precision;
using kernels::cuda::Device;
using kernels::cuda::Memory;
using kernels::cuda::Queue;

struct Sizes {
    std::uint64_t sliced = 8192, chains = 4096;     ///< M = N = K of the products.
    std::uint64_t hashed = std::uint64_t{1} << 30;  ///< Bytes.
    std::uint64_t layers = 12, width = 768, heads = 12, tokens = 512, vocabulary = 16384, batch = 16;
    int samples = 9, steps = 10;
};
constexpr Sizes kSmoke{64, 48, 1 << 15, 1, 16, 2, 8, 32, 2, 1, 2};

struct Bench {
    Device device;
    Queue queue;
    Sizes sizes;
    std::vector<Row> rows;
    std::string peer_command;

    /// Medians of the candidates' seconds, with alternating samples after a warm-up sample of each.
    Result<std::vector<double>> medians(const std::vector<std::function<void()>>& candidates) {
        std::vector<std::vector<double>> samples(candidates.size());
        for (int round = -1; round < sizes.samples; ++round) {
            for (std::size_t i = 0; i < candidates.size(); ++i) {
                RETRACE_TRY(seconds, queue.seconds(candidates[i]));
                if (round >= 0) samples[i].push_back(seconds);
            }
        }
        std::vector<double> out;
        for (auto& sample : samples) out.push_back(median(std::move(sample)));
        return out;
    }
    Result<Memory> floats(std::uint64_t count) { return Memory::take(4 * count); }
    /// Fills with normally distributed values.
    void fill(const Memory& memory, std::uint32_t stream, const std::uint64_t* step) {
        kernels::cuda::make_philox(queue.stream(), true, {stream, 1}, step, reinterpret_cast<float*>(memory.data()),
                                   memory.bytes() / 4);
    }
};

double tera_flops(std::uint64_t n, double seconds) {
    return 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / seconds;
}

/// Operands, result and slices of a product of n×n matrices.
struct Product {
    Memory a, b, c, digits_a, digits_b, scales_a, scales_b, clock;
    std::uint64_t n = 0;

    static Result<Product> make(Bench& bench, std::uint64_t n) {
        Product p;
        p.n = n;
        for (Memory* memory : {&p.a, &p.b, &p.c}) {
            RETRACE_TRY(taken, bench.floats(n * n));
            *memory = std::move(taken);
        }
        for (Memory* memory : {&p.digits_a, &p.digits_b}) {
            RETRACE_TRY(taken, Memory::take(kernels::cuda::digit_bytes(3, 1, n, n)));
            *memory = std::move(taken);
        }
        for (Memory* memory : {&p.scales_a, &p.scales_b}) {
            RETRACE_TRY(taken, Memory::take(kernels::cuda::scale_bytes(1, n, kernels::matmul_blocks(n))));
            *memory = std::move(taken);
        }
        RETRACE_TRY(clock, Memory::take(8));
        p.clock = std::move(clock);
        bench.queue.clear(p.clock.data(), 8);
        bench.fill(p.a, 1, reinterpret_cast<const std::uint64_t*>(p.clock.data()));
        bench.fill(p.b, 2, reinterpret_cast<const std::uint64_t*>(p.clock.data()));
        RETRACE_CHECK(bench.queue.finish());
        return p;
    }

    const float* floats(const Memory& memory) const { return reinterpret_cast<const float*>(memory.data()); }
    float* result() const { return reinterpret_cast<float*>(c.data()); }
    kernels::cuda::Slices slices(const Memory& digits, const Memory& scales) const {
        return {reinterpret_cast<std::int8_t*>(digits.data()), reinterpret_cast<float*>(scales.data())};
    }
    void slice(const Bench& bench, Precision precision) const {
        const auto stream = bench.queue.stream();
        slice_vectors(stream, precision, floats(a), false, 1, n, n, slices(digits_a, scales_a));
        slice_vectors(stream, precision, floats(b), true, 1, n, n, slices(digits_b, scales_b));
    }
    void multiply(const Bench& bench, Precision precision, bool warpgroups) const {
        multiply_slices(bench.queue.stream(), precision, slices(digits_a, scales_a), slices(digits_b, scales_b),
                        result(), 1, n, n, n, {bench.device.shared_limit, warpgroups, bench.device.multiprocessors});
    }
};

Status<> bench_products(Bench& bench) {
    const CublasPeer peer = load_cublas(bench.queue.stream());
    RETRACE_TRY(p, Product::make(bench, bench.sizes.sliced));
    std::vector<std::function<void()>> candidates;
    for (const Precision precision : {Precision::i8x2, Precision::i8x3}) {
        const auto multiply = [&, precision] { p.multiply(bench, precision, bench.device.warpgroups); };
        candidates.push_back([&, precision, multiply] { p.slice(bench, precision), multiply(); });
        candidates.push_back([&, precision] { p.slice(bench, precision); });
        candidates.push_back(multiply);
    }
    if (peer.run) candidates.push_back([&] { peer.run(p.n, p.n, p.n, p.floats(p.a), p.floats(p.b), p.result()); });
    RETRACE_TRY(seconds, bench.medians(candidates));
    const double peer_value = peer.run ? tera_flops(p.n, seconds[6]) : 0;
    bench.rows.push_back(
        {"matmul_i8x2_cuda", "TFLOP/s-equivalent", peer.name, tera_flops(p.n, seconds[0]), peer_value});
    bench.rows.push_back(
        {"matmul_i8x3_cuda", "TFLOP/s-equivalent", peer.name, tera_flops(p.n, seconds[3]), peer_value});
    std::fprintf(stderr, "i8x2: slicing %.3f ms, product %.3f ms; i8x3: slicing %.3f ms, product %.3f ms\n",
                 1e3 * seconds[1], 1e3 * seconds[2], 1e3 * seconds[4], 1e3 * seconds[5]);
    // Only subnormal values: the same work must take the same time.
    RETRACE_TRY(normal, bench.medians({candidates[0]}));
    kernels::cuda::fill_bits(bench.queue.stream(), 4, p.a.data(), p.n * p.n, 0x00012345);
    RETRACE_TRY(subnormal, bench.medians({candidates[0]}));
    bench.rows.push_back({"matmul_subnormal_cuda", "times as long", "normal data", subnormal[0] / normal[0], 1});
    return Unit{};
}

/// wgmma beside mma.sync.
Status<> bench_warpgroups(Bench& bench) {
    if (!bench.device.warpgroups) return Unit{};
    RETRACE_TRY(p, Product::make(bench, bench.sizes.sliced));
    std::vector<std::function<void()>> candidates;
    for (const bool warpgroups : {false, true}) {
        for (const Precision precision : {Precision::i8x2, Precision::i8x3}) {
            candidates.push_back(
                [&, precision, warpgroups] { p.slice(bench, precision), p.multiply(bench, precision, warpgroups); });
        }
    }
    RETRACE_TRY(seconds, bench.medians(candidates));
    const auto add = [&](const char* name, double own, double other) {
        bench.rows.push_back({name, "TFLOP/s-equivalent", "mma.sync", tera_flops(p.n, own), tera_flops(p.n, other)});
    };
    add("matmul_i8x2_wgmma", seconds[2], seconds[0]);
    add("matmul_i8x3_wgmma", seconds[3], seconds[1]);
    return Unit{};
}

Status<> bench_chains(Bench& bench) {
    const CublasPeer peer = load_cublas(bench.queue.stream());
    RETRACE_TRY(p, Product::make(bench, bench.sizes.chains));
    std::vector<std::function<void()>> candidates{[&] {
        kernels::cuda::multiply_chains(bench.queue.stream(), p.floats(p.a), false, p.floats(p.b), false, p.result(), 1,
                                       p.n, p.n, p.n);
    }};
    if (peer.run) candidates.push_back([&] { peer.run(p.n, p.n, p.n, p.floats(p.a), p.floats(p.b), p.result()); });
    RETRACE_TRY(seconds, bench.medians(candidates));
    bench.rows.push_back({"matmul_f32_cuda", "TFLOP/s", peer.name, tera_flops(p.n, seconds[0]),
                          peer.run ? tera_flops(p.n, seconds[1]) : 0});
    return Unit{};
}

Status<> bench_hashing(Bench& bench) {
    const std::uint64_t elements = bench.sizes.hashed / 4, cols = elements < 4096 ? 64 : 4096;
    RETRACE_TRY(data, bench.floats(elements));
    RETRACE_TRY(other, bench.floats(elements));
    RETRACE_TRY(clock, Memory::take(8));
    bench.queue.clear(clock.data(), 8);
    bench.fill(data, 3, reinterpret_cast<const std::uint64_t*>(clock.data()));
    const kernels::cuda::DeviceTrees trees({{data.data(), kernels::DType::f32, {elements / cols, cols}}});
    RETRACE_TRY(space, Memory::take(trees.bytes()));
    RETRACE_CHECK(trees.prepare(bench.queue, space.data()));
    RETRACE_TRY(seconds, bench.medians({[&] { trees.queue_levels(bench.queue.stream(), space.data()); },
                                        [&] { bench.queue.copy(other.data(), data.data(), 4 * elements); }}));
    const double giga = 4e-9 * static_cast<double>(elements);
    bench.rows.push_back(
        {"hash_tile_tree_cuda", "GB/s", "device copy (read + written)", giga / seconds[0], 2 * giga / seconds[1]});
    return Unit{};
}

/// A training of the GPT, loaded on the device.
struct LoadedTraining {
    kernels::TrainingPrograms programs;
    kernels::Tensor data;
    std::unique_ptr<kernels::cuda::DeviceExecutor> executor;
    std::uint64_t parameters = 0;
};

Result<std::unique_ptr<LoadedTraining>> load_training(const Sizes& s) {
    auto out = std::make_unique<LoadedTraining>();
    kernels::ModelSpec model;
    model.kind = "gpt";
    model.input = {s.tokens};
    model.classes = s.vocabulary;
    model.layers = s.layers, model.width = s.width, model.heads = s.heads;
    kernels::TrainingSpec training;
    training.samples = 4 * s.batch, training.batch = s.batch, training.steps = 100;
    RETRACE_TRY(programs, build_training(model, training, s.batch, s.batch));
    out->programs = std::move(programs);
    kernels::ThreadPool pool;
    const bool wide = s.vocabulary > 256;
    kernels::Tensor& x = out->data;
    x = kernels::zeros(wide ? kernels::DType::i32 : kernels::DType::u8, {training.samples, s.tokens});
    for (std::uint64_t i = 0; i < x.elements(); ++i) {
        const auto token = static_cast<std::uint32_t>(i * 2654435761u >> 8) % static_cast<std::uint32_t>(s.vocabulary);
        wide ? store_u32(x.data.data() + 4 * i, token) : void(x.data[i] = static_cast<std::uint8_t>(token));
    }
    const kernels::State state = kernels::run_initialiser(out->programs.init, 1, pool);
    for (const kernels::Tensor& tensor : state.tensors) out->parameters += tensor.elements();
    RETRACE_TRY(executor, kernels::cuda::DeviceExecutor::create(out->programs.train));
    out->executor = std::move(executor);
    RETRACE_CHECK(out->executor->load(state, {1, {&x, &x}}));
    return out;
}

/// One step, kernel by kernel, for a profiler.
Status<> bench_step(Bench& bench) {
    RETRACE_TRY(training, load_training(bench.sizes));
    RETRACE_CHECK(training->executor->step());
    return Unit{};
}

Status<> bench_training(Bench& bench) {
    const Sizes& s = bench.sizes;
    RETRACE_TRY(training, load_training(s));
    const auto& executor = training->executor;
    const std::uint64_t parameters = training->parameters;
    for (int i = 0; i < 3; ++i) RETRACE_CHECK(executor->step());
    std::vector<double> samples;
    for (int i = 0; i < s.samples; ++i) {
        RETRACE_TRY(seconds, executor->seconds_of_steps(s.steps));
        samples.push_back(seconds / s.steps);
    }
    const double second = median(samples), tokens = static_cast<double>(s.batch * s.tokens);
    std::fprintf(stderr,
                 "gpt: %.1f M state elements (parameters and moments), %.1f ms a step, %.2f GiB on the device\n",
                 1e-6 * static_cast<double>(parameters), 1e3 * second,
                 static_cast<double>(executor->device_bytes()) / (1 << 30));
    double peer_value = 0;
    std::string peer = "no peer was asked for (--peer)";
    if (!bench.peer_command.empty()) {
        for (const Row& row : child_rows(bench.peer_command, {"train_gpt_torch_fp32"})) {
            bench.rows.push_back(row);
            if (row.name == "train_gpt_torch_fp32")
                peer_value = row.value, peer = row.value == 0 ? row.peer : "PyTorch fp32";
        }
    }
    bench.rows.push_back({"train_gpt_cuda", "tokens/s", peer, tokens / second, peer_value});
    // The work of the model itself: 6 operations per weight and token, and 12 per layer, previous token and channel;
    // slices do not count twice. The ratio is known as MFU.
    const double weights = static_cast<double>(s.width * (12 * s.layers * s.width + s.vocabulary));
    const double work = 6 * weights + 12 * static_cast<double>(s.layers * s.tokens * s.width);
    const bool hopper = bench.device.capability == 90;
    bench.rows.push_back({"train_gpt_mfu", "TFLOP/s", hopper ? "bf16 peak of an H100 or H200 SXM" : "no peak known",
                          1e-12 * work * tokens / second, hopper ? 989.0 : 0.0});
    return Unit{};
}

/// Steps with recipes beside steps whose runs are all interpreted.
Status<> bench_recipes(Bench& bench) {
    const Sizes& s = bench.sizes;
    RETRACE_TRY(compiled, load_training(s));
    setenv("RETRACE_CUDA_RECIPES", "0", 1);
    auto made = load_training(s);
    unsetenv("RETRACE_CUDA_RECIPES");
    RETRACE_TRY(interpreted, std::move(made));
    std::vector<double> samples[2];
    for (int sample = -1; sample < s.samples; ++sample) {
        for (const int way : {0, 1}) {
            auto& training = way == 0 ? compiled : interpreted;
            RETRACE_TRY(seconds, training->executor->seconds_of_steps(s.steps));
            if (sample >= 0) samples[way].push_back(seconds / s.steps);
        }
    }
    const double tokens = static_cast<double>(s.batch * s.tokens);
    bench.rows.push_back({"train_gpt_recipes", "tokens/s", "all runs interpreted",
                          tokens / median(std::move(samples[0])), tokens / median(std::move(samples[1]))});
    return Unit{};
}

struct Part {
    std::string_view name;
    Status<> (*run)(Bench&);
};
constexpr Part kParts[] = {{"products", bench_products}, {"chains", bench_chains},   {"hashing", bench_hashing},
                           {"training", bench_training}, {"recipes", bench_recipes}, {"warpgroups", bench_warpgroups},
                           {"step", bench_step}};

struct Options {
    bool json = false, smoke = false;
    std::uint64_t layers = 0;  ///< Of the training; 0 for as many as its sizes say.
    std::string only, peer;    ///< Name of the only part to run, or empty; command of the training's peer, or empty.
};

/// Returns nothing if the arguments are wrong.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
    Options out;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const bool has_value = i + 1 < arguments.size();
        if (arguments[i] == "--json") {
            out.json = true;
        } else if (arguments[i] == "--smoke") {
            out.smoke = true;
        } else if (arguments[i] == "--only" && has_value) {
            out.only = arguments[++i];
            const auto same = [&](const Part& part) { return part.name == out.only; };
            if (std::ranges::none_of(kParts, same)) return std::nullopt;
        } else if (arguments[i] == "--peer" && has_value) {
            out.peer = arguments[++i];
        } else if (arguments[i] == "--layers" && has_value) {
            out.layers = std::strtoull(arguments[++i].c_str(), nullptr, 10);
            if (out.layers == 0) return std::nullopt;
        } else {
            return std::nullopt;
        }
    }
    return out;
}

Status<> run_all(const Device& device, const Options& options) {
    RETRACE_TRY(queue, Queue::open());
    Bench bench{device, std::move(queue), options.smoke ? kSmoke : Sizes{}, {}, options.peer};
    if (options.layers != 0) bench.sizes.layers = options.layers;
    Status<> done = Unit{};
    for (const Part& part : kParts) {
        const bool wanted = options.only.empty() ? part.run != bench_step : options.only == part.name;
        if (done && wanted) done = part.run(bench);
    }
    report(device.name, bench.rows, options.json);
    return done;
}

int main_with(const std::vector<std::string>& arguments) {
    const auto options = parse(arguments);
    if (!options) {
        std::fputs(
            "usage: cuda_bench [--json] [--smoke] [--only products|chains|hashing|training|recipes|warpgroups|step] "
            "[--layers N] [--peer COMMAND]\n",
            stderr);
        return 2;
    }
    const auto device = kernels::cuda::find_device();
    if (!device) {
        std::fprintf(stderr, "SKIP: %s\n", device.error().message.c_str());
        return 0;
    }
    const auto done = run_all(*device, *options);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    return done ? 0 : 1;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::main_with({argv + 1, argv + argc}); }
