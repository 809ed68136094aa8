#include "doors/mw/overseer/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "doors/mw/overseer/owned_file.h"
#include "present/advice.h"
#include "present/json/json_fields.h"

namespace spate::mw {
namespace {

// A file that is over is looked at for so long before its overseer ends.
constexpr Duration kNextMaster = Duration::Seconds(10);

const char* NameOf(Watch::State state) {
  switch (state) {
    case Watch::State::kWaits:
      return "waiting";
    case Watch::State::kActive:
      return "active";
    case Watch::State::kBacksOff:
      return "backing-off";
    case Watch::State::kFinished:
      return "finished";
    case Watch::State::kFailed:
      return "failed";
    case Watch::State::kStale:
      return "stale";
    case Watch::State::kRefused:
      return "refused";
  }
  return "";
}

}  // namespace

void Watch::TellTrouble(std::string& told, const std::string& text) {
  if (text != told && !text.empty()) settings_.say(text);
  told = text;
}

void Watch::Poll(Instant now, uint64_t most) {
  ReadFile(now);
  if (target_.Phase(now) == FilePhase::kUnread || AwaitsMaster(now)) return;
  Status done = Oversee(now, most);
  TellTrouble(slaves_trouble_, done ? "" : settings_.shown + ": " + present::TextOf(done.error()));
}

bool Watch::AwaitsMaster(Instant now) {
  const FilePhase phase = target_.Phase(now);
  const bool first = !first_seen_;
  if (first) first_seen_ = now;
  if (phase == FilePhase::kActive) was_active_ = true;
  if (was_active_ || state_ == State::kRefused || now >= *first_seen_ + kNextMaster) return false;
  if (first) {
    Report(fmt::format("its computation {}; waiting {} for another master",
                       phase == FilePhase::kFinished ? "has finished"
                       : phase == FilePhase::kFailed ? "has failed"
                                                     : "is stale",
                       FormatDuration(kNextMaster)));
  }
  return true;
}

// A file that cannot be read keeps what it said before, until that is stale.
void Watch::ReadFile(Instant now) {
  auto file = ReadOwnedResourceFile(settings_.path);
  bool refused = !file && file.error().kind == ErrorKind::kPermission;
  if (refused) state_ = State::kRefused;
  if (state_ == State::kRefused && !refused) state_ = State::kWaits;
  if (!file) {
    bool absent = file.error().kind == ErrorKind::kNotFound;
    bool unread = target_.Phase(now) == FilePhase::kUnread;
    std::string text = absent ? fmt::format("{}: {}", settings_.shown,
                                            unread ? "is not there yet" : "is not there any more")
                              : file.error().message;
    return TellTrouble(file_trouble_, text);
  }
  target_.Read(*file, now);
  Status prepared = slaves_->Prepare(*file);
  prepared_ = prepared.has_value();
  bool tell = !prepared && !file->finished;
  TellTrouble(file_trouble_, tell ? settings_.shown + ": " + prepared.error().message : "");
}

Status Watch::Oversee(Instant now, uint64_t most) {
  // Nothing that the first file asked for can be started, so there is nobody to look at.
  if (!prepared_ && job_ == 0 && slaves() == 0) {
    FilePhase phase = target_.Phase(now);
    return phase == FilePhase::kActive ? Status() : CloseOnce(phase);
  }
  auto roster = TRY(slaves_->List());
  job_ = roster.job;
  for (const SlaveEnd& end : roster.ended) target_.Ended(end.done, end.ran, now);
  target_.Observe(roster.there, now);
  counts_ = target_.counts();
  TellEnds(roster.ended, now);
  FilePhase phase = target_.Phase(now);
  if (phase != FilePhase::kActive) return CloseOnce(phase);
  closed_ = false;
  if (state_ != State::kRefused) state_ = backed_off_ ? State::kBacksOff : State::kActive;
  SlaveOrders orders = target_.Decide(now, most);
  if (!prepared_ || state_ == State::kRefused) orders.start = 0;
  return Obey(orders);
}

Status Watch::Obey(const SlaveOrders& orders) {
  if (orders.withdraw > 0) {
    auto withdrawn = slaves_->Withdraw(orders.withdraw);
    if (withdrawn) counts_.queued -= orders.withdraw;
    return withdrawn;
  }
  if (orders.start == 0) return {};
  auto started = slaves_->Start(orders.start);
  // An estimate until the next look; others may not have room.
  if (started) counts_.queued += orders.start;
  return started;
}

std::string Watch::LeftText() const {
  if (counts_.running == 0) return "";
  std::string job = job_ == 0 ? "" : fmt::format(" (job {})", job_);
  if (counts_.running == 1) return "; 1 still runs, and ends by itself" + job;
  return fmt::format("; {} still run, and end by themselves{}", counts_.running, job);
}

Status Watch::CloseOnce(FilePhase phase) {
  state_ = phase == FilePhase::kFinished ? State::kFinished
           : phase == FilePhase::kFailed ? State::kFailed
                                         : State::kStale;
  if (closed_) return {};
  TRY(slaves_->Close());
  closed_ = true;
  counts_.queued = 0;
  if (state_ == State::kFinished) {
    Report("finished" + LeftText());
  } else if (state_ == State::kFailed) {
    Report("failed: its master ended by an exception" + LeftText());
  } else {
    Report(
        "stale: its master has not written it in time and is probably dead; no more slaves start" +
        LeftText());
  }
  return {};
}

// Many that end alike are one message.
void Watch::TellEnds(const std::vector<SlaveEnd>& ends, Instant now) {
  auto failed = std::ranges::count_if(ends, [](const SlaveEnd& end) { return !end.done; });
  if (failed > 0) {
    const SlaveEnd& last = *std::ranges::find(ends.rbegin(), ends.rend(), false, &SlaveEnd::done);
    Report(fmt::format("{} ended {} after {}{}",
                       failed == 1 ? "a slave" : fmt::format("{} slaves, the last one", failed),
                       last.how, FormatDuration(last.ran),
                       last.last_words.empty() ? "" : ": " + last.last_words));
  }
  auto until = target_.backs_off();
  if (until && !backed_off_) {
    Report(
        fmt::format("slaves fail one after the other before they have connected; from now on one "
                    "at a time is tried, the next in {}",
                    FormatDuration(std::max(Duration(), *until - now))));
  } else if (!until && backed_off_) {
    Report("a slave stays; the others are started again");
  }
  backed_off_ = until.has_value();
}

void Watch::Leave() {
  if (closed_ || job_ == 0) return;
  Status left = slaves_->Close();
  if (!left) return settings_.say(settings_.shown + ": " + present::TextOf(left.error()));
  Report("no more slaves start" + LeftText());
}

bool Watch::ended() const {
  if (state_ == State::kRefused) return true;
  bool over = state_ == State::kFinished || state_ == State::kFailed || state_ == State::kStale;
  return over && closed_ && (!settings_.slaves_end_with_us || counts_.running == 0);
}

std::string Watch::Line() const {
  std::string text = settings_.shown + ": ";
  if (state_ == State::kActive || state_ == State::kBacksOff) {
    text += fmt::format("{} missing, {} queued, {} running", counts_.missing, counts_.queued,
                        counts_.running);
    if (state_ == State::kBacksOff) text += ", backing off";
  } else {
    text += NameOf(state_);
    if (counts_.running > 0) text += fmt::format(", {} running", counts_.running);
  }
  if (job_ != 0) text += fmt::format(" (job {})", job_);
  return text;
}

std::string Watch::Json() const {
  return present::JsonOf("overseer", "file", settings_.path, "state", NameOf(state_), "missing",
                         counts_.missing, "queued", counts_.queued, "running", counts_.running,
                         "connected", counts_.connected, "job", present::OrNull(job_ != 0, job_));
}

}  // namespace spate::mw
