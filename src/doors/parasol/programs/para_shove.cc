// The batch stays in memory between two looks, and is saved after the first push and at the end:
// whatever happens in between can be found out again from the hub and para.results.

#include "doors/parasol/programs/para_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "doors/parasol/programs/para_talk.h"

namespace spate::parasol {
namespace {

constexpr int kExitInterrupted = 130;
constexpr Duration kLookEvery = Duration::Seconds(1);
// A look must not cost more than a part of the time between two of them.
constexpr Duration kRestLeast = Duration::Millis(20);
constexpr Duration kRestMost = Duration::Millis(500);
constexpr int64_t kRestPerCost = 10;
constexpr Duration kPushStep = Duration::Seconds(1), kPushMost = Duration::Seconds(15);
constexpr Duration kTellStep = Duration::Seconds(15), kTellMost = Duration::Seconds(300);
constexpr Duration kAwayLeast = Duration::Seconds(1), kAwayMost = Duration::Seconds(30);
constexpr Duration kSickPause = Duration::Seconds(600);
constexpr Duration kShoveLook = Duration::Seconds(1);
constexpr int kSickMost = 3;

// A time that comes at growing distances.
class Growing {
 public:
  Growing(Instant from, Duration step, Duration most)
      : step_(step), most_(most), gap_(step), due_(from + step) {}
  bool IsDue(Instant now) const { return now >= due_; }
  void Next(Instant now) {
    gap_ = std::min(gap_ + step_, most_);
    due_ = now + gap_;
  }

 private:
  Duration step_, most_, gap_;
  Instant due_;
};

class Shover {
 public:
  explicit Shover(ParaCycle& cycle)
      : cycle_(cycle),
        start_(cycle.now()),
        tell_(start_, kTellStep, kTellMost),
        push_(start_, kPushStep, kPushMost) {}

  Result<int> Run() {
    auto pushed = PushOnce(cycle_);
    cycle_.EndTurn();
    if (!pushed) return Interrupted() ? EndInterrupted() : std::unexpected(pushed.error());
    while (true) {
      if (auto failed = cycle_.batch().Failed()) return End(FailOf(*failed));
      if (cycle_.batch().AllDone()) {
        cycle_.hub().Settle();
        return End("Successful batch!", 0);
      }
      if (IsOver()) return std::unexpected(cycle_.HaltError());
      Status went = cycle_.state().sick ? Heal() : WaitAndLook();
      if (went) continue;
      if (Interrupted()) return EndInterrupted();
      bool away = went.error().kind == ErrorKind::kUnavailable ||
                  went.error().kind == ErrorKind::kBusy;  // somebody else submits
      if (!away) return End(std::move(went.error()));
      BeAway(went.error());
    }
  }

 private:
  // By another para: at once, or after chill when nothing runs any more.
  bool IsOver() {
    const std::string& by = cycle_.halted_by();
    return by == "chill" ? !cycle_.batch().AnyAtHub() : !by.empty();
  }

  void Talk(std::string_view line) const { ParaTalk(cycle_.options(), line); }

  Error FailOf(uint32_t job) const {
    return {ErrorKind::kInvalid,
            fmt::format("Batch failed after {} tries on {}", cycle_.options().tries,
                        cycle_.batch().jobs()[job].command)};
  }
  Result<int> End(Error error) {
    if (auto saved = SaveInTurn(); !saved) error.message += "\n" + saved.error().message;
    return std::unexpected(std::move(error));
  }
  Result<int> End(std::string_view line, int code) {
    TRY(SaveInTurn());
    Talk(line);
    return code;
  }

  Status SaveInTurn() {
    TRY(cycle_.TakeTurn());
    Status saved = cycle_.Save();
    cycle_.EndTurn();
    return saved;
  }

  bool Interrupted() { return !cycle_.hub().Pause(Duration()); }
  Result<int> EndInterrupted() {
    return End("Interrupted. The batch continues; para shove watches it again, para stop ends it.",
               kExitInterrupted);
  }

  Status WaitAndLook() {
    Status waited = cycle_.hub().WaitForChange(kLookEvery);
    Duration rest = rest_ - (cycle_.now() - looked_);
    if (waited && rest.ns > 0) waited = cycle_.hub().Pause(rest);
    if (!waited) return waited;
    Instant before = cycle_.now();
    Status went = LookAndPush();
    looked_ = cycle_.now();
    rest_ = std::clamp((looked_ - before) * kRestPerCost, kRestLeast, kRestMost);
    if (went && std::exchange(away_, std::nullopt)) Talk("The hub is reachable again.");
    return went;
  }

  Status LookAndPush() {
    TRY(cycle_.TakeTurn());
    Status went = LookAndPushInTurn();
    cycle_.EndTurn();
    return went;
  }

  Status LookAndPushInTurn() {
    TRY(cycle_.Refresh());
    if (!cycle_.caught_up()) return cycle_.caught_up();
    TRY(cycle_.GiveUpHung());
    bool push = HasToPush();
    if (push || tell_.IsDue(cycle_.now())) {
      Talk("================");
      Talk(fmt::format("Checking job status {} minutes after launch",
                       (cycle_.now() - start_).ns / Duration::Seconds(60).ns));
      cycle_.TellQueue();
      cycle_.TellHeld();
      tell_.Next(cycle_.now());
    }
    cycle_.TellChecks();
    if (!push) return {};
    auto pushed = TRY(cycle_.Push());
    cycle_.TellPushed(pushed);
    push_.Next(cycle_.now());
    return {};
  }

  // The hub likes few large submissions better than many small ones, unless it has nothing to do.
  bool HasToPush() {
    if (cycle_.state().sick || !cycle_.halted_by().empty()) return false;
    if (cycle_.batch().AnyAtHub() && !push_.IsDue(cycle_.now())) return false;
    return !cycle_.batch().Next(std::min<uint64_t>(1, cycle_.MostPushed())).empty();
  }

  Status Heal() {
    if (++sick_ == kSickMost) return Fail(ErrorKind::kInvalid, std::string(kSickBatch));
    Talk("Sick batch! Waiting 10 minutes, then clearing sick nodes and trying again.");
    TRY(SaveInTurn());
    for (Instant until = cycle_.now() + kSickPause; cycle_.now() < until;) {
      TRY(cycle_.hub().Pause(kShoveLook));
      TRY(cycle_.SeeHalt());
      if (!cycle_.halted_by().empty()) return LookAndPush();
    }
    TRY(cycle_.hub().ClearSick());
    return LookAndPush();
  }

  void BeAway(const Error& error) {
    if (!away_) {
      Talk(fmt::format("The hub is unreachable ({}); retrying until Ctrl-C.", error.message));
      away_ = kAwayLeast;
    }
    (void)cycle_.hub().Pause(*away_);  // Ctrl-C is seen by what follows
    away_ = std::min(*away_ * 2, kAwayMost);
  }

  ParaCycle& cycle_;
  Instant start_;
  Growing tell_, push_;
  Instant looked_;
  Duration rest_ = kRestLeast;
  std::optional<Duration> away_;  // the next pause
  int sick_ = 0;
};

}  // namespace

Result<int> Shove(ParaCycle& cycle) { return Shover(cycle).Run(); }

}  // namespace spate::parasol
