package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// harmless are keys that concern security by their name and change nothing that matters here:
// how often tools of the JVM renew a login.
var harmless = []string{"sasl.login.refresh.", "sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms", "sasl.login.retry.", "sasl.kerberos."}

// properties are the keys of a client.properties; taken tells which ones have been used.
type properties struct {
	values map[string]string
	taken  map[string]bool
}

func newProperties(list []Property) *properties {
	p := &properties{values: map[string]string{}, taken: map[string]bool{}}
	for _, q := range list {
		p.values[q.Key] = q.Value
	}
	return p
}

func (p *properties) take(key string) string {
	p.taken[key] = true
	return strings.TrimSpace(p.values[key])
}

func (p *properties) has(key string) bool { _, ok := p.values[key]; return ok }

// rest gives the keys that nobody used: those that security may depend on, and others.
func (p *properties) rest() (relevant, other []string) {
	for key := range p.values {
		switch {
		case p.taken[key]:
		case slices.ContainsFunc(harmless, func(h string) bool { return strings.HasPrefix(key, h) }):
			other = append(other, key)
		case strings.HasPrefix(key, "ssl.") || strings.HasPrefix(key, "sasl.") || strings.HasPrefix(key, "security.") || strings.HasPrefix(key, "config.providers"):
			relevant = append(relevant, key)
		default:
			other = append(other, key)
		}
	}
	slices.Sort(relevant)
	slices.Sort(other)
	return relevant, other
}

// secure gives the options that make a connection as safe as the properties ask, or an error:
// nothing that security depends on is ignored.
func secure(p *properties, warn func(string)) ([]kgo.Opt, error) {
	protocol := strings.ToUpper(p.take("security.protocol"))
	if protocol == "" {
		protocol = "PLAINTEXT"
	}
	var opts []kgo.Opt
	switch protocol {
	case "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL":
	default:
		return nil, fmt.Errorf("security.protocol=%s: expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL", protocol)
	}
	config, err := tlsConfig(p, warn)
	if err != nil {
		return nil, err
	}
	if protocol == "SSL" || protocol == "SASL_SSL" {
		opts = append(opts, kgo.DialTLSConfig(config))
	}
	mechanism, err := saslMechanism(p, strings.HasPrefix(protocol, "SASL_"), warn)
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func tlsConfig(p *properties, warn func(string)) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := tlsVersions(p, config); err != nil {
		return nil, err
	}
	trustType, err := storeType("ssl.truststore.type", p.take("ssl.truststore.type"))
	if err != nil {
		return nil, err
	}
	location, inline, password := p.take("ssl.truststore.location"), p.take("ssl.truststore.certificates"), p.take("ssl.truststore.password")
	switch {
	case location != "" && inline != "":
		return nil, errors.New("ssl.truststore.location and ssl.truststore.certificates: expected one of them")
	case location != "":
		if config.RootCAs, err = trusted(location, trustType, password); err != nil {
			return nil, fmt.Errorf("ssl.truststore.location: %w", err)
		}
	case inline != "":
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(inline)) {
			return nil, errors.New("ssl.truststore.certificates: no certificate in PEM form")
		}
	}
	if err := clientIdentity(p, config); err != nil {
		return nil, err
	}
	if p.has("ssl.endpoint.identification.algorithm") && p.take("ssl.endpoint.identification.algorithm") == "" {
		warn("ssl.endpoint.identification.algorithm is empty: a broker's certificate is checked, the name in it is not")
		withoutName(config)
	} else if a := p.take("ssl.endpoint.identification.algorithm"); a != "" && !strings.EqualFold(a, "https") {
		return nil, fmt.Errorf("ssl.endpoint.identification.algorithm=%s: expected https or nothing", a)
	}
	return config, nil
}

// clientIdentity takes the key store of mTLS.
func clientIdentity(p *properties, config *tls.Config) error {
	kind, err := storeType("ssl.keystore.type", p.take("ssl.keystore.type"))
	if err != nil {
		return err
	}
	location, password, keyPassword := p.take("ssl.keystore.location"), p.take("ssl.keystore.password"), p.take("ssl.key.password")
	key, chain := p.take("ssl.keystore.key"), p.take("ssl.keystore.certificate.chain")
	if keyPassword == "" {
		keyPassword = password
	}
	var cert tls.Certificate
	switch {
	case location != "" && (key != "" || chain != ""):
		return errors.New("ssl.keystore.location and ssl.keystore.key: expected one of them")
	case location != "":
		if cert, err = identity(location, kind, password, keyPassword); err != nil {
			return fmt.Errorf("ssl.keystore.location: %w", err)
		}
	case key != "" && chain != "":
		if cert, err = pemIdentity([]byte(chain), []byte(key)); err != nil {
			return fmt.Errorf("ssl.keystore.key: %w", err)
		}
	case key != "" || chain != "":
		return errors.New("ssl.keystore.key and ssl.keystore.certificate.chain: expected both of them")
	default:
		return nil
	}
	config.Certificates = []tls.Certificate{cert}
	return nil
}

func tlsVersions(p *properties, config *tls.Config) error {
	versions := map[string]uint16{"TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13}
	if one := p.take("ssl.protocol"); one != "" && one != "TLS" && versions[one] == 0 {
		return fmt.Errorf("ssl.protocol=%s: expected TLSv1.2 or TLSv1.3", one)
	}
	if list := p.take("ssl.enabled.protocols"); list != "" {
		config.MinVersion, config.MaxVersion = tls.VersionTLS13, tls.VersionTLS12
		for name := range strings.SplitSeq(list, ",") {
			v := versions[strings.TrimSpace(name)]
			if v == 0 {
				return fmt.Errorf("ssl.enabled.protocols=%s: expected TLSv1.2, TLSv1.3 or both", list)
			}
			config.MinVersion, config.MaxVersion = min(config.MinVersion, v), max(config.MaxVersion, v)
		}
	}
	if list := p.take("ssl.cipher.suites"); list != "" {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			i := slices.IndexFunc(tls.CipherSuites(), func(c *tls.CipherSuite) bool { return c.Name == name })
			if i < 0 {
				return fmt.Errorf("ssl.cipher.suites: %s is not supported, or not safe", name)
			}
			config.CipherSuites = append(config.CipherSuites, tls.CipherSuites()[i].ID)
		}
	}
	return nil
}

