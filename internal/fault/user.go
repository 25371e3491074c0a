package fault

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorCode is the stable code of a UserError (SDL: ErrorCode).
type ErrorCode string

// The codes of user errors.
const (
	Invalid             ErrorCode = "INVALID"
	NotFound            ErrorCode = "NOT_FOUND"
	Taken               ErrorCode = "NAME_TAKEN"
	Reserved            ErrorCode = "NAME_RESERVED"
	AtCap               ErrorCode = "CAP_REACHED"
	Conflict            ErrorCode = "VERSION_CONFLICT"
	InUse               ErrorCode = "IN_USE"
	Forbidden           ErrorCode = "DENIED"
	Unconfigured        ErrorCode = "NOT_CONFIGURED"
	TooLarge            ErrorCode = "TOO_LARGE"
	BadSchema           ErrorCode = "SCHEMA_INVALID"
	NotApproved         ErrorCode = "PACKAGE_NOT_APPROVED"
	PackageUnfit        ErrorCode = "PACKAGE_UNFIT"
	AlreadyApproved     ErrorCode = "ALREADY_APPROVED"
	LinkedCopy          ErrorCode = "LINKED_COPY"
	IdempotencyMismatch ErrorCode = "IDEMPOTENCY_MISMATCH"
	BadState            ErrorCode = "BAD_STATE"
)

// UserError is one broken rule (SDL: interface UserError). Every implementer is also an error, so that a use case can return it
// from where it finds it; Refusals turns what was returned into a payload's userErrors.
type UserError interface {
	error
	IsUserError()
}

// Detail is what every UserError carries.
type Detail struct {
	Code    ErrorCode
	Message string
	// Path names the input at fault: ["input", "name"].
	Path []string
}

// Error answers the message, which is safe to show.
func (d Detail) Error() string { return d.Message }

// IsUserError marks the type.
func (Detail) IsUserError() {}

// detail is found in every UserError by DetailOf.
func (d Detail) detail() Detail { return d }

// DetailOf answers what every UserError carries.
func DetailOf(u UserError) Detail {
	if d, ok := u.(interface{ detail() Detail }); ok {
		return d.detail()
	}
	return Detail{Message: u.Error()}
}

// PlainUserError is a UserError that has no more to say than its code, message and path.
type PlainUserError struct{ Detail }

// CapReached says that an agent has as many scripts as it may keep (S1-cap).
type CapReached struct {
	Detail
	// Limit is the agent's maxScripts.
	Limit int
}

// NameTaken says that a name is in use by something else.
type NameTaken struct {
	Detail
	// TakenBy says by what, in words.
	TakenBy string
}

// SchemaInvalid says why a JSON Schema is refused (S1-params).
type SchemaInvalid struct {
	Detail
	// Pointer is the JSON Pointer of the place in the schema; "" is its root.
	Pointer string
	// Keyword is the schema's keyword at fault, or "" where it is none.
	Keyword string
}

// PackageNotApproved says that no list approves a library (S2-pkgs).
type PackageNotApproved struct {
	Detail
	// Package is the library's name and version.
	Package string
}

// NotConfigured says that the deployment does not offer what the input needs.
type NotConfigured struct {
	Detail
	// ReasonCode is a stable reason, such as computer_not_configured.
	ReasonCode string
}

// Plain makes a PlainUserError. path is dotted, such as "input.name".
func Plain(code ErrorCode, path, format string, args ...any) *PlainUserError {
	return &PlainUserError{NewDetail(code, path, format, args...)}
}

// NewDetail makes the part that every UserError carries. path is dotted, such as "input.packages.3".
func NewDetail(code ErrorCode, path, format string, args ...any) Detail {
	return Detail{Code: code, Message: fmt.Sprintf(format, args...), Path: strings.Split(path, ".")}
}

// Refusals splits the error that a use case returned: the user errors in it (also several, joined with errors.Join), or the error
// itself where it is none. Exactly one of the two answers is set where err is not nil.
func Refusals(err error) ([]UserError, error) {
	if err == nil {
		return []UserError{}, nil
	}
	var user []UserError
	for _, e := range flatten(err) {
		var u UserError
		if !errors.As(e, &u) {
			return nil, err
		}
		user = append(user, u)
	}
	return user, nil
}

// flatten answers the errors that errors.Join put together.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
