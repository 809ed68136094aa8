#include "link/channels.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>

#include "link/testing_link.h"
#include "os/file.h"
#include "wire/limits.h"

namespace spate::link {
namespace {

using namespace std::literals;
using testing::BytesOf;
using testing::End;
using testing::FrameOf;
using testing::LinkTest;
using testing::RawPeer;
using wire::FrameType;
using wire::ToHub;
using wire::ToNode;
using Why = Ended::Why;

constexpr size_t kMegabyte = 1 << 20;

AttemptRef RefOf(uint32_t index) { return {JobId(1), index, Attempt(1)}; }

class ChannelsTest : public LinkTest {
 protected:
  // A hub's and a node's channel that speak to each other.
  void Open(const ConnectionLimits& limits = {}, const BacklogLimits& backlog = {},
            uint64_t longest_stream = UINT64_MAX, std::shared_ptr<OutputMemory> memory = nullptr) {
    Connect(hub_end_, node_end_, true, limits);
    hub_ = std::make_unique<NodeChannelTcp>(
        std::move(hub_end_.connection), Spool("hub-"),
        ChannelEvents{.closed = hub_end_.Events().closed, .silent = nullptr}, std::move(memory));
    node_ = std::make_unique<HubChannelTcp>(
        std::move(node_end_.connection),
        HubChannelTcp::Events{.closed = node_end_.Events().closed,
                              .silent = nullptr,
                              .backlogged = [this](bool is) { backlogs_.push_back(is); }},
        backlog, longest_stream);
    hub_->OnMessage([this](ToHub message) { to_hub_.push_back(std::move(message)); });
    node_->OnMessage([this](ToNode message) { to_node_.push_back(std::move(message)); });
  }
  // The hub's channel, and something that is no node.
  void OpenRaw(RawPeer& peer, std::function<bool(const AttemptRef&)> wants = nullptr) {
    LinkTest::OpenRaw(hub_end_, peer);
    hub_ = std::make_unique<NodeChannelTcp>(
        std::move(hub_end_.connection), Spool("hub-"),
        ChannelEvents{
            .closed = hub_end_.Events().closed, .silent = nullptr, .wants = std::move(wants)});
    hub_->OnMessage([this](ToHub message) { to_hub_.push_back(std::move(message)); });
  }
  std::string Spool(const std::string& name) { return dir_.Path(name); }
  // How many files the receiver has.
  size_t Files() {
    auto entries = os::ListDir(dir_.path()).value();
    return std::ranges::count_if(entries, [](auto& e) { return e.name.starts_with("hub-"); });
  }

  // A stream in a file at the node, of bytes that differ from place to place.
  OutputStream FileOf(const std::string& name, size_t size) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 1000);
    return {"", dir_.Write(name, bytes), size};
  }
  static bool Same(const std::string& a, const std::string& b) {
    auto x = os::OpenRead(a).value(), y = os::OpenRead(b).value();
    for (uint64_t at = 0;; at += kMegabyte) {
      std::string left = os::ReadAt(x.get(), at, kMegabyte, a).value();
      if (left != os::ReadAt(y.get(), at, kMegabyte, b).value()) return false;
      if (left.empty()) return true;
    }
  }
  static wire::Ends EndsOf(uint64_t number, std::vector<TaskOutput> outputs) {
    wire::Ends ends{.number = number};
    for (size_t i = 0; i < outputs.size(); ++i) {
      ends.ends.push_back({.ref = RefOf(static_cast<uint32_t>(i))});
      ends.outputs.push_back(std::make_shared<const TaskOutput>(std::move(outputs[i])));
    }
    return ends;
  }
  const wire::Ends& EndsAt(size_t i) { return std::get<wire::Ends>(to_hub_.at(i)); }

