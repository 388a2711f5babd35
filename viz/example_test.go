package viz_test

import (
	"fmt"
	"os"
	"path/filepath"

	"molehill/viz"
)

func Example() {
	loss := viz.Curves{
		Title: "Training",
		X:     viz.Axis{Label: "step"},
		Y:     viz.Axis{Label: "loss", Log: true},
		Lines: []viz.Line{{Name: "train", Y: []float64{1, 0.4, 0.2, 0.11, 0.08}}},
	}
	viz.Show(loss) // below the cell in a notebook, nothing elsewhere

	dir, err := os.MkdirTemp("", "viz")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := loss.Save(filepath.Join(dir, "loss.pdf")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("saved")
	// Output: saved
}

func ExampleTable() {
	t := viz.Table{Header: []string{"method", "ε", "sliced W₂"}}
	t.Add("not private", "∞", 0.0119)
	t.Add("quantile sketch", 1, 0.06134)
	fmt.Print(t)
	// Output:
	// method           ε  sliced W₂
	// ───────────────  ─  ─────────
	// not private      ∞     0.0119
	// quantile sketch  1    0.06134
}

func ExamplePanels() {
	panels := viz.Panels{
		Title: "Particles after the flow",
		Rows:  []string{"σ = 0", "σ = 1"},
		Cols:  []string{"step 1", "step 200"},
	}
	region := viz.Region{MinX: -1, MaxX: 1, MinY: -1, MaxY: 1}
	for range 4 {
		panels.Cells = append(panels.Cells, viz.Particles{X: []float32{0, 0, 0.5, 0.5}, Region: region})
	}
	viz.Show(panels)
}

func ExampleNewProgress() {
	p := viz.NewProgress("flow", 200)
	defer p.Done()
	for step := range 200 {
		p.Set(step+1, "sliced W₂ 0.012")
	}
}

func ExamplePlan() {
	// What transport.Line.Solve finds for three heaps and two pits.
	viz.Show(viz.Plan{
		Title: "Three heaps into two pits", Dim: 1,
		X: []float32{0, 1, 4}, A: []float64{0.2, 0.4, 0.4},
		Y: []float32{0.5, 3}, B: []float64{0.5, 0.5},
		Links: []viz.Link{{From: 0, To: 0, Mass: 0.2}, {From: 1, To: 0, Mass: 0.3}, {From: 1, To: 1, Mass: 0.1}, {From: 2, To: 1, Mass: 0.4}},
	})
}
