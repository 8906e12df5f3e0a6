// SPDX-License-Identifier: MIT
// Runs of elementwise ops that are recipes: a thread computes eight elements, whose values are in registers.
#include "kernels/cuda/divisor.hpp"
#include "kernels/cuda/element_math.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/recipe_math.hpp"
#include "kernels/cuda/recipes.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kQuads = 2, kElements = kQuads * kEach;  ///< Of a thread.

template <RecipeInput kind>
__device__ void load_input(const std::uint8_t* data, std::uint32_t first, std::uint32_t quads,
                           const Divisor<std::uint32_t>& row_quads, float (&out)[kElements]) {
    const auto* const words = reinterpret_cast<const float*>(data);
    RETRACE_UNROLL
    for (std::uint32_t j = 0; j < kQuads; ++j) {
        const std::uint32_t quad = first + j * kThreads;
        Quad four = {};
        if (quad < quads) {
            const std::uint32_t row =
                kind == RecipeInput::row || kind == RecipeInput::column ? row_quads.quotient(quad) : 0;
            if constexpr (kind == RecipeInput::each) {
                four = reinterpret_cast<const Quad*>(data)[quad];
            } else if constexpr (kind == RecipeInput::row) {
                four = reinterpret_cast<const Quad*>(data)[quad - row * row_quads.value];
            } else {
                const std::uint32_t word = to_bits(words[row]);
                four = Quad{{word, word, word, word}};
            }
        }
        RETRACE_UNROLL
        for (std::uint32_t v = 0; v < kEach; ++v) out[j * kEach + v] = from_bits(four.word[v]);
    }
}

template <std::uint32_t kNumber>
struct ElementRecipe {
    static constexpr Recipe kRecipe = kElementRecipes[kNumber];
};

template <std::uint32_t kNumber>
__global__ void __launch_bounds__(kThreads, 2)
    element_recipe_kernel(RecipeData data, std::uint32_t quads, Divisor<std::uint32_t> row_quads) {
    using R = ElementRecipe<kNumber>;
    constexpr std::uint32_t kInputs = R::kRecipe.inputs, kSteps = R::kRecipe.steps;
    const auto first = static_cast<std::uint32_t>(block_number() * (kThreads * kQuads)) + threadIdx.x;
    if (first >= quads) return;
    float values[kInputs + kSteps][kElements];
    for_constants<kInputs>([&](auto i) {
        constexpr std::uint32_t input = decltype(i)::value;
        load_input<R::kRecipe.input[input]>(data.input[input], first, quads, row_quads, values[input]);
    });
    for_constants<kSteps>([&](auto i) {
        constexpr std::uint32_t s = decltype(i)::value;
        RETRACE_UNROLL
        for (std::uint32_t e = 0; e < kElements; ++e)
            values[kInputs + s][e] = recipe_step<R::kRecipe, s>([&](auto v) { return values[decltype(v)::value][e]; });
    });
    for_constants<kSteps>([&](auto i) {
        constexpr std::uint32_t s = decltype(i)::value, value = kInputs + s;
        if constexpr (R::kRecipe.step[s].stored) {
            RETRACE_UNROLL
            for (std::uint32_t j = 0; j < kQuads; ++j) {
                Quad four;
                RETRACE_UNROLL
                for (std::uint32_t v = 0; v < kEach; ++v)
                    four.word[v] =
                        to_bits(with_one_nan<has_loose_nan(R::kRecipe, value)>(values[value][j * kEach + v]));
                const std::uint32_t quad = first + j * kThreads;
                if (quad < quads) reinterpret_cast<Quad*>(data.output[s])[quad] = four;
            }
        }
    });
}

using Run = void (*)(Stream stream, const RecipeData& data, std::uint64_t elements, std::uint64_t cols);

template <std::uint32_t kNumber>
void run(Stream stream, const RecipeData& data, std::uint64_t elements, std::uint64_t cols) {
    const auto quads = static_cast<std::uint32_t>(elements / kEach);
    launch(stream, grid_for((quads + kQuads - 1) / kQuads), element_recipe_kernel<kNumber>, data, quads,
           Divisor<std::uint32_t>(smaller(cols, elements) / kEach));
}

template <std::uint32_t... kNumbers>
Run run_of(std::uint32_t number, std::integer_sequence<std::uint32_t, kNumbers...>) {
    constexpr Run kRuns[] = {run<kNumbers>...};
    return kRuns[number];
}

}  // namespace

void run_element_recipe(Stream stream, std::uint32_t number, const RecipeData& data, std::uint64_t elements,
                        std::uint64_t cols) {
    run_of(number, std::make_integer_sequence<std::uint32_t, kElementRecipeCount>())(stream, data, elements, cols);
}

}  // namespace retrace::kernels::cuda
