// SPDX-License-Identifier: MIT
#include "kernels/cuda/recipe_match.hpp"

#include <algorithm>
#include <map>
#include <span>

#include "kernels/cuda/recipes.hpp"
#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels::cuda {
namespace {

/// A location that a step reads or writes.
struct Place {
    std::uint8_t* data = nullptr;  ///< Null in the run's own memory, at `own`.
    std::uint32_t own = 0;
    std::uint8_t size = 4;
    std::optional<RecipeInput> kind;  ///< Of an operand in memory; nothing if a recipe cannot read it so.
    std::uint64_t stride = 0;
    std::uint32_t period = 0;
    bool is_read_alike(const Place& other) const {
        return kind == other.kind && size == other.size && stride == other.stride && period == other.period;
    }
    bool is_same(const Place& other) const { return data == other.data && (data != nullptr || own == other.own); }
};

/// What ElementStep and RowStep have in common. `count` steps of the run become this one.
struct Step {
    const RecipeOp* op = nullptr;  ///< Null if recipes do not have it.
    std::vector<Place> from;
    Place to;
    std::optional<bool> single;  ///< In a run of rows: whether the result is one element for each row.
    std::uint32_t first = 0, count = 1;
};

const RecipeOp* find_op(OpCode code, DType in, DType out) {
    const bool integers = code == OpCode::equal && in == DType::i32;
    if (code == OpCode::greater && in != DType::f32) return nullptr;
    if (code == OpCode::convert && (out != DType::f32 || (in != DType::boolean && in != DType::u8 && in != DType::i32)))
        return nullptr;
    const auto found = std::ranges::find_if(
        kRecipeOps, [&](const RecipeOp& op) { return op.code == code && op.integers == integers; });
    return found == std::end(kRecipeOps) ? nullptr : found;
}

Step step_of(const ElementStep& step) {
    Step out;
    out.op = find_op(step.code, step.in, step.out);
    for (std::uint32_t i = 0; i < step.inputs; ++i) {
        const ElementSide& side = step.sides[i];
        Place place{side.data, side.slot, side.size, std::nullopt};
        constexpr RecipeInput kKinds[] = {RecipeInput::each, RecipeInput::row, RecipeInput::column,
                                          RecipeInput::single};
        if (side.size == 4) place.kind = kKinds[static_cast<std::size_t>(side.spread) - 1];
        out.from.push_back(place);
    }
    out.to = {step.result.data, step.result.slot, step.result.size, std::nullopt};
    return out;
}

Step step_of(const RowStep& step, std::uint64_t cols) {
    Step out;
    out.op = find_op(step.code, step.in, step.out);
    const bool reduces = step.code == OpCode::row_sum || step.code == OpCode::row_max;
    const bool single = step.cols == 1;
    out.single = single || reduces;
    if (!single && step.cols != cols) out.op = nullptr;
    for (std::uint32_t i = 0; i < step.inputs; ++i) {
        const RowSide& side = step.sides[i];
        Place place{side.data, side.at, side.size, std::nullopt, side.stride, static_cast<std::uint32_t>(side.period)};
        if (!side.each || single) {
            if (side.size == 4 && side.period == 0)
                place.kind = side.stride == 0 ? RecipeInput::single : RecipeInput::column;
        } else if (side.size == 1) {
            place.kind = RecipeInput::mask;
        } else {
            place.kind = side.stride == 0 || side.period != 0 ? RecipeInput::row : RecipeInput::each;
        }
        out.from.push_back(place);
    }
    out.to = {step.result.data, step.result.at, step.result.size, std::nullopt, step.result.stride};
    return out;
}

std::vector<Step> steps_of(const std::vector<ElementStep>& steps) {
    std::vector<Step> out;
    for (const ElementStep& step : steps) {
        out.push_back(step_of(step));
        out.back().first = static_cast<std::uint32_t>(out.size() - 1);
    }
    return out;
}

/// Whether a step after `step` reads the value that the own memory at `at` holds then.
bool is_read_later(const std::vector<RowStep>& steps, std::uint32_t step, std::uint32_t at) {
    for (std::uint32_t i = step; i < steps.size(); ++i) {
        if (i > step) {
            for (std::uint32_t k = 0; k < steps[i].inputs; ++k)
                if (steps[i].sides[k].data == nullptr && steps[i].sides[k].at == at) return true;
        }
        if (steps[i].result.data == nullptr && steps[i].result.at == at) return false;
    }
    return false;
}

/// The two levels of a reduction of more than 256 columns become one step.
std::vector<Step> steps_of(const std::vector<RowStep>& steps, std::uint64_t cols) {
    std::vector<Step> out;
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
        Step step = step_of(steps[i], cols);
        step.first = i;
        const bool reduces = steps[i].code == OpCode::row_sum || steps[i].code == OpCode::row_max;
        const std::uint64_t results = reduces ? reduce_level_size(steps[i].cols) : 1;
        if (results > 1) {
            const RowStep* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
            const bool follows = next != nullptr && next->code == steps[i].code && next->cols == results &&
                                 results <= kReduceTerms && steps[i].result.data == nullptr &&
                                 next->sides[0].data == nullptr && next->sides[0].at == steps[i].result.at;
            if (follows && !is_read_later(steps, i + 1, steps[i].result.at)) {
                step.to = step_of(*next, results).to;
                step.count = 2;
                ++i;
            } else {
                step.op = nullptr;
            }
        }
        out.push_back(std::move(step));
    }
    return out;
}

