// Constants in parts: what a master keeps, what its side sends, and what a slave's side waits for.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doors/mw/run/constant_server.h"
#include "doors/mw/run/master_constants.h"
#include "doors/mw/run/slave_constants.h"
#include "os/fake_loop.h"
#include "os/file.h"

namespace spate::mw {
namespace {

std::string Text(size_t size) {
  std::string text(size, ' ');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * 7 % 26);
  return text;
}

std::shared_ptr<const void> AsText(std::string_view bytes) {
  return std::make_shared<const std::string>(bytes);
}

const std::string& TextOf(detail::constant_value& of) {
  return *static_cast<const std::string*>(of.get(typeid(std::string), AsText));
}

// ---- The master's ------------------------------------------------------------------------------

TEST(MasterConstantsTest, InMemoryAndInFiles) {
  auto all = MasterConstants::Make({.memory = 3'000'000});
  const std::string text = Text(2'500'000);
  auto near = all->Add(text).value(), far = all->Add(text).value();
  EXPECT_NE(near->id(), far->id());
  for (const auto& each : {near, far}) {
    EXPECT_EQ(each->size(), text.size());
    EXPECT_TRUE(each->Read(0, 10).value() == text.substr(0, 10));
    EXPECT_TRUE(each->Read(2'400'000, 1 << 20).value() == text.substr(2'400'000));
    EXPECT_TRUE(TextOf(*each) == text);
    EXPECT_EQ(all->Find(NumberOf(each->id())), each);
    EXPECT_TRUE(all->Has(*each));
  }
  const JobId number = NumberOf(near->id());
  near.reset();
  EXPECT_EQ(all->Find(number), nullptr);
  near = all->Add(text).value();
  EXPECT_NE(NumberOf(near->id()), number) << "a number comes once";
}

TEST(MasterConstantsTest, OnesOfAnotherMasterAreNotKnown) {
  auto all = MasterConstants::Make(), other = MasterConstants::Make();
  auto one = all->Add("1").value(), foreign = other->Add("1").value();
  EXPECT_EQ(NumberOf(one->id()), NumberOf(foreign->id()));
  EXPECT_NE(one->id(), foreign->id());
  EXPECT_FALSE(all->Has(*foreign));
}

TEST(MasterConstantsTest, Limits) {
  auto all = MasterConstants::Make({.bytes = 10, .count = 2});
  EXPECT_EQ(all->Add(Text(11)).error().kind, ErrorKind::kInvalid);
  auto one = all->Add(Text(10)).value(), two = all->Add("").value();
  auto three = all->Add("");
  ASSERT_FALSE(three);
  EXPECT_NE(three.error().message.find("there are 2 constants"), std::string::npos);
  two.reset();
  EXPECT_TRUE(all->Add(""));
}

TEST(MasterConstantsTest, NewOnesFollowThoseOfAnEarlierLife) {
  auto old = MasterConstants::Make();
  auto first = old->Add("1").value(), second = old->Add("2").value();
  auto all = MasterConstants::Make();
  auto again = all->Restore(second->id(), "2").value();
  EXPECT_EQ(again->id(), second->id());
  EXPECT_FALSE(all->Restore(second->id(), "2"));
  EXPECT_FALSE(all->Restore(1, "2")) << "a job may have this number";
  auto next = all->Add("3").value();
  EXPECT_GT(NumberOf(next->id()).value, NumberOf(second->id()).value);
}

// ---- On the way --------------------------------------------------------------------------------

class FakePort final : public hub::NodePort {
 public:
  explicit FakePort(std::vector<wire::ToNode>& sent) : sent_(sent) {}
  void Send(wire::ToNode message) override { sent_.push_back(std::move(message)); }
  void OnMessage(std::function<void(wire::ToHub)>) override {}
  void Refuse(const wire::Refusal&) override {}
  void Close() override {}

