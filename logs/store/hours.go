package store

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weir-lb/weir/logs/query"
	"github.com/weir-lb/weir/logs/wire"
)

// Whole hours of records are counted ahead, field by field, so that the most frequent values of a day are known without
// reading its records. What is counted is in memory alone: it is made anew after a restart, and when rows of an hour
// come late.

// hourFields are those that are counted ahead: by them a reader narrows down.
var hourFields = []string{"response_code", "server_name", "uri_path", "method", "client_ip",
	"significant_log", "vs_name",
	"service_engine", "client_browser", "user_agent", "ssl_version", "request_state"}

const (
	// hoursMost is how many of the newest hours are counted ahead.
	hoursMost = 48
	// hoursBytesMax bounds the memory of all hours: there are fewer if their values need more.
	hoursBytesMax = 128 << 20
	// columnBytesMax bounds the memory of the values of a field in an hour: a field that needs more is not counted
	// ahead.
	columnBytesMax = 8 << 20
)

// hours are the hours that are counted. It is safe for concurrent use.
type hours struct {
	mu      sync.Mutex
	kept    map[start]*hour
	changes map[start]uint64    // how often rows of an hour came
	latest  map[start]time.Time // when they came
	cleared uint64              // how often all was forgotten
	bytes   int
	oldest  start // earlier hours had no room
}

// start is when an hour begins, in seconds since 1970.
type start int64

const hourSeconds = 3600

func startOf(at time.Time) start { return start(at.Truncate(time.Hour).Unix()) }

func (s start) time() time.Time { return time.Unix(int64(s), 0).UTC() }

// hour is what was counted of one hour, by the scope of the rows.
type hour struct {
	// scopes have columns by field. A field that is not there has too many values. nil: the hour could not be counted.
	scopes map[string]map[string]column
	bytes  int
}

// version tells whether rows of an hour came, or all was forgotten.
type version struct{ changes, cleared uint64 }

func newHours() *hours {
	return &hours{kept: map[start]*hour{}, changes: map[start]uint64{}, latest: map[start]time.Time{}}
}

// changed forgets hours of which rows have come.
func (h *hours) changed(of []start, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, at := range of {
		h.changes[at]++
		h.latest[at] = now
		h.drop(at)
	}
	for at := range h.changes { // only those that may be counted matter
		if at < startOf(now)-(hoursMost+2)*hourSeconds {
			delete(h.changes, at)
			delete(h.latest, at)
		}
	}
}

// clear forgets all hours: rows were deleted.
func (h *hours) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cleared++
	clear(h.kept)
	h.bytes, h.oldest = 0, 0
}

func (h *hours) drop(at start) {
	if kept := h.kept[at]; kept != nil {
		h.bytes -= kept.bytes
		delete(h.kept, at)
	}
}

func (h *hours) version(at start) version {
	h.mu.Lock()
	defer h.mu.Unlock()
	return version{h.changes[at], h.cleared}
}

// keep keeps an hour, unless it has changed since. If there is no room, the oldest hour goes.
func (h *hours) keep(at start, counted *hour, since version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if since != (version{h.changes[at], h.cleared}) {
		return
	}
	h.drop(at)
	h.kept[at] = counted
	h.bytes += counted.bytes
	for h.bytes > hoursBytesMax {
		oldest := slices.Min(slices.Collect(maps.Keys(h.kept)))
		h.drop(oldest)
		h.oldest = max(h.oldest, oldest+hourSeconds)
	}
}

// next is the newest hour that is to be counted, and false if there is none. Rows of it have not come for a while.
func (h *hours) next(now time.Time, quiet time.Duration) (at start, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n := range start(hoursMost) {
		at = startOf(now) - (n+1)*hourSeconds
		switch ended := at + hourSeconds; {
		case at < h.oldest:
			return at, false
		case now.Sub(ended.time()) >= quiet && now.Sub(h.latest[at]) >= quiet && h.kept[at] == nil:
			return at, true
		}
	}
	return at, false
}

// prune forgets the hours that are too old to be counted ahead, and may be gone from the store.
func (h *hours) prune(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at := range h.kept {
		if at < startOf(now)-(hoursMost+1)*hourSeconds {
			h.drop(at)
		}
	}
}

// of returns the columns of some fields in an hour that a scope sees. It returns false if they are not all counted.
func (h *hours) of(at start, scope query.Scope, fields []string) (found [][]column, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	counted := h.kept[at]
	if counted == nil || counted.scopes == nil {
		return nil, false
	}
	for name, columns := range counted.scopes {
		if !scope.All && name != scope.Tenant && name != wire.Everyone {
			continue
		}
		var each []column
		for _, field := range fields {
			one, has := columns[field]
			if !has {
				return nil, false
			}
			each = append(each, one)
		}
		found = append(found, each)
	}
	return found, true
}

func (h *hours) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.kept)
}

// countedAhead tells whether whole hours can answer a question.
func countedAhead(q query.Query) bool {
	return q.Type == query.Requests && q.Where == nil && !slices.ContainsFunc(q.Facets.Fields,
		func(field string) bool { return !slices.Contains(hourFields, field) })
}

// hoursOf are the hours of records of requests.
func hoursOf(rows []wire.Row) (all []start) {
	for _, row := range rows {
		at := startOf(row.Time)
		if row.Type == query.Requests && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}
