package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/model"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// noteUncountedAttacks warns of thresholds of attacks that engines do not count.
func noteUncountedAttacks(about subject, vs *model.VirtualService, report *report) {
	has, with := kinds.AttackOnHTTP, "engines do not count it"
	switch {
	case vs.UDP != nil:
		has, with = kinds.AttackOnAny, "engines do not count it of datagrams"
	case vs.HTTP == nil:
		has, with = kinds.AttackOnConnection, "engines do not count it at layer 4"
	}
	const profile = "dos_rl_profile.dos_profile"
	limits := vs.ApplicationProfile.DosRateLimit
	if limits == nil || limits.DosProfile == nil {
		return
	}
	if len(limits.DosProfile.Thresholds) == 0 {
		report.warn(about, profile+".thresh_info", "names no attack: has no effect")
	}
	for i, threshold := range limits.DosProfile.Thresholds {
		at := fmt.Sprintf("%s.thresh_info[%d].", profile, i)
		switch {
		case threshold.IsOn(has):
		case threshold.Min <= 0 && slices.Contains(kinds.CountedAttacks(), threshold.Attack):
			report.warn(about, at+"min_value", "is no number from 1 on: has no effect")
		default:
			report.warn(about, at+"attack", "%s: %s, so that no event tells of it. They count %s",
				threshold.Attack, with,
				strings.Join(kinds.CountedAttacksOn(has), ", "))
		}
	}
}