 private:
  std::vector<wire::ToNode>& sent_;
};

class ConstantServerTest : public testing::Test {
 protected:
  struct Slave {
    explicit Slave(ConstantServer& of)
        : port(sent), line(of, port, [this](uint64_t bytes) { begun.push_back(bytes); }) {}
    std::vector<wire::ToNode> sent;
    std::vector<uint64_t> begun;
    FakePort port;
    ConstantServer::Line line;
    std::vector<size_t> pieces() const {
      std::vector<size_t> sizes;
      for (const auto& each : sent) {
        if (const auto* piece = std::get_if<wire::PutPiece>(&each)) {
          sizes.push_back(piece->bytes.size());
        }
      }
      return sizes;
    }
    size_t closed() const {
      return static_cast<size_t>(std::ranges::count_if(sent, [](const wire::ToNode& each) {
        return std::holds_alternative<wire::CloseJob>(each);
      }));
    }
  };
  const std::shared_ptr<MasterConstants> all_ = MasterConstants::Make();
  os::FakeLoop loop_;
  ConstantServer server_{loop_, all_};
};

TEST_F(ConstantServerTest, PiecesAreSentAsTheyAreAskedFor) {
  auto one = all_->Add(Text(kConstantPiece + 5)).value();
  const JobId number = NumberOf(one->id());
  Slave slave(server_);
  slave.line.RequestPiece({number, 0});
  slave.line.RequestPiece({number, 1});
  slave.line.RequestPiece({number, 2});  // there is none
  slave.line.RequestPiece({JobId(kConstantMark | 77), 0});
  loop_.RunUntilIdle();
  EXPECT_EQ(slave.pieces(), (std::vector<size_t>{kConstantPiece, 5, 0, 0}));
  EXPECT_EQ(slave.begun, std::vector<uint64_t>{kConstantPiece + 5});
}

TEST_F(ConstantServerTest, OnlyAFewPiecesAreOnTheirWay) {
  auto one = all_->Add(Text(kConstantPiece)).value();
  Slave slave(server_);
  for (int i = 0; i < 1000; ++i) slave.line.RequestPiece({NumberOf(one->id()), 0});
  loop_.RunUntilIdle();
  EXPECT_EQ(slave.pieces().size(), kPiecesAhead);
}

TEST_F(ConstantServerTest, ThoseWhoHaveADroppedOneHearOfIt) {
  auto one = all_->Add(Text(10)).value(), two = all_->Add(Text(10)).value();
  Slave has(server_), has_other(server_);
  auto gone = std::make_unique<Slave>(server_);
  has.line.RequestPiece({NumberOf(one->id()), 0});
  gone->line.RequestPiece({NumberOf(one->id()), 0});
  has_other.line.RequestPiece({NumberOf(two->id()), 0});
  loop_.RunUntilIdle();
  gone.reset();
  const JobId number = NumberOf(one->id());
  one.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(has.closed(), 1u);
  EXPECT_EQ(has_other.closed(), 0u);
  has.line.RequestPiece({number, 0});
  loop_.RunUntilIdle();
  EXPECT_EQ(has.pieces(), (std::vector<size_t>{10, 0})) << "it is answered that there is none";
  two.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(has.closed(), 1u);
  EXPECT_EQ(has_other.closed(), 1u);
}

// ---- The slave's -------------------------------------------------------------------------------

// A slave's constants and threads that wait for some; the test is the network.
class SlaveConstantsTest : public testing::Test {
 protected:
  SlaveConstantsTest() {
    constants_.Begin([this] { ++rings_; });
  }
  ~SlaveConstantsTest() override {
    constants_.End();
    for (std::thread& each : threads_) each.join();
  }
  struct Waits {
    std::string why;
    detail::constant_list held;
    std::atomic<bool> over{false};
  };
  // Awaits constants that are not here, in a thread.
  Waits& Await(std::vector<NamedConstant> named) {
    Waits& waits = *all_.emplace_back(std::make_unique<Waits>());
    threads_.emplace_back([this, &waits, named = std::move(named)] {
      ++began_;
      waits.why = constants_.Await(named, waits.held, [this] { return stopped_.load(); });
      waits.over = true;
    });
    while (began_ < static_cast<int>(threads_.size())) std::this_thread::yield();
    return waits;
  }
  static void Join(const Waits& waits) {
    while (!waits.over) std::this_thread::yield();
  }
  std::vector<uint32_t> Wants() {
    std::vector<uint32_t> pieces;
    for (const wire::WantPiece& each : constants_.Wants()) pieces.push_back(each.piece);
    return pieces;
  }
  std::vector<uint32_t> AwaitWants() {
    while (rings_ == 0) std::this_thread::yield();
    return Wants();
  }
  bool Put(JobId job, uint32_t piece, std::string bytes) {
    wire::ToNode message = wire::PutPiece{job, piece, std::move(bytes)};
    return constants_.Accept(message);
  }
  bool Close(JobId job) {
    wire::ToNode message = wire::CloseJob{job};
    return constants_.Accept(message);
  }

