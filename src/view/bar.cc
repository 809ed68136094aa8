#include "view/bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/units.h"
#include "present/text/end_text.h"
#include "present/text/left_text.h"

namespace spate::cli {
namespace {

constexpr Duration kWindow = Duration::Seconds(15);
constexpr Duration kStep = Duration::Millis(500);
constexpr Duration kSettled = Duration::Millis(300);  // no rate before
constexpr size_t kPauseMin = 16;
constexpr size_t kGraphicMin = 10;
constexpr size_t kGraphicMax = 40;

// Rounded down, so that 100% means all.
uint64_t Percent(const BarState& state) {
  return state.total == 0 ? 100 : std::min<uint64_t>(state.done * 100 / state.total, 100);
}

std::string Eta(const BarState& state) {
  if (state.open || state.rate <= 0 || state.ended >= state.total) return "";
  if (!state.pause.empty()) return "";  // nobody knows when it goes on
  double seconds = static_cast<double>(state.total - state.ended) / state.rate;
  if (seconds > 100.0 * 86400) return "";
  return fmt::format("ETA {}", present::BriefDuration(Duration::SecondsF(seconds)));
}

std::string Graphic(const BarState& state, size_t columns) {
  size_t inner = columns - 2;
  size_t full =
      state.total == 0 ? inner : std::min<uint64_t>(state.done * inner / state.total, inner);
  return fmt::format("[{}{}]", std::string(full, '#'), std::string(inner - full, '.'));
}

std::string Waits(const BarState& state) {
  if (!state.pause.empty()) return fmt::format("waiting: {}", EscapeForScreen(state.pause));
  if (!state.left.empty()) return EscapeForScreen(present::WaitText("left running: ", state.left));
  return "";
}

std::string Running(const BarState& state) {
  if (state.running == 0) return "";
  return fmt::format("{} running", FormatCount(state.running));
}

}  // namespace

void RateMeter::Note(Instant now, uint64_t ended) {
  last_ = {now, ended};
  if (samples_.empty() || now - samples_.back().when < kStep) return;
  samples_.push_back(last_);
  while (samples_.size() > 2 && now - samples_[1].when >= kWindow) samples_.pop_front();
}

double RateMeter::PerSecond(Instant now) const {
  if (samples_.empty() || last_.ended <= samples_.front().ended) return 0;
  Duration span = now - samples_.front().when;
  if (span < kSettled) return 0;
  return static_cast<double>(last_.ended - samples_.front().ended) / span.seconds();
}

std::string DrawBar(const BarState& state, int width) {
  size_t room = static_cast<size_t>(std::max(width, 2)) - 1;
  std::string counts = fmt::format("{}/{}{}", FormatCount(state.done), FormatCount(state.total),
                                   state.open ? "+" : "");
  if (!state.open) counts = fmt::format("{:>3}% {}", Percent(state), counts);
  if (present::Columns(counts) > room) return fmt::format("{:>3}%", Percent(state)).substr(0, room);

  // In the order in which they are shown, each with its rank in the fight for room.
  struct Piece {
    std::string text;
    int rank;
    bool shown = false;
  };
  std::array<Piece, 6> pieces = {{
      {counts, 0},
      {state.failed ? fmt::format("{} failed", FormatCount(state.failed)) : "", 1},
      {Waits(state), 2},
      {Running(state), 5},
      {present::BriefRate(state.rate), 4},
      {Eta(state), 3},
  }};
  size_t used = 0;
  for (int rank = 0; rank < static_cast<int>(pieces.size()); ++rank) {
    for (Piece& piece : pieces) {
      if (piece.rank != rank || piece.text.empty()) continue;
      size_t need = present::Columns(piece.text) + (used ? 2 : 0);
      if (rank == 2 && used + need > room && room >= used + kPauseMin) {
        piece.text = present::CutTo(piece.text, room - used - 2);
        need = room - used;
      }
      if (used + need > room) continue;
      piece.shown = true;
      used += need;
    }
  }
  std::string line;
  for (const Piece& piece : pieces) {
    if (!piece.shown) continue;
    if (!line.empty()) line += "  ";
    bool red = state.colour && piece.rank == 1;
    line += red ? fmt::format("\x1b[31m{}\x1b[0m", piece.text) : piece.text;
    size_t left = room - used;
    if (piece.rank == 0 && !state.open && left >= kGraphicMin + 2) {
      line += "  " + Graphic(state, std::min(left - 2, kGraphicMax));
    }
  }
  return line;
}

std::string ProgressLine(const BarState& state) {
  std::string line = fmt::format("{} of {}{} tasks done", FormatCount(state.done),
                                 FormatCount(state.total), state.open ? "+" : "");
  if (!state.open) line += fmt::format(" ({}%)", Percent(state));
  if (state.failed > 0) line += fmt::format(", {} failed", FormatCount(state.failed));
  for (const std::string& more :
       {Running(state), present::BriefRate(state.rate), Eta(state), Waits(state)}) {
    if (!more.empty()) line += ", " + more;
  }
  return line;
}

}  // namespace spate::cli
