// What a command about a hub has: whom it asks, what was typed, and where the answer is shown.
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
  // What to add to `spate job ...`, so that it means a job of this hub: " --access FILE".
  std::string reach;
  std::function<Status(std::string_view)> write_out;
  std::function<void(std::string_view)> write_err;
  std::function<void(Duration)> pause;  // between two looks

  bool human() const { return form == OutputForm::kHuman; }
  // "spate: TEXT", unless nothing but data is wanted.
  void Say(std::string_view text) const;
};

// A command that only a hub answers. The exit code.
using HubVerb = Result<int> (*)(const HubScreen& screen);
// Null: it is none of these.
HubVerb HubVerbOf(Command command);

// The verbs, by what they are about.
HubVerb NodeVerbOf(Command command);
HubVerb JobVerbOf(Command command);

}  // namespace spate::cli
