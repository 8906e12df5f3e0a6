// SPDX-License-Identifier: MIT
#include "node/wire/artifact_codec.hpp"

#include <algorithm>

#include "kernels/program/limits.hpp"
#include "wire/artifact.pb.h"

namespace retrace::wire {
namespace {

void put_hash(std::string& out, const Hash32& hash) { out.append(hash.bytes.begin(), hash.bytes.end()); }

std::string hash_text(const Hash32& hash) { return {hash.bytes.begin(), hash.bytes.end()}; }

template <class Message>
Bytes serialise(const Message& message) {
    Bytes out(message.ByteSizeLong());
    message.SerializeWithCachedSizesToArray(out.data());
    return out;
}

/// Protobuf allocates in proportion to its input, so the length of the input is the first limit.
template <class Message>
Status<WireError> parse(Message& message, View bytes) {
    if (bytes.size() > kMessageBytesMax) return Unexpected{WireError::too_long};
    if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
        return Unexpected{WireError::malformed};
    }
    return Unit{};
}

Result<Hash32, WireError> read_hash(const std::string& bytes) {
    if (bytes.size() != Hash32::size()) return Unexpected{WireError::bad_length};
    return to_hash32(view(bytes));
}

Result<std::vector<Hash32>, WireError> read_hashes(const std::string& bytes, std::size_t limit) {
    if (bytes.size() % Hash32::size() != 0) return Unexpected{WireError::bad_length};
    if (bytes.size() / Hash32::size() > limit) return Unexpected{WireError::too_long};
    std::vector<Hash32> out(bytes.size() / Hash32::size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_hash32(view(bytes).subspan(32 * i, 32));
    return out;
}

void write_header(pb::TensorHeader& out, const kernels::TensorHeader& header) {
    out.set_dtype(static_cast<std::uint32_t>(header.dtype));
    for (const std::uint64_t extent : header.dims) out.add_dims(extent);
    out.set_tree_root(hash_text(header.tree_root));
}

Result<kernels::TensorHeader, WireError> read_header(const pb::TensorHeader& in) {
    kernels::TensorHeader out;
    out.dtype = static_cast<kernels::DType>(in.dtype());
    if (in.dtype() > 0xff || !kernels::is_dtype(out.dtype)) return Unexpected{WireError::bad_header};
    if (in.dims_size() > static_cast<int>(kernels::kRankMax)) return Unexpected{WireError::bad_header};
    out.dims.assign(in.dims().begin(), in.dims().end());
    if (!kernels::check_dims(out.dims)) return Unexpected{WireError::bad_header};
    RETRACE_TRY(tree_root, read_hash(in.tree_root()));
    out.tree_root = tree_root;
    return out;
}

/// Text from a peer may reach terminals and logs, so everything but printable ASCII becomes a question mark.
std::string printable(std::string text) {
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

}  // namespace

std::string_view slug(WireError error) noexcept {
    switch (error) {
        case WireError::too_long: return "too_long";
        case WireError::malformed: return "malformed";
        case WireError::bad_header: return "bad_header";
        case WireError::bad_length: return "bad_length";
    }
    return "unknown";
}

std::uint64_t tile_bytes(kernels::DType dtype) noexcept { return std::uint64_t{1024} * kernels::size_of(dtype); }

std::uint64_t TileRange::count() const noexcept { return tiles.size() / tile_bytes(header.dtype); }

Hash32 StateManifest::root() const {
    kernels::StateCommitment commitment{{contract, program, step, {}}, tensor_roots, {}};
    commitment.header.tree_root = commitment.tree().root();
    return commitment.header.root();
}

Bytes encode(const TileRange& range) {
    pb::TileRange out;
    write_header(*out.mutable_header(), range.header);
    out.set_first(range.first);
    out.set_tiles(range.tiles.data(), range.tiles.size());
    std::string siblings;
    for (const Hash32& sibling : range.proof.siblings) put_hash(siblings, sibling);
    out.set_siblings(std::move(siblings));
    return serialise(out);
}

Bytes encode(const StateManifest& manifest) {
    pb::StateManifest out;
    out.set_contract(hash_text(manifest.contract));
    out.set_program(hash_text(manifest.program));
    out.set_step(manifest.step);
    std::string roots;
    for (const Hash32& root : manifest.tensor_roots) put_hash(roots, root);
    out.set_tensor_roots(std::move(roots));
    return serialise(out);
}

Bytes encode(const Info& info) {
    pb::Info out;
    out.set_kind(static_cast<pb::Info::Kind>(info.kind));
    out.set_complete(info.complete);
    out.set_bytes(info.bytes);
    if (info.kind == Kind::tensor) write_header(*out.mutable_header(), info.header);
    for (const Range& range : info.missing) {
        pb::Range& gap = *out.add_missing();
        gap.set_first(range.first);
        gap.set_count(range.count);
    }
    return serialise(out);
}

Bytes encode(const Refusal& refusal) {
    pb::Refusal out;
    out.set_slug(refusal.slug);
    out.set_message(refusal.message.substr(0, kRefusalTextMax));
    return serialise(out);
}

Result<TileRange, WireError> decode_tile_range(View bytes) {
    pb::TileRange in;
    RETRACE_CHECK(parse(in, bytes));
    TileRange out;
    RETRACE_TRY(header, read_header(in.header()));
    out.header = std::move(header);
    out.first = in.first();
    const std::uint64_t size = tile_bytes(out.header.dtype);
    if (in.tiles().size() % size != 0) return Unexpected{WireError::bad_length};
    if (in.tiles().size() / size > kRangeTilesMax) return Unexpected{WireError::too_long};
    out.tiles = to_bytes(view(in.tiles()));
    RETRACE_TRY(siblings, read_hashes(in.siblings(), 128));  // Two per level, for at most 2^64 leaves.
    out.proof.siblings = std::move(siblings);
    return out;
}

Result<StateManifest, WireError> decode_state_manifest(View bytes) {
    pb::StateManifest in;
    RETRACE_CHECK(parse(in, bytes));
    StateManifest out;
    RETRACE_TRY(contract, read_hash(in.contract()));
    RETRACE_TRY(program, read_hash(in.program()));
    RETRACE_TRY(roots, read_hashes(in.tensor_roots(), kStateTensorsMax));
    out.contract = contract;
    out.program = program;
    out.step = in.step();
    out.tensor_roots = std::move(roots);
    return out;
}

Result<Info, WireError> decode_info(View bytes) {
    pb::Info in;
    RETRACE_CHECK(parse(in, bytes));
    Info out;
    if (in.kind() < 0 || in.kind() > 3) return Unexpected{WireError::malformed};
    out.kind = static_cast<Kind>(in.kind());
    out.complete = in.complete();
    out.bytes = in.bytes();
    if (out.kind == Kind::tensor) {
        RETRACE_TRY(header, read_header(in.header()));
        out.header = std::move(header);
    }
    if (in.missing_size() > static_cast<int>(kMissingRangesMax)) return Unexpected{WireError::too_long};
    const std::uint64_t tiles = out.kind == Kind::tensor ? kernels::geometry(out.header.dims).tiles() : 0;
    std::uint64_t from = 0;
    for (const pb::Range& gap : in.missing()) {
        if (gap.count() == 0 || gap.first() < from || gap.first() > tiles || gap.count() > tiles - gap.first()) {
            return Unexpected{WireError::malformed};
        }
        out.missing.push_back({gap.first(), gap.count()});
        from = gap.first() + gap.count();
    }
    return out;
}

Result<Refusal, WireError> decode_refusal(View bytes) {
    pb::Refusal in;
    RETRACE_CHECK(parse(in, bytes));
    if (in.slug().size() > 100 || in.message().size() > kRefusalTextMax) return Unexpected{WireError::too_long};
    return Refusal{printable(in.slug()), printable(in.message())};
}

}  // namespace retrace::wire
