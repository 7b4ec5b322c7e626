// A client below gRPC: one HTTP/2 connection with one call, which sends what a test says and no
// more, such as the first half of a message. It keeps to the server's flow control.
//
// Uses system calls and memory alone, so that a child may use it after fork().
#ifndef WARPFOLD_TESTS_E2E_RAW_CONNECTION_H_
#define WARPFOLD_TESTS_E2E_RAW_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace warpfold::e2e {

class RawConnection {
 public:
  // Connects to the server at `port` of this host and begins a call of `method`, its full name,
  // whose deadline is `grpc_timeout` away, such as "99S"; empty: for ever.
  RawConnection(int port, const std::string& method, const std::string& grpc_timeout = "");
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // These wait for the server's flow control. False: the server has ended the call or the
  // connection.
  bool SendMessage(const std::string& message);
  // Of a message of `message_bytes` the first ones, `begin`.
  bool SendPart(std::size_t message_bytes, const std::string& begin);
  // No more messages come.
  void HalfClose();
  // Returns once the server has read all that was sent.
  bool AwaitRead();

 private:
  void SendFrame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                 const std::string& payload);
  bool SendData(const std::string& bytes);
  // Reads one frame and does what it asks for.
  bool ReadFrame();
  bool ReadAll(char* out, std::size_t bytes);
  void ReadSettings(const std::string& payload);

  int fd_;
  bool ended_ = false;
  bool ponged_ = false;
  std::int64_t initial_window_ = 65535;
  std::int64_t stream_window_ = 65535;
  std::int64_t connection_window_ = 65535;
};

}  // namespace warpfold::e2e

#endif  // WARPFOLD_TESTS_E2E_RAW_CONNECTION_H_
