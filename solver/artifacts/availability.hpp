// SPDX-License-Identifier: MIT
// One tile of a state or of a data set with its proof, as posted on the ledger to answer reportUnavailable
// (contracts 16): about 5 KiB. The ledger and the solver share these functions.
#pragma once

#include <optional>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"

namespace retrace::solver {

struct TileAnswer {
    struct InState {
        kernels::StateHeader header;     ///< Opens the state root.
        kernels::ProgramHeader program;  ///< Opens the program root: how many tensors the state has.
        merkle::MultiProof proof;        ///< Of the tensor's root in the state.
    };
    std::optional<InState> state;  ///< Absent for a tile of a data set.
    kernels::TensorHeader header;  ///< Opens the tensor root.
    Bytes tile;
    merkle::MultiProof proof;  ///< Of the tile in the tensor.
};

inline constexpr std::size_t kTileAnswerBytesMax = 16 * 1024;
Bytes encode(const TileAnswer& answer);
Result<TileAnswer, CodecError> decode_tile_answer(View bytes);

/// Whether `answer` shows tile `tile` of tensor `tensor` of the state under `state_root` of program
/// `program_root`. A tile beyond the tensor, or a tensor beyond the state, is answered by any tile of it
/// (tile 0 of tensor 0 for a tensor beyond): a report that names what does not exist is refused by whoever
/// can prove the extents.
Status<> verify_state_tile(const TileAnswer& answer, const Hash32& program_root, const Hash32& state_root,
                           std::uint32_t tensor, std::uint64_t tile);
/// The same for a tensor that is named by its root (a data set).
Status<> verify_tensor_tile(const TileAnswer& answer, const Hash32& tensor_root, std::uint64_t tile);

/// One record of a program with its proof: an answer to "the program is not served". Of list 0 (ops) or any
/// other (tensors), record `index`, or record 0 if there is no such record.
struct ProgramAnswer {
    kernels::ProgramHeader header;  ///< Opens the program root.
    Bytes record;                   ///< Encoded; empty when the list is.
    merkle::MultiProof proof;
};
Bytes encode(const ProgramAnswer& answer);
Result<ProgramAnswer, CodecError> decode_program_answer(View bytes);
Status<> verify_program_record(const ProgramAnswer& answer, const Hash32& program_root, std::uint32_t list,
                               std::uint64_t index);
ProgramAnswer answer_program(const kernels::CommittedProgram& program, std::uint32_t list,
                             std::uint64_t index);

/// Makes the answer. `tensor` and `tile` as reported; what does not exist is answered as above.
TileAnswer answer_state_tile(const kernels::ProgramHeader& program,
                             const kernels::StateCommitment& commitment, const kernels::State& state,
                             std::uint32_t tensor, std::uint64_t tile, kernels::ThreadPool& pool);
inline TileAnswer answer_state_tile(const kernels::CommittedProgram& program,
                                    const kernels::StateCommitment& commitment, const kernels::State& state,
                                    std::uint32_t tensor, std::uint64_t tile, kernels::ThreadPool& pool) {
    return answer_state_tile(program.header(), commitment, state, tensor, tile, pool);
}
TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, std::uint64_t tile, kernels::ThreadPool& pool);
/// The same of a tensor whose tree is there: nothing of it is hashed.
TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, const merkle::TileTree& tree, std::uint64_t tile);
/// Of a state without tensors.
TileAnswer answer_empty_state(const kernels::ProgramHeader& program, const kernels::StateCommitment& commitment);

}  // namespace retrace::solver
