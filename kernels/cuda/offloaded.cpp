// SPDX-License-Identifier: MIT
#include "kernels/cuda/offloaded.hpp"

#include <array>
#include <stdexcept>

#include "kernels/commit/commitment.hpp"
#include "kernels/cuda/device_program.hpp"
#include "kernels/cuda/units.hpp"
#include "kernels/offload/transfer_thread.hpp"
#include "kernels/offload/versions.hpp"

namespace retrace::kernels::cuda {
namespace {

constexpr std::uint64_t kAlignment = 256;

void check(const Status<>& status) {
    if (!status) throw std::runtime_error(status.error().message);
}

/// A state tensor in the host's memory; a place is allocated when it is first written.
struct HostTensor {
    std::array<Bytes, Versions::kPlaces> places;
    Versions versions;
};

class OffloadedDevice final : public ExternalBackend {
public:
    OffloadedDevice(const Program& program, Device device, Queue queue, Queue beside)
        : given_(program),
          program_(for_device(program)),
          facts_(facts_of_ops(program_)),
          plan_(plan_for_device(program_)),
          device_(std::move(device)),
          queue_(std::move(queue)),
          beside_(std::move(beside)),
          states_(program.states) {}

    std::uint64_t least_bytes() const { return bytes_for(least_room(program_, plan_, kAlignment)); }

    Status<> prepare(std::uint64_t memory, std::uint64_t host) {
        if (memory < least_bytes())
            return error("offloading within " + std::to_string(memory) +
                         " bytes of device memory: this program needs " + std::to_string(least_bytes()) +
                         " at least (memory)");
        RETRACE_TRY(offload, plan_offload(program_, plan_, {memory - bytes_for(kAlignment) + kAlignment, kAlignment}));
        offload_ = std::move(offload);
        if (host_bytes() > host)
            return error("offloading a device to " + std::to_string(host) +
                         " bytes of this machine's memory: this program needs " + std::to_string(host_bytes()) +
                         " at least (memory)");
        layout_ = lay_out(program_, facts_, plan_, offload_.room);
        RETRACE_TRY(taken, Memory::take(layout_.bytes));
        memory_ = std::move(taken);
        spill_.resize(offload_.spill);
        at_ = addresses(program_, plan_, layout_, memory_.data(), memory_.data() + layout_.arena);
        for (std::uint32_t i = 0; i < program_.constants; ++i) {
            const Bytes& data = program_.constant_data[i].data;
            RETRACE_CHECK(queue_.copy_in(at_[program_.states + i], data.data(), data.size()));
        }
        units_.emplace(program_, facts_, plan_, layout_, device_, memory_.data());
        return units_->upload(queue_, [&](std::uint32_t unit) -> const DeviceAddresses& { return addresses_of(unit); });
    }

    OffloadedBytes bytes() const { return {offload_.bytes(false), offload_.bytes(true), layout_.bytes, host_bytes()}; }

    // ---- the state, in the host's memory

    std::uint64_t planned_bytes() const noexcept override { return offload_.room; }

    void load(const State& state, const Inputs& inputs) override {
        ensure(state.tensors.size() == given_.states && inputs.datasets.size() == given_.datasets,
               "as many state tensors and data sets as the program has");
        for (std::uint32_t s = 0; s < given_.states; ++s) {
            ensure(state.tensors[s].data.size() == tensor_bytes(given_.tensors[s]), "state as the program records it");
            HostTensor& tensor = states_[s];
            Bytes& place = tensor.places[tensor.versions.next()];
            place = state.tensors[s].data;
            place.resize(aligned_bytes(place.size()));
            tensor.versions.stored = true;
            tensor.versions.advance();
        }
        for (std::uint32_t i = 0; i < given_.datasets; ++i) {
            const std::uint32_t tensor = given_.states + given_.constants + i;
            const Bytes& data = inputs.datasets[i]->data;
            ensure(data.size() == tensor_bytes(given_.tensors[tensor]), "data sets as the program records them");
            check(queue_.copy_in(at_[tensor], data.data(), data.size()));
        }
        seed_ = inputs.seed;
        step_ = state.step;
    }