/// Returns for each position whether no value of the run's own memory goes past it.
std::vector<bool> cuts_of(const std::vector<Step>& steps) {
    std::vector<bool> cuts(steps.size() + 1, true);
    for (std::size_t reader = 0; reader < steps.size(); ++reader) {
        for (const Place& place : steps[reader].from) {
            if (place.data != nullptr) continue;
            std::size_t writer = reader;  // exclusive
            while (writer > 0 && !steps[writer - 1].to.is_same(place)) --writer;
            for (std::size_t at = writer; at <= reader; ++at) cuts[at] = false;
        }
    }
    return cuts;
}

struct Made {
    Recipe recipe;
    RecipeData data;
};

/// Returns the recipe that `steps` are, all values of which in own memory are their own; nothing if none can be.
std::optional<Made> made_of(std::span<const Step> steps) {
    if (steps.size() > Recipe::kStepsMax) return std::nullopt;
    Made out;
    Recipe& recipe = out.recipe;
    struct Operand {
        bool is_input = false;
        std::uint32_t number = 0;
    };
    std::vector<Place> inputs;
    std::vector<std::vector<Operand>> operands;
    for (std::uint32_t s = 0; s < steps.size(); ++s) {
        const Step& step = steps[s];
        if (step.op == nullptr || step.from.size() != step.op->operands) return std::nullopt;
        auto& own = operands.emplace_back();
        for (const Place& place : step.from) {
            std::uint32_t writer = s;
            while (writer > 0 && !steps[writer - 1].to.is_same(place)) --writer;
            if (writer > 0) {
                own.push_back({false, writer - 1});
                continue;
            }
            if (place.data == nullptr || !place.kind) return std::nullopt;
            const auto known = std::ranges::find_if(
                inputs, [&](const Place& seen) { return seen.is_same(place) && seen.is_read_alike(place); });
            own.push_back({true, static_cast<std::uint32_t>(known - inputs.begin())});
            if (known == inputs.end()) inputs.push_back(place);
        }
        const bool rewritten = std::ranges::any_of(steps.subspan(s + 1), [&](const Step& later) {
            return step.to.data != nullptr && later.to.is_same(step.to);
        });
        RecipeStep& as = recipe.step[recipe.steps++];
        as.code = step.op->code, as.integers = step.op->integers, as.operands = step.op->operands;
        as.stored = step.to.data != nullptr && !rewritten;
        if (as.stored && step.to.size != 4) return std::nullopt;
        if (as.stored) out.data.output[s] = step.to.data, out.data.output_stride[s] = step.to.stride;
    }
    if (inputs.size() > Recipe::kInputsMax) return std::nullopt;
    for (const Place& place : inputs) {
        out.data.input[recipe.inputs] = place.data;
        out.data.stride[recipe.inputs] = place.stride;
        out.data.period[recipe.inputs] = place.period;
        recipe.input[recipe.inputs++] = *place.kind;
    }
    for (std::uint32_t s = 0; s < recipe.steps; ++s) {
        for (std::size_t k = 0; k < operands[s].size(); ++k)
            recipe.step[s].from[k] =
                static_cast<std::uint8_t>(operands[s][k].number + (operands[s][k].is_input ? 0 : recipe.inputs));
        // A step of whole rows may have single operands alone.
        if (steps[s].single && *steps[s].single != recipe.is_single(recipe.inputs + s)) return std::nullopt;
    }
    return out;
}

