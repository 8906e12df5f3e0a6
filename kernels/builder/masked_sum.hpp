// SPDX-License-Identifier: MIT
// Updates whose messages are fixed-point values under masks, of which only the sum of a record is seen. plan/SPEC.md 4.8.
#pragma once

#include "kernels/builder/message_form.hpp"

namespace retrace::kernels {

/// The state tensors that messages under masks have beside those of other updates.
struct MaskedStates {
    Value turn;       ///< Shared, i32 []: the column of each row that is sent next.
    Value message;    ///< Public, i32 [rows / 32, 32].
    Value sum;        ///< As the message: of the record that is taken in.
    Value sent;       ///< f32 [rows, 1]: what the member's message says,
    Value sent_turn;  ///< and in which column.
};

/// What masks change of a plan's phases. `anchor`, `norm`, `found`, `residual` are those of other updates.
class MaskedSum {
public:
    /// Values of `bits` bits, 2 to 27, so that 32 of them have a sum of 32.
    MaskedSum(const ModelRows& shape, std::uint32_t bits) : shape_(shape), bits_(bits) {}

    MaskedStates declare_shared(Graph& g) const;
    void declare_own(Graph& g, MaskedStates& s) const;

    /// add: the sum gains a message.
    void gain(Graph& g, const MaskedStates& s, Value message) const;
    /// unmask: the sum loses the mask of a row of the table.
    void unmask(Graph& g, const MaskedStates& s) const;
    /// mask: the message gains it.
    void mask(Graph& g, const MaskedStates& s) const;
    /// end: the mean of the record's messages, f32 [rows, 1], if they were `found` many.
    Value mean(Graph& g, const MaskedStates& s, Value norm, Value found) const;
    /// end: the next turn, and no message.
    void end_turn(Graph& g, const MaskedStates& s) const;
    /// `base` plus `values` [rows, 1] in the column `turn` of each row.
    Value added(Graph& g, Value base, Value turn, Value values) const;
    /// press: makes the message of changes [rows, width]. Returns what is left of them.
    Value press(Graph& g, const MaskedStates& s, Value changes, Value norm) const;

private:
    Dims words() const { return {shape_.rows / 32, 32}; }
    /// What a step of 1 of a value stands for.
    Value unit(Graph& g, Value norm) const;
    Value places(Graph& g, Value turn) const;
    /// `value` with the key stream of the row added if `adds` is whether messages added it, else without it.
    Value masked(Graph& g, Value value, bool adds) const;
    std::uint32_t sum_bits() const { return bits_ + 5; }

    ModelRows shape_;
    std::uint32_t bits_;
};

/// Rows of 512 / kept parameters, a multiple of 32, of each of which one value is sent. `kept` is a power of two up to 512.
ModelRows masked_rows(std::uint64_t parameters, std::uint32_t kept);

}  // namespace retrace::kernels
