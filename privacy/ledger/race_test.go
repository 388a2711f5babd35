package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"molehill/privacy"
	"molehill/privacy/accountant"
)

// Tests that need other processes run this very binary again, as the worker
// that $MOLEHILL_TEST_WORKER names, on the ledger $MOLEHILL_LEDGER.
func TestMain(m *testing.M) {
	var err error
	switch name := os.Getenv("MOLEHILL_TEST_WORKER"); name {
	case "":
		code := m.Run()
		if err := stopServer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(code)
	case "race":
		err = race(os.Getenv(Variable))
	case "readonly":
		err = readOnly(os.Getenv(Variable))
	default:
		err = fmt.Errorf("no worker %q", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const racers = 8

// multiplier is the noise of a racer's run: three kinds of runs.
func multiplier(racer, i int) float64 { return []float64{16, 20, 30}[(racer+i)%3] }

// race reserves and commits the runs that $MOLEHILL_TEST_RACE says, "racer from
// to", and says after each step what the ledger has acknowledged.
func race(where string) error {
	var racer, from, to int
	if _, err := fmt.Sscan(os.Getenv("MOLEHILL_TEST_RACE"), &racer, &from, &to); err != nil {
		return err
	}
	l, err := Open(where)
	if err != nil {
		return err
	}
	defer l.Close()
	for i := from; i < to; i++ {
		id := fmt.Sprintf("%d-%d", racer, i)
		_, err := l.Reserve(context.Background(), gaussian(id, multiplier(racer, i)))
		var exceeded *ExceededError
		switch {
		case errors.As(err, &exceeded):
			fmt.Println(i, "refused")
			continue
		case err != nil:
			return err
		}
		fmt.Println(i, "reserved")
		if _, err := l.Commit(context.Background(), "rows", id); err != nil {
			return err
		}
		fmt.Println(i, "committed")
	}
	return nil
}

// Eight processes race for one budget and are killed (SIGKILL) at random: 160
// reservations, in a thorough run 1,000 on SQLite and 320 on PostgreSQL, which takes
// twenty times as long for one. The budget is for about two thirds of them.
func TestKilledRacersOverspendNothing(t *testing.T) {
	onBothStores(t, func(t *testing.T, where string) {
		each := 20
		if os.Getenv("MOLEHILL_THOROUGH") != "" {
			if each = 125; strings.HasPrefix(where, "postgres") {
				each = 40
			}
		}
		budget := ten
		// k runs of the three kinds are one of multiplier 1/√Σ1/σ².
		squares := 0.
		for i := range 2 * racers * each / 3 {
			squares += 1 / multiplier(0, i) / multiplier(0, i)
		}
		budget.Epsilon = reckon(t, squares)
		mustCreate(t, open(t, where), budget)
		began := time.Now()
		acknowledged := make([]map[string]bool, racers)
		var kills, refused int
		var wait sync.WaitGroup
		var total sync.Mutex
		for racer := range racers {
			acknowledged[racer] = map[string]bool{}
			wait.Go(func() {
				k, err := relay(where, racer, each, acknowledged[racer])
				if err != nil {
					t.Errorf("racer %d: %v", racer, err)
				}
				total.Lock()
				defer total.Unlock()
				kills += k
			})
		}
		wait.Wait()
		l := open(t, where)
		report := sound(t, l)
		h, err := l.History(t.Context(), "rows")
		if err != nil {
			t.Fatal(err)
		}
		// Reckoned here, from the events in the entries, by another accountant.
		found := map[string]bool{}
		squares = 0
		for _, e := range h.Entries {
			key := e.ID + " " + map[Kind]string{Reserved: "reserved", Committed: "committed"}[e.Kind]
			if found[key] {
				t.Errorf("%s twice", key)
			}
			found[key] = true
			if e.Kind == Reserved {
				event, err := accountant.Decode(e.Event)
				if err != nil {
					t.Fatal(err)
				}
				sigma := event.(accountant.Gaussian).NoiseMultiplier
				squares += 1 / sigma / sigma
			}
		}
		spent := reckon(t, squares)
		if !(spent <= budget.Epsilon*(1+1e-9)) {
			t.Errorf("ε = %v was spent of %v", spent, budget.Epsilon)
		}
		if !(spent >= 0.99*budget.Epsilon) {
			t.Errorf("ε = %v was spent of %v: the race was for nothing", spent, budget.Epsilon)
		}
		for racer, all := range acknowledged {
			for what := range all {
				i, step, _ := strings.Cut(what, " ")
				if step == "refused" {
					refused++
				} else if !found[fmt.Sprintf("%d-%s %s", racer, i, step)] {
					t.Errorf("racer %d: %s was acknowledged and is not in the ledger", racer, what)
				}
			}
		}
		if kills < racers || refused == 0 {
			t.Errorf("%d kills, %d refusals: the test tests too little", kills, refused)
		}
		t.Logf("%d reservations, %d refused, %d kills, %d entries, ε = %.4f of %.4f, %.1f s", racers*each, refused, kills, report.Entries, spent, budget.Epsilon, time.Since(began).Seconds())
	})
}

// reckon is the ε of a Gaussian release with √squares sensitivities per noise.
func reckon(t *testing.T, squares float64) float64 {
	t.Helper()
	r, err := accountant.AnalyticGaussian{}.Epsilon(accountant.SelfComposed{Count: 1, Event: accountant.Gaussian{NoiseMultiplier: 1 / math.Sqrt(squares)}}, privacy.ReplaceOne, ten.Delta)
	if err != nil {
		t.Fatal(err)
	}
	return r.Epsilon
}

// relay runs one racer to its end, through as many processes as it takes: each
// is killed at a random moment, and the next begins at the run after the last
// one that was settled. It notes what was acknowledged, and counts the kills.
func relay(where string, racer, each int, acknowledged map[string]bool) (kills int, err error) {
	moments := rand.New(rand.NewPCG(8, uint64(racer)))
	for from := 0; from < each; {
		cmd := worker("race", where, fmt.Sprintf("MOLEHILL_TEST_RACE=%d %d %d", racer, from, each))
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		if err != nil {
			return kills, err
		}
		if err := cmd.Start(); err != nil {
			return kills, err
		}
		// Some die at birth, most some steps later.
		var killer *time.Timer
		kill := func(within time.Duration) {
			killer = time.AfterFunc(time.Duration(moments.Int64N(int64(within))), func() { cmd.Process.Kill() })
		}
		if moments.IntN(5) == 0 {
			kill(100 * time.Millisecond)
		}
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if killer == nil {
				kill(40 * time.Millisecond)
			}
			number, step, whole := strings.Cut(lines.Text(), " ")
			i, err := strconv.Atoi(number)
			if !whole || err != nil {
				return kills, fmt.Errorf("a worker said %q", lines.Text())
			}
			acknowledged[lines.Text()] = true
			if step != "reserved" {
				from = i + 1
			}
		}
		err = cmd.Wait()
		if killer != nil {
			killer.Stop()
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == -1 {
			kills++
		} else if err != nil {
			return kills, fmt.Errorf("%w\n%s", err, &said)
		}
	}
	return kills, nil
}

// What a reservation and its commit cost, one process, each on the disk before
// it is acknowledged.
func BenchmarkReserve(b *testing.B) {
	for _, store := range []string{"sqlite", "postgres"} {
		b.Run(store, func(b *testing.B) {
			where := b.TempDir() + "/ledger.db"
			if store == "postgres" {
				where = newDatabase(b)
			}
			l := open(b, where)
			big := ten
			big.Epsilon = 1e6
			mustCreate(b, l, big)
			b.ResetTimer()
			for i := range b.N {
				mustReserve(b, l, gaussian(strconv.Itoa(i), float64(100+i%3)))
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reservations/s")
		})
	}
}

// Runs that all differ: nothing merges, and each has a distribution of its own.
func BenchmarkStatusOfDifferentRuns(b *testing.B) {
	for _, runs := range []int{1, 5, 20} {
		b.Run(fmt.Sprint(runs), func(b *testing.B) {
			l := open(b, b.TempDir()+"/ledger.db")
			mustCreate(b, l, Budget{Dataset: "rows", Relation: privacy.AddRemove, Epsilon: 20, Delta: 1e-5})
			for i := range runs {
				event := accountant.SelfComposed{Count: 1000 + 37*i, Event: accountant.PoissonSampled{Rate: 0.01, Event: accountant.Gaussian{NoiseMultiplier: 2 + 0.01*float64(i)}}}
				mustReserve(b, l, Reservation{Dataset: "rows", ID: fmt.Sprint(i), Relation: privacy.AddRemove, Event: event})
			}
			for b.Loop() {
				status(b, l)
			}
		})
	}
}
