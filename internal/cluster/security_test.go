package cluster_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"software.sslmate.com/src/go-pkcs12"

	"observer-patch/internal/cluster"
)

// connects makes a client by a client.properties, looks, and gives the warnings and the error.
func connects(t *testing.T, address, properties string) (warnings string, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "client.properties")
	require.NoError(t, os.WriteFile(path, []byte(properties), 0o600))
	var log bytes.Buffer
	client, err := cluster.Connect(cluster.Settings{Bootstrap: []string{address}, CommandConfig: path}, slog.New(slog.NewTextHandler(&log, nil)))
	if err == nil {
		defer client.Close()
		_, err = client.Look(t.Context(), cluster.Scope{}, time.Now())
	}
	return log.String(), err
}

func jaas(module, options string) string {
	return "sasl.jaas.config=org.apache.kafka.common.security." + module + " required \\\n  " + options + ";\n"
}

func TestSASLMechanismsOfAClientProperties(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.Superuser("PLAIN", "ann", `p"; '\w`), kfake.Superuser("SCRAM-SHA-256", "bob", "secret"),
		kfake.Superuser("SCRAM-SHA-512", "cat", "secret"))
	defer c.Close()
	address := c.ListenAddrs()[0]
	const sasl = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism="
	for name, properties := range map[string]string{
		"plain":    sasl + "PLAIN\n" + jaas("plain.PlainLoginModule", `username="ann" password="p\\"; '\\\\w"`),
		"scram256": sasl + "SCRAM-SHA-256\n" + jaas("scram.ScramLoginModule", "username=bob password='secret'"),
		"scram512": sasl + "SCRAM-SHA-512\n" + jaas("scram.ScramLoginModule", `username="cat" password="secret"`),
	} {
		_, err := connects(t, address, properties)
		assert.NoError(t, err, name)
	}
	_, err := connects(t, address, sasl+"PLAIN\n"+jaas("plain.PlainLoginModule", `username="ann" password="wrong"`))
	assert.Error(t, err)
	_, err = connects(t, address, "")
	assert.Error(t, err, "a cluster that asks for a login is not reached without one")
}

func TestWhatSecurityDependsOnIsNeverIgnored(t *testing.T) {
	const plain = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
	for properties, want := range map[string]string{
		"ssl.engine.factory.class=x":                     "ssl.engine.factory.class",
		"ssl.keymanager.algorithm=PKIX\nssl.provider=BC": "ssl.keymanager.algorithm, ssl.provider",
		"security.providers=x":                           "security.providers",
		"config.providers=file":                          "config.providers",
		"sasl.client.callback.handler.class=x":           "sasl.client.callback.handler.class",
		"security.protocol=SASL_SSL":                     "GSSAPI (the default)",
		"security.protocol=TLS":                          "expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
		plain:                                            "sasl.jaas.config is missing",
		plain + jaas("scram.ScramLoginModule", "username=a password=b"):                                                   "expected module",
		plain + jaas("plain.PlainLoginModule", "username=a"):                                                              "expected username and password",
		plain + jaas("plain.PlainLoginModule", "username=a password=b x=y"):                                               "option x is not supported",
		plain + "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=a password=b": "found no ';'",
		plain + "sasl.login.callback.handler.class=x\n" + jaas("plain.PlainLoginModule", "username=a password=b"):         "callback.handler",
		"security.protocol=SSL\nssl.truststore.location=/nowhere":                                                         "ssl.truststore.location",
		"security.protocol=SSL\nssl.truststore.type=BKS":                                                                  "ssl.truststore.type=BKS",
		"security.protocol=SSL\nssl.enabled.protocols=TLSv1.1,TLSv1.2":                                                    "ssl.enabled.protocols",
		"security.protocol=SSL\nssl.protocol=SSLv3":                                                                       "ssl.protocol=SSLv3",
		"security.protocol=SSL\nssl.cipher.suites=TLS_RSA_WITH_NULL_MD5":                                                  "TLS_RSA_WITH_NULL_MD5",
		"security.protocol=SSL\nssl.endpoint.identification.algorithm=ldaps":                                              "ssl.endpoint.identification.algorithm=ldaps",
		"security.protocol=SSL\nssl.keystore.key=x":                                                                       "expected both of them",
		"request.timeout.ms=soon": "request.timeout.ms=soon",
		`a=\u12`:                  "line 1",
	} {
		_, err := connects(t, "127.0.0.1:1", properties)
		assert.ErrorContains(t, err, want, properties)
	}
}

