// Watch: one resource file, and the slaves that it asks for. It reads the file, looks at the
// slaves, has SlaveTarget decide, and does that; every time it is told to.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "doors/mw/overseer/slaves.h"
#include "doors/mw/overseer/target.h"

namespace spate::mw {

struct WatchSettings {
  std::string path;   // absolute
  std::string shown;  // for people
  // Slaves end with this process: while some run, a watch has not ended.
  bool slaves_end_with_us = false;
  std::function<void(const std::string&)> say;  // a message to people
};

class Watch {
 public:
  enum class State : uint8_t {
    kWaits,  // for a file that can be read
    kActive,
    kBacksOff,  // slaves fail one after the other
    kFinished,
    kFailed,
    kStale,
    kRefused,  // somebody else's file
  };

  Watch(WatchSettings settings, std::unique_ptr<Slaves> slaves)
      : settings_(std::move(settings)), slaves_(std::move(slaves)) {}

  // `most`: slaves of this file at once.
  void Poll(Instant now, uint64_t most);
  // Nothing more is started; for an overseer that is told to stop.
  void Leave();

  State state() const { return state_; }
  // True as far as can be known now: a stale file that is written again goes on.
  bool ended() const;
  const std::string& path() const { return settings_.path; }
  uint64_t slaves() const { return counts_.queued + counts_.running; }
  std::string Line() const;  // "search.rsc: 12 missing, 12 queued, 28 running, job 7"
  std::string Json() const;  // docs/formats/json.md

 private:
  void ReadFile(Instant now);
  // True if the file is over, and was when it was first seen: the commands of the last computation
  // may just be typed again, and its master not be quick enough.
  bool AwaitsMaster(Instant now);
  Status Oversee(Instant now, uint64_t most);
  Status Obey(const SlaveOrders& orders);
  Status CloseOnce(FilePhase phase);
  // "; 2 still run, and end by themselves (job 7)", if so.
  std::string LeftText() const;
  void TellEnds(const std::vector<SlaveEnd>& ends, Instant now);
  // The same trouble again and again is told once.
  void TellTrouble(std::string& told, const std::string& text);
  void Report(const std::string& text) const { settings_.say(settings_.shown + ": " + text); }

  const WatchSettings settings_;
  const std::unique_ptr<Slaves> slaves_;
  SlaveTarget target_;
  State state_ = State::kWaits;
  SlaveCounts counts_;
  uint32_t job_ = 0;       // the hub's; 0: none yet, or none
  bool prepared_ = false;  // slaves can be started as the file says
  bool closed_ = false;
  bool backed_off_ = false;
  bool was_active_ = false;
  std::optional<Instant> first_seen_;          // whole
  std::string file_trouble_, slaves_trouble_;  // told last
};

}  // namespace spate::mw
