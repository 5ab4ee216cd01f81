package admit

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The reasons to refuse a request. rest maps each to a status. Clients compare some of these texts.
var (
	ErrNotLoggedIn        = errors.New("Authentication credentials were not provided.")
	ErrSessionExpired     = errors.New("Session expired: log in again")
	ErrForged             = errors.New("CSRF token missing or incorrect.")
	ErrInvalidCredentials = errors.New("Invalid credentials")
	ErrStale              = errors.New("Need to reload object data")
	ErrBusy               = errors.New("The controller is busy with others: try again in a second")
)

// Throttled says that too many logins failed.
type Throttled struct{ Wait time.Duration }

func (e *Throttled) Error() string {
	return fmt.Sprintf("Too many failed logins: try again in %d s", int(e.Wait.Round(time.Second)/time.Second)+1)
}

// Forbidden says that the user may not do this.
type Forbidden struct{ Reason string }

func (e *Forbidden) Error() string { return e.Reason }

// Lacking says which access to a resource of roles the user lacks, and in which tenant ("*": all together).
type Lacking struct {
	User     string
	Access   Access
	Resource string
	Tenant   string
}

func (e *Lacking) Error() string {
	where := "in tenant " + e.Tenant
	if e.Tenant == Everywhere.Name {
		where = "in all tenants"
	}
	return fmt.Sprintf(
		"User %s lacks %s to %s %s: administrators (superusers), and others with %s to %s there, can give "+
			"the user a role that has it", e.User, e.Access, e.Resource, where, WriteAccess, userResource)
}

// NotFound says that the object does not exist, or that the tenant cannot see it.
type NotFound struct{ Title string }

func (e *NotFound) Error() string { return e.Title + " object not found!" }

// Duplicate says that the name or uuid is taken.
type Duplicate struct{ Title, Field, Value string }

func (e *Duplicate) Error() string {
	return fmt.Sprintf("%s with this %s already exists: %s", e.Title, strings.ToUpper(e.Field[:1])+e.Field[1:], e.Value)
}

// InUse says that other objects refer to the object that should be deleted.
type InUse struct{ Referrers []string }

func (e *InUse) Error() string {
	return "Cannot delete, object is referred by: ['" + strings.Join(e.Referrers, "', '") + "']"
}

// NotAllowed says that an action is not possible on objects of this kind, or on this object.
type NotAllowed struct{ Reason string }

func (e *NotAllowed) Error() string { return e.Reason }
