// SlaveAccess: the credential of a master's slaves, which guests are slaves of its computation, and
// how they are started.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "access/access_file.h"
#include "base/result.h"
#include "doors/mw/formats/options.h"
#include "doors/mw/run/audit.h"
#include "link/entrance.h"
#include "transport/tcp/identity.h"

namespace spate::mw {

inline constexpr uint64_t kSlaveSerial = 1;  // of the one credential

struct SlaveAccess {
  transport::Identity identity;
  access::Access access;  // without addresses

  // Reads a file that is kept with its key next to it (FILE.key); makes a new access if it is
  // missing or `path` is empty. Writes nothing.
  static Result<SlaveAccess> Make(const std::string& path);
};

// How a guest must be.
struct SlaveTerms {
  const access::Access& access;
  const std::string& member_id;
  const std::vector<std::string>& words;  // of its algorithms
};
// By what the service does not know: that the guest is a slave of this computation, from the same
// build; nullopt: it is.
std::optional<wire::Refusal> WhyNoSlave(const link::Guest& guest, const SlaveTerms& terms,
                                        Audit& audit);

// The address at which slaves reach the master.
struct HostAndPort {
  std::string host;
  uint16_t port = 0;
};
// The command of a slave, for people.
std::string HowToStartSlaves(const Options& options, const std::string& executable,
                             const HostAndPort& place);

// The resource file, by which slaves find their master, is another one's: kBusy, with where that
// master is as the file says.
std::unexpected<Error> InUse(const std::string& path);

}  // namespace spate::mw
