#include "history/reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "client/asker.h"
#include "history/pick.h"
#include "history/reader_end.h"
#include "os/file.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/testing_hub.h"
#include "wire/frame.h"

namespace spate::history {
namespace {

Source SourceOf(const store::HubWorld&, store::JobPlace place) {
  Source source(store::OpenHistory(std::move(place)));
  source.viewer = {"root", true};
  source.settings = [](const store::JobRow&) { return Result<JobSettings>(JobSettings()); };
  source.now = [] { return Instant(); };
  return source;
}
Source SourceOf(const store::HubWorld& world) { return SourceOf(world, world.place()); }

// One user's huge submission must not keep an administrator from the list of all jobs.
TEST(Reader, AnAnswerIsAMessageWhateverASenderMadeUp) {
  store::HubWorld world;
  for (size_t bytes : {100u, 20u << 20, 900u << 10, 7u << 20}) {
    JobId job = world.Submit(1);
    store::JobRow row = store::HubWorld::RowOf(job, 1);
    row.argv = {std::string(bytes, 'x')};
    ASSERT_TRUE(world.Put(std::move(row)));
  }
  wire::ListJobs question;
  question.whole = true;
  std::vector<JobFacts> jobs;
  auto told = Answer(SourceOf(world), question, [&](std::string_view bytes) -> Status {
    EXPECT_LT(bytes.size(), wire::kMaxFrame);
    auto listed = wire::FromBytes<wire::JobsListed>("answer", bytes);
    if (!listed) return std::unexpected(listed.error());
    std::ranges::move(listed->jobs, std::back_inserter(jobs));
    return {};
  });
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(jobs.size(), 4u);
  for (size_t cut : {0, 1, 2}) EXPECT_LT(jobs[cut].argv->front().size(), 70'000u);
  EXPECT_EQ(jobs[3].argv->front().size(), 100u);
}

TEST(Reader, KeepsTheStateOfAJobThatItIsAskedTo) {
  store::HubWorld world;
  const JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(job, 0, 2)));
  store::JobPlace place = world.place();
  place.keep_replay_after = 3;
  const std::string file = store::JournalOf(place, job.value).ReplayPath(job);
  const Source source = SourceOf(world, place);
  EXPECT_FALSE(KeepIfAsked(source, "1", "user"));
  EXPECT_FALSE(KeepIfAsked(source, "keep", "admin"));
  EXPECT_FALSE(os::Exists(file));
  EXPECT_TRUE(KeepIfAsked(source, "7", "keep")) << "there is no such job any more";
  EXPECT_TRUE(KeepIfAsked(source, "1", "keep"));
  EXPECT_TRUE(os::Exists(file));
}

// ---- Tasks by number and name ------------------------------------------------------------------

// Rows that are names. Counts those that are looked at.
class NamesOnly final : public format::RowDialect {
 public:
  explicit NamesOnly(uint64_t& looked_at) : looked_at_(looked_at) {}
  Result<format::CompiledJob> Compile(const JobSettings&, JobId) const override {
    return std::make_shared<Rows>(looked_at_);
  }

 private:
  class Rows final : public format::RowReader {
   public:
    explicit Rows(uint64_t& looked_at) : looked_at_(looked_at) {}
    Result<TaskBody> Body(std::string_view, const format::RowRun&) const override {
      return TaskBody();
    }
    std::string CommandText(std::string_view, const format::RowRun&) const override { return ""; }
    bool HasNames() const override { return true; }
    std::string Name(std::string_view row) const override {
      ++looked_at_;
      return std::string(row);
    }

