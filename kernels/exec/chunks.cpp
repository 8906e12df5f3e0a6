// SPDX-License-Identifier: MIT
#include "kernels/exec/chunks.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "kernels/exec/fused_runs.hpp"
#include "kernels/ops/op.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint32_t kRunMax = 64;  ///< Maximum ops of one run.
constexpr std::uint32_t kNone = 0xffffffff;

/// How a tensor is cut: into `parts` equal parts, `chunk` of them in each piece, fewer in the last piece.
struct Cut {
    std::uint64_t parts = 0, chunk = 0;
    bool operator==(const Cut&) const = default;
    std::uint64_t pieces() const { return (parts + chunk - 1) / chunk; }
    std::uint64_t of(std::uint64_t piece) const { return std::min(chunk, parts - piece * chunk); }
};

class Chunks {
public:
    Chunks(const Program& program, const ChunkLimits& limits)
        : program_(program),
          limits_(limits),
          owner_(program.tensors.size()),
          places_(program.ops.size()),
          now_(program.tensors.size(), kNone),
          pieces_(program.tensors.size()) {
        for (std::uint32_t t = 0; t < owner_.size(); ++t) owner_[t] = t;
        for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
            if (program.ops[i].code != OpCode::reshape) continue;
            const std::uint32_t input = program.ops[i].inputs[0];
            owner_[program.output_of(i)] = owner_[input];
            places_[i] = {BufferLocation::Where::alias, input};
        }
    }

    Program run() {
        out_ = program_;
        out_.ops.clear();
        out_.tensors.resize(program_.tensors_static());
        for (std::uint32_t t = 0; t < program_.tensors_static(); ++t) now_[t] = t;
        const auto ops = static_cast<std::uint32_t>(program_.ops.size());
        bool changed = false;
        for (std::uint32_t i = 0; i < ops;) {
            const auto fused_run = program_.ops[i].code == OpCode::matmul ? run_from(i) : std::nullopt;
            const Cut cut = fused_run ? cut_of(i, *fused_run) : Cut{};
            const std::uint32_t end = fused_run ? i + fused_run->count : i + 1;
            if (cut.chunk != 0) {
                write_chunks(i, *fused_run, cut);
                changed = true;
            } else {
                for (std::uint32_t op = i; op < end; ++op) write_whole(op);
            }
            if (is_too_long()) return program_;
            i = end;
        }
        if (!changed) return program_;
        for (std::uint32_t s = 0; s < program_.states; ++s) {
            const std::uint32_t writer = program_.tensors[s].writer;
            if (writer == kNoWriter) continue;
            std::uint32_t next = whole(program_.output_of(writer));
            if (!out_.is_op_output(next)) {  // a reshape that shows a static tensor as it is
                const TensorRecord shown = out_.tensors[next];
                next = write(made_of(OpCode::reshape, {next}, {}), shown.dtype, shown.dims);
            }
            out_.tensors[s].writer = next - out_.tensors_static();
        }
        if (is_too_long()) return program_;
        return std::move(out_);
    }

