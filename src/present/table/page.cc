#include "present/table/page.h"

#include <fmt/format.h>

#include "base/units.h"
#include "present/table/text_width.h"

namespace spate::present {
namespace {

constexpr size_t kLabelColumns = 13;  // with the blanks around the label

}  // namespace

void Page::Line(std::string_view label, std::string_view escaped) {
  sink_(fmt::format("  {:<{}}{}\n", label, kLabelColumns - 2, escaped));
}

void Page::Title(std::string_view text) {
  sink_(WrapToWidth(EscapeForScreen(text), width_, 2) + '\n');
}

void Page::Field(std::string_view label, std::string_view value) {
  if (value.empty()) return;
  Line(label, WrapToWidth(EscapeForScreen(value), width_, kLabelColumns, kLabelColumns));
}

void Page::Command(std::string_view label, std::string_view command) {
  Line(label, EscapeForScreen(command));
}

}  // namespace spate::present
