#include "doors/parasol/client/para_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/number.h"
#include "doors/parasol/client/para_results.h"
#include "doors/parasol/row/parasol_id.h"
#include "doors/parasol/row/parasol_row.h"
#include "format/lines.h"
#include "os/file.h"
#include "os/signals.h"
#include "wire/limits.h"
#include "wire/pieces.h"

namespace spate::parasol {
namespace {

constexpr int64_t kUsualPriority = 10;
constexpr size_t kRowsAtOnce = 16'384;
constexpr size_t kIdsAtOnce = 10'000;
// Not to ask again and again about a batch that has ended.
constexpr Duration kAfterEnd = Duration::Millis(10);

Needs NeedsOf(const BatchTask& task) {
  Needs needs;
  if (task.cpus > 0) {
    needs.milli_cpus =
        static_cast<uint32_t>(std::clamp(std::round(task.cpus * kMilliCpu), 1.0, 1e9));
  }
  needs.memory = task.memory;
  return needs;
}

std::unexpected<Error> NotUnderstood() {
  return Fail(ErrorKind::kIo, "the hub answers something else; it may be of another version");
}

// The numbers of a line of the hub's answer behind its first word, and what follows them.
template <size_t N>
std::optional<std::array<uint64_t, N>> Numbers(std::string_view& line) {
  std::array<uint64_t, N> numbers;
  for (uint64_t& number : numbers) {
    std::string_view word = format::TakeWord(&line);
    auto read = ReadNumber<uint64_t>(word);
    if (!read) return std::nullopt;
    number = *read;
  }
  return numbers;
}

bool ReadStateLine(std::string_view line, JobId& job, BatchHub::State& state) {
  std::string_view what = format::TakeWord(&line);
  if (what == "batch") {
    auto read = Numbers<6>(line);
    if (!read) return false;
    job = JobId(static_cast<uint32_t>((*read)[0]));
    state.submitted = (*read)[1];
    state.failures_in_row = (*read)[2];
    state.sick = (*read)[3] != 0;
    state.everybody = (*read)[4];
    if ((*read)[5] != 0) state.held = job;
  } else if (what == "unended") {
    auto read = Numbers<2>(line);
    if (!read) return false;
    uint64_t first = ParasolId(job, static_cast<TaskIndex>((*read)[0]));
    state.unended.push_back({first, first + (*read)[1] - 1});
  } else if (what == "run") {
    auto read = Numbers<2>(line);
    if (!read) return false;
    state.running.push_back({ParasolId(job, static_cast<TaskIndex>((*read)[0])),
                             std::string(format::TakeWord(&line)),
                             static_cast<int64_t>((*read)[1])});
  } else if (what == "sick") {
    auto read = Numbers<1>(line);
    if (!read) return false;
    state.sick_nodes.push_back({std::string(format::TakeWord(&line)), (*read)[0]});
  }
  return true;  // a newer hub may say more
}

// Tasks that make the same request, one after the other.
class Requests {
 public:
  void Add(TaskIndex index, const Needs& needs) {
    auto [at, fresh] = numbers_.emplace(needs, static_cast<uint32_t>(end_.requests.size()));
    if (fresh) end_.requests.push_back(needs);
    if (!end_.runs.empty() && end_.runs.back().request == at->second) {
      ++end_.runs.back().count;
    } else {
      end_.runs.push_back({index, 1, at->second});
    }
    ++end_.count;
  }
  wire::SubmitEnd Take() {
    if (end_.requests.empty()) end_.requests.emplace_back();
    return std::move(end_);
  }

 private:
  std::map<Needs, uint32_t> numbers_;
  wire::SubmitEnd end_;
};

wire::Submit HeadOf(const std::string& name, const std::string& folder) {
  auto settings = std::make_shared<JobSettings>();
  settings->name = name;
  settings->cwd = folder;
  settings->row_kind = RowKind::kParasol;
  wire::Submit head;
  head.submission = BatchSubmission(name);
  head.settings = std::move(settings);
  head.argv = {"para", name};
  head.name = name;
  head.keep_output = kKeepOutput;
  return head;
}

}  // namespace

uint32_t WeightOfPriority(int64_t priority) {
  return static_cast<uint32_t>(
      std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max<int64_t>(1, priority)));
}

