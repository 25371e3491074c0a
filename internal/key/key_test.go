package key_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/id"
	"github.com/scriptorium-dev/scriptorium/internal/key"
	"github.com/scriptorium-dev/scriptorium/internal/key/keytest"
	"github.com/scriptorium-dev/scriptorium/internal/organization"
)

func ptr[T any](v T) *T { return &v }

func as(t *testing.T, v *key.Viewer) context.Context { return key.WithViewer(t.Context(), v) }

func refused(faults []fault.UserError) string {
	var all []string
	for _, f := range faults {
		e := f.(*fault.PlainUserError)
		all = append(all, string(e.Code)+" "+strings.Join(e.Path, "."))
	}
	return strings.Join(all, ", ")
}

func isProblem(err error, code fault.ProblemCode) bool {
	var problem *fault.Problem
	return errors.As(err, &problem) && problem.Code == code
}

// secretIn reads an admin.key file, and checks its form.
func secretIn(t *testing.T, folder string) string {
	t.Helper()
	file := filepath.Join(folder, key.AdminFile)
	info, err := os.Lstat(file)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("%v: %v", err, info.Mode())
	}
	content, err := os.ReadFile(file)
	if err != nil || len(content) < 40 || strings.Count(string(content), "\n") != 1 || content[len(content)-1] != '\n' {
		t.Fatalf("%v: %q", err, content)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "admin.key.*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return strings.TrimSuffix(string(content), "\n")
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		folder := filepath.Join(t.TempDir(), "data")
		_, keys := keytest.Services(d)
		for range 2 { // a second start changes nothing
			if err := keys.Bootstrap(t.Context(), folder); err != nil {
				t.Fatal(err)
			}
		}
		v, err := keys.Authenticate(t.Context(), "Bearer "+secretIn(t, folder))
		if err != nil || !v.Operator || v.Organization.Name != "default" || !slices.Equal(v.Key.Capabilities, key.Capabilities()) || v.Key.OrganizationID != v.Organization.ID {
			t.Fatalf("%v %+v", err, v)
		}
		if n, err := d.Read().Organization.Query().Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d organizations: %v", n, err)
		}
		elsewhere := t.TempDir()
		if err := keys.Bootstrap(t.Context(), elsewhere); err != nil {
			t.Errorf("a second server: %v", err)
		}
		if _, err := os.Lstat(filepath.Join(elsewhere, key.AdminFile)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a second server has a file: %v", err)
		}
	})
}

