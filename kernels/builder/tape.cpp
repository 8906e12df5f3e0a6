// SPDX-License-Identifier: MIT
#include "kernels/builder/tape.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace retrace::kernels {

Value Tape::note(std::vector<Value> inputs, Value output, Backward backward) {
    notes_.push_back({std::move(inputs), output, std::move(backward)});
    return output;
}

std::vector<Value> Tape::gradients(Value output, Value gradient, const std::vector<Value>& wanted) {
    std::set<Value> dependent(wanted.begin(), wanted.end());
    const auto depends = [&](Value value) { return dependent.contains(value); };
    for (const Note& note : notes_) {
        if (std::any_of(note.inputs.begin(), note.inputs.end(), depends)) dependent.insert(note.output);
    }
    std::map<Value, Value> found{{output, gradient}};
    for (auto note = notes_.rbegin(); note != notes_.rend(); ++note) {
        const auto at = found.find(note->output);
        if (at == found.end() || !depends(note->output)) continue;
        std::vector<bool> needed;
        for (const Value input : note->inputs) needed.push_back(depends(input));
        const auto inputs = note->backward(at->second, needed);
        ensure(inputs.size() == note->inputs.size(), "one gradient for each input");
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!needed[i]) continue;
            ensure(inputs[i].has_value() && graph_.dims(*inputs[i]) == graph_.dims(note->inputs[i]),
                   "a gradient of the input's shape");
            const auto [place, fresh] = found.try_emplace(note->inputs[i], *inputs[i]);
            if (!fresh) place->second = add(graph_, place->second, *inputs[i]);
        }
    }
    std::vector<Value> out;
    for (const Value value : wanted) {
        const auto at = found.find(value);
        out.push_back(at != found.end() ? at->second : fill(graph_, 0.0f, graph_.dims(value)));
    }
    return out;
}

}  // namespace retrace::kernels
