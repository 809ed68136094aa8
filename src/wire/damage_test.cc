// Messages that are whole as fields but not as ours: each defect is found and named.
#include <gtest/gtest.h>

#include <functional>

#include "core/model/limits.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"
#include "wire/limits.h"
#include "wire/message_forms.h"

namespace spate::wire {
namespace {

JobSettings GoodSettings() {
  JobSettings settings;
  settings.cwd = "/home";
  settings.command = {"ls"};
  return settings;
}

// The messages of these names, with room for what must not be in them.
struct RawOpenJob {
  static constexpr uint32_t kNumber = OpenJob::kNumber;
  uint32_t job = 1;
  std::optional<std::string> settings = BytesOf(GoodSettings());
  SPATE_MESSAGE(1, job, 2, settings);
};

Needs GoodNeeds() { return {.named = {{"gpus", 1}, {"x", 2}}}; }

struct RawLease {
  static constexpr uint32_t kNumber = Lease::kNumber;
  uint32_t epoch = 1;
  uint32_t job = 1;
  uint32_t attempt = 1;
  std::optional<std::string> needs = BytesOf(GoodNeeds());
  std::vector<uint32_t> tasks = {7, 2};
  std::vector<std::string> rows = {"a", "bc"};
  std::optional<std::string> part;
  SPATE_MESSAGE(1, epoch, 2, job, 3, attempt, 4, needs, 5, tasks, 6, rows, 7, part);
};

struct RawHello {
  static constexpr uint32_t kNumber = Hello::kNumber;
  uint32_t node = 1;
  std::optional<OfferForm> offer = OfferForm{
      .node_name = "n1", .slots = 2, .name = {"gpus"}, .pieces = {2}, .index = {"0", "1"}};
  std::vector<uint32_t> holds;
  std::vector<uint32_t> tasks;
  std::string remote;
  SPATE_MESSAGE(1, node, 2, offer, 3, holds, 4, tasks, 5, remote);
};

// Two ends of job 1.
struct RawEnds {
  static constexpr uint32_t kNumber = Ends::kNumber;
  EndsForm ends = {.job = {1, 2}};
  SPATE_MESSAGE(0, Embed(ends));
};

struct Uncut {
  std::string reason;
  SPATE_MESSAGE(1, reason);
};

Returned GoodReturned() { return {0, JobId(1), Attempt(1), {{7, 2}}}; }

Live GoodLive() { return {{JobId(1), 0, Attempt(1)}, 2, ""}; }

template <typename T, typename Decode>
std::string ErrorOf(const T& message, Decode decode) {
  std::string bytes;
  if constexpr (requires { T::kNumber; }) {
    spate::internal::FieldWriter::WriteIn(bytes, T::kNumber, message);
  } else {
    AppendBytes(bytes, message);
  }
  auto result = decode(bytes);
  return result ? "none" : result.error().message;
}

template <typename T>
struct Case {
  const char* error;
  T good;
  std::function<void(T&)> spoil;
};

template <typename T, typename Decode>
void CheckAll(const std::vector<Case<T>>& cases, Decode decode) {
  for (const auto& [error, good, spoil] : cases) {
    EXPECT_EQ(ErrorOf(good, decode), "none") << error;
    T bad = good;
    spoil(bad);
    EXPECT_EQ(ErrorOf(bad, decode), std::string("a damaged message: ") + error);
  }
}

TEST(Damage, OfOpenJob) {
  auto with = [](auto change) {
    return [=](RawOpenJob& m) {
      JobSettings settings = GoodSettings();
      change(settings);
      m.settings = BytesOf(settings);
    };
  };
  auto append = [](std::string_view bytes) {
    return [=](RawOpenJob& m) { m.settings->append(bytes); };
  };
  const RawOpenJob good;
  CheckAll<RawOpenJob>(
      {
          {"open_job.job is missing", good, [](auto& m) { m.job = 0; }},
          {"open_job.settings is missing", good, [](auto& m) { m.settings.reset(); }},
          {"open_job.settings is cut off", good, append("\x08")},
          {"open_job.settings.cwd is missing", good, with([](auto& s) { s.cwd.clear(); })},
          {"open_job.settings.row_kind is out of range", good,
           with([](auto& s) { s.row_kind = static_cast<RowKind>(7); })},
          {"open_job.settings.nice is out of range", good, with([](auto& s) { s.nice = 20; })},
          {"open_job.settings.umask is out of range", good, with([](auto& s) { s.umask = 01000; })},
          {"open_job.settings.umask is out of range", good,
           with([](auto& s) { s.umask = INT32_MAX - 1; })},
          {"open_job.settings.time_limit is out of range", good,
           with([](auto& s) { s.time_limit.ns = -1; })},
          {"open_job.settings.kill_grace is out of range", good,
           with([](auto& s) { s.kill_grace.ns = INT64_MAX; })},
          {"open_job.settings.min_free_memory is out of range", good,
           with([](auto& s) { s.min_free_memory = UINT64_MAX; })},
          {"open_job.settings.max_load is out of range", good,
           with([](auto& s) { s.max_load = std::numeric_limits<double>::quiet_NaN(); })},
          {"open_job.settings.name is too long", good,
           with([](auto& s) { s.name = std::string(kWireLimits.text_bytes + 1, 'x'); })},
          {"open_job.settings.environment has a text that is too long", good,
           with([](auto& s) { s.environment = {std::string(kWireLimits.text_bytes + 1, 'x')}; })},
          {"open_job.settings.environment has too many texts", good,
           with([](auto& s) { s.environment.resize(kWireLimits.texts + 1); })},
          {"open_job.settings.get_patterns has too many texts", good,
           with([](auto& s) { s.get_patterns.resize(kLimits.file_options + 1); })},
          {"open_job.settings.puts leads out of the folder", good,
           with([](auto& s) { s.puts = {{.name = "../a"}}; })},
          {"open_job.settings.puts is not sorted", good,
           with([](auto& s) { s.puts = {{.name = "b"}, {.name = "a"}}; })},
          {"open_job.settings.puts has an empty name", good,
           with([](auto& s) { s.puts = {{.name = ""}}; })},
          {"open_job.settings.puts is out of range", good,
           with([](auto& s) { s.puts = {{.name = "a", .mode = 01000}}; })},
          {"open_job.settings.puts is out of range", good, with([](auto& s) {
             s.puts = {{.name = "a", .mode = 0, .size = kLimits.file_bytes + 1}};
           })},
          {"open_job.settings.puts has too many files", good,
           with([](auto& s) { s.puts.resize(kLimits.put_files + 1); })},
          {"open_job.settings.command has more bytes than its lengths say", good,
           append("\x22\x07\x0a\x01\x01\x12\x02xx")},
          {"open_job.settings.command has fewer bytes than its lengths say", good,
           append("\x22\x06\x0a\x01\x02\x12\x01x")},
          {"open_job.settings.puts is not one for each", good, append("\xea\x01\x01\x07")},
      },
      DecodeToNode);
}

TEST(Damage, OfLease) {
  auto with = [](auto change) {
    return [=](RawLease& m) {
      Needs needs = GoodNeeds();
      change(needs);
      m.needs = BytesOf(needs);
    };
  };
  const RawLease good;
  CheckAll<RawLease>(
      {
          {"lease.epoch is missing", good, [](auto& m) { m.epoch = 0; }},
          {"lease.job is missing", good, [](auto& m) { m.job = 0; }},
          {"lease.attempt is missing", good, [](auto& m) { m.attempt = 0; }},
          {"lease.attempt is out of range", good, [](auto& m) { m.attempt = 65'536; }},
          {"lease.needs is missing", good, [](auto& m) { m.needs.reset(); }},
          {"lease.needs.memory is out of range", good,
           with([](auto& n) { n.memory = UINT64_MAX; })},
          {"lease.needs.named has a zero", good, with([](auto& n) { n.named[1].count = 0; })},
          {"lease.needs.named is not sorted", good, with([](auto& n) { n.named[1].name = "a"; })},
          {"lease.needs.named has an empty name", good,
           with([](auto& n) { n.named[0].name.clear(); })},
          {"lease.needs.labels is not sorted", good, with([](auto& n) { n.labels = {"b", "a"}; })},
          {"lease.needs.not_on has an empty name", good, with([](auto& n) { n.not_on = {""}; })},
          {"lease.needs.on_node is too long", good,
           with([](auto& n) { n.on_node = std::string(kWireLimits.name_bytes + 1, 'x'); })},
          {"lease.needs.time is out of range", good, with([](auto& n) { n.time = {-1}; })},
          {"lease.needs.named is not one for each", good,
           [](auto& m) { m.needs->append("\x22\x01\x07"); }},
          {"lease.tasks is missing", good, [](auto& m) { m.tasks.clear(); }},
          {"lease.tasks has half a pair", good, [](auto& m) { m.tasks.push_back(9); }},
          {"lease.tasks has an empty range", good, [](auto& m) { m.tasks[1] = 0; }},
          {"lease.tasks has a range beyond the largest job", good,
           [](auto& m) { m.tasks[0] = UINT32_MAX; }},
          {"lease.tasks has too many tasks", good,
           [](auto& m) { m.tasks[1] = kWireLimits.lease_tasks + 1; }},
          {"lease.tasks has too many ranges", good,
           [](auto& m) { m.tasks.assign(2 * kWireLimits.ranges + 2, 1); }},
          {"lease.rows is not one for each task", good, [](auto& m) { m.tasks[1] = 3; }},
          {"lease.rows is not one for each task", good, [](auto& m) { m.rows.clear(); }},
          {"lease.rows has a text that is too long", good,
           [](auto& m) { m.rows[0].resize(kWireLimits.row_bytes + 1); }},
          {"lease.part.index names no host", good, [](auto& m) { m.part.emplace(); }},
          {"lease.part.index names no host", good, [](auto& m) { m.part = "\x08\x01"; }},
          {"lease.tasks is not the one of a gang", good,
           [](auto& m) { m.part = BytesOf(GangPart{.hosts = {{"n1", 1, ""}}}); }},
      },
      DecodeToNode);
}

TEST(Damage, OfHello) {
  const RawHello good;
  CheckAll<RawHello>(
      {
          {"hello.node is missing", good, [](auto& m) { m.node = 0; }},
          {"hello.offer is missing", good, [](auto& m) { m.offer.reset(); }},
          {"hello.offer.node_name is missing", good, [](auto& m) { m.offer->node_name.clear(); }},
          {"hello.offer.node_name is too long", good,
           [](auto& m) { m.offer->node_name = std::string(2000, 'n'); }},
          {"hello.offer.slots is out of range", good, [](auto& m) { m.offer->slots = 0; }},
          {"hello.offer.slots is out of range", good,
           [](auto& m) { m.offer->slots = kLimits.slots + 1; }},
          {"hello.offer.memory is out of range", good,
           [](auto& m) { m.offer->memory = UINT64_MAX; }},
          {"hello.remote is too long", good, [](auto& m) { m.remote = std::string(2000, 'r'); }},
          {"hello.holds is not in threes", good, [](auto& m) { m.holds.push_back(1); }},
          {"hello.holds is missing", good,
           [](auto& m) {
             for (uint32_t v : {1, 0, 1}) m.holds.push_back(v);
             for (uint32_t v : {7, 2}) m.tasks.push_back(v);
           }},
          {"hello.holds has one without tasks", good,
           [](auto& m) {
             for (uint32_t v : {1, 1, 0, 1, 2, 1}) m.holds.push_back(v);
             for (uint32_t v : {7, 2}) m.tasks.push_back(v);
           }},
          {"hello.tasks is not as many pairs as held", good,
           [](auto& m) {
             for (uint32_t v : {1u, 1u, UINT32_MAX}) m.holds.push_back(v);
           }},
          {"hello.offer.pieces is not one for each name", good,
           [](auto& m) { m.offer->pieces.push_back(0); }},
          {"hello.offer.index is not one for each piece", good,
           [](auto& m) { m.offer->pieces[0] = UINT32_MAX; }},
      },
      DecodeToHub);
}

TEST(Damage, OfEndsRows) {
  const RawEnds good;
  CheckAll<RawEnds>(
      {
          {"ends.job is missing", good, [](auto& m) { m.ends.job.clear(); }},
          {"ends.job is missing", good, [](auto& m) { m.ends.job[0] = 0; }},
          {"ends.job has half a pair", good, [](auto& m) { m.ends.job.push_back(2); }},
          {"ends.job has an empty range", good, [](auto& m) { m.ends.job[1] = 0; }},
          {"ends.job has too many ends", good, [](auto& m) { m.ends.job[1] = UINT32_MAX; }},
          {"ends.index is not one for each end", good, [](auto& m) { m.ends.index.push_back(1); }},
          {"ends.index is out of range", good,
           [](auto& m) { m.ends.index.push_back(0), m.ends.index.push_back(-1); }},
          {"ends.attempt is out of range", good,
           [](auto& m) { m.ends.attempt.push_back(1), m.ends.attempt.push_back(0); }},
          {"ends.attempt is out of range", good,
           [](auto& m) { m.ends.attempt.push_back(1), m.ends.attempt.push_back(65'536); }},
          {"ends.cause is out of range", good,
           [](auto& m) { m.ends.cause.push_back(0), m.ends.cause.push_back(kCauseCount); }},
          {"ends.status is not one for each end", good,
           [](auto& m) { m.ends.status.push_back(1); }},
          {"ends.slot is out of range", good,
           [](auto& m) { m.ends.slot.push_back(0), m.ends.slot.push_back(kLimits.slots + 1); }},
          {"ends.start is out of range", good,
           [](auto& m) { m.ends.start.push_back(0), m.ends.start.push_back(-1); }},
          {"ends.start is out of range", good,
           [](auto& m) { m.ends.start.push_back(INT64_MAX), m.ends.start.push_back(1); }},
          {"ends.wall is out of range", good,
           [](auto& m) { m.ends.wall.push_back(0), m.ends.wall.push_back(-1); }},
          {"ends.user is out of range", good,
           [](auto& m) { m.ends.user.push_back(0), m.ends.user.push_back(INT64_MAX); }},
          {"ends.system is not one for each end", good,
           [](auto& m) { m.ends.system.push_back(1); }},
          {"ends.peak_memory is out of range", good,
           [](auto& m) {
             m.ends.peak_memory.push_back(0), m.ends.peak_memory.push_back(UINT64_MAX);
           }},
          {"ends.memory_source is out of range", good,
           [](auto& m) { m.ends.memory_source.push_back(0), m.ends.memory_source.push_back(4); }},
          {"ends.stdout_total is out of range", good,
           [](auto& m) {
             m.ends.stdout_total.push_back(0), m.ends.stdout_total.push_back(UINT64_MAX);
           }},
          {"ends.read_bytes is out of range", good,
           [](auto& m) { m.ends.read_bytes.push_back(0), m.ends.read_bytes.push_back(-2); }},
      },
      DecodeToHub);
}

TEST(Damage, OfEndsRareColumns) {
  const RawEnds good;
  CheckAll<RawEnds>(
      {
          {"ends.note is not one for each end", good, [](auto& m) { m.ends.note.emplace_back(); }},
          {"ends.note has too many texts", good, [](auto& m) { m.ends.note.resize(3); }},
          {"ends.processes is not one for each end", good,
           [](auto& m) { m.ends.processes.push_back(0); }},
          {"ends.processes are too many", good,
           [](auto& m) {
             m.ends.processes.push_back(UINT32_MAX), m.ends.processes.push_back(UINT32_MAX);
           }},
          {"ends.process_step is not one for each process", good,
           [](auto& m) { m.ends.processes.push_back(0), m.ends.processes.push_back(1); }},
          {"ends.process_status is not one for each process", good,
           [](auto& m) { m.ends.process_status.push_back(0); }},
          {"ends.process_stdout is not one for each process", good,
           [](auto& m) { m.ends.process_stdout.push_back(1); }},
          {"ends.process_stderr is out of range", good,
           [](auto& m) {
             m.ends.processes.push_back(0), m.ends.processes.push_back(1);
             m.ends.process_step.push_back(1), m.ends.process_command.push_back(1);
             m.ends.process_rank.push_back(1), m.ends.process_status.push_back(1);
             m.ends.process_stderr.push_back(UINT64_MAX);
           }},
          {"ends.process_command is out of range", good,
           [](auto& m) {
             m.ends.processes.push_back(0), m.ends.processes.push_back(1);
             m.ends.process_step.push_back(1), m.ends.process_command.push_back(65'536);
             m.ends.process_rank.push_back(1), m.ends.process_status.push_back(1);
           }},
          {"ends.stdout_here is not one for each end", good,
           [](auto& m) { m.ends.stdout_here.push_back(0); }},
          {"ends.stderr_here is too long", good,
           [](auto& m) {
             m.ends.stderr_here.push_back(0), m.ends.stderr_here.push_back(UINT32_MAX);
           }},
          {"ends.output has fewer bytes than its lengths say", good,
           [](auto& m) { m.ends.stderr_here.push_back(0), m.ends.stderr_here.push_back(1); }},
          {"ends.output has more bytes than its lengths say", good,
           [](auto& m) { m.ends.output = "x"; }},
          {"ends.stdout_apart is out of range", good,
           [](auto& m) {
             m.ends.stdout_apart.push_back(0), m.ends.stdout_apart.push_back(UINT64_MAX);
           }},
          {"ends.stdout_apart occurs twice", good,
           [](auto& m) {
             m.ends.stdout_apart.push_back(0), m.ends.stdout_apart.push_back(1);
             m.ends.stdout_here.push_back(0), m.ends.stdout_here.push_back(1);
             m.ends.output = "x";
           }},
      },
      DecodeToHub);
}

TEST(Damage, OfOtherNews) {
  const auto clear_ref = [](auto& m) { m.ref = {}; };
  CheckAll<Returned>(
      {{"returned.job is missing", GoodReturned(), [](auto& m) { m.job = {}; }},
       {"returned.tasks is missing", GoodReturned(), [](auto& m) { m.tasks.clear(); }}},
      DecodeToHub);
  CheckAll<Live>(
      {
          {"live.ref.job is missing", GoodLive(), clear_ref},
          {"live.ref.index is out of range", GoodLive(),
           [](auto& m) { m.ref.index = kLimits.tasks_per_job; }},
          {"live.ref.attempt is missing", GoodLive(), [](auto& m) { m.ref.attempt = {}; }},
          {"live.stream is out of range", GoodLive(), [](auto& m) { m.stream = 3; }},
          {"live.stream is out of range", GoodLive(), [](auto& m) { m.stream = 0; }},
          {"live.bytes is too long", GoodLive(),
           [](auto& m) { m.bytes.resize(kWireLimits.piece_bytes + 1); }},
      },
      DecodeToHub);
}

TEST(Damage, OfFirstMessages) {
  Greeting good{.protocol = 2,
                .oldest_protocol = 1,
                .node_name = "n1",
                .instance = std::string(kInstanceBytes, 'x')};
  CheckAll<Greeting>(
      {
          {"greeting.protocol is out of range", good, [](auto& m) { m.protocol = 0; }},
          {"greeting.oldest_protocol is out of range", good,
           [](auto& m) { m.oldest_protocol = 3; }},
          {"greeting.role is out of range", good, [](auto& m) { m.role = {}; }},
          {"greeting.role is out of range", good, [](auto& m) { m.role = Role{4}; }},
          {"greeting.nonce is missing", good, [](auto& m) { m.serial = 7; }},
          {"greeting.proof is missing", good, [](auto& m) { m.serial = 7, m.nonce = "x"; }},
          {"greeting.proof is too long", good, [](auto& m) { m.proof.resize(65); }},
          {"greeting.node_name is missing", good, [](auto& m) { m.node_name.clear(); }},
          {"greeting.instance is missing", good, [](auto& m) { m.instance.clear(); }},
          {"greeting.instance is too short", good, [](auto& m) { m.instance = "short"; }},
          {"greeting.instance is too long", good,
           [](auto& m) { m.instance.resize(kInstanceBytes + 1); }},
      },
      DecodeGreeting);
  const Welcome welcome{.epoch = Epoch(1)};
  CheckAll<Welcome>(
      {
          {"welcome.epoch is missing", welcome, [](auto& m) { m.epoch = {}; }},
          {"welcome.protocol is out of range", welcome, [](auto& m) { m.protocol = 99; }},
          {"welcome.listens_at is too long", welcome,
           [](auto& m) { m.listens_at.resize(kWireLimits.name_bytes + 1); }},
      },
      DecodeWelcome);
}

// An offer that is too large is refused unread, whatever stands around it.
TEST(Damage, OfAnOfferThatIsTooLarge) {
  RawHello hello;
  hello.offer->label = {std::string(kWireLimits.offer_bytes, 'x')};
  std::string bytes;
  spate::internal::FieldWriter::WriteIn(bytes, Hello::kNumber, hello);
  std::string twice = BytesOf(RawHello()) + BytesOf(hello);
  std::string with_both;
  spate::internal::FieldWriter::WriteIn(with_both, Hello::kNumber, twice);
  const std::string number = "\x08\x07";  // of the same field
  for (const std::string& each : {bytes, number + bytes, with_both}) {
    const std::string error = DecodeToHub(each).error().message;
    EXPECT_TRUE(error.starts_with("the labels, resources and names of the node take")) << error;
  }
}

TEST(Damage, WhatIsNoMessageAtAll) {
  EXPECT_EQ(DecodeToNode("").error().message,
            "a damaged message: to_node.kind is missing or unknown");
  EXPECT_EQ(DecodeToHub("").error().message,
            "a damaged message: to_hub.kind is missing or unknown");
  EXPECT_EQ(DecodeToHub("\xff").error().message, "a damaged message: to_hub cannot be parsed");
  EXPECT_EQ(DecodeToNode(std::string(kWireLimits.message_bytes + 1, 'x')).error().message,
            "a message that is too long: to_node");
  // Our own senders cut it.
  const std::string reason(kWireLimits.note_bytes + 1, 'x');
  std::string bytes;
  spate::internal::FieldWriter::WriteIn(bytes, Paused::kNumber, Uncut{reason});
  EXPECT_EQ(DecodeToHub(bytes).error().message, "a damaged message: paused.reason is too long");
}

}  // namespace
}  // namespace spate::wire