func TestBootstrapOtherDatabase(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		folder := t.TempDir()
		file := filepath.Join(folder, key.AdminFile)
		if err := os.WriteFile(file, []byte("sk_of_another_database\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, keys := keytest.Services(d)
		err := keys.Bootstrap(t.Context(), folder)
		if err == nil || !strings.Contains(err.Error(), file) || strings.Contains(err.Error(), "sk_of") {
			t.Fatalf("Bootstrap = %v", err)
		}
		if n, err := d.Read().Key.Query().Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
		if content, err := os.ReadFile(file); err != nil || string(content) != "sk_of_another_database\n" {
			t.Errorf("the file is changed: %v %q", err, content)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := keys.Bootstrap(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("sk_of_another_database\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := keys.Bootstrap(t.Context(), folder); err == nil {
			t.Error("a wrong file beside a filled database passes")
		}
	})
}

// TestBootstrapCrash: a crash between the commit and the file's last name loses no key; one before the commit leaves no wrong file.
func TestBootstrapCrash(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		folder := t.TempDir()
		draft, file := filepath.Join(folder, "admin.key.new"), filepath.Join(folder, key.AdminFile)
		if err := os.WriteFile(draft, []byte("sk_never_committed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, keys := keytest.Services(d)
		if err := keys.Bootstrap(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		secret := secretIn(t, folder)
		if err := os.Rename(file, draft); err != nil {
			t.Fatal(err)
		}
		if err := keys.Bootstrap(t.Context(), folder); err != nil {
			t.Fatal(err)
		}
		if secretIn(t, folder) != secret {
			t.Error("the secret is another one")
		}
	})
}

func TestBootstrapTogether(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		folder := t.TempDir()
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, keys := keytest.Services(d)
				if err := keys.Bootstrap(t.Context(), folder); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		_, keys := keytest.Services(d)
		if _, err := keys.Authenticate(t.Context(), "Bearer "+secretIn(t, folder)); err != nil {
			t.Error(err)
		}
		if n, err := d.Read().Key.Query().Count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
	})
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		made, err := keys.Create(as(t, keytest.Viewer(t, d)), key.CreateInput{Name: "k", Capabilities: []key.Capability{key.Management, key.Tooling}})
		if err != nil {
			t.Fatal(err)
		}
		secret := *made.Secret
		for _, header := range []string{"Bearer " + secret, "bearer " + secret, "BEARER  " + secret + " "} {
			v, err := keys.Authenticate(t.Context(), header)
			if err != nil || v.Key.ID != made.Key.ID || v.Operator || !slices.Equal(v.Key.Capabilities, []key.Capability{key.Tooling, key.Management}) {
				t.Errorf("%q: %v", header, err)
			}
		}
		if made.Key.Prefix != secret[:len(made.Key.Prefix)] || len(made.Key.Prefix) > 10 {
			t.Errorf("prefix %q", made.Key.Prefix)
		}
		for _, header := range []string{"", "Bearer", "Bearer ", secret, "Basic " + secret, "Bearer " + secret + "x", "Bearer " + secret[1:],
			"Bearer " + strings.ToUpper(secret), "Bearer \x00\xff", "Bearer " + strings.Repeat("x", 1<<20), "Bearer " + made.Key.ID} {
			if v, err := keys.Authenticate(t.Context(), header); !isProblem(err, fault.Unauthenticated) || v != nil {
				t.Errorf("%.40q: %v", header, err)
			}
		}
		counter := databasetest.Count(t, d)
		if _, err := keys.Authenticate(t.Context(), "Bearer "+secret); err != nil || counter.Take() != 1 {
			t.Errorf("more than one statement: %v", err)
		}
	})
}

func TestLastUsed(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		v := keytest.Viewer(t, d)
		made, err := keys.Create(as(t, v), key.CreateInput{Name: "k"})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- keys.Run(ctx) }()
		used := func() *time.Time {
			found, err := keys.ByIDs(t.Context(), v.Organization.ID, []string{made.Key.ID})
			if err != nil {
				t.Fatal(err)
			}
			return found[made.Key.ID].LastUsedAt
		}
		if used() != nil {
			t.Error("used before its use")
		}
		before := database.Now()
		if _, err := keys.Authenticate(ctx, "Bearer "+*made.Secret); err != nil {
			t.Fatal(err)
		}
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		deadline := time.After(20 * time.Second)
		for used() == nil {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatal("the use is not written")
			}
		}
		first := *used()
		if first.Before(before) {
			t.Errorf("used at %v, before %v", first, before)
		}
		counter := databasetest.Count(t, d)
		for range 10 {
			if _, err := keys.Authenticate(ctx, "Bearer "+*made.Secret); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := counter.Take(); n != 10 || !used().Equal(first) {
			t.Errorf("%d statements for 10 uses, used at %v", n, used())
		}
	})
}

