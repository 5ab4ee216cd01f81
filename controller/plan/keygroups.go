package plan

import (
	"slices"
	"strings"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

const hybridGroup = "X25519MLKEM768"

// keyGroups are the groups of key exchange that engines implement, by all of their names in small letters.
var keyGroups = map[string]string{
	"x25519": "X25519", "x25519mlkem768": hybridGroup,
	"p-256": "P-256", "prime256v1": "P-256", "secp256r1": "P-256",
	"p-384": "P-384", "secp384r1": "P-384",
}

// keyGroupsOf reads a list of groups as OpenSSL has it: "P-384:X25519". It returns nil for "auto", which stands for
// all. A profile that leaves none cannot be used: its operator wants others to be refused.
func keyGroupsOf(
	subject subject, profile *kinds.SSLProfile, versions []dataplanev1.TlsVersion, report *report,
) (groups []string) {
	const field = "ec_named_curve"
	wanted := strings.FieldsFunc(profile.ECNamedCurve, func(r rune) bool { return strings.ContainsRune(":, ;/", r) })
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(name string) bool {
		return strings.EqualFold(name, "auto")
	}) {
		return nil
	}
	var unknown []string
	for _, name := range wanted {
		group, known := keyGroups[strings.ToLower(strings.TrimLeft(name, "?*"))]
		switch {
		case !known:
			unknown = append(unknown, name)
		case !slices.Contains(groups, group):
			groups = append(groups, group)
		}
	}
	if len(unknown) > 0 {
		report.warn(subject, field, "engines have no group %s; left out", strings.Join(unknown, ", "))
	}
	onlyHybrid := len(groups) == 1 && groups[0] == hybridGroup
	speaks13 := slices.Contains(versions, dataplanev1.TlsVersion_TLS_VERSION_1_3)
	switch {
	case len(groups) == 0:
		report.block(subject, field, "no group is left: give some of X25519, P-256, P-384 and %s, or auto", hybridGroup)
	case onlyHybrid && !speaks13:
		report.block(subject, field, "%s needs SSL_VERSION_TLS1_3: accept it, or add another group", hybridGroup)
	case onlyHybrid && len(versions) > 1:
		report.warn(subject, field, "%s is for TLS 1.3: no client of an older version gets a connection", hybridGroup)
	}
	return groups
}
