#include "store/record_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <type_traits>

#include "store/bytes.h"

namespace spate::store {
namespace {

// Equality by hand. The structured bindings do not compile when a struct gets a new field, so that
// nobody forgets it in the codec.
bool Same(const RetryPolicy& x, const RetryPolicy& y) {
  const auto& [retries, retry_on, delay, once, exits, elsewhere, growth, max_memory] = x;
  return retries == y.retries && retry_on == y.retry_on && delay == y.delay && once == y.once &&
         exits == y.exits && elsewhere == y.elsewhere && growth == y.memory_growth &&
         max_memory == y.max_memory;
}
bool Same(const HaltRule& x, const HaltRule& y) {
  const auto& [when, what, count, percent] = x;
  return when == y.when && what == y.what && count == y.count && percent == y.percent;
}
bool Same(const JobPolicy& x, const JobPolicy& y) {
  const auto& [retry, halt, max_failures, max_running, weight, pause_after_failures, despite] = x;
  return Same(retry, y.retry) && Same(halt, y.halt) && max_failures == y.max_failures &&
         max_running == y.max_running && weight == y.weight && despite == y.pause_despite_success &&
         pause_after_failures == y.pause_after_failures;
}
bool Same(const JobPlan& x, const JobPlan& y) {
  const auto& [task_count, open, requests, runs, order, policy, user, priority, after] = x;
  return task_count == y.task_count && open == y.open && requests == y.requests && runs == y.runs &&
         order == y.order && Same(policy, y.policy) && user == y.user && priority == y.priority &&
         after == y.after;
}
bool Same(const engine::JobAccepted& x, const engine::JobAccepted& y) {
  const auto& [job, plan] = x;
  return job == y.job && Same(plan, y.plan);
}
bool Same(const engine::JobGrown& x, const engine::JobGrown& y) {
  const auto& [job, count, requests, runs, key] = x;
  return job == y.job && count == y.count && requests == y.new_requests && runs == y.runs &&
         key == y.key;
}
bool Same(const engine::JobSealed& x, const engine::JobSealed& y) {
  const auto& [job] = x;
  return job == y.job;
}
bool Same(const engine::PolicyChanged& x, const engine::PolicyChanged& y) {
  const auto& [job, policy] = x;
  return job == y.job && Same(policy, y.policy);
}
bool Same(const engine::TasksWithdrawn& x, const engine::TasksWithdrawn& y) {
  const auto& [job, tasks, reason, parent, left_list] = x;
  return job == y.job && tasks == y.tasks && reason == y.reason && parent == y.parent &&
         left_list == y.left_list;
}
bool Same(const engine::TasksLinked& x, const engine::TasksLinked& y) {
  const auto& [job, edges] = x;
  return job == y.job && edges == y.edges;
}
bool Same(const engine::TasksCancelled& x, const engine::TasksCancelled& y) {
  const auto& [job, tasks, reason] = x;
  return job == y.job && tasks == y.tasks && reason == y.reason;
}
bool Same(const engine::TasksReopened& x, const engine::TasksReopened& y) {
  const auto& [job, tasks, after, succeeded] = x;
  return job == y.job && tasks == y.tasks && after == y.after && succeeded == y.succeeded;
}
bool Same(const engine::NeedsChanged& x, const engine::NeedsChanged& y) {
  const auto& [job, requests, runs] = x;
  return job == y.job && requests == y.new_requests && runs == y.runs;
}
bool Same(const engine::JobHeld& x, const engine::JobHeld& y) {
  const auto& [job, reason, at] = x;
  return job == y.job && reason == y.reason && at == y.at;
}
bool Same(const engine::JobReleased& x, const engine::JobReleased& y) {
  const auto& [job] = x;
  return job == y.job;
}
bool Same(const engine::Leased& x, const engine::Leased& y) {
  const auto& [node, job, attempt, tasks] = x;
  return node == y.node && job == y.job && attempt == y.attempt && tasks == y.tasks;
}
bool Same(const engine::GangLeased& x, const engine::GangLeased& y) {
  const auto& [job, index, attempt, parts] = x;
  return job == y.job && index == y.index && attempt == y.attempt && parts == y.parts;
}
bool Same(const engine::GangReserved& x, const engine::GangReserved& y) {
  const auto& [job, index, start, reason, at, expected, ahead] = x;
  return job == y.job && index == y.index && start == y.start && reason == y.reason && at == y.at &&
         expected == y.expected && ahead == y.clock_ahead;
}
bool Same(const engine::GangPolicyChanged& x, const engine::GangPolicyChanged& y) {
  return x.policy == y.policy;
}
bool Same(const engine::Returned& x, const engine::Returned& y) {
  const auto& [node, job, attempt, tasks] = x;
  return node == y.node && job == y.job && attempt == y.attempt && tasks == y.tasks;
}
bool Same(const engine::AttemptEnded&, const engine::AttemptEnded&) { return false; }
bool Same(const engine::JobFinished& x, const engine::JobFinished& y) {
  const auto& [job, counts] = x;
  return job == y.job && counts == y.counts;
}
bool Same(const engine::JobCancelled& x, const engine::JobCancelled& y) {
  const auto& [job, reason] = x;
  return job == y.job && reason == y.reason;
}
bool Same(const engine::DependencyMet& x, const engine::DependencyMet& y) {
  const auto& [job, on] = x;
  return job == y.job && on == y.on;
}
bool Same(const engine::UserChanged& x, const engine::UserChanged& y) {
  const auto& [user, rule] = x;
  return user == y.user && rule == y.rule;
}
bool Same(const engine::NodeDrained& x, const engine::NodeDrained& y) {
  return x.node == y.node && x.reason == y.reason;
}
bool Same(const engine::NodeUndrained& x, const engine::NodeUndrained& y) {
  return x.node == y.node;
}
bool Same(const engine::NodeRemoved& x, const engine::NodeRemoved& y) { return x.node == y.node; }
bool Same(const engine::NodeSick& x, const engine::NodeSick& y) {
  const auto& [node, job, text] = x;
  return node == y.node && job == y.job && text == y.text;
}
bool Same(const engine::NodeCleared& x, const engine::NodeCleared& y) {
  const auto& [node, job] = x;
  return node == y.node && job == y.job;
}
bool Same(const engine::NodeBlamed& x, const engine::NodeBlamed& y) {
  const auto& [node, blames] = x;
  return node == y.node && blames == y.blames;
}
bool Same(const engine::HalfLifeChanged& x, const engine::HalfLifeChanged& y) {
  return x.half_life == y.half_life;
}
bool Same(const engine::ClockStepped& x, const engine::ClockStepped& y) {
  return x.from == y.from && x.to == y.to;
}
bool Same(const engine::UseCounted& x, const engine::UseCounted& y) {
  const auto& [at, users] = x;
  return at == y.at && users == y.users;
}
bool Same(const engine::PriorityChanged& x, const engine::PriorityChanged& y) {
  const auto& [job, priority] = x;
  return job == y.job && priority == y.priority;
}
bool Same(const engine::Record& x, const engine::Record& y) {
  if (x.index() != y.index()) return false;
  return std::visit([&](const auto& r) { return Same(r, std::get<std::decay_t<decltype(r)>>(y)); },
                    x);
}

// Small and large numbers alike, so that every length of varint is met.
template <typename T>
T AnyNumber() {
  auto bits = *rc::gen::inRange<int>(0, static_cast<int>(sizeof(T)) * 8 + 1);
  auto v = *rc::gen::arbitrary<uint64_t>();
  return static_cast<T>(bits == 0 ? 0 : v >> (64 - bits));
}
template <typename E>
E AnyChoice(E last) {
  return static_cast<E>(*rc::gen::inRange<int>(0, static_cast<int>(last) + 1));
}
template <typename Make>
auto AnyList(Make make) {
  std::vector<decltype(make())> list(*rc::gen::inRange<size_t>(0, 5));
  for (auto& item : list) item = make();
  return list;
}
TaskRange AnyRange() { return {.first = AnyNumber<uint32_t>(), .count = AnyNumber<uint32_t>()}; }
RequestRun AnyRun() {
  return {.first = AnyNumber<uint32_t>(),
          .count = AnyNumber<uint32_t>(),
          .request = AnyNumber<uint32_t>()};
}
std::string AnyText() { return *rc::gen::arbitrary<std::string>(); }
Duration AnyTime() { return {static_cast<int64_t>(AnyNumber<uint64_t>())}; }
Needs AnyNeeds() {
  return {.milli_cpus = AnyNumber<uint32_t>(),
          .memory = AnyNumber<uint64_t>(),
          .named = AnyList([] {
            return NamedNeed{.name = *rc::gen::arbitrary<std::string>(),
                             .count = AnyNumber<uint32_t>()};
          }),
          .time = AnyTime(),
          .labels = AnyList(AnyText),
          .on_node = AnyText(),
          .not_on = AnyList(AnyText)};
}
TaskClass AnyClass() {
  TaskClass any{AnyNeeds(), *rc::gen::arbitrary<int32_t>()};
  if (*rc::gen::arbitrary<bool>()) any.retries = AnyNumber<uint32_t>();
  any.gang = {.procs = AnyNumber<uint32_t>(),
              .nodes = AnyNumber<uint32_t>(),
              .whole = *rc::gen::arbitrary<bool>(),
              .start = AnyChoice(kLastOf<GangShape::Start>)};
  if (*rc::gen::arbitrary<bool>()) any.deadline = Instant{AnyNumber<int32_t>()};
  any.bound = AnyChoice(kLastOf<BoundBy>);
  return any;
}
JobPolicy AnyPolicy() {
  JobPolicy p;
  p.retry = {.retries = AnyNumber<uint32_t>(),
             .retry_on = AnyNumber<uint16_t>(),
             .delay = {static_cast<int64_t>(AnyNumber<uint64_t>())},
             .once = *rc::gen::arbitrary<bool>(),
             .elsewhere = AnyNumber<uint32_t>(),
             .memory_growth = AnyNumber<uint32_t>(),
             .max_memory = AnyNumber<uint64_t>()};
  if (*rc::gen::arbitrary<bool>()) {
    p.retry.exits = {{3, 3}, {AnyNumber<uint32_t>(), AnyNumber<uint32_t>()}};
  }
  p.halt = {.when = AnyChoice(HaltRule::When::kNow),
            .what = AnyChoice(HaltRule::What::kDone),
            .count = AnyNumber<uint32_t>(),
            .percent = AnyNumber<uint32_t>()};
  p.max_failures = AnyNumber<uint32_t>();
  p.max_running = AnyNumber<uint32_t>();
  p.pause_after_failures = AnyNumber<uint32_t>();
  p.weight = AnyNumber<uint32_t>();
  p.pause_despite_success = *rc::gen::arbitrary<bool>();
  return p;
}
NodeId AnyNode() { return NodeId(AnyNumber<uint32_t>()); }
JobId AnyJob() { return JobId(AnyNumber<uint32_t>()); }

engine::Record AnyRecord(int kind) {
  switch (static_cast<RecordKind>(kind)) {
    case RecordKind::kJobAccepted: {
      JobPlan plan = {
          .task_count = AnyNumber<uint32_t>(),
          .open = *rc::gen::arbitrary<bool>(),
          .requests = AnyList(AnyClass),
          .runs = AnyList(AnyRun),
          .order = AnyList(AnyNumber<uint32_t>),
          .policy = AnyPolicy(),
          .user = AnyText(),
          .priority = *rc::gen::arbitrary<int32_t>(),
          .after = AnyList([] { return After{AnyJob(), AnyChoice(AfterKind::kEach)}; })};
      return engine::JobAccepted{AnyJob(), plan};
    }
    case RecordKind::kJobGrown:
      return engine::JobGrown{AnyJob(), AnyNumber<uint32_t>(), AnyList(AnyClass), AnyList(AnyRun),
                              AnyText()};
    case RecordKind::kJobSealed:
      return engine::JobSealed{AnyJob()};
    case RecordKind::kPolicyChanged:
      return engine::PolicyChanged{AnyJob(), AnyPolicy()};
    case RecordKind::kTasksWithdrawn:
      return engine::TasksWithdrawn{
          AnyJob(), AnyList(AnyRange), AnyText(),
          *rc::gen::arbitrary<bool>() ? std::optional(AnyNumber<uint32_t>()) : std::nullopt,
          *rc::gen::arbitrary<bool>()};
    case RecordKind::kTasksReopened:
      return engine::TasksReopened{AnyJob(), AnyList(AnyRange), AnyList([] {
                                     return After{AnyJob(), AnyChoice(AfterKind::kEach)};
                                   }),
                                   *rc::gen::arbitrary<bool>()};
    case RecordKind::kJobHeld:
      return engine::JobHeld{AnyJob(), AnyChoice(engine::HoldReason::kAllFail),
                             Instant{AnyNumber<int32_t>()}};
    case RecordKind::kJobReleased:
      return engine::JobReleased{AnyJob()};
    case RecordKind::kLeased:
      return engine::Leased{AnyNode(), AnyJob(), Attempt(AnyNumber<uint16_t>()), AnyList(AnyRange)};
    case RecordKind::kReturned:
      return engine::Returned{AnyNode(), AnyJob(), Attempt(AnyNumber<uint16_t>()),
                              AnyList(AnyRange)};
    case RecordKind::kJobFinished: {
      auto n = AnyNumber<uint32_t>;
      return engine::JobFinished{AnyJob(), {n(), n(), n(), n(), n(), n(), n()}};
    }
    case RecordKind::kJobCancelled:
      return engine::JobCancelled{AnyJob(), AnyText()};
    case RecordKind::kDependencyMet:
      return engine::DependencyMet{AnyJob(), AnyJob()};
    case RecordKind::kUserChanged: {
      auto n = AnyNumber<uint32_t>;
      return engine::UserChanged{AnyText(),
                                 {n(), n(), n(), n(), AnyText(), *rc::gen::arbitrary<bool>()}};
    }
    case RecordKind::kNodeDrained:
      return engine::NodeDrained{AnyNode(), AnyText()};
    case RecordKind::kNodeUndrained:
      return engine::NodeUndrained{AnyNode()};
    case RecordKind::kNodeRemoved:
      return engine::NodeRemoved{AnyNode()};
    case RecordKind::kNodeSick:
      return engine::NodeSick{AnyNode(), AnyJob(), AnyText()};
    case RecordKind::kNodeCleared:
      return engine::NodeCleared{AnyNode(), AnyJob()};
    case RecordKind::kNodeBlamed:
      return engine::NodeBlamed{AnyNode(),
                                AnyList([] { return engine::Blame{AnyJob(), AnyText()}; })};
    case RecordKind::kNeedsChanged:
      return engine::NeedsChanged{AnyJob(), AnyList(AnyClass), AnyList(AnyRun)};
    case RecordKind::kTasksCancelled:
      return engine::TasksCancelled{AnyJob(), AnyList(AnyRange), AnyText()};
    case RecordKind::kGangLeased:
      return engine::GangLeased{
          AnyJob(), AnyNumber<uint32_t>(), Attempt(AnyNumber<uint16_t>()),
          AnyList([] { return engine::GangLeased::Part{AnyNode(), AnyNumber<uint32_t>()}; })};
    case RecordKind::kGangReserved:
      return engine::GangReserved{AnyJob(),
                                  AnyNumber<uint32_t>(),
                                  Instant{AnyNumber<int32_t>()},
                                  AnyText(),
                                  Instant{AnyNumber<int32_t>()},
                                  Instant{AnyNumber<int32_t>()},
                                  Duration{AnyNumber<int32_t>()}};
    case RecordKind::kGangPolicyChanged:
      return engine::GangPolicyChanged{AnyChoice(kLastOf<GangPolicy>)};
    case RecordKind::kHalfLifeChanged:
      return engine::HalfLifeChanged{Duration{AnyNumber<int32_t>()}};
    case RecordKind::kUseCounted:
      return engine::UseCounted{Instant{AnyNumber<int32_t>()}, AnyList([] {
                                  return engine::UseCounted::Each{AnyText(), AnyNumber<uint64_t>()};
                                })};
    case RecordKind::kPriorityChanged:
      return engine::PriorityChanged{AnyJob(), AnyNumber<int32_t>()};
    case RecordKind::kClockStepped:
      return engine::ClockStepped{Instant{AnyNumber<int32_t>()}, Instant{AnyNumber<int32_t>()}};
    case RecordKind::kTasksLinked:
      return engine::TasksLinked{
          AnyJob(), AnyList([] { return Edge{AnyNumber<uint32_t>(), AnyNumber<uint32_t>()}; })};
  }
  return engine::JobSealed{};
}

TEST(RecordCodec, RoundTripOfEveryKind) {
  for (int kind = 1; kind <= kRecordKindLast; ++kind) {
    bool ok = rc::check(RecordKindName(kind), [kind] {
      engine::Record record = AnyRecord(kind);
      EncodedRecord encoded = EncodeRecord(record);
      RC_ASSERT(static_cast<int>(encoded.kind) == kind);
      auto back = DecodeRecord(kind, encoded.data);
      RC_ASSERT(back.has_value());
      RC_ASSERT(Same(*back, record));
    });
    EXPECT_TRUE(ok) << RecordKindName(kind);
  }
}

TEST(RecordCodec, EveryPrefixAndEveryLongerBlobIsDamage) {
  EncodedRecord encoded = EncodeRecord(
      engine::Leased{NodeId(7), JobId(300), Attempt(2), {{.first = 1000, .count = 20}}});
  for (size_t n = 0; n < encoded.data.size(); ++n) {
    auto back = DecodeRecord(static_cast<int>(encoded.kind), encoded.data.substr(0, n));
    ASSERT_FALSE(back.has_value()) << n;
    EXPECT_EQ(back.error().kind, ErrorKind::kCorrupt);
  }
  EXPECT_FALSE(DecodeRecord(static_cast<int>(encoded.kind), encoded.data + '\0').has_value());
}

TEST(RecordCodec, GarbageNeverGetsThrough) {
  EXPECT_TRUE(rc::check("garbage", [] {
    auto kind = *rc::gen::inRange<int>(-1, kRecordKindLast + 3);
    auto bytes = *rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
        {{3, rc::gen::arbitrary<char>()}, {2, rc::gen::inRange<char>(0, 4)}}));
    if (*rc::gen::inRange(0, 4) > 0) {
      bytes.insert(0, 1, static_cast<char>(kRecordFormat));
    }
    auto record = DecodeRecord(kind, bytes);
    if (!record) {
      RC_ASSERT(record.error().kind == ErrorKind::kCorrupt);
      return;
    }
    // A decoded record decodes again in the same way.
    auto again = DecodeRecord(kind, EncodeRecord(*record).data);
    RC_ASSERT(again.has_value());
    RC_ASSERT(Same(*again, *record));
  }));
}

