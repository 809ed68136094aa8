// The keys by which people leave a terminal elsewhere, as ssh has them: at the beginning of a line
// `~.` leaves, `~~` is one `~`.
#pragma once

#include <string>
#include <string_view>

namespace spate::remote {

class EscapeKeys {
 public:
  // Returns the bytes for the other terminal. A `~` is held back until the next key tells what it
  // is.
  std::string Pass(std::string_view typed) {
    std::string out;
    for (char c : typed) {
      if (leaves_) break;
      if (held_) {
        held_ = false;
        leaves_ = c == '.';
        if (leaves_) break;
        if (c != '~') out += '~';
      } else if (fresh_ && c == '~') {
        held_ = true;
        fresh_ = false;
        continue;
      }
      out += c;
      fresh_ = c == '\r' || c == '\n';
    }
    return out;
  }
  // They were typed; nothing behind them was passed on.
  bool leaves() const { return leaves_; }

 private:
  bool fresh_ = true;  // at the beginning of a line
  bool held_ = false;  // a `~` was typed there
  bool leaves_ = false;
};

}  // namespace spate::remote
