#include "wire/client_codec.h"

#include <gtest/gtest.h>

#include <functional>

#include "wire/client_forms.h"
#include "wire/field_bytes.h"

namespace spate::wire {
namespace {

Submit SomeSubmit() {
  Submit submit;
  submit.submission = "host-1-2";
  JobSettings settings;
  settings.cwd = "/home/ada";
  settings.command = {"gzip", "{}"};
  submit.settings = std::make_shared<const JobSettings>(settings);
  submit.policy.retry = {3, CauseBit(Cause::kExit), Duration::Seconds(2), true};
  submit.policy.halt = {HaltRule::When::kNow, HaltRule::What::kSuccess, 4, 50};
  submit.policy.max_failures = 9;
  submit.argv = {"--", "gzip", "{}"};
  submit.files = {"/home/ada/jobs.lst"};
  submit.name = "zip\xFF";
  submit.keep_output = 1 << 20;
  submit.priority = -3;
  submit.policy.max_running = 7;
  submit.policy.weight = 9;
  submit.policy.pause_after_failures = 5;
  submit.policy.pause_despite_success = true;
  submit.open = true;
  submit.after = {{JobId(4), 1}, {JobId(5), 0}};
  submit.add_to = JobId(12);
  submit.known_tasks = 0;
  return submit;
}

SubmitEnd SomeEnd() {
  SubmitEnd end;
  end.count = 5;
  end.requests.resize(2);
  end.requests[1].needs.memory = 1 << 30;
  end.requests[1].priority = -3;
  end.requests[1].retries = 0;
  end.requests[1].gang = {8, 4, true, GangShape::Start::kFirst};
  end.requests[1].deadline = Instant{1'800'000'000'000'000'000};
  end.requests[1].bound = BoundBy::kNetwork;
  end.known_tasks = 7;
  end.runs = {{0, 2, 0}, {2, 3, 1}};
  end.order = {4, 3, 2, 1, 0};
  return end;
}

EndsRead SomeEnds() {
  EndsRead read;
  AttemptEnd end;
  end.ref = {JobId(3), 7, Attempt(2)};
  end.status = 5;
  end.cause = Cause::kExit;
  read.ends.ends = {end};
  read.ends.outputs = {nullptr};
  read.verdicts = {Verdict::kCancelled};
  read.position = 99;
  read.finished = true;
  return read;
}

// A message that was read back is written the same again.
template <typename Message, typename Decode>
Message RoundTrip(const Message& message, Decode decode) {
  std::string bytes;
  Append(bytes, message);
  auto read = decode(bytes);
  EXPECT_TRUE(read) << read.error().message;
  if (!read) return Message();
  std::string again;
  Append(again, *read);
  EXPECT_EQ(again, bytes);
  EXPECT_EQ(read->index(), message.index());
  return *read;
}

TEST(ClientCodec, EveryRequestComesBack) {
  auto submit = std::get<Submit>(RoundTrip(Request(SomeSubmit()), DecodeRequest));
  EXPECT_EQ(submit.settings->command, (std::vector<std::string>{"gzip", "{}"}));
  EXPECT_EQ(submit.policy.halt.percent, 50u);
  EXPECT_EQ(submit.priority, -3);
  EXPECT_EQ(BytesOf(submit.policy), BytesOf(SomeSubmit().policy));
  EXPECT_EQ(submit.after.at(1).job, JobId(5));
  auto end = std::get<SubmitEnd>(RoundTrip(Request(SomeEnd()), DecodeRequest));
  EXPECT_EQ(end.runs, SomeEnd().runs);
  EXPECT_EQ(end.order, SomeEnd().order);
  EXPECT_EQ(end.requests, SomeEnd().requests);
  RoundTrip(Request(Rows{{"a", std::string("b\0c", 3), ""}}), DecodeRequest);
  Edges edges{{{0, 4}, {3, 4}}};
  EXPECT_EQ(std::get<Edges>(RoundTrip(Request(edges), DecodeRequest)).edges, edges.edges);
  RoundTrip(Request(Watch{JobId(2)}), DecodeRequest);
  RoundTrip(Request(ReadEnds{JobId(2), 8}), DecodeRequest);
  RoundTrip(Request(DropRequest()), DecodeRequest);
  auto taken = std::get<RepliesTaken>(RoundTrip(Request(RepliesTaken{70'000}), DecodeRequest));
  EXPECT_EQ(taken.bytes, 70'000u);
}

TEST(ClientCodec, AnIdStandsBeforeAMessage) {
  EXPECT_EQ(IdBytes(0x04030201), "\x01\x02\x03\x04");
  const std::string frame = IdBytes(0xF0000001) + "message";
  auto numbered = SplitId(frame);
  ASSERT_TRUE(numbered);
  EXPECT_EQ(numbered->id, 0xF0000001);
  EXPECT_EQ(numbered->message, "message");
  EXPECT_EQ(SplitId(IdBytes(7))->message, "");
  EXPECT_FALSE(SplitId("abc"));
}

TEST(ClientCodec, TheLastReplyOfARequest) {
  using enum RequestKind;
  const JobNews going{.job = JobId(1)}, finished{.job = JobId(1), .finished = true};
  EXPECT_FALSE(IsLast(kWatch, going));
  EXPECT_TRUE(IsLast(kWatch, finished));
  EXPECT_FALSE(IsLast(kReadEnds, finished)) << "ends may still come";
  EXPECT_FALSE(IsLast(kReadEnds, EndsRead()));
  EXPECT_TRUE(IsLast(kReadEnds, EndsRead{.finished = true}));
  EXPECT_FALSE(IsLast(kQuery, QueryAnswer()));
  EXPECT_TRUE(IsLast(kQuery, QueryDone()));
  for (RequestKind kind : {kUpload, kQuery, kWatch, kReadEnds}) EXPECT_TRUE(IsLast(kind, Failed()));
  EXPECT_TRUE(IsLast(kUpload, Accepted()));
}

TEST(ClientCodec, EveryReplyComesBack) {
  const Why why = {{ReasonKind::kNoNodeFits}, {ReasonKind::kTooManyCpus, {4000, 1000}, {}, {"n1"}}};
  const Remedy remedy("; {}", Advice("job cancel", 3));
  auto failed = std::get<Failed>(
      RoundTrip(Reply(Failed{ErrorKind::kPermission, "no", remedy, why}), DecodeReply));
  EXPECT_EQ(failed.kind, ErrorKind::kPermission);
  EXPECT_EQ(failed.remedy, remedy);
  EXPECT_EQ(failed.why, why);
  auto accepted =
      std::get<Accepted>(RoundTrip(Reply(Accepted{JobId(3), true, 4, 0, why}), DecodeReply));
  EXPECT_EQ(accepted.why, why);
  RoundTrip(Reply(Printed{2, "text"}), DecodeReply);
  auto news = std::get<JobNews>(RoundTrip(Reply(JobNews{JobId(3),
                                                        {10, 1, 2, 3, 4, 0, 0},
                                                        true,
                                                        2,
                                                        1,
                                                        why,
                                                        {{7, 2, "n1", "sort (pid 12)"}},
                                                        0,
                                                        {{NotKept::kShare, 5}}}),
                                          DecodeReply));
  ASSERT_EQ(news.not_kept.size(), 1u);
  EXPECT_EQ(news.not_kept[0].why, NotKept::kShare);
  EXPECT_EQ(news.not_kept[0].tasks, 5u);
  EXPECT_EQ(news.why, why);
  EXPECT_EQ(news.left, (std::vector<LeftRunningFacts>{{7, 2, "n1", "sort (pid 12)"}}));
  EXPECT_EQ(news.counts, (JobCounts{10, 1, 2, 3, 4, 0, 0}));
  auto read = std::get<EndsRead>(RoundTrip(Reply(SomeEnds()), DecodeReply));
  EXPECT_EQ(read.verdicts, (std::vector<Verdict>{Verdict::kCancelled}));
  EXPECT_EQ(read.position, 99u);
  RoundTrip(Reply(EndsRead{{}, {}, 7, true}), DecodeReply);
}

TEST(ClientCodec, SettingsComeBack) {
  auto settings = DecodeSettings(EncodeSettings(*SomeSubmit().settings));
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->cwd, "/home/ada");
  EXPECT_FALSE(DecodeSettings("\xFF"));
}

struct OneColumn {
  std::vector<uint32_t> parents = {4};
  SPATE_MESSAGE(1, parents);
};
struct HalfAfter {
  std::string submission = "s";
  std::vector<uint32_t> after = {1};
  SPATE_MESSAGE(1, submission, 11, after);
};

template <typename T>
std::string ErrorOf(const T& form, uint32_t kind) {
  std::string bytes;
  spate::internal::FieldWriter::WriteIn(bytes, kind, form);
  auto read = DecodeRequest(bytes);
  return read ? "" : read.error().message;
}

// Each change of a good message is refused, by the name of the field.
TEST(ClientCodec, DamageIsNamed) {
  const auto of_submit = [](const std::function<void(Submit&)>& spoil) {
    Submit submit = FormOf<Submit>::ToForm(SomeSubmit());
    spoil(submit);
    return ErrorOf(submit, Submit::kNumber);
  };
  const auto of_end = [](const std::function<void(SubmitEndForm&)>& spoil) {
    SubmitEndForm end = FormOf<SubmitEnd>::ToForm(SomeEnd());
    spoil(end);
    return ErrorOf(end, SubmitEnd::kNumber);
  };
  EXPECT_EQ(of_submit([](auto&) {}), "");
  EXPECT_EQ(of_end([](auto&) {}), "");
  for (const auto& [error, field] : std::vector<std::pair<std::string, std::string>>{
           {of_submit([](auto& m) { m.submission.clear(); }), "submission"},
           {of_submit([](auto& m) { m.settings = nullptr; }), "settings"},
           {of_submit([](auto& m) { m.after = {{JobId(1), 4}}; }), "after"},
           {ErrorOf(HalfAfter(), Submit::kNumber), "after"},
           {of_submit([](auto& m) { m.policy.halt.when = HaltRule::When{9}; }), "policy.halt_when"},
           {of_end([](auto& m) { m.count = 6; }), "runs"},
           {of_end([](auto& m) { m.runs[0].request = 7; }), "runs"},
           {of_end([](auto& m) { m.order[0] = 0; }), "order"},
           {of_end([](auto& m) { m.order.push_back(0); }), "order"},
           {ErrorOf(OneColumn(), Edges::kNumber), "edges.edges"}}) {
    EXPECT_NE(error.find(field), std::string::npos) << field << ": " << error;
  }
  // Values that no door sends: a node or its arithmetic would suffer.
  auto with = [&](const std::function<void(TaskClass&)>& spoil) {
    SubmitEnd end = SomeEnd();
    spoil(end.requests[1]);
    std::string bytes;
    Append(bytes, Request(end));
    auto read = DecodeRequest(bytes);
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(with([](TaskClass&) {}), "");
  for (const auto& [spoil, field] :
       std::vector<std::pair<std::function<void(TaskClass&)>, std::string>>{
           {[](TaskClass& c) { c.gang.procs = 1'000'001; }, "gang.procs"},
           {[](TaskClass& c) { c.gang.procs = UINT32_MAX; }, "gang.procs"},
           {[](TaskClass& c) { c.gang.procs = 9; }, "gang.procs"},
           {[](TaskClass& c) { c.gang.nodes = 9; }, "gang.nodes"},
           {[](TaskClass& c) { c.deadline = Instant{-5}; }, "deadline"},
           {[](TaskClass& c) { c.deadline = Instant::Never(); }, "deadline"}}) {
    EXPECT_NE(with(spoil).find(field), std::string::npos) << field << ": " << with(spoil);
  }
  EXPECT_FALSE(DecodeRequest(""));
  EXPECT_FALSE(DecodeReply(""));
}

// Decoded edges take several times as much as on the wire.
TEST(ClientCodec, ManyEdgesComeInSeveralMessages) {
  for (const auto& [count, fits] : {std::pair(100'000u, true), {1'000'000u, false}}) {
    std::string bytes;
    Append(bytes, Request(Edges{std::vector<Edge>(count, {1'000'000, 1})}));
    EXPECT_EQ(DecodeRequest(bytes).has_value(), fits) << count;
  }
}

}  // namespace
}  // namespace spate::wire
