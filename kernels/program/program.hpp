// SPDX-License-Identifier: MIT
// A program: the static list of primitive ops of one training step (kernels 5). Loading a program executes no code of
// its author.
//
// Tensors are numbered: first `tensors_static` tensors that no op writes (state, constants, data sets, in that order of
// kind, each kind in its own order), then one output tensor for each op, so op i writes tensor tensors_static + i and
// op records need not name their output. Ops read the step's input state, never its output; a state tensor's record
// names the op whose output becomes its next value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/program/dtype.hpp"
#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kRankMax = 6;
using Dims = std::vector<std::uint64_t>;  ///< Row-major extents, rank ≤ kRankMax; rank 0 is one element.

/// Any tensor as a matrix [rows, cols], cols the last dimension (rank 0: 1×1), and its grid of 32×32 tiles.
struct Geometry {
    std::uint64_t rows = 1, cols = 1;
    std::uint64_t tile_rows() const noexcept { return (rows + 31) / 32; }
    std::uint64_t tile_cols() const noexcept { return (cols + 31) / 32; }
    std::uint64_t tiles() const noexcept { return tile_rows() * tile_cols(); }
    std::uint64_t elements() const noexcept { return rows * cols; }
    std::uint64_t tile_of(std::uint64_t element) const noexcept {
        return (element / cols / 32) * tile_cols() + element % cols / 32;
    }
    /// Position of `element` inside its tile: row-in-tile × 32 + col-in-tile.
    std::uint32_t place_in_tile(std::uint64_t element) const noexcept {
        return static_cast<std::uint32_t>((element / cols % 32) * 32 + element % cols % 32);
    }
};
Geometry geometry(const Dims& dims) noexcept;

enum class TensorKind : std::uint8_t { state = 1, constant = 2, data = 3, op_output = 4 };

inline constexpr std::uint32_t kNoWriter = 0xffffffff;

struct TensorRecord {
    TensorKind kind = TensorKind::op_output;
    DType dtype = DType::f32;
    Dims dims;
    std::uint32_t writer = kNoWriter;  ///< State only: the op whose output is the next value; kNoWriter if the tensor
                                       ///< never changes.
    std::string name;                  ///< For display ("fc1.weight"); ≤ 120 bytes. A named rank-0 fp32 op output is
                                       ///< a metric ("loss"): the executor reports it at every step.
    bool operator==(const TensorRecord&) const = default;
};

/// Op codes are wire-stable and never reused; the table with shapes and rules is kernels/ops/SPEC.md.
enum class OpCode : std::uint16_t;

struct OpRecord {
    OpCode code{};
    std::vector<std::uint32_t> inputs;      ///< Tensor numbers, each below this op's own output.
    std::vector<std::uint64_t> attributes;  ///< Meaning by op code (integers, or fp32 bits in the low word).
    std::string stream;                     ///< Philox stream name of random ops; empty otherwise; ≤ 120 bytes.
    bool operator==(const OpRecord&) const = default;
};

struct Constant {
    Bytes data;  ///< Little-endian elements, row-major, length fixed by the tensor record.
    bool operator==(const Constant&) const = default;
};

struct Program {
    std::uint32_t version = 1;
    std::uint32_t states = 0, constants = 0, datasets = 0;
    std::vector<TensorRecord> tensors;  ///< states, constants, datasets, then ops.size() outputs.
    std::vector<OpRecord> ops;
    std::vector<Constant> constant_data;
    bool operator==(const Program&) const = default;

    std::uint32_t tensors_static() const noexcept { return states + constants + datasets; }
    std::uint32_t output_of(std::uint32_t op) const noexcept { return tensors_static() + op; }
    bool is_op_output(std::uint32_t tensor) const noexcept { return tensor >= tensors_static(); }
};

}  // namespace retrace::kernels
