package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/database/databasetest"
	"github.com/scriptorium-dev/scriptorium/internal/fault"
	"github.com/scriptorium-dev/scriptorium/internal/idempotency"
)

type input struct {
	Name string
	Key  *string
}

// once uses the service in a transaction of its own.
func once(t *testing.T, d *database.DB, r idempotency.Request, do func(context.Context) ([]string, error)) (answer []string, replayed bool, err error) {
	t.Helper()
	err = d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
		answer, replayed, err = idempotency.NewService(d).Once(ctx, tx, r, do)
		return err
	})
	return answer, replayed, err
}

func request(name, key string) idempotency.Request {
	return idempotency.Request{OrganizationID: "org_1", KeyID: "key_1", Mutation: "agentCreate", Key: &key, Input: input{name, &key}}
}

func rows(t *testing.T, d *database.DB) (n int) {
	t.Helper()
	if err := d.SQL().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM idempotencies").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOnceParallel(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		var done atomic.Int32
		var mu sync.Mutex
		answers := map[string]int{}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				answer, _, err := once(t, d, request("a", "k"), func(context.Context) ([]string, error) {
					return []string{fmt.Sprintf("agt_%d", done.Add(1)), "x,\"y\""}, nil
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				answers[strings.Join(answer, " ")]++
			})
		}
		all.Wait()
		if done.Load() != 1 || answers[`agt_1 x,"y"`] != 20 || rows(t, d) != 1 {
			t.Errorf("done %d times, answers %v, %d rows", done.Load(), answers, rows(t, d))
		}
	})
}

func TestOnceTellsApart(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		fresh := func(name string) func(context.Context) ([]string, error) {
			return func(context.Context) ([]string, error) { return []string{name}, nil }
		}
		if answer, replayed, err := once(t, d, request("a", "k"), fresh("1")); err != nil || replayed || answer[0] != "1" {
			t.Fatalf("%v %v %v", answer, replayed, err)
		}
		_, _, err := once(t, d, request("b", "k"), fresh("2"))
		if refused, rest := fault.Refusals(err); rest != nil || len(refused) != 1 || refused[0].(*fault.PlainUserError).Code != fault.IdempotencyMismatch ||
			!slices.Equal(refused[0].(*fault.PlainUserError).Path, []string{"input", "idempotencyKey"}) {
			t.Errorf("another input: %v", err)
		}
		others := []func(*idempotency.Request){
			func(r *idempotency.Request) { r.OrganizationID = "org_2" },
			func(r *idempotency.Request) { r.KeyID = "key_2" },
			func(r *idempotency.Request) { r.Mutation = "runCreate" },
			func(r *idempotency.Request) { other := "K"; r.Key = &other },
		}
		for i, change := range others {
			r := request("b", "k")
			change(&r)
			if answer, replayed, err := once(t, d, r, fresh("3")); err != nil || replayed || answer[0] != "3" {
				t.Errorf("%d: %v %v %v", i, answer, replayed, err)
			}
		}
		none := request("b", "k")
		none.Key = nil
		if answer, replayed, err := once(t, d, none, fresh("4")); err != nil || replayed || answer[0] != "4" || rows(t, d) != 5 {
			t.Errorf("without a key: %v %v %v", answer, replayed, err)
		}
	})
}

// TestOnceJSON: JSON values are told apart by their digits, escapes and order, not by the white space between tokens.
func TestOnceJSON(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		with := func(raw string) idempotency.Request {
			r := request("a", "k")
			r.Input = struct{ Arguments json.RawMessage }{json.RawMessage(raw)}
			return r
		}
		do := func(context.Context) ([]string, error) { return []string{"1"}, nil }
		if _, _, err := once(t, d, with(`{"a":1.0,"b":"<"}`), do); err != nil {
			t.Fatal(err)
		}
		for raw, same := range map[string]bool{
			`{"a":1.0,"b":"<"}`: true, "{ \"a\" : 1.0,\n\"b\":\"<\" }": true, `{"a":1,"b":"<"}`: false, `{"a":1.00,"b":"<"}`: false, `{"a":10e-1,"b":"<"}`: false,
			`{"b":"<","a":1.0}`: false, `{"a":1.0,"b":"\u003c"}`: false, `{"a":1.0,"b":" <"}`: false, `{"a":1.0,"a":1.0,"b":"<"}`: false,
		} {
			_, replayed, err := once(t, d, with(raw), do)
			if replayed != same || (err == nil) != same {
				t.Errorf("%s: %v, %v", raw, replayed, err)
			}
		}
	})
}

func TestOnceForgetsRefusals(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		refusal := errors.New("refused")
		_, _, err := once(t, d, request("a", "k"), func(context.Context) ([]string, error) { return nil, refusal })
		if !errors.Is(err, refusal) || rows(t, d) != 0 {
			t.Fatalf("%v, %d rows", err, rows(t, d))
		}
		answer, replayed, err := once(t, d, request("b", "k"), func(context.Context) ([]string, error) { return []string{"1"}, nil })
		if err != nil || replayed || answer[0] != "1" {
			t.Errorf("%v %v %v", answer, replayed, err)
		}
	})
}

func TestSweep(t *testing.T) {
	t.Parallel()
	databasetest.Each(t, func(t *testing.T, d *database.DB) {
		do := func(context.Context) ([]string, error) { return []string{"new"}, nil }
		for _, key := range []string{"old", "older", "young"} {
			if _, _, err := once(t, d, request("a", key), do); err != nil {
				t.Fatal(err)
			}
		}
		age := func(key string, by time.Duration) {
			err := d.InTx(t.Context(), func(ctx context.Context, tx *database.Tx) error {
				_, err := tx.SQL().ExecContext(ctx, "UPDATE idempotencies SET created_at = $1 WHERE idempotency_key = $2", time.Now().Add(-by), key)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		age("old", idempotency.Kept+time.Second)
		age("older", 48*time.Hour)
		age("young", idempotency.Kept-time.Minute)
		if _, replayed, err := once(t, d, request("other input", "old"), do); err != nil || replayed {
			t.Errorf("an old row counts: %v %v", replayed, err)
		}
		if _, replayed, err := once(t, d, request("a", "young"), do); err != nil || !replayed {
			t.Errorf("a young row does not count: %v %v", replayed, err)
		}
		if n, err := idempotency.NewService(d).Sweep(t.Context()); n != 1 || err != nil || rows(t, d) != 2 {
			t.Errorf("Sweep = %d, %v; %d rows", n, err, rows(t, d))
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for key, good := range map[string]bool{
		"k": true, strings.Repeat("ä", 255): true, strings.Repeat("ä", 256): false, "": false, " ": false, "a\x00": false, "a\xff": false, "a\n": false,
	} {
		if err := idempotency.Check(&key); (err == nil) != good {
			t.Errorf("Check(%.20q) = %v", key, err)
		}
	}
	if err := idempotency.Check(nil); err != nil {
		t.Error(err)
	}
}
