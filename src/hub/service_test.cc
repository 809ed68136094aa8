// The service over a loop without a clock, a store in memory and ports of the test: what its
// clients ask at the same time.
#include "hub/service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "hub/answers/question.h"
#include "hub/testing_service.h"
#include "os/fake_loop.h"
#include "store/testing_memory_store.h"
#include "transport/inproc.h"
#include "wire/client_codec.h"
#include "wire/field_bytes.h"

namespace spate::hub {
namespace {

TEST_F(ServiceTest, WhatOneSetsOfAUserOrJobOthersDoNotUndo) {
  const Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  Dialogue& first = Come("root", 0);
  Dialogue& second = Come("root", 0);
  first.Ask(wire::Query{wire::SetUser{"ann", UserChange().With<&UserRule::weight>(5u)}});
  second.Ask(wire::Query{wire::SetUser{"ann", UserChange().With<&UserRule::max_running>(7u)}});
  loop_.RunFor(Duration::Seconds(1));
  ASSERT_TRUE(first.Done() && second.Done());
  const UserRule rule = service_->engine().Users().front().rule;
  EXPECT_EQ(rule.weight, 5u);
  EXPECT_EQ(rule.max_running, 7u);

  using Change = wire::ChangeJobs::Change;
  const JobSelector only{.ranges = {{job.value, job.value}}};
  first.Ask(wire::Query{wire::ChangeJobs{
      .jobs = only, .change = Change::kSet, .set = JobChange().With<&JobTerms::weight>(3u)}});
  second.Ask(wire::Query{wire::ChangeJobs{
      .jobs = only, .change = Change::kSet, .set = JobChange().With<&JobTerms::max_running>(2u)}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(service_->engine().Policy(job)->weight, 3u);
  EXPECT_EQ(service_->engine().Policy(job)->max_running, 2u);
}

// A newer client may set more than the hub knows.
TEST_F(ServiceTest, AChangeIsMadeAsAWholeOrNotAtAll) {
  const Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  auto user = UserChange().With<&UserRule::weight>(5u);
  auto terms = JobChange().With<&JobTerms::weight>(3u);
  user.fields.push_back(100);
  terms.fields.push_back(100);
  const JobSelector only{.ranges = {{job.value, job.value}}};
  for (const wire::Question& question :
       {wire::Question(wire::SetUser{"ann", user}),
        wire::Question(wire::ChangeJobs{
            .jobs = only, .change = wire::ChangeJobs::Change::kSet, .set = terms})}) {
    Dialogue& root = Come("root", 0);
    root.Ask(wire::Query{question});
    loop_.RunFor(Duration::Seconds(1));
    const auto* failed = std::get_if<wire::Failed>(&root.replies.back());
    ASSERT_TRUE(failed != nullptr);
    EXPECT_EQ(failed->kind, ErrorKind::kInvalid);
    EXPECT_TRUE(failed->text.contains("not known here")) << failed->text;
  }
  EXPECT_EQ(service_->engine().Users().front().rule.weight, 1u);
  EXPECT_EQ(service_->engine().Policy(job)->weight, kJobWeight);
}

TEST_F(ServiceTest, ALimitCanBeTakenBack) {
  const Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  const JobSelector only{.ranges = {{job.value, job.value}}};
  for (const uint32_t most : {7u, 0u}) {
    Dialogue& root = Come("root", 0);
    root.Ask(wire::Query{wire::SetUser{
        "ann",
        UserChange().With<&UserRule::max_running>(most).With<&UserRule::group>(std::string())}});
    loop_.RunFor(Duration::Seconds(1));
    root.Ask(wire::Query{wire::ChangeJobs{.jobs = only,
                                          .change = wire::ChangeJobs::Change::kSet,
                                          .set = JobChange().With<&JobTerms::max_running>(most)}});
    loop_.RunFor(Duration::Seconds(1));
    EXPECT_EQ(service_->engine().Users().front().rule.max_running, most);
    EXPECT_EQ(service_->engine().Policy(job)->max_running, most);
  }
}

// A client that did not hear the answer sends the same again.
TEST_F(ServiceTest, TasksAreAddedOnceByTheirKey) {
  const Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  for (const bool known : {false, true}) {
    const wire::Accepted added = Upload(Come("ann", 1), "more", 2, job);
    EXPECT_EQ(added.known, known);
    EXPECT_EQ(added.first, 3u);
    EXPECT_EQ(service_->engine().TaskCount(job), 5u);
  }
  EXPECT_FALSE(Upload(ann, "others", 2, job).known);
  // Another user's key is another key.
  EXPECT_FALSE(Upload(Come("root", 0), "more", 1, job).known);
  EXPECT_EQ(service_->engine().TaskCount(job), 8u);
}

// A withdrawal holds the job for a while, and lets it go unless somebody else has held it.
TEST_F(ServiceTest, AJobThatIsHeldDuringAWithdrawalStaysHeld) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  ann.Ask(wire::Query{wire::Withdraw{job}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_TRUE(ann.Done());
  EXPECT_EQ(service_->engine().Held(job), engine::HoldReason::kNone);
  EXPECT_EQ(service_->known().Find(job)->held, engine::HoldReason::kNone) << "as it is shown";
  ann.Ask(wire::Query{wire::Withdraw{job}});
  loop_.RunFor(Duration::Millis(100));
  Dialogue& other = Come("ann", 1);
  const JobSelector only{.ranges = {{job.value, job.value}}};
  other.Ask(wire::Query{wire::ChangeJobs{.jobs = only, .change = wire::ChangeJobs::Change::kHold}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_TRUE(other.Done());
  EXPECT_EQ(service_->engine().Held(job), engine::HoldReason::kUser);
}

class SlowDiskTest : public ServiceTest {
 protected:
  SlowDiskTest() : ServiceTest(false, Duration::Seconds(10)) {}
  Duration Stuck() {
    Dialogue& other = Come("bob", 2);
    other.Ask(wire::Query{wire::LookAtHub()});
    loop_.RunFor(Duration::Millis(1));
    const auto& answer = std::get<wire::QueryAnswer>(other.replies.front());
    return wire::FromBytes<HubFacts>("facts", answer.bytes).value().stuck;
  }
};

TEST_F(SlowDiskTest, ThatNothingCanBeStoredIsTold) {
  loop_.RunFor(Duration::Seconds(60));
  EXPECT_EQ(Stuck(), Duration());
  const Dialogue& ann = Come("ann", 1);
  ann.Ask(Head("one"));
  ann.Ask(wire::Rows{{"true"}});
  ann.Ask(End(1));
  loop_.RunFor(Duration::Seconds(2));
  EXPECT_EQ(Stuck(), Duration()) << "that long may be usual";
  loop_.RunFor(Duration::Seconds(2));
  EXPECT_GE(Stuck(), Duration::Seconds(3));
  EXPECT_TRUE(ann.replies.empty());
  loop_.RunFor(Duration::Seconds(60));
  EXPECT_EQ(Stuck(), Duration());
  EXPECT_TRUE(std::holds_alternative<wire::Accepted>(ann.replies.back()));
}

// ---- Many users --------------------------------------------------------------------------------

class StrangersTest : public ServiceTest {
 protected:
  static std::vector<JobWork> WorkIn(const Dialogue& dialogue) {
    std::vector<JobWork> works;
    for (const wire::Reply& reply : dialogue.replies) {
      const auto* answer = std::get_if<wire::QueryAnswer>(&reply);
      if (answer != nullptr) works.push_back(*wire::FromBytes<JobWork>("work", answer->bytes));
    }
    return works;
  }
  static ErrorKind FailureOf(const Dialogue& dialogue) {
    const auto* failed =
        dialogue.replies.empty() ? nullptr : std::get_if<wire::Failed>(&dialogue.replies.back());
    return failed == nullptr ? ErrorKind() : failed->kind;
  }
  static int AnswersIn(const Dialogue& dialogue) {
    return static_cast<int>(std::ranges::count_if(dialogue.replies, [](const wire::Reply& reply) {
      return std::holds_alternative<wire::QueryDone>(reply);
    }));
  }
};

TEST_F(StrangersTest, OthersWorkIsCountsAlone) {
  const JobId job = Submit(Come("ann", 1), 3);
  const wire::LookAtWork all{.submission = {}, .user = {}, .tasks = true};
  const wire::LookAtWork one{.submission = "one", .user = "ann", .tasks = true};
  for (const wire::LookAtWork& asked : {all, one}) {
    for (auto [user, number, sees] :
         {std::tuple("ann", 1, true), {"root", 0, true}, {"bob", 2, false}}) {
      Dialogue& dialogue = Come(user, static_cast<uint32_t>(number));
      dialogue.Ask(wire::Query{asked});
      loop_.RunFor(Duration::Seconds(1));
      const auto works = WorkIn(dialogue);
      ASSERT_EQ(works.size(), 1u);
      EXPECT_EQ(works[0].job, job);
      EXPECT_EQ(works[0].counts.queued, 3u);
      EXPECT_EQ(works[0].hidden, !sees) << user;
      EXPECT_EQ(works[0].unended.empty(), !sees) << user;
    }
  }
}

// Each in pieces, by the place where the last one ended.
TEST_F(StrangersTest, MuchWorkIsToldInPieces) {
  constexpr uint32_t kJobs = 1'203;
  const Dialogue& ann = Come("ann", 1);
  for (uint32_t i = 0; i < kJobs; ++i) Upload(ann, std::to_string(i), 1, JobId());
  wire::LookAtWork asked{.submission = {}, .user = {}, .tasks = true};
  std::vector<size_t> pieces;
  std::set<JobId> jobs;
  do {
    Dialogue& dialogue = Come("ann", 1);
    dialogue.Ask(wire::Query{asked});
    loop_.RunFor(Duration::Seconds(1));
    const auto works = WorkIn(dialogue);
    ASSERT_FALSE(works.empty());
    pieces.push_back(works.size());
    for (const JobWork& work : works) EXPECT_TRUE(jobs.insert(work.job).second);
    asked.from_job = works.back().next_job;
    asked.from_task = works.back().next_task;
  } while (asked.from_job != JobId());
  EXPECT_EQ(pieces, (std::vector<size_t>{1'000, 203}));
  EXPECT_EQ(jobs.size(), kJobs);
}

TEST_F(StrangersTest, TheTasksOfALargeJobAreToldInPieces) {
  constexpr uint32_t kTasks = 1'500'000;
  const Dialogue& ann = Come("ann", 1);
  const JobId job = Upload(ann, "large", kTasks, JobId()).job;
  wire::LookAtWork asked{.submission = "large", .user = {}, .tasks = true};
  std::vector<TaskRange> all;
  int pieces = 0;
  do {
    Dialogue& dialogue = Come("ann", 1);
    dialogue.Ask(wire::Query{asked});
    loop_.RunFor(Duration::Seconds(1));
    const auto works = WorkIn(dialogue);
    ASSERT_EQ(works.size(), 1u);
    EXPECT_EQ(works[0].job, job);
    all.insert(all.end(), works[0].unended.begin(), works[0].unended.end());
    asked.from_job = works[0].next_job;
    asked.from_task = works[0].next_task;
    ++pieces;
  } while (asked.from_job != JobId() && pieces < 9);
  EXPECT_EQ(pieces, 2);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].count + all[1].count, kTasks);
  EXPECT_EQ(all[1].first, all[0].count);
}

// By the rows of questions.
TEST_F(StrangersTest, OnlyAdministratorsGetWhatIsForThem) {
  int tried = 0;
  for (const HubQuestion* each : HubQuestions()) {
    if (each->row.who != kAdmin) continue;
    const bool sets_user = each->row.number == wire::SetUser::kNumber;
    Dialogue& bob = Come("bob", 2);
    bob.Ask(wire::Query{sets_user ? wire::Question(wire::SetUser{.user = "bob"})
                                  : wire::Question(each->row.number, "")});
    loop_.RunFor(Duration::Seconds(1));
    EXPECT_EQ(FailureOf(bob), ErrorKind::kPermission) << each->row.name;
    ++tried;
  }
  EXPECT_EQ(tried, 7);
  EXPECT_EQ(stops_, 0);
}

Duration CostOf(const wire::Question& question) {
  return WorstCost(FindQuestion(question.number())->row, question, {});
}

// Named jobs that have ended are read from the journal one by one.
TEST(QuestionTableTest, JobsThatHaveEndedCostTheirUserTime) {
  wire::ChangeJobs hold;
  hold.jobs.ranges = {{1, 5'000}};
  EXPECT_GE(CostOf(hold), Duration::Millis(50));
  wire::LookAtJobs look;
  look.jobs.ranges = {{1, 1}};
  EXPECT_LT(CostOf(look), Duration::Millis(1));
  look.shell = true;
  EXPECT_GE(CostOf(look), Duration::Millis(8));
}

TEST_F(StrangersTest, DearQuestionsOfOneWaitAndThoseOfOthersDoNot) {
  Upload(Come("ann", 1), "large", 1'500'000, JobId());
  const wire::LookAtWork dear{.submission = {}, .user = {}, .tasks = true};
  Dialogue& bob = Come("bob", 2);
  for (int i = 0; i < 400; ++i) bob.Ask(wire::Query{dear});
  Dialogue& ann = Come("ann", 1);
  ann.Ask(wire::Query{dear});
  Dialogue& root = Come("root", 0);
  for (int i = 0; i < 100; ++i) root.Ask(wire::Query{dear});
  loop_.RunFor(Duration::Millis(400));
  EXPECT_TRUE(ann.Done());
  EXPECT_LE(AnswersIn(bob), 50);
  // 3 ms each is a tenth of the loop's time.
  loop_.RunFor(Duration::Seconds(10));
  EXPECT_EQ(AnswersIn(root), 100);
  EXPECT_NEAR(AnswersIn(bob), 378, 12);
  loop_.RunFor(Duration::Seconds(20));
  EXPECT_EQ(AnswersIn(bob), 400);
}

TEST_F(StrangersTest, WhoAsksFarTooMuchIsToldSo) {
  Upload(Come("ann", 1), "large", 1'500'000, JobId());
  std::vector<Dialogue*> all;
  for (int i = 0; i < 10; ++i) all.push_back(&Come("bob", 2));
  for (Dialogue* each : all) {
    for (int i = 0; i < 500; ++i) each->Ask(wire::Query{wire::LookAtWork()});
  }
  loop_.RunFor(Duration::Millis(100));
  EXPECT_EQ(FailureOf(*all.back()), ErrorKind::kBusy);
  EXPECT_EQ(FailureOf(*all.front()), ErrorKind());
}

TEST_F(StrangersTest, WhoReadsNoAnswersGetsNoMore) {
  Dialogue& bob = Come("bob", 2);
  bob.full = true;
  for (int i = 0; i < 50; ++i) bob.Ask(wire::Query{wire::LookAtHub()});
  loop_.RunFor(Duration::Seconds(1));
  // The first one filled the window.
  EXPECT_EQ(AnswersIn(bob), 1);
  bob.full = false;
  bob.events.writable();
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(AnswersIn(bob), 50);
}

// ---- Many requests at once ---------------------------------------------------------------------

// News of a job as long as it changes; how many there were.
class NewsTest : public ServiceTest {
 protected:
  void Change(JobId job) {
    const bool held = service_->engine().Held(job) != engine::HoldReason::kNone;
    held ? service_->hub().Post(engine::ReleaseJob{job})
         : service_->hub().Post(engine::HoldJob{job, /*end_running=*/false});
    loop_.RunFor(Duration::Seconds(1));
  }
};

TEST_F(NewsTest, WhoTakesNoNewsGetsTheNewestAndHowManyWereMissed) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  ann.Ask(wire::Watch{job});
  const uint32_t idle = ann.last;
  ann.Ask(wire::Watch{job});
  const uint32_t reads = ann.last;
  size_t told = 0;
  for (int i = 0; i < 2001; ++i) {
    Change(job);
    told += ann.Take(reads).size();
  }
  ASSERT_GT(told, 1000u);
  const size_t buffered = ann.of[idle].size();
  EXPECT_LT(buffered, 500u) << "at most a window of them";
  EXPECT_GT(buffered, 10u);
  ann.Take(idle);
  loop_.RunFor(Duration::Seconds(1));
  auto newest = ann.Take(idle);
  ASSERT_EQ(newest.size(), 1u);
  const auto& news = std::get<wire::JobNews>(newest.front());
  EXPECT_EQ(buffered + news.missed, told);
  EXPECT_EQ(news.held, static_cast<uint32_t>(engine::HoldReason::kUser)) << "as it is now";
  // It hears of the next ones as they happen.
  Change(job);
  Change(job);
  ASSERT_EQ(ann.of[idle].size(), 2u);
  EXPECT_EQ(std::get<wire::JobNews>(ann.of[idle].front()).missed, 0u);
}

// Tasks that a node had not begun come back to a held job after the last end. Nothing runs then,
// for which "submit --wait" waits.
TEST_F(NewsTest, TasksThatANodeReturnsAreNews) {
  auto link = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(loop_);
  service_->hub().Connect(NodeId(7), *link.first);
  link.second->Send(wire::Hello{NodeId(7), {.slots = 2, .milli_cpus = 2000}});
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  ann.Ask(wire::Watch{job});
  const uint32_t watch = ann.last;
  loop_.RunFor(Duration::Seconds(1));
  Change(job);
  auto leased = [&] {
    const auto news = ann.Take(watch);
    return news.empty() ? -1 : int(std::get<wire::JobNews>(news.back()).counts.leased);
  };
  ASSERT_EQ(leased(), 3);
  link.second->Send(wire::Returned{1, job, Attempt(1), {{0, 3}}});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(leased(), 0);
}

// A client that does not take ends has a reader for a moment only; the rest comes from the journal.
TEST_F(ServiceTest, NoEndIsLostOfThoseThatNobodyTookForALongTime) {
  constexpr uint64_t kEnds = 2000;  // of a kilobyte each
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  reader_.ends = kEnds;
  ann.Ask(wire::ReadEnds{job, 0});
  const uint32_t id = ann.last;
  uint64_t position = 0;
  auto take = [&] {
    for (const wire::Reply& reply : ann.Take(id)) {
      const auto* read = std::get_if<wire::EndsRead>(&reply);
      if (read == nullptr || read->ends.ends.empty()) continue;
      EXPECT_EQ(read->position, position + 1);
      EXPECT_EQ(read->ends.ends.front().ref.index, position);
      position = read->position;
    }
  };
  loop_.RunFor(Duration::Seconds(100));
  EXPECT_EQ(reader_.at_work, 0) << "others may have the reader";
  EXPECT_LT(ann.of[id].size(), 300u) << "at most a window of them";
  take();
  EXPECT_LT(position, 300u);
  int rounds = 0;
  for (; position < kEnds && rounds < 100; ++rounds) {
    loop_.RunFor(Duration::Seconds(100));
    take();
  }
  EXPECT_EQ(position, kEnds);
  EXPECT_GT(reader_.started, 3);
  reader_.finished = true;
  service_->hub().Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(10));
  ASSERT_FALSE(ann.of[id].empty());
  const auto* last = std::get_if<wire::EndsRead>(&ann.of[id].back());
  ASSERT_TRUE(last && last->finished);
}

// One that is a little slow keeps its reader.
TEST_F(ServiceTest, ThePausedReaderOfEndsGoesOnWhenThereIsRoom) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  reader_.ends = 1000;
  ann.Ask(wire::ReadEnds{job, 0});
  for (int i = 0; i < 10; ++i) {
    loop_.RunFor(Duration::Millis(500));
    ann.Take(ann.last);
  }
  EXPECT_LE(reader_.started, 2);
}

TEST_F(ServiceTest, AThousandRequestsAndAHundredSubscriptionsShareAConnection) {
  constexpr size_t kQuestions = 1000, kSubscriptions = 100;
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  reader_.ends = 2000;
  std::vector<uint32_t> subscriptions, questions;
  for (size_t i = 0; i < kSubscriptions; ++i) {
    i % 25 == 0 ? ann.Ask(wire::ReadEnds{job, 0}) : ann.Ask(wire::Watch{job});
    subscriptions.push_back(ann.last);
  }
  for (size_t i = 0; i < kQuestions; ++i) {
    // From memory, and from the journal.
    i % 2 == 0 ? ann.Ask(wire::Query{wire::LookAtWork{.submission = {}, .user = {}}})
               : ann.Ask(wire::Query{wire::ListEnds{.job = job}});
    questions.push_back(ann.last);
  }
  EXPECT_LE(reader_.at_work, 8) << "of one user";
  for (int i = 0; i < 60; ++i) {
    loop_.RunFor(Duration::Seconds(1));
    for (size_t each = 1; each < kSubscriptions; ++each) ann.Take(subscriptions[each]);
  }
  for (uint32_t id : questions) {
    ASSERT_FALSE(ann.of[id].empty()) << id;
    EXPECT_TRUE(std::holds_alternative<wire::QueryDone>(ann.of[id].back())) << id;
  }
  // The first subscription is never read, and holds up no other.
  service_->hub().Post(engine::HoldJob{job, /*end_running=*/false});
  loop_.RunFor(Duration::Seconds(1));
  for (size_t each = 1; each < kSubscriptions; ++each) {
    EXPECT_FALSE(ann.of[subscriptions[each]].empty()) << each;
  }
  EXPECT_LT(ann.of[subscriptions[0]].size(), 300u);
}

TEST_F(ServiceTest, AConnectionMayCarryAnyNumberOfSubmissionsInTurn) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 1);
  // More than there may be at once: the job itself, then the same submission again and again.
  for (int i = 0; i < 9000; ++i) {
    ASSERT_EQ(Upload(ann, "one", 1, JobId()).job, job);
    ASSERT_FALSE(ann.of[ann.last].empty()) << "refused after " << i;
  }
}

TEST_F(ServiceTest, WhatIsDroppedIsOver) {
  Dialogue& ann = Come("ann", 1);
  const JobId job = Submit(ann, 3);
  ann.Ask(wire::Watch{job});
  const uint32_t watch = ann.last;
  ann.Ask(wire::ReadEnds{job, 0});
  const uint32_t reads = ann.last;
  reader_.ends = 1000;
  loop_.RunFor(Duration::Millis(50));
  for (uint32_t id : {watch, reads}) {
    EXPECT_FALSE(ann.of[id].empty());
    ann.of[id].clear();
    ann.Give(id, wire::DropRequest());
    ann.Give(id, wire::DropRequest());  // of no request any more
  }
  service_->hub().Post(engine::HoldJob{job, /*end_running=*/false});
  loop_.RunFor(Duration::Seconds(10));
  EXPECT_TRUE(ann.of[watch].empty() && ann.of[reads].empty());
  EXPECT_EQ(reader_.at_work, 0);
  // An upload leaves nothing, and its name is free.
  ann.Ask(Head("two"));
  ann.Ask(wire::Rows{{"true"}});
  ann.Give(ann.last, wire::DropRequest());
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(service_->engine().Jobs().size(), 1u);
}

TEST_F(ServiceTest, TwoUploadsOverOneConnectionAreTwoJobs) {
  Dialogue& ann = Come("ann", 1);
  ann.Give(1, Head("one"));
  ann.Give(2, Head("two"));
  for (uint32_t id : {1u, 2u}) ann.Give(id, wire::Rows{std::vector<std::string>(id, "true")});
  for (uint32_t id : {2u, 1u}) ann.Give(id, End(id));
  loop_.RunFor(Duration::Seconds(1));
  for (uint32_t id : {1u, 2u}) {
    ASSERT_EQ(ann.of[id].size(), 1u);
    const auto* accepted = std::get_if<wire::Accepted>(&ann.of[id].front());
    ASSERT_NE(accepted, nullptr);
    EXPECT_EQ(service_->engine().Counts(accepted->job)->total, id);
  }
}

TEST_F(ServiceTest, ToStopIsItsOwnersBusiness) {
  Dialogue& ann = Come("ann", 1);
  ann.Ask(wire::Query{wire::StopHub()});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(stops_, 0);
  Dialogue& root = Come("root", 0);
  root.Ask(wire::Query{wire::StopHub()});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(stops_, 1);
  EXPECT_TRUE(root.Done());
}

// The hub of one job, whose owner posts it.
class OneJobTest : public ServiceTest {
 protected:
  OneJobTest() : ServiceTest(/*one_job=*/true) {
    store::JobRow row;
    row.job = kJob;
    row.user = "ann";
    service_->known().Add(kJob, row.user);
    store_.PutJob(row, nullptr);
    store::Bundle bundle;
    bundle.rows.push_back({kJob, 0, {"true", "true"}});
    store_.Append(std::move(bundle), [](const Status&) {});
    engine::SubmitJob submit{.job = kJob, .plan = {}, .edges = {}};
    submit.plan.task_count = 2;
    submit.plan.requests = {TaskClass()};
    submit.plan.runs = {{0, 2, 0}};
    service_->hub().Post(std::move(submit));
    loop_.RunFor(Duration::Seconds(1));
  }
  const std::string& Refused(Dialogue& dialogue, const wire::Request& request) {
    dialogue.Ask(request);
    loop_.RunFor(Duration::Seconds(1));
    return std::get<wire::Failed>(dialogue.replies.back()).text;
  }
  static constexpr JobId kJob{7};
};

TEST_F(OneJobTest, TakesNoOtherAndRefusesWhatItsOwnerDoes) {
  Dialogue& ann = Come("ann", 1);
  wire::Submit other;
  other.submission = "one";
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = "/";
  other.settings = std::move(settings);
  EXPECT_NE(Refused(ann, other).find("accepts no other jobs"), std::string::npos);
  EXPECT_EQ(Refused(Come("root", 0), wire::Query{wire::SetUser{.user = "ann"}}), "not here");
}

TEST_F(OneJobTest, StaysInTheEngineWhenItHasEnded) {
  Dialogue& ann = Come("ann", 1);
  const JobSelector only{.ranges = {{kJob.value, kJob.value}}};
  ann.Ask(wire::Query{wire::Cancel{.jobs = only, .tasks = {}}});
  loop_.RunFor(Duration::Seconds(5));
  ASSERT_TRUE(ann.Done());
  ASSERT_TRUE(service_->engine().Counts(kJob).has_value());
  EXPECT_EQ(service_->engine().Counts(kJob)->cancelled, 2u);
}

}  // namespace
}  // namespace spate::hub
