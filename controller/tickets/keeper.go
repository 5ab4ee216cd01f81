package tickets

import (
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// Keeper calls Decide only when the result can differ from the last one: the rings differ, a virtual service was added,
// removed or has another SSL profile, or a ring is due. Otherwise it does not look at all virtual services. The zero
// value has decided nothing yet.
type Keeper struct {
	model *model.Model // nil: there is no last decision, or it changed rings
	rings Rings
	now   time.Time
	again time.Time
}

// Decide returns what the function Decide would.
func (k *Keeper) Decide(m *model.Model, before Rings, now time.Time, secret func() []byte) Decision {
	if k.model != nil && k.isAsBefore(m, before, now) {
		k.model, k.now = m, now
		return Decision{Again: k.again}
	}
	d := Decide(m, before, now, secret)
	*k = Keeper{m, before, now, d.Again}
	if len(d.Changed)+len(d.Gone) > 0 {
		k.model = nil
	}
	return d
}

func (k *Keeper) isAsBefore(m *model.Model, before Rings, now time.Time) bool {
	if !sorted.IsOne(k.rings, before) || now.Before(k.now) || !k.again.IsZero() && !now.Before(k.again) {
		return false
	}
	for was, is := range sorted.Differences(k.model.VirtualServices, m.VirtualServices, uuidOf) {
		if was == nil || is == nil || !slices.Equal(was.SSLProfiles(), is.SSLProfiles()) {
			return false
		}
	}
	return true
}

func uuidOf(vs *model.VirtualService) string { return vs.UUID }
