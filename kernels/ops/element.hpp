// SPDX-License-Identifier: MIT
// One element of one op: the definition of every op, and what the referee recomputes (verifier 5).
// The reference executor loops it; inputs_of runs it and notes which tiles were read; the referee runs it on opened
// tiles. So there is one definition and nothing to keep in step.
#pragma once

#include <optional>
#include <set>

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Static facts of an op as the referee knows them: proved records, no program file.
struct OpFacts {
    OpRecord op;
    struct Operand {
        DType dtype = DType::f32;
        Dims dims;
        bool operator==(const Operand&) const = default;
    };
    std::vector<Operand> inputs;
    Operand output;
};
OpFacts facts_of(const Program& program, std::uint32_t op);
/// The op's shape rule on facts that came from outside; names the rule that fails.
Status<> check_facts(const OpFacts& facts);

/// Reads elements of the op's inputs; bits zero-extended to 32 (Tensor::bits).
class ElementSource {
public:
    virtual ~ElementSource() = default;
    virtual std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) = 0;
};

struct ElementQuery {
    std::uint64_t element = 0;  ///< Flat index in the output.
    std::uint64_t link = 0;     ///< Below link_count(facts); 0 for ops that are no chains.
    std::uint32_t before = 0;   ///< Carried bits after link - 1; ignored for link 0 (chains start at +0).
    std::uint64_t seed = 0, step = 0;
};

enum class EvalError : std::uint8_t {
    missing_input = 1,  ///< The source does not hold an element that the rule reads.
    out_of_range = 2,   ///< No such element or link.
};

/// Links of each output element: > 1 only for chain ops (matmul, scatter-add, window scatter). At least 1.
std::uint64_t link_count(const OpFacts& facts);
/// The output bits of the element for the last link (epilogue included), else the carried bits after `link`
/// (unflushed, NaN canonical).
Result<std::uint32_t, EvalError> evaluate(const OpFacts& facts, const ElementQuery& query, ElementSource& source);

struct TileRef {
    std::uint32_t slot = 0;
    std::uint64_t tile = 0;
    auto operator<=>(const TileRef&) const = default;
};
/// The input tiles that the element (or link) reads; at most kEvidenceTilesMax, the partial before not counted.
inline constexpr std::size_t kEvidenceTilesMax = 18;
std::set<TileRef> inputs_of(const OpFacts& facts, const ElementQuery& query, ElementSource& full_inputs);

}  // namespace retrace::kernels
