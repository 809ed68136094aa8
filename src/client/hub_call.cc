#include "client/hub_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "os/signals.h"

namespace spate::client {
namespace {

// Commands that show how it is, by the numbers of changes.
constexpr std::array<std::string_view, 15> kLooks = {
    "node list", "hub status", "hub access list", "hub access list", "hub user",
    "job list",  "job list",   "job list",        "job list",        "job list",
    "node list", "job list",   "pool list",       "pool list",       "hub status"};

// Empty: the question changes nothing.
std::string_view LookOf(const wire::Question& question) {
  if (!question.changes()) return {};
  return kLooks[std::min<size_t>(question.number() - 20, kLooks.size() - 1)];
}

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
  // A program that does other things between its questions does not hear that the hub has cut it
  // off. Requests that are under way would end with their connection.
  const bool is_stale = session_.exchanges() == 0 && session_.may_be_cut();
  if (!session_.connected() || is_stale) {
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
  if (auto reply = exchange.Receive()) return std::move(*reply);
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
  auto reply = exchange.Receive();
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

Status HubCall::Query(wire::Question question, const AcceptAnswer& take) {
  const std::string_view look = tell_unknown_ ? LookOf(question) : "";
  if (!look.empty()) loop_.OnSignal(os::kSignalInt, [this] { Interrupt(); });
  auto exchange = TRY(Begin(wire::Query{std::move(question)}));
  for (;;) {
    auto next = NextSoon(*exchange);
    if (!next && !look.empty()) {
      return Fail(ErrorKind::kUnknown,
                  fmt::format("it is not known whether this was done: {}", next.error().message),
                  Remedy("\nTo see: {}", Advice(std::string(look))));
    }
    auto reply = TRY(std::move(next));
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