   private:
    uint64_t& looked_at_;
  };
  uint64_t& looked_at_;
};

constexpr uint32_t kNamed = 20'000;

// Most have none, a fifth their own number.
std::string NameOf(TaskIndex index) {
  const std::map<TaskIndex, std::string> special = {
      {4, "12"},    {6, "7"}, {100, "15000"}, {101, "30000"}, {102, "a"}, {103, "19001-19003"},
      {104, "8001"}};
  if (auto name = special.find(index); name != special.end()) return name->second;
  if (index % 5 == 0) return std::to_string(index + 1);
  return index % 3 == 0 ? "task" + std::to_string(index) : "";
}

// "12: 12" or the first line of the error, for each word.
std::string Picks(const Source& source, const std::vector<NumberRange>& numbers) {
  std::string text;
  for (const NumberRange& range : numbers) {
    TasksOfJob named;
    named.job = 1;
    named.ranges = {range};
    auto picked = PickTasks(source, {{{}, {named}}});
    text += std::to_string(range.first) + "-" + std::to_string(range.last) + ": ";
    if (!picked) text += picked.error().message.substr(0, picked.error().message.find('\n'));
    for (const PickedTasks& each : picked.value_or(std::vector<PickedTasks>())) {
      for (const NumberRange& got : each.ranges) {
        text += std::to_string(got.first) + "-" + std::to_string(got.last);
      }
    }
    text += "\n";
  }
  return text;
}

TEST(Reader, TasksAreFoundByNumberWithoutReadingAllNamesAgain) {
  store::HubWorld world;
  const JobId job = world.store().NextJobId();
  world.store().PutJob(store::HubWorld::RowOf(job, kNamed), nullptr);
  store::Bundle bundle = store::HubWorld::Accept(job, kNamed);
  for (TaskIndex i = 0; i < kNamed; ++i) bundle.rows[0].rows[i] = NameOf(i);
  ASSERT_TRUE(world.Commit(std::move(bundle)));
  store::JobPlace place = world.place();
  place.keep_replay_after = 1000;
  uint64_t looked_at = 0;
  Source source = SourceOf(world, place);
  source.dialects.Add(RowKind::kListLine, std::make_shared<NamesOnly>(looked_at));

  // Task 105 is called 8001, as task 8001 is.
  const std::vector<NumberRange> numbers = {
      {1, 1},         {2, 2},         {5, 5},         {7, 7},         {12, 12},
      {101, 101},     {15000, 15000}, {15001, 15001}, {19001, 19003}, {20000, 20000},
      {30000, 30000}, {30001, 30001}, {8001, 8001}};
  const std::string truth =
      "1-1: 1-1\n"
      "2-2: 2-2\n"
      "5-5: 5-5\n"
      "7-7: 7-7\n"
      "12-12: 1.12 has two readings: task 12 by number, and task 5, which is called 12\n"
      "101-101: 101-101\n"
      "15000-15000: 1.15000 has two readings: task 15000 by number, and task 101, which is called "
      "15000\n"
      "15001-15001: 15001-15001\n"
      "19001-19003: 1.19001-19003 has two readings: tasks 19001-19003 by number, and task 104, "
      "which is called 19001-19003\n"
      "20000-20000: 20000-20000\n"
      "30000-30000: 102-102\n"
      "30001-30001: 30001-30001\n"
      "8001-8001: 8001-8001\n";
  EXPECT_EQ(Picks(source, {{1, 1, 1}}), "1-1: 1-1\n");
  EXPECT_LT(looked_at, kNamed + 5000);
  looked_at = 0;
  EXPECT_EQ(Picks(source, numbers), truth);
  // Those of the one block that has such names, and the tasks themselves.
  EXPECT_LT(looked_at, numbers.size() * 5000);
  source = SourceOf(world);
  source.dialects.Add(RowKind::kListLine, std::make_shared<NamesOnly>(looked_at));
  ASSERT_TRUE(os::RemoveFile(store::JournalOf(place, job.value).ReplayPath(job)));
  EXPECT_EQ(Picks(source, numbers), truth) << "nothing is kept";
}

// ---- Rows and ends -----------------------------------------------------------------------------

template <typename Q>
std::vector<typename Q::Answer> Ask(const Source& source, const Q& question) {
  std::vector<typename Q::Answer> answers;
  auto told = Answer(source, question, [&](std::string_view bytes) -> Status {
    auto answer = wire::FromBytes<typename Q::Answer>("answer", bytes);
    if (!answer) return std::unexpected(answer.error());
    answers.push_back(std::move(*answer));
    return {};
  });
  EXPECT_TRUE(told) << told.error().message;
  return answers;
}

TEST(Reader, RowsComeInTheOrderAskedAndWithoutWhatIsNotThere) {
  store::HubWorld world;
  JobId first = world.Submit(3), second = world.Submit(2);
  wire::ReadRows question{.tasks = {{second, {{1, 5}}}, {JobId(99), {{0, 1}}}, {first, {{0, 2}}}},
                          .whole = RowKind::kListLine};
  auto answers = Ask(SourceOf(world), question);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].job, second);
  ASSERT_EQ(answers[0].rows.size(), 1u);
  EXPECT_EQ(answers[0].rows[0].index, 1u);
  EXPECT_EQ(answers[0].rows[0].row, "row 2.2");
  ASSERT_EQ(answers[1].rows.size(), 2u);
  question.whole.reset();
  answers = Ask(SourceOf(world), question);
  EXPECT_EQ(answers[0].rows[0].row, "");
  EXPECT_EQ(answers[0].rows[0].command, "row 2.2");
}

