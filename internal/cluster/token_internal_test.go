package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABearerTokenIsFetchedWithTheClientsCredentialsAndKeptWhileItIsGood(t *testing.T) {
	asked := 0
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		id, secret, _ := r.BasicAuth()
		assert.Equal(t, "me:s=e c", id+":"+secret)
		assert.Equal(t, "client_credentials kafka", r.FormValue("grant_type")+" "+r.FormValue("scope"))
		assert.NoError(t, json.NewEncoder(w).Encode(map[string]any{"access_token": "t.o.k", "expires_in": 100}))
	}))
	defer endpoint.Close()
	now := time.Unix(0, 0)
	s := &tokenSource{endpoint: endpoint.URL, id: "me", secret: "s=e c", scope: "kafka", client: endpoint.Client(), now: func() time.Time { return now }}
	_, err := s.auth(t.Context())
	require.NoError(t, err)
	now = time.Unix(79, 0)
	a, err := s.auth(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "t.o.k", a.Token)
	assert.Equal(t, 1, asked)
	now = time.Unix(80, 0)
	_, err = s.auth(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, asked, "it is renewed when four fifths of its life are over")
}
