package classfile

import "fmt"

// reader walks over bytes; the first error sticks and every later read gives zero.
type reader struct {
	b   []byte
	at  int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// take gives the next n bytes without copying.
func (r *reader) take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > len(r.b)-r.at {
		r.fail("%d bytes wanted at %d, %d are left", n, r.at, len(r.b)-r.at)
		return nil
	}
	b := r.b[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) u1() int {
	if b := r.take(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) u2() int {
	if b := r.take(2); b != nil {
		return int(b[0])<<8 | int(b[1])
	}
	return 0
}

func (r *reader) u4() uint32 {
	if b := r.take(4); b != nil {
		return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	}
	return 0
}

func (r *reader) s4() int32 { return int32(r.u4()) }

// done fails when bytes are left over.
func (r *reader) done() error {
	if r.err == nil && r.at != len(r.b) {
		r.fail("%d bytes are left over", len(r.b)-r.at)
	}
	return r.err
}
