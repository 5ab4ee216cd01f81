package control

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/weir-lb/weir/client"
)

// callsSpan ends a row of calls that take long before it has made all of them.
const callsSpan = 90 * time.Second

// point makes the point of calls that one client makes one right after the other.
func (s *stage) point(ctx context.Context, count int, call func(c *client.Session, number int) error) (Point, error) {
	var spans []time.Duration
	for deadline := time.Now().Add(callsSpan); len(spans) < count && time.Now().Before(deadline); {
		begun := time.Now()
		if err := call(s.clients[0], len(spans)); err != nil {
			return Point{}, err
		}
		spans = append(spans, time.Since(begun))
	}
	return pointOf(spans, 0), nil
}

// spares are pools and VIPs for virtual services that the row create makes.
func (r *run) spares() int { return r.Short(20, 100) }

// measureCreate creates virtual services and then deletes them.
func measureCreate(ctx context.Context, s *stage) (Point, error) {
	var created []*service
	point, err := s.point(ctx, s.spares(), func(c *client.Session, number int) error {
		service, err := s.createService(ctx, c, s.size+number)
		created = append(created, service)
		return err
	})
	if err != nil {
		return point, err
	}
	for _, service := range created {
		if err := s.clients[0].Delete(ctx, "virtualservice", service.uuid); err != nil {
			return point, err
		}
	}
	return point, s.settled(ctx, s.size)
}

func measurePatch(ctx context.Context, s *stage) (Point, error) {
	point, err := s.point(ctx, s.Short(20, 200), func(c *client.Session, _ int) error {
		service, name := s.nextChange()
		return s.rename(ctx, c, service, name)
	})
	if err != nil {
		return point, err
	}
	return point, s.settled(ctx, s.size)
}

func measureName(ctx context.Context, s *stage) (Point, error) {
	return s.point(ctx, s.Short(100, 1000), func(c *client.Session, number int) error {
		return oneFound(ctx, c, url.Values{"name": {s.services[spread(number, s.size)].name}})
	})
}

// measureSearch looks for a text in all that there is of the virtual services.
func measureSearch(ctx context.Context, s *stage) (Point, error) {
	return s.point(ctx, s.Short(20, 100), func(c *client.Session, number int) error {
		return oneFound(ctx, c, url.Values{"search": {s.services[spread(number, s.size)].name}})
	})
}

// oneFound reads a list that must have one virtual service.
func oneFound(ctx context.Context, c *client.Session, query url.Values) error {
	var page struct {
		Count int `json:"count"`
	}
	if err := c.Get(ctx, "virtualservice?"+query.Encode(), &page); err != nil {
		return err
	}
	if page.Count != 1 {
		return fmt.Errorf("%d virtual services were found by %s, and there is one", page.Count, query.Encode())
	}
	return nil
}

// strideOfSpread has no common factor with the usual numbers of services, so that each of them gets its turn.
const strideOfSpread = 7919

// spread picks one of so many services for a number: neighbours are far apart.
func spread(number, size int) int { return number * strideOfSpread % size }
