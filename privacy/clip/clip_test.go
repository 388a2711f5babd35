package clip

import (
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"molehill/privacy"
)

// exactNorm returns ‖v‖² without rounding.
func exactNorm[F Float](v []F) *big.Float {
	sum := new(big.Float).SetPrec(2000)
	for _, x := range v {
		b := new(big.Float).SetPrec(2000).SetFloat64(float64(x))
		sum.Add(sum, b.Mul(b, b))
	}
	return sum
}

// nasty returns numbers of every kind that a record may bring.
func nasty(rng *rand.Rand) float64 {
	switch rng.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Inf(1 - 2*rng.IntN(2))
	case 2:
		return 3e38
	case 3:
		return 1e-45
	case 4:
		return 0
	}
	return rng.NormFloat64() * math.Pow(10, float64(rng.IntN(20)-10))
}

// A clipped row has norm at most C in exact arithmetic, whatever it was: float32
// and float64, of 1 to 20,000 numbers, just above C, and with NaN, infinities
// and extremes. Rows within C pass unchanged.
func TestClippedNormsNeverPassTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 11))
	tightest := 0.
	for range 3000 {
		dim := 1 + rng.IntN(40)
		if rng.IntN(300) == 0 {
			dim = 20_000
		}
		bound := math.Exp(rng.NormFloat64() * 5)
		narrow, wide := make([]float32, dim), make([]float64, dim)
		for c := range narrow {
			wide[c] = rng.NormFloat64()
		}
		stretch := bound * (1 + math.Exp(-20*rng.Float64())) / Norm(wide)
		for c := range narrow {
			if wide[c] *= stretch; dim < 8 && rng.IntN(4) == 0 {
				wide[c] = nasty(rng)
			}
			narrow[c] = float32(wide[c])
		}
		finite := !math.IsNaN(Norm(wide)) && !math.IsInf(Norm(wide), 0)
		if err := Rows(narrow, dim, bound); err != nil {
			t.Fatal(err)
		}
		if err := Joint(bound, wide[:dim/2], wide[dim/2:]); err != nil {
			t.Fatal(err)
		}
		square := new(big.Float).SetPrec(2000).SetFloat64(bound)
		square.Mul(square, square)
		if exactNorm(narrow).Cmp(square) > 0 || exactNorm(wide).Cmp(square) > 0 {
			t.Fatalf("norms %v and %v pass the bound %v", Norm(narrow), Norm(wide), bound)
		}
		if finite {
			tightest = max(tightest, Norm(wide)/bound)
		} else if Norm(wide) != 0 {
			t.Fatalf("a row that is not finite became %v", wide)
		}
	}
	if !(tightest >= 1-2*Margin) {
		t.Errorf("clipped norms reach only %v of the bound", tightest)
	}
	row := []float32{3, -4, 0}
	if err := Rows(row, 3, 5.001); err != nil || !slices.Equal(row, []float32{3, -4, 0}) {
		t.Errorf("a row within the bound became %v, %v", row, err)
	}
}

func TestNormOfExtremes(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{3, 4}, 5}, {nil, 0}, {[]float64{0, 0}, 0},
		{[]float64{3e200, 4e200}, 5e200}, {[]float64{-3e-200, 4e-200}, 5e-200}, {[]float64{5e-324}, 5e-324},
		{[]float64{1, math.Inf(-1)}, math.Inf(1)}, {[]float64{math.MaxFloat64, math.MaxFloat64}, math.Inf(1)},
	} {
		if got := Norm(c.v); !(math.Abs(got-c.want) <= 1e-15*c.want) && got != c.want {
			t.Errorf("‖%v‖ = %v, want %v", c.v, got, c.want)
		}
	}
	if got := Norm([]float32{1, float32(math.NaN())}); !math.IsNaN(got) {
		t.Errorf("with NaN: %v", got)
	}
}

// Many rows are clipped on all cores, each as if it were alone.
func TestManyRowsAreClippedAsFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 11))
	const n, dim = 1 + few/3, 3
	all := make([]float32, n*dim)
	for i := range all {
		all[i] = float32(rng.NormFloat64())
	}
	want := slices.Clone(all)
	for i := range n {
		if err := Rows(want[i*dim:(i+1)*dim], dim, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := Rows(all, dim, 1); err != nil || !slices.Equal(all, want) {
		t.Errorf("%d rows at once are not those clipped one by one: %v", n, err)
	}
}

// A record that is not finite leaves the others' part of the sum as it is.
func TestOneBadRecordChangesNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 11))
	const n, dim = 3000, 4 // three partial sums
	data := make([]float32, n*dim)
	for i := range data {
		data[i] = float32(rng.NormFloat64())
	}
	clear(data[dim : 2*dim])
	want, err := Sum(data, dim, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		data[dim+1] = float32(bad)
		if got, err := Sum(data, dim, 1); err != nil || !slices.Equal(got, want) {
			t.Errorf("with %v: %v, %v; want %v", bad, got, err, want)
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if one, _ := Sum(data, dim, 1); !slices.Equal(one, want) {
		t.Errorf("one core: %v, all cores: %v", one, want)
	}
	if err := Rows(data, dim, 1); err != nil {
		t.Fatal(err)
	}
	written := make([]float64, dim)
	for i, x := range data {
		written[i%dim] += float64(x)
	}
	for c := range want {
		if !(math.Abs(written[c]-want[c]) <= 1e-3) { // float32 rounding of 3,000 rows
			t.Errorf("clipped rows add up to %v, the sum is %v", written, want)
		}
	}
}

func TestBadInputIsAnError(t *testing.T) {
	row := []float64{1, 2, 3}
	_, dims := Sum(row, 2, 1)
	_, images := PerImageSensitivity(1, 0, privacy.AddRemove)
	_, relation := SumSensitivity(1, 0)
	_, inf := JointSensitivity(math.Inf(1), privacy.AddRemove)
	for want, err := range map[string]error{
		"rows of 2":    dims,
		"at least one": images, "Relation(0)": relation, "norm +Inf": inf,
		"norm 0": Rows(row, 3, 0), "norm NaN": Joint(math.NaN(), row), "norm -1": Rows(row, 3, -1), "rows of 0": Rows(row, 0, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to say %q", err, want)
		}
	}
	if !slices.Equal(row, []float64{1, 2, 3}) {
		t.Errorf("refused data became %v", row)
	}
}