std::vector<RunPart> cut(const std::vector<Step>& steps, std::span<const Recipe> recipes) {
    std::vector<RunPart> parts;
    const std::vector<bool> cuts = cuts_of(steps);
    const auto add = [&](std::size_t from, std::size_t end, std::optional<std::uint32_t> number,
                         const RecipeData& data) {
        std::uint32_t count = 0;
        for (std::size_t s = from; s < end; ++s) count += steps[s].count;
        if (!number && !parts.empty() && !parts.back().recipe) {
            parts.back().count += count;
        } else {
            parts.push_back({steps[from].first, count, number, data, 0});
        }
    };
    for (std::size_t at = 0; at < steps.size();) {
        std::size_t end = at + 1;
        std::optional<std::uint32_t> number;
        RecipeData data;
        for (std::size_t last = steps.size(); cuts[at] && last > at && !number; --last) {
            if (last == at + 1 && steps.size() > 1) break;
            const auto made = cuts[last] ? made_of(std::span(steps).subspan(at, last - at)) : std::nullopt;
            if (!made) continue;
            const auto found = std::ranges::find(recipes, made->recipe);
            if (found == recipes.end()) continue;
            number = static_cast<std::uint32_t>(found - recipes.begin());
            data = made->data;
            end = last;
        }
        add(at, end, number, data);
        at = end;
    }
    return parts;
}

std::string text_of(const Recipe& recipe) {
    std::string out;
    for (std::uint32_t i = 0; i < recipe.inputs; ++i)
        out += (i == 0 ? "" : " ") + std::string(1, static_cast<char>(recipe.input[i]));
    for (std::uint32_t s = 0; s < recipe.steps; ++s) {
        const RecipeStep& step = recipe.step[s];
        out += std::string("; ") + std::ranges::find_if(kRecipeOps, [&](const RecipeOp& op) {
                                       return op.code == step.code && op.integers == step.integers;
                                   })->name;
        for (std::uint32_t i = 0; i < step.operands; ++i) out += " " + std::to_string(step.from[i]);
        if (step.stored) out += " !";
    }
    return out;
}

std::optional<std::string> text_of(const std::vector<Step>& steps) {
    const auto made = made_of(steps);
    return made ? std::optional(text_of(made->recipe)) : std::nullopt;
}

bool can_be_recipes(std::uint64_t elements, std::uint64_t cols) {
    return elements != 0 && elements % 4 == 0 && cols % 4 == 0 && elements <= kRecipeElementsMax;
}

/// Returns the columns of a run of rows: those of its longest step; 0 if it has no recipes.
std::uint64_t cols_of(const std::vector<RowStep>& steps, std::uint64_t rows) {
    std::uint64_t cols = 0;
    for (const RowStep& step : steps) cols = std::max(cols, step.cols);
    return cols >= kRecipeColsMin && cols <= kRecipeColsMax && rows <= kRecipeRowsMax ? cols : 0;
}

}  // namespace

std::vector<RunPart> interpreted(std::size_t steps) {
    return {{0, static_cast<std::uint32_t>(steps), std::nullopt, {}, 0}};
}

std::vector<RunPart> parts_of(const std::vector<ElementStep>& steps, std::uint64_t elements, std::uint64_t cols) {
    return can_be_recipes(elements, cols) ? cut(steps_of(steps), kElementRecipes) : interpreted(steps.size());
}

std::vector<RunPart> parts_of(const std::vector<RowStep>& steps, std::uint64_t rows) {
    const std::uint64_t cols = cols_of(steps, rows);
    if (cols == 0) return interpreted(steps.size());
    const std::span<const Recipe> all = kRowRecipes;
    std::vector<RunPart> parts =
        cut(steps_of(steps, cols), cols > kRecipeColsUsual ? all.first(kLongRecipeCount) : all);
    for (RunPart& part : parts) part.cols = cols;
    return parts;
}

std::optional<std::string> recipe_text(const std::vector<ElementStep>& steps, std::uint64_t elements,
                                       std::uint64_t cols) {
    return can_be_recipes(elements, cols) ? text_of(steps_of(steps)) : std::nullopt;
}

std::optional<std::string> recipe_text(const std::vector<RowStep>& steps, std::uint64_t rows) {
    const std::uint64_t cols = cols_of(steps, rows);
    return cols != 0 ? text_of(steps_of(steps, cols)) : std::nullopt;
}

}  // namespace retrace::kernels::cuda
