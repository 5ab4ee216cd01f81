package abuse

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-lb/weir/bench/meter"
	"github.com/weir-lb/weir/bench/ours"
	"github.com/weir-lb/weir/client"
)

// Rates of the API's clients. They are lower than those of a service, because each call is far more work.
const (
	apiPerSecond = 50
	apiKept      = 8
)

// apiComersPerSecond is the rate of attackers' connections. It is lower than elsewhere, because a handshake takes the
// controller longer than a data plane.
const apiComersPerSecond = 400

// stayers ask once what anybody may, and then nothing.
var stayers = manners{opening: get("/api/initial-data"), reads: 64 << 10, period: time.Second}

// measureAPI has attackers hold idle connections to the controller's API. Meanwhile an administrator's client at
// another address reads the API, and the engine stays connected.
func measureAPI(ctx context.Context, r *run, row row) (finding Finding, err error) {
	err = r.inStage(row.abuse, func(s *stage) error {
		end := s.noteBusy()
		w, err := s.startController(ctx)
		end()
		if err != nil {
			return err
		}
		begun := time.Now()
		if finding.Outcome, err = s.sufferAPI(ctx, w, row.attackers); err != nil {
			return err
		}
		lost, err := lostSince(ctx, w, begun)
		finding.Broken = append(finding.Broken, lost...)
		if len(lost) == 0 {
			finding.Facts = append(finding.Facts, "The engine stayed connected, and no heartbeat of it was missed.")
		}
		return err
	})
	if err == nil {
		r.Say("  %-8s %s", weirName, finding.text())
	}
	return finding, err
}

// startController runs a Weir whose controller has the balancer's core.
func (s *stage) startController(ctx context.Context) (w *ours.Weir, err error) {
	if err := meter.Stay(s.cores); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, meter.Stay(s.others)) }()
	return ours.Start(ctx, s.lab, ours.Setup{Name: weirName, Dir: s.dir, Programs: s.programs, Cores: s.cores})
}

func (s *stage) sufferAPI(ctx context.Context, w *ours.Weir, count int) (Outcome, error) {
	service, err := netip.ParseAddrPort(strings.TrimPrefix(w.Controller.URL, "https://"))
	if err != nil {
		return Outcome{}, err
	}
	session := w.Session.Saved()
	asking := asking{url: w.Controller.URL + "/api/serviceengine", perSecond: apiPerSecond, kept: apiKept,
		flags: []string{"--header", fmt.Sprintf("Cookie: %s=%s", session.Cookie, session.SessionID)}}
	begin := func(ctx context.Context) attack {
		return gather(ctx, count, apiComersPerSecond, approach{from: attackerAddress, to: service, secure: careless},
			stayers)
	}
	return s.suffer(ctx, scene{asking, begin, w.Controller.PID()})
}

// lostEvents say that the controller did not hear from an engine.
var lostEvents = []string{"SE_DOWN", "SE_HEARTBEAT_FAILURE"}

// lostSince says when the controller did not hear from its engine, since a moment or now.
func lostSince(ctx context.Context, w *ours.Weir, begun time.Time) (lost []string, err error) {
	var page struct {
		Results []client.Object `json:"results"`
	}
	if err := w.Session.Get(ctx, "analytics/logs?type=2&page_size=200", &page); err != nil {
		return nil, err
	}
	for _, event := range page.Results {
		at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(event["report_timestamp"]))
		if err == nil && at.After(begun) && slices.Contains(lostEvents, fmt.Sprint(event["event_id"])) {
			lost = append(lost, fmt.Sprintf("%v: %v", event["event_id"], event["event_description"]))
		}
	}
	if err := w.Engine.Connected(ctx); err != nil {
		lost = append(lost, fmt.Sprintf("the engine is not connected afterwards: %v", err))
	}
	return lost, nil
}
