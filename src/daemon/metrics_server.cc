#include "daemon/metrics_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace spate::daemon {
namespace {

constexpr std::string_view kEndOfHeaders = "\r\n\r\n";

std::string Answer(std::string_view status, std::string_view body, std::string_view more = "",
                   bool with_body = true) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n{}\r\n{}",
      status, body.size(), more, with_body ? body : "");
}

// The header Host, without its port; empty: there is none.
std::string_view HostOf(std::string_view request) {
  constexpr std::string_view kName = "host:";
  for (size_t at = request.find("\r\n"); at != std::string_view::npos;
       at = request.find("\r\n", at)) {
    at += 2;
    std::string_view line = request.substr(at, request.find("\r\n", at) - at);
    const bool is_host = std::ranges::equal(line.substr(0, kName.size()), kName, {},
                                            [](unsigned char c) { return std::tolower(c); });
    if (!is_host) continue;
    line.remove_prefix(kName.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line.starts_with('[') ? line.substr(0, line.find(']') + 1)
                                 : line.substr(0, line.find(':'));
  }
  return {};
}

// A page that a browser of this machine shows may have a name of its own lead here.
bool MeansThisMachine(std::string_view host) {
  return host.empty() || host == "localhost" || host.starts_with('[') ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

std::string AnswerHttp(std::string_view request, const std::function<std::string()>& text,
                       bool is_local) {
  std::string_view line = request.substr(0, request.find("\r\n"));
  size_t first = line.find(' '), last = line.rfind(' ');
  if (first == last || !line.substr(last + 1).starts_with("HTTP/1.")) {
    return Answer("400 Bad Request", "this is not HTTP/1.1\n");
  }
  std::string_view method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (method != "GET" && method != "HEAD") {
    return Answer("405 Method Not Allowed", "ask with GET\n", "Allow: GET, HEAD\r\n");
  }
  if (is_local && !MeansThisMachine(HostOf(request))) {
    return Answer("421 Misdirected Request", "ask for localhost, or by a number\n", "",
                  method == "GET");
  }
  if (target.substr(0, target.find('?')) != "/metrics") {
    return Answer("404 Not Found", "there is only /metrics\n", "", method == "GET");
  }
  return Answer("200 OK", text(), "", method == "GET");
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::Open(
    os::RealLoop& loop, const os::Address& at, std::function<std::string()> text,
    std::function<void(const Error&)> trouble, const MetricsLimits& limits) {
  auto numbers = TRY(os::ResolveBlocking(at));
  auto fd = TRY(os::Listen(numbers.front()));
  std::unique_ptr<MetricsServer> server(new MetricsServer(loop, std::move(text), limits));
  auto address = TRY(os::LocalAddress(fd.get()));
  server->address_ = address;
  server->is_local_ = address.IsThisMachine();
  transport::Listener::Events events{
      .arrived = [server = server.get()](transport::Arrival a) { server->Arrived(std::move(a)); },
      .trouble = std::move(trouble)};
  transport::ListenerLimits places{.places = limits.connections + 1};
  server->listener_ =
      std::make_unique<transport::Listener>(loop, std::move(fd), std::move(events), places);
  return server;
}

MetricsServer::~MetricsServer() {
  listener_.reset();
  while (!exchanges_.empty()) Remove(exchanges_.begin());
}

void MetricsServer::Arrived(transport::Arrival arrival) {
  if (exchanges_.size() >= limits_.connections) RemoveOldest();
  exchanges_.push_back({std::move(arrival.fd), std::move(arrival.place), "", "", false, 0});
  auto at = std::prev(exchanges_.end());
  at->deadline = loop_.At(loop_.Now() + limits_.deadline, [this, at] { Remove(at); });
  loop_.WatchRead(at->fd.get(), [this, at] { ReceiveRequest(at); });
}

void MetricsServer::ReceiveRequest(Exchanges::iterator at) {
  std::array<char, 4096> bytes;
  os::IoStep step = os::Receive(at->fd.get(), bytes.data(), bytes.size());
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Remove(at);
  if (at->answered) return;  // what it says behind its request is of no interest
  at->request.append(bytes.data(), step.bytes);
  bool whole = at->request.find(kEndOfHeaders) != std::string::npos;
  if (at->request.size() > limits_.request) {
    at->answer = Answer("431 Request Header Fields Too Large", "the request is too long\n");
  } else if (whole) {
    at->answer = AnswerHttp(at->request, text_, is_local_);
  } else {
    return;
  }
  at->answered = true;
  loop_.WatchWrite(at->fd.get(), [this, at] { SendAnswer(at); });
}

// The peer closes first: bytes of its own that nobody read would take the answer away from it.
void MetricsServer::SendAnswer(Exchanges::iterator at) {
  os::IoStep step = os::SendSome(at->fd.get(), at->answer);
  if (step.kind == os::IoStep::Kind::kWouldBlock) return;
  if (step.kind != os::IoStep::Kind::kDone) return Remove(at);
  at->answer.erase(0, step.bytes);
  if (!at->answer.empty()) return;
  loop_.UnwatchWrite(at->fd.get());
  os::ShutdownWrite(at->fd.get());
}

// One that has not been answered, if there is one: who says nothing keeps nobody else out.
void MetricsServer::RemoveOldest() {
  auto silent = std::ranges::find(exchanges_, false, &Exchange::answered);
  Remove(silent == exchanges_.end() ? exchanges_.begin() : silent);
}

void MetricsServer::Remove(Exchanges::iterator at) {
  loop_.Cancel(at->deadline);
  loop_.Unwatch(at->fd.get());
  exchanges_.erase(at);
}

}  // namespace spate::daemon
