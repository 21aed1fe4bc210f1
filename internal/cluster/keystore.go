package cluster

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"

	keystore "github.com/pavlo-v-chernykh/keystore-go/v4"
	"software.sslmate.com/src/go-pkcs12"
)

// jksMagic begins a JKS file. Java's own reader of type JKS takes PKCS12 files too (the property
// keystore.type.compat), so files of the two types are told apart by their first bytes.
var jksMagic = []byte{0xFE, 0xED, 0xFE, 0xED}

// storeType checks ssl.keystore.type or ssl.truststore.type.
func storeType(key, value string) (string, error) {
	switch t := strings.ToUpper(value); t {
	case "", "JKS":
		return "JKS", nil
	case "PKCS12", "PEM":
		return t, nil
	}
	return "", fmt.Errorf("%s=%s: expected PEM, PKCS12 or JKS", key, value)
}

// trusted gives the certificates of a trust store file.
func trusted(path, kind, password string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if kind == "PEM" {
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: no certificate in PEM form", path)
		}
		return pool, nil
	}
	found := 0
	if bytes.HasPrefix(text, jksMagic) {
		store := keystore.New()
		if err := store.Load(bytes.NewReader(text), []byte(password)); err != nil {
			return nil, fmt.Errorf("%s: %w; is the password right?", path, err)
		}
		for _, alias := range store.Aliases() {
			entry, err := store.GetTrustedCertificateEntry(alias)
			if errors.Is(err, keystore.ErrWrongEntryType) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s: entry %q: %w", path, alias, err)
			}
			cert, err := x509.ParseCertificate(entry.Certificate.Content)
			if err != nil {
				return nil, fmt.Errorf("%s: entry %q: %w", path, alias, err)
			}
			pool.AddCert(cert)
			found++
		}
	} else {
		certs, err := pkcs12.DecodeTrustStore(text, password)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; is it a trust store of type %s, and is the password right?", path, err, kind)
		}
		for _, cert := range certs {
			pool.AddCert(cert)
			found++
		}
	}
	if found == 0 {
		return nil, fmt.Errorf("%s: no trusted certificate", path)
	}
	return pool, nil
}

// identity gives the one private key and certificate chain of a key store file.
func identity(path, kind, storePassword, keyPassword string) (tls.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return tls.Certificate{}, err
	}
	switch {
	case kind == "PEM":
		cert, err := pemIdentity(text, text)
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return cert, err
	case bytes.HasPrefix(text, jksMagic):
		return jksIdentity(path, text, storePassword, keyPassword)
	}
	key, leaf, chain, err := pkcs12.DecodeChain(text, storePassword)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w; is it a key store of type %s with one key, and is the password right?", path, err, kind)
	}
	cert := tls.Certificate{PrivateKey: key, Leaf: leaf, Certificate: [][]byte{leaf.Raw}}
	for _, c := range chain {
		cert.Certificate = append(cert.Certificate, c.Raw)
	}
	return cert, nil
}

func jksIdentity(path string, text []byte, storePassword, keyPassword string) (tls.Certificate, error) {
	store := keystore.New()
	if err := store.Load(bytes.NewReader(text), []byte(storePassword)); err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: %w; is the password right?", path, err)
	}
	var keys []string
	for _, alias := range store.Aliases() {
		if store.IsPrivateKeyEntry(alias) {
			keys = append(keys, alias)
		}
	}
	if len(keys) != 1 {
		return tls.Certificate{}, fmt.Errorf("%s: %d private keys, expected one", path, len(keys))
	}
	entry, err := store.GetPrivateKeyEntry(keys[0], []byte(keyPassword))
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: key %q: %w; is ssl.key.password right?", path, keys[0], err)
	}
	key, err := x509.ParsePKCS8PrivateKey(entry.PrivateKey)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("%s: key %q: %w", path, keys[0], err)
	}
	cert := tls.Certificate{PrivateKey: key}
	for _, c := range entry.CertificateChain {
		cert.Certificate = append(cert.Certificate, c.Content)
	}
	return cert, nil
}

func pemIdentity(chain, key []byte) (tls.Certificate, error) {
	for rest := key; ; {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "" {
			return tls.Certificate{}, errors.New("the private key is encrypted, which is not supported in PEM form; use a PKCS12 key store, or a plain key that only its owner can read")
		}
	}
	return tls.X509KeyPair(chain, key)
}