int64_t PriorityOfWeight(uint32_t weight) {
  return std::max<int64_t>(1, kJobWeight * kUsualPriority / std::max(1u, weight));
}

Result<wire::Accepted> SubmitTasks(BatchLink& link, const std::string& folder, size_t count,
                                   const std::function<BatchTask(size_t)>& task) {
  return link.Submit([&](client::HubCall& call) -> Status {
    if (auto sent = call.Send(HeadOf(link.state().name(), folder)); !sent) return sent;
    Requests requests;
    wire::Rows rows;
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      BatchTask each = task(i);
      requests.Add(static_cast<TaskIndex>(i), NeedsOf(each));
      bytes += each.row.size();
      rows.rows.push_back(std::move(each.row));
      if (rows.rows.size() < kRowsAtOnce && bytes < wire::kPieceBytes && i + 1 < count) continue;
      if (auto sent = call.Send(std::exchange(rows, {})); !sent) return sent;
      bytes = 0;
    }
    return call.Send(requests.Take());
  });
}

BatchClient::BatchClient(client::HubSetting setting, ParaState state)
    : setting_(std::move(setting)), link_(*setting_.loop, setting_.target, std::move(state)) {
  setting_.loop->OnSignal(os::kSignalInt, [this] {
    link_.call().Interrupt();
    if (watch_) watch_->Interrupt();
  });
}

Result<std::unique_ptr<BatchClient>> BatchClient::Open(const ParaState& state) {
  auto setting = FindSiteSetting();
  if (!setting) return std::unexpected(std::move(setting.error()));
  return Of(std::move(*setting), state);
}

std::unique_ptr<BatchClient> BatchClient::Of(client::HubSetting setting, const ParaState& state) {
  return std::unique_ptr<BatchClient>(new BatchClient(std::move(setting), state));
}

Result<BatchClient::State> BatchClient::AskToReport() {
  auto own = AskAbout("");
  if (!own || job_ != JobId()) return own;
  std::string owner = OwnerOf(os::DirName(link_.results()));
  return owner.empty() ? own : AskAbout(owner);
}

Result<BatchClient::State> BatchClient::AskAbout(const std::string& owner) {
  owner_ = owner;
  std::vector<std::string> words;
  if (!owner.empty()) words.push_back(fmt::format("{}{}", kOwnerWord, owner));
  auto text = link_.Ask("state", words);
  if (!text) return std::unexpected(std::move(text.error()));
  State state;
  std::string_view rest = *text;
  while (auto line = format::TakeLine(&rest)) {
    if (!ReadStateLine(*line, job_, state)) return NotUnderstood();
  }
  state.known = job_ != JobId();
  std::ranges::sort(state.running, {}, &Running::id);
  return state;
}

Status BatchClient::CatchUp() { return CatchUpResults(link_); }

Result<std::vector<BatchClient::Submitted>> BatchClient::SubmittedFrom(uint64_t first) {
  std::vector<Submitted> submitted;
  if (job_ == JobId()) return submitted;
  std::vector<std::string> words = {fmt::format("{}", first)};
  if (!owner_.empty()) words.push_back(fmt::format("{}{}", kOwnerWord, owner_));
  auto text = link_.Ask("rows", words);
  if (!text) return std::unexpected(std::move(text.error()));
  std::string_view rest = *text;
  while (auto line = format::TakeLine(&rest)) {
    auto read = Numbers<3>(*line);
    if (!read) return NotUnderstood();
    submitted.push_back({ParasolId(job_, static_cast<TaskIndex>((*read)[0])), (*read)[1],
                         static_cast<int64_t>((*read)[2])});
  }
  return submitted;
}

Result<uint64_t> BatchClient::Submit(std::span<const Submission> jobs, const std::string& folder,
                                     int64_t now) {
  auto accepted = SubmitTasks(link_, folder, jobs.size(), [&](size_t i) {
    const Submission& job = jobs[i];
    BatchTask task{.row = {}, .cpus = job.what->cpus, .memory = job.what->ram};
    AppendParasolRow({.job = job.job,
                      .submitted = now,
                      .folder = folder,
                      .in = {},
                      .out = {},
                      .text = job.what->command},
                     &task.row);
    return task;
  });
  if (!accepted) return std::unexpected(std::move(accepted.error()));
  FollowResults(link_);
  return ParasolId(accepted->job, accepted->first);
}

