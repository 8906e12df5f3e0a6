// SPDX-License-Identifier: MIT
// The dispute game as the ledger sees it (verifier 2): a pure state machine without accounts, clocks or bonds.
// `contracts` stores the encoded Game, charges clocks and pays; the players of both sides read the same record.
#pragma once

#include <array>
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

/// Facts that the task record fixes for every dispute about the task. In a group task the last three differ from
/// position to position (StepFacts) and are empty here.
struct Facts {
    Hash32 contract;      ///< Kernel contract hash.
    Hash32 program_root;  ///< Root of the training program, or of the group's plan; part of every state root.
    Hash32 played_root;   ///< Root of the program whose ops are played: program_root, or the initialiser's root.
    std::uint64_t seed = 0;
    std::vector<Hash32> data_roots;
    bool operator==(const Facts&) const = default;
};

/// The disputed claim: the state at first_step is agreed (start_root), the one at last_step is not (end_root). A seeded
/// initialiser has no start state: initialiser = true, first_step = last_step = 0, and play starts at open_state, or later.
struct Claim {
    bool initialiser = false;
    std::uint64_t first_step = 0, last_step = 0;
    Hash32 start_root, end_root;
    /// The claim is a group member's: first_step is 0 and last_step the number of the segment's positions. SPEC 9.2.
    bool positions = false;
    bool operator==(const Claim&) const = default;
};

/// What fixes the step in which the disputed state was made.
struct StepFacts {
    Hash32 played_root;  ///< Root of the program whose ops are played.
    std::uint64_t seed = 0;
    std::vector<Hash32> data_roots;
    std::uint64_t op_step = 0;      ///< The step that the ops see.
    std::uint64_t output_step = 0;  ///< The step in the header of the state after it.
    bool operator==(const StepFacts&) const = default;
};

enum class Phase : std::uint8_t {
    search_steps = 1,    ///< Solver posts intermediate state roots, challenger names the first it disputes.
    open_state = 2,      ///< Solver opens the header of the disputed state root.
    descend_state = 3,   ///< Solver posts children of the state tree node, challenger names one.
    open_trace = 4,      ///< Solver posts the trace root bound to the disputed tensor (or proves it unwritten).
    descend_trace = 5,   ///< As descend_state, in the trace tree.
    open_tensor = 6,     ///< Solver opens the op's output header and the op's static facts.
    descend_tiles = 7,   ///< As descend_state, in the tree of tiles.
    search_links = 8,    ///< As search_steps, over the partial results of a tile.
    open_tile = 9,       ///< Solver opens the disputed tile or partial.
    name_element = 10,   ///< Challenger names one element.
    prove_element = 11,  ///< Challenger posts the agreed inputs; the referee decides.
    decided = 12,
};
std::string_view slug(Phase phase) noexcept;

/// Reason why the game was decided; the numbers are stable.
enum class Ending : std::uint8_t {
    none = 0,
    referee_solver_wrong = 1,
    referee_challenger_wrong = 2,
    wrong_header = 3,       ///< Step, contract, program, dtype or dims differ from the static facts: solver loses.
    unwritten_changed = 4,  ///< A tensor that no op writes changed: solver loses.
    unwritten_equal = 5,    ///< It did not change: the challenger disputed an agreed value and loses.
    bad_tile = 6,           ///< Wrong length, nonzero padding, bool not 0 or 1: solver loses.
    timeout_solver = 7,
    timeout_challenger = 8,  ///< Set through `expire`.
    bad_program = 9,         ///< The opened records are not a valid op: solver loses, it should not have accepted them.
    nothing_disputed = 10,   ///< The disputed hash covers static facts only, all of them right: challenger loses.
};
std::string_view slug(Ending ending) noexcept;

