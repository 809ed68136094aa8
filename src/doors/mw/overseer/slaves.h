// Slaves: whoever starts and keeps the slaves of one resource file: a hub, or this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "doors/mw/formats/resource_file.h"
#include "doors/mw/overseer/target.h"

namespace spate::mw {

struct SlaveEnd {
  bool done = false;  // exit code 0
  Duration ran;
  std::string how;         // "with exit code 255", "by SIGKILL"
  std::string last_words;  // the end of what it wrote; may be empty
};

struct SlaveRoster {
  std::vector<SlaveSeen> there;
  std::vector<SlaveEnd> ended;  // since the last look; not those that were withdrawn
  uint32_t job = 0;             // the hub's, whose tasks they are; 0: none yet, or this machine
};

// Description of an end, from an exit code as a shell has it.
std::string TextOfEnd(int code);
// The last line or so of what a slave wrote, for people.
std::string LastWords(std::string_view text);

class Slaves {
 public:
  virtual ~Slaves() = default;
  // Sets what slaves get that are started from now on. If that differs from before, the queued ones
  // are withdrawn.
  virtual Status Prepare(const ResourceFile& file) = 0;
  virtual Result<SlaveRoster> List() = 0;
  virtual Status Start(uint64_t count) = 0;
  // Withdraws queued slaves. Ends none that has begun.
  virtual Status Withdraw(uint64_t count) = 0;
  // Nothing more is started, until the next Start.
  virtual Status Close() = 0;
};

}  // namespace spate::mw
