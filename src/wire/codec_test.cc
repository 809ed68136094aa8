#include "wire/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdio>

#include "wire/any_message_testing.h"

namespace spate::wire {
namespace {

using namespace std::literals;
using testing::AnyNumber;
using testing::AnyRef;
using testing::AnyText;
using testing::AnyToHub;
using testing::AnyToNode;
using testing::Same;

template <typename T>
std::string Bytes(const T& message) {
  std::string bytes;
  Append(bytes, message);
  return bytes;
}

TEST(Codec, MessagesToNodesComeBackAsTheyWere) {
  for (size_t kind = 0; kind < std::variant_size_v<ToNode>; ++kind) {
    EXPECT_TRUE(rc::check("to node " + std::to_string(kind), [kind] {
      ToNode message = AnyToNode(kind);
      auto back = DecodeToNode(Bytes(message));
      if (!back) RC_FAIL(back.error().message);
      RC_ASSERT(Same(*back, message));
    }));
  }
}

TEST(Codec, MessagesToTheHubComeBackAsTheyWere) {
  for (size_t kind = 0; kind < std::variant_size_v<ToHub>; ++kind) {
    EXPECT_TRUE(rc::check("to hub " + std::to_string(kind), [kind] {
      ToHub message = AnyToHub(kind);
      auto back = DecodeToHub(Bytes(message));
      if (!back) RC_FAIL(back.error().message);
      RC_ASSERT(Same(*back, message));
    }));
  }
}

TEST(Codec, ReasonsOfANodeComeBehindItsOtherWaits) {
  const AttemptRef ref{JobId(3), 4, Attempt(5)};
  NodeState state;
  state.waits = {{ref, 6, "", {ReasonKind::kNodeLacks, {1, 0}, {}, {"licence"}}},
                 {ref, 7, "ann"},
                 {ref, 8, ""}};
  auto decoded = DecodeToHub(Bytes(ToHub(state)));
  ASSERT_TRUE(decoded);
  std::ranges::rotate(state.waits, state.waits.begin() + 1);
  EXPECT_EQ(std::get<NodeState>(*decoded).waits, state.waits);
  // A node speaks for itself only.
  state.waits = {{ref, 1, "", {ReasonKind::kHeld, {3, 1}}}};
  EXPECT_FALSE(DecodeToHub(Bytes(ToHub(state))));
}

TEST(Codec, PiecesOfOutputComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("output piece", [] {
    const std::string text = testing::SomeText();
    OutputPiece piece{AnyRef(), testing::AnyStream(), testing::AnySize(), text};
    const std::string bytes = Bytes(piece);
    auto back = DecodeOutputPiece(bytes);
    RC_ASSERT(back.has_value());
    RC_ASSERT(Same(*back, piece));
  }));
}

TEST(Codec, FirstMessagesComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check("greeting", [] {
    Greeting greeting{AnyText(),
                      3,
                      2,
                      static_cast<Role>(*rc::gen::inRange(1, 4)),
                      AnyNumber(UINT64_MAX),
                      "n",
                      "p",
                      testing::SomeText(),
                      std::string(kInstanceBytes, 'i'),
                      testing::AnyNames()};
    RC_ASSERT(DecodeGreeting(Bytes(greeting)).value() == greeting);
    Welcome welcome{
        AnyText(),         kProtocol,           testing::AnyId<Epoch>(), NodeId(testing::AnyU32()),
        testing::AnyU32(), testing::AnyNames(), testing::SomeText()};
    RC_ASSERT(DecodeWelcome(Bytes(welcome)).value() == welcome);
    Refusal refusal{static_cast<RefusalCode>(*rc::gen::inRange<int>(0, kCountOf<RefusalCode>)),
                    AnyText()};
    if (*rc::gen::arbitrary<bool>()) refusal.remedy = SeeAlso("node list", AnyText());
    RC_ASSERT(DecodeRefusal(Bytes(refusal)).value() == refusal);
  }));
  EXPECT_EQ(Bytes(Heartbeat()), "");
}

// A message that is understood is within the limits, so it is understood again.
template <typename Decode>
void CheckGarbage(Decode decode, std::string bytes) {
  auto message = decode(bytes);
  if (!message) {
    RC_ASSERT(message.error().kind == ErrorKind::kCorrupt);
    return;
  }
  auto again = decode(Bytes(*message));
  if (!again) RC_FAIL(again.error().message);
  RC_ASSERT(Same(*again, *message));
}

