// SPDX-License-Identifier: MIT
// Every recipe beside the interpreter of the same steps: found in them, and equal to the last bit.
#include "kernels/cuda/recipes.hpp"

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

#include "kernels/cuda/recipe_match.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/scalar/scalar.hpp"
#include "merkle/base/bytes.hpp"
#include "tests/cuda/device/parity.hpp"

namespace retrace::kernels::parity {
namespace {

using namespace cuda;

constexpr std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

bool compares(OpCode code) { return code == OpCode::equal || code == OpCode::greater; }

/// Words of every kind: values of all sizes, zeros, subnormals, infinities, NaNs of several payloads.
std::uint32_t special_word(std::mt19937& random) {
    constexpr std::uint32_t kWords[] = {0,          0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0xffc12345, 0x7f812345, 0x3f800000, 0xbf800000};
    return random() % 2 == 0 ? kWords[random() % std::size(kWords)] : random();
}
float bell(std::mt19937& random) { return std::normal_distribution<float>(0, 1)(random); }

/// One recipe with random operands, the same memory for both ways of computing it but for the results.
class Comparison {
public:
    Comparison(const Recipe& recipe, std::uint64_t rows, std::uint64_t cols, bool special, bool in_place,
               std::uint32_t seed)
        : recipe_(recipe), rows_(rows), cols_(cols), special_(special), in_place_(in_place), random_(seed) {}

    Status<> rows(std::uint32_t number) {
        RETRACE_CHECK(prepare(true));
        const std::vector<RowStep> steps = row_steps();
        RETRACE_CHECK(upload(steps));
        run_fused_rows(queue_->stream(), reinterpret_cast<const RowStep*>(steps_.data()),
                       static_cast<std::uint32_t>(steps.size()), own_bytes_, rows_,
                       own_bytes_ > kSharedRowBytes ? slab_.data() : nullptr);
        RETRACE_CHECK(keep());
        const auto parts = parts_of(steps, rows_);
        if (parts.size() != 1 || parts[0].recipe != number) return error("not found in its steps");
        run_row_recipe(queue_->stream(), number, parts[0].data, rows_, cols_);
        return compare();
    }

    Status<> elements(std::uint32_t number) {
        RETRACE_CHECK(prepare(false));
        const std::vector<ElementStep> steps = element_steps();
        RETRACE_CHECK(upload(steps));
        const bool by_quads =
            std::ranges::all_of(steps, [&](const ElementStep& step) { return goes_by_quads(step, cols_); });
        run_elements(queue_->stream(), reinterpret_cast<const ElementStep*>(steps_.data()),
                     static_cast<std::uint32_t>(steps.size()), recipe_.steps, rows_ * cols_, cols_, by_quads);
        RETRACE_CHECK(keep());
        const auto parts = parts_of(steps, rows_ * cols_, cols_);
        if (parts.size() != 1 || parts[0].recipe != number) return error("not found in its steps");
        run_element_recipe(queue_->stream(), number, parts[0].data, rows_ * cols_, cols_);
        return compare();
    }

private:
    bool is_integer(std::uint32_t value) const {
        return std::any_of(recipe_.step, recipe_.step + recipe_.steps, [&](const RecipeStep& step) {
            return step.integers && (step.from[0] == value || step.from[1] == value);
        });
    }
    std::uint64_t count_of(std::uint32_t input) const {
        switch (recipe_.input[input]) {
            case RecipeInput::each: return rows_ * cols_;
            case RecipeInput::row: return by_rows_ ? period() * cols_ : cols_;
            case RecipeInput::column: return rows_;
            case RecipeInput::single: return 1;
            case RecipeInput::mask: return period() * cols_;
        }
        return 0;
    }
    /// Rows after which rows and masks begin again.
    std::uint64_t period() const { return in_place_ ? 1 : std::min<std::uint64_t>(rows_, 3); }

    /// The last step that reads an input; the first after all others if none does.
    std::uint32_t last_reader(std::uint32_t input) const {
        std::uint32_t last = 0;
        for (std::uint32_t s = 0; s < recipe_.steps; ++s)
            if (std::count(recipe_.step[s].from, recipe_.step[s].from + recipe_.step[s].operands, input) != 0) last = s;
        return last;
    }
    /// The input whose memory a stored value takes: where results are in place, one of as many elements that no later step
    /// reads and no earlier value took.
    std::optional<std::uint32_t> replaced(std::uint32_t value) {
        if (!in_place_ || !recipe_.step[value - recipe_.inputs].stored) return std::nullopt;
        const auto wanted = by_rows_ && recipe_.is_single(value) ? RecipeInput::column : RecipeInput::each;
        for (std::uint32_t input = 0; input < recipe_.inputs; ++input) {
            if (recipe_.input[input] != wanted || last_reader(input) > value - recipe_.inputs) continue;
            if (std::ranges::find(replaced_, input) != replaced_.end()) continue;
            replaced_.push_back(input);
            return input;
        }
        return std::nullopt;
    }

