package hosts

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"observer-patch/internal/observer"
)

// The protocol between this tool and what touches the file on a node, over standard input and
// output. A request is four lines and, for a write, the content:
//
//	read | write | jars
//	the path (of a Kafka home for jars)
//	for a write: the SHA-256 of what has to lie there, or absent
//	for a write: the number of bytes that follow
//
// The answer is one of
//
//	absent
//	file MODE UID GID MTIME SIZE LINK, then the content
//	written | changed | unfit, then why
//	jars, then a line DIGEST NAME for each
//
// It is spoken by the script below, which needs nothing but a POSIX shell and the usual small
// programs, and by Serve.

// script is the same text for every node: what differs comes over standard input, so there is
// nothing in it to quote. It has no single quote and no line end, so that it can be put between
// single quotes for any shell.
var script = strings.Join([]string{
	`set -eu; LC_ALL=C; export LC_ALL; umask 077; tmp=;`,
	`unfit() { printf "unfit\n%s\n" "$1"; exit 0; };`,
	`IFS= read -r op; IFS= read -r path; IFS= read -r expect; IFS= read -r size;`,
	`case "$op" in`,
	`jars)`,
	`[ -d "$path/libs" ] || unfit "there is no folder libs"; echo jars;`,
	`for f in "$path"/libs/kafka*.jar; do [ ! -f "$f" ] || { sum=$(sha256sum < "$f"); printf "%s %s\n" "${sum%% *}" "${f##*/}"; }; done;`,
	`exit 0 ;;`,
	`esac;`,
	`dir=${path%/*}/;`,
	`[ -d "$dir" ] || unfit "its folder is not there, or may not be looked into";`,
	`[ -x "$dir" ] || unfit "its folder may not be looked into";`,
	`link=0; [ ! -L "$path" ] || link=1;`,
	`[ ! -d "$path" ] || unfit "it is a directory";`,
	`case "$op" in`,
	`read)`,
	`if [ ! -e "$path" ]; then [ "$link" = 0 ] || unfit "it is a symbolic link that leads nowhere"; echo absent; exit 0; fi;`,
	`[ -f "$path" ] || unfit "it is not a regular file";`,
	`[ -r "$path" ] || unfit "permission to read it is denied";`,
	`printf "file %s %s\n" "$(stat -L -c "%a %u %g %Y %s" -- "$path")" "$link"; cat -- "$path" ;;`,
	`write)`,
	`[ "$link" = 0 ] || unfit "it is a symbolic link; name the file itself in the inventory, or use transport configmap";`,
	`trap "exit 1" HUP INT TERM PIPE; trap "[ -z \"\$tmp\" ] || rm -f -- \"\$tmp\"" EXIT;`,
	`tmp=$(mktemp "$dir.observer-ids.XXXXXX"); cat > "$tmp";`,
	`[ "$(wc -c < "$tmp")" -eq "$size" ] || unfit "the content was cut short on its way";`,
	`have=absent; mode=644;`,
	`if [ -e "$path" ]; then`,
	`[ -f "$path" ] || unfit "it is not a regular file";`,
	`have=$(sha256sum < "$path"); have=${have%% *}; mode=$(stat -c %a -- "$path"); own=$(stat -c %u:%g -- "$path");`,
	`[ "$own" = "$(stat -c %u:%g -- "$tmp")" ] || chown -- "$own" "$tmp" || unfit "its owner $own cannot be kept: write as that user or as root";`,
	`fi;`,
	`if [ "$have" != "$expect" ]; then echo changed; exit 0; fi;`,
	`chmod -- "$mode" "$tmp"; sync -- "$tmp" 2> /dev/null || sync;`,
	`mv -f -- "$tmp" "$path"; tmp=; sync -- "$dir" 2> /dev/null || sync;`,
	`echo written ;;`,
	`*) unfit "no such request" ;;`,
	`esac`,
}, " ")

