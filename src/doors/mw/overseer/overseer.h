// `spate overseer`: as many slaves as the masters of resource files want, on a hub or on this
// machine (docs/user/overseer.md, docs/design/043-overseer.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/options/run_options.h"
#include "client/hub_setting.h"
#include "core/model/needs.h"

namespace spate::mw {

struct OverseerOptions {
  std::vector<std::string> paths;  // as typed: resource files, and folders of them
  uint32_t local = 0;              // slaves at once on this machine; 0: on a hub
  uint32_t most = 0;               // slaves at once, of all files
  Duration every;                  // between two looks
  bool ship = false;
  std::optional<uint32_t> slots;  // of each slave; none: its program need not know of slots
  std::string pool;               // which the needs have as a label; empty: none
  Needs needs;
  cli::OutputForm form = cli::OutputForm::kHuman;
};

// The hub; kUnavailable: there is none.
using FindHub = std::function<Result<client::HubSetting>()>;

// Reports its own errors; returns the exit code.
int Oversee(OverseerOptions options, const FindHub& find_hub);

}  // namespace spate::mw
