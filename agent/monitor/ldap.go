package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	ber "github.com/go-asn1-ber/asn1-ber"
	"github.com/go-ldap/ldap/v3"

	"github.com/weir-lb/weir/agent/plan"
)

func init() {
	ber.MaxPacketLengthBytes = conversationBytesMax
	ldap.Logger(log.New(io.Discard, "", 0)) // it writes what it also returns as an error
}

var ldapScopes = map[plan.LDAPScope]int{
	plan.LDAPBase: ldap.ScopeBaseObject, plan.LDAPOne: ldap.ScopeSingleLevel, plan.LDAPSub: ldap.ScopeWholeSubtree,
}

// probeLDAP binds and searches. One entry is enough; none is enough if the monitor has no filter.
func probeLDAP(ctx context.Context, target Target) Outcome {
	check := &target.Monitor.LDAP
	stream, err := open(ctx, target, target.Monitor.Type == plan.LDAPS)
	if err != nil {
		return failed(target, err)
	}
	client := ldap.NewConn(&brief{stream, conversationBytesMax}, target.Monitor.Type == plan.LDAPS)
	client.Start()
	defer client.Close()
	if login := &target.Monitor.Login; login.Username != "" {
		if err := client.Bind(login.Username, login.Password); err != nil {
			return ldapFailed(ctx, target, "bind", err)
		}
	}
	const oneEntry = 1
	found, err := client.Search(ldap.NewSearchRequest(check.BaseDN, ldapScopes[check.Scope], ldap.NeverDerefAliases,
		oneEntry, 0, false, cmp.Or(check.Filter, "(objectClass=*)"), check.Attributes, nil))
	switch {
	case err != nil && !ldap.IsErrorWithCode(err, ldap.LDAPResultSizeLimitExceeded):
		return ldapFailed(ctx, target, "search", err)
	case check.Filter != "" && (found == nil || len(found.Entries) == 0):
		return Outcome{Reason: fmt.Sprintf("no entry below %q fits %s", check.BaseDN, check.Filter)}
	default:
		return Outcome{Up: true}
	}
}

func ldapFailed(ctx context.Context, target Target, what string, err error) Outcome {
	var result *ldap.Error
	switch {
	case ctx.Err() != nil:
		return failed(target, ctx.Err())
	case errors.As(err, &result) && result.ResultCode < ldap.ErrorNetwork:
		return Outcome{Reason: fmt.Sprintf("its answer to the %s: %s", what, ldap.LDAPResultCodeMap[result.ResultCode])}
	default:
		return Outcome{Reason: fmt.Sprintf("the %s: %s", what, firstLine(err.Error()))}
	}
}
