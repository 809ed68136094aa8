// Parameters of an overseer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/options/run_options.h"
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

}  // namespace spate::mw
