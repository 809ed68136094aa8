#include "hub/turns.h"

#include <algorithm>
#include <utility>

namespace spate::hub {

void Turns::Enter(std::string user, bool is_admin, uint64_t& id, std::function<void()> start) {
  id = ++last_id_;
  Guest guest{id, std::move(user), is_admin, std::move(start)};
  if (HasPlace(guest)) return Admit(std::move(guest));
  waiting_.push_back(std::move(guest));
}

void Turns::Leave(uint64_t id) {
  if (auto at = inside_.find(id); at != inside_.end()) {
    auto user = of_user_.find(at->second.user);
    if (--user->second == 0) of_user_.erase(user);
    inside_.erase(at);
  } else {
    waiting_.remove_if([id](const Guest& guest) { return guest.id == id; });
  }
  auto next = std::ranges::find_if(waiting_, [this](const Guest& each) { return HasPlace(each); });
  if (next == waiting_.end()) return;
  Guest guest = std::move(*next);
  waiting_.erase(next);
  Admit(std::move(guest));
}

bool Turns::HasPlace(const Guest& guest) const {
  if (inside_.size() >= limits_.all) return false;
  if (guest.is_admin) return true;
  auto user = of_user_.find(guest.user);
  bool has_all = user != of_user_.end() && user->second >= limits_.of_a_user;
  return !has_all && inside_.size() + limits_.kept < limits_.all;
}

void Turns::Admit(Guest guest) {
  ++of_user_[guest.user];
  auto start = std::move(guest.start);
  inside_.emplace(guest.id, std::move(guest));
  start();
}

}  // namespace spate::hub
