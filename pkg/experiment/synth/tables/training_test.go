package tables

import (
	"math"
	"math/rand/v2"
	"testing"

	"molehill/models/backend"
	"molehill/models/semidebiased"
	"molehill/pkg/dataset/table"
	"molehill/pkg/experiment/synth/training"
	"molehill/pkg/run"
	"molehill/privacy"
	"molehill/privacy/noise"
	"molehill/transport"
)

// small are settings of DP-Sinkhorn for a few rows.
func small(change func(*Config)) *Config {
	c := settings()
	c.Method, c.Epsilon, c.Batch, c.Generated, c.Steps, c.Latent, c.Width = Sinkhorn, privacy.Epsilon(math.Inf(1)), 2, 3, 10, 2, 8
	if change != nil {
		change(c)
	}
	return c
}

func bySinkhornOf(t *testing.T, c *Config, columns []table.Column) *bySinkhorn {
	t.Helper()
	m, err := newBySinkhorn(c, columns)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// started returns a training of a table on the Go backend, with noise that is known.
func started(t *testing.T, c *Config, rows *table.Table) (*training.Training, *bySinkhorn, privacy.Plan) {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go")
	b, err := backend.Open()
	if err != nil {
		t.Fatal(err)
	}
	m := bySinkhornOf(t, c, rows.Columns)
	plan, err := m.Plan(rows.Len())
	if err != nil {
		t.Fatal(err)
	}
	training, err := m.Start(b, noise.Seeded(1), tableRecords{m.places, rows}, plan.Releaser(noise.Seeded(2)), plan.Steps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { training.Close(); m.Close() })
	return training, m, plan
}

// rowsAtRandom are rows of codes drawn at random.
func rowsAtRandom(columns []table.Column, n int, rng *rand.Rand) *table.Table {
	rows := &table.Table{Schema: &table.Schema{Name: "x", Columns: columns}, Columns: columns}
	for _, c := range columns {
		codes := make([]table.Code, n)
		for i := range codes {
			codes[i] = table.Code(1 + rng.IntN(c.Levels()))
		}
		rows.Codes = append(rows.Codes, codes)
	}
	return rows
}

// Whoever replaces a record moves what a step releases by at most the sensitivity that
// is stated: all values that a record of a small table can have, against all others,
// at generated rows of several kinds. A gradient that one record turns right round
// attains it.
func TestNeighboursAreWithinTheSensitivityOfAStep(t *testing.T) {
	low, high := 0.0, 3.0
	columns := []table.Column{
		{Name: "job", Kind: table.Categorical, Values: []string{"baker", "smith", "none"}},
		{Name: "age", Kind: table.Numeric, Low: &low, High: &high, Missing: true},
	}
	var worst float64
	for _, batch := range []int{1, 2} {
		for _, generated := range []int{1, 3} {
			c := small(func(c *Config) { c.Epsilon, c.Batch, c.Generated, c.Entropy = 10, batch, generated, 0.1 })
			rng := rand.New(rand.NewPCG(uint64(batch), uint64(generated)))
			records := rowsAtRandom(columns, batch, rng)
			training, m, plan := started(t, c, records)
			for kind := range 3 {
				x := transport.NewPoints(generated, m.places.dim)
				for i := range x.Len() {
					row := make([]float32, 3+5)
					for k := range row { // all alike, or certain, or in between
						row[k] = []float32{1. / 3, 0, rng.Float32() / 3}[kind]
					}
					row[rng.IntN(3)]++
					row[3+rng.IntN(5)]++
					m.places.mean(x.Row(i), row)
				}
				var seen [][]float32
				for job := 1; job <= 3; job++ {
					for age := 0; age <= 4; age++ {
						records.Codes[0][0], records.Codes[1][0] = table.Code(job), table.Code(age)
						seen = append(seen, gradientOf(t, training, plan, x))
					}
				}
				for i, one := range seen {
					for _, other := range seen[:i] {
						worst = max(worst, math.Sqrt(squaredDistance(one, other))/plan.Sensitivity.Value)
					}
				}
			}
		}
	}
	if !(worst <= 1+1e-5 && worst >= 0.6) {
		t.Errorf("neighbours are up to %v times the sensitivity apart", worst)
	}
	// Between two records, each pulls straight away from the other.
	only := []table.Column{{Name: "sex", Kind: table.Categorical, Values: []string{"f", "m"}}}
	records := rowsAtRandom(only, 1, rand.New(rand.NewPCG(1, 1)))
	training, m, plan := started(t, small(func(c *Config) { c.Epsilon, c.Batch, c.Generated = 10, 1, 1 }), records)
	middle := transport.NewPoints(1, m.places.dim)
	m.places.mean(middle.Data, []float32{0.5, 0.5})
	var sides [2][]float32
	for k := range sides {
		records.Codes[0][0] = table.Code(1 + k)
		sides[k] = gradientOf(t, training, plan, middle)
	}
	if d := math.Sqrt(squaredDistance(sides[0], sides[1])) / plan.Sensitivity.Value; !(math.Abs(d-1) <= 1e-5) {
		t.Errorf("a gradient that is turned round moves by %v times the sensitivity", d)
	}
}

// gradientOf is what a step releases, always with the same noise.
func gradientOf(test *testing.T, t *training.Training, plan privacy.Plan, x transport.Points) []float32 {
	test.Helper()
	t.Release = plan.Releaser(noise.Seeded(2))
	gradient, _, err := t.Gradient(0, semidebiased.Batch{Points: x, Labels: make([]int, x.Len())})
	if err != nil {
		test.Fatal(err)
	}
	return gradient
}

// Without noise, a training recovers two columns of which one nearly tells the other,
// and the distribution of a number, not its mean alone.
func TestATrainingLearnsItsColumns(t *testing.T) {
	low, high := -4.0, 4.0
	columns := []table.Column{
		{Name: "a", Kind: table.Categorical, Values: []string{"x", "y", "z"}},
		{Name: "b", Kind: table.Categorical, Values: []string{"x", "y", "z"}},
		{Name: "n", Kind: table.Numeric, Low: &low, High: &high, Decimals: 3},
	}
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 2000
	rows := rowsAtRandom(columns, n, rng)
	for i := range n {
		a := []int{1, 1, 1, 2, 2, 3}[rng.IntN(6)]
		rows.Codes[0][i], rows.Codes[1][i] = table.Code(a), table.Code(a)
		if rng.IntN(10) == 0 {
			rows.Codes[1][i] = table.Code(1 + rng.IntN(3))
		}
		rows.Codes[2][i] = columns[2].Nearest((math.Min(4, math.Max(-4, 0.8*rng.NormFloat64()+float64(a)-2)) + 4) / 8)
	}
	const steps = 700
	training, m, _ := started(t, small(func(c *Config) {
		c.Batch, c.Generated, c.Steps, c.LearningRate, c.Entropy, c.Latent, c.Width = 32, 16, steps, 0.01, 0.5, 4, 32
		c.Debiasing = 1 // without it so small batches lead to rows between the records
	}), rows)
	first := 0.0
	for step := range steps {
		if err := training.Step(step); err != nil {
			t.Fatal(err)
		}
		if step == 9 {
			told, err := training.Tell()
			if err != nil {
				t.Fatal(err)
			}
			first = told["loss"]
		}
	}
	if told, err := training.Tell(); err != nil || !(told["loss"] < first) || !(told[(*places)(nil).MovedName()] > 0.1) {
		t.Errorf("from a loss of %v to %v, %v", first, told, err)
	}
	made, err := m.Make(t.Context(), &run.Run{Spec: run.Spec{Seed: 1}}, n, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	joint := func(codes [][]table.Code) (p [9]float64, bins [16]float64) {
		for i := range codes[0] {
			p[(codes[0][i]-1)*3+codes[1][i]-1] += 1 / float64(len(codes[0]))
			bins[columns[2].Group(codes[2][i])-1] += 1 / float64(len(codes[0]))
		}
		return p, bins
	}
	p, bins := joint(rows.Codes)
	q, madeBins := joint(made)
	var tv, tvBins float64
	for k := range p {
		tv += math.Abs(p[k]-q[k]) / 2
	}
	for k := range bins {
		tvBins += math.Abs(bins[k]-madeBins[k]) / 2
	}
	// Independent columns of the right shares would be 0.55 off, a number that is
	// uniform 0.45.
	if !(tv <= 0.08 && tvBins <= 0.15) {
		t.Errorf("pairs are %v off, the numbers %v", tv, tvBins)
	}
}
