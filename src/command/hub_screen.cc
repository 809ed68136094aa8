#include "command/hub_screen.h"

#include <fmt/format.h>

#include "cli/exit_code.h"
#include "wire/limits.h"

namespace spate::cli {

void HubScreen::Report(std::string_view text) const {
  if (form != OutputForm::kQuiet) write_err(fmt::format("spate: {}\n", text));
}

Result<int> HubScreen::Write(std::string_view text) const {
  TRY(write_out(text));
  return kExitSuccess;
}

Result<std::string> HubScreen::Reason(const Option& option) const {
  std::string reason(words.Last(option).value_or(""));
  const size_t most = wire::kWireLimits.name_bytes;
  if (reason.size() <= most) return reason;
  return Fail(ErrorKind::kInvalid,
              fmt::format("--reason has {} bytes; write {} at most", reason.size(), most));
}

}  // namespace spate::cli
