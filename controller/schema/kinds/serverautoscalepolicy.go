package kinds

import (
	"cmp"
	"fmt"

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
			schema.NoEffect("Weir scales no pool by the clock", "scheduled_scalings"),
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
	return nil
}

// Idle warns of a policy that never scales anything, and of rules that it does not follow.
func (p *ServerAutoScalePolicy) Idle() []schema.Kept {
	switch rules := len(p.OutRuleRefs) + len(p.InRuleRefs); {
	case !p.Intelligent && rules == 0:
		return []schema.Kept{{Field: "intelligent_autoscale", Why: "is false, and there are no " +
			"scaleout_alertconfig_refs and scalein_alertconfig_refs: the policy never scales a pool"}}
	case p.Intelligent && len(p.OutRuleRefs) > 0:
		return []schema.Kept{{Field: "scaleout_alertconfig_refs", Why: followsLoad}}
	case p.Intelligent && rules > 0:
		return []schema.Kept{{Field: "scalein_alertconfig_refs", Why: followsLoad}}
	}
	return nil
}

const followsLoad = "intelligent_autoscale follows the load of the pool, and no rules: has no effect"

func autoscaleSize(row column.Row) string {
	least, most := column.Text(column.At(row.Object, "min_size")), column.Text(column.At(row.Object, "max_size"))
	if most == "" || most == "0" {
		most = fmt.Sprint(autoscaleMost)
	}
	return cmp.Or(least, "0") + "–" + most
}
