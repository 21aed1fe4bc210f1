package cluster

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

// tokenSource gets bearer tokens with a client's credentials (RFC 6749, 4.4), and keeps one for
// as long as it is good.
type tokenSource struct {
	endpoint         string
	id, secret       string
	scope            string
	extensions       map[string]string
	client           *http.Client
	now              func() time.Time
	mu               sync.Mutex
	token            string
	refreshNotBefore time.Time
}

// maxToken bounds what an endpoint or a file may answer.
const maxToken = 1 << 20

func (s *tokenSource) auth(ctx context.Context) (oauth.Auth, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !s.now().Before(s.refreshNotBefore) {
		token, lives, err := s.fetch(ctx)
		if err != nil {
			return oauth.Auth{}, fmt.Errorf("bearer token from %s: %w", s.endpoint, err)
		}
		s.token, s.refreshNotBefore = token, s.now().Add(lives*8/10)
	}
	return oauth.Auth{Token: s.token, Extensions: s.extensions}, nil
}

func (s *tokenSource) fetch(ctx context.Context) (token string, lives time.Duration, err error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	if s.scope != "" {
		form.Set("scope", s.scope)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.SetBasicAuth(s.id, s.secret)
	resp, err := s.client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close() // only read from
	if resp.StatusCode/100 != 2 {
		return "", 0, fmt.Errorf("the endpoint answers %s", resp.Status)
	}
	var answer struct {
		AccessToken string  `json:"access_token"`
		ExpiresIn   float64 `json:"expires_in"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxToken)).Decode(&answer); err != nil {
		return "", 0, fmt.Errorf("the answer is no JSON with access_token: %w", err)
	}
	if answer.AccessToken == "" {
		return "", 0, fmt.Errorf("the answer has no access_token")
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn * float64(time.Second)), nil
}

// tokenFile reads a token from a file each time, since whoever writes it renews it.
func tokenFile(path string, extensions map[string]string) func(context.Context) (oauth.Auth, error) {
	return func(context.Context) (oauth.Auth, error) {
		f, err := os.Open(path)
		if err != nil {
			return oauth.Auth{}, fmt.Errorf("bearer token: %w", err)
		}
		defer f.Close() // only read from
		text, err := io.ReadAll(io.LimitReader(f, maxToken))
		if err != nil {
			return oauth.Auth{}, fmt.Errorf("bearer token: %w", err)
		}
		token := strings.TrimSpace(string(text))
		if token == "" {
			return oauth.Auth{}, fmt.Errorf("bearer token: %s is empty", path)
		}
		return oauth.Auth{Token: token, Extensions: extensions}, nil
	}
}

// unsecured makes the token without a signature that upstream's default handler makes for tests
// (RFC 7515, appendix A.5); brokers in production do not take it.
func unsecured(subject string, extensions map[string]string, now func() time.Time) func(context.Context) (oauth.Auth, error) {
	return func(context.Context) (oauth.Auth, error) {
		claims, err := json.Marshal(map[string]any{"sub": subject, "iat": now().Unix(), "exp": now().Add(time.Hour).Unix()})
		if err != nil {
			return oauth.Auth{}, err
		}
		part := base64.RawURLEncoding.EncodeToString
		return oauth.Auth{Token: part([]byte(`{"alg":"none"}`)) + "." + part(claims) + ".", Extensions: extensions}, nil
	}
}
