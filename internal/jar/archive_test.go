package jar

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func crc(s string) uint32 { return crc32.ChecksumIEEE([]byte(s)) }

// damaged gives a copy of the jar after edit.
func damaged(t *testing.T, src string, edit func([]byte) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.jar")
	require.NoError(t, os.WriteFile(path, edit(read(t, src)), 0o600))
	return path
}

func TestOpenRefusesNamesThatLeaveTheFolder(t *testing.T) {
	for _, name := range []string{"../evil", "a/../../evil", "/etc/passwd", `..\evil`, "C:/evil", "a//b", "a/./b", "a\x00b", "\xff"} {
		_, err := Open(makeJar(t, false, content{name, "x"}))
		assert.ErrorContains(t, err, "entry name", "%q", name)
	}
}

func TestOpenRefusesDuplicateEntries(t *testing.T) {
	_, err := Open(makeJar(t, false, content{"a", "1"}, content{"a", "2"}))
	assert.ErrorContains(t, err, `entry "a" occurs twice`)
}

func TestOpenRefusesEveryTruncation(t *testing.T) {
	whole := read(t, makeJar(t, false, content{"a", "one"}, content{"b", "two"}))
	for n := range len(whole) {
		_, err := readArchive(bytes.NewReader(whole[:n]), int64(n))
		require.Error(t, err, "the first %d of %d bytes", n, len(whole))
	}
}

func TestOpenRefusesDamagedStructure(t *testing.T) {
	src := makeJar(t, true, content{"a", "one"}, content{"b", "two"})
	_, err := Open(src)
	require.NoError(t, err)
	central := bytes.Index(read(t, src), []byte("PK\x01\x02"))
	for _, c := range []struct {
		want string
		edit func([]byte) []byte
	}{
		{"is encrypted", func(b []byte) []byte { b[central+8] |= 1; return b }},
		{"packed with method 12", func(b []byte) []byte { b[central+10] = 12; return b }},
		{"another name than", func(b []byte) []byte { b[localSize] = 'z'; return b }},
		{"other flags", func(b []byte) []byte { b[6] |= 1 << 2; return b }},
		{"another checksum", func(b []byte) []byte { b[14]++; return b }},
		{"lie between it and the next entry", func(b []byte) []byte { // both entries share one block
			second := bytes.LastIndex(b, []byte("PK\x01\x02"))
			binary.LittleEndian.PutUint32(b[second+42:], 0)
			return b
		}},
		{"does not end at", func(b []byte) []byte { return append([]byte("#!/bin/sh\n"), b...) }},
		{"no end of central directory", func(b []byte) []byte { return append(b, "trailing"...) }},
	} {
		_, err := Open(damaged(t, src, c.edit))
		assert.ErrorContains(t, err, c.want)
	}
}

func TestReadNoticesDamagedContent(t *testing.T) {
	src := makeJar(t, true, content{"a", "one"})
	j, err := Open(damaged(t, src, func(b []byte) []byte {
		at := bytes.Index(b, []byte("one"))
		b[at] = 'O'
		return b
	}))
	require.NoError(t, err)
	defer j.Close()
	_, err = j.Read("a")
	assert.ErrorContains(t, err, "CRC-32")
	_, err = j.Read("b")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestReadNoticesAWrongSize(t *testing.T) {
	src := makeJar(t, false, content{"a", "one one one one one one"})
	for _, size := range []uint32{1, 22, 24, 1 << 27} {
		j, err := Open(damaged(t, src, func(b []byte) []byte {
			binary.LittleEndian.PutUint32(b[bytes.Index(b, []byte("PK\x01\x02"))+24:], size)
			return b
		}))
		require.NoError(t, err)
		_, err = j.Read("a")
		assert.ErrorContains(t, err, "another size", "%d", size)
		require.NoError(t, j.Close())
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("PK\x05\x06"))
	f.Add(make([]byte, endSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "fuzz.jar")
		require.NoError(t, os.WriteFile(path, b, 0o600))
		j, err := Open(path)
		if err != nil {
			return
		}
		defer j.Close()
		var out bytes.Buffer
		if _, err := Rewrite(&out, path, Changes{}); err == nil {
			require.Equal(t, b, out.Bytes(), "what opens is copied byte for byte")
		}
		for _, name := range j.Names() {
			_, _ = j.Read(name)
		}
	})
}
