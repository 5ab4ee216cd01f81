package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Pages of the screen.
const (
	servicesPage = iota
	enginesPage
	servicePage
)

// order is how virtual services are sorted.
type order int

const (
	byNeed order = iota
	byRequests
	byErrors
	byP99
	byName
	orders
)

func (o order) String() string {
	return [...]string{"need", "requests", "errors", "p99", "name"}[o]
}

// view is what the user has chosen to see.
type view struct {
	page   int
	order  order
	filter string
	typing bool // the user types the filter
	cursor int  // row of servicesPage
	offset int  // of another page: number of lines that are above the screen
	notice string
}

const sparkColumns = 12

// listed are the virtual services that pass the filter, in order.
func (v view) listed(s *state) []service {
	if s.Overview == nil {
		return nil
	}
	filter := strings.ToLower(v.filter)
	list := slices.DeleteFunc(slices.Clone(s.Overview.VirtualServices), func(one service) bool {
		return !strings.Contains(strings.ToLower(one.Name), filter)
	})
	value := func(one service) float64 { return 0 } // the order of the controller
	switch v.order {
	case byName:
		slices.SortStableFunc(list, func(a, b service) int { return cmp.Compare(a.Name, b.Name) })
	case byRequests:
		value = func(one service) float64 { return one.Point.Requests }
	case byErrors:
		value = func(one service) float64 { return one.Point.Errors }
	case byP99:
		value = func(one service) float64 { return of(one.Point.P99) }
	}
	slices.SortStableFunc(list, func(a, b service) int {
		var left, right float64
		if a.Point != nil {
			left = value(a)
		}
		if b.Point != nil {
			right = value(b)
		}
		return cmp.Compare(right, left)
	})
	return list
}

func of(value *float64) float64 {
	if value == nil {
		return 0
	}
	return *value
}

var pointColumns = []column{
	{heading: "REQ/S"}, {heading: "ERR %"}, {heading: "P50 ms", drop: 1}, {heading: "P99 ms"},
	{heading: "OPEN", drop: 2}, {heading: "IN B/s", drop: 4}, {heading: "OUT B/s", drop: 3},
	{heading: "TLS/s", drop: 5},
}

// pointCells are the cells of pointColumns; nil: no engine reported.
func pointCells(p *point) []string {
	if p.isGap() {
		return []string{"–", "–", "–", "–", "–", "–", "–", "–"}
	}
	return []string{
		number(p.Requests), errorPercent(&p.counts), milliseconds(p.P50), milliseconds(p.P99),
		number(p.OpenConnections), number(p.ReceivedBytes), number(p.SentBytes), number(p.TLSHandshakes),
	}
}

// errorPercent is the share of requests that failed; without requests, as at layer 4, that of connections.
func errorPercent(c *counts) string {
	return percent(c.Errors, cmp.Or(c.Requests, c.Connections))
}

// servicesTable is a row for each virtual service.
func servicesTable(list []service) table {
	t := table{columns: slices.Concat(
		[]column{{heading: "VIRTUAL SERVICE", left: true}, {heading: "STATE", left: true, drop: 7},
			{heading: "HEALTH", drop: 1}}, pointColumns,
		[]column{{heading: "LAST MINUTE", left: true, drop: 6}, {heading: "ATTENTION", left: true, drop: 8, cut: true}},
	)}
	for _, one := range list {
		why := one.Attention
		reason := one.health.Reason
		if len(one.Reasons) > 0 {
			reason = one.Reasons[0]
		}
		if reason != "" {
			why = strings.TrimPrefix(why+": "+clean(reason), ": ")
		}
		t.rows = append(t.rows, row{
			slices.Concat([]string{clean(one.Name), shortState(one.State), one.text()}, pointCells(one.Point),
				[]string{spark(one.Recent, sparkColumns), why}),
			one.Attention == "down" || one.Attention == "errors",
		})
	}
	return t
}

func shortState(state string) string { return clean(strings.TrimPrefix(state, "OPER_")) }

func enginesTable(list []engine) table {
	t := table{columns: []column{
		{heading: "ENGINE", left: true}, {heading: "STATE", left: true}, {heading: "CPU %"},
		{heading: "MEMORY", drop: 2},
		{heading: "REQ/S"}, {heading: "CONN/S", drop: 3}, {heading: "OPEN", drop: 1}, {heading: "IN B/s", drop: 5},
		{heading: "OUT B/s", drop: 4}, {heading: "TLS/s", drop: 6}, {heading: "LAST MINUTE", left: true, drop: 7},
		{heading: "WHY", left: true, drop: 8, cut: true},
	}}
	for _, one := range list {
		cells := []string{"–", "–", "–", "–", "–", "–", "–", "–"}
		if len(one.Points) > 0 {
			if p := one.Points[len(one.Points)-1]; p.CPUPercent != nil {
				cells = []string{digits(*p.CPUPercent), number(p.RSSBytes), number(p.Requests), number(p.Connections),
					number(p.OpenConnections), number(p.ReceivedBytes), number(p.SentBytes), number(p.TLSHandshakes)}
			}
		}
		var recent []*float64
		for _, p := range lastMinute(one.Points, func(p load) int64 { return p.AtMs }) {
			if p.CPUPercent == nil {
				recent = append(recent, nil)
				continue
			}
			recent = append(recent, &p.Requests)
		}
		t.rows = append(t.rows, row{
			slices.Concat([]string{clean(one.Name), shortState(one.State)}, cells,
				[]string{spark(recent, 2*sparkColumns), clean(strings.Join(one.Reasons, "; "))}),
			one.State != "OPER_UP",
		})
	}
	return t
}