// withoutName checks a broker's certificate chain and leaves out the name.
func withoutName(config *tls.Config) {
	config.InsecureSkipVerify = true // the chain is verified below
	roots := config.RootCAs
	config.VerifyConnection = func(state tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] {
			between.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
}

const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"
	scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule"
	oauthModule = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
)

// oauthHandlers are the names that upstream's handler for tokens of an endpoint has had.
var oauthHandlers = []string{
	"org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
	"org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerLoginCallbackHandler",
}

func saslMechanism(p *properties, wanted bool, warn func(string)) (sasl.Mechanism, error) {
	name, text := strings.ToUpper(p.take("sasl.mechanism")), p.take("sasl.jaas.config")
	handler, endpoint := p.take("sasl.login.callback.handler.class"), p.take("sasl.oauthbearer.token.endpoint.url")
	if !wanted {
		return nil, nil
	}
	modules := map[string]string{"PLAIN": plainModule, "SCRAM-SHA-256": scramModule, "SCRAM-SHA-512": scramModule, "OAUTHBEARER": oauthModule}
	switch {
	case modules[name] == "":
		if name == "" {
			name = "GSSAPI (the default)"
		}
		return nil, fmt.Errorf("sasl.mechanism=%s: expected PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER", name)
	case text == "":
		return nil, errors.New("sasl.jaas.config is missing; a file named by java.security.auth.login.config is not read")
	case handler != "" && name != "OAUTHBEARER":
		return nil, fmt.Errorf("sasl.login.callback.handler.class=%s is not supported with %s", handler, name)
	}
	l, err := parseJAAS(text)
	if err != nil {
		return nil, fmt.Errorf("sasl.jaas.config: %w", err)
	}
	if l.module != modules[name] {
		return nil, fmt.Errorf("sasl.jaas.config: expected module %s for %s, found %s", modules[name], name, l.module)
	}
	if name == "OAUTHBEARER" {
		auth, err := bearer(l, handler, endpoint, warn)
		if err != nil {
			return nil, err
		}
		return auth, nil
	}
	known := []string{"username", "password"}
	if l.module == scramModule {
		known = append(known, "tokenauth")
	}
	for option := range l.options {
		if !slices.Contains(known, option) {
			return nil, fmt.Errorf("sasl.jaas.config: option %s is not supported", option)
		}
	}
	user, password := l.options["username"], l.options["password"]
	if user == "" || password == "" {
		return nil, errors.New("sasl.jaas.config: expected username and password")
	}
	token := strings.EqualFold(l.options["tokenauth"], "true")
	switch name {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password, IsToken: token}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password, IsToken: token}.AsSha512Mechanism(), nil
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
}

// bearer gives the mechanism for tokens: of an endpoint, of a file, or unsecured ones.
func bearer(l login, handler, endpoint string, warn func(string)) (sasl.Mechanism, error) {
	extensions := map[string]string{}
	options := map[string]string{}
	for k, v := range l.options {
		if name, ok := strings.CutPrefix(k, "extension_"); ok {
			extensions[name] = v
			continue
		}
		if name, ok := strings.CutPrefix(k, "unsecuredLoginExtension_"); ok {
			extensions[name] = v
			continue
		}
		options[k] = v
	}
	allowed := []string{"clientId", "clientSecret", "scope"}
	if handler == "" {
		allowed = []string{"unsecuredLoginStringClaim_sub"}
	}
	for option := range options {
		if !slices.Contains(allowed, option) {
			return nil, fmt.Errorf("sasl.jaas.config: option %s is not supported", option)
		}
	}
	if handler == "" {
		subject := options["unsecuredLoginStringClaim_sub"]
		if subject == "" || endpoint != "" {
			return nil, errors.New("sasl.jaas.config: without sasl.login.callback.handler.class expected unsecuredLoginStringClaim_sub, and no sasl.oauthbearer.token.endpoint.url")
		}
		warn("bearer tokens without a signature are for tests only")
		return oauth.Oauth(unsecured(subject, extensions, time.Now)), nil
	}
	if !slices.Contains(oauthHandlers, handler) {
		return nil, fmt.Errorf("sasl.login.callback.handler.class=%s: expected %s", handler, strings.Join(oauthHandlers, " or "))
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("sasl.oauthbearer.token.endpoint.url: %w", err)
	}
	switch u.Scheme {
	case "file":
		return oauth.Oauth(tokenFile(u.Path, extensions)), nil
	case "http":
		warn("sasl.oauthbearer.token.endpoint.url is no https: the client's secret goes over the network in the clear")
	case "https":
	default:
		return nil, fmt.Errorf("sasl.oauthbearer.token.endpoint.url=%s: expected a URL with https, http or file", endpoint)
	}
	if options["clientId"] == "" || options["clientSecret"] == "" {
		return nil, errors.New("sasl.jaas.config: expected clientId and clientSecret")
	}
	source := &tokenSource{endpoint: endpoint, id: options["clientId"], secret: options["clientSecret"], scope: options["scope"],
		extensions: extensions, client: &http.Client{Timeout: 30 * time.Second}, now: time.Now}
	return oauth.Oauth(source.auth), nil
}
