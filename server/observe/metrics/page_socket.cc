#include "server/observe/metrics/page_socket.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "server/system/host_port.h"

namespace warpfold {
namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

void AddAlternativeNames(const X509& certificate, std::vector<std::string>& names) {
  const std::unique_ptr<GENERAL_NAMES, Free> all(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    int kind = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(all.get(), i), &kind);
    if (kind == GEN_DNS || kind == GEN_URI || kind == GEN_EMAIL) {
      names.push_back(TextOf(static_cast<const ASN1_STRING*>(value)));
    }
  }
}

void AddCommonName(const X509& certificate, std::vector<std::string>& names) {
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (index < 0) return;
  names.push_back(TextOf(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))));
}

}  // namespace

PageSocket::PageSocket(OwnedDescriptor socket, SSL_CTX* context)
    : socket_(std::move(socket)),
      tls_(context != nullptr ? SSL_new(context) : nullptr),
      awaited_(POLLIN) {
  if (tls_ == nullptr) return;
  SSL_set_fd(tls_.get(), socket_.get());
  SSL_set_accept_state(tls_.get());
  SSL_set_mode(tls_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE);
}

PageSocket::Step PageSocket::AfterSystemCall(short event) {
  awaited_ = event;
  return errno == EAGAIN || errno == EINTR ? Step::kWaits : Step::kEnded;
}

PageSocket::Step PageSocket::AfterTls(int result) {
  const int error = SSL_get_error(tls_.get(), result);
  ERR_clear_error();
  if (error == SSL_ERROR_NONE) return Step::kDone;
  if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) return Step::kEnded;
  awaited_ = error == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
  return Step::kWaits;
}

PageSocket::Step PageSocket::Read(std::string& out) {
  char buffer[4096];
  if (tls_ != nullptr) {
    const int count = SSL_read(tls_.get(), buffer, sizeof(buffer));
    if (count > 0) out.append(buffer, static_cast<std::size_t>(count));
    return AfterTls(count);
  }
  const ssize_t count = recv(socket_.get(), buffer, sizeof(buffer), 0);
  if (count < 0) return AfterSystemCall(POLLIN);
  out.append(buffer, static_cast<std::size_t>(count));
  return count > 0 ? Step::kDone : Step::kEnded;
}

PageSocket::Step PageSocket::Write(absl::string_view& bytes) {
  if (tls_ != nullptr) {
    const int count = SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
    return AfterTls(count);
  }
  const ssize_t count = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0) return AfterSystemCall(POLLOUT);
  bytes.remove_prefix(static_cast<std::size_t>(count));
  return Step::kDone;
}

void PageSocket::EndWriting() {
  if (tls_ != nullptr) {
    SSL_shutdown(tls_.get());
    ERR_clear_error();
  }
  shutdown(socket_.get(), SHUT_WR);
}

std::string PageSocket::Peer() const {
  SocketAddress peer{.size = sizeof(peer.storage)};
  auto* const storage = reinterpret_cast<sockaddr*>(&peer.storage);
  return getpeername(socket_.get(), storage, &peer.size) == 0 ? ToString(peer) : "";
}

std::vector<std::string> PageSocket::CertificateNames() const {
  std::vector<std::string> names;
  if (tls_ == nullptr || SSL_get_verify_result(tls_.get()) != X509_V_OK) return names;
  const std::unique_ptr<X509, Free> certificate(SSL_get1_peer_certificate(tls_.get()));
  if (certificate == nullptr) return names;
  AddAlternativeNames(*certificate, names);
  AddCommonName(*certificate, names);
  return names;
}

}  // namespace warpfold
