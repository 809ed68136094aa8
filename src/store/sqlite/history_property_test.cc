// History against the engine, over what random worlds leave in their journals: what people are told
// is what the engine has; and records that are damaged or missing are refused, never believed.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <sstream>

#include "core/engine/record_job.h"
#include "core/engine/testing_world.h"
#include "os/file.h"
#include "store/sqlite/job_journal.h"
#include "store/sqlite/job_list.h"
#include "store/sqlite/testing_hub.h"

namespace spate::store {
namespace {

using engine::Record;

constexpr Instant kSome{1'600'000'000'000'000'000};

engine::RandomWorld AnyWorld() {
  engine::RandomWorld world;
  for (const engine::Op& op : *rc::gen::container<std::vector<engine::Op>>(engine::AnyOp())) {
    world.Run(op);
  }
  return world;
}

void Check(uint64_t seed, int worlds, const std::function<void()>& property) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = worlds;
  params.maxSize = 150;
  auto result = rc::detail::checkTestable(property, rc::detail::TestMetadata{}, params);
  std::stringstream text;
  rc::detail::printResultMessage(result, text);
  EXPECT_TRUE(result.is<rc::detail::SuccessResult>()) << "seed " << seed << ": " << text.str();
}

void Write(HubWorld& hub, const std::vector<Record>& records) {
  Bundle bundle;
  bundle.now = kSome;
  for (const Record& record : records) {
    if (const auto* accepted = std::get_if<engine::JobAccepted>(&record)) {
      hub.store().PutJob(HubWorld::RowOf(accepted->job, accepted->plan.task_count));
    }
    bundle.records.push_back(record);
    if (bundle.records.size() < 50) continue;
    RC_ASSERT(hub.Commit(std::exchange(bundle, {.now = kSome})));
  }
  RC_ASSERT(hub.Commit(std::move(bundle)));
}

// The attempts of each task that have ended, and how many of them count.
struct Tally {
  uint32_t attempts = 0;
  uint32_t tries = 0;
};
std::map<TaskIndex, Tally> TallyOf(const std::vector<Record>& records, JobId job) {
  std::map<TaskIndex, Tally> tally;
  for (const Record& record : records) {
    if (JobOf(record) != job) continue;
    if (const auto* ended = std::get_if<engine::AttemptEnded>(&record)) {
      ++tally[ended->end.ref.index].attempts;
      tally[ended->end.ref.index].tries += ended->counts ? 1 : 0;
    }
    const auto* reopened = std::get_if<engine::TasksReopened>(&record);
    if (reopened == nullptr) continue;
    for (TaskRange range : reopened->tasks) {
      for (uint32_t i = 0; i < range.count; ++i) tally[range.first + i].tries = 0;
    }
  }
  return tally;
}

// A reader of a hub's job that keeps every state.
Result<SqliteJobJournal> OpenKeeping(const HubWorld& hub, JobId job, uint64_t after) {
  JobPlace place = hub.place();
  place.keep_replay_after = after;
  return SqliteJobJournal::Open(place, job.value);
}

// With the state that is kept of earlier records, and without.
void CompareKept(const HubWorld& hub, JobId job) {
  auto kept = OpenKeeping(hub, job, 1);
  RC_ASSERT(kept.has_value());
  auto by_file = kept->Replayed();
  if (!by_file) RC_FAIL(by_file.error().message);
  const std::string path = JournalPlace{hub.path(), true}.ReplayPath(job);
  RC_ASSERT(os::Rename(path, path + "-aside").has_value());
  auto plain = OpenKeeping(hub, job, UINT64_MAX);
  auto by_journal = plain->Replayed();
  RC_ASSERT(by_journal.has_value());
  RC_ASSERT(os::Rename(path + "-aside", path).has_value());
  RC_ASSERT((*by_file)->Digest() == (*by_journal)->Digest());
  (*by_file)->job().CheckInvariants();
  RC_ASSERT((*by_file)->words().cancelled.size() == (*by_journal)->words().cancelled.size());
  RC_ASSERT((*by_file)->words().why_aside == (*by_journal)->words().why_aside);
  RC_ASSERT(kept->Statistics()->total_wall == plain->Statistics()->total_wall);
  std::map<TaskIndex, std::vector<uint64_t>> scanned;
  RC_ASSERT(plain->AttemptsBetween(0, UINT64_MAX, [&](uint64_t, const AttemptEntry& entry) {
    scanned[entry.record.end.ref.index].push_back(entry.record.end.ref.attempt.value);
    return true;
  }));
  for (TaskIndex i = 0; i < (*by_journal)->job().task_count(); ++i) {
    auto attempts = kept->Attempts(i);
    RC_ASSERT(attempts.has_value());
    std::vector<uint64_t> chained;
    for (const AttemptEntry& each : *attempts) {
      chained.insert(chained.begin(), each.record.end.ref.attempt.value);
    }
    RC_ASSERT(chained == scanned[i]);
    RC_ASSERT(kept->Task(i)->tries == plain->Task(i)->tries);
  }
}

void CompareTasks(JobJournal& history, const engine::NaiveJob& job,
                  std::map<TaskIndex, Tally> tally) {
  const engine::JobState& told = (*history.Replayed())->job();
  RC_ASSERT(told.task_count() == job.tasks.size());
  RC_ASSERT(history.Tasks({}, [&](const TaskSummary& task) {
    const engine::NaiveTask& expected = job.tasks[task.index];
    RC_ASSERT(task.state == expected.state);
    RC_ASSERT(task.attempts == tally[task.index].attempts);
    RC_ASSERT(task.tries == tally[task.index].tries);
    RC_ASSERT(task.last.has_value() == (task.attempts > 0));
    RC_ASSERT(told.RequestOf(task.index) == expected.request);
    return true;
  }));
}

void CompareJob(JobJournal& history, const engine::RandomWorld& world, JobId id) {
  const engine::JobState& told = (*history.Replayed())->job();
  const engine::NaiveJob& expected = world.model().jobs().at(id);
  RC_ASSERT(*history.Counts() == expected.Counts());
  RC_ASSERT(told.finished() == expected.finished);
  RC_ASSERT(told.held() == expected.held);
  RC_ASSERT(told.cancelled() == expected.cancelled);
  RC_ASSERT(told.policy().retry.retries == expected.policy.retry.retries);
  RC_ASSERT(told.policy().max_running == expected.policy.max_running);
  RC_ASSERT(history.Pace()->policy.max_running == expected.policy.max_running);
  if (!world.engine().Counts(id)) return;  // it was forgotten
  RC_ASSERT(told.failures_in_row() == world.engine().FailuresInRow(id));
  if (expected.finished) return;  // the engine still blames nodes, for others
  auto troubles = world.engine().Troubles(id);
  RC_ASSERT(told.troubles().size() == troubles.size());
  for (const engine::JobTrouble& trouble : troubles) {
    RC_ASSERT(told.troubles().at(trouble.node).failures == trouble.failures);
    RC_ASSERT(told.Avoids(trouble.node) == trouble.set_aside);
  }
}

class OfRandomWorlds : public testing::TestWithParam<uint64_t> {};

TEST_P(OfRandomWorlds, HistoryTellsWhatTheEngineHas) {
  Check(GetParam(), 8, [] {
    engine::RandomWorld world = AnyWorld();
    HubWorld hub;
    Write(hub, world.records());
    for (const auto& [id, job] : world.model().jobs()) {
      auto history = SqliteJobJournal::Open(hub.place(), id.value);
      if (!history) RC_FAIL(history.error().message);
      auto replayed = history->Replayed();
      if (!replayed) RC_FAIL(replayed.error().message);
      CompareJob(*history, world, id);
      CompareTasks(*history, job, TallyOf(world.records(), id));
    }
  });
}

// The state that readers keep at any moment is the same as that of a replay, and so is what follows
// from it.
TEST_P(OfRandomWorlds, AKeptStateIsThatOfTheJournal) {
  Prng prng(GetParam());
  uint64_t applied = 0, kept = 0;
  Check(GetParam(), 8, [&] {
    engine::RandomWorld world = AnyWorld();
    HubWorld hub;
    const std::vector<Record>& records = world.records();
    for (size_t from = 0; from < records.size();) {
      const size_t to = std::min(records.size(), from + 1 + prng.Below(records.size() / 2 + 1));
      Write(hub, {records.begin() + static_cast<ptrdiff_t>(from),
                  records.begin() + static_cast<ptrdiff_t>(to)});
      from = to;
      auto numbers = JobNumbers(hub.place());
      for (uint32_t number : *numbers) {
        auto journal = OpenKeeping(hub, JobId(number), 1);
        auto replay = journal->Replayed();
        if (!replay) RC_FAIL(replay.error().message);
        applied += (*replay)->applied();
        kept += (*replay)->position();
        CompareKept(hub, JobId(number));
      }
    }
  });
  EXPECT_LT(applied, kept / 2) << "states are used";
}

// Something that a damaged record of this kind may say.
void Harm(Prng& prng, Record& record) {
  auto any = [&] { return static_cast<uint32_t>(prng.Chance(80) ? prng.Below(50) : prng.Next()); };
  auto harm_plan = [&](JobPlan& plan) {
    switch (prng.Below(4)) {
      case 0:
        plan.task_count = any();
        return;
      case 1:
        plan.requests.clear();
        return;
      case 2:
        plan.order.push_back(any());
        return;
      default:
        plan.runs.push_back({any(), any(), any()});
    }
  };
  std::visit(
      [&](auto& r) {
        if constexpr (requires { r.plan; }) harm_plan(r.plan);
        if constexpr (requires { r.node; }) r.node = NodeId(any());
        if constexpr (requires { r.count; }) r.count = any();
        if constexpr (requires { r.runs; }) r.runs.push_back({any(), any(), any()});
        if constexpr (requires { r.attempt; }) r.attempt = Attempt(static_cast<uint16_t>(any()));
        if constexpr (requires { r.end; }) r.end.ref.index = any();
        if constexpr (requires { r.tasks; }) r.tasks.push_back({any(), any()});
      },
      record);
}

std::vector<Record> DamagedRecordsOf(const engine::RandomWorld& world, JobId job, Prng& prng) {
  std::vector<Record> records;
  for (const Record& record : world.records()) {
    if (JobOf(record) != job && JobOf(record) != JobId()) continue;
    if (prng.Chance(5)) continue;
    records.push_back(record);
    if (prng.Chance(10)) Harm(prng, records.back());
    if (prng.Chance(3)) records.push_back(record);
  }
  return records;
}

TEST_P(OfRandomWorlds, WhatDoesNotFollowIsRefused) {
  uint64_t refused = 0;
  Prng prng(GetParam());
  Check(GetParam(), 40, [&] {
    engine::RandomWorld world = AnyWorld();
    for (const auto& [id, job] : world.model().jobs()) {
      JobReplay replay(id);
      uint64_t seq = 0;
      for (const Record& record : DamagedRecordsOf(world, id, prng)) {
        if (!replay.Apply(++seq, record)) ++refused;
        replay.job().CheckInvariants();
      }
    }
  });
  EXPECT_GT(refused, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, OfRandomWorlds, testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace spate::store
