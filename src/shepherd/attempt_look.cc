// Questions about the attempt in hand: a look at it.
#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"
#include "core/model/resize.h"
#include "core/model/run_look.h"
#include "core/model/steer.h"
#include "shepherd/as_user.h"
#include "shepherd/attempt_runner.h"
#include "wire/field_bytes.h"

namespace spate::shepherd {

wire::AnswerPiece AttemptRunner::AnswerTo(const wire::Ask& ask, int64_t now) {
  const bool signals = ask.question == SignalRun::kNumber;
  const bool visits = ask.question == OpenVisit::kNumber && setup_.can_visit;
  const bool resizes = ask.question == ResizeRun::kNumber;
  if (ask.question != RunWish::kNumber && !visits && !signals && !resizes)
    return {.kind = wire::AnswerKind::kUnknown};
  if (waits_to_start()) return {.kind = wire::AnswerKind::kNotStarted};
  if (signals) return Signalled(ask);
  if (resizes) {
    if (!is_working()) return {.kind = wire::AnswerKind::kEnded};
    auto wanted = wire::FromBytes<ResizeRun>("the question", ask.body);
    Status done = wanted ? Resize(std::move(*wanted), now) : std::unexpected(wanted.error());
    if (!done) return wire::AnswerPiece::Failed(done.error());
    return {.kind = wire::AnswerKind::kDone, .bytes = wire::BytesOf(ResizeRun::Answer())};
  }
  if (visits) {
    auto visit = wire::FromBytes<OpenVisit>("the question", ask.body);
    Status entered = visit ? Enter(*visit, ask.rank) : std::unexpected(visit.error());
    if (!entered) return wire::AnswerPiece::Failed(entered.error());
    return {.kind = is_working() ? wire::AnswerKind::kDone : wire::AnswerKind::kEnded};
  }
  auto wish = wire::FromBytes<RunWish>("the question", ask.body);
  if (!wish) return wire::AnswerPiece::Failed(wish.error());
  return {.kind = wire::AnswerKind::kDone, .bytes = wire::BytesOf(LookAt(*wish, ask.rank, now))};
}

// All or nothing: its memory is looked at first.
Status AttemptRunner::Resize(ResizeRun wanted, int64_t now) {
  Start& start = asked_.view.start;
  const uint64_t limit = wanted.needs.memory;
  const uint64_t before = start.needs.memory;
  if (limit != 0 && (before == 0 || limit < before)) {
    const uint64_t used = Sample(now);
    if (used > limit) {
      return Fail(ErrorKind::kInvalid, fmt::format("it uses {} of memory, more than {}",
                                                   FormatSize(used), FormatSize(limit)));
    }
  }
  memory_.SetLimit(limit);
  if (!wanted.cpus.empty()) {
    asked_.cpus = os::CpuMask::Of({wanted.cpus.begin(), wanted.cpus.end()});
    BindAll(*asked_.cpus);
  }
  if (wanted.time_limit && wanted.time_limit != start.time_limit) SetWarning(*wanted.time_limit);
  const bool other_cpus = start.needs.milli_cpus != wanted.needs.milli_cpus;
  start.needs = std::move(wanted.needs);
  start.given = std::move(wanted.given);
  start.time_limit = wanted.time_limit;
  cgroup_.Limit(CgroupLimitsOf(start, asked_.job->opening.settings));
  if (other_cpus) {
    watch_.SetCpus(start.needs.milli_cpus, now, end_.user + end_.system, halt_.FrozenFor(now));
  }
  return {};
}

// A child that is forked meanwhile has its parent's binding, or is met by the next pass.
void AttemptRunner::BindAll(const os::CpuMask& mask) {
  constexpr int kMostPasses = 16;
  std::set<pid_t> met;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const size_t before = met.size();
    tree_.Each([&](pid_t pid) {
      if (pid != files_.pid() && met.insert(pid).second) (void)os::SetAllowedCpusOf(pid, mask);
    });
    if (met.size() == before) return;
  }
}

