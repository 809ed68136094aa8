#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/units.h"
#include "cli/exit_code.h"
#include "cli/history/job_facts.h"
#include "cli/history/select.h"
#include "cli/job/job_verbs.h"
#include "store/sqlite/job_use.h"

namespace spate::cli {
namespace {

using store::Use;

// What one user has used, and those of their jobs that the caller may see.
struct UserUse {
  struct Job {
    uint32_t number = 0;
    std::string name;
    Use use;
  };
  Use sum;
  std::vector<Job> jobs;  // ascending
};
using UseByUser = std::map<std::string, UserUse>;

Result<UseByUser> ReadAll(HistoryCall& call, const std::vector<uint32_t>& numbers, Instant since) {
  std::string only(call.words().Last(Opt::kOfUser).value_or(""));
  std::map<uint32_t, Use> uses;
  if (call.on_hub()) {
    auto read = store::ReadUse(call.place().JournalOf(0), since);
    if (!read) return std::unexpected(std::move(read.error()));
    uses = std::move(*read);
  }
  UseByUser users;
  auto add = [&](const store::JobSummary& job) {
    if (job.standing == store::JobStanding::kDamaged) {
      call.Say(fmt::format("job {} is left out, as it is damaged", job.number));
      return true;
    }
    if (!only.empty() && job.row.user != only) return true;
    if (!call.on_hub()) {
      auto read = store::ReadUse(job.place, since);
      if (!read) call.Say(read.error().message);
      if (read) uses.merge(*read);
    }
    auto at = uses.find(job.number);
    if (at == uses.end()) return true;
    UserUse& user = users[job.row.user];
    user.sum.Add(at->second);
    if (call.MaySee(job.row)) user.jobs.push_back({job.number, NameOf(job.row), at->second});
    return true;
  };
  auto visited = store::VisitJobs(call.place(), numbers, add);
  if (!visited) return std::unexpected(visited.error());
  for (auto& [name, user] : users) std::ranges::reverse(user.jobs);
  return users;
}

// The largest peak and 20% more, in whole MB; 0 when no peak is known.
uint64_t SuggestedMegabytes(const Use& use) {
  constexpr uint64_t kMegabyte = 1 << 20;
  return (use.peak_memory + use.peak_memory / 5 + kMegabyte - 1) / kMegabyte;
}

double FailedShare(const Use& use) {
  return use.tasks == 0 ? 0 : static_cast<double>(use.failed) / static_cast<double>(use.tasks);
}

std::string Hours(Duration time) { return fmt::format("{:.2f}", time.seconds() / 3600); }

std::vector<Cell> RowOf(const std::string& user, const UserUse::Job* job, const Use& use) {
  std::string failed = use.failed == 0 ? "0"
                                       : fmt::format("{} ({:.1f}%)", FormatCount(use.failed),
                                                     100 * FailedShare(use));
  uint64_t megabytes = SuggestedMegabytes(use);
  return {{user},
          {job == nullptr ? "all" : fmt::format("{}", job->number)},
          {job == nullptr ? "" : job->name},
          {FormatCount(use.tasks)},
          {FormatCount(use.ends)},
          {failed, use.failed > 0 ? Tone::kBad : Tone::kPlain},
          {Hours(use.cpu)},
          {Hours(use.wall)},
          {megabytes == 0 ? "-" : FormatSize(use.peak_memory)},
          {megabytes == 0 ? "-" : fmt::format("{}M", megabytes)}};
}

void PrintTable(HistoryCall& call, const UseByUser& users) {
  Table table({{"USER", Align::kLeft, 6},
               {"JOB", Align::kRight},
               {"NAME", Align::kLeft, 8},
               {"TASKS", Align::kRight},
               {"ENDS", Align::kRight},
               {"FAILED", Align::kRight},
               {"CPU-H", Align::kRight},
               {"WALL-H", Align::kRight},
               {"PEAK", Align::kRight},
               {"SUGGEST", Align::kRight}},
              call.width(), call.environment().colour,
              [&](std::string_view text) { call.Put(text); });
  for (const auto& [name, user] : users) {
    for (const UserUse::Job& job : user.jobs) table.Add(RowOf(name, &job, job.use));
    table.Add(RowOf(name, nullptr, user.sum));
  }
  table.Finish();
}

void PutLine(HistoryCall& call, const std::string& user, const UserUse::Job* job, const Use& use) {
  JsonLine line = TypedLine("use");
  TextOrBase64(line, "user", user);
  if (job != nullptr) {
    line.Number("job", job->number);
    TextOrBase64(line, "name", job->name);
  } else {
    line.Null("job").Null("name");
  }
  line.Number("tasks", static_cast<int64_t>(use.tasks));
  line.Number("ends", static_cast<int64_t>(use.ends));
  line.Number("failed", static_cast<int64_t>(use.failed));
  line.Seconds("failed_share", FailedShare(use));
  line.Seconds("cpu", use.cpu.seconds()).Seconds("wall", use.wall.seconds());
  line.Number("peak_memory", static_cast<int64_t>(use.peak_memory));
  line.Number("suggested_memory", static_cast<int64_t>(SuggestedMegabytes(use) << 20));
  call.Put(line);
}

}  // namespace

Result<int> Report(HistoryCall& call) {
  Instant since;
  if (auto value = call.words().Last(Opt::kSince)) {
    auto time = ParseDuration(*value);
    if (!time) return Within("--since", std::move(time.error()));
    since = call.now() - *time;
  }
  auto numbers = AllJobs(call);
  if (!numbers && numbers.error().kind != ErrorKind::kNotFound) {
    return std::unexpected(std::move(numbers.error()));
  }
  auto users = numbers ? ReadAll(call, *numbers, since) : UseByUser();
  if (!users) return std::unexpected(std::move(users.error()));
  if (call.human()) {
    call.PutTitle();
    PrintTable(call, *users);
    if (users->empty()) call.Say("nothing has been used " + call.PlaceText());
    return kExitSuccess;
  }
  for (const auto& [name, user] : *users) {
    for (const UserUse::Job& job : user.jobs) PutLine(call, name, &job, job.use);
    PutLine(call, name, nullptr, user.sum);
  }
  return kExitSuccess;
}

}  // namespace spate::cli
