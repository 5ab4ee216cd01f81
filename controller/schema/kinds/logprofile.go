package kinds

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
)

// ClientLogConfig says which classes of records a virtual service keeps at all.
type ClientLogConfig struct {
	SignificantCollection bool   `json:"enable_significant_log_collection" default:"true"`
	Significant           string `json:"significant_log_processing" enum:"LogsProcessingType" default:"LOGS_PROCESSING_SYNC_AND_INDEX_ON_DEMAND"`
	Filtered              string `json:"filtered_log_processing" enum:"LogsProcessingType" default:"LOGS_PROCESSING_SYNC_AND_INDEX_ON_DEMAND"`
	NonSignificant        string `json:"non_significant_log_processing" enum:"LogsProcessingType" default:"LOGS_PROCESSING_SYNC_AND_INDEX_ON_DEMAND"`
}

// NoLogs is the processing that keeps no records of a class. All others keep them, and find them at once.
const NoLogs = "LOGS_PROCESSING_NONE"

// TraceConfig makes engines parties of traces (W3C Trace Context): each request gets a span, and its server hears of it
// as the parent.
type TraceConfig struct {
	Enabled        bool    `json:"enabled" default:"true"`
	SampledPercent float64 `json:"sampled_percent" default:"1.0"` // of the requests that come without a trace
}

// SensitiveLogProfile says what records hide.
type SensitiveLogProfile struct {
	Headers []SensitiveFieldRule `json:"header_field_rules" items:"64"`
	Query   []SensitiveFieldRule `json:"uri_query_field_rules" items:"64"`
}

// SensitiveFieldRule hides fields with some names.
type SensitiveFieldRule struct {
	Name    string       `json:"name"`
	Index   uint32       `json:"index"`
	Enabled bool         `json:"enabled" default:"false"`
	Match   *StringMatch `json:"match"`
	Action  string       `json:"action" enum:"LogFieldType" default:"LOG_FIELD_REMOVE"`
}

var (
	_ = schema.Enum("LogsProcessingType", NoLogs, "LOGS_PROCESSING_SYNC_AND_INDEX_ON_DEMAND",
		"LOGS_PROCESSING_AUTO_SYNC_AND_INDEX", "LOGS_PROCESSING_AUTO_SYNC_BUT_INDEX_ON_DEMAND")
	_ = schema.Enum("LogFieldType", "LOG_FIELD_REMOVE", "LOG_FIELD_MASKOFF")
)

// StatusRange is a range of status codes.
type StatusRange struct {
	Begin uint32 `json:"begin" required:"true"`
	End   uint32 `json:"end" required:"true"`
}

// checkLogs returns what is wrong with the statuses that are no errors.
func (p *AnalyticsProfile) checkLogs() *schema.FieldError {
	bad := func(field string, code uint32) *schema.FieldError {
		return &schema.FieldError{Field: field, Problem: fmt.Sprintf(
			"%d is no status of an error: give 400 to 599", code)}
	}
	isError := func(code uint32) bool { return code >= 400 && code <= 599 }
	for i, code := range p.ExcludedStatuses {
		if !isError(code) {
			return bad(fmt.Sprintf("exclude_http_error_codes[%d]", i), code)
		}
	}
	for i, span := range p.ExcludedRanges {
		field := fmt.Sprintf("ranges[%d]", i)
		switch {
		case !isError(span.Begin):
			return bad(field+".begin", span.Begin)
		case !isError(span.End):
			return bad(field+".end", span.End)
		case span.End < span.Begin:
			return &schema.FieldError{Field: field + ".end", Problem: fmt.Sprintf("%d is before begin %d", span.End,
				span.Begin)}
		}
	}
	return nil
}
