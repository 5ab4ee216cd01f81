package live

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/weir-lb/weir/controller/fleet"
)

// event is what a watch is told about the last step, as JSON: the points after a time, and the present state. Watches
// of the same topic share the text. docs/live.md describes it.
func (l *Live) event(topics Topics, afterMs int64) []byte {
	clock := &l.ring.clocks[fineSize]
	text := append([]byte(`{"at_ms":`), strconv.FormatInt(clock.endMs(clock.step), 10)...)
	lists := map[string][]Topic{}
	for _, topic := range topics.list() {
		lists[topic.Kind] = append(lists[topic.Kind], topic)
	}
	for _, topic := range append(lists[Overview], lists[Engines]...) {
		text = fmt.Appendf(text, `,%q:`, topic.Kind)
		text = append(text, l.part(topic, afterMs)...)
	}
	text = l.appendList(text, "virtual_services", lists[VirtualService], afterMs)
	text = l.appendList(text, "pools", lists[Pool], afterMs)
	return append(text, '}')
}

func (l *Live) appendList(text []byte, name string, topics []Topic, afterMs int64) []byte {
	if len(topics) == 0 {
		return text
	}
	text = fmt.Appendf(text, `,%q:[`, name)
	for i, topic := range topics {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, l.part(topic, afterMs)...)
	}
	return append(text, ']')
}

// part is what an event says about one topic.
func (l *Live) part(topic Topic, afterMs int64) []byte {
	key := fmt.Sprintf("%s %s %d", topic.Kind, topic.UUID, afterMs)
	if text, told := l.memo[key]; told {
		return text
	}
	shown := l.shown(topic, afterMs)
	text, err := json.Marshal(shown)
	if err != nil {
		panic(fmt.Errorf("defect: what happens with %v is no JSON: %w", topic, err))
	}
	l.memo[key] = text
	return text
}

func (l *Live) shown(topic Topic, afterMs int64) (shown any) {
	if topic.Kind == Overview {
		return l.overview(topic.UUID, afterMs)
	}
	l.fleet.Read(func(known *fleet.Known) {
		switch topic.Kind {
		case Engines:
			shown = l.engines(known, topic.UUID, afterMs)
		case VirtualService:
			shown = l.service(known, topic, afterMs)
		default:
			shown = l.pool(known, topic.UUID)
		}
	})
	return shown
}

// pointJSON is a point of a virtual service or of a sum. A gap has no values: no engine reported.
type pointJSON struct {
	AtMs    int64   `json:"at_ms"` // end of the step
	Seconds float32 `json:"seconds"`
	Engines uint16  `json:"engines"`
	Missing uint16  `json:"missing,omitempty"`
	*countsJSON
	*timesJSON
}

type countsJSON struct {
	Requests        float32    `json:"requests_per_s"`
	Responses       [5]float32 `json:"responses_per_s"`
	Errors          float32    `json:"errors_per_s"`
	Failures        float32    `json:"failures_per_s"`
	Connections     float32    `json:"connections_per_s"`
	OpenConnections float32    `json:"open_connections"`
	ReceivedBytes   float32    `json:"received_bytes_per_s"`
	SentBytes       float32    `json:"sent_bytes_per_s"`
	TLSHandshakes   float32    `json:"tls_handshakes_per_s"`
}

type timesJSON struct {
	Mean     float32 `json:"mean_ms"`
	P50      float32 `json:"p50_ms"`
	P95      float32 `json:"p95_ms"`
	P99      float32 `json:"p99_ms"`
	Wait     float32 `json:"wait_mean_ms"`
	Response float32 `json:"response_mean_ms"`
	Transfer float32 `json:"transfer_mean_ms"`
}

// loadJSON is a point of an engine.
type loadJSON struct {
	AtMs    int64   `json:"at_ms"`
	Seconds float32 `json:"seconds"`
	*engineJSON
	*countsJSON
}

type engineJSON struct {
	CPUPercent float32 `json:"cpu_percent"`
	RSSBytes   float32 `json:"rss_bytes"`
}

func showPoint(m moment[point]) pointJSON {
	p := m.shot
	shown := pointJSON{AtMs: m.endMs, Seconds: m.seconds, Engines: p.engines, Missing: p.missing}
	if p.isGap() {
		return shown
	}
	shown.countsJSON = showCounts(&p.counts)
	if t := p.times; t[p50] == t[p50] { // not NaN
		mean := t[waitMean] + t[responseMean] + t[transferMean]
		shown.timesJSON = &timesJSON{mean, t[p50], t[p95], t[p99], t[waitMean], t[responseMean], t[transferMean]}
	}
	return shown
}

func showCounts(c *[countsNumber]float32) *countsJSON {
	return &countsJSON{
		Requests: c[requests], Responses: [5]float32(c[responses1 : responses5+1]), Errors: c[errored],
		Failures: c[failures], Connections: c[connections], OpenConnections: c[openConnections],
		ReceivedBytes: c[receivedBytes], SentBytes: c[sentBytes], TLSHandshakes: c[tlsHandshakes],
	}
}

func showLoad(m moment[load]) loadJSON {
	shown := loadJSON{AtMs: m.endMs, Seconds: m.seconds}
	if !m.shot.isGap() {
		shown.engineJSON = &engineJSON{m.shot.cpuPercent, m.shot.rssBytes}
		shown.countsJSON = showCounts(&m.shot.counts)
	}
	return shown
}

// shownSince is a list of points; none is an empty list.
func shownSince[S shot, J any](l *Live, of *series[S], afterMs int64, show func(moment[S]) J) []J {
	list := []J{}
	if of == nil {
		return list
	}
	for _, moment := range of.since(afterMs, &l.ring.clocks[fineSize], &l.ring.clocks[coarseSize]) {
		list = append(list, show(moment))
	}
	return list
}
