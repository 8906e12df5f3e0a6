// SPDX-License-Identifier: MIT
// How a member's changes become a message of a round, and back. plan/SPEC.md 4.
#pragma once

#include <memory>

#include "kernels/builder/graph.hpp"

namespace retrace::kernels {

/// The shared model as one tensor, of which messages are made.
struct ModelRows {
    std::uint64_t rows = 0, width = 0;  ///< Parameters of a row: at most 512.
};

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
    /// `base` [rows, width] plus what a message says.
    virtual Value added(Graph& g, Value base, const std::vector<Value>& message) const = 0;
    /// `base` without what a message says.
    virtual Value taken(Graph& g, Value base, const std::vector<Value>& message) const = 0;
    /// The message of changes [rows, width].
    virtual std::vector<Value> message_of(Graph& g, Value changes) const = 0;
};

/// The `kept` greatest changes of each row (a power of two, at most 64), as places, and signs with one level for 256
/// values (bits 1), or two levels (bits 2). SparseLoCo (Sarfi et al. 2025). `shape` is that of `sparse_rows`.
std::unique_ptr<MessageForm> sparse_form(const ModelRows& shape, std::uint32_t kept, std::uint32_t bits);
/// Rows that hold so many parameters, and whole groups of 256 sent values. They are as narrow as their number allows, so
/// that few of them have no parameters: what is sent of such a row would lower the levels of its group.
ModelRows sparse_rows(std::uint64_t parameters, std::uint32_t kept);
/// All changes as they are.
std::unique_ptr<MessageForm> dense_form(const ModelRows& shape);
ModelRows dense_rows(std::uint64_t parameters);

}  // namespace retrace::kernels
