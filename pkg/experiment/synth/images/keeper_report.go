package images

import (
	"molehill/pkg/dataset"
	"molehill/pkg/dataset/pictures"
	"molehill/pkg/experiment/synth"
	"molehill/pkg/report"
	"molehill/pkg/run"
	"molehill/transport"
	"molehill/viz"
)

// learnedValues is up to how many values of an image classifiers look at pixels;
// of larger ones at the points of the code.
const learnedValues = 32 * 32 * 3

// learn measures what the images are good for: logistic regression on real images,
// learned from synthetic and from real ones.
func (k *keeper) learn(d *Diagnosis) error {
	private := k.rows(k.real.points.Len(), learnedImages)
	var train, test *dataset.Dataset
	if k.held != nil {
		d.On = "held-out images"
		train = k.rowsOf(k.private, k.real, private)
		test = k.rowsOf(k.held, k.test, k.rows(k.test.points.Len(), learnedImages))
	} else {
		d.On = "one half of the private images"
		k.rng.Shuffle(len(private), func(i, j int) { private[i], private[j] = private[j], private[i] })
		half := len(private) / 2
		if half == 0 {
			d.On = ""
			return nil
		}
		train, test = k.rowsOf(k.private, k.real, private[:half]), k.rowsOf(k.private, k.real, private[half:])
	}
	var err error
	d.Accuracies, err = synth.Learn(k.ctx, k.rowsMade, func() (*dataset.Dataset, error) { return train, nil }, test)
	return err
}

// rowsOf returns encoded records as a classifier sees them.
func (k *keeper) rowsOf(source pictures.Source, e encoded, rows []int) *dataset.Dataset {
	d := &dataset.Dataset{Name: k.schema.Name, Height: 1, Width: e.points.Dim, Channels: 1, Classes: k.schema.Names()}
	var records []int
	for _, i := range rows {
		records = append(records, e.rows[i])
		d.Labels = append(d.Labels, e.labels[e.rows[i]])
	}
	size := k.schema.Images.Dim()
	if size > learnedValues {
		d.X = e.points.Subset(rows).Data
		return d
	}
	d.Height, d.Width, d.Channels = k.schema.Images.Height, k.schema.Images.Width, k.schema.Images.Channels
	d.X = k.images(source, records)
	return d
}

func (k *keeper) rowsMade() (*dataset.Dataset, error) {
	rows := k.rows(k.made.points.Len(), learnedImages)
	x := k.made.points.Subset(rows)
	d := k.rowsOf(nil, encoded{points: x}, nil)
	for _, i := range rows {
		d.Labels = append(d.Labels, k.made.labels[i])
	}
	if d.X = x.Data; k.schema.Images.Dim() > learnedValues {
		return d, nil
	}
	var err error
	d.X, err = k.code.decode(k.ctx, x)
	return d, err
}

// images reads records.
func (k *keeper) images(source pictures.Source, rows []int) []float32 {
	size := k.schema.Images.Dim()
	x := make([]float32, len(rows)*size)
	transport.InParallel(len(rows), func(j int) {
		at := x[j*size : (j+1)*size : (j+1)*size]
		if rows[j] < 0 {
			blank(at)
			return
		}
		// What a damaged file counts as is part of what was learned from.
		_, _ = source.Picture(at, rows[j])
	})
	return x
}

// document is the keeper's report.
func (k *keeper) document(r *run.Run, d *Diagnosis) (report.Document, error) {
	shown, err := k.sideBySide()
	if err != nil {
		return report.Document{}, err
	}
	t := viz.Table{Header: []string{"", ""}, Caption: "The distance is the sliced Wasserstein distance of the points that images become; private images are as far from each other as that without any noise."}
	t.Add("synthetic points to one half of the private ones", d.Distance)
	t.Add("as many of the other half", d.Floor)
	if len(k.schema.Names()) > 1 {
		t.Add("classes: share of the images that would have to change theirs", d.Classes)
	}
	agreement := synth.Agreement("Images and schema", d.Disagreement, "All files are images of the schema.",
		"These files are not what the schema says. The promise holds all the same; the synthetic images do not know them. If it matters, mend the files or the schema, and pay for another run.")
	sections := []report.Section{agreement, {Heading: "Private and synthetic images", NonPrivate: true, Figures: shown, Tables: []viz.Table{t}}}
	sections = append(sections, synth.Usefulness("What the images are good for", "synthetic images", "private images", d.On, d.Unlearned, d.Accuracies)...)
	near, err := k.nearness(d)
	return report.Document{Title: "For the keeper only: synthetic images of " + r.ID, Warning: "Do not publish this. It shows private images and compares with them, and nothing of that is differentially private.",
		Summary: "The report to publish is beside it: " + synth.ReportFile + ".html.", Sections: append(sections, near)}, err
}

// sideBySide draws private and synthetic images of the same classes.
func (k *keeper) sideBySide() ([]viz.Figure, error) {
	synthetic, err := k.made.sheet(k.ctx)
	if err != nil {
		return nil, err
	}
	rows, private := sheet(k.real.labels, k.schema.Names())
	private.Title, private.Height, private.Width, private.Channels = "Private images", synthetic.Height, synthetic.Width, synthetic.Channels
	private.X = k.images(k.private, rows)
	return []viz.Figure{private, synthetic}, nil
}

// nearness tells whether images were copied.
func (k *keeper) nearness(d *Diagnosis) (report.Section, error) {
	s := report.Section{Heading: "Whether images were copied", NonPrivate: true}
	shown := k.rows(k.made.points.Len(), shownNearest)
	images, err := k.code.decode(k.ctx, k.made.points.Subset(shown))
	if err != nil {
		return s, err
	}
	var nearest []int
	for _, i := range shown {
		nearest = append(nearest, k.nearest(i))
	}
	s.Figures = []viz.Figure{viz.Images{Title: "Synthetic images and the nearest private ones", Cols: len(shown), RowLabels: []string{"synthetic", "nearest"},
		X: append(images, k.images(k.private, nearest)...), Height: k.schema.Images.Height, Width: k.schema.Images.Width, Channels: k.schema.Images.Channels}}
	if d.Copies == nil {
		s.Text = []string{"Give held-out images (--test) to compare distances with those to images that nothing could have copied."}
		return s, nil
	}
	s.Tables = synth.Copied("synthetic images nearer to a private than to a held-out one", d.Copies)
	return s, nil
}
