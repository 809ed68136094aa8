#include "link/share.h"

#include <utility>

namespace spate::link {

std::unique_ptr<Share::Room> Share::Acquire(size_t bytes, std::shared_ptr<bool> alive,
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
  TellAll(loop_, std::exchange(waiting_, {}));
}

void Share::TellAll(os::Loop& loop, std::vector<Waiting> waiting) {
  for (Waiting& each : waiting) {
    loop.Post([each = std::move(each)] {
      if (*each.alive) each.again();
    });
  }
}

void Share::BeginTurn() {
  if (std::exchange(in_turn_, true)) return;
  spent_ = {};
  unread_ = 0;
  for (const auto& [member, unread] : members_) unread_ += unread();
  loop_.Post([share = shared_from_this()] { share->in_turn_ = false; });
}

bool Share::HasTime() {
  BeginTurn();
  return spent_ < limits_.turn;
}

bool Share::HasRoomFor(size_t sent) {
  BeginTurn();
  unread_ += sent;
  return unread_ <= limits_.unread;
}

void Share::AwaitRoom(std::shared_ptr<bool> alive, std::function<void()> again) {
  await_room_.push_back({std::move(alive), std::move(again)});
  if (await_room_.size() == 1) LookAgain();
}

void Share::LookAgain() {
  loop_.At(loop_.Now() + limits_.look_again, [share = shared_from_this()] {
    std::erase_if(share->await_room_, [](const Waiting& each) { return !*each.alive; });
    if (share->await_room_.empty()) return;
    if (!share->HasRoomFor(0)) return share->LookAgain();
    TellAll(share->loop_, std::exchange(share->await_room_, {}));
  });
}

}  // namespace spate::link
