// SPDX-License-Identifier: MIT
// Built-in models from `task compile` to `task run` and `task plan`, with the options that a requester has.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "solver/export/safetensors.hpp"
#include "tests/functional/task_fixture.hpp"

namespace retrace::testing {
namespace {

namespace json = boost::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class Task : public TaskTest {
protected:
    void compile(const std::string& arguments) {
        std::error_code ignored;
        fs::remove_all(path("task"), ignored);
        const Ran ran = retrace("task compile " + arguments + " -o " + path("task").string());
        ASSERT_EQ(ran.status, 0) << ran.err;
    }
    json::object say(const std::string& arguments) {
        const Ran ran = retrace(arguments);
        EXPECT_EQ(ran.status, 0) << ran.err;
        json::value out = json::parse(ran.status == 0 ? ran.out : "{}");
        return out.as_object();
    }
    json::object run(const std::string& more = "") {
        return say("task run " + path("task").string() + " --local --json" + more);
    }
};

TEST_F(Task, EveryBuiltInModelCompilesAndTrains) {
    const std::string images = " --data " + small_images(32).string() + " --batch 8 --steps 2";
    const std::string text =
        " --data " + small_text().string() + " --context 16 --batch 4 --steps 2 --width 16 --layers 1";
    for (const std::string& model :
         {"mlp --hidden 16 --hidden 8" + images, "lenet" + images, "resnet-s --width 4" + images,
          "vit-s --width 16 --layers 1 --patch 7" + images, "gpt" + text, "llama" + text}) {
        compile(model);
        const json::object out = run();
        EXPECT_EQ(out.at("losses").as_array().size(), 2u) << model;
    }
}

TEST_F(Task, TheSameTaskEndsInTheSameState) {
    compile("mlp --data " + small_images(32).string() + " --batch 8 --steps 5 --seed 3");
    const json::object first = run(), second = run(" --threads 1");
    EXPECT_EQ(first.at("losses").as_array().size(), 5u);
    EXPECT_EQ(first.at("state_root").as_string().size(), 66u);
    EXPECT_EQ(first, second);
}

TEST_F(Task, AnInterruptedTrainingGoesOnWhereItWasAndEndsInTheSameState) {
    compile("mlp --data " + small_images(256).string() + " --hidden 512 --batch 128 --steps 400 --seed 3");
    const fs::path folder = path("task"), kept = folder / "unfinished.run";
    const Ran whole = retrace("task run " + folder.string() + " --local --json -o " + path("whole").string());
    ASSERT_EQ(whole.status, 0) << whole.err;
    const std::string run = "task run " + folder.string() + " --local --json";
    // SIGINT comes as soon as the program catches it, which is right before its first step.
    const Ran interrupted =
        retrace(run,
                "sh -c '\"$@\" & until grep -q \"^SigCgt:.*[2367abef]$\" /proc/$!/status; do sleep 0.01; done; "
                "kill -INT $!; wait $!' sh ");
    ASSERT_EQ(interrupted.status, 1);
    EXPECT_THAT(interrupted.err, HasSubstr("interrupted at step "));
    EXPECT_THAT(interrupted.err, HasSubstr("the same command goes on there"));
    EXPECT_THAT(interrupted.err, Not(HasSubstr("steps/s"))) << "progress is for a terminal";
    ASSERT_TRUE(fs::exists(kept));
    const Ran resumed = retrace(run);
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("going on at step "));
    EXPECT_EQ(json::parse(resumed.out), json::parse(whole.out)) << "losses and state root";
    EXPECT_FALSE(fs::exists(kept));
    std::ofstream(kept) << "retrace-run/1\n and something else that is long enough to have a digest";
    const Ran damaged = retrace(run);
    EXPECT_EQ(damaged.status, 1);
    EXPECT_THAT(damaged.err, HasSubstr("is damaged; delete it"));
}

// The hidden layers and their moments take 27 MB, and their gradients and the activations as much again as a layer.
TEST_F(Task, ATrainingInLessMemoryThanItsStateEndsInTheSameState) {
    compile("mlp --data " + small_images(64).string() +
            " --hidden 768 --hidden 768 --hidden 768 --batch 8 --steps 4 --seed 3");
    const std::string task = path("task").string(), disk = " --offload " + path("disk").string() + " --memory ";
    const json::object whole = run(" -o " + path("whole").string());
    EXPECT_EQ(run(disk + "16 -o " + path("offloaded").string()), whole);
    const auto bytes = [](const fs::path& file) {
        std::ifstream in(file, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    EXPECT_EQ(bytes(path("offloaded") / "model.safetensors"), bytes(path("whole") / "model.safetensors"));
    EXPECT_EQ(bytes(path("offloaded") / "metrics.csv"), bytes(path("whole") / "metrics.csv"));
    EXPECT_TRUE(fs::is_empty(path("disk"))) << "the file has no name";
    EXPECT_GT(say("task plan " + task + " --json").at("offload_memory_bytes").to_number<std::uint64_t>(), 2u << 20);
    const Ran little = retrace("task run " + task + " --local --memory 2 --offload " + path("disk").string());
    EXPECT_EQ(little.status, 1);
    EXPECT_THAT(little.err, ContainsRegex("needs [0-9]{7,8} at least"));
    const Ran evaluated = retrace("task run " + task + " --local --evaluate --offload " + path("disk").string());
    EXPECT_EQ(evaluated.status, 1);
    EXPECT_THAT(evaluated.err, HasSubstr("no --evaluate"));
    const Ran alone = retrace("task run " + task + " --local --memory 16");
    EXPECT_EQ(alone.status, 1);
    EXPECT_THAT(alone.err, HasSubstr("--memory is for --offload"));
    const Ran both = retrace("task run " + task + " --local --device cuda-offload --offload " + path("disk").string());
    EXPECT_EQ(both.status, 1);
    EXPECT_THAT(both.err, HasSubstr("--offload is for the processors"));
}

TEST_F(Task, AnInterruptedTrainingGoesOnInLessMemory) {
    compile("mlp --data " + small_images(64).string() + " --hidden 256 --batch 8 --steps 600 --seed 3");
    const fs::path kept = path("task") / "unfinished.run";
    const json::object whole = run();
    const std::string offloaded =
        "task run " + path("task").string() + " --local --json --memory 16 --offload " + path("disk").string();
    const Ran interrupted =
        retrace(offloaded,
                "sh -c '\"$@\" & until grep -q \"^SigCgt:.*[2367abef]$\" /proc/$!/status; do sleep 0.01; done; "
                "kill -INT $!; wait $!' sh ");
    ASSERT_EQ(interrupted.status, 1) << interrupted.err;
    EXPECT_THAT(interrupted.err, HasSubstr("the same command goes on there"));
    ASSERT_TRUE(fs::exists(kept));
    const Ran resumed = retrace(offloaded);
    EXPECT_EQ(resumed.status, 0) << resumed.err;
    EXPECT_THAT(resumed.err, HasSubstr("going on at step "));
    EXPECT_EQ(json::parse(resumed.out), json::value(whole));
    EXPECT_FALSE(fs::exists(kept));
}

TEST_F(Task, ATrainingWhoseModelCannotBeWrittenIsKept) {
    compile("mlp --data " + small_images(32).string() + " --batch 8 --steps 5 --seed 3");
    const fs::path out = path("result"), kept = out / "unfinished.run";
    fs::create_directories(out / "model.safetensors");
    const std::string command = "task run " + path("task").string() + " --local --json -o " + out.string();
    const Ran failed = retrace(command);
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.err, HasSubstr("the training is saved in " + kept.string()));
    ASSERT_TRUE(fs::exists(kept));
    fs::remove(out / "model.safetensors");
    const Ran again = retrace(command);
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("going on at step 5 "));
    EXPECT_EQ(json::parse(again.out), json::value(run()));
    EXPECT_TRUE(fs::exists(out / "model.safetensors"));
    EXPECT_FALSE(fs::exists(kept));
}

TEST_F(Task, ATrainingInRoundsEndsInTheSameState) {
    const std::string images = small_images(32).string();
    compile("mlp --data " + images + " --batch 8 --seed 3 --rounds 3 --members 4 --inner 2");
    const json::object first = run(), second = run(" --threads 1");
    EXPECT_EQ(first.at("losses").as_array().size(), 3u);
    EXPECT_EQ(first.at("members").to_number<int>(), 4);
    EXPECT_EQ(first, second);
    EXPECT_NE(run(" --members 3").at("state_root"), first.at("state_root"));
    const std::string aged = path("aged").string();
    ASSERT_EQ(retrace("task compile mlp --data " + images +
                      " --batch 8 --seed 3 --rounds 3 --members 4 --inner 2 --max-age 2 -o " + aged)
                  .status,
              0);
    EXPECT_EQ(say("task run " + aged + " --local --json").at("state_root"), first.at("state_root"))
        << "members that are equally fast send no old messages";
    const std::string back = path("back").string();
    const std::string rounds =
        "task compile mlp --data " + images + " --batch 8 --seed 3 --members 4 --inner 2 -o " + back;
    EXPECT_THAT(retrace(rounds + " --rounds 3 --on-fraud rollback").err, HasSubstr("at least 4 rounds"));
    EXPECT_THAT(retrace(rounds + " --rounds 8 --ahead 2").err, HasSubstr("are for --on-fraud rollback"));
    ASSERT_EQ(retrace(rounds + " --rounds 8 --on-fraud rollback").status, 0);
    const json::object rolling = say("task plan " + back + " --json");
    EXPECT_EQ(rolling.at("on_fraud").as_string(), "rollback");
    EXPECT_EQ(rolling.at("ahead").to_number<int>(), 2) << "a quarter of the rounds";
    EXPECT_FALSE(say("task run " + back + " --local --json").at("state_root").as_string().empty());
    run(" -o " + path("model").string());
    EXPECT_TRUE(fs::exists(path("model") / "model.safetensors"));
    const json::object plan = say("task plan " + path("task").string() + " --json");
    EXPECT_GT(plan.at("message_bytes").to_number<std::uint64_t>(), 0u);
    EXPECT_EQ(plan.at("received_bytes").to_number<std::uint64_t>(),
              3 * plan.at("message_bytes").to_number<std::uint64_t>());
    EXPECT_EQ(plan.at("segments").to_number<std::uint64_t>(), 4u) << "one a round, and one for the last messages";
    const double seconds = plan.at("seconds_per_round").at("receive").to_number<double>();
    const json::object slow = say("task plan " + path("task").string() + " --json --link-mbit 1");
    EXPECT_GT(slow.at("seconds_per_round").at("receive").to_number<double>(), 10 * seconds);
    EXPECT_THAT(retrace("task plan " + path("task").string()).out, HasSubstr("a member locks"));

    fs::resize_file(path("task") / "plan.rtg", 1000);
    const Ran cut = retrace("task run " + path("task").string());
    EXPECT_EQ(cut.status, 1);
    EXPECT_THAT(cut.err, HasSubstr("plan.rtg: plan: "));
    const Ran other =
        retrace("task compile resnet-s --data " + images + " --batch 8 --rounds 2 -o " + path("other").string());
    EXPECT_EQ(other.status, 1);
    EXPECT_THAT(other.err, HasSubstr("is no trained parameter"));
    EXPECT_EQ(retrace("task compile mlp --data x --members 2 -o y").status, 2) << "without --rounds";
}

TEST_F(Task, LossesOptimisersAndSchedulesOfNumbers) {
    std::ofstream table(path("table.csv"));
    table << "a,b,y\n";
    for (int i = 0; i < 64; ++i) table << i % 7 << ".5," << i % 5 << ",0." << i % 9 << '\n';
    table.close();
    const std::string data = " --data " + path("table.csv").string() + " --test-data " + path("table.csv").string();
    for (const char* how :
         {"--loss mse --optimizer sgd --momentum 0 --lr 0.05 --clip 1",
          "--loss bce --optimizer adamw --betas 0.8 0.9 --eps 1e-6 --weight-decay 0.1 --schedule cosine "
          "--warmup 3 --data-order sequential"}) {
        compile("mlp --hidden 8 --batch 16 --steps 30 --precision f32 " + std::string(how) + data);
        const json::object out = run(" --evaluate");
        const json::array& losses = out.at("losses").as_array();
        EXPECT_LT(losses.back().to_number<double>(), losses.front().to_number<double>()) << how;
        EXPECT_TRUE(out.contains("test_loss"));
        EXPECT_FALSE(out.contains("accuracy"));
    }
}

TEST_F(Task, AShareOfTheSamplesIsKeptForTesting) {
    std::ofstream table(path("table.csv"));
    table << "a,b,y\n";
    for (int i = 0; i < 60; ++i) table << i % 7 << ".5," << i % 5 << ",0." << i % 9 << '\n';
    table.close();
    const std::string command = "task compile mlp --hidden 8 --batch 8 --steps 5 --loss mse --data " +
                                path("table.csv").string() + " -o " + path("task").string() + " --json";
    const json::object kept = say(command + " --test-share 0.1");
    EXPECT_EQ(kept.at("samples").to_number<std::uint64_t>(), 54u);
    EXPECT_EQ(kept.at("test_samples").to_number<std::uint64_t>(), 6u);
    EXPECT_THAT(retrace(command + " --test-share 0.001").err, HasSubstr("60 samples to train and 0 to test"));
    EXPECT_THAT(retrace(command + " --test-share 0.1 --test-data " + path("table.csv").string()).err,
                HasSubstr("--test-data names the test samples"));
}

TEST_F(Task, APlanSaysWhatItTakes) {
    compile("lenet --data " + small_images(32).string() + " --batch 8 --steps 20 --checkpoint-every 5");
    const json::object plan = say("task plan " + path("task").string() + " --json");
    EXPECT_EQ(plan.at("parameters").to_number<std::uint64_t>(), 61'706u);  // LeNet-5 on 28 × 28 with padding.
    EXPECT_EQ(plan.at("segments").to_number<std::uint64_t>(), 4u);
    EXPECT_TRUE(plan.at("not_timed").is_null());
    for (const char* field :
         {"flops_per_step", "memory_bytes", "party_memory_bytes", "seconds", "detection_of_one", "evidence_bytes"}) {
        EXPECT_GT(plan.at(field).to_number<double>(), 0) << field;
    }
    const json::object& outliers = plan.at("outliers").as_object();
    EXPECT_GT(outliers.at("blocks").to_number<std::uint64_t>(), 1'000u);
    EXPECT_GT(outliers.at("median").to_number<double>(), 1);
    EXPECT_LT(outliers.at("outliers").to_number<double>(), 1);
    EXPECT_LT(outliers.at("most").at("op").to_number<std::uint64_t>(), 1'000u);
    EXPECT_TRUE(plan.contains("device_bytes"));
    EXPECT_GT(run(" --outliers").at("outliers").at("blocks").to_number<std::uint64_t>(), 1'000u);
    const Ran words = retrace("task plan " + path("task").string());
    for (const char* said : {"precision    crest factor of blocks ", "parameters   61706", "GFLOP a step",
                             "at the peak", "against --memory", "ms a step here", "price        at most",
                             "audits       one bad segment", "evidence     a dispute ends with at most"}) {
        EXPECT_THAT(words.out, HasSubstr(said));
    }
}

// A matrix of 40,000 rows and columns has 6.4 GB, and the limit is 6,000,000 KiB.
TEST_F(Task, APlanIsGivenWhereNoStepFits) {
    const std::string limit = "ulimit -v 6000000; ", folder = path("task").string();
    compile("mlp --hidden 40000 --hidden 40000 --data " + small_images(32).string() + " --batch 8 --steps 2");
    const Ran words = retrace("task plan " + folder, limit);
    EXPECT_EQ(words.status, 0) << words.err;
    for (const char* said : {"at the peak", "against --memory", "evidence     a dispute"})
        EXPECT_THAT(words.out, HasSubstr(said));
    const std::string reason = "a step needs [0-9]{11} bytes and this machine has [0-9]{1,10} available";
    EXPECT_THAT(words.out, ContainsRegex("time         not timed: " + reason));
    const Ran ran = retrace("task plan --json " + folder, limit);
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json::object plan = json::parse(ran.out).as_object();
    EXPECT_GT(plan.at("memory_bytes").to_number<std::uint64_t>(), 3 * 6'400'000'000u);
    EXPECT_TRUE(plan.at("seconds_per_step").is_null() && plan.at("seconds").is_null());
    EXPECT_THAT(std::string(plan.at("not_timed").as_string()), MatchesRegex(reason));
    const Ran run = retrace("task run --local " + folder, limit);
    EXPECT_EQ(run.status, 1);
    EXPECT_THAT(run.err, HasSubstr("out of memory: 6400000000 bytes could not be allocated at once"));
}

TEST_F(Task, RunningStatisticsAreNoParameters) {
    const std::string images = small_images(32).string();
    for (const char* optimizer : {"adamw", "sgd --momentum 0"}) {
        compile("resnet-s --width 4 --data " + images + " --batch 8 --steps 1 --optimizer " + optimizer);
        run(" -o " + path("model").string());
        std::ifstream in(path("model") / "model.safetensors", std::ios::binary);
        const Bytes file{std::istreambuf_iterator<char>(in), {}};
        const auto model = solver::decode_safetensors(file);
        ASSERT_TRUE(model);
        std::uint64_t trained = 0, statistics = 0;
        for (const solver::NamedTensor& named : model->tensors) {
            const bool running = named.name.find(".running_") != std::string::npos;
            (running ? statistics : trained) += named.tensor.elements();
        }
        EXPECT_GT(statistics, 0u);
        const json::object plan = say("task plan " + path("task").string() + " --json");
        EXPECT_EQ(plan.at("parameters").to_number<std::uint64_t>(), trained) << optimizer;
    }
}

TEST_F(Task, AModelThatReadsTokensWantsTokens) {
    const Ran ran =
        retrace("task compile gpt --data " + small_images(32).string() + " --batch 8 -o " + path("task").string());
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("tokens"));
}

TEST_F(Task, AThousandThreadsAreEnough) {
    const Ran refused = retrace("task run nowhere --threads 1025");
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("--threads"));
    EXPECT_THAT(refused.err, HasSubstr("1024"));
    EXPECT_EQ(retrace("task run nowhere --threads 1024").status, 1) << "there is no such task";
    EXPECT_THAT(retrace("task run --help").out, HasSubstr("at most 1024"));
}

TEST_F(Task, AWrongInstructionSetEndsEveryCommandAtOnce) {
    const std::string nowhere = path("nowhere").string();
    for (const std::string& command :
         {"task plan " + nowhere, "task run " + nowhere, "task compile mlp --data " + nowhere + " -o " + nowhere,
          "node --data-dir " + nowhere + " --genesis " + nowhere,
          "solver --data-dir " + nowhere + " --key " + nowhere + " --passphrase-file " + nowhere,
          "verifier --data-dir " + nowhere + " --key " + nowhere + " --passphrase-file " + nowhere}) {
        const Ran ran = retrace(command, "RETRACE_CPU=abacus ");
        EXPECT_EQ(ran.status, 2) << command;
        EXPECT_THAT(ran.err, HasSubstr("RETRACE_CPU=abacus: not an instruction set of this machine; it has scalar"));
    }
}

}  // namespace
}  // namespace retrace::testing
