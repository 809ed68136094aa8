#include "command/spate/top_keys.h"

#include <optional>

namespace spate::cli {
namespace {

constexpr char kEscape = '\x1b';
constexpr char kCtrlC = '\x03', kCtrlD = '\x04';
constexpr size_t kLongest = 16;  // bytes of a sequence; no key of ours has so many

std::optional<TopKey> OfByte(char byte) {
  switch (byte) {
    case 'q':
    case kCtrlC:
    case kCtrlD:
      return TopKey::kQuit;
    case 'n':
      return TopKey::kNodes;
    case 'j':
      return TopKey::kJobs;
    case 'p':
      return TopKey::kProcesses;
    case 's':
      return TopKey::kStop;
    case 'c':
      return TopKey::kContinue;
    case 'k':
      return TopKey::kKill;
    case 'g':
      return TopKey::kSignal;
    default:
      return std::nullopt;
  }
}

// A whole sequence, without its ESC: "[A" or, of a keypad that is in its other mode, "OA".
std::optional<TopKey> OfSequence(std::string_view text) {
  if (text == "[A" || text == "OA") return TopKey::kUp;
  if (text == "[B" || text == "OB") return TopKey::kDown;
  if (text == "[5~") return TopKey::kPageUp;
  if (text == "[6~") return TopKey::kPageDown;
  return std::nullopt;
}

bool IsWhole(std::string_view text) {
  if (text[0] != '[') return text[0] != 'O' || text.size() == 2;
  return text.size() > 1 && text.back() >= '@' && text.back() <= '~';
}

}  // namespace

std::vector<TopKey> TopKeys::Feed(std::string_view bytes) {
  std::vector<TopKey> keys;
  for (char byte : bytes) {
    if (byte == kEscape) {
      begun_.assign(1, byte);
      continue;
    }
    std::optional<TopKey> key;
    if (begun_.empty()) {
      key = OfByte(byte);
    } else {
      begun_ += byte;
      std::string_view sequence = std::string_view(begun_).substr(1);
      if (!IsWhole(sequence) && begun_.size() < kLongest) continue;
      key = OfSequence(sequence);
      begun_.clear();
    }
    if (key) keys.push_back(*key);
  }
  return keys;
}

TopLine::Now TopLine::Feed(char byte) {
  constexpr char kBackspace = '\x7f', kCtrlH = '\x08';
  constexpr size_t kLongestLine = 200;
  if (byte == '\r' || byte == '\n') return text_.empty() ? Now::kGivenUp : Now::kEntered;
  if (byte == kEscape || byte == kCtrlC || byte == kCtrlD) return Now::kGivenUp;
  if (byte == kBackspace || byte == kCtrlH) {
    if (!text_.empty()) text_.pop_back();
  } else if (byte >= ' ' && byte < kBackspace && text_.size() < kLongestLine) {
    text_ += byte;
  }
  return Now::kTyping;
}

}  // namespace spate::cli
