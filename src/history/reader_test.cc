#include "history/reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "client/asker.h"
#include "history/reader_end.h"
#include "os/file.h"
#include "store/sqlite/sqlite_history.h"
#include "store/sqlite/testing_hub.h"
#include "wire/frame.h"

namespace spate::history {
namespace {

Source SourceOf(const store::HubWorld& world) {
  Source source(store::OpenHistory(world.place()));
  source.viewer = {"root", true};
  source.settings = [](const store::JobRow&) { return Result<JobSettings>(JobSettings()); };
  source.now = [] { return Instant(); };
  return source;
}

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
  EXPECT_EQ(jobs[0].argv->front().size(), 7u << 20);
  EXPECT_FALSE(jobs[2].argv) << "it would be no message";
  EXPECT_EQ(jobs[3].argv->front().size(), 100u);
}

TEST(Reader, KeepsTheStateOfAJobThatItIsAskedTo) {
  store::HubWorld world;
  const JobId job = world.Submit(3);
  ASSERT_TRUE(world.Commit(store::HubWorld::Ends(job, 0, 2)));
  store::JobPlace place = world.place();
  place.keep_replay_after = 3;
  const auto history = store::OpenHistory(place);
  const std::string file = store::JournalOf(place, job.value).ReplayPath(job);
  EXPECT_FALSE(KeepIfAsked(*history, "1", "user"));
  EXPECT_FALSE(KeepIfAsked(*history, "keep", "admin"));
  EXPECT_FALSE(os::Exists(file));
  EXPECT_TRUE(KeepIfAsked(*history, "7", "keep")) << "there is no such job any more";
  EXPECT_TRUE(KeepIfAsked(*history, "1", "keep"));
  EXPECT_TRUE(os::Exists(file));
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
