// Page shared by a shepherd and its parent: it shows which order the shepherd has in hand, and
// that it is alive. The parent reads it without a word from the shepherd, so it knows when that
// hangs.
#pragma once

#include <atomic>
#include <cstdint>

namespace spate::shepherd {

struct SharedPage {
  std::atomic<uint64_t> started;  // sequence of the last order that was taken in hand
  std::atomic<uint64_t> beats;    // odd: at work; even: it waits for news, however long
};

class Pulse {
 public:
  // Null: nobody looks.
  explicit Pulse(SharedPage* page = nullptr) : page_(page) {}

  // It is about to wait for news, and has woken up.
  void Rest() const { Add(1); }
  void Wake() const { Add(1); }
  // It is still at work, e.g. has copied a further part of a file.
  void Beat() const { Add(2); }

 private:
  void Add(uint64_t count) const {
    if (page_ != nullptr) page_->beats.fetch_add(count, std::memory_order_relaxed);
  }
  SharedPage* page_;
};

}  // namespace spate::shepherd
