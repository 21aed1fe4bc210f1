package hosts_test

import (
	"strconv"

	"golang.org/x/crypto/ssh"
)

func itoa(n int) string { return strconv.Itoa(n) }

func authorized(key ssh.PublicKey) string { return string(ssh.MarshalAuthorizedKey(key)) }
