// Package exit gives errors the exit code that scripts rely on.
package exit

import "errors"

// The exit codes of every command.
const (
	Done    = 0
	Failed  = 1
	Usage   = 2
	Drift   = 3 // an anchor does not match exactly once
	Proof   = 4 // a proof failed or a digest differs
	Refused = 5 // a safety rule refused
)

// Error is an error with an exit code.
type Error struct {
	Code int
	Err  error
}

// Error gives the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// With gives err the code; nil stays nil.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Code gives the exit code of err: that of the outermost Error in its chain, Failed for
// any other error, Done for nil.
func Code(err error) int {
	if err == nil {
		return Done
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Failed
}