// run starts what speaks the protocol, hands it the request and gives its answer.
type run func(request []byte) (answer []byte, err error)

// maxAnswer bounds what a node may answer.
const maxAnswer = observer.MaxBytes + 4096

func digest(f File) string {
	if !f.Exists {
		return "absent"
	}
	sum := sha256.Sum256(f.Content)
	return hex.EncodeToString(sum[:])
}

func request(op, path string, expect string, content []byte) []byte {
	return append(fmt.Appendf(nil, "%s\n%s\n%s\n%d\n", op, path, expect, len(content)), content...)
}

// scriptRead reads a file.
func scriptRead(do run, path string) (File, error) {
	answer, err := do(request("read", path, "", nil))
	if err != nil {
		return File{}, err
	}
	head, content, err := headOf(answer)
	if err != nil {
		return File{}, err
	}
	if head == "absent" {
		return File{}, nil
	}
	f := File{Exists: true, Content: content}
	var mode, mtime, size, link int64
	if n, err := fmt.Sscanf(head, "file %o %d %d %d %d %d", &mode, &f.UID, &f.GID, &mtime, &size, &link); err != nil || n != 6 {
		return File{}, fmt.Errorf("expected a file's mode, owner and size, found %q", shorten(head))
	}
	if size > observer.MaxBytes {
		return File{}, fmt.Errorf("it is larger than %d bytes", observer.MaxBytes)
	}
	if int64(len(content)) != size {
		return File{}, fmt.Errorf("expected %d bytes, found %d: it was written to while it was read", size, len(content))
	}
	f.Mode, f.ModTime, f.Link = fs.FileMode(mode).Perm(), time.Unix(mtime, 0), link == 1
	return f, nil
}

// scriptWrite replaces a file.
func scriptWrite(do run, path string, content []byte, expect File) error {
	answer, err := do(request("write", path, digest(expect), content))
	if err != nil {
		return err
	}
	switch head, _, err := headOf(answer); {
	case err != nil:
		return err
	case head == "changed":
		return ErrChanged
	case head != "written":
		return fmt.Errorf("expected written, found %q", shorten(head))
	}
	return nil
}

// scriptJars gives the digests of the Kafka jars of a home.
func scriptJars(do run, home string) (map[string]string, error) {
	answer, err := do(request("jars", home, "", nil))
	if err != nil {
		return nil, err
	}
	head, rest, err := headOf(answer)
	if err != nil {
		return nil, err
	}
	if head != "jars" {
		return nil, fmt.Errorf("expected jars, found %q", shorten(head))
	}
	out := map[string]string{}
	for line := range strings.Lines(string(rest)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if _, err := hex.DecodeString(sum); err != nil || !ok || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("expected a digest and a name, found %q", shorten(line))
		}
		out[name] = sum
	}
	return out, nil
}

// headOf gives an answer's first line and the rest; a refusal is an error.
func headOf(answer []byte) (string, []byte, error) {
	head, rest, ok := bytes.Cut(answer, []byte("\n"))
	if !ok {
		return "", nil, fmt.Errorf("no answer, or half of one: %q", shorten(string(answer)))
	}
	if string(head) == "unfit" {
		why, _, _ := bytes.Cut(rest, []byte("\n"))
		return "", nil, errors.New(shorten(string(why)))
	}
	return string(head), rest, nil
}

// shorten gives what a node said in a form that does nothing to a terminal.
func shorten(s string) string {
	if len(s) > 300 {
		s = s[:300] + "..."
	}
	s = strconv.Quote(s)
	return s[1 : len(s)-1]
}

// Quote puts a word between single quotes for a POSIX shell.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// commandLine gives the one line that a remote shell runs: the words before, then sh with the script.
func commandLine(before []string) string {
	var b strings.Builder
	for _, w := range before {
		b.WriteString(Quote(w))
		b.WriteByte(' ')
	}
	return b.String() + "sh -c " + Quote(script)
}
