package kinds

import (
	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/column"
)

// Alert is an alert. The controller makes it, and keeps its state in it. To delete it is to dismiss it.
type Alert struct {
	Identity
	Named
	Owned
	Description  string   `json:"description"`
	ConfigRef    string   `json:"alert_config_ref"` // not a reference: the rule may be deleted
	ConfigName   string   `json:"weir_alert_config_name"`
	Level        string   `json:"level" enum:"AlertLevel"`
	State        string   `json:"state" enum:"AlertState" default:"ALERT_STATE_ON"`
	Condition    string   `json:"weir_condition" enum:"AlertCondition"`
	ObjectKey    string   `json:"obj_key"` // what makes it the same alert: rule and object
	ObjectType   string   `json:"weir_obj_type"`
	ObjectUUID   string   `json:"obj_uuid"`
	ObjectName   string   `json:"obj_name"`
	Part         string   `json:"weir_obj_part"` // a server of a pool; empty: the whole
	Reason       string   `json:"reason"`
	Summary      string   `json:"summary"`
	RelatedUUIDs []string `json:"related_uuids"`
	Threshold    uint32   `json:"threshold"`
	EventID      string   `json:"weir_event_id"`
	MetricID     string   `json:"weir_metric_id"`
	MetricValue  float64  `json:"weir_metric_value"`

	Timestamp     float64 `json:"timestamp"` // seconds since 1970: when it began
	ResolvedAt    float64 `json:"weir_resolved_timestamp"`
	ExpiresAt     float64 `json:"weir_expires_timestamp"`
	ThrottleCount uint32  `json:"throttle_count"`
	LastThrottle  float64 `json:"last_throttle_timestamp"`
	Told          string  `json:"weir_told" enum:"AlertCondition"` // what receivers heard last; empty: nothing
	ToldAt        float64 `json:"weir_told_timestamp"`             // when they heard of its begin
	SilencedBy    string  `json:"weir_silenced_by"`
	SilencedWhy   string  `json:"weir_silenced_why"`

	Deliveries []AlertDelivery `json:"weir_deliveries" items:"50"`
}

// AlertDelivery is what became of sending an alert to one place.
type AlertDelivery struct {
	ID     string  `json:"id"`
	Action string  `json:"action" enum:"AlertAction"`
	To     string  `json:"to"`   // uuid of the webhook, mail or syslog configuration
	Name   string  `json:"name"` // of it
	About  string  `json:"about" enum:"AlertCondition"`
	State  string  `json:"state" enum:"DeliveryState"`
	Tries  uint32  `json:"tries"`
	Answer string  `json:"answer"` // of the last try: status, or error
	At     float64 `json:"at"`     // of the last try
}

func init() {
	schema.Register[Alert](schema.Definition{
		SelfMade:  true,
		Own:       true, // nobody sends one: fields of Avi's that it lacks are dropped
		Unaudited: true,
		Columns: []column.Column{
			column.Enum("LEVEL", "ALERT_", "level"),
			column.Field("CONDITION", "weir_condition"),
			column.Field("OBJECT", "obj_name"),
			column.Field("REASON", "reason"),
		},
	})
}

var (
	_ = schema.Enum("AlertState", "ALERT_STATE_ON", "ALERT_STATE_DISMISSED", "ALERT_STATE_THROTTLED")
	_ = schema.Enum("AlertCondition", "FIRING", "RESOLVED")
	_ = schema.Enum("AlertAction", "webhook", "email", "syslog")
	_ = schema.Enum("DeliveryState", "WAITING", "DELIVERED", "DEAD")
)