    /// Takes memory, and fills inputs with random values and results with nothing that an op computes.
    Status<> prepare(bool by_rows) {
        by_rows_ = by_rows;
        std::uint64_t bytes = 0;
        std::vector<std::uint64_t> at;
        for (std::uint32_t v = 0; v < recipe_.inputs + recipe_.steps; ++v) {
            at.push_back(bytes);
            if (v < recipe_.inputs) {
                bytes += aligned(4 * count_of(v));
            } else if (const auto input = replaced(v)) {
                at.back() = at[*input];
            } else if (recipe_.step[v - recipe_.inputs].stored) {
                bytes += aligned(4 * (by_rows && recipe_.is_single(v) ? rows_ : rows_ * cols_));
            }
        }
        RETRACE_TRY(memory, Memory::take(bytes));
        memory_ = std::move(memory);
        RETRACE_TRY(queue, Queue::open());
        queue_.emplace(std::move(queue));
        for (const std::uint64_t offset : at) place_.push_back(memory_.data() + offset);
        blank_.assign(bytes, 0xcd);
        for (std::uint32_t input = 0; input < recipe_.inputs; ++input) {
            for (std::uint64_t i = 0; i < count_of(input); ++i) {
                std::uint8_t* const to = blank_.data() + at[input];
                if (recipe_.input[input] == RecipeInput::mask) {
                    to[i] = random_() % 2;
                } else {
                    const std::uint32_t word = is_integer(input) ? random_() % 5
                                               : special_        ? special_word(random_)
                                                                 : to_bits(bell(random_));
                    store_u32(to + 4 * i, word);
                }
            }
        }
        return queue_->copy_in(memory_.data(), blank_.data(), blank_.size());
    }

    template <class Step>
    Status<> upload(const std::vector<Step>& steps) {
        RETRACE_TRY(memory, Memory::take(steps.size() * sizeof(Step)));
        steps_ = std::move(memory);
        if (own_bytes_ > kSharedRowBytes) {
            RETRACE_TRY(slab, Memory::take(slab_blocks(rows_, own_bytes_) * own_bytes_));
            slab_ = std::move(slab);
        }
        return queue_->copy_in(steps_.data(), steps.data(), steps.size() * sizeof(Step));
    }

    /// Keeps the results and clears them.
    Status<> keep() {
        kept_.resize(blank_.size());
        RETRACE_CHECK(queue_->copy_out(kept_.data(), memory_.data(), kept_.size()));
        return queue_->copy_in(memory_.data(), blank_.data(), blank_.size());
    }
    Status<> compare() {
        Bytes own(blank_.size());
        RETRACE_CHECK(queue_->copy_out(own.data(), memory_.data(), own.size()));
        if (kept_ == blank_) return error("the interpreter wrote nothing");
        if (own != kept_) return error("other bits");
        return Unit{};
    }

    std::uint8_t size_of_value(std::uint32_t value) const {
        if (value < recipe_.inputs) return recipe_.input[value] == RecipeInput::mask ? 1 : 4;
        return compares(recipe_.step[value - recipe_.inputs].code) ? 1 : 4;
    }
    /// Sets a step's op and types.
    template <class Step>
    void set_op(Step& out, const RecipeStep& step) const {
        out.code = step.code;
        out.inputs = step.operands;
        out.in = step.integers                                                 ? DType::i32
                 : step.code == OpCode::convert || step.code == OpCode::select ? DType::boolean
                                                                               : DType::f32;
        out.out = compares(step.code) ? DType::boolean : DType::f32;
    }

    std::vector<ElementStep> element_steps() {
        std::vector<ElementStep> out;
        for (std::uint32_t s = 0; s < recipe_.steps; ++s) {
            const RecipeStep& step = recipe_.step[s];
            ElementStep& as = out.emplace_back();
            set_op(as, step);
            const auto side = [&](std::uint32_t value) {
                ElementSide at;
                at.size = size_of_value(value);
                if (value >= recipe_.inputs) {
                    const bool stored = recipe_.step[value - recipe_.inputs].stored;
                    at.data = stored ? place_[value] : nullptr;
                    at.slot = value - recipe_.inputs;
                    return at;
                }
                at.data = place_[value];
                at.spread = recipe_.input[value] == RecipeInput::each     ? Spread::full
                            : recipe_.input[value] == RecipeInput::row    ? Spread::row
                            : recipe_.input[value] == RecipeInput::column ? Spread::column
                                                                          : Spread::scalar;
                return at;
            };
            for (std::uint32_t i = 0; i < step.operands; ++i) as.sides[i] = side(step.from[i]);
            as.result = side(recipe_.inputs + s);
        }
        return out;
    }

