#include "run/job_feed.h"

#include <functional>

namespace spate::run {
namespace {

constexpr Duration kTickEvery = Duration::Millis(100);

// Writes what the terminal has not accepted yet; signals are handled in between, and then an error
// of the last writes.
void WriteRest(os::RealLoop& loop, cli::TerminalScreen& screen) {
  for (bool done = false, last = false; !last;) {
    last = done;
    loop.Post([&loop] { loop.Stop(); });
    loop.Run();
    done = done || screen.Drain(kTickEvery);
  }
}

}  // namespace

Result<int> ShowJob(os::RealLoop& loop, const os::Environment& environment, JobFeed& feed,
                    cli::TerminalScreen::Target target) {
  cli::TerminalScreen screen(loop, environment, target, [&feed](const Error& error, bool gone) {
    feed.OnUnwritable(error, gone);
  });
  auto view = TRY(feed.MakeView(screen));
  view->OnStart(feed.Start());
  os::TimerId timer = 0;
  std::function<void()> tick = [&] {
    view->Tick(loop.Now(), feed.Tick(screen.Backlog()));
    timer = loop.At(loop.Now() + kTickEvery, tick);
  };
  timer = loop.At(loop.Now(), tick);
  auto followed = feed.Follow(*view);
  loop.Cancel(timer);
  if (!followed) return std::unexpected(std::move(followed.error()));
  view->OnFinish(followed->finish);
  if (followed->goes_on) {
    (void)screen.Drain(kTickEvery);
  } else {
    WriteRest(loop, screen);
  }
  return feed.Leave();
}

}  // namespace spate::run
