package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"

	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// RemoteSample is a number, or a histogram of times.
type RemoteSample struct {
	AtMs      int64
	Number    float64
	Histogram *histogram.Histogram // nil: a number
}

func sampleOf(from chunkenc.Iterator, kind chunkenc.ValueType) (s RemoteSample, known bool) {
	switch kind {
	case chunkenc.ValFloat:
		s.AtMs, s.Number = from.At()
		return s, true
	case chunkenc.ValHistogram:
		s.AtMs, s.Histogram = from.AtHistogram(nil)
		return s, true
	}
	return s, false
}

// remoteAnswerMost is how much of an answer is read.
const remoteAnswerMost = 64 << 10

// RemoteWrite is a receiver that speaks Prometheus' remote_write 2.0, or 1.0 if it does not know 2.0.
type RemoteWrite struct {
	name  string
	api   *remoteapi.API
	old   atomic.Bool // it speaks 1.0
	fixed bool        // it was said which version it speaks
	last  *lastStatus
}

// NewRemoteWrite returns a receiver at a URL. The client adds headers and decides where it may connect. version: "1.0",
// "2.0", or "" to find out.
func NewRemoteWrite(at *url.URL, version string, client *http.Client) (*RemoteWrite, error) {
	last := &lastStatus{next: client.Transport}
	own := *client
	own.Transport = last
	api, err := remoteapi.NewAPI(at.String(), remoteapi.WithAPIPath(""), remoteapi.WithAPIHTTPClient(&own),
		remoteapi.WithAPIBackoff(remoteapi.BackoffConfig{MaxRetries: 1}))
	if err != nil {
		return nil, err
	}
	r := &RemoteWrite{name: at.Redacted(), api: api, last: last, fixed: version != ""}
	r.old.Store(version == "1.0")
	return r, nil
}

// Name is the URL without a password.
func (r *RemoteWrite) Name() string { return r.name }

// Write sends series. It is not safe for concurrent use.
func (r *RemoteWrite) Write(ctx context.Context, series []RemoteSeries) error {
	err := r.write(ctx, series)
	if err != nil && !r.fixed && !r.old.Load() && r.last.status.Load() == http.StatusUnsupportedMediaType {
		r.old.Store(true)
		err = r.write(ctx, series)
	}
	if err != nil && r.last.status.Load() == http.StatusBadRequest {
		return &Refusal{err}
	}
	return err
}

func (r *RemoteWrite) write(ctx context.Context, series []RemoteSeries) error {
	r.last.status.Store(0)
	kind, message := remoteapi.WriteV2MessageType, any(requestV2(series))
	if r.old.Load() {
		kind, message = remoteapi.WriteV1MessageType, requestV1(series)
	}
	_, err := r.api.Write(ctx, kind, message)
	return err
}

func requestV2(all []RemoteSeries) *writev2.Request {
	symbols := writev2.NewSymbolTable()
	request := &writev2.Request{Timeseries: make([]writev2.TimeSeries, len(all))}
	for i, series := range all {
		to := &request.Timeseries[i]
		to.LabelsRefs = symbols.SymbolizeLabels(series.Labels, nil)
		for _, sample := range series.Samples {
			if sample.Histogram != nil {
				to.Histograms = append(to.Histograms, writev2.FromIntHistogram(0, sample.AtMs, sample.Histogram))
			} else {
				to.Samples = append(to.Samples, writev2.Sample{Value: sample.Number, Timestamp: sample.AtMs})
			}
		}
	}
	request.Symbols = symbols.Symbols()
	return request
}

func requestV1(all []RemoteSeries) *prompb.WriteRequest {
	request := &prompb.WriteRequest{Timeseries: make([]prompb.TimeSeries, len(all))}
	for i, series := range all {
		to := &request.Timeseries[i]
		to.Labels = prompb.FromLabels(series.Labels, nil)
		for _, sample := range series.Samples {
			if sample.Histogram != nil {
				to.Histograms = append(to.Histograms, prompb.FromIntHistogram(sample.AtMs, sample.Histogram))
			} else {
				to.Samples = append(to.Samples, prompb.Sample{Value: sample.Number, Timestamp: sample.AtMs})
			}
		}
	}
	return request
}

// lastStatus notes the status of the last answer, and bounds how much of it is read: the library reads all of it.
type lastStatus struct {
	next   http.RoundTripper
	status atomic.Int32
}

func (l *lastStatus) RoundTrip(request *http.Request) (*http.Response, error) {
	if l.next == nil {
		return nil, errors.New("the client has no transport")
	}
	answer, err := l.next.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("remote write: %w", err)
	}
	l.status.Store(int32(answer.StatusCode))
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, remoteAnswerMost), answer.Body}
	return answer, nil
}