    std::vector<Metric> advance() override {
        check(queue_.copy_in(reinterpret_cast<std::uint8_t*>(clock()), &step_, sizeof step_));
        check(run_step());
        for (HostTensor& tensor : states_) tensor.versions.advance();
        ++step_;
        std::vector<std::uint32_t> bits(layout_.metrics.size());
        check(queue_.copy_out(bits.data(), memory_.data() + layout_.metric_values, 4 * bits.size()));
        std::vector<Metric> out;
        for (std::size_t i = 0; i < bits.size(); ++i)
            out.push_back({program_.tensors[program_.output_of(layout_.metrics[i])].name, from_bits(bits[i])});
        return out;
    }

    void store(State& state) override { store(state, step_, &Versions::current); }
    std::vector<Hash32> roots() override { return roots(&Versions::current); }
    void begin_roots() override {
        for (HostTensor& tensor : states_) tensor.versions.keep();
        committed_step_ = step_;
    }
    std::vector<Hash32> finish_roots() override { return roots(&Versions::kept); }
    void store_committed(State& state) override { store(state, committed_step_, &Versions::kept); }

    std::vector<Hash32> trace(const State&, const Inputs&) override {
        throw std::runtime_error("an offloaded device computes no traces; the host does");
    }
    std::vector<Tensor> outputs(const State&, const Inputs&, const std::vector<std::uint32_t>&) override {
        throw std::runtime_error("an offloaded device computes no outputs; the host does");
    }

private:
    std::uint64_t host_bytes() const {
        std::uint64_t bytes = offload_.spill;
        for (std::uint32_t s = 0; s < given_.states; ++s)
            bytes += Versions::kPlaces * aligned_bytes(tensor_bytes(given_.tensors[s]));
        return bytes;
    }
    std::uint64_t bytes_for(std::uint64_t room) const { return lay_out(program_, facts_, plan_, room).bytes; }
    std::uint64_t* clock() const { return reinterpret_cast<std::uint64_t*>(memory_.data() + layout_.clock); }

    const Bytes& value(std::uint32_t state, std::uint8_t Versions::*which) const {
        return states_[state].places[states_[state].versions.*which];
    }
    void store(State& state, std::uint64_t step, std::uint8_t Versions::*which) const {
        state.tensors.resize(given_.states);
        for (std::uint32_t s = 0; s < given_.states; ++s) {
            const TensorRecord& record = given_.tensors[s];
            const std::uint8_t* const data = value(s, which).data();
            state.tensors[s] = {record.dtype, record.dims, Bytes(data, data + tensor_bytes(record))};
        }
        state.step = step;
    }
    std::vector<Hash32> roots(std::uint8_t Versions::*which) {
        std::vector<Hash32> out;
        for (std::uint32_t s = 0; s < given_.states; ++s)
            out.push_back(
                tensor_root(value(s, which).data(), given_.tensors[s].dtype, given_.tensors[s].dims, hashing_));
        return out;
    }

    /// The addresses of the unit's tensors, beside those of what always lies at one place; until the next call.
    const DeviceAddresses& addresses_of(std::uint32_t unit) {
        const auto set = [&](std::uint32_t tensor) {
            for (const Placement& placement : offload_.units[unit])
                if (placement.block == offload_.block_of[tensor])
                    at_[tensor] = memory_.data() + layout_.arena + placement.at;
        };
        if (unit >= plan_.units.size()) {
            const std::uint32_t state = offload_.copies[unit - plan_.units.size()];
            set(state);
            set(program_.output_of(program_.tensors[state].writer));
            return at_;
        }
        for (std::uint32_t op = plan_.units[unit].first; op < plan_.units[unit].end(); ++op) {
            for (const std::uint32_t input : program_.ops[op].inputs) set(input);
            set(program_.output_of(op));
        }
        return at_;
    }

