#include "present/json/error_line.h"

namespace spate::present {
namespace {

const char* WordOf(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kNotFound:
      return "not_found";
    case ErrorKind::kExists:
      return "exists";
    case ErrorKind::kPermission:
      return "permission";
    case ErrorKind::kBusy:
      return "busy";
    case ErrorKind::kExhausted:
      return "exhausted";
    case ErrorKind::kCorrupt:
      return "corrupt";
    case ErrorKind::kUnavailable:
      return "unavailable";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kUnknown:
      return "unknown";
    case ErrorKind::kNewer:
      return "newer";
  }
  return "io";
}

}  // namespace

JsonLine ErrorLine(const Error& error, std::string_view text, int code) {
  JsonLine line = TypedLine("error");
  line.Text("kind", WordOf(error.kind));
  TextOrBase64(line, "text", text);
  line.Number("exit_code", code);
  return line;
}

}  // namespace spate::present
