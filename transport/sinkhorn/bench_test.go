package sinkhorn

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"molehill/transport"
)

// mmix is the generator of testdata/peers.py: multiples of 2^-24 in [0, 1).
type mmix uint64

func (g *mmix) next() float64 {
	*g = *g*6364136223846793005 + 1442695040888963407
	return float64(*g>>40) / (1 << 24)
}

// peerProblem is n against n points of testdata/peers.py.
func peerProblem(seed uint64, n, dim int) Problem {
	x, y := transport.NewPoints(n, dim), transport.NewPoints(n, dim)
	g := mmix(2 * seed)
	for i := range n {
		for k := range dim {
			x.Row(i)[k] = float32(g.next() * (float64(1+i%8) / 8))
		}
	}
	g = mmix(2*seed + 1)
	for j := range n {
		for k := range dim {
			y.Row(j)[k] = float32((g.next() + 1) / 2 * (float64(3+j%5) / 8))
		}
	}
	return Problem{transport.Uniform(x), transport.Uniform(y), SquaredL2}
}

// mean is the mean cost of a problem.
func mean(p Problem) (sum float64) {
	for i := range p.X.Len() {
		for j := range p.Y.Len() {
			sum += p.Cost.At(p.X.Row(i), p.Y.Row(j))
		}
	}
	return sum / float64(p.X.Len()*p.Y.Len())
}

// line is one of testdata/peers.py.
type line struct {
	Problem, Name, Dtype string
	Fraction, Tolerance  float64
	Seconds, Value       float64
	Iterations           int
	Best                 bool
}

func (l line) key() string {
	return fmt.Sprintf("%s/ε=%g%%/tolerance=%g", l.Problem, 100*l.Fraction, l.Tolerance)
}

// BenchmarkSolve solves the problems of testdata/peers.py, and then lets OTT-JAX
// do so in the fastest of a dozen settings; its time is beside how many times as
// long that is. Ours come first, because the signal of a child process that ends
// slows a SIMD build down.
func BenchmarkSolve(b *testing.B) {
	large := peerProblem(1, 2000, 64)
	var batch []Problem
	for i := range 64 {
		batch = append(batch, peerProblem(uint64(100+i), 50, 794))
	}
	took := map[string]float64{}
	for _, l := range []line{
		{Problem: "large", Fraction: 0.05, Tolerance: 1e-3}, {Problem: "large", Fraction: 0.01, Tolerance: 1e-3}, {Problem: "batch", Fraction: 0.05, Tolerance: 1e-3},
		{Problem: "large", Fraction: 0.05, Tolerance: 1e-5}, {Problem: "large", Fraction: 0.01, Tolerance: 1e-5}, {Problem: "batch", Fraction: 0.05, Tolerance: 1e-5},
	} {
		b.Run(l.key()+"/molehill", func(b *testing.B) {
			problems := batch
			if l.Problem == "large" {
				problems = []Problem{large}
			}
			s := Solver{Epsilon: l.Fraction * mean(problems[0]), Tolerance: l.Tolerance}
			var results []*Result
			for b.Loop() {
				var err error
				if results, err = s.SolveAll(problems); err != nil {
					b.Fatal(err)
				}
			}
			most, value := 0, 0.
			for _, r := range results {
				if !r.Converged {
					b.Fatalf("off by %v", r.MarginalError)
				}
				most, value = max(most, r.Iterations), value+r.Dual/float64(len(results))
			}
			b.ReportMetric(float64(most), "iterations")
			b.ReportMetric(value, "value")
			took[l.key()] = b.Elapsed().Seconds() / float64(b.N)
		})
	}
	lines, err := peers()
	if err != nil {
		b.Log("nothing to compare with:", err)
	}
	for _, l := range lines {
		if !l.Best {
			continue
		}
		b.Run(fmt.Sprintf("%s/OTT-JAX %s, %s", l.key(), l.Dtype, l.Name), func(b *testing.B) {
			b.ReportMetric(1e9*l.Seconds, "ns/op")
			b.ReportMetric(float64(l.Iterations), "iterations")
			b.ReportMetric(l.Value, "value")
			if ours := took[l.key()]; ours > 0 {
				b.ReportMetric(l.Seconds/ours, "x-molehill's-time")
			}
		})
	}
}

func peers() (lines []line, err error) {
	python := cmp.Or(os.Getenv("MOLEHILL_PEERS_PYTHON"), filepath.Join("..", "..", ".molehill", "peers", "bin", "python"))
	if _, err := os.Stat(python); err != nil {
		return nil, errors.New("no OTT-JAX: `make bench PEERS=1` installs it")
	}
	var stderr bytes.Buffer
	cmd := exec.Command(python, filepath.Join("testdata", "peers.py"), "--dtype", "f32")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("testdata/peers.py failed: %w: %s", err, stderr.Bytes())
	}
	scanner := bufio.NewScanner(bytes.NewReader(out))
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, scanner.Err()
}

// BenchmarkParts is where the time of the large problem goes.
func BenchmarkParts(b *testing.B) {
	p := peerProblem(1, 2000, 64)
	epsilon := 0.05 * mean(p)
	r, err := Solver{Epsilon: epsilon}.Solve(p)
	if err != nil {
		b.Fatal(err)
	}
	for _, part := range []struct {
		name string
		run  func()
	}{
		{"costs", func() { newRows(p.X.Points, p.Y.Points, p.Cost, 2).survey(true) }},
		{"sweep", func() { r.solution.sweep(1) }},
		{"finish", func() { r.finish(1e-6) }},
		{"gradient", func() { r.Gradient() }},
	} {
		b.Run(part.name, func(b *testing.B) {
			for b.Loop() {
				part.run()
			}
		})
	}
}
