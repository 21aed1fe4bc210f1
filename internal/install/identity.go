package install

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"observer-patch/internal/observer"
)

// The environment of a patched node (docs/identity-file.md).
const (
	fileVariable   = "KAFKA_OBSERVER_IDS_FILE"
	idsVariable    = "KAFKA_OBSERVER_BROKER_IDS"
	strictVariable = "KAFKA_OBSERVER_STRICT"
	defaultFile    = "/opt/kafka/observer.ids"
	betterFile     = "/etc/kafka/observer.ids"
)

// Identity is the identity file as a node that starts now would take it.
type Identity struct {
	File string `json:"file"`
	// State is absent, ok, stale or failed, as a node says when it starts.
	State string `json:"state"`
	// IDs are those in force.
	IDs []int32 `json:"ids"`
	// Mode and Owner (uid:gid) are empty for a file that is not there.
	Mode  string `json:"mode"`
	Owner string `json:"owner"`
}

// identity looks at the identity file of a patched home.
func (r *Report) identity(ctx context.Context, h *Home, x Examination, configs []config) error {
	if !r.Patched {
		return nil
	}
	x = h.asBroker(x)
	named := x.IDsFile
	if named == "" {
		named = strings.TrimSpace(x.Getenv(fileVariable))
	}
	path := named
	if path == "" {
		path = defaultFile
	}
	look := observer.Look(path)
	fallback := observer.ParseFile([]byte(strings.TrimSpace(x.Getenv(idsVariable)))).IDs
	strict := strings.EqualFold(strings.TrimSpace(x.Getenv(strictVariable)), "true")
	reader := observer.NewReader(path, fallback, strict)
	notes := reader.Step(look, 0)
	r.IDs = &Identity{File: path, State: reader.State().String(), IDs: append([]int32{}, reader.IDs()...)}
	if look.Kind == observer.Missing {
		r.absent(path, named != "" || strict, len(fallback) > 0, configs)
		return nil
	}
	switch reader.State() {
	case observer.Failed, observer.Stale:
		r.find(Error, "ids-file-unusable", "mend the file; nodes that run keep their last good list, nodes that start do not have one", "%s", notes[0].Text)
	default:
		if f := observer.ParseFile(look.Content); len(f.Unknown) > 0 && !f.None {
			r.find(Warning, "ids-file-tokens", "take them out", "%s has what is no broker id and is ignored: %s", path, f.UnknownTokens())
		}
	}
	r.place(h, path)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	uid, gid := owner(info)
	r.IDs.Mode, r.IDs.Owner = info.Mode().Perm().String(), fmt.Sprintf("%d:%d", uid, gid)
	if info.Mode().Perm()&0o022 != 0 {
		r.find(Warning, "ids-file-writable", "chmod go-w "+path, "%s may be written by others than its owner (%s); whoever can write it decides who is an observer", path, info.Mode().Perm())
	}
	return r.readable(ctx, x, path, look.Kind)
}

// asBroker fills in what was not said from the first process that runs from the home: its
// environment, where it can be read, and its user.
func (h *Home) asBroker(x Examination) Examination {
	var names []string
	for _, f := range h.with(coreClass) {
		names = append(names, f.Name)
	}
	found, _ := h.running(x.Proc, names)
	if len(found) == 0 {
		return x
	}
	if x.AsUser == "" && found[0].UID >= 0 {
		x.AsUser = strconv.Itoa(found[0].UID)
	}
	// Other users' environments show to root only; what cannot be read says nothing.
	text, _ := os.ReadFile(filepath.Join(x.Proc, strconv.Itoa(found[0].PID), "environ"))
	theirs := map[string]string{}
	for pair := range strings.SplitSeq(string(text), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		theirs[name] = value
	}
	ours := x.Getenv
	x.Getenv = func(name string) string {
		if value := ours(name); value != "" {
			return value
		}
		return theirs[name]
	}
	return x
}

// absent judges a missing file: no file anywhere is an installation that is not enabled; a
// file that was named, or that a controller lacks, is a problem.
func (r *Report) absent(path string, named, fallback bool, configs []config) {
	severity, code := Note, "not-enabled"
	do := "write the file on every broker and every controller to enable observers"
	if named {
		severity, code, do = Warning, "ids-file-missing", "write the file, an empty one for no observers"
	}
	r.find(severity, code, do, "there is no identity file %s", path)
	if fallback {
		return
	}
	for _, c := range configs {
		if c.controller {
			r.find(severity, "controller-without-ids", "write the same file on every controller; a controller without it elects observers and lets them into the ISR",
				"%s is for a controller, and there is neither %s nor %s", c.name, path, idsVariable)
		}
	}
}

// place judges where the file is: an upgrade leaves a versioned Kafka home behind.
func (r *Report) place(h *Home, path string) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil && below(dir, h.Dir) {
		r.find(Warning, "ids-file-in-home", "keep it at "+betterFile+" and name it in "+fileVariable, "%s lies inside the Kafka home %s; a node that is upgraded to another home starts without it", path, h.Dir)
	}
}

// readable judges whether the broker's user can read the file.
func (r *Report) readable(ctx context.Context, x Examination, path string, kind observer.Kind) error {
	if kind != observer.Content {
		return nil
	}
	who := x.AsUser
	if who == "" {
		r.find(Note, "reader-unknown", "say --as-user with the broker's user", "no broker runs from this home: whether its user can read %s (%s, owner %s) was not judged", path, r.IDs.Mode, r.IDs.Owner)
		return nil
	}
	u, err := user.Lookup(who)
	if err != nil {
		u, err = user.LookupId(who)
	}
	if err != nil {
		if _, nerr := strconv.ParseUint(who, 10, 32); nerr != nil {
			return fmt.Errorf("user %q: %w", who, err)
		}
		u = &user.User{Uid: who, Gid: who}
	}
	switch can, err := readableBy(ctx, u, path); {
	case err != nil:
		r.find(Note, "reader-not-judged", "run doctor as root or as that user", "whether user %s can read %s: %v", who, path, err)
	case !can:
		r.find(Error, "ids-file-unreadable", "give that user read permission on the file, and search permission on its folders", "user %s cannot read %s (%s, owner %s)", who, path, r.IDs.Mode, r.IDs.Owner)
	}
	return nil
}

// readableBy lets a child with the user's ids open the file, so that folders on the way and
// access control lists count.
func readableBy(ctx context.Context, u *user.User, path string) (bool, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return false, err
	}
	if int(uid) == os.Geteuid() {
		f, err := os.Open(path)
		if err != nil {
			return false, nil
		}
		return true, f.Close()
	}
	if os.Geteuid() != 0 {
		return false, fmt.Errorf("not root: %w", fs.ErrPermission)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return false, err
	}
	as := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, _ := u.GroupIds() // a user that only has a number is in no further group
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil {
			as.Groups = append(as.Groups, uint32(n))
		}
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return false, err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `exec 3<"$1"`, "sh", absolute)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	err = cmd.Run()
	if _, ended := err.(*exec.ExitError); ended {
		return false, nil
	}
	return err == nil, err
}
