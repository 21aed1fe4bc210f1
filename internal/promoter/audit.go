package promoter

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The events of the audit log.
const (
	AuditStart     = "START"
	AuditStop      = "STOP"
	AuditBegin     = "BEGIN"
	AuditPromote   = "PROMOTE-OK"
	AuditDemote    = "DEMOTE-OK"
	AuditFailed    = "FAILED"
	AuditDryRun    = "DRY-RUN"
	AuditSkip      = "SKIP"
	AuditFinished  = "PENDING-WRITTEN"
	AuditOvertaken = "PENDING-DROPPED"
)

// AuditLine is one line of the audit log: a JSON object.
type AuditLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Cluster string    `json:"cluster"`
	Who     string    `json:"who"`
	// Broker is -1 when the line is about the whole cluster.
	Broker     int32    `json:"broker"`
	Rule       string   `json:"rule,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
	Topics     []string `json:"topics,omitempty"`
	Before     []int32  `json:"before,omitempty"`
	After      []int32  `json:"after,omitempty"`
	// Since is when the reason was first seen; Seconds from then to the verified end.
	Since   time.Time `json:"since,omitzero"`
	Seconds float64   `json:"seconds,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// Audit is the audit log: JSON lines, each synced before anything else happens. Without it there
// is no automatic promotion.
type Audit struct {
	file *os.File
}

// OpenAudit opens the log for appending, and makes it when it is not there.
func OpenAudit(path string) (*Audit, error) {
	_, err := os.Stat(path)
	made := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w; no audit log, no automatic promotion", err)
	}
	if made {
		d, err := os.Open(filepath.Dir(path))
		if err == nil {
			err = errors.Join(d.Sync(), d.Close())
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("audit log: %w", err), f.Close())
		}
	}
	return &Audit{file: f}, nil
}

// Write appends a line and syncs it.
func (a *Audit) Write(l AuditLine) error {
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if _, err := a.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	if err := a.file.Sync(); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	return nil
}

// Close closes the file.
func (a *Audit) Close() error { return a.file.Close() }
