// Package logs is the controller's side of the record store: it keeps the process `weir records` running (Keeper),
// gives it rows, and asks it. Rows wait in a bounded queue while the store is away; what does not fit is counted.
// Nothing else of a controller depends on the store.
//
// The store answers HTTP on a unix socket: POST /batches takes rows (wire), POST /query a query.Query as JSON, POST
// /deletions the same without an answer, GET /state tells how it is.
package logs

import (
	"os"
	"strconv"
)

// Ack says what became of a batch that is on disk now.
type Ack struct {
	Stored   int       `json:"stored"`             // rows; 0 if the batch came before
	Refused  []Refusal `json:"refused,omitempty"`  // rows that can never be stored: the first few
	Refusals int       `json:"refusals,omitempty"` // how many there are
}

// Refusal says why a row is not stored.
type Refusal struct {
	Row    int    `json:"row"` // counts from 0
	Reason string `json:"reason"`
}

// State is what the store tells about itself.
type State struct {
	PID          int    `json:"pid"`
	NotTaking    string `json:"not_taking,omitempty"`  // why no rows are taken; empty: they are
	NoRequests   string `json:"no_requests,omitempty"` // likewise, of records of data planes
	Rows         uint64 `json:"rows"`                  // stored since the process began
	Refused      uint64 `json:"refused"`               // since the process began
	JournalBytes int64  `json:"journal_bytes"`
	FreeBytes    uint64 `json:"free_bytes"`    // on the disk
	HoursCounted int    `json:"hours_counted"` // hours of records whose most frequent values are counted ahead
}

// Trouble is the body of an answer that is not 200.
type Trouble struct {
	Error string `json:"error"`
	Part  string `json:"part,omitempty"`  // of a query, that is wrong
	Epoch uint64 `json:"epoch,omitempty"` // the newest of the source, if the batch has an older one
}

// socketName is the socket of the store, in its directory.
const socketName = "socket"

// SocketPath returns a path of the socket that is short enough for any directory. It is valid until release.
func SocketPath(dir string) (path string, release func(), err error) {
	opened, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return "/proc/self/fd/" + strconv.Itoa(int(opened.Fd())) + "/" + socketName, func() { opened.Close() }, nil
}
