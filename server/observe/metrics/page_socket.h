// A client's connection to the metrics page, in the clear or by TLS, which never waits.
//
// Not safe from several threads. A thread that uses TLS has to have SIGPIPE blocked or ignored:
// OpenSSL writes to clients that have gone.
#ifndef WARPFOLD_SERVER_OBSERVE_METRICS_PAGE_SOCKET_H_
#define WARPFOLD_SERVER_OBSERVE_METRICS_PAGE_SOCKET_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/system/owned_descriptor.h"

namespace warpfold {

class PageSocket {
 public:
  enum class Step {
    kDone,   // some bytes went or came
    kWaits,  // for what awaited() says
    kEnded,  // by the client, or the connection is broken
  };

  // `socket` does not block. `context` may be null: no TLS.
  PageSocket(OwnedDescriptor socket, SSL_CTX* context);

  int descriptor() const { return socket_.get(); }
  // The client's "127.0.0.1:50051"; empty: it has gone.
  std::string Peer() const;
  // POLLIN or POLLOUT.
  short awaited() const { return awaited_; }

  // Appends some of what has come.
  Step Read(std::string& out);
  // Sends some of `bytes`, and takes it off.
  Step Write(absl::string_view& bytes);
  // Tells the client that nothing more comes.
  void EndWriting();

  // Of the certificate that the client has shown and an authority has signed: first those of other
  // kinds, then the common name. Empty: none.
  std::vector<std::string> CertificateNames() const;

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  Step AfterSystemCall(short event);
  Step AfterTls(int result);

  OwnedDescriptor socket_;
  std::unique_ptr<SSL, FreeSsl> tls_;  // null: none
  short awaited_;
};

}  // namespace warpfold

#endif  // WARPFOLD_SERVER_OBSERVE_METRICS_PAGE_SOCKET_H_