    Status<> run_transfer(const Transfer& transfer, const OffloadBlock& block) {
        std::uint8_t* const there = memory_.data() + layout_.arena + transfer.at;
        std::uint8_t* here = spill_.data() + block.spill;
        if (block.state != kNoBlock) {
            HostTensor& tensor = states_[block.state];
            Bytes& place = tensor.places[transfer.next ? tensor.versions.next() : tensor.versions.current];
            place.resize(block.bytes);
            if (transfer.store) tensor.versions.stored = true;
            here = place.data();
        }
        return transfer.store ? beside_.copy_out(here, there, block.bytes) : beside_.copy_in(there, here, block.bytes);
    }

    /// The device has to be done with a unit before a transfer may follow it, so the host waits for each.
    Status<> run_step() {
        for (HostTensor& tensor : states_) tensor.versions.discard();
        TransferThread transfers(offload_, [this](const Transfer& transfer, const OffloadBlock& block) {
            return run_transfer(transfer, block);
        });
        std::size_t metric = 0;
        for (std::uint32_t unit = 0; unit < offload_.units.size(); ++unit) {
            transfers.wait_for(offload_.needed[unit]);
            if (transfers.failed()) break;
            const DeviceAddresses& at = addresses_of(unit);
            if (unit < plan_.units.size()) {
                units_->queue(unit, at, {seed_, clock(), memory_.data() + layout_.workspace, device_, queue_.stream()});
                for (; metric < layout_.metrics.size() && layout_.metrics[metric] < plan_.units[unit].end(); ++metric)
                    queue_.copy(memory_.data() + layout_.metric_values + 4 * metric,
                                at[program_.output_of(layout_.metrics[metric])], 4);
            } else {
                const std::uint32_t state = offload_.copies[unit - plan_.units.size()];
                queue_.copy(at[state], at[program_.output_of(program_.tensors[state].writer)],
                            tensor_bytes(program_.tensors[state]));
            }
            RETRACE_CHECK(queue_.finish());
            transfers.unit_done();
        }
        transfers.wait_for(static_cast<std::uint32_t>(offload_.transfers.size()));
        return transfers.stop();
    }

    const Program& given_;
    const Program program_;
    const std::vector<OpFacts> facts_;
    const MemoryPlan plan_;
    const Device device_;
    Queue queue_, beside_;
    OffloadPlan offload_;
    Layout layout_;
    Memory memory_;
    DeviceAddresses at_;
    std::optional<DeviceUnits> units_;
    std::vector<HostTensor> states_;
    Bytes spill_;
    ThreadPool hashing_;
    std::uint64_t seed_ = 0, step_ = 0, committed_step_ = 0;
};

}  // namespace

Result<std::unique_ptr<ExternalBackend>> make_offloaded_backend(const Program& program, const OffloadedLimits& limits,
                                                                OffloadedBytes* bytes) {
    RETRACE_TRY(device, find_device());
    const std::uint64_t free = device.free / 4 * 3;
    RETRACE_TRY(queue, Queue::open());
    RETRACE_TRY(beside, Queue::open());
    auto out = std::make_unique<OffloadedDevice>(program, std::move(device), std::move(queue), std::move(beside));
    RETRACE_CHECK(out->prepare(limits.device != 0 ? limits.device : free, limits.host));
    if (bytes != nullptr) *bytes = out->bytes();
    return std::unique_ptr<ExternalBackend>(std::move(out));
}

std::uint64_t least_offloaded_bytes(const Program& program) {
    const Program seen = for_device(program);
    const MemoryPlan plan = plan_for_device(seen);
    return lay_out(seen, facts_of_ops(seen), plan, least_room(seen, plan, kAlignment)).bytes;
}

}  // namespace retrace::kernels::cuda
