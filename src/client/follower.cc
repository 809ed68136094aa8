#include "client/follower.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "base/number.h"
#include "os/process.h"

namespace spate::client {
namespace {

constexpr size_t kPlaceMost = 4096;
constexpr Duration kLockPause = Duration::Millis(10);

// The number behind "NAME " at the beginning of `text`, which loses both.
template <typename Number>
std::optional<Number> NextNumber(std::string_view& text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  text.remove_prefix(name.size());
  size_t end = text.find_first_of(" \n");
  if (end == std::string_view::npos) return std::nullopt;
  auto number = ReadNumber<Number>(text.substr(0, end));
  text.remove_prefix(end + 1);
  return number;
}

}  // namespace

std::string FormatPlace(const Position& place) {
  return fmt::format("position {} created {} bytes {}\n", place.position, place.created,
                     place.bytes);
}

Position ReadPlace(const std::string& path) {
  auto text = os::ReadFile(path, kPlaceMost);
  if (!text) return {};
  std::string_view rest = *text;
  auto position = NextNumber<uint64_t>(rest, "position ");
  auto created = NextNumber<int64_t>(rest, "created ");
  auto bytes = NextNumber<uint64_t>(rest, "bytes ");
  return position && created && bytes ? Position{*position, *created, *bytes} : Position{};
}

Result<Follower> Follower::Open(HubCall& call, std::string place_path, const std::string& lock_path,
                                Duration patience) {
  const Instant last = call.loop().Now() + patience;
  for (;;) {
    auto lock = os::FileLock::TryLock(lock_path, fmt::format("process {}", os::OwnPid()));
    if (lock) return Follower(std::move(place_path), std::move(*lock));
    bool again = lock.error().kind == ErrorKind::kBusy && call.loop().Now() < last;
    if (!again || call.interrupted()) return std::unexpected(std::move(lock.error()));
    call.Pause(kLockPause);
  }
}

Status Follower::MoveTo(const Position& place) {
  TRY(os::WriteFileAtomically(path_, FormatPlace(place), 0600));
  place_ = place;
  return {};
}

}  // namespace spate::client
