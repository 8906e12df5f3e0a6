// SPDX-License-Identifier: MIT
// The game's encoding as the ledger stores it, and the helpers that it shares with moves. SPEC 6.
#include "kernels/program/limits.hpp"
#include "verifier/game/codec_helpers.hpp"

namespace retrace::verifier {
namespace {

constexpr std::size_t kDataRootsMax = 64;

void put(Writer& out, const Facts& facts) {
    out.hash(facts.contract).hash(facts.program_root).hash(facts.played_root).u64(facts.seed);
    put_hashes(out, facts.data_roots);
}
Facts get_facts(Reader& in) {
    Facts facts;
    facts.contract = in.hash();
    facts.program_root = in.hash();
    facts.played_root = in.hash();
    facts.seed = in.u64();
    facts.data_roots = get_hashes(in, kDataRootsMax);
    return facts;
}

/// The kind of a claim: bit 0 is set for an initialiser, bit 1 for a group member's claim.
void put(Writer& out, const Claim& claim) {
    out.u8(static_cast<std::uint8_t>((claim.initialiser ? 1 : 0) | (claim.positions ? 2 : 0)));
    out.u64(claim.first_step).u64(claim.last_step);
    out.hash(claim.start_root).hash(claim.end_root);
}
Claim get_claim(Reader& in) {
    Claim claim;
    const std::uint8_t kind = in.enumerated(0, 3);
    claim.initialiser = (kind & 1) != 0;
    claim.positions = (kind & 2) != 0;
    claim.first_step = in.u64();
    claim.last_step = in.u64();
    claim.start_root = in.hash();
    claim.end_root = in.hash();
    return claim;
}

void put(Writer& out, const Search& search) {
    out.u64(search.low).u64(search.high).hash(search.low_hash).hash(search.high_hash);
}
Search get_search(Reader& in) {
    Search search;
    search.low = in.u64();
    search.high = in.u64();
    search.low_hash = in.hash();
    search.high_hash = in.hash();
    return search;
}

void put(Writer& out, const Descent& descent) {
    out.u64(descent.leaves).u64(descent.index).u32(descent.level).hash(descent.node);
}
Descent get_descent(Reader& in) {
    Descent descent;
    descent.leaves = in.u64();
    descent.index = in.u64();
    descent.level = in.u32();
    descent.node = in.hash();
    return descent;
}

void put(Writer& out, const kernels::OpFacts::Operand& operand) {
    out.u8(static_cast<std::uint8_t>(operand.dtype)).u8(static_cast<std::uint8_t>(operand.dims.size()));
    for (const std::uint64_t extent : operand.dims) out.u64(extent);
}
kernels::OpFacts::Operand get_operand(Reader& in) {
    kernels::OpFacts::Operand operand;
    operand.dtype = static_cast<kernels::DType>(in.enumerated(1, 6));
    if (in.ok() && !kernels::is_dtype(operand.dtype)) in.fail(CodecError::not_canonical);
    const std::uint8_t rank = in.enumerated(0, kernels::kRankMax);
    for (std::uint8_t i = 0; i < rank; ++i) operand.dims.push_back(in.u64());
    return operand;
}

/// The op is known only after open_tensor; an absent one has no valid record to encode.
void put_op(Writer& out, const Game& game) {
    const bool known = game.op.op.code != kernels::OpCode{};
    out.boolean(known);
    if (!known) return;
    put_record(out, game.op.op);
    out.u32(static_cast<std::uint32_t>(game.op.inputs.size()));
    for (const auto& operand : game.op.inputs) put(out, operand);
    put(out, game.op.output);
    out.u32(static_cast<std::uint32_t>(game.op_inputs.size()));
    for (const InputOrigin& origin : game.op_inputs) out.u8(static_cast<std::uint8_t>(origin.kind)).u32(origin.place);
}
void get_op(Reader& in, Game& game) {
    if (!in.boolean()) return;
    game.op.op = get_op_record(in);
    if (game.op.op.code == kernels::OpCode{}) in.fail(CodecError::not_canonical);
    const std::uint32_t inputs = in.count(kOpInputsMax, 2);
    for (std::uint32_t i = 0; i < inputs; ++i) game.op.inputs.push_back(get_operand(in));
    game.op.output = get_operand(in);
    const std::uint32_t origins = in.count(kOpInputsMax, 5);
    for (std::uint32_t i = 0; i < origins; ++i) {
        const auto kind = static_cast<kernels::TensorKind>(in.enumerated(1, 4));
        game.op_inputs.push_back({kind, in.u32()});
    }
}

void put(Writer& out, const Found& found) {
    out.u64(found.step).u32(found.state_tensor).u32(found.op).u64(found.tile).u64(found.link).u64(found.element);
    out.u32(found.claimed_bits).u32(found.referee_bits);
}
Found get_found(Reader& in) {
    Found found;
    found.step = in.u64();
    found.state_tensor = in.u32();
    found.op = in.u32();
    found.tile = in.u64();
    found.link = in.u64();
    found.element = in.u64();
    found.claimed_bits = in.u32();
    found.referee_bits = in.u32();
    return found;
}

void put(Writer& out, const StepFacts& facts) {
    out.hash(facts.played_root).u64(facts.seed);
    put_hashes(out, facts.data_roots);
    out.u64(facts.op_step).u64(facts.output_step);
}
StepFacts get_step_facts(Reader& in) {
    StepFacts facts;
    facts.played_root = in.hash();
    facts.seed = in.u64();
    facts.data_roots = get_hashes(in, kDataRootsMax);
    facts.op_step = in.u64();
    facts.output_step = in.u64();
    return facts;
}

template <class Record>
Record take(Reader& in, Result<Record> record) {
    if (!in.ok()) return {};
    if (record) return std::move(record).value();
    in.fail(CodecError::not_canonical);
    return {};
}

}  // namespace

void put_hashes(Writer& out, const std::vector<Hash32>& hashes) {
    out.u32(static_cast<std::uint32_t>(hashes.size()));
    for (const Hash32& hash : hashes) out.hash(hash);
}

std::vector<Hash32> get_hashes(Reader& in, std::size_t limit) {
    const std::uint32_t count = in.count(limit, Hash32::size());
    std::vector<Hash32> hashes;
    for (std::uint32_t i = 0; i < count; ++i) hashes.push_back(in.hash());
    return hashes;
}

kernels::OpRecord get_op_record(Reader& in) {
    const View bytes = in.bytes(kRecordBytesMax);
    return take(in, kernels::decode_op_record(bytes));
}

kernels::TensorRecord get_tensor_record(Reader& in) {
    const View bytes = in.bytes(kRecordBytesMax);
    return take(in, kernels::decode_tensor_record(bytes));
}

Bytes encode(const Game& game) {
    Writer out;
    put(out, game.facts);
    put(out, game.claim);
    out.u8(static_cast<std::uint8_t>(game.phase)).u8(static_cast<std::uint8_t>(game.mover));
    out.u8(static_cast<std::uint8_t>(game.ending));
    out.boolean(game.loser.has_value());
    if (game.loser) out.u8(static_cast<std::uint8_t>(*game.loser));
    out.u32(game.rounds).u64(game.evidence_bytes).u64(game.largest_move);
    put(out, game.search);
    put(out, game.descent);
    put_hashes(out, game.posted);
    out.hash(game.input_root);
    put_hashes(out, game.accepted);
    game.program.encode_to(out);
    put_op(out, game);
    out.bytes(game.tile);
    put(out, game.found);
    if (game.claim.positions) {
        out.boolean(game.position.has_value());
        if (game.position) put(out, *game.position);
    }
    return std::move(out).take();
}

Result<Game, CodecError> decode_game(View bytes) {
    Reader in(bytes);
    Game game;
    game.facts = get_facts(in);
    game.claim = get_claim(in);
    game.phase = static_cast<Phase>(in.enumerated(1, static_cast<std::uint8_t>(Phase::decided)));
    game.mover = static_cast<Side>(in.enumerated(1, 2));
    game.ending = static_cast<Ending>(in.enumerated(0, static_cast<std::uint8_t>(Ending::nothing_disputed)));
    if (in.boolean()) game.loser = static_cast<Side>(in.enumerated(1, 2));
    game.rounds = in.u32();
    game.evidence_bytes = in.u64();
    game.largest_move = in.u64();
    game.search = get_search(in);
    game.descent = get_descent(in);
    game.posted = get_hashes(in, kArity);
    game.input_root = in.hash();
    game.accepted = get_hashes(in, 64);
    game.program = kernels::ProgramHeader::decode_from(in);
    get_op(in, game);
    game.tile = to_bytes(in.bytes(kTileBytesMax));
    game.found = get_found(in);
    if (game.claim.positions) {
        if (in.boolean()) game.position = get_step_facts(in);
        // No game is stored while it waits for them. The end may come before the search does.
        const bool found = game.phase != Phase::search_steps;
        if (game.phase != Phase::decided && found != game.position.has_value()) in.fail(CodecError::not_canonical);
    }
    RETRACE_CHECK(in.finish());
    return game;
}

}  // namespace retrace::verifier
