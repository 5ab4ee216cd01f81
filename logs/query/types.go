package query

// Types of records.
const (
	Events = "events"
	Audit  = "audit"
)

// Types are the fields of each type, by name. A row of the store has no other fields: no client can make one up.
var Types = map[string]Fields{
	Events: {
		"event_id": Text, "obj_type": Text, "obj_uuid": Text, "obj_name": Text, "tenant": Text,
		"event_description": Text, "related_uuids": Text,
	},
	Audit: {
		"user": Text, "address": Text, "tenant": Text, "action": Text, "kind": Text, "object": Text, "refused": Text,
		"name": Text, "old": Text, "new": Text,
	},
	Requests:    both(shared, ofRequests),
	Connections: both(shared, ofConnections),
}

// Streams are fields with few values, by type. The store keeps rows together that have the same values in them, and
// finds these quickly.
var Streams = map[string][]string{
	Requests:    {"virtualservice", "class"},
	Connections: {"virtualservice", "service_engine_uuid", "class"},
}

// Reserved are names that the store gives to columns of its own.
const (
	ScopeColumn = "scope"
	BatchColumn = "batch" // number of the batch in the journal
	RowColumn   = "row"   // number of the row in its batch
)
