// Page: all about one thing, as lines of a label and a value.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace spate::present {

class Page {
 public:
  using Sink = std::function<void(std::string_view)>;
  // `sink` gets whole lines, none wider than `width` but those of Command; with kWholeWidth a
  // value is one line, however long.
  Page(uint32_t width, Sink sink) : width_(width), sink_(std::move(sink)) {}

  // All texts are any bytes, shown escaped.
  void Title(std::string_view text);
  // Long values go on in further lines. Nothing for an empty value. Several values with the same
  // label: give it for the first one only.
  void Field(std::string_view label, std::string_view value);
  // Text that a person may copy: never broken.
  void Command(std::string_view label, std::string_view command);

 private:
  void Line(std::string_view label, std::string_view escaped);

  uint32_t width_;
  Sink sink_;
};

}  // namespace spate::present
