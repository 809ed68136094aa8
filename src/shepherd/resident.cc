// Frames go as far as the pipe takes them, since nothing here may wait for a process; the rest
// follows when it can be written (to_write).
#include "shepherd/resident.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "core/model/body.h"

namespace spate::shepherd {
namespace {

constexpr size_t kAnswerRead = 64 * 1024;  // as much as a pipe holds
// A process that closed its end of a pipe has nearly always ended, and its exit is about to be
// seen. If it has not, it can never answer.
constexpr int64_t kHangUpPatience = 1'000'000'000;  // nanoseconds

int64_t CpuNanos(pid_t pid) {
  clockid_t clock;
  timespec time;
  if (pid == 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

size_t BytesIn(const os::Fd& pipe) {
  int count = 0;
  return pipe && ioctl(pipe.get(), FIONREAD, &count) == 0 ? static_cast<size_t>(count) : 0;
}

void AddWord(std::string& key, std::string_view word) {
  key += word;
  key += '\0';
}

// All that makes a process what it is.
void MakeKey(const StartView& view, std::string& key) {
  key.clear();
  AddWord(key, view.cwd);
  for (const char* variable : view.environment) AddWord(key, variable);
  AddWord(key, {});
  const StartView::CommandView& command = view.commands.front();
  for (uint32_t i = 0; i < command.count; ++i) AddWord(key, view.words[command.first + i]);
  AddWord(key, {});
  for (uint16_t cpu : view.around.cpus) AddWord(key, fmt::format("{}", cpu));
  AddWord(key, {});
  for (const ProcessLimit& limit : view.around.limits) {
    AddWord(key, fmt::format("{}={}", static_cast<int>(limit.kind), limit.most));
  }
}

// Ours does not block, and is out of the way of what the process has.
int MakePipe(os::Fd& ours, os::Fd& its, bool we_write) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  os::Fd read_end(ends[0]);
  os::Fd write_end(ends[1]);
  ours = std::move(we_write ? write_end : read_end);
  os::Fd& other = we_write ? read_end : write_end;
  its.Reset(fcntl(other.get(), F_DUPFD_CLOEXEC, kMostDescriptor + 1));
  if (!its) return errno == EINVAL ? EMFILE : errno;
  return fcntl(ours.get(), F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

}  // namespace

std::optional<StartFailure> Resident::Open() {
  if (its_in_) return std::nullopt;
  int error = MakePipe(in_, its_in_, /*we_write=*/true);
  if (error == 0) error = MakePipe(out_, its_out_, /*we_write=*/false);
  if (error == 0) return std::nullopt;
  Clear();
  return StartFailure::Of(error, "cannot make a pipe for a process that takes task after task");
}

void Resident::GiveTo(std::vector<Descriptor>& descriptors) const {
  descriptors.push_back({its_in_.get(), kResidentIn});
  descriptors.push_back({its_out_.get(), kResidentOut});
}

void Resident::Started(pid_t pid, const StartView& view) {
  pid_ = pid;
  job_ = view.start.ref.job;
  tasks_ = 0;
  MakeKey(view, key_);
  its_in_.Reset();
  its_out_.Reset();
  memory_.Reset(open(fmt::format("/proc/{}/statm", pid).c_str(), O_RDONLY | O_CLOEXEC));
}

// One that has said something without being asked is out of step.
bool Resident::Fits(const StartView& view) {
  if (!is_there() || leaving_ || !view.around.resident || view.start.ref.job != job_) return false;
  if (!out_ || BytesIn(out_) > 0) return false;
  MakeKey(view, wanted_);
  return wanted_ == key_;
}

void Resident::Clear() {
  pid_ = 0;
  leaving_ = deaf_ = false;
  until_ = INT64_MAX;
  for (os::Fd* fd : {&in_, &out_, &its_in_, &its_out_, &memory_}) fd->Reset();
}

void Resident::Leave(int64_t until) {
  CloseInput();
  leaving_ = true;
  until_ = until;
}

void Resident::Forget() {
  answer_.Begin({});
  frame_.clear();
  written_ = 0;
}

void Resident::Assign(const AttemptRef& ref, std::string_view input) {
  answer_.Begin(TaskId(ref));
  frame_ = TaskFrame(ref, input);
  head_ = frame_.size() - input.size();
  written_ = 0;
  ++tasks_;
  cpu_before_ = tasks_ == 1 ? 0 : CpuNanos(pid_);
  Write();
}

// A process that no longer reads has ended, or will hang up.
void Resident::Write() {
  while (in_ && !deaf_ && written_ < frame_.size()) {
    ssize_t put = write(in_.get(), frame_.data() + written_, frame_.size() - written_);
    if (put < 0 && errno == EINTR) continue;
    deaf_ = put < 0 && errno != EAGAIN;
    if (put <= 0) return;
    written_ += static_cast<size_t>(put);
  }
}

void Resident::Read(int64_t now, const AnswerReader::Result& result) {
  char buffer[kAnswerRead];
  while (out_ && answer_.wrong().empty()) {
    ssize_t got = read(out_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) {
      out_.Reset();
      if (!answer_.is_whole()) until_ = now + kHangUpPatience;
    }
    if (got <= 0) return;
    answer_.Parse({buffer, static_cast<size_t>(got)}, result);
    if (answer_.is_whole() || static_cast<size_t>(got) < sizeof buffer) return;
  }
}

bool Resident::HasNotRead() const {
  return !is_fresh() && answer_.is_empty() && answer_.wrong().empty() &&
         written_ - BytesIn(in_) < head_;
}

Duration Resident::CpuOfTask() const {
  return {std::max<int64_t>(CpuNanos(pid_) - cpu_before_, 0)};
}

uint64_t Resident::Memory() const {
  char text[128];
  ssize_t got = memory_ ? pread(memory_.get(), text, sizeof text, 0) : 0;
  std::string_view line(text, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
  uint64_t pages = 0;
  std::from_chars(line.data(), line.data() + line.size(), pages);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void Resident::LessEarlier(Duration& user, Duration& system) const {
  int64_t of_user = std::min(user.ns, cpu_before_);
  user.ns -= of_user;
  system.ns -= std::min(system.ns, cpu_before_ - of_user);
}

}  // namespace spate::shepherd
