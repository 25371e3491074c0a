package keytest

import (
	"context"
	"testing"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

// Services are the services of organizations and keys on the database, joined.
func Services(d *database.DB) (*organization.Service, *key.Service) {
	organizations := organization.NewService(d)
	keys := key.NewService(d, organizations)
	organizations.Join(keys)
	return organizations, keys
}

// Operator starts an empty database, in a data folder of the test's, and answers who its operator is.
func Operator(t testing.TB, d *database.DB) *key.Viewer {
	t.Helper()
	_, keys := Services(d)
	if err := keys.Bootstrap(t.Context(), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	secret, err := keys.NewOperatorKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return viewer(t, keys, secret)
}

// Viewer makes an organization of its own with a key of these capabilities, all of them if none are named.
func Viewer(t testing.TB, d *database.DB, capabilities ...key.Capability) *key.Viewer {
	t.Helper()
	organizations, keys := Services(d)
	operator := key.WithViewer(t.Context(), &key.Viewer{Key: &key.Key{}, Operator: true})
	made, err := organizations.Create(operator, organization.CreateInput{Name: t.Name()})
	if err != nil || len(made.UserErrors) > 0 {
		t.Fatalf("no organization: %v %v", err, made)
	}
	v := viewer(t, keys, *made.Secret)
	if len(capabilities) == 0 {
		return v
	}
	return Another(t, d, v, capabilities...)
}

// Another makes another key in the viewer's organization, with these capabilities.
func Another(t testing.TB, d *database.DB, v *key.Viewer, capabilities ...key.Capability) *key.Viewer {
	t.Helper()
	_, keys := Services(d)
	made, err := keys.Create(key.WithViewer(t.Context(), v), key.CreateInput{Name: t.Name(), Capabilities: capabilities})
	if err != nil || len(made.UserErrors) > 0 {
		t.Fatalf("no key: %v %v", err, made)
	}
	return viewer(t, keys, *made.Secret)
}

// Context is the context of a request by the key of Viewer.
func Context(t testing.TB, d *database.DB, capabilities ...key.Capability) context.Context {
	t.Helper()
	return key.WithViewer(t.Context(), Viewer(t, d, capabilities...))
}

func viewer(t testing.TB, keys *key.Service, secret string) *key.Viewer {
	t.Helper()
	v, err := keys.Authenticate(t.Context(), "Bearer "+secret)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