TEST(Reader, RowsOfOthersAreHiddenUnlessTheyArePublic) {
  struct Public final : format::RowDialect {
    struct Rows final : format::RowReader {
      Result<TaskBody> Body(std::string_view, const format::RowRun&) const override {
        return TaskBody();
      }
      std::string CommandText(std::string_view row, const format::RowRun&) const override {
        return std::string(row);
      }
    };
    Result<format::CompiledJob> Compile(const JobSettings&, JobId) const override {
      return std::make_shared<Rows>();
    }
    bool ArePublic() const override { return true; }
  };
  store::HubWorld world;
  JobId job = world.Submit(1, "ada");
  Source source = SourceOf(world);
  source.viewer = {"bob", false};
  wire::ReadRows question{.tasks = {{job, {{0, 1}}}}, .whole = {}};
  auto hidden = Ask(source, question);
  ASSERT_EQ(hidden.at(0).rows.size(), 1u);
  EXPECT_EQ(hidden[0].rows[0].command, "");
  EXPECT_FALSE(hidden[0].name);
  EXPECT_FALSE(Ask(source, wire::SumJobs{{job}}).at(0).cwd);
  source.dialects.Add(RowKind::kListLine, std::make_shared<Public>());
  auto shown = Ask(source, question);
  EXPECT_EQ(shown.at(0).rows.at(0).command, "row 1.1");
  EXPECT_EQ(shown[0].name, "job1");
  EXPECT_TRUE(Ask(source, wire::SumJobs{{job}}).at(0).cwd);
  // How they ended stays with their owner.
  auto refused = Answer(source, wire::ListEnds{.job = job, .created = {}, .whole = {}},
                        [](std::string_view) { return Status(); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kPermission);
}

TEST(Reader, EndsGoOnFromAPositionOfTheSameJob) {
  store::HubWorld world;
  JobId job = world.Submit(4);
  world.store().PutNode({.id = NodeId(1), .name = "n1"}, nullptr);
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(job, 0, 2)));
  wire::ListEnds question{.job = job, .created = {}, .whole = RowKind::kListLine};
  auto first = Ask(SourceOf(world), question);
  ASSERT_EQ(first.back().ends.size(), 2u);
  EXPECT_EQ(first.back().ends[1].node, "n1");
  EXPECT_EQ(first.back().ends[1].what.row, "row 1.2");
  question.after = first.back().position;
  question.created = first.back().created;
  EXPECT_TRUE(Ask(SourceOf(world), question).at(0).ends.empty());
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(job, 2, 1)));
  auto next = Ask(SourceOf(world), question);
  ASSERT_EQ(next.back().ends.size(), 1u);
  EXPECT_EQ(next.back().ends[0].end.ref.index, 2u);
  // The position of another job is none of this one.
  question.created.ns += 1;
  EXPECT_EQ(Ask(SourceOf(world), question).back().ends.size(), 3u);
}

TEST(Reader, WhatOnlyAHubKnowsIsRefused) {
  store::HubWorld world;
  auto told = Answer(SourceOf(world), wire::LookAtHub(), [](std::string_view) { return Status(); });
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::kInvalid);
}

// The hub knows which leased tasks run; the journal does not.
TEST(Reader, WhatANodeHasNotStartedIsQueued) {
  store::HubWorld world;
  const JobId job = world.Submit(4);
  ASSERT_TRUE(world.Record(engine::Leased{NodeId(1), job, Attempt(1), {{0, 3}}}));
  Source source = SourceOf(world);
  wire::ListTasks question;
  question.tasks = {{.jobs = {.ranges = {{1, 1}}}, .tasks = {}}};
  auto states = [&] {
    std::vector<std::pair<TaskState, bool>> told;
    for (const auto& listed : Ask(source, question)) {
      for (const TaskFacts& task : listed.tasks) told.emplace_back(task.state, task.is_next);
    }
    return told;
  };
  const std::pair runs{TaskState::kLeased, false}, next{TaskState::kQueued, true},
      waits{TaskState::kQueued, false};
  EXPECT_EQ(states(), (std::vector{runs, runs, runs, waits})) << "nobody knows better";
  JobLive live{.job = job, .started = true};
  live.counts = {.total = 4, .queued = 3, .leased = 1};
  live.tells_runs = true;
  live.running = {{1, 1}};
  source.live[1] = live;
  EXPECT_EQ(states(), (std::vector{next, runs, next, waits}));
  question.states = 1u << static_cast<unsigned>(TaskState::kLeased);
  EXPECT_EQ(states(), (std::vector{runs}));
  auto listed = Ask(source, wire::ListJobs());
  ASSERT_EQ(listed.at(0).jobs.size(), 1u);
  EXPECT_EQ(listed[0].jobs[0].state, JobStanding::kRunning);
  EXPECT_EQ(listed[0].jobs[0].counts, live.counts);
  source.live[1].held = true;
  auto held = Ask(source, wire::ListJobs()).at(0).jobs.at(0);
  EXPECT_EQ(held.state, JobStanding::kHeld);
  EXPECT_TRUE(held.started && held.took);
  source.live[1].started = false;
  held = Ask(source, wire::ListJobs()).at(0).jobs.at(0);
  EXPECT_EQ(held.state, JobStanding::kHeld);
  EXPECT_FALSE(held.started || held.took) << "it has never begun";
}

