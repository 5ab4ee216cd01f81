package kinds

import (
	"slices"
	"strings"

	"github.com/weir-lb/weir/controller/schema"
)

// Permission is what a role allows with one resource.
type Permission struct {
	Resource string `json:"resource" required:"true" enum:"PermissionResource"`
	Type     string `json:"type" required:"true" enum:"AccessType"`
}

// Groups of resources, for the built-in roles.
const (
	ofApplications = "VIRTUALSERVICE VIRTUALSERVICE_MAINTENANCE POOL POOL_MAINTENANCE POOLGROUP " +
		"POOLGROUPDEPLOYMENTPOLICY PRIORITYLABELS HEALTHMONITOR NETWORKPROFILE APPLICATIONPROFILE " +
		"APPLICATIONPERSISTENCEPROFILE ANALYTICSPROFILE HTTPPOLICYSET L4POLICYSET DNSPOLICY VSDATASCRIPTSET STRINGGROUP " +
		"IPADDRGROUP ERRORPAGEPROFILE ERRORPAGEBODY PROTOCOLPARSER TRAFFICCLONEPROFILE MICROSERVICE MICROSERVICEGROUP " +
		"AUTOSCALE GSLBSERVICE GSLBSERVICE_GROUP LABELGROUP FILE_OBJECT"
	ofSecurity = "SSLPROFILE SSLKEYANDCERTIFICATE PKIPROFILE CERTIFICATEMANAGEMENTPROFILE " +
		"HARDWARESECURITYMODULEGROUP AUTHPROFILE AUTHMAPPINGPROFILE PINGACCESSAGENT SSOPOLICY JWTSERVERPROFILE " +
		"JWTPROFILE NETWORKSECURITYPOLICY SECURITYPOLICY ICAP BOTDETECTIONPOLICY CSRFPOLICY SERVICEAUTHPROFILE " +
		"IPREPUTATIONDB GEODB"
	ofFirewalls = "WAFPOLICY WAFPROFILE WAFPOLICYPSMGROUP WAFCRS"
	ofOperation = "ALERT ALERTCONFIG ALERTEMAILCONFIG ALERTSYSLOGCONFIG ACTIONGROUPCONFIG SNMPTRAPPROFILE " +
		"TRAFFIC_CAPTURE"
	ofInfrastructure = "CLOUD SERVICEENGINE SERVICEENGINEGROUP NETWORK VRFCONTEXT NETWORKSERVICE NATPOLICY " +
		"IPAMDNSPROVIDERPROFILE CUSTOMIPAMDNSPROFILE"
	ofSystem = "TENANT SYSTEMCONFIGURATION CONTROLLER"
)

// everything is a permission of this type for each resource.
func everything(access string) string {
	var all []string
	for _, resource := range schema.Resources {
		all = append(all, strings.TrimPrefix(resource, "PERMISSION_"))
	}
	return access + ": " + strings.Join(all, " ")
}

// permissions reads lines such as "READ_ACCESS: POOL CLOUD". The first line that names a resource counts. Resources
// that no line names get NO_ACCESS, so that the role lists all of them, as Avi's do.
func permissions(lines ...string) []any {
	given := map[string]string{}
	for _, line := range lines {
		access, resources, _ := strings.Cut(line, ": ")
		for resource := range strings.FieldsSeq(resources) {
			name := "PERMISSION_" + resource
			if !slices.Contains(schema.Resources, name) {
				panic("schema: there is no resource " + name)
			}
			if given[name] == "" {
				given[name] = access
			}
		}
	}
	var all []any
	for _, resource := range schema.Resources {
		access := given[resource]
		if access == "" {
			access = schema.NoAccess
		}
		all = append(all, schema.Object{"resource": resource, "type": access})
	}
	return all
}
