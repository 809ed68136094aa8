// The fields of all types that programs exchange or keep, and the values of the enums in them, as
// lines of JSON. docs/formats/schema.jsonl holds them, so that a changed number or type is seen.
#pragma once

#include <optional>
#include <string>

namespace spate::daemon {

// Sorted by the name of the type.
std::string Schema();
// `spate __schema --json`: the process's exit code; nullopt when argv is something else.
std::optional<int> SchemaEntry(int argc, char** argv);

}  // namespace spate::daemon
