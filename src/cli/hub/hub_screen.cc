#include "cli/hub/hub_screen.h"

#include <fmt/format.h>

#include "cli/exit_code.h"

namespace spate::cli {

void HubScreen::Say(std::string_view text) const {
  if (form != OutputForm::kQuiet) write_err(fmt::format("spate: {}\n", text));
}

Result<int> HubScreen::Write(std::string_view text) const {
  TRY(write_out(text));
  return kExitSuccess;
}

}  // namespace spate::cli
