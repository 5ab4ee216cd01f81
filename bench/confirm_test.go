package bench

import (
	"testing"

	"github.com/weir-lb/weir/bench/workloads"
)

const h2loadSaid = `starting benchmark...
finished in 3.00s, 28123.33 req/s, 4.55MB/s
requests: 84370 total, 84626 started, 84370 done, 84370 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 84370 2xx, 0 3xx, 0 4xx, 0 5xx
`

func TestReadsWhatH2loadSays(t *testing.T) {
	if answered, err := answeredOf(h2loadSaid); err != nil || answered != 84370 {
		t.Errorf("%d answered: %v", answered, err)
	}
	for _, said := range []string{"", "requests: none\n", "requests: 0 total, 0 succeeded, 0 failed\n",
		"requests: 9 total, 8 succeeded, 1 failed, 0 errored\n"} {
		if answered, err := answeredOf(said); err == nil {
			t.Errorf("%q: %d answered", said, answered)
		}
	}
}

func TestH2loadConfirmsRowsOfHTTP2WithoutTLS(t *testing.T) {
	all, err := workloads.All()
	if err != nil {
		t.Fatal(err)
	}
	var confirmed []string
	for _, w := range all {
		if confirms(w) {
			confirmed = append(confirmed, w.ID)
		}
	}
	if len(confirmed) != 2 || confirmed[0] != "H2-H2" || confirmed[1] != "H2-K" {
		t.Errorf("it confirms %v", confirmed)
	}
}
