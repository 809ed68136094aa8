#include "hub/credentials.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/proof.h"
#include "base/utc.h"

namespace spate::hub {
namespace {

// `advice`: what makes an access that would do.
std::unexpected<wire::Refusal> Refuse(wire::RefusalCode code, std::string reason, Advice advice) {
  return std::unexpected(
      wire::Refusal{code, std::move(reason), Remedy(" ({})", std::move(advice))});
}

// One text for all that is wrong with a secret or a serial: a stranger learns nothing from it.
std::unexpected<wire::Refusal> NotKnown() {
  return Refuse(wire::RefusalCode::kCredential,
                "the hub does not know this access, or it was revoked; ask the hub's owner for a "
                "new one",
                Advice("hub access add"));
}

}  // namespace

Status Credentials::Load() {
  auto rows = TRY(store_.ReadCredentials());
  for (store::CredentialRow& row : rows) rows_[row.serial] = std::move(row);
  looked_ = loop_.Wall();
  AwaitExpiry();
  return {};
}

void Credentials::AwaitExpiry() {
  loop_.Cancel(timer_);
  const Instant now = loop_.Wall();
  const Instant since = std::exchange(looked_, now);
  Instant next = Instant::Never();
  for (const auto& [serial, row] : rows_) {
    if (!row.expires || row.revoked) continue;
    if (*row.expires > now) {
      next = std::min(next, *row.expires);
    } else if (*row.expires > since) {
      ended_(serial, "this access has expired");
    }
  }
  if (next == Instant::Never()) return;
  timer_ = loop_.At(loop_.Now() + (next - now), [this] { AwaitExpiry(); });
}

std::expected<Caller, wire::Refusal> Credentials::Who(const Guest& guest) const {
  if (guest.local_user) {
    uint32_t id = *guest.local_user;
    Caller caller;
    caller.user = guest.user.empty() ? fmt::format("uid-{}", id) : guest.user;
    caller.is_admin = id == 0 || id == owner_;
    // Root's nodes run the tasks of all; others only their own.
    if (guest.greeting.role == wire::Role::kNode && id == 0) caller.user = access::kEveryUser;
    return caller;
  }
  auto at = rows_.find(guest.greeting.serial);
  Bytes32 secret{};
  if (at != rows_.end()) std::copy_n(at->second.secret.begin(), secret.size(), secret.begin());
  // Also for an unknown serial, so that it takes as long.
  bool proves = guest.Proves(secret);
  if (at == rows_.end() || !proves || at->second.revoked) return NotKnown();
  const store::CredentialRow& row = at->second;
  if (row.expires && *row.expires <= loop_.Wall()) {
    return Refuse(wire::RefusalCode::kCredential,
                  fmt::format("this access expired on {}; ask the hub's owner for a new one",
                              FormatUtc(*row.expires)),
                  Advice("hub access add"));
  }
  bool node = guest.greeting.role == wire::Role::kNode;
  if (node != (row.role == WordOf(Role::kNode))) {
    const char* role = node ? "node" : "client";
    return Refuse(wire::RefusalCode::kRole,
                  fmt::format("this access is for a {}; a {} needs one of its own", row.role, role),
                  Advice("hub access add", "--role", role));
  }
  return Caller{
      .user = row.user, .is_admin = row.role == WordOf(Role::kAdmin), .serial = row.serial};
}

void Credentials::Add(access::Access& access, std::function<void(Status)> done) {
  store::CredentialRow row;
  if (access.serial == 0) access.serial = rows_.empty() ? 1 : rows_.rbegin()->first + 1;
  row.serial = access.serial;
  row.role = WordOf(access.role);
  row.user = access.user;
  row.secret.assign(access.secret.begin(), access.secret.end());
  row.created = loop_.Wall();
  if (access.expires != Instant::Never()) row.expires = access.expires;
  rows_[row.serial] = row;
  store_.PutCredential(std::move(row), std::move(done));
  AwaitExpiry();
}

bool Credentials::Revoke(uint64_t serial, std::function<void(Status)> done) {
  auto at = rows_.find(serial);
  if (at == rows_.end() || at->second.revoked) return false;
  at->second.revoked = loop_.Wall();
  store_.PutCredential(at->second, std::move(done));
  ended_(serial, "this access was revoked");
  return true;
}

}  // namespace spate::hub