func TestCreateNoMore(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		v := keytest.Viewer(t, d, key.Management, key.Tooling)
		v.Key.ExecTimeoutSeconds = ptr(60)
		other := keytest.Viewer(t, d).Organization.ID
		cases := []struct {
			in   key.CreateInput
			want string
		}{
			{key.CreateInput{Name: "k", Capabilities: []key.Capability{key.Tooling, key.Computer}}, "DENIED input.capabilities.1"},
			{key.CreateInput{Name: "k", Capabilities: []key.Capability{key.Tooling, key.Tooling}}, "INVALID input.capabilities.1"},
			{key.CreateInput{Name: "k", Capabilities: []key.Capability{"ALL"}}, "INVALID input.capabilities.0"},
			{key.CreateInput{Name: "k", ExecTimeoutSeconds: ptr(61)}, "DENIED input.execTimeoutSeconds"},
			{key.CreateInput{Name: "k", ExecTimeoutSeconds: ptr(0)}, "INVALID input.execTimeoutSeconds"},
			{key.CreateInput{Name: "k", Organization: &other}, "NOT_FOUND input.organization"},
			{key.CreateInput{Name: "k", Organization: ptr(id.New(id.Organization))}, "NOT_FOUND input.organization"},
			{key.CreateInput{Name: "k", Organization: ptr("\x00")}, "NOT_FOUND input.organization"},
			{key.CreateInput{Name: " "}, "INVALID input.name"},
			{key.CreateInput{Name: "\x00", ExecTimeoutSeconds: ptr(-1)}, "INVALID input.name, INVALID input.execTimeoutSeconds"},
		}
		before, err := d.Read().Key.Query().Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			made, err := keys.Create(as(t, v), c.in)
			if err != nil || refused(made.UserErrors) != c.want || made.Key != nil || made.Secret != nil {
				t.Errorf("%+v: %v %s", c.in, err, refused(made.UserErrors))
			}
		}
		if after, err := d.Read().Key.Query().Count(t.Context()); err != nil || after != before {
			t.Errorf("refused keys were written: %v", err)
		}
		made, err := keys.Create(as(t, v), key.CreateInput{Name: "k", Capabilities: []key.Capability{key.Tooling}, Organization: &v.Organization.ID})
		if err != nil || len(made.UserErrors) > 0 || *made.Key.ExecTimeoutSeconds != 60 || made.Key.Operator {
			t.Errorf("%v %+v", err, made)
		}
		if _, err := keys.Create(as(t, keytest.Viewer(t, d, key.Tooling)), key.CreateInput{Name: "k"}); !isProblem(err, fault.Denied) {
			t.Errorf("without MANAGEMENT: %v", err)
		}
		operator := keytest.Operator(t, d)
		forOther, err := keys.Create(as(t, operator), key.CreateInput{Name: "k", Organization: &other})
		if err != nil || len(forOther.UserErrors) > 0 || forOther.Key.OrganizationID != other || forOther.Key.Operator {
			t.Errorf("the operator's: %v %+v", err, forOther)
		}
	})
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		v, stranger := keytest.Viewer(t, d), keytest.Viewer(t, d)
		made, err := keys.Create(as(t, v), key.CreateInput{Name: "k"})
		if err != nil {
			t.Fatal(err)
		}
		for _, keyID := range []string{made.Key.ID, id.New(id.Key), "key_\x00", ""} {
			if p, err := keys.Revoke(as(t, stranger), key.RevokeInput{Key: keyID}); err != nil || refused(p.UserErrors) != "NOT_FOUND input.key" || p.Key != nil {
				t.Errorf("%q: %v %+v", keyID, err, p)
			}
		}
		if _, err := keys.Authenticate(t.Context(), "Bearer "+*made.Secret); err != nil {
			t.Fatal(err)
		}
		gone, err := keys.Revoke(as(t, v), key.RevokeInput{Key: made.Key.ID})
		if err != nil || len(gone.UserErrors) > 0 || gone.Key.RevokedAt == nil {
			t.Fatalf("%v %+v", err, gone)
		}
		if _, err := keys.Authenticate(t.Context(), "Bearer "+*made.Secret); !isProblem(err, fault.Unauthenticated) {
			t.Errorf("a revoked key: %v", err)
		}
		again, err := keys.Revoke(as(t, v), key.RevokeInput{Key: made.Key.ID})
		if err != nil || !again.Key.RevokedAt.Equal(*gone.Key.RevokedAt) {
			t.Errorf("again: %v %+v", err, again)
		}
		if self, err := keys.Revoke(as(t, v), key.RevokeInput{Key: v.Key.ID}); err != nil || self.Key.RevokedAt == nil {
			t.Errorf("itself: %v %+v", err, self)
		}
	})
}

