#include "shepherd/outbox.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace spate::shepherd {

void Outbox::AddEnd(const AttemptEnd& end, const StreamView& out, const StreamView& err,
                    const StreamView& files) {
  size_t before = bytes_.size();
  Append(bytes_, EndedView{end, {out, err, files}});
  if (keeps_) ends_.push_back({end.ref, bytes_.substr(before)});
}

// Nearly always the first one: ends are taken in the order in which they came.
void Outbox::Taken(const AttemptRef& ref) {
  auto end = std::find_if(ends_.begin(), ends_.end(), [&](const End& e) { return e.ref == ref; });
  if (end != ends_.end()) ends_.erase(end);
}

std::string Outbox::KeptFrames() const {
  std::string frames;
  for (const End& end : ends_) frames += end.frame;
  return frames;
}

Outbox::Sent Outbox::Send(int socket) {
  while (unsent() > 0) {
    ssize_t put = send(socket, bytes_.data() + sent_, unsent(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {
      bytes_.erase(0, sent_);
      sent_ = 0;
      return Sent::kFull;
    }
    if (put < 0) return Sent::kGone;
    sent_ += static_cast<size_t>(put);
  }
  bytes_.clear();
  sent_ = 0;
  return Sent::kAll;
}

void Outbox::Forget() {
  bytes_.clear();
  sent_ = 0;
}

void Outbox::Begin(Adopted adopted) {
  Forget();
  adopted.ends = static_cast<uint32_t>(ends_.size());
  Append(bytes_, adopted);
  bytes_ += KeptFrames();
}

}  // namespace spate::shepherd
