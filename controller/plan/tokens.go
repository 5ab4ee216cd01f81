package plan

import (
	"maps"
	"slices"

	dataplanev1 "github.com/weir-lb/weir/api/gen/go/dataplane/v1"
	"github.com/weir-lb/weir/controller/model"
)

var tokenAlgorithms = map[string]dataplanev1.TokenAlgorithm{
	"RS256": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_RS256,
	"RS384": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_RS384,
	"RS512": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_RS512,
	"PS256": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_PS256,
	"PS384": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_PS384,
	"PS512": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_PS512,
	"ES256": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_ES256,
	"ES384": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_ES384,
	"ES512": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_ES512,
	"EdDSA": dataplanev1.TokenAlgorithm_TOKEN_ALGORITHM_EDDSA,
}

// keysTried is KEYS_TRIED_MAX of dataplane/jwt.
const keysTried = 4

// tokenRules says which tokens requests must bring; nil: none. It blocks the virtual service if an operator wants
// tokens and it cannot be said which.
func tokenRules(subject subject, vs *model.VirtualService, report *report) *dataplanev1.TokenRules {
	switch {
	case vs.SSOPolicyRef == "" && vs.JWT == nil:
		if vs.HTTP != nil && vs.Parent != nil && vs.Parent.SSOPolicyRef != "" {
			report.warn(subject, "sso_policy_ref",
				"is empty: requests for this child need no token, although those that "+
					"stay with its parent %s do. A path such as /public/../admin is for the child, too, if its path is /public, "+
					"and its servers may read it as /admin. Give the child a policy and jwt_config, or let authn_rules of the "+
					"parent's policy skip the token", vs.Parent.Name)
		}
		return nil
	case vs.SSOPolicyRef == "":
		report.block(subject, "sso_policy_ref",
			"is empty, and jwt_config says that requests need a token: give the policy "+
				"that names the issuer, or remove jwt_config")
		return nil
	case vs.HTTP == nil:
		report.block(subject, "sso_policy_ref", "is for requests: give an application profile of "+
			"APPLICATION_PROFILE_TYPE_HTTP, or remove it")
		return nil
	case vs.SSOPolicy == nil || vs.SSOPolicy.Default == nil || vs.SSOPolicy.Default.Issuer == nil:
		report.blocked = true // model has a finding about that
		return nil
	case vs.JWT == nil:
		report.block(subject, "jwt_config",
			"is missing: without its audience, a token that was made for another service "+
				"would be good here")
		return nil
	}
	if httpsPort(vs) == 0 || hasPlainPort(vs) {
		report.warn(subject, "services",
			"has a port without enable_ssl: whoever hears a request there can use its token")
	}
	issuer := vs.SSOPolicy.Default.Issuer
	rules := &dataplanev1.TokenRules{Issuer: issuer.Issuer, Audience: vs.JWT.Audience, QueryName: vs.JWT.QueryName()}
	if rules.Access = accessRules(vs.SSOPolicy, report); rules.Access != nil {
		rules.Access.Audience, rules.Audience = vs.JWT.Audience, ""
	}
	keysFor := map[string]int{} // by algorithm
	for _, key := range issuer.TokenKeys() {
		keysFor[key.Algorithm]++
		rules.Keys = append(rules.Keys, &dataplanev1.TokenKey{Id: key.ID, Algorithm: tokenAlgorithms[key.Algorithm],
			SpkiDer: key.DER})
	}
	if len(rules.GetKeys()) == 0 {
		report.block(about("jwtserverprofile", issuer.Identity, issuer.Named), "jwks_keys",
			"has no key that engines can use")
		return nil
	}
	for _, algorithm := range slices.Sorted(maps.Keys(keysFor)) {
		if many := keysFor[algorithm]; many > keysTried {
			report.warn(about("jwtserverprofile", issuer.Identity, issuer.Named), "jwks_keys",
				"has %d keys for %s, and engines try the first %d for a token without a kid: give keys a kid, and "+
					"have the issuer name it in its tokens", many, algorithm, keysTried)
		}
	}
	return rules
}

func hasPlainPort(vs *model.VirtualService) bool {
	for _, service := range vs.Ports() {
		if !service.EnableSSL {
			return true
		}
	}
	return false
}
