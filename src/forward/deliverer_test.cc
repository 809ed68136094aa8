#include "forward/deliverer.h"

#include <gtest/gtest.h>

#include "os/real_loop.h"
#include "transport/inproc.h"

namespace spate::forward {
namespace {

wire::ToHub EndOf(TaskIndex index, const std::string& pack, Cause cause = Cause::kSuccess) {
  AttemptEnd end;
  end.ref = {JobId(1), index, Attempt(1)};
  end.cause = cause;
  auto output = std::make_shared<TaskOutput>();
  output->out = {.bytes = "said", .spool = {}, .total = 4};
  output->files = {.bytes = pack, .spool = {}, .total = pack.size()};
  wire::Ends ends;
  ends.ends.push_back(end);
  ends.outputs.push_back(output);
  return ends;
}

// A node that speaks to a hub which only listens.
class DelivererTest : public testing::Test {
 protected:
  void Listen(Deliverer& deliverer, size_t until) {
    pair_ = transport::MakeInprocPair<wire::ToNode, wire::ToHub>(*loop_);
    channel_ = deliverer.Over(std::move(pair_.first));
    channel_->OnMessage([this, until](wire::ToHub message) {
      if (auto* ends = std::get_if<wire::Ends>(&message)) {
        const AttemptEnd& end = ends->ends.front();
        const TaskOutputPtr& output = ends->outputs.front();
        heard_.push_back(std::to_string(end.ref.index) +
                         (end.cause == Cause::kSuccess ? " good" : " bad " + end.note) +
                         (output->out.bytes == "said" ? "" : " silent") +
                         (output->files.total > 0 ? " with its pack" : ""));
      } else {
        heard_.push_back("news");
      }
      if (heard_.size() == until) loop_->Stop();
    });
  }
  void Say(wire::ToHub message) { pair_.second->Send(std::move(message)); }

  std::unique_ptr<os::RealLoop> loop_ = std::move(*os::RealLoop::Create());
  transport::InprocPair<wire::ToNode, wire::ToHub> pair_;
  std::unique_ptr<hub::NodeChannel> channel_;
  std::vector<std::string> heard_;
};

TEST_F(DelivererTest, WhatAnEndForwardsComesFirstAndAllStaysInOrder) {
  auto delivered = std::make_shared<std::string>();
  Deliverer deliverer(*loop_, [delivered](const AttemptEnd&, const OutputStream& pack) -> Status {
    *delivered += pack.bytes;
    if (pack.bytes == "c") return Fail(ErrorKind::kIo, "the disk is full");
    return {};
  });
  Listen(deliverer, 6);
  Say(EndOf(0, ""));
  Say(EndOf(1, "a"));
  Say(wire::Paused{});
  Say(EndOf(2, "b", Cause::kExit));
  Say(EndOf(3, "c"));
  Say(EndOf(4, "d"));
  loop_->Run();
  EXPECT_EQ(heard_, (std::vector<std::string>{"0 good", "1 good", "news", "2 bad  with its pack",
                                              "3 bad the disk is full", "4 good"}));
  EXPECT_EQ(*delivered, "acd");
}

// A host that is lost meanwhile.
TEST_F(DelivererTest, AChannelMayGoWhileItsEndIsDelivered) {
  Deliverer deliverer(*loop_, [](const AttemptEnd&, const OutputStream&) -> Status { return {}; });
  Listen(deliverer, 6);
  Say(EndOf(1, "a"));
  Say(EndOf(2, "b"));
  loop_->Post([this] {
    loop_->Post([this] { channel_.reset(); });
    loop_->At(loop_->Now() + Duration::Millis(50), [this] { loop_->Stop(); });
  });
  loop_->Run();
  EXPECT_LE(heard_.size(), 2u);
}

}  // namespace
}  // namespace spate::forward