func TestErrorsRepeatNoPassword(t *testing.T) {
	const sasl = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
	for _, properties := range []string{
		sasl + jaas("plain.PlainLoginModule", "username=a password=b hunter2 hunter2"),
		sasl + jaas("plain.PlainLoginModule", "username=a password= hunter2 = ="),
		sasl + jaas("plain.PlainLoginModule", `username=a password="b" "hunter2"`),
		sasl + "sasl.jaas.config=x required password=\"hunter2",
		"ssl.key.password=\\uhunter2",
		"ssl.truststore.location=/nowhere\nssl.truststore.password=hunter2",
	} {
		_, err := connects(t, "127.0.0.1:1", properties)
		if assert.Error(t, err, properties) {
			assert.NotContains(t, err.Error(), "hunter", properties)
		}
	}
}

func TestKeysWithoutEffectAreNamed(t *testing.T) {
	c := kfake.MustCluster(kfake.NumBrokers(1))
	defer c.Close()
	warnings, err := connects(t, c.ListenAddrs()[0], "acks=all\nsasl.kerberos.service.name=kafka\nclient.id=me\ngroup.id=x\n")
	require.NoError(t, err)
	assert.Contains(t, warnings, "without effect: acks, group.id, sasl.kerberos.service.name")
}

// keys are a self-signed certificate and its key in every form that upstream's tools take.
type keys struct {
	dir   string
	chain []byte
	tls   tls.Certificate
}

// makeKeys has Java's own keytool make the stores: the types and algorithms are its defaults.
func makeKeys(t *testing.T) keys {
	t.Helper()
	k := keys{dir: t.TempDir()}
	keytool := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "keytool", args...)
		cmd.Dir = k.dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	keytool("-genkeypair", "-alias", "k", "-keyalg", "EC", "-storetype", "PKCS12", "-keystore", "id.p12", "-storepass", "secret", "-dname", "CN=test", "-ext", "SAN=IP:127.0.0.1", "-validity", "30")
	keytool("-importkeystore", "-srckeystore", "id.p12", "-srcstorepass", "secret", "-destkeystore", "id.jks", "-deststoretype", "JKS", "-deststorepass", "store1", "-srcalias", "k", "-destkeypass", "other1")
	keytool("-exportcert", "-rfc", "-alias", "k", "-keystore", "id.p12", "-storepass", "secret", "-file", "cert.pem")
	keytool("-importcert", "-noprompt", "-alias", "c", "-file", "cert.pem", "-keystore", "trust.p12", "-storetype", "PKCS12", "-storepass", "secret")
	keytool("-importcert", "-noprompt", "-alias", "c", "-file", "cert.pem", "-keystore", "trust.jks", "-storetype", "JKS", "-storepass", "secret")
	store, err := os.ReadFile(filepath.Join(k.dir, "id.p12"))
	require.NoError(t, err)
	key, cert, err := pkcs12.Decode(store, "secret")
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	k.chain = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
	both := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), k.chain...)
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "id.pem"), both, 0o600))
	locked := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(k.dir, "locked.pem"), append(locked, k.chain...), 0o600))
	k.tls = tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
	return k
}

func (k keys) file(name string) string { return filepath.Join(k.dir, name) }

func TestStoresOfAClientProperties(t *testing.T) {
	k := makeKeys(t)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(k.chain))
	c := kfake.MustCluster(kfake.NumBrokers(1), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{k.tls}, ClientCAs: roots, ClientAuth: tls.RequireAndVerifyClientCert}))
	defer c.Close()
	address := c.ListenAddrs()[0]
	const ssl = "security.protocol=SSL\n"
	trust := map[string]string{
		"PEM":                 "ssl.truststore.type=PEM\nssl.truststore.location=" + k.file("cert.pem") + "\n",
		"inline PEM":          "ssl.truststore.type=PEM\nssl.truststore.certificates=" + strings.ReplaceAll(string(k.chain), "\n", `\n`) + "\n",
		"PKCS12":              "ssl.truststore.type=PKCS12\nssl.truststore.location=" + k.file("trust.p12") + "\nssl.truststore.password=secret\n",
		"JKS":                 "ssl.truststore.type=JKS\nssl.truststore.location=" + k.file("trust.jks") + "\nssl.truststore.password=secret\n",
		"PKCS12 with no type": "ssl.truststore.location=" + k.file("trust.p12") + "\nssl.truststore.password=secret\n",
	}
	identity := map[string]string{
		"PEM":    "ssl.keystore.type=PEM\nssl.keystore.location=" + k.file("id.pem") + "\n",
		"PKCS12": "ssl.keystore.type=PKCS12\nssl.keystore.location=" + k.file("id.p12") + "\nssl.keystore.password=secret\n",
		"JKS":    "ssl.keystore.type=JKS\nssl.keystore.location=" + k.file("id.jks") + "\nssl.keystore.password=store1\nssl.key.password=other1\n",
	}
	for tn, tp := range trust {
		_, err := connects(t, address, ssl+tp+identity["PEM"])
		assert.NoError(t, err, "trust store %s", tn)
	}
	for in, ip := range identity {
		_, err := connects(t, address, ssl+trust["PEM"]+ip)
		assert.NoError(t, err, "key store %s", in)
	}
	_, err := connects(t, address, ssl+trust["PEM"]+identity["PEM"]+"ssl.enabled.protocols=TLSv1.2\nssl.cipher.suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256\n")
	assert.NoError(t, err)

	_, err = connects(t, address, ssl+trust["PEM"])
	assert.Error(t, err, "the broker wants a client's certificate")
	_, err = connects(t, address, ssl+identity["PEM"])
	assert.Error(t, err, "a certificate that nobody vouches for")
	for _, wrong := range []string{"trust.p12", "trust.jks"} {
		_, err = connects(t, address, ssl+"ssl.truststore.location="+k.file(wrong)+"\nssl.truststore.password=wrong\n")
		assert.ErrorContains(t, err, "is the password right?")
	}
	_, err = connects(t, address, ssl+trust["PEM"]+"ssl.keystore.type=PEM\nssl.keystore.location="+k.file("locked.pem"))
	assert.ErrorContains(t, err, "encrypted")

	// The certificate is for 127.0.0.1, not for localhost.
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	_, err = connects(t, "localhost:"+port, ssl+trust["PEM"]+identity["PEM"])
	assert.ErrorContains(t, err, "localhost")
	warnings, err := connects(t, "localhost:"+port, ssl+trust["PEM"]+identity["PEM"]+"ssl.endpoint.identification.algorithm=\n")
	assert.NoError(t, err)
	assert.Contains(t, warnings, "the name in it is not")
	_, err = connects(t, "localhost:"+port, ssl+identity["PEM"]+"ssl.endpoint.identification.algorithm=\n")
	assert.Error(t, err, "the chain is checked all the same")
}

