// SPDX-License-Identifier: MIT
// Generators. The step is a word on the device, so one recorded graph serves every step.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/random/chacha.hpp"
#include "kernels/random/philox.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint64_t kIntMax = 0x7fffffff;

__device__ std::int32_t saturated(std::uint64_t value) {
    return static_cast<std::int32_t>(smaller<std::uint64_t>(value, kIntMax));
}

__global__ void iota_kernel(std::int32_t* out, std::uint64_t elements, std::uint64_t inner, std::uint64_t extent) {
    const std::uint64_t element = global_thread();
    if (element < elements) out[element] = static_cast<std::int32_t>(element / inner % extent);
}

__global__ void step_number_kernel(const std::uint64_t* step, std::uint64_t offset, std::int32_t* out) {
    if (global_thread() == 0) *out = saturated(smaller<std::uint64_t>(*step, kIntMax) + offset);
}

__global__ void philox_kernel(bool normal, PhiloxKey key, const std::uint64_t* step, float* out,
                              std::uint64_t elements) {
    const std::uint64_t block = global_thread(), first = 4 * block;
    if (first >= elements) return;
    const PhiloxBlock words = philox_block(key, block, *step);
    const std::uint64_t count = smaller<std::uint64_t>(4, elements - first);
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
        if (i >= count) continue;
        const float value =
            normal ? normal_of(words.word[i & 2], words.word[(i & 2) + 1], i % 2 == 1) : uniform_of(words.word[i]);
        out[first + i] = finish(value);
    }
}

__global__ void batch_index_kernel(PhiloxKey key, const std::uint64_t* step, std::uint64_t samples, std::int32_t* out,
                                   std::uint64_t batch) {
    const std::uint64_t i = global_thread();
    if (i >= batch) return;
    const std::uint64_t steps = samples / batch;
    out[i] = static_cast<std::int32_t>(walk_samples(key, samples, *step / steps, *step % steps * batch + i));
}

__global__ void sequential_index_kernel(const std::uint64_t* step, std::int32_t* out, std::uint64_t batch) {
    const std::uint64_t i = global_thread();
    if (i < batch) out[i] = saturated(smaller<std::uint64_t>(*step, kIntMax) * batch + i);
}

__global__ void chacha_kernel(const std::uint32_t* key, const std::uint64_t* step, std::uint32_t number,
                              std::uint32_t* out, std::uint64_t elements) {
    const std::uint64_t block = global_thread(), first = 16 * block;
    if (first >= elements) return;
    ChaChaKey own;
    for (std::uint32_t i = 0; i < 8; ++i) own.word[i] = key[i];
    const ChaChaBlock words = chacha_block(own, static_cast<std::uint32_t>(block), chacha_nonce(*step, number));
    const std::uint64_t count = smaller<std::uint64_t>(16, elements - first);
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 16; ++i) {
        if (i < count) out[first + i] = words.word[i];
    }
}

__global__ void advance_kernel(std::uint64_t* step) {
    if (global_thread() == 0) ++*step;
}

}  // namespace

void make_iota(Stream stream, std::int32_t* out, std::uint64_t elements, std::uint64_t inner, std::uint64_t extent) {
    launch(stream, grid_for(elements), iota_kernel, out, elements, inner, extent);
}

void make_step_number(Stream stream, const std::uint64_t* step, std::uint64_t offset, std::int32_t* out) {
    launch(stream, Grid{1, 32, 0}, step_number_kernel, step, offset, out);
}

void make_philox(Stream stream, bool normal, PhiloxKey key, const std::uint64_t* step, float* out,
                 std::uint64_t elements) {
    launch(stream, grid_for((elements + 3) / 4), philox_kernel, normal, key, step, out, elements);
}

void make_batch_index(Stream stream, PhiloxKey key, const std::uint64_t* step, std::uint64_t samples, std::int32_t* out,
                      std::uint64_t batch) {
    launch(stream, grid_for(batch), batch_index_kernel, key, step, samples, out, batch);
}

void make_sequential_index(Stream stream, const std::uint64_t* step, std::int32_t* out, std::uint64_t batch) {
    launch(stream, grid_for(batch), sequential_index_kernel, step, out, batch);
}

void make_chacha(Stream stream, const std::uint32_t* key, const std::uint64_t* step, std::uint32_t number,
                 std::uint32_t* out, std::uint64_t elements) {
    launch(stream, grid_for((elements + 15) / 16), chacha_kernel, key, step, number, out, elements);
}

void advance_step(Stream stream, std::uint64_t* step) { launch(stream, Grid{1, 32, 0}, advance_kernel, step); }

}  // namespace retrace::kernels::cuda
