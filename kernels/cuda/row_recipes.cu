// SPDX-License-Identifier: MIT
// Runs of rows that are recipes: a team of threads, which is a warp or a block, holds its row in registers, in the order
// of the contract's reductions: sixteen threads hold a block of 256 terms, each the terms of its lane.
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/recipe_math.hpp"
#include "kernels/cuda/recipes.hpp"
#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint32_t kLanes = kReduceLanes, kTerms = kReduceTerms, kWarp = 32;
constexpr std::uint32_t kOfLane = kTerms / kLanes;  ///< Terms of a lane.

/// A team of `kThreadsOfRow` threads, each of which holds `kOwn` elements of a row of `cols`.
template <std::uint32_t kThreadsOfRow, std::uint32_t kOwn>
struct Team {
    static constexpr std::uint32_t kBlocks = kOwn / kOfLane;  ///< Blocks of 256 terms of which a thread has a lane.
    static constexpr std::uint32_t kGroups = kThreadsOfRow / kLanes, kResults = kBlocks * kGroups;
    std::uint32_t cols, first;
    bool whole;  ///< The row has as many elements as the team holds.

    __device__ explicit Team(std::uint32_t count)
        : cols(count),
          first(threadIdx.x % kThreadsOfRow / kLanes * kTerms + threadIdx.x % kLanes),
          whole(count == kThreadsOfRow * kOwn) {}
    /// Returns the column of the thread's element i.
    __device__ std::uint32_t column(std::uint32_t i) const {
        return first + i / kOfLane * (kGroups * kTerms) + i % kOfLane * kLanes;
    }
    __device__ bool has(std::uint32_t i) const { return whole || column(i) < cols; }
};

/// The order of `max32` as that of integers: a NaN is greatest, -0 less than +0.
__device__ std::int32_t key_of(float x) {
    const auto bits = static_cast<std::int32_t>(to_bits(with_one_nan<true>(x)));
    return bits ^ (bits >> 31 & 0x7fffffff);
}
__device__ float of_key(std::int32_t key) {
    return from_bits(static_cast<std::uint32_t>(key ^ (key >> 31 & 0x7fffffff)));
}

/// The sums and maxima of a lane and of lanes.
struct Sum {
    using Value = float;
    static __device__ float start() { return 0.0f; }
    static __device__ float term(float x) { return x; }
    static __device__ float join(float a, float b) { return a + b; }
    static __device__ float result(float x) { return flushed(x); }
};
struct Top {
    using Value = std::int32_t;
    static __device__ std::int32_t start() { return key_of(from_bits(kInfinityBits | kSignBit)); }
    static __device__ std::int32_t term(float x) { return key_of(x); }
    static __device__ std::int32_t join(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
    static __device__ float result(std::int32_t x) { return flushed(of_key(x)); }
};

/// Returns the result of sixteen lanes, to all of them: each sum of two is the same on both sides.
template <class Kind>
__device__ float joined_lanes(typename Kind::Value value) {
    for (std::uint32_t h = kLanes / 2; h >= 1; h /= 2) value = Kind::join(value, __shfl_xor_sync(kAllLanes, value, h));
    return Kind::result(value);
}

/// Returns all levels of a reduction of the row, to all threads of the team. `partial` is the team's own shared memory
/// for the results of the first level, if it is more than a warp.
template <class Kind, std::uint32_t kThreadsOfRow, std::uint32_t kOwn>
__device__ float reduced(const Team<kThreadsOfRow, kOwn>& team, const float (&x)[kOwn],
                         [[maybe_unused]] float* partial) {
    using T = Team<kThreadsOfRow, kOwn>;
    float own[T::kBlocks];
    RETRACE_UNROLL
    for (std::uint32_t j = 0; j < T::kBlocks; ++j) {
        auto value = Kind::start();
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < kOfLane; ++i) {
            const auto term = Kind::term(x[j * kOfLane + i]);
            value = Kind::join(value, team.has(j * kOfLane + i) ? term : Kind::start());
        }
        own[j] = joined_lanes<Kind>(value);
    }
    const bool again = team.cols > kTerms;  // otherwise there is no second level
    if constexpr (kThreadsOfRow == kWarp) {
        // The blocks' results, those without terms being no term of the second level; with at most four terms its tree
        // is ((0, 2), (1, 3)).
        static_assert(T::kResults <= 4, "a warp has at most four blocks of terms");
        const float none = Kind::result(Kind::start());
        float all[4] = {none, none, none, none};
        const bool early = threadIdx.x % kWarp < kLanes;
        RETRACE_UNROLL
        for (std::uint32_t j = 0; j < T::kBlocks; ++j) {
            const float other = __shfl_xor_sync(kAllLanes, own[j], kLanes);
            all[2 * j] = early ? own[j] : other;
            all[2 * j + 1] = early ? other : own[j];
        }
        if (!again) return all[0];
        typename Kind::Value lane[4];
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 4; ++i) lane[i] = Kind::join(Kind::start(), Kind::term(all[i]));
        return Kind::result(Kind::join(Kind::join(lane[0], lane[2]), Kind::join(lane[1], lane[3])));
    } else {
        RETRACE_UNROLL
        for (std::uint32_t j = 0; j < T::kBlocks; ++j)
            if (threadIdx.x % kLanes == 0) partial[j * T::kGroups + threadIdx.x / kLanes] = own[j];
        __syncthreads();
        if (!again) return partial[0];
        auto value = Kind::start();
        const std::uint32_t results = (team.cols + kTerms - 1) / kTerms;
        for (std::uint32_t r = threadIdx.x % kLanes; r < results; r += kLanes)
            value = Kind::join(value, Kind::term(partial[r]));
        return joined_lanes<Kind>(value);
    }
}

