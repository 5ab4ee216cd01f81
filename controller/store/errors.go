package store

import "errors"

// The causes that a caller can tell apart. Each is wrapped in a line that names the directory or object, and says what
// to do.
var (
	ErrInUse      = errors.New("data directory is in use")
	ErrPermission = errors.New("data directory is not accessible")
	ErrDiskFull   = errors.New("disk is full")
	ErrCorrupt    = errors.New("data directory is damaged")
	ErrClosed     = errors.New("store is closed")
	ErrTooLarge   = errors.New("change is too large for one transaction")
	// ErrBusy says that the database did not answer in time: its disk or the machine has too much to do.
	ErrBusy = errors.New("the database is too busy: try again later")
	// ErrUncertain accompanies the cause. Without it, nothing of an Update that failed is stored.
	ErrUncertain = errors.New("the change may or may not be stored")
)
