package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/weir-lb/weir/bench/findings"
	"github.com/weir-lb/weir/client"
)

// quantile is the smallest time that this share of the times does not exceed; 0 if there are none.
func quantile(spans []time.Duration, share float64) time.Duration {
	if len(spans) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(spans))
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

func milliseconds(span time.Duration) float64 { return float64(span) / float64(time.Millisecond) }

// spread says how times lie.
func spread(what string, spans []time.Duration) findings.Finding {
	return findings.Finding{Value: milliseconds(quantile(spans, 0.99)),
		Note: fmt.Sprintf("%d %s: p50 %.0f ms, p99 %.0f ms",
			len(spans), what, milliseconds(quantile(spans, 0.5)), milliseconds(quantile(spans, 0.99)))}
}

func answer(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") }

// ask sends one request, and returns when its answer has come.
func ask(ctx context.Context, url string) (ended time.Time, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return ended, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return ended, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	err = errors.Join(err, answer.Body.Close())
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return time.Now(), err
}

// pause is a random part of a second, so that requests come at any moment of a step.
func pause(ctx context.Context) error {
	select {
	case <-time.After(time.Duration(rand.Int64N(int64(time.Second)))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// measureVisibleMetric sends one request, waits until the stream that the pages follow shows it, and sends the next.
func measureVisibleMetric(ctx context.Context, r *run) (found findings.Finding, err error) {
	err = r.onStage(ctx, func(s *stage) error {
		vs, end, err := s.serve(ctx, "visible", http.HandlerFunc(answer), nil)
		defer end()
		if err != nil {
			return err
		}
		shown := make(chan time.Time, 64)
		watching, stop := context.WithCancel(ctx)
		defer stop()
		broken := make(chan error, 1)
		go func() {
			broken <- s.controller.Session.Live(watching, []string{"vs:" + vs.uuid}, "",
				func(event client.LiveEvent) error { return seeRequests(event, shown) })
		}()
		// The stream has a hole of up to five seconds where watching begins.
		if err := s.untilFine(ctx, vs.url("/"), shown); err != nil {
			return err
		}
		var spans []time.Duration
		for range r.Short(10, 100) {
			if err := pause(ctx); err != nil {
				return err
			}
			ended, err := ask(ctx, vs.url("/"))
			if err != nil {
				return err
			}
			select {
			case at := <-shown:
				spans = append(spans, max(0, at.Sub(ended)))
			case err := <-broken:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		found = spread("requests, one after the other, each seen in an event of the stream", spans)
		return nil
	})
	return found, err
}

// untilFine sends requests until the stream shows one, and then waits until it shows no other.
func (s *stage) untilFine(ctx context.Context, url string, shown <-chan time.Time) error {
	if err := until(ctx, 500*time.Millisecond, func() error {
		if _, err := ask(ctx, url); err != nil {
			return err
		}
		select {
		case <-shown:
			return nil
		default:
			return errors.New("the stream shows no request")
		}
	}); err != nil {
		return err
	}
	for {
		select {
		case <-shown:
		case <-time.After(5 * time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// seeRequests tells of a step in which there was a request.
func seeRequests(event client.LiveEvent, shown chan<- time.Time) error {
	now := time.Now()
	var told struct {
		Services []struct {
			Points []struct {
				Requests float64 `json:"requests_per_s"`
			}
		} `json:"virtual_services"`
	}
	if err := json.Unmarshal(event.Data, &told); err != nil {
		return err
	}
	for _, point := range told.Services[0].Points {
		if point.Requests > 0 {
			shown <- now
		}
	}
	return nil
}
