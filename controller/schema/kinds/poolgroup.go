package kinds

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// PoolGroup shares requests out between pools: those of the highest priority with servers enough get them, each in
// proportion to its ratio.
type PoolGroup struct {
	Identity
	Named
	Owned
	Clouded
	Description   string            `json:"description"`
	Markers       []Marker          `json:"markers"`
	CreatedBy     string            `json:"created_by"`
	CloudChecksum string            `json:"cloud_config_cksum"`
	Metadata      string            `json:"service_metadata"`
	Members       []PoolGroupMember `json:"members" items:"1024"`
	MinServers    uint32            `json:"min_servers" min:"1" max:"65535" also:"0"`
	// labels are numbers unless there are PriorityLabels, or these are only for scripts
	ImplicitLabels    bool        `json:"implicit_priority_labels"`
	PriorityLabelsRef string      `json:"priority_labels_ref" ref:"prioritylabels"`
	FailAction        *FailAction `json:"fail_action"` // nil: that of its pools
	// once the pools of the highest priority went down, they stay away until Activation is another number
	DeactivatePrimary bool   `json:"deactivate_primary_pool_on_down" default:"false"`
	Activation        uint32 `json:"weir_activation" default:"0"`
}

// PoolGroupMember is a pool of a group.
type PoolGroupMember struct {
	PoolRef string `json:"pool_ref" ref:"pool" required:"true"`
	// 0: clients that have no cookie of it do not come
	Ratio           uint32 `json:"ratio" min:"1" max:"1000" also:"0" default:"1"`
	PriorityLabel   string `json:"priority_label"` // empty: the lowest priority
	DeploymentState string `json:"deployment_state" enum:"PoolDeploymentState"`
}

const (
	outOfService     = "OUT_OF_SERVICE"
	evaluationFailed = "EVALUATION_FAILED"
)

var _ = schema.Enum("PoolDeploymentState", "EVALUATION_IN_PROGRESS", "IN_SERVICE", outOfService, evaluationFailed)

func init() {
	schema.Register[PoolGroup](schema.Definition{
		Private: true,
		Serving: schema.PartOfService,
		Columns: []column.Column{column.Of("POOLS", countOf("members"))},
		Example: "  weir poolgroup create canary members[0].pool_ref=blue members[0].ratio=9 " +
			"members[1].pool_ref=green members[1].ratio=1",
		Kept: []schema.Rule{
			schema.NoEffect("Weir evaluates no deployments: change ratios", "deployment_policy_ref"),
			schema.NoEffect("each pool says that itself, with enable_http2", "enable_http2"),
			schema.NoEffect("engines count the bytes of a body themselves", "fail_action.local_rsp.file.file_length"),
			schema.NoEffect(schema.Unheeded, ""),
		},
	})
}

func (g *PoolGroup) Validate() *schema.FieldError {
	first := map[string]int{}
	for i, member := range g.Members {
		at := fmt.Sprintf("members[%d]", i)
		if earlier, taken := first[member.PoolRef]; taken {
			return refuse(at+".pool_ref", "is members[%d] already", earlier)
		}
		first[member.PoolRef] = i
		if _, isNumber := member.Number(); !isNumber && g.PriorityLabelsRef == "" && !g.ImplicitLabels {
			return refuse(at+".priority_label", "%s is no number from 0 to 4294967295: give one, the highest comes "+
				"first, or give priority_labels_ref, or implicit_priority_labels if only DataScripts choose by labels",
				schema.Show(member.PriorityLabel))
		}
	}
	return g.FailAction.check("fail_action")
}

// Number is the priority of a label that is a number. Without a label it is 0, and with another one.
func (m *PoolGroupMember) Number() (priority uint32, isNumber bool) {
	number, err := strconv.ParseUint(cmp.Or(m.PriorityLabel, "0"), 10, 32)
	return uint32(number), err == nil
}

// Share is the part of the requests that the pool gets, in proportion to the shares of the others.
func (m *PoolGroupMember) Share() uint32 {
	if m.DeploymentState == outOfService || m.DeploymentState == evaluationFailed {
		return 0
	}
	return m.Ratio
}
