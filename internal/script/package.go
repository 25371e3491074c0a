package script

import (
	"encoding/json"

	"github.com/scriptorium-dev/scriptorium/internal/agent"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
)

// Label is a name and a value that the organization keeps with its script (SDL: Label, LabelInput).
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// FileInput is a file of a package that is to be written, from exactly one of two sources (S2-files).
type FileInput struct {
	Path    string
	Content *string
	FileID  *string // an upload
}

// Ecosystem is where a library comes from (SDL: Ecosystem).
type Ecosystem string

// ApprovalOrigin is who approved a library (SDL: ApprovalOrigin).
type ApprovalOrigin string

// Library is an approved library that a version names (SDL: ScriptPackage).
type Library struct {
	Ecosystem Ecosystem
	Name      string
	Version   string
	Approval  ApprovalOrigin
	SHA256    *string // nil: of the image
	Revoked   bool
}

// LibraryInput is a library that a version needs (SDL: ScriptPackageInput).
type LibraryInput struct {
	Ecosystem Ecosystem
	Name      string
	Version   string
}

// Packages are the libraries that the version names: none, as no list approves any.
func (*Version) Packages() []*Library { return []*Library{} }

// Package is what makes a version of an organization's script, and what goes to the script with it: a whole package.
type Package struct {
	Description      string
	Entrypoint       []string
	Parameters       json.RawMessage // nil: any object
	Files            []*FileInput
	Packages         []*LibraryInput
	TimeoutSeconds   *int // nil: TimeoutSeconds
	Background       *bool
	FreshInterpreter *bool
	Labels           []*Label        // nil: the script's are kept
	Metadata         json.RawMessage // nil: the script's is kept
	Draft            *bool
}

// CreateInput is what scriptCreate takes.
type CreateInput struct {
	Name string
	Package
	IdempotencyKey *string
}

// CreatePayload is what scriptCreate answers.
type CreatePayload struct {
	Script     *Script
	Version    *Version
	UserErrors []fault.UserError
}

// VersionCreateInput is what scriptVersionCreate takes.
type VersionCreateInput struct {
	Script string
	Package
	ExpectedVersion *int
	IdempotencyKey  *string
}

// VersionCreatePayload is what scriptVersionCreate answers.
type VersionCreatePayload struct {
	Script     *Script
	Version    *Version
	Created    *bool
	UserErrors []fault.UserError
}

// PackageDeleteInput is what scriptDelete takes.
type PackageDeleteInput struct {
	Script string
}

// PackageDeletePayload is what scriptDelete answers.
type PackageDeletePayload struct {
	DeletedID  *string
	UserErrors []fault.UserError
}

// InUse says that agents name the script in their tools (SDL: ScriptInUse).
type InUse struct {
	fault.Detail
	// Agents are those that name it.
	Agents []*agent.Agent
}
