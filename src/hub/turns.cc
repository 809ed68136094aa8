#include "hub/turns.h"

#include <utility>

namespace spate::hub {

void Turns::Enter(std::string user, bool is_admin, uint64_t& id, std::function<void()> start) {
  id = ++last_id_;
  Guest guest{id, std::move(user), is_admin, std::move(start)};
  if (HasPlace(guest)) return Admit(std::move(guest));
  waiting_[{guest.user, guest.is_admin}].emplace(id, std::move(guest));
}

void Turns::Leave(uint64_t id) {
  const auto at = inside_.find(id);
  if (at == inside_.end()) {
    auto line = waiting_.begin();
    while (line != waiting_.end() && line->second.erase(id) == 0) ++line;
    if (line != waiting_.end() && line->second.empty()) waiting_.erase(line);
    return;
  }
  auto user = of_user_.find(at->second.user);
  if (--user->second == 0) of_user_.erase(user);
  inside_.erase(at);
  auto next = waiting_.end();
  for (auto line = waiting_.begin(); line != waiting_.end(); ++line) {
    const auto first = line->second.begin();
    if (!HasPlace(first->second)) continue;
    if (next == waiting_.end() || first->first < next->second.begin()->first) next = line;
  }
  if (next == waiting_.end()) return;
  Guest guest = std::move(next->second.begin()->second);
  next->second.erase(next->second.begin());
  if (next->second.empty()) waiting_.erase(next);
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
