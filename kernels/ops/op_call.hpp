// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "kernels/ops/element.hpp"
#include "kernels/runtime/thread_pool.hpp"

namespace retrace::kernels {

/// One op to compute: elements in memory, row-major and little-endian, at addresses aligned to the element.
struct OpCall {
    const OpFacts& facts;
    std::span<const std::uint8_t* const> inputs;
    std::uint8_t* output = nullptr;  ///< Overlaps no input, except that an elementwise op may write over a full one.
    std::uint64_t seed = 0, step = 0;
    ThreadPool& pool;
    /// By slot, where not empty: the window gather that would have made the input. `inputs` then has its image.
    std::span<const OpFacts* const> gathered = {};

    const OpFacts* gather_of(std::size_t slot) const noexcept { return gathered.empty() ? nullptr : gathered[slot]; }
    template <class T>
    const T* in(std::size_t slot) const noexcept { return reinterpret_cast<const T*>(inputs[slot]); }
    template <class T>
    T* out() const noexcept { return reinterpret_cast<T*>(output); }
};

/// The definition: the op's element rule for every link of every element.
void run_reference(const OpCall& call);

}  // namespace retrace::kernels