/// The row's part of an input or output.
__device__ std::uint8_t* row_of(std::uint8_t* data, std::uint64_t stride, std::uint32_t period, std::uint32_t row) {
    return data + (period == 0 ? row : row % period) * stride;
}

RETRACE_ANYWHERE constexpr bool stores_singles(const Recipe& recipe) {
    for (std::uint32_t s = 0; s < recipe.steps; ++s)
        if (recipe.step[s].stored && recipe.is_single(recipe.inputs + s)) return true;
    return false;
}

/// Returns the first step that reads an input.
RETRACE_ANYWHERE constexpr std::uint32_t first_user(const Recipe& recipe, std::uint32_t input) {
    for (std::uint32_t s = 0; s < recipe.steps; ++s) {
        for (std::uint32_t i = 0; i < recipe.step[s].operands; ++i)
            if (recipe.step[s].from[i] == input) return s;
    }
    return recipe.steps;
}

template <std::uint32_t kNumber>
struct RowRecipe {
    static constexpr Recipe kRecipe = kRowRecipes[kNumber];
};

template <std::uint32_t kNumber, std::uint32_t kThreadsOfRow, std::uint32_t kOwn>
__device__ void compute_row(const RecipeData& data, std::uint32_t row, std::uint32_t cols, float* partials) {
    using R = RowRecipe<kNumber>;
    constexpr std::uint32_t kInputs = R::kRecipe.inputs, kSteps = R::kRecipe.steps;
    using T = Team<kThreadsOfRow, kOwn>;
    const T team(cols);
    float each[kInputs + kSteps][kOwn], single[kInputs + kSteps];
    const auto load = [&](auto i) {
        constexpr std::uint32_t input = decltype(i)::value;
        const std::uint8_t* const from = row_of(data.input[input], data.stride[input], data.period[input], row);
        if constexpr (R::kRecipe.is_single(input)) {
            single[input] = *reinterpret_cast<const float*>(from);
        } else {
            RETRACE_UNROLL
            for (std::uint32_t e = 0; e < kOwn; ++e) {
                each[input][e] = 0.0f;
                if (!team.has(e)) continue;
                if constexpr (R::kRecipe.input[input] == RecipeInput::mask) {
                    each[input][e] = from_bits(from[team.column(e)]);
                } else {
                    each[input][e] = reinterpret_cast<const float*>(from)[team.column(e)];
                }
            }
        }
    };
    // A row that all rows share, which no step overwrites, takes no registers before it is used.
    for_constants<kInputs>([&](auto i) {
        if constexpr (R::kRecipe.input[decltype(i)::value] != RecipeInput::row) load(i);
    });
    // One thread writes a row's single results, which may lie where its other threads read single operands.
    if constexpr (stores_singles(R::kRecipe)) {
        if constexpr (kThreadsOfRow == kWarp) {
            __syncwarp();
        } else {
            __syncthreads();
        }
    }
    std::uint32_t reductions = 0;
    for_constants<kSteps>([&](auto i) {
        constexpr std::uint32_t s = decltype(i)::value, value = kInputs + s;
        constexpr RecipeStep own = R::kRecipe.step[s];
        for_constants<kInputs>([&](auto input) {
            if constexpr (R::kRecipe.input[decltype(input)::value] == RecipeInput::row &&
                          first_user(R::kRecipe, decltype(input)::value) == s)
                load(input);
        });
        if constexpr (R::kRecipe.reduces(value)) {
            using Kind = std::conditional_t<own.code == OpCode::row_sum, Sum, Top>;
            if constexpr (R::kRecipe.is_single(own.from[0])) {
                single[value] = Kind::result(Kind::join(Kind::start(), Kind::term(single[own.from[0]])));
            } else {
                single[value] = reduced<Kind>(team, each[own.from[0]], partials + T::kResults * reductions++);
            }
        } else if constexpr (R::kRecipe.is_single(value)) {
            single[value] = recipe_step<R::kRecipe, s>([&](auto v) { return single[decltype(v)::value]; });
        } else {
            RETRACE_UNROLL
            for (std::uint32_t e = 0; e < kOwn; ++e) {
                each[value][e] = recipe_step<R::kRecipe, s>([&](auto v) {
                    constexpr std::uint32_t number = decltype(v)::value;
                    if constexpr (R::kRecipe.is_single(number)) {
                        return single[number];
                    } else {
                        return each[number][e];
                    }
                });
            }
        }
        if constexpr (own.stored) {
            constexpr bool kLoose = has_loose_nan(R::kRecipe, value);
            float* const to = reinterpret_cast<float*>(row_of(data.output[s], data.output_stride[s], 0, row));
            if constexpr (R::kRecipe.is_single(value)) {
                if (threadIdx.x % kThreadsOfRow == 0) *to = with_one_nan<kLoose>(single[value]);
            } else {
                RETRACE_UNROLL
                for (std::uint32_t e = 0; e < kOwn; ++e)
                    if (team.has(e)) to[team.column(e)] = with_one_nan<kLoose>(each[value][e]);
            }
        }
    });
}

