// SPDX-License-Identifier: MIT
// A task that trains low-rank corrections of weights from another training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "kernels/exec/executor.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/compile.hpp"
#include "node/tasks/data/import.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

DataSet tokens() {
    kernels::Tensor x = kernels::zeros(kernels::DType::u8, {8, 6}), y = x;
    for (std::size_t i = 0; i < x.data.size(); ++i) {
        x.data[i] = static_cast<std::uint8_t>(i * i % 11);
        y.data[i] = static_cast<std::uint8_t>((i + 1) * (i + 1) % 11);
    }
    auto data = make_xy(std::move(x), &y);
    EXPECT_TRUE(data) << data.error().message;
    data->name = "tokens";
    return *data;
}

CompileRequest request(std::uint64_t rank, const std::filesystem::path& out) {
    CompileRequest request;
    request.model.kind = "gpt";
    request.model.width = 16;
    request.model.layers = 1;
    request.model.heads = 2;
    request.model.lora_rank = rank;
    request.training.batch = 4;
    request.task.name = "tokens";
    request.task.steps = request.task.interval = 2;
    request.task.seed = 9;
    request.task.price_ceiling = *parse_coins("1");
    request.out = out;
    return request;
}

TEST(LowRankTask, BeginsWithTheGivenWeightsAndCorrectionsThatDoNothingYet) {
    test::TemporaryFolder folder;
    const DataSet data = tokens();
    kernels::ThreadPool pool(1);
    const auto base = compile_task(request(0, folder.path() / "base"), data, nullptr);
    ASSERT_TRUE(base) << base.error().message;
    const auto whole = read_program(base->program);
    ASSERT_TRUE(whole);
    kernels::State trained = *first_state(*base, *whole, pool);
    const kernels::Inputs inputs{9, {&data.parts[0].tensor, &data.parts[1].tensor}};
    kernels::Executor(*whole, pool).step(trained, inputs);
    ASSERT_TRUE(write_model(*whole, trained, {}, &*base, (folder.path() / "model").string()));

    CompileRequest wanted = request(2, folder.path() / "lora");
    wanted.start = folder.path() / "model" / "model.safetensors";
    const auto task = compile_task(wanted, data, nullptr);
    ASSERT_TRUE(task) << task.error().message;
    const auto program = read_program(task->program);
    kernels::State state = *first_state(*task, *program, pool);
    std::map<std::string, kernels::Tensor> before;
    for (std::uint32_t i = 0; i < whole->states; ++i) before[whole->tensors[i].name] = trained.tensors[i];
    int same = 0, drawn = 0;
    for (std::uint32_t i = 0; i < program->states; ++i) {
        const std::string& name = program->tensors[i].name;
        const kernels::Tensor nothing = kernels::zeros(kernels::DType::f32, state.tensors[i].dims);
        if (name == kernels::kLossTensor) {
            EXPECT_EQ(state.tensors[i], nothing) << "no step was made";
        } else if (name.find(".lora_") == std::string::npos) {
            EXPECT_EQ(state.tensors[i], before.at(name)) << name;
            ++same;
        } else {
            EXPECT_EQ(state.tensors[i] != nothing, name.ends_with(".lora_down")) << name;
            drawn += name.ends_with(".lora_down");
        }
    }
    EXPECT_GT(same, 10);
    EXPECT_EQ(drawn, 6);
    state.step = trained.step;
    EXPECT_EQ(kernels::Executor(*program, pool).step(state, inputs)[0].value,
              kernels::Executor(*whole, pool).step(trained, inputs)[0].value);
}

}  // namespace
}  // namespace retrace::node
