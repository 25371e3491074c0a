package lifecycle_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/scriptorium-dev/scriptorium/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOrder(t *testing.T) {
	t.Parallel()
	var g lifecycle.Group
	var told []string
	part := func(name string, startErr, stopErr error) lifecycle.Part {
		return lifecycle.Part{
			Name:  name,
			Start: func(context.Context) error { told = append(told, "start "+name); return startErr },
			Stop: func(ctx context.Context) error {
				if _, ok := ctx.Deadline(); !ok || ctx.Err() != nil {
					t.Errorf("%s is stopped on a context that is not bounded, or has ended", name)
				}
				told = append(told, "stop "+name)
				return stopErr
			},
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	broken := errors.New("broken")
	if err := g.Start(ctx, part("a", nil, nil)); err != nil {
		t.Fatal(err)
	}
	if err := g.Start(ctx, part("b", nil, broken)); err != nil {
		t.Fatal(err)
	}
	if err := g.Start(ctx, part("c", broken, nil)); !errors.Is(err, broken) {
		t.Fatalf("a failed start answers %v", err)
	}
	cancel()
	if err := g.Stop(ctx); !errors.Is(err, broken) {
		t.Errorf("a failed stop answers %v", err)
	}
	if err := g.Stop(ctx); err != nil {
		t.Errorf("the second stop answers %v", err)
	}
	if want := []string{"start a", "start b", "start c", "stop b", "stop a"}; !reflect.DeepEqual(told, want) {
		t.Errorf("order: %v", told)
	}
}
