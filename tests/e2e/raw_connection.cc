#include "tests/e2e/raw_connection.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace warpfold::e2e {
namespace {

// RFC 9113: frame types, flags, the one setting of interest, and the largest frame that every peer
// takes.
enum Frame : std::uint8_t {
  kData,
  kHeaders,
  kPriority,
  kReset,
  kSettings,
  kPush,
  kPing,
  kGoAway,
  kWindow
};
constexpr std::uint8_t kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr std::uint32_t kInitialWindowSetting = 4;
constexpr std::size_t kFrameBytesMax = 16384;
constexpr std::uint32_t kStream = 1;

std::string BigEndian(std::uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift));
  }
  return text;
}

std::uint32_t Number(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  }
  return value;
}

// RFC 7541, 6.2.2: a field as it is. Shorter than 127 bytes each.
std::string Field(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + static_cast<char>(name.size()) + name +
         static_cast<char>(value.size()) + value;
}

}  // namespace

RawConnection::RawConnection(int port, const std::string& method, const std::string& grpc_timeout)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ended_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0;
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  ended_ = ended_ || send(fd_, preface.data(), preface.size(), MSG_NOSIGNAL) !=
                         static_cast<ssize_t>(preface.size());
  SendFrame(kSettings, 0, 0, "");
  SendFrame(kHeaders, kEndHeaders, kStream,
            Field(":method", "POST") + Field(":scheme", "http") + Field(":path", method) +
                Field(":authority", "localhost") + Field("content-type", "application/grpc") +
                Field("te", "trailers") +
                (grpc_timeout.empty() ? "" : Field("grpc-timeout", grpc_timeout)));
}

RawConnection::~RawConnection() { close(fd_); }

bool RawConnection::SendMessage(const std::string& message) {
  return SendPart(message.size(), message);
}

bool RawConnection::SendPart(std::size_t message_bytes, const std::string& begin) {
  return SendData(std::string(1, '\0') + BigEndian(message_bytes, 4) + begin);
}

void RawConnection::HalfClose() { SendFrame(kData, kEndStream, kStream, ""); }

bool RawConnection::AwaitRead() {
  ponged_ = false;
  SendFrame(kPing, 0, 0, std::string(8, 'p'));
  while (!ponged_) {
    if (!ReadFrame()) return false;
  }
  return true;
}

bool RawConnection::SendData(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const std::int64_t window = std::min(stream_window_, connection_window_);
    if (window <= 0) {
      if (!ReadFrame()) return false;
      continue;
    }
    const std::size_t count =
        std::min({bytes.size() - done, kFrameBytesMax, static_cast<std::size_t>(window)});
    SendFrame(kData, 0, kStream, bytes.substr(done, count));
    done += count;
    stream_window_ -= static_cast<std::int64_t>(count);
    connection_window_ -= static_cast<std::int64_t>(count);
  }
  return !ended_;
}

void RawConnection::SendFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                              const std::string& payload) {
  const std::string frame = BigEndian(payload.size(), 3) + static_cast<char>(type) +
                            static_cast<char>(flags) + BigEndian(stream, 4) + payload;
  for (std::size_t done = 0; !ended_ && done < frame.size();) {
    const ssize_t sent = send(fd_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    ended_ = sent <= 0;
    done += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
  }
}

bool RawConnection::ReadAll(char* out, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t count = recv(fd_, out, bytes, 0);
    if (count <= 0) return false;
    out += count;
    bytes -= static_cast<std::size_t>(count);
  }
  return true;
}

bool RawConnection::ReadFrame() {
  std::string head(9, '\0');
  std::string payload;
  ended_ = ended_ || !ReadAll(head.data(), head.size());
  if (ended_) return false;
  payload.resize(Number(head, 0, 3));
  ended_ = !ReadAll(payload.data(), payload.size());
  const bool is_ack = (head[4] & kAck) != 0;
  switch (static_cast<std::uint8_t>(head[3])) {
    case kSettings:
      if (!is_ack) ReadSettings(payload);
      break;
    case kPing:
      if (!is_ack) SendFrame(kPing, kAck, 0, payload);
      ponged_ = ponged_ || is_ack;
      break;
    case kWindow:
      (Number(head, 5, 4) == 0 ? connection_window_ : stream_window_) += Number(payload, 0, 4);
      break;
    case kReset:
    case kGoAway:
      ended_ = true;
      break;
    default:  // answers, which nobody here reads
      break;
  }
  return !ended_;
}

void RawConnection::ReadSettings(const std::string& payload) {
  for (std::size_t at = 0; at + 6 <= payload.size(); at += 6) {
    if (Number(payload, at, 2) != kInitialWindowSetting) continue;
    const std::int64_t window = Number(payload, at + 2, 4);
    stream_window_ += window - initial_window_;
    initial_window_ = window;
  }
  SendFrame(kSettings, kAck, 0, "");
}

}  // namespace warpfold::e2e
