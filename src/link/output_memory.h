// OutputMemory: how many bytes of output may be in memory while it waits, of all that share it.
// Beyond that it goes to files.
//
// Thread: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace spate::link {

class OutputMemory {
 public:
  explicit OutputMemory(uint64_t most) : most_(most) {}
  OutputMemory(const OutputMemory&) = delete;
  OutputMemory& operator=(const OutputMemory&) = delete;

  uint64_t most() const { return most_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  // False: there is no room.
  bool Acquire(uint64_t bytes) {
    uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > most_ || used > most_ - bytes) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  void GiveBack(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const uint64_t most_;
  std::atomic<uint64_t> used_ = 0;
};

// Bytes that were taken, and are given back when this ends.
class HeldMemory {
 public:
  HeldMemory() = default;
  explicit HeldMemory(std::shared_ptr<OutputMemory> of) : of_(std::move(of)) {}
  HeldMemory(HeldMemory&& other) noexcept
      : of_(std::move(other.of_)), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldMemory& operator=(HeldMemory&& other) noexcept {
    std::swap(of_, other.of_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;
  ~HeldMemory() { Drop(); }

  // More of them. False, and nothing changes: there is no room.
  bool Acquire(uint64_t bytes) {
    if (!of_ || !of_->Acquire(bytes)) return false;
    bytes_ += bytes;
    return true;
  }
  void Drop() {
    if (of_) of_->GiveBack(std::exchange(bytes_, 0));
  }

 private:
  std::shared_ptr<OutputMemory> of_;  // null: there is no room
  uint64_t bytes_ = 0;
};

}  // namespace spate::link