/// The disputed position found so far, for events and the demo's table. A field is valid once its level is passed.
struct Found {
    std::uint64_t step = 0;  ///< The disputed step or position t (state t → t+1).
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
/// Positions strictly between low and high at which hashes are posted (at most kArity - 1, ascending).
std::vector<std::uint64_t> search_positions(const Search& search);
/// Level, first index and count (2..16) of the children that the solver posts for a descent.
struct Children {
    std::uint32_t level = 0;
    std::uint64_t first = 0, count = 0;
};
Children children_of(const Descent& descent);
/// Position of leaf `before` < `leaf` among the subtrees left of the path to `leaf`. There is one such subtree,
/// complete with 2^h leaves, for each set bit h of `leaf`, listed from the highest bit. Choosing `leaf` accepted all of
/// them.
struct LeftSubtree {
    std::size_t place = 0;    ///< Index in the list.
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
    Descent descent;                     ///< Position in the state tree, trace or tile tree.
    std::vector<Hash32> posted;          ///< Hashes that await the challenger's answer.
    Hash32 input_root;                   ///< Agreed input state of the step.
    std::vector<Hash32> accepted;        ///< Subtrees of the trace left of the disputed op: see left_subtree.
    kernels::ProgramHeader program;      ///< Program of played_root; set after open_trace.
    kernels::OpFacts op;                 ///< Set after open_tensor.
    std::vector<InputOrigin> op_inputs;  ///< Source of each input slot's tensor; set after open_tensor.
    Bytes tile;                          ///< Set after open_tile.
    Found found;
    std::optional<StepFacts> position;  ///< Facts of the disputed position; set by set_position.
};
Bytes encode(const Game& game);
Result<Game, CodecError> decode_game(View bytes);

// Moves. Each one is encoded with the canonical codec inside one `bytes` argument of the contract call.
struct PostHashes {
    std::vector<Hash32> hashes;
};  ///< For search_steps, descend_* and search_links.
struct Choose {
    std::uint32_t index = 0;
};  ///< Index into posted; posted.size() means `high` in a search.
struct OpenState {
    kernels::StateHeader header;     ///< Preimage of the disputed state root.
    kernels::ProgramHeader program;  ///< Opens program_root, or a position's played_root: gives the number of state
                                     ///< tensors.
};
struct Written {
    Hash32 trace_root;
    merkle::MultiProof trace_proof;  ///< Proves that the writer's leaf in the trace holds tensor_root.
};
struct Unwritten {
    kernels::StateHeader input;  ///< Opens the agreed input state.
    Hash32 tensor_root;          ///< The tensor's root in that state.
    merkle::MultiProof proof;    ///< Proof of tensor_root in that state.
};
struct OpenTrace {
    Hash32 tensor_root;              ///< Preimage of the disputed state leaf.
    kernels::ProgramHeader program;  ///< Opens played_root.
    kernels::TensorRecord record;    ///< Record of the state tensor; proved by record_proof.
    merkle::MultiProof record_proof;
    std::variant<Written, Unwritten> source;  ///< Which one applies follows from the record.
};
struct OpenTensor {
    kernels::TensorHeader header;  ///< Preimage of the disputed trace leaf.
    kernels::OpRecord op;
    merkle::MultiProof op_proof;
    std::vector<kernels::TensorRecord> records;  ///< Inputs in order of tensor number (distinct), output last.
    merkle::MultiProof records_proof;
};
struct OpenTile {
    Bytes tile;
};
struct NameElement {
    std::uint32_t place = 0;
};  ///< Row in tile × 32 + column in tile, below 1024.
/// Agreed inputs of the element: provenance and tiles of every distinct input tensor that is read.
struct InputEvidence {
    std::uint32_t tensor = 0;  ///< Tensor number in the program.
    kernels::TensorHeader header;
    merkle::MultiProof provenance;     ///< Proof in the input state, in the constant tree or in the accepted subtree of
                                       ///< the trace (Game::accepted); empty for data.
    std::vector<std::uint64_t> tiles;  ///< Ascending.
    std::vector<Bytes> tile_bytes;
    merkle::MultiProof tile_proof;
};
struct ProveElement {
    std::optional<kernels::StateHeader> input_state;  ///< Present if a state tensor is read.
    std::vector<InputEvidence> inputs;                ///< Ascending tensor numbers.
    Bytes partial;                                    ///< Tile of the partial before the link; empty for link 0.
};
/// The index in the variant is the wire tag.
using Move = std::variant<PostHashes, Choose, OpenState, OpenTrace, OpenTensor, OpenTile, NameElement, ProveElement>;
Bytes encode(const Move& move);
/// Whether a move can end its game, by wire tag. PostHashes, Choose and NameElement only narrow it. SPEC 2.
inline constexpr std::array<bool, std::variant_size_v<Move>> kMayDecide = {false, false, true,  true,
                                                                           true,  true,  false, true};
inline constexpr std::size_t kMoveBytesMax = 96 * 1024;
/// Largest number of input slots of an op whose evidence the ledger accepts.
inline constexpr std::size_t kOpInputsMax = 64;
Result<Move, CodecError> decode_move(View bytes);

/// Reasons for refusing a move; a refused move changes nothing. The numbers are stable.
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
/// Whether the game knows the disputed position (found.step, or the initialiser) and waits for its facts: after `start`
/// and after moves, if the claim is a group member's.
bool needs_position(const Game& game);
/// Supplies them. Asserts that the game waits for them.
void set_position(Game& game, StepFacts facts);
/// The facts of the disputed step or position, which has been found (asserted).
StepFacts step_facts(const Game& game);
/// Applies a move of `side`. On error `game` is unchanged. Asserts that the game does not wait for facts.
Status<MoveError> apply(Game& game, Side side, const Move& move);
/// Ends the game because the clock of the side to move ran out.
void expire(Game& game);
/// Encoded size of a move, as added to evidence_bytes.
std::size_t size_of(const Move& move);

}  // namespace retrace::verifier
