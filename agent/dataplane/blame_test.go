package dataplane

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	enginev1 "github.com/weir-lb/weir/api/gen/go/engine/v1"
)

func poolNamed(name string, servers ...string) *enginev1.Resource {
	pool := &dataplanev1.Pool{Uuid: name, Name: name}
	for _, id := range servers {
		pool.Servers = append(pool.Servers, &dataplanev1.Server{Id: id})
	}
	return &enginev1.Resource{Uuid: name, Body: &enginev1.Resource_Pool{Pool: &enginev1.Pool{Pool: pool}}}
}

func certificateNamed(name string) *enginev1.Resource {
	return &enginev1.Resource{Uuid: name, Body: &enginev1.Resource_Certificate{
		Certificate: &dataplanev1.Certificate{Uuid: name, Name: name},
	}}
}

func monitorNamed(name string) *enginev1.Resource {
	return &enginev1.Resource{Uuid: name,
		Body: &enginev1.Resource_HealthMonitor{HealthMonitor: &enginev1.HealthMonitor{Name: name}}}
}

func TestBlamesTheObjectsThatDifferFromThePlanBefore(t *testing.T) {
	service := serviceAt(80)
	before := []*enginev1.Resource{service, poolNamed("same", "a"), poolNamed("other", "a"), certificateNamed("gone"),
		monitorNamed("m1")}
	for name, c := range map[string]struct {
		after []*enginev1.Resource
		want  []string
	}{
		"some differ": {
			[]*enginev1.Resource{serviceAt(81), poolNamed("same", "a"), poolNamed("other", "b"),
				certificateNamed("new"), monitorNamed("m2")},
			[]string{"sslkeyandcertificate new new is new", "pool other other changed",
				"virtualservice vs shop changed",
				"sslkeyandcertificate gone gone is no more"},
		},
		"only monitors differ": {
			append(slices.Clone(before[:4]), monitorNamed("m2")),
			[]string{"   differs in nothing from the one before"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			findings := blame(planOf(1, before...), planOf(2, c.after...), errors.New("signal: aborted"))
			for i, finding := range findings {
				change, died := strings.CutSuffix(finding.Message, ": signal: aborted")
				got := fmt.Sprintf("%s %s %s %s", finding.Kind, finding.UUID, finding.Name, lastWordsOf(change))
				if !died || len(findings) != len(c.want) || got != c.want[i] {
					t.Errorf("got %q of %d, want %q", got, len(findings), c.want)
				}
			}
		})
	}
}

// lastWordsOf is what a finding says of its object alone.
func lastWordsOf(message string) string {
	for _, before := range []string{"this object ", "a Plan that "} {
		if _, change, found := strings.Cut(message, before); found {
			return change
		}
	}
	return message
}

func TestBlamesNoMoreObjectsThanItMay(t *testing.T) {
	var all []*enginev1.Resource
	for i := range suspectsMax + 1 {
		all = append(all, poolNamed(fmt.Sprint(i)))
	}
	if findings := blame(nil, planOf(1, all...), errors.New("signal: aborted")); len(findings) != suspectsMax {
		t.Errorf("%d findings", len(findings))
	}
}
