// SPDX-License-Identifier: MIT
// The dispute game as the ledger sees it (verifier 2): a pure state machine, no accounts, no clocks, no
// bonds. `contracts` stores the encoded Game, charges clocks and pays; the players of both sides read the
// same record.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "kernels/ops/element.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/base/codec.hpp"
#include "merkle/tree/tile_tree.hpp"

namespace retrace::verifier {

enum class Side : std::uint8_t { solver = 1, challenger = 2 };

/// What the task record fixes for every dispute about it.
struct Facts {
    Hash32 contract;      ///< Kernel contract hash.
    Hash32 program_root;  ///< Of the training program; part of every state root.
    Hash32 played_root;   ///< Program whose ops are played: program_root, or the initialiser's root.
    std::uint64_t seed = 0;
    std::vector<Hash32> data_roots;
    bool operator==(const Facts&) const = default;
};

/// The dispute: the state at first_step is agreed (start_root), the one at last_step is not (end_root).
/// For a seeded initialiser there is no start: initialiser = true, first_step = last_step = 0, play starts
/// below level A.
struct Claim {
    bool initialiser = false;
    std::uint64_t first_step = 0, last_step = 0;
    Hash32 start_root, end_root;
    bool operator==(const Claim&) const = default;
};

enum class Phase : std::uint8_t {
    search_steps = 1,   ///< A: solver posts state roots between, challenger names the first it disputes.
    open_state = 2,     ///< Solver opens the header of the disputed state root.
    descend_state = 3,  ///< Solver posts children of the state tree node, challenger names one.
    open_trace = 4,  ///< Solver posts the trace root bound to the disputed tensor (or proves it unwritten).
    descend_trace = 5,   ///< B
    open_tensor = 6,     ///< Solver opens the op's output header and the op's static facts.
    descend_tiles = 7,   ///< C
    search_links = 8,    ///< D
    open_tile = 9,       ///< Solver opens the disputed tile or partial.
    name_element = 10,   ///< Challenger names one element.
    prove_element = 11,  ///< Challenger posts the agreed inputs; the referee decides.
    decided = 12,
};
std::string_view slug(Phase phase) noexcept;

/// Why it was decided; numbers are stable.
enum class Ending : std::uint8_t {
    none = 0,
    referee_solver_wrong = 1,
    referee_challenger_wrong = 2,
    wrong_header = 3,  ///< Step, contract, program, dtype or dims differ from the static facts: solver loses.
    unwritten_changed = 4,  ///< A tensor that no op writes changed: solver loses.
    unwritten_equal = 5,    ///< It did not change, the challenger disputed an agreed value: challenger loses.
    bad_tile = 6,           ///< Wrong length, nonzero padding, bool not 0 or 1: solver loses.
    timeout_solver = 7,
    timeout_challenger = 8,  ///< Set through `expire`.
    bad_program = 9,  ///< The opened records are no valid op: solver loses, it should not have accepted them.
    nothing_disputed =
        10,  ///< The disputed hash holds static facts only, all of them right: challenger loses.
};
std::string_view slug(Ending ending) noexcept;

/// What was narrowed down to, for events and the demo's table; fields are valid once their level is passed.
struct Found {
    std::uint64_t step = 0;  ///< The disputed step t (state t → t+1).
    std::uint32_t state_tensor = 0, op = 0;
    std::uint64_t tile = 0, link = 0, element = 0;
    std::uint32_t claimed_bits = 0, referee_bits = 0;
    bool operator==(const Found&) const = default;
};

/// A position in a Merkle descent: node `index` at `level` (0 = leaves) of a tree over `leaves` leaves.
struct Descent {
    std::uint64_t leaves = 0, index = 0;
    std::uint32_t level = 0;
    Hash32 node;
    bool operator==(const Descent&) const = default;
};
/// A cumulative search: position `low` is agreed, `high` is disputed.
struct Search {
    std::uint64_t low = 0, high = 0;
    Hash32 low_hash, high_hash;
    bool operator==(const Search&) const = default;
};
inline constexpr std::uint64_t kArity = 16;
/// Positions at which hashes are posted strictly between low and high (at most kArity - 1, ascending).
std::vector<std::uint64_t> search_positions(const Search& search);
/// Level and first index of the children that the solver posts for a descent, and their count (2..16).
struct Children {
    std::uint32_t level = 0;
    std::uint64_t first = 0, count = 0;
};
Children children_of(const Descent& descent);
/// Where leaf `before` < `leaf` lies among the subtrees left of the path to `leaf`. There is one such
/// subtree, complete, of 2^h leaves, for each set bit h of `leaf`, listed from the highest: choosing `leaf`
/// accepted them all.
struct LeftSubtree {
    std::size_t place = 0;    ///< In the list.
    std::uint32_t level = 0;  ///< h
};
LeftSubtree left_subtree(std::uint64_t leaf, std::uint64_t before);

/// Provenance of an op's input: its kind and its place among the tensors of that kind.
struct InputOrigin {
    kernels::TensorKind kind = kernels::TensorKind::op_output;
    std::uint32_t place = 0;
    bool operator==(const InputOrigin&) const = default;
};

struct Game {
    Facts facts;
    Claim claim;
    Phase phase = Phase::search_steps;
    Side mover = Side::solver;
    Ending ending = Ending::none;
    std::optional<Side> loser;
    std::uint32_t rounds = 0;          ///< Moves of the challenger so far (one round = post + answer).
    std::uint64_t evidence_bytes = 0;  ///< Encoded bytes of all moves so far.
    std::uint64_t largest_move = 0;

