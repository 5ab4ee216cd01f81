package tickets

import (
	"time"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/sorted"
)

// Keeper decides again and again. What Decide left as it was it leaves again, until rings differ, a virtual service has
// another SSL profile, or the time of a ring has come: Keeper looks at all virtual services only then. The zero value
// has decided nothing.
type Keeper struct {
	model *model.Model // nil: the last decision was not to leave all as it is
	rings Rings
	now   time.Time
	again time.Time
}

// Decide is as the function of that name.
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
		if was == nil || is == nil || was.SSLProfile != is.SSLProfile {
			return false
		}
	}
	return true
}

func uuidOf(vs *model.VirtualService) string { return vs.UUID }