private:
    bool is_too_long() const { return out_.ops.size() > program_.ops.size() + limits_.more_ops; }
    const Dims& dims(std::uint32_t tensor) const { return program_.tensors[tensor].dims; }
    std::uint64_t elements(std::uint32_t tensor) const { return geometry(dims(tensor)).elements(); }

    std::optional<FusableRun> run_from(std::uint32_t first) const {
        FusionLimits limits;
        limits.parts = 2;
        limits.part_bytes = limits.factor_max = std::numeric_limits<std::uint64_t>::max();
        auto fused_run = find_fusable_run(program_, places_, owner_, first, kRunMax, limits);
        if (!fused_run) return fused_run;
        for (std::uint32_t op = first; op < first + fused_run->count; ++op)
            if (!program_.tensors[program_.output_of(op)].name.empty()) return std::nullopt;  // a metric
        return fused_run;
    }

    /// Returns a chunk of 0 if the run is small enough to stay whole.
    Cut cut_of(std::uint32_t first, const FusableRun& fused_run) const {
        std::uint64_t largest = 0;
        for (std::uint32_t op = first; op < first + fused_run.count; ++op) {
            if (is_alias(op)) continue;
            const std::uint32_t out = program_.output_of(op);
            largest = std::max(largest, elements(out) * size_of(program_.tensors[out].dtype));
        }
        if (largest <= limits_.bytes) return {};
        const std::uint64_t part = largest / fused_run.parts;  // at least one byte, because every part has elements
        const std::uint64_t fit = std::max<std::uint64_t>(1, limits_.bytes / part);
        const std::uint64_t chunks = std::min<std::uint64_t>((fused_run.parts + fit - 1) / fit, limits_.chunks);
        return {fused_run.parts, (fused_run.parts + chunks - 1) / chunks};
    }

    // ---- the new program

    std::uint32_t write(OpRecord op, DType dtype, Dims extents) {
        out_.ops.push_back(std::move(op));
        TensorRecord record;
        record.kind = TensorKind::op_output;
        record.dtype = dtype;
        record.dims = std::move(extents);
        out_.tensors.push_back(std::move(record));
        return static_cast<std::uint32_t>(out_.tensors.size() - 1);
    }

    OpRecord made_of(OpCode code, std::vector<std::uint32_t> inputs, std::vector<std::uint64_t> attributes) const {
        OpRecord op;
        op.code = code;
        op.inputs = std::move(inputs);
        op.attributes = std::move(attributes);
        return op;
    }

    /// Returns `tensor` of the new program reshaped to `extents`.
    std::uint32_t seen_as(std::uint32_t tensor, const Dims& extents) {
        const TensorRecord& record = out_.tensors[tensor];
        if (record.dims == extents) return tensor;
        return write(made_of(OpCode::reshape, {tensor}, {}), record.dtype, extents);
    }

    void write_whole(std::uint32_t op) {
        const std::uint32_t tensor = program_.output_of(op);
        OpRecord copy = program_.ops[op];
        for (std::uint32_t& input : copy.inputs) input = whole(input);
        now_[tensor] = write(std::move(copy), program_.tensors[tensor].dtype, dims(tensor));
        out_.tensors.back().name = program_.tensors[tensor].name;
    }

    /// Returns the number of `tensor` in the new program; joins its pieces if it was written in pieces.
    std::uint32_t whole(std::uint32_t tensor) {
        if (now_[tensor] != kNone) return now_[tensor];
        const std::uint32_t owner = owner_[tensor];
        if (now_[owner] == kNone) {
            const Pieces& pieces = pieces_[owner];
            ensure(!pieces.tensors.empty(), "written as a whole or in pieces");
            Dims joined = out_.tensors[pieces.tensors.front()].dims;
            joined[0] = joined[0] / pieces.cut.of(0) * pieces.cut.parts;
            const std::uint32_t all =
                write(made_of(OpCode::concat, pieces.tensors, {0}), program_.tensors[owner].dtype, joined);
            now_[owner] = seen_as(all, dims(owner));
        }
        return now_[tensor] = seen_as(now_[owner], dims(tensor));
    }

    /// Returns the piece of `tensor` that chunk `piece` reads, with the extents `extents`.
    std::uint32_t part(std::uint32_t tensor, const Cut& cut, std::uint64_t piece, const Dims& extents) {
        const std::uint32_t owner = owner_[tensor];
        const Pieces& known = pieces_[owner];
        if (known.cut == cut) return seen_as(known.tensors[piece], extents);
        const auto [found, is_new] = slices_.try_emplace(owner, kNone);
        if (is_new) {
            const std::uint64_t part = elements(owner) / cut.parts;
            const std::uint32_t flat = seen_as(whole(owner), {cut.parts, part});
            found->second = write(made_of(OpCode::slice, {flat}, {piece * cut.chunk, 0, cut.of(piece), part}),
                                  program_.tensors[owner].dtype, {cut.of(piece), part});
        }
        return seen_as(found->second, extents);
    }

    void write_chunks(std::uint32_t first, const FusableRun& fused_run, const Cut& cut) {
        for (std::uint32_t op = first; op < first + fused_run.count; ++op)
            if (!is_alias(op)) pieces_[program_.output_of(op)].cut = cut;
        for (std::uint64_t piece = 0; piece < cut.pieces(); ++piece) {
            slices_.clear();
            auto as_whole = fused_run.whole.begin();
            for (std::uint32_t op = first; op < first + fused_run.count; ++op) {
                if (is_alias(op)) {  // written where an op reads it
                    ++as_whole;
                    continue;
                }
                const std::uint32_t tensor = program_.output_of(op);
                const OpFacts facts = facts_of_part(facts_of(program_, op), cut.of(piece), cut.parts);
                OpRecord copy = program_.ops[op];
                for (std::size_t i = 0; i < copy.inputs.size(); ++i, ++as_whole) {
                    std::uint32_t& input = copy.inputs[i];
                    input = *as_whole ? whole(input) : part(input, cut, piece, facts.inputs[i].dims);
                }
                pieces_[tensor].tensors.push_back(write(std::move(copy), facts.output.dtype, facts.output.dims));
            }
        }
    }

    bool is_alias(std::uint32_t op) const { return places_[op].where == BufferLocation::Where::alias; }

    struct Pieces {
        Cut cut;
        std::vector<std::uint32_t> tensors;  ///< Tensor numbers in the new program.
    };

    const Program& program_;
    const ChunkLimits limits_;
    std::vector<std::uint32_t> owner_;    ///< By tensor: the one that a reshape shows under other extents.
    std::vector<BufferLocation> places_;  ///< By op: reshapes are aliases.
    Program out_;
    std::vector<std::uint32_t> now_;                 ///< By tensor: its number in the new program; kNone: in pieces.
    std::vector<Pieces> pieces_;                     ///< By owner.
    std::map<std::uint32_t, std::uint32_t> slices_;  ///< By owner: the slice that this chunk has cut already.
};

}  // namespace

Program with_runs_in_chunks(const Program& program, const ChunkLimits& limits) { return Chunks(program, limits).run(); }

}  // namespace retrace::kernels
