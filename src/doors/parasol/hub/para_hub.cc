#include "doors/parasol/hub/para_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include "base/number.h"
#include "cli/exit_code.h"
#include "doors/parasol/client/batch_link.h"
#include "doors/parasol/row/parasol_id.h"

namespace spate::parasol {
namespace {

// A node gives back what it has not started within a round trip.
constexpr Duration kRecallPatience = Duration::Millis(250);

// One question about a batch.
struct Call {
  hub::Service& service;
  hub::ClientSession& client;
  std::string verb;
  std::string results;
  std::span<const std::string> words;  // behind the path of the results
  std::optional<JobId> job;            // none: the hub knows no such batch

  engine::Engine const& engine() const { return service.hub().engine(); }
  void Answer(const std::string& text) {
    client.Print(1, text);
    client.Exit(cli::kExitSuccess);
  }
  // When what was posted is durable.
  void AnswerLater(std::string text) {
    service.jobs().WhenSettled(client.Guarded([to = &client, text = std::move(text)] {
      to->Print(1, text);
      to->Exit(cli::kExitSuccess);
    }));
  }
};

std::unexpected<Error> BadWords(const Call& call) {
  return Fail(ErrorKind::kInvalid, fmt::format("a wrong question: para {}", call.verb));
}

Result<JobId> NeedJob(const Call& call) {
  if (call.job) return *call.job;
  return Fail(ErrorKind::kNotFound, "Batch not found.");  // as Parasol calls it
}

std::string StateText(const Call& call) {
  uint64_t everybody = 0;
  for (const engine::UserInfo& user : call.engine().Users()) everybody += user.queued + user.leased;
  JobId job = call.job.value_or(JobId());
  const hub::KnownJobs::Job* entry = call.job ? call.service.known().Find(job) : nullptr;
  uint64_t submitted = entry == nullptr ? 0 : entry->counts.total;
  if (auto counts = call.engine().Counts(job)) submitted = counts->total;
  engine::HoldReason held = call.engine().Held(job);
  std::string text =
      fmt::format("batch {} {} {} {} {} {}\n", job.value, submitted,
                  call.engine().FailuresInRow(job), held == engine::HoldReason::kAllFail ? 1 : 0,
                  everybody, held == engine::HoldReason::kUser ? 1 : 0);
  for (const TaskRange& range : call.engine().Unended(job)) {
    text += fmt::format("unended {} {}\n", range.first, range.count);
  }
  for (const auto& [id, node] : call.service.nodes().all()) {
    if (!node.state) continue;
    for (const wire::NodeState::Run& run : node.state->runs) {
      if (run.ref.job != job || call.engine().StateOf(job, run.ref.index) != TaskState::kLeased) {
        continue;
      }
      text +=
          fmt::format("run {} {} {}\n", run.ref.index, run.since.ns / 1'000'000'000, node.row.name);
    }
  }
  for (const engine::JobTrouble& trouble : call.engine().Troubles(job)) {
    if (!IsSickFor(trouble)) continue;
    auto node = call.service.nodes().all().find(trouble.node);
    if (node == call.service.nodes().all().end()) continue;
    text += fmt::format("sick {} {}\n", trouble.failures, node->second.row.name);
  }
  return text;
}

Status State(Call& call) {
  // Ends that it leaves out must be in the journal when it is heard.
  call.AnswerLater(StateText(call));
  return {};
}

// Nodes give back what they hold and have not started; then all that waits is withdrawn.
Status Chill(Call& call) {
  auto counts = call.job ? call.engine().Counts(*call.job) : std::nullopt;
  if (!counts || call.engine().Finished(*call.job)) {
    call.Answer("0\n");
    return {};
  }
  JobId job = *call.job;
  bool held = call.engine().Held(job) != engine::HoldReason::kNone;
  if (!held) call.service.hub().Post(engine::HoldJob{job, false});
  hub::Service& service = call.service;
  auto withdraw = [&service, job, all = TaskRange{0, counts->total}] {
    auto now = service.hub().engine().Counts(job);
    uint32_t queued = now ? now->queued : 0;
    if (queued > 0) service.hub().Post(engine::WithdrawTasks{job, {all}});
    return queued;
  };
  uint32_t first = withdraw();
  auto answer = [client = &call.client](uint32_t count) {
    client->Print(1, fmt::format("{}\n", count));
    client->Exit(cli::kExitSuccess);
  };
  auto tell = std::make_shared<uint32_t>(first);
  auto told = call.client.Guarded([answer, tell] { answer(*tell); });
  service.loop().At(service.loop().Now() + kRecallPatience,
                    [&service, job, held, withdraw, tell, told] {
                      *tell += withdraw();
                      if (!held) service.hub().Post(engine::ReleaseJob{job});
                      service.jobs().WhenSettled(told);
                    });
  return {};
}

Status Remove(Call& call) {
  auto job = NeedJob(call);
  if (!job) return std::unexpected(job.error());
  engine::CancelTasks cancel{*job, {}, ""};
  for (const std::string& word : call.words) {
    auto task = ReadNumber<TaskIndex>(word);
    if (!task) return BadWords(call);
    cancel.tasks.push_back({*task, 1});
  }
  call.service.hub().Post(std::move(cancel));
  call.AnswerLater("");
  return {};
}

Status Set(Call& call) {
  auto job = NeedJob(call);
  if (!job) return std::unexpected(job.error());
  auto value = call.words.size() == 2 ? ReadNumber<uint32_t>(call.words[1]) : std::nullopt;
  if (!value) return BadWords(call);
  auto there = call.client.IsThere(*job);
  if (!there || !*there) return there ? Status() : std::unexpected(there.error());
  JobPolicy policy = *call.engine().Policy(*job);
  bool none = call.words[0] == "none";
  if (call.words[0] == "weight") {
    policy.weight = std::clamp(*value, 1u, kMaxJobWeight);
  } else if (!none) {
    policy.max_running = *value;
  }
  call.service.hub().Post(engine::ChangePolicy{*job, policy});
  // Not one job at a time is a hold, which any other number ends.
  bool held = call.engine().Held(*job) == engine::HoldReason::kUser;
  if (none && !held) call.service.hub().Post(engine::HoldJob{*job, false});
  if (call.words[0] == "max" && held) call.service.hub().Post(engine::ReleaseJob{*job});
  call.service.jobs().UnloadSoon(*job);
  call.AnswerLater("");
  return {};
}

Status ClearSick(Call& call) {
  auto job = NeedJob(call);
  if (!job) return std::unexpected(job.error());
  call.service.hub().Post(engine::ClearSick{NodeId(), *job});
  if (call.engine().Held(*job) == engine::HoldReason::kAllFail) {
    call.service.hub().Post(engine::ReleaseJob{*job});
    call.service.known().Held(*job, engine::HoldReason::kNone);
  }
  call.AnswerLater("");
  return {};
}

Status ResetCounts(Call& call) {
  auto job = NeedJob(call);
  if (!job) return std::unexpected(job.error());
  call.service.known().ResetCounts(*job);
  call.Answer("");
  return {};
}

Status Free(Call& call) {
  const hub::KnownJobs::Job* entry = call.job ? call.service.known().Find(*call.job) : nullptr;
  if (entry == nullptr) {
    call.Answer("none\n");
    return {};
  }
  bool busy = !entry->finished || call.service.jobs().Grows(*call.job) ||
              (call.engine().Counts(*call.job) && !call.service.hub().Unload(*call.job));
  if (busy) {
    call.Answer("busy\n");
    return {};
  }
  call.service.jobs().ForgetJob(*call.job, call.client.Guarded([client = &call.client] {
    client->Print(1, "freed\n");
    client->Exit(cli::kExitSuccess);
  }));
  return {};
}

Status FetchStderr(Call& call) {
  auto job = NeedJob(call);
  if (!job) return std::unexpected(job.error());
  auto task = call.words.size() == 2 ? ReadNumber<TaskIndex>(call.words[0]) : std::nullopt;
  if (!task) return BadWords(call);
  auto fetched = std::make_shared<Result<std::string>>();
  auto tell = call.client.Guarded([client = &call.client, fetched] {
    if (!*fetched) return client->Fail(fetched->error());
    client->Print(1, **fetched);
    client->Exit(cli::kExitSuccess);
  });
  const hub::KnownJobs::Job* entry = call.service.known().Find(*job);
  if (entry == nullptr) return Fail(ErrorKind::kNotFound, "the batch is not there any more");
  wire::Ask ask{.call = 0, .job = *job, .task = *task, .user = entry->user, .question = {}};
  call.service.AskNode(call.words[1], std::move(ask), [fetched, tell](Result<std::string> got) {
    *fetched = std::move(got);
    tell();
  });
  return {};
}

using Verb = Status (*)(Call&);

Verb VerbOf(std::string_view name) {
  struct Entry {
    std::string_view name;
    Verb verb;
  };
  static constexpr Entry kVerbs[] = {
      {"state", State},     {"chill", Chill},       {"remove", Remove}, {"set", Set},
      {"clear", ClearSick}, {"reset", ResetCounts}, {"free", Free},     {"stderr", FetchStderr}};
  auto found = std::ranges::find(kVerbs, name, &Entry::name);
  return found == std::end(kVerbs) ? nullptr : found->verb;
}

}  // namespace

void AddHabits(hub::HabitsByKind& habits, uint64_t default_memory) {
  habits[RowKind::kParasol] = {
      .grows_by_name = true,
      .when_all_fail =
          "Sick batch! Correct the problem, and then: para clearSickNodes, or parasol "
          "-results=FILE clear sick",
      .default_memory = default_memory,
      .pause_despite_success = true};
}

Result<std::optional<JobId>> FindBatch(hub::Service& service, const std::string& user,
                                       const std::string& results) {
  auto job = service.jobs().FindSubmission(user + ":" + BatchSubmission(results));
  // One that is not durable yet, or is being removed, does not exist for questions.
  if (job && *job && service.known().Find(**job) == nullptr) return std::nullopt;
  return job;
}

bool IsSickFor(const engine::JobTrouble& trouble) {
  return trouble.set_aside || trouble.failures >= kLimits.node_failures;
}

bool RunParaCommand(hub::Service& service, hub::ClientSession& client,
                    const wire::Command& command) {
  std::vector<std::string> argv = command.argv;
  if (argv.size() < 3 || argv[0] != "para") return false;
  std::string user = client.caller().user;
  if (argv.size() > 3 && argv.back().starts_with(kOwnerWord)) {
    user = argv.back().substr(kOwnerWord.size());
    argv.pop_back();
    bool looks = argv[1] == "state" || argv[1] == "rows";
    bool may = looks || (argv[1] == "remove" && client.caller().is_admin);
    if (!may) {
      client.Fail({ErrorKind::kPermission,
                   fmt::format("only {} and administrators of the hub may end these jobs", user)});
      return true;
    }
  }
  auto job = FindBatch(service, user, argv[2]);
  if (!job) {
    client.Fail(job.error());
    return true;
  }
  Call call{service, client, argv[1], argv[2], std::span(argv).subspan(3), *job};
  if (Verb verb = VerbOf(call.verb)) {
    if (auto done = verb(call); !done) client.Fail(done.error());
  } else if (!call.job) {
    client.Fail(NeedJob(call).error());
  } else {
    // The journal has the answer: para VERB JOB ...
    wire::Command question = command;
    question.argv = argv;
    question.argv[2] = fmt::format("{}", call.job->value);
    if (call.verb == "rows") {
      const hub::KnownJobs::Job* entry = service.known().Find(*call.job);
      auto counts = call.engine().Counts(*call.job).value_or(entry->counts);
      question.argv.push_back(fmt::format("{}", counts.total));
    }
    if (call.verb == "results") {
      for (const engine::NodeInfo& node : call.engine().Nodes()) {
        if (node.offer.temp_dir.empty()) continue;
        question.argv.push_back(fmt::format("{}={}", node.offer.node_name, node.offer.temp_dir));
      }
    }
    client.Read(std::move(question));
  }
  return true;
}

}  // namespace spate::parasol