TEST(RecordCodec, HugeCountsDoNotAllocate) {
  std::string data(1, static_cast<char>(kRecordFormat));
  ByteWriter writer(data);
  for (int i = 0; i < 3; ++i) writer.Varint(1);
  writer.Varint(UINT64_MAX);  // ranges
  EXPECT_FALSE(DecodeRecord(static_cast<int>(RecordKind::kLeased), data).has_value());
}

TEST(RecordCodec, ErrorsSayWhatIsWrong) {
  auto message = [](int kind, std::string data) {
    auto record = DecodeRecord(kind, data);
    return record ? "fine" : record.error().message;
  };
  EXPECT_NE(message(99, "\1").find("record kind 99"), std::string::npos);
  EXPECT_NE(message(3, "\1\1").find("format 1"), std::string::npos);
  EXPECT_NE(message(3, "\xa\1\1").find("'job sealed'"), std::string::npos);
  EXPECT_EQ(message(3, "\xa\1"), "fine");
}

TEST(RecordCodec, BytesAreFixed) {
  engine::Leased leased{NodeId(1), JobId(300), Attempt(2), {{.first = 5, .count = 128}}};
  EXPECT_EQ(EncodeRecord(leased).data, std::string("\xa\1\xac\2\2\1\5\x80\1", 9));
  JobPlan plan = {.task_count = 3,
                  .requests = {Needs{.named = {{"gpus", 1}}, .labels = {"a"}}},
                  .runs = {{0, 3, 0}},
                  .order = {2, 1, 0},
                  .policy = {},
                  .user = "bob",
                  .priority = -1,
                  .after = {{JobId(7), AfterKind::kEach}}};
  const std::string needs = std::string(
      "\xa\1\3\0\1\xe8\7\0\1\4gpus\1"
      "\0\1\1"
      "a\0\0",
      21);
  const std::string rest = std::string(
      "\1\0\3\0\3\2\1\0"                            // runs, order
      "\0\xfe\1\0\0\0\0\0\0\0\0\0\x64\0\0\0\0\0\3"  // policy
      "bob\1\1\7\3",
      34);
  auto read = [](const std::string& data) {
    auto record = DecodeRecord(static_cast<int>(RecordKind::kJobAccepted), data);
    EXPECT_TRUE(record.has_value()) << record.error().message;
    return std::get<engine::JobAccepted>(*record);
  };
  std::string now = needs + std::string(8, '\0') + rest;  // a class that has needs alone
  EXPECT_EQ(EncodeRecord(engine::JobAccepted{JobId(1), plan}).data, now);
  EXPECT_TRUE(Same(read(now), engine::JobAccepted{JobId(1), plan}));
  plan.requests[0].priority = -2;
  plan.requests[0].retries = 2;
  plan.requests[0].gang = {
      .procs = 8, .nodes = 4, .whole = true, .start = GangShape::Start::kFirst};
  plan.requests[0].deadline = Instant{1};
  plan.requests[0].bound = BoundBy::kNetwork;
  now = needs + "\3\3" + "\x8\4\1\2\1\2\3" + rest;
  EXPECT_EQ(EncodeRecord(engine::JobAccepted{JobId(1), plan}).data, now);
  EXPECT_TRUE(Same(read(now), engine::JobAccepted{JobId(1), plan}));
  engine::NodeBlamed blamed{NodeId(2), {{JobId(300), "bob"}, {JobId(7), ""}}};
  engine::UserChanged user{"bob", {.weight = 3, .group = "@lab"}};
  EXPECT_EQ(EncodeRecord(user).data, std::string("\xa\3bob\3\0\0\0\4@lab\0", 15));
  EXPECT_EQ(EncodeRecord(blamed).data, std::string("\xa\2\2\xac\2\3bob\7\0", 11));
}

TEST(RecordCodec, ChecksumCoversAllOfIt) {
  uint32_t sum = RecordChecksum(5, 9, "abc");
  EXPECT_EQ(sum, RecordChecksum(5, 9, "abc"));
  EXPECT_NE(sum, RecordChecksum(6, 9, "abc"));
  EXPECT_NE(sum, RecordChecksum(5, 8, "abc"));
  EXPECT_NE(sum, RecordChecksum(5, 9, "abd"));
}

TEST(Bytes, SignedNumbers) {
  for (int64_t v : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MIN, INT64_MAX, int64_t{-64}}) {
    std::string bytes;
    ByteWriter(bytes).Zigzag(v);
    ByteReader reader(bytes);
    EXPECT_EQ(reader.Zigzag(), v);
    EXPECT_TRUE(reader.ok());
  }
  ByteReader overlong("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02");
  EXPECT_EQ(overlong.Varint(), 0u);
  EXPECT_FALSE(overlong.ok());
}

}  // namespace
}  // namespace spate::store
