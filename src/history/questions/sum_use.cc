// The use of jobs and users.
#include <fmt/format.h>

#include <algorithm>

#include "history/pick.h"
#include "history/question.h"

namespace spate::history {
namespace {

// The largest peak and 20% more, in whole MB; 0 when no peak is known.
uint64_t SuggestedMemory(const store::Use& use) {
  constexpr uint64_t kMegabyte = 1 << 20;
  return (use.peak_memory + use.peak_memory / 5 + kMegabyte - 1) / kMegabyte * kMegabyte;
}

// A small excess over whole processors comes from starting the command and from measuring it.
double SuggestedCpus(const store::Use& use) {
  constexpr uint32_t kAbove = 100;
  if (use.longest < store::kLongEnough) return 0;
  uint32_t above = use.most_milli_cpus > kAbove ? use.most_milli_cpus - kAbove : 0;
  return std::max(1u, (above + 999) / 1000);
}

// The longest and 20% more, in whole seconds.
Duration SuggestedTime(const store::Use& use) {
  constexpr Duration kMost = Duration::Seconds(10 * 365 * 86'400);  // a node may claim anything
  Duration longest = std::min(use.longest, kMost);
  const int64_t most = (longest + longest / 5).ns;
  constexpr int64_t kSecond = Duration::Seconds(1).ns;
  return Duration::Seconds((most + kSecond - 1) / kSecond);
}

UseFacts FactsOf(std::string user, const store::Use& use) {
  UseFacts facts;
  facts.user = std::move(user);
  facts.tasks = use.tasks;
  facts.ends = use.ends;
  facts.failed = use.failed;
  if (use.tasks > 0) {
    facts.failed_share = static_cast<double>(use.failed) / static_cast<double>(use.tasks);
  }
  facts.cpu = use.cpu;
  facts.wall = use.wall;
  facts.peak_memory = use.peak_memory;
  facts.suggested_memory = SuggestedMemory(use);
  facts.suggested_cpus = SuggestedCpus(use);
  facts.suggested_time = SuggestedTime(use);
  return facts;
}

struct UserUse {
  store::Use sum;
  std::vector<UseFacts> jobs;  // those that may be seen, the newest first
};

// Sums up the jobs of a place.
class UseReader {
 public:
  UseReader(const Asking& call, const wire::SumUse& asked) : source_(call.source), asked_(asked) {}
  Status Read(const std::vector<uint32_t>& numbers);
  Status Tell(const Asking& call);

 private:
  void Add(const store::JobSummary& job);

  const Source& source_;
  const wire::SumUse& asked_;
  std::map<uint32_t, store::Use> uses_;
  std::map<std::string, UserUse> users_;
  std::vector<UseFacts> left_out_;
};

void UseReader::Add(const store::JobSummary& job) {
  auto leave_out = [&](std::string why) {
    UseFacts facts;
    facts.job = JobId(job.number);
    facts.problem = std::move(why);
    left_out_.push_back(std::move(facts));
  };
  if (job.standing == JobStanding::kNewer) return leave_out(job.problem);
  if (job.standing == JobStanding::kDamaged) {
    return leave_out(fmt::format("job {} is left out, as it is damaged", job.number));
  }
  if (!asked_.user.empty() && job.row.user != asked_.user) return;
  if (!source_.on_hub() || asked_.jobs) {
    auto read = source_.history->index().UseSince(asked_.since, &job);
    if (!read) leave_out(read.error().message);
    if (read) uses_.merge(*read);
  }
  auto at = uses_.find(job.number);
  if (at == uses_.end()) return;
  UserUse& user = users_[job.row.user];
  user.sum.Add(at->second);
  if (!source_.MaySee(job.row)) return;
  UseFacts facts = FactsOf(job.row.user, at->second);
  facts.job = JobId(job.number);
  facts.name = store::NameOf(job.row);
  user.jobs.push_back(std::move(facts));
}

Status UseReader::Read(const std::vector<uint32_t>& numbers) {
  if (source_.on_hub() && !asked_.jobs) {
    auto read = TRY(source_.history->index().UseSince(asked_.since, nullptr));
    uses_ = std::move(read);
  }
  return source_.history->Visit(numbers, [&](const store::JobSummary& job) {
    Add(job);
    return true;
  });
}

Status UseReader::Tell(const Asking& call) {
  for (const UseFacts& facts : left_out_) {
    TRY(call.SendAnswer(facts));
  }
  for (auto& [name, user] : users_) {
    std::ranges::reverse(user.jobs);
    for (const UseFacts& facts : user.jobs) {
      TRY(call.SendAnswer(facts));
    }
    TRY(call.SendAnswer(FactsOf(name, user.sum)));
  }
  return {};
}

Status Answer(const Asking& call, const wire::SumUse& asked) {
  auto numbers = asked.jobs ? PickJobs(call.source, *asked.jobs) : AllJobs(call.source);
  if (!numbers) {
    if (asked.jobs) return std::unexpected(std::move(numbers.error()));
    return numbers.error().kind == ErrorKind::kNotFound ? Status()
                                                        : std::unexpected(numbers.error());
  }
  if (asked.jobs) {
    for (uint32_t number : *numbers) {
      TRY(call.source.Open(number));
    }
  }
  UseReader reader(call, asked);
  TRY(reader.Read(*numbers));
  return reader.Tell(call);
}

}  // namespace

extern const JournalQuestion kSumUse = QuestionOf<wire::SumUse, Answer>({.who = kOwner});

}  // namespace spate::history
