#include "doors/mw/run/slave_access.h"

#include <fmt/format.h>

#include <utility>

#include "access/proof.h"
#include "base/units.h"
#include "doors/mw/formats/resource_file.h"
#include "doors/mw/run/algorithms.h"
#include "os/account.h"
#include "os/file.h"

namespace spate::mw {
namespace {

constexpr uint32_t kRoot = 0;

}  // namespace

Result<SlaveAccess> SlaveAccess::Make(const std::string& path) {
  auto identity = TRY(path.empty() ? transport::Identity::Make()
                                   : transport::Identity::LoadOrMake(path + ".key"));
  access::Access access{.pin = identity.pin(),
                        .serial = kSlaveSerial,
                        .role = access::Role::kNode,
                        .user = std::string(access::kEveryUser)};
  access.secret = TRY(access::MakeRandom());
  if (path.empty() || !os::Exists(path)) return SlaveAccess{std::move(identity), access};
  auto known = TRY(access::LoadAccess(path));
  if (known.pin != access.pin || known.serial != kSlaveSerial) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("{} belongs to another key than {}.key: remove both, or name "
                            "another file",
                            path, path));
  }
  access.secret = known.secret;
  return SlaveAccess{std::move(identity), access};
}

std::optional<wire::Refusal> WhyNoSlave(const link::Guest& guest, const SlaveTerms& terms,
                                        Audit& audit) {
  const wire::Greeting& greeting = guest.greeting;
  // Root reads the credential in any case.
  const bool is_known = guest.local
                            ? guest.local->user == os::EffectiveUser() || guest.local->user == kRoot
                            : guest.Proves(terms.access.secret);
  if (greeting.role != wire::Role::kNode || !is_known) {
    audit.Record(audit::Closed(guest.peer));
    return wire::Refusal{wire::RefusalCode::kCredential,
                         "this is not the credential of its slaves"};
  }
  const std::string& member = greeting.node_name;
  if (member != terms.member_id) {
    audit.Record(audit::WrongMember(terms.member_id, member));
    return wire::Refusal{wire::RefusalCode::kName,
                         fmt::format("it expects the member id '{}', not '{}' (--mw-member-id)",
                                     terms.member_id, member)};
  }
  auto other =
      WhyOtherBuild({terms.words, "the master's"}, {greeting.features, "the slave's program"});
  if (other.empty()) return std::nullopt;
  audit.Record({"NEW-CLIENT", fmt::format("<- OTHER BUILD {}", other)});
  return wire::Refusal{
      wire::RefusalCode::kVersion,
      fmt::format("{}: master and slaves must be built of the same source", other)};
}

std::string HowToStartSlaves(const Options& options, const std::string& executable,
                             const HostAndPort& place) {
  std::string how = executable + " --mw-slave";
  if (!options.resource_file.empty()) return how + " --mw-resource-file " + options.resource_file;
  if (!options.access_file.empty()) {
    return how + fmt::format(" --mw-master-host {} --mw-master-port {} --mw-access {}", place.host,
                             place.port, options.access_file);
  }
  return "give the master --mw-resource-file FILE, then start " + how + " --mw-resource-file FILE";
}

std::unexpected<Error> InUse(const std::string& path) {
  std::string holder = "another master";
  auto text = os::ReadFile(path, kResourceFileBytesMax);
  auto file = text ? ReadResourceFile(*text, path) : std::unexpected(text.error());
  if (file) {
    holder = fmt::format("the master at {}:{} ({}, member id '{}')",
                         SlaveArgument(*file, "--mw-master-host").value_or("?"),
                         SlaveArgument(*file, "--mw-master-port").value_or("?"), file->executable,
                         file->member_id);
  }
  return Fail(ErrorKind::kBusy,
              fmt::format("--mw-resource-file {} is in use: {} writes it. Wait for its end, "
                          "or name another file",
                          EscapeForScreen(path), EscapeForScreen(holder)));
}

}  // namespace spate::mw
