// FakeScreen: remembers what was written, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "view/screen.h"

namespace spate::cli {

class FakeScreen final : public Screen {
 public:
  void Write(Stream stream, std::string_view bytes) override {
    (stream == Stream::kOut ? out : err) += bytes;
    if (stream == Stream::kErr || out_terminal) terminal += bytes;
  }
  void WriteFile(Stream stream, FilePart part) override {
    std::ifstream file(part.path, std::ios::binary);
    EXPECT_TRUE(file) << part.path;
    file.seekg(static_cast<std::streamoff>(part.offset));
    std::string bytes(part.length, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(part.length));
    EXPECT_EQ(static_cast<uint64_t>(file.gcount()), part.length);
    ++files_written;
    Write(stream, bytes);
  }
  uint64_t Backlog() const override { return backlog; }
  bool IsTerminal(Stream stream) const override {
    return stream == Stream::kErr ? err_terminal : out_terminal;
  }
  ScreenLook Inspect() const override { return {width, colour, true}; }

  // Picture of `terminal` on a terminal: lines, after carriage returns, erasing, and moves of
  // the cursor up and to the right; without colours.
  std::string Shown() const {
    std::vector<std::string> lines(1);
    size_t row = 0, column = 0;
    for (size_t i = 0; i < terminal.size(); ++i) {
      char c = terminal[i];
      if (c == '\n') {
        column = 0;
        if (++row == lines.size()) lines.emplace_back();
      } else if (c == '\r') {
        column = 0;
      } else if (c == '\x1b') {
        size_t number = 0;
        for (i += 2; std::isdigit(static_cast<unsigned char>(terminal[i])); ++i) {
          number = number * 10 + static_cast<size_t>(terminal[i] - '0');
        }
        if (terminal[i] == 'K') lines[row].resize(column);
        if (terminal[i] == 'A') row -= std::max<size_t>(number, 1);
        if (terminal[i] == 'C') column += std::max<size_t>(number, 1);
      } else {
        lines[row].resize(std::max(lines[row].size(), column + 1), ' ');
        lines[row][column++] = c;
      }
    }
    std::string text;
    for (const std::string& line : lines) text += (&line == lines.data() ? "" : "\n") + line;
    return text;
  }

  std::string out, err, terminal;
  int files_written = 0;
  bool out_terminal = false;
  bool err_terminal = false;
  bool colour = false;
  int width = 80;
  uint64_t backlog = 0;
};

}  // namespace spate::cli