TEST(Codec, DamageNeverGetsThrough) {
  EXPECT_TRUE(rc::check("damage", [] {
    auto node_kind = *rc::gen::inRange<size_t>(0, std::variant_size_v<ToNode>);
    auto hub_kind = *rc::gen::inRange<size_t>(0, std::variant_size_v<ToHub>);
    std::string to_node = Bytes(AnyToNode(node_kind));
    std::string to_hub = Bytes(AnyToHub(hub_kind));
    for (std::string* bytes : {&to_node, &to_hub}) {
      int changes = *rc::gen::inRange(1, 4);
      for (int i = 0; i < changes; ++i) {
        auto at = *rc::gen::inRange<size_t>(0, bytes->size());
        (*bytes)[at] = *rc::gen::arbitrary<char>();
      }
    }
    CheckGarbage(DecodeToNode, to_node);
    CheckGarbage(DecodeToHub, to_hub);
    // The start of a message is a message that lacks something, or none.
    CheckGarbage(DecodeToHub, to_hub.substr(0, to_hub.size() / 2));
  }));
}

// ---- Ends --------------------------------------------------------------------------------------

AttemptEnd PlainEnd(uint32_t i) {
  AttemptEnd end;
  end.ref = {JobId(12), 40'000 + i, Attempt(1)};
  end.memory_source = MemorySource::kRusage;
  end.slot = static_cast<uint16_t>(1 + i % 64);
  end.start = Instant{1'764'000'000'000'000'000} + Duration::Micros(250) * i;
  end.wall = Duration{900'000 + 1'357 * static_cast<int64_t>(i)};
  end.user = Duration{310'123 + static_cast<int64_t>(i)};
  end.system = Duration{450'987 + static_cast<int64_t>(i)};
  end.peak_memory = 1'830'912 + 4096 * (i % 9);
  return end;
}

// Bytes for each of `count` plain ends, after `change(end, i)`.
template <typename Change>
double SizePerEnd(uint32_t count, Change change) {
  Ends ends{.number = 100'000};
  for (uint32_t i = 0; i < count; ++i) {
    ends.ends.push_back(PlainEnd(i));
    ends.outputs.push_back(nullptr);
    change(ends, i);
  }
  return static_cast<double>(Bytes(ToHub(std::move(ends))).size()) / count;
}

TEST(Codec, APlainEndTakesAFewBytes) {
  auto plain = [](Ends&, uint32_t) {};
  auto mixed = [](Ends& ends, uint32_t i) {
    AttemptEnd& end = ends.ends[i];
    if (i % 5 == 0) end.cause = Cause::kExit, end.status = 1;
    if (i % 7 == 0) end.ref.attempt = Attempt(2);
    end.stdout_total = 12;
    ends.outputs[i] = std::make_shared<const TaskOutput>(TaskOutput{{"hello world\n", "", 12}, {}});
  };
  double of_100 = SizePerEnd(100, plain);
  double with_output = SizePerEnd(100, mixed) - 12;
  std::printf(
      "bytes for a plain end: %.1f of 100, %.1f of 7, %.1f alone; %.1f with failures and "
      "output (without its bytes)\n",
      of_100, SizePerEnd(7, plain), SizePerEnd(1, plain), with_output);
  EXPECT_LE(of_100, 30);
  EXPECT_LE(with_output, 48);
}

TEST(Codec, NumbersThatCannotBeAreSentAsTheNearest) {
  Ends ends{1, {PlainEnd(0)}, {nullptr}};
  ends.ends[0].wall = Duration{-5};
  ends.ends[0].start = Instant::Never();
  ends.ends[0].note = std::string(kWireLimits.note_bytes + 1, 'n');
  auto back = DecodeToHub(Bytes(ToHub(ends)));
  ASSERT_TRUE(back.has_value());
  const AttemptEnd& end = std::get<Ends>(*back).ends[0];
  EXPECT_EQ(end.wall, Duration{});
  EXPECT_EQ(end.start, kWireLimits.latest);
  EXPECT_EQ(end.note.size(), kWireLimits.note_bytes);
  EXPECT_TRUE(end.note.ends_with("nn ...")) << "a cut is seen";
  ends.ends[0].note.pop_back();
  back = DecodeToHub(Bytes(ToHub(ends)));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(std::get<Ends>(*back).ends[0].note, ends.ends[0].note);
}

TEST(Codec, SpooledOutputGoesByItsLength) {
  Ends ends{1, {PlainEnd(0)}, {}};
  ends.outputs.push_back(
      std::make_shared<const TaskOutput>(TaskOutput{{"", "/spool/1.out", 70'000}, {"e", "", 1}}));
  auto back = DecodeToHub(Bytes(ToHub(ends)));
  ASSERT_TRUE(back.has_value());
  const TaskOutput& output = *std::get<Ends>(*back).outputs[0];
  EXPECT_EQ(output.out.total, 70'000u);
  EXPECT_EQ(output.out.bytes + output.out.spool, "");
  EXPECT_EQ(output.err.bytes, "e");
}

// ---- Versions ----------------------------------------------------------------------------------

TEST(Codec, FieldsOfANewerVersionAreIgnored) {
  // Field 100, a varint; field 101, bytes; in front of the known ones and behind them.
  const std::string unknown = "\xa0\x06\x05\xaa\x06\x02hi"s;
  Greeting greeting{"9.0", 9, 1, Role::kClient, 7, "nonce", "proof", "", ""};
  EXPECT_EQ(DecodeGreeting(unknown + Bytes(greeting) + unknown).value(), greeting);
  ToNode stop = Stop{Epoch(1), JobId(2), {}};
  EXPECT_TRUE(Same(DecodeToNode(unknown + Bytes(stop) + unknown).value(), stop));
  // A code that came later is still a refusal.
  EXPECT_EQ(DecodeRefusal("\x08\x63\x12\x02no").value(), (Refusal{RefusalCode::kOther, "no"}));
  // A kind of answer that came later is one that nobody understands, and not damage.
  const AnswerPiece later{7, static_cast<AnswerKind>(99), 0, "bytes"};
  EXPECT_TRUE(Same(DecodeToHub(Bytes(ToHub(later))).value(),
                   ToHub(AnswerPiece{7, AnswerKind::kUnknown, 0, "bytes"})));
}

// A node of a version without features has none, whatever we can do.
TEST(Codec, AnOldGreetingNamesNoFeatures) {
  Greeting old{"1.0",       kProtocol, kProtocol,
               Role::kNode, 7,         "nonce",
               "proof",     "n1",      std::string(kInstanceBytes, 'i'),
               {}};
  EXPECT_EQ(DecodeGreeting(Bytes(old)).value(), old);
  EXPECT_EQ(DecodeGreeting(Bytes(old) + "\x52\x00"s).value(), old);  // field 10, empty
  EXPECT_EQ(Greeting().features, OwnFeatures());
}

TEST(Greeting, BothAgreeOnTheNewestProtocol) {
  EXPECT_EQ(CommonProtocol(kProtocol, kOldestProtocol), kProtocol);
  EXPECT_EQ(CommonProtocol(kProtocol + 1, kProtocol), kProtocol);
  EXPECT_EQ(CommonProtocol(kProtocol + 2, kProtocol + 1), std::nullopt);
  EXPECT_EQ(CommonProtocol(kOldestProtocol - 1, kOldestProtocol - 1), std::nullopt);
}

// The bytes of version 1, which its successor must read.
TEST(Codec, BytesAreFixed) {
  EXPECT_EQ(Bytes(ToNode(Stop{Epoch(1), JobId(300), {}})), "\x22\x05\x08\x01\x10\xac\x02"s);
  EXPECT_EQ(Bytes(ToNode(Lease{Epoch(1), JobId(2), Attempt(1), {}, {{5, 2}}, {"a", "bc"}})),
            "\x12\x1a\x08\x01\x10\x02\x18\x01\x22\x03\x08\xe8\x07\x2a\x02\x05\x02"
            "\x32\x09\x0a\x02\x01\x02\x12\x03"
            "abc"s);
  Ends ends{1, {AttemptEnd{.ref = {JobId(2), 5, Attempt(1)}, .slot = 1, .wall = {3}}}, {nullptr}};
  ends.ends.push_back(ends.ends[0]);
  ends.outputs.push_back(nullptr);
  ends.ends[1].ref.index = 4;
  EXPECT_EQ(
      Bytes(ToHub(ends)),
      "\x12\x13\x0a\x02\x02\x02\x12\x02\x0a\x01\x32\x02\x01\x01\x42\x02\x03\x03\xe8\x01\x01"s);
}

}  // namespace
}  // namespace spate::wire
