package top

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weir-lb/weir/client"
)

const (
	recentColumns = 60
	columnMs      = 5_000
)

// Recent prints what a virtual service did in the last five minutes, as one line of bars for each of some values.
func Recent(ctx context.Context, session *client.Session, uuid string, out io.Writer) error {
	var s state
	err := session.Live(ctx, []string{"vs:" + uuid}, "", func(event client.LiveEvent) error {
		return errors.Join(s.apply(event), errEnough)
	})
	switch {
	case isPassing(err):
		_, err = fmt.Fprintf(out, "LAST 5 MINUTES   cannot be shown now: %s\n", clean(err.Error()))
		return err
	case !errors.Is(err, errEnough) || len(s.VirtualServices) == 0:
		return err
	}
	for _, line := range recentTable(s.VirtualServices[0].Points).lines(1 << 12) {
		if _, err := fmt.Fprintln(out, line.text); err != nil {
			return err
		}
	}
	return nil
}

func recentTable(points []point) table {
	t := table{columns: []column{{heading: "LAST 5 MINUTES", left: true}, {left: true}, {heading: "NOW"},
		{heading: "MOST"}}}
	for _, one := range []struct {
		name  string
		value func(*point) *float64
		show  func(*float64) string
	}{
		{"requests/s", func(p *point) *float64 { return &p.Requests }, rate},
		{"errors/s", func(p *point) *float64 { return &p.Errors }, rate},
		{"connections/s", func(p *point) *float64 { return &p.Connections }, rate},
		{"p50 ms", func(p *point) *float64 { return p.P50 }, milliseconds},
		{"p99 ms", func(p *point) *float64 { return p.P99 }, milliseconds},
	} {
		values := sampled(points, one.value)
		var most *float64
		for _, value := range values {
			if value != nil && (most == nil || *value > *most) {
				most = value
			}
		}
		bars := spark(values, recentColumns)
		t.rows = append(t.rows, row{cells: []string{one.name, bars, one.show(values[len(values)-1]), one.show(most)}})
	}
	return t
}

func rate(value *float64) string {
	if value == nil {
		return "–"
	}
	return number(*value)
}

// sampled has the highest value of each five seconds, the last ones at the end; nil: a gap.
func sampled(points []point, value func(*point) *float64) []*float64 {
	values := make([]*float64, recentColumns)
	for i := range points {
		p := &points[i]
		at := recentColumns - 1 - int((points[len(points)-1].AtMs-p.AtMs)/columnMs)
		if p.isGap() || at < 0 {
			continue
		}
		if next := value(p); next != nil && (values[at] == nil || *next > *values[at]) {
			values[at] = next
		}
	}
	return values
}
