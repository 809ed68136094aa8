// The bytes that programs and journals had before their types listed their fields: they are read,
// and written the same.
#include <gtest/gtest.h>

#include <string>

#include "core/model/job.h"
#include "wire/any_message_testing.h"
#include "wire/client_codec.h"
#include "wire/codec.h"
#include "wire/field_bytes.h"

namespace spate::wire {
namespace {

std::string Bytes(std::string_view hex) {
  std::string bytes;
  for (; !hex.empty(); hex.remove_prefix(2)) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(0, 2)), nullptr, 16));
  }
  return bytes;
}
template <typename Message>
std::string Written(const Message& message) {
  std::string bytes;
  Append(bytes, message);
  return bytes;
}

JobSettings AllSettings() {
  JobSettings s;
  s.leftovers = Leftovers::kEnd;  // as what did not have it yet is read
  s.leftovers_wait = {};
  s.name = "n\xff";
  s.cwd = "/c";
  s.row_kind = RowKind::kValues;
  s.command = {"a b", "", "{}"};
  s.value_names = {"x"};
  s.record_values = 300;
  s.has_source = true;
  s.repeat_context = true;
  s.replace = ",,";
  s.shell = "bash";
  s.environment = {"A=1", "B=\x01"};
  s.stdin_pattern = "i";
  s.stdout_pattern = "o";
  s.stderr_pattern = "e";
  s.put_patterns = {"p", "q"};
  s.get_patterns = {"g"};
  s.puts = {{"p", 0644, 5'000'000, 0}, {"q", 0, 0, 5}};
  s.user = "ada";
  s.umask = 022;
  s.nice = -3;
  s.measure_io = true;
  s.live_output = true;
  s.time_limit = Duration::Seconds(60);
  s.time_limit_percent = 150;
  s.warn_time = Duration{1};
  s.kill_grace = Duration::Seconds(10);
  s.start_delay = Duration::Millis(3);
  s.min_free_memory = 1 << 30;
  s.max_load = 2.5;
  s.check_patience = Duration::Seconds(30);
  return s;
}

// Zeros are left out, also where the member has another default.
JobSettings NoSettings() {
  JobSettings s;
  s.leftovers = Leftovers::kEnd;
  s.leftovers_wait = {};
  s.cwd = "/";
  s.has_source = false;
  s.kill_grace = {};
  return s;
}

Needs AllNeeds() {
  return {.milli_cpus = 500,
          .memory = 1 << 30,
          .named = {{"gpus", 2}, {"x", 1}},
          .time = Duration::Seconds(60),
          .labels = {"a", "b"},
          .on_node = "n1",
          .not_on = {"n2"}};
}

TEST(OlderBytes, Settings) {
  const std::string all = Bytes(
      "0a026eff12022f631801220c0a0303000212056120627b7d2a060a010112017830ac02380140014a0c0a"
      "0203031206413d31423d015201695a016f620165680570017801800180b09dc2df018801960190010198"
      "0180c8afa025a001c08db701a8018080808004b1010000000000000440b80180d88ee16fc20103616461"
      "c80113d201080a02010112027071da01060a0101120167e201080a02010112027071ea0103a40300f201"
      "05c096b10200fa010200058202022c2c8a020462617368");
  EXPECT_EQ(EncodeSettings(AllSettings()), all);
  auto read = DecodeSettings(all);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(testing::Same(*read, AllSettings()));
  // They had empty lists, which ours have not.
  read = DecodeSettings(Bytes("12012f22002a004a00"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(testing::Same(*read, NoSettings()));
  EXPECT_EQ(EncodeSettings(NoSettings()), Bytes("12012f"));
}

TEST(OlderBytes, Needs) {
  Lease lease{Epoch(1), JobId(2), Attempt(1), {}, {{4, 1}}, {"r"}};
  Needs none{.milli_cpus = 0, .memory = 0, .named = {}, .time = {}};
  for (const auto& [needs, hex] : std::vector<std::pair<Needs, std::string>>{
           {AllNeeds(),
            "124c080110021801223808f4031080808080041a0b0a02040112056770757378220202012880b09dc2df"
            "0132080a020101120261623a026e3142070a010212026e322a02040132060a0101120172"},
           {none, "121408011002180122002a02040132060a0101120172"}}) {
    lease.needs = needs;
    EXPECT_EQ(Written(ToNode(lease)), Bytes(hex));
    auto read = DecodeToNode(Bytes(hex));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(std::get<Lease>(*read).needs, needs);
  }
  SubmitEnd end;
  end.count = 1;
  end.requests = {AllNeeds()};
  end.runs = {{0, 1, 0}};
  EXPECT_EQ(
      Written(Request(end)),
      Bytes("22400801123808f4031080808080041a0b0a02040112056770757378220202012880b09dc2df0132080a"
            "020101120261623a026e3142070a010212026e321a020100"));
}

// A client that knows fewer fields of a policy sends nothing for the others.
TEST(OlderBytes, Policy) {
  auto read = DecodeRequest(
      Bytes("122e0a0173120912012f22002a004a001a16080310021880a8d6b9072001280230013804403248092200"
            "2a0048077009"));
  ASSERT_TRUE(read) << read.error().message;
  JobPolicy policy;
  policy.retry = {3, CauseBit(Cause::kExit), Duration::Seconds(2), true};
  policy.halt = {HaltRule::When::kNow, HaltRule::What::kSuccess, 4, 50};
  policy.max_failures = 9;
  policy.max_running = 7;
  policy.weight = 9;
  EXPECT_EQ(BytesOf(std::get<Submit>(*read).policy), BytesOf(policy));
}

}  // namespace
}  // namespace spate::wire
