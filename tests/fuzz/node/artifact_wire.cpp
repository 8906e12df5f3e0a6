// SPDX-License-Identifier: MIT
// Messages of the artifact transfer from an untrusted peer. Protobuf has many encodings of one message, so the property
// is that a second pass changes nothing.
#include "node/wire/artifact_codec.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace wire;

template <class T>
void second_pass(const Result<T, WireError>& message, Result<T, WireError> (*decode)(View)) {
    if (!message) return;
    const auto again = decode(encode(*message));
    require(again.has_value() && *again == *message, "a message survives its bytes");
}

}  // namespace

std::vector<Bytes> seeds() {
    const kernels::TensorHeader header{kernels::DType::u8, {40, 40}, Hash32{}};
    Info info;
    info.kind = Kind::tensor;
    info.header = header;
    info.missing = {{0, 2}, {4, 6}};
    return {with_kind(0, encode(TileRange{header, 1, Bytes(2048, 7), {{Hash32{}, Hash32{}}}})),
            with_kind(1, encode(StateManifest{Hash32{}, Hash32{}, 77, {Hash32{}, Hash32{}}})),
            with_kind(2, encode(info)), with_kind(3, encode(Refusal{"not_wanted", "no task names it"}))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(4);
    const View bytes = choices.rest();
    switch (kind) {
        case 0: second_pass(decode_tile_range(bytes), decode_tile_range); break;
        case 1:
            if (const auto manifest = decode_state_manifest(bytes)) (void)manifest->root();
            second_pass(decode_state_manifest(bytes), decode_state_manifest);
            break;
        case 2: second_pass(decode_info(bytes), decode_info); break;
        default: second_pass(wire::decode_refusal(bytes), wire::decode_refusal); break;
    }
}

}  // namespace retrace::fuzz
