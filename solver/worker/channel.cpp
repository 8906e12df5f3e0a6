// SPDX-License-Identifier: MIT
#include "solver/worker/channel.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace retrace::solver {
namespace {

constexpr std::size_t kBuffer = 64 << 10;
/// Most bytes that are allocated for an announced length before any of them arrived.
constexpr std::size_t kPart = 1 << 20;
/// Interval at which check_exchange is called while waiting.
constexpr std::chrono::milliseconds kBetweenLooks{5};

[[noreturn]] void broken(const char* what) { throw ChannelBroken(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace

Channel::Channel(int in, int out) : in_(in), out_(out) { written_.reserve(kBuffer); }

Channel::~Channel() {
    ::close(in_);
    ::close(out_);
}

void Channel::begin_exchange(kernels::StopToken stop) { stop_ = std::move(stop); }

void Channel::check_exchange() const {
    if (!stop_) return;
    if (stop_->deadline_passed()) throw ExchangeOver(ExchangeOver::Why::late);
    if (stop_->stop_requested()) throw ExchangeOver(ExchangeOver::Why::left);
}

void Channel::send(View message) {
    std::uint8_t length[4];
    store_u32(length, static_cast<std::uint32_t>(message.size()));
    send_raw(length);
    send_raw(message);
}

void Channel::send_raw(View bytes) {
    if (written_.size() + bytes.size() > kBuffer) flush();
    if (bytes.size() >= kBuffer) return write_all(bytes);
    written_.insert(written_.end(), bytes.begin(), bytes.end());
}

void Channel::flush() {
    write_all(written_);
    written_.clear();
}

void Channel::write_all(View bytes) {
    while (!bytes.empty()) {
        if (stop_) await(out_, POLLOUT);
        const ssize_t count = ::write(out_, bytes.data(), bytes.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) broken("cannot write to the other side");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

/// Also checks the exchange before each partial read or write, so that a slow sender does not get more time.
void Channel::await(int descriptor, short event) const {
    for (;;) {
        check_exchange();
        pollfd ready{descriptor, event, 0};
        const int count = ::poll(&ready, 1, static_cast<int>(kBetweenLooks.count()));
        if (count > 0) return;
        if (count < 0 && errno != EINTR) broken("cannot wait for the other side");
    }
}

std::size_t Channel::read_some(std::span<std::uint8_t> into) {
    for (;;) {
        if (stop_) await(in_, POLLIN);
        const ssize_t count = ::read(in_, into.data(), into.size());
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) broken("cannot read from the other side");
        if (count == 0) throw ChannelBroken("the other side is gone");
        return static_cast<std::size_t>(count);
    }
}

void Channel::receive_raw(std::span<std::uint8_t> into) {
    while (!into.empty()) {
        if (at_ < read_.size()) {
            const std::size_t count = std::min(into.size(), read_.size() - at_);
            std::memcpy(into.data(), read_.data() + at_, count);
            at_ += count;
            into = into.subspan(count);
        } else if (into.size() >= kBuffer) {
            into = into.subspan(read_some(into));
        } else {
            read_.resize(kBuffer);
            at_ = read_.size();  // Keeps the buffer empty if reading throws.
            read_.resize(read_some(read_));
            at_ = 0;
        }
    }
}

Bytes Channel::receive(std::size_t most) {
    if (at_ == read_.size()) {
        read_.resize(kBuffer);
        at_ = read_.size();
        read_.resize(read_some(read_));
        at_ = 0;
    }
    std::uint8_t length[4];
    receive_raw(length);
    const std::size_t size = load_u32(length);
    if (size > most) throw ChannelBroken("the other side announces a message that is too long");
    Bytes message;
    while (message.size() < size) {
        const std::size_t begun = message.size(), part = std::min(size - begun, std::max(kPart, begun));
        message.resize(begun + part);
        receive_raw(std::span(message).subspan(begun));
    }
    return message;
}

bool Channel::wait(std::chrono::milliseconds most) {
    if (at_ < read_.size()) return true;
    pollfd ready{in_, POLLIN, 0};
    const int count = ::poll(&ready, 1, static_cast<int>(most.count()));
    return count > 0;  // Also true after the other side closed its end; the next read reports that.
}

}  // namespace retrace::solver