func TestRevokeOperator(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		_, keys := keytest.Services(d)
		operator := keytest.Operator(t, d) // there are two keys: the first start's, and this
		local := keytest.Another(t, d, operator, key.Management)
		if p, err := keys.Revoke(as(t, local), key.RevokeInput{Key: operator.Key.ID}); err != nil || refused(p.UserErrors) != "DENIED input.key" {
			t.Errorf("by another: %v %+v", err, p)
		}
		all, err := d.Read().Key.Query().IDs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := keys.ByIDs(t.Context(), operator.Organization.ID, all)
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		for _, k := range found {
			if k.Operator {
				both.Go(func() { // each the other
					if _, err := keys.Revoke(as(t, operator), key.RevokeInput{Key: k.ID}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		both.Wait()
		found, err = keys.ByIDs(t.Context(), operator.Organization.ID, all)
		if err != nil {
			t.Fatal(err)
		}
		hold := 0
		for _, k := range found {
			if k.Operator && k.RevokedAt == nil {
				hold++
			}
		}
		if hold != 1 {
			t.Errorf("%d operator's keys hold", hold)
		}
		for _, k := range found {
			if !k.Operator || k.RevokedAt != nil {
				continue
			}
			if p, err := keys.Revoke(as(t, operator), key.RevokeInput{Key: k.ID}); err != nil || refused(p.UserErrors) != "BAD_STATE input.key" || p.Key != nil {
				t.Errorf("the last one: %v %+v", err, p)
			}
		}
		stranger := keytest.Viewer(t, d)
		if p, err := keys.Revoke(as(t, operator), key.RevokeInput{Key: stranger.Key.ID}); err != nil || len(p.UserErrors) > 0 {
			t.Errorf("a stranger's, by the operator: %v %+v", err, p)
		}
	})
}

func TestOrganizationCreate(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		organizations, keys := keytest.Services(d)
		operator := keytest.Operator(t, d)
		if _, err := organizations.Create(as(t, keytest.Viewer(t, d)), organization.CreateInput{Name: "o"}); !isProblem(err, fault.Denied) {
			t.Errorf("by another: %v", err)
		}
		if _, err := organizations.Create(t.Context(), organization.CreateInput{Name: "o"}); !isProblem(err, fault.Unauthenticated) {
			t.Errorf("by nobody: %v", err)
		}
		for in, want := range map[*organization.CreateInput]string{
			{Name: ""}: "INVALID input.name", {Name: "a\x00"}: "INVALID input.name", {Name: "a", Parent: ptr("org_x")}: "NOT_FOUND input.parent",
			{Name: "a", Parent: ptr(id.New(id.Organization))}: "NOT_FOUND input.parent",
		} {
			if p, err := organizations.Create(as(t, operator), *in); err != nil || refused(p.UserErrors) != want || p.Organization != nil || p.Secret != nil {
				t.Errorf("%+v: %v %+v", in, err, p)
			}
		}
		made, err := organizations.Create(as(t, operator), organization.CreateInput{Name: "o", Parent: &operator.Organization.ID})
		if err != nil || len(made.UserErrors) > 0 {
			t.Fatalf("%v %+v", err, made)
		}
		v, err := keys.Authenticate(t.Context(), "Bearer "+*made.Secret)
		if err != nil || v.Operator || v.Key.ID != *made.KeyID || v.Organization.ID != made.Organization.ID || *v.Organization.ParentID != operator.Organization.ID ||
			!slices.Equal(v.Key.Capabilities, key.Capabilities()) {
			t.Errorf("%v %+v", err, v)
		}
		found, err := organizations.ByIDs(t.Context(), []string{made.Organization.ID, operator.Organization.ID, "\x00"})
		if err != nil || len(found) != 2 || found[made.Organization.ID].Name != "o" {
			t.Errorf("%v %v", err, found)
		}
		if v.Sees(operator.Organization.ID) || !operator.Sees(v.Organization.ID) || !v.Sees(v.Organization.ID) {
			t.Error("who sees whom is wrong")
		}
	})
}

func FuzzBearer(f *testing.F) {
	d := databasetest.New(f, database.SQLite)
	_, keys := keytest.Services(d)
	f.Add("Bearer x")
	f.Add("bearer \x00")
	f.Fuzz(func(t *testing.T, header string) {
		if v, err := keys.Authenticate(t.Context(), header); !isProblem(err, fault.Unauthenticated) || v != nil {
			t.Fatalf("Authenticate(%q) = %v, %v", header, v, err)
		}
	})
}
