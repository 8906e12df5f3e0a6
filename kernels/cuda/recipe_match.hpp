// SPDX-License-Identifier: MIT
// Finds the recipes in a run: the kernels that compute it, or stretches of it, with values in registers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {

/// A stretch of a run's steps: a recipe, or steps that are interpreted.
struct RunPart {
    std::uint32_t first = 0, count = 0;
    std::optional<std::uint32_t> recipe;  ///< Its number.
    RecipeData data;
    std::uint64_t cols = 0;  ///< Of a recipe of rows.
};

/// Cut a run into parts that give the same bits one after the other: no value outside memory goes from one to another.
/// As long a recipe as fits is taken from the first step on that begins one; a step alone only if it is the whole run, as
/// it would save no way to memory and be one more kernel.
std::vector<RunPart> parts_of(const std::vector<ElementStep>& steps, std::uint64_t elements, std::uint64_t cols);
std::vector<RunPart> parts_of(const std::vector<RowStep>& steps, std::uint64_t rows);
/// Returns a run of `steps` steps as one part.
std::vector<RunPart> interpreted(std::size_t steps);

/// Returns the text of the recipe (recipe.hpp) that a whole run would be, or nothing if none can be: for those who add one.
std::optional<std::string> recipe_text(const std::vector<ElementStep>& steps, std::uint64_t elements,
                                       std::uint64_t cols);
std::optional<std::string> recipe_text(const std::vector<RowStep>& steps, std::uint64_t rows);

}  // namespace retrace::kernels::cuda