  os::TempDir dir_;
  End hub_end_, node_end_;  // what became of them
  std::unique_ptr<NodeChannelTcp> hub_;
  std::unique_ptr<HubChannelTcp> node_;
  std::vector<ToHub> to_hub_;
  std::vector<ToNode> to_node_;
  std::vector<bool> backlogs_;
};

TEST_F(ChannelsTest, MessagesGoBothWaysInOrder) {
  Open();
  wire::Lease lease{Epoch(1), JobId(2), Attempt(1), {}, {{0, 3}}, {}};
  for (char c : {'a', 'b', 'c'}) lease.rows.emplace_back(kMegabyte, c);
  hub_->Send(wire::Recall{Epoch(1), JobId(1)});
  hub_->Send(std::move(lease));
  hub_->Send(wire::ReportsTaken{5});
  node_->Send(wire::Returned{1, JobId(2), Attempt(1), {{0, 1}}});
  node_->Send(EndsOf(2, {{{"hi", "", 2}, {}}}));
  RunUntil([&] { return to_node_.size() == 5 && to_hub_.size() == 2; });
  EXPECT_TRUE(std::holds_alternative<wire::Recall>(to_node_[0]));
  for (uint32_t i = 0; i < 3; ++i) {
    const auto& piece = std::get<wire::Lease>(to_node_[1 + i]);
    EXPECT_EQ(piece.tasks, (std::vector<TaskRange>{{i, 1}}));
    EXPECT_EQ(piece.rows[0].size(), kMegabyte);
  }
  EXPECT_EQ(std::get<wire::ReportsTaken>(to_node_[4]).number, 5u);
  EXPECT_EQ(std::get<wire::Returned>(to_hub_[0]).number, 1u);
  EXPECT_EQ(EndsAt(1).outputs[0]->out.bytes, "hi");
}

// ----------------------------------------------------------------------------------- long output

