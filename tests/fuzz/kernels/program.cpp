// SPDX-License-Identifier: MIT
// Program files and their records: a program has exactly one encoding, and a program that passes the checker can be
// committed, planned and, if it is tiny, run.
#include "kernels/builder/training.hpp"
#include "kernels/exec/executor.hpp"
#include "kernels/program/codec.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace kernels;

constexpr std::uint64_t kTinyCost = 20'000, kTinyElements = 2'000;

bool is_tiny(const Program& program) {
    std::uint64_t elements = 0;
    for (const TensorRecord& tensor : program.tensors) {
        elements += geometry(tensor.dims).elements();
        if (elements > kTinyElements) return false;
    }
    return step_cost(program) <= kTinyCost;
}

/// Runs one step on both back ends, on states and data of zeros.
void run_step(const Program& program) {
    static ThreadPool pool(1);
    State state;
    std::vector<Tensor> data;
    for (std::uint32_t i = 0; i < program.tensors_static(); ++i) {
        const TensorRecord& record = program.tensors[i];
        if (record.kind == TensorKind::state) state.tensors.push_back(zeros(record.dtype, record.dims));
        if (record.kind == TensorKind::data) data.push_back(zeros(record.dtype, record.dims));
    }
    Inputs inputs{5, {}};
    for (const Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    State twin = state;
    Executor(program, pool, Backend::reference).step(twin, inputs);
    Executor(program, pool, Backend::cpu).step(state, inputs);
    require(state == twin, "back ends agree on every bit");
}

void decode_file(View bytes) {
    Limits limits;
    limits.ops = 2000;
    limits.tensors = 4000;
    const auto program = decode_program(bytes, limits);
    if (!program) return;
    require(equal(encode(*program), bytes), "one program has one encoding");
    require(check(*program, limits).has_value(), "what decodes has been checked");
    if (!is_tiny(*program)) return;
    const CommittedProgram committed(*program);
    require(committed.header().root() == committed.root(), "the header opens the root");
    run_step(*program);
}

void decode_records(View bytes) {
    if (const auto op = decode_op_record(bytes)) require(equal(encode_record(*op), bytes), "one op has one encoding");
    if (const auto tensor = decode_tensor_record(bytes))
        require(equal(encode_record(*tensor), bytes), "one tensor has one encoding");
    Reader in(bytes);
    const ProgramHeader header = ProgramHeader::decode_from(in);
    if (!in.finish()) return;
    Writer out;
    header.encode_to(out);
    require(equal(out.data(), bytes), "one header has one encoding");
}

}  // namespace

std::vector<Bytes> seeds() {
    ModelSpec model;
    model.hidden = {3};
    model.input = {1, 2, 2};
    model.classes = 2;
    TrainingSpec training;
    training.samples = 4;
    training.batch = 2;
    training.steps = 5;
    const auto programs = build_training(model, training, 4, 2);
    require(programs.has_value(), "a tiny model can be built");
    const CommittedProgram committed(programs->train);
    Writer header;
    committed.header().encode_to(header);
    return {with_kind(0, encode(programs->train)),
            with_kind(0, encode(programs->init)),
            with_kind(0, encode(programs->eval)),
            with_kind(1, encode_record(programs->train.ops[0])),
            with_kind(1, encode_record(programs->train.tensors[0])),
            with_kind(1, header.data())};
}

void run(View input) {
    Choices choices(input);
    if (choices.flip())
        decode_records(choices.rest());
    else
        decode_file(choices.rest());
}

}  // namespace retrace::fuzz