wire::AnswerPiece AttemptRunner::Signalled(const wire::Ask& ask) {
  auto asked = wire::FromBytes<SignalRun>("the question", ask.body);
  if (!asked) return wire::AnswerPiece::Failed(asked.error());
  auto sent = SendSignal(*asked, ask.rank);
  if (!sent) return wire::AnswerPiece::Failed(sent.error());
  return {.kind = wire::AnswerKind::kDone,
          .bytes = wire::BytesOf(SignalRun::Answer{static_cast<uint32_t>(*sent)})};
}

// The number of processes that got it.
Result<int> AttemptRunner::SendSignal(const SignalRun& asked, uint32_t rank) {
  if (asked.signal < 1 || asked.signal > 64) return Fail(ErrorKind::kInvalid, "no such signal");
  if (asked.pid != 0) return SignalProcess(asked.pid, asked.signal);
  if (!asked.one_rank) {
    if (!asked.all) return commands_.Signal(asked.signal);
    const int sent = tree_.SignalAll(asked.signal);
    if (sent < 0) return Fail(ErrorKind::kUnavailable, "this system does not list processes");
    return sent;
  }
  const uint32_t first = asked_.view.around.first_rank.value_or(0);
  if (rank < first || rank - first >= asked_.view.commands.size()) {
    return Fail(ErrorKind::kInvalid,
                fmt::format("rank {} was not started by Spate, but by another rank of the gang; "
                            "name its process",
                            rank));
  }
  const pid_t pid = commands_.PidOf(rank - first);
  if (pid == 0) return Fail(ErrorKind::kInvalid, fmt::format("rank {} has ended", rank));
  const int below = asked.all ? std::max(ProcessTree(pid).SignalAll(asked.signal), 0) : 0;
  return kill(pid, asked.signal) == 0 ? below + 1 : below;
}

// The process is held by a descriptor before it is known to be one of the attempt's, so that it is
// no other one by then.
Result<int> AttemptRunner::SignalProcess(pid_t pid, int signal) {
  auto none = [pid] {
    return Fail(ErrorKind::kNotFound, fmt::format("process {} is not one of this task", pid));
  };
  const os::Fd held(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!held) return none();
  bool is_ours = false;
  tree_.Each([&](pid_t each) { is_ours |= each == pid && each != files_.pid(); });
  if (!is_ours) return none();
  if (syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0) != 0) return none();
  return 1;
}

RunLook AttemptRunner::LookAt(const RunWish& wish, uint32_t rank, int64_t now) {
  RunLook look{.standing = RunLook::Standing::kRunning};
  const auto& first_rank = asked_.view.around.first_rank;
  if (first_rank && rank >= *first_rank + asked_.view.commands.size()) {
    look.standing = RunLook::Standing::kUnknown;
    look.why =
        fmt::format("rank {} was not started by Spate, but by another rank of the gang", rank);
    return look;
  }
  streams_.SoFar(wish, rank, look);
  if (wish.use) look.use = UseSoFar(now);
  return look;
}

// One of a gang's ranks, or the first command, is what the visit is like.
Status AttemptRunner::Enter(const OpenVisit& visit, uint32_t rank) {
  if (!is_working()) return {};
  const auto& first_rank = asked_.view.around.first_rank;
  const size_t index = first_rank && rank >= *first_rank ? rank - *first_rank : 0;
  if (index >= asked_.view.commands.size()) {
    return Fail(ErrorKind::kNotFound, fmt::format("no rank {} was started here", rank));
  }
  AsUser user(asked_.job->opening);
  TRY(user.status());
  return visits_.Open(visit, ProgramOf(index), starter_);
}

// Use by processes that were waited for, and by running ones, with what these have waited for.
RunUse AttemptRunner::UseSoFar(int64_t now) {
  RunUse use{.user = end_.user, .system = end_.system, .memory = Sample(now)};
  tree_.Each([&](pid_t pid) {
    auto info = os::InfoOf(pid);
    if (!info || pid == files_.pid()) return;
    if (pid == resident_.pid()) resident_.LessEarlier(info->user, info->system);
    use.user.ns += info->user.ns;
    use.system.ns += info->system.ns;
  });
  AttemptEnd so_far;
  memory_.AddTo(so_far);
  use.peak = std::max(so_far.peak_memory, use.memory);
  use.source = so_far.memory_source;
  use.limits = EnforcedLimits(asked_.view.start, asked_.job->opening.settings, cgroup_.holds());
  return use;
}

}  // namespace spate::shepherd
