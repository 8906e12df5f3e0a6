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
        kernels::ProgramHeader program;  ///< Opens the program root; it says how many tensors the state has.
        merkle::MultiProof proof;        ///< Proves the tensor's root in the state.
    };
    std::optional<InState> state;  ///< Absent for a tile of a data set.
    kernels::TensorHeader header;  ///< Opens the tensor root.
    Bytes tile;
    merkle::MultiProof proof;  ///< Proves the tile in the tensor.
};

inline constexpr std::size_t kTileAnswerBytesMax = 16 * 1024;
Bytes encode(const TileAnswer& answer);
Result<TileAnswer, CodecError> decode_tile_answer(View bytes);

/// Checks that `answer` proves tile `tile` of tensor `tensor` of the state under `state_root` of program
/// `program_root`. For a tile or tensor number out of range, tile 0 or tensor 0 is proved instead: the proof shows the
/// extents, and so that the report named something that does not exist.
Status<> verify_state_tile(const TileAnswer& answer, const Hash32& program_root, const Hash32& state_root,
                           std::uint32_t tensor, std::uint64_t tile);
/// The same for a tensor that is given by its root (a data set).
Status<> verify_tensor_tile(const TileAnswer& answer, const Hash32& tensor_root, std::uint64_t tile);

/// One record of a program with its proof: the answer to a report that the program is not served. It is record `index`
/// of list 0 (ops) or of any other list number (tensors), or record 0 if there is no such record.
struct ProgramAnswer {
    kernels::ProgramHeader header;  ///< Opens the program root.
    Bytes record;                   ///< Encoded record; empty if the list is empty.
    merkle::MultiProof proof;
};
Bytes encode(const ProgramAnswer& answer);
Result<ProgramAnswer, CodecError> decode_program_answer(View bytes);
Status<> verify_program_record(const ProgramAnswer& answer, const Hash32& program_root, std::uint32_t list,
                               std::uint64_t index);
ProgramAnswer answer_program(const kernels::CommittedProgram& program, std::uint32_t list, std::uint64_t index);

/// Makes the answer to a report of `tensor` and `tile`; numbers out of range are answered as above.
TileAnswer answer_state_tile(const kernels::ProgramHeader& program, const kernels::StateCommitment& commitment,
                             const kernels::State& state, std::uint32_t tensor, std::uint64_t tile,
                             kernels::ThreadPool& pool);
inline TileAnswer answer_state_tile(const kernels::CommittedProgram& program,
                                    const kernels::StateCommitment& commitment, const kernels::State& state,
                                    std::uint32_t tensor, std::uint64_t tile, kernels::ThreadPool& pool) {
    return answer_state_tile(program.header(), commitment, state, tensor, tile, pool);
}
TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, std::uint64_t tile, kernels::ThreadPool& pool);
/// The same with a tree of the tensor that is already built, so that nothing is hashed.
TileAnswer answer_tensor_tile(const kernels::Tensor& tensor, const merkle::TileTree& tree, std::uint64_t tile);
/// The answer for a state without tensors.
TileAnswer answer_empty_state(const kernels::ProgramHeader& program, const kernels::StateCommitment& commitment);

}  // namespace retrace::solver
