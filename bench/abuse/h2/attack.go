package h2

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/net/http2"

	"github.com/weir-lb/weir/bench/origin"
)

// Object is what attackers ask for.
const Object = origin.Object

// Attack is what one client does to its connection.
type Attack struct {
	Name, Title string
	Source      string // the CVE, or where it was described
	// Code is the reason with which its connection ends. Without one, the attack holds what it has got.
	Code     http2.ErrCode
	Settings []http2.Setting
	begin    func(*Client) // gathers what it sends first
	again    func(*Client) // gathers what it sends again and again
	Each     time.Duration // the time between two of these; 0: as soon as they are taken
}

// Holds tells whether the attack is to last, and not to make the other end work.
func (a Attack) Holds() bool { return a.Code == http2.ErrCodeNo }

// Run attacks until the connection or ctx ends. An error means that there was no connection.
func (a Attack) Run(ctx context.Context, from, to netip.AddrPort) (End, error) {
	c, err := dial(ctx, from, to, a.Settings)
	if err != nil {
		return End{}, err
	}
	// The other end may read nothing: then only this ends what is being sent.
	defer context.AfterFunc(ctx, func() { _ = c.conn.Close() })()
	if a.begin != nil {
		a.begin(c)
	}
	err = c.send()
	for err == nil && !c.isOver() {
		if err = c.pause(ctx, a); err != nil || a.again == nil {
			break
		}
		a.again(c)
		err = c.send()
	}
	return c.leave(ctx), nil
}

// isOver tells whether the other end has said that it gives up.
func (c *Client) isOver() bool {
	end := c.said()
	return end.Told && end.Code != http2.ErrCodeNo
}

var errEnded = errors.New("the connection has ended")

// pause waits until it is time to send again. Error: there will be no such time.
func (c *Client) pause(ctx context.Context, a Attack) error {
	var clock <-chan time.Time
	switch {
	case a.again == nil: // it only holds
	case a.Each == 0:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return nil
	default:
		clock = time.After(a.Each)
	}
	select {
	case <-clock:
		return nil
	case <-c.ended:
		return errEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lastWords is how long a connection may take to end after its other end has given up.
const lastWords = 5 * time.Second

// leave waits for what the other end says at last, and closes the connection.
func (c *Client) leave(ctx context.Context) End {
	if ctx.Err() == nil {
		select {
		case <-c.ended:
		case <-ctx.Done():
		case <-time.After(lastWords):
		}
	}
	_ = c.conn.Close()
	<-c.ended
	return c.said()
}
