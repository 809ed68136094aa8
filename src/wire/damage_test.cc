// Messages that are whole as protobuf but not as ours: each defect is found and named.
#include <gtest/gtest.h>
#include <wire/spate.pb.h>

#include <functional>

#include "core/model/limits.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"
#include "wire/limits.h"

namespace spate::wire {
namespace {

JobSettings GoodSettings() {
  JobSettings settings;
  settings.cwd = "/home";
  settings.command = {"ls"};
  return settings;
}

pb::ToNode GoodOpenJob() {
  pb::ToNode message;
  message.mutable_open_job()->set_job(1);
  message.mutable_open_job()->set_settings(BytesOf(GoodSettings()));
  return message;
}

Needs GoodNeeds() { return {.named = {{"gpus", 1}, {"x", 2}}}; }

pb::ToNode GoodLease() {
  pb::ToNode message;
  auto& lease = *message.mutable_lease();
  lease.set_epoch(1);
  lease.set_job(1);
  lease.set_attempt(1);
  lease.set_needs(BytesOf(GoodNeeds()));
  lease.add_tasks(7);
  lease.add_tasks(2);
  lease.mutable_rows()->add_length(1);
  lease.mutable_rows()->add_length(2);
  lease.mutable_rows()->set_bytes("abc");
  return message;
}

pb::ToHub GoodHello() {
  pb::ToHub message;
  message.mutable_hello()->set_node(1);
  auto& offer = *message.mutable_hello()->mutable_offer();
  offer.set_node_name("n1");
  offer.set_slots(2);
  offer.mutable_name()->add_length(4);
  offer.mutable_name()->set_bytes("gpus");
  offer.add_pieces(2);
  offer.mutable_index()->add_length(1);
  offer.mutable_index()->add_length(1);
  offer.mutable_index()->set_bytes("01");
  return message;
}

pb::ToHub GoodEnds() {
  pb::ToHub message;
  auto& ends = *message.mutable_ends();
  ends.add_job(1);
  ends.add_job(2);
  return message;
}

pb::ToHub GoodReturned() {
  pb::ToHub message;
  message.mutable_returned()->set_job(1);
  message.mutable_returned()->set_attempt(1);
  message.mutable_returned()->add_tasks(7);
  message.mutable_returned()->add_tasks(2);
  return message;
}

pb::ToHub GoodLive() {
  pb::ToHub message;
  auto& ref = *message.mutable_live()->mutable_ref();
  ref.set_job(1);
  ref.set_attempt(1);
  message.mutable_live()->set_stream(2);
  return message;
}

template <typename Pb, typename Decode>
std::string ErrorOf(const Pb& message, Decode decode) {
  auto result = decode(message.SerializeAsString());
  return result ? "none" : result.error().message;
}

template <typename Pb>
struct Case {
  const char* error;
  Pb good;
  std::function<void(Pb&)> spoil;
};

template <typename Pb, typename Decode>
void CheckAll(const std::vector<Case<Pb>>& cases, Decode decode) {
  for (const auto& [error, good, spoil] : cases) {
    EXPECT_EQ(ErrorOf(good, decode), "none") << error;
    Pb bad = good;
    spoil(bad);
    EXPECT_EQ(ErrorOf(bad, decode), std::string("a damaged message: ") + error);
  }
}

TEST(Damage, OfOpenJob) {
  auto with = [](auto change) {
    return [=](pb::ToNode& m) {
      JobSettings settings = GoodSettings();
      change(settings);
      m.mutable_open_job()->set_settings(BytesOf(settings));
    };
  };
  auto append = [](std::string_view bytes) {
    return [=](pb::ToNode& m) { m.mutable_open_job()->mutable_settings()->append(bytes); };
  };
  pb::ToNode good = GoodOpenJob();
  CheckAll<pb::ToNode>(
      {
          {"to_node.kind is missing or unknown", good, [](auto& m) { m.Clear(); }},
          {"open_job.job is missing", good, [](auto& m) { m.mutable_open_job()->clear_job(); }},
          {"open_job.settings is missing", good,
           [](auto& m) { m.mutable_open_job()->clear_settings(); }},
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
  auto l = [](pb::ToNode& m) { return m.mutable_lease(); };
  auto with = [=](auto change) {
    return [=](pb::ToNode& m) {
      Needs needs = GoodNeeds();
      change(needs);
      l(m)->set_needs(BytesOf(needs));
    };
  };
  pb::ToNode good = GoodLease();
  CheckAll<pb::ToNode>(
      {
          {"lease.epoch is missing", good, [=](auto& m) { l(m)->clear_epoch(); }},
          {"lease.job is missing", good, [=](auto& m) { l(m)->clear_job(); }},
          {"lease.attempt is missing", good, [=](auto& m) { l(m)->clear_attempt(); }},
          {"lease.attempt is out of range", good, [=](auto& m) { l(m)->set_attempt(65'536); }},
          {"lease.needs is missing", good, [=](auto& m) { l(m)->clear_needs(); }},
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
           [=](auto& m) { l(m)->mutable_needs()->append("\x22\x01\x07"); }},
          {"lease.tasks is missing", good, [=](auto& m) { l(m)->clear_tasks(); }},
          {"lease.tasks has half a pair", good, [=](auto& m) { l(m)->add_tasks(9); }},
          {"lease.tasks has an empty range", good, [=](auto& m) { l(m)->set_tasks(1, 0); }},
          {"lease.tasks has a range beyond the largest job", good,
           [=](auto& m) { l(m)->set_tasks(0, UINT32_MAX); }},
          {"lease.tasks has too many tasks", good,
           [=](auto& m) { l(m)->set_tasks(1, kWireLimits.lease_tasks + 1); }},
          {"lease.tasks has too many ranges", good,
           [=](auto& m) {
             l(m)->mutable_tasks()->Resize(2 * static_cast<int>(kWireLimits.ranges) + 2, 1);
           }},
          {"lease.rows is not one for each task", good, [=](auto& m) { l(m)->set_tasks(1, 3); }},
          {"lease.rows is not one for each task", good, [=](auto& m) { l(m)->clear_rows(); }},
          {"lease.rows has a text that is too long", good,
           [=](auto& m) { l(m)->mutable_rows()->set_length(0, kWireLimits.row_bytes + 1); }},
      },
      DecodeToNode);
}

TEST(Damage, OfHello) {
  auto o = [](pb::ToHub& m) { return m.mutable_hello()->mutable_offer(); };
  pb::ToHub good = GoodHello();
  CheckAll<pb::ToHub>(
      {
          {"to_hub.kind is missing or unknown", good, [](auto& m) { m.Clear(); }},
          {"hello.node is missing", good, [](auto& m) { m.mutable_hello()->clear_node(); }},
          {"hello.offer is missing", good, [](auto& m) { m.mutable_hello()->clear_offer(); }},
          {"hello.offer.node_name is missing", good, [=](auto& m) { o(m)->clear_node_name(); }},
          {"hello.offer.node_name is too long", good,
           [=](auto& m) { o(m)->set_node_name(std::string(2000, 'n')); }},
          {"hello.offer.slots is out of range", good, [=](auto& m) { o(m)->clear_slots(); }},
          {"hello.offer.slots is out of range", good,
           [=](auto& m) { o(m)->set_slots(kLimits.slots + 1); }},
          {"hello.offer.memory is out of range", good,
           [=](auto& m) { o(m)->set_memory(UINT64_MAX); }},
          {"hello.remote is too long", good,
           [](auto& m) { m.mutable_hello()->set_remote(std::string(2000, 'r')); }},
          {"hello.holds is not in threes", good, [](auto& m) { m.mutable_hello()->add_holds(1); }},
          {"hello.holds is missing", good,
           [](auto& m) {
             for (uint32_t v : {1, 0, 1}) m.mutable_hello()->add_holds(v);
             for (uint32_t v : {7, 2}) m.mutable_hello()->add_tasks(v);
           }},
          {"hello.holds has one without tasks", good,
           [](auto& m) {
             for (uint32_t v : {1, 1, 0, 1, 2, 1}) m.mutable_hello()->add_holds(v);
             for (uint32_t v : {7, 2}) m.mutable_hello()->add_tasks(v);
           }},
          {"hello.tasks is not as many pairs as held", good,
           [](auto& m) {
             for (uint32_t v : {1u, 1u, UINT32_MAX}) m.mutable_hello()->add_holds(v);
           }},
          {"hello.offer.pieces is not one for each name", good,
           [=](auto& m) { o(m)->add_pieces(0); }},
          {"hello.offer.index is not one for each piece", good,
           [=](auto& m) { o(m)->set_pieces(0, UINT32_MAX); }},
      },
      DecodeToHub);
}

TEST(Damage, OfEndsRows) {
  auto e = [](pb::ToHub& m) { return m.mutable_ends(); };
  pb::ToHub good = GoodEnds();
  CheckAll<pb::ToHub>(
      {
          {"ends.job is missing", good, [=](auto& m) { e(m)->clear_job(); }},
          {"ends.job is missing", good, [=](auto& m) { e(m)->set_job(0, 0); }},
          {"ends.job has half a pair", good, [=](auto& m) { e(m)->add_job(2); }},
          {"ends.job has an empty range", good, [=](auto& m) { e(m)->set_job(1, 0); }},
          {"ends.job has too many ends", good, [=](auto& m) { e(m)->set_job(1, UINT32_MAX); }},
          {"ends.index is not one for each end", good, [=](auto& m) { e(m)->add_index(1); }},
          {"ends.index is out of range", good,
           [=](auto& m) { e(m)->add_index(0), e(m)->add_index(-1); }},
          {"ends.attempt is out of range", good,
           [=](auto& m) { e(m)->add_attempt(1), e(m)->add_attempt(0); }},
          {"ends.attempt is out of range", good,
           [=](auto& m) { e(m)->add_attempt(1), e(m)->add_attempt(65'536); }},
          {"ends.cause is out of range", good,
           [=](auto& m) { e(m)->add_cause(0), e(m)->add_cause(kCauseCount); }},
          {"ends.status is not one for each end", good, [=](auto& m) { e(m)->add_status(1); }},
          {"ends.slot is out of range", good,
           [=](auto& m) { e(m)->add_slot(0), e(m)->add_slot(kLimits.slots + 1); }},
          {"ends.start is out of range", good,
           [=](auto& m) { e(m)->add_start(0), e(m)->add_start(-1); }},
          {"ends.start is out of range", good,
           [=](auto& m) { e(m)->add_start(INT64_MAX), e(m)->add_start(1); }},
          {"ends.wall is out of range", good,
           [=](auto& m) { e(m)->add_wall(0), e(m)->add_wall(-1); }},
          {"ends.user is out of range", good,
           [=](auto& m) { e(m)->add_user(0), e(m)->add_user(INT64_MAX); }},
          {"ends.system is not one for each end", good, [=](auto& m) { e(m)->add_system(1); }},
          {"ends.peak_memory is out of range", good,
           [=](auto& m) { e(m)->add_peak_memory(0), e(m)->add_peak_memory(UINT64_MAX); }},
          {"ends.memory_source is out of range", good,
           [=](auto& m) { e(m)->add_memory_source(0), e(m)->add_memory_source(4); }},
          {"ends.stdout_total is out of range", good,
           [=](auto& m) { e(m)->add_stdout_total(0), e(m)->add_stdout_total(UINT64_MAX); }},
          {"ends.read_bytes is out of range", good,
           [=](auto& m) { e(m)->add_read_bytes(0), e(m)->add_read_bytes(-2); }},
      },
      DecodeToHub);
}

TEST(Damage, OfEndsRareColumns) {
  auto e = [](pb::ToHub& m) { return m.mutable_ends(); };
  pb::ToHub good = GoodEnds();
  CheckAll<pb::ToHub>(
      {
          {"ends.note is not one for each end", good,
           [=](auto& m) { e(m)->mutable_note()->add_length(0); }},
          {"ends.note has too many texts", good,
           [=](auto& m) { e(m)->mutable_note()->mutable_length()->Resize(3, 0); }},
          {"ends.processes is not one for each end", good,
           [=](auto& m) { e(m)->add_processes(0); }},
          {"ends.processes are too many", good,
           [=](auto& m) { e(m)->add_processes(UINT32_MAX), e(m)->add_processes(UINT32_MAX); }},
          {"ends.process_step is not one for each process", good,
           [=](auto& m) { e(m)->add_processes(0), e(m)->add_processes(1); }},
          {"ends.process_status is not one for each process", good,
           [=](auto& m) { e(m)->add_process_status(0); }},
          {"ends.process_stdout is not one for each process", good,
           [=](auto& m) { e(m)->add_process_stdout(1); }},
          {"ends.process_stderr is out of range", good,
           [=](auto& m) {
             e(m)->add_processes(0), e(m)->add_processes(1);
             e(m)->add_process_step(1), e(m)->add_process_command(1);
             e(m)->add_process_rank(1), e(m)->add_process_status(1);
             e(m)->add_process_stderr(UINT64_MAX);
           }},
          {"ends.process_command is out of range", good,
           [=](auto& m) {
             e(m)->add_processes(0), e(m)->add_processes(1);
             e(m)->add_process_step(1), e(m)->add_process_command(65'536);
             e(m)->add_process_rank(1), e(m)->add_process_status(1);
           }},
          {"ends.stdout_here is not one for each end", good,
           [=](auto& m) { e(m)->add_stdout_here(0); }},
          {"ends.stderr_here is too long", good,
           [=](auto& m) { e(m)->add_stderr_here(0), e(m)->add_stderr_here(UINT32_MAX); }},
          {"ends.output has fewer bytes than its lengths say", good,
           [=](auto& m) { e(m)->add_stderr_here(0), e(m)->add_stderr_here(1); }},
          {"ends.output has more bytes than its lengths say", good,
           [=](auto& m) { e(m)->set_output("x"); }},
          {"ends.stdout_apart is out of range", good,
           [=](auto& m) { e(m)->add_stdout_apart(0), e(m)->add_stdout_apart(UINT64_MAX); }},
          {"ends.stdout_apart occurs twice", good,
           [=](auto& m) {
             e(m)->add_stdout_apart(0), e(m)->add_stdout_apart(1);
             e(m)->add_stdout_here(0), e(m)->add_stdout_here(1);
             e(m)->set_output("x");
           }},
      },
      DecodeToHub);
}

TEST(Damage, OfOtherNews) {
  pb::ToHub live = GoodLive();
  CheckAll<pb::ToHub>(
      {
          {"returned.job is missing", GoodReturned(),
           [](auto& m) { m.mutable_returned()->clear_job(); }},
          {"returned.tasks is missing", GoodReturned(),
           [](auto& m) { m.mutable_returned()->clear_tasks(); }},
          {"live.ref.job is missing", live, [](auto& m) { m.mutable_live()->clear_ref(); }},
          {"live.ref.index is out of range", live,
           [](auto& m) { m.mutable_live()->mutable_ref()->set_index(kLimits.tasks_per_job); }},
          {"live.ref.attempt is missing", live,
           [](auto& m) { m.mutable_live()->mutable_ref()->clear_attempt(); }},
          {"live.stream is out of range", live, [](auto& m) { m.mutable_live()->set_stream(3); }},
          {"live.stream is out of range", live, [](auto& m) { m.mutable_live()->clear_stream(); }},
          {"live.bytes is too long", live,
           [](auto& m) {
             m.mutable_live()->set_bytes(std::string(kWireLimits.piece_bytes + 1, 'x'));
           }},
          {"paused.reason is too long", live,
           [](auto& m) {
             m.mutable_paused()->set_reason(std::string(kWireLimits.note_bytes + 1, 'x'));
           }},
      },
      DecodeToHub);
}

TEST(Damage, OfFirstMessages) {
  pb::Greeting good;
  good.set_protocol(2);
  good.set_oldest_protocol(1);
  good.set_role(1);
  good.set_node_name("n1");
  good.set_instance(std::string(kInstanceBytes, 'x'));
  CheckAll<pb::Greeting>(
      {
          {"greeting.protocol is out of range", good, [](auto& m) { m.clear_protocol(); }},
          {"greeting.oldest_protocol is out of range", good,
           [](auto& m) { m.set_oldest_protocol(3); }},
          {"greeting.role is out of range", good, [](auto& m) { m.clear_role(); }},
          {"greeting.role is out of range", good, [](auto& m) { m.set_role(4); }},
          {"greeting.nonce is missing", good, [](auto& m) { m.set_serial(7); }},
          {"greeting.proof is missing", good, [](auto& m) { m.set_serial(7), m.set_nonce("x"); }},
          {"greeting.proof is too long", good, [](auto& m) { m.set_proof(std::string(65, 'x')); }},
          {"greeting.node_name is missing", good, [](auto& m) { m.clear_node_name(); }},
          {"greeting.instance is missing", good, [](auto& m) { m.clear_instance(); }},
          {"greeting.instance is too short", good, [](auto& m) { m.set_instance("short"); }},
          {"greeting.instance is too long", good,
           [](auto& m) { m.set_instance(std::string(kInstanceBytes + 1, 'x')); }},
      },
      DecodeGreeting);
  pb::Welcome welcome;
  welcome.set_protocol(kProtocol);
  welcome.set_epoch(1);
  CheckAll<pb::Welcome>(
      {
          {"welcome.epoch is missing", welcome, [](auto& m) { m.clear_epoch(); }},
          {"welcome.protocol is out of range", welcome, [](auto& m) { m.set_protocol(99); }},
          {"welcome.listens_at is too long", welcome,
           [](auto& m) { m.set_listens_at(std::string(kWireLimits.name_bytes + 1, 'x')); }},
      },
      DecodeWelcome);
}

TEST(Damage, WhatIsNoProtobufAtAll) {
  EXPECT_EQ(DecodeToHub("\xff").error().message, "a damaged message: to_hub cannot be parsed");
  EXPECT_EQ(DecodeToNode(std::string(kWireLimits.message_bytes + 1, 'x')).error().message,
            "a message that is too long: to_node");
}

}  // namespace
}  // namespace spate::wire