func TestBearerTokensNeedAHandlerThatIsKnown(t *testing.T) {
	for properties, want := range map[string]string{
		jaas("oauthbearer.OAuthBearerLoginModule", `clientId=a clientSecret=b`):                                             "is not supported",
		"sasl.login.callback.handler.class=x.Y\n" + jaas("oauthbearer.OAuthBearerLoginModule", `clientId=a clientSecret=b`): "expected org.apache.kafka.common.security.oauthbearer",
		"sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler\nsasl.oauthbearer.token.endpoint.url=ftp://x\n" +
			jaas("oauthbearer.OAuthBearerLoginModule", `clientId=a clientSecret=b`): "expected a URL with https, http or file",
	} {
		_, err := connects(t, "127.0.0.1:1", "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"+properties)
		assert.ErrorContains(t, err, want)
	}
}

func TestSettingsComeFromFlagsThenTheEnvironmentThenTheContext(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`
current: test
contexts:
  test:
    bootstrap-servers: t:1
    command-config: t.properties
    inventory: /inv/t.yaml
    cluster-id: T
  prod:
    bootstrap-servers: p:1, p:2
    cluster-id: P
`), 0o600))
	env := map[string]string{cluster.ContextsVariable: path}
	resolve := func(flags cluster.Settings, context string) cluster.Settings {
		s, err := cluster.Resolve(flags, context, func(k string) string { return env[k] })
		require.NoError(t, err)
		return s
	}
	test := cluster.Settings{Bootstrap: []string{"t:1"}, CommandConfig: filepath.Join(dir, "t.properties"), Inventory: "/inv/t.yaml", ClusterID: "T"}
	assert.Equal(t, test, resolve(cluster.Settings{}, ""))
	assert.Equal(t, cluster.Settings{Bootstrap: []string{"p:1", "p:2"}, ClusterID: "P"}, resolve(cluster.Settings{}, "prod"))
	assert.Equal(t, cluster.Settings{Bootstrap: []string{"x:1"}}, resolve(cluster.Settings{Bootstrap: []string{"x:1"}}, ""), "another cluster takes nothing from the current context")
	env[cluster.ContextVariable] = "prod"
	assert.Equal(t, []string{"p:1", "p:2"}, resolve(cluster.Settings{}, "").Bootstrap)
	assert.Equal(t, test, resolve(cluster.Settings{}, "test"))
	env[cluster.BootstrapVariable] = "e:1,e:2"
	assert.Equal(t, []string{"e:1", "e:2"}, resolve(cluster.Settings{}, "").Bootstrap)
	_, err := cluster.Resolve(cluster.Settings{}, "none", func(k string) string { return env[k] })
	assert.ErrorContains(t, err, "[prod, test]")
	_, err = cluster.Connect(cluster.Settings{}, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, "no brokers are named")
	_, err = cluster.Connect(cluster.Settings{Bootstrap: []string{"host"}}, slog.New(slog.DiscardHandler))
	assert.ErrorContains(t, err, fmt.Sprintf("%q", "host"))
}
