#include "tests/e2e/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace warpfold::e2e {
namespace {

constexpr long kDaySeconds = 24 * 60 * 60;

template <typename Write>
std::string Pem(const Write& write) {
  BIO* bio = BIO_new(BIO_s_mem());
  write(bio);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string PemOf(X509* certificate) {
  return Pem([&](BIO* bio) { PEM_write_bio_X509(bio, certificate); });
}

void AddExtension(X509* certificate, X509* issuer, int id, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Not signed yet. Each has a serial number of its own.
X509* Unsigned(EVP_PKEY* key, const char* name, int days, int from_days) {
  static long serial = 1;
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), from_days * kDaySeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDaySeconds);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  return certificate;
}

}  // namespace

struct Authority::Signer {
  explicit Signer(int days) : certificate(Unsigned(key, "test authority", days, -10)) {}
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate;
  ~Signer() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

Authority::Authority(int days) : signer_(std::make_unique<Signer>(days)) {
  X509* self = signer_->certificate;
  X509_set_issuer_name(self, X509_get_subject_name(self));
  AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(self, signer_->key, EVP_sha256());
  certificate_ = PemOf(self);
}

Authority::~Authority() = default;

KeyAndCertificate Authority::Issue(int days, int from_days) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = Unsigned(key, "localhost", days, from_days);
  X509_set_issuer_name(certificate, X509_get_subject_name(signer_->certificate));
  AddExtension(certificate, signer_->certificate, NID_subject_alt_name, "DNS:localhost");
  X509_sign(certificate, signer_->key, EVP_sha256());
  KeyAndCertificate issued;
  issued.certificate = PemOf(certificate);
  issued.key = Pem(
      [&](BIO* bio) { PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

}  // namespace warpfold::e2e