    Search search;                       ///< Levels A and D.
    Descent descent;                     ///< State tree, trace, tiles.
    std::vector<Hash32> posted;          ///< Hashes waiting for the challenger's answer.
    Hash32 input_root;                   ///< Agreed input state of the step.
    std::vector<Hash32> accepted;        ///< Subtrees of the trace left of the disputed op: see left_subtree.
    kernels::ProgramHeader program;      ///< Of played_root, after open_trace.
    kernels::OpFacts op;                 ///< After open_tensor.
    std::vector<InputOrigin> op_inputs;  ///< Where each input slot's tensor comes from, after open_tensor.
    Bytes tile;                          ///< After open_tile.
    Found found;
};
Bytes encode(const Game& game);
Result<Game, CodecError> decode_game(View bytes);

// Moves. Each is canonical-codec encoded inside one `bytes` argument of the contract call.
struct PostHashes {
    std::vector<Hash32> hashes;
};  ///< search_steps, descend_*, search_links
struct Choose {
    std::uint32_t index = 0;
};  ///< Index into posted; == posted.size() means `high` in a search
struct OpenState {
    kernels::StateHeader header;     ///< Behind the disputed state root.
    kernels::ProgramHeader program;  ///< Opens program_root: how many state tensors there are.
};
struct Written {
    Hash32 trace_root;
    merkle::MultiProof trace_proof;  ///< Leaf of the writer in the trace holds tensor_root.
};
struct Unwritten {
    kernels::StateHeader input;  ///< Opens the agreed input state,
    Hash32 tensor_root;          ///< the tensor's root in it,
    merkle::MultiProof proof;    ///< and the proof.
};
struct OpenTrace {
    Hash32 tensor_root;              ///< Behind the disputed state leaf.
    kernels::ProgramHeader program;  ///< Opens played_root.
    kernels::TensorRecord record;    ///< Of the state tensor, with its proof.
    merkle::MultiProof record_proof;
    std::variant<Written, Unwritten> source;  ///< As the record says.
};
struct OpenTensor {
    kernels::TensorHeader header;  ///< Behind the disputed trace leaf.
    kernels::OpRecord op;
    merkle::MultiProof op_proof;
    std::vector<kernels::TensorRecord>
        records;  ///< Inputs in order of tensor number (distinct), output last.
    merkle::MultiProof records_proof;
};
struct OpenTile {
    Bytes tile;
};
struct NameElement {
    std::uint32_t place = 0;
};  ///< Row-in-tile × 32 + col-in-tile, below 1024.
/// Agreed inputs of the element: for every distinct input tensor that is read, its provenance and its tiles.
struct InputEvidence {
    std::uint32_t tensor = 0;  ///< Tensor number in the program.
    kernels::TensorHeader header;
    merkle::MultiProof provenance;  ///< In the input state or constant tree, or in the accepted subtree of
                                    ///< the trace (Game::accepted); empty for data.
    std::vector<std::uint64_t> tiles;  ///< Ascending.
    std::vector<Bytes> tile_bytes;
    merkle::MultiProof tile_proof;
};
struct ProveElement {
    std::optional<kernels::StateHeader> input_state;  ///< When a state tensor is read.
    std::vector<InputEvidence> inputs;                ///< Ascending tensor numbers.
    Bytes partial;                                    ///< Tile of the partial before; empty for link 0.
};
/// Index in the variant is the wire tag.
using Move =
    std::variant<PostHashes, Choose, OpenState, OpenTrace, OpenTensor, OpenTile, NameElement, ProveElement>;
Bytes encode(const Move& move);
inline constexpr std::size_t kMoveBytesMax = 96 * 1024;
/// Input slots of an op whose evidence the ledger takes.
inline constexpr std::size_t kOpInputsMax = 64;
Result<Move, CodecError> decode_move(View bytes);

/// Refusals; a refused move changes nothing. Numbers are stable.
enum class MoveError : std::uint8_t {
    not_your_turn = 1,
    wrong_move = 2,
    decided = 3,
    wrong_count = 4,
    out_of_range = 5,
    wrong_children = 6,
    bad_proof = 7,
    wrong_opening = 8,
    missing_input = 9,
    too_large = 10,
    wrong_leaf = 11,
};
std::string_view slug(MoveError error) noexcept;

Game start(const Facts& facts, const Claim& claim);
/// Applies a move of `side`. On error `game` is unchanged.
Status<MoveError> apply(Game& game, Side side, const Move& move);
/// The clock of the side to move ran out.
void expire(Game& game);
/// Encoded size that a move adds to evidence_bytes.
std::size_t size_of(const Move& move);

}  // namespace retrace::verifier
