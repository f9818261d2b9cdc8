/* Nodes with certificates: both sides must show one that the authority signed. */
#include "exchange_unit.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <unistd.h>

#include "exchange/client.h"

static char folder[4096];

static char *in_folder(const char *name)
{
    static char paths[8][4200];
    static int next;
    char *path = paths[next++ % 8];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void extend(X509 *cert, X509 *issuer, int what, const char *value)
{
    X509V3_CTX ctx;

    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, what, value);
    assert_non_null(e);
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
}

/* A key and a certificate in NAME.key and NAME.crt, signed by the authority's key, or by its own. */
static void make_certificate(const char *name, const char *alternative, X509 *authority, EVP_PKEY *signer, X509 **out_cert, EVP_PKEY **out_key)
{
    static long serial = 1;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    char file[64];

    assert_non_null(key);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(authority ? authority : cert));
    extend(cert, authority ? authority : cert, NID_basic_constraints, authority ? "CA:FALSE" : "critical,CA:TRUE");
    if (alternative)
        extend(cert, authority, NID_subject_alt_name, alternative);
    assert_true(X509_sign(cert, signer ? signer : key, EVP_sha256()) > 0);
    snprintf(file, sizeof file, "%s.crt", name);
    FILE *f = fopen(in_folder(file), "w");
    PEM_write_X509(f, cert);
    fclose(f);
    snprintf(file, sizeof file, "%s.key", name);
    f = fopen(in_folder(file), "w");
    PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
    fclose(f);
    if (out_cert) {
        *out_cert = cert;
        *out_key = key;
        return;
    }
    X509_free(cert);
    EVP_PKEY_free(key);
}

static int make_certificates(void **state)
{
    X509 *ca = NULL, *other = NULL;
    EVP_PKEY *key = NULL, *other_key = NULL;

    (void)state;
    snprintf(folder, sizeof folder, "%s", unit_folder());
    make_certificate("ca", NULL, NULL, NULL, &ca, &key);
    make_certificate("stranger_ca", NULL, NULL, NULL, &other, &other_key);
    make_certificate("node", "IP:127.0.0.1", ca, key, NULL, NULL);
    make_certificate("elsewhere", "DNS:elsewhere.example", ca, key, NULL, NULL);
    make_certificate("stranger", "IP:127.0.0.1", other, other_key, NULL, NULL);
    X509_free(ca);
    X509_free(other);
    EVP_PKEY_free(key);
    EVP_PKEY_free(other_key);
    return 0;
}

static int remove_certificates(void **state)
{
    (void)state;
    unit_folder_remove(folder);
    return 0;
}

static struct sl_exchange_opts with(const char *cert, const char *key, const char *ca)
{
    struct sl_exchange_opts o = {.tls = {cert, key, ca, false}};

    return o;
}

static void blocks_arrive(void **state)
{
    static const size_t sizes[] = {1, 100000, 5000000, 16384, 16385};
    struct sl_exchange_opts o = with(in_folder("node.crt"), in_folder("node.key"), in_folder("ca.crt"));
    struct unit_pair p;
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open(&p, &o, &o);
    for (int32_t i = 0; i < 5; i++)
        unit_send(p.sink, i, sizes[i]);
    assert_ok(sl_sink_channel_end(p.sink, &err), err);
    for (int32_t i = 0; i < 5; i++)
        unit_receive(p.source, i, sizes[i]);
    unit_receive_end(p.source);
    assert_ok(sl_sink_channel_wait(p.sink, 10000, &err), err);
    unit_close(&p);
}

static int call_with(const struct sl_exchange_tls *tls, int port, sl_err *err)
{
    struct sl_client *c = NULL;
    struct sl_client_setup setup = {.tls = tls, .timeout_millis = 5000, .max_frame = 1 << 20};
    struct sl_mpp_call call = {.method = SL_MPP_TEST};
    struct sl_mpp_reply reply;
    struct sl_arena arena = SL_ARENA_INIT;
    char address[32];
    int rc = sl_client_new(&setup, &c, err);

    snprintf(address, sizeof address, "127.0.0.1:%d", port);
    if (rc == SL_OK)
        rc = sl_client_call(c, address, NULL, &call, &arena, &reply, err);
    sl_client_free(c);
    sl_arena_release(&arena);
    return rc;
}

static void strangers(void **state)
{
    char *ca = in_folder("ca.crt"), *node_cert = in_folder("node.crt"), *node_key = in_folder("node.key");
    struct sl_exchange_opts o = with(node_cert, node_key, ca);
    struct sl_exchange_tls good = {node_cert, node_key, ca, false}, no_cert = {NULL, NULL, ca, false};
    struct sl_exchange *x = NULL;
    char address[32];
    sl_err err = SL_ERR_INIT;

    (void)state;
    unit_open_node(&o, &x, address);
    assert_ok(call_with(&good, sl_exchange_port(x), &err), err);
    assert_code(call_with(&no_cert, sl_exchange_port(x), &err), SL_EIO);
    assert_code(call_with(NULL, sl_exchange_port(x), &err), SL_EIO); /* plain on a port with TLS */
    struct sl_exchange_tls stranger = {in_folder("stranger.crt"), in_folder("stranger.key"), in_folder("ca.crt"), false};
    assert_code(call_with(&stranger, sl_exchange_port(x), &err), SL_EIO);
    sl_exchange_close(x);

    /* A server that another authority signed, and one with another name. */
    struct sl_exchange_opts s = with(in_folder("stranger.crt"), in_folder("stranger.key"), in_folder("stranger_ca.crt"));
    unit_open_node(&s, &x, address);
    struct sl_exchange_tls again = {in_folder("node.crt"), in_folder("node.key"), in_folder("ca.crt"), false};
    assert_code(call_with(&again, sl_exchange_port(x), &err), SL_EIO);
    assert_non_null(strstr(err.text, "no TLS"));
    sl_exchange_close(x);
    struct sl_exchange_opts e = with(in_folder("elsewhere.crt"), in_folder("elsewhere.key"), in_folder("ca.crt"));
    unit_open_node(&e, &x, address);
    assert_code(call_with(&again, sl_exchange_port(x), &err), SL_EIO);
    sl_exchange_close(x);
}

static void bad_options(void **state)
{
    struct sl_exchange *x = NULL;
    sl_err err = SL_ERR_INIT;
    struct sl_exchange_opts none = {.listen = "0.0.0.0:0"};
    struct sl_exchange_opts missing = with(in_folder("nothing.crt"), in_folder("node.key"), in_folder("ca.crt"));
    struct sl_exchange_opts crossed = with(in_folder("node.crt"), in_folder("stranger.key"), in_folder("ca.crt"));
    struct sl_exchange_opts alone = with(in_folder("node.crt"), in_folder("node.key"), NULL);

    (void)state;
    assert_code(sl_exchange_open(&none, &x, &err), SL_EUSAGE); /* off loopback there is no plain */
    missing.listen = crossed.listen = alone.listen = "127.0.0.1:0";
    assert_code(sl_exchange_open(&missing, &x, &err), SL_EINPUT);
    assert_code(sl_exchange_open(&crossed, &x, &err), SL_EINPUT);
    assert_code(sl_exchange_open(&alone, &x, &err), SL_EUSAGE);
    none.listen = "nonsense";
    assert_code(sl_exchange_open(&none, &x, &err), SL_EUSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_arrive),
        cmocka_unit_test(strangers),
        cmocka_unit_test(bad_options),
    };

    return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
