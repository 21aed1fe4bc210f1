package cluster

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrNoLine says that a log has no such line.
var ErrNoLine = errors.New("no such line")

// LogEnd gives the present size of the node's log, to look for later lines only.
func (n *Node) LogEnd() (int64, error) {
	info, err := os.Stat(n.LogPath())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("log of node %d: %w", n.ID, err)
	}
	return info.Size(), nil
}

// LogStart gives where the lines of the running process begin in the log.
func (n *Node) LogStart() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.logFrom
}

// FindLine gives the first line after byte from that has the text, or ErrNoLine.
func (n *Node) FindLine(from int64, text string) (string, error) {
	var found string
	err := n.eachLine(from, func(line string) bool {
		if strings.Contains(line, text) {
			found = line
		}
		return found == ""
	})
	if err == nil && found == "" {
		err = fmt.Errorf("log of node %d: %q: %w", n.ID, text, ErrNoLine)
	}
	return found, err
}

// Lines gives the lines after byte from that keep wants, at most limit of them.
func (n *Node) Lines(from int64, limit int, keep func(string) bool) ([]string, error) {
	var out []string
	err := n.eachLine(from, func(line string) bool {
		if keep(line) {
			out = append(out, line)
		}
		return len(out) < limit
	})
	return out, err
}

func (n *Node) eachLine(from int64, f func(line string) bool) error {
	file, err := os.Open(n.LogPath())
	if err != nil {
		return fmt.Errorf("log of node %d: %w", n.ID, err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return fmt.Errorf("log of node %d: %w", n.ID, err)
	}
	in := bufio.NewReader(file)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // a line without an end is still being written
		}
		if err != nil {
			return fmt.Errorf("log of node %d: %w", n.ID, err)
		}
		if !f(string(bytes.TrimRight(line, "\n"))) {
			return nil
		}
	}
}
