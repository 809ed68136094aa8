#include "hub/peer_memory.h"

#include <fmt/format.h>

#include <variant>

#include "access/access_file.h"
#include "base/units.h"
#include "core/model/memory.h"

namespace spate::hub {

void PeerMemory::Set(const std::string& user, size_t& before, size_t bytes) {
  if (before == bytes) return;
  uint64_t& theirs = users_[user];
  theirs += bytes - before;  // modulo 2^64
  all_ += bytes - before;
  before = bytes;
  if (theirs == 0) users_.erase(user);
}

uint64_t PeerMemory::of(const std::string& user) const {
  auto at = users_.find(user);
  return at == users_.end() ? 0 : at->second;
}

Status PeerMemory::Check(const std::string& user) const {
  const uint64_t theirs = of(user);
  if (user == access::kEveryUser || theirs <= kPeerLimits.least) return {};
  const bool is_one = theirs > kPeerLimits.of_user;
  if (!is_one && all_ <= kPeerLimits.of_all) return {};
  return Fail(ErrorKind::kBusy,
              fmt::format("requests, uploads and nodes of {} take {} of the hub's memory, but the "
                          "limit is {}: wait until some of them have ended, or send less at once",
                          is_one ? "user " + user : "all users", FormatSize(is_one ? theirs : all_),
                          FormatSize(is_one ? kPeerLimits.of_user : kPeerLimits.of_all)));
}

size_t MemoryOf(const wire::Request& request) {
  if (const auto* query = std::get_if<wire::Query>(&request)) {
    return kMemoryOfRequest + query->question.body().capacity();
  }
  const auto* submit = std::get_if<wire::Submit>(&request);
  if (submit == nullptr) return kMemoryOfRequest;
  return kMemoryOfRequest + spate::MemoryOf(*submit->settings, submit->submission, submit->host,
                                            submit->argv, submit->files, submit->name,
                                            submit->after);
}

}  // namespace spate::hub
