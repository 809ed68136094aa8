#include "history/source.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::history {

std::string Source::PlaceText() const {
  return on_hub() ? "on the hub" : fmt::format("in '{}'", EscapeForScreen(history->place().dir));
}

bool Source::MaySee(const store::JobRow& row) const {
  return !on_hub() || viewer.is_admin || viewer.user == row.user;
}

Result<std::unique_ptr<store::JobJournal>> Source::Open(uint32_t job) const {
  auto journal = history->Open(job);
  auto known = live.find(job);
  if (journal && known != live.end() && known->second.tells_runs) {
    (*journal)->SetRunning(known->second.running);
  }
  if (!journal || MaySee((*journal)->summary().row)) return journal;
  std::string owner = EscapeForScreen((*journal)->summary().row.user);
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} belongs to {}; only {} and the hub's administrators may look "
                          "into it",
                          job, owner, owner));
}

}  // namespace spate::history
