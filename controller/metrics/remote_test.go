package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/weir-lb/weir/controller/metrics/retention"
)

// receiver notes what it got of the requests of the virtual service.
type receiver struct {
	err     error
	samples []RemoteSample
	writes  int
}

func (*receiver) Name() string { return "https://receiver" }

func (r *receiver) Write(_ context.Context, all []RemoteSeries) error {
	r.writes++
	if r.err != nil {
		return r.err
	}
	for _, series := range all {
		if series.Labels.Get(labels.MetricName) == "weir_service_requests_total" {
			r.samples = append(r.samples, series.Samples...)
		}
	}
	return nil
}

// send has all that was collected sent.
func (s *stage) send(r *remote) {
	s.Helper()
	for more := true; more; {
		var err error
		if more, err = r.step(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
}

// wantEach wants a sample of each collection since a time, with 150 requests more in each.
func wantEach(t *testing.T, samples []RemoteSample, from time.Time, collections int) {
	t.Helper()
	if len(samples) != collections+1 {
		t.Fatalf("got %d samples of %d collections, from %d on", len(samples), collections, samples[0].AtMs)
	}
	for i, sample := range samples {
		if at := from.Add(time.Duration(i) * retention.CollectEvery).UnixMilli(); sample.AtMs != at {
			t.Errorf("sample %d is of %d, want %d", i, sample.AtMs, at)
		}
		if i > 0 && sample.Number-samples[i-1].Number != 150 {
			t.Errorf("sample %d: %v after %v", i, sample.Number, samples[i-1].Number)
		}
	}
}

func (s *stage) each150(total *uint64) func(int) {
	return func(int) { *total += 150; s.report("se-one", 7, requested(*total)) }
}

func TestReceiverGetsEachSampleOnceAlsoAfterARestartAndWhileItIsAway(t *testing.T) {
	s := newStage(t)
	total, to := uint64(1000), &receiver{}
	s.report("se-one", 7, requested(total))
	begun := s.Now.Truncate(retention.CollectEvery)
	sender := newRemote(s.history, to)
	s.collect(3, s.each150(&total))
	s.send(sender)
	s.collect(5, s.each150(&total))
	to.err = errors.New("it is away")
	if _, err := sender.step(s.Context()); !errors.Is(err, to.err) {
		t.Errorf("got %v", err)
	}
	to.err = nil
	s.send(newRemote(s.history, to)) // as after a restart, without what the first knew
	// The sample that was the last one before the restart may come twice.
	if len(to.samples) == 10 && to.samples[3] == to.samples[4] {
		to.samples = append(to.samples[:3], to.samples[4:]...)
	}
	wantEach(t, to.samples, begun, 8)
	if _, err := sender.step(s.Context()); err != nil || s.history.collector.newest() != s.Now {
		t.Error("nothing is new")
	}
}

func TestReceiverThatStaysAwayLosesWhatIsOlderThanTwoHoursAndOperatorsHearOfIt(t *testing.T) {
	s := newStage(t)
	total, to := uint64(1000), &receiver{err: errors.New("connection refused")}
	s.report("se-one", 7, requested(total))
	sender := newRemote(s.history, to)
	for range int(3 * time.Hour / retention.CollectEvery) {
		s.collect(1, s.each150(&total))
		if _, err := sender.step(s.Context()); err == nil {
			t.Fatal("it took samples")
		}
	}
	to.err = nil
	s.send(sender)
	wantEach(t, to.samples, s.Now.Add(-remoteMost), int(remoteMost/retention.CollectEvery))
	var told string
	for _, event := range s.Events.Entries() {
		told += event.ID + " " + event.Message + "\n"
	}
	for _, part := range []string{"REMOTE_WRITE_UP", "REMOTE_WRITE_DROPPED", "more than 2h0m0s behind",
		"REMOTE_WRITE_DOWN https://receiver takes no samples: connection refused"} {
		if !strings.Contains(told, part) {
			t.Errorf("no event says %q:\n%s", part, told)
		}
	}
	if strings.Count(told, "REMOTE_WRITE_DROPPED") > 2 {
		t.Errorf("an event for each sample:\n%s", told)
	}
}

func TestRefusedSamplesAreToldOnceAnHourWithTheirCount(t *testing.T) {
	s := newStage(t)
	total, to := uint64(1000), &receiver{err: &Refusal{errors.New("out of order")}}
	s.report("se-one", 7, requested(total))
	sender := newRemote(s.history, to)
	for range int(2 * time.Hour / retention.CollectEvery) {
		s.collect(1, s.each150(&total))
		s.send(sender)
	}
	var told []string
	for _, event := range s.Events.Entries() {
		if event.ID == "REMOTE_WRITE_REFUSED" {
			told = append(told, event.Message)
		}
	}
	if len(told) != 2 || !strings.Contains(told[0], "https://receiver did not take parts of ") ||
		!strings.Contains(told[0], "out of order") {
		t.Errorf("told %d times: %q", len(told), told)
	}
}

// listener is a server of remote_write that knows some versions.
func listener(t *testing.T, knows func(kind string) int) (*url.URL, *[]string) {
	t.Helper()
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind := r.Header.Get("Content-Type")
		got = append(got, r.URL.Path+" "+kind)
		status := knows(kind)
		if status == http.StatusNoContent && strings.Contains(kind, "v2") {
			w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL + "/api/v1/push")
	if err != nil {
		t.Fatal(err)
	}
	return at, &got
}

var oneSeries = []RemoteSeries{{Labels: labels.FromStrings(labels.MetricName, "weir_up", "engine", "one"),
	Samples: []RemoteSample{{AtMs: 15_000, Number: 7}, {AtMs: 30_000, Histogram: emptyHistogram(schemaOfServices)}}}}

func TestReceiverThatDoesNotKnowTheNewVersionGetsTheOldOne(t *testing.T) {
	at, got := listener(t, func(kind string) int {
		if strings.Contains(kind, "v2") {
			return http.StatusUnsupportedMediaType
		}
		return http.StatusNoContent
	})
	to, err := NewRemoteWrite(at, "", &http.Client{Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := to.Write(t.Context(), oneSeries); err != nil {
			t.Fatal(err)
		}
	}
	v2, v1 := "/api/v1/push application/x-protobuf;proto=io.prometheus.write.v2.Request",
		"/api/v1/push application/x-protobuf"
	if want := strings.Join([]string{v2, v1, v1}, "|"); strings.Join(*got, "|") != want {
		t.Errorf("got %q", *got)
	}
}

func TestAnswerSaysWhetherSamplesAreToBeSentAgain(t *testing.T) {
	for status, refused := range map[int]bool{http.StatusBadRequest: true, http.StatusUnauthorized: false,
		http.StatusTooManyRequests: false, http.StatusServiceUnavailable: false} {
		at, _ := listener(t, func(string) int { return status })
		to, err := NewRemoteWrite(at, "2.0", &http.Client{Transport: http.DefaultTransport})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err = to.Write(ctx, oneSeries)
		var refusal *Refusal
		if err == nil || errors.As(err, &refusal) != refused {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// remoteStorage reads requests with the library that receivers use.
type remoteStorage struct{ series int }

func (s *remoteStorage) Store(r *http.Request, kind remoteapi.WriteMessageType) (*remoteapi.WriteResponse, error) {
	s.series++
	answer := remoteapi.NewWriteResponse()
	answer.Add(remoteapi.WriteResponseStats{Samples: 1, Histograms: 1})
	return answer, nil
}

func TestLibraryOfReceiversTakesWhatIsSent(t *testing.T) {
	kept := &remoteStorage{}
	server := httptest.NewServer(remoteapi.NewWriteHandler(kept, remoteapi.MessageTypes{remoteapi.WriteV2MessageType}))
	defer server.Close()
	at, _ := url.Parse(server.URL)
	to, err := NewRemoteWrite(at, "2.0", &http.Client{Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	if err := to.Write(t.Context(), oneSeries); err != nil || kept.series != 1 {
		t.Errorf("got %d requests, %v", kept.series, err)
	}
}
