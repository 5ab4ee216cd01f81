package model

import "github.com/weir-lb/weir/controller/schema/kinds"

// SSOPolicy is by what the requests of virtual services are authenticated.
type SSOPolicy struct {
	kinds.SSOPolicy
	Default *AuthProfile
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
}
