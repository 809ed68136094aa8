// Output of para: reports on standard output, all else on standard error.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "doors/parasol/programs/para_options.h"

namespace spate::parasol {

// Progress: nothing with -verbose=0.
void ParaTalk(const ParaOptions& options, std::string_view line);
void ParaWarn(std::string_view line);
// On standard output. Where its reader is gone, the program ends by SIGPIPE, as others do.
Status ParaPrint(std::string_view text);

// A dot for each 20 steps of something that may take long, and a newline behind them.
class ParaDots {
 public:
  explicit ParaDots(bool shown) : shown_(shown) {}
  // For people: on a terminal, not with -verbose=0.
  explicit ParaDots(const ParaOptions& options);
  ~ParaDots();
  ParaDots(const ParaDots&) = delete;
  ParaDots& operator=(const ParaDots&) = delete;
  void Step();

 private:
  bool shown_;
  uint64_t steps_ = 0;
};

}  // namespace spate::parasol
