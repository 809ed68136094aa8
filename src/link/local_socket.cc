#include "link/local_socket.h"

#include "os/file.h"

namespace spate::link {
namespace {

constexpr size_t kMostBytes = 4096;

// The path in the file that lies in the socket's place; empty: there is none.
std::string NamedBy(const std::string& name) {
  auto info = os::StatLink(name);
  if (!info || info->kind != os::FileKind::kFile) return "";
  const std::string text = os::ReadFile(name, kMostBytes).value_or("");
  return text.starts_with('/') ? text.substr(0, text.find('\n')) : "";
}

}  // namespace

Result<LocalSocket> LocalSocket::Make(const std::string& name, bool for_others) {
  LocalSocket socket;
  socket.name_ = socket.path_ = name;
  // Left by an owner that was killed, maybe before the folder was moved.
  if (!NamedBy(name).empty()) TRY(os::RemoveFile(name));
  auto facts = os::FileSystemOf(os::DirName(name));
  if (!facts || !facts->is_network) return socket;
  socket.elsewhere_ = std::make_unique<os::TempDir>();
  socket.path_ = socket.elsewhere_->Path("socket");
  if (for_others) TRY(os::SetPermissions(socket.elsewhere_->path(), 0711));
  TRY(os::WriteFileAtomically(name, socket.path_ + "\n", for_others ? 0644 : 0600));
  return socket;
}

LocalSocket::~LocalSocket() {
  if (elsewhere_ && NamedBy(name_) == path_) (void)os::RemoveFile(name_);
}

os::Address WhereItListens(os::Address address) {
  if (!address.is_unix()) return address;
  if (std::string path = NamedBy(address.path); !path.empty()) address.path = std::move(path);
  return address;
}

}  // namespace spate::link
