#pragma once

#include <string_view>

#include "doors/pmc/formats/messages.h"

namespace spate::pmc {

// Says a text at its level to standard error, when the options want to hear it.
class Talk {
 public:
  explicit Talk(int verbosity) : verbosity_(verbosity) {}
  void Log(LogLevel level, std::string_view text) const;
  bool Logs(LogLevel level) const { return static_cast<int>(level) <= verbosity_; }

 private:
  const int verbosity_;
};

}  // namespace spate::pmc
