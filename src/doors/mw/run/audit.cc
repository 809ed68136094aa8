#include "doors/mw/run/audit.h"

#include <utility>

#include "os/clock.h"
#include "os/file.h"
#include "os/terminal.h"

namespace spate::mw {

Result<std::unique_ptr<Audit>> Audit::Open(os::Loop& loop, const std::string& path, int otherwise) {
  std::unique_ptr<Audit> audit(new Audit(loop, otherwise));
  audit->path_ = path;
  if (path.empty()) return audit;
  auto fd = TRY(os::OpenWrite(path, os::OpenHow::kAppend));
  audit->fd_ = std::move(fd);
  return audit;
}

void Audit::Record(const audit::Event& event) {
  const Instant now = loop_.Now();
  if (lines_.empty()) {
    loop_.Post([this, alive = std::weak_ptr(alive_)] {
      if (alive.lock()) Flush();
    });
  }
  lines_ += audit::Line(now, os::UtcOffsetMinutes(now), event);
}

// A full disk costs lines, not the work.
void Audit::Flush() {
  if (lines_.empty()) return;
  (void)os::WriteAll(fd_ ? fd_.get() : otherwise_, std::exchange(lines_, {}), path_);
}

}  // namespace spate::mw
