package kinds

import (
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// ClientLogStreamingConfig says where the records of the virtual services of a profile are sent.
type ClientLogStreamingConfig struct {
	Server       string                    `json:"external_server" required:"true"`
	Port         uint32                    `json:"external_server_port" min:"1" max:"65535" default:"514"`
	Protocol     string                    `json:"protocol" enum:"LogStreamingProtocol" default:"LOG_STREAMING_PROTOCOL_UDP"`
	LogTypes     string                    `json:"log_types_to_send" enum:"LogStreamingTypes" default:"LOGS_ALL"`
	MaxPerSecond uint32                    `json:"max_logs_per_second" default:"100"` // 0: no limit
	Format       *ClientLogStreamingFormat `json:"format_config"`
	Syslog       *StreamingSyslogConfig    `json:"syslog_config"`
}

// ClientLogStreamingFormat says which fields of a record are sent.
type ClientLogStreamingFormat struct {
	Format string   `json:"format" enum:"LogStreamingFormat" required:"true"`
	Fields []string `json:"included_fields" items:"96"`
}

// StreamingSyslogConfig is the header of the messages of syslog.
type StreamingSyslogConfig struct {
	Facility               uint32 `json:"facility" max:"23" default:"16"`
	SignificantSeverity    uint32 `json:"significant_log_severity" max:"7" default:"4"`
	FilteredSeverity       uint32 `json:"filtered_log_severity" max:"7" default:"5"`
	NonSignificantSeverity uint32 `json:"non_significant_log_severity" max:"7" default:"6"`
	Hostname               string `json:"hostname" default:"AviVantage"`
	ProcID                 string `json:"proc_id" default:"NILVALUE"`
	MsgID                  string `json:"msg_id" default:"NILVALUE"`
}

var (
	_ = schema.Enum("LogStreamingProtocol", "LOG_STREAMING_PROTOCOL_UDP", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_UDP",
		"LOG_STREAMING_PROTOCOL_TCP", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TCP", "LOG_STREAMING_PROTOCOL_RAW_OVER_UDP",
		"LOG_STREAMING_PROTOCOL_TLS", "LOG_STREAMING_PROTOCOL_SYSLOG_OVER_TLS")
	_ = schema.Enum("LogStreamingTypes", "LOGS_SIGNIFICANT_ONLY", "LOGS_UDF_ONLY", "LOGS_UDF_SIGNIFICANT", "LOGS_ALL")
	_ = schema.Enum("LogStreamingFormat", "LOG_STREAMING_FORMAT_JSON_FULL", selectedFields)
)

const selectedFields = "LOG_STREAMING_FORMAT_JSON_SELECTED"

// Selected are the fields that are sent; empty: all.
func (c *ClientLogStreamingConfig) Selected() []string {
	if c.Format == nil || c.Format.Format != selectedFields {
		return nil
	}
	return c.Format.Fields
}

func (c *ClientLogStreamingConfig) check() *schema.FieldError {
	const at = "client_log_streaming_config."
	if strings.ContainsAny(c.Server, ", \t/[]") {
		return &schema.FieldError{Field: at + "external_server",
			Problem: schema.Show(c.Server) + " is no name or address of one server"}
	}
	if c.Format != nil && c.Format.Format == selectedFields && len(c.Format.Fields) == 0 {
		return &schema.FieldError{Field: at + "format_config.included_fields",
			Problem: "is required with " + selectedFields}
	}
	return nil
}
