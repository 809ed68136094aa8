// A client of a hub, for what a command line cannot measure.
//
//   hub_client latency ACCESS COUNT   one task after another: from submitting it to knowing its end
//   hub_client array ACCESS COUNT     one job of COUNT tasks: from its acceptance to its end
//   hub_client jobs ACCESS COUNT      COUNT jobs of one task; until all are accepted
//   hub_client stuck ACCESS COUNT     the same, of tasks that fit no node
//
// The first two check that every task succeeded. "latency" also starts and awaits /bin/true as
// often, in turn with the others, since the machine is a noisy one.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "client/hub_call.h"
#include "os/clock.h"

extern char** environ;

namespace {

using spate::client::HubCall;
namespace wire = spate::wire;

[[noreturn]] void Die(const std::string& why) {
  std::fprintf(stderr, "hub_client: %s\n", why.c_str());
  std::exit(1);
}

using Upload = std::unique_ptr<spate::client::Exchange>;

void Send(HubCall& call, spate::client::Exchange& upload, const wire::Request& more) {
  if (auto sent = call.Send(upload, more); !sent) Die(sent.error().message);
}

Upload Offer(HubCall& call, uint32_t count, const spate::Needs& needs = {}) {
  static int submissions = 0;
  wire::Submit head;
  head.submission = "bench-" + std::to_string(getpid()) + "-" + std::to_string(++submissions);
  spate::JobSettings settings;
  settings.cwd = "/";
  settings.row_kind = spate::RowKind::kValues;
  settings.command = {"/bin/true"};
  settings.record_values = 1;
  head.settings = std::make_shared<const spate::JobSettings>(std::move(settings));
  auto upload = call.Begin(head);
  if (!upload) Die(upload.error().message);
  for (uint32_t sent = 0; sent < count;) {
    wire::Rows rows;
    while (sent < count && rows.rows.size() < 16'384) rows.rows.push_back(std::to_string(++sent));
    Send(call, **upload, rows);
  }
  wire::SubmitEnd end;
  end.count = count;
  end.requests = {needs};
  end.runs = {{0, count, 0}};
  Send(call, **upload, end);
  return std::move(*upload);
}

spate::JobId Taken(HubCall& call, spate::client::Exchange& upload) {
  auto reply = call.Next(upload);
  if (!reply) Die(reply.error().message);
  if (const auto* failed = std::get_if<wire::Failed>(&*reply)) Die(failed->text);
  const auto* accepted = std::get_if<wire::Accepted>(&*reply);
  if (accepted == nullptr) Die("the hub answers a submission with something else");
  return accepted->job;
}

spate::JobId Submit(HubCall& call, uint32_t count) { return Taken(call, *Offer(call, count)); }

// Not one after another, since each waits for its commit.
void Jobs(HubCall& call, uint32_t count, const spate::Needs& needs = {}) {
  constexpr uint32_t kAhead = 256;
  std::deque<Upload> uploads;
  int64_t start = spate::os::MonotonicNanos();
  for (uint32_t i = 0; i < count || !uploads.empty(); ++i) {
    if (i < count) uploads.push_back(Offer(call, 1, needs));
    if (i < kAhead && i < count) continue;
    Taken(call, *uploads.front());
    uploads.pop_front();
  }
  std::printf("accepted %.3f s\n", static_cast<double>(spate::os::MonotonicNanos() - start) / 1e9);
}

void Await(HubCall& call, spate::JobId job) {
  auto watch = call.Begin(wire::Watch{job});
  if (!watch) Die(watch.error().message);
  for (;;) {
    auto news = call.NextNews(**watch);
    if (!news) Die(news.error().message);
    if (!news->finished) continue;
    if (news->counts.succeeded != news->counts.total) Die("not every task succeeded");
    return;
  }
}

double Spawn() {
  int64_t start = spate::os::MonotonicNanos();
  std::string path = "/bin/true";
  char* argv[] = {path.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  if (posix_spawn(&child, argv[0], nullptr, nullptr, argv, environ) != 0) Die("cannot spawn");
  waitpid(child, &status, 0);
  return static_cast<double>(spate::os::MonotonicNanos() - start) / 1e6;
}

void Print(const char* what, std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  std::printf("%s p50 %.3f ms p99 %.3f ms\n", what, ms[ms.size() / 2], ms[ms.size() * 99 / 100]);
}

void Latency(HubCall& call, uint32_t count) {
  std::vector<double> spawns;
  std::vector<double> tasks;
  for (uint32_t i = 0; i < count; ++i) {
    spawns.push_back(Spawn());
    int64_t start = spate::os::MonotonicNanos();
    Await(call, Submit(call, 1));
    tasks.push_back(static_cast<double>(spate::os::MonotonicNanos() - start) / 1e6);
  }
  Print("spawn", std::move(spawns));
  Print("task", std::move(tasks));
}

void Array(HubCall& call, uint32_t count) {
  int64_t start = spate::os::MonotonicNanos();
  spate::JobId job = Submit(call, count);
  int64_t accepted = spate::os::MonotonicNanos();
  Await(call, job);
  int64_t ended = spate::os::MonotonicNanos();
  std::printf("accepted %.3f s ended %.3f s\n", static_cast<double>(accepted - start) / 1e9,
              static_cast<double>(ended - accepted) / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: hub_client latency|array|jobs|stuck ACCESS COUNT\n");
    return 2;
  }
  auto access = spate::access::LoadAccess(argv[2]);
  if (!access) Die(access.error().message);
  auto loop = spate::os::RealLoop::Create();
  if (!loop) Die(loop.error().message);
  auto role = static_cast<wire::Role>(access->role);
  HubCall call(**loop, {spate::link::Target::Of(*access), argv[2], role});
  if (auto connected = call.Connect(); !connected) Die(connected.error().message);
  auto count = static_cast<uint32_t>(std::atoi(argv[3]));
  std::string_view what = argv[1];
  if (what == "array") {
    Array(call, count);
  } else if (what == "jobs") {
    Jobs(call, count);
  } else if (what == "stuck") {
    Jobs(call, count, {.milli_cpus = 10'000 * spate::kMilliCpu});
  } else {
    Latency(call, count);
  }
  return 0;
}
