package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/weir-lb/weir/bench/origin"
)

// proveContent asks every proxy three times, and finds out whether it does with content what the row is about: a cache
// that has seen a large answer twice asks no server again, and a coding is the one that was asked for. Answers name the
// server that sent them.
func (s *stage) proveContent(ctx context.Context) error {
	service := s.workload.Service
	if !service.Cache && service.Compression == "" {
		return nil
	}
	for _, subject := range s.subjects {
		var origins [3]string
		for at := range origins {
			head, bytes, err := ask(ctx, subject.address, service.Compression)
			if err != nil {
				return fmt.Errorf("%s: %w", subject.name, err)
			}
			if coding := head.Get("Content-Encoding"); coding != service.Compression {
				return fmt.Errorf("%s answers with the coding %q, not %q", subject.name, coding,
					service.Compression)
			}
			origins[at] = head.Get("X-Origin")
			if at == 0 {
				s.run.told.say("  %-10s %s: an answer has %d bytes", s.workload.ID, subject.name, bytes)
			}
		}
		if service.Cache && origins[1] != origins[2] {
			return fmt.Errorf("%s answers from %s, then from %s: it stores nothing", subject.name, origins[1],
				origins[2])
		}
	}
	return nil
}

// ask returns the head of an answer, and the length of its body as it comes.
func ask(ctx context.Context, address, coding string) (http.Header, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/"+origin.Object, nil)
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	if coding != "" {
		request.Header.Set("Accept-Encoding", coding)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	bytes, err := io.Copy(io.Discard, answer.Body)
	if answer.StatusCode != http.StatusOK && err == nil {
		err = fmt.Errorf("it answers %s", answer.Status)
	}
	return answer.Header, bytes, err
}
