// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "kernels/ops/cpu/kernels.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/random/chacha.hpp"
#include "kernels/random/philox.hpp"

namespace retrace::kernels {

void run_fill(const OpCall& call) { run_fill_bits(call, static_cast<std::uint32_t>(call.facts.op.attributes[0])); }

void run_fill_bits(const OpCall& call, std::uint32_t bits) {
    const std::uint64_t n = elements_of(call.facts.output);
    if (size_of(call.facts.output.dtype) == 1) {
        std::fill_n(call.output, n, static_cast<std::uint8_t>(bits));
    } else {
        std::fill_n(call.out<std::uint32_t>(), n, bits);
    }
}

void run_philox(const OpCall& call) {
    const PhiloxKey key = stream_key(call.seed, call.facts.op.stream);
    const std::uint64_t n = elements_of(call.facts.output);
    const bool normal = call.facts.op.code == OpCode::philox_normal;
    call.pool.parallel_for((n + 3) / 4, 1024, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t b = begin; b < end; ++b) {
            const PhiloxBlock block = philox_block(key, b, call.step);
            for (std::uint64_t i = 0; i < std::min<std::uint64_t>(4, n - 4 * b); ++i) {
                const float value = normal ? normal_of(block.word[i & 2], block.word[(i & 2) + 1], i % 2 == 1)
                                           : uniform_of(block.word[i]);
                call.out<float>()[4 * b + i] = finish(value);
            }
        }
    });
}

void run_batch_index(const OpCall& call) {
    const PhiloxKey key = stream_key(call.seed, "order");
    const std::uint64_t samples = call.facts.op.attributes[0], batch = call.facts.output.dims[0];
    const std::uint64_t steps = samples / batch;
    call.pool.parallel_for(batch, 256, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t i = begin; i < end; ++i) {
            call.out<std::int32_t>()[i] =
                static_cast<std::int32_t>(sample_at(key, samples, call.step / steps, call.step % steps * batch + i));
        }
    });
}

void run_chacha(const OpCall& call) {
    ChaChaKey key;
    for (std::uint32_t i = 0; i < 8; ++i) key.word[i] = call.in<std::uint32_t>(0)[i];
    const auto number = static_cast<std::uint32_t>(call.facts.op.attributes[0]);
    const std::uint64_t n = elements_of(call.facts.output);
    call.pool.parallel_for((n + 15) / 16, 256, [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t b = begin; b < end; ++b) {
            const ChaChaBlock block = chacha_block(key, static_cast<std::uint32_t>(b), chacha_nonce(call.step, number));
            std::copy_n(block.word, std::min<std::uint64_t>(16, n - 16 * b), call.out<std::uint32_t>() + 16 * b);
        }
    });
}

}  // namespace retrace::kernels
