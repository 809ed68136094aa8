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

}  // namespace spate::cli
