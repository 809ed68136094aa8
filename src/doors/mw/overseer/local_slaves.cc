#include "doors/mw/overseer/local_slaves.h"

#include <array>
#include <utility>

#include "doors/mw/overseer/shipment.h"
#include "os/spawn_child.h"

namespace spate::mw {
namespace {

constexpr size_t kKeptOutput = 1000;
constexpr size_t kReadBytes = 16 * 1024;
constexpr int kPiecesOfPipe = 5;

}  // namespace

LocalSlaves::LocalSlaves(os::RealLoop& loop, std::string path, std::vector<std::string> offers)
    : loop_(loop), path_(std::move(path)), offers_(std::move(offers)) {}

// Their leashes close behind this.
LocalSlaves::~LocalSlaves() {
  for (Slave& slave : slaves_) loop_.Unwatch(slave.kept.output.get());
}

Status LocalSlaves::Prepare(const ResourceFile& file) {
  argv_ = SlaveCommand(file.executable, path_, offers_);
  return {};
}

// A slave whose output nobody takes would wait.
void LocalSlaves::Read(Slave& slave) {
  std::array<char, kReadBytes> bytes;
  auto size = os::ReadSome(slave.kept.output.get(), bytes.data(), bytes.size(), "a slave's output");
  if (!size && size.error().kind == ErrorKind::kBusy) return;
  if (!size || *size == 0) return loop_.Unwatch(slave.kept.output.get());
  slave.written.append(bytes.data(), *size);
  if (slave.written.size() > kKeptOutput) {
    slave.written.erase(0, slave.written.size() - kKeptOutput);
  }
}

Status LocalSlaves::Start(uint64_t count) {
  for (; count > 0; --count) {
    auto kept = TRY(StartKept(argv_));
    Slave& slave = slaves_.emplace_back(next_id_++, std::move(kept), loop_.Now(), "");
    loop_.WatchRead(slave.kept.output.get(), [this, &slave] { Read(slave); });
  }
  return {};
}

Result<SlaveRoster> LocalSlaves::List() {
  SlaveRoster roster;
  for (auto slave = slaves_.begin(); slave != slaves_.end();) {
    int status = 0;
    if (!os::HasExited(slave->kept.keeper, &status)) {
      roster.there.push_back({slave->id, true, slave->since});
      ++slave;
      continue;
    }
    // A pipe holds no more than a few pieces.
    for (int piece = 0; piece < kPiecesOfPipe; ++piece) Read(*slave);
    int code = os::ExitStatusOf(status);
    roster.ended.push_back(
        {code == 0, loop_.Now() - slave->since, TextOfEnd(code), LastWords(slave->written)});
    loop_.Unwatch(slave->kept.output.get());
    slave = slaves_.erase(slave);
  }
  return roster;
}

}  // namespace spate::mw
