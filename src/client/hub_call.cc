#include "client/hub_call.h"

namespace spate::client {
namespace {

std::unexpected<Error> Interrupted() { return Fail(ErrorKind::kBusy, "interrupted"); }

}  // namespace

void HubCall::Interrupt() {
  interrupted_ = true;
  loop_.Stop();
}

Status HubCall::Connect() {
  std::optional<Status> done;
  session_.Connect([&](Status status) {
    done = std::move(status);
    loop_.Stop();
  });
  RunUntil([&] { return done.has_value(); });
  if (done) return *done;
  session_.Disconnect();  // `done` is gone
  return Interrupted();
}

Result<std::unique_ptr<Exchange>> HubCall::Begin(const wire::Request& request) {
  if (!session_.connected()) {
    TRY(Connect());
  }
  RunUntil([&] { return session_.writable(); });
  if (interrupted_) return Interrupted();
  return session_.Begin(request, [this] { loop_.Stop(); });
}

Status HubCall::Send(Exchange& exchange, const wire::Request& more) {
  RunUntil([&] { return session_.writable() || exchange.ready(); });
  return exchange.Send(more);
}

Result<wire::Reply> HubCall::Next(Exchange& exchange) {
  RunUntil([&] { return exchange.ready(); });
  if (auto reply = exchange.Take()) return std::move(*reply);
  return Interrupted();
}

Result<wire::Reply> HubCall::NextSoon(Exchange& exchange) {
  if (!on_slow_) return Next(exchange);
  if (auto reply = NextWithin(exchange, kSlowAnswer)) return std::move(*reply);
  std::exchange(on_slow_, nullptr)();
  return Next(exchange);
}

std::optional<Result<wire::Reply>> HubCall::NextWithin(Exchange& exchange, Duration time) {
  bool over = false;
  os::TimerId timer = loop_.At(loop_.Now() + time, [&] {
    over = true;
    loop_.Stop();
  });
  RunUntil([&] { return over || exchange.ready(); });
  loop_.Cancel(timer);
  auto reply = exchange.Take();
  if (!reply && interrupted_) return Interrupted();
  return reply;
}

Result<wire::JobNews> HubCall::NextNews(Exchange& watch) {
  auto reply = TRY(Next(watch));
  if (auto* news = std::get_if<wire::JobNews>(&reply)) return std::move(*news);
  if (auto* failed = std::get_if<wire::Failed>(&reply)) return std::unexpected(ErrorOf(*failed));
  return Fail(ErrorKind::kIo, "the hub sent something else than news");
}

void HubCall::Pause(Duration time) {
  bool over = false;
  os::TimerId timer = loop_.At(loop_.Now() + time, [&] {
    over = true;
    loop_.Stop();
  });
  RunUntil([&] { return over; });
  loop_.Cancel(timer);
}

Status HubCall::Ask(wire::Question question, const AcceptAnswer& take) {
  auto exchange = TRY(Begin(wire::Query{std::move(question)}));
  for (;;) {
    auto reply = TRY(NextSoon(*exchange));
    if (const auto* answer = std::get_if<wire::QueryAnswer>(&reply)) {
      TRY(take(answer->bytes));
    } else if (const auto* failed = std::get_if<wire::Failed>(&reply)) {
      return std::unexpected(ErrorOf(*failed));
    } else if (std::holds_alternative<wire::QueryDone>(reply)) {
      return {};
    } else {
      return Fail(ErrorKind::kIo, "the hub answered something else than was asked");
    }
  }
}

}  // namespace spate::client