constexpr std::uint32_t kBlockThreads = 128;

template <std::uint32_t kNumber>
constexpr std::uint32_t kReductions = [] {
    std::uint32_t count = 0;
    for (std::uint32_t s = 0; s < kRowRecipes[kNumber].steps; ++s)
        count += kRowRecipes[kNumber].reduces(kRowRecipes[kNumber].inputs + s);
    return count;
}();

/// Every warp of a block takes a row.
template <std::uint32_t kNumber, std::uint32_t kOwn>
__global__ void __launch_bounds__(kBlockThreads, kOwn > 16 ? 3 : 4)
    warp_recipe_kernel(RecipeData data, std::uint32_t rows, std::uint32_t cols) {
    const auto row = static_cast<std::uint32_t>(block_number() * (kBlockThreads / kWarp) + threadIdx.x / kWarp);
    if (row < rows) compute_row<kNumber, kWarp, kOwn>(data, row, cols, nullptr);
}

template <std::uint32_t kNumber, std::uint32_t kThreadsOfRow, std::uint32_t kOwn>
__global__ void __launch_bounds__(kThreadsOfRow, kThreadsOfRow > 128 ? 1 : 2)
    block_recipe_kernel(RecipeData data, std::uint32_t rows, std::uint32_t cols) {
    const std::uint64_t row = block_number();
    if (row < rows)
        compute_row<kNumber, kThreadsOfRow, kOwn>(data, static_cast<std::uint32_t>(row), cols, &shared_as<float>());
}

using Run = void (*)(Stream stream, const RecipeData& data, std::uint32_t rows, std::uint32_t cols);

template <std::uint32_t kNumber, std::uint32_t kThreadsOfRow, std::uint32_t kOwn>
void run_blocks(Stream stream, const RecipeData& data, std::uint32_t rows, std::uint32_t cols) {
    constexpr std::uint32_t kShared = 4 * Team<kThreadsOfRow, kOwn>::kResults * kReductions<kNumber>;
    launch(stream, Grid{rows, kThreadsOfRow, kShared}, block_recipe_kernel<kNumber, kThreadsOfRow, kOwn>, data, rows,
           cols);
}

template <std::uint32_t kNumber>
void run(Stream stream, const RecipeData& data, std::uint32_t rows, std::uint32_t cols) {
    constexpr std::uint32_t kRows = kBlockThreads / kWarp;
    const Grid warps{(rows + kRows - 1) / kRows, kBlockThreads, 0};
    if (cols <= 512) return launch(stream, warps, warp_recipe_kernel<kNumber, 16>, data, rows, cols);
    if (cols <= 1024) return launch(stream, warps, warp_recipe_kernel<kNumber, 32>, data, rows, cols);
    if (cols <= kRecipeColsUsual) return run_blocks<kNumber, 128, 32>(stream, data, rows, cols);
    if constexpr (kNumber < kLongRecipeCount) run_blocks<kNumber, 512, 32>(stream, data, rows, cols);
}

template <std::uint32_t... kNumbers>
Run run_of(std::uint32_t number, std::integer_sequence<std::uint32_t, kNumbers...>) {
    constexpr Run kRuns[] = {run<kNumbers>...};
    return kRuns[number];
}

}  // namespace

void run_row_recipe(Stream stream, std::uint32_t number, const RecipeData& data, std::uint64_t rows,
                    std::uint64_t cols) {
    run_of(number, std::make_integer_sequence<std::uint32_t, kRowRecipeCount>())(
        stream, data, static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols));
}

}  // namespace retrace::kernels::cuda
