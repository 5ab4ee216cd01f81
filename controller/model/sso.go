package model

import (
	"fmt"

	"github.com/weir-lb/weir/controller/schema"
	"github.com/weir-lb/weir/controller/schema/kinds"
)

// SSOPolicy is by what the requests of virtual services are authenticated.
type SSOPolicy struct {
	kinds.SSOPolicy
	Default *AuthProfile

	StringGroups  map[string]*kinds.StringGroup // that rules compare with, by reference
	AddressGroups map[string]*AddressGroup      // the same
}

// Key returns the uuid, by which lists in the model are sorted.
func (p *SSOPolicy) Key() string { return p.UUID }

// AuthProfile is who makes the tokens of clients.
type AuthProfile struct {
	kinds.AuthProfile
	Issuer *kinds.JWTServerProfile
}

// Key returns the uuid, by which lists in the model are sorted.
func (p *AuthProfile) Key() string { return p.UUID }

func (k *Keeper) resolveAuthProfile(from *source, profile *AuthProfile) {
	profile.Issuer = follow(from, k.tokenIssuers, "jwt_profile_ref", profile.JWTRef)
}

func (k *Keeper) resolveSSOPolicy(from *source, policy *SSOPolicy) {
	if policy.Authentication != nil {
		policy.Default = follow(from, k.authProfiles, "authentication_policy.default_auth_profile_ref",
			policy.Authentication.DefaultAuthRef)
	}
	found := &HTTPPolicySet{AddressGroups: map[string]*AddressGroup{}, StringGroups: map[string]*kinds.StringGroup{}}
	for _, rule := range policy.AuthenticationRules() {
		field := fmt.Sprintf("authentication_policy.authn_rules[%d].match", rule.At)
		k.resolveMatch(from, found, field, rule.Rule.Match.Target())
	}
	for _, rule := range policy.AuthorizationRules() {
		field := fmt.Sprintf("authorization_policy.authz_rules[%d].match", rule.At)
		k.resolveMatch(from, found, field, rule.Rule.Match.Target())
		for i, claim := range rule.Rule.Match.Claims() {
			if claim.Text != nil {
				at := fmt.Sprintf("%s.access_token.matches[%d].string_match.string_group_refs", field, i)
				followInto(from, k.stringGroups, at, claim.Text.GroupRefs, found.StringGroups)
			}
		}
	}
	policy.StringGroups, policy.AddressGroups = found.StringGroups, found.AddressGroups
}

// ssoPolicy reads a policy. One from before rules had an effect was stored without their defaults, and means them: a
// rule without enable is in force.
func (r *reading) ssoPolicy(read *kinds.SSOPolicy) *SSOPolicy {
	filled := schema.Clone(r.object)
	kind, _ := schema.Lookup("ssopolicy")
	kind.Fill(filled)
	if with, err := schema.Into[kinds.SSOPolicy](filled); err == nil {
		read = with
	}
	return &SSOPolicy{SSOPolicy: *read}
}
