// SPDX-License-Identifier: MIT
// `cuda_parity`: compares the device's bits with those of the CPU. Ends with "N passed, N failed"; without a device it
// prints a line "SKIP: …".
#include "tests/cuda/device/parity.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/cuda/runtime.hpp"

namespace retrace::kernels::parity {

void Tally::count(const std::string& what, bool ok) {
    ++(ok ? passed : failed);
    if (!ok) std::printf("FAILED %s\n", what.c_str());
}

void Tally::count(const std::string& what, const Status<>& status) {
    count(status ? what : what + ": " + status.error().message, status.has_value());
}

namespace {

struct Options {
    int rounds = 24, products = 96, steps = 200;
    std::uint64_t stride = 4099;  ///< Step between tested inputs; 1: all 2^32 inputs.
    bool layers = true;
    std::string golden = RETRACE_GOLDEN;
};

int usage() {
    std::fputs(
        "usage: cuda_parity [--rounds N] [--products N] [--steps N] [--stride N] [--layers 0|1]\n"
        "                   [--golden FILE]\n"
        "  --rounds    random cases of every op (24)\n"
        "  --products  products of many tiles (96)\n"
        "  --steps     steps of every training; 200 are compared with the published roots (200)\n"
        "  --stride    of the inputs of functions of one argument; 1 is all of them (4099)\n"
        "  --layers    norms, losses and attention, each as a whole (1)\n",
        stderr);
    return 2;
}

int run(const Options& options) {
    const auto device = cuda::find_device();
    if (!device) {
        std::printf("SKIP: %s\n", device.error().message.c_str());
        return 0;
    }
    std::printf("%s, compute capability %u.%u, %u multiprocessors, %llu MiB\n", device->name.c_str(),
                device->capability / 10, device->capability % 10, device->multiprocessors,
                static_cast<unsigned long long>(device->memory >> 20));
    ThreadPool pool;
    Tally tally;
    check_ops(20260101, options.rounds, pool, tally);
    check_products(options.products, pool, tally);
    std::printf("ops: %llu passed so far\n", static_cast<unsigned long long>(tally.passed));
    check_recipes(options.layers, tally);
    if (options.layers) {
        check_layers(pool, tally);
        setenv("RETRACE_CUDA_RECIPES", "0", 1);
        check_layers(pool, tally);
        unsetenv("RETRACE_CUDA_RECIPES");
    }
    check_trainings(options.steps, options.golden, pool, tally);
    check_functions(options.stride, pool, tally);
    if (device->warpgroups) {
        setenv("RETRACE_CUDA_WGMMA", "0", 1);
        const std::uint64_t failed = tally.failed;
        check_products(options.products, pool, tally);
        std::printf("products by mma.sync too: %s\n", tally.failed == failed ? "equal" : "NOT equal");
    }
    std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(tally.passed),
                static_cast<unsigned long long>(tally.failed));
    return tally.failed == 0 && tally.passed != 0 ? 0 : 1;
}

}  // namespace

int main_with(const std::vector<std::string>& arguments) {
    Options options;
    for (std::size_t i = 0; i < arguments.size(); i += 2) {
        if (i + 1 == arguments.size()) return usage();
        const std::string &name = arguments[i], &value = arguments[i + 1];
        const long long number = std::atoll(value.c_str());
        if (name == "--golden") {
            options.golden = value;
        } else if (name == "--layers" && (value == "0" || value == "1")) {
            options.layers = number == 1;
        } else if (number <= 0) {
            return usage();
        } else if (name == "--rounds") {
            options.rounds = static_cast<int>(number);
        } else if (name == "--products") {
            options.products = static_cast<int>(number);
        } else if (name == "--steps") {
            options.steps = static_cast<int>(number);
        } else if (name == "--stride") {
            options.stride = static_cast<std::uint64_t>(number);
        } else {
            return usage();
        }
    }
    return run(options);
}

}  // namespace retrace::kernels::parity

int main(int argc, char** argv) { return retrace::kernels::parity::main_with({argv + 1, argv + argc}); }
