// Parts of a command about a hub: the hub to ask, the words typed, and the output.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "cli/options/run_options.h"
#include "cli/options/words.h"
#include "client/asker.h"

namespace spate::cli {

struct HubScreen {
  client::Asker& hub;
  const Words& words;
  OutputForm form = OutputForm::kHuman;
  uint32_t width = 80;  // or kWholeWidth
  bool colour = false;
  bool readable_by_others = false;  // the output is a file that is open to its group or to others
  // Options to add to `spate job ...`, so that it means a job of this hub: " --access FILE".
  std::string reach;
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<void(Duration)> pause;  // between two looks
  std::string folder;  // of a hub of this user on this machine; empty: of another one

  bool human() const { return form == OutputForm::kHuman; }
  // "spate: TEXT", unless nothing but data is wanted.
  void Report(std::string_view text) const;
  // Data; kExitSuccess, when it was written.
  Result<int> Write(std::string_view text) const;
  // The value of a --reason; empty without it. kInvalid: longer than a question may have it.
  Result<std::string> Reason(const Option& option) const;
};

}  // namespace spate::cli
