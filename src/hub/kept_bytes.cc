#include "hub/kept_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/units.h"

namespace spate::hub {

void KeptBytes::Charge(Account& account, const Part& part) {
  account.left -= std::min(account.left, part.bytes);
  account.arriving[part.job] += part.in_memory;
}

bool KeptBytes::Admit(const Part& part, std::function<void(Status)> done) {
  Account& account = accounts_[part.user];
  account.arriving.try_emplace(part.job);
  if (account.waiting.empty() && !part.is_last && part.bytes <= account.left) {
    Charge(account, part);
    return true;
  }
  account.waiting.push_back({part, std::move(done)});
  if (account.waiting.size() == 1) ReadKept(part.user);
  return false;
}

void KeptBytes::ReadKept(const std::string& user) {
  std::set<JobId> arriving;
  for (const auto& [job, in_memory] : accounts_.at(user).arriving) arriving.insert(job);
  read_(user, std::move(arriving),
        [this, user](const Result<uint64_t>& kept) { Counted(user, kept); });
}

// No part was taken since ReadKept. The journal keeps parts compressed: when it has the parts that
// were taken, more may be left than their bytes suggest, so the remaining parts are looked at
// again.
void KeptBytes::Counted(const std::string& user, const Result<uint64_t>& kept) {
  Account& account = accounts_.at(user);
  uint64_t used = kept.value_or(0);
  for (const auto& [job, in_memory] : account.arriving) used += in_memory;
  uint64_t taken = 0;
  std::vector<std::pair<std::function<void(Status)>, Status>> told;
  for (Waiter& each : std::exchange(account.waiting, {})) {
    const Part& part = each.part;
    if (!account.arriving.contains(part.job)) continue;  // the upload was dropped
    Status may;
    if (!kept) {
      may = std::unexpected(kept.error());
    } else if (used + part.in_memory > part.most) {
      may = Fail(
          ErrorKind::kBusy,
          fmt::format("with this job the hub would keep {} for user {} (commands, files, "
                      "environments, and output), but the limit is {}: forget jobs that have ended",
                      FormatSize(used + part.in_memory), part.user, FormatSize(part.most)),
          Remedy(" ({}, or --older-than 7d)", Advice("job forget", 12)));
    }
    if (may && used + taken > part.most) {
      account.waiting.push_back(std::move(each));
      continue;
    }
    account.left = part.most - std::min(part.most, used + taken);
    if (may) {
      Charge(account, part);
      taken += part.bytes;
    }
    told.emplace_back(std::move(each.done), std::move(may));
  }
  if (!account.waiting.empty()) ReadKept(user);
  if (account.arriving.empty()) accounts_.erase(user);
  for (auto& [done, may] : told) done(may);
}

uint64_t KeptBytes::Leave(const std::string& user, JobId job) {
  auto account = accounts_.find(user);
  if (account == accounts_.end()) return UINT64_MAX;
  const uint64_t left = account->second.left;
  account->second.arriving.erase(job);
  if (account->second.arriving.empty() && account->second.waiting.empty()) accounts_.erase(account);
  return left;
}

}  // namespace spate::hub