  SlaveConstants constants_;
  std::atomic<int> rings_{0}, began_{0};
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<Waits>> all_;
  std::vector<std::thread> threads_;
};

constexpr NamedConstant kSix{0x1'8000'0001, 5 * kConstantPiece + 3};
constexpr JobId kSixNumber{0x8000'0001};

TEST_F(SlaveConstantsTest, ManyThreadsGetOneByOneFetch) {
  const std::string text = Text(kSix.size);
  for (int i = 0; i < 5; ++i) Await({kSix});
  EXPECT_EQ(AwaitWants(), (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(Wants(), std::vector<uint32_t>()) << "as many as may be are on their way";
  for (uint32_t piece = 0; piece < 6; ++piece) {
    EXPECT_TRUE(Put(kSixNumber, piece, text.substr(piece * kConstantPiece, kConstantPiece)));
    EXPECT_EQ(Wants(), piece < 2 ? std::vector<uint32_t>{piece + 4} : std::vector<uint32_t>());
  }
  std::set<const void*> values;
  for (const auto& each : all_) {
    Join(*each);
    EXPECT_EQ(each->why, "");
    ASSERT_EQ(each->held.size(), 1u);
    EXPECT_EQ(each->held[0]->id(), kSix.id);
    EXPECT_TRUE(TextOf(*each->held[0]) == text);
    values.insert(&TextOf(*each->held[0]));
  }
  EXPECT_EQ(values.size(), 1u) << "the value is made once";
  detail::constant_list held;
  EXPECT_EQ(constants_.Await({&kSix, 1}, held, [] { return false; }), "") << "it is here";
  EXPECT_EQ(rings_, 1);
}

TEST_F(SlaveConstantsTest, OneAfterTheOther) {
  constexpr NamedConstant kOther{0x1'8000'0002, 2}, kNone{0x1'8000'0003, 0};
  const Waits& waits = Await({kSix, kNone, kOther});
  EXPECT_EQ(AwaitWants().size(), kPiecesAhead);
  EXPECT_TRUE(Put(JobId(0x8000'0002), 0, "ab")) << "nobody has asked for it";
  const std::string text = Text(kSix.size);
  for (uint32_t piece = 0; piece < 6; ++piece) {
    Put(kSixNumber, piece, text.substr(piece * kConstantPiece, kConstantPiece));
  }
  EXPECT_EQ(Wants(), std::vector<uint32_t>{0});
  Put(JobId(0x8000'0002), 0, "ab");
  Join(waits);
  ASSERT_EQ(waits.held.size(), 3u);
  EXPECT_EQ(TextOf(*waits.held[1]), "");
  EXPECT_EQ(TextOf(*waits.held[2]), "ab");
}

// The master answers so many questions at once, whatever they are about, and no more.
TEST_F(SlaveConstantsTest, QuestionsAboutAGivenUpOneCount) {
  constexpr NamedConstant kOther{0x1'8000'0002, 2};
  const Waits& dropped = Await({kSix});
  EXPECT_EQ(AwaitWants().size(), kPiecesAhead);
  EXPECT_TRUE(Close(kSixNumber));
  Join(dropped);
  const Waits& waits = Await({kOther});
  while (rings_ < 2) std::this_thread::yield();
  EXPECT_EQ(Wants(), std::vector<uint32_t>());
  EXPECT_TRUE(Put(kSixNumber, 0, ""));
  EXPECT_EQ(Wants(), std::vector<uint32_t>{0});
  Put(JobId(0x8000'0002), 0, "ab");
  Join(waits);
  EXPECT_EQ(waits.why, "");
}

TEST_F(SlaveConstantsTest, WhatElseComesIsNotForThem) {
  EXPECT_FALSE(Put(JobId(1), 0, "x"));
  EXPECT_FALSE(Close(JobId(1)));
  wire::ToNode taken = wire::ReportsTaken{1};
  EXPECT_FALSE(constants_.Accept(taken));
  EXPECT_TRUE(Close(kSixNumber)) << "and of one that nobody needs nothing happens";
}

TEST_F(SlaveConstantsTest, TheEndOfAWait) {
  struct Row {
    const char* what;
    std::function<void()> news;
    const char* why;
  };
  const std::vector<Row> rows = {
      {"ended", [this] { Put(kSixNumber, 0, ""); }, "no longer"},
      {"short", [this] { Put(kSixNumber, 0, "x"); }, "broken"},
      {"order", [this] { Put(kSixNumber, 1, Text(kConstantPiece)); }, "broken"},
      {"dropped", [this] { Close(kSixNumber); }, "has dropped"},
      {"life", [this] { constants_.Begin([this] { ++rings_; }); }, "was lost"},
      {"not wanted",
       [this] {
         stopped_ = true;
         constants_.Wake();
       },
       "not wanted"},
      {"end", [this] { constants_.End(); }, "was lost"}};
  for (const Row& row : rows) {
    rings_ = 0;
    stopped_ = false;
    const Waits& waits = Await({kSix});
    EXPECT_EQ(AwaitWants().size(), kPiecesAhead) << row.what;
    row.news();
    Join(waits);
    EXPECT_NE(waits.why.find(row.why), std::string::npos) << row.what << ": " << waits.why;
    Close(kSixNumber);  // where it was not wanted it goes on
    for (uint32_t i = 0; i < kPiecesAhead; ++i) Put(kSixNumber, i, "");  // the answers come late
  }
  detail::constant_list held;
  EXPECT_NE(constants_.Await({&kSix, 1}, held, [] { return false; }), "");
}

}  // namespace
}  // namespace spate::mw
