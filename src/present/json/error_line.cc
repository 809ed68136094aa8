#include "present/json/error_line.h"

#include "present/json/json_fields.h"

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

std::string ErrorLine(const Error& error, std::string_view text, int code) {
  return JsonOf("error", "kind", WordOf(error.kind), "text", std::string(text), "exit_code", code);
}

}  // namespace spate::present
