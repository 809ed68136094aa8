#include "shepherd/visits.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "os/error.h"
#include "shepherd/nanos.h"

namespace spate::shepherd {
namespace {

constexpr int64_t kLeave = 1000 * kMilli;  // from the task's end
constexpr int kAboveOthers = 64;           // no descriptor of a command's

}  // namespace

Status Visits::Open(const OpenVisit& visit, Program like, Starter& starter) {
  if (visits_.size() >= kMost) {
    return Fail(ErrorKind::kBusy,
                fmt::format("{} are in the task already, the limit; try again later", kMost));
  }
  auto pipe = TRY(os::MakePipe());
  TRY(os::WriteAll(pipe.write.get(), OrderOf(visit), "the order of a visit"));
  const os::Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::Fd order(fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, kAboveOthers));
  if (!nothing || !order) return os::FailErrno("open", "/dev/null");
  const char* const argv[] = {"spate", kVisitArgument, nullptr};
  const Descriptor theirs[] = {{order.get(), kVisitOrder}};
  like.path = "/proc/self/exe";
  like.argv = argv;
  like.in = like.out = like.err = nothing.get();
  like.descriptors = theirs;
  like.group = 0;
  like.folder = nullptr;
  like.aside = false;
  like.search = nullptr;
  const StartResult started = starter.StartProgram(like);
  const int error = started.fork_error != 0 ? started.fork_error : started.exec_error;
  if (started.pid > 0 && error != 0) waitpid(started.pid, nullptr, 0);
  if (error != 0) return std::unexpected(os::SystemError(error, "start", "the server of a visit"));
  tree_.Spare(started.pid);
  visits_.push_back({started.pid, std::move(pipe.write)});
  return {};
}

bool Visits::Ended(pid_t pid) {
  if (late_.erase(pid) > 0) return true;
  const size_t before = visits_.size();
  std::erase_if(visits_, [&](const Visit& each) { return each.pid == pid; });
  if (visits_.size() == before) return false;
  tree_.SpareNoMore(pid);
  if (visits_.empty()) until_ = INT64_MAX;
  return true;
}

void Visits::Reap() {
  for (size_t i = visits_.size(); i-- > 0;) {
    const pid_t pid = visits_[i].pid;
    if (waitpid(pid, nullptr, WNOHANG) == pid) Ended(pid);
  }
  std::erase_if(late_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; });
}

std::vector<pid_t> Visits::Processes() const {
  std::vector<pid_t> all;
  for (const Visit& each : visits_) {
    all.push_back(each.pid);
    ProcessTree(each.pid).Each([&](pid_t pid) { all.push_back(pid); });
  }
  return all;
}

void Visits::End(int64_t now) {
  for (Visit& each : visits_) each.order.Reset();
  if (!visits_.empty()) until_ = now + kLeave;
}

// The server is a subreaper: with it stopped, all that is below it stays there.
void Visits::KillLate() {
  until_ = INT64_MAX;
  for (const Visit& each : visits_) {
    kill(each.pid, SIGSTOP);
    ProcessTree below(each.pid);
    below.SignalAll(SIGKILL);
    below.Each([this](pid_t pid) { late_.insert(pid); });
    kill(each.pid, SIGKILL);
  }
}

}  // namespace spate::shepherd