    RowSide row_side(std::uint32_t value, const std::vector<std::uint32_t>& own) const {
        RowSide side;
        const bool single = recipe_.is_single(value);
        side.size = size_of_value(value);
        side.each = !single;
        const std::uint64_t row = (single ? 1 : cols_) * side.size;
        if (value >= recipe_.inputs) {
            if (recipe_.step[value - recipe_.inputs].stored) side.data = place_[value], side.stride = row;
            side.at = own[value - recipe_.inputs];
        } else {
            side.data = place_[value];
            const RecipeInput kind = recipe_.input[value];
            side.stride = kind == RecipeInput::row || kind == RecipeInput::single ? 0 : row;
            if (kind == RecipeInput::mask || (kind == RecipeInput::row && period() > 1))
                side.stride = row, side.period = period();
        }
        side.quads = side.each && side.size == 4 && side.stride % 16 == 0;
        return side;
    }

    std::vector<RowStep> row_steps() {
        std::vector<std::uint32_t> own;
        std::uint32_t bytes = 0;
        const auto take = [&](std::uint64_t elements) {
            const std::uint32_t at = bytes;
            bytes += static_cast<std::uint32_t>((4 * elements + 63) / 64 * 64);
            return at;
        };
        for (std::uint32_t s = 0; s < recipe_.steps; ++s) {
            const bool kept = !recipe_.step[s].stored;
            own.push_back(kept ? take(recipe_.is_single(recipe_.inputs + s) ? 1 : cols_) : 0);
        }
        std::vector<RowStep> out;
        for (std::uint32_t s = 0; s < recipe_.steps; ++s) {
            const RecipeStep& step = recipe_.step[s];
            const std::uint32_t value = recipe_.inputs + s;
            RowStep as;
            set_op(as, step);
            for (std::uint32_t i = 0; i < step.operands; ++i) as.sides[i] = row_side(step.from[i], own);
            as.result = row_side(value, own);
            as.cols = recipe_.is_single(value) ? 1 : cols_;
            if (recipe_.reduces(value)) as.cols = recipe_.is_single(step.from[0]) ? 1 : cols_;
            const auto whole = [](const RowSide& side) { return side.quads || (!side.each && side.size == 4); };
            as.by_quads = !recipe_.reduces(value) && as.cols % 4 == 0 && as.result.quads &&
                          std::all_of(as.sides, as.sides + as.inputs, whole);
            if (recipe_.reduces(value) && as.cols > kReduceTerms) {
                RowStep first = as;
                first.result = RowSide{};
                first.result.at = take(reduce_level_size(cols_));
                out.push_back(first);
                as.cols = reduce_level_size(cols_);
                as.sides[0] = first.result;
            }
            out.push_back(as);
        }
        own_bytes_ = bytes;
        return out;
    }

    const Recipe& recipe_;
    const std::uint64_t rows_, cols_;
    const bool special_, in_place_;
    bool by_rows_ = false;
    std::mt19937 random_;
    Memory memory_, steps_, slab_;
    std::optional<Queue> queue_;
    std::vector<std::uint8_t*> place_;     ///< By value: its memory, if it is an input or stored.
    std::vector<std::uint32_t> replaced_;  ///< Inputs whose memory results take.
    std::uint32_t own_bytes_ = 64;
    Bytes blank_, kept_;
};

}  // namespace

void check_recipes(bool all, Tally& tally) {
    const auto name = [](const char* kind, std::uint32_t number, std::uint64_t rows, std::uint64_t cols, bool special,
                         bool in_place) {
        return std::string(kind) + " recipe " + std::to_string(number) + " on " + std::to_string(rows) + " x " +
               std::to_string(cols) + (special ? ", special" : "") + (in_place ? ", in place" : "");
    };
    for (std::uint32_t i = 0; i < kElementRecipeCount; ++i) {
        for (const std::uint64_t rows : {1, 7, 129}) {
            for (const bool special : {false, true}) {
                for (const bool in_place : {false, true})
                    tally.count(name("element", i, rows, 36, special, in_place),
                                Comparison(kElementRecipes[i], rows, 36, special, in_place, i).elements(i));
            }
        }
    }
    for (std::uint32_t i = 0; i < kRowRecipeCount; ++i) {
        for (const std::uint64_t cols : {32, 45, 256, 257, 512, 513, 768, 1024, 1100, 4096, 4097, 16384}) {
            if (cols > (i < kLongRecipeCount ? kRecipeColsMax : kRecipeColsUsual) || (!all && cols > 600)) continue;
            const std::uint64_t rows = cols == 45 ? 130 : 7;
            for (const bool special : {false, true}) {
                for (const bool in_place : {false, true})
                    tally.count(name("row", i, rows, cols, special, in_place),
                                Comparison(kRowRecipes[i], rows, cols, special, in_place, i).rows(i));
            }
        }
    }
}

}  // namespace retrace::kernels::parity
