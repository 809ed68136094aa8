// The life of jobs as clients see it: sessions over a store that commits late.
#include "hub/jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "hub/client_session.h"
#include "hub/same_tasks.h"
#include "os/fake_loop.h"
#include "present/advice.h"
#include "store/testing_memory_store.h"
#include "transport/inproc.h"
#include "wire/client_codec.h"

namespace spate::hub {
namespace {

constexpr Duration kCommit = Duration::Millis(5);

// Work beside the loop, in a later turn of it.
class LateAside final : public Aside {
 public:
  explicit LateAside(os::Loop& loop) : loop_(loop) {}
  void Do(const std::string&, Work work) override {
    loop_.Post([this, work = std::move(work)] { loop_.Post(work()); });
  }

 private:
  os::Loop& loop_;
};

// A client's end of its session.
struct Talk {
  std::vector<wire::Reply> replies;
  std::string refused;
  ClientPort::Events events;
  std::unique_ptr<ClientSession> session;

  // Sends the next request, or more of an upload.
  void Ask(const wire::Request& request) const {
    const bool more = wire::KindOf(request) == wire::RequestKind::kUpload &&
                      !std::holds_alternative<wire::Submit>(request);
    Give(more ? last : ++last, request);
  }
  void Give(uint32_t id, const wire::Request& request) const {
    std::string bytes;
    wire::Append(bytes, request);
    events.request(id, bytes);
  }
  mutable uint32_t last = 0;  // the id of the newest request
  // The newest reply as T; null: it is none.
  template <typename T>
  const T* Newest() const {
    return replies.empty() ? nullptr : std::get_if<T>(&replies.back());
  }
};

class TalkPort final : public ClientPort {
 public:
  explicit TalkPort(Talk& talk) : talk_(talk) {}
  void Start(Events events) override { talk_.events = std::move(events); }
  bool Send(uint32_t, std::string_view reply) override {
    talk_.replies.push_back(*wire::DecodeReply(reply));
    return true;
  }
  void PauseReading(bool) override {}
  void Refuse(const wire::Refusal& why) override { talk_.refused = why.reason; }
  void Close() override {}

 private:
  Talk& talk_;
};

// A reader whose answers the test gives.
class HandReader final : public JournalReader {
 public:
  Result<std::unique_ptr<JournalAnswer>> Start(const Caller&, const wire::Request&,
                                               Events events) override {
    class Nothing final : public JournalAnswer {
      void Pause(bool) override {}
    };
    ++started;
    newest = std::move(events);
    return std::make_unique<Nothing>();
  }
  // The answer is whole.
  void End(std::optional<uint64_t> position) {
    auto ended = newest.ended;
    ended(JournalReader::End{position});
  }

  int started = 0;
  Events newest;
};

class JobsTest : public testing::Test, public Watcher, public ClientHost {
 protected:
  JobsTest() {
    EXPECT_TRUE(hub_.Replay());
    EXPECT_TRUE(jobs_.Load());
    hub_.Resume(engine::LastNodes::kMayReturn);
  }
  void LimitQueued(const std::string& user, uint64_t tasks) {
    UserRule rule;
    rule.max_queued = tasks;
    hub_.Post(engine::SetUser{user, rule});
  }
  Talk& Come(const std::string& user) {
    Talk& talk = talks_.emplace_back();
    talk.session = std::make_unique<ClientSession>(jobs_, *this, Caller{.user = user},
                                                   std::make_unique<TalkPort>(talk), [] {});
    return talk;
  }
  static wire::Submit Head(const std::string& submission) {
    wire::Submit head;
    head.submission = submission;
    auto settings = std::make_shared<JobSettings>();
    settings->cwd = "/";
    head.settings = std::move(settings);
    head.open = true;
    return head;
  }
  static void Upload(const Talk& talk, const wire::Submit& head, uint32_t count) {
    talk.Ask(head);
    talk.Ask(wire::Rows{std::vector<std::string>(count, "true")});
    talk.Ask(wire::SubmitEnd{count, {Needs()}, {{0, count, 0}}, {}});
  }
  JobId Submitted(const std::string& user, const std::string& submission, uint32_t count) {
    const Talk& talk = Come(user);
    Upload(talk, Head(submission), count);
    loop_.RunFor(kCommit * 4);
    return talk.Newest<wire::Accepted>() ? talk.Newest<wire::Accepted>()->job : JobId();
  }

