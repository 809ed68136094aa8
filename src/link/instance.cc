#include "link/instance.h"

#include <fmt/format.h>

#include "access/proof.h"
#include "os/file.h"
#include "wire/greeting.h"

namespace spate::link {

Result<std::string> LoadOrMakeInstance(const std::string& path) {
  auto kept = os::ReadFile(path, wire::kInstanceBytes);
  if (kept && kept->size() == wire::kInstanceBytes) return kept;
  if (kept || kept.error().kind == ErrorKind::kInvalid) {
    return Fail(
        ErrorKind::kCorrupt,
        fmt::format("'{}' is damaged ({} bytes expected); remove it to register this node as new",
                    path, wire::kInstanceBytes));
  }
  if (kept.error().kind != ErrorKind::kNotFound) return kept;
  auto random = TRY(access::MakeRandom());
  std::string instance(random.begin(), random.begin() + wire::kInstanceBytes);
  Status written = os::WriteFileAtomically(path, instance, 0600);
  if (!written) return std::unexpected(std::move(written.error()));
  return instance;
}

}  // namespace spate::link
