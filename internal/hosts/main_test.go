package hosts_test

import (
	"io"
	"net"
	"os"
	"testing"

	"observer-patch/internal/hosts"
)

// The test binary is also the programs that a server or a transport starts.
const (
	agentVariable = "HOSTS_TEST_AGENT" // names a file that holds the path of the file to serve
	proxyVariable = "HOSTS_TEST_PROXY" // the address to connect standard input and output to
)

func TestMain(m *testing.M) {
	if name := os.Getenv(agentVariable); name != "" {
		path, err := os.ReadFile(name)
		if err == nil {
			err = hosts.Serve(os.Stdin, os.Stdout, string(path), "")
		}
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	if address := os.Getenv(proxyVariable); address != "" {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(1)
		}
		go io.Copy(conn, os.Stdin)
		io.Copy(os.Stdout, conn)
		os.Exit(0)
	}
	os.Exit(m.Run())
}
