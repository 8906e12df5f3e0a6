// SPDX-License-Identifier: MIT
// How a member's changes become a message of a round, and back. plan/SPEC.md 4.
#pragma once

#include <memory>

#include "kernels/builder/graph.hpp"

namespace retrace::kernels {

/// Parameters of a row: messages are made of the shared model as a tensor [rows, 512].
inline constexpr std::uint64_t kRowOfParameters = 512;

/// A tensor of a message.
struct MessagePart {
    std::string name;
    DType dtype = DType::f32;
    Dims dims;
};

class MessageForm {
public:
    virtual ~MessageForm() = default;
    /// The message's tensors, in the order of the lists below.
    virtual std::vector<MessagePart> parts() const = 0;
    /// `base` [rows, 512] plus what a message says.
    virtual Value added(Graph& g, Value base, const std::vector<Value>& message) const = 0;
    /// `base` without what a message says.
    virtual Value taken(Graph& g, Value base, const std::vector<Value>& message) const = 0;
    /// The message of changes [rows, 512].
    virtual std::vector<Value> message_of(Graph& g, Value changes) const = 0;
};

/// The `kept` greatest changes of each row (a power of two, at most 64), as places, and signs with one level for 256
/// values (bits 1), or two levels (bits 2). SparseLoCo (Sarfi et al. 2025). `rows` is a multiple of
/// sparse_rows_multiple.
std::unique_ptr<MessageForm> sparse_form(std::uint64_t rows, std::uint32_t kept, std::uint32_t bits);
/// Rows that hold whole groups of 256 sent values.
std::uint64_t sparse_rows_multiple(std::uint32_t kept);
/// All changes as they are.
std::unique_ptr<MessageForm> dense_form(std::uint64_t rows);

}  // namespace retrace::kernels