// ---- Events ------------------------------------------------------------------------------------

std::vector<std::string> Told(const std::vector<wire::ReadEvents::Answer>& answers) {
  std::vector<std::string> events;
  for (const auto& answer : answers) {
    for (const wire::EventFacts& event : answer.events) {
      events.push_back(event.what + " " + std::to_string(event.job.value));
    }
  }
  return events;
}

TEST(Reader, EverybodyIsToldThatTheClockWasSet) {
  store::HubWorld world;
  const Instant from{1'600'000'000'000'000'000};
  ASSERT_TRUE(world.Record(engine::ClockStepped{from, from - Duration::Seconds(7200)}));
  Source source = SourceOf(world);
  source.viewer = {"bob", false};
  auto told = Ask(source, wire::ReadEvents{0});
  ASSERT_EQ(Told(told), (std::vector<std::string>{"clock 0"}));
  const auto& clock = told.at(0).events.at(0).clock;
  ASSERT_TRUE(clock.has_value());
  EXPECT_EQ(clock->from, from);
  EXPECT_EQ(clock->from - clock->to, Duration::Seconds(7200));
}

TEST(Reader, EventsAreThoseOfOnesOwnJobs) {
  store::HubWorld world;
  JobId adas = world.Submit(2, "ada");
  JobId bobs = world.Submit(1, "bob");
  world.store().PutNode({.id = NodeId(1), .name = "n1"}, nullptr);
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(adas, 0, 1)));
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(bobs, 0, 1)));
  Source source = SourceOf(world);
  const wire::ReadEvents all{0};
  auto told = Ask(source, all);
  EXPECT_EQ(Told(told), (std::vector<std::string>{"accepted 1", "accepted 2", "end 1", "end 2"}));
  EXPECT_EQ(told.at(0).events.at(0).tasks, 2u);
  EXPECT_EQ(told.at(0).events.at(2).attempt->node, "n1");
  const uint64_t newest = told.back().position;
  source.viewer = {"bob", false};
  auto seen = Ask(source, all);
  EXPECT_EQ(Told(seen), (std::vector<std::string>{"accepted 2", "end 2"}));
  EXPECT_EQ(seen.back().position, newest) << "others' events are passed over";
  // From now on.
  auto now = Ask(source, wire::ReadEvents{});
  EXPECT_TRUE(Told(now).empty());
  EXPECT_EQ(now.back().position, newest);
  EXPECT_FALSE(now.back().more);
  auto beyond = Answer(source, wire::ReadEvents{newest + 1}, [](auto) { return Status(); });
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::kInvalid);
}

TEST(Reader, ManyEventsComeInParts) {
  store::HubWorld world;
  JobId job = world.Submit(700);
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(job, 0, 700)));
  wire::ReadEvents question{0};
  std::vector<TaskIndex> ended;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    auto part = Ask(SourceOf(world), question);
    ASSERT_EQ(part.size(), 1u);
    for (const wire::EventFacts& event : part[0].events) {
      if (event.attempt) ended.push_back(event.attempt->end.ref.index);
    }
    ASSERT_TRUE(part[0].position > *question.after || !part[0].more);
    question.after = part[0].position;
    more = part[0].more;
  }
  EXPECT_GT(parts, 1);
  ASSERT_EQ(ended.size(), 700u);
  EXPECT_TRUE(std::ranges::is_sorted(ended));
}

}  // namespace
}  // namespace spate::history
