#include "hub/gang_members.h"

#include <fmt/format.h>

#include <utility>

#include "access/proof.h"

namespace spate::hub {
namespace {

std::string_view Bytes(const Bytes32& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

}  // namespace

void GangMembers::SetKey(std::string_view key) {
  key_ = access::DeriveSecret(key, "spate gangs 1", 0);
}

void GangMembers::Joined(NodeId node, const std::string& name, std::string remote) {
  Left(node);
  if (remote.empty()) return;
  names_[node] = name;
  remotes_[name] = std::move(remote);
}

void GangMembers::Left(NodeId node) {
  if (auto name = names_.extract(node)) remotes_.erase(name.mapped());
}

std::string GangMembers::RemoteOf(const std::string& node) const {
  auto at = remotes_.find(node);
  return at == remotes_.end() ? std::string() : at->second;
}

std::shared_ptr<const GangPart> GangMembers::Introduce(const AttemptRef& ref,
                                                       std::shared_ptr<const GangPart> part) const {
  if (part == nullptr) return part;
  auto told = std::make_shared<GangPart>(*part);
  for (GangHost& host : told->hosts) {
    if (auto at = remotes_.find(host.node); at != remotes_.end()) host.remote = at->second;
  }
  if (key_) {
    const std::string purpose = fmt::format("spate gang 1 {}.{}", ref.job.value, ref.index);
    told->secret = Bytes(access::DeriveSecret(Bytes(*key_), purpose, ref.attempt.value));
  }
  return told;
}

}  // namespace spate::hub
