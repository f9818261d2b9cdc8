/* TLS by OpenSSL on blocking sockets. The bytes pass through a BIO of our own: OpenSSL's would raise SIGPIPE. */
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/sys.h"
#include "exchange/net_priv.h"

struct sl_tls {
    SSL_CTX *ctx; /* owned */
};

static BIO_METHOD *bio_method;
static pthread_once_t bio_once = PTHREAD_ONCE_INIT;

static int bio_write(BIO *b, const char *p, int n)
{
    const struct sl_link *c = BIO_get_data(b);
    ssize_t sent;

    do
        sent = send(c->fd, p, (size_t)n, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return (int)sent;
}

static int bio_read(BIO *b, char *p, int n)
{
    const struct sl_link *c = BIO_get_data(b);
    ssize_t got;

    do
        got = recv(c->fd, p, (size_t)n, 0);
    while (got < 0 && errno == EINTR);
    return (int)got;
}

static long bio_ctrl(BIO *b, int what, long number, void *p)
{
    (void)b;
    (void)number;
    (void)p;
    return what == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *b)
{
    BIO_set_init(b, 1);
    return 1;
}

static void make_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "sluice socket");
    if (bio_method) {
        BIO_meth_set_write(bio_method, bio_write);
        BIO_meth_set_read(bio_method, bio_read);
        BIO_meth_set_ctrl(bio_method, bio_ctrl);
        BIO_meth_set_create(bio_method, bio_create);
    }
}

/* The newest reason that OpenSSL has; clears them all. */
static const char *reason(char *text, size_t n)
{
    unsigned long e = ERR_peek_last_error();

    if (e)
        ERR_error_string_n(e, text, n);
    ERR_clear_error();
    return e ? text : "the connection ended";
}

static int bad_file(const char *what, const char *path, sl_err *err)
{
    char text[256];

    return sl_err_set(err, SL_EINPUT, "cannot use %s \"%s\" for TLS: %s", what, path ? path : "", reason(text, sizeof text));
}

static int load(struct sl_tls *t, const struct sl_exchange_tls *o, bool server, sl_err *err)
{
    if (o->cert_file && SSL_CTX_use_certificate_chain_file(t->ctx, o->cert_file) != 1)
        return bad_file("the certificate", o->cert_file, err);
    if (o->key_file && SSL_CTX_use_PrivateKey_file(t->ctx, o->key_file, SSL_FILETYPE_PEM) != 1)
        return bad_file("the key", o->key_file, err);
    if (o->cert_file && SSL_CTX_check_private_key(t->ctx) != 1)
        return bad_file("the key", o->key_file, err);
    if (o->ca_file && SSL_CTX_load_verify_locations(t->ctx, o->ca_file, NULL) != 1)
        return bad_file("the authority", o->ca_file, err);
    if (server && !o->cert_file)
        return sl_err_set(err, SL_EUSAGE, "a server with TLS needs a certificate and its key");
    if (!o->ca_file && (!server || !o->any_client))
        return sl_err_set(err, SL_EUSAGE, "TLS needs the certificate of the authority that signed the other side's");
    return SL_OK;
}

int sl_tls_new(const struct sl_exchange_tls *o, bool server, struct sl_tls **out, sl_err *err)
{
    struct sl_tls *t = sl_calloc(1, sizeof *t);
    int rc = SL_OK;

    *out = NULL;
    pthread_once(&bio_once, make_bio_method);
    if (!t || !bio_method)
        SL_GOTO_NOMEM(err);
    t->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (!t->ctx)
        SL_GOTO_NOMEM(err);
    SSL_CTX_set_min_proto_version(t->ctx, TLS1_2_VERSION);
    SSL_CTX_set_mode(t->ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY | SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_session_cache_mode(t->ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(t->ctx, 0); /* a ticket would look like an answer on an idle connection */
    SSL_CTX_set_verify(t->ctx, server && o->any_client ? SSL_VERIFY_NONE : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SL_GO(load(t, o, server, err));
    *out = t;
    t = NULL;
done:
    sl_tls_free(t);
    return rc;
}

void sl_tls_free(struct sl_tls *t)
{
    if (!t)
        return;
    SSL_CTX_free(t->ctx);
    sl_free(t);
}

static int make_ssl(struct sl_link *c, struct sl_tls *tls, sl_err *err)
{
    BIO *bio = BIO_new(bio_method);

    c->ssl = SSL_new(tls->ctx);
    if (!c->ssl || !bio) {
        BIO_free(bio);
        return sl_err_nomem(err);
    }
    BIO_set_data(bio, c);
    SSL_set_bio(c->ssl, bio, bio);
    return SL_OK;
}

static int handshake(struct sl_link *c, int outcome, sl_err *err)
{
    char text[256];

    if (outcome == 1) {
        X509 *cert = SSL_get1_peer_certificate(c->ssl);

        c->verified = cert && SSL_get_verify_result(c->ssl) == X509_V_OK;
        X509_free(cert);
        return SL_OK;
    }
    long why = SSL_get_verify_result(c->ssl);
    sl_err_set(err, SL_EIO, "no TLS with %s: %s", c->peer, why != X509_V_OK ? X509_verify_cert_error_string(why) : reason(text, sizeof text));
    ERR_clear_error();
    sl_err_flag(err, SL_ERR_RETRY);
    SSL_free(c->ssl);
    c->ssl = NULL;
    return SL_EIO;
}

int sl_link_accept_tls(struct sl_link *c, struct sl_tls *tls, sl_err *err)
{
    SL_TRY(make_ssl(c, tls, err));
    return handshake(c, SSL_accept(c->ssl), err);
}

int sl_link_connect_tls(struct sl_link *c, struct sl_tls *tls, const char *host, sl_err *err)
{
    SL_TRY(make_ssl(c, tls, err));
    X509_VERIFY_PARAM *p = SSL_get0_param(c->ssl);
    if (X509_VERIFY_PARAM_set1_ip_asc(p, host) != 1) {
        ERR_clear_error();
        if (SSL_set1_host(c->ssl, host) != 1 || SSL_set_tlsext_host_name(c->ssl, host) != 1)
            return sl_err_nomem(err);
    }
    return handshake(c, SSL_connect(c->ssl), err);
}

/* What an operation that did not succeed means in the terms of read and write. */
static ssize_t outcome(struct sl_link *c, int n)
{
    int why = SSL_get_error(c->ssl, n), saved = errno;

    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = why == SSL_ERROR_SYSCALL && saved ? saved : ECONNRESET;
    return -1;
}

ssize_t sl_tls_read(struct sl_link *c, void *to, size_t n)
{
    errno = 0;
    int got = SSL_read(c->ssl, to, n > INT_MAX ? INT_MAX : (int)n);

    return got > 0 ? got : outcome(c, got);
}

ssize_t sl_tls_write(struct sl_link *c, const void *p, size_t n)
{
    errno = 0;
    int sent = SSL_write(c->ssl, p, n > INT_MAX ? INT_MAX : (int)n);

    return sent > 0 ? sent : outcome(c, sent);
}
