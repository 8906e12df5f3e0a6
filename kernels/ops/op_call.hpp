// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "kernels/ops/element.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels {

/// One op to compute: its elements are in memory, row-major and little-endian, at addresses aligned to the element.
struct OpCall {
    const OpFacts& facts;
    std::span<const std::uint8_t* const> inputs;
    std::uint8_t* output = nullptr;  ///< Overlaps no input but one that the op may overwrite: a full operand of
                                     ///< an elementwise op, the first of one that updates it (ops/op.hpp).
    std::uint64_t seed = 0, step = 0;
    ThreadPool& pool;
    /// If not empty, by slot: the window gather that would have computed the input; `inputs` then holds its image.
    std::span<const OpFacts* const> gathered = {};

    const OpFacts* gather_of(std::size_t slot) const noexcept { return gathered.empty() ? nullptr : gathered[slot]; }
    template <class T>
    const T* in(std::size_t slot) const noexcept {
        return reinterpret_cast<const T*>(inputs[slot]);
    }
    template <class T>
    T* out() const noexcept {
        return reinterpret_cast<T*>(output);
    }
};

/// Computes the op by definition: its element rule for every link of every element.
void run_reference(const OpCall& call);

}  // namespace retrace::kernels
