// SPDX-License-Identifier: MIT
// Reverse-mode gradients: every layer records a function that writes its backward ops; `gradients` calls these
// functions in reverse order.
#pragma once

#include <functional>
#include <optional>

#include "kernels/builder/compose.hpp"

namespace retrace::kernels {

class Tape {
public:
    /// Writes the gradients of the inputs, given the gradient of the output. `needed[i]` is false if the gradient of
    /// input i is not used; such entries of the result may be empty.
    using Backward = std::function<std::vector<std::optional<Value>>(Value gradient, const std::vector<bool>& needed)>;

    explicit Tape(Graph& graph) : graph_(graph) {}
    Graph& graph() noexcept { return graph_; }

    /// Records a layer and returns its output.
    Value note(std::vector<Value> inputs, Value output, Backward backward);
    /// Returns the gradients of the tensors `wanted`, given that of `output`. Contributions are summed from the last
    /// use to the first. A tensor on which `output` does not depend has a gradient of zeros.
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