Result<uint64_t> BatchClient::Chill() {
  auto text = link_.Ask("chill");
  if (!text) return std::unexpected(std::move(text.error()));
  std::string_view line = *text;
  auto count = ReadNumber<uint64_t>(format::TakeWord(&line));
  return count ? Result<uint64_t>(*count) : NotUnderstood();
}

Status BatchClient::Remove(std::span<const uint64_t> ids) {
  std::vector<std::string> words;
  for (uint64_t id : ids) {
    words.push_back(fmt::format("{}", PartsOfParasolId(id).task));
    if (words.size() < kIdsAtOnce && id != ids.back()) continue;
    if (!owner_.empty()) words.push_back(fmt::format("{}{}", kOwnerWord, owner_));
    auto removed = link_.Ask("remove", std::exchange(words, {}));
    if (!removed) return std::unexpected(std::move(removed.error()));
  }
  return {};
}

Status BatchClient::Set(const std::string& what, uint32_t value) {
  std::vector<std::string> words = {what, fmt::format("{}", value)};
  auto set = link_.Ask("set", words);
  if (!set && set.error().kind == ErrorKind::kNotFound) {
    // It is wished for jobs to come.
    auto made = SubmitTasks(link_, os::DirName(link_.results()), 0, {});
    if (!made) return std::unexpected(std::move(made.error()));
    set = link_.Ask("set", words);
  }
  return set ? Status() : std::unexpected(std::move(set.error()));
}

Status BatchClient::SetPriority(int64_t priority) {
  return Set("weight", WeightOfPriority(priority));
}

Status BatchClient::SetMaxJob(int64_t most) {
  if (most == 0) return Set("none", 0);
  return Set("max", most < 0 ? 0 : static_cast<uint32_t>(std::min<int64_t>(most, UINT32_MAX)));
}

Status BatchClient::ClearSick() {
  auto done = link_.Ask("clear");
  return done ? Status() : std::unexpected(std::move(done.error()));
}

Status BatchClient::ResetCounts() {
  auto done = link_.Ask("reset");
  return done ? Status() : std::unexpected(std::move(done.error()));
}

Result<BatchClient::Freed> BatchClient::Free() {
  auto text = link_.Ask("free");
  if (!text) return std::unexpected(std::move(text.error()));
  if (*text == "freed\n") return Freed::kFreed;
  return *text == "busy\n" ? Freed::kBusy : Freed::kNotFound;
}

Result<std::string> BatchClient::FetchStderr(uint64_t id, const std::string& host) {
  return link_.Ask("stderr", {fmt::format("{}", PartsOfParasolId(id).task), host});
}

Status BatchClient::Watch() {
  auto job = JobOfBatch(link_);
  if (!job) return std::unexpected(std::move(job.error()));
  if (*job == JobId()) return Fail(ErrorKind::kNotFound, "the hub knows nothing of this batch");
  watch_.emplace(*setting_.loop, setting_.target);
  if (link_.call().interrupted()) watch_->Interrupt();
  if (auto connected = watch_->Connect(); !connected) return connected;
  return watch_->Send(wire::Watch{*job});
}

// Each change would be too often for who looks at all of a batch: its end is what matters.
Status BatchClient::WaitForChange(Duration most) {
  Instant last = setting_.loop->Now() + most;
  if (!watch_) {
    if (auto watching = Watch(); !watching) {
      watch_.reset();
      if (watching.error().kind != ErrorKind::kNotFound) return watching;
      return Pause(most);
    }
  }
  for (;;) {
    auto reply = watch_->NextWithin(std::max(Duration(), last - setting_.loop->Now()));
    if (!reply) return {};
    const wire::JobNews* news = *reply ? std::get_if<wire::JobNews>(&**reply) : nullptr;
    if (news != nullptr && !news->finished) continue;
    Status status = *reply ? Status() : std::unexpected(std::move(reply->error()));
    watch_.reset();
    if (!status) return status;
    return Pause(kAfterEnd);
  }
}

void BatchClient::Settle() { AwaitFollower(link_); }

Status BatchClient::Pause(Duration time) {
  link_.call().Pause(time);
  if (link_.call().interrupted()) return Fail(ErrorKind::kBusy, "interrupted");
  return {};
}

}  // namespace spate::parasol
