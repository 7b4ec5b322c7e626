#include "server/frontend/grpc/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <ctime>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/frontend/wire/grpc_compat.h"
#include "server/system/regular_file.h"

namespace warpfold {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using UniqueBio = std::unique_ptr<BIO, Free>;
using UniqueKey = std::unique_ptr<EVP_PKEY, Free>;
using UniqueX509 = std::unique_ptr<X509, Free>;

absl::Status Bad(const char* option, const std::string& file, const std::string& what) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", file, " ", what));
}

absl::StatusOr<std::string> ReadFile(const char* option, const std::string& path) {
  absl::StatusOr<std::string> text = ReadRegularFile(path);
  if (text.ok() && text->empty()) return Bad(option, path, "is empty");
  if (text.ok()) return text;
  return absl::InvalidArgumentError(absl::StrCat(option, ": ", text.status().message()));
}

UniqueBio BioOf(const std::string& text) {
  return UniqueBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::vector<UniqueX509> Certificates(const std::string& pem) {
  const UniqueBio bio = BioOf(pem);
  std::vector<UniqueX509> certificates;
  while (UniqueX509 one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(one));
  }
  ERR_clear_error();
  return certificates;
}

// None: it holds no time that can be read.
std::optional<absl::Time> TimeOf(const ASN1_TIME* time) {
  std::tm read{};
  if (ASN1_TIME_to_tm(time, &read) != 1) return std::nullopt;
  return absl::FromTM(read, absl::UTCTimeZone());
}

// "has expired: it was valid until ..."; empty: it is valid now.
std::string WhyNotValidNow(const X509& certificate) {
  const auto text = [](absl::Time time) {
    return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
  };
  const std::optional<absl::Time> begin = TimeOf(X509_get0_notBefore(&certificate));
  const std::optional<absl::Time> end = TimeOf(X509_get0_notAfter(&certificate));
  if (!begin.has_value() || !end.has_value()) return "does not say when it is valid";
  if (*end <= absl::Now()) return absl::StrCat("has expired: it was valid until ", text(*end));
  if (*begin > absl::Now()) return absl::StrCat("is not valid before ", text(*begin));
  return "";
}

// A client is taken that shows a certificate of one of them; the last one's reason where none will
// do.
absl::Status CheckAuthorities(const std::string& file, const std::string& pem) {
  std::string why = "holds no PEM certificate";
  for (const UniqueX509& authority : Certificates(pem)) {
    why = WhyNotValidNow(*authority);
    if (why.empty()) return absl::OkStatus();
  }
  return Bad("tls-client-ca", file, why);
}

// A password is never asked for: nobody would answer.
UniqueKey PrivateKey(const std::string& pem) {
  const auto no_password = [](char*, int, int, void*) { return -1; };
  return UniqueKey(PEM_read_bio_PrivateKey(BioOf(pem).get(), nullptr, no_password, nullptr));
}

// Null: OpenSSL does not take it.
std::shared_ptr<SSL_CTX> MakeContext(const std::string& certificate, const std::string& key,
                                     const std::string& client_ca) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) return nullptr;
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  const std::vector<UniqueX509> chain = Certificates(certificate);
  bool is_taken = SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
                  SSL_CTX_use_PrivateKey(context.get(), PrivateKey(key).get()) == 1;
  for (auto one = std::next(chain.begin()); one != chain.end(); ++one) {
    is_taken = is_taken && SSL_CTX_add1_chain_cert(context.get(), one->get()) == 1;
  }
  if (!client_ca.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    for (const UniqueX509& authority : Certificates(client_ca)) {
      X509_STORE* const store = SSL_CTX_get_cert_store(context.get());
      is_taken = is_taken && X509_STORE_add_cert(store, authority.get()) == 1;
    }
  }
  ERR_clear_error();
  return is_taken ? context : nullptr;
}

}  // namespace

