// Package series has the words in which the history of numbers is asked for and answered: metrics has the history, rest
// asks. It has values and errors only.
package series

import (
	"encoding/json"
	"time"
)

// Kind is the kind of object that a number is about, as its path in the API has it.
type Kind string

// The kinds of object that have numbers.
const (
	VirtualService Kind = "virtualservice"
	Pool           Kind = "pool"
	Engine         Kind = "serviceengine"
	Controller     Kind = "controller" // no object: there is one
)

// Kinds are all kinds of object that have numbers.
var Kinds = []Kind{VirtualService, Pool, Engine, Controller}

// ControllerUUID stands for the controller among the uuids of objects.
const ControllerUUID = "controller"

// Metric is a number by its id in Avi's API: l7_client.avg_total_requests.
type Metric struct {
	ID    string
	Unit  string // PER_SECOND
	Text  string // what it says, one line
	Kinds []Kind // of the objects that have it
	// Missing: Weir does not count it. Its values are null.
	Missing bool
}

// Question asks for the values of a metric, of the objects of a kind.
type Question struct {
	Metric string
	Kind   Kind
	Tenant string   // uuid of the tenant whose objects are asked for; empty: all
	UUIDs  []string // of the objects
	Server string   // of a pool: "10.0.0.1:80"; empty: all servers together; EachServer: each by itself
	Start  time.Time
	Stop   time.Time     // of the last value
	Step   time.Duration // between two values; each is about the time of one step before it
}

// EachServer asks for a series for each server of a pool.
const EachServer = "*"

// StepsMax bounds the values of one series in an answer.
const StepsMax = 11_000

// Answer has the values of a metric.
type Answer struct {
	Metric Metric
	Series []Series
}

// Series are the values of one object, or of one server of a pool.
type Series struct {
	UUID   string
	Server string // "10.0.0.1:80"; empty: the whole object
	// Dimension is the value of a dimension that the series is about; only of series from records.
	Dimension string
	Points    []Point
}

// Point is a value at the end of a step.
type Point struct {
	At    time.Time
	Value float64
	Null  bool // nothing is known about this step
}

// Sight is which series a question sees.
type Sight struct {
	Tenant string // uuid of the tenant whose series they are; empty: all
	Kinds  []Kind // of the objects that they are about; nil: all
}

// Query is a query in PromQL. Start is Stop and Step is 0 for a value at one time.
type Query struct {
	Sight
	Text    string
	Start   time.Time
	Stop    time.Time
	Step    time.Duration
	Timeout time.Duration // 0: the longest that is allowed
}

// Selection asks which series there are.
type Selection struct {
	Sight
	Matches []string // selectors, such as weir_service_requests_total{service="web"}; none: all series
	Start   time.Time
	Stop    time.Time
	Limit   int // of the answer; 0: the most that is allowed
}

// Found is an answer in the JSON of the HTTP API of Prometheus: what it has under "data".
type Found struct {
	Data     json.RawMessage
	Warnings []string
}
