// SPDX-License-Identifier: MIT
#include "kernels/exec/rematerialise.hpp"

#include <algorithm>

#include "kernels/ops/matmul_shape.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

constexpr int kDepth = 8;             ///< Maximum depth of ops between a recomputed output and the kept values that it
                                      ///< is computed from.
constexpr std::uint64_t kSmall = 8;   ///< An operand that is at least this many times smaller is kept for longer.
constexpr std::uint64_t kLooks = 64;  ///< Operand visits, per op on average.
constexpr std::uint32_t kNever = 0xffffffff;
constexpr std::uint64_t kUnknown = UINT64_MAX;

/// Memory is tracked by owner: the tensor itself, or the one that a reshape shows with other extents.
class Rematerialiser {
public:
    Rematerialiser(const Program& program, const RematerialiseLimits& limits)
        : program_(program),
          limits_(limits),
          owner_(program.tensors.size()),
          readers_(program.tensors.size()),
          fixed_(program.tensors.size()),
          chosen_(program.tensors.size()),
          pinned_(program.tensors.size()),
          now_(program.tensors.size()),
          made_(program.tensors.size(), kNever),
          touched_(program.tensors.size()),
          cost_(program.ops.size(), kUnknown) {
        for (std::uint32_t t = 0; t < owner_.size(); ++t) owner_[t] = t;
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            if (is_reshape(i)) owner_[program.output_of(i)] = owner_[program.ops[i].inputs[0]];
            for (const std::uint32_t input : program.ops[i].inputs) readers_[owner_[input]].push_back(i);
            if (!program.tensors[program.output_of(i)].name.empty()) fixed_[owner_[program.output_of(i)]] = true;
        }
        for (std::uint32_t s = 0; s < program.states; ++s) {
            const std::uint32_t writer = program.tensors[s].writer;
            if (writer != kNoWriter) fixed_[owner_[program.output_of(writer)]] = true;
        }
    }

    Program run() {
        budget_ = step_cost(program_) / 100 * limits_.cost_percent;
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) choose(i);
        if (std::find(chosen_.begin(), chosen_.end(), true) == chosen_.end()) return program_;
        return write() ? std::move(out_) : program_;
    }