  // Watcher
  void OnEnded(const engine::NoticeEnded& notice, const TaskOutputPtr&) override {
    jobs_.OnEnded(notice);
  }
  void OnHeld(const engine::NoticeHeld& notice) override { jobs_.OnHeld(notice); }
  void OnFinished(const engine::NoticeFinished& notice) override { jobs_.OnFinished(notice); }
  void OnHubNotice(const engine::Notice& notice) override { jobs_.OnHubNotice(notice); }
  void OnNews(const wire::ToHub&) override {}
  void OnStoreFailed(const Error&) override { ++failures_; }
  // ClientHost
  uint32_t nodes_joined() const override { return 0; }
  const JobHabits& HabitsOf(RowKind) const override { return habits_; }
  Readers readers() override { return {turns_, reader_, changes_}; }
  void OnQuery(ClientRequest&, wire::Query) override {}

  int failures_ = 0;
  os::FakeLoop loop_;
  std::shared_ptr<store::MemoryDisk> disk_ = std::make_shared<store::MemoryDisk>();
  store::MemoryStore store_{loop_, disk_, {kCommit, kCommit, 1, /*is_hub=*/true}};
  Hub hub_{loop_, store_, *this, Epoch(1)};
  LateAside aside_{loop_};
  Jobs jobs_{{.loop = loop_,
              .store = store_,
              .hub = hub_,
              .aside = aside_,
              .log = [](const LogText&) {},
              .forgets_at_once = 20}};
  JobHabits habits_;  // of every kind of rows
  Turns turns_;
  Pace changes_;
  HandReader reader_;
  std::deque<Talk> talks_;
};

// The engine has it, and the disk does not: whoever asks now might be told of a job that a crash
// takes back.
TEST_F(JobsTest, WhatIsNotDurableDoesNotExist) {
  Talk& talk = Come("ann");
  Upload(talk, Head("one"), 2);
  loop_.RunUntilIdle();
  ASSERT_EQ(jobs_.engine().Jobs().size(), 1u);
  JobId job = jobs_.engine().Jobs().front().job;
  EXPECT_EQ(jobs_.known().Find(job), nullptr);
  EXPECT_TRUE(jobs_.known().Unfinished().empty());
  EXPECT_TRUE(jobs_.known().AllJobs().empty());
  EXPECT_FALSE(jobs_.known().NewestOf("ann"));
  EXPECT_FALSE(jobs_.CheckRight({.user = "ann", .is_admin = true}, job));
  EXPECT_TRUE(talk.replies.empty());
  Talk& other = Come("bob");
  other.Ask(wire::Watch{job});
  EXPECT_NE(other.Newest<wire::Failed>(), nullptr);

  loop_.RunFor(kCommit * 6);
  ASSERT_NE(talk.Newest<wire::Accepted>(), nullptr);
  EXPECT_EQ(talk.Newest<wire::Accepted>()->job, job);
  EXPECT_EQ(jobs_.known().Unfinished().size(), 1u);
}

TEST_F(JobsTest, OneSubmissionIsOneJob) {
  Talk& first = Come("ann");
  Upload(first, Head("one"), 2);
  loop_.RunUntilIdle();
  Talk& again = Come("ann");  // before the first is durable
  Upload(again, Head("one"), 2);
  loop_.RunFor(kCommit * 6);
  ASSERT_NE(again.Newest<wire::Accepted>(), nullptr);
  EXPECT_TRUE(again.Newest<wire::Accepted>()->known);
  EXPECT_EQ(again.Newest<wire::Accepted>()->job, first.Newest<wire::Accepted>()->job);
  EXPECT_EQ(Submitted("ann", "one", 2), first.Newest<wire::Accepted>()->job);
  EXPECT_NE(Submitted("bob", "one", 2), first.Newest<wire::Accepted>()->job) << "of another user";
  EXPECT_EQ(jobs_.engine().Jobs().size(), 2u);
}

// Two that come at the same time: the one that ends first is the job.
TEST_F(JobsTest, TheLaterOfTwoUploadsIsDropped) {
  Talk& slow = Come("ann");
  slow.Ask(Head("one"));
  slow.Ask(wire::Rows{{"true"}});
  JobId job = Submitted("ann", "one", 2);
  slow.Ask(wire::SubmitEnd{1, {Needs()}, {{0, 1, 0}}, {}});
  loop_.RunFor(kCommit * 6);
  ASSERT_NE(slow.Newest<wire::Accepted>(), nullptr);
  EXPECT_EQ(slow.Newest<wire::Accepted>()->job, job);
  for (const auto& [key, row] : disk_->rows) EXPECT_EQ(key.first, job);
}

// Its rows were not kept, as the first try had them.
TEST_F(JobsTest, ASecondTryOfWhatIsRefusedMeanwhileIsAnswered) {
  LimitQueued("ann", 1);
  Talk& refused = Come("ann");
  Upload(refused, Head("one"), 2);
  Talk& again = Come("ann");  // the first is not refused yet
  again.Ask(Head("one"));
  again.Ask(wire::Rows{{"true", "true"}});
  while (refused.replies.empty()) ASSERT_TRUE(loop_.Step());
  ASSERT_NE(refused.Newest<wire::Failed>(), nullptr);
  again.Ask(wire::SubmitEnd{2, {Needs()}, {{0, 2, 0}}, {}});
  loop_.RunFor(kCommit * 10);
  ASSERT_NE(again.Newest<wire::Failed>(), nullptr) << "nobody answers";
  EXPECT_EQ(again.Newest<wire::Failed>()->kind, ErrorKind::kBusy);
}

TEST_F(JobsTest, WhatWasRefusedMayComeAgain) {
  LimitQueued("ann", 1);
  Talk& refused = Come("ann");
  Upload(refused, Head("one"), 2);
  while (refused.replies.empty()) ASSERT_TRUE(loop_.Step());
  ASSERT_NE(refused.Newest<wire::Failed>(), nullptr);
  hub_.Post(engine::SetUser{"ann", UserRule()});
  loop_.RunFor(kCommit * 10);  // it was refused at its first rows; its own row is removed
  Talk& again = Come("ann");
  Upload(again, Head("one"), 2);
  loop_.RunFor(kCommit * 10);
  ASSERT_NE(again.Newest<wire::Accepted>(), nullptr) << "nobody answers";
  EXPECT_FALSE(again.Newest<wire::Accepted>()->known);
  EXPECT_EQ(disk_->jobs.size(), 1u);
}

// The first try of a submission is refused at once; others come when its row is durable and gone,
// and the second one's is not durable yet.
TEST_F(JobsTest, ASubmissionIsOneJobHoweverOftenItComes) {
  JobId others = Submitted("bob", "one", 2);
  wire::Submit head = Head("one");
  head.after = {{others, static_cast<uint32_t>(AfterKind::kEach)}};
  const Talk& refused = Come("ann");
  Upload(refused, head, 2);
  while (refused.replies.empty()) ASSERT_TRUE(loop_.Step());
  ASSERT_NE(refused.Newest<wire::Failed>(), nullptr);
  const Talk& second = Come("ann");
  Upload(second, Head("one"), 2);
  std::vector<const Talk*> more;
  while (second.replies.empty()) {
    ASSERT_TRUE(loop_.Step());
    Upload(*more.emplace_back(&Come("ann")), Head("one"), 2);
  }
  loop_.RunFor(kCommit * 20);
  for (const Talk* talk : more) {
    ASSERT_NE(talk->Newest<wire::Accepted>(), nullptr) << "nobody answers";
    EXPECT_EQ(talk->Newest<wire::Accepted>()->job, second.Newest<wire::Accepted>()->job);
  }
  EXPECT_EQ(disk_->jobs.size(), 2u);
}

// Jobs are removed a few at a time; the others of them have their rows meanwhile.
TEST_F(JobsTest, TheSubmissionOfAJobThatIsBeingRemovedIsNotFreeYet) {
  std::vector<JobId> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back(Submitted("ann", "s" + std::to_string(i), 1));
  for (JobId job : jobs) hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  for (JobId job : jobs) jobs_.ForgetJob(job, [] {});
  Talk& early = Come("ann");
  Upload(early, Head("s39"), 1);
  loop_.RunFor(Duration::Seconds(1));
  ASSERT_NE(early.Newest<wire::Failed>(), nullptr);
  EXPECT_EQ(early.Newest<wire::Failed>()->kind, ErrorKind::kBusy);
  EXPECT_TRUE(disk_->jobs.empty());
  EXPECT_NE(Submitted("ann", "s39", 1), JobId());
}

// Writes that are no records of the engine fail with the disk, too: nobody must wait for them for
// ever, nor be told that they were done.
TEST_F(JobsTest, AFullDiskEndsTheHubForWhoeverWaits) {
  JobId job = Submitted("ann", "one", 1);
  hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  store_.FailAfter(0, {ErrorKind::kExhausted, "no space left on device"});
  bool told = false;
  jobs_.WhenSettled([&] { told = true; });
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(failures_, 1);
  jobs_.ForgetJob(job, [&] { told = true; });
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(failures_, 1) << "once";
  EXPECT_FALSE(told);
}

// Nobody waits for the removal of a job that was refused; whoever submits it again would wait for
// ever.
TEST_F(JobsTest, AFailedWriteThatNobodyWaitsForEndsTheHubToo) {
  store_.FailAfter(0, {ErrorKind::kExhausted, "no space left on device"});
  jobs_.DropUpload(JobId(7));
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_EQ(failures_, 1);
}

TEST_F(JobsTest, OfAnUploadThatBreaksOffNothingStays) {
  Talk& talk = Come("ann");
  talk.Ask(Head("one"));
  talk.Ask(wire::Rows{{"true", "false"}});
  loop_.RunFor(kCommit * 3);
  EXPECT_EQ(disk_->rows.size(), 2u);
  talk.session.reset();
  loop_.RunFor(kCommit * 3);
  EXPECT_TRUE(disk_->rows.empty());
  EXPECT_TRUE(jobs_.known().UnfinishedOf("", true).empty());
}

TEST_F(JobsTest, OneAddsTasksAtATime) {
  JobId job = Submitted("ann", "one", 2);
  wire::Submit more = Head("more");
  more.add_to = job;
  Talk& first = Come("ann");
  first.Ask(more);
  Talk& second = Come("ann");
  more.submission = "others";
  second.Ask(more);
  ASSERT_NE(second.Newest<wire::Failed>(), nullptr);
  EXPECT_EQ(second.Newest<wire::Failed>()->kind, ErrorKind::kBusy);
  first.Ask(wire::Rows{{"true"}});
  first.Ask(wire::SubmitEnd{1, {Needs()}, {{0, 1, 0}}, {}});
  loop_.RunFor(kCommit * 6);
  ASSERT_NE(first.Newest<wire::Accepted>(), nullptr);
  EXPECT_EQ(first.Newest<wire::Accepted>()->first, 2u);
  Talk& third = Come("ann");
  third.Ask(more);
  third.session.reset();  // gives up
  Upload(Come("ann"), more, 1);
  loop_.RunFor(kCommit * 6);
  EXPECT_EQ(jobs_.engine().Counts(job)->total, 4u);
}

TEST_F(JobsTest, WhatIsAnothersStaysTheirs) {
  JobId job = Submitted("ann", "one", 2);
  wire::Submit more = Head("more");
  more.add_to = job;
  Talk& adds = Come("bob");
  adds.Ask(more);
  ASSERT_NE(adds.Newest<wire::Failed>(), nullptr);
  EXPECT_EQ(adds.Newest<wire::Failed>()->kind, ErrorKind::kPermission);
  wire::Submit pairs = Head("pairs");
  pairs.after = {{job, static_cast<uint32_t>(AfterKind::kEach)}};
  Talk& waits = Come("bob");
  Upload(waits, pairs, 2);
  loop_.RunFor(kCommit * 6);
  ASSERT_NE(waits.Newest<wire::Failed>(), nullptr);
  EXPECT_EQ(waits.Newest<wire::Failed>()->kind, ErrorKind::kPermission);
  EXPECT_EQ(jobs_.engine().Jobs().size(), 1u);
}

TEST_F(JobsTest, WhoKeepsToNoProtocolIsRefused) {
  Talk& rows = Come("ann");
  rows.Ask(wire::Rows{{"true"}});
  EXPECT_EQ(rows.refused, "rows without a submit");
  Talk& twice = Come("ann");
  twice.Give(1, Head("one"));
  twice.Give(1, Head("two"));
  EXPECT_EQ(twice.refused, "a submit without its end");
  Talk& counts = Come("ann");
  counts.Ask(Head("three"));
  counts.Ask(wire::Rows{{"true"}});
  counts.Ask(wire::SubmitEnd{2, {Needs()}, {{0, 2, 0}}, {}});
  EXPECT_EQ(counts.refused, "another number of rows than of tasks");
  EXPECT_TRUE(jobs_.engine().Jobs().empty());
}

TEST_F(JobsTest, EdgesOfAGraphAreCheckedBeforeItIsAJob) {
  auto refusal = [&](const std::string& name, std::vector<Edge> edges, uint32_t known) {
    Talk& talk = Come("ann");
    talk.Ask(Head(name));
    talk.Ask(wire::Rows{std::vector<std::string>(3, "true")});
    talk.Ask(wire::Edges{std::move(edges)});
    talk.Ask(wire::SubmitEnd{3, {Needs()}, {{0, 3, 0}}, {}, known});
    loop_.RunFor(kCommit * 4);
    return talk.Newest<wire::Accepted>() ? "accepted" : talk.refused;
  };
  EXPECT_EQ(refusal("nowhere", {{0, 3}}, 0), "an edge between tasks that are not there");
  EXPECT_EQ(refusal("later", {{3, 0}}, 0), "an edge between tasks that are not there");
  EXPECT_EQ(refusal("known", {{0, 2}}, 2), "an edge between tasks that are not there");
  EXPECT_EQ(refusal("circle", {{0, 1}, {1, 2}, {2, 0}}, 0),
            "task 2 depends on itself, directly or through other tasks");
  EXPECT_EQ(refusal("self", {{1, 1}}, 0),
            "task 2 depends on itself, directly or through other tasks");
  EXPECT_TRUE(jobs_.engine().Jobs().empty());
  ASSERT_EQ(refusal("right", {{2, 0}, {0, 1}, {2, 1}}, 0), "accepted");
}

// A finished job leaves the engine, and comes back from the journal to go on.
// A reader's facts of a finished job may be old: it may have been resumed meanwhile.
TEST_F(JobsTest, WhoFollowsAJobHearsOfItWhenItGoesOn) {
  JobId job = Submitted("ann", "one", 2);
  Talk& talk = Come("ann");
  talk.Ask(wire::ReadEnds{job, 0});
  ASSERT_EQ(reader_.started, 1);
  hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  ASSERT_TRUE(talk.Newest<wire::JobNews>() && talk.Newest<wire::JobNews>()->finished);
  jobs_.Revive(job, "ann", [&](Status) { jobs_.Reopen(job, {{0, 2}}, {}); });
  loop_.RunFor(Duration::Seconds(1));
  // It reads again until nothing is new; then when something is.
  while (reader_.started < 10) {
    int before = reader_.started;
    reader_.End(0);
    if (reader_.started == before) break;
  }
  int before = reader_.started;
  hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_GT(reader_.started, before) << "nobody tells the follower";
}

TEST_F(JobsTest, FinishedJobsAreForgottenAndTakenUpAgain) {
  JobId job = Submitted("ann", "one", 2);
  hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  ASSERT_FALSE(jobs_.engine().Counts(job)) << "it is still there";
  ASSERT_NE(jobs_.known().Find(job), nullptr);
  EXPECT_TRUE(jobs_.known().Find(job)->finished);
  Status revived = Fail(ErrorKind::kIo, "not yet");
  jobs_.Revive(job, "ann", [&](const Status& status) {
    revived = status;
    if (status) jobs_.Reopen(job, {{1, 1}}, {});
  });
  loop_.RunFor(kCommit * 6);
  ASSERT_TRUE(revived) << revived.error().message;
  EXPECT_EQ(jobs_.engine().StateOf(job, 1), TaskState::kQueued);
  EXPECT_FALSE(jobs_.known().Find(job)->finished);
}

// A removal meanwhile wins.
TEST_F(JobsTest, ARemovedJobIsNotTakenUp) {
  JobId job = Submitted("ann", "one", 2);
  hub_.Post(engine::CancelJob{job});
  loop_.RunFor(Duration::Seconds(1));
  Status revived;
  jobs_.Revive(job, "ann", [&](const Status& status) { revived = status; });
  jobs_.ForgetJob(job, [] {});
  loop_.RunFor(Duration::Seconds(1));
  EXPECT_FALSE(revived);
  EXPECT_FALSE(jobs_.engine().Counts(job));
  EXPECT_EQ(jobs_.known().Find(job), nullptr);
  EXPECT_TRUE(disk_->records.empty());
}

// Habits that a door sets by values (job_habits.h).
TEST_F(JobsTest, AJobMayGrowByItsName) {
  habits_ = {.grows_by_name = true,
             .when_all_fail = "ask ann",
             .default_memory = 7 << 20,
             .pause_despite_success = true};
  JobId job = Submitted("ann", "one", 2);
  ASSERT_NE(job, JobId());
  EXPECT_EQ(jobs_.engine().Requests(job).at(0).needs.memory, uint64_t{7} << 20);
  EXPECT_TRUE(jobs_.engine().Policy(job)->pause_despite_success);
  EXPECT_EQ(Submitted("ann", "one", 3), job);
  EXPECT_EQ(jobs_.engine().Counts(job)->total, 5u);
  // Tasks that another client added in between are not added twice.
  for (uint32_t known : {2u, 5u}) {
    wire::Submit head = Head("one");
    head.known_tasks = known;
    const Talk& talk = Come("ann");
    talk.Ask(head);
    EXPECT_EQ(talk.Newest<wire::Failed>() == nullptr, known == 5) << known;
    if (talk.Newest<wire::Failed>()) {
      EXPECT_EQ(talk.Newest<wire::Failed>()->kind, ErrorKind::kExists);
      continue;
    }
    talk.Ask(wire::Rows{{"true"}});
    talk.Ask(wire::SubmitEnd{1, {Needs()}, {{0, 1, 0}}, {}});
    loop_.RunFor(kCommit * 4);
    EXPECT_EQ(jobs_.engine().Counts(job)->total, 6u);
  }
  habits_ = {};
  EXPECT_EQ(Submitted("ann", "one", 3), job) << "without the habit it is the first one again";
  EXPECT_EQ(jobs_.engine().Counts(job)->total, 6u);
  JobId plain = Submitted("ann", "two", 1);
  EXPECT_EQ(jobs_.engine().Requests(plain).at(0).needs.memory, 0u);
  EXPECT_FALSE(jobs_.engine().Policy(plain)->pause_despite_success);
}

// A row alone does not say what runs: "rm -f x" may be a value, or a command.
TEST_F(JobsTest, TasksOfAnotherKindAreNotAdded) {
  const auto settings = [](RowKind kind, std::vector<std::string> command) {
    JobSettings made;
    made.cwd = "/";
    made.row_kind = kind;
    made.command = std::move(command);
    made.record_values = kind == RowKind::kValues ? 1 : 0;
    return made;
  };
  const JobSettings list = settings(RowKind::kListLine, {});
  const JobSettings graph = settings(RowKind::kDagTask, {});
  const JobSettings safe = settings(RowKind::kValues, {"echo", "safe", "{}"});
  const JobSettings other = settings(RowKind::kValues, {"echo", "other", "{}"});
  const JobSettings resident = settings(RowKind::kResident, safe.command);
  JobSettings pairs = safe;
  pairs.record_values = 2;
  JobSettings alone = safe;
  alone.has_source = false;
  JobSettings headed = safe;
  headed.value_names = {"name"};
  struct Case {
    const JobSettings& job;
    const JobSettings& added;
    const char* says;  // nullptr: it is taken
  };
  uint32_t number = 0;
  for (const Case& each :
       {Case{list, list, nullptr}, Case{safe, safe, nullptr}, Case{graph, graph, nullptr},
        Case{list, safe,
             "its tasks are the lines of a job list, but these are values for the "
             "command echo safe '{}'\nTo add to job 1: spate job add 1 LIST\n"},
        Case{safe, list,
             "but these are the lines of a job list\nTo add to job 1: spate job add 1 "
             "-- echo safe '{}' ::: VALUES\n"},
        Case{safe, other, "these are values for the command echo other '{}'\n"},
        Case{graph, list, "To add to job 1: spate job add 1 FILE.dag\n"},
        Case{list, graph, "but these are the TASK records of a DAG file\n"},
        Case{safe, resident, "these are values for the resident command"},
        Case{safe, pairs, "the number of values of a task differs"},
        Case{safe, alone, "whether the command takes values differs"},
        Case{safe, headed, "the names of the values (--header, --array) differs"}}) {
    auto same = CheckSameTasks(JobId(1), each.job, each.added);
    EXPECT_EQ(same.has_value(), each.says == nullptr);
    if (each.says != nullptr && !same) {
      EXPECT_EQ(same.error().kind, ErrorKind::kInvalid);
      const std::string text = present::TextOf(same.error());
      EXPECT_NE(text.find(each.says), std::string::npos) << text;
    }
    // The hub asks whenever somebody adds tasks.
    wire::Submit head = Head(fmt::format("{}", ++number));
    head.settings = std::make_shared<JobSettings>(each.job);
    const Talk& first = Come("ann");
    Upload(first, head, 1);
    loop_.RunFor(kCommit * 4);
    ASSERT_NE(first.Newest<wire::Accepted>(), nullptr);
    JobId job = first.Newest<wire::Accepted>()->job;
    wire::Submit more = Head(fmt::format("{} more", number));
    more.settings = std::make_shared<JobSettings>(each.added);
    more.add_to = job;
    const Talk& second = Come("ann");
    second.Ask(more);
    EXPECT_EQ(second.Newest<wire::Failed>() == nullptr, each.says == nullptr);
    if (each.says == nullptr) {
      second.Ask(wire::Rows{{"true"}});
      second.Ask(wire::SubmitEnd{1, {Needs()}, {{0, 1, 0}}, {}});
      loop_.RunFor(kCommit * 4);
    }
    EXPECT_EQ(jobs_.engine().Counts(job)->total, each.says == nullptr ? 2u : 1u);
    // A refused job keeps nobody from adding more.
    EXPECT_TRUE(jobs_.BeginGrow(job, each.job));
    jobs_.EndGrow(job);
  }
}

}  // namespace
}  // namespace spate::hub
