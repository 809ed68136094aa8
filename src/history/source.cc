#include "history/source.h"

#include <fmt/format.h>

#include "base/units.h"

namespace spate::history {

std::string Source::PlaceText() const {
  return on_hub() ? "on the hub" : fmt::format("in '{}'", EscapeForScreen(place.dir));
}

bool Source::MaySee(const store::JobRow& row) const {
  return !on_hub() || viewer.is_admin || viewer.user == row.user;
}

Result<store::History> Source::Open(uint32_t job) const {
  auto history = store::History::Open(place, job);
  if (!history || MaySee(history->summary().row)) return history;
  std::string owner = EscapeForScreen(history->summary().row.user);
  return Fail(ErrorKind::kPermission,
              fmt::format("job {} belongs to {}; only {} and the hub's administrators may look "
                          "into it",
                          job, owner, owner));
}

}  // namespace spate::history
