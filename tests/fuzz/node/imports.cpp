// SPDX-License-Identifier: MIT
// Untrusted files of data sets: IDX, gzip, NumPy arrays and archives, CSV, safetensors, tokens, images. An accepted
// file gives a data set that passes the checker.
#include "node/tasks/data/gzip.hpp"
#include "node/tasks/data/images.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/data/npy.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

constexpr std::size_t kUnpackedMax = 1 << 20;

void accept(const Result<DataSet>& data) {
    if (data) require(check(*data).has_value(), "what is imported passes the checker");
}

void accept(const Result<kernels::Tensor>& tensor) {
    if (!tensor) return;
    const std::uint64_t bytes = tensor->elements() * kernels::size_of(tensor->dtype);
    require(tensor->data.size() == bytes, "a tensor has the bytes that its extents say");
}

Bytes idx_file() {
    Bytes out{0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3};
    out.resize(out.size() + 6, 5);
    return out;
}

Bytes npy_file() {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    header.resize(117, ' ');
    header += '\n';
    Writer out;
    out.u8(0x93).raw(view(std::string_view("NUMPY"))).u8(1).u8(0);
    out.u16(static_cast<std::uint16_t>(header.size())).raw(view(header)).raw(Bytes(24, 0));
    return std::move(out).take();
}

/// A ZIP archive with one stored member.
Bytes zip_file(std::string_view name, View data) {
    Writer out;
    const auto fields = [&](bool central) {
        out.u32(central ? 0x02014b50 : 0x04034b50);
        if (central) out.u16(20);
        out.u16(20).u16(0).u16(0).u16(0).u16(0).u32(crc32_of(data));
        out.u32(static_cast<std::uint32_t>(data.size())).u32(static_cast<std::uint32_t>(data.size()));
        out.u16(static_cast<std::uint16_t>(name.size())).u16(0);
        if (central) out.u16(0).u16(0).u16(0).u32(0).u32(0);
        out.raw(view(name));
    };
    fields(false);
    out.raw(data);
    const auto directory = static_cast<std::uint32_t>(out.data().size());
    fields(true);
    const auto size = static_cast<std::uint32_t>(out.data().size()) - directory;
    out.u32(0x06054b50).u16(0).u16(0).u16(1).u16(1).u32(size).u32(directory).u16(0);
    return std::move(out).take();
}

Bytes safetensors_file() {
    constexpr std::string_view kHeader = R"({"x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                                         R"("y":{"dtype":"U8","shape":[2],"data_offsets":[16,18]}})";
    Writer out;
    out.u64(kHeader.size()).raw(view(kHeader)).raw(Bytes(18, 0));
    return std::move(out).take();
}

// "hello hello hello" as a gzip file, and a grey PNG of 2 × 2 pixels.
constexpr std::string_view kGzip = "1f8b0800000000000203cb48cdc9c957c84090008088f9e511000000";
constexpr std::string_view kPng =
    "89504e470d0a1a0a0000000d494844520000000200000002080000000057dd52f80000000e494441"
    "54789c6310506030700000017600a1ec308af40000000049454e44ae426082";

}  // namespace

std::vector<Bytes> seeds() {
    return {with_kind(0, idx_file()),
            with_kind(1, *from_hex(kGzip)),
            with_kind(2, npy_file()),
            with_kind(3, zip_file("x.npy", npy_file())),
            with_kind(4, view(std::string_view("a,b,label\n1,2.5,0\n-3e2,4,1\n"))),
            with_kind(5, safetensors_file()),
            with_kind(6, Bytes(300, 'a')),
            with_kind(7, *from_hex(kPng))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(8);
    const View bytes = choices.rest();
    ImportOptions options;
    options.name = "fuzz";
    switch (kind) {
        case 0: accept(decode_idx(bytes)); break;
        case 1:
            if (const auto plain = gunzip(bytes, kUnpackedMax))
                require(plain->size() <= kUnpackedMax, "the limit holds");
            break;
        case 2: accept(decode_npy(bytes)); break;
        case 3: accept(decode_npz(bytes)); break;
        case 4: accept(decode_csv(bytes, "")); break;
        case 5: accept(decode_safetensors_data(bytes)); break;
        case 6: accept(decode_tokens(bytes, options)); break;
        default:
            if (const auto image = decode_image(bytes, 0))
                require(image->pixels.size() == std::size_t{image->width} * image->height * image->channels,
                        "an image has its points");
            break;
    }
}

}  // namespace retrace::fuzz
