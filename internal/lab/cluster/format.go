package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// format gives every KRaft node formatted storage. Upstream's StorageTool formats the first
// node; the others get its files with their own node and directory ids: one JVM instead of one
// per node, and what is in the files is still what that release writes.
func (c *Cluster) format(ctx context.Context) error {
	first := c.kafkaNodes()[0]
	args := append(jvmFlags(), "-Xmx128m",
		"-Dlog4j.configuration=file:"+filepath.Join(first.Dir, "log4j.properties"),
		"-Dlog4j2.configurationFile="+filepath.Join(first.Dir, "log4j2.properties"),
		"-cp", strings.Join(first.classpath, string(os.PathListSeparator)),
		"kafka.tools.StorageTool", "format", "--cluster-id", uuid(), "--config", filepath.Join(first.Dir, "node.properties"))
	for _, f := range c.Spec.Features {
		args = append(args, "--feature", f)
	}
	cmd := exec.CommandContext(ctx, first.java, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("format storage with upstream's StorageTool: %w\n%s", err, out)
	}
	meta, err := os.ReadFile(filepath.Join(first.DataDir(), "meta.properties"))
	if err != nil {
		return fmt.Errorf("formatted storage: %w", err)
	}
	boot, err := os.ReadFile(filepath.Join(first.DataDir(), "bootstrap.checkpoint"))
	if err != nil {
		return fmt.Errorf("formatted storage: %w", err)
	}
	for _, n := range c.kafkaNodes()[1:] {
		own := nodeID.ReplaceAll(meta, fmt.Appendf(nil, "node.id=%d", n.ID))
		own = directoryID.ReplaceAll(own, []byte("directory.id="+uuid()))
		if bytes.Equal(own, meta) {
			return fmt.Errorf("formatted storage: no node.id in meta.properties of node %d:\n%s", first.ID, meta)
		}
		if err := os.WriteFile(filepath.Join(n.DataDir(), "meta.properties"), own, 0o644); err != nil {
			return fmt.Errorf("storage of node %d: %w", n.ID, err)
		}
		if err := os.WriteFile(filepath.Join(n.DataDir(), "bootstrap.checkpoint"), boot, 0o644); err != nil {
			return fmt.Errorf("storage of node %d: %w", n.ID, err)
		}
	}
	return nil
}

var (
	nodeID      = regexp.MustCompile(`(?m)^node\.id=.*$`)
	directoryID = regexp.MustCompile(`(?m)^directory\.id=.*$`)
)

// uuid gives a random id in Kafka's form: 16 bytes, base64 with the URL alphabet, no padding. A
// leading dash is avoided, as Kafka itself does: command lines take it for a flag.
func uuid() string {
	for {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails, see crypto/rand
		b[6] = b[6]&0x0f | 0x40
		b[8] = b[8]&0x3f | 0x80
		if s := base64.RawURLEncoding.EncodeToString(b[:]); !strings.HasPrefix(s, "-") {
			return s
		}
	}
}
