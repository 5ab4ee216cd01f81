package kinds

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// ServerAutoScalePolicy says when a pool gets more or fewer servers, and how many. controller/autoscale acts on it.
type ServerAutoScalePolicy struct {
	Identity
	Named
	Owned
	Description string   `json:"description"`
	Markers     []Marker `json:"markers"`

	MinSize          uint32   `json:"min_size" max:"400"`
	MaxSize          uint32   `json:"max_size" max:"400"` // 0: 400
	Intelligent      bool     `json:"intelligent_autoscale" default:"false"`
	OutMarginPercent uint32   `json:"intelligent_scaleout_margin" min:"1" max:"99" default:"20"`
	InMarginPercent  uint32   `json:"intelligent_scalein_margin" min:"1" max:"99" default:"40"`
	OutRuleRefs      []string `json:"scaleout_alertconfig_refs" ref:"alertconfig" items:"32"`
	InRuleRefs       []string `json:"scalein_alertconfig_refs" ref:"alertconfig" items:"32"`
	OutStep          uint32   `json:"max_scaleout_adjustment_step" min:"1" max:"400" default:"1"`
	InStep           uint32   `json:"max_scalein_adjustment_step" min:"1" max:"400" default:"1"`
	OutCooldownS     uint32   `json:"scaleout_cooldown" max:"86400" default:"300"`
	InCooldownS      uint32   `json:"scalein_cooldown" max:"86400" default:"300"`

	Scheduled []ScheduledScaling `json:"scheduled_scalings" items:"1"`
}

// ScheduledScaling gives pools a number of servers at some times.
type ScheduledScaling struct {
	Enabled  bool   `json:"enable" default:"true"`
	Cron     string `json:"cron_expression" required:"true"` // when it begins, in UTC
	Hours    uint32 `json:"autoscaling_duration" min:"1" max:"24" default:"1"`
	Capacity uint32 `json:"desired_capacity" min:"1" max:"400" required:"true"`
	Step     uint32 `json:"schedule_max_step" max:"400" default:"1"` // 0: the steps of the policy
	Start    string `json:"start_date"`                              // ISO 8601; empty: always
	End      string `json:"end_date"`                                // with this day; empty: always
}

func init() {
	schema.Register[ServerAutoScalePolicy](schema.Definition{
		Short:      []string{"autoscalepolicy"},
		Private:    true,
		Permission: "PERMISSION_AUTOSCALE",
		Columns: []column.Column{
			column.Of("SIZE", autoscaleSize),
			column.Field("INTELLIGENT", "intelligent_autoscale"),
			column.Field("OUT BY", "scaleout_alertconfig_refs"),
			column.Field("IN BY", "scalein_alertconfig_refs"),
		},
		Example: `  weir serverautoscalepolicy create shop min_size=2 max_size=8 intelligent_autoscale=true`,
		Kept: []schema.Rule{
			schema.NoEffect("Weir measures the load of a pool, and predicts none", "use_predicted_load"),
			schema.NoEffect("servers that are down stay in their pool until somebody removes them",
				"delay_for_server_garbage_collection"),
		},
	})
}

// autoscaleMost is the largest pool that a policy asks for.
const autoscaleMost = 400

// Most is the largest number of servers that the policy asks for.
func (p *ServerAutoScalePolicy) Most() int { return int(cmp.Or(p.MaxSize, autoscaleMost)) }

func (p *ServerAutoScalePolicy) Validate() *schema.FieldError {
	if int(p.MinSize) > p.Most() {
		return refuse("max_size", "%d is below min_size %d", p.MaxSize, p.MinSize)
	}
	for i := range p.Scheduled {
		if int(p.Scheduled[i].Capacity) > p.Most() {
			return refuse(fmt.Sprintf("scheduled_scalings[%d].desired_capacity", i), "%d is above max_size %d",
				p.Scheduled[i].Capacity, p.Most())
		}
		if problem := p.Scheduled[i].check(fmt.Sprintf("scheduled_scalings[%d].", i)); problem != nil {
			return problem
		}
	}
	return nil
}

func (s *ScheduledScaling) check(at string) *schema.FieldError {
	if _, err := ParseCron(s.Cron); err != nil {
		return refuse(at+"cron_expression", "%v", err)
	}
	start, known := moment(s.Start, time.Time{})
	if !known {
		return refuse(at+"start_date", "%s is no date: give one as 2026-11-29 or 2026-11-29T08:00:00Z",
			schema.Show(s.Start))
	}
	end, known := moment(s.End, start)
	if !known {
		return refuse(at+"end_date", "%s is no date: give one as 2026-11-29 or 2026-11-29T08:00:00Z",
			schema.Show(s.End))
	}
	if end.Before(start.Truncate(day)) {
		return refuse(at+"end_date", "is before start_date")
	}
	return nil
}

// Until tells whether the schedule is in force, and until when.
func (s *ScheduledScaling) Until(now time.Time) (until time.Time, inForce bool) {
	cron, err := ParseCron(s.Cron)
	if err != nil || !s.Enabled {
		return time.Time{}, false
	}
	length := time.Duration(s.Hours) * time.Hour
	began, found := cron.Last(now.Add(-length), now)
	start, _ := moment(s.Start, time.Time{})
	end, _ := moment(s.End, began)
	if !found || began.Before(start) || !began.Before(end.Truncate(day).Add(day)) {
		return time.Time{}, false
	}
	return began.Add(length), true
}

const day = 24 * time.Hour

// moment reads a date of ISO 8601, with or without a time and a zone, which is UTC otherwise.
func moment(text string, without time.Time) (at time.Time, known bool) {
	if text == "" {
		return without, true
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// Idle warns of a policy that never scales anything, and of rules that it does not follow.
func (p *ServerAutoScalePolicy) Idle() (idle []schema.Kept) {
	isScheduled := slices.ContainsFunc(p.Scheduled, func(s ScheduledScaling) bool { return s.Enabled })
	if !p.Intelligent && !isScheduled && len(p.OutRuleRefs)+len(p.InRuleRefs) == 0 {
		return []schema.Kept{{Field: "intelligent_autoscale", Why: "is false, and there are no " +
			"scaleout_alertconfig_refs, scalein_alertconfig_refs and enabled scheduled_scalings: " +
			"the policy never scales a pool"}}
	}
	if p.Intelligent && len(p.OutRuleRefs) > 0 {
		idle = append(idle, schema.Kept{Field: "scaleout_alertconfig_refs", Why: followsLoad})
	}
	if p.Intelligent && len(p.InRuleRefs) > 0 {
		idle = append(idle, schema.Kept{Field: "scalein_alertconfig_refs", Why: followsLoad})
	}
	return idle
}

const followsLoad = "intelligent_autoscale follows the load of the pool, and no rules: has no effect"

func autoscaleSize(row column.Row) string {
	least, most := column.Text(column.At(row.Object, "min_size")), column.Text(column.At(row.Object, "max_size"))
	if most == "" || most == "0" {
		most = fmt.Sprint(autoscaleMost)
	}
	return cmp.Or(least, "0") + "–" + most
}
