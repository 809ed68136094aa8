// Share: what the connections of one user may take of a hub together, so that nobody keeps others
// waiting: memory for long frames that are not whole yet and for what was sent and not read, and
// work in one turn of the loop.
//
// Thread: the loop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/time.h"
#include "os/loop.h"

namespace spate::link {

struct ShareLimits {
  // Frames longer than this wait for room; two of the longest have it at once.
  size_t short_frame = 64u << 10;
  size_t memory = 32u << 20;
  // Bytes that were sent and not read; above it the connections' windows are closed.
  size_t unread = 32u << 20;
  Duration look_again = Duration::Millis(20);  // whether some of it was read
  // Frames beyond this much work wait for the next turn, in which others come first.
  Duration turn = Duration::Millis(2);
  // A long frame that is not whole after so long ends its connection: it keeps room from others.
  Duration patience = Duration::Seconds(300);
};

class Share : public std::enable_shared_from_this<Share> {
 public:
  explicit Share(os::Loop& loop, const ShareLimits& limits = {}) : loop_(loop), limits_(limits) {}

  // Room for a long frame. Gives it back when it is destroyed.
  class Room {
   public:
    Room(std::shared_ptr<Share> share, size_t bytes) : share_(std::move(share)), bytes_(bytes) {}
    ~Room() { share_->GiveBack(bytes_); }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    size_t bytes() const { return bytes_; }

   private:
    const std::shared_ptr<Share> share_;
    const size_t bytes_;
  };
  // Null: there is none now, and `again` is called once when it is worth another try, if the owner
  // is still alive. The first to ask is told first.
  std::unique_ptr<Room> Acquire(size_t bytes, std::shared_ptr<bool> alive,
                                std::function<void()> again);

  // True if there is time left for a frame in this turn of the loop. Spend: a frame took `time`.
  bool HasTime();
  void Spend(Duration time) { spent_ = spent_ + time; }

  // More may be sent. It grows by `sent` in this turn of the loop. Cost: once in a turn, a look at
  // each connection.
  bool HasRoomFor(size_t sent);
  // Calls `again` once, as Acquire does, when there is room.
  void AwaitRoom(std::shared_ptr<bool> alive, std::function<void()> again);

  // Connections that have it, each by itself; `unread` tells how much of what was sent to it waits.
  using Member = const void*;
  void Enter(Member member, std::function<size_t()> unread) {
    members_[member] = std::move(unread);
  }
  void Leave(Member member) { members_.erase(member); }
  size_t members() const { return members_.size(); }

  const ShareLimits& limits() const { return limits_; }
  size_t used() const { return used_; }

 private:
  struct Waiting {
    std::shared_ptr<bool> alive;
    std::function<void()> again;
  };
  void GiveBack(size_t bytes);
  void BeginTurn();
  static void TellAll(os::Loop& loop, std::vector<Waiting> waiting);
  void LookAgain();

  os::Loop& loop_;
  const ShareLimits limits_;
  size_t used_ = 0;
  std::map<Member, std::function<size_t()>> members_;
  std::vector<Waiting> waiting_;
  Duration spent_;
  size_t unread_ = 0;
  bool in_turn_ = false;  // `spent_` and `unread_` are of this turn
  std::vector<Waiting> await_room_;
};

}  // namespace spate::link
