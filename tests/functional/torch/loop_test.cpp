// SPDX-License-Identifier: MIT
// A TorchScript file through the whole market with real processes: compiled, posted, trained by a solver, audited,
// fetched and opened by LibTorch again; its receipt is checked and replayed.
#include <gmock/gmock.h>

#include "tests/functional/market_fixture.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

class TorchLoop : public MarketTest {
protected:
    PeerData test_images() const {
        const auto data = node::load_dataset(path("images"));
        EXPECT_TRUE(data);
        const kernels::Tensor &x = *data->find("x"), &y = *data->find("y");
        PeerData out;
        out.samples = data->samples();
        out.sample = {1, 28, 28};
        for (std::uint64_t i = 0; i < x.elements(); ++i)
            out.x.push_back(static_cast<float>(x.bits(i)) * (1.0f / 255.0f));
        for (std::uint64_t i = 0; i < y.elements(); ++i) out.labels.push_back(y.bits(i));
        return out;
    }
};

TEST_F(TorchLoop, AScriptedModelComesBackTrainedWithAReceipt) {
    make_model("cnn", path("model.pt"));
    const std::string images = small_images(256).string(), task = path("task").string();
    say("task compile " + path("model.pt").string() + " --data " + images + " --test-data " + images +
        " --batch 16 --steps 12 --checkpoint-every 4 --precision f32 --price-ceiling 1 -o " + task);
    start(
        {{Role::honest_solver, {"--price", "0.5", "--stake", "200"}}, {Role::verifier_1, {}}, {Role::verifier_2, {}}});
    if (HasFatalFailure()) return;
    const std::string id = std::to_string(submit(task));
    say("task follow " + id + node());

    const std::string model = path("fetched").string();
    const json::object fetched = say("task fetch " + id + node() + store() + " -o " + model + " --losses 9");
    ASSERT_FALSE(HasFailure());
    EXPECT_EQ(fetched.at("state_root").as_string(), root_of(task));

    // LibTorch opens the model and gets the same results as the evaluation program.
    const PeerResult theirs = evaluate_model(path("fetched") / "model.pt", test_images(), 16);
    EXPECT_NEAR(fetched.at("loss").to_number<double>(), theirs.loss, 1e-4 * theirs.loss);
    EXPECT_DOUBLE_EQ(fetched.at("accuracy").to_number<double>(), theirs.accuracy);

    // The losses in the table equal those of the same training on this machine, step by step.
    const json::array losses = say("task run " + task + " --local").at("losses").as_array();
    std::istringstream table(text_of(path("fetched") / "metrics.csv"));
    std::string line;
    std::getline(table, line);
    EXPECT_EQ(line, "step,replayed_loss,test_loss,accuracy");
    std::size_t steps = 0;
    while (std::getline(table, line) && line.ends_with(",,")) {
        const std::size_t first = line.find(','), second = line.find(',', first + 1);
        EXPECT_EQ(std::stoul(line.substr(0, first)), steps);
        EXPECT_FLOAT_EQ(std::stof(line.substr(first + 1, second - first - 1)), losses.at(steps).to_number<float>());
        ++steps;
    }
    EXPECT_EQ(steps, losses.size());
    EXPECT_EQ(line.substr(0, 4), "12,,") << "the model itself, on the test data";

    const std::string receipt = (path("fetched") / "receipt.json").string();
    const json::object checked = say("receipt verify " + receipt + node() + store() + " --replay 2");
    EXPECT_TRUE(checked.at("valid").as_bool());
    EXPECT_EQ(checked.at("replayed").to_number<int>(), 2);
    EXPECT_GE(checked.at("audits").to_number<int>(), 1);
}

}  // namespace
}  // namespace retrace::testing
