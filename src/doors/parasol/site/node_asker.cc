#include "doors/parasol/site/node_asker.h"

#include <algorithm>
#include <utility>

#include "wire/client_codec.h"
#include "wire/field_bytes.h"

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

NodeAsker::NodeAsker(os::RealLoop& loop, access::Access access, std::string verb, Done done)
    : verb_(std::move(verb)), done_(std::move(done)) {
  link::Target target = link::Target::Of(std::move(access));
  target.name = "the node";
  caller_ = std::make_unique<link::Caller>(
      loop, std::move(target), link::Self{SPATE_VERSION, wire::Role::kAdmin},
      [this](std::expected<link::Caller::Met, link::Caller::Failure> met) {
        if (!met) return Finish(std::unexpected(met.error().error));
        Met(std::move(*met));
      });
}

void NodeAsker::Met(link::Caller::Met met) {
  connection_ = std::move(met.connection);
  connection_->Start({.opened = nullptr,
                      .frame = [this](wire::FrameType, std::string_view bytes) { OnReply(bytes); },
                      .writable = nullptr,
                      .silent = nullptr,
                      .closed =
                          [this](const link::Ended& ended) {
                            Finish(Fail(ErrorKind::kUnavailable, ended.text));
                          }});
  std::string bytes;
  wire::AskNode ask;
  ask.question = verb_;
  wire::Append(bytes, wire::Request(wire::Query{std::move(ask)}));
  connection_->Send(wire::FrameType::kRequest, bytes);
}

void NodeAsker::OnReply(std::string_view bytes) {
  auto reply = wire::DecodeReply(bytes);
  if (!reply) return Finish(std::unexpected(reply.error()));
  if (const auto* answer = std::get_if<wire::QueryAnswer>(&*reply)) {
    auto told = wire::FromBytes<wire::AskNode::Answer>("the node's answer", answer->bytes, 1);
    if (!told) return Finish(std::unexpected(told.error()));
    told_ = std::move(told->text);
  } else if (std::holds_alternative<wire::QueryDone>(*reply)) {
    Finish(std::move(told_));
  } else if (const auto* failed = std::get_if<wire::Failed>(&*reply)) {
    Finish(Fail(failed->kind, failed->text));
  }
}

void NodeAsker::Finish(Result<std::string> result) {
  Done done = std::move(done_);
  done(std::move(result));
}

}  // namespace spate::parasol
