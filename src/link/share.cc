#include "link/share.h"

#include <utility>

namespace spate::link {

std::unique_ptr<Share::Room> Share::Take(size_t bytes, std::shared_ptr<bool> alive,
                                         std::function<void()> again) {
  // The longest frame fits where nothing else is.
  if (used_ > 0 && used_ + bytes > limits_.memory) {
    std::erase_if(waiting_, [](const Waiting& each) { return !*each.alive; });
    waiting_.push_back({std::move(alive), std::move(again)});
    return nullptr;
  }
  used_ += bytes;
  return std::make_unique<Room>(shared_from_this(), bytes);
}

// A connection that finds no room again waits in the same order: there are never more than
// connections.
void Share::GiveBack(size_t bytes) {
  used_ -= bytes;
  for (Waiting& each : std::exchange(waiting_, {})) {
    loop_.Post([each = std::move(each)] {
      if (*each.alive) each.again();
    });
  }
}

bool Share::HasTime() {
  if (!std::exchange(in_turn_, true)) {
    spent_ = {};
    loop_.Post([share = shared_from_this()] { share->in_turn_ = false; });
  }
  return spent_ < limits_.turn;
}

}  // namespace spate::link
