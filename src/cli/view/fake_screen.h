// FakeScreen: remembers what was written, for tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "cli/view/screen.h"

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
  uint64_t Backlog() const override { return 0; }
  bool IsTerminal(Stream stream) const override {
    return stream == Stream::kErr ? err_terminal : out_terminal;
  }
  int Width() const override { return width; }
  bool Colour() const override { return false; }
  bool MayDraw() const override { return true; }

  // What a terminal would show of `terminal`: lines, after carriage returns and erasing.
  std::string Shown() const {
    std::string lines, line;
    size_t column = 0;
    for (size_t i = 0; i < terminal.size(); ++i) {
      char c = terminal[i];
      if (c == '\n') {
        lines += line + "\n";
        line.clear();
        column = 0;
      } else if (c == '\r') {
        column = 0;
      } else if (terminal.compare(i, 3, "\x1b[K") == 0) {
        line.resize(column);
        i += 2;
      } else {
        line.resize(std::max(line.size(), column + 1), ' ');
        line[column++] = c;
      }
    }
    return lines + line;
  }

  std::string out, err, terminal;
  int files_written = 0;
  bool out_terminal = false;
  bool err_terminal = false;
  int width = 80;
};

}  // namespace spate::cli
