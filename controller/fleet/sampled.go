package fleet

import (
	"iter"
	"maps"

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

// BusyUs is the CPU time that the process has used, in µs.
func (s *Sample) BusyUs() uint64 { return s.busy() }

// ShouldServe tells whether an engine should answer clients of a virtual service now, or still does so while it drains.
func (k *Known) ShouldServe(serviceUUID, engineUUID string) bool {
	for _, seat := range k.Assignment(serviceUUID).Seats {
		if seat.Engine == engineUUID {
			return seat.State != place.Standby && seat.State != place.Starting
		}
	}
	return false
}