private:
    bool is_reshape(std::uint32_t op) const { return program_.ops[op].code == OpCode::reshape; }
    std::uint32_t op_of(std::uint32_t tensor) const { return tensor - program_.tensors_static(); }
    std::uint64_t bytes(std::uint32_t tensor) const {
        const TensorRecord& record = program_.tensors[tensor];
        return geometry(record.dims).elements() * size_of(record.dtype);
    }
    std::uint32_t last_reader(std::uint32_t owner) const {
        return readers_[owner].empty() ? 0 : readers_[owner].back();
    }

    /// Chooses the output of `op` for recomputation if every late reader can recompute it.
    void choose(std::uint32_t op) {
        const std::uint32_t tensor = program_.output_of(op);
        if (!is_elementwise(program_.ops[op].code) || bytes(tensor) < limits_.bytes) return;
        if (fixed_[tensor] || pinned_[tensor]) return;
        std::vector<std::uint32_t> needed;
        std::uint64_t cost = 0;
        bool late = false;
        std::uint32_t before = op;
        for (const std::uint32_t reader : readers_[tensor]) {
            if (reader - before > limits_.gap) {
                late = true;
                if (!can_compute(tensor, reader, bytes(tensor), kDepth, needed, cost)) return;
            }
            before = reader;
        }
        if (!late || cost > budget_ - spent_) return;
        spent_ += cost;
        chosen_[tensor] = true;
        for (const std::uint32_t owner : needed) pinned_[owner] = true;
    }

    /// `needed` collects the owners that must not be chosen later because the recomputation reads them; `cost` sums its
    /// cost.
    bool can_compute(std::uint32_t tensor, std::uint32_t at, std::uint64_t size, int depth,
                     std::vector<std::uint32_t>& needed, std::uint64_t& cost) {
        const auto& inputs = program_.ops[op_of(tensor)].inputs;
        if (looks_ == 0) return false;
        --looks_;
        cost = saturating_add(cost, cost_of(op_of(tensor)));
        return depth > 0 && std::all_of(inputs.begin(), inputs.end(), [&](std::uint32_t input) {
                   return can_have(owner_[input], at, size, depth - 1, needed, cost);
               });
    }

    bool can_have(std::uint32_t owner, std::uint32_t at, std::uint64_t size, int depth,
                  std::vector<std::uint32_t>& needed, std::uint64_t& cost) {
        if (!program_.is_op_output(owner)) return true;
        if (!chosen_[owner] && (last_reader(owner) >= at || bytes(owner) * kSmall <= size)) {
            needed.push_back(owner);
            return true;
        }
        return may_repeat(op_of(owner)) && can_compute(owner, at, size, depth, needed, cost);
    }

    std::uint64_t cost_of(std::uint32_t op) {
        std::uint64_t& cost = cost_[op];
        if (cost == kUnknown) cost = find_rule(program_.ops[op].code)->cost(facts_of(program_, op));
        return cost;
    }

    bool may_repeat(std::uint32_t op) const {
        const OpCode code = program_.ops[op].code;
        if (code != OpCode::matmul || limits_.product_terms == 0) return is_elementwise(code);
        return matmul_shape(facts_of(program_, op)).k <= limits_.product_terms;
    }

    // ---- the new program

    /// Returns false if the new program would have more than twice the ops or the recomputed ops would cost more than
    /// allowed.
    bool write() {
        out_ = program_;
        out_.ops.clear();
        out_.tensors.resize(program_.tensors_static());
        for (std::uint32_t t = 0; t < program_.tensors_static(); ++t) now_[t] = t;
        std::vector<std::uint32_t> number(program_.ops.size());
        for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
            const std::uint32_t tensor = program_.output_of(i);
            append(tensor, i);
            if (out_.ops.size() > 2 * program_.ops.size() || written_again_ / 2 > budget_) return false;
            number[i] = op_of(now_[tensor]);
            out_.tensors.back().name = program_.tensors[tensor].name;
        }
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            std::uint32_t& writer = out_.tensors[s].writer;
            if (writer != kNoWriter) writer = number[writer];
        }
        return true;
    }

    /// Writes the op that computes `tensor`, for use at op `at`.
    void append(std::uint32_t tensor, std::uint32_t at) {
        OpRecord op = program_.ops[op_of(tensor)];
        // A reshape reads its owner directly, however many reshapes lie between, so only the reshape itself is written
        // again.
        if (owner_[tensor] != tensor) op.inputs = {owner_[tensor]};
        for (std::uint32_t& input : op.inputs) input = fetch(input, at);
        if (tensor != program_.output_of(at) && owner_[tensor] == tensor)
            written_again_ = saturating_add(written_again_, cost_of(op_of(tensor)));
        out_.ops.push_back(std::move(op));
        out_.tensors.push_back(program_.tensors[tensor]);
        out_.tensors.back().name.clear();
        now_[tensor] = static_cast<std::uint32_t>(out_.tensors.size() - 1);
        const std::uint32_t owner = owner_[tensor];
        if (owner == tensor) ++version_[owner];
        made_[tensor] = version_[owner];
        touched_[owner] = at;
    }

    /// Returns the number of `tensor` in the new program; writes its op again if its value is no longer in memory at
    /// `at`.
    std::uint32_t fetch(std::uint32_t tensor, std::uint32_t at) {
        const std::uint32_t owner = owner_[tensor];
        if (program_.is_op_output(owner)) {
            const bool kept = !chosen_[owner] && (pinned_[owner] || last_reader(owner) >= at);
            if (!kept && at - touched_[owner] > limits_.gap) append(owner, at);
            if (made_[tensor] != version_[owner]) append(tensor, at);  // a reshape of a recomputed tensor
            touched_[owner] = at;
        }
        return now_[tensor];
    }

    const Program& program_;
    const RematerialiseLimits limits_;
    std::vector<std::uint32_t> owner_;
    std::vector<std::vector<std::uint32_t>> readers_;                ///< Ops by owner, ascending.
    std::vector<bool> fixed_;                                        ///< Metrics and next states.
    std::vector<bool> chosen_;                                       ///< Not kept: late readers recompute it.
    std::vector<bool> pinned_;                                       ///< Kept because recomputations read it.
    std::uint64_t looks_ = kLooks * (program_.ops.size() + kLooks);  ///< Remaining operand visits, which bound the
                                                                     ///< time.
    std::uint64_t budget_ = 0, spent_ = 0, written_again_ = 0;       ///< Costs, as step_cost counts them.
    Program out_;
    std::vector<std::uint32_t> now_;   ///< By tensor: its number in the new program, as last written.
    std::vector<std::uint32_t> made_;  ///< By tensor: the version of its owner that was then the latest.
    std::vector<std::uint32_t> version_ = std::vector<std::uint32_t>(owner_.size(), 0);  ///< By owner.
    std::vector<std::uint32_t> touched_;  ///< By owner: the op of the program at which it was last read or written.
    std::vector<std::uint64_t> cost_;     ///< Cached cost by op.
};

}  // namespace

Program rematerialise(const Program& program, const RematerialiseLimits& limits) {
    return Rematerialiser(program, limits).run();
}

}  // namespace retrace::kernels
