#include "os/exhausted.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <system_error>

#include "os/terminal.h"

namespace spate::os {
namespace {

constexpr int kExhaustedExit = 3;

void WriteError(std::string_view text) { (void)!write(kStderr, text.data(), text.size()); }

[[noreturn]] void OnTerminate(std::terminate_handler otherwise) {
  try {
    if (auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    EndExhausted(kOutOfMemory);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      EndExhausted(
          "cannot start a thread; raise the limits of processes and memory (ulimit -u, -v)");
    }
  } catch (...) {  // `otherwise` reports it
  }
  otherwise();
  std::abort();
}

}  // namespace

void EndExhausted(std::string_view what) {
  WriteError("spate: ");
  WriteError(what);
  WriteError("\n");
  _exit(kExhaustedExit);
}

void ExplainExhaustion() {
  static const std::terminate_handler kBefore = std::get_terminate();
  std::set_terminate([] { OnTerminate(kBefore); });
}

}  // namespace spate::os