func lastMinute[P any](points []P, atMs func(P) int64) []P {
	from := slices.IndexFunc(points, func(p P) bool { return atMs(p) > atMs(points[len(points)-1])-60_000 })
	return points[max(0, from):]
}

// detailLines shows one virtual service: its times, its engines, and the servers of its pool.
func detailLines(s *state, width int) []line {
	if len(s.VirtualServices) == 0 {
		return []line{{text: "waiting for the controller"}}
	}
	of := s.VirtualServices[0]
	if of.Gone {
		return []line{{"this virtual service is deleted", alarm}}
	}
	title := line{text: clean(of.Name) + "  " + shortState(of.State), style: strong}
	if of.Score != nil {
		title.text += fmt.Sprintf("  health %d, %s", *of.Score, clean(of.Band))
	}
	if of.State != "OPER_UP" {
		title.style = alarm
	}
	drawn := []line{title}
	for _, reason := range of.Reasons {
		drawn = append(drawn, line{text: fit(clean(reason), width), style: alarm})
	}
	if of.health.Reason != "" && len(of.Reasons) == 0 {
		drawn = append(drawn, line{text: fit(clean(of.health.Reason), width)})
	}
	drawn = append(drawn, line{})
	drawn = append(drawn, totalTable(of.Points).lines(width)...)
	drawn = append(drawn, line{text: "requests/s, last minute " + spark(recentOf(of.Points), 5*sparkColumns)}, line{})
	drawn = append(drawn, timingTable(of.Points).lines(width)...)
	drawn = append(drawn, line{})
	drawn = append(drawn, partsTable(of.Engines).lines(width)...)
	for _, pool := range s.Pools {
		drawn = append(drawn, line{})
		drawn = append(drawn, serversTable(pool).lines(width)...)
	}
	return drawn
}

func newest(points []point) *point {
	if len(points) == 0 {
		return nil
	}
	return &points[len(points)-1]
}

func totalTable(points []point) table {
	t := table{columns: slices.Concat([]column{{heading: "ALL ENGINES", left: true}}, pointColumns)}
	name := "now"
	if p := newest(points); p != nil && p.Missing > 0 {
		name = fmt.Sprintf("now, without %d engines", p.Missing)
	}
	t.rows = []row{{cells: append([]string{name}, pointCells(newest(points))...)}}
	return t
}

// recentOf is the requests per second of the last minute; nil is a gap.
func recentOf(points []point) (recent []*float64) {
	for _, p := range lastMinute(points, func(p point) int64 { return p.AtMs }) {
		if p.isGap() {
			recent = append(recent, nil)
			continue
		}
		recent = append(recent, &p.Requests)
	}
	return recent
}

// timingTable shows where requests spend their time, as means, which add up to the total.
func timingTable(points []point) table {
	t := table{columns: []column{{heading: "TIME, ms (mean)", left: true}, {heading: "NOW"},
		{heading: "SHARE", left: true}}}
	p := newest(points)
	if p == nil || p.Mean == nil {
		p = &point{}
	}
	for _, one := range []struct {
		name string
		took *float64
	}{{"wait", p.Wait}, {"server RTT + app response", p.Response}, {"transfer", p.Transfer}, {"total", p.Mean}} {
		bar := ""
		if of(p.Mean) > 0 {
			bar = strings.Repeat("█", int(30*of(one.took)/of(p.Mean)+0.5))
		}
		t.rows = append(t.rows, row{cells: []string{one.name, milliseconds(one.took), bar}})
	}
	return t
}

func partsTable(parts []part) table {
	t := table{columns: slices.Concat([]column{{heading: "ENGINE", left: true}}, pointColumns)}
	for _, one := range parts {
		t.rows = append(t.rows, row{cells: append([]string{clean(one.Name)}, pointCells(&one.Point)...)})
	}
	return t
}

func serversTable(of pool) table {
	heading := fmt.Sprintf("SERVER OF %s", clean(of.Name))
	if of.ServersTotal > len(of.Servers) {
		heading = fmt.Sprintf("SERVER OF %s (%d of %d)", clean(of.Name), len(of.Servers), of.ServersTotal)
	}
	t := table{columns: []column{
		{heading: heading, left: true}, {heading: "STATE", left: true}, {heading: "REQ/S"}, {heading: "FAILURES/S"},
		{heading: "CONN/S", drop: 2}, {heading: "OPEN", drop: 1}, {heading: "WHY", left: true, drop: 3, cut: true},
	}}
	for _, one := range of.Servers {
		t.rows = append(t.rows, row{
			[]string{clean(one.ID), shortState(one.State), rate(one.Requests), rate(one.Failures),
				rate(one.Connections),
				rate(one.OpenConnections), clean(one.Reason)},
			one.State == "OPER_DOWN",
		})
	}
	return t
}
