// Turns: who may have one of a few things, such as processes that read the journal, and when. No
// user has them all, and who must wait waits in line.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace spate::hub {

class Turns {
 public:
  struct Limits {
    uint32_t all = 32;
    uint32_t of_a_user = 8;  // administrators have no bound of their own
    uint32_t kept = 4;       // for administrators
  };
  Turns() = default;
  explicit Turns(const Limits& limits) : limits_(limits) {}

  // Calls `start` when it is the caller's turn, which may be now; `id` is set before. Whoever
  // entered leaves by it, once, before `start` was called or after.
  void Enter(std::string user, bool is_admin, uint64_t& id, std::function<void()> start);
  void Leave(uint64_t id);
  // Somebody waits whose turn it could be if another one left.
  bool HasWaiting() const { return !waiting_.empty(); }

 private:
  struct Guest {
    uint64_t id;
    std::string user;
    bool is_admin;
    std::function<void()> start;
  };
  bool HasPlace(const Guest& guest) const;
  void Admit(Guest guest);

  const Limits limits_;
  uint64_t last_id_ = 0;
  // Waiting guests by user and `is_admin`, the oldest first; no list is empty. A search does not
  // pass through the thousands of guests that one user may have.
  std::map<std::pair<std::string, bool>, std::map<uint64_t, Guest>> waiting_;
  std::map<uint64_t, Guest> inside_;
  std::map<std::string, uint32_t> of_user_;  // of those inside
};

}  // namespace spate::hub
