// SPDX-License-Identifier: MIT
// Untrusted text documents: receipts, task files, genesis files, amounts. Where a value has only one encoding, a
// document that is read is written back unchanged.
#include <unistd.h>

#include <fstream>

#include "node/artifacts/receipt.hpp"
#include "node/platform/units.hpp"
#include "node/server/config/genesis_file.hpp"
#include "node/tasks/task_file.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

constexpr std::string_view kGenesis =
    R"({"chainId":7298,"timestamp":1767225600,"gasLimit":1000000000,"baseFeePerGas":"1000000000",)"
    R"("alloc":{"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266":{"balance":"1000000000000000000"}}})";

const std::filesystem::path& scratch() {
    static const std::filesystem::path folder = [] {
        auto path = std::filesystem::temp_directory_path() / ("retrace-fuzz-" + std::to_string(::getpid()));
        std::filesystem::create_directories(path);
        return path;
    }();
    return folder;
}

std::string read_text(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TaskFile sample_task() {
    TaskFile task;
    task.name = "fuzz";
    task.program = scratch() / "program.rtp";
    task.initialiser = scratch() / "init.rtp";
    task.data = scratch() / "data";
    task.steps = 100;
    task.interval = 10;
    task.price_ceiling = 5;
    return task;
}

Receipt sample_receipt() {
    Receipt receipt;
    receipt.chain_id = 7298;
    receipt.task = 1;
    receipt.requester = receipt.solver = to_0x(Bytes(20, 1));
    receipt.data = {Hash32{}};
    receipt.steps = 20;
    receipt.interval = 10;
    receipt.posted_height = 5;
    receipt.settled_height = 90;
    receipt.states = {{0, 10, Hash32{}}, {1, 20, Hash32{}}, {2, 30, Hash32{}}};
    receipt.audits = {{0, 15, {to_0x(Bytes(20, 2))}}};
    return receipt;
}

void read_task(View bytes) {
    const auto path = scratch() / "task.toml";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    (void)load_task_file(path);
}

void read_amount(std::string_view text) {
    const auto amount = parse_coins(text);
    if (amount) require(parse_coins(format_coins(*amount)) == amount, "an amount survives its text");
}

}  // namespace

std::vector<Bytes> seeds() {
    require(store_task_file(sample_task(), scratch()).has_value(), "a task file can be written");
    return {with_kind(0, view(to_json(sample_receipt()))), with_kind(1, view(read_text(scratch() / "task.toml"))),
            with_kind(2, view(kGenesis)), with_kind(3, view(std::string_view("1.5"))),
            with_kind(3, view(std::string_view("100 wei")))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(4);
    const View bytes = choices.rest();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    switch (kind) {
        case 0:
            if (const auto receipt = receipt_from_json(bytes))
                require(*receipt_from_json(view(to_json(*receipt))) == *receipt, "a receipt survives its text");
            break;
        case 1: read_task(bytes); break;
        case 2: (void)parse_genesis(text, [](std::string_view) -> Result<Bytes> { return Bytes{}; }); break;
        default: read_amount(text); break;
    }
}

}  // namespace retrace::fuzz
