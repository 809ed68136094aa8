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
#include "core/provision/pool.h"
#include "link/entrance.h"
#include "os/loop.h"
#include "store/hub_store.h"
#include "wire/greeting.h"

namespace spate::hub {

// The one who speaks to the hub.
struct Caller {
  std::string user;  // of a node: whose tasks it takes; "*": everybody's
  bool is_admin = false;
  uint64_t serial = 0;            // of the credential; 0: known by the system
  provision::PilotId pilot = {};  // 0: it is no node of one
};

class Credentials {
 public:
  // `expired` is called when a credential comes to its end.
  Credentials(os::Loop& loop, store::CredentialRows& store,
              std::function<void(uint64_t serial)> expired)
      : loop_(loop), store_(store), expired_(std::move(expired)) {}
  ~Credentials() { loop_.Cancel(timer_); }

  Status Load();
  std::expected<Caller, wire::Refusal> Who(const link::Guest& guest) const;
  // `done` when the credential is durable. Without a serial it gets the next.
  void Add(access::Access& access, std::function<void(Status)> done);
  // False: there is none, or it was revoked before.
  bool Revoke(uint64_t serial, std::function<void(Status)> done);
  const std::map<uint64_t, store::CredentialRow>& all() const { return rows_; }

 private:
  void AwaitExpiry();

  os::Loop& loop_;
  store::CredentialRows& store_;
  const std::function<void(uint64_t)> expired_;
  std::map<uint64_t, store::CredentialRow> rows_;
  os::TimerId timer_ = 0;
};

}  // namespace spate::hub
