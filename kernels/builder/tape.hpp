// SPDX-License-Identifier: MIT
// Reverse-mode gradients: every layer notes how to write its own backward ops; `gradients` runs the notes backwards.
#pragma once

#include <functional>
#include <optional>

#include "kernels/builder/compose.hpp"

namespace retrace::kernels {

class Tape {
public:
    /// Writes the gradients of the inputs from the gradient of the output. `needed[i]` is false where nobody asks for
    /// input i; such entries of the result may be empty.
    using Backward = std::function<std::vector<std::optional<Value>>(Value gradient, const std::vector<bool>& needed)>;

    explicit Tape(Graph& graph) : graph_(graph) {}
    Graph& graph() noexcept { return graph_; }

    /// Notes a layer and returns its output.
    Value note(std::vector<Value> inputs, Value output, Backward backward);
    /// Gradients of the tensors `wanted`, given that of `output`. Sums run from the last use to the first. A tensor
    /// that `output` does not depend on has a gradient of zeros.
    std::vector<Value> gradients(Value output, Value gradient, const std::vector<Value>& wanted);

private:
    struct Note {
        std::vector<Value> inputs;
        Value output;
        Backward backward;
    };
    Graph& graph_;
    std::vector<Note> notes_;
};

}  // namespace retrace::kernels
