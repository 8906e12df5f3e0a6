// SPDX-License-Identifier: MIT
// Wire format of a move: u8 tag (index in the variant), then the fields in order. SPEC 6.
#include "merkle/tree/proof_codec.hpp"
#include "verifier/game/codec_helpers.hpp"

namespace retrace::verifier {
namespace {

using merkle::decode_multi_proof;
using merkle::encode_to;

void put(Writer& out, const PostHashes& move) { put_hashes(out, move.hashes); }
void get(Reader& in, PostHashes& move) { move.hashes = get_hashes(in, kArity); }

void put(Writer& out, const Choose& move) { out.u32(move.index); }
void get(Reader& in, Choose& move) { move.index = in.u32(); }

void put(Writer& out, const OpenState& move) {
    move.header.encode_to(out);
    move.program.encode_to(out);
}
void get(Reader& in, OpenState& move) {
    move.header = kernels::StateHeader::decode_from(in);
    move.program = kernels::ProgramHeader::decode_from(in);
}

void put(Writer& out, const OpenTrace& move) {
    out.hash(move.tensor_root);
    move.program.encode_to(out);
    put_record(out, move.record);
    encode_to(out, move.record_proof);
    out.u8(static_cast<std::uint8_t>(move.source.index()));
    if (const auto* written = std::get_if<Written>(&move.source)) {
        out.hash(written->trace_root);
        encode_to(out, written->trace_proof);
    } else {
        const auto& unwritten = std::get<Unwritten>(move.source);
        unwritten.input.encode_to(out);
        out.hash(unwritten.tensor_root);
        encode_to(out, unwritten.proof);
    }
}
void get(Reader& in, OpenTrace& move) {
    move.tensor_root = in.hash();
    move.program = kernels::ProgramHeader::decode_from(in);
    move.record = get_tensor_record(in);
    move.record_proof = decode_multi_proof(in, kSiblingsMax);
    if (in.enumerated(0, 1) == 0) {
        Written written;
        written.trace_root = in.hash();
        written.trace_proof = decode_multi_proof(in, kSiblingsMax);
        move.source = std::move(written);
    } else {
        Unwritten unwritten;
        unwritten.input = kernels::StateHeader::decode_from(in);
        unwritten.tensor_root = in.hash();
        unwritten.proof = decode_multi_proof(in, kSiblingsMax);
        move.source = std::move(unwritten);
    }
}

void put(Writer& out, const OpenTensor& move) {
    move.header.encode_to(out);
    put_record(out, move.op);
    encode_to(out, move.op_proof);
    out.u32(static_cast<std::uint32_t>(move.records.size()));
    for (const kernels::TensorRecord& record : move.records) put_record(out, record);
    encode_to(out, move.records_proof);
}
void get(Reader& in, OpenTensor& move) {
    move.header = kernels::TensorHeader::decode_from(in);
    move.op = get_op_record(in);
    move.op_proof = decode_multi_proof(in, kSiblingsMax);
    const std::uint32_t count = in.count(kOpInputsMax + 1);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) move.records.push_back(get_tensor_record(in));
    move.records_proof = decode_multi_proof(in, kSiblingsMax);
}

void put(Writer& out, const OpenTile& move) { out.bytes(move.tile); }
// A tile of a wrong length must decode, because its poster then loses: the limit is that of a whole move.
void get(Reader& in, OpenTile& move) { move.tile = to_bytes(in.bytes(kMoveBytesMax)); }

void put(Writer& out, const NameElement& move) { out.u32(move.place); }
void get(Reader& in, NameElement& move) { move.place = in.u32(); }

void put(Writer& out, const InputEvidence& input) {
    out.u32(input.tensor);
    input.header.encode_to(out);
    encode_to(out, input.provenance);
    out.u32(static_cast<std::uint32_t>(input.tiles.size()));
    for (const std::uint64_t tile : input.tiles) out.u64(tile);
    out.u32(static_cast<std::uint32_t>(input.tile_bytes.size()));
    for (const Bytes& tile : input.tile_bytes) out.bytes(tile);
    encode_to(out, input.tile_proof);
}
InputEvidence get_input(Reader& in) {
    InputEvidence input;
    input.tensor = in.u32();
    input.header = kernels::TensorHeader::decode_from(in);
    input.provenance = decode_multi_proof(in, kSiblingsMax);
    const std::uint32_t tiles = in.count(kernels::kEvidenceTilesMax, 8);
    for (std::uint32_t i = 0; i < tiles; ++i) input.tiles.push_back(in.u64());
    const std::uint32_t opened = in.count(kernels::kEvidenceTilesMax, 4);
    for (std::uint32_t i = 0; i < opened; ++i) input.tile_bytes.push_back(to_bytes(in.bytes(kTileBytesMax)));
    input.tile_proof = decode_multi_proof(in, kSiblingsMax);
    return input;
}

void put(Writer& out, const ProveElement& move) {
    out.boolean(move.input_state.has_value());
    if (move.input_state) move.input_state->encode_to(out);
    out.u32(static_cast<std::uint32_t>(move.inputs.size()));
    for (const InputEvidence& input : move.inputs) put(out, input);
    out.bytes(move.partial);
}
void get(Reader& in, ProveElement& move) {
    if (in.boolean()) move.input_state = kernels::StateHeader::decode_from(in);
    const std::uint32_t count = in.count(kernels::kEvidenceTilesMax);
    for (std::uint32_t i = 0; i < count && in.ok(); ++i) move.inputs.push_back(get_input(in));
    move.partial = to_bytes(in.bytes(kTileBytesMax));
}

template <class M>
Move read_as(Reader& in) {
    M move;
    get(in, move);
    return move;
}

template <std::size_t... tags>
Move read_tagged(Reader& in, std::size_t tag, std::index_sequence<tags...>) {
    Move move;
    ((tag == tags ? void(move = read_as<std::variant_alternative_t<tags, Move>>(in)) : void()), ...);
    return move;
}

}  // namespace

Bytes encode(const Move& move) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(move.index()));
    std::visit([&](const auto& content) { put(out, content); }, move);
    return std::move(out).take();
}

Result<Move, CodecError> decode_move(View bytes) {
    if (bytes.size() > kMoveBytesMax) return Unexpected{CodecError::too_long};
    Reader in(bytes);
    constexpr std::size_t kTags = std::variant_size_v<Move>;
    const std::uint8_t tag = in.enumerated(0, kTags - 1);
    Move move;
    if (in.ok()) move = read_tagged(in, tag, std::make_index_sequence<kTags>());
    RETRACE_CHECK(in.finish());
    return move;
}

std::size_t size_of(const Move& move) { return encode(move).size(); }

}  // namespace retrace::verifier
