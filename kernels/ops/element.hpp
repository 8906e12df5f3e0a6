// SPDX-License-Identifier: MIT
// One element of one op: the definition of every op, which the referee recomputes (verifier 5). The reference executor
// calls it for every element; inputs_of runs it and records which tiles were read; the referee runs it on opened tiles.
// So there is one definition and no copy to keep consistent.
#pragma once

#include <optional>
#include <set>

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Static facts of an op as the referee knows them, from proved records and without the program file.
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
/// Checks the op's shape rule on untrusted facts; the error names the rule that fails.
Status<> check_facts(const OpFacts& facts);

/// Reads elements of the op's inputs; the bits are zero-extended to 32 (Tensor::bits).
class ElementSource {
public:
    virtual ~ElementSource() = default;
    virtual std::optional<std::uint32_t> read(std::uint32_t slot, std::uint64_t element) = 0;
};

struct ElementQuery {
    std::uint64_t element = 0;  ///< Flat index in the output.
    std::uint64_t link = 0;     ///< Less than link_count(facts); 0 for ops that are not chains.
    std::uint32_t before = 0;   ///< Carried bits after link - 1; ignored for link 0 (the op sets the initial value).
    std::uint64_t seed = 0, step = 0;
};

enum class EvalError : std::uint8_t {
    missing_input = 1,  ///< The source lacks an element that the rule reads.
    out_of_range = 2,   ///< No such element or link.
};

/// Returns the number of links of each output element: > 1 only for chain ops (matmul, scatter-add, window scatter). At
/// least 1.
std::uint64_t link_count(const OpFacts& facts);
/// Returns the output bits of the element for the last link (epilogue included), else the carried bits after `link`
/// (unflushed, NaN canonical).
Result<std::uint32_t, EvalError> evaluate(const OpFacts& facts, const ElementQuery& query, ElementSource& source);

struct TileRef {
    std::uint32_t slot = 0;
    std::uint64_t tile = 0;
    auto operator<=>(const TileRef&) const = default;
};
/// Maximum number of input tiles that an element (or link) reads, not counting the partial tile of the carried value.
inline constexpr std::size_t kEvidenceTilesMax = 18;
/// Returns the input tiles that the element (or link) reads.
std::set<TileRef> inputs_of(const OpFacts& facts, const ElementQuery& query, ElementSource& full_inputs);

}  // namespace retrace::kernels
