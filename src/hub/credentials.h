// Credentials: the credentials that a hub gave out, and who a guest is by them or by the system.
//
// Thread: the loop's.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "base/bytes32.h"
#include "hub/caller.h"
#include "os/loop.h"
#include "store/hub_store.h"
#include "wire/greeting.h"

namespace spate::hub {

class Credentials {
 public:
  // `owner` is the number of the user whom the hub runs as. `ended` is called when a credential
  // expires or is revoked, with the reason.
  using Ended = std::function<void(uint64_t serial, const std::string& why)>;
  Credentials(os::Loop& loop, store::CredentialRows& store, uint32_t owner, Ended ended)
      : loop_(loop), store_(store), owner_(owner), ended_(std::move(ended)) {}
  ~Credentials() { loop_.Cancel(timer_); }

  Status Load();
  std::expected<Caller, wire::Refusal> Who(const Guest& guest) const;
  // `done` when the credential is durable. Without a serial it gets the next.
  void Add(access::Access& access, std::function<void(Status)> done);
  // False: there is none, or it was revoked before.
  bool Revoke(uint64_t serial, std::function<void(Status)> done);
  const std::map<uint64_t, store::CredentialRow>& all() const { return rows_; }

  // Ends what has expired by the wall clock since the last look, and waits for the next one; also
  // when that clock has stepped.
  void AwaitExpiry();

 private:
  os::Loop& loop_;
  store::CredentialRows& store_;
  const uint32_t owner_;
  const Ended ended_;
  std::map<uint64_t, store::CredentialRow> rows_;
  Instant looked_;  // by the wall clock
  os::TimerId timer_ = 0;
};

}  // namespace spate::hub