absl::StatusOr<TlsCertificate::Pem> TlsCertificate::Read(const TlsFiles& files) {
  Pem pem;
  absl::StatusOr<std::string> certificate = ReadFile("tls-cert", files.certificate);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = ReadFile("tls-key", files.private_key);
  if (!key.ok()) return key.status();
  const std::vector<UniqueX509> parsed = Certificates(*certificate);
  if (parsed.empty()) return Bad("tls-cert", files.certificate, "holds no PEM certificate");
  const UniqueKey parsed_key = PrivateKey(*key);
  if (parsed_key == nullptr) {
    return Bad("tls-key", files.private_key, "holds no PEM private key without a password");
  }
  if (X509_check_private_key(parsed.front().get(), parsed_key.get()) != 1) {
    return Bad("tls-key", files.private_key, "is not the key of the certificate");
  }
  if (const std::string why = WhyNotValidNow(*parsed.front()); !why.empty()) {
    return Bad("tls-cert", files.certificate, why);
  }
  pem.not_after = *TimeOf(X509_get0_notAfter(parsed.front().get()));
  if (!files.client_ca.empty()) {
    absl::StatusOr<std::string> ca = ReadFile("tls-client-ca", files.client_ca);
    if (!ca.ok()) return ca.status();
    if (absl::Status status = CheckAuthorities(files.client_ca, *ca); !status.ok()) return status;
    pem.client_ca = *std::move(ca);
  }
  pem.certificate = *std::move(certificate);
  pem.private_key = *std::move(key);
  pem.context = MakeContext(pem.certificate, pem.private_key, pem.client_ca);
  if (pem.context == nullptr) return Bad("tls-cert", files.certificate, "is not taken by OpenSSL");
  return pem;
}

absl::StatusOr<std::unique_ptr<TlsCertificate>> TlsCertificate::Load(const TlsFiles& files) {
  absl::StatusOr<Pem> pem = Read(files);
  if (!pem.ok()) return pem.status();
  return std::unique_ptr<TlsCertificate>(new TlsCertificate(files, *std::move(pem)));
}

absl::Status TlsCertificate::Reload() {
  absl::StatusOr<Pem> pem = Read(files_);
  if (!pem.ok()) return pem.status();
  absl::MutexLock lock(&mutex_);
  pem_ = *std::move(pem);
  ++loading_;
  return absl::OkStatus();
}

absl::Time TlsCertificate::not_after() const {
  absl::MutexLock lock(&mutex_);
  return pem_.not_after;
}

std::shared_ptr<SSL_CTX> TlsCertificate::Context() const {
  absl::MutexLock lock(&mutex_);
  return pem_.context;
}

grpc_ssl_certificate_config_reload_status TlsCertificate::Fetch(
    void* fetcher, grpc_ssl_server_certificate_config** out) {
  std::int64_t& fetched = static_cast<Fetcher*>(fetcher)->fetched;
  TlsCertificate& tls = static_cast<Fetcher*>(fetcher)->tls;
  absl::MutexLock lock(&tls.mutex_);
  if (fetched == tls.loading_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
  const grpc_ssl_pem_key_cert_pair pair{tls.pem_.private_key.c_str(), tls.pem_.certificate.c_str()};
  // gRPC 1.51 wants roots even where no client is asked for a certificate; then any will do.
  const std::string& roots = tls.pem_.client_ca.empty() ? tls.pem_.certificate : tls.pem_.client_ca;
  *out = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
  fetched = tls.loading_;
  return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
}

std::shared_ptr<grpc::ServerCredentials> TlsCertificate::Credentials() {
  const auto clients = files_.client_ca.empty()
                           ? GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE
                           : GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  absl::MutexLock lock(&mutex_);
  Fetcher& fetcher = fetchers_.emplace_back(Fetcher{*this});
  // gRPC's C++ interface can watch files but cannot be handed a certificate, and once it has taken
  // a pair that does not fit (1.51) it serves none at all. The core's fetcher can.
  return std::make_shared<CoreServerCredentials>(grpc_ssl_server_credentials_create_with_options(
      grpc_ssl_server_credentials_create_options_using_config_fetcher(clients, &Fetch, &fetcher)));
}

}  // namespace warpfold