// In use on the heap; 0 where another allocator has taken its place (sanitizers).
size_t HeapBytes() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(ChannelsTest, LongOutputIsHandedOverInASharedFolder) {
  Open();
  const std::string folder = dir_.Path("shared");
  ASSERT_TRUE(os::MakeDir(folder));
  node_->SetHandover(folder);
  hub_->SetHandover(folder);
  // One is there already, one is moved there, one cannot be.
  OutputStream there = FileOf("shared/" + HandoverName(RefOf(0), 1), 300'000);
  OutputStream moved = FileOf("moved", 200'000);
  node_->Send(EndsOf(1, {{there, moved}}));
  RunUntil([&] { return to_hub_.size() == 1 || hub_end_.ended; });
  ASSERT_FALSE(hub_end_.ended) << hub_end_.Why();
  const TaskOutput& output = *EndsAt(0).outputs[0];
  EXPECT_EQ(output.out.spool, there.spool);
  EXPECT_EQ(output.err.spool, os::JoinPath(folder, HandoverName(RefOf(0), 2)));
  EXPECT_FALSE(os::Exists(moved.spool));
  ASSERT_TRUE(os::RemoveTree(folder));
  OutputStream sent = FileOf("sent", 200'000);
  node_->Send(EndsOf(2, {{sent, {}}}));
  RunUntil([&] { return to_hub_.size() == 2 || hub_end_.ended; });
  ASSERT_FALSE(hub_end_.ended) << hub_end_.Why();
  EXPECT_TRUE(Same(EndsAt(1).outputs[0]->out.spool, sent.spool));
}

// A node cannot make the hub take a file that is not what its end tells of.
TEST_F(ChannelsTest, AFileOfAnotherLengthIsNotTakenOver) {
  Open();
  const std::string folder = dir_.Path("shared");
  ASSERT_TRUE(os::MakeDir(folder));
  node_->SetHandover(folder);
  hub_->SetHandover(folder);
  OutputStream there = FileOf("shared/" + HandoverName(RefOf(0), 1), 300'000);
  there.total = 299'999;
  node_->Send(EndsOf(1, {{there, {}}}));
  RunUntil([&] { return hub_end_.ended; });
  EXPECT_TRUE(to_hub_.empty());
}

TEST_F(ChannelsTest, LongOutputTakesNoMemory) {
  Open();
  constexpr size_t kSize = 100 * kMegabyte;
  std::string original;
  {
    wire::Ends ends = EndsOf(1, {{FileOf("out", kSize), {"e", "", 1}}});
    original = ends.outputs[0]->out.spool;
    malloc_trim(0);
    node_->Send(std::move(ends));
  }
  node_->Send(wire::Returned{2, JobId(1), Attempt(1), {{9, 1}}});
  size_t before = HeapBytes();
  size_t most_heap = 0, most_queued = 0;
  RunUntil([&] {
    most_heap = std::max(most_heap, HeapBytes());
    most_queued = std::max(most_queued, node_->connection().queued());
    return to_hub_.size() == 2 || hub_end_.ended;
  });
  ASSERT_FALSE(hub_end_.ended) << hub_end_.Why();
  EXPECT_LT(most_heap - std::min(before, most_heap), 4 * kMegabyte);
  EXPECT_LT(most_queued, kMegabyte);
  const TaskOutput& output = *EndsAt(0).outputs[0];
  EXPECT_EQ(output.out.total, kSize);
  EXPECT_TRUE(Same(output.out.spool, original));
  EXPECT_EQ(output.err.bytes, "e");
  EXPECT_EQ(std::get<wire::Returned>(to_hub_[1]).number, 2u);
  // The last owner removes it.
  EXPECT_EQ(Files(), 1u);
  TaskOutputPtr kept = EndsAt(0).outputs[0];
  to_hub_.clear();
  EXPECT_EQ(Files(), 1u);
  kept.reset();
  EXPECT_EQ(Files(), 0u);
}

TEST_F(ChannelsTest, OutputOfManyEnds) {
  Open();
  std::vector<TaskOutput> outputs;
  for (int i = 0; i < 5; ++i) {
    outputs.push_back({FileOf(fmt::format("{}.out", i), 70'000 + 1000 * i),
                       i % 2 == 0 ? OutputStream{} : FileOf(fmt::format("{}.err", i), 300'000)});
    outputs.emplace_back();
  }
  wire::Ends ends = EndsOf(4, outputs);
  node_->Send(ends);
  size_t got = 0;
  RunUntil([&] {
    got = 0;
    for (size_t i = 0; i < to_hub_.size(); ++i) got += EndsAt(i).ends.size();
    return got == 10 || hub_end_.ended;
  });
  ASSERT_FALSE(hub_end_.ended) << hub_end_.Why();
  EXPECT_EQ(EndsAt(to_hub_.size() - 1).number, 4u);
  size_t at = 0;
  for (size_t i = 0; i < to_hub_.size(); ++i) {
    for (const TaskOutputPtr& output : EndsAt(i).outputs) {
      const TaskOutput& sent = outputs[at++];
      if (sent.out.spool.empty()) continue;
      EXPECT_TRUE(Same(output->out.spool, sent.out.spool));
      EXPECT_EQ(output->err.total, sent.err.total);
      if (!sent.err.spool.empty()) EXPECT_TRUE(Same(output->err.spool, sent.err.spool));
    }
  }
  EXPECT_EQ(Files(), 7u);
}

TEST_F(ChannelsTest, WhatCannotBeReadDoesNotHoldItsEndBack) {
  Open();
  OutputStream gone{"", dir_.Path("gone"), 100'000};
  OutputStream shorter = FileOf("short", 200'000);
  shorter.total = 300'000;
  node_->Send(EndsOf(1, {{gone, shorter}}));
  RunUntil([&] { return to_hub_.size() == 1; });
  EXPECT_EQ(EndsAt(0).outputs[0]->out.total, 0u);
  EXPECT_EQ(EndsAt(0).outputs[0]->err.total, 200'000u);
  EXPECT_TRUE(Same(EndsAt(0).outputs[0]->err.spool, shorter.spool));
  EXPECT_EQ(EndsAt(0).ends[0].cause, Cause::kNode);
  const std::string& note = EndsAt(0).ends[0].note;
  EXPECT_NE(note.find("stdout is not whole: cannot open"), std::string::npos) << note;
  EXPECT_NE(note.find("stderr is not whole: its file ends after 200000 bytes"), std::string::npos)
      << note;
}

TEST_F(ChannelsTest, LongOutputInMemory) {
  constexpr size_t kRoom = 5 * kMegabyte;
  auto memory = std::make_shared<OutputMemory>(kRoom);
  Open({}, {}, UINT64_MAX, memory);
  std::vector<std::string> sent;
  // Bounds of what goes with its end, of a piece, and of the room there is.
  for (size_t size : {kInlineOutput, kInlineOutput + 1, kMegabyte, kMegabyte + 1, 3 * kMegabyte}) {
    std::string& bytes = sent.emplace_back(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 1000);
    node_->Send(EndsOf(sent.size(), {{{bytes, "", size}, {"e", "", 1}}}));
  }
  RunUntil([&] { return to_hub_.size() == sent.size(); });
  for (size_t i = 0; i < sent.size(); ++i) {
    const TaskOutput& output = *EndsAt(i).outputs[0];
    EXPECT_EQ(output.out.total, sent[i].size());
    EXPECT_EQ(output.err.bytes, "e");
    const bool is_last = i + 1 == sent.size();  // has no room
    EXPECT_EQ(output.out.spool.empty(), !is_last);
    EXPECT_EQ((is_last ? os::ReadFile(output.out.spool, 4 * kMegabyte).value() : output.out.bytes),
              sent[i]);
  }
  EXPECT_EQ(Files(), 1u);
  EXPECT_LE(memory->used(), kRoom);
  EXPECT_GT(memory->used(), kMegabyte);
  to_hub_.clear();
  EXPECT_EQ(memory->used(), 0u);
  EXPECT_EQ(Files(), 0u);
}

// A hub of an older version takes so much of a stream; what is longer is no success.
TEST_F(ChannelsTest, AStreamAtTheLimitOfAnOldHub) {
  Open({}, {}, 300'000);
  OutputStream at = FileOf("at", 300'000), above = FileOf("above", 300'001);
  node_->Send(EndsOf(1, {{at, {}}}));
  node_->Send(EndsOf(2, {{above, {}}}));
  RunUntil([&] { return to_hub_.size() == 2; });
  EXPECT_EQ(EndsAt(0).ends[0].cause, Cause::kSuccess);
  EXPECT_TRUE(Same(EndsAt(0).outputs[0]->out.spool, at.spool));
  EXPECT_EQ(EndsAt(1).ends[0].cause, Cause::kNode);
  EXPECT_EQ(EndsAt(1).outputs[0]->out.total, 300'000u);
  EXPECT_EQ(EndsAt(1).ends[0].note,
            "stdout is not whole: the hub is of an older version, which takes 300,000 bytes of "
            "300,001 at most");
}

TEST_F(ChannelsTest, FilesOfTasksGoAsOutputDoes) {
  Open();
  OutputStream files = FileOf("files", 300'000);
  OutputStream gone{"", dir_.Path("gone"), 100'000};
  node_->Send(EndsOf(1, {{{"o", "", 1}, FileOf("err", 100'000), files}, {{}, {}, {"f", "", 1}}}));
  wire::Ends lost = EndsOf(2, {{{}, {}, gone}});
  node_->Send(std::move(lost));
  RunUntil([&] {
    return (!to_hub_.empty() && EndsAt(to_hub_.size() - 1).number == 2) || hub_end_.ended;
  });
  ASSERT_FALSE(hub_end_.ended) << hub_end_.Why();
  EXPECT_TRUE(Same(EndsAt(0).outputs[0]->files.spool, files.spool));
  EXPECT_EQ(EndsAt(0).outputs[0]->err.total, 100'000u);
  EXPECT_EQ(EndsAt(0).outputs[1]->files.bytes, "f");
  // Without its files a task has not succeeded; that is its node's failure.
  const AttemptEnd& end = EndsAt(to_hub_.size() - 1).ends[0];
  EXPECT_EQ(end.cause, Cause::kNode);
  EXPECT_NE(end.note.find("files is not whole: cannot open"), std::string::npos) << end.note;
}

TEST_F(ChannelsTest, AReportThatComesAgainOverANewConnection) {
  wire::Ends ends = EndsOf(1, {{FileOf("out", 4 * kMegabyte), {}}});
  Open();
  node_->Send(ends);
  RunUntil([&] { return Files() == 1; });
  hub_.reset();  // in the middle
  EXPECT_EQ(Files(), 0u);
  RunUntil([&] { return node_end_.ended.has_value(); });
  node_.reset();
  hub_end_ = {};
  node_end_ = {};
  Open();
  node_->Send(ends);
  RunUntil([&] { return to_hub_.size() == 1; });
  EXPECT_TRUE(Same(EndsAt(0).outputs[0]->out.spool, ends.outputs[0]->out.spool));
}

// Frames that may come from a program that is not a node of ours.
std::string PieceFrame(uint32_t index, uint8_t stream, uint64_t offset, std::string_view bytes) {
  return FrameOf(FrameType::kOutputPiece,
                 BytesOf(wire::OutputPiece{RefOf(index), stream, offset, bytes}));
}

std::string EndsFrame(uint32_t index, uint64_t out, uint64_t err) {
  wire::Ends message{1, {{.ref = RefOf(index)}}, {}};
  message.outputs.push_back(
      std::make_shared<const TaskOutput>(TaskOutput{{"", "", out}, {"", "", err}}));
  return FrameOf(FrameType::kToHub, BytesOf(ToHub(std::move(message))));
}

TEST_F(ChannelsTest, PiecesThatDoNotFitAreABreach) {
  auto piece = PieceFrame;
  auto ends = EndsFrame;
  struct Case {
    std::string bytes;
    const char* text;
  };
  const Case cases[] = {
      {piece(0, 1, 5, "abc"), "offset is not where"},
      {piece(0, 1, 0, "abc") + piece(0, 1, 4, "d"), "offset is not where"},
      {piece(0, 1, 0, "abc") + piece(0, 1, 2, "d"), "offset is not where"},
      {piece(0, 1, 0, "abc") + piece(0, 2, 3, "d"), "offset is not where"},
      {piece(0, 1, 0, "abc") + piece(1, 1, 0, "d"), "ref is another"},
      {piece(0, 1, 0, "abc") + piece(1, 2, 0, "d"), "ref is another"},
      {piece(0, 1, wire::kWireLimits.size, "d"), "offset is not where"},
      {ends(0, 3, 0), "not what came in pieces"},
      {piece(0, 1, 0, "abc") + ends(0, 4, 0), "not what came in pieces"},
      {piece(0, 1, 0, "abc") + ends(0, 0, 3), "not what came in pieces"},
      {piece(0, 1, 0, "abc") + ends(1, 3, 0), "not what came in pieces"},
      {piece(0, 1, 0, "abc") + piece(0, 2, 0, "d") + ends(0, 3, 0), "lacks what came in pieces"},
      {piece(0, 1, 0, "abc") + ends(0, 0, 0), "lacks what came in pieces"},
      {piece(0, 1, 0, "abc") + FrameOf(FrameType::kToHub, "\xff"), "cannot be parsed"},
      {FrameOf(FrameType::kOutputPiece, "\xff"), "is cut off"},
  };
  for (const Case& each : cases) {
    RawPeer peer;
    hub_end_ = {};
    OpenRaw(peer);
    peer.stream->Send(each.bytes);
    RunUntil([&] { return hub_end_.ended || peer.closed; });
    ASSERT_TRUE(peer.Refusal()) << each.text;
    EXPECT_EQ(peer.Refusal()->code, wire::RefusalCode::kBreach);
    EXPECT_NE(peer.Refusal()->reason.find(each.text), std::string::npos) << peer.Refusal()->reason;
    hub_.reset();
    EXPECT_EQ(Files(), 0u) << each.text;
  }
  EXPECT_TRUE(to_hub_.empty());
  // And one that fits, begun anew on the way.
  RawPeer peer;
  hub_end_ = {};
  OpenRaw(peer);
  peer.stream->Send(piece(0, 1, 0, "ab") + piece(0, 2, 0, "e") + piece(0, 1, 0, "ab") +
                    piece(0, 1, 2, "c") + ends(0, 3, 1));
  RunUntil([&] { return to_hub_.size() == 1; });
  EXPECT_EQ(os::ReadFile(EndsAt(0).outputs[0]->out.spool, 100).value(), "abc");
  EXPECT_EQ(os::ReadFile(EndsAt(0).outputs[0]->err.spool, 100).value(), "e");
}

// Output of an attempt that the node does not have is not kept, but its end is heard.
TEST_F(ChannelsTest, OutputThatNobodyWantsTakesNoDisk) {
  RawPeer peer;
  OpenRaw(peer, [](const AttemptRef& ref) { return ref.index == 1; });
  peer.stream->Send(PieceFrame(0, 1, 0, "ab") + PieceFrame(0, 2, 0, "e") +
                    PieceFrame(0, 1, 2, "c"));
  peer.stream->Send(EndsFrame(0, 3, 1));
  RunUntil([&] { return to_hub_.size() == 1; });
  EXPECT_EQ(Files(), 0u);
  EXPECT_EQ(EndsAt(0).outputs[0], nullptr);
  peer.stream->Send(PieceFrame(1, 1, 0, "ab") + EndsFrame(1, 2, 0));
  RunUntil([&] { return to_hub_.size() == 2; });
  EXPECT_EQ(os::ReadFile(EndsAt(1).outputs[0]->out.spool, 100).value(), "ab");
}

// The end says why, and is no success. The node stays connected, and what comes next is kept.
TEST_F(ChannelsTest, OutputThatTheDiskDoesNotTake) {
  RawPeer peer;
  LinkTest::OpenRaw(hub_end_, peer);
  hub_ = std::make_unique<NodeChannelTcp>(std::move(hub_end_.connection),
                                          dir_.Path("folder/spool-"), ChannelEvents{});
  hub_->OnMessage([this](ToHub message) { to_hub_.push_back(std::move(message)); });
  peer.stream->Send(PieceFrame(0, 1, 0, "ab") + PieceFrame(0, 1, 2, "c") +
                    PieceFrame(0, 2, 0, "e") + EndsFrame(0, 3, 1));
  RunUntil([&] { return to_hub_.size() == 1 || peer.closed; });
  ASSERT_FALSE(peer.closed);
  const AttemptEnd& end = EndsAt(0).ends[0];
  EXPECT_EQ(end.cause, Cause::kCheck);
  EXPECT_NE(end.note.find("stdout is not whole: cannot create"), std::string::npos) << end.note;
  EXPECT_NE(end.note.find("; stderr is not whole: cannot create"), std::string::npos) << end.note;
  EXPECT_EQ(EndsAt(0).outputs[0]->out.total, 0u);

  ASSERT_TRUE(os::MakeDirs(dir_.Path("folder")));
  peer.stream->Send(PieceFrame(1, 1, 0, "abc") + EndsFrame(1, 3, 0));
  RunUntil([&] { return to_hub_.size() == 2; });
  EXPECT_EQ(EndsAt(1).ends[0].cause, Cause::kSuccess);
  EXPECT_EQ(os::ReadFile(EndsAt(1).outputs[0]->out.spool, 100).value(), "abc");
}

// The rest of the disk is for others: a hub that cannot write its journal ends.
TEST_F(ChannelsTest, OutputLeavesRoomOnTheDisk) {
  const os::Space space = os::SpaceOf(dir_.path()).value();
  OutputSpool spool(dir_.Path("hub-"), {.bytes = space.total, .of_total = 1});
  ASSERT_TRUE(spool.Add({RefOf(0), 1, 0, "abc"}));
  EXPECT_EQ(Files(), 0u);
  ASSERT_TRUE(spool.Add({RefOf(0), 1, 3, "def"}));
  wire::Ends ends{1, {{.ref = RefOf(0)}}, {}};
  ends.outputs.push_back(std::make_shared<const TaskOutput>(TaskOutput{{"", "", 6}, {}}));
  ASSERT_TRUE(spool.Claim(ends));
  EXPECT_EQ(ends.ends[0].cause, Cause::kCheck);
  EXPECT_TRUE(ends.ends[0].note.starts_with("stdout is not whole: no room to keep it in '"))
      << ends.ends[0].note;
}

// A piece that may wait changes nothing, and is added later; here it is never.
TEST_F(ChannelsTest, OutputWaitsForRoomOnTheDisk) {
  const os::Space space = os::SpaceOf(dir_.path()).value();
  OutputSpool spool(dir_.Path("hub-"), {.bytes = space.total, .of_total = 1},
                    std::make_shared<OutputMemory>(4));
  ASSERT_TRUE(spool.Add({RefOf(0), 1, 0, "abc"}, true, true));  // in memory
  for (int i = 0; i < 2; ++i) {
    const Status added = spool.Add({RefOf(0), 1, 3, "def"}, true, true);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().kind, ErrorKind::kExhausted) << added.error().message;
  }
  EXPECT_EQ(Files(), 0u);
  wire::Ends ends{1, {{.ref = RefOf(0)}}, {}};
  ends.outputs.push_back(std::make_shared<const TaskOutput>(TaskOutput{{"", "", 3}, {}}));
  ASSERT_TRUE(spool.Claim(ends));
  EXPECT_EQ(ends.ends[0].cause, Cause::kSuccess);
  EXPECT_EQ(ends.outputs[0]->out.bytes, "abc");
}

// --------------------------------------------------------------------------------------- windows

TEST_F(ChannelsTest, ASlowHubSlowsTheNode) {
  Open({}, {.live = 100'000, .memory = kMegabyte, .spooled = 100 * kMegabyte});
  hub_->connection().PauseReading(true);
  auto live = [&] { node_->Send(wire::Live{RefOf(0), 1, std::string(10'000, 'l')}); };
  uint64_t number = 0;
  auto report = [&] {
    node_->Send(EndsOf(++number, {{{std::string(50'000, 'o'), "", 50'000}, {}}}));
  };
  // The window first, then the sockets' buffers: reports until the node should pause.
  RunUntil([&] {
    report();
    return node_->Backlogged();
  });
  EXPECT_EQ(backlogs_, std::vector{true});
  EXPECT_LT(node_->connection().queued(), kMegabyte);
  uint64_t dropped = node_->news_dropped();
  live();
  node_->Send(wire::Running{RefOf(0), 1});
  node_->Send(wire::Slow{RefOf(0)});
  EXPECT_EQ(node_->news_dropped(), dropped + 3);
  // Messages other than news are kept.
  node_->Send(wire::Paused{"the link is slow"});
  report();
  hub_->connection().PauseReading(false);
  RunUntil([&] { return to_hub_.size() == number + 1; });
  EXPECT_EQ(backlogs_, (std::vector{true, false}));
  for (uint64_t i = 0; i + 1 < number; ++i) EXPECT_EQ(EndsAt(i).number, i + 1);
  EXPECT_TRUE(std::holds_alternative<wire::Paused>(to_hub_[number - 1]));
  EXPECT_EQ(EndsAt(number).number, number);
  live();
  RunUntil([&] { return to_hub_.size() == number + 2; });
}

TEST_F(ChannelsTest, LiveOutputIsDroppedFirst) {
  Open({}, {.live = 100'000, .memory = 50 * kMegabyte, .spooled = 100 * kMegabyte});
  hub_->connection().PauseReading(true);
  RunUntil([&] {
    node_->Send(wire::Live{RefOf(0), 1, std::string(10'000, 'l')});
    return node_->news_dropped() > 0;
  });
  EXPECT_FALSE(node_->Backlogged());
  node_->Send(wire::Running{RefOf(0), 1});
  EXPECT_EQ(node_->news_dropped(), 1u);
}

TEST_F(ChannelsTest, OutputInFilesIsABacklogToo) {
  Open({}, {.live = kMegabyte, .memory = kMegabyte, .spooled = 3 * kMegabyte});
  hub_->connection().PauseReading(true);
  node_->Send(EndsOf(1, {{FileOf("1", 20 * kMegabyte), {}}}));
  EXPECT_TRUE(node_->Backlogged());
  hub_->connection().PauseReading(false);
  RunUntil([&] { return to_hub_.size() == 1; });
  EXPECT_EQ(backlogs_, (std::vector{true, false}));
}

TEST_F(ChannelsTest, ANodeThatTakesNothingIsCutOffAlone) {
  ConnectionLimits limits;
  limits.stream.queue = 8 * kMegabyte;
  End end;
  RawPeer peer;
  LinkTest::OpenRaw(end, peer, limits);
  peer.stream->PauseReading(true);
  NodeChannelTcp stuck(std::move(end.connection), Spool("hub-stuck-"),
                       {.closed = end.Events().closed, .silent = nullptr});
  stuck.OnMessage([](const ToHub&) {});
  Open();
  size_t sent = 0;
  wire::Lease lease{Epoch(1), JobId(2), Attempt(1), {}, {{0, 1}}, {std::string(kMegabyte, 'r')}};
  RunUntil([&] {
    if (sent < 40) {
      ++sent;
      stuck.Send(lease);
      hub_->Send(wire::ReportsTaken{sent});
    }
    return to_node_.size() == 40 && end.ended.has_value();
  });
  EXPECT_TRUE(end.IsEnded(Why::kOverrun)) << end.Why();
  EXPECT_FALSE(hub_end_.ended);
}

TEST_F(ChannelsTest, MayEndInsideTheirReceivers) {
  Open();
  bool hub_done = false, node_done = false;
  hub_->OnMessage([&](const ToHub&) {
    hub_.reset();
    hub_done = true;
  });
  node_->Send(wire::Paused{});
  node_->Send(wire::Paused{});
  RunUntil([&] { return hub_done; });
  node_.reset();
  hub_end_ = {};
  node_end_ = {};
  Open();
  node_->OnMessage([&](const ToNode&) {
    node_.reset();
    node_done = true;
  });
  hub_->Send(wire::ReportsTaken{1});
  hub_->Send(wire::ReportsTaken{2});
  RunUntil([&] { return node_done; });
}

TEST_F(ChannelsTest, SettingsThatNoFrameHolds) {
  Open();
  auto settings = std::make_shared<JobSettings>();
  settings->cwd = "/";
  settings->environment.assign(17, std::string(kMegabyte, 'e'));
  hub_->Send(wire::OpenJob{JobId(1), settings});
  RunUntil([&] { return node_end_.ended.has_value(); });
  ASSERT_TRUE(node_end_.IsEnded(Why::kRefused)) << node_end_.Why();
  EXPECT_NE(node_end_.Why().find("too long to be sent"), std::string::npos) << node_end_.Why();
}

}  // namespace
}  // namespace spate::link
