#include "plan/mpi_check.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "os/environment.h"
#include "os/fd.h"
#include "os/file.h"
#include "os/find_program.h"

namespace spate::cli {
namespace {

constexpr size_t kMostOfFile = size_t{1} << 30;

template <typename T>
std::optional<T> At(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Offset in the file of an address of memory.
std::optional<uint64_t> OffsetOf(std::string_view bytes, const Elf64_Ehdr& head, uint64_t address) {
  for (uint16_t i = 0; i < head.e_phnum; ++i) {
    auto part = At<Elf64_Phdr>(bytes, head.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!part) return std::nullopt;
    if (part->p_type != PT_LOAD || address < part->p_vaddr) continue;
    if (address - part->p_vaddr < part->p_filesz) return address - part->p_vaddr + part->p_offset;
  }
  return std::nullopt;
}

// System V ABI, "Dynamic Linking".
std::vector<std::string> NeededLibraries(std::string_view bytes) {
  std::vector<std::string> names;
  auto head = At<Elf64_Ehdr>(bytes, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return names;
  if (head->e_ident[EI_CLASS] != ELFCLASS64) return names;
  for (uint16_t i = 0; i < head->e_phnum; ++i) {
    auto part = At<Elf64_Phdr>(bytes, head->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!part) return names;
    if (part->p_type != PT_DYNAMIC) continue;
    std::vector<uint64_t> needed;
    std::optional<uint64_t> texts;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= part->p_filesz; at += sizeof(Elf64_Dyn)) {
      auto entry = At<Elf64_Dyn>(bytes, part->p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) texts = OffsetOf(bytes, *head, entry->d_un.d_ptr);
    }
    for (uint64_t offset : needed) {
      if (!texts || *texts + offset >= bytes.size()) continue;
      const std::string_view text = bytes.substr(*texts + offset);
      names.emplace_back(text.substr(0, text.find('\0')));
    }
  }
  return names;
}

// The file that a command's first word names, or nothing.
std::string ProgramOf(const std::string& word, const std::string& cwd) {
  if (word.find('/') != std::string::npos) return os::JoinPath(cwd, word);
  return os::FindProgram(word, os::Environment::OfProcess().GetOr("PATH", ""), cwd);
}

const char* NameOfLibrary(MpiLibrary library) {
  switch (library) {
    case MpiLibrary::kMpich:
      return "MPICH";
    case MpiLibrary::kOpenMpi:
      return "Open MPI";
    default:
      return "an MPI library";
  }
}

MpiLibrary LibraryOfCommand(const RunOptions& options, const std::string& cwd) {
  const std::vector<std::string>& command = options.sources.command;
  if (options.gang.empty() || command.empty()) return MpiLibrary::kNone;
  // One word is text for a shell, which may be a program's name.
  const std::string& word = command.front();
  if (word.find_first_of(" \t\n;|&<>$`{}") != std::string::npos) return MpiLibrary::kNone;
  return MpiLibraryOf(ProgramOf(word, cwd));
}

// kNone where somebody has said how to start it.
MpiLibrary UndecidedLibrary(const RunOptions& options, const std::string& cwd) {
  const bool decided = options.start_typed || options.gang.start != GangShape::Start::kEach;
  return decided ? MpiLibrary::kNone : LibraryOfCommand(options, cwd);
}

std::unexpected<Error> Apart(const RunOptions& options, MpiLibrary library,
                             const std::string& launch, std::string_view more = "") {
  const std::string name = EscapeForScreen(options.sources.command.front());
  return Fail(
      ErrorKind::kInvalid,
      fmt::format("{0} is a program of {1}: each of the {2} processes, started so, would be "
                  "an MPI program of its own\nStart it by its launcher: {3} {0}; for "
                  "programs apart: --start each{4}",
                  name, NameOfLibrary(library), options.gang.procs, launch, more));
}

}  // namespace

MpiLibrary MpiLibraryOf(const std::string& path) {
  auto info = os::Stat(path);
  if (!info || info->kind != os::FileKind::kFile || info->size > kMostOfFile) {
    return MpiLibrary::kNone;
  }
  auto fd = os::OpenRead(path);
  char begin[SELFMAG] = {};
  auto got = fd ? os::ReadSome(fd->get(), begin, sizeof begin, path) : Result<size_t>(0);
  if (!got || std::string_view(begin, *got) != ELFMAG) return MpiLibrary::kNone;
  auto bytes = os::ReadFile(path, kMostOfFile);
  if (!bytes) return MpiLibrary::kNone;
  for (const std::string& name : NeededLibraries(*bytes)) {
    // The second one is the name that MPICH, Intel MPI and MVAPICH agreed on.
    if (name.starts_with("libmpich") || name.starts_with("libmpi.so.12")) return MpiLibrary::kMpich;
    if (name.starts_with("libmpi.so.40") || name.starts_with("libmpi.so.20") ||
        name.starts_with("libmpi.so.15")) {
      return MpiLibrary::kOpenMpi;
    }
    if (name.starts_with("libmpi.so")) return MpiLibrary::kOther;
  }
  return MpiLibrary::kNone;
}

Status CheckMpi(RunOptions& options, const std::string& cwd, const MpiSurroundings& here) {
  auto begin = [&](GangPart::Meets meets, MpiLibrary library, std::string_view word) {
    options.meets = meets;
    here.say(fmt::format(
        "{} is a program of {}: its processes are started as one MPI program "
        "(--start {}); for programs apart: --start each",
        EscapeForScreen(options.sources.command.front()), NameOfLibrary(library), word));
  };
  // Open MPI's processes would each be alone.
  if (options.meets == GangPart::Meets::kPmi &&
      LibraryOfCommand(options, cwd) == MpiLibrary::kOpenMpi) {
    begin(GangPart::Meets::kPmix, MpiLibrary::kOpenMpi, "pmix");
    return {};
  }
  const MpiLibrary library = UndecidedLibrary(options, cwd);
  if (library == MpiLibrary::kMpich) begin(GangPart::Meets::kPmi, library, "mpi");
  if (library == MpiLibrary::kNone || library == MpiLibrary::kMpich) return {};
  if (library == MpiLibrary::kOpenMpi) {
    const uint32_t nodes = TRY(here.pmix_nodes());
    if (nodes >= std::max(options.gang.nodes, 1u)) {
      begin(GangPart::Meets::kPmix, library, "pmix");
      return {};
    }
  }
  return Apart(
      options, library, "--start first -- mpirun",
      library == MpiLibrary::kOpenMpi ? "; without mpirun: install spate-pmix on the nodes" : "");
}

Status CheckMpiHere(const RunOptions& options, const std::string& cwd) {
  if (options.meets != GangPart::Meets::kNot) {
    return Fail(
        ErrorKind::kInvalid,
        fmt::format("--start {} is for the nodes of a hub; on this machine alone, write: -- "
                    "mpirun -n PROCESSES PROGRAM",
                    options.meets == GangPart::Meets::kPmix ? "pmix" : "mpi"));
  }
  const MpiLibrary library = UndecidedLibrary(options, cwd);
  if (library == MpiLibrary::kNone) return {};
  return Apart(options, library, fmt::format("-- mpirun -n {}", options.gang.procs));
}

}  // namespace spate::cli
