#include "doors/parasol/site/node_asker.h"

#include <algorithm>
#include <utility>

namespace spate::parasol {

void ForEachAtOnce(os::RealLoop& loop, size_t count, size_t most,
                   const std::function<void(size_t, std::function<void()>)>& start) {
  size_t next = 0;
  size_t left = count;
  std::function<void()> begin = [&] {
    if (next == count) return;
    start(next++, [&] {
      if (--left == 0) return loop.Stop();
      loop.Post(begin);
    });
  };
  for (size_t i = 0; i < std::min(count, most); ++i) loop.Post(begin);
  if (count > 0) loop.Run();
}

namespace {

client::HubTarget TargetOf(access::Access access) {
  link::Target target = link::Target::Of(std::move(access));
  target.name = "the node";
  return {std::move(target), "the node", wire::Role::kAdmin};
}

}  // namespace

NodeAsker::NodeAsker(os::RealLoop& loop, access::Access access, wire::Question question, Done done)
    : asked_(std::move(question)),
      done_(std::move(done)),
      session_(loop, TargetOf(std::move(access))) {
  session_.Connect([this](Status connected) {
    connected ? SendQuestion() : Finish(std::unexpected(std::move(connected.error())));
  });
}

void NodeAsker::SendQuestion() {
  auto question = session_.Begin(wire::Query{asked_}, [this] { Heard(); });
  if (!question) return Finish(std::unexpected(std::move(question.error())));
  question_ = std::move(*question);
}

void NodeAsker::Heard() {
  auto reply = question_->Receive();
  if (!reply) return;
  if (!*reply) return Finish(std::unexpected(std::move(reply->error())));
  if (auto* answer = std::get_if<wire::QueryAnswer>(&**reply)) {
    told_ = std::move(answer->bytes);
  } else if (std::holds_alternative<wire::QueryDone>(**reply)) {
    Finish(std::move(told_));
  } else if (const auto* failed = std::get_if<wire::Failed>(&**reply)) {
    Finish(Fail(failed->kind, failed->text));
  }
}

void NodeAsker::Finish(Result<std::string> result) {
  Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace spate::parasol
