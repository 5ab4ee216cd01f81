package fleet

import (
	"iter"
	"maps"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/place"
)

// This file is for rooms that take the difference of samples themselves, such as live.

// Sampled returns a channel that holds a value after an engine has sent a sample. It is for one reader.
func (f *Fleet) Sampled() <-chan struct{} { return f.sampled }

func (f *Fleet) tellSampled() {
	select {
	case f.sampled <- struct{}{}:
	default:
	}
}

// Engines returns all engines that have a Plan or have reported, by uuid.
func (k *Known) Engines() iter.Seq2[string, *Engine] { return maps.All(k.engines) }

// VirtualServices returns the virtual services of the model, in no order.
func (k *Known) VirtualServices() iter.Seq[*model.VirtualService] { return maps.Values(k.services) }

// Users returns the virtual services of the model that use a pool of the model, in no order.
func (k *Known) Users(pool *model.Pool) iter.Seq[*model.VirtualService] {
	return maps.Keys(k.users[pool])
}

// AttackCauses are the causes of failures that attackers are counted under.
var AttackCauses = []string{"client_flood", "client_sessions", "client_accept_timeout", "client_head_timeout",
	"client_bad_request", "client_head_too_large", "client_uri_too_long", "client_source_untrusted",
	"client_proxy_header"}

// Failures adds up what was counted under some causes.
func Failures(counters *dataplanev1.VirtualServiceCounters, causes ...string) (total uint64) {
	for _, cause := range causes {
		total += errorsIn(counters.GetErrors(), cause)
	}
	return total
}

// BusyUs is the CPU time that the process has used, in µs.
func (s *Sample) BusyUs() uint64 { return s.busy() }

// ShouldServe tells whether an engine should answer clients of a virtual service now, or still does so while it drains.
func (k *Known) ShouldServe(serviceUUID, engineUUID string) bool {
	for _, seat := range k.Assignment(serviceUUID).Seats {
		if seat.Engine == engineUUID {
			return seat.State != place.Standby && seat.State != place.Starting && seat.State != place.Stopped
		}
	}
	return false
}
